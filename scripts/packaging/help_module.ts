// The program’s copy of the documentation, which `grantd help` prints.
import type { Plugin } from 'esbuild';
import { helpPages } from '../../server/src/cli/help_pages.ts';

/** The source of a module that replaces `help_pages.ts`, with the same names. */
export async function helpModule(): Promise<string> {
  const pages = [];
  for (const { markdown, ...page } of await helpPages()) pages.push({ ...page, text: await markdown() });
  return `export interface HelpPage {
  readonly topic: string;
  readonly part: string;
  readonly title: string;
  readonly path: string;
  readonly markdown: () => Promise<string>;
}

export async function helpPages(): Promise<readonly HelpPage[]> {
  const pages: (Omit<HelpPage, 'markdown'> & { text: string })[] = JSON.parse(${JSON.stringify(JSON.stringify(pages))});
  return pages.map(({ text, ...page }) => ({ ...page, markdown: async () => text }));
}
`;
}

/** Packs the documentation into a bundle of the program. */
export const packedHelp: Plugin = {
  name: 'packed_help',
  setup({ onLoad }) {
    onLoad({ filter: /cli[\\/]help_pages\.ts$/ }, async () => ({
      contents: await helpModule(),
      loader: 'ts',
    }));
  },
};
