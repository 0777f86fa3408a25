// Each script of this folder says what its flags are.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const ROOT = join(import.meta.dirname, '..', '..');

/** Not run by themselves. */
const PARTS = ['arguments.ts', 'script.ts'];

const SCRIPTS = globSync('reliability/*.ts', { cwd: ROOT }).filter((path) => !PARTS.includes(basename(path)));

for (const path of SCRIPTS)
  test(`${basename(path)} prints its flags with --help, and refuses others`, async () => {
    const run = (flag: string) => promisify(execFile)(process.execPath, [path, flag], { cwd: ROOT });
    const { stdout } = await run('--help');
    const [, name = ''] = /^npm run ([a-z:-]+) -- \[FLAGS\]\n\n {2}--/.exec(stdout) ?? assert.fail(stdout);
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    assert.ok(String(scripts[name]).includes(path), `${name} runs ${scripts[name]}`);
    const options = [
      ...readFileSync(join(ROOT, path), 'utf8').matchAll(/^ {4}'?([a-z-]+)'?: \{ type: 'string'/gm),
    ];
    for (const [, option] of options)
      if (option !== 'inside') assert.ok(stdout.includes(`\n  --${option}`), `${path}: --${option}`);
    await assert.rejects(run('--no-such-flag'), { code: 2 });
  });
