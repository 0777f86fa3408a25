import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { GENERATOR_CORE, pinned } from './pinning.ts';

/** A program that runs next to the measured ones. */
interface Beside {
  readonly pid: number | undefined;
  /**
   * Ends it. Further calls return the same result.
   * @returns its operations per second, as it printed them
   */
  end(): Promise<number>;
}

/**
 * Starts it on the generator's core, and waits for its first line, which says that it works. After SIGTERM it prints
 * `{"perSecond": …}`.
 */
export async function startBeside(command: readonly string[]): Promise<Beside> {
  const [program = '', ...args] = pinned(GENERATOR_CORE, command);
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const exited = once(child, 'exit').finally(() => process.off('exit', kill));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  if ((await lines.next()).done) throw new Error(`${args.join(' ')} ended before it worked`);
  let ended: Promise<number> | undefined;
  return {
    pid: child.pid,
    end() {
      ended ??= (async () => {
        child.kill('SIGTERM');
        const { value = '' } = await lines.next();
        await exited;
        const { perSecond } = JSON.parse(value) as { perSecond: number };
        return perSecond;
      })();
      return ended;
    },
  };
}
