import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bundleSuites, hostFolder, SUITES } from './bundle.ts';
import { bundlePackage, serveWorker } from './workerd.ts';
import type { Outcome } from './inside/node_test.ts';

const ANSWER = `export default { async fetch() {
  await declareAll();
  return Response.json(await runDeclared());
} };`;

test('x', async (t) => {
  const withNodeCrypto = (f: string) => /from 'node:(crypto|module)'/.test(readFileSync(f, 'utf8'));
  for (const flagged of [false, true]) {
    const folder = hostFolder(t);
    const s = performance.now();
    const suites = SUITES.filter((f) => withNodeCrypto(f) === flagged);
    await bundleSuites(folder, 'suites.mjs', {
      suites,
      last: ANSWER,
      inWorker: true,
    });
    const modules = new Map([['suites.mjs', readFileSync(join(folder, 'suites.mjs'), 'utf8')], ...(await bundlePackage(folder))]);
    console.log([...modules].map(([k, v]) => [k, v.length]));
    const { origin } = await serveWorker(t, folder, modules, flagged ? ['no_nodejs_compat_v2'] : ['no_nodejs_compat', 'no_nodejs_compat_v2']);
    const r = await fetch(origin);
    const x = await r.text();
    if (!x.startsWith('[')) { console.log(x.slice(0, 3000)); continue; }
    const o = JSON.parse(x) as Outcome[];
    console.log(flagged, suites.length, (performance.now() - s) / 1000, Object.entries(Object.groupBy(o, (x) => x.outcome)).map(([k, v]) => `${k} ${v?.length}`));
    for (const x of o) if (x.outcome !== 'passed') console.log(x.outcome, x.title, x.reason?.slice(0, 600));
  }
});
