import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { isJsonObject, unknownName } from '@grantd/core/options';
import { ConfigurationRefused } from './configuration_refused.ts';
import { hasPassword, isDatabaseUrl, isPostgresUrl } from './database_url.ts';
import { jsonErrorAt } from './json_position.ts';
import { OPTION_NAMES, OPTIONS } from './options.ts';

/**
 * The members of a configuration file.
 * @param user who runs the program; `undefined` if the system has no such numbers and no modes
 * @throws {ConfigurationRefused} it cannot be read, is no JSON object, has an unknown member, or tells a secret to others
 */
export function readConfigFile(path: string, user = process.getuid?.()): Readonly<Record<string, unknown>> {
  const { text, status } = read(path);
  const content = parse(path, text);
  if (!isJsonObject(content)) throw new ConfigurationRefused(`${path}: expected a JSON object`);
  const unknown = Object.keys(content).find((key) => !OPTION_NAMES.some((name) => name === key));
  if (unknown !== undefined)
    throw new ConfigurationRefused(unknownName(`${unknown} in ${path}`, unknown, OPTION_NAMES));
  if (user !== undefined) requirePrivate(path, content, status, user);
  return content;
}

function read(path: string): { text: string; status: Stats } {
  try {
    // Without O_NONBLOCK, opening a named pipe waits until something is written to it.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      return { text: readFileSync(file, 'utf8'), status: fstatSync(file) };
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
    // The parser's own message quotes the file, which may hold a secret.
    const before = text.slice(0, jsonErrorAt(text)).split('\n');
    const column = (before.at(-1) ?? '').length + 1;
    throw new ConfigurationRefused(`${path}:${before.length}:${column}: expected valid JSON`);
  }
}

/** The same rule as for the secret beside an SQLite database. */
function requirePrivate(
  path: string,
  content: Readonly<Record<string, unknown>>,
  { uid, mode }: Stats,
  user: number,
): void {
  const secret = secretIn(content);
  if (secret === undefined) return;
  if (uid !== user && uid !== 0) {
    throw new ConfigurationRefused(
      `${secret} in ${path}: the file belongs to the user ${uid}, who can read and change it, but grantd runs as ${user}: ` +
        `run chown ${user} ${path}, or set the value in a GRANTD_… variable instead.`,
    );
  }
  if ((mode & 0o077) !== 0) {
    throw new ConfigurationRefused(
      `${secret} in ${path}: the file is open to others (mode ${(mode & 0o777).toString(8)}): ` +
        `run chmod 600 ${path}, and replace the secret if somebody may have read it.`,
    );
  }
}

/** The name of a member that nobody else may read; `undefined` if there is none. */
function secretIn(content: Readonly<Record<string, unknown>>): string | undefined {
  const secret = OPTION_NAMES.find((name) => 'isSecret' in OPTIONS[name] && Object.hasOwn(content, name));
  if (secret !== undefined) return secret;
  const { database } = content;
  const isUrl = typeof database === 'string' && isPostgresUrl(database) && isDatabaseUrl(database);
  return isUrl && hasPassword(database) ? 'the password of database' : undefined;
}
