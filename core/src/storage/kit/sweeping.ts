// Kit cases: what happens when time passes, and deleting rows that are no longer needed.
import { type Life, storedLife } from '../../protocol/record_rules.ts';
import type { OneTimeUse } from '../contract.ts';
import { KINDS, newPendingRow } from './pending.ts';
import {
  ACCESS_TOKEN_SECONDS,
  type Attempt,
  CODE_SECONDS,
  caseOfPart,
  expect,
  expectEqual,
  isAlive,
  issuancesOnce,
  type KitCase,
  kitCase,
  ONE_TIME_SECONDS,
  REFRESH_TOKEN_SECONDS,
  type Stage,
} from './stage.ts';

/** Something that a store accepts once. */
interface SingleUse {
  readonly name: string;
  readonly use: Attempt<string>;
  /** The same once more; of an identifier, another request with it. */
  readonly again: Attempt<string>;
  /** The outcomes of `again`. */
  readonly refusals: readonly string[];
}

/** Every way to use an identifier once. */
async function usesOfIdentifier(stage: Stage, once: OneTimeUse): Promise<readonly SingleUse[]> {
  const refusals = ['already_used'];
  const take: Attempt<string> = async ({ oneTimeIdentifiers }) =>
    (await oneTimeIdentifiers?.take(once.id, once.expiresAt)) === true ? 'issued' : 'already_used';
  const uses: SingleUse[] = [{ name: 'take', use: take, again: take, refusals }];
  for (const { name, grant, store } of await issuancesOnce(stage)) {
    const issue = async () => store(stage.pair(grant), once);
    uses.push({ name: `${name}, then take`, use: issue, again: take, refusals });
    // To the clock that is ahead, a code has expired as well.
    uses.push({ name: `take, then ${name}`, use: take, again: issue, refusals: [...refusals, 'refused'] });
  }
  return uses;
}

/** What can be used once by itself. */
async function otherSingleUses(stage: Stage): Promise<readonly SingleUse[]> {
  const [grant, other] = [await stage.grant(), await stage.grant()];
  const code = await stage.code(grant);
  const { refresh } = await stage.redeemed(other);
  const rows = KINDS.map((kind) => newPendingRow(stage, kind, grant.grantId));
  for (const row of rows) await stage.administration.pending.add(row);
  const redeem: Attempt<string> = async ({ authorizationCodes }) =>
    authorizationCodes.redeem(code, [stage.accessToken(grant)]);
  const rotate: Attempt<string> = async ({ tokens }) => {
    const successor = stage.refreshToken(other);
    return tokens.rotate(refresh, successor, [successor]);
  };
  return [
    { name: 'a code', use: redeem, again: redeem, refusals: ['refused', 'already_redeemed'] },
    { name: 'a refresh token', use: rotate, again: rotate, refusals: ['refused', 'superseded'] },
    ...rows.map(({ kind, id }) => {
      const take: Attempt<string> = async ({ pending }) =>
        (await pending?.take(kind, id)) ? 'issued' : 'refused';
      return { name: `a ${kind}`, use: take, again: take, refusals: ['refused'] };
    }),
  ];
}

function expired(expiresAt: number): Life {
  return { alive: false, reason: 'expired', sinceMs: expiresAt * 1000 };
}

export const sweeping: readonly KitCase[] = [
  kitCase(
    'administration',
    'sweeping deletes what is over, a few rows a call, and nothing else',
    async (stage) => {
      const store = stage.administration;
      const client = await stage.client();
      const over = Array.from({ length: 5 }, () =>
        stage.accessToken({ clientId: client.id, expiresAt: stage.now + 10, keepUntil: stage.now + 20 }),
      );
      const kept = stage.accessToken({
        clientId: client.id,
        expiresAt: stage.now + 10,
        keepUntil: stage.now + 21,
      });
      await stage.issued(client, ...over, kept);

      stage.advance(19);
      expectEqual(await store.sweep(100), 0, 'rows swept while all are to be kept');
      stage.advance(1);
      expectEqual(
        [await store.sweep(2), await store.sweep(2), await store.sweep(2)],
        [2, 2, 1],
        'rows swept',
      );
      expectEqual(await store.sweep(2), 0, 'rows swept at the end');
      await stage.expectAbsent(...over);
      expect((await stage.find(kept)) !== undefined, 'a row that is to be kept is there');
    },
  ),

  kitCase('administration', 'sweeping leaves what a live token needs', async (stage) => {
    const store = stage.administration;
    const grant = await stage.grant();
    const first = await stage.redeemed(grant);
    stage.advance(REFRESH_TOKEN_SECONDS / 2);
    const second = await stage.rotated(grant, first.refresh);
    stage.advance(CODE_SECONDS);
    while ((await store.sweep(100)) > 0);
    expect((await stage.find(first.refresh)) !== undefined, 'a superseded token is there until its expiry');
    stage.advance(REFRESH_TOKEN_SECONDS / 2);
    while ((await store.sweep(100)) > 0);
    await stage.expectAbsent(first.refresh);
    await stage.expectAlive(second.refresh);
    await stage.rotated(grant, second.refresh);
    stage.advance(24 * 60 * 60);
    while ((await store.sweep(100)) > 0);
    expect((await store.authorizationCodes.get(first.code.id)) == null, 'an expired code is swept');
  }),

  kitCase(
    'administration',
    'an expired code is found for ten minutes after its expiry, and then swept',
    async (stage) => {
      const store = stage.administration;
      const code = await stage.code(await stage.grant());
      stage.advance(CODE_SECONDS + 10 * 60 - 1);
      while ((await store.sweep(100)) > 0);
      const found = await store.authorizationCodes.get(code.id);
      expectEqual(
        found && storedLife(found, stage.clock.nowMs),
        expired(code.expiresAt),
        'ten minutes later',
      );
      stage.advance(1);
      while ((await store.sweep(100)) > 0);
      expect((await store.authorizationCodes.get(code.id)) == null, 'the code is swept after ten minutes');
    },
  ),

  kitCase(
    'administration',
    'what sweeping forgets of a session or grant brings no token back',
    async (stage) => {
      const store = stage.administration;
      const grant = await stage.grant();
      const tokens = Array.from({ length: 6 }, () => stage.refreshToken(grant));
      const code = await stage.code(grant);
      expectEqual(await store.authorizationCodes.redeem(code, tokens), 'issued', 'redeeming');
      await store.revokeAll({ principal: 'session', id: grant.sessionId });
      await store.revokeAll({ principal: 'grant', id: grant.grantId });
      const revokedAtMs = stage.clock.nowMs;

      // One row a call leaves tokens whose session and grant are gone; to a clock that is behind they are not expired.
      stage.advance(REFRESH_TOKEN_SECONDS);
      const sweptAtMs = stage.clock.nowMs;
      for (let times = 0; times < 3; times++) await store.sweep(1);
      stage.clock.nowMs = revokedAtMs;
      await stage.expectDead(...tokens);
      expectEqual((await store.countAlive({ principal: 'client', id: grant.clientId })).count, 0, 'alive');

      stage.clock.nowMs = sweptAtMs;
      const later = await stage.redeemed({ ...grant, familyId: 'later' });
      await stage.expectAlive(later.refresh, later.access);
      stage.clock.nowMs = revokedAtMs;
      await stage.expectDead(...tokens);
    },
  ),

  kitCase(
    'administration',
    'a token that was swept is dead for every handle, even if the clock is set back',
    async (stage) => {
      const store = stage.administration;
      const client = await stage.client();
      const grant = await stage.grant({ clientId: client.id });
      const { access: tied } = await stage.redeemed(grant);
      const alone = stage.accessToken({ clientId: client.id });
      await stage.issued(client, alone);
      const look = () =>
        stage.parallel(
          [alone, tied, alone, tied].map((token) => (storage) => isAlive(storage, token, stage.clock.nowMs)),
        );
      const [record, before] = [await stage.find(alone), stage.clock.nowMs];
      expectEqual(await look(), [true, true, true, true], 'alive before the sweep, by handle');

      stage.advance(ACCESS_TOKEN_SECONDS);
      while ((await store.sweep(100)) > 0);
      stage.clock.nowMs = before;
      if (record !== undefined) await store.tokens.revoke(record);
      await store.revokeAll({ principal: 'grant', id: grant.grantId });
      expectEqual(await look(), [false, false, false, false], 'alive after sweep and revocation, by handle');
    },
  ),

  kitCase('administration', 'a disabling is never swept', async (stage) => {
    const store = stage.administration;
    const grant = await stage.grant();
    const code = await stage.code(grant);
    await store.setDisabled('subject', grant.subject, true);
    stage.advance(400 * 24 * 60 * 60);
    while ((await store.sweep(100)) > 0);
    const expiresAt = stage.now + CODE_SECONDS;
    const later = { ...code, id: 'later', issuedAtMs: stage.clock.nowMs, expiresAt };
    expectEqual(await store.authorizationCodes.issue(later, {}), 'refused', 'issuing a code');
  }),

  kitCase('administration', 'events are swept by age, and their numbers go on', async (stage) => {
    const store = stage.administration;
    await store.revokeAll({ issuedBeforeMs: 1 });
    const [first] = await store.eventsAfter(0, 10);
    expect(first !== undefined, 'an event is written');
    stage.advance(24 * 60 * 60);
    while ((await store.sweep(100)) > 0);
    expectEqual(await store.eventsAfter(0, 10), [first], 'events after a day');
    stage.advance(400 * 24 * 60 * 60);
    while ((await store.sweep(100)) > 0);
    expectEqual(await store.eventsAfter(0, 10), [], 'events after 400 days');
    await store.revokeAll({ issuedBeforeMs: 2 });
    const [next] = await store.eventsAfter(first.sequence, 10);
    expect(next !== undefined && next.sequence > first.sequence, 'a sequence number is not given twice');
  }),

  kitCase(
    'administration',
    'identifiers are swept when they are over, a few a call, and not before',
    async (stage) => {
      const store = stage.administration;
      const until = stage.now + ONE_TIME_SECONDS;
      for (const id of ['a', 'b', 'c']) await store.oneTimeIdentifiers.take(id, until);
      await store.oneTimeIdentifiers.take('later', until + 1);
      stage.advance(ONE_TIME_SECONDS - 1);
      expectEqual(await store.sweep(100), 0, 'rows swept while all are taken');
      stage.advance(1);
      expectEqual(
        [await store.sweep(2), await store.sweep(2), await store.sweep(2)],
        [2, 1, 0],
        'rows swept',
      );
      expectEqual(await store.oneTimeIdentifiers.take('later', until + 1), false, 'taking what is not over');
      expectEqual(await store.oneTimeIdentifiers.take('a', until + 1), true, 'taking what was swept');
    },
  ),

  kitCase('administration', 'what a clock that was ahead has swept is not accepted again', async (stage) => {
    const store = stage.administration;
    const expectOnce = async ({ name, use, again, refusals }: SingleUse, seconds: number) => {
      const usedAtMs = stage.clock.nowMs;
      expectEqual(await use(store), 'issued', name);
      stage.advance(seconds);
      while ((await store.sweep(100)) > 0);
      for (const { nowMs, clock } of [
        { nowMs: usedAtMs + seconds * 1000, clock: 'ahead' },
        { nowMs: usedAtMs, clock: 'behind' },
      ]) {
        stage.clock.nowMs = nowMs;
        for (const outcome of await stage.parallel([again, again]))
          expect(refusals.includes(outcome), `${name} again, by the clock that is ${clock}: ${outcome}`);
      }
    };

    for (let index = 0; ; index++) {
      stage.advance(1);
      const once = { id: `${index}`, expiresAt: stage.now + ONE_TIME_SECONDS };
      const ofIdentifier = await usesOfIdentifier(stage, once);
      const use = [...ofIdentifier, ...(await otherSingleUses(stage))][index];
      if (use === undefined) break;
      await expectOnce(use, index < ofIdentifier.length ? ONE_TIME_SECONDS : 2 * REFRESH_TOKEN_SECONDS);
    }
  }),
];

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
