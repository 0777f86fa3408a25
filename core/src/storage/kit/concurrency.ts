// Kit cases: operations that run at the same time.

import { PRINCIPALS } from '../../protocol/record_rules.ts';
import type { AuthorizationCodeRecord, NewToken } from '../../protocol/records.ts';
import type { AuthorizingStorage, Awaitable, ContinuationOutcome, IssueOutcome } from '../contract.ts';
import {
  type Attempt,
  basisOf,
  caseOfPart,
  expect,
  expectEqual,
  FIELD,
  type Grant,
  type KitCase,
  KitFailure,
  kitCase,
  ONE_TIME_SECONDS,
  PARALLEL,
  type Pair,
  RACERS,
  race,
  type Stage,
} from './stage.ts';

/** Races rotations of a token with `act`. @returns the pairs that the rotations try to store */
async function raceRotations(
  stage: Stage,
  grant: Grant,
  { refresh }: Pair,
  act: Attempt<unknown>,
): Promise<Pair[]> {
  const successors = Array.from({ length: RACERS }, () => stage.pair(grant));
  const rotations = successors.map(
    (next): Attempt<unknown> =>
      ({ tokens }) =>
        tokens.rotate(refresh, next.refresh, [next.refresh, next.access]),
  );
  await race(stage, rotations, act);
  return successors;
}

/** Stores many pairs in parallel by the same call. */
function attempted<T>(
  stage: Stage,
  grant: Grant,
  store: (storage: AuthorizingStorage, pair: Pair) => Awaitable<T>,
) {
  const pairs = Array.from({ length: PARALLEL }, () => stage.pair(grant));
  return stage.parallel(
    pairs.map((pair) => async (storage: AuthorizingStorage) => ({
      ...pair,
      outcome: await store(storage, pair),
    })),
  );
}

const DISABLINGS = (['client', 'subject'] as const).map((principal) =>
  kitCase(
    'administration',
    `an issuance that races the disabling of its ${principal} leaves nothing alive`,
    async (stage) => {
      const grant = await stage.grant();
      const client = await stage.storage.clients.get(grant.clientId);
      expect(client !== undefined && client !== null, 'the client is found');
      const basis = basisOf(client);
      const code = await stage.code(grant);
      const another = { ...grant, grantId: 'waiting' };
      const waiting = await stage.redeemed(another);
      const restsOnWaiting = (index: number) => index % 4 >= 2 && index !== 2;
      const issued = Array.from({ length: RACERS }, (_, index) =>
        stage.accessToken(restsOnWaiting(index) ? another : grant),
      );
      const issuances = issued.map((token, index): Attempt<unknown> => {
        if (restsOnWaiting(index)) return ({ tokens }) => tokens.issueFrom(waiting.refresh, [token]);
        if (index === 2) return ({ authorizationCodes }) => authorizationCodes.redeem(code, [token]);
        return ({ tokens }) => tokens.issue([token], basis);
      });
      const id = principal === 'client' ? grant.clientId : grant.subject;
      const store = stage.administration;
      await race(stage, issuances, () => store.setDisabled(principal, id, true));
      await store.setDisabled(principal, id, false);
      await stage.expectDead(...issued, waiting.refresh, waiting.access);
    },
  ),
);

const MASS_REVOCATIONS = PRINCIPALS.map((principal) =>
  kitCase(
    'administration',
    `an issuance that races the revocation of all of its ${principal} leaves nothing of before alive`,
    async (stage) => {
      const grant = await stage.grant();
      const client = await stage.storage.clients.get(grant.clientId);
      expect(client !== undefined && client !== null, 'the client is found');
      const basis = basisOf(client);
      const code = await stage.code(grant);
      const rotated = await stage.redeemed(grant);
      const waiting = await stage.redeemed(grant);
      const pairs = Array.from({ length: RACERS }, () => stage.pair(grant));
      const issuances = pairs.map(({ refresh, access }, index): Attempt<unknown> => {
        if (index % 4 === 0)
          return ({ authorizationCodes }) => authorizationCodes.redeem(code, [refresh, access]);
        if (index % 4 === 1) return ({ tokens }) => tokens.issueFrom(waiting.refresh, [access]);
        // Upon a client alone: what else it rests on may have been read after the revocation.
        if (index % 4 === 2 && principal === 'client') return ({ tokens }) => tokens.issue([access], basis);
        return ({ tokens }) => tokens.rotate(rotated.refresh, refresh, [refresh, access]);
      });
      const store = stage.administration;
      await race(stage, issuances, () => store.revokeAll({ principal, id: grant[FIELD[principal]] }));
      const issued = [rotated, waiting, ...pairs].flatMap(({ refresh, access }) => [refresh, access]);
      await stage.expectDead(...issued);
      expectEqual((await store.countAlive({ principal: 'client', id: grant.clientId })).count, 0, 'alive');
      const later = await stage.redeemed({ ...grant, grantId: 'later' });
      await stage.expectAlive(later.refresh, later.access);
    },
  ),
);

type Outcome = ContinuationOutcome;

/** Attempts to rotate a token, each to another pair, and their outcomes. */
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

  /** @returns the tokens of the attempt that succeeded; empty if all were refused */
  async settled(stage: Stage, what: string): Promise<readonly NewToken[]> {
    const winners = this.#attempted.filter(({ outcome }) => outcome === 'issued');
    const losers = this.#attempted.filter(({ outcome }) => outcome !== 'issued');
    expectEqual(winners.length > 1, false, `several rotations of ${what} issued tokens`);
    for (const { pair } of losers) await stage.expectAbsent(pair.refresh, pair.access);
    return winners.flatMap(({ pair }) => [pair.refresh, pair.access]);
  }
}

type Redeemed = Pair & { readonly code: AuthorizationCodeRecord };

/** What revokes part of a grant, and how much: nothing, the family of its first pair, or all. */
const ENDS: readonly {
  readonly what: string;
  readonly extent: 'nothing' | 'family' | 'grant';
  readonly act?: (storage: AuthorizingStorage, first: Redeemed) => Awaitable<void>;
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

/** A grant of two families, whose attempts all run at once with those of other grants. */
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
    ({ tokens }) => tokens.issueFrom(first.refresh, [beside]),
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
 * @throws KitFailure if one of them is rejected: parallel calls must wait for each other
 */
function allOf<T>(stage: Stage, attempts: readonly Attempt<T>[]): Promise<T[]> {
  return stage.parallel(
    attempts.map((attempt) => async (storage: AuthorizingStorage) => {
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

/** A case that needs an `AdministrableStorage` is in the group `administration`. */
export const concurrency: readonly KitCase[] = [
  kitCase('concurrency', `${PARALLEL} parallel rotations of one token leave one successor`, async (stage) => {
    const grant = await stage.grant();
    const { refresh } = await stage.redeemed(grant);
    const attempts = await attempted(stage, grant, ({ tokens }, pair) =>
      tokens.rotate(refresh, pair.refresh, [pair.refresh, pair.access]),
    );
    const winners = attempts.filter(({ outcome }) => outcome === 'issued');
    const losers = attempts.filter(({ outcome }) => outcome === 'superseded');
    expectEqual([winners.length, losers.length], [1, PARALLEL - 1], 'issued and superseded');
    for (const winner of winners) {
      await stage.expectAlive(winner.refresh, winner.access);
      expectEqual((await stage.find(refresh))?.successorId, winner.refresh.id, 'successorId');
    }
    for (const loser of losers) await stage.expectAbsent(loser.refresh, loser.access);
  }),

  kitCase('concurrency', `${PARALLEL} parallel redemptions of one code give tokens once`, async (stage) => {
    const grant = await stage.grant();
    const code = await stage.code(grant);
    const attempts = await attempted(stage, grant, ({ authorizationCodes }, pair) =>
      authorizationCodes.redeem(code, [pair.refresh, pair.access]),
    );
    const winners = attempts.filter(({ outcome }) => outcome === 'issued');
    const losers = attempts.filter(({ outcome }) => outcome === 'already_redeemed');
    expectEqual([winners.length, losers.length], [1, PARALLEL - 1], 'issued and already redeemed');
    for (const winner of winners) await stage.expectAlive(winner.refresh, winner.access);
    for (const loser of losers) await stage.expectAbsent(loser.refresh, loser.access);
  }),

  kitCase(
    'concurrency',
    'a rotation that races the revocation of its token leaves nothing alive',
    async (stage) => {
      const grant = await stage.grant();
      const first = await stage.redeemed(grant);
      const successors = await raceRotations(stage, grant, first, ({ tokens }) =>
        tokens.revoke(first.refresh),
      );
      for (const { refresh, access } of [first, ...successors]) await stage.expectDead(refresh, access);
    },
  ),

  kitCase(
    'concurrency',
    'a rotation that races the revocation of its family leaves nothing alive',
    async (stage) => {
      const grant = await stage.grant();
      const first = await stage.redeemed(grant);
      const successors = await raceRotations(stage, grant, first, ({ tokens }) =>
        tokens.revokeFamily(first.refresh),
      );
      for (const { refresh, access } of [first, ...successors]) await stage.expectDead(refresh, access);
    },
  ),

  kitCase(
    'concurrency',
    'a rotation that races the revocation of the access token leaves no refresh token alive',
    async (stage) => {
      const grant = await stage.grant();
      const first = await stage.redeemed(grant);
      const successors = await raceRotations(stage, grant, first, ({ tokens }) =>
        tokens.revoke(first.access),
      );
      for (const { refresh, access } of [first, ...successors]) await stage.expectDead(refresh, access);
    },
  ),

  kitCase(
    'concurrency',
    'an issuance beside a token that races its revocation leaves nothing alive',
    async (stage) => {
      const grant = await stage.grant();
      const { refresh, access } = await stage.redeemed(grant);
      const beside = Array.from({ length: RACERS }, () => stage.accessToken(grant));
      const issuances = beside.map(
        (token): Attempt<unknown> =>
          ({ tokens }) =>
            tokens.issueFrom(refresh, [token]),
      );
      await race(stage, issuances, ({ tokens }) => tokens.revoke(refresh));
      await stage.expectDead(refresh, access, ...beside);
    },
  ),

  kitCase(
    'concurrency',
    'a redemption that races the revocation of its code leaves nothing alive',
    async (stage) => {
      const grant = await stage.grant();
      const code = await stage.code(grant);
      const pairs = Array.from({ length: RACERS }, () => stage.pair(grant));
      const redemptions = pairs.map(
        (pair): Attempt<unknown> =>
          ({ authorizationCodes }) =>
            authorizationCodes.redeem(code, [pair.refresh, pair.access]),
      );
      await race(stage, redemptions, ({ authorizationCodes }) => authorizationCodes.revoke(code));
      for (const { refresh, access } of pairs) await stage.expectDead(refresh, access);
    },
  ),

  ...DISABLINGS,
  ...MASS_REVOCATIONS,

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

  caseOfPart(
    'oneTimeIdentifiers',
    'concurrency',
    `of ${RACERS} rotations that take one identifier at once, and one that takes it alone, one succeeds`,
    async (stage, identifiers) => {
      if (stage.storage.tokens.takesOnce !== true) return;
      const { id: clientId } = await stage.client();
      const once = { id: 'one', expiresAt: stage.now + ONE_TIME_SECONDS };
      const contestants = await Promise.all(
        Array.from({ length: RACERS }, async () => {
          const grant = await stage.grant({ clientId });
          return { presented: (await stage.redeemed(grant)).refresh, next: stage.pair(grant) };
        }),
      );
      const rotations = contestants.map(
        ({ presented, next: { refresh, access } }): Attempt<string> =>
          ({ tokens }) =>
            tokens.rotate(presented, refresh, [refresh, access], once),
      );
      const take: Attempt<string> = async ({ oneTimeIdentifiers = identifiers }) =>
        (await oneTimeIdentifiers.take(once.id, once.expiresAt)) ? 'issued' : 'already_used';
      const outcomes = await allOf(stage, [...rotations, take]);
      expectEqual(
        outcomes.toSorted(),
        [...Array(RACERS).fill('already_used'), 'issued'],
        'outcomes of rotations, and of taking it alone',
      );
      for (const [index, { presented, next }] of contestants.entries()) {
        const isIssued = outcomes[index] === 'issued';
        const isSuperseded = (await stage.find(presented))?.supersededAtMs !== undefined;
        expectEqual(isSuperseded, isIssued, 'whether the presented token was used');
        if (isIssued) await stage.expectAlive(next.refresh, next.access);
        else await stage.expectAbsent(next.refresh, next.access);
      }
    },
  ),

  caseOfPart(
    'oneTimeIdentifiers',
    'concurrency',
    `${PARALLEL} that take one identifier at once succeed once`,
    async (stage, identifiers) => {
      const take = () =>
        stage.parallel(
          Array.from(
            { length: PARALLEL },
            (_, index) => (storage) =>
              (storage.oneTimeIdentifiers ?? identifiers).take('one', stage.now + ONE_TIME_SECONDS + index),
          ),
        );
      const winnersOf = (outcomes: readonly boolean[]) => outcomes.filter((isTaken) => isTaken).length;
      expectEqual(winnersOf(await take()), 1, 'successes');
      stage.advance(ONE_TIME_SECONDS + PARALLEL);
      expectEqual(winnersOf(await take()), 1, 'successes once it is over');
    },
  ),
];
