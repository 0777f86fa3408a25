import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { previousServer, type VerificationKey } from '@grantd/core';
import { decodeJwt, exportJWK, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { type ProofChanges, proofOf, thumbprintOf } from './harness/dpop_proofs.ts';
import { OLD_SECRET, OldServer, previousJwt } from './harness/old_server.ts';
import { INACTIVE, REVOKED } from './harness/responses.ts';
import { openWorld, type World } from './harness/world.ts';

/** A world with a previous server, and a pair that it issued. */
async function previousWorld(t: TestContext, keys?: readonly VerificationKey[], issuer?: string) {
  const previous = new OldServer(keys);
  const described = issuer === undefined ? previous : Object.assign(previous, { issuer });
  const world = await openWorld(t, { previousServer: previousServer(described) });
  return { world, previous, pair: await previous.issue(world.clock) };
}

/** A JWT with any header over the claims of another, signed by HMAC. */
function signedByHmac(token: string, header: object, secret: string | Uint8Array): string {
  const signingInput = `${encoded(header)}.${encoded(decodeJwt(token))}`;
  return `${signingInput}.${createHmac('sha256', secret).update(signingInput).digest('base64url')}`;
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Checks that texts are no tokens: inactive everywhere, and revoking them has no effect. */
async function assertWorthless(world: World, texts: readonly string[]): Promise<void> {
  for (const text of texts) {
    assert.deepEqual(await world.introspect(text), INACTIVE, text);
    assert.deepEqual(await world.revoke(text), REVOKED);
    assert.equal((await world.refresh(text)).status, 400);
    assert.equal((await world.userInfo(text)).status, 401);
  }
}

async function reasonOf({ server }: World, token: string): Promise<string | undefined> {
  return (await server.operator.explainToken(token)).reason;
}

test('RFC 8725 §3.1 an old key verifies with its own algorithm, whatever the token says', async (t) => {
  const { world, pair } = await previousWorld(t);
  const keys = await world.storage.keys.list();
  const [own] = keys;
  assert.ok(own);
  const header = { alg: 'HS256', typ: 'JWT' };
  for (const token of [pair.access, pair.refresh]) {
    const [head, payload, signature] = token.split('.');
    const none = encoded({ alg: 'none', typ: 'JWT' });
    await assertWorthless(world, [
      signedByHmac(token, header, 'another secret'),
      signedByHmac(token, { ...header, alg: 'RS256' }, OLD_SECRET),
      signedByHmac(token, { ...header, alg: 'HS512' }, OLD_SECRET),
      signedByHmac(token, { typ: 'JWT' }, OLD_SECRET),
      `${none}.${payload}.`,
      `${none}.${payload}.${signature}`,
      `${head}.${payload}.`,
      `${head}.${payload}`,
      `${token}.${signature}`,
      // A critical header is not understood (RFC 7515 §4.1.11).
      signedByHmac(token, { ...header, crit: ['exp'], exp: 1 }, OLD_SECRET),
      signedByHmac(token, { ...header, crit: ['b64'], b64: true }, OLD_SECRET),
      // With a key of this server: with the right secret, and with its public part.
      signedByHmac(token, { ...header, kid: own.kid }, OLD_SECRET),
      signedByHmac(token, { ...header, kid: own.kid }, JSON.stringify(own.publicJwk)),
      signedByHmac(token, { ...header, kid: own.kid, alg: own.algorithm, typ: 'at+jwt' }, OLD_SECRET),
    ]);
  }
  assert.deepEqual(await world.alive(pair.access, pair.refresh), [true, true]);
});

test('the operator learns why an old token is not accepted', async (t) => {
  const { world, pair } = await previousWorld(t);
  const iat = world.clock.seconds;
  const claims = decodeJwt(pair.access);
  const keys = await world.storage.keys.list();
  for (const [token, reason] of [
    [await previousJwt(claims, {}, 'another secret'), 'bad_signature'],
    [await previousJwt(claims, { kid: 'unknown' }), 'unknown_key'],
    [await previousJwt(claims, { kid: keys[0]?.kid }), 'bad_signature'],
    [await previousJwt({ ...claims, jti: 'never-issued' }), 'no_record'],
    [await previousJwt({ refresh_id: pair.accessId, iat }), 'no_record'],
    [await previousJwt({ ...claims, jti: pair.refreshId }), 'no_record'],
    [await previousJwt({ ...claims, iss: 'https://elsewhere.example' }), 'wrong_issuer'],
    [await previousJwt({ sub: 'alice', iat }), 'wrong_type'],
    [await previousJwt({ ...claims, jti: 7 }), 'wrong_type'],
    [await previousJwt({ ...claims, jti: '' }), 'wrong_type'],
    [await previousJwt({ ...claims, nbf: iat + 60 }), 'not_yet_valid'],
    ['no.token', 'no_record'],
    ['a.b.c', 'no_record'],
  ] as const) {
    assert.equal(await reasonOf(world, token), reason);
    assert.deepEqual(await world.introspect(token), INACTIVE);
  }
});

test('the old secret does not allow a token for another user, or a longer life', async (t) => {
  const { world, pair } = await previousWorld(t);
  const claims = decodeJwt(pair.access);
  const exp = Number(claims.exp);
  const told = { sub: 'bob', client_id: 'spa', scope: 'openid profile write', exp: exp + 3600 };
  const forged = await previousJwt({ ...claims, ...told });
  const { body } = await world.introspect(forged);
  const { sub, client_id, scope, exp: until } = JSON.parse(body);
  assert.deepEqual([sub, client_id, scope, until], ['alice', 'web', 'openid email', exp]);
  assert.equal(JSON.parse((await world.userInfo(forged)).body).sub, 'alice');

  const refresh = await previousJwt({
    refresh_id: pair.refreshId,
    ...told,
    sid: 'of bob',
    acr: 'high',
    iat: 1,
  });
  const tokens = await world.rotated(refresh);
  const issued = decodeJwt(tokens.access_token);
  assert.deepEqual([issued.sub, issued.scope, issued.acr], ['alice', 'openid email', undefined]);
  assert.deepEqual([decodeJwt(tokens.id_token).sid, decodeJwt(tokens.id_token).acr], [undefined, undefined]);
});

test('RFC 9449 §5, §6 an old token that is bound to a key stays bound, as do its successors', async (t) => {
  const cnf = { jkt: await thumbprintOf() };
  for (const isInRow of [false, true]) {
    const { world, previous, pair } = await previousWorld(t);
    const bound = isInRow ? pair : await previous.issue(world.clock, { claims: { cnf } });
    if (isInRow)
      for (const [name, row] of previous.rows) previous.rows.set(name, { ...row, confirmation: cnf });
    const said = JSON.parse((await world.introspect(bound.access)).body);
    assert.deepEqual([said.token_type, said.cnf], ['DPoP', cnf]);
    assert.equal((await world.userInfo(bound.access)).status, 401);
    assert.equal(world.lastReason, 'token_bound');

    const refresh = async (token: string, proof?: ProofChanges) =>
      world.post(
        '/token',
        { grant_type: 'refresh_token', refresh_token: token },
        'web',
        proof && { dpop: await proofOf(world, proof) },
      );
    assert.equal((await refresh(bound.refresh)).status, 400);
    assert.equal((await refresh(bound.refresh, { key: 'of a thief' })).status, 400);
    const { status, body } = await refresh(bound.refresh, {});
    assert.equal(status, 200, body);
    const { token_type, refresh_token } = JSON.parse(body);
    assert.equal(token_type, 'DPoP');
    assert.equal((await refresh(refresh_token)).status, 400);
    assert.equal((await refresh(refresh_token, {})).status, 200);
  }
});

test('RFC 9449 §5 who has a spent old refresh token but not its key, gets no successor and cannot end its family', async (t) => {
  const cnf = { jkt: await thumbprintOf() };
  const { world, previous } = await previousWorld(t);
  const { refresh: token } = await previous.issue(world.clock, { claims: { cnf } });
  const refresh = async (presented: string, proof?: ProofChanges) =>
    world.post(
      '/token',
      { grant_type: 'refresh_token', refresh_token: presented },
      'web',
      proof && { dpop: await proofOf(world, proof) },
    );
  const successor: string = JSON.parse((await refresh(token, {})).body).refresh_token;
  const thefts = async () => [await refresh(token), await refresh(token, { key: 'of a thief' })];
  for (const seconds of [0, 60]) {
    world.clock.advance(seconds);
    for (const { status } of await thefts()) assert.equal(status, 400);
    assert.equal(world.lastReason, 'dpop_key_wrong');
    assert.deepEqual(await world.alive(successor), [true]);
  }
  const { cnf: kept } = JSON.parse((await world.introspect(successor)).body);
  assert.deepEqual(kept, cnf);
  assert.equal((await refresh(token, {})).status, 400);
  assert.equal(world.lastReason, 'refresh_token_reused');
  assert.deepEqual(await world.alive(successor), [false]);
});

test('RFC 7800 §3.1 an old token that is bound in an unknown way cannot be used', async (t) => {
  const { world, previous } = await previousWorld(t);
  const cnf = { kid: 'unknown here' };
  const { access, refresh } = await previous.issue(world.clock, { claims: { cnf } });
  const said = JSON.parse((await world.introspect(access)).body);
  assert.deepEqual([said.active, said.token_type, said.cnf], [true, 'Bearer', cnf]);
  assert.equal((await world.userInfo(access)).status, 401);
  assert.equal(world.lastReason, 'confirmation_unknown');
  const form = { grant_type: 'refresh_token', refresh_token: refresh };
  for (const headers of [{}, { dpop: await proofOf(world) }])
    assert.equal((await world.post('/token', form, 'web', headers)).status, 400);
  assert.equal(world.lastReason, 'confirmation_unknown');
});

test('the old secret is worthless for tokens of this server', async (t) => {
  const { world, pair } = await previousWorld(t);
  const spent = decodeJwt((await world.grant()).refresh_token);
  const { refresh_token: used } = await world.grant();
  const tokens = await world.rotated(used);
  const [access, refresh] = [decodeJwt(tokens.access_token), decodeJwt(tokens.refresh_token)];
  world.clock.advance(60);
  await assertWorthless(world, [
    await previousJwt({ refresh_id: String(spent.jti), iat: world.clock.seconds }),
    await previousJwt({ refresh_id: String(decodeJwt(used).jti), iat: world.clock.seconds }),
    await previousJwt(access),
    await previousJwt({ ...access, jti: String(refresh.jti) }),
    await previousJwt({ refresh_id: String(refresh.jti), iat: world.clock.seconds }),
    await previousJwt({ refresh_id: String(access.jti), iat: world.clock.seconds }),
  ]);
  assert.deepEqual(await world.alive(tokens.access_token, tokens.refresh_token, pair.access), [
    true,
    true,
    true,
  ]);
});

test('old tokens name the issuer of the previous server, or none, and are reported under this one', async (t) => {
  const { world, previous } = await previousWorld(t, undefined, 'https://previous.example');
  const issuedBy = async (iss: string) => (await previous.issue(world.clock, { claims: { iss } })).access;
  const token = await issuedBy('https://previous.example');
  const { active, iss } = JSON.parse((await world.introspect(token)).body);
  assert.deepEqual([active, iss], [true, world.server.issuer]);
  assert.deepEqual(await world.alive((await previous.issue(world.clock)).access), [true]);
  assert.equal(await reasonOf(world, await issuedBy(world.server.issuer)), 'wrong_issuer');
});

for (const algorithm of ['RS256', 'PS256', 'ES256', 'EdDSA'] as const) {
  test(`an old key for ${algorithm} is found by its kid, and its public part is not a secret`, async (t) => {
    const { privateKey, publicKey } = await generateKeyPair(algorithm);
    const key: VerificationKey = { algorithm, publicKey: await exportJWK(publicKey), keyId: 'previous' };
    const { world, pair } = await previousWorld(t, [key, { algorithm: 'HS256', secret: OLD_SECRET }]);
    const sign = (kid: string | undefined) =>
      new SignJWT(decodeJwt(pair.access))
        .setProtectedHeader({ alg: algorithm, ...(kid !== undefined && { kid }) })
        .sign(privateKey);
    assert.deepEqual(await world.alive(await sign('previous')), [true]);
    assert.equal(await reasonOf(world, await sign('other')), 'unknown_key');
    assert.equal(await reasonOf(world, await sign(undefined)), 'bad_signature');
    const header = { alg: 'HS256', typ: 'JWT', kid: 'previous' };
    await assertWorthless(world, [
      signedByHmac(pair.access, header, await exportSPKI(publicKey)),
      signedByHmac(pair.access, header, JSON.stringify(await exportJWK(publicKey))),
      signedByHmac(pair.access, { ...header, alg: algorithm }, await exportSPKI(publicKey)),
      signedByHmac(pair.access, header, OLD_SECRET),
    ]);
    assert.deepEqual(await world.alive(pair.access), [true]);
  });
}

test('of several old keys without a distinct kid, the one that signed is found', async (t) => {
  const secrets = ['the first of the previous secrets', 'the second of the previous secrets'];
  const { world, pair } = await previousWorld(
    t,
    secrets.map((secret) => ({ algorithm: 'HS256', secret: new TextEncoder().encode(secret) })),
  );
  const claims = decodeJwt(pair.access);
  const tokens = await Promise.all([...secrets, OLD_SECRET].map((secret) => previousJwt(claims, {}, secret)));
  assert.deepEqual(await world.alive(...tokens), [true, true, false]);
});

test('an old key that is not a point of its curve is a server error, and no response', async (t) => {
  const { world, pair } = await previousWorld(t, [
    { algorithm: 'ES256', publicKey: { kty: 'EC', crv: 'P-256', x: 'A'.repeat(43), y: 'A'.repeat(43) } },
  ]);
  const { status } = await world.introspect(pair.access);
  assert.equal(status, 500);
});
