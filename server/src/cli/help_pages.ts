// The pages of the documentation, from the repository. Builds of the program replace this module by one that contains the
// pages (scripts/packaging/help_module.ts).
import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** A page of the documentation. */
export interface HelpPage {
  readonly topic: string;
  /** The part of the navigation, such as `How-to guides`. */
  readonly part: string;
  /** In the navigation; default: the heading. */
  readonly title: string;
  /** In the repository. */
  readonly path: string;
  readonly markdown: () => Promise<string>;
}

interface BuiltPages {
  readonly builtPage: (path: string) => Promise<string | undefined>;
}

interface Navigation {
  readonly PARTS: readonly {
    readonly title: string;
    readonly pages: readonly { readonly path: string; readonly title?: string }[];
  }[];
}

/** Every page of the navigation, in its order. */
export async function helpPages(): Promise<readonly HelpPage[]> {
  const root = new URL('../../../', import.meta.url);
  const { PARTS }: Navigation = await import(new URL('site/navigation.ts', root).href);
  const builtPage = async (path: string) => {
    const built: BuiltPages = await import(new URL('scripts/built_pages.ts', root).href);
    return built.builtPage(path);
  };
  return PARTS.flatMap(({ title: part, pages }) =>
    pages.map(({ path, title: short }) => {
      const read = () => readFileSync(new URL(path, root), 'utf8');
      const markdown = async () => (await builtPage(path)) ?? read();
      const title = short ?? /^# (.+)$/m.exec(read())?.[1] ?? path;
      return { topic: topicOf(path), part, title, path, markdown };
    }),
  );
}

/** The name of a page’s file; of a README the name of its folder. */
function topicOf(path: string): string {
  const name = basename(path, '.md') === 'README' ? basename(join('grantd', dirname(path))) : basename(path);
  return name.replace(/\.md$/, '').toLowerCase().replaceAll('_', '-');
}
