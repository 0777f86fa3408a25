import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { Configuration } from '../config/configuration.ts';
import { typedPath } from '../config/configuration.ts';
import { PICTURE_TYPES, type Picture } from '../config/picture.ts';
import { ConfigurationRefused } from '../config/refused.ts';

/** Who runs the server, as configured. */
export interface Operator {
  readonly name?: string;
  readonly color?: string;
  readonly logo?: Picture;
}

const MOST_BYTES = 256 * 1024;

/** @throws {ConfigurationRefused} there is no picture in the file of the logo */
export function readOperator(
  { settings, sourceOf }: Configuration,
  environment: NodeJS.ProcessEnv,
): Operator {
  const { operatorName, operatorColor, operatorLogo } = settings;
  return {
    ...(operatorName !== undefined && { name: operatorName }),
    ...(operatorColor !== undefined && { color: operatorColor }),
    ...(operatorLogo !== undefined && {
      logo: readLogo(typedPath(environment, operatorLogo), sourceOf('operatorLogo')),
    }),
  };
}

function readLogo(path: string, source: string): Picture {
  const expected = `${source}: expected a readable file of at most ${MOST_BYTES / 1024} KiB`;
  let bytes: Buffer<ArrayBuffer>;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new ConfigurationRefused(expected, { cause: error });
  }
  if (bytes.length > MOST_BYTES) throw new ConfigurationRefused(expected);
  return { type: PICTURE_TYPES.get(extname(path).toLowerCase()) ?? '', bytes };
}
