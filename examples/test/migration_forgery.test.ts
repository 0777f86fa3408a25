import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import type { VerificationKey } from '@grantd/core';
import type { JwtInterface } from '@jmondi/oauth2-server';
import { decodeJwt, exportJWK, jwtVerify, SignJWT } from 'jose';
import { APP, ISSUER, moved, OLD_SECRET } from './migrating.ts';

/** A JWT with any header over the claims of another, signed by HMAC. */
function forged(token: string, header: object, key: string | Buffer, changes: object = {}): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const signed = `${part(header)}.${part({ ...decodeJwt(token), ...changes })}`;
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`;
}

/** Asserts that a text is not a token: it is inactive and refused everywhere, and revoking it has no effect. */
async function assertWorthless(host: Awaited<ReturnType<typeof moved>>, texts: readonly string[]) {
  for (const token of texts) {
    assert.deepEqual(await host.ask('/token/introspect', { ...APP, token }), {
      status: 200,
      body: { active: false },
    });
    assert.equal((await host.refresh(token)).body.error, 'invalid_grant');
    assert.equal((await host.userInfo(token)).status, 401);
    assert.deepEqual(await host.ask('/token/revoke', { ...APP, token }), { status: 200, body: {} });
  }
}

test('a forged old token is worthless, and revoking it leaves the real one alive', async () => {
  await using host = await moved();
  const { access, refresh, code } = await host.issueOld();
  const jwk = (await host.server.jwks({ method: 'GET', url: `${ISSUER}/jwks`, headers: {} })).body;
  const [current] = JSON.parse(String(jwk)).keys;
  const header = { alg: 'HS256', typ: 'JWT' };
  for (const token of [access, refresh]) {
    const [, payload, signature] = token.split('.');
    const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
    await assertWorthless(host, [
      forged(token, header, 'another secret'),
      forged(token, header, ''),
      `${none}.${payload}.`,
      `${none}.${payload}.${signature}`,
      token.slice(0, -2),
      forged(token, { ...header, alg: 'RS256' }, OLD_SECRET),
      // With a key of grantd, with its public part as the secret, and with the right secret.
      forged(token, { ...header, kid: current.kid }, OLD_SECRET),
      forged(token, { ...header, kid: current.kid }, JSON.stringify(current)),
      forged(token, { ...header, kid: current.kid, typ: 'at+jwt' }, OLD_SECRET, { iss: ISSUER }),
      forged(token, { ...header, kid: 'old' }, OLD_SECRET),
      forged(token, { ...header, crit: ['x'], x: 1 }, OLD_SECRET),
    ]);
  }
  const reasonOf = async (token: string) => (await host.server.operator.explainToken(token)).reason;
  assert.equal(await reasonOf(forged(access, header, 'another secret')), 'bad_signature');
  assert.equal(await reasonOf(forged(access, { ...header, kid: 'unknown' }, OLD_SECRET)), 'unknown_key');
  assert.equal(await reasonOf('no.token'), 'no_record');

  // Signed with the right secret, but not tokens: a code, an unknown identifier, another issuer, no claims at all.
  await assertWorthless(host, [
    code,
    forged(access, header, OLD_SECRET, { jti: 'never-issued' }),
    forged(access, header, OLD_SECRET, { iss: 'https://elsewhere.example' }),
    forged(refresh, header, OLD_SECRET, { refresh_token_id: 7 }),
    forged(access, header, OLD_SECRET, { jti: decodeJwt(refresh).refresh_token_id }),
    forged(refresh, header, OLD_SECRET, { refresh_token_id: decodeJwt(access).jti }),
  ]);
  assert.deepEqual([await host.isActive(access), await host.isActive(refresh)], [true, true]);
});

test('with the old secret, an attacker cannot change the user of an old token', async () => {
  await using host = await moved();
  host.tables.run("INSERT INTO users (id, name, email) VALUES (8, 'Bob', 'bob@example.com')");
  const { access, refresh } = await host.issueOld();
  const header = { alg: 'HS256', typ: 'JWT' };
  const bobs = forged(access, header, OLD_SECRET, { sub: '8', refresh_token_id: 'any' });
  assert.equal((await host.ask('/token/introspect', { ...APP, token: bobs })).body.sub, '7');
  assert.deepEqual((await host.userInfo(bobs)).body, { email: 'alice@example.com', sub: '7' });
  const { body } = await host.refresh(forged(refresh, header, OLD_SECRET, { user_id: 8 }));
  assert.equal(decodeJwt(String(body.access_token)).sub, '7');
});

test('the old key signs nothing new: it does not verify a token that grantd issued', async () => {
  await using host = await moved();
  const { refresh } = await host.issueOld();
  const { body } = await host.refresh(refresh);
  const header = { alg: 'HS256', typ: 'JWT' };
  const fresh = String(body.access_token);
  await assertWorthless(host, [
    forged(fresh, header, OLD_SECRET),
    forged(fresh, header, OLD_SECRET, { jti: decodeJwt(String(body.refresh_token)).jti }),
  ]);
  assert.equal(await host.isActive(fresh), true);
});

/** A host that signed with its own key and set its `kid`. */
function rs256Service(privateKey: KeyObject, publicKey: KeyObject): JwtInterface {
  return {
    sign: (payload) =>
      new SignJWT(typeof payload === 'string' ? JSON.parse(payload) : payload)
        .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: 'host-key' })
        .setIssuedAt()
        .sign(privateKey),
    verify: async (token) =>
      (await jwtVerify(token, publicKey, { currentDate: new Date(0), clockTolerance: 1e11 })).payload,
    decode: (token) => decodeJwt(token),
  };
}

test('tokens under an RS256 key of the host go on working, and its public part is no secret for HMAC', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const publicJwk = await exportJWK(publicKey);
  const oldKey: VerificationKey = { algorithm: 'RS256', publicKey: publicJwk, keyId: 'host-key' };
  await using host = await moved({ oldKey, jwt: rs256Service(privateKey, publicKey) });
  const { access, refresh } = await host.issueOld();
  assert.deepEqual([await host.isActive(access), await host.isActive(refresh)], [true, true]);
  const header = { alg: 'HS256', typ: 'JWT', kid: 'host-key' };
  await assertWorthless(host, [
    forged(access, header, publicKey.export({ type: 'spki', format: 'pem' })),
    forged(access, header, publicKey.export({ type: 'spki', format: 'der' })),
    forged(access, { alg: 'HS256', typ: 'JWT' }, OLD_SECRET),
  ]);
  assert.equal((await host.refresh(refresh)).status, 200);
});
