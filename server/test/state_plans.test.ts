// Plans of states: their version covers everything that is performed, and one answer names everything that is wrong.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AdminServer, startAdmin } from './harness/admin.ts';

let admin: AdminServer;
before(async () => {
  admin = await startAdmin({});
});
after(() => admin.close());

const plan = (body: object) => admin.send('POST', '/admin/state/plan', { body });
const apply = (body: object, version: string) =>
  admin.send('POST', '/admin/state/apply', { body, headers: { 'if-match': version } });
const versionOf = async (body: object) => (await plan(body)).headers.get('etag') ?? '';

describe('a state is not applied', () => {
  test('with another secret than the plan was for', async () => {
    const state = { clients: { vault: { scope: 'vault', secret: { env: 'VAULT' } } } };
    const order = (vault: string) => ({ state, secrets: { vault } });
    const [first, second] = [order('the-first-secret-of-the-vault'), order('the-second-secret-of-the-vault')];
    const version = await versionOf(first);
    assert.deepEqual((await plan(first)).body, (await plan(second)).body, 'the plans look the same');
    assert.equal((await apply(second, version)).status, 412);
    assert.equal((await admin.send('GET', '/admin/clients/vault')).status, 404);
    assert.equal((await apply(first, version)).status, 200);
    assert.equal((await apply(order('a-third-secret-of-the-vault'), await versionOf(second))).status, 412);
  });

  test('for another user than the plan was for', async () => {
    const order = { state: { groups: { lent: { members: ['lena'] } } } };
    const { subject } = await admin.addUser('lena');
    const version = await versionOf(order);
    assert.equal((await admin.send('DELETE', `/admin/users/${subject}`)).status, 200);
    await admin.addUser('lena');
    assert.equal((await apply(order, version)).status, 412);
    assert.equal((await apply(order, await versionOf(order))).status, 200);
  });
});

test('one answer names what is wrong with the form of a state, and what does not fit of the rest', async () => {
  const state = {
    groups: { staff: { members: ['lost'], member: [] }, empty: null },
    clients: {
      shop: { redirect_url: ['https://shop.example/cb', '/', 'x'], scope: 'openid', colour: 'red' },
      api: { resource: 'https://api.example', api_scopes: ['read'], secret: { env: 'A' } },
      uses: { apis: ['https://lost.example'], scope: null, secret: { env: 'B' } },
    },
  };
  const secret = 'a-secret-that-is-long-enough';
  const { status, body } = await plan({ state, secrets: { api: secret, unknown: secret } });
  assert.equal(status, 422);
  assert.deepEqual(
    body.errors.map((one: { in: string }) => one.in),
    [
      '/state/groups/staff/member',
      '/state/groups/empty',
      '/state/clients/shop/redirect_url',
      '/state/clients/shop/colour',
      '/state/clients/uses/scope',
      '/state/groups/staff/members',
      '/state/clients/shop/redirect_uris/1',
      '/state/clients/shop/redirect_uris/2',
      '/state/clients/uses/apis',
      '/secrets/uses',
      '/secrets/unknown',
    ],
  );
});
