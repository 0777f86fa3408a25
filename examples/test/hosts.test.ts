import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { API, basic, json, post, SERVICE } from './asking.ts';
import { assertLoopbackAlone } from './loopback.ts';
import { started } from './started.ts';

const HOSTS = globSync('*.ts', { cwd: join(import.meta.dirname, '..', 'hosts') }).filter(
  (file) => file !== 'authorization_server.ts',
);

for (const file of HOSTS) {
  test(`examples/hosts/${basename(file)} issues, introspects and revokes, and keeps its own pages, for this machine alone`, async (t) => {
    const { url } = await started(t, join('hosts', file));
    const issued = await post(`${url}/token`, { grant_type: 'client_credentials', scope: 'read' }, SERVICE);
    assert.equal(issued.status, 200);
    const token = String((await json(issued)).access_token);
    const isActive = async () => {
      const answer = await post(`${url}/token/introspect`, { token }, API);
      assert.equal(answer.status, 200);
      return (await json(answer)).active;
    };
    assert.equal(await isActive(), true);
    assert.equal((await post(`${url}/token/revoke`, { token }, SERVICE)).status, 200);
    assert.equal(await isActive(), false);
    const refused = await post(`${url}/token/introspect`, { token }, basic('my-api', 'wrong'));
    assert.equal(refused.status, 401);

    const metadata = await fetch(`${url}/.well-known/oauth-authorization-server`);
    assert.equal((await json(metadata)).issuer, url);
    assert.equal(await (await fetch(url)).text(), 'the application');
    assert.equal((await fetch(`${url}/nobody-is-here`)).status, 404);
    await assertLoopbackAlone(url);
  });
}
