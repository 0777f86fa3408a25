// § refers to OpenID Connect Core.
// Long: the rules of one specification, in its order.
import assert from 'node:assert/strict';
import { base64url, decodeJwt, type JWK, SignJWT } from 'jose';
import { ON_EVERY_HOST } from './harness/places.ts';
import { bearerError, errorOf, OPEN_JSON_HEADERS, OUTAGE_DESCRIPTION, opened } from './harness/responses.ts';
import { secondServer } from './harness/second_server.ts';
import { forgedWithStolenKey, withBrokenSignature } from './harness/stolen_key.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import { basic, ISSUER, OIDC_OFF, PEOPLE, specification, type World } from './harness/world.ts';

const MISSING = bearerError(401, 'invalid_token', 'the access token is missing', {
  'www-authenticate':
    'Bearer error="invalid_token", error_description="the access token is missing", DPoP algs="RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519"',
});
const MALFORMED = bearerError(401, 'invalid_token', 'the access token is malformed');
const NOT_VALID = bearerError(401, 'invalid_token', 'the access token is not valid');
const WRONG_KIND = bearerError(401, 'invalid_token', 'the token is not an access token');
const WRONG_ISSUER = bearerError(401, 'invalid_token', 'the access token is from another issuer');
const EXPIRED = bearerError(401, 'invalid_token', 'the access token is expired');
const REVOKED_OR_UNKNOWN = bearerError(401, 'invalid_token', 'the access token is revoked or unknown');
const WRONG_AUDIENCE = bearerError(401, 'invalid_token', 'the access token is for another audience');
const NO_PERSON = bearerError(401, 'invalid_token', 'the access token has no user');
const NO_BEARER = bearerError(401, 'invalid_token', 'the Authorization header carries no bearer token');
const OPENID_MISSING = errorOf(403, 'insufficient_scope', 'openid scope required', {
  ...OPEN_JSON_HEADERS,
  'www-authenticate':
    'Bearer error="insufficient_scope", error_description="openid scope required", scope="openid"',
});
const OUTAGE = bearerError(503, 'temporarily_unavailable', OUTAGE_DESCRIPTION, { 'retry-after': '1' });

const ALICE = '{"name":"Alice Liddell","email":"alice@example.org","email_verified":true,"sub":"alice"}';
const FORM = 'application/x-www-form-urlencoded';

function claims(body: string): TestResponse {
  return { status: 200, headers: OPEN_JSON_HEADERS, body };
}

specification('UserInfo (OpenID Connect Core §5.3)', ON_EVERY_HOST, (spec) => {
  // ── Places of the token ────────────────────────────────────────────────────────────────────────────────

  spec.http('grantd §7.2 a token in the header gets the user’s claims, by GET and by POST', async (world) => {
    const headers = { authorization: `Bearer ${(await world.grant()).access_token}` };
    for (const method of ['GET', 'POST']) {
      assert.deepEqual(await world.send({ method, path: '/userinfo', headers }), claims(ALICE));
    }
  });

  spec.http('HEAD /userinfo is answered as GET, without the body', async (world) => {
    const { access_token } = await world.grant();
    for (const authorization of [`Bearer ${access_token}`, 'Bearer bad']) {
      const send = (method: string) => world.send({ method, path: '/userinfo', headers: { authorization } });
      const [got, headed] = [await send('GET'), await send('HEAD')];
      // The operation itself leaves the body to the adapter, which needs its length.
      assert.deepEqual({ ...headed, body: '' }, { ...got, body: '' });
    }
  });

  spec.http('grantd §7.2 the scheme is read without regard to case', async (world) => {
    const { access_token } = await world.grant();
    for (const authorization of [`bearer ${access_token}`, `BEARER  ${access_token} `]) {
      assert.deepEqual(await withHeader(world, authorization), claims(ALICE));
    }
  });

  spec.http('grantd §7.2 without a header the token is taken from the form body of a POST', async (world) => {
    const { access_token } = await world.grant();
    assert.deepEqual(await world.post('/userinfo', { access_token, other: 'ignored' }), claims(ALICE));
  });

  spec.http(
    'grantd §7.2 the header wins over the form body, whichever of the two is valid',
    async (world) => {
      const good = (await world.grant()).access_token;
      const bob = (await world.grant('bob')).access_token;
      const post = (authorization: string, access_token: string) =>
        world.post('/userinfo', { access_token }, null, { authorization });
      assert.deepEqual(await post(`Bearer ${good}`, bob), claims(ALICE));
      assert.deepEqual(await post(`Bearer ${good}`, 'bad'), claims(ALICE));
      assert.deepEqual(await post('Bearer bad', good), REVOKED_OR_UNKNOWN);
      assert.deepEqual(await post('Bearer', good), NO_BEARER);
      assert.deepEqual(await post(basic('web'), good), NO_BEARER);
    },
  );

  spec(
    'grantd §7.2 the same token in header and form body is one token, and the header wins over another',
    async (world) => {
      const { access_token } = await world.grant();
      const headers = { authorization: `Bearer ${access_token}` };
      const twice = (other: string) => world.post('/userinfo', { access_token: other }, null, headers);
      assert.deepEqual(await twice(access_token), claims(ALICE));
      assert.deepEqual(await twice((await world.grant('bob')).access_token), claims(ALICE));
    },
  );

  spec.http(
    'grantd §7.2 a token in the query is not accepted, and does not help one elsewhere',
    async (world) => {
      const { access_token } = await world.grant();
      const path = `/userinfo?access_token=${access_token}`;
      assert.deepEqual(await world.send({ method: 'GET', path, headers: {} }), MISSING);
      assert.deepEqual(await world.post(path, {}), MISSING);
      assert.deepEqual(await world.post(path, { access_token: 'bad' }), REVOKED_OR_UNKNOWN);
      assert.deepEqual(await world.post('/userinfo?access_token=bad', { access_token }), claims(ALICE));
    },
  );

  spec.http(
    'grantd §7.2 a missing or empty token is 401 invalid_token, with its challenge',
    async (world) => {
      assert.deepEqual(await world.send({ method: 'GET', path: '/userinfo', headers: {} }), MISSING);
      assert.deepEqual(await world.post('/userinfo', {}), MISSING);
      assert.deepEqual(await world.post('/userinfo', { access_token: '' }), MISSING);
    },
  );

  spec.http(
    'grantd §7.2 a header that carries no well-formed bearer token is 401 invalid_token',
    async (world) => {
      const { access_token } = await world.grant();
      const headers = [
        'Bearer',
        'Bearer ä',
        `Bearer ${access_token} x`,
        `Bearer ${access_token}, x`,
        access_token,
      ];
      for (const authorization of [...headers, `Digest ${access_token}`, `Bearer "${access_token}"`]) {
        assert.deepEqual(await withHeader(world, authorization), NO_BEARER, authorization);
      }
    },
  );

  spec.http('grantd §1.4 another method is 405 with Allow and a challenge', async (world) => {
    const { access_token } = await world.grant();
    for (const method of ['PUT', 'DELETE', 'PATCH']) {
      const headers = { authorization: `Bearer ${access_token}` };
      const expected = bearerError(405, 'invalid_request', 'the method is not allowed', {
        allow: 'GET, HEAD, POST',
      });
      assert.deepEqual(await world.send({ method, path: '/userinfo', headers }), expected);
    }
  });

  spec.http(
    'grantd §3.1 a repeated parameter and another media type are 400 invalid_request, with a challenge',
    async (world) => {
      const { access_token } = await world.grant();
      const send = (body: string, contentType: string) =>
        world.send({ method: 'POST', path: '/userinfo', headers: { 'content-type': contentType }, body });
      const repeated = bearerError(400, 'invalid_request', 'a parameter is repeated');
      const body = `access_token=${access_token}`;
      assert.deepEqual(await send(`${body}&${body}`, FORM), repeated);
      const description = 'the content type must be application/x-www-form-urlencoded';
      const mediaType = bearerError(400, 'invalid_request', description);
      assert.deepEqual(await send(JSON.stringify({ access_token }), 'application/json'), mediaType);
      assert.deepEqual(await send(body, 'text/plain'), mediaType);
    },
  );

  spec.http('grantd §3.4 a body of more than 64 KiB is 413, with a challenge', async (world) => {
    const expected = bearerError(413, 'invalid_request', 'the request body is too large');
    assert.deepEqual(await world.post('/userinfo', { access_token: 'x'.repeat(64 * 1024) }), expected);
  });

  spec.http('grantd §8.5 unavailable storage is 503 with Retry-After and a challenge', async (world) => {
    const { access_token } = await world.grant();
    await world.storage.close();
    assert.deepEqual(await world.userInfo(access_token), OUTAGE);
  });

  // ── Responses ──────────────────────────────────────────────────────────────────────────────────────────

  spec(
    'grantd §7.6 the granted scopes decide which claims are returned, and sub is always there, last',
    async (world) => {
      const byScope = {
        openid: '{"sub":"alice"}',
        'openid read write': '{"sub":"alice"}',
        'openid profile': '{"name":"Alice Liddell","sub":"alice"}',
        'openid email': '{"email":"alice@example.org","email_verified":true,"sub":"alice"}',
      };
      for (const [scope, body] of Object.entries(byScope)) {
        const { access_token } = await world.grant('alice', 'web', scope);
        assert.deepEqual(await world.userInfo(access_token), claims(body));
      }
    },
  );

  spec('grantd §7.6 address and phone have scopes of their own', async (world) => {
    const scopes = ['openid', 'address', 'phone'];
    await world.storage.clients.add({ id: 'post', grantTypes: [], scopes, redirectUris: [] });
    const answers: Record<string, string> = {};
    for (const scope of ['address', 'phone']) {
      const order = { clientId: 'post', subject: 'alice', scopes: ['openid', scope] };
      const [issued] = await world.server.operator.issueTokens(order);
      answers[scope] = (await world.userInfo(issued?.accessToken ?? '')).body;
    }
    assert.deepEqual(answers, {
      address: '{"address":{"locality":"Oxford"},"sub":"alice"}',
      phone: '{"phone_number":"+44 1865 000000","sub":"alice"}',
    });
  });

  spec(
    'grantd §7.6 the attributes of the host cannot change sub, which equals that of the ID token',
    async (world) => {
      assert.equal(PEOPLE.alice?.sub, 'somebody-else');
      const { access_token, id_token } = await world.grant();
      const { body } = await world.userInfo(access_token);
      assert.equal(JSON.parse(body).sub, decodeJwt(id_token).sub);
      assert.equal(Object.keys(JSON.parse(body)).at(-1), 'sub');
    },
  );

  spec(
    'grantd §7.6 not even a scope that permits sub lets the attributes change it',
    async (world) => {
      const { access_token } = await world.grant();
      assert.deepEqual(
        await world.userInfo(access_token),
        claims('{"phone_number":"+44 1865 000000","sub":"alice"}'),
      );
    },
    {
      oidc: {
        getUserClaims: (subject) => PEOPLE[subject],
        claimsByScope: { openid: ['sub'], read: ['phone_number', 'sub'] },
      },
    },
  );

  spec(
    'grantd §7.6 attributes without a value are left out, and a scope named like a member of Object permits nothing',
    async (world) => {
      const scopes = ['openid', 'profile', 'constructor', '__proto__', 'toString'];
      await world.storage.clients.add({ id: 'odd', grantTypes: [], scopes, redirectUris: [] });
      const [issued] = await world.server.operator.issueTokens({ clientId: 'odd', subject: 'alice' });
      assert.deepEqual(await world.userInfo(issued?.accessToken ?? ''), claims('{"name":"","sub":"alice"}'));
    },
    {
      oidc: {
        getUserClaims: () => ({ name: '', nickname: null, locale: undefined, constructor: 'x', email: 'x' }),
      },
    },
  );

  spec(
    'grantd §7.6 a refreshed token with a narrower scope gets claims of that scope only',
    async (world) => {
      const { refresh_token } = await world.grant();
      const narrowed = await world.rotated(refresh_token, { scope: 'openid email' });
      const body = '{"email":"alice@example.org","email_verified":true,"sub":"alice"}';
      assert.deepEqual(await world.userInfo(narrowed.access_token), claims(body));
      const whole = await world.rotated(narrowed.refresh_token);
      assert.deepEqual(await world.userInfo(whole.access_token), claims(ALICE));
      const without = await world.rotated(whole.refresh_token, { scope: 'email read' });
      assert.deepEqual(await world.userInfo(without.access_token), OPENID_MISSING);
    },
  );

  spec.http(
    'grantd §7.5 a token without the scope openid is 403 insufficient_scope, with the exact challenge',
    async (world) => {
      const { access_token } = await world.grant('alice', 'web', 'profile email');
      assert.deepEqual(await world.userInfo(access_token), OPENID_MISSING);
      assert.deepEqual(await world.userInfo(await world.machineToken()), OPENID_MISSING);
    },
  );

  spec('grantd §7.5 without HTTP too, a token without the scope openid is refused', async (world) => {
    const { access_token } = await world.grant('alice', 'web', 'profile email');
    await assert.rejects(world.server.userInfoOf(access_token), {
      ...{ code: 'insufficient_scope', status: 403, reason: 'scope_openid_missing' },
    });
  });

  spec('grantd §7.5 a dead token without the scope openid is 401, not 403', async (world) => {
    const { access_token } = await world.grant('alice', 'web', 'profile');
    await world.revoke(access_token);
    await assertRevoked(world, access_token);
  });

  spec(
    'grantd §7.4 every access token of this issuer is accepted, whatever its audience',
    async (world) => {
      const { access_token } = await world.grant();
      assert.deepEqual(decodeJwt(access_token).aud, ['https://api.example', 'https://b.example']);
      assert.deepEqual(await world.userInfo(access_token), claims(ALICE));
    },
    { defaultAudience: ['https://api.example', 'https://b.example'] },
  );

  for (const accessTokenFormat of ['jwt', 'opaque'] as const) {
    spec(
      `with userInfoAudiences a token only for other audiences is refused (${accessTokenFormat})`,
      async (world) => {
        assert.deepEqual(await world.userInfo((await world.grant()).access_token), WRONG_AUDIENCE);
        assert.equal(world.lastReason, 'audience_wrong');
        const userInfoAudiences = ['https://b.example', ISSUER];
        const defaultAudience = ['https://api.example', ISSUER];
        const oidc = { getUserClaims: (subject: string) => PEOPLE[subject] };
        const other = await secondServer(world, {
          accessTokenFormat,
          userInfoAudiences,
          defaultAudience,
          oidc,
        });
        assert.deepEqual(await other.userInfo((await other.grant()).access_token), claims(ALICE));
      },
      {
        accessTokenFormat,
        userInfoAudiences: [ISSUER],
        defaultAudience: ['https://api.example', 'https://c.example'],
      },
    );
  }

  spec(
    'grantd §7.3 an opaque access token is accepted like a JWT, and refused like one',
    async (world) => {
      const { access_token, refresh_token } = await world.grant();
      assert.match(access_token, /^grantd_at_/);
      assert.deepEqual(await world.userInfo(access_token), claims(ALICE));
      assert.deepEqual(await world.userInfo(access_token.slice(0, -1)), MALFORMED);
      assert.deepEqual(await world.userInfo(`grantd_at_${'A'.repeat(43)}`), REVOKED_OR_UNKNOWN);
      assert.deepEqual(await world.userInfo(refresh_token), WRONG_KIND);
      await world.revoke(access_token);
      await assertRevoked(world, access_token);
    },
    { accessTokenFormat: 'opaque', useOpaqueRefreshTokens: true },
  );

  // ── Other texts and tokens ─────────────────────────────────────────────────────────────────────────────

  spec('grantd §7.3 a refresh token, an ID token and a code are no access tokens', async (world) => {
    const { refresh_token, id_token } = await world.grant();
    assert.deepEqual(await world.userInfo(refresh_token), WRONG_KIND);
    assert.deepEqual(await world.userInfo(id_token), WRONG_KIND);
    assert.deepEqual(await world.userInfo(await world.code()), MALFORMED);
  });

  spec('grantd §7.3 the typ header must be at+jwt, even over a signature of our own key', async (world) => {
    const { jti } = decodeJwt((await world.grant()).access_token);
    for (const typ of ['JWT', 'jwt', 'at', 'application/jwt', 'logout+jwt', '']) {
      assert.deepEqual(
        await world.userInfo(await forgedWithStolenKey(world, { jti }, { typ })),
        WRONG_KIND,
        typ,
      );
    }
    const refresh = await forgedWithStolenKey(world, { jti }, { typ: 'rt+jwt' });
    assert.deepEqual(await world.userInfo(refresh), REVOKED_OR_UNKNOWN);
  });

  spec(
    'grantd §7.3 a token of another issuer is refused, even over a signature of our own key',
    async (world) => {
      for (const iss of ['https://other.example', 'https://as.example/', 'http://as.example', undefined]) {
        assert.deepEqual(await world.userInfo(await forgedWithStolenKey(world, { iss })), WRONG_ISSUER);
      }
    },
  );

  spec(
    'grantd §7.3 the key determines the algorithm: none, another one and HMAC with the public key are refused',
    async (world) => {
      const { access_token } = await world.grant();
      const [header = '', payload = ''] = access_token.split('.');
      const { kid } = JSON.parse(atob(header));
      const none = btoa(JSON.stringify({ alg: 'none', typ: 'at+jwt', kid })).replaceAll('=', '');
      assert.deepEqual(await world.userInfo(`${none}.${payload}.`), NOT_VALID);
      assert.deepEqual(await world.userInfo(`${none}.${payload}.AA`), NOT_VALID);
      assert.deepEqual(await world.userInfo(withBrokenSignature(access_token)), NOT_VALID);

      const published = await world.send({ method: 'GET', path: '/jwks', headers: {} });
      const keys: (JWK & { kid: string })[] = JSON.parse(published.body).keys;
      const publicKey = keys.find((key) => key.kid === kid);
      for (const text of [JSON.stringify(publicKey), publicKey?.n ?? '']) {
        const forged = await new SignJWT(decodeJwt(access_token))
          .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid })
          .sign(new TextEncoder().encode(text));
        assert.deepEqual(await world.userInfo(forged), NOT_VALID);
      }
      const otherKey = keys.find((key) => key.alg !== 'RS256' || key.kid !== kid)?.kid ?? '';
      assert.deepEqual(
        await world.userInfo(await forgedWithStolenKey(world, {}, { kid: otherKey })),
        NOT_VALID,
      );
      assert.deepEqual(
        await world.userInfo(await forgedWithStolenKey(world, {}, { kid: 'unknown' })),
        NOT_VALID,
      );
    },
  );

  spec('grantd §7.3 a token that our key signed but the server never issued is refused', async (world) => {
    assert.deepEqual(await world.userInfo(await forgedWithStolenKey(world)), REVOKED_OR_UNKNOWN);
    const { jti } = decodeJwt((await world.grant('bob', 'web', 'openid')).access_token);
    const forged = await forgedWithStolenKey(world, { jti, sub: 'alice', scope: 'openid email' });
    assert.deepEqual(await world.userInfo(forged), NOT_VALID);
    assert.equal(world.lastReason, 'differs_from_issued');
  });

  spec(
    'grantd §7.3 a token that was signed before the keys were rotated is accepted still',
    async (world) => {
      const { access_token } = await world.grant();
      await world.server.operator.rotateSigningKey('RS256');
      await world.server.operator.rotateSigningKey('RS256', { now: true });
      assert.deepEqual(await world.userInfo(access_token), claims(ALICE));
      assert.deepEqual(await world.userInfo((await world.grant()).access_token), claims(ALICE));
    },
  );

  // ── Dead tokens ────────────────────────────────────────────────────────────────────────────────────────

  spec('grantd §2.6 a token is accepted until the very millisecond of its stored expiry', async (world) => {
    const { access_token } = await world.grant();
    const { exp = 0 } = decodeJwt(access_token);
    world.clock.nowMs = exp * 1000 - 1;
    assert.deepEqual(await world.userInfo(access_token), claims(ALICE));
    world.clock.nowMs = exp * 1000;
    assert.deepEqual(await world.userInfo(access_token), EXPIRED);
  });

  spec('grantd §2.4 a token whose record is gone from storage is refused', async (world) => {
    const { access_token } = await world.grant();
    world.clock.advance(14 * 24 * 60 * 60);
    while ((await world.storage.sweep(100)) > 0);
    assert.deepEqual(await world.userInfo(access_token), REVOKED_OR_UNKNOWN);
    assert.equal(world.lastReason, 'no_record');
  });

  spec(
    'grantd §2.4 a revoked token is refused, and so is one whose refresh token was revoked',
    async (world) => {
      for (const kind of ['access_token', 'refresh_token'] as const) {
        const tokens = await world.grant();
        await world.revoke(tokens[kind]);
        await assertRevoked(world, tokens.access_token);
      }
    },
  );

  spec(
    'grantd §2.5 a token is refused once all tokens of its user, session or client were revoked',
    async (world) => {
      const principals = { subject: 'alice', session: 'session of alice', client: 'web' } as const;
      for (const principal of ['subject', 'session', 'client'] as const) {
        const { access_token } = await world.grant();
        const bystander = await world.grant('bob', 'spa');
        await world.storage.revokeAll({ principal, id: principals[principal] });
        await assertRevoked(world, access_token);
        assert.deepEqual(await world.userInfo(bystander.access_token), claims('{"name":"Bob","sub":"bob"}'));
        assert.deepEqual(await world.userInfo((await world.grant()).access_token), claims(ALICE));
      }
    },
  );

  spec(
    'grantd §2.5 a token is refused that was issued before the time before which all were revoked',
    async (world) => {
      const before = await world.grant();
      world.clock.nowMs += 1;
      await world.storage.revokeAll({ issuedBeforeMs: world.clock.nowMs });
      const after = await world.grant();
      await assertRevoked(world, before.access_token);
      assert.deepEqual(await world.userInfo(after.access_token), claims(ALICE));
    },
  );

  spec(
    'grantd §2.5 a token of a disabled user or client is refused, and enabling revives no token',
    async (world) => {
      for (const [principal, id] of [
        ['subject', 'alice'],
        ['client', 'web'],
      ] as const) {
        const { access_token } = await world.grant();
        await world.storage.setDisabled(principal, id, true);
        await assertRevoked(world, access_token);
        await world.storage.setDisabled(principal, id, false);
        await assertRevoked(world, access_token);
        assert.deepEqual(await world.userInfo((await world.grant()).access_token), claims(ALICE));
      }
    },
  );

  // ── The host ───────────────────────────────────────────────────────────────────────────────────────────

  spec('grantd §7.5 a user whom getUserClaims does not know is 401 invalid_token', async (world) => {
    const { access_token } = await world.grant('nobody');
    assert.deepEqual(await world.userInfo(access_token), NO_PERSON);
    assert.equal(world.lastReason, 'no_person');
  });

  spec(
    'grantd §7.5 null from getUserClaims means an unknown user',
    async (world) => {
      assert.deepEqual(await world.userInfo((await world.grant()).access_token), NO_PERSON);
    },
    { oidc: { getUserClaims: async () => null } },
  );

  spec(
    'grantd §7.5 a token with the scope openid but without a user on its record is 401',
    async (world) => {
      const [issued] = await world.server.operator.issueTokens({
        clientId: 'web',
        subject: 'alice',
        format: 'opaque',
      });
      assert.match(issued?.accessToken ?? '', /^grantd_at_/);
      const record = await world.server.operator.explainToken(issued?.accessToken ?? '');
      assert.ok(record.record && 'kind' in record.record);
      const { subject: _, standing: _s, id: _i, ...rest } = record.record;
      const token = `grantd_at_${'B'.repeat(42)}A`;
      const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(token));
      const id = base64url.encode(new Uint8Array(digest));
      const { expiresAt, issuedAtMs = 0 } = rest;
      const orphan = { ...rest, issuedAtMs, id, digest: id, keepUntil: expiresAt };
      assert.equal(await world.storage.tokens.issue([orphan], {}), 'issued');
      assert.deepEqual(await world.userInfo(token), NO_PERSON);
    },
    { oidc: { getUserClaims: () => ({ name: 'Anyone' }) } },
  );

  spec('grantd §7.5 a client that is removed during the request is 401', async (world) => {
    const { access_token } = await world.grant();
    let isThere = true;
    const get = async (id: string) => {
      const client = isThere ? await world.storage.clients.get(id) : undefined;
      isThere = false;
      return client;
    };
    const clients = { ...world.storage.clients, get };
    const oidc = { getUserClaims: (subject: string) => PEOPLE[subject] };
    const second = await secondServer(world, { oidc }, { ...world.storage, clients });
    assert.deepEqual(await second.userInfo(access_token), NOT_VALID);
    assert.equal(second.lastReason, 'client_unknown');
  });

  spec(
    'grantd §8.5 getUserClaims that rejects or throws is 503, and its text is not seen',
    async (world) => {
      assert.deepEqual(await world.userInfo((await world.grant('alice')).access_token), OUTAGE);
      assert.deepEqual(await world.userInfo((await world.grant('bob')).access_token), OUTAGE);
    },
    {
      oidc: {
        getUserClaims(subject) {
          const error = new Error('connect ECONNREFUSED 10.0.0.5:5432');
          if (subject === 'bob') throw error;
          return Promise.reject(error);
        },
      },
    },
  );

  spec.http(
    'grantd §8.6 an unexpected error is 500 with a challenge, and its text is not seen',
    async (world) => {
      const expected = bearerError(500, 'server_error', 'an unexpected error');
      assert.deepEqual(await world.userInfo((await world.grant()).access_token), expected);
      const event = world.events.at(-1);
      assert.ok(event?.type === 'refused' && event.cause instanceof Error);
      assert.deepEqual([event.operation, event.status, event.reason], ['userinfo', 500, 'unexpected']);
      assert.match(event.cause.message, /the text of the cause/);
    },
    {
      oidc: {
        getUserClaims: () => ({
          name: {
            toJSON() {
              throw new Error('the text of the cause');
            },
          },
        }),
      },
    },
  );

  spec(
    'grantd §6 the refusal of a token that has ended names its client, if there is a record',
    async (world) => {
      const clientOfRefusal = async (token: string) => {
        assert.equal((await world.userInfo(token)).status, 401);
        const event = world.events.at(-1);
        return [event?.type, event?.clientId];
      };
      const { access_token } = await world.grant();
      world.clock.advance(3601);
      assert.deepEqual(await clientOfRefusal(access_token), ['refused', 'web']);
      assert.deepEqual(await clientOfRefusal('unknown'), ['refused', undefined]);
    },
  );

  spec.http('grantd §7.7 responses and errors are JSON whatever Accept says', async (world) => {
    const { access_token } = await world.grant();
    for (const accept of ['text/html', 'application/jwt']) {
      const headers = { accept, authorization: `Bearer ${access_token}` };
      assert.deepEqual(await world.send({ method: 'GET', path: '/userinfo', headers }), claims(ALICE));
      assert.deepEqual(await world.send({ method: 'GET', path: '/userinfo', headers: { accept } }), MISSING);
    }
  });

  for (const state of ['disabled', undefined, null] as const) {
    spec(
      `grantd §10.4 a user whom getSubjectState calls ${state} has no live token`,
      async (world) => {
        const order = { clientId: 'web', subject: 'alice', refresh: true };
        const [alice] = await world.server.operator.issueTokens(order);
        const [bob] = await world.server.operator.issueTokens({ ...order, subject: 'bob' });
        await assertRevoked(world, alice?.accessToken ?? '');
        assert.equal((await world.refresh(alice?.refreshToken ?? '')).status, 400);
        assert.deepEqual(await world.alive(alice?.accessToken ?? '', bob?.accessToken ?? ''), [false, true]);
        assert.equal((await world.userInfo(bob?.accessToken ?? '')).status, 200);
      },
      // A host in plain JavaScript may return null.
      { getSubjectState: (subject) => (subject === 'bob' ? 'active' : (state ?? JSON.parse('null'))) },
    );
  }

  spec(
    'grantd §8.5 getSubjectState that rejects is 503',
    async (world) => {
      const [issued] = await world.server.operator.issueTokens({ clientId: 'web', subject: 'alice' });
      assert.deepEqual(await world.userInfo(issued?.accessToken ?? ''), OUTAGE);
    },
    { getSubjectState: () => Promise.reject(new Error('down')) },
  );

  // ── Availability ───────────────────────────────────────────────────────────────────────────────────────

  spec('grantd §7.1 the metadata name the endpoint, below the issuer', async (world) => {
    assert.equal(world.server.serverMetadata.userinfo_endpoint, 'https://as.example/userinfo');
  });

  spec.http(
    'grantd §7.1 with OpenID Connect off the endpoint is not there, neither at its path nor in the metadata',
    async (world) => {
      const { access_token } = await world.grant('alice', 'web', 'read');
      const notThere = { status: 404, headers: {}, body: '' };
      assert.deepEqual(await world.userInfo(access_token), notThere);
      assert.deepEqual(await world.post('/userinfo', { access_token }), notThere);
      const path = '/.well-known/oauth-authorization-server';
      const { body } = await world.send({ method: 'GET', path, headers: {} });
      assert.equal('userinfo_endpoint' in JSON.parse(body), false);
      assert.equal(
        (await world.send({ method: 'GET', path: '/.well-known/openid-configuration', headers: {} })).status,
        404,
      );
    },
    { oidc: OIDC_OFF },
  );

  spec.http(
    'grantd §3.6 a page of the client reads response and errors, and before the client is known any registered page reads errors',
    async (world) => {
      const { access_token } = await world.grant('alice', 'spa');
      const send = (origin: string, token: string) =>
        world.send({
          method: 'GET',
          path: '/userinfo',
          headers: { origin, authorization: `Bearer ${token}` },
        });
      const body = '{"name":"Alice Liddell","sub":"alice"}';
      assert.deepEqual(
        await send('https://spa.example', access_token),
        opened(claims(body), 'https://spa.example'),
      );
      assert.deepEqual(await send('https://web.example', access_token), claims(body));
      assert.deepEqual(
        await send('https://web.example', 'bad'),
        opened(REVOKED_OR_UNKNOWN, 'https://web.example'),
      );
      assert.deepEqual(await send('https://evil.example', 'bad'), REVOKED_OR_UNKNOWN);
      const { access_token: narrow } = await world.grant('alice', 'spa', 'read');
      assert.deepEqual(
        await send('https://spa.example', narrow),
        opened(OPENID_MISSING, 'https://spa.example'),
      );
      assert.deepEqual(await send('https://web.example', narrow), OPENID_MISSING);
    },
  );

  spec.http('grantd §3.6 a preflight lets the pages of enabled clients send the header', async (world) => {
    const preflight = (origin: string) => {
      const headers = { origin, 'access-control-request-method': 'GET' };
      return world.send({ method: 'OPTIONS', path: '/userinfo', headers });
    };
    const refused = { status: 204, headers: { 'cache-control': 'no-store', vary: 'Origin' }, body: '' };
    const { headers } = opened(refused, 'https://spa.example');
    const allowed = {
      'access-control-allow-methods': 'GET, HEAD, POST',
      'access-control-allow-headers': 'Authorization, Content-Type, DPoP, MCP-Protocol-Version',
      'access-control-max-age': '600',
    };
    assert.deepEqual(await preflight('https://spa.example'), {
      ...refused,
      headers: { ...headers, ...allowed },
    });
    assert.deepEqual(await preflight('https://evil.example'), refused);
  });
});

function withHeader(world: World, authorization: string): Promise<TestResponse> {
  return world.send({ method: 'GET', path: '/userinfo', headers: { authorization } });
}

/** Hosts store revocations in different ways. The bearer only learns that the token does not work. */
async function assertRevoked(world: World, token: string): Promise<void> {
  const response = await world.userInfo(token);
  const revoked = bearerError(401, 'invalid_token', 'the access token is revoked');
  assert.deepEqual(response, response.body.includes('unknown') ? REVOKED_OR_UNKNOWN : revoked);
}
