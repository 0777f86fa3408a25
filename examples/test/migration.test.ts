import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { requestFromVanilla } from '@jmondi/oauth2-server/vanilla';
import { decodeJwt } from 'jose';
import { oldRepositories } from '../migration_from_oauth2_server/old_repositories.ts';
import { oldServer } from '../migration_from_oauth2_server/old_server.ts';
import { applicationClaims, OldJwtService } from './extra_token_fields.ts';
import { APP, answerOf, type Fields, hostTables, ISSUER, moved, OLD_SECRET, OTHER } from './migrating.ts';
import { started } from './started.ts';

test('an access token and a refresh token of the old server introspect as active, whatever the hint', async () => {
  await using host = await moved();
  const { access, refresh } = await host.issueOld();
  const { sub: _, ...claims } = decodeJwt(access);
  const introspect = (token: string, hint: Fields = {}) =>
    host.ask('/token/introspect', { ...OTHER, token, ...hint });
  const told = { active: true, scope: 'openid email', client_id: 'app', sub: '7', iss: ISSUER };
  const { exp, iat, nbf, jti } = claims;
  const expected = { status: 200, body: { ...told, token_type: 'Bearer', exp, iat, nbf, jti } };
  assert.deepEqual(await introspect(access), expected);
  assert.deepEqual(await introspect(access, { token_type_hint: 'refresh_token' }), expected);

  const { expire_time, refresh_token_id, ...other } = decodeJwt(refresh);
  assert.deepEqual(await introspect(refresh, { token_type_hint: 'access_token' }), {
    status: 200,
    body: { ...told, exp: expire_time, iat: other.iat, jti: refresh_token_id },
  });
});

test('introspection returns the extraTokenFields of old tokens, and new tokens have them too', async () => {
  await using host = await moved({ jwt: new OldJwtService(OLD_SECRET), claims: applicationClaims });
  const { access, refresh } = await host.issueOld();
  const fields = { tenant: 'tenant of alice@example.com', app: 'app' };
  const told = async (token: string) => {
    const { tenant, app } = (await host.ask('/token/introspect', { ...OTHER, token })).body;
    return { tenant, app };
  };
  assert.deepEqual(await told(access), fields);
  const renewed = String((await host.refresh(refresh)).body.access_token);
  assert.deepEqual(await told(renewed), fields);
  const { tenant, app } = decodeJwt(renewed);
  assert.deepEqual({ tenant, app }, fields);
});

test('a token that the old server issued to a client for itself is active, and has no user', async () => {
  await using host = await moved();
  const asked = { ...APP, grant_type: 'client_credentials', scope: 'read' };
  const token = String((await host.askOld('respondToAccessTokenRequest', asked)).body.access_token);
  const { exp, iat, nbf, jti } = decodeJwt(token);
  assert.deepEqual((await host.ask('/token/introspect', { ...APP, token })).body, {
    ...{
      active: true,
      scope: 'read',
      client_id: 'app',
      token_type: 'Bearer',
      exp,
      iat,
      nbf,
      iss: ISSUER,
      jti,
    },
  });
  assert.equal((await host.userInfo(token)).status, 403);
});

test('UserInfo accepts an old access token with openid, and no other old token', async () => {
  await using host = await moved();
  const { access, refresh, code } = await host.issueOld();
  assert.deepEqual(await host.userInfo(access), {
    status: 200,
    body: { email: 'alice@example.com', sub: '7' },
  });
  const { access: withoutOpenid } = await host.issueOld('read');
  assert.equal((await host.userInfo(withoutOpenid)).status, 403);
  for (const other of [refresh, code]) assert.equal((await host.userInfo(other)).status, 401);
});

test('what grantd revokes of an old pair is dead in both servers, and so is the other of the pair', async () => {
  await using host = await moved();
  for (const which of ['access', 'refresh'] as const) {
    const pair = await host.issueOld();
    const spared = await host.issueOld();
    await host.ask('/token/revoke', { ...OTHER, token: pair[which] });
    assert.equal(await host.isActive(pair.access), true, 'another client revokes nothing');
    assert.deepEqual(await host.ask('/token/revoke', { ...APP, token: pair[which] }), {
      status: 200,
      body: {},
    });
    for (const token of [pair.access, pair.refresh]) assert.equal(await host.isActive(token), false);
    assert.equal(await host.isActiveInOld(pair.access), false);
    assert.equal(await host.isActiveInOld(pair.refresh, 'refresh_token'), false);
    assert.equal((await host.userInfo(pair.access)).status, 401);
    assert.equal((await host.refresh(pair.refresh)).body.error, 'invalid_grant');
    assert.equal(await host.isActive(spared.access), true);
    assert.equal(await host.isActiveInOld(spared.access), true);
  }
});

test('an old refresh token is exchanged for new tokens, and is dead in the old server from then on', async () => {
  await using host = await moved();
  const { access, refresh } = await host.issueOld();
  const { status, body } = await host.refresh(refresh);
  assert.equal(status, 200);
  assert.deepEqual(
    [body.token_type, body.scope, body.expires_in, typeof body.id_token],
    ['Bearer', 'openid email', 3600, 'string'],
  );
  const { alg, typ } = JSON.parse(
    Buffer.from(String(body.access_token).split('.')[0] ?? '', 'base64url').toString(),
  );
  assert.deepEqual([alg, typ], ['RS256', 'at+jwt']);
  assert.equal((await host.userInfo(String(body.access_token))).body.sub, '7');

  assert.equal(await host.isActive(access), false, 'as with the old server');
  assert.equal(await host.isActive(refresh), false);
  assert.equal(await host.isActiveInOld(refresh, 'refresh_token'), false);
  const again = { ...APP, grant_type: 'refresh_token', refresh_token: refresh };
  assert.equal((await host.askOld('respondToAccessTokenRequest', again)).status, 400);
  assert.equal((await host.refresh(String(body.refresh_token))).status, 200);
});

test('an exchange is retried with the same outcome, and a later use of the old refresh token ends its family', async () => {
  await using host = await moved();
  const { refresh } = await host.issueOld();
  const answers = await Promise.all([host.refresh(refresh), host.refresh(refresh), host.refresh(refresh)]);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  );
  assert.equal(new Set(answers.map(({ body }) => body.refresh_token)).size, 1);
  const successor = String(answers[0]?.body.refresh_token);
  const next = await host.refresh(successor);
  assert.equal(next.status, 200);

  assert.equal((await host.refresh(refresh)).body.error, 'invalid_grant');
  for (const token of [successor, String(next.body.refresh_token), String(next.body.access_token)])
    assert.equal(await host.isActive(token), false);
});

test('revoking any token of an old grant after the exchange ends what it was exchanged for', async () => {
  await using host = await moved();
  for (const which of ['access', 'refresh', 'new'] as const) {
    const pair = await host.issueOld();
    const { body } = await host.refresh(pair.refresh);
    const token = which === 'new' ? String(body.refresh_token) : pair[which];
    await host.ask('/token/revoke', { ...APP, token });
    for (const item of [pair.access, pair.refresh, String(body.access_token), String(body.refresh_token)])
      assert.equal(await host.isActive(item), false);
    assert.equal((await host.refresh(String(body.refresh_token))).body.error, 'invalid_grant');
  }
});

test('a revocation beside an exchange leaves nothing alive in either server', async () => {
  await using host = await moved();
  for (let round = 0; round < 20; round++) {
    const { access, refresh } = await host.issueOld();
    const [exchanged] = await Promise.all([
      host.refresh(refresh),
      host.ask('/token/revoke', { ...APP, token: round % 2 === 0 ? refresh : access }),
    ]);
    const { access_token = access, refresh_token = refresh } = exchanged.body;
    for (const token of [access, refresh, String(access_token), String(refresh_token)])
      assert.equal(await host.isActive(token), false);
    assert.equal(await host.isActiveInOld(refresh, 'refresh_token'), false);
  }
});

test('if the process ended between the exchange and the update of the old table, the next use of the tokens completes it', async () => {
  await using host = await moved();
  const { access, refresh } = await host.issueOld();
  const { body } = await host.refresh(refresh);
  const resurrect = (token: string) => {
    const alive = Date.now() + 60_000;
    const update = 'UPDATE oauth_tokens SET access_token_expires_at = ?, refresh_token_expires_at = ?';
    const id = String(decodeJwt(token).refresh_token_id);
    host.tables.run(`${update} WHERE refresh_token = ?`, alive, alive, id);
  };
  resurrect(refresh);
  assert.equal(await host.isActive(refresh), false);
  assert.equal((await host.refresh(refresh)).body.refresh_token, body.refresh_token);
  assert.deepEqual(
    [await host.isActiveInOld(refresh, 'refresh_token'), await host.isActive(access)],
    [false, false],
  );
  resurrect(refresh);
  await host.ask('/token/revoke', { ...APP, token: String(body.refresh_token) });
  assert.deepEqual(
    [await host.isActiveInOld(refresh, 'refresh_token'), await host.isActive(access)],
    [false, false],
  );

  const stolen = await host.issueOld();
  const successor = await host.refresh(stolen.refresh);
  assert.equal((await host.refresh(String(successor.body.refresh_token))).status, 200);
  resurrect(stolen.refresh);
  assert.equal((await host.refresh(stolen.refresh)).body.error, 'invalid_grant');
  assert.equal(await host.isActiveInOld(stolen.refresh, 'refresh_token'), false);
});

test('what the old server revoked or let expire is dead in grantd, with the reason for the operator', async () => {
  await using host = await moved();
  const revoked = await host.issueOld();
  await host.askOld('revoke', { ...APP, token: revoked.access });
  const rotated = await host.issueOld();
  await host.askOld('respondToAccessTokenRequest', {
    ...{ ...APP, grant_type: 'refresh_token', refresh_token: rotated.refresh },
  });
  for (const token of [revoked.access, revoked.refresh, rotated.access, rotated.refresh]) {
    assert.deepEqual((await host.ask('/token/introspect', { ...APP, token })).body, { active: false });
    assert.deepEqual((await host.server.operator.explainToken(token)).reason, 'revoked');
  }
  assert.equal((await host.refresh(revoked.refresh)).body.error, 'invalid_grant');
  assert.equal((await host.refresh(rotated.refresh)).body.error, 'invalid_grant');

  const expired = await host.issueOld('openid', '-1m');
  assert.equal(await host.isActive(expired.access), false);
  assert.equal((await host.server.operator.explainToken(expired.access)).reason, 'expired');
  assert.equal((await host.userInfo(expired.access)).status, 401);
  assert.equal(await host.isActive(expired.refresh), true);
  await host.ask('/token/revoke', { ...APP, token: expired.access });
  assert.equal(await host.isActive(expired.refresh), false);
});

test('a user whom the host disables, and a client or user that the operator ends, has no live old token', async () => {
  await using host = await moved();
  const { access, refresh } = await host.issueOld();
  const ends = async (end: () => unknown, undo?: () => unknown) => {
    await end();
    for (const token of [access, refresh]) assert.equal(await host.isActive(token), false);
    await undo?.();
  };
  await ends(
    () => host.tables.run('UPDATE users SET disabled = 1'),
    () => host.tables.run('UPDATE users SET disabled = 0'),
  );
  assert.equal(await host.isActive(access), true);
  await ends(
    () => host.storage.setDisabled('client', 'app', true),
    () => host.storage.setDisabled('client', 'app', false),
  );
  assert.equal(await host.isActive(access), false, 'enabling brings nothing back');

  const later = await host.issueOld();
  assert.equal(await host.isActive(later.access), true);
  assert.equal((await host.refresh((await host.issueOld()).refresh)).status, 200);
  await host.storage.revokeAll({ principal: 'subject', id: '7' });
  assert.equal(await host.isActive(later.access), false);
  await host.storage.clients.remove('app');
  const last = await host.askOld('respondToAccessTokenRequest', { ...APP, grant_type: 'client_credentials' });
  const token = String(last.body.access_token);
  assert.deepEqual((await host.ask('/token/introspect', { ...OTHER, token })).body, { active: false });
});

test('a client whose refresh tokens do not rotate keeps the old one', async () => {
  await using host = await moved();
  const client = await host.storage.clients.get('app');
  assert.ok(client);
  await host.storage.clients.replace({ ...client, rotateRefreshTokens: false }, client);
  const { access, refresh } = await host.issueOld();
  const first = await host.refresh(refresh);
  const second = await host.refresh(refresh);
  assert.deepEqual([first.body.refresh_token, second.body.refresh_token], [refresh, refresh]);
  const issued = [first, second].map(({ body }) => String(body.access_token));
  for (const token of [access, refresh, ...issued]) assert.equal(await host.isActive(token), true);
  await host.ask('/token/revoke', { ...APP, token: refresh });
  for (const token of [access, refresh, ...issued]) assert.equal(await host.isActive(token), false);
});

test('storage that is unavailable for an old token is 503', async (t) => {
  t.mock.method(console, 'error', () => {}); // the default of onFault
  await using host = await moved();
  const { access, refresh } = await host.issueOld();
  host.tables.run('ALTER TABLE oauth_tokens RENAME TO away');
  for (const token of [access, refresh]) {
    assert.equal((await host.ask('/token/introspect', { ...APP, token })).status, 503);
    assert.equal((await host.ask('/token/revoke', { ...APP, token })).status, 503);
  }
  assert.equal((await host.refresh(refresh)).status, 503);
  assert.equal((await host.userInfo(access)).status, 503);

  await host.storage.close();
  const jwks = host.server.jwks({ method: 'GET', url: `${ISSUER}/jwks`, headers: {} });
  await assert.rejects(jwks, { status: 503 });
});

test('the host of the example takes its old tokens', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-migration-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const OLD_DATABASE = join(folder, 'host.db');
  const tables = hostTables(OLD_DATABASE);
  const asked = new URLSearchParams({ ...APP, grant_type: 'client_credentials', scope: 'read' });
  const request = new Request('https://old.example/', { method: 'POST', body: asked });
  const old = oldServer(oldRepositories(tables), OLD_SECRET);
  const { body } = await old.respondToAccessTokenRequest(await requestFromVanilla(request));
  tables.close();

  const file = 'migration_from_oauth2_server/host.ts';
  const { url } = await started(t, file, { OLD_DATABASE, OLD_SECRET, IMPORT_CLIENTS: 'yes' });
  const ask = (path: string) =>
    fetch(url + path, {
      method: 'POST',
      body: new URLSearchParams({ ...APP, token: String(body.access_token) }),
    });
  const isActive = async () => (await answerOf(await ask('/token/introspect'))).body.active;
  assert.equal(await isActive(), true);
  assert.equal((await ask('/token/revoke')).status, 200);
  assert.equal(await isActive(), false);
});
