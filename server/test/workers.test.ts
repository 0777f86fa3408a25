import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Browser, signInAndConsent } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { Line, sendAlone } from './harness/line.ts';
import { type RunningServer, until, Workbench } from './harness/program.ts';
import { authorizationUrl, basic, newPkce } from './harness/protocol.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const API = basic('demo-api', 'demo-api-secret');
const MACHINE = basic('demo-machine', 'demo-machine-secret');
const WEB = basic('demo-web', 'demo-web-secret');

describe('four workers', () => {
  let server: RunningServer;
  /** One per worker. */
  let lines: readonly Line[];

  const newToken = async (line: Line): Promise<string> => {
    const form = { grant_type: 'client_credentials' };
    return String((await line.json('/token', { form, authorization: MACHINE })).access_token);
  };
  const introspect = (line: Line, token: string) =>
    line.json('/token/introspect', { form: { token }, authorization: API });
  const revoke = (line: Line, token: string, authorization: string) =>
    line.send('/token/revoke', { form: { token }, authorization });
  /** The workers that logged these requests. */
  const workersOf = async (requestIds: readonly string[]) => {
    const requests = () =>
      server.log().filter((line) => line.event === 'request' && requestIds.includes(String(line.requestId)));
    await until(() => requests().length === requestIds.length, 'the requests are logged');
    return requests().map(({ worker }) => Number(worker));
  };

  before(async () => {
    server = await workbench.start(workbench.folder(), ['--demo', '--workers', '4']);
    lines = Array.from({ length: 4 }, () => new Line(server.url));
    // Opened one after another, so that each goes to another worker.
    for (const line of lines) await line.send('/health');
  });
  after(() => {
    for (const line of lines) line.close();
  });

  test('say once that they serve, how many they are, and what to try', async () => {
    const announcements = server.stderr().match(/^grantd serves .*$/gm);
    assert.deepEqual(announcements, [
      `grantd serves ${server.url} with 4 workers (listening on 127.0.0.1, port ${server.port})`,
    ]);
    assert.equal(server.stderr().match(/^A new access token of alice/gm)?.length, 1);
    // Together they issued one token, not one each.
    const tokens = await grantdPrints(server.folder, ['token', 'revoke', '--user', 'alice', '--dry-run']);
    assert.match(tokens, /^1 /);
    const { time, database, ...line } = await server.logged(({ event }) => event === 'listening', 'once');
    assert.deepEqual(line, {
      level: 'info',
      event: 'listening',
      pid: server.pid,
      issuer: server.url,
      host: '127.0.0.1',
      port: server.port,
      workers: 4,
    });
    const started = server.log().filter(({ event }) => event === 'worker_started');
    assert.deepEqual(started.map(({ worker }) => worker).sort(), [1, 2, 3, 4]);
  });

  test('get connections in turn, and their log lines say which of them answered', async () => {
    const overLines = await Promise.all(lines.map((line) => line.send('/health')));
    const workers = await workersOf(overLines.map(({ requestId }) => requestId));
    assert.deepEqual(workers.sort(), [1, 2, 3, 4]);
    const alone: string[] = [];
    for (let count = 0; count < 8; count += 1)
      alone.push((await sendAlone(`${server.url}/health`)).requestId);
    assert.deepEqual((await workersOf(alone)).sort(), [1, 1, 2, 2, 3, 3, 4, 4]);
  });

  test('know a token that one of them issued, and not any more once another one has revoked it', async () => {
    for (const [index, issuing] of lines.entries()) {
      const token = await newToken(issuing);
      const answers = await Promise.all(lines.map((line) => introspect(line, token)));
      assert.deepEqual(
        answers.map(({ active }) => active),
        [true, true, true, true],
      );
      const revoking = lines[(index + 1) % 4] ?? issuing;
      assert.equal((await revoke(revoking, token, MACHINE)).status, 200);
      const later = await Promise.all(lines.map((line) => introspect(line, token)));
      assert.deepEqual(
        later,
        lines.map(() => ({ active: false })),
      );
    }
  });

  test('share refresh tokens: what one rotates another one rotates on, and reuse ends the family everywhere', async () => {
    const order = ['--client', 'demo-web', '--user', 'alice', '--refresh', '--json'];
    const issued = await grantdPrints(server.folder, ['token', 'issue', ...order]);
    const refresh = (line: Line | undefined, refreshToken: unknown) =>
      line?.json('/token', {
        form: { grant_type: 'refresh_token', refresh_token: String(refreshToken) },
        authorization: WEB,
      });
    const [first, second, third, fourth] = lines;
    const original = JSON.parse(issued).refreshToken;
    const rotated = await refresh(first, original);
    const again = await refresh(second, rotated?.refresh_token);
    assert.equal(typeof again?.refresh_token, 'string');
    assert.equal((await refresh(third, original))?.error, 'invalid_grant');
    assert.equal((await refresh(fourth, again?.refresh_token))?.error, 'invalid_grant');
  });

  test('sign with the new key after keys rotate, verify each other’s tokens, and publish the same keys', async () => {
    const kidOf = (token: string) => JSON.parse(atob(token.split('.', 1)[0] ?? '')).kid;
    const [first] = lines;
    assert.ok(first);
    const old = await newToken(first);
    for (let round = 0; round < 3; round += 1) {
      const before = await Promise.all(lines.map((line) => newToken(line)));
      await grantdPrints(server.folder, ['keys', 'rotate', '--now']);
      const tokens = await Promise.all(lines.map((line) => newToken(line)));
      const kids = new Set(tokens.map(kidOf));
      assert.equal(kids.size, 1);
      assert.ok(!kids.has(kidOf(before[0] ?? '')));
      for (const line of lines) {
        const answers = await Promise.all(
          [old, ...before, ...tokens].map((token) => introspect(line, token)),
        );
        assert.ok(answers.every(({ active }) => active === true));
      }
      const published = await Promise.all(lines.map(async (line) => (await line.send('/jwks')).body));
      assert.equal(new Set(published).size, 1);
      const { keys } = JSON.parse(published[0] ?? '') as { keys: { kid: string }[] };
      assert.ok(keys.some(({ kid }) => kids.has(kid)));
    }
  });

  test('let a user go from page to page over different workers', async () => {
    const before = server.log().length;
    const pkce = newPkce();
    const browser = new Browser(server.url, { connection: 'close' });
    const callback = await signInAndConsent(browser, authorizationUrl(server.url, pkce));
    const form = {
      grant_type: 'authorization_code',
      code: callback.searchParams.get('code') ?? '',
      redirect_uri: 'http://localhost:4001/callback',
      code_verifier: pkce.verifier,
    };
    const redeemed = await sendAlone(`${server.url}/token`, { form, authorization: WEB });
    assert.equal(redeemed.status, 200);
    await workersOf([redeemed.requestId]);
    const workers = () =>
      new Set(
        server
          .log()
          .slice(before)
          .map(({ worker }) => worker),
      );
    await until(() => workers().size > 1, 'more than one worker is seen to have answered');
  });

  test('write whole log lines: no line is lost or mixed with another', async () => {
    const ids: string[] = [];
    const path = `/${'x'.repeat(190)}`;
    const oneAfterTheOther = async (send: () => ReturnType<typeof sendAlone>) => {
      for (let count = 0; count < 100; count += 1) ids.push((await send()).requestId);
    };
    await Promise.all([
      ...lines.map((line) => oneAfterTheOther(() => line.send(path))),
      ...lines.map(() => oneAfterTheOther(() => sendAlone(`${server.url}${path}`))),
    ]);
    // Every line so far must be JSON.
    assert.equal((await workersOf(ids)).length, 800);
  });
});

for (const given of ['0', '65', 'abc', '1.5', '']) {
  test(`--workers ${JSON.stringify(given)} is refused by its name`, async () => {
    const outcome = await grantd(workbench.folder(), ['serve', '--workers', given]);
    const expected = 'grantd: --workers: expected a whole number from 1 to 64\n';
    assert.deepEqual(outcome, { code: 2, stdout: '', stderr: expected });
  });
}
