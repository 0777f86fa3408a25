import { Argument, Command } from 'commander';
import { stringify } from 'yaml';
import { treeOf } from '../texts/templates.ts';
import { DEFAULT_LANGUAGE, OWN_CATALOGUES } from '../texts/texts.ts';

export function textsCommand(): Command {
  return new Command('texts')
    .description('print all texts of the pages and emails as YAML, to translate or to change')
    .addArgument(
      new Argument('[LANGUAGE]', 'the language')
        .choices([...OWN_CATALOGUES.keys()])
        .default(DEFAULT_LANGUAGE),
    )
    .addHelpText(
      'after',
      '\nTo add a language, write the texts to a file, translate them, and pass the folder of the file to grantd serve\n(--languages).\n\n  grantd texts > languages/fr.yaml',
    )
    .action((language: string) => {
      const texts = OWN_CATALOGUES.get(language);
      if (texts !== undefined) process.stdout.write(stringify(treeOf(texts), { lineWidth: 0 }));
    });
}
