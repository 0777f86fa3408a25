import { Command } from 'commander';
import { shownOption } from '../admin/server.ts';
import { addFlags, type GivenFlags, readOptions } from '../config/configuration.ts';
import { OPTION_NAMES } from '../config/options.ts';
import { serverWithoutDatabase } from '../instance/instance.ts';
import { printList, printOne } from './command.ts';
import { serverConfiguration } from './serve.ts';

export function configCommands(): Command {
  const group = new Command('config').description('show and check the configuration');
  addFlags(
    group.command('show').description('print every option with its value and source, without secrets'),
    OPTION_NAMES,
  )
    .option('--json', 'print JSON')
    .action(show);
  addFlags(
    group
      .command('check')
      .description('check the options and files as grantd serve does, but open no database and no port'),
    OPTION_NAMES,
  )
    .option('--json', 'print JSON')
    .action(check);
  return group;
}

function show(flags: GivenFlags): void {
  const rows = readOptions(flags, process.env).map((option) => ({
    ...shownOption(option),
    source: option.source ?? (option.isOfProfile ? 'profile' : 'default'),
  }));
  printList({ isJson: flags.json === true }, rows, {
    option: ({ option }) => option,
    value: ({ value }) => (typeof value === 'string' ? value : value === null ? '–' : JSON.stringify(value)),
    source: ({ source }) => source,
  });
}

async function check(flags: GivenFlags): Promise<void> {
  const configuration = serverConfiguration(flags);
  const { directoryOf } = await import('../serve/optional_parts.ts');
  const { readFiles } = await import('../serve/service.ts');
  const { tlsFilesOf } = await import('../serve/serve.ts');
  await tlsFilesOf(configuration, process.env);
  await readFiles(configuration, process.env);
  await serverWithoutDatabase(configuration, 'server');
  (await directoryOf(configuration, process.env))?.close();
  printOne({ isJson: flags.json === true }, { valid: true }, ['the configuration is valid']);
}
