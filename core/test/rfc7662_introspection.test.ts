// § refers to RFC 7662.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServerEvent } from '@grantd/core';
import { decodeJwt, SignJWT } from 'jose';
import { ON_EVERY_HOST } from './harness/places.ts';
import { stolenKey } from './harness/stolen_key.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import { basic, CHALLENGE, CLIENTS, ISSUER, openWorld, specification, type World } from './harness/world.ts';

const JSON_HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store' };
const INACTIVE: TestResponse = { status: 200, headers: JSON_HEADERS, body: '{"active":false}' };
const REFUSED: TestResponse = {
  status: 401,
  headers: { ...JSON_HEADERS, 'www-authenticate': `Basic realm="${ISSUER}", charset="UTF-8"` },
  body: '{"error":"invalid_client","error_description":"client authentication failed"}',
};

function badRequest(error: string, description: string): TestResponse {
  const body = JSON.stringify({ error, error_description: description });
  return { status: 400, headers: JSON_HEADERS, body };
}

function members(response: TestResponse): Record<string, unknown> {
  assert.equal(response.status, 200);
  return JSON.parse(response.body);
}

specification('Introspection (RFC 7662)', ON_EVERY_HOST, (spec) => {
  spec.http(
    'grantd §5.4 a live access token is described by its record and its verified claims',
    async (world) => {
      const { access_token } = await world.grant();
      const { jti } = decodeJwt(access_token);
      const response = await world.introspect(access_token);
      assert.deepEqual(response.headers, JSON_HEADERS);
      assert.deepEqual(members(response), {
        active: true,
        scope: 'openid profile email read write',
        client_id: 'web',
        token_type: 'Bearer',
        username: 'alice',
        exp: world.clock.seconds + 3600,
        iat: world.clock.seconds,
        sub: 'alice',
        aud: ISSUER,
        iss: ISSUER,
        jti,
        auth_time: world.clock.seconds,
      });
    },
  );

  spec.http('grantd §5.1 a token that lacks what the caller needs is inactive for it', async (world) => {
    const { access_token, refresh_token } = await world.grant();
    const asked = async (token: string, needs: readonly (readonly [string, string])[]) => {
      const body = new URLSearchParams([['token', token], ...needs.map((need) => [...need])]).toString();
      const headers = {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: basic('api'),
      };
      const response = await world.send({ method: 'POST', path: '/token/introspect', headers, body });
      return response.status === 200 ? members(response).active : JSON.parse(response.body).error;
    };
    for (const [needs, ofAccess, ofRefresh] of [
      [[], true, true],
      [[['scope', 'read']], true, false],
      [[['scope', 'write read']], true, false],
      [[['scope', 'read delete']], false, false],
      [[['scope', 'rea']], false, false],
      [[['scope', '']], true, true],
      [[['scope', 'a"b']], 'invalid_scope', 'invalid_scope'],
      [[['resource', ISSUER]], true, false],
      [[['resource', 'https://other.example']], false, false],
      [
        [
          ['resource', ISSUER],
          ['resource', 'https://other.example'],
        ],
        false,
        false,
      ],
      [
        [
          ['resource', ISSUER],
          ['scope', 'read'],
        ],
        true,
        false,
      ],
      [
        [
          ['resource', ISSUER],
          ['scope', 'delete'],
        ],
        false,
        false,
      ],
    ] as const) {
      assert.equal(await asked(access_token, needs), ofAccess, `access token: ${JSON.stringify(needs)}`);
      assert.equal(await asked(refresh_token, needs), ofRefresh, `refresh token: ${JSON.stringify(needs)}`);
    }
  });

  for (const format of ['jwt', 'opaque'] as const) {
    spec(
      `grantd §5.6 acr, auth_time, amr and sid are returned if the token has them (${format})`,
      async (world) => {
        const signIn = { auth_time: world.clock.seconds - 9, acr: 'urn:acr:2', amr: ['pwd', 'otp'] };
        const { access_token, refresh_token } = await signedIn(world, signIn);
        const { active, sid, auth_time, acr, amr } = members(await world.introspect(access_token));
        assert.deepEqual([active, sid, { auth_time, acr, amr }], [true, undefined, signIn]);
        const refresh = members(await world.introspect(refresh_token));
        assert.deepEqual(
          [refresh.sid, refresh.auth_time, refresh.acr, refresh.amr],
          ['the session', ...Object.values(signIn)],
        );
        const machine = members(await world.introspect(await world.machineToken()));
        assert.deepEqual(
          Object.keys(machine).filter((name) => ['sid', 'auth_time', 'acr', 'amr'].includes(name)),
          [],
        );
      },
      { accessTokenFormat: format, useOpaqueRefreshTokens: format === 'opaque', acrValues: ['urn:acr:2'] },
    );
  }

  spec('grantd §5.4 a live refresh token has its own expiry and no token_type', async (world) => {
    const { refresh_token } = await world.grant();
    const answer = members(await world.introspect(refresh_token));
    assert.equal(answer.active, true);
    assert.equal(answer.exp, world.clock.seconds + 14 * 24 * 60 * 60);
    assert.equal('token_type' in answer, false);
  });

  spec('grantd §5.4 a client’s own token has no username, and the client as its subject', async (world) => {
    const answer = members(await world.introspect(await world.machineToken()));
    assert.deepEqual([answer.active, answer.sub, 'username' in answer], [true, 'machine', false]);
  });

  spec('grantd §5.4 scope is a single scope, or absent for a token without scopes', async (world) => {
    for (const scopes of [['read'], []]) {
      const [issued] = await world.server.operator.issueTokens({ clientId: 'machine', scopes });
      const response = await world.introspect(issued?.accessToken ?? '');
      assert.deepEqual(members(response).scope, scopes[0]);
    }
  });

  spec('grantd §5.4 a refresh token has the same members without HTTP', async (world) => {
    const { refresh_token } = await world.grant();
    const answer = members(await world.introspect(refresh_token));
    assert.deepEqual(await world.server.introspectToken(refresh_token), answer);
  });

  spec('grantd §9.1 the event for an expired token has its identifier', async (world) => {
    const { access_token } = await world.grant();
    const { jti, exp = 0 } = decodeJwt(access_token);
    world.clock.nowMs = exp * 1000;
    world.events.length = 0;
    await world.introspect(access_token);
    assert.deepEqual(world.events, [
      { operation: 'introspection', clientId: 'api', type: 'inactive', reason: 'expired', tokenId: jti },
    ]);
  });

  spec(
    'grantd §5.4 an opaque access token is described like a JWT',
    async (world) => {
      const { access_token } = await world.grant();
      assert.match(access_token, /^grantd_at_/);
      const answer = members(await world.introspect(access_token));
      assert.equal(typeof answer.jti, 'string');
      assert.deepEqual(
        [answer.active, answer.client_id, answer.username, answer.sub, answer.aud, answer.exp],
        [true, 'web', 'alice', 'alice', ISSUER, world.clock.seconds + 3600],
      );
    },
    { accessTokenFormat: 'opaque' },
  );

  spec(
    'grantd §5.4 an opaque refresh token is read by getByRefreshToken and described',
    async (world) => {
      const { refresh_token } = await world.grant();
      assert.match(refresh_token, /^grantd_rt_/);
      const { active, jti } = members(await world.introspect(refresh_token));
      assert.equal(active, true);
      assert.equal(String(jti).includes(refresh_token.slice(-20)), false, 'jti gives the token away');
      const { refresh_token: next } = await world.rotated(refresh_token);
      const later = members(await world.introspect(next));
      assert.equal(String(later.jti).includes(next.slice(-20)), false, 'jti gives the token away');
    },
    { useOpaqueRefreshTokens: true },
  );

  spec(
    'grantd §5.4 an audience that was issued as a list is returned as a list',
    async (world) => {
      const answer = members(await world.introspect(await world.machineToken()));
      assert.deepEqual(answer.aud, ['https://api.example', 'https://b.example']);
    },
    { defaultAudience: ['https://api.example', 'https://b.example'] },
  );

  spec('grantd §3.3 a wrong hint changes nothing: the kind is found from the token itself', async (world) => {
    const { access_token, refresh_token } = await world.grant();
    for (const token of [access_token, refresh_token]) {
      const without = await world.introspect(token);
      assert.equal(members(without).active, true);
      for (const hint of ['access_token', 'refresh_token', '']) {
        assert.deepEqual(await world.introspect(token, 'api', hint), without);
      }
    }
  });

  spec('grantd §3.3 an unknown hint is refused with unsupported_token_type', async (world) => {
    const { access_token } = await world.grant();
    const expected = badRequest('unsupported_token_type', 'the token_type_hint is unknown');
    assert.deepEqual(await world.introspect(access_token, 'api', 'id_token'), expected);
  });

  spec(
    'grantd §3.3 with ignoreUnknownTokenTypeHints an unknown hint is ignored at both endpoints',
    async (world) => {
      const { access_token } = await world.grant();
      const without = await world.introspect(access_token);
      assert.equal(members(without).active, true);
      assert.deepEqual(await world.introspect(access_token, 'api', 'id_token'), without);
      assert.equal((await world.revoke(access_token, 'web', 'bearer')).status, 200);
      assert.deepEqual(await world.introspect(access_token), INACTIVE);
    },
    { ignoreUnknownTokenTypeHints: true },
  );

  spec(
    'grantd §3.3 the operator lets one client send unknown hints; others are refused as before',
    async (world) => {
      const { secrets, ...api } = (await world.storage.clients.get('api')) ?? assert.fail();
      const metadata = { ignore_unknown_token_type_hint: true };
      const basis = { generation: api.generation ?? 0, revision: api.revision ?? 0 };
      const tolerated = { ...api, ...(secrets !== undefined && { secrets }), metadata };
      assert.equal(await world.storage.clients.replace(tolerated, basis), true);
      const { access_token } = await world.grant();
      assert.equal(members(await world.introspect(access_token, 'api', 'id_token')).active, true);
      assert.equal((await world.introspect(access_token, 'web', 'id_token')).status, 400);
      assert.equal((await world.revoke(access_token, 'api', 'id_token')).status, 200);
      assert.equal((await world.revoke(access_token, 'web', 'id_token')).status, 400);
      const wrong = { authorization: basic('api', 'wrong') };
      const form = { token: access_token, token_type_hint: 'id_token' };
      assert.deepEqual(await world.post('/token/introspect', form, null, wrong), REFUSED);
    },
  );

  spec(
    'grantd §5.5 with the hint auth_code the response is inactive, for a live code and a live token alike',
    async (world) => {
      const { access_token } = await world.grant();
      for (const token of [await world.code(), access_token]) {
        assert.deepEqual(await world.introspect(token, 'api', 'auth_code'), INACTIVE);
      }
    },
  );

  spec('grantd §5.5 an authorization code is inactive without a hint too', async (world) => {
    assert.deepEqual(await world.introspect(await world.code()), INACTIVE);
  });

  spec(
    'grantd §5.5 a JWT whose signature does not verify is {"active":false} and nothing more',
    async (world) => {
      const { access_token } = await world.grant();
      assert.deepEqual(await world.introspect(withBrokenSignature(access_token)), INACTIVE);
      assert.equal(world.lastReason, 'bad_signature');
    },
  );

  spec(
    'grantd §5.5 a JWT with an unknown kid, no kid, or the algorithm none is {"active":false}',
    async (world) => {
      const { access_token } = await world.grant();
      const [, payload = '', signature = ''] = access_token.split('.');
      for (const header of [
        { alg: 'RS256', kid: 'unknown' },
        { alg: 'RS256' },
        { alg: 'none' },
        { alg: 'HS256', kid: 1 },
      ]) {
        const forged = [
          btoa(JSON.stringify({ typ: 'at+jwt', ...header })).replaceAll('=', ''),
          payload,
          signature,
        ];
        assert.deepEqual(await world.introspect(forged.join('.')), INACTIVE);
      }
    },
  );

  spec.http('grantd §5.5 whatever is no token at all is {"active":false}', async (world) => {
    for (const text of [
      'x',
      'a.b.c',
      '..',
      'grantd_at_short',
      `grantd_at_${'A'.repeat(43)}`,
      'grantd_xx_',
      'ä',
      '\u0000',
      ' ',
    ]) {
      assert.deepEqual(await world.introspect(text), INACTIVE, JSON.stringify(text));
    }
  });

  spec('grantd §5.5 a token whose record is gone from storage is {"active":false}', async (world) => {
    const token = await signedLike(world, {});
    assert.deepEqual(await world.introspect(token), INACTIVE);
    assert.equal(world.lastReason, 'no_record');
  });

  spec(
    'grantd §5.5 an expired token is {"active":false} and nothing more, from the exact second of its exp',
    async (world) => {
      const { access_token } = await world.grant();
      const { exp = 0 } = decodeJwt(access_token);
      world.clock.nowMs = exp * 1000 - 1;
      assert.equal(members(await world.introspect(access_token)).active, true);
      world.clock.nowMs = exp * 1000;
      assert.deepEqual(await world.introspect(access_token), INACTIVE);
      assert.equal(world.lastReason, 'expired');
    },
  );

  spec('grantd §5.5 an expired refresh token is {"active":false}', async (world) => {
    const { refresh_token } = await world.grant();
    world.clock.advance(14 * 24 * 60 * 60);
    assert.deepEqual(await world.introspect(refresh_token), INACTIVE);
  });

  spec('grantd §5.5 a revoked access token is {"active":false}', async (world) => {
    const { access_token } = await world.grant();
    await world.revoke(access_token);
    assert.deepEqual(await world.introspect(access_token), INACTIVE);
  });

  spec('grantd §5.5 a revoked refresh token is {"active":false}', async (world) => {
    const { refresh_token } = await world.grant();
    await world.revoke(refresh_token);
    assert.deepEqual(await world.introspect(refresh_token), INACTIVE);
  });

  spec('grantd §5.5 a rotated refresh token is {"active":false}, its successor is active', async (world) => {
    const { refresh_token } = await world.grant();
    const rotated = JSON.parse((await world.refresh(refresh_token)).body);
    assert.deepEqual(await world.introspect(refresh_token), INACTIVE);
    assert.equal(members(await world.introspect(rotated.refresh_token)).active, true);
  });

  spec(
    'grantd §2.3 a forged JWT with the jti of a live record is {"active":false}, though its key is ours',
    async (world) => {
      const { access_token } = await world.grant();
      const { jti } = decodeJwt(access_token);
      const forged = await signedLike(world, { jti: String(jti), scope: 'admin', sub: 'bob' });
      assert.deepEqual(await world.introspect(forged), INACTIVE);
      assert.equal(world.lastReason, 'differs_from_issued');
    },
  );

  spec('grantd §2.1 an ID token is no token for introspection', async (world) => {
    const { id_token } = await world.grant();
    assert.deepEqual(await world.introspect(id_token), INACTIVE);
    assert.equal(world.lastReason, 'wrong_type');
  });

  spec(
    'grantd §5.3 a confidential client may ask about the tokens of any other, without the grant client_credentials',
    async (world) => {
      const { access_token } = await world.grant();
      assert.equal(members(await world.introspect(access_token, 'api')).active, true);
      assert.equal(members(await world.introspect(access_token, 'machine')).active, true);
      assert.equal(members(await world.introspect(access_token, 'web')).active, true);
    },
  );

  spec(
    'grantd §5.7 introspection changes nothing: repeated requests get the same response',
    async (world) => {
      const { access_token, refresh_token } = await world.grant();
      for (const token of [access_token, refresh_token]) {
        const first = await world.introspect(token);
        assert.deepEqual(await world.introspect(token), first);
      }
    },
  );

  spec.http(
    'grantd §4.4 client authentication that fails is 401 invalid_client with a challenge',
    async (world) => {
      const { access_token: token } = await world.grant();
      const form = { token };
      const attempts = [
        await world.post('/token/introspect', form),
        await world.post('/token/introspect', form, null, { authorization: basic('api', 'wrong') }),
        await world.post('/token/introspect', form, null, { authorization: basic('nobody') }),
        await world.post('/token/introspect', { ...form, client_id: 'api' }),
        await world.post('/token/introspect', { ...form, client_id: 'api', client_secret: 'wrong' }),
      ];
      for (const response of attempts)
        assert.deepEqual(withoutDescription(response), withoutDescription(REFUSED));
    },
  );

  spec.http('grantd §4.2 credentials in the form body work like Basic', async (world) => {
    const { access_token: token } = await world.grant();
    const form = { token, client_id: 'api', client_secret: 'the secret of api' };
    assert.equal(members(await world.post('/token/introspect', form)).active, true);
  });

  spec('grantd §5.2 a public client gets 401 invalid_client', async (world) => {
    const { access_token: token } = await world.grant();
    assert.deepEqual(await world.post('/token/introspect', { token, client_id: 'spa' }), REFUSED);
  });

  spec(
    'grantd §5.2 a public client may ask if introspectionRequiresConfidentialClient is false',
    async (world) => {
      const { access_token: token } = await world.grant();
      assert.equal(members(await world.post('/token/introspect', { token, client_id: 'spa' })).active, true);
    },
    { introspectionRequiresConfidentialClient: false },
  );

  spec(
    'grantd §4.1 without authentication only token and hint are sent, whatever introspectionRequiresConfidentialClient says',
    async (world) => {
      const { access_token } = await world.grant();
      assert.equal(members(await world.introspect(access_token, null)).active, true);
      assert.equal(members(await world.introspect(access_token, null, 'refresh_token')).active, true);
    },
    { authenticateIntrospect: false, introspectionRequiresConfidentialClient: true },
  );

  spec.http('grantd §3.2 a missing or empty token is 400 invalid_request', async (world) => {
    const expected = badRequest('invalid_request', 'the parameter token is missing');
    assert.deepEqual(await world.post('/token/introspect', {}, 'api'), expected);
    assert.deepEqual(await world.introspect(''), expected);
  });

  spec.http(
    'grantd §3.1 a repeated parameter, and another media type, are 400 invalid_request',
    async (world) => {
      const headers = { authorization: basic('api'), 'content-type': 'application/x-www-form-urlencoded' };
      const send = (body: string, contentType: string) =>
        world.send({
          method: 'POST',
          path: '/token/introspect',
          headers: { ...headers, 'content-type': contentType },
          body,
        });
      assert.deepEqual(
        await send('token=a&token=b', 'application/x-www-form-urlencoded'),
        badRequest('invalid_request', 'a parameter is repeated'),
      );
      assert.deepEqual(
        await send('{"token":"a"}', 'application/json'),
        badRequest('invalid_request', 'the content type must be application/x-www-form-urlencoded'),
      );
    },
  );

  spec.http(
    'grantd §1.4 another method is 405 with Allow, and OPTIONS is no exception: no page may introspect',
    async (world) => {
      for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) {
        const headers = { authorization: basic('api'), origin: 'https://web.example' };
        const response = await world.send({ method, path: '/token/introspect?token=x', headers });
        assert.deepEqual(response, {
          status: 405,
          headers: { ...JSON_HEADERS, allow: 'POST' },
          body: '{"error":"invalid_request","error_description":"the method is not allowed"}',
        });
      }
    },
  );

  spec.http('grantd §3.4 a body of more than 64 KiB is 413', async (world) => {
    const response = await world.introspect('x'.repeat(64 * 1024));
    assert.deepEqual([response.status, JSON.parse(response.body).error], [413, 'invalid_request']);
  });

  spec.http('grantd §3.5 responses and errors are JSON whatever Accept says', async (world) => {
    const { access_token: token } = await world.grant();
    const headers = { accept: 'text/html' };
    const good = await world.post('/token/introspect', { token }, 'api', headers);
    const bad = await world.post('/token/introspect', {}, 'api', headers);
    assert.deepEqual([good.headers, bad.headers], [JSON_HEADERS, JSON_HEADERS]);
  });
});

/** A JWT with a valid signature of the server's own key, which the server never issued. */
async function signedLike(world: World, claims: Record<string, string>): Promise<string> {
  const { kid, privateKey } = await stolenKey(world);
  const now = world.clock.seconds;
  return new SignJWT({ jti: 'never-issued', client_id: 'web', scope: 'openid', sub: 'alice', ...claims })
    .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid })
    .setIssuer(ISSUER)
    .setIssuedAt(now)
    .setExpirationTime(now + 3600)
    .sign(privateKey);
}

function withBrokenSignature(token: string): string {
  const [header, payload, signature = ''] = token.split('.');
  const first = signature.startsWith('A') ? 'B' : 'A';
  return [header, payload, first + signature.slice(1)].join('.');
}

function withoutDescription({ status, headers, body }: TestResponse) {
  return { status, headers, error: JSON.parse(body).error };
}

test('grantd §9.1 a caller that was answered is reported with the identifier of the request', async (t) => {
  const events: ServerEvent[] = [];
  const world = await openWorld(t, { onEvent: (event) => events.push(event) });
  const headers = { authorization: basic('api'), 'content-type': 'application/x-www-form-urlencoded' };
  const request = {
    method: 'POST',
    url: '/token/introspect',
    headers,
    body: 'token=grantd_at_x',
    id: 'request 7',
  };
  await world.server.introspect(request);
  const call = { operation: 'introspection', requestId: 'request 7', clientId: 'api' };
  assert.deepEqual(events, [
    { ...call, type: 'inactive', reason: 'malformed' },
    { ...call, type: 'answered' },
  ]);
});

test('grantd §9.1 every request at an endpoint ends with one event, with and without a client', async (t) => {
  const ends: (readonly [string, string])[] = [];
  const onEvent = ({ type, operation }: ServerEvent) =>
    (type === 'answered' || type === 'refused') && ends.push([operation, type]);
  const world = await openWorld(t, { onEvent });
  for (const [method, url] of [
    ['GET', '/jwks'],
    ['GET', '/.well-known/oauth-authorization-server'],
    ['GET', '/userinfo'],
    ['POST', '/token'],
    ['OPTIONS', '/token'],
    ['GET', '/nowhere'],
  ] as const) {
    await world.server.handle({ method, url, headers: {} });
  }
  assert.deepEqual(ends, [
    ['jwks', 'answered'],
    ['metadata', 'answered'],
    ['userinfo', 'refused'],
    ['token', 'refused'],
  ]);
});

/** Tokens of a sign-in with more details than the harness has by default. */
async function signedIn(
  world: World,
  { auth_time, acr, amr }: { auth_time: number; acr: string; amr: readonly string[] },
): Promise<{ access_token: string; refresh_token: string }> {
  const { redirectUris } = CLIENTS.web;
  const query = new URLSearchParams({
    client_id: 'web',
    response_type: 'code',
    redirect_uri: redirectUris[0],
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    scope: 'openid read',
  });
  const request = await world.server.authorization.validate({
    method: 'GET',
    url: `/authorize?${query}`,
    headers: {},
  });
  const approval = { subject: 'alice', authTime: auth_time, acr, amr, sessionId: 'the session' };
  const { headers } = await world.server.authorization.complete(request, approval);
  const code = new URL(String(headers.location)).searchParams.get('code') ?? '';
  return JSON.parse((await world.redeem(code)).body);
}
