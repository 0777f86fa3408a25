import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { bundleSuites, hostFolder, SUITES } from './bundle.ts';
import type { Outcome } from './inside/node_test.ts';
import { assertOutcomes, REPLACES_AN_EXPORT, titlesOnPinnedNode } from './outcomes.ts';
import { bundlePackage, serveWorker, WITH_NODE_MODULES, WITHOUT_NODE } from './workerd.ts';

/** They make odd signatures and hashes with `node:crypto`, which the package itself never asks for here. */
const NEED_NODE_CRYPTO = SUITES.filter((suite) =>
  /from 'node:(crypto|module)'/.test(readFileSync(suite, 'utf8')),
);

/** Runs suites as one request to a Worker, in which the package is a module of its own. */
async function outcomesInWorker(
  t: TestContext,
  suites: readonly string[],
  flags: readonly string[],
): Promise<readonly Outcome[]> {
  const folder = hostFolder(t);
  const lacking = { [REPLACES_AN_EXPORT]: 'an export of node:crypto cannot be replaced' };
  const last = `export default {
  async fetch() {
    await declareAll();
    return Response.json(await runDeclared(${JSON.stringify(lacking)}));
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
  await assertOutcomes(t, outcomes, await titlesOnPinnedNode(t, false), {});
});
