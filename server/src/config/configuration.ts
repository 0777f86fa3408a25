import { basename } from 'node:path';
import type { Option } from '@grantd/core/options';
import { readConfigFile } from './config_file.ts';
import { ConfigurationRefused } from './configuration_refused.ts';
import { flagOf, OPTION_NAMES, OPTIONS, type OptionName, type Settings, variableOf } from './options.ts';
import { typedPath } from './typed_folder.ts';

/** Flags as the command line has them: text, or `true` for one that stands alone. */
export type GivenFlags = Readonly<Record<string, unknown>>;

export interface Configuration {
  readonly settings: Settings;
  /** Where an option's value was written, for messages: `--port`, `GRANTD_PORT`, `port in grantd.json`. */
  sourceOf(name: string): string;
}

/**
 * The value of every option: from its flag, else its variable, else the file, else its default.
 * @throws {ConfigurationRefused} one of them does not fit
 */
export function readConfiguration(flags: GivenFlags, environment: NodeJS.ProcessEnv): Configuration {
  const path = textOf(flags.config) ?? textOf(environment[variableOf('config')]);
  const file = path === undefined ? {} : readConfigFile(typedPath(environment, path));
  const fileName = path === undefined ? '' : basename(path);

  const values: Record<string, unknown> = {};
  const sources: Record<string, string> = {};
  for (const name of OPTION_NAMES) {
    const found = findValue(name, { flags, environment, file, fileName });
    values[name] = found === undefined ? OPTIONS[name].byDefault : found.value;
    sources[name] = found?.source ?? flagOf(name);
  }
  return { settings: values as Settings, sourceOf: (name) => sources[name] ?? name };
}

interface Sources {
  readonly flags: GivenFlags;
  readonly environment: NodeJS.ProcessEnv;
  readonly file: Readonly<Record<string, unknown>>;
  readonly fileName: string;
}

/** @returns `undefined` where nobody gave a value */
function findValue(
  name: OptionName,
  { flags, environment, file, fileName }: Sources,
): { value: unknown; source: string } | undefined {
  const { kind }: Option<unknown, unknown> = OPTIONS[name];
  const fromFlag = textOf(flags[name]);
  if (fromFlag !== undefined) return checked(kind.fromText(fromFlag), flagOf(name), kind.expected);
  // An empty variable counts as one that is not set: that is how many tools unset them.
  const fromEnvironment = environment[variableOf(name)] || undefined;
  if (fromEnvironment !== undefined)
    return checked(kind.fromText(fromEnvironment), variableOf(name), kind.expected);
  if (Object.hasOwn(file, name)) {
    return checked(kind.read(file[name]), `${name} in ${fileName}`, kind.expected);
  }
  return undefined;
}

function checked(value: unknown, source: string, expected: string): { value: unknown; source: string } {
  if (value === undefined) throw new ConfigurationRefused(`${source}: expected ${expected}`);
  return { value, source };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || value === true ? String(value) : undefined;
}
