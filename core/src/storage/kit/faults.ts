import { caseOfPart, expect, expectRejection, type KitCase, kitCase, ONE_TIME_SECONDS } from './stage.ts';

export const faults: readonly KitCase[] = [
  kitCase(
    'faults',
    'a store that cannot be asked rejects every look-up, and never answers absence',
    async (stage) => {
      const { code, refresh, access } = await stage.redeemed(await stage.grant());
      const { clients, tokens, authorizationCodes, keys } = stage.storage;
      await stage.break();
      await expectRejection(() => tokens.getByAccessToken(access.id), 'getByAccessToken');
      await expectRejection(() => tokens.getByRefreshToken(refresh.id), 'getByRefreshToken');
      await expectRejection(() => tokens.getByAccessToken('unknown'), 'getByAccessToken of an unknown token');
      await expectRejection(() => authorizationCodes.get(code.id), 'authorizationCodes.get');
      await expectRejection(() => clients.get(access.clientId), 'clients.get');
      await expectRejection(() => clients.hasRedirectOrigin('https://app.example'), 'hasRedirectOrigin');
      if (keys !== undefined) {
        await expectRejection(() => keys.list(), 'keys.list');
        await expectRejection(() => keys.get('unknown'), 'keys.get');
        await expectRejection(() => keys.currentKeyId('RS256'), 'currentKeyId');
      }
    },
  ),

  kitCase(
    'faults',
    'a store that cannot be asked rejects every write, and never reports success',
    async (stage) => {
      const grant = await stage.grant();
      const { code, refresh, access } = await stage.redeemed(grant);
      const next = stage.pair(grant);
      const { tokens, authorizationCodes } = stage.storage;
      await stage.break();
      await expectRejection(() => tokens.revoke(access), 'revoke');
      await expectRejection(() => tokens.revoke(refresh), 'revoke');
      await expectRejection(() => tokens.revokeFamily(refresh), 'revokeFamily');
      await expectRejection(() => tokens.issue([next.access], {}), 'issue');
      await expectRejection(() => tokens.rotate(refresh, next.refresh, [next.refresh]), 'rotate');
      await expectRejection(() => tokens.issueBeside(refresh, [next.access]), 'issueBeside');
      await expectRejection(
        () => authorizationCodes.issue({ ...code, id: 'another' }, {}),
        'authorizationCodes.issue',
      );
      await expectRejection(() => authorizationCodes.redeem(code, [next.access]), 'redeem');
      await expectRejection(() => authorizationCodes.revoke(code), 'authorizationCodes.revoke');
    },
  ),

  caseOfPart(
    'pushedRequests',
    'faults',
    'a store that cannot be asked neither takes pushed requests nor gives or removes them',
    async (stage, requests) => {
      await requests.add(stage.pushedRequest('one'));
      await stage.break();
      await expectRejection(() => requests.add(stage.pushedRequest('two')), 'adding another one');
      await expectRejection(() => requests.get('one'), 'reading one');
      await expectRejection(() => requests.get('unknown'), 'reading an unknown one');
      await expectRejection(() => requests.remove('one'), 'removing one');
    },
  ),

  caseOfPart(
    'oneTimeIdentifiers',
    'faults',
    'a store that cannot be asked says of no identifier whether it was taken',
    async (stage, identifiers) => {
      const until = stage.now + ONE_TIME_SECONDS;
      expect((await identifiers.take('one', until)) === true, 'taking it');
      await stage.break();
      await expectRejection(() => identifiers.take('one', until), 'taking it again');
      await expectRejection(() => identifiers.take('two', until), 'taking another one');
    },
  ),
];
