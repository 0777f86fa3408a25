import { BadUsage } from '../options.ts';
import { autocannon } from './autocannon.ts';
import type { Generator } from './generator.ts';
import { wrk } from './wrk.ts';

/**
 * The generator that was chosen; unless one was, wrk where it is installed.
 * @throws {BadUsage} it is not
 */
export function generatorOf(chosen: 'wrk' | 'autocannon' | undefined): Generator {
  const found = chosen === 'autocannon' ? undefined : wrk();
  if (chosen === 'wrk' && found === undefined) throw new BadUsage('--generator: wrk is not installed');
  return found ?? autocannon();
}
