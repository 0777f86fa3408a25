// The chart library uPlot, as browsers get it: its script and its style sheet.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const LIBRARY = createRequire(import.meta.url);

function fileOf(name: string): string {
  return readFileSync(LIBRARY.resolve(`uplot/dist/${name}`), 'utf8');
}

/** Defines the global `uPlot`. */
export const CHART_SCRIPT = fileOf('uPlot.iife.min.js');

export const CHART_STYLE = fileOf('uPlot.min.css');
