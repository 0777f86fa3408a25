import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TokenKind } from '../population/order.ts';
import { populate } from '../population/populate.ts';
import { databaseIn } from '../population/population.ts';
import { measureSignIn, signInOnce } from '../works/sign_in.ts';
import { Stage } from '../works/stage.ts';

test('users whom the server has not seen sign in through the pages, and its CPU time is measured', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-bench-test-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const stage = new Stage({
    folder,
    sizes: { records: 1000, tokens: 10, personal: 5 },
    say: () => {},
    // Here, where nothing is stored for later runs.
    populate: async (order) => {
      const fileOf = (kind: TokenKind) => join(folder, `${kind}.txt`);
      const database = databaseIn(folder);
      await populate(database, order, { fileOf, onProgress: () => {} });
      return { order, database, tokenFiles: { jwt_rs256: fileOf('jwt_rs256') } };
    },
  });
  const { signIn } = await measureSignIn(stage, { warmUp: 2, batches: 2, flows: 10 });
  assert.equal(signIn?.flows, 20);
  const { median } = signIn.cpuMs;
  assert.ok(median > 0 && median < 500, `a sign-in took ${median} ms`);
});

for (const [page, html, expected] of [
  ['an error page', '<h1>Error</h1>', 'the sign-in page'],
  [
    'the sign-in page again',
    '<form method="post" action="/login"><button id="login-submit"></button></form>',
    'the consent page',
  ],
  [
    'no code',
    '<form method="post" action="/x"><i id="login-submit"></i><i id="consent-allow"></i></form>',
    'a code',
  ],
] as const)
  test(`${page} instead of ${expected} fails the measurement`, async (t) => {
    const server = createServer((request, response) => {
      // The third form has both marks, so that it passes for either page.
      response.setHeader('content-type', 'text/html').end(html);
      request.resume();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await assert.rejects(signInOnce(address, { username: 'ada', password: 'wrong' }), {
      message: new RegExp(`^sign-in: expected ${expected}, got 200 from /`),
    });
  });
