import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

const root = join(import.meta.dirname, '..', '..');
const windows = process.platform === 'win32' && 'Windows links programs by scripts of its own';

const { version, engines } = JSON.parse(readFileSync(join(root, 'server', 'package.json'), 'utf8'));
const oldest = engines.node.slice('>='.length);

/** The pinned Node comes first, as with npm. */
const environment = { PATH: `${dirname(process.execPath)}:${process.env.PATH}` };

test('what npm has linked as grantd is the program', { skip: windows }, () => {
  const { status, stdout, stderr } = spawnSync(join(root, 'node_modules', '.bin', 'grantd'), ['--version'], {
    encoding: 'utf8',
    env: environment,
  });
  assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: `${version}\n`, stderr: '' });
});

test('a Node that is too old gets an error that names the required version', () => {
  const older = "Object.defineProperty(process, 'versions', { value: { node: '20.20.2' } })";
  const program = join(root, 'server', 'bin', 'grantd.mjs');
  const args = ['--import', `data:text/javascript,${encodeURIComponent(older)}`, program, '--help'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: environment,
  });
  assert.equal(status, 1);
  assert.equal(stdout, '');
  assert.match(stderr, /^grantd needs Node 24\.7 or later; this is Node \d+\S+\.\n$/);
});

test('importing the program into an application on a Node that is too old says which one it needs', () => {
  const withoutArgon2 = `
    const { argon2, ...crypto } = process.getBuiltinModule('crypto');
    globalThis.olderCrypto = crypto;
    const url = 'data:text/javascript,' + encodeURIComponent(
      \`export default olderCrypto; export const { \${Object.keys(crypto).filter((name) => name !== 'default')} } = olderCrypto;\`,
    );
    const resolve = (name, context, next) =>
      name === 'node:crypto' ? { url, shortCircuit: true } : next(name, context);
    (await import('node:module')).registerHooks({ resolve });
    await import(process.env.ENTRY).then(() => console.log('started'), ({ message }) => console.log(message));
  `;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', withoutArgon2], {
    encoding: 'utf8',
    env: { ...environment, ENTRY: pathToFileURL(join(root, 'server', 'src', 'embed.ts')).href },
  });
  assert.equal(stdout, `grantd needs Node ${oldest} or later; this is Node ${process.versions.node}.\n`);
});
