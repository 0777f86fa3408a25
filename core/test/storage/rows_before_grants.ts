import assert from 'node:assert/strict';
import type { AdministrableStorage } from '@grantd/core';
import { newCode, newToken } from './samples.ts';

export const ISSUER = 'https://issuer.example';

/** Milliseconds, at which everything is alive. */
export const NOW_MS = 1_893_456_000_000;
const UNTIL = NOW_MS / 1000 + 3600;

/**
 * A database from before the grants table, with live tokens and a code, for either database.
 * @param schema before the names of tables
 */
export function rowsBeforeGrants(schema: '' | 'grantd.'): string {
  const isFirst = schema === '' ? ['id, ', '1, '] : ['', ''];
  return `
    INSERT INTO ${schema}issuers (${isFirst[0]}issuer) VALUES (${isFirst[1]}'${ISSUER}');
    INSERT INTO ${schema}clients (issuer_id, id, name, secret_hash, grant_types, scopes, redirect_uris, resource, generation)
    VALUES (1, 'app', 'App', 'hash', '["refresh_token"]', '["openid"]', '["https://app.example/cb"]', 'https://api.example', 3);
    INSERT INTO ${schema}redirect_origins (issuer_id, origin, client_id) VALUES (1, 'https://app.example', 'app');
    INSERT INTO ${schema}principals (issuer_id, kind, id, generation, keep_until)
    VALUES (1, 'subject', 'alice', 5, NULL), (1, 'session', 'session', 6, ${UNTIL}), (1, 'grant', 'grant', 7, ${UNTIL}),
      (1, 'grant', 'waiting', 8, ${UNTIL});
    INSERT INTO ${schema}tokens (issuer_id, id, kind, digest, client_id, scopes, subject, claims, issued_at_ms,
      expires_at, keep_until, pair_id, family_id, grant_id, session_id, client_generation, subject_generation,
      session_generation, grant_generation)
    VALUES (1, 'refresh', 'refresh_token', 'digest', 'app', '["openid"]', 'alice', '{"sub":"alice"}', ${NOW_MS - 1},
      ${UNTIL}, ${UNTIL}, 'pair', 'family', 'grant', 'session', 3, 5, 6, 7),
      (1, 'access', 'access_token', 'digest', 'app', '["openid"]', 'alice', '{"sub":"alice"}', ${NOW_MS - 1},
      ${UNTIL}, ${UNTIL}, 'pair', 'family', 'grant', 'session', 3, 5, 6, 7);
    INSERT INTO ${schema}authorization_codes (issuer_id, id, client_id, redirect_uri, redirect_uri_given, scopes, subject,
      grant_id, claims, issued_at_ms, expires_at, keep_until, client_generation, subject_generation, grant_generation)
    VALUES (1, 'code', 'app', 'https://app.example/cb', ${schema === '' ? '1' : 'true'}, '["openid"]', 'alice', 'waiting',
      '{}', ${NOW_MS - 1}, ${UNTIL}, ${UNTIL}, 3, 5, 8);`;
}

/** An API, a self-registered client and an operator's client, in a database from before API scopes. */
export function rowsBeforeApis(schema: '' | 'grantd.'): string {
  const isFirst = schema === '' ? ['id, ', '1, '] : ['', ''];
  return `
    INSERT INTO ${schema}issuers (${isFirst[0]}issuer) VALUES (${isFirst[1]}'${ISSUER}');
    INSERT INTO ${schema}clients (issuer_id, id, grant_types, scopes, redirect_uris, resource, metadata,
      registration_token_digest)
    VALUES (1, 'bank', '[]', '[]', '[]', 'https://bank.example', NULL, NULL),
      (1, 'same-bank', '[]', '[]', '[]', 'https://bank.example', NULL, NULL),
      (1, 'mail', '[]', '[]', '[]', 'https://mail.example', NULL, NULL),
      (1, 'app', '["client_credentials"]', '["read"]', '[]', NULL, '{"contacts":["a@app.example"]}', NULL),
      (1, 'job', '["client_credentials"]', '["read"]', '[]', NULL, NULL, NULL),
      (1, 'stranger', '["authorization_code"]', '["openid"]', '[]', NULL, NULL, 'digest'),
      (1, 'signer', '[]', '[]', '[]', NULL, '{"token_endpoint_auth_method":"private_key_jwt"}', NULL),
      (1, 'confidential', '[]', '[]', '[]', NULL, NULL, NULL);
    UPDATE ${schema}clients SET secret_hash = 'hash' WHERE id = 'confidential';`;
}

/** Checks that the operator's clients may ask for every existing API, and others for none. */
export async function goesOnWithRowsBeforeApis({ clients }: AdministrableStorage): Promise<void> {
  const apis = ['https://bank.example', 'https://mail.example'];
  const metadata = (await clients.list()).map((client) => [client.id, client.metadata] as const);
  // A client without a secret was public by that alone. Now its record says so.
  const none = { token_endpoint_auth_method: 'none' };
  assert.deepEqual(Object.fromEntries(metadata), {
    bank: none,
    'same-bank': none,
    mail: none,
    app: { contacts: ['a@app.example'], apis, ...none },
    job: { apis, ...none },
    stranger: none,
    signer: { token_endpoint_auth_method: 'private_key_jwt' },
    confidential: undefined,
  });
  assert.equal((await clients.findApis?.({ resources: apis, scopes: ['read'] }))?.length, 3);
}

/** Checks that a store works with those rows, and records grants and removals from then on. */
export async function goesOnWithRowsBeforeGrants(storage: AdministrableStorage): Promise<void> {
  const { clients, tokens, authorizationCodes } = storage;
  assert.deepEqual(await clients.list(), [
    {
      id: 'app',
      name: 'App',
      secrets: [{ hash: 'hash' }],
      grantTypes: ['refresh_token'],
      scopes: ['openid'],
      redirectUris: ['https://app.example/cb'],
      resource: 'https://api.example',
      metadata: { apis: ['https://api.example'] },
      generation: 3,
      revision: 0,
      registrationRevision: 0,
    },
  ]);
  assert.equal(await clients.hasRedirectOrigin('https://app.example'), true);
  const api = { clientId: 'app', resource: 'https://api.example', scopes: [] };
  assert.deepEqual(await clients.findApis?.({ resources: [api.resource], scopes: [] }), [api]);
  assert.equal((await storage.countAlive({ principal: 'grant', id: 'grant' })).count, 2);
  assert.deepEqual(await storage.grantsOf('alice'), []);

  const basis = await tokens.getByRefreshToken('refresh');
  assert.ok(basis);
  const times = { issuedAtMs: NOW_MS, expiresAt: UNTIL, keepUntil: UNTIL };
  const tied = { subject: 'alice', sessionId: 'session', grantId: 'grant', familyId: 'family', ...times };
  const successor = newToken('app', { ...tied, id: 'successor', kind: 'refresh_token' });
  assert.equal(await tokens.rotate(basis, successor, [successor]), 'issued');
  const code = await authorizationCodes.get('code');
  assert.ok(code);
  const redeemed = newToken('app', { subject: 'alice', grantId: 'waiting', ...times, id: 'redeemed' });
  assert.equal(await authorizationCodes.redeem(code, [redeemed]), 'issued');
  assert.equal((await storage.countAlive({ principal: 'subject', id: 'alice' })).count, 3);

  // New grants are recorded.
  const fresh = { ...newCode('app', 'fresh'), subject: 'alice', issuedAtMs: NOW_MS, expiresAt: UNTIL };
  assert.equal(await authorizationCodes.issue(fresh, { clientGeneration: 3 }), 'issued');
  assert.deepEqual(
    (await storage.grantsOf('alice')).map(({ id }) => id),
    [fresh.grantId],
  );
  assert.equal(await storage.oneTimeIdentifiers.take('one', UNTIL), true);
  assert.equal(await storage.clients.remove('app'), true);
  assert.equal((await storage.countAlive({ principal: 'subject', id: 'alice' })).count, 0);
  assert.equal(await storage.clients.hasRedirectOrigin('https://app.example'), false);
}
