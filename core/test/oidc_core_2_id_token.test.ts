// § refers to OpenID Connect Core.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { changeClient } from './harness/client_change.ts';
import { ON_MEMORY } from './harness/places.ts';
import {
  addClient,
  asClient,
  codeFor,
  currentKeyId,
  issued,
  PKCE,
  verified,
} from './harness/token_endpoint.ts';
import { CHALLENGE, CLIENTS, ISSUER, openWorld, specification, VERIFIER } from './harness/world.ts';

specification('ID token (OpenID Connect Core §2)', ON_MEMORY, (spec) => {
  spec('§2 it verifies against JWKS and has every claim that a client checks', async (world) => {
    const { access_token, id_token } = await world.grant();
    const iat = world.clock.seconds;
    const { header, payload } = await verified(world, id_token);
    assert.deepEqual(header, { alg: 'RS256', typ: 'JWT', kid: await currentKeyId(world, 'RS256') });
    assert.deepEqual(payload, {
      iss: ISSUER,
      sub: 'alice',
      aud: 'web',
      iat,
      exp: iat + 3600,
      at_hash: leftHalfOf('sha256', access_token),
      auth_time: iat,
      nonce: 'n-0S6_WzA2Mj',
      sid: 'session of alice',
    });
  });

  spec('§3.1.3.3 without openid there is no ID token', async (world) => {
    assert.equal('id_token' in (await world.grant('alice', 'web', 'read profile')), false);
  });

  spec(
    '§5.4 a client whose ID tokens shall carry user claims gets those that its scopes permit',
    async (world) => {
      const without = decodeJwt((await world.grant()).id_token);
      assert.deepEqual([without.name, without.email], [undefined, undefined]);
      await changeClient(world, 'web', { metadata: { id_token_user_claims: true } });
      const { id_token, refresh_token } = await world.grant();
      const { iss, sub, aud, iat, exp, at_hash, auth_time, nonce, sid, ...user } = decodeJwt(id_token);
      assert.deepEqual(user, { name: 'Alice Liddell', email: 'alice@example.org', email_verified: true });
      assert.equal(sub, 'alice');
      const narrowed = decodeJwt((await world.rotated(refresh_token, { scope: 'openid profile' })).id_token);
      assert.deepEqual([narrowed.name, narrowed.email], ['Alice Liddell', undefined]);
    },
  );

  spec('§3.1.3.7 its sub is the one that UserInfo and introspection say', async (world) => {
    const { access_token, id_token } = await world.grant();
    const { sub } = decodeJwt(id_token);
    assert.equal(JSON.parse((await world.userInfo(access_token)).body).sub, sub);
    assert.equal(JSON.parse((await world.introspect(access_token)).body).sub, sub);
  });

  spec('§2 acr and amr are returned if the host knows them, and nothing else', async (world) => {
    const query = new URLSearchParams({
      client_id: 'web',
      response_type: 'code',
      scope: 'openid',
      ...PKCE,
    });
    query.set('redirect_uri', CLIENTS.web.redirectUris[0]);
    const url = `/authorize?${query}`;
    const known = { subject: 'bob', acr: 'urn:mace:incommon:iap:silver', amr: ['pwd', 'otp'] };
    const payloads = [];
    for (const approval of [known, { subject: 'bob' }]) {
      const request = await world.server.authorization.validate({ method: 'GET', url, headers: {} });
      const { headers } = await world.server.authorization.complete(request, approval);
      const code = new URL(String(headers.location)).searchParams.get('code') ?? '';
      const { access_token, id_token } = issued(await world.redeem(code));
      const { at_hash, ...payload } = decodeJwt(id_token);
      payloads.push(payload);
      assert.deepEqual(decodeJwt(access_token).amr, payload.amr);
    }
    const iat = world.clock.seconds;
    const unknown = { iss: ISSUER, sub: 'bob', aud: 'web', iat, exp: iat + 3600 };
    assert.deepEqual(payloads, [{ ...unknown, acr: known.acr, amr: known.amr }, unknown]);
  });
});

test('§3.1.3.6 at_hash is the left half of the hash that belongs to the algorithm', async (t) => {
  const world = await openWorld(t);
  const cases = [
    ['PS256', 'sha256'],
    ['ES256', 'sha256'],
    ['EdDSA', 'sha512'],
    ['Ed25519', 'sha512'],
  ] as const;
  for (const [algorithm, hash] of cases) {
    const id = `client-${algorithm}`;
    await addClient(world, { ...CLIENTS.web, id, idTokenAlgorithm: algorithm });
    const redirect_uri = CLIENTS.web.redirectUris[0];
    const code = await codeFor(world, { client_id: id, redirect_uri, scope: 'openid', ...PKCE });
    const form = { grant_type: 'authorization_code', code, redirect_uri, code_verifier: VERIFIER };
    const { access_token, id_token } = issued(await asClient(world, id, form));
    const { header, payload } = await verified(world, id_token);
    assert.deepEqual(header, { alg: algorithm, typ: 'JWT', kid: await currentKeyId(world, algorithm) });
    assert.equal(payload.at_hash, leftHalfOf(hash, access_token));
    assert.equal(decodeProtectedHeader(access_token).alg, 'RS256');
  }
});

function leftHalfOf(hash: 'sha256' | 'sha512', token: string): string {
  const digest = createHash(hash).update(token).digest();
  return digest.subarray(0, digest.length / 2).toString('base64url');
}

test('§3.1.2.1 a request with max_age cannot be approved without the time of sign-in', async (t) => {
  const world = await openWorld(t);
  const query = new URLSearchParams({
    client_id: 'web',
    response_type: 'code',
    redirect_uri: CLIENTS.web.redirectUris[0],
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    scope: 'openid',
    max_age: '60',
  });
  const request = { method: 'GET', url: `/authorize?${query}`, headers: {} };
  const authorization = await world.server.authorization.validate(request);
  await assert.rejects(
    world.server.authorization.complete(authorization, { subject: 'alice' }),
    /server_error/,
  );
});

test('explainToken recognises an ID token, with its claims, and says what it is for', async (t) => {
  const world = await openWorld(t);
  const { id_token } = await world.grant('alice', 'web', 'openid');
  assert.ok(id_token);
  const { claims, ...explained } = await world.server.operator.explainToken(id_token);
  assert.deepEqual(explained, {
    kind: 'id_token',
    alive: false,
    reason: 'wrong_type',
    explanation: 'An ID token tells its client who signed in, and grants no access.',
  });
  assert.deepEqual([claims?.aud, claims?.sub], ['web', 'alice']);
});

test('explainToken says of each beginning of a token that its end is missing, and of no other text', async (t) => {
  const world = await openWorld(t);
  const { id_token, access_token, refresh_token } = await world.grant('alice', 'web', 'openid');
  const explained = async (token: string) =>
    (await world.server.operator.explainToken(token)).explanation?.includes('looks cut off') ?? false;
  for (const token of [id_token, access_token, refresh_token]) {
    assert.ok(token);
    const shortest = token.startsWith('eyJ') ? 'eyJ'.length : 'grantd_rt_'.length;
    for (let length = shortest; length < token.length; length += length < 60 ? 1 : 17)
      assert.equal(await explained(token.slice(0, length)), true, token.slice(0, length));
    assert.equal(await explained(token), false, token);
    const other = token.endsWith('A') ? 'Q' : 'A';
    assert.equal(await explained(`${token.slice(0, -1)}${other}`), false);
  }
  for (const text of ['', 'a.b.c', 'password', 'grantd_ia_1.2']) assert.equal(await explained(text), false);
});
