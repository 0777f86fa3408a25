import type { AuthorizationCodeRecord, ClientRecord, TokenRecord } from '../../protocol/records.ts';
import { authorizationCodeRecord, clientRecord, tokenRecord } from '../host_storage.ts';
import { type KitCase, kitCase } from './case.ts';
import { expect, expectEqual } from './failure.ts';
import type { Stage } from './stage.ts';

/** What look-ups have answered, each with what is read of it where it is not believed to be plain. */
interface Answered {
  readonly what: string;
  readonly found: TokenRecord | AuthorizationCodeRecord | ClientRecord;
  readonly read: object | undefined;
}

/** Whether it is made of objects, lists, texts, numbers, truth values and `null` alone, as JSON is. */
function isPlain(value: unknown): boolean {
  if (typeof value !== 'object') return ['string', 'number', 'boolean'].includes(typeof value);
  if (value === null) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isOfClass = prototype !== null && prototype !== (Array.isArray(value) ? Array : Object).prototype;
  return !isOfClass && Object.values(value).every(isPlain);
}

const namesOf = (value: unknown): readonly string[] =>
  typeof value === 'object' && value !== null ? Object.keys(value).toSorted() : [];

interface Ids {
  readonly clientId: string;
  readonly access: string;
  readonly refresh: string;
  readonly code: string;
}

async function allOf(
  { storage }: Stage,
  { clientId, access, refresh, code }: Ids,
): Promise<readonly Answered[]> {
  const client = await storage.clients.get(clientId);
  const accessToken = await storage.tokens.getByAccessToken(access);
  const refreshToken = await storage.tokens.getByRefreshToken(refresh);
  const stored = await storage.authorizationCodes.get(code);
  expect(Boolean(client && accessToken && refreshToken && stored), 'what was stored is found');
  if (!client || !accessToken || !refreshToken || !stored) return [];
  return [
    { what: 'a client', found: client, read: clientRecord(client) },
    { what: 'an access token', found: accessToken, read: tokenRecord(accessToken, 'access_token') },
    { what: 'a refresh token', found: refreshToken, read: tokenRecord(refreshToken, 'refresh_token') },
    { what: 'a code', found: stored, read: authorizationCodeRecord(stored) },
  ];
}

function expectPlain({ what, found, read }: Answered): void {
  expect(isPlain(found), `${what} must be plain data, got ${JSON.stringify(found)}`);
  expectEqual(namesOf(found), namesOf(read), `the members of ${what}`);
  const standings = [found, read].map((record) => Object.entries(Object(record).standing ?? {}).toSorted());
  const names = standings.map((standing) => standing.map(([principal, one]) => [principal, namesOf(one)]));
  expectEqual(names[0], names[1], `the members of the standing of ${what}`);
}

export const plainRecords: readonly KitCase[] = [
  kitCase(
    'records',
    'a store that says that its records are plain answers what the types say',
    async (stage) => {
      const { storage } = stage;
      if (storage.answersPlainRecords !== true) return;
      for (const absent of [
        await storage.clients.get('unknown'),
        await storage.tokens.getByAccessToken('unknown'),
        await storage.tokens.getByRefreshToken('unknown'),
        await storage.authorizationCodes.get('unknown'),
      ])
        expect(absent === undefined, 'absence is undefined');

      const client = await stage.client({
        name: 'App',
        secrets: [{ hash: 'hash' }],
        metadata: { contacts: ['a@b.example'] },
      });
      const grant = await stage.grant({ clientId: client.id });
      const code = await stage.code(grant, { nonce: 'nonce', claims: { acr: null, amr: ['pwd'] } });
      const { refresh, access } = stage.pair(grant, { claims: { act: { sub: 'other' }, aud: ['a', 'b'] } });
      const ids = { clientId: client.id, access: access.id, refresh: refresh.id, code: code.id };
      expectEqual(await storage.authorizationCodes.redeem(code, [refresh, access]), 'issued', 'redeeming');

      const before = await allOf(stage, ids);
      before.forEach(expectPlain);
      const texts = before.map(({ found }) => JSON.stringify(found));
      const stored = await storage.tokens.getByRefreshToken(refresh.id);
      expect(stored !== undefined && stored !== null, 'a stored refresh token is found');
      await storage.tokens.revoke(stored);
      expectEqual(
        before.map(({ found }) => JSON.stringify(found)),
        texts,
        'what was answered before a revocation',
      );
      const after = await allOf(stage, ids);
      after.forEach(expectPlain);
      await stage.expectDead(access, refresh);
    },
  ),
];
