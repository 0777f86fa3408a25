import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describeOption, type Option } from '@grantd/core/options';
import { ALL_OPTIONS, OIDC_OPTIONS, REGISTRATION_OPTIONS } from '../core/src/options/options.ts';
import {
  HOST_OPTION_TEXTS,
  OIDC_OPTION_TEXTS,
  REGISTRATION_OPTION_TEXTS,
  SHARED_OPTION_TEXTS,
} from '../core/src/options/texts.ts';
import { described, type OptionTable } from '../core/src/protocol/option_kinds.ts';

const TABLES_IN = 'core/src/options/options.ts';
const tables = readFileSync(TABLES_IN, 'utf8');

/** The option tables by the name of the interface that is generated from them. */
const OPTION_TABLES: Readonly<
  Record<
    string,
    {
      readonly about: string;
      /** Type parameters of the interface. */
      readonly parameters?: string;
      readonly place: string;
      readonly table: OptionTable;
    }
  >
> = {
  AuthorizationServerOptions: {
    about: 'Options of `new AuthorizationServer()`.',
    parameters: '<S extends Storage = AuthorizingStorage>',
    place: '',
    table: described(ALL_OPTIONS, { ...HOST_OPTION_TEXTS, ...SHARED_OPTION_TEXTS }),
  },
  OidcOptions: {
    about: 'Options of OpenID Connect, which is on if this block is set.',
    place: 'oidc.',
    table: described(OIDC_OPTIONS, OIDC_OPTION_TEXTS),
  },
  RegistrationOptions: {
    about: 'Options of dynamic client registration (RFC 7591) and later changes by clients (RFC 7592).',
    place: 'registration.',
    table: described(REGISTRATION_OPTIONS, REGISTRATION_OPTION_TEXTS),
  },
};

/** The source of the interfaces behind `new AuthorizationServer()`, from the tables in core/src/options/options.ts. */
export function optionsInterfaces(path: string): string {
  const interfaces = Object.entries(OPTION_TABLES).map(
    ([name, { about, table, parameters = '' }]) =>
      `/** ${about} */\nexport interface ${name}${parameters} {\n${membersOf(table)}\n}`,
  );
  const text = interfaces.join('\n\n');
  return format(
    path,
    `// \`npm run docs\` writes this file from the tables in ${TABLES_IN}. Change those.\n${importsFor(text)}\n${text}\n`,
  );
}

function membersOf(table: OptionTable): string {
  return Object.entries(table)
    .map(([name, option]) => {
      const comment = wrap(sentencesOf(option));
      return `${comment}\n  readonly ${name}${option.isRequired ? '' : '?'}: ${typeOf(name, option)};`;
    })
    .join('\n');
}

/** The type of an option: the type parameter in the source of its table, or else that of its kind. */
function typeOf(name: string, { kind }: Option<unknown, unknown>): string {
  if (name === 'storage') return 'S';
  const entries = tables.matchAll(new RegExp(`^  ${name}: (.*?)(?=^  \\w+: |^};)`, 'gms'));
  const makers = [...entries].map(([entry]) =>
    /\b(hostValue|functionOf|opened|oneOf|listOf)<(.+?)>\(/s.exec(entry),
  );
  const [, maker, type] = makers.find((found) => found !== null) ?? [];
  if (type === undefined && kind.type === '') throw new Error(`${TABLES_IN}: no type of ${name}`);
  if (type === undefined) return kind.type;
  return maker === 'listOf' ? `readonly ${type}[]` : type;
}

function sentencesOf(option: Option<unknown, unknown>): string {
  const { byDefault, defaultInWords, isRequired } = option;
  if (isRequired) return describeOption(option);
  return `${describeOption(option)} Default: ${defaultInWords ?? `\`${String(byDefault)}\``}.`;
}

/** A doc comment of at most 120 columns. */
function wrap(text: string): string {
  if (text.length <= 110) return `  /** ${text} */`;
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.length - 1;
    if (`   * ${lines[last]} ${word}`.length > 120) lines.push(word);
    else lines[last] = lines[last] === '' ? word : `${lines[last]} ${word}`;
  }
  return `  /**\n${lines.map((line) => `   * ${line}`).join('\n')}\n   */`;
}

/** The imports of the tables' file that the interfaces need. */
function importsFor(text: string): string {
  const imports = tables.matchAll(/^import (?:type )?\{([^}]+)\} from '([^']+)';$/gm);
  const lines: string[] = [];
  for (const [, names = '', module] of imports) {
    const needed = names
      .split(',')
      .map((name) => name.trim().replace(/^type /, ''))
      .filter((name) => name !== '' && !(name in OPTION_TABLES))
      .filter((name) => new RegExp(`^(?:  readonly|export interface) .*[^\\w.]${name}\\b`, 'm').test(text));
    if (needed.length > 0) lines.push(`import type { ${needed.join(', ')} } from '${module}';`);
  }
  return lines.join('\n');
}

/** Formatted like all files, so that both checks agree. */
function format(path: string, source: string): string {
  const biome = join(
    dirname(createRequire(import.meta.url).resolve('@biomejs/biome/package.json')),
    'bin',
    'biome',
  );
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [biome, 'check', '--write', `--stdin-file-path=${path}`],
    { input: source, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`${path} cannot be formatted: ${stderr}`);
  return stdout;
}

/**
 * The library's options: a table, and a table of those that a program's option explains.
 * @param flagOf the flag that explains an option, by what a row says
 */
export function libraryOptionsTables(flagOf: ReadonlyMap<string, string>): string {
  const own: string[] = [];
  const shared: string[] = [];
  for (const { table, place } of Object.values(OPTION_TABLES))
    for (const [name, option] of Object.entries(table)) {
      const said = meaningAndDefault(option);
      const flag = flagOf.get(said);
      const start = `| \`${place}${name}\` | \`${typeOf(name, option).replaceAll('|', '\\|')}\` |`;
      if (flag === undefined) own.push(`${start} ${said} |`);
      else shared.push(`${start} \`${flag}\` |`);
    }
  return `| option | type | meaning | default |
| --- | --- | --- | --- |
${own.join('\n')}

These options have the meaning and the default of a program's option:

| option | type | flag of the program |
| --- | --- | --- |
${shared.join('\n')}`;
}

/** Two cells of a row. */
export function meaningAndDefault(option: Option<unknown, unknown>): string {
  const { byDefault, defaultInWords, isRequired, needsRestart, kind } = option;
  const inWords = isRequired ? 'required' : (defaultInWords ?? `\`${String(byDefault)}\``);
  const restart = needsRestart ? ' A change needs a restart.' : '';
  return `${describeOption(option)} Expected: ${kind.expected}.${restart} | ${inWords}`.replaceAll(
    'true|false',
    'true\\|false',
  );
}
