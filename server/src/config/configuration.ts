import { closeSync, constants, openSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import {
  describeOption,
  isJsonObject,
  narrowingBy,
  type Option,
  SWITCH,
  similarName,
  unknownName,
} from '@grantd/core/options';
import { type Command, Option as Flag } from 'commander';
import {
  flagOf,
  hasPassword,
  isDatabaseUrl,
  isPostgresUrl,
  isSmtpUrl,
  OPTION_NAMES,
  OPTIONS,
  type OptionName,
  type Settings,
  variableOf,
} from './options.ts';
import { exposureOf, readPrivateText } from './private_file.ts';
import { ConfigurationRefused } from './refused.ts';
import { readTextFile } from './text_file.ts';

/** Flags from the command line: text, or `true` for a flag without a value. */
export type GivenFlags = Readonly<Record<string, unknown>>;

export interface Configuration {
  readonly settings: Settings;
  /** Where an option’s value came from, for messages: `--port`, `GRANTD_PORT`, `port in grantd.json`. */
  sourceOf(name: string): string;
}

/** An option with its value in effect. */
export interface EffectiveOption {
  readonly name: OptionName;
  /** `undefined` if it is not set and has no default. */
  readonly value: unknown;
  /** `--port`, `GRANTD_PORT` or `port in grantd.json`; `undefined` if it is not set. */
  readonly source: string | undefined;
  /** Whether the value is a default that the profile has changed. */
  readonly isOfProfile: boolean;
}

/**
 * Reads every option: from its flag, else its environment variable, else the config file, else its default, which a
 * profile can change.
 * @throws {ConfigurationRefused} a value or the file is invalid
 */
export function readOptions(flags: GivenFlags, environment: NodeJS.ProcessEnv): readonly EffectiveOption[] {
  const path = textOf(flags.config) ?? textOf(environment[variableOf('config')]);
  const file = path === undefined ? {} : readConfigFile(typedPath(environment, path));
  const nameInFile = (name: OptionName) => `${name} in ${basename(path ?? '')}`;
  return optionsIn({ flags, environment, file, nameInFile });
}

/** @throws {ConfigurationRefused} as `readOptions` */
export function readConfiguration(flags: GivenFlags, environment: NodeJS.ProcessEnv): Configuration {
  return withSecretOfFile(configurationOf(readOptions(flags, environment)), environment);
}

/**
 * The configuration of an application that embeds the program.
 * @param given options by their names, as in the config file
 * @throws {ConfigurationRefused} an option is unknown or invalid
 */
export function embeddedConfiguration(options: Readonly<Record<string, unknown>>): Configuration {
  const file = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const unknown = unknownOption(file);
  if (unknown !== undefined) throw new ConfigurationRefused(unknownName(unknown, unknown, OPTION_NAMES));
  const configuration = configurationOf(
    optionsIn({ flags: {}, environment: {}, file, nameInFile: (name) => name }),
  );
  return withSecretOfFile(configuration, {});
}

/** The configuration with the server’s secret from `secretFile`, if that is set. */
function withSecretOfFile(
  { settings, sourceOf }: Configuration,
  environment: NodeJS.ProcessEnv,
): Configuration {
  if (settings.secretFile === undefined) return { settings, sourceOf };
  const source = sourceOf('secretFile');
  if (settings.secret !== undefined)
    throw new ConfigurationRefused(`${source}: expected no ${sourceOf('secret')} with it`);
  const path = typedPath(environment, settings.secretFile);
  const { kind } = OPTIONS.secret;
  const secret = kind.fromText(readPrivateText(path, source).trim());
  if (secret === undefined) throw new ConfigurationRefused(`${source}: ${path}: expected ${kind.expected}`);
  return {
    settings: { ...settings, secret },
    sourceOf: (name) => (name === 'secret' ? `the file ${path}` : sourceOf(name)),
  };
}

function optionsIn(sources: Sources): readonly EffectiveOption[] {
  const find = (name: OptionName) => findValue(name, sources);
  const rules = narrowingBy(find('profile')?.value as Settings['profile'])?.rules;
  return OPTION_NAMES.map((name) => {
    const found = find(name);
    if (found !== undefined) return { name, ...found, isOfProfile: false };
    const ofProfile = rules?.[name]?.byDefault;
    const value = ofProfile ?? OPTIONS[name].byDefault;
    return { name, value, source: undefined, isOfProfile: ofProfile !== undefined };
  });
}

function configurationOf(options: readonly EffectiveOption[]): Configuration {
  const settings = Object.fromEntries(options.map(({ name, value }) => [name, value]));
  const sources = new Map<string, string>(options.map(({ name, source }) => [name, source ?? flagOf(name)]));
  return { settings: settings as unknown as Settings, sourceOf: (name) => sources.get(name) ?? name };
}

interface Sources {
  readonly flags: GivenFlags;
  readonly environment: NodeJS.ProcessEnv;
  readonly file: Readonly<Record<string, unknown>>;
  /** How a message names an option of the file. */
  nameInFile(name: OptionName): string;
}

/** @returns `undefined` if the option is set nowhere */
function findValue(
  name: OptionName,
  { flags, environment, file, nameInFile }: Sources,
): { value: unknown; source: string } | undefined {
  const { kind }: Option<unknown, unknown> = OPTIONS[name];
  const fromFlag = textOf(flags[name]);
  if (fromFlag !== undefined) return checked(kind.fromText(fromFlag), flagOf(name), kind.expected);
  // An empty variable counts as unset, because many tools unset variables that way.
  const fromEnvironment = environment[variableOf(name)] || undefined;
  if (fromEnvironment !== undefined) {
    if ('isSecret' in OPTIONS[name]) refuseBlanksAround(name, fromEnvironment);
    return checked(kind.fromText(fromEnvironment), variableOf(name), kind.expected);
  }
  if (Object.hasOwn(file, name)) {
    return checked(kind.read(file[name]), nameInFile(name), kind.expected);
  }
  return undefined;
}

/** Blanks around the value are a part of the secret that other places, such as a file, do not have. */
function refuseBlanksAround(name: OptionName, value: string): void {
  if (/^\s|^[^[].*\s$/s.test(value))
    throw new ConfigurationRefused(
      `${variableOf(name)}: begins or ends with a blank or a line break, which would be a part of the secret: expected the value without it. ` +
        `If grantd has run with it before, set ${name} in the config file, with a line break as \\n`,
    );
}

function checked(value: unknown, source: string, expected: string): { value: unknown; source: string } {
  if (value === undefined) throw new ConfigurationRefused(`${source}: expected ${expected}`);
  return { value, source };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || value === true ? String(value) : undefined;
}

/**
 * Reads a config file.
 * @throws {ConfigurationRefused} the file is unreadable or not a JSON object, has an unknown member, or exposes a
 * secret
 */
export function readConfigFile(path: string): Readonly<Record<string, unknown>> {
  const { text, exposure } = read(path);
  const content = parse(path, text);
  if (!isJsonObject(content)) throw new ConfigurationRefused(`${path}: expected a JSON object`);
  const unknown = unknownOption(content);
  if (unknown !== undefined)
    throw new ConfigurationRefused(unknownName(`${unknown} in ${path}`, unknown, OPTION_NAMES));
  const secret = secretIn(content);
  if (secret === undefined || exposure === undefined) return content;
  throw new ConfigurationRefused(`${secret} in a file: ${exposure}`);
}

function unknownOption(content: Readonly<Record<string, unknown>>): string | undefined {
  return Object.keys(content).find((key) => !OPTION_NAMES.some((name) => name === key));
}

/**
 * Reads a JSON file that an option names.
 * @param source the option as the user wrote it
 * @throws {ConfigurationRefused} the file is unreadable or not JSON
 */
export function readJsonFile(path: string, source: string): unknown {
  try {
    return parse(path, read(path).text);
  } catch (error) {
    if (!(error instanceof ConfigurationRefused)) throw error;
    throw new ConfigurationRefused(`${source}: ${error.message}`, { cause: error.cause });
  }
}

function read(path: string): { text: string; exposure: string | undefined } {
  try {
    // Without O_NONBLOCK, opening a named pipe waits until something is written to it.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return { text: readTextFile(file), exposure: exposureOf(file, path) };
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw new ConfigurationRefused(`${path}: expected a readable JSON file`, { cause: error });
  }
}

function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser’s own message quotes the file, which may contain a secret.
    const before = text.slice(0, jsonErrorAt(text)).split('\n');
    const column = (before.at(-1) ?? '').length + 1;
    throw new ConfigurationRefused(`${path}:${before.length}:${column}: expected valid JSON`);
  }
}

/** The name of the first secret in the file. @returns `undefined` if the file has no secret */
function secretIn(content: Readonly<Record<string, unknown>>): string | undefined {
  const secret = OPTION_NAMES.find((name) => 'isSecret' in OPTIONS[name] && Object.hasOwn(content, name));
  if (secret !== undefined) return secret;
  const { database, smtpUrl } = content;
  if (typeof smtpUrl === 'string' && isSmtpUrl(smtpUrl) && hasPassword(smtpUrl))
    return 'the password of smtpUrl';
  const isUrl = typeof database === 'string' && isPostgresUrl(database) && isDatabaseUrl(database);
  return isUrl && hasPassword(database) ? 'the password of database' : undefined;
}

const SPACE = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy;
const LITERAL = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;

/**
 * The offset at which a text stops being valid JSON (RFC 8259). Node’s own messages quote the text, and only some of
 * them contain the offset.
 */
function jsonErrorAt(text: string): number {
  let position = 0;

  const skip = (pattern: RegExp): boolean => {
    pattern.lastIndex = position;
    const isThere = pattern.test(text);
    if (isThere) position = pattern.lastIndex;
    return isThere;
  };
  const take = (character: string): boolean => {
    skip(SPACE);
    if (text[position] !== character) return false;
    position += 1;
    return true;
  };

  const list = (end: string, member: () => boolean): boolean => {
    if (take(end)) return true;
    do {
      if (!member()) return false;
    } while (take(','));
    return take(end);
  };
  const string = (): boolean => {
    skip(SPACE);
    return skip(STRING);
  };
  const value = (): boolean => {
    if (take('{')) return list('}', () => string() && take(':') && value());
    if (take('[')) return list(']', value);
    return string() || skip(LITERAL);
  };

  if (value()) skip(SPACE);
  return position;
}

/**
 * The folder in which the user typed the command. npm runs scripts in the package’s folder and passes the original one
 * in `INIT_CWD`.
 */
function typedFolder(environment: NodeJS.ProcessEnv): string {
  return environment.INIT_CWD || process.cwd();
}

/** Resolves a path relative to the folder in which the user typed the command. */
export function typedPath(environment: NodeJS.ProcessEnv, path: string): string {
  return resolve(typedFolder(environment), path);
}

/** Adds `--config` and the flags of some options to a command. Values stay text until all sources are read together. */
export function addFlags(command: Command, names: readonly OptionName[]): Command {
  command.addOption(
    new Flag('--config <FILE>', `JSON file with any of the options. (${variableOf('config')})`).helpGroup(
      'Server:',
    ),
  );
  for (const name of names) {
    const option: Option<unknown, unknown> = OPTIONS[name];
    if (option.isSecret !== true) command.addOption(flagFor(name, option));
  }
  return command;
}

function flagFor(name: OptionName, option: Option<unknown, unknown>): Flag {
  const { placeholder } = option.kind;
  // A switch needs no value: `--demo`.
  const value = placeholder === SWITCH ? `[${placeholder}]` : `<${placeholder}>`;
  const byDefault = option.defaultInWords ?? String(option.byDefault);
  const about = `${describeOption(option)} (${variableOf(name)}; default: ${byDefault})`;
  return new Flag(`${flagOf(name)} ${value}`, about).helpGroup(`${option.group}:`);
}

/** Variables with which commands get access to the admin API (`--url`). No secret is on the command line. */
export const ADMIN_VARIABLES = {
  token: 'GRANTD_ADMIN_TOKEN_FILE',
  clientId: 'GRANTD_ADMIN_CLIENT_ID',
  key: 'GRANTD_ADMIN_CLIENT_KEY_FILE',
  secret: 'GRANTD_ADMIN_CLIENT_SECRET_FILE',
} as const;

/**
 * Warns about variables that look like options but are not. They are not errors, because Kubernetes sets variables such
 * as `GRANTD_SERVICE_HOST` for a service of this name.
 */
export function unknownVariableWarnings(environment: NodeJS.ProcessEnv): readonly string[] {
  const known = [...[...OPTION_NAMES, 'config'].map(variableOf), ...Object.values(ADMIN_VARIABLES)];
  return Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !known.includes(name))
    .map((name) => {
      const similar = similarName(
        name.slice(PREFIX.length),
        known.map((item) => item.slice(PREFIX.length)),
      );
      const question = similar === undefined ? '' : `. Did you mean ${PREFIX}${similar}?`;
      return `${name} is ignored: no such option${question}`;
    });
}

const PREFIX = variableOf('');
