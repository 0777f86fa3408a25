import type { AuthorizationCodeRecord, NewToken } from '../../protocol/records.ts';
import type { Awaitable, IssueOutcome, Storage } from '../contract.ts';
import { type KitCase, kitCase } from './case.ts';
import { expectEqual, KitFailure } from './failure.ts';
import { type Attempt, RACERS } from './race.ts';
import { basisOf, type Grant, type Pair, type Stage } from './stage.ts';

type Outcome = IssueOutcome | 'superseded';

/** Attempts to rotate a token, each to a pair of its own, and what has come of them. */
class Rotations {
  readonly #attempted: { readonly pair: Pair; readonly outcome: Outcome }[] = [];
  readonly attempts: readonly Attempt<void>[];

  constructor(stage: Stage, grant: Grant, refresh: NewToken, count: number) {
    this.attempts = Array.from({ length: count }, (): Attempt<void> => {
      const pair = stage.pair(grant);
      return async ({ tokens }) => {
        const outcome = await tokens.rotate(refresh, pair.refresh, [pair.refresh, pair.access]);
        this.#attempted.push({ pair, outcome });
      };
    });
  }

  /** @returns the tokens of the one that has won; none where all were refused */
  async settled(stage: Stage, what: string): Promise<readonly NewToken[]> {
    const winners = this.#attempted.filter(({ outcome }) => outcome === 'issued');
    const losers = this.#attempted.filter(({ outcome }) => outcome !== 'issued');
    expectEqual(winners.length > 1, false, `several rotations of ${what} issued tokens`);
    for (const { pair } of losers) await stage.expectAbsent(pair.refresh, pair.access);
    return winners.flatMap(({ pair }) => [pair.refresh, pair.access]);
  }
}

type Redeemed = Pair & { readonly code: AuthorizationCodeRecord };

/** What ends something of a grant, and how much: nothing, the family of its first pair, or all. */
const ENDS: readonly {
  readonly what: string;
  readonly extent: 'nothing' | 'family' | 'grant';
  readonly act?: (storage: Storage, first: Redeemed) => Awaitable<void>;
}[] = [
  { what: 'a grant that nobody ends', extent: 'nothing' },
  { what: 'a family', extent: 'family', act: ({ tokens }, { refresh }) => tokens.revokeFamily(refresh) },
  { what: 'an access token', extent: 'family', act: ({ tokens }, { access }) => tokens.revoke(access) },
  { what: 'a refresh token', extent: 'grant', act: ({ tokens }, { refresh }) => tokens.revoke(refresh) },
  {
    what: 'a redeemed code',
    extent: 'grant',
    act: ({ authorizationCodes }, { code }) => authorizationCodes.revoke(code),
  },
];

const ROTATIONS = 4;

/** A grant of two families. All of its attempts are to be made at once with those of others. */
async function contested(stage: Stage, clientId: string, { what, extent, act }: (typeof ENDS)[number]) {
  const grant = await stage.grant({ clientId });
  const siblings = { ...grant, familyId: `${grant.familyId}, sibling` };
  const first = await stage.redeemed(grant);
  const sibling = await stage.redeemed(siblings);
  const ofFirst = new Rotations(stage, grant, first.refresh, ROTATIONS);
  const ofSibling = new Rotations(stage, siblings, sibling.refresh, ROTATIONS);
  const beside = stage.accessToken({ ...grant, pairId: first.refresh.pairId ?? 'pair' });
  const ends = act
    ? [act, act].map(
        (end): Attempt<void> =>
          (storage) =>
            end(storage, first),
      )
    : [];
  const attempts: readonly Attempt<unknown>[] = [
    ({ tokens }) => tokens.issueBeside(first.refresh, [beside]),
    ...ofFirst.attempts.slice(0, ROTATIONS / 2),
    ...ends,
    ...ofFirst.attempts.slice(ROTATIONS / 2),
    ...ofSibling.attempts,
  ];

  const settle = async (): Promise<void> => {
    const winner = await ofFirst.settled(stage, `a token, beside the end of ${what}`);
    const ofFamily = [first.refresh, first.access, beside, ...winner];
    if (extent === 'nothing') {
      expectEqual(winner.length, 2, 'tokens of the rotation that wins');
      await stage.expectAlive(first.access, ...winner);
    } else await stage.expectDead(...ofFamily);
    const winnerOfSibling = await ofSibling.settled(stage, `another family, beside the end of ${what}`);
    if (extent === 'grant') await stage.expectDead(sibling.refresh, sibling.access, ...winnerOfSibling);
    else {
      expectEqual(winnerOfSibling.length, 2, `tokens of another family, beside the end of ${what}`);
      await stage.expectAlive(sibling.access, ...winnerOfSibling);
    }
  };
  return { attempts, settle };
}

/**
 * Makes all attempts at once.
 * @throws KitFailure where one of them is rejected: who comes at the same time as others is made to wait
 */
function allOf<T>(stage: Stage, attempts: readonly Attempt<T>[]): Promise<T[]> {
  return stage.parallel(
    attempts.map((attempt) => async (storage: Storage) => {
      try {
        return await attempt(storage);
      } catch (cause) {
        throw new KitFailure(`an attempt beside others was rejected: ${cause}`, { cause });
      }
    }),
  );
}

/** The first of each, then the second of each, and so on. */
function inTurn<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, index) =>
    lists.flatMap((list) => list.slice(index, index + 1)),
  ).flat();
}

/** What a store must do that is asked for many things at once: all of it, and without waiting in circles. */
export const contention: readonly KitCase[] = [
  kitCase(
    'concurrency',
    'rotations, issuances and revocations of a few grants at once leave one successor of a token, and nothing that was ended',
    async (stage) => {
      const { id } = await stage.client();
      const grants = await Promise.all(ENDS.map((end) => contested(stage, id, end)));
      await allOf(stage, inTurn(grants.map(({ attempts }) => attempts)));
      for (const { settle } of grants) await settle();
    },
  ),

  kitCase(
    'concurrency',
    'issuances that name the same grants in opposite orders are all made',
    async (stage) => {
      const client = await stage.client();
      const { id: clientId } = client;
      const grants = await Promise.all([1, 2, 3].map(() => stage.grant({ clientId })));
      const issued = Array.from({ length: RACERS }, (_, index) =>
        (index % 4 < 2 ? grants : grants.toReversed()).map((grant) => stage.accessToken(grant)),
      );
      const outcomes = await allOf(
        stage,
        issued.map(
          (issue): Attempt<IssueOutcome> =>
            ({ tokens }) =>
              tokens.issue(issue, basisOf(client)),
        ),
      );
      expectEqual([...new Set(outcomes)], ['issued'], 'outcomes');
      await stage.expectAlive(...issued.flat());
    },
  ),

  kitCase(
    'concurrency',
    `of ${RACERS} parallel rotations of a token without a grant one succeeds`,
    async (stage) => {
      const client = await stage.client();
      const refresh = stage.refreshToken({ clientId: client.id });
      await stage.issued(client, refresh);
      const successors = Array.from({ length: RACERS }, () => stage.refreshToken({ clientId: client.id }));
      const outcomes = await allOf(
        stage,
        successors.map(
          (next): Attempt<Outcome> =>
            ({ tokens }) =>
              tokens.rotate(refresh, next, [next]),
        ),
      );
      const winners = successors.filter((_, index) => outcomes[index] === 'issued');
      const losers = successors.filter((_, index) => outcomes[index] === 'superseded');
      expectEqual([winners.length, losers.length], [1, RACERS - 1], 'issued and superseded');
      await stage.expectAlive(...winners);
      await stage.expectAbsent(...losers);
    },
  ),
];
