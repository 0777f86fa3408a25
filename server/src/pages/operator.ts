import { readFileSync } from 'node:fs';
import { extname } from 'node:path';
import type { Configuration } from '../config/configuration.ts';
import { typedPath } from '../config/configuration.ts';
import { PICTURE_TYPES, type Picture } from '../config/picture.ts';
import { ConfigurationRefused } from '../config/refused.ts';

/** The operator, as configured. */
export interface Operator {
  readonly name?: string;
  readonly color?: string;
  readonly logo?: Picture;
}

const MAX_LOGO_BYTES = 256 * 1024;

/** @throws {ConfigurationRefused} the logo file is unreadable or too large */
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
  const expected = `${source}: expected a readable file of at most ${MAX_LOGO_BYTES / 1024} KiB`;
  let bytes: Buffer<ArrayBuffer>;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    throw new ConfigurationRefused(expected, { cause: error });
  }
  if (bytes.length > MAX_LOGO_BYTES) throw new ConfigurationRefused(expected);
  return { type: PICTURE_TYPES.get(extname(path).toLowerCase()) ?? '', bytes };
}
