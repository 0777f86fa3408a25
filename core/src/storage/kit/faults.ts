// Kit cases: a store that is unavailable.
import { caseOfPart, expect, expectFault, type KitCase, kitCase, ONE_TIME_SECONDS } from './stage.ts';

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
