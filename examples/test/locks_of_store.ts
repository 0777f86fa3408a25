import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { AuthorizingStorage } from '@grantd/core';
import type { ExampleStore } from './kit_of_store.ts';
import { aliveOf, type Pair, pairIn, pairOf } from './pairs.ts';
import { type Host, stocked } from './serving.ts';

/** An operation of a server on a grant, while the host does something else. */
const OPERATIONS: readonly {
  readonly title: string;
  /** Called with the grant's first pair and with an unredeemed code of the grant. */
  readonly start: (storage: AuthorizingStorage, pair: Pair, codeId: string) => unknown;
  readonly outcome: unknown;
}[] = [
  {
    title: 'a rotation',
    start({ tokens }, { refresh }) {
      const next = pairIn(refresh);
      return tokens.rotate(refresh, next.refresh, [next.refresh, next.access]);
    },
    outcome: 'refused',
  },
  {
    title: 'an issuance beside a refresh token',
    start: ({ tokens }, { refresh }) => tokens.issueFrom(refresh, [pairIn(refresh).access]),
    outcome: 'refused',
  },
  {
    title: 'the redemption of a code',
    async start({ authorizationCodes }, { refresh }, codeId) {
      const code = await authorizationCodes.get(codeId);
      assert.ok(code);
      return authorizationCodes.redeem(code, [pairIn(refresh).access]);
    },
    outcome: 'refused',
  },
  {
    title: 'an issuance into the grant',
    start: ({ tokens }, { refresh }) => tokens.issue([pairIn(refresh).access], {}),
    outcome: 'refused',
  },
  {
    title: 'the revocation of a family',
    start: ({ tokens }, { refresh }) => tokens.revokeFamily(refresh),
    outcome: undefined,
  },
  {
    title: 'the revocation of an access token',
    start: ({ tokens }, { access }) => tokens.revoke(access),
    outcome: undefined,
  },
];

/** Session settings of the server, instead of PostgreSQL's defaults. */
const SERIALIZABLE = '-c default_transaction_isolation=serializable';
const IMPATIENT = '-c lock_timeout=2000';

/**
 * Checks that an example store on PostgreSQL takes locks in one order, sees the changes that it waited for, and sweeps
 * around locked rows.
 */
export function testLocks(
  name: string,
  store: () => ExampleStore,
  { transaction, isWaiting }: Required<Pick<Host, 'transaction' | 'isWaiting'>>,
): void {
  const untilWaiting = async () => {
    for (let attempt = 0; attempt < 1000; attempt++) {
      if (await isWaiting()) return;
      await pause(5);
    }
    throw new Error('nothing has waited for a lock');
  };

  /** The store with a pair of Alice, and another connection with these settings. */
  const prepared = async (settings: string) => {
    const first = await stocked(store());
    const other = await store().connect(Date.now, settings);
    const pair = pairOf('alice');
    const { storage } = first;
    assert.equal(await storage.tokens.issue([pair.refresh, pair.access], {}), 'issued');
    const end = () => Promise.all([first.end(), other.end()]);
    return { storage, other, pair, end };
  };

  for (const { title, start, outcome } of OPERATIONS)
    test(`${name}: ${title} waits for a host that removes a user and then ends a grant, and holds nothing that it needs`, async () => {
      const { storage, other, pair, end } = await prepared('');
      const { clientId, grantId = '', issuedAtMs, expiresAt } = pair.refresh;
      const code = { id: 'code', clientId, grantId, subject: 'alice', issuedAtMs, expiresAt, scopes: [] };
      const redirect = { redirectUri: 'https://app.example/callback', redirectUriGiven: true };
      const { authorizationCodes } = storage;
      assert.equal(
        await authorizationCodes.issue({ ...code, ...redirect, claims: { sub: 'alice' } }, {}),
        'issued',
      );

      let attempt: Promise<unknown> | undefined;
      await transaction(async (within, _, remove) => {
        await remove('alice');
        attempt = Promise.allSettled([start(other.storage, pair, code.id)]);
        await untilWaiting();
        await within.tokens.revoke(pair.refresh);
      });
      assert.deepEqual(await attempt, [{ status: 'fulfilled', value: outcome }]);
      await end();
    });

  test(`${name}: what has waited for a revocation sees it, whatever the isolation with which the database begins`, async () => {
    const { storage, other, pair, end } = await prepared(SERIALIZABLE);
    const beside = pairIn(pair.refresh);
    let attempt: Promise<unknown> | undefined;
    await transaction(async (within) => {
      await within.tokens.revokeFamily(pair.refresh);
      attempt = Promise.allSettled([other.storage.tokens.issueFrom(pair.refresh, [beside.access])]);
      await untilWaiting();
    });
    assert.deepEqual(await attempt, [{ status: 'fulfilled', value: 'refused' }]);
    assert.deepEqual(await aliveOf(storage, pair, beside), []);
    await end();
  });

  test(`${name}: a sweep deletes a few rows per call, grants after their tokens, and never waits for locks`, async () => {
    const { storage, other, end } = await prepared(IMPATIENT);
    const pair = pairOf('alice', Date.now() - 7_200_000);
    const access = [pair.access, ...Array.from({ length: 4 }, () => pairIn(pair.refresh, 0).access)];
    assert.equal(await storage.tokens.issue(access, {}), 'issued');
    const sweep = async () => other.storage.sweep?.(2);

    let swept: Promise<unknown> | undefined;
    await transaction(async (within) => {
      await within.tokens.revokeFamily(pair.access);
      swept = Promise.allSettled([sweep()]);
      await swept;
    });
    assert.deepEqual(await swept, [{ status: 'fulfilled', value: 0 }]);
    assert.deepEqual([await sweep(), await sweep(), await sweep(), await sweep()], [2, 2, 2, 0]);
    await end();
  });
}
