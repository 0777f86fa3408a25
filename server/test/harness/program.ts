import assert from 'node:assert/strict';
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import type { TestDatabase } from './databases.ts';

/** Names the main file of a bundled program, which starts faster than the sources. */
export const PROGRAM_VARIABLE = 'GRANTD_TEST_PROGRAM';

export const LONGEST_MS = 20_000;

/** A Node, and the program to run. */
export type Program = readonly [node: string, main: string];

export const SOURCES: Program = [
  process.execPath,
  join(import.meta.dirname, '..', '..', 'bin', 'grantd.mjs'),
];

/** A test file that runs alone runs the sources. */
export const PROGRAM: Program = [process.execPath, process.env[PROGRAM_VARIABLE] ?? SOURCES[1]];

const { scripts } = JSON.parse(
  readFileSync(join(import.meta.dirname, '..', '..', '..', 'package.json'), 'utf8'),
);

/** The options of `npm start`. */
export const DEMO_OPTIONS: readonly string[] = scripts.start.split(' serve ')[1].split(' ');

/** Variables per folder, for every command that runs there. */
export const ENVIRONMENT_FILE = 'environment.json';

export type Environment = Readonly<Record<string, string>>;

/** Node's options for password hashes and RSA keys that cost next to nothing. */
export const CHEAP_OPTIONS = ['cheap_passwords.mjs', 'cheap_keys.mjs']
  .map((file) => `--import ${pathToFileURL(join(import.meta.dirname, file))}`)
  .join(' ');

/** Without the machine's own settings and npm's working folder. Tests do not wait for load balancers. */
const BARE_ENVIRONMENT: Environment = {
  PATH: process.env.PATH ?? '',
  GRANTD_SHUTDOWN_DELAY: '0',
  NODE_OPTIONS: CHEAP_OPTIONS,
};

/** For tests of what waits for password checks: each takes about as long as at full cost. */
export const SLOW_PASSWORDS: Environment = { PASSWORD_MILLISECONDS: '150' };

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Processes and folders of a test file. `after(() => workbench.clear())` ends and removes them. */
export class Workbench {
  readonly #database: TestDatabase | undefined;
  readonly #folders: string[] = [];
  readonly #children: Child[] = [];

  /** @param database of the program in the folders of `home`; default: an SQLite file */
  constructor(database?: TestDatabase) {
    this.#database = database;
  }

  /** A new folder. */
  folder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'grantd-'));
    this.#folders.push(folder);
    return folder;
  }

  /** A new folder with a new database for every command. */
  async home(): Promise<string> {
    const folder = this.folder();
    const environment = await this.#database?.newDatabase();
    writeFileSync(join(folder, ENVIRONMENT_FILE), JSON.stringify(environment ?? {}));
    return folder;
  }

  /** Starts a server of the real program, and resolves when it listens. Default: on a free port. */
  async start(
    folder: string,
    args: readonly string[] = [],
    environment: Environment = {},
    program = PROGRAM,
  ): Promise<RunningServer> {
    const given = args.includes('--port') ? args : [...args, '--port', '0'];
    const child = start(folder, ['serve', ...given], environment, program);
    this.#children.push(child);
    child.stdin.end();
    try {
      return await listening(child, folder, given);
    } catch (error) {
      // It may only be late, and would keep its port.
      await killed(child);
      throw error;
    }
  }

  async clear(): Promise<void> {
    await Promise.all(this.#children.map(killed));
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true });
  }
}

/** What a command gets besides its arguments. */
export interface CommandOptions {
  /** On standard input. */
  readonly input?: string;
  readonly environment?: Environment;
  /** It is killed after this time. */
  readonly longestMs?: number;
  /** Default: the bundled program, or the sources if one file runs alone. */
  readonly program?: Program;
}

/** Runs a command of the real program. */
export async function grantd(
  folder: string,
  args: readonly string[],
  { input = '', environment = {}, longestMs = LONGEST_MS, program = PROGRAM }: CommandOptions = {},
): Promise<Outcome> {
  const child = start(folder, args, environment, program);
  child.stdin.end(input);
  const timer = setTimeout(() => child.kill('SIGKILL'), longestMs);
  return ended(child, gather(child)).finally(() => clearTimeout(timer));
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

/** @throws AssertionError if the command has failed */
export function outputOf(args: readonly string[], { code, stdout, stderr }: Outcome): string {
  assert.equal(code, 0, `grantd ${args.join(' ')}: ${stderr}`);
  return stdout.trim();
}

export type LoggedLine = Readonly<Record<string, unknown>>;

/** A server of the real program on its own port. */
export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /** For client certificates; `NaN` without the option. */
  readonly mtlsPort: number;
  readonly pid: number;
  readonly folder: string;
  stdout(): string;
  stderr(): string;
  /** Every line of its log so far. A line is written a moment after its event: see `logged`. */
  log(): readonly LoggedLine[];
  /** Waits for the first matching line of its log. */
  logged(isMeant: (line: LoggedLine) => boolean, what: string): Promise<LoggedLine>;
  /** Resolves when it has exited. */
  readonly ended: Promise<Outcome>;
  /** Ends it, and resolves when it has exited. */
  stop(signal?: NodeJS.Signals): Promise<Outcome>;
}

/** In the message for people that the server has started. */
const PORTS = /^grantd serves .* port (\d+)(?:, and port (\d+) for client certificates)?\)$/m;

async function listening(child: Child, folder: string, args: readonly string[]): Promise<RunningServer> {
  const output = gather(child);
  const outcome = ended(child, output);
  const isDemo = args.includes('--demo');
  const ports = () => PORTS.exec(output.stderr)?.slice(1).map(Number) ?? [];
  const isReady = () => ports().length > 0 && (!isDemo || output.stderr.includes('{"active":false}\n'));
  await until(() => child.exitCode !== null || isReady(), 'the server listens');
  const { pid } = child;
  const lines: LoggedLine[] = [];
  let parsed = 0;
  // Tests look again and again at a log that has thousands of lines.
  const log = (): readonly LoggedLine[] => {
    for (let end = nextEnd(); end >= 0; end = nextEnd()) {
      lines.push(JSON.parse(output.stdout.slice(parsed, end)));
      parsed = end + 1;
    }
    return [...lines];
  };
  const nextEnd = () => output.stdout.indexOf('\n', parsed);
  assert.ok(isReady() && pid !== undefined, `the server did not start: ${output.stderr}`);
  const [port = 0, mtlsPort = 0] = ports();
  return {
    url: `${args.includes('--tls-certificate') ? 'https' : 'http'}://localhost:${port}`,
    port,
    mtlsPort,
    pid,
    folder,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    log,
    async logged(isMeant, what) {
      let line: LoggedLine | undefined;
      const isThere = () => {
        line = log().find(isMeant);
        return line !== undefined;
      };
      await until(isThere, `it is logged ${what}`);
      assert.ok(line);
      return line;
    },
    ended: outcome,
    stop(signal = 'SIGTERM') {
      child.kill(signal);
      return outcome;
    },
  };
}

/** Waits for an effect of a running process, with a time limit. */
export async function until(holds: () => boolean, what: string, longestMs = LONGEST_MS): Promise<void> {
  const endsAt = Date.now() + longestMs;
  while (!holds()) {
    assert.ok(Date.now() < endsAt, `waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

function start(folder: string, args: readonly string[], environment: Environment, program = PROGRAM): Child {
  const [node, main] = program;
  const child = spawn(node, [main, ...args], {
    cwd: folder,
    env: environmentIn(folder, environment),
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  child.stdout.setEncoding('utf8');
  child.stderr.setEncoding('utf8');
  // A command may end without reading its input.
  child.stdin.on('error', () => {});
  return child;
}

/** All variables of a process that runs in this folder. */
export function environmentIn(folder: string, environment: Environment = {}): Environment {
  return { ...BARE_ENVIRONMENT, ...environmentOf(folder), ...environment };
}

export function environmentOf(folder: string): Environment {
  const file = join(folder, ENVIRONMENT_FILE);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
}

interface Output {
  stdout: string;
  stderr: string;
}

/** Ends a process if it still runs, and resolves when it has exited. */
async function killed(child: Child): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}

function gather(child: Child): Output {
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (text: string) => {
    output.stdout += text;
  });
  child.stderr.on('data', (text: string) => {
    output.stderr += text;
  });
  return output;
}

function ended(child: Child, output: Output): Promise<Outcome> {
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, ...output })));
}
