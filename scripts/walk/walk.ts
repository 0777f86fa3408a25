// Walks one request of each kind through grantd.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Call } from './first_calls.ts';
import type { Walk } from './walked_process.ts';

export type { Call } from './first_calls.ts';
export type { Walk } from './walked_process.ts';

/**
 * @param place default: both
 * @throws {Error} if a request did not succeed
 */
export function walks(place = 'both'): Promise<readonly Walk[]> {
  return fromProcess('walks', place);
}

/**
 * The first call of each function during an introspection in the library, in order.
 * @throws {Error} if the request did not get 200
 */
export function callsOfIntrospection(): Promise<readonly Call[]> {
  return fromProcess('calls');
}

async function fromProcess<T>(...args: readonly string[]): Promise<readonly T[]> {
  const child = fork(join(import.meta.dirname, 'walked_process.ts'), args, {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const received: T[] = [];
  child.on('message', (message) => received.push(...(message as readonly T[])));
  const [status] = await once(child, 'close');
  if (status !== 0 || received.length === 0) throw new Error('the requests could not be walked');
  return received;
}
