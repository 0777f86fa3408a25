import type { Awaitable } from '../contract.ts';
import { type KitCase, kitCase } from './case.ts';
import { expectEqual } from './failure.ts';
import type { Grant, Pair, Stage } from './stage.ts';

const PARALLEL = 100;
const RACERS = 20;

/** Starts all attempts before any of them is awaited. */
function parallel<T>(attempts: readonly (() => T | Promise<T>)[]): Promise<T[]> {
  return Promise.all(attempts.map(async (attempt) => attempt()));
}

/** Starts attempts with `act` in their middle, so that it comes after some and before others. */
async function race(attempts: readonly (() => unknown)[], act: () => unknown): Promise<void> {
  const middle = attempts.length / 2;
  await parallel([...attempts.slice(0, middle), act, ...attempts.slice(middle)]);
}

/** Races rotations of a token with `act`. @returns what the rotations were to store */
async function raceRotations(
  stage: Stage,
  grant: Grant,
  { refresh }: Pair,
  act: () => unknown,
): Promise<Pair[]> {
  const successors = Array.from({ length: RACERS }, () => stage.pair(grant));
  const rotations = successors.map(
    (next) => () => stage.storage.tokens.rotate(refresh, next.refresh, [next.refresh, next.access]),
  );
  await race(rotations, act);
  return successors;
}

/** Stores many pairs in parallel by the same call. */
function attempted<T>(stage: Stage, grant: Grant, store: (pair: Pair) => Awaitable<T>) {
  const pairs = Array.from({ length: PARALLEL }, () => stage.pair(grant));
  return parallel(pairs.map((pair) => async () => ({ ...pair, outcome: await store(pair) })));
}

export const concurrency: readonly KitCase[] = [
  kitCase('concurrency', `${PARALLEL} parallel rotations of one token leave one successor`, async (stage) => {
    const grant = await stage.grant();
    const { refresh } = await stage.redeemed(grant);
    const attempts = await attempted(stage, grant, (pair) =>
      stage.storage.tokens.rotate(refresh, pair.refresh, [pair.refresh, pair.access]),
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
    const attempts = await attempted(stage, grant, (pair) =>
      stage.storage.authorizationCodes.redeem(code, [pair.refresh, pair.access]),
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
      const successors = await raceRotations(stage, grant, first, () =>
        stage.storage.tokens.revoke(first.refresh),
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
      const { tokens } = stage.storage;
      const successors = await raceRotations(stage, grant, first, () => tokens.revokeFamily(first.refresh));
      for (const { refresh, access } of [first, ...successors]) await stage.expectDead(refresh, access);
    },
  ),

  kitCase(
    'concurrency',
    'a rotation that races the revocation of the access token leaves no refresh token alive',
    async (stage) => {
      const grant = await stage.grant();
      const first = await stage.redeemed(grant);
      const successors = await raceRotations(stage, grant, first, () =>
        stage.storage.tokens.revoke(first.access),
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
      const { tokens } = stage.storage;
      const issuances = beside.map((token) => () => tokens.issueBeside(refresh, [token]));
      await race(issuances, () => tokens.revoke(refresh));
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
      const { authorizationCodes } = stage.storage;
      const redemptions = pairs.map(
        (pair) => () => authorizationCodes.redeem(code, [pair.refresh, pair.access]),
      );
      await race(redemptions, () => authorizationCodes.revoke(code));
      for (const { refresh, access } of pairs) await stage.expectDead(refresh, access);
    },
  ),
];
