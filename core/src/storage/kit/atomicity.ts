// Kit cases: what one operation changes together, and what happens if storage fails.
import type { NewToken } from '../../protocol/records.ts';
import {
  ACCESS_TOKEN_SECONDS,
  basisOf,
  caseOfPart,
  expect,
  expectEqual,
  expectFault,
  expectRejection,
  issuancesOnce,
  type KitCase,
  kitCase,
  ONE_TIME_SECONDS,
} from './stage.ts';

export const atomicity: readonly KitCase[] = [
  kitCase(
    'atomicity',
    'revoking an access token ends its pair and nothing of another grant',
    async (stage) => {
      const one = await stage.redeemed(await stage.grant());
      const other = await stage.redeemed(await stage.grant());
      await stage.storage.tokens.revoke(one.access);
      await stage.expectDead(one.access, one.refresh);
      await stage.expectAlive(other.access, other.refresh);
    },
  ),

  kitCase(
    'atomicity',
    'revoking an access token ends the current refresh token of its family with its pair, and leaves the others',
    async (stage) => {
      const grant = await stage.grant();
      const first = await stage.redeemed(grant);
      const second = await stage.rotated(grant, first.refresh);
      const third = await stage.rotated(grant, second.refresh);
      await stage.storage.tokens.revoke(first.access);
      await stage.expectDead(first.access, first.refresh, third.refresh, third.access);
      await stage.expectAlive(second.access);
    },
  ),

  kitCase(
    'atomicity',
    'revoking a refresh token ends every token of its grant and no other',
    async (stage) => {
      const grant = await stage.grant();
      const first = await stage.redeemed(grant);
      const sibling = await stage.redeemed({ ...grant, familyId: 'sibling' });
      const second = await stage.rotated(grant, first.refresh);
      const other = await stage.redeemed({ ...(await stage.grant()), subject: grant.subject });
      await stage.storage.tokens.revoke(second.refresh);
      await stage.expectDead(first.refresh, first.access, second.refresh, second.access);
      await stage.expectDead(sibling.refresh, sibling.access);
      await stage.expectAlive(other.refresh, other.access);
    },
  ),

  kitCase('atomicity', 'revoking a superseded refresh token ends every token of its grant', async (stage) => {
    const grant = await stage.grant();
    const first = await stage.redeemed(grant);
    const second = await stage.rotated(grant, first.refresh);
    await stage.storage.tokens.revoke(first.refresh);
    await stage.expectDead(first.refresh, first.access, second.refresh, second.access);
  }),

  kitCase(
    'atomicity',
    'revoking a refresh token that went with its access token still ends its grant',
    async (stage) => {
      const grant = await stage.grant();
      const one = await stage.redeemed(grant);
      const sibling = await stage.redeemed({ ...grant, familyId: 'sibling' });
      await stage.storage.tokens.revoke(one.access);
      await stage.expectAlive(sibling.refresh, sibling.access);
      await stage.storage.tokens.revoke(one.refresh);
      await stage.expectDead(sibling.refresh, sibling.access);
    },
  ),

  kitCase('atomicity', 'revoking a refresh token ends its family, in whatever pair', async (stage) => {
    const client = await stage.client();
    const grant = await stage.grant({ clientId: client.id });
    const refresh = stage.refreshToken({ ...grant, pairId: 'pair' });
    const access = stage.accessToken({ ...grant, pairId: 'pair' });
    const later = stage.accessToken({ ...grant, pairId: 'later' });
    const other = stage.accessToken({ ...grant, grantId: 'other', familyId: 'other' });
    await stage.issued(client, refresh, access, later, other);
    await stage.storage.tokens.revoke(refresh);
    await stage.expectDead(refresh, access, later);
    await stage.expectAlive(other);
  }),

  kitCase('atomicity', 'revoking a refresh token without pair and family ends its grant', async (stage) => {
    const client = await stage.client();
    const { familyId: _, ...grant } = await stage.grant({ clientId: client.id });
    const [refresh, access] = [stage.refreshToken(grant), stage.accessToken(grant)];
    const other = stage.accessToken({ ...grant, grantId: 'other' });
    await stage.issued(client, refresh, access, other);
    await stage.storage.tokens.revoke(refresh);
    await stage.expectDead(refresh, access);
    await stage.expectAlive(other);
  }),

  kitCase(
    'atomicity',
    'revoking a token without pair, family and grant ends that token alone',
    async (stage) => {
      const client = await stage.client();
      const one = stage.accessToken({ clientId: client.id });
      const other = stage.accessToken({ clientId: client.id });
      await stage.issued(client, one, other);
      await stage.storage.tokens.revoke(one);
      await stage.expectDead(one);
      await stage.expectAlive(other);
    },
  ),

  kitCase('atomicity', 'revoking a family ends all of it and leaves the rest of the grant', async (stage) => {
    const grant = await stage.grant();
    const first = await stage.redeemed(grant);
    const second = await stage.rotated(grant, first.refresh);
    const sibling = await stage.redeemed({ ...grant, familyId: 'sibling' });
    await stage.storage.tokens.revokeFamily(first.refresh);
    await stage.expectDead(first.refresh, first.access, second.refresh, second.access);
    await stage.expectAlive(sibling.refresh, sibling.access);
  }),

  kitCase(
    'atomicity',
    'nothing is issued below a token that has ended, and a descendant keeps its ancestors',
    async (stage) => {
      if (stage.storage.tokens.keepsAncestors !== true) return;
      const client = await stage.client();
      const below = (...ancestors: NewToken[]) =>
        stage.accessToken({
          clientId: client.id,
          ancestors: ancestors.map(({ kind, id }) => ({ kind, id })),
        });
      const issue = (token: NewToken) => stage.storage.tokens.issue([token], basisOf(client));
      const refused = async (token: NewToken, what: string) => {
        expectEqual(await issue(token), 'refused', what);
        await stage.expectAbsent(token);
      };

      const grant = await stage.grant();
      const first = await stage.redeemed(grant);
      const child = below(first.refresh, first.access);
      expectEqual(await issue(child), 'issued', 'issuing below living tokens');
      expectEqual((await stage.find(child))?.ancestors, child.ancestors, 'the ancestors of a stored token');
      const grandchild = below(first.access, child);
      expectEqual(await issue(grandchild), 'issued', 'issuing below a descendant');
      const descendantsOf = async ({ id }: NewToken, limit = 9) =>
        (await stage.storage.tokens.descendantsOf?.(id, limit))?.map((token) => token.id).toSorted();
      if (stage.storage.tokens.descendantsOf !== undefined) {
        expectEqual(await descendantsOf(first.access), [child.id, grandchild.id].toSorted(), 'descendants');
        expectEqual(await descendantsOf(child), [grandchild.id], 'descendants of a descendant');
        expectEqual(await descendantsOf(grandchild), [], 'no descendants');
        expectEqual((await descendantsOf(first.access, 1))?.length, 1, 'descendants up to a limit');
      }
      await refused(
        below(child, stage.accessToken({ clientId: client.id })),
        'an ancestor that is not stored',
      );
      await refused(below({ ...child, kind: 'refresh_token' }), 'an ancestor of another kind');

      await stage.rotated(grant, first.refresh);
      expectEqual(await issue(below(first.refresh)), 'issued', 'an ancestor that is superseded');

      const unrelated = (await stage.redeemed(await stage.grant())).access;
      await stage.storage.tokens.revoke(first.access);
      await refused(below(first.access, child), 'the first ancestor is revoked');
      await refused(below(unrelated, first.access), 'the last ancestor is revoked');
      expectEqual(await issue(below(unrelated)), 'issued', 'an ancestor of another grant');
      stage.advance(ACCESS_TOKEN_SECONDS);
      await refused(below(unrelated), 'an ancestor has expired');
      expectEqual((await descendantsOf(first.access)) ?? [], [], 'descendants that have expired');
    },
  ),

  kitCase('atomicity', 'what leaves no row is issued as a token is, and is not stored', async (stage) => {
    if (stage.storage.tokens.keepsAncestors !== true) return;
    const client = await stage.client();
    const { access } = await stage.redeemed(await stage.grant());
    const assertion = () =>
      stage.accessToken({
        ...{ clientId: client.id, tokenType: 'N_A', resources: ['https://chat.example/'] },
        ancestors: [{ kind: access.kind, id: access.id }],
      });
    const issue = async (token: NewToken, expected: string, basis = basisOf(client)) => {
      const outcome = await stage.storage.tokens.issue([token], { ...basis, leavesNoRow: true });
      expectEqual(outcome, expected, 'issuing');
      await stage.expectAbsent(token);
    };
    await issue(assertion(), 'issued');
    await issue(assertion(), 'refused', { clientGeneration: (client.generation ?? 0) + 1 });
    await issue({ ...assertion(), clientId: 'unknown' }, 'refused');
    await stage.storage.tokens.revoke(access);
    await issue(assertion(), 'refused');
  }),

  kitCase('atomicity', 'revoking twice, or what is not stored, is no error', async (stage) => {
    const { code, refresh, access } = await stage.redeemed(await stage.grant());
    const { tokens, authorizationCodes } = stage.storage;
    for (let times = 0; times < 2; times++) {
      await tokens.revoke(access);
      await tokens.revokeFamily(refresh);
      await tokens.revoke(refresh);
      await authorizationCodes.revoke(code);
    }
    await tokens.revoke({ ...access, id: 'unknown' });
    await authorizationCodes.revoke({ ...code, id: 'unknown' });
    await stage.expectDead(refresh, access);
  }),

  kitCase(
    'atomicity',
    'a rotated token is found with its successor, and not rotated again',
    async (stage) => {
      const grant = await stage.grant();
      const first = await stage.redeemed(grant);
      const second = await stage.rotated(grant, first.refresh);
      const record = await stage.find(first.refresh);
      expectEqual(record?.successorId, second.refresh.id, 'successorId');
      expectEqual(record?.supersededAtMs, stage.clock.nowMs, 'supersededAtMs');
      await stage.expectAlive(first.access, second.refresh, second.access);

      const again = stage.pair(grant);
      const { tokens } = stage.storage;
      expectEqual(
        await tokens.rotate(first.refresh, again.refresh, [again.refresh, again.access]),
        'superseded',
        'again',
      );
      expectEqual(await tokens.issueFrom(first.refresh, [again.access]), 'superseded', 'issuing from it');
      await stage.expectAbsent(again.refresh, again.access);
      expectEqual(
        (await stage.find(first.refresh))?.successorId,
        second.refresh.id,
        'successorId afterwards',
      );
    },
  ),

  kitCase('atomicity', 'access tokens are stored beside a refresh token that stays', async (stage) => {
    const grant = await stage.grant();
    const { refresh } = await stage.redeemed(grant);
    const beside = stage.accessToken({ ...grant, pairId: refresh.pairId ?? 'pair' });
    expectEqual(await stage.storage.tokens.issueFrom(refresh, [beside]), 'issued', 'issuing from it');
    await stage.expectAlive(refresh, beside);
    await stage.storage.tokens.revoke(beside);
    await stage.expectDead(refresh, beside);
  }),

  kitCase('atomicity', 'nothing is issued upon a refresh token that is revoked or unknown', async (stage) => {
    const grant = await stage.grant();
    const { refresh } = await stage.redeemed(grant);
    const { tokens } = stage.storage;
    await tokens.revoke(refresh);
    const next = stage.pair(grant);
    for (const dead of [refresh, stage.refreshToken(grant)]) {
      expectEqual(
        await tokens.rotate(dead, next.refresh, [next.refresh, next.access]),
        'refused',
        'rotating',
      );
      expectEqual(await tokens.issueFrom(dead, [next.access]), 'refused', 'issuing from it');
    }
    await stage.expectAbsent(next.refresh, next.access);
  }),

  kitCase('atomicity', 'a code is redeemed once', async (stage) => {
    const grant = await stage.grant();
    const { code, refresh, access } = await stage.redeemed(grant);
    const again = stage.pair(grant);
    const { authorizationCodes } = stage.storage;
    const outcome = await authorizationCodes.redeem(code, [again.refresh, again.access]);
    expectEqual(outcome, 'already_redeemed', 'redeeming again');
    await stage.expectAbsent(again.refresh, again.access);
    await stage.expectAlive(refresh, access);
    expectEqual((await authorizationCodes.get(code.id))?.redeemedAtMs, stage.clock.nowMs, 'redeemedAtMs');
  }),

  kitCase('atomicity', 'revoking a redeemed code ends what it led to', async (stage) => {
    const grant = await stage.grant();
    const { code, refresh, access } = await stage.redeemed(grant);
    const second = await stage.rotated(grant, refresh);
    await stage.storage.authorizationCodes.revoke(code);
    await stage.expectDead(refresh, access, second.refresh, second.access);
  }),

  kitCase('atomicity', 'a revoked code, or an unknown one, is not redeemed', async (stage) => {
    const grant = await stage.grant();
    const code = await stage.code(grant);
    const { authorizationCodes } = stage.storage;
    await authorizationCodes.revoke(code);
    const { refresh, access } = stage.pair(grant);
    for (const dead of [code, { ...code, id: 'unknown' }]) {
      expectEqual(await authorizationCodes.redeem(dead, [refresh, access]), 'refused', 'redeeming');
    }
    await stage.expectAbsent(refresh, access);
  }),

  kitCase('atomicity', 'nothing is issued for an unknown client', async (stage) => {
    const token = stage.accessToken({ clientId: 'unknown' });
    expectEqual(await stage.storage.tokens.issue([token], {}), 'refused', 'issuing');
    await stage.expectAbsent(token);
  }),

  kitCase('atomicity', 'where one of several tokens cannot be stored, none is', async (stage) => {
    const client = await stage.client();
    const stored = stage.accessToken({ clientId: client.id });
    await stage.issued(client, stored);
    const fresh = stage.accessToken({ clientId: client.id });
    const { tokens } = stage.storage;
    await expectRejection(() => tokens.issue([fresh, stored], basisOf(client)), 'a taken identifier');
    await stage.expectAbsent(fresh);

    const grant = await stage.grant({ clientId: client.id });
    const { refresh } = await stage.redeemed(grant);
    const successor = stage.refreshToken(grant);
    await expectRejection(() => tokens.rotate(refresh, successor, [successor, stored]), 'a taken identifier');
    await stage.expectAbsent(successor);
    expect((await stage.find(refresh))?.supersededAtMs === undefined, 'a failed rotation supersedes nothing');
    await stage.rotated(grant, refresh);
  }),

  caseOfPart(
    'oneTimeIdentifiers',
    'atomicity',
    'an identifier that was used before stops an issuance that would take it, and nothing changes',
    async (stage, identifiers) => {
      const used = { id: 'used', expiresAt: stage.now + ONE_TIME_SECONDS };
      expectEqual(await identifiers.take(used.id, used.expiresAt), true, 'taking it');
      for (const { name, grant, again, store, isUnused } of await issuancesOnce(stage)) {
        const [refused, issued, late] = [stage.pair(grant), stage.pair(grant), stage.pair(grant)];
        expectEqual(await store(refused, used), 'already_used', name);
        await stage.expectAbsent(refused.refresh, refused.access);
        expect(await isUnused(), `${name} leaves the token or code as it was`);

        const once = { ...used, id: `of ${name}` };
        expectEqual(await store(issued, once), 'issued', `${name} with another identifier`);
        await stage.expectAlive(issued.access);
        expectEqual(await identifiers.take(once.id, once.expiresAt), false, `taking what ${name} has taken`);
        expectEqual(await store(late, once), again, `${name} again`);
        await stage.expectAbsent(late.refresh, late.access);
      }
    },
  ),

  caseOfPart(
    'oneTimeIdentifiers',
    'atomicity',
    'an issuance that is not made takes no identifier',
    async (stage, identifiers) => {
      const expiresAt = stage.now + ONE_TIME_SECONDS;
      for (const { name, grant, store, isUnused } of await issuancesOnce(stage)) {
        const stored = (await stage.redeemed(await stage.grant({ clientId: grant.clientId }))).access;
        const taken = { ...stage.pair(grant), access: { ...stored, ...grant } };
        const failed = `failed ${name}`;
        await expectRejection(() => store(taken, { id: failed, expiresAt }), 'a taken identifier');
        expect(await isUnused(), `a failed ${name} changes nothing`);
        expectEqual(await identifiers.take(failed, expiresAt), true, `taking it after a failed ${name}`);
      }
      for (const { name, grant, store } of await issuancesOnce(stage)) {
        await stage.storage.authorizationCodes.revoke(await stage.code(grant));
        const refused = `refused ${name}`;
        const outcome = await store(stage.pair(grant), { id: refused, expiresAt });
        expectEqual(outcome, 'refused', `${name} of a revoked grant`);
        expectEqual(await identifiers.take(refused, expiresAt), true, `taking it after a refused ${name}`);
      }
    },
  ),

  caseOfPart(
    'oneTimeIdentifiers',
    'atomicity',
    'an issuance may take an identifier that has expired',
    async (stage, identifiers) => {
      const expiresAt = stage.now + 1;
      await identifiers.take('expired', expiresAt);
      const issuances = await issuancesOnce(stage);
      for (const { name, grant, store } of issuances) {
        stage.advance(1);
        const once = { id: 'expired', expiresAt: stage.now + 1 };
        expectEqual(await store(stage.pair(grant), once), 'issued', name);
        expectEqual(await identifiers.take('expired', once.expiresAt), false, `taking it after ${name}`);
      }
    },
  ),

  caseOfPart(
    'oneTimeIdentifiers',
    'atomicity',
    'an identifier is taken once, and others beside it',
    async (stage, identifiers) => {
      const until = stage.now + ONE_TIME_SECONDS;
      expectEqual(await identifiers.take('one', until), true, 'taking it');
      expectEqual(await identifiers.take('one', until), false, 'taking it again');
      expectEqual(
        await identifiers.take('one', until + ONE_TIME_SECONDS),
        false,
        'taking it again for longer',
      );
      expectEqual(await identifiers.take('One', until), true, 'taking another one');
      expectEqual(await identifiers.take('', until), true, 'taking the empty one');
    },
  ),
];

export const faults: readonly KitCase[] = [
  kitCase(
    'faults',
    'a store that is unavailable rejects every lookup, and never returns absence',
    async (stage) => {
      const { code, refresh, access } = await stage.redeemed(await stage.grant());
      const { clients, tokens, authorizationCodes, keys } = stage.storage;
      await stage.break();
      await expectFault(tokens, () => tokens.getByAccessToken(access.id), 'getByAccessToken');
      await expectFault(tokens, () => tokens.getByRefreshToken(refresh.id), 'getByRefreshToken');
      await expectFault(
        tokens,
        () => tokens.getByAccessToken('unknown'),
        'getByAccessToken of an unknown token',
      );
      await expectFault(authorizationCodes, () => authorizationCodes.get(code.id), 'authorizationCodes.get');
      await expectFault(clients, () => clients.get(access.clientId), 'clients.get');
      await expectFault(clients, () => clients.hasRedirectOrigin('https://app.example'), 'hasRedirectOrigin');
      if (keys !== undefined) {
        await expectFault(keys, () => keys.list(), 'keys.list');
        await expectFault(keys, () => keys.get('unknown'), 'keys.get');
        await expectFault(keys, () => keys.currentKeyId('RS256'), 'currentKeyId');
      }
    },
  ),

  kitCase(
    'faults',
    'a store that is unavailable rejects every write, and never reports success',
    async (stage) => {
      const grant = await stage.grant();
      const { code, refresh, access } = await stage.redeemed(grant);
      const next = stage.pair(grant);
      const { tokens, authorizationCodes } = stage.storage;
      await stage.break();
      await expectFault(tokens, () => tokens.revoke(access), 'revoke');
      await expectFault(tokens, () => tokens.revoke(refresh), 'revoke');
      await expectFault(tokens, () => tokens.revokeFamily(refresh), 'revokeFamily');
      await expectFault(tokens, () => tokens.issue([next.access], {}), 'issue');
      await expectFault(tokens, () => tokens.rotate(refresh, next.refresh, [next.refresh]), 'rotate');
      await expectFault(tokens, () => tokens.issueFrom(refresh, [next.access]), 'issueFrom');
      await expectFault(
        authorizationCodes,
        () => authorizationCodes.issue({ ...code, id: 'another' }, {}),
        'authorizationCodes.issue',
      );
      await expectFault(authorizationCodes, () => authorizationCodes.redeem(code, [next.access]), 'redeem');
      await expectFault(
        authorizationCodes,
        () => authorizationCodes.revoke(code),
        'authorizationCodes.revoke',
      );
    },
  ),

  caseOfPart(
    'oneTimeIdentifiers',
    'faults',
    'a store that is unavailable says of no identifier whether it was used',
    async (stage, identifiers) => {
      const until = stage.now + ONE_TIME_SECONDS;
      expect((await identifiers.take('one', until)) === true, 'taking it');
      await stage.break();
      await expectFault(identifiers, () => identifiers.take('one', until), 'taking it again');
      await expectFault(identifiers, () => identifiers.take('two', until), 'taking another one');
    },
  ),
];
