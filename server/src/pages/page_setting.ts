import type { PageSetting } from './page.ts';
import type { PageContext, PageParts } from './page_parts.ts';
import { languageFor } from './texts/language.ts';

/** @param uiLocales what the application wants people to read (OpenID Connect Core §3.1.2.1) */
export function pageSetting(
  c: PageContext,
  { operator }: PageParts,
  uiLocales: readonly string[] = [],
): PageSetting {
  return { operator, language: languageFor(uiLocales, c.req.header('accept-language')) };
}
