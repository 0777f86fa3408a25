import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { GENERATOR_CORE, pinned } from './pinning.ts';

/** A program that does something while others are measured. */
export interface Beside {
  /**
   * Ends it; the same answer however often it is called.
   * @returns what it said that it did a second
   */
  end(): Promise<number>;
}

/** Starts it on the generator's core; when it has to end it gets SIGTERM, and prints `{"perSecond": …}`. */
export function startBeside(command: readonly string[]): Beside {
  const [program = '', ...args] = pinned(GENERATOR_CORE, command);
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  process.once('exit', () => child.kill('SIGKILL'));
  const said = Promise.all([text(child.stdout), once(child, 'exit')]);
  let ended: Promise<number> | undefined;
  return {
    end() {
      ended ??= (async () => {
        child.kill('SIGTERM');
        const [output] = await said;
        const { perSecond } = JSON.parse(output) as { perSecond: number };
        return perSecond;
      })();
      return ended;
    },
  };
}
