import { Command } from 'commander';
import { addFlags, type EffectiveOption, type GivenFlags, readOptions } from '../config/configuration.ts';
import { isPostgresUrl, OPTION_NAMES, OPTIONS, withoutPassword } from '../config/options.ts';
import { readProviders } from '../config/providers.ts';
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
      .description('check the options and files as serve does, without the database and the ports'),
    OPTION_NAMES,
  )
    .option('--json', 'print JSON')
    .action(check);
  return group;
}

/** An option as printed. */
interface Row {
  readonly option: string;
  /** `null` if it is not set and has no default. A secret is only “set”. */
  readonly value: unknown;
  readonly source: string;
}

function show(flags: GivenFlags): void {
  const rows = readOptions(flags, process.env).map(rowOf);
  printList({ isJson: flags.json === true }, rows, {
    option: ({ option }) => option,
    value: ({ value }) => (typeof value === 'string' ? value : value === null ? '–' : JSON.stringify(value)),
    source: ({ source }) => source,
  });
}

function rowOf({ name, value, source, isOfProfile }: EffectiveOption): Row {
  return {
    option: name,
    value: value === undefined ? null : shown(name, value),
    source: source ?? (isOfProfile ? 'profile' : 'default'),
  };
}

function shown(name: EffectiveOption['name'], value: unknown): unknown {
  if ('isSecret' in OPTIONS[name]) return 'set';
  if (name === 'smtpUrl') return withoutPassword(String(value));
  return name === 'database' && isPostgresUrl(String(value)) ? withoutPassword(String(value)) : value;
}

async function check(flags: GivenFlags): Promise<void> {
  const configuration = serverConfiguration(flags);
  const [{ tlsFilesOf }, { readOperator }] = await Promise.all([
    import('../serve/serve.ts'),
    import('../pages/operator.ts'),
  ]);
  await tlsFilesOf(configuration, process.env);
  readOperator(configuration, process.env);
  readProviders(configuration, process.env);
  await serverWithoutDatabase(configuration, 'server');
  printOne({ isJson: flags.json === true }, { valid: true }, ['the configuration is valid']);
}
