import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { AuthorizationServer, type NewClient, type Storage, type TokenRecord } from '@grantd/core';
import { ask } from '../../core/test/harness/postgres_server.ts';
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

/** What a host does to its people and its database beside grantd. */
export interface Host {
  setDisabled(userId: string, isDisabled: boolean): Promise<unknown>;
  signOut(userId: string): Promise<unknown>;
  /** Where people are in the same database. */
  removeUser?(userId: string): Promise<unknown>;
  /** Where there are transactions: runs `work` in one of the host's. */
  transaction?(
    work: (storage: Storage, disable: (userId: string) => Promise<unknown>) => Promise<void>,
  ): Promise<unknown>;
  /** Where there are transactions: the URL of the PostgreSQL database. */
  database?(): string;
  /** Where rows do not go by themselves. */
  sweep?(now: Date): Promise<unknown>;
}

/** That tokens live and die with the host's people, and in the host's transactions. */
export function testHost(name: string, store: () => ExampleStore, host: Host): void {
  const { setDisabled, signOut, removeUser, transaction, database, sweep } = host;

  test(`${name}: a person whom the host disables, signs out or removes has no live token`, async () => {
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

  if (transaction !== undefined && database !== undefined)
    test(`${name}: what is issued while the host disables the person waits for that, and is refused`, async () => {
      const { storage, server, recordOf, end } = await serving(store());
      const [issued] = await server.issueTokens({ clientId: CLIENT.id, subject: 'alice', refresh: true });
      assert.ok(issued?.refreshToken);
      const refresh = await recordOf(issued.refreshToken);
      const { standing: _, ...access } = await recordOf(issued.accessToken);
      const beside = { ...access, id: 'beside', digest: 'beside', keepUntil: access.expiresAt };
      const issuing: Promise<unknown>[] = [];
      await transaction(async (within, disable) => {
        await disable('alice');
        issuing.push(Promise.resolve(storage.tokens.issueBeside(refresh, [beside])).catch(String));
        await untilSomebodyWaits(database());
        await within.tokens.revoke(refresh);
      });
      assert.deepEqual(await Promise.all(issuing), ['refused']);
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

/** @throws if after 10 seconds no statement waits for a lock */
async function untilSomebodyWaits(url: string): Promise<void> {
  const waiting = `SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  const end = performance.now() + 10_000;
  while ((await ask({ url }, waiting)).length === 0) {
    assert.ok(performance.now() < end, 'nothing waits for a lock');
    await wait(10);
  }
}
