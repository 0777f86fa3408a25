import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { grantd, grantdPrints } from './harness/commands.ts';
import { Workbench } from './harness/program.ts';
import { basic, payloadOf, postForm } from './harness/protocol.ts';

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'application_claims.md'), 'utf8');
const [, CONFIGURATION = ''] = /^ *```json\n(.*?)^ *```$/ms.exec(PAGE) ?? [];
const [, ADD_PERSON = ''] = /^ *npx grantd (user add .*) < password.txt$/m.exec(PAGE) ?? [];

const workbench = new Workbench();
after(() => workbench.clear());

test('the configuration file of the page adds stored claims to tokens and responses', async () => {
  const folder = workbench.folder();
  writeFileSync(join(folder, 'grantd.json'), CONFIGURATION);
  const server = await workbench.start(folder, ['--config', 'grantd.json']);
  const prints = (...args: string[]) => grantdPrints(folder, args);
  const words = [...ADD_PERSON.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
  assert.equal((await grantd(folder, words, { input: 'correct horse battery' })).code, 0);
  await prints('client', 'add', 'shop', '--scope', 'openid', '--scope', 'read', '--scope', 'write');
  const { client_secret: secret } = JSON.parse(
    await prints('client', 'add', 'api', '--resource', 'https://api.example', '--json'),
  );
  const issue = async (...scopes: string[]) => {
    const flags = scopes.flatMap((scope) => ['--scope', scope]);
    const order = ['token', 'issue', '--client', 'shop', '--user', 'bob', '--config', 'grantd.json'];
    return (await prints(...order, ...flags)).trim();
  };
  const token = await issue('openid', 'read');
  assert.equal(payloadOf(token)['https://acme.example/tenant'], 'acme');
  assert.equal('groups' in payloadOf(token), false);
  assert.equal('https://acme.example/tenant' in payloadOf(await issue('write')), false);

  const response = await postForm(`${server.url}/token/introspect`, { token }, basic('api', secret));
  const answer = await response.json();
  assert.deepEqual([answer.groups, answer['https://acme.example/tenant']], [['staff', 'admins'], 'acme']);
});

test('a declaration that the library refuses is named as it stands in the file', async () => {
  const folder = workbench.folder();
  writeFileSync(join(folder, 'grantd.json'), '{"applicationClaims":{"sub":{"in":["access_token"]}}}');
  const { code, stderr } = await grantd(folder, ['serve', '--config', 'grantd.json', '--port', '0']);
  assert.notEqual(code, 0);
  assert.match(
    stderr,
    /applicationClaims in grantd\.json: sub: expected a name that OAuth and OpenID Connect do not use/,
  );
});
