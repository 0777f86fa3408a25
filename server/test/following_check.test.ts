// `grantd follow`: a process beside a gateway (ADR 176).
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, writeFileSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { grantd } from './harness/commands.ts';
import { PROGRAM, type RunningServer, until, Workbench } from './harness/program.ts';
import { basic, payloadOf, postForm, type Tokens } from './harness/protocol.ts';

const AUDIENCE = 'http://localhost:4003';
const MACHINE = basic('demo-machine', 'demo-machine-secret');
const COMMAND = ['follow', '--client-id', 'demo-api', '--audience', AUDIENCE];

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

describe('grantd follow', () => {
  const workbench = new Workbench();
  let server: RunningServer;
  let folder: string;
  before(async () => {
    folder = workbench.folder();
    server = await workbench.start(folder, ['--demo']);
  });
  after(() => workbench.clear());

  /** Starts the process. @returns a function that asks it */
  async function start(listen: string, ...more: string[]) {
    const [node, main] = PROGRAM;
    const child = spawn(node, [main, ...COMMAND, '--issuer', server.url, '--listen', listen, ...more], {
      cwd: folder,
      env: { PATH: process.env.PATH, GRANTD_CLIENT_SECRET: 'demo-api-secret' },
    });
    after(() => child.kill('SIGKILL'));
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
    await until(() => said.includes('in contact') || child.exitCode !== null, 'it is in contact');
    assert.equal(child.exitCode, null, said);
    const place = listen.startsWith('unix:')
      ? { socketPath: listen.slice('unix:'.length) }
      : { host: '127.0.0.1', port: Number(listen.split(':').at(-1)) };
    const ask = async (path: string, token?: string): Promise<Answer> => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const sent = requestHttp({ ...place, path, headers, agent: false }).end();
      const [response] = await once(sent, 'response');
      let body = '';
      for await (const text of response.setEncoding('utf8')) body += text;
      return { status: response.statusCode, headers: response.headers, body };
    };
    return { child, ask, said: () => said };
  }

  async function newToken(): Promise<string> {
    const form = { grant_type: 'client_credentials', scope: 'api:read', resource: AUDIENCE };
    return ((await (await postForm(`${server.url}/token`, form, MACHINE)).json()) as Tokens).access_token;
  }

  async function freePort(): Promise<number> {
    const probe = createServer().listen(0, '127.0.0.1');
    await once(probe, 'listening');
    const { port } = probe.address() as AddressInfo;
    probe.close();
    await once(probe, 'close');
    return port;
  }

  test('answers by status alone, also after a revocation, and says when it has no contact', async () => {
    const { child, ask, said } = await start(`127.0.0.1:${await freePort()}`);
    const token = await newToken();
    const passed = await ask(`/token/check?scope=api:read&audience=${AUDIENCE}`, token);
    assert.deepEqual(
      [passed.status, passed.headers['x-auth-sub'], passed.headers['x-auth-scope'], passed.body],
      [204, payloadOf(token).sub, 'api:read', ''],
    );
    assert.equal((await ask('/token/check?scope=api:write', token)).status, 403);
    assert.equal((await ask('/token/check?audience=https://other.example', token)).status, 403);
    assert.equal((await ask('/token/check?scpoe=api:read', token)).status, 400);
    const bare = await ask('/token/check');
    assert.equal(bare.status, 401);
    assert.match(String(bare.headers['www-authenticate']), /^Bearer/);
    assert.equal((await ask('/other')).status, 404);
    assert.equal((await ask('/health/ready')).status, 200);

    await postForm(`${server.url}/token/revoke`, { token }, MACHINE);
    let revoked: Answer | undefined;
    const untilRefused = Date.now() + 5000;
    do revoked = await ask('/token/check', token);
    while (revoked.status === 204 && Date.now() < untilRefused);
    assert.equal(revoked.status, 401);

    const other = await newToken();
    assert.equal((await ask('/token/check', other)).status, 204);
    await server.stop();
    await until(() => said().includes('no contact'), 'it has noticed');
    const unknown = await ask('/token/check', other);
    assert.deepEqual([unknown.status, unknown.headers['retry-after']], [503, '1']);
    assert.equal((await ask('/health/ready')).status, 503);
    child.kill('SIGTERM');
    await once(child, 'exit');
    assert.equal(child.exitCode, 0);
    server = await workbench.start(folder, ['--demo', '--port', String(server.port)]);
  });

  test('listens at a UNIX socket, also if one was left, but not in the place of another process', async () => {
    const path = join(folder, 'check.sock');
    for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
      const { child, ask } = await start(`unix:${path}`);
      assert.equal((await ask('/token/check', await newToken())).status, 204);
      const environment = { GRANTD_CLIENT_SECRET: 'demo-api-secret' };
      const args = [...COMMAND, '--issuer', server.url, '--listen', `unix:${path}`];
      const second = await grantd(folder, args, { environment });
      assert.equal(second.code, 1);
      assert.match(second.stderr, /another process listens at .*check\.sock/);
      assert.equal((await ask('/token/check', await newToken())).status, 204);
      child.kill(signal);
      await once(child, 'exit');
    }
  });

  test('refuses what others could use, and what cannot work, with the option', async () => {
    const environment = { GRANTD_CLIENT_SECRET: 'demo-api-secret' };
    const open = join(folder, 'open.txt');
    writeFileSync(open, 'demo-api-secret');
    chmodSync(open, 0o644);
    for (const [args, message, given] of [
      [['--listen', '0.0.0.0:4180'], /--listen: expected an address of this machine alone/, environment],
      [['--listen', '4180'], /--listen: expected/, environment],
      [['--headers', 'sub,X-Bad'], /--headers: expected/, environment],
      [[], /secret of the client in GRANTD_CLIENT_SECRET or --client-secret-file/, {}],
      [['--client-secret-file', open], /open\.txt/, {}],
      [['--issuer', 'ftp://x'], /issuer: expected/, environment],
    ] as const) {
      const issuer = args.some((arg) => arg === '--issuer') ? [] : ['--issuer', server.url];
      const { code, stderr } = await grantd(folder, [...COMMAND, ...issuer, ...args], { environment: given });
      assert.equal(code, 2, stderr);
      assert.match(stderr, message);
    }
  });
});
