// Starts the authorization servers of APIs that are measured, and asks them for tokens.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../core/test/harness/free_port.ts';
import { pinned } from '../processes/pinning.ts';
import { type API, AUDIENCE, MACHINE } from './parties.ts';

export const GRANTD = join(import.meta.dirname, '..', '..', 'server', 'bin', 'grantd.mjs');

export type Credentials = typeof API;

/** An authorization server. */
export interface Issuer {
  readonly name: string;
  readonly issuer: string;
  readonly pid: number;
}

export class Servers {
  readonly folder = mkdtempSync(join(tmpdir(), 'grantd-follow-'));
  readonly #running: ChildProcess[] = [];
  readonly #pin: (command: readonly string[]) => readonly string[];

  /** @param core of all servers. Default: any */
  constructor(core?: number) {
    this.#pin = (command) => (core === undefined ? command : pinned(core, command));
  }

  /** Runs a program until it says that it listens. @throws Error if it ends before, with what it said */
  async start(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<number> {
    const [command = '', ...rest] = this.#pin([process.execPath, ...args]);
    const child = spawn(command, rest, {
      ...{ cwd: this.folder, stdio: ['ignore', 'ignore', 'pipe'] },
      // npm’s variables would lead to the database of the caller.
      env: { PATH: process.env.PATH ?? '', NODE_ENV: 'production', ...environment },
    });
    this.#running.push(child);
    child.stderr?.setEncoding('utf8');
    let said = '';
    while (!said.includes('listening on')) {
      const [text] = await Promise.race([once(child.stderr ?? child, 'data'), once(child, 'exit')]);
      if (child.exitCode !== null) throw new Error(`${args.join(' ')} ended: ${said}`);
      said += String(text);
    }
    child.stderr?.resume();
    return child.pid ?? 0;
  }

  async grantd(): Promise<Issuer> {
    const port = await freePort();
    const pid = await this.start([GRANTD, 'serve', '--demo', '--port', String(port)]);
    return { name: 'grantd', issuer: `http://localhost:${port}`, pid };
  }

  async oidcProvider(): Promise<Issuer> {
    const port = await freePort();
    const pid = await this.start([join(import.meta.dirname, 'oidc_provider.ts'), String(port)]);
    return { name: 'oidc-provider', issuer: `http://localhost:${port}`, pid };
  }

  /** Adds a client that may follow, to the database of grantd. */
  addFollower(clientId: string): Credentials {
    const args = [GRANTD, 'client', 'add', clientId, '--follow-all', '--json'];
    const env = { PATH: process.env.PATH ?? '' };
    const added = spawnSync(process.execPath, args, { cwd: this.folder, env, encoding: 'utf8' });
    if (added.status !== 0) throw new Error(`client add failed: ${added.stderr}`);
    return { clientId, clientSecret: String(JSON.parse(added.stdout).client_secret) };
  }

  async close(): Promise<void> {
    for (const child of this.#running) if (child.exitCode === null && child.kill()) await once(child, 'exit');
    rmSync(this.folder, { recursive: true });
  }
}

export async function newTokens({ issuer }: Issuer, count: number, audience = AUDIENCE): Promise<string[]> {
  const tokens: string[] = [];
  const form = { grant_type: 'client_credentials', scope: 'api:read', resource: audience };
  while (tokens.length < count) {
    const { access_token } = await (await post(`${issuer}/token`, form)).json();
    if (typeof access_token !== 'string') throw new Error('there was no token');
    tokens.push(access_token);
  }
  return tokens;
}

export async function revoke({ issuer }: Issuer, token: string): Promise<void> {
  const response = await post(`${issuer}/token/revoke`, { token });
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`the revocation was answered with ${response.status}`);
}

function post(url: string, form: Readonly<Record<string, string>>): Promise<Response> {
  const authorization = `Basic ${btoa(`${MACHINE.clientId}:${MACHINE.clientSecret}`)}`;
  return fetch(url, { method: 'POST', body: new URLSearchParams(form), headers: { authorization } });
}
