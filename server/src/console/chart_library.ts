// The chart library uPlot, as browsers get it: its script and its style sheet.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const LIBRARY = createRequire(import.meta.url);

function fileOf(name: string): string {
  return readFileSync(LIBRARY.resolve(`uplot/dist/${name}`), 'utf8');
}

/**
 * Defines the global `uPlot`. It formats no numbers here, but asks `Intl` for the language of the browser when it loads.
 * Some browsers have a language that `Intl` refuses, such as `en-US@posix`. Therefore it gets another one.
 */
export const CHART_SCRIPT = `var uPlot = ((navigator) => {
${fileOf('uPlot.iife.min.js')}
return uPlot;
})({ language: 'en' });`;

export const CHART_STYLE = fileOf('uPlot.min.css');
