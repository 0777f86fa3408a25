import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AuthorizationServer, type AuthorizingStorage, type NewClient, type TokenRecord } from '@grantd/core';
import type { Connection, ExampleStore } from './kit_of_store.ts';
import { aliveOf, CLIENT_ID, pairIn, pairOf } from './pairs.ts';

const ISSUER = 'https://login.example';

const CLIENT: NewClient = {
  id: CLIENT_ID,
  grantTypes: ['authorization_code', 'refresh_token'],
  scopes: ['openid', 'offline_access'],
  redirectUris: ['https://app.example/callback'],
  metadata: { token_endpoint_auth_method: 'none' },
};

/** An example store with a client and two users, on the system's clock. */
export async function stocked(store: ExampleStore): Promise<Connection> {
  await store.empty();
  const connection = await store.connect(Date.now);
  await connection.saveClient(CLIENT);
  for (const id of ['alice', 'bob']) await connection.addUser(id);
  return connection;
}

/** A server over this store. */
export async function serving(store: ExampleStore) {
  const connection = await stocked(store);
  const { storage } = connection;
  const secret = 'a secret for tests, of more than 32 characters';
  const server = new AuthorizationServer({ issuer: ISSUER, secret, storage });
  await server.prepare();

  /** An access token of a user, with its refresh token. */
  const tokenOf = async (subject: string): Promise<string> => {
    const [issued] = await server.operator.issueTokens({ clientId: CLIENT.id, subject, refresh: true });
    assert.ok(issued);
    return issued.accessToken;
  };
  const recordOf = async (token: string): Promise<TokenRecord> => {
    const { record } = await server.operator.explainToken(token);
    assert.ok(record && 'kind' in record && record.issuedAtMs !== undefined);
    const { issuedAtMs } = record;
    return { ...record, issuedAtMs };
  };
  const isActive = async (token: string) => (await server.introspectToken(token)).active;
  return { ...connection, server, tokenOf, recordOf, isActive };
}

/** Checks that a server over the store signs with the stored keys, and that revoked tokens are dead. */
export function testServing(name: string, store: () => ExampleStore): void {
  test(`${name}: tokens that are signed by keys in the store are active until they are revoked`, async () => {
    const { server, tokenOf, isActive, end } = await serving(store());
    const [alices, bobs] = [await tokenOf('alice'), await tokenOf('bob')];
    await server.operator.rotateSigningKey('RS256', { now: true });
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
    const listed = async () => (await keys.list()).filter(({ algorithm }) => algorithm === 'RS256');
    const atFirst = await listed();
    assert.equal(atFirst.length, 2);
    const current = atFirst.find(({ status }) => status === 'current');
    const next = atFirst.find(({ status }) => status === 'next');
    assert.ok(current && next);
    const attempts = ['a', 'b', 'c'].map(async (kid) => keys.rotate(current.kid, { ...next, kid }));
    assert.equal((await Promise.all(attempts)).filter((isDone) => isDone).length, 1);
    const statuses = new Map((await listed()).map(({ kid, status }) => [kid, status]));
    assert.deepEqual([...statuses.values()].toSorted(), ['current', 'next', 'retired']);
    assert.deepEqual([statuses.get(current.kid), statuses.get(next.kid)], ['retired', 'current']);
    assert.equal(await keys.currentKeyId(current.algorithm), next.kid);
    assert.notEqual((await keys.get(current.kid))?.retiredAtMs, undefined);
    await end();
  });
}

/** The host's own operations on its users and its database. */
export interface Host {
  setDisabled(userId: string, isDisabled: boolean): Promise<unknown>;
  signOut(userId: string): Promise<unknown>;
  removeClient(clientId: string): Promise<unknown>;
  /** If users are in the same database. */
  removeUser?(userId: string): Promise<unknown>;
  /** Present if there are transactions: runs `work` in one of the host's. */
  transaction?(
    work: (
      storage: AuthorizingStorage,
      disable: (userId: string) => Promise<unknown>,
      remove: (userId: string) => Promise<unknown>,
    ) => Promise<void>,
  ): Promise<unknown>;
  /** Present if there are transactions: whether one of them waits for a lock. */
  isWaiting?(): Promise<boolean>;
  /** Present if rows do not expire by themselves. */
  sweep?(now: Date): Promise<unknown>;
}

/** Asserts that tokens follow the host's users and transactions. */
export function testHost(name: string, store: () => ExampleStore, host: Host): void {
  const { setDisabled, signOut, removeClient, removeUser, transaction, sweep } = host;

  test(`${name}: a user whom the host disables, signs out or removes has no live token`, async () => {
    const { tokenOf, isActive, end } = await serving(store());
    const [before, bobs] = [await tokenOf('alice'), await tokenOf('bob')];
    await setDisabled('alice', true);
    assert.deepEqual([await isActive(before), await isActive(bobs)], [false, true]);
    await assert.rejects(tokenOf('alice'), { name: 'OperatorIssueError' });
    await signOut('alice');
    await setDisabled('alice', false);
    const after = await tokenOf('alice');
    assert.deepEqual([await isActive(before), await isActive(after)], [false, true]);
    if (removeUser !== undefined) {
      await removeUser('alice');
      assert.deepEqual([await isActive(after), await isActive(bobs)], [false, true]);
    }
    await end();
  });

  test(`${name}: a user who is signed out has no live token, whatever clock it was issued by`, async () => {
    const { storage, end } = await stocked(store());
    const [first, ahead] = [pairOf('alice'), pairOf('alice', Date.now() + 60_000)];
    const rotated = pairIn(first.refresh, Date.now() + 60_000);
    for (const { refresh, access } of [first, ahead])
      assert.equal(await storage.tokens.issue([refresh, access], {}), 'issued');
    const successors = [rotated.refresh, rotated.access];
    assert.equal(await storage.tokens.rotate(first.refresh, rotated.refresh, successors), 'issued');
    await signOut('alice');
    assert.deepEqual(await aliveOf(storage, first, ahead, rotated), []);
    const next = pairIn(ahead.refresh);
    const { tokens } = storage;
    assert.equal(await tokens.rotate(ahead.refresh, next.refresh, [next.refresh, next.access]), 'refused');
    await end();
  });

  test(`${name}: a client that the host removes has no live token and no origin, and gets no new ones`, async () => {
    const { storage, saveClient, end } = await stocked(store());
    const { clients, tokens } = storage;
    const origins = async () =>
      Promise.all(
        ['https://app.example', 'https://new.example'].map((item) => clients.hasRedirectOrigin(item)),
      );
    assert.deepEqual(await origins(), [true, false]);
    await saveClient({ ...CLIENT, redirectUris: ['https://new.example/callback'] });
    assert.deepEqual(await origins(), [false, true]);
    const [before, later] = [pairOf('alice'), pairOf('alice')];
    assert.equal(await tokens.issue([before.refresh, before.access], {}), 'issued');
    await removeClient(CLIENT.id);
    assert.deepEqual([await aliveOf(storage, before), await origins()], [[], [false, false]]);
    assert.equal((await clients.get(CLIENT.id)) ?? undefined, undefined);
    assert.equal(await tokens.issue([later.access], {}), 'refused');
    // If an identifier can be used again, its old tokens stay dead.
    await Promise.allSettled([saveClient(CLIENT)]);
    assert.deepEqual(await aliveOf(storage, before), []);
    await end();
  });

  if (transaction !== undefined)
    test(`${name}: what the host does and what is revoked in one transaction of its own happen together or not`, async () => {
      const { tokenOf, recordOf, isActive, end } = await serving(store());
      const [alices, bobs] = [await tokenOf('alice'), await tokenOf('bob')];
      const record = await recordOf(alices);
      const leave = (isSure: boolean) =>
        transaction(async (storage, disable) => {
          await disable('bob');
          await storage.tokens.revoke(record);
          if (!isSure) throw new Error('not sure');
        });
      await assert.rejects(leave(false), /not sure/);
      assert.deepEqual([await isActive(alices), await isActive(bobs)], [true, true]);
      await leave(true);
      assert.deepEqual([await isActive(alices), await isActive(bobs)], [false, false]);
      await end();
    });

  if (sweep !== undefined)
    test(`${name}: what is over is swept, and what is not over stays`, async () => {
      const { storage, tokenOf, recordOf, isActive, end } = await serving(store());
      const token = await tokenOf('alice');
      const { id } = await recordOf(token);
      await sweep(new Date());
      assert.equal(await isActive(token), true);
      await sweep(new Date('2100-01-01'));
      assert.equal(await storage.tokens.getByAccessToken(id), undefined);
      await end();
    });
}
