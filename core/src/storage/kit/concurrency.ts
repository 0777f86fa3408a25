import { PRINCIPALS } from '../../protocol/records.ts';
import type { Awaitable, Storage } from '../contract.ts';
import { type KitCase, kitCase } from './case.ts';
import { expect, expectEqual } from './failure.ts';
import { type Attempt, PARALLEL, RACERS, race } from './race.ts';
import { basisOf, FIELD, type Grant, type Pair, type Stage } from './stage.ts';

/** Races rotations of a token with `act`. @returns what the rotations were to store */
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
function attempted<T>(stage: Stage, grant: Grant, store: (storage: Storage, pair: Pair) => Awaitable<T>) {
  const pairs = Array.from({ length: PARALLEL }, () => stage.pair(grant));
  return stage.parallel(
    pairs.map((pair) => async (storage: Storage) => ({ ...pair, outcome: await store(storage, pair) })),
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
        if (restsOnWaiting(index)) return ({ tokens }) => tokens.issueBeside(waiting.refresh, [token]);
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
        if (index % 4 === 1) return ({ tokens }) => tokens.issueBeside(waiting.refresh, [access]);
        // Upon a client alone: what else it rests on may have been read after the revocation.
        if (index % 4 === 2 && principal === 'client') return ({ tokens }) => tokens.issue([access], basis);
        return ({ tokens }) => tokens.rotate(rotated.refresh, refresh, [refresh, access]);
      });
      const store = stage.administration;
      await race(stage, issuances, () => store.revokeAll({ principal, id: grant[FIELD[principal]] }));
      const issued = [rotated, waiting, ...pairs].flatMap(({ refresh, access }) => [refresh, access]);
      await stage.expectDead(...issued);
      expectEqual(await store.countAlive({ principal: 'client', id: grant.clientId }), 0, 'alive');
      const later = await stage.redeemed({ ...grant, grantId: 'later' });
      await stage.expectAlive(later.refresh, later.access);
    },
  ),
);

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
            tokens.issueBeside(refresh, [token]),
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
];
