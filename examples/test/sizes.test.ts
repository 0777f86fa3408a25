import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';

const EXAMPLES = join(import.meta.dirname, '..');
const SOURCES = '**/*.{ts,js,jsx}';
const HOST_BEFORE = ['old_tables.ts', 'old_repositories.ts', 'old_server.ts'];

const linesOf = (...files: readonly string[]) =>
  files.reduce(
    (lines, file) => lines + readFileSync(join(EXAMPLES, file), 'utf8').trimEnd().split('\n').length,
    0,
  );

for (const folder of ['hono_on_workerd', 'next_application', 'protected_api']) {
  test(`examples/${folder} is less than 60 lines`, () => {
    const sources = globSync(`${folder}/${SOURCES}`, {
      cwd: EXAMPLES,
      exclude: ['**/dist', '**/.next'],
    });
    assert.notDeepEqual(sources, []);
    assert.ok(linesOf(...sources) < 60, `${linesOf(...sources)} lines`);
  });
}

test('each part of examples/express_with_users is less than 60 lines: the host, and the users and the form that applications have', () => {
  const parts = globSync(`express_with_users/${SOURCES}`, { cwd: EXAMPLES });
  assert.deepEqual(parts.map((part) => basename(part)).sort(), ['host.ts', 'people.ts', 'sign_in_form.ts']);
  assert.deepEqual(
    parts.filter((part) => linesOf(part) >= 60),
    [],
  );
});

test('the smallest host for tables of its own is at most 40 lines with its SQL, and every other one is less than 80', () => {
  const folder = 'three_endpoints';
  const at = (file: string) => join(folder, file);
  const smallest = linesOf(at('sqlite.ts'), at('node.ts'));
  assert.ok(smallest <= 40, `${smallest} lines`);
  const hosts = ['node.ts', 'express.ts', 'hono.ts', join('app', '[...endpoint]', 'route.ts')];
  const long = ['sqlite.ts', 'postgres.ts', 'drizzle.ts'].flatMap((database) =>
    hosts.filter((host) => linesOf(at(database), at(host)) >= 80).map((host) => `${database} ${host}`),
  );
  assert.deepEqual(long, []);
});

test('each host is less than 60 lines with the server that it mounts', () => {
  const hosts = globSync(`hosts/${SOURCES}`, { cwd: EXAMPLES });
  const server = join('hosts', 'authorization_server.ts');
  const long = hosts.filter((file) => file !== server && linesOf(file, server) >= 60);
  assert.deepEqual(long, []);
});

// The other files are the old host, which is not part of the move.
test('the move from @jmondi/oauth2-server is less than 60 lines', () => {
  const folder = 'migration_from_oauth2_server';
  const own = globSync(`${folder}/${SOURCES}`, { cwd: EXAMPLES }).filter(
    (file) => !HOST_BEFORE.includes(basename(file)),
  );
  assert.notDeepEqual(own, []);
  assert.ok(linesOf(...own) < 60, `${linesOf(...own)} lines`);
});
