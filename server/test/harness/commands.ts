import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type CommandOptions,
  type Environment,
  environmentIn,
  grantd as inNewProcess,
  LONGEST_MS,
  type Outcome,
  outputOf,
  PROGRAM,
} from './program.ts';

/** The module that runs a command: of the bundled program, or of the sources. */
const RUN = ['../lib/run.js', '../src/cli/run.ts']
  .map((file) => join(dirname(PROGRAM[1]), file))
  .find(existsSync);

let started: Promise<ChildProcess> | undefined;
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command like `grantd` of `program.ts`, but in a process that has already loaded the program. Commands wait for
 * each other. For tests in which the process of a command is not the subject: `commands.test.ts` starts processes.
 */
export function grantd(
  folder: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<Outcome> {
  if (args[0] === 'serve') return inNewProcess(folder, args, options);
  const outcome = last.then(() => inProcess(folder, args, options));
  last = outcome.catch(() => {});
  return outcome;
}

/** The output of a command, which must succeed. */
export async function grantdPrints(
  folder: string,
  args: readonly string[],
  input = '',
  environment: Environment = {},
): Promise<string> {
  return outputOf(args, await grantd(folder, args, { input, environment }));
}

async function inProcess(
  folder: string,
  args: readonly string[],
  { input = '', environment = {}, longestMs = LONGEST_MS }: CommandOptions,
): Promise<Outcome> {
  started ??= start();
  const child = await started;
  holdOpen(child, true);
  const timer = setTimeout(() => child.kill('SIGKILL'), longestMs);
  const over = new AbortController();
  try {
    child.send({ args, folder, environment: environmentIn(folder, environment), input });
    const [outcome] = await Promise.race([
      once(child, 'message', over),
      once(child, 'exit', over).then(([code, signal]) => {
        started = undefined;
        throw new Error(`grantd ${args.join(' ')}: its process has ended with ${signal ?? code}`);
      }),
    ]);
    return outcome;
  } finally {
    over.abort();
    clearTimeout(timer);
    holdOpen(child, false);
  }
}

/** The process ends with this one. */
async function start(): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'command_process.mjs'), [pathToFileURL(RUN ?? '').href], {
    env: { ...process.env, ...environmentIn(import.meta.dirname) },
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await once(child, 'message');
  return child;
}

/** Whether this process waits for the other one before it ends. */
function holdOpen(child: ChildProcess, holds: boolean): void {
  for (const handle of [child, child.channel]) holds ? handle?.ref() : handle?.unref();
}
