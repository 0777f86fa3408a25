// Kit cases: revocation, disabling, events and acts by administrators.
import type { NewToken, Principal } from '../../protocol/records.ts';
import type { RevocationTarget } from '../contract.ts';
import {
  ACCESS_TOKEN_SECONDS,
  basisOf,
  expect,
  expectEqual,
  FIELD,
  type Grant,
  isAlive,
  type KitCase,
  kitCase,
  type Pair,
  REFRESH_TOKEN_SECONDS,
  type Stage,
} from './stage.ts';

const REVOCATIONS = (['client', 'subject', 'session', 'grant'] as const).map((principal: Principal) =>
  kitCase(
    'administration',
    `revoking all of a ${principal} ends its tokens and codes, and no others`,
    async (stage) => {
      const grant = await stage.grant();
      const { refresh, access } = await stage.redeemed(grant);
      const code = await stage.code(grant);
      const other = await stage.redeemed(await stage.grant());
      const target: RevocationTarget = { principal, id: grant[FIELD[principal]] };
      expectEqual((await stage.administration.countAlive(target)).count, 2, 'alive before');

      expectEqual(await stage.administration.revokeAll(target), true, 'revoking all of it');
      await stage.expectDead(refresh, access);
      await stage.expectAlive(other.refresh, other.access);
      await expectNothingRestsOn(stage, grant, code.id, refresh);
      expectEqual((await stage.administration.countAlive(target)).count, 0, 'alive afterwards');

      const later = await stage.redeemed({ ...grant, grantId: `${grant.grantId}-2` });
      await stage.expectAlive(later.refresh, later.access);
      await stage.expectDead(refresh, access);
    },
  ),
);

/** An earlier code and refresh token issue nothing. */
async function expectNothingRestsOn(
  stage: Stage,
  grant: Grant,
  codeId: string,
  refresh: Parameters<Stage['rotated']>[1],
): Promise<void> {
  const { tokens, authorizationCodes } = stage.storage;
  const next = stage.pair(grant);
  const code = await authorizationCodes.get(codeId);
  expect(code !== undefined && code !== null, 'a code that was not swept is found');
  expectEqual(await authorizationCodes.redeem(code, [next.refresh, next.access]), 'refused', 'redeeming');
  expectEqual(await tokens.rotate(refresh, next.refresh, [next.refresh, next.access]), 'refused', 'rotating');
  expectEqual(await tokens.issueFrom(refresh, [next.access]), 'refused', 'issuing from it');
  await stage.expectAbsent(next.refresh, next.access);
}

const DISABLINGS = (['client', 'subject'] as const).map((principal) =>
  kitCase(
    'administration',
    `disabling a ${principal} ends its tokens and lets none be issued, and enabling brings none back`,
    async (stage) => {
      const grant = await stage.grant();
      const { refresh, access } = await stage.redeemed(grant);
      const code = await stage.code(grant);
      const { clients } = stage.storage;
      const id = grant[FIELD[principal]];
      const before = await clients.get(grant.clientId);
      expect(before !== undefined && before !== null, 'the client is found');

      await stage.administration.setDisabled(principal, id, true);
      await stage.expectDead(refresh, access);
      await expectNothingRestsOn(stage, grant, code.id, refresh);
      const token = stage.accessToken({ ...grant, grantId: 'later' });
      const current = await clients.get(grant.clientId);
      expect(current !== undefined && current !== null, 'a client is found also while it is disabled');
      expectEqual(
        current.disabledAtMs,
        principal === 'client' ? stage.clock.nowMs : undefined,
        'disabledAtMs',
      );
      expectEqual(
        await stage.storage.tokens.issue([token], basisOf(current)),
        'refused',
        'issuing while disabled',
      );
      const later = { ...code, id: 'later', grantId: 'later' };
      expectEqual(
        await stage.storage.authorizationCodes.issue(later, {}),
        'refused',
        'issuing a code while disabled',
      );

      await stage.administration.setDisabled(principal, id, false);
      await stage.expectDead(refresh, access);
      await expectNothingRestsOn(stage, grant, code.id, refresh);
      if (principal === 'client') {
        const outcome = await stage.storage.tokens.issue([token], basisOf(before));
        expectEqual(outcome, 'refused', 'issuing upon what was read before the disabling');
      }
      if (principal === 'client') {
        const overtaken = { ...code, id: 'overtaken', grantId: 'overtaken' };
        const outcome = await stage.storage.authorizationCodes.issue(overtaken, basisOf(before));
        expectEqual(outcome, 'refused', 'issuing a code upon what was read before the disabling');
      }
      const again = await stage.redeemed({ ...grant, grantId: 'again' });
      await stage.expectAlive(again.refresh, again.access);
    },
  ),
);

/** The result shows whether there was anything to revoke, so that an operator notices a wrong name. */
const ANSWERS = (['client', 'subject', 'session', 'grant'] as const).map((principal: Principal) =>
  kitCase(
    'administration',
    `revoking all of a ${principal} returns whether there is one, also when it is repeated`,
    async (stage) => {
      const store = stage.administration;
      const grant = await stage.grant();
      await stage.code(grant);
      const target = { principal, id: grant[FIELD[principal]] };
      // A user may sign in before they have had a token.
      const isMarked = principal === 'subject';
      expectEqual(await store.revokeAll({ principal, id: 'unknown' }), isMarked, 'of an unknown one');
      if (isMarked)
        expectEqual(
          (await store.getPrincipalState(principal, 'unknown'))?.raisedAtMs ?? null,
          stage.clock.nowMs,
          'the mark of a user without tokens',
        );
      expectEqual(await store.revokeAll(target), true, 'of a known one without tokens');
      expectEqual(await store.revokeAll(target), true, 'again');
    },
  ),
);

const STATES = (['client', 'subject'] as const).map((principal) =>
  kitCase(
    'administration',
    `of a ${principal} it is known when its tokens ended, and since when it is disabled`,
    async (stage) => {
      const store = stage.administration;
      const grant = await stage.grant();
      await stage.redeemed(grant);
      const id = principal === 'client' ? grant.clientId : grant.subject;
      const state = async () => {
        const found = await store.getPrincipalState(principal, id);
        return [found?.raisedAtMs ?? null, found?.disabledAtMs ?? null];
      };
      expectEqual(await state(), [null, null], 'at first');

      stage.advance(1);
      const revokedAtMs = stage.clock.nowMs;
      await store.revokeAll({ principal, id });
      expectEqual(await state(), [revokedAtMs, null], 'after a revocation');

      stage.advance(1);
      const disabledAtMs = stage.clock.nowMs;
      await store.setDisabled(principal, id, true);
      expectEqual(await state(), [disabledAtMs, disabledAtMs], 'while disabled');

      stage.advance(1);
      await store.setDisabled(principal, id, false);
      expectEqual(await state(), [disabledAtMs, null], 'once enabled');
      const unknown = await store.getPrincipalState(principal, 'unknown');
      expect(unknown === undefined || unknown === null, `an unknown ${principal} has no state`);
    },
  ),
);

const DISABLED_SUBJECTS = kitCase(
  'administration',
  'of a list of users it is known in one read who is disabled, and since when',
  async (stage) => {
    const store = stage.administration;
    const [enabled, disabled, again] = [await stage.grant(), await stage.grant(), await stage.grant()];
    const atMs = stage.clock.nowMs;
    for (const { subject } of [disabled, again]) await store.setDisabled('subject', subject, true);
    await store.setDisabled('subject', again.subject, false);
    await store.setDisabled('client', enabled.clientId, true);
    const subjects = [enabled, disabled, again].map(({ subject }) => subject);
    const found = await store.disabledSubjects([...subjects, enabled.clientId, 'unknown']);
    expectEqual([...found], [[disabled.subject, atMs]], 'the disabled one');
    expectEqual([...(await store.disabledSubjects([]))], [], 'of none');
  },
);

/** What can happen to a pair. Each happens to a pair with its own client, user, session and grant. */
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

/** How many of the tokens are alive, without superseded ones. */
async function aliveOf(stage: Stage, tokens: readonly NewToken[]): Promise<number> {
  let alive = 0;
  for (const token of tokens) {
    const isSuperseded = (await stage.find(token))?.supersededAtMs !== undefined;
    if (!isSuperseded && (await isAlive(stage.storage, token, stage.clock.nowMs))) alive++;
  }
  return alive;
}

/** A pair, and the tokens that its fate has added. */
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

export const administration: readonly KitCase[] = [
  ...REVOCATIONS,
  ...ANSWERS,
  ...DISABLINGS,

  kitCase(
    'administration',
    'nothing is issued upon a client as it was read before all of its tokens were revoked',
    async (stage) => {
      const grant = await stage.grant();
      const code = await stage.code(grant);
      const { clients, tokens, authorizationCodes } = stage.administration;
      const before = await clients.get(grant.clientId);
      expect(before !== undefined && before !== null, 'the client is found');
      await stage.administration.revokeAll({ principal: 'client', id: grant.clientId });

      const token = stage.accessToken({ clientId: grant.clientId });
      const later = { ...code, id: 'later', grantId: 'later' };
      for (const basis of [basisOf(before), {}]) {
        expectEqual(await tokens.issue([token], basis), 'refused', 'issuing a token');
        expectEqual(await authorizationCodes.issue(later, basis), 'refused', 'issuing a code');
      }
      await stage.expectAbsent(token);
      const absent = await authorizationCodes.get(later.id);
      expect(absent === undefined || absent === null, 'a refused code is not stored');

      const current = await clients.get(grant.clientId);
      expect(current !== undefined && current !== null, 'the client is found afterwards');
      expectEqual(await tokens.issue([token], basisOf(current)), 'issued', 'a token upon what is so now');
      expectEqual(
        await authorizationCodes.issue(later, basisOf(current)),
        'issued',
        'a code upon what is so now',
      );
    },
  ),

  kitCase('administration', 'a person can be disabled before anything was issued for them', async (stage) => {
    const grant = await stage.grant();
    const code = await stage.code(grant);
    const newcomer = { ...code, id: 'newcomer', subject: 'newcomer', grantId: 'newcomer' };
    await stage.administration.setDisabled('subject', 'newcomer', true);
    expectEqual(await stage.storage.authorizationCodes.issue(newcomer, {}), 'refused', 'issuing a code');
  }),

  kitCase('administration', 'an act is an event with its actor, and ends no token', async (stage) => {
    const grant = await stage.grant();
    const { refresh, access } = await stage.redeemed(grant);
    const store = stage.administration;
    await stage.expectAlive(refresh, access);
    await store.recordAct({ type: 'client_changed', target: grant.clientId, actor: 'cli' });
    await store.recordAct({ type: 'person_added', target: grant.subject, actor: 'page' });
    await stage.expectAlive(refresh, access);
    await store.revokeAll({ principal: 'subject', id: grant.subject });
    await stage.expectDead(refresh, access);
    const events = await store.eventsAfter(0, 10);
    expectEqual(
      events.map(({ type, target, actor }) => ({ type, target, actor })),
      [
        { type: 'client_changed', target: grant.clientId, actor: 'cli' },
        { type: 'person_added', target: grant.subject, actor: 'page' },
        { type: 'subject_revoked', target: grant.subject, actor: undefined },
      ],
      'events',
    );
  }),

  kitCase('administration', 'disabling or enabling what is so already changes nothing', async (stage) => {
    const grant = await stage.grant();
    const { refresh } = await stage.redeemed(grant);
    const store = stage.administration;
    await store.setDisabled('client', grant.clientId, false);
    await store.setDisabled('subject', grant.subject, false);
    await store.setDisabled('client', 'unknown', true);
    await stage.expectAlive(refresh);
    expectEqual(await store.eventsAfter(0, 10), [], 'events');
    await store.setDisabled('subject', grant.subject, true);
    await store.setDisabled('subject', grant.subject, true);
    expectEqual((await store.eventsAfter(0, 10)).length, 1, 'events after disabling twice');
  }),

  kitCase(
    'administration',
    'tokens from before a cutoff in time are refused upon a basis from after it',
    async (stage) => {
      const grant = await stage.grant();
      const { refresh } = await stage.redeemed(grant);
      const code = await stage.code(grant);
      await stage.administration.revokeAll({ issuedBeforeMs: stage.clock.nowMs });
      const late = stage.pair(grant, { issuedAtMs: stage.clock.nowMs - 1 });
      const both = [late.refresh, late.access];
      const { tokens, authorizationCodes } = stage.storage;
      expectEqual(await tokens.rotate(refresh, late.refresh, both), 'refused', 'rotating');
      expectEqual(await tokens.issueFrom(refresh, [late.access]), 'refused', 'issuing from it');
      expectEqual(await authorizationCodes.redeem(code, both), 'refused', 'redeeming');
      await stage.expectAbsent(...both);
      await stage.rotated(grant, refresh);
    },
  ),

  kitCase(
    'administration',
    'all that was issued before a time is dead, to the millisecond',
    async (stage) => {
      const store = stage.administration;
      const before = await stage.redeemed(await stage.grant());
      const code = await stage.code(await stage.grant());
      stage.advance(0.001);
      const client = await stage.client();
      const after = stage.accessToken({ clientId: client.id });
      await stage.issued(client, after);
      const target = { issuedBeforeMs: stage.clock.nowMs };
      expectEqual((await store.countAlive(target)).count, 2, 'alive before');

      expectEqual(await store.revokeAll(target), true, 'revoking');
      await stage.expectDead(before.refresh, before.access);
      await stage.expectAlive(after);
      const token = stage.accessToken({ clientId: client.id });
      expectEqual(await stage.storage.authorizationCodes.redeem(code, [token]), 'refused', 'redeeming');

      const isMoved = await store.revokeAll({ issuedBeforeMs: stage.clock.nowMs - 1000 });
      expectEqual(isMoved, false, 'revoking what was issued before an earlier time');
      expectEqual(await store.revokeAll(target), false, 'revoking again');
      await store.revokeAll({ principal: 'client', id: client.id });
      await stage.expectDead(before.refresh, before.access, after);
    },
  ),

  kitCase('administration', 'every revocation writes one event, and a repeated one none', async (stage) => {
    const store = stage.administration;
    const { tokens, authorizationCodes } = store;
    const one = await stage.redeemed(await stage.grant());
    const other = await stage.grant();
    const { code, refresh } = await stage.redeemed(other);
    const third = await stage.redeemed(await stage.grant());
    for (let times = 0; times < 2; times++) {
      await tokens.revoke(one.access);
      await tokens.revoke(one.refresh);
      await tokens.revokeFamily(refresh);
      await authorizationCodes.revoke(code);
      await tokens.revoke(third.refresh);
      await tokens.revoke({ ...one.access, id: 'unknown', pairId: 'unknown', familyId: 'unknown' });
    }
    stage.advance(1);
    await store.revokeAll({ principal: 'subject', id: other.subject });
    await store.revokeAll({ principal: 'session', id: 'unknown' });
    await store.setDisabled('client', other.clientId, true);
    await store.setDisabled('client', other.clientId, false);
    await store.revokeAll({ issuedBeforeMs: 1234 });
    await store.revokeAll({ issuedBeforeMs: 1234 });

    const events = await store.eventsAfter(0, 100);
    const early = stage.clock.nowMs - 1000;
    expectEqual(
      events.map(({ type, target, atMs }) => [type, target, atMs]),
      [
        ['token_revoked', one.access.id, early],
        ['token_revoked', one.refresh.id, early],
        ['family_revoked', other.familyId, early],
        ['code_revoked', code.id, early],
        ['token_revoked', third.refresh.id, early],
        ['subject_revoked', other.subject, stage.clock.nowMs],
        ['client_disabled', other.clientId, stage.clock.nowMs],
        ['client_enabled', other.clientId, stage.clock.nowMs],
        ['issued_before_revoked', '1234', stage.clock.nowMs],
      ],
      'events',
    );
    const sequences = events.map(({ sequence }) => sequence);
    expectEqual(
      sequences,
      [...new Set(sequences)].sort((a, b) => a - b),
      'sequence numbers',
    );
    const [, second, next] = events;
    expectEqual(
      await store.eventsAfter(second?.sequence ?? 0, 1),
      [next],
      'events after the second, at most one',
    );
  }),

  kitCase(
    'administration',
    'a client is added once, and its secrets replaced only if it has some and was not changed since they were read',
    async (stage) => {
      const { clients } = stage.administration;
      const open = await stage.client({ id: 'b' });
      const closed = await stage.client({ id: 'a', secrets: [{ hash: 'old' }] });
      expectEqual(await clients.add({ ...open, name: 'another' }), false, 'adding it again');
      expectEqual((await clients.get('b'))?.name, undefined, 'its name');
      const secrets = [
        { hash: 'new', serverSecret: 'print', createdAtMs: 1 },
        { hash: 'old', expiresAt: 2, lastUsedAtMs: 3 },
      ];
      expectEqual(await clients.replaceSecrets('a', secrets, closed), true, 'replacing secrets');
      expectEqual(await clients.replaceSecrets('a', [], closed), false, 'replacing them as they were before');
      expectEqual(
        await clients.replaceSecrets('b', secrets, open),
        false,
        'replacing those of a public client',
      );
      expectEqual(
        await clients.replaceSecrets('unknown', secrets, closed),
        false,
        'replacing those of nobody',
      );
      const changed = await clients.get('a');
      expectEqual(changed?.secrets, secrets, 'its secrets');
      expectEqual(
        [(changed?.revision ?? 0) > (closed.revision ?? 0), changed?.registrationRevision ?? 0],
        [true, closed.registrationRevision ?? 0],
        'the use of a secret is a change of the row, and not of the registration',
      );
      expectEqual(
        (await clients.list()).map(({ id }) => id),
        [closed.id, open.id],
        'the list',
      );
    },
  ),

  kitCase('administration', 'the redirect origins of a disabled client do not count', async (stage) => {
    const store = stage.administration;
    const { id } = await stage.client({ redirectUris: ['https://only.example/cb'] });
    await store.setDisabled('client', id, true);
    expectEqual(await store.clients.hasRedirectOrigin('https://only.example'), false, 'while disabled');
    await store.setDisabled('client', id, false);
    expectEqual(await store.clients.hasRedirectOrigin('https://only.example'), true, 'while enabled');
  }),

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
        expectEqual((await store.countAlive(target)).count, await aliveOf(stage, tokens), what);
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
            const { tokens: ofClient } = await store.aliveOfClient(grant.clientId, 100);
            expectEqual(ofClient.length, await aliveOf(stage, tokens), `listed, ${fate}, ${after}`);
            for (const { scopes, subject, grantId, sessionId } of ofClient)
              expectEqual(
                { scopes, subject, grantId, sessionId },
                {
                  scopes: tokens[0]?.scopes,
                  subject: grant.subject,
                  grantId: grant.grantId,
                  sessionId: grant.sessionId,
                },
                `a listed token, ${fate}`,
              );
            expectEqual(
              (await store.aliveOfClient(grant.clientId, 1)).tokens.length,
              Math.min(1, ofClient.length),
              'the limit',
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

  ...STATES,
  DISABLED_SUBJECTS,
];
