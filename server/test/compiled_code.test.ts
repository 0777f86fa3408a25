import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const MODULE = join(import.meta.dirname, '../bin/compiled_code.mjs');

/** The folder of a process and its threads for compiled code, or `undefined`. */
function keptBy(
  dependencies: string,
  environment: Record<string, string> = {},
): readonly [string | undefined, string | undefined] {
  const program = `
    import { getCompileCacheDir } from 'node:module';
    import { Worker } from 'node:worker_threads';
    const { keepCompiledCode } = await import(${JSON.stringify(MODULE)});
    keepCompiledCode(${JSON.stringify(dependencies)});
    const own = getCompileCacheDir();
    const code = "const of = process.getBuiltinModule; " +
      "of('worker_threads').parentPort.postMessage(of('module').getCompileCacheDir())";
    new Worker(code, { eval: true }).on('message', (thread) => console.log(JSON.stringify({ own, thread })));
  `;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    env: { PATH: process.env.PATH, ...environment },
    encoding: 'utf8',
    timeout: 20_000,
  });
  assert.equal(stderr, '');
  const { own, thread } = JSON.parse(stdout) as { own?: string; thread?: string };
  return [own, thread];
}

test('compiled code is kept next to the dependencies, for threads too, and only the owner can read or write it', () => {
  const dependencies = workbench.folder();
  const [folder] = readdirSync(dependencies);
  assert.equal(folder, undefined);
  const [own, thread] = keptBy(dependencies);
  const [made = ''] = readdirSync(dependencies);
  assert.ok(own?.startsWith(join(dependencies, made)), `${own}`);
  assert.equal(thread, own);
  assert.equal(statSync(join(dependencies, made)).mode & 0o777, 0o700);
  assert.deepEqual(keptBy(dependencies), [own, own]);
});

test('a folder that others can write to, or that was put elsewhere, is not used, nor is its mode changed', () => {
  const dependencies = workbench.folder();
  keptBy(dependencies);
  const [made = ''] = readdirSync(dependencies);
  chmodSync(join(dependencies, made), 0o770);
  assert.deepEqual(keptBy(dependencies), [undefined, undefined]);
  assert.equal(statSync(join(dependencies, made)).mode & 0o777, 0o770);

  const others = workbench.folder();
  const elsewhere = join(workbench.folder(), 'elsewhere');
  mkdirSync(elsewhere, { mode: 0o700 });
  symlinkSync(elsewhere, join(others, made));
  assert.deepEqual(keptBy(others), [undefined, undefined]);
});

test('without a folder of dependencies, nothing is created and nothing fails', () => {
  const missing = join(workbench.folder(), 'node_modules');
  assert.deepEqual(keptBy(missing), [undefined, undefined]);
  assert.equal(existsSync(missing), false);
});

test('a folder that the operator names is used instead', () => {
  const dependencies = workbench.folder();
  const named = join(workbench.folder(), 'named');
  const [own] = keptBy(dependencies, { NODE_COMPILE_CACHE: named });
  assert.ok(own?.startsWith(named), `${own}`);
  assert.deepEqual(readdirSync(dependencies), []);
});
