import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const EXAMPLES = join(import.meta.dirname, '..');

test('the page of the examples names each of them', () => {
  const page = readFileSync(join(EXAMPLES, 'README.md'), 'utf8');
  const named = [...page.matchAll(/^\| \[(\w+)\]/gm)].map(([, name]) => name);
  const folders = readdirSync(EXAMPLES, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const examples = folders.map(({ name }) => name).filter((name) => name !== 'test');
  assert.deepEqual(named.sort(), examples.sort());
});

test('the README shows the server of the smallest host', () => {
  const page = readFileSync(join(EXAMPLES, '..', 'README.md'), 'utf8');
  const host = readFileSync(join(EXAMPLES, 'three_endpoints', 'sqlite.ts'), 'utf8');
  const server = host.slice(host.indexOf('export const server'));
  assert.ok(page.includes(`\`\`\`ts\n${server}\`\`\`\n`));
});
