// Walks one request of each kind through grantd.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Walk } from './walked_process.ts';

export type { Walk } from './walked_process.ts';

/** @throws {Error} if a request did not get 200 */
export async function walks(): Promise<readonly Walk[]> {
  const child = fork(join(import.meta.dirname, 'walked_process.ts'), [], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const received: Walk[] = [];
  child.on('message', (message) => received.push(...(message as readonly Walk[])));
  const [status] = await once(child, 'close');
  if (status !== 0 || received.length === 0) throw new Error('the requests could not be walked');
  return received;
}
