import { pathToFileURL } from 'node:url';
import type { Plugin } from 'esbuild';

/** A bundle has no files of packages, so the texts of the chart library become constants. */
export const embeddedChartLibrary: Plugin = {
  name: 'embedded_chart_library',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]console[\\/]chart_library\.ts$/ }, async ({ path }) => {
      const texts = Object.entries(await import(pathToFileURL(path).href));
      return {
        contents: texts.map(([name, text]) => `export const ${name} = ${JSON.stringify(text)};`).join('\n'),
      };
    });
  },
};
