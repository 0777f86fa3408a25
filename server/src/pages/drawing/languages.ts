// The catalogues of the operator: languages in a folder, and single texts of the theme.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Configuration, typedPath } from '../../config/configuration.ts';
import { ConfigurationRefused } from '../../config/refused.ts';
import { languageFrom, type TextProblem, textsWith } from '../../texts/templates.ts';
import { type Catalogues, LANGUAGE_FORM, OWN_CATALOGUES } from '../../texts/texts.ts';
import type { Theme } from './theme.ts';

const MAX_FILE_BYTES = 512 * 1024;
const MAX_LANGUAGES = 50;

/** Problems that a message names. */
const MAX_NAMED = 5;

const ENDINGS = /\.(ya?ml|json)$/;

/**
 * The catalogues of the program, of the folder and of the theme.
 * @throws {ConfigurationRefused} the folder or a file is unreadable, a text is missing or invalid
 */
export async function readCatalogues(
  { settings, sourceOf }: Configuration,
  environment: NodeJS.ProcessEnv,
  theme?: Pick<Theme, 'texts'>,
): Promise<Catalogues> {
  const catalogues = new Map(OWN_CATALOGUES);
  if (settings.languages !== undefined) {
    const source = sourceOf('languages');
    const folder = typedPath(environment, settings.languages);
    const { parsedFile } = await import('../../config/parsed_file.ts');
    for (const name of filesIn(folder, source)) {
      const from = `${source}: ${name}`;
      const language = name.replace(ENDINGS, '');
      if (!LANGUAGE_FORM.test(language) || !isKnown(language))
        throw new ConfigurationRefused(
          `${from}: expected a file that is named after a language, such as fr.yaml`,
        );
      const read = languageFrom(parsedFile(join(folder, name), from, MAX_FILE_BYTES), language);
      if ('problems' in read) throw refusal(from, read.problems);
      catalogues.set(language, read.texts);
    }
  }
  for (const [language, tree] of Object.entries(theme?.texts ?? {})) {
    const from = `${sourceOf('theme')}: texts.${language}`;
    const before = catalogues.get(language);
    if (before === undefined)
      throw new ConfigurationRefused(
        `${from}: there are no texts in this language. Known: ${[...catalogues.keys()].join(', ')}`,
      );
    const read = textsWith(before, tree);
    if ('problems' in read) throw refusal(from, read.problems);
    catalogues.set(language, read.texts);
  }
  return catalogues;
}

function filesIn(folder: string, source: string): readonly string[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    throw new ConfigurationRefused(`${source}: expected a readable folder`, { cause: error });
  }
  const files = names.filter((name) => ENDINGS.test(name)).sort();
  if (files.length === 0 || files.length > MAX_LANGUAGES)
    throw new ConfigurationRefused(
      `${source}: expected 1 to ${MAX_LANGUAGES} files such as fr.yaml, got ${files.length}`,
    );
  return files;
}

/** Whether dates and plurals have words in this language. */
function isKnown(language: string): boolean {
  try {
    return Intl.DateTimeFormat.supportedLocalesOf(language).length > 0;
  } catch {
    return false;
  }
}

function refusal(source: string, problems: readonly TextProblem[]): ConfigurationRefused {
  const named = problems
    .slice(0, MAX_NAMED)
    .map(({ path, problem }) => (path === '' ? problem : `${path}: ${problem}`));
  const more = problems.length > MAX_NAMED ? `; and ${problems.length - MAX_NAMED} more` : '';
  return new ConfigurationRefused(`${source}: ${named.join('; ')}${more}`);
}
