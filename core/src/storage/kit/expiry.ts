// Kit cases: what happens when time passes.
import {
  ACCESS_TOKEN_SECONDS,
  CODE_SECONDS,
  caseOfPart,
  expect,
  expectEqual,
  type KitCase,
  kitCase,
  ONE_TIME_SECONDS,
  REFRESH_TOKEN_SECONDS,
} from './stage.ts';

export const expiry: readonly KitCase[] = [
  kitCase(
    'expiry',
    'a refresh token is good until the second of its expiry, and not in it',
    async (stage) => {
      const grant = await stage.grant();
      const { refresh } = await stage.redeemed(grant);
      const { tokens } = stage.storage;

      stage.clock.nowMs = refresh.expiresAt * 1000 - 1;
      const beside = stage.accessToken(grant);
      expectEqual(await tokens.issueFrom(refresh, [beside]), 'issued', 'a millisecond before');

      stage.clock.nowMs = refresh.expiresAt * 1000;
      const late = stage.pair(grant);
      expectEqual(
        await tokens.rotate(refresh, late.refresh, [late.refresh, late.access]),
        'refused',
        'rotating',
      );
      expectEqual(await tokens.issueFrom(refresh, [late.access]), 'refused', 'issuing from it');
      await stage.expectAbsent(late.refresh, late.access);
    },
  ),

  kitCase('expiry', 'a code is good until the second of its expiry, and not in it', async (stage) => {
    const grant = await stage.grant();
    const early = await stage.code(grant);
    const late = await stage.code(await stage.grant({ clientId: grant.clientId }));
    const { authorizationCodes } = stage.storage;

    stage.clock.nowMs = early.expiresAt * 1000 - 1;
    const pair = stage.pair(grant);
    expectEqual(await authorizationCodes.redeem(early, [pair.access]), 'issued', 'a millisecond before');

    stage.advance(0.001);
    expectEqual(
      await authorizationCodes.redeem(late, [stage.accessToken(grant)]),
      'refused',
      'in the second',
    );
  }),

  kitCase('expiry', 'a redeemed code is found as long as what it issued', async (stage) => {
    const { code } = await stage.redeemed(await stage.grant());
    for (const seconds of [CODE_SECONDS - 1, REFRESH_TOKEN_SECONDS - CODE_SECONDS]) {
      stage.advance(seconds);
      const record = await stage.storage.authorizationCodes.get(code.id);
      expect(record?.redeemedAtMs !== undefined, 'a redeemed code is found, with the time of its redemption');
    }
  }),

  kitCase('expiry', 'an expired access token can be revoked, which ends its refresh token', async (stage) => {
    const grant = await stage.grant();
    const refresh = stage.refreshToken({ ...grant, pairId: 'pair' });
    const keepUntil = refresh.expiresAt;
    const access = stage.accessToken({ ...grant, pairId: 'pair', keepUntil });
    const code = await stage.code(grant);
    expectEqual(
      await stage.storage.authorizationCodes.redeem(code, [refresh, access]),
      'issued',
      'redeeming',
    );
    stage.advance(ACCESS_TOKEN_SECONDS + 1);
    const record = await stage.find(access);
    expect(record !== undefined, 'an expired token is found as long as its row is to be kept');
    expectEqual(record.expiresAt, access.expiresAt, 'its expiry');
    await stage.expectAlive(refresh);
    await stage.storage.tokens.revoke(record);
    await stage.expectDead(refresh);
  }),

  kitCase('expiry', 'a superseded refresh token is found until it expires', async (stage) => {
    const grant = await stage.grant();
    const first = await stage.redeemed(grant);
    const second = await stage.rotated(grant, first.refresh);
    stage.advance(REFRESH_TOKEN_SECONDS - 1);
    expectEqual((await stage.find(first.refresh))?.successorId, second.refresh.id, 'successorId');
  }),

  kitCase('expiry', 'each token of a pair has its own expiry', async (stage) => {
    const { refresh, access } = await stage.redeemed(await stage.grant());
    stage.advance(ACCESS_TOKEN_SECONDS);
    await stage.expectDead(access);
    await stage.expectAlive(refresh);
    stage.advance(REFRESH_TOKEN_SECONDS - ACCESS_TOKEN_SECONDS);
    await stage.expectDead(refresh);
  }),

  caseOfPart(
    'oneTimeIdentifiers',
    'expiry',
    'an identifier is taken until the second of its expiry, and can be taken again in it',
    async (stage, identifiers) => {
      const until = stage.now + ONE_TIME_SECONDS;
      await identifiers.take('one', until);
      stage.clock.nowMs = until * 1000 - 1;
      expectEqual(await identifiers.take('one', until + ONE_TIME_SECONDS), false, 'a millisecond before');
      stage.clock.nowMs = until * 1000;
      expectEqual(await identifiers.take('one', until + ONE_TIME_SECONDS), true, 'in the second');
      expectEqual(await identifiers.take('one', until + 2 * ONE_TIME_SECONDS), false, 'once more');
      stage.advance(ONE_TIME_SECONDS - 0.001);
      expectEqual(
        await identifiers.take('one', until + 2 * ONE_TIME_SECONDS),
        false,
        'before its second expiry',
      );
    },
  ),
];
