// The pages of the reference that are not in the repository, because they say what the code says. The website and
// `grantd help` build them.
import { certificationPage } from './certification_page.ts';
import { commandsPage } from './commands_page.ts';
import { errorsPage } from './errors_page.ts';
import { httpPage } from './http_page.ts';
import { reasonCodesPage } from './reason_codes_page.ts';
import { troublesPage } from './troubles_page.ts';

const BUILT: Readonly<Record<string, () => string | Promise<string>>> = {
  'docs/certification.md': certificationPage,
  'docs/commands.md': commandsPage,
  'docs/http.md': httpPage,
  'docs/errors.md': errorsPage,
  'docs/reason_codes.md': reasonCodesPage,
  'docs/troubles.md': troublesPage,
};

/** Their paths, as if they were in the repository. */
export const BUILT_PAGES: readonly string[] = Object.keys(BUILT);

/** The Markdown of such a page; `undefined` if the page is in the repository. */
export async function builtPage(path: string): Promise<string | undefined> {
  return BUILT[path]?.();
}
