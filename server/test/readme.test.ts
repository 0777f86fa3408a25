import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';

const ROOT = dirname(dirname(import.meta.dirname));
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

test('the host of the README serves tokens that it introspects', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-readme-'));
  const port = await freePort();
  const code = /```ts\n(.*?)```/s.exec(README)?.[1] ?? '';
  const host = replaceOnce(
    replaceOnce(code, "'tokens.db'", JSON.stringify(join(folder, 'tokens.db'))),
    '.listen(3000)',
    `.listen(${port})`,
  );
  const file = join(ROOT, '.test-results', `readme_host_${port}.ts`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, host);
  const child = spawn(process.execPath, [file], { stdio: 'inherit' });
  t.after(() => {
    child.kill();
    rmSync(file);
    rmSync(folder, { recursive: true });
  });

  const at = `http://127.0.0.1:${port}`;
  const authorization = `Basic ${btoa('my-service:its secret')}`;
  const post = (path: string, form: Readonly<Record<string, string>>) =>
    fetch(at + path, { method: 'POST', headers: { authorization }, body: new URLSearchParams(form) });
  await answering(at);
  const issued: { access_token: string } = await (
    await post('/token', { grant_type: 'client_credentials' })
  ).json();
  const introspected = await (await post('/token/introspect', { token: issued.access_token })).json();
  assert.equal(introspected.active, true);
  assert.equal(introspected.scope, 'read');
  await post('/token/revoke', { token: issued.access_token });
  const revoked = await post('/token/introspect', { token: issued.access_token });
  assert.equal(await revoked.text(), '{"active":false}');
});

test('every link between the pages leads somewhere', () => {
  const broken = globSync(['*.md', 'docs/**/*.md'], { cwd: ROOT }).flatMap((page) =>
    [...readFileSync(join(ROOT, page), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
      .filter(([, target = '']) => !existsSync(join(ROOT, dirname(page), target)))
      .map(([, target]) => `${page}: ${target}`),
  );
  assert.deepEqual(broken, []);
});

function replaceOnce(text: string, part: string, by: string): string {
  assert.equal(text.split(part).length, 2, `${part} is in the README's code once`);
  return text.replace(part, () => by);
}

async function answering(url: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    if (
      await fetch(url).then(
        () => true,
        () => false,
      )
    )
      return;
    await pause(50);
  }
  throw new Error('the host of the README does not answer');
}

/** A port that nobody listened on a moment ago. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().on('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === 'object' && address ? resolve(address.port) : reject(new Error('no port')),
      );
    });
  });
}
