import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, fstatSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
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
  type Program,
} from './program.ts';

interface CommandProcess {
  readonly child: ChildProcess;
  /** @returns what the current command has written to standard output without the stream, as the log does */
  readonly unstreamed: () => string;
}

/** The process for the commands of each program, by its main file. */
const started = new Map<string, Promise<CommandProcess>>();
let last: Promise<unknown> = Promise.resolve();

/**
 * Runs a command like `grantd` of `program.ts`, but in a process that has already loaded the program. Commands wait for
 * each other. For tests in which the process of a command is not the subject: `commands.test.ts` starts processes, and
 * `workers_end.test.ts` starts servers that are refused. A server that is not refused is killed after some time.
 */
export function grantd(
  folder: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<Outcome> {
  if (args.includes('--workers')) return inNewProcess(folder, args, options);
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
  { input = '', environment = {}, longestMs = LONGEST_MS, program = PROGRAM }: CommandOptions,
): Promise<Outcome> {
  const [, main] = program;
  const starting = started.get(main) ?? start(program);
  started.set(main, starting);
  const { child, unstreamed } = await starting;
  holdOpen(child, true);
  const timer = setTimeout(() => child.kill('SIGKILL'), longestMs);
  const over = new AbortController();
  try {
    child.send({ args, folder, environment: environmentIn(folder, environment), input });
    const [outcome] = await Promise.race([
      once(child, 'message', over),
      once(child, 'exit', over).then(([code, signal]) => {
        started.delete(main);
        throw new Error(`grantd ${args.join(' ')}: its process has ended with ${signal ?? code}`);
      }),
    ]);
    return { ...outcome, stdout: outcome.stdout + unstreamed() };
  } finally {
    over.abort();
    clearTimeout(timer);
    holdOpen(child, false);
  }
}

/** The process ends with this one. */
async function start([execPath, main]: Program): Promise<CommandProcess> {
  // The module that runs a command: of a bundled program, or of the sources.
  const run = ['../lib/run.js', '../src/cli/run.ts']
    .map((file) => join(dirname(main), file))
    .find(existsSync);
  const output = unnamedFile();
  const child = fork(join(import.meta.dirname, 'command_process.mjs'), [pathToFileURL(run ?? '').href], {
    env: { ...process.env, ...environmentIn(import.meta.dirname) },
    execPath,
    execArgv: [],
    stdio: ['ignore', output, 'inherit', 'ipc'],
  });
  await once(child, 'message');
  let read = 0;
  const unstreamed = () => {
    const bytes = Buffer.alloc(fstatSync(output).size - read);
    read += readSync(output, bytes, 0, bytes.length, read);
    return bytes.toString();
  };
  return { child, unstreamed };
}

/** A file without a name, for reading and writing. */
function unnamedFile(): number {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-output-'));
  const file = openSync(join(folder, 'output'), 'w+');
  rmSync(folder, { recursive: true });
  return file;
}

/** Whether this process waits for the other one before it ends. */
function holdOpen(child: ChildProcess, holds: boolean): void {
  for (const handle of [child, child.channel]) holds ? handle?.ref() : handle?.unref();
}
