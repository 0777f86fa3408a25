import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readdirSync, readlinkSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { Account } from '../../core/test/harness/postgres_installation.ts';
import { runningProcesses, signal, until } from '../../core/test/harness/postgres_processes.ts';

const BRIDGE = 'bridge';
const PREFIX = '10.77.0';

/** A bridge in the network namespace of this process, with an address of its own. */
export function createBridge(): void {
  run('ip', ['link', 'set', 'lo', 'up']);
  run('ip', ['link', 'add', BRIDGE, 'type', 'bridge']);
  run('ip', ['address', 'add', `${PREFIX}.254/24`, 'dev', BRIDGE]);
  run('ip', ['link', 'set', BRIDGE, 'up']);
}

interface Command {
  readonly args: readonly string[];
  /** File that gets its output. */
  readonly log: string;
  readonly account?: Account;
  readonly environment?: Readonly<Record<string, string>>;
}

/** A machine: a network namespace that is connected to the bridge, and the processes in it. */
export class Host {
  readonly name: string;
  readonly address: string;
  /** Keeps the namespace alive when no other process is in it. */
  readonly #holder: ChildProcess;
  readonly #namespace: string;

  private constructor(name: string, address: string, holder: ChildProcess, namespace: string) {
    this.name = name;
    this.address = address;
    this.#holder = holder;
    this.#namespace = namespace;
  }

  /** @param number the last part of its address */
  static async join(name: string, number: number): Promise<Host> {
    const holder = spawn('unshare', ['--net', 'sleep', 'infinity'], { stdio: 'ignore' });
    await once(holder, 'spawn');
    const own = namespaceOf('self');
    const isApart = () => ![undefined, own].includes(namespaceOf(holder.pid));
    await until(`the network of ${name}`, 10_000, isApart);
    const host = new Host(name, `${PREFIX}.${number}`, holder, namespaceOf(holder.pid) ?? '');
    const peer = ['peer', 'name', 'eth0', 'netns', String(holder.pid)];
    run('ip', ['link', 'add', name, 'type', 'veth', ...peer]);
    run('ip', ['link', 'set', name, 'master', BRIDGE, 'up']);
    host.run('ip', ['link', 'set', 'lo', 'up']);
    host.run('ip', ['address', 'add', `${host.address}/24`, 'dev', 'eth0']);
    host.run('ip', ['link', 'set', 'eth0', 'up']);
    return host;
  }

  /** The command line that runs a program on this machine. */
  commandLine(program: string, args: readonly string[] = []): readonly [string, ...string[]] {
    return ['nsenter', `--net=/proc/${this.#holder.pid}/ns/net`, program, ...args];
  }

  run(program: string, args: readonly string[]): void {
    const [command, ...rest] = this.commandLine(program, args);
    run(command, rest);
  }

  spawn(program: string, { args, log, account = {}, environment = {} }: Command): ChildProcess {
    const { uid, gid } = account;
    // nsenter needs root, so it cannot be started as the account.
    const as = uid === undefined ? [] : [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups'];
    const [command, ...rest] = this.commandLine('setpriv', [...as, program, ...args]);
    const output = openSync(log, 'a');
    return spawn(command, rest, {
      env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8', ...environment },
      cwd: '/',
      stdio: ['ignore', output, output],
    });
  }

  /** Ends every process on it, as a loss of power would. */
  async kill(): Promise<void> {
    await until(`the end of ${this.name}`, 10_000, () => {
      const left = this.#processes();
      signal(left, 'SIGKILL');
      return left.length === 0;
    });
  }

  /**
   * Stops processes, as in a virtual machine that is suspended. Their connections stay open.
   * @param isMeant by its command line. Default: every process
   */
  async freeze(isMeant: (command: string) => boolean = () => true): Promise<void> {
    await until(`${this.name} to be frozen`, 10_000, () => {
      const moving = this.#processes().filter(({ stopped, command }) => !stopped && isMeant(command));
      signal(moving, 'SIGSTOP');
      return moving.length === 0;
    });
  }

  thaw(): void {
    signal(this.#processes(), 'SIGCONT');
  }

  /** Drops every packet that arrives. What it sends still arrives elsewhere. */
  becomeDeaf(): void {
    this.run('iptables', ['-A', 'INPUT', '-i', 'eth0', '-j', 'DROP']);
  }

  /** Drops every packet that it sends. It still receives. */
  becomeMute(): void {
    this.run('iptables', ['-A', 'OUTPUT', '-o', 'eth0', '-j', 'DROP']);
  }

  /** Drops every packet from and to some other machines. */
  cutFrom(others: readonly Host[]): void {
    for (const { address } of others) {
      this.run('iptables', ['-A', 'INPUT', '-s', address, '-j', 'DROP']);
      this.run('iptables', ['-A', 'OUTPUT', '-d', address, '-j', 'DROP']);
    }
  }

  /** Ends every partition that began on this machine. */
  reconnect(): void {
    this.run('iptables', ['-F']);
  }

  #processes() {
    const inside = new Set(
      readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && namespaceOf(pid) === this.#namespace),
    );
    return runningProcesses().filter(({ pid }) => inside.has(String(pid)) && pid !== this.#holder.pid);
  }
}

/** Polls at intervals that leave the processor to the machines. */
export async function eventually(
  what: string,
  longestMs: number,
  isSo: () => boolean | Promise<boolean>,
): Promise<void> {
  const startedAtMs = performance.now();
  while (!(await isSo())) {
    if (performance.now() - startedAtMs > longestMs)
      throw new Error(`waited ${Math.round(longestMs / 1000)} s for ${what}`);
    await pause(200);
  }
}

function namespaceOf(pid: number | string | undefined): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    // It has ended.
    return undefined;
  }
}

function run(command: string, args: readonly string[]): void {
  execFileSync(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
