import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuthorizationServer, type NewClient, type TokenRecord } from '@grantd/core';
import type { ExampleStore } from './kit_of_store.ts';

const ISSUER = 'https://login.example';

export const CLIENT: NewClient = {
  id: 'app',
  grantTypes: ['authorization_code', 'refresh_token'],
  scopes: ['openid', 'offline_access'],
  redirectUris: ['https://app.example/callback'],
};

/** A server over an example store, with a client and two people. Its tokens go by the system's clock. */
export async function serving(store: ExampleStore) {
  await store.empty();
  const connection = await store.connect(Date.now);
  const { storage } = connection;
  const secret = 'a secret for tests, of more than 32 characters';
  const server = new AuthorizationServer({ issuer: ISSUER, secret, storage });
  await server.prepare();
  await connection.saveClient(CLIENT);
  for (const id of ['alice', 'bob']) await connection.addUser(id);

  /** An access token of a person, with a refresh token beside it. */
  const tokenOf = async (subject: string): Promise<string> => {
    const [issued] = await server.issueTokens({ clientId: CLIENT.id, subject, refresh: true });
    assert.ok(issued);
    return issued.accessToken;
  };
  const recordOf = async (token: string): Promise<TokenRecord> => {
    const { record } = await server.explainToken(token);
    assert.ok(record && 'kind' in record);
    return record;
  };
  const isActive = async (token: string) => (await server.introspectToken(token)).active;
  return { ...connection, server, tokenOf, recordOf, isActive };
}

/** That a server over the store signs with keys that it keeps there, and that what is revoked is dead. */
export function testServing(name: string, store: () => ExampleStore): void {
  test(`${name}: tokens that are signed by keys in the store are active until they are revoked`, async () => {
    const { server, tokenOf, isActive, end } = await serving(store());
    const [alices, bobs] = [await tokenOf('alice'), await tokenOf('bob')];
    await server.rotateSigningKey('RS256');
    const later = await tokenOf('alice');
    await server.revokeToken(alices);
    assert.deepEqual(
      [await isActive(alices), await isActive(bobs), await isActive(later)],
      [false, true, true],
    );
    await end();
  });

  test(`${name}: keys are made once, and replaced once, by however many at once`, async () => {
    const { storage, server, end } = await serving(store());
    const { keys } = storage;
    assert.ok(keys);
    await Promise.all([server.prepare(), server.prepare()]);
    const [current, next] = await keys.list();
    assert.ok(current && next);
    assert.deepEqual([current.status, next.status], ['current', 'next']);
    const attempts = ['a', 'b', 'c'].map(async (kid) => keys.rotate(current.kid, { ...next, kid }));
    assert.equal((await Promise.all(attempts)).filter((isDone) => isDone).length, 1);
    const statuses = new Map((await keys.list()).map(({ kid, status }) => [kid, status]));
    assert.deepEqual([...statuses.values()].toSorted(), ['current', 'next', 'retired']);
    assert.deepEqual([statuses.get(current.kid), statuses.get(next.kid)], ['retired', 'current']);
    assert.equal(await keys.currentKeyId(current.algorithm), next.kid);
    assert.notEqual((await keys.get(current.kid))?.retiredAtMs, undefined);
    await end();
  });
}
