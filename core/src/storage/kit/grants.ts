// Kit cases: listing and revoking grants.
import type { ClientRecord, GrantRecord, NewAuthorizationCode, NewToken } from '../../protocol/records.ts';
import {
  ACCESS_TOKEN_SECONDS,
  type Attempt,
  administrationOf,
  basisOf,
  CODE_SECONDS,
  expectEqual,
  type Grant,
  type KitCase,
  kitCase,
  type Pair,
  RACERS,
  REFRESH_TOKEN_SECONDS,
  race,
  type Stage,
} from './stage.ts';

/** What is known of a grant that began now. */
function recordOf(stage: Stage, grant: Grant, scopes: readonly string[] = ['openid']): GrantRecord {
  return {
    id: grant.grantId,
    clientId: grant.clientId,
    subject: grant.subject,
    scopes,
    sessionId: grant.sessionId,
    createdAtMs: stage.clock.nowMs,
  };
}

async function expectGrants(stage: Stage, subject: string, expected: readonly GrantRecord[]): Promise<void> {
  const sorted = (records: readonly GrantRecord[]) =>
    records.map((record) => Object.entries(record).toSorted());
  expectEqual(sorted(await stage.administration.grantsOf(subject)), sorted(expected), 'grants');
}

type Redeemed = Pair & { readonly code: NewAuthorizationCode };

const ENDINGS: Readonly<Record<string, (stage: Stage, grant: Grant, redeemed: Redeemed) => unknown>> = {
  'it was revoked': ({ administration }, { grantId: id }) =>
    administration.revokeAll({ principal: 'grant', id }),
  'its session has ended': ({ administration }, { sessionId: id }) =>
    administration.revokeAll({ principal: 'session', id }),
  'its client was revoked': ({ administration }, { clientId: id }) =>
    administration.revokeAll({ principal: 'client', id }),
  'its person was revoked': ({ administration }, { subject: id }) =>
    administration.revokeAll({ principal: 'subject', id }),
  'its client was disabled and enabled': async ({ administration }, { clientId }) => {
    await administration.setDisabled('client', clientId, true);
    await administration.setDisabled('client', clientId, false);
  },
  'its client is disabled': ({ administration }, { clientId }) =>
    administration.setDisabled('client', clientId, true),
  'its person is disabled': ({ administration }, { subject }) =>
    administration.setDisabled('subject', subject, true),
  'its refresh token was revoked': ({ storage }, _, { refresh }) => storage.tokens.revoke(refresh),
  'its code was used again': ({ storage }, _, { code }) => storage.authorizationCodes.revoke(code),
  'its last token is over': (stage) => stage.advance(REFRESH_TOKEN_SECONDS),
  'its client was removed': ({ administration }, { clientId }) => administration.clients.remove(clientId),
};

/** Ends after which nothing of a grant can be used, although it was not revoked as a whole. */
const LEFT_BEHIND: Readonly<Record<string, (stage: Stage, redeemed: Redeemed) => unknown>> = {
  'its only access token was revoked': ({ storage }, { access }) => storage.tokens.revoke(access),
  'its family was revoked': ({ storage }, { refresh }) => storage.tokens.revokeFamily(refresh),
  'all that was issued before was revoked': async (stage) => {
    stage.advance(1);
    await stage.administration.revokeAll({ issuedBeforeMs: stage.clock.nowMs });
  },
};

const UNUSABLE = Object.entries(LEFT_BEHIND).map(([what, end]) =>
  kitCase('administration', `a grant is not listed any more when ${what}`, async (stage) => {
    const grant = await stage.grant();
    const redeemed = await stage.redeemed(grant);
    await end(stage, redeemed);
    await stage.expectDead(redeemed.refresh, redeemed.access);
    await expectGrants(stage, grant.subject, []);
    // It can begin anew.
    const began = recordOf(stage, grant);
    const again = await stage.redeemed({ ...grant, familyId: 'again' });
    await stage.expectAlive(again.refresh, again.access);
    const listed = await stage.administration.grantsOf(grant.subject);
    expectEqual(
      listed.map(({ id }) => id),
      [began.id],
      'grants afterwards',
    );
  }),
);

const ENDED = Object.entries(ENDINGS).map(([what, end]) =>
  kitCase('administration', `a grant is not listed any more when ${what}`, async (stage) => {
    const grant = await stage.grant();
    const redeemed = await stage.redeemed(grant);
    await expectGrants(stage, grant.subject, [recordOf(stage, grant)]);
    await end(stage, grant, redeemed);
    await expectGrants(stage, grant.subject, []);
    expectEqual(await stage.administration.revokeGrants(grant.subject, grant.clientId), 0, 'ended');
  }),
);

/** A token that a client obtains by exchange, for the user of a grant. */
function exchanged(stage: Stage, client: ClientRecord, grant: Grant, from: NewToken): NewToken {
  const { subject, grantId, sessionId } = grant;
  const ancestors = [...(from.ancestors ?? []), { kind: from.kind, id: from.id }];
  return stage.accessToken({ clientId: client.id, subject, grantId, sessionId, ancestors });
}

export const grants: readonly KitCase[] = [
  kitCase('administration', 'the grants of a person are listed, the newest first', async (stage) => {
    const { grantsOf } = stage.administration;
    const first = await stage.grant();
    const { subject } = first;
    await stage.redeemed(first);
    const firstRecord = recordOf(stage, first);
    stage.advance(1);
    const second = await stage.grant({ subject, clientId: first.clientId });
    await stage.code(second, { scopes: ['z', 'openid'], issuedAtMs: stage.clock.nowMs });
    const secondRecord = recordOf(stage, second, ['z', 'openid']);
    stage.advance(1);
    const { sessionId: _, ...sessionless } = await stage.grant({ subject });
    const client = await stage.storage.clients.get(sessionless.clientId);
    await stage.issued(client ?? (await stage.client()), stage.refreshToken(sessionless));
    const { sessionId: __, ...thirdRecord } = recordOf(stage, { ...sessionless, sessionId: '' });
    await stage.redeemed(await stage.grant({ clientId: first.clientId }));

    await expectGrants(stage, subject, [thirdRecord, secondRecord, firstRecord]);
    expectEqual(await grantsOf('unknown'), [], 'of an unknown person');
  }),

  kitCase('administration', 'a grant names the APIs of its live tokens', async (stage) => {
    const grant = await stage.grant();
    const { refresh } = await stage.redeemed(grant);
    const resourcesNow = async () =>
      (await stage.administration.grantsOf(grant.subject)).map(({ resources }) => resources);
    expectEqual(await resourcesNow(), [undefined], 'without APIs');
    const client = await stage.storage.clients.get(grant.clientId);
    const tokenFor = (...resources: readonly string[]) => ({ ...stage.accessToken(grant), resources });
    const [both, one, ended] = [
      tokenFor('https://b.example', 'https://a.example'),
      tokenFor('https://b.example'),
      // Of another family, so that the refresh token stays.
      { ...tokenFor('https://c.example'), familyId: 'other' },
    ] as const;
    await stage.issued(client ?? (await stage.client()), both, one, ended);
    await stage.storage.tokens.revoke(ended);
    expectEqual(await resourcesNow(), [['https://a.example', 'https://b.example']], 'of two tokens');
    stage.advance(ACCESS_TOKEN_SECONDS);
    await stage.expectAlive(refresh);
    expectEqual(await resourcesNow(), [undefined], 'when the tokens are over');
  }),

  kitCase('administration', 'what a client has for itself is no grant', async (stage) => {
    const client = await stage.client();
    const person = { clientId: client.id, subject: 'somebody' };
    const nobody = { clientId: client.id, grantId: 'grant' };
    await stage.issued(client, stage.accessToken(person), stage.accessToken(nobody));
    expectEqual(await stage.administration.grantsOf('somebody'), [], 'grants');
  }),

  kitCase(
    'administration',
    'a grant is listed once, as it began, until the last of its tokens is over',
    async (stage) => {
      const grant = await stage.grant();
      const { subject } = grant;
      const began = recordOf(stage, grant, ['openid', 'email']);
      const code = await stage.code(grant, { scopes: ['openid', 'email'] });
      await expectGrants(stage, subject, [began]);
      stage.advance(CODE_SECONDS - 1);
      const { refresh, access } = stage.pair(grant);
      const redeemed = await stage.storage.authorizationCodes.redeem(code, [refresh, access]);
      expectEqual(redeemed, 'issued', 'redeeming');
      stage.advance(REFRESH_TOKEN_SECONDS - 1);
      await expectGrants(stage, subject, [began]);
      await stage.rotated(grant, refresh);
      while ((await stage.administration.sweep(100)) > 0);
      stage.advance(REFRESH_TOKEN_SECONDS - 1);
      while ((await stage.administration.sweep(100)) > 0);
      await expectGrants(stage, subject, [began]);
      stage.advance(1);
      await expectGrants(stage, subject, []);
    },
  ),

  kitCase(
    'administration',
    'a grant whose code is not redeemed is listed until the code expires',
    async (stage) => {
      const grant = await stage.grant();
      await stage.code(grant);
      stage.advance(CODE_SECONDS - 1);
      expectEqual((await stage.administration.grantsOf(grant.subject)).length, 1, 'grants a second before');
      stage.advance(1);
      await expectGrants(stage, grant.subject, []);
    },
  ),

  ...ENDED,
  ...UNUSABLE,

  kitCase('administration', 'a grant is listed while one of its tokens is alive', async (stage) => {
    const grant = await stage.grant();
    const { refresh, access } = await stage.redeemed(grant);
    const later = await stage.rotated(grant, refresh);
    await stage.storage.tokens.revoke(later.access);
    await stage.expectDead(later.refresh, later.access);
    await stage.expectAlive(access);
    await expectGrants(stage, grant.subject, [recordOf(stage, grant)]);
    await stage.storage.tokens.revoke(access);
    await expectGrants(stage, grant.subject, []);
  }),

  kitCase('administration', 'a grant that begins anew is listed as it does then', async (stage) => {
    const grant = await stage.grant();
    const { subject, grantId } = grant;
    await stage.redeemed(grant);
    await stage.administration.revokeAll({ principal: 'grant', id: grantId });
    stage.advance(1);
    await stage.code(grant, { scopes: ['email'] });
    await expectGrants(stage, subject, [recordOf(stage, grant, ['email'])]);

    stage.advance(REFRESH_TOKEN_SECONDS);
    while ((await stage.administration.sweep(100)) > 0);
    await expectGrants(stage, subject, []);
    await stage.code(grant, { scopes: ['z'] });
    await expectGrants(stage, subject, [recordOf(stage, grant, ['z'])]);
  }),

  kitCase(
    'administration',
    'ending what a user granted to a client ends its tokens and codes, and no others',
    async (stage) => {
      const store = stage.administration;
      const grant = await stage.grant();
      const { subject, clientId } = grant;
      const mine: Pair[] = [await stage.redeemed(grant)];
      const second = await stage.grant({ subject, clientId });
      const { refresh } = await stage.redeemed(second);
      mine.push(await stage.rotated(second, refresh));
      const third = await stage.grant({ subject, clientId });
      const code = await stage.code(third);
      const elsewhere = await stage.grant({ subject });
      const others = [await stage.redeemed(elsewhere), await stage.redeemed(await stage.grant({ clientId }))];
      const client = await stage.storage.clients.get(clientId);
      const own = stage.accessToken({ clientId });
      await stage.issued(client ?? (await stage.client()), own);
      const atMs = stage.clock.nowMs;

      expectEqual(await store.revokeGrants(subject, clientId), 3, 'ended');
      for (const pair of mine) await stage.expectDead(pair.refresh, pair.access);
      const next = stage.pair(third);
      const redeemed = await store.authorizationCodes.redeem(code, [next.refresh, next.access]);
      expectEqual(redeemed, 'refused', 'redeeming');
      for (const pair of others) await stage.expectAlive(pair.refresh, pair.access);
      await stage.expectAlive(own);
      await expectGrants(stage, subject, [recordOf(stage, elsewhere)]);

      expectEqual(await store.revokeGrants(subject, clientId), 0, 'ended again');
      expectEqual(await store.revokeGrants('unknown', clientId), 0, 'ended of an unknown person');
      expectEqual(await store.revokeGrants(subject, 'unknown'), 0, 'ended of an unknown client');
      const events = await store.eventsAfter(0, 10);
      expectEqual(
        events.map((event) => [event.type, event.target, event.atMs]).toSorted(),
        [grant, second, third].map(({ grantId }) => ['grant_revoked', grantId, atMs]).toSorted(),
        'events',
      );
      const later = await stage.redeemed(await stage.grant({ subject, clientId }));
      await stage.expectAlive(later.refresh, later.access);
      expectEqual(await store.revokeGrants(subject, clientId), 1, 'ended of what came later');
    },
  ),

  kitCase(
    'administration',
    'an issuance that races the end of what a user granted leaves nothing of before alive',
    async (stage) => {
      const { subject, clientId } = await stage.grant();
      const sources = await Promise.all(
        [1, 2, 3].map(async () => {
          const grant = await stage.grant({ subject, clientId });
          return { grant, ...(await stage.redeemed(grant)), code: await stage.code(grant) };
        }),
      );
      const pairs = sources.flatMap((source) =>
        Array.from({ length: RACERS }, () => ({ source, pair: stage.pair(source.grant) })),
      );
      const issuances = pairs.map(({ source, pair }, index): Attempt<unknown> => {
        const both = [pair.refresh, pair.access];
        if (index % 3 === 0) return ({ authorizationCodes }) => authorizationCodes.redeem(source.code, both);
        if (index % 3 === 1) return ({ tokens }) => tokens.issueFrom(source.refresh, [pair.access]);
        return ({ tokens }) => tokens.rotate(source.refresh, pair.refresh, both);
      });
      const store = stage.administration;
      await race(stage, issuances, async () => {
        expectEqual(await store.revokeGrants(subject, clientId), sources.length, 'ended');
      });
      const issued = [...sources, ...pairs.map(({ pair }) => pair)];
      for (const { refresh, access } of issued) await stage.expectDead(refresh, access);
      await expectGrants(stage, subject, []);
    },
  ),

  kitCase(
    'administration',
    'ending what a user granted to a client ends what it obtained for them by exchange, and no more',
    async (stage) => {
      const { tokens } = stage.storage;
      if (tokens.keepsAncestors !== true) return;
      const store = stage.administration;
      const [application, another] = [await stage.grant(), await stage.grant()];
      const [{ access }, { access: ofAnother }] = [
        await stage.redeemed(application),
        await stage.redeemed(another),
      ];
      const [service, next] = [await stage.client(), await stage.client()];
      const { subject } = application;
      const held = exchanged(stage, service, application, access);
      const below = exchanged(stage, next, application, held);
      const aside = exchanged(stage, next, application, access);
      const forAnother = exchanged(stage, service, another, ofAnother);
      const own = stage.accessToken({ clientId: service.id });
      await stage.issued(service, held, forAnother, own);
      await stage.issued(next, below, aside);
      const idsFor = async (who: string, limit = 9) =>
        (await tokens.exchangedFor?.(who, limit))?.map(({ id }) => id).toSorted();
      const expectExchanged = async (who: string, ...expected: readonly NewToken[]) => {
        if (tokens.exchangedFor === undefined) return;
        expectEqual(await idsFor(who), expected.map(({ id }) => id).toSorted(), 'exchanged tokens');
      };
      await expectExchanged(subject, held, below, aside);
      await expectExchanged(another.subject, forAnother);
      await expectExchanged('unknown');
      if (tokens.exchangedFor !== undefined) expectEqual((await idsFor(subject, 1))?.length, 1, 'one token');

      expectEqual(await store.revokeGrants(subject, service.id), 1, 'ended');
      await stage.expectDead(held);
      await stage.expectAlive(access, aside, forAnother, own);
      await expectExchanged(subject, aside);
      await expectExchanged(another.subject, forAnother);
      const [event, ...others] = await store.eventsAfter(0, 10);
      expectEqual([event?.type, event?.target, others.length], ['exchanges_revoked', service.id, 0], 'event');
      expectEqual(await store.revokeGrants(subject, service.id), 0, 'ended again');

      const issue = (client: ClientRecord, from: NewToken, grant = application) =>
        tokens.issue([exchanged(stage, client, grant, from)], basisOf(client));
      expectEqual(await issue(service, access), 'refused', 'an exchange of a token from before the end');
      expectEqual(await issue(next, held), 'refused', 'an exchange of an ended token');
      expectEqual(await issue(next, access), 'issued', 'an exchange by another client');
      expectEqual(await issue(service, ofAnother, another), 'issued', 'an exchange for another user');
      stage.advance(1);
      const { access: later } = await stage.redeemed(await stage.grant(application));
      expectEqual(await issue(service, later), 'issued', 'an exchange of a later token');
    },
  ),

  kitCase(
    'administration',
    'what a user ended is remembered as long as a token from before it lives',
    async (stage) => {
      if (stage.storage.tokens.keepsAncestors !== true) return;
      const [application, service] = [await stage.client(), await stage.client()];
      const expiresAt = stage.now + 40 * 24 * 60 * 60;
      const parties = { subject: 'user', expiresAt, keepUntil: expiresAt };
      const early = stage.accessToken({ clientId: application.id, ...parties });
      await stage.issued(application, early);
      await stage.administration.revokeGrants('user', service.id);

      stage.clock.nowMs = expiresAt * 1000 - 1;
      while ((await stage.administration.sweep(100)) > 0);
      const ancestors = [{ kind: early.kind, id: early.id }];
      const late = stage.accessToken({ clientId: service.id, ...parties, ancestors });
      expectEqual(await stage.storage.tokens.issue([late], basisOf(service)), 'refused', 'an exchange');
      const ofOther = stage.accessToken({ clientId: application.id, ...parties, ancestors });
      expectEqual(await stage.storage.tokens.issue([ofOther], basisOf(application)), 'issued', 'of another');
    },
  ),

  kitCase(
    'administration',
    'an exchange that races the end of what its client obtained leaves nothing alive',
    async (stage) => {
      if (stage.storage.tokens.keepsAncestors !== true) return;
      const application = await stage.grant();
      const { access } = await stage.redeemed(application);
      const service = await stage.client();
      const racing = Array.from(Array(RACERS).keys(), (index) => {
        const token = exchanged(stage, service, application, access);
        const { grantId: _, sessionId: __, ...alone } = token;
        return index % 2 === 0 ? token : alone;
      });
      const issuances = racing.map(
        (token): Attempt<unknown> =>
          ({ tokens }) =>
            tokens.issue([token], basisOf(service)),
      );
      await race(stage, issuances, (storage) =>
        administrationOf(storage).revokeGrants(application.subject, service.id),
      );
      await stage.expectDead(...racing);
      await stage.expectAlive(access);

      // Without a grant, as by JWTs of other issuers
      const { subject } = application;
      stage.advance(1);
      const first = stage.accessToken({ clientId: service.id, subject });
      await stage.issued(service, first);
      const ancestors = [{ kind: first.kind, id: first.id }];
      const alone = Array.from({ length: RACERS }, () =>
        stage.accessToken({ clientId: service.id, subject, ancestors }),
      );
      const others = alone.map(
        (token): Attempt<unknown> =>
          ({ tokens }) =>
            tokens.issue([token], basisOf(service)),
      );
      await race(stage, others, (storage) => administrationOf(storage).revokeGrants(subject, service.id));
      await stage.expectDead(...alone);
    },
  ),

  kitCase(
    'administration',
    'several that end the same grants at once end each of them once',
    async (stage) => {
      const { subject, clientId } = await stage.grant();
      for (let count = 0; count < 5; count++) await stage.code(await stage.grant({ subject, clientId }));
      const ended = await stage.parallel(
        Array.from(
          { length: RACERS },
          (): Attempt<number> => (storage) => administrationOf(storage).revokeGrants(subject, clientId),
        ),
      );
      expectEqual(
        ended.reduce((sum, count) => sum + count, 0),
        5,
        'ended in all',
      );
      expectEqual((await stage.administration.eventsAfter(0, 100)).length, 5, 'events');
    },
  ),
];
