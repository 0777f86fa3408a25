import { installPackages } from '../install.ts';
import { BadUsage } from '../options.ts';
import { autocannon } from './autocannon.ts';
import type { Generator } from './generator.ts';
import { wrk } from './wrk.ts';

/**
 * Default: wrk if it is installed, otherwise autocannon, which is installed on first use.
 * @throws {BadUsage} if wrk was chosen and is not installed
 */
export function generatorOf(chosen: 'wrk' | 'autocannon' | undefined): Generator {
  const found = chosen === 'autocannon' ? undefined : wrk();
  if (chosen === 'wrk' && found === undefined) throw new BadUsage('--generator: wrk is not installed');
  if (found !== undefined) return found;
  installPackages();
  return autocannon();
}
