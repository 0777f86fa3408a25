import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { freePort } from '../../core/test/harness/free_port.ts';
import { logTo, RequestLog } from '../src/log/log.ts';
import { Browser, hiddenFields, signInAndConsent } from './harness/browser.ts';
import { grantd } from './harness/commands.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';
import { authorizationUrl, basic, introspect, newPkce, postForm, userInfo } from './harness/protocol.ts';

const workbench = new Workbench();
after(() => workbench.clear());

describe('the log', () => {
  let server: RunningServer;
  before(async () => {
    server = await workbench.start(workbench.folder(), ['--demo']);
  });

  /** The log lines of one request, after its response. */
  async function linesOf(response: Response): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const id = response.headers.get('x-request-id');
    const lines = () => server.log().filter(({ requestId }) => requestId === id);
    await until(() => lines().some(({ event }) => event === 'request'), 'the request is logged');
    return lines();
  }

  test('has one line for a request, without its query', async () => {
    const response = await fetch(`${server.url}/health?secret=hidden`);
    const [line, ...others] = await linesOf(response);
    assert.deepEqual(others, []);
    const { time, durationMs, requestId, ...rest } = line ?? {};
    assert.deepEqual(rest, { level: 'info', event: 'request', method: 'GET', path: '/health', status: 200 });
    assert.equal(typeof durationMs, 'number');
    assert.match(String(time), /^\d{4}-\d\d-\d\dT/);
    assert.ok(requestId);
  });

  test('has no token that was put into the path by mistake', async () => {
    const opaque = `grantd_at_${'x'.repeat(43)}`;
    const jwt = `eyJhbGciOiJSUzI1NiJ9.${'p'.repeat(300)}.${'s'.repeat(300)}`;
    const paths = {
      [`/userinfo%3Faccess_token=${opaque}`]: '/userinfo%3Faccess_token=[removed]',
      [`/userinfo;access_token=${opaque}`]: '/userinfo;access_token=[removed]',
      [`/userinfo/${jwt}`]: '/userinfo/[removed]',
      [`/register/grantd_ra_${'x'.repeat(43)}`]: '/register/[removed]',
      [`/register/grantd_ia_${'x'.repeat(22)}.1795232220.one.${'x'.repeat(43)}`]: '/register/[removed]',
    };
    for (const [path, logged] of Object.entries(paths)) {
      const [request] = await linesOf(await fetch(`${server.url}${path}`));
      assert.equal(request?.path, logged);
    }
  });

  test('says why a response was inactive, and who asked, in a line of the same request', async () => {
    const body = { token: `grantd_at_${'x'.repeat(43)}` };
    const response = await postForm(
      `${server.url}/token/introspect`,
      body,
      basic('demo-api', 'demo-api-secret'),
    );
    assert.deepEqual(await response.json(), { active: false });
    const [inactive, request] = await linesOf(response);
    assert.equal(inactive?.event, 'inactive');
    assert.equal(inactive?.reason, 'no_record');
    assert.equal(request?.clientId, 'demo-api');
  });

  test('says why a request was refused', async () => {
    const response = await postForm(
      `${server.url}/token/introspect`,
      { token: 'x' },
      basic('demo-api', 'wrong'),
    );
    const [refused] = await linesOf(response);
    const { event, error, status, reason } = refused ?? {};
    assert.deepEqual(
      [event, error, status, reason],
      ['refused', 'invalid_client', 401, 'client_secret_wrong'],
    );
  });

  test('has no line of its own for the nonce of DPoP, which clients ask for by their first proof', () => {
    const written: string[] = [];
    const log = new RequestLog(logTo({ write: (line) => void written.push(line) }));
    const refused = { type: 'refused', operation: 'token', status: 400 } as const;
    log.event({ ...refused, error: 'use_dpop_nonce', reason: 'dpop_nonce_missing' });
    assert.deepEqual(written, []);
    log.event({ ...refused, error: 'invalid_dpop_proof', reason: 'dpop_nonce_missing' });
    assert.equal(written.length, 1);
  });

  test('has one name for /authorize, whether the library or the page refuses the request', async () => {
    for (const query of ['client_id=unknown', 'pending=expired']) {
      const lines = await linesOf(await fetch(`${server.url}/authorize?${query}`));
      const { status, operation } = lines.at(-1) ?? {};
      assert.deepEqual([status, operation], [400, 'authorization'], query);
    }
  });

  test('says once why a user came back without a code, in a line of the same request', async () => {
    const reasons = async (act: () => Promise<unknown>) => {
      const before = server.log().length;
      await act();
      const id = (await fetch(`${server.url}/health`)).headers.get('x-request-id');
      const isLogged = () =>
        server.log().some(({ requestId, event }) => requestId === id && event === 'request');
      await until(isLogged, 'what came before is logged');
      const lines = server.log().slice(before);
      const refusals = lines.filter(({ event }) => event === 'refused');
      for (const { requestId } of refusals) {
        const request = lines.find((line) => line.event === 'request' && line.requestId === requestId);
        assert.equal(request?.clientId, 'demo-web');
      }
      return refusals.map(({ error, reason, clientId }) => [error, reason, clientId]);
    };
    const url = authorizationUrl(server.url, newPkce());
    const silent = authorizationUrl(server.url, newPkce(), { prompt: 'none', scope: 'openid email' });
    const asking = authorizationUrl(server.url, newPkce(), { prompt: 'consent' });
    const browser = new Browser(server.url);
    assert.deepEqual(await reasons(() => browser.get(silent)), [
      ['login_required', 'sign_in_required', 'demo-web'],
    ]);
    await signInAndConsent(browser, url);
    assert.deepEqual(await reasons(() => browser.get(silent)), [
      ['consent_required', 'consent_required', 'demo-web'],
    ]);
    const deny = async () => browser.submit(await browser.get(asking), { decision: 'deny' });
    assert.deepEqual(await reasons(deny), [['access_denied', 'consent_denied', 'demo-web']]);
  });

  test('holds no token, secret, code or password, whatever happens', async () => {
    const pkce = newPkce();
    const browser = new Browser(server.url);
    const login = await browser.get(authorizationUrl(server.url, pkce));
    await browser.submit(login, { username: 'alice', password: 'a-wrong-password' });
    const callback = await signInAndConsent(browser, authorizationUrl(server.url, pkce));
    const code = callback.searchParams.get('code') ?? '';
    const authorization = basic('demo-web', 'demo-web-secret');
    const redeem = { grant_type: 'authorization_code', code, redirect_uri: 'http://localhost:4001/callback' };
    const redeemed = await postForm(
      `${server.url}/token`,
      { ...redeem, code_verifier: pkce.verifier },
      authorization,
    );
    const tokens = (await redeemed.json()) as Record<'access_token' | 'refresh_token' | 'id_token', string>;
    // A second use of the code is an event and revokes its tokens.
    await postForm(`${server.url}/token`, { ...redeem, code_verifier: pkce.verifier }, authorization);
    await introspect(server.url, tokens.access_token);
    await userInfo(server.url, tokens.access_token);
    await userInfo(server.url, `${tokens.access_token}x`);
    await fetch(`${server.url}/userinfo?access_token=${tokens.access_token}`);
    await postForm(`${server.url}/token/revoke`, { token: tokens.refresh_token }, authorization);
    const { stdout } = await grantd(server.folder, ['client', 'rotate-secret', 'demo-machine', '--json']);
    await linesOf(await fetch(`${server.url}/health`));

    assert.ok(server.log().some(({ event }) => event === 'authorization_code_reused'));
    const secrets = {
      accessToken: tokens.access_token,
      refreshToken: tokens.refresh_token,
      idToken: tokens.id_token,
      code,
      verifier: pkce.verifier,
      password: 'wonderland',
      wrongPassword: 'a-wrong-password',
      clientSecret: 'demo-web-secret',
      newSecret: String(JSON.parse(stdout).client_secret),
      basic: authorization.slice('Basic '.length),
      formToken: hiddenFields(login).form_token ?? '',
      ...Object.fromEntries(browser.cookies),
    };
    for (const [name, secret] of Object.entries(secrets)) {
      assert.ok(secret.length >= 8, name);
      assert.ok(!server.stdout().includes(secret), `the log holds the ${name}`);
    }
  });

  test('is readable for people with --log pretty, and silent with --log off', async () => {
    const pretty = await workbench.start(workbench.folder(), ['--log', 'pretty']);
    const off = await workbench.start(workbench.folder(), ['--log', 'off']);
    for (const { url } of [pretty, off]) await fetch(`${url}/health`);
    await until(() => pretty.stdout().includes('/health'), 'the request is logged');
    assert.match(pretty.stdout(), /^\[[\d:.]+\] INFO: GET \/health 200 \d+ ms requestId=\S+$/m);
    assert.equal((await off.stop()).stdout, '');
  });
});

test('a log that cannot be written does not keep the server from answering', async () => {
  const folder = workbench.folder();
  const port = await freePort();
  const main = join(import.meta.dirname, '../bin/grantd.mjs');
  // /dev/full fails every write like a full disk.
  const command = 'exec "$0" "$1" serve --port "$2" > /dev/full';
  const server = spawn('/bin/sh', ['-c', command, process.execPath, main, String(port)], {
    cwd: folder,
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'inherit', 'ignore'],
  });
  const answers = () =>
    fetch(`http://127.0.0.1:${port}/health`).then(
      (response) => response.status,
      () => 0,
    );
  let status = 0;
  const timer = setInterval(async () => {
    status = await answers();
  }, 50);
  await until(() => status === 200, 'the server answers');
  clearInterval(timer);
  for (let request = 0; request < 20; request += 1) assert.equal(await answers(), 200);
  const ended = new Promise((resolve) => server.once('exit', resolve));
  server.kill('SIGTERM');
  assert.equal(await ended, 0);
});

test('a reader that falls behind loses no line', async (t) => {
  const port = await freePort();
  const main = join(import.meta.dirname, '../bin/grantd.mjs');
  const server = spawn(process.execPath, [main, 'serve', '--port', String(port)], {
    cwd: workbench.folder(),
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => server.kill('SIGKILL'));
  let said = '';
  server.stderr.setEncoding('utf8').on('data', (part: string) => {
    said += part;
  });
  await until(() => said.includes('grantd serves'), 'the server listens');
  // Unread output has room for a few hundred lines.
  const path = `http://127.0.0.1:${port}/${'x'.repeat(190)}`;
  for (let count = 0; count < 2000; count += 1) await (await fetch(path)).arrayBuffer();
  let text = '';
  server.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  const requests = () => text.split('\n').filter((line) => line.includes('"event":"request"'));
  await until(() => requests().length === 2000, 'every request is logged');
  for (const line of requests()) JSON.parse(line);
});
