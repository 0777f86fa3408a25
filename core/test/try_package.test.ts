import { packedArchives, installedCore } from './harness/package/archives.ts';
import { consumerProgram } from './harness/package/consumer_program.ts';
import { run, output } from './harness/package/run.ts';
import { writeFileSync, cpSync } from 'node:fs';
import { test } from 'node:test';
test('x', () => {
  const t=performance.now();
  const a = packedArchives(); console.log(a, performance.now()-t);
  cpSync(a.core, '/tmp/pk/core.tgz'); cpSync(a.program, '/tmp/pk/program.tgz'); cpSync(a.jose, '/tmp/pk/jose.tgz');
  const f = installedCore(a); console.log(performance.now()-t);
  writeFileSync(f+'/c.mjs', consumerProgram('esm')); writeFileSync(f+'/c.cjs', consumerProgram('commonjs'));
  for (const n of ['runtimes/node_22/node_modules/node/bin/node','runtimes/node_24/node_modules/node/bin/node','node_modules/node/bin/node'])
    for (const s of ['c.mjs','c.cjs']) for (const k of ['memory','sqlite']) console.log(n, s, k, run('/work/wt-package/'+n, [s,k], f));
  cpSync(f, '/tmp/pk/consumer', {recursive:true});
});
