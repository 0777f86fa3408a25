import type { NewToken } from '../../protocol/records.ts';
import type { RevocationTarget } from '../contract.ts';
import { type KitCase, kitCase } from './case.ts';
import { expect, expectEqual } from './failure.ts';
import { isAlive } from './liveness.ts';
import { ACCESS_TOKEN_SECONDS, type Grant, type Pair, REFRESH_TOKEN_SECONDS, type Stage } from './stage.ts';

/** What can become of a pair; each happens to a pair with a client, person, session and grant of its own. */
const FATES: Readonly<Record<string, (stage: Stage, grant: Grant, pair: Pair) => unknown>> = {
  none: () => undefined,
  'superseded, with successors': (stage, grant, { refresh }) => stage.rotated(grant, refresh),
  'revoked by its access token': ({ storage }, _, { access }) => storage.tokens.revoke(access),
  'revoked by its refresh token': ({ storage }, _, { refresh }) => storage.tokens.revoke(refresh),
  'revoked with its family': ({ storage }, _, { refresh }) => storage.tokens.revokeFamily(refresh),
  'revoked with its grant': ({ administration }, { grantId }) =>
    administration.revokeAll({ principal: 'grant', id: grantId }),
  'revoked with its session': ({ administration }, { sessionId }) =>
    administration.revokeAll({ principal: 'session', id: sessionId }),
  'revoked with its subject': ({ administration }, { subject }) =>
    administration.revokeAll({ principal: 'subject', id: subject }),
  'revoked with its client': ({ administration }, { clientId }) =>
    administration.revokeAll({ principal: 'client', id: clientId }),
  'of a disabled subject': ({ administration }, { subject }) =>
    administration.setDisabled('subject', subject, true),
  'of a disabled client': ({ administration }, { clientId }) =>
    administration.setDisabled('client', clientId, true),
};

/** How many of the tokens are alive by themselves, superseded ones not counted. */
async function aliveOf(stage: Stage, tokens: readonly NewToken[]): Promise<number> {
  let alive = 0;
  for (const token of tokens) {
    const isSuperseded = (await stage.find(token))?.supersededAtMs !== undefined;
    if (!isSuperseded && (await isAlive(stage.storage, token, stage.clock.nowMs))) alive++;
  }
  return alive;
}

/** A pair, and whatever its fate has made of it. */
async function fated(stage: Stage, fate: string): Promise<{ grant: Grant; tokens: NewToken[] }> {
  const grant = await stage.grant();
  const code = await stage.code(grant);
  const pair = stage.pair(grant);
  // Kept beyond its expiry, as access tokens are that can lead to a refresh token.
  const access = { ...pair.access, keepUntil: pair.refresh.keepUntil };
  const outcome = await stage.storage.authorizationCodes.redeem(code, [pair.refresh, access]);
  expectEqual(outcome, 'issued', 'redeeming a code');
  const made = await FATES[fate]?.(stage, grant, pair);
  return { grant, tokens: [pair.refresh, access, ...(isPair(made) ? [made.refresh, made.access] : [])] };
}

function isPair(made: unknown): made is Pair {
  return typeof made === 'object' && made !== null && 'refresh' in made;
}

export const counting: readonly KitCase[] = [
  kitCase(
    'administration',
    'as many tokens are counted as are alive, whatever the others died of',
    async (stage) => {
      const store = stage.administration;
      const expectAgreement = async (
        target: RevocationTarget,
        tokens: readonly NewToken[],
        what: string,
      ): Promise<void> => {
        expectEqual(await store.countAlive(target), await aliveOf(stage, tokens), what);
      };

      const early = await fated(stage, 'none');
      stage.advance(1);
      const cutoffMs = stage.clock.nowMs;
      await store.revokeAll({ issuedBeforeMs: cutoffMs });
      const groups = [{ fate: 'issued before the cutoff', ...early }];
      for (const fate of Object.keys(FATES)) groups.push({ fate, ...(await fated(stage, fate)) });

      for (const seconds of [0, ACCESS_TOKEN_SECONDS, REFRESH_TOKEN_SECONDS]) {
        for (const atMs of [cutoffMs + seconds * 1000 - 1, cutoffMs + seconds * 1000]) {
          stage.clock.nowMs = Math.max(atMs, cutoffMs);
          const after = `${stage.clock.nowMs - cutoffMs} ms after issuance`;
          for (const { fate, grant, tokens } of groups) {
            await expectAgreement(
              { principal: 'client', id: grant.clientId },
              tokens,
              `client, ${fate}, ${after}`,
            );
            await expectAgreement(
              { principal: 'subject', id: grant.subject },
              tokens,
              `subject, ${fate}, ${after}`,
            );
            await expectAgreement(
              { principal: 'session', id: grant.sessionId },
              tokens,
              `session, ${fate}, ${after}`,
            );
            await expectAgreement(
              { principal: 'grant', id: grant.grantId },
              tokens,
              `grant, ${fate}, ${after}`,
            );
          }
          const all = groups.flatMap(({ tokens }) => tokens);
          await expectAgreement({ issuedBeforeMs: cutoffMs + 1 }, all, `all, ${after}`);
          if (seconds === 0) expect((await aliveOf(stage, all)) > 2, 'some are alive at first');
          if (atMs === cutoffMs + REFRESH_TOKEN_SECONDS * 1000) {
            expectEqual(await aliveOf(stage, all), 0, 'alive in the end');
          }
        }
      }
    },
  ),
];
