// Begins early: it runs many suites.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openAskedIssuer } from './asked_issuer.ts';
import { bundleSuites, SUITES } from './bundle.ts';
import { CONDITIONAL, probe } from './conditions.ts';
import type { Outcome } from './inside/node_test.ts';
import { assertOutcomes, FIXED_EXPORTS, titlesOnPinnedNode, WITHOUT_REPLACING } from './outcomes.ts';
import { hostFolder } from './package_under_test.ts';
import { assertApiAsks } from './protected_api.ts';
import { bundleHost, bundlePackage, serveWorker, WITH_NODE_MODULES, WITHOUT_NODE } from './workerd.ts';

/** They create unusual signatures and hashes with `node:crypto`, which the package itself does not need here. */
const NEED_NODE_CRYPTO = SUITES.filter((suite) =>
  /from 'node:(crypto|module)'/.test(readFileSync(suite, 'utf8')),
);

/** Runs suites as one request to a Worker, with the package as a separate module. */
async function outcomesInWorker(
  t: TestContext,
  suites: readonly string[],
  flags: readonly string[],
): Promise<readonly Outcome[]> {
  const folder = hostFolder(t);
  const last = `export default {
  async fetch() {
    await declareAll();
    return Response.json(await runDeclared(${JSON.stringify(WITHOUT_REPLACING)}));
  },
};`;
  await bundleSuites(folder, 'suites.mjs', { suites, hasNode: false, last });
  const main = ['suites.mjs', readFileSync(join(folder, 'suites.mjs'), 'utf8')] as const;
  const { origin } = await serveWorker(t, folder, new Map([main, ...(await bundlePackage(folder))]), flags);
  const response = await fetch(origin, { signal: AbortSignal.timeout(120_000) });
  return response.json();
}

test('every specification holds on workerd, without Node’s modules wherever the tests need none', async (t) => {
  const others = SUITES.filter((suite) => !NEED_NODE_CRYPTO.includes(suite));
  const outcomes = [
    ...(await outcomesInWorker(t, others, WITHOUT_NODE)),
    ...(await outcomesInWorker(t, NEED_NODE_CRYPTO, WITH_NODE_MODULES)),
  ];
  await assertOutcomes(t, outcomes, await titlesOnPinnedNode(t), {
    'there is no node:http here': 1,
    [FIXED_EXPORTS]: 1,
    ...(process.env.TEST_EVERY_PAIR === 'yes' && {
      'there is no server on loopback here': 25,
      'there is no node:fs here': 1,
    }),
  });
});

test('a Worker without Node’s modules serves requests at once, from a server that they share', async (t) => {
  const folder = hostFolder(t);
  const host = await bundleHost(folder, join(import.meta.dirname, 'inside', 'worker_host.mjs'));
  const { origin } = await serveWorker(t, folder, new Map([['host.mjs', host]]), WITHOUT_NODE);
  const post = async (path: string, form: Readonly<Record<string, string>>) => {
    const response = await fetch(`${origin}${path}`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa('service:its+secret')}` },
      body: new URLSearchParams(form),
      signal: AbortSignal.timeout(30_000),
    });
    return { status: response.status, body: await response.text() };
  };
  const ofNode = await fetch(`${origin}/of-node`);
  assert.deepEqual(await ofNode.json(), []);

  const issue = () => post('/token', { grant_type: 'client_credentials' });
  const issued = await Promise.all(Array.from({ length: 20 }, issue));
  const tokens: readonly string[] = issued.map(({ body }) => JSON.parse(body).access_token);
  const active = async () => {
    const answers = await Promise.all(tokens.map((token) => post('/token/introspect', { token })));
    return answers.map(({ status, body }) => [status, JSON.parse(body).active]);
  };
  assert.deepEqual(
    await active(),
    tokens.map(() => [200, true]),
  );
  const revoked = await Promise.all(tokens.map((token) => post('/token/revoke', { token })));
  assert.deepEqual(
    revoked,
    tokens.map(() => ({ status: 200, body: '' })),
  );
  assert.deepEqual(
    await active(),
    tokens.map(() => [200, false]),
  );
});

test('in a Worker hashing and signatures are those of the web', async (t) => {
  const folder = probe(t, 'export default { fetch: () => Response.json(taken) };');
  const host = await bundleHost(folder, join(folder, 'probe.mjs'));
  const { origin } = await serveWorker(t, folder, new Map([['host.mjs', host]]), WITHOUT_NODE);
  const taken = await (await fetch(origin)).json();
  assert.deepEqual(taken, Object.fromEntries(Object.keys(CONDITIONAL).map((name) => [name, 'default'])));
});

test('in a Worker a protected API asks once for many requests, and follows no redirect', (t) =>
  assertApiAsks(t, async (folder, module) => {
    const last = 'export default { fetch: async () => Response.json(await answers()) };';
    writeFileSync(join(folder, 'api.mjs'), module + last);
    const host = await bundleHost(folder, join(folder, 'api.mjs'));
    const { origin } = await serveWorker(t, folder, new Map([['host.mjs', host]]), WITHOUT_NODE);
    return (await fetch(origin)).json();
  }));

test('in a Worker a caller that disconnects does not cancel work that others wait for', async (t) => {
  const asked = await openAskedIssuer(t);
  const folder = hostFolder(t);
  const api = readFileSync(join(import.meta.dirname, 'inside', 'protected_api.mjs'), 'utf8');
  const last = `export default { fetch: protectedApi(${JSON.stringify(asked.issuer)}) };`;
  writeFileSync(join(folder, 'api.mjs'), api + last);
  const host = await bundleHost(folder, join(folder, 'api.mjs'));
  const { origin } = await serveWorker(t, folder, new Map([['host.mjs', host]]), WITHOUT_NODE);
  const ask = async (path: string, signal = AbortSignal.timeout(30_000)) => {
    const headers = { authorization: `Bearer ${asked.token}` };
    const response = await fetch(origin + path, { headers, signal });
    await response.text();
    return response.status;
  };
  for (const path of ['/verified', '/introspected']) {
    const gone = new AbortController();
    asked.outage = () => gone.abort();
    await assert.rejects(ask(path, gone.signal), { name: 'AbortError' });
    asked.outage = undefined;
    // It shares the request of a caller that disconnected, which ends at its time limit.
    assert.equal(await ask(path), 503);
    await ask('/later');
    assert.equal(await ask(path), 200);
  }
});

test('what needs Node ends the bundling of a Worker, and the module is named', async (t) => {
  const folder = hostFolder(t);
  for (const entry of ['sqlite', 'node']) {
    const file = join(folder, `${entry}.mjs`);
    writeFileSync(file, `export * from '@grantd/core/${entry}';`);
    await assert.rejects(bundleHost(folder, file), /Could not resolve "node:/);
  }
});
