import { readFileSync } from 'node:fs';
import { isJsonObject, unknownName } from '@grantd/core/options';
import { ConfigurationRefused } from './configuration_refused.ts';
import { OPTION_NAMES } from './options.ts';

/**
 * The members of a configuration file.
 * @throws {ConfigurationRefused} it cannot be read, is no JSON object, or has a member that is no option
 */
export function readConfigFile(path: string): Readonly<Record<string, unknown>> {
  const content = parse(path);
  if (!isJsonObject(content)) throw new ConfigurationRefused(`${path}: expected a JSON object`);
  const unknown = Object.keys(content).find((key) => !OPTION_NAMES.some((name) => name === key));
  if (unknown !== undefined)
    throw new ConfigurationRefused(unknownName(`${unknown} in ${path}`, unknown, OPTION_NAMES));
  return content;
}

function parse(path: string): unknown {
  let content: string;
  try {
    content = readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigurationRefused(`${path}: expected a readable JSON file`, { cause: error });
  }
  try {
    return JSON.parse(content);
  } catch {
    // The parser's own message quotes the file, which may hold a secret.
    throw new ConfigurationRefused(`${path}: expected valid JSON`);
  }
}
