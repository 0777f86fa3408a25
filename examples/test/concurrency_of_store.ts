import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AuthorizingStorage, ContinuationOutcome, NewToken } from '@grantd/core';
import type { ExampleStore } from './kit_of_store.ts';
import { aliveOf, type Pair, pairIn, pairOf } from './pairs.ts';
import { type Host, stocked } from './serving.ts';

type Outcome = ContinuationOutcome;

/** A grant, and the concurrent operations on it. */
interface Contested {
  readonly first: Pair;
  /** Only the access token of this pair was requested. */
  readonly beside: Pair;
  readonly successors: readonly { readonly pair: Pair; readonly rotation: Promise<Outcome> }[];
  readonly others: readonly Promise<unknown>[];
  /** The tokens that must be dead in the end. */
  readonly doomed: boolean;
}

/** Ends a grant, or its only family; `undefined` for a grant that does not end. */
const ENDS: readonly (((storage: AuthorizingStorage, pair: Pair) => unknown) | undefined)[] = [
  undefined,
  ({ tokens }, { refresh }) => tokens.revoke(refresh),
  ({ tokens }, { refresh }) => tokens.revokeFamily(refresh),
];

const ROTATIONS = 4;

/** Over two connections in turn: rotations of the first refresh token, a concurrent issuance, and an ending. */
function contest(
  storages: readonly [AuthorizingStorage, AuthorizingStorage],
  first: Pair,
  end: (typeof ENDS)[number],
): Contested {
  const successors = Array.from({ length: ROTATIONS }, (_, index) => {
    const pair = pairIn(first.refresh);
    const { tokens } = storages[index % 2 === 0 ? 0 : 1];
    const rotation = tokens.rotate(first.refresh, pair.refresh, [pair.refresh, pair.access]);
    return { pair, rotation: Promise.resolve(rotation) };
  });
  const beside = pairIn(first.refresh);
  const issuance = storages[0].tokens.issueFrom(first.refresh, [beside.access]);
  const others = [issuance, end?.(storages[1], first)].map((other) => Promise.resolve(other));
  return { first, beside, successors, others, doomed: end !== undefined };
}

/**
 * Checks that concurrent operations of servers and their host on a few grants never deadlock, and never report a live
 * token as dead.
 */
export function testConcurrency(name: string, store: () => ExampleStore, host: Host): void {
  test(`${name}: rotations, issuances, revocations, removals and sweeps at once: one rotation wins, what was ended is dead, and nothing is rejected`, async () => {
    const { storage, addUser, end } = await stocked(store());
    const other = await store().connect(Date.now);
    for (const id of ['signed out', 'disabled', 'removed', 'revoked']) await addUser(id);

    const firsts = ['alice', 'bob', 'alice', 'bob', 'alice', 'bob'].map((subject) => pairOf(subject));
    const endings = ['signed out', 'disabled', 'removed', 'revoked'].map((subject) => pairOf(subject));
    for (const { refresh, access } of [...firsts, ...endings])
      assert.equal(await storage.tokens.issue([refresh, access], {}), 'issued');
    const over = { ...pairIn(firsts[0]?.refresh ?? {}).access, keepUntil: 1 };
    assert.equal(await storage.tokens.issue([over], {}), 'issued');

    const storages = [storage, other.storage] as const;
    const contested = firsts.map((first, index) => contest(storages, first, ENDS[index % ENDS.length]));
    const ended = endings.map((first) => contest(storages, first, undefined));
    const added = firsts.map(({ refresh }) => pairIn(refresh).access);
    const atOnce = [
      // The same grants in opposite orders.
      storage.tokens.issue(added, {}),
      other.storage.tokens.issue(added.toReversed().map(renamed), {}),
      storage.sweep?.(1),
      other.storage.sweep?.(1),
      host.signOut('signed out'),
      host.setDisabled('disabled', true),
      host.removeUser?.('removed') ?? host.signOut('removed'),
      host.transaction?.(async (within, disable) => {
        await disable('revoked');
        for (const { refresh } of endings.slice(3)) await within.tokens.revoke(refresh);
      }) ?? host.setDisabled('revoked', true),
    ];
    const all = [...contested, ...ended];
    const rotations = all.flatMap(({ successors }) => successors.map(({ rotation }) => rotation));
    await Promise.all([...atOnce, ...rotations, ...all.flatMap(({ others }) => others)]);

    for (const { first, beside, successors, doomed } of contested) {
      const outcomes = await Promise.all(successors.map(({ rotation }) => rotation));
      const winners = successors.filter((_, index) => outcomes[index] === 'issued').map(({ pair }) => pair);
      const losers = successors.filter((_, index) => outcomes[index] !== 'issued').map(({ pair }) => pair);
      assert.deepEqual(await aliveOf(storage, ...losers), []);
      if (doomed) {
        assert.ok(winners.length <= 1, `${winners.length} winners`);
        assert.deepEqual(await aliveOf(storage, first, beside, ...winners), []);
      } else {
        assert.deepEqual(outcomes.toSorted(), ['issued', ...Array(ROTATIONS - 1).fill('superseded')]);
        assert.equal((await aliveOf(storage, ...winners)).length, 2);
      }
    }
    for (const { first, beside, successors } of ended) {
      const outcomes = await Promise.all(successors.map(({ rotation }) => rotation));
      assert.ok(outcomes.filter((outcome) => outcome === 'issued').length <= 1, outcomes.join());
      assert.deepEqual(await aliveOf(storage, first, beside, ...successors.map(({ pair }) => pair)), []);
    }
    await Promise.all([end(), other.end()]);
  });
}

/** Another token with the same content. */
function renamed(token: NewToken): NewToken {
  return { ...token, id: `${token.id}, again` };
}
