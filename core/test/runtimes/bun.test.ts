import { test } from 'node:test';
import { bundleSuites, hostFolder } from './bundle.ts';
import { BUN } from './executables.ts';
import { outcomesOf, RUN_ALL } from './runs.ts';

test('x', async (t) => {
  const folder = hostFolder(t);
  await bundleSuites(folder, 'suites.mjs', { last: RUN_ALL });
  for (const [c, a] of [[process.execPath, []], [BUN(), ['run']]] as const) {
    const s = performance.now();
    const o = await outcomesOf(c, [...a, 'suites.mjs'], folder);
    console.log(c, (performance.now() - s) / 1000, Object.entries(Object.groupBy(o, (x) => x.outcome)).map(([k, v]) => `${k} ${v?.length}`));
    for (const x of o) if (x.outcome !== 'passed') console.log(x.outcome, x.title, x.reason?.slice(0, 600));
  }
});
