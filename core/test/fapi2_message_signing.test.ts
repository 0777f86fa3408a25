// § refers to FAPI 2.0 Message Signing.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { AuthorizationServer, type ClientMetadata, type ProfileName } from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { exactly, refused, USUAL } from './harness/authorization_endpoint.ts';
import { addFapiClient, type FapiClient, requestUriIn, tokensIn } from './harness/fapi_client.ts';
import { openRegistration, postRegistration, register } from './harness/registration.ts';
import { errorOf, OPEN_JSON_HEADERS } from './harness/responses.ts';
import { CLIENTS, ISSUER, openWorld, SECRET, type World, type WorldOptions } from './harness/world.ts';

const PROFILE: ProfileName = 'fapi2-message-signing';

/** The profile is the server's, the client's own, or the client's at a server with the weaker one. */
const WAYS = [
  ['of the server', { profile: PROFILE }, {}],
  ['of the client', {}, { profile: PROFILE }],
  [
    'of the client, at a server with the Security Profile',
    { profile: 'fapi2-security' },
    { profile: PROFILE },
  ],
  [
    'of the server, for a client with the Security Profile',
    { profile: PROFILE },
    { profile: 'fapi2-security' },
  ],
] as const satisfies readonly (readonly [string, WorldOptions, ClientMetadata])[];

const MODES = ['jwt', 'query.jwt', 'fragment.jwt', 'form_post.jwt'] as const;

/** The claims of a response JWT, and its algorithm. */
function answered(location: unknown): { readonly alg: unknown; readonly claims: Record<string, unknown> } {
  const { searchParams } = new URL(String(location));
  assert.deepEqual([...searchParams.keys()], ['response']);
  const jwt = searchParams.get('response') ?? '';
  return { alg: decodeProtectedHeader(jwt).alg, claims: decodeJwt(jwt) };
}

for (const [way, options, own] of WAYS) {
  const opened = async (
    t: Parameters<typeof openWorld>[0],
    metadata: ClientMetadata = {},
  ): Promise<{ world: World; bank: FapiClient }> => {
    const world = await openWorld(t, options);
    return { world, bank: await addFapiClient(world, { ...metadata, ...own }) };
  };

  /** Each refused request object, with the reason. */
  const refuses = async (
    world: World,
    bank: FapiClient,
    claims: Readonly<Record<string, unknown>>,
    description: string,
    reason = 'request_object_wrong_claims',
  ) => {
    const response = await bank.pushSigned(claims);
    const expected = errorOf(400, 'invalid_request_object', description, OPEN_JSON_HEADERS);
    assert.deepEqual([response, world.lastReason], [expected, reason]);
  };

  describe(`FAPI 2.0 Message Signing, ${way}`, () => {
    test('§5.3.1, §5.4.1 the whole flow: a signed request, a signed response, and tokens', async (t) => {
      const { world, bank } = await opened(t);
      const { headers } = await bank.answer(requestUriIn(await bank.pushSigned()));
      const { alg, claims } = answered(headers.location);
      assert.equal(alg, 'PS256');
      const { code, exp, ...others } = claims;
      assert.deepEqual(others, { iss: ISSUER, aud: bank.id, state: USUAL.state });
      assert.equal(Number(exp) > world.clock.seconds, true);
      const tokens = tokensIn(await bank.redeem(String(code)));
      assert.equal(tokens.token_type, 'DPoP');
      assert.equal(tokensIn(await bank.refresh(tokens.refresh_token)).refresh_token, tokens.refresh_token);
      assert.deepEqual(world.events, []);
    });

    test('§5.3.1 (1) a pushed request without a request object is refused', async (t) => {
      const { world, bank } = await opened(t, { require_signed_request_object: false });
      const response = await bank.push({ response_mode: 'jwt' });
      const description = 'the request must be a signed request object';
      const expected = errorOf(400, 'invalid_request', description, OPEN_JSON_HEADERS);
      assert.deepEqual([response, world.lastReason], [expected, 'request_object_missing']);
    });

    test('§5.3.1 (1) parameters outside of the request object do not count', async (t) => {
      const { world, bank } = await opened(t);
      const form = { ...(await bank.requestObject()), scope: 'openid profile', state: 'other' };
      const requestUri = requestUriIn(await bank.post('/par', form));
      const sent = exactly({ client_id: bank.id, request_uri: requestUri });
      const { scopes, state } = await world.server.authorization.validate(sent);
      assert.deepEqual([scopes, state], [USUAL.scope.split(' '), USUAL.state]);
    });

    test('§5.3.1 (2) a request object names this server in aud, alone or in a list', async (t) => {
      const { world, bank } = await opened(t);
      await refuses(world, bank, { aud: undefined }, 'the request object has no aud');
      for (const aud of ['https://other.example', [], `${ISSUER}/par`])
        await refuses(world, bank, { aud }, 'the request object is not for this server');
      for (const aud of [ISSUER, [ISSUER], [ISSUER, 'https://other.example']])
        requestUriIn(await bank.pushSigned({ aud }));
    });

    test('§5.3.1 (3, 4) a request object has nbf and exp, at most 60 minutes old and long', async (t) => {
      const { world, bank } = await opened(t);
      const now = world.clock.seconds;
      const tooLong = 'the request object is valid for more than 60 minutes';
      await refuses(world, bank, { nbf: undefined }, 'the request object has no nbf');
      await refuses(world, bank, { exp: undefined }, 'the request object has no exp');
      await refuses(world, bank, { nbf: now - 3601, exp: now + 60 }, tooLong);
      await refuses(world, bank, { nbf: now, exp: now + 3601 }, tooLong);
      await refuses(world, bank, { nbf: now - 60, exp: now }, 'the request object is not valid at this time');
      requestUriIn(await bank.pushSigned({ nbf: now - 3599, exp: now + 1 }));
      requestUriIn(await bank.pushSigned({ nbf: now, exp: now + 3600 }));
    });

    test('§5.3.1, FAPI 2.0 Security Profile §5.3.2.1 (13) nbf may be ten seconds ahead, but not more than a minute', async (t) => {
      const { world, bank } = await opened(t);
      const now = world.clock.seconds;
      requestUriIn(await bank.pushSigned({ nbf: now + 10, exp: now + 70 }));
      await refuses(
        world,
        bank,
        { nbf: now + 61, exp: now + 90 },
        'the request object is not valid at this time',
      );
    });

    test('§5.3.1 (5) a request object may have the type oauth-authz-req+jwt', async (t) => {
      const { world, bank } = await opened(t);
      for (const typ of ['oauth-authz-req+jwt', 'JWT', undefined])
        requestUriIn(await bank.pushSigned({}, { typ }));
      const response = await bank.pushSigned({}, { typ: 'at+jwt' });
      assert.deepEqual([response.status, world.lastReason], [400, 'request_object_wrong_claims']);
    });

    test('§5.4.1 (1) a request without a response mode of JARM is refused', async (t) => {
      const { world, bank } = await opened(t, { response_modes: ['query', 'jwt'] });
      const description = 'the response_mode is not allowed';
      const expected = errorOf(400, 'invalid_request', description, OPEN_JSON_HEADERS);
      for (const response_mode of ['query', 'fragment', 'form_post', undefined]) {
        const response = await bank.pushSigned({ response_mode });
        assert.deepEqual([response, world.lastReason], [expected, 'response_mode_not_allowed']);
      }
    });

    for (const response_mode of MODES)
      test(`§5.4.1 (1) a response by ${response_mode} is a JWT, also if the user refuses`, async (t) => {
        const { world, bank } = await opened(t);
        const request_uri = requestUriIn(await bank.pushSigned({ response_mode }));
        const { authorization } = world.server;
        const request = await authorization.validate(exactly({ client_id: bank.id, request_uri }));
        const { headers, body } = await authorization.refuse(request, 'access_denied', 'the user refused');
        const sent = `${headers.location ?? ''}${body}`;
        const [, jwt = ''] =
          /[?#]response=([\w.-]+)$|name="response" value="([\w.-]+)"/.exec(sent)?.filter(Boolean) ?? [];
        assert.deepEqual([decodeProtectedHeader(jwt).alg, decodeJwt(jwt).error], ['PS256', 'access_denied']);
        assert.doesNotMatch(sent, /access_denied/);
      });

    test('§5.4.1 (1) an early refusal is a JWT too, if the browser names the redirect URI', async (t) => {
      const { world, bank } = await opened(t);
      const request_uri = 'urn:ietf:params:oauth:request_uri:unknown';
      const { redirect_uri, state } = USUAL;
      const sent = exactly({ client_id: bank.id, request_uri, redirect_uri, state });
      const { headers } = await refused(world.server.authorization.validate(sent));
      const { claims } = answered(headers.location);
      assert.deepEqual([claims.error, claims.state], ['invalid_request_uri', state]);
    });

    test('§5.4.1 (1) a stored empty list of response modes lets no refusal leave unsigned', async (t) => {
      const { world, bank } = await opened(t, { response_modes: [] });
      const { redirect_uri } = USUAL;
      const refusal = await refused(
        world.server.authorization.validate(exactly({ client_id: bank.id, redirect_uri })),
      );
      assert.equal(answered(refusal.headers.location).claims.error, 'invalid_request');
      await bank.pushSigned().then(requestUriIn);
    });

    test('§5.4.1 (1) the response is signed with the registered algorithm of the profile', async (t) => {
      for (const [registered, used] of [
        ['ES256', 'ES256'],
        ['RS256', 'PS256'],
      ] as const) {
        const { bank } = await opened(t, { authorization_signed_response_alg: registered });
        const { headers } = await bank.answer(requestUriIn(await bank.pushSigned()));
        assert.equal(answered(headers.location).alg, used);
      }
    });

    test('§5.5.1 (1) an introspection response in JWT format is signed, by an algorithm of the profile', async (t) => {
      const { world, bank } = await opened(t);
      const code = answered((await bank.answer(requestUriIn(await bank.pushSigned()))).headers.location)
        .claims.code;
      const { access_token } = tokensIn(await bank.redeem(String(code)));
      const api = { ...CLIENTS.api, id: 'caller', resource: ISSUER };
      const caller = await addFapiClient(world, own, api);
      const body = await caller.introspectAsJwt(access_token);
      const { alg, typ } = decodeProtectedHeader(body);
      assert.deepEqual([alg, typ], ['PS256', 'token-introspection+jwt']);
      const { token_introspection, aud } = decodeJwt(body);
      assert.equal(aud, 'caller');
      assert.equal((token_introspection as { active: boolean }).active, true);
    });

    test('§5.6.1, FAPI 2.0 Security Profile §5.4.1 (1) ID tokens are signed', async (t) => {
      const { bank } = await opened(t);
      const code = answered((await bank.answer(requestUriIn(await bank.pushSigned()))).headers.location)
        .claims.code;
      const { id_token } = tokensIn(await bank.redeem(String(code)));
      assert.equal(decodeProtectedHeader(id_token).alg, 'PS256');
    });
  });
}

// ── The server's option ───────────────────────────────────────────────────────────────────────────────────────

test('§5.3.1, §6.2 options that contradict the profile are refused at the start', () => {
  const required = { issuer: ISSUER, secret: SECRET, storage: memoryStorage(), profile: PROFILE };
  for (const [options, name, expected] of [
    [{ strictRequestObjects: false }, 'strictRequestObjects', 'true'],
    [{ introspectionPolicy: 'any_client' }, 'introspectionPolicy', 'audience or a function'],
    [{ idTokenAlgorithm: 'RS256' }, 'idTokenAlgorithm', 'one of PS256, ES256, EdDSA, Ed25519'],
  ] as const)
    assert.throws(() => new AuthorizationServer({ ...required, ...options }), {
      name: 'ConfigurationError',
      message: `${name}: expected ${expected}, because of the profile ${PROFILE}`,
    });
  new AuthorizationServer({ ...required, introspectionPolicy: () => true });
});

test('§6.2 a client that is no API of the token learns nothing by introspection', async (t) => {
  const world = await openWorld(t, { profile: PROFILE });
  const [bank, other] = [await addFapiClient(world), await addFapiClient(world, {}, { id: 'other' })];
  const { location } = (await bank.answer(requestUriIn(await bank.pushSigned()))).headers;
  const { access_token } = tokensIn(await bank.redeem(String(answered(location).claims.code)));
  const { body } = await other.post('/token/introspect', { token: access_token });
  assert.deepEqual([body, world.lastReason], ['{"active":false}', 'policy']);
});

test('§5.3.1, §5.4.1, RFC 9101 §10.5 the metadata say that requests and responses are signed', async (t) => {
  const { serverMetadata } = (await openWorld(t, { profile: PROFILE })).server;
  assert.equal(serverMetadata.require_signed_request_object, true);
  assert.deepEqual(serverMetadata.response_modes_supported, [
    'query.jwt',
    'fragment.jwt',
    'form_post.jwt',
    'jwt',
  ]);
});

test('§5.3.1, §5.4.1 a client that registers itself gets what the profile requires', async (t) => {
  const world = await openWorld(t, { profile: PROFILE, ...openRegistration() });
  const sent = { redirect_uris: ['https://app.example/callback'], jwks_uri: 'https://app.example/jwks' };
  const { metadata } = await register(world, sent);
  assert.equal(metadata.require_signed_request_object, true);
  assert.deepEqual(metadata.response_modes, ['query.jwt', 'fragment.jwt', 'form_post.jwt', 'jwt']);
  for (const response_modes of [[], ['jwt', 'query']])
    assert.equal((await postRegistration(world, { ...sent, response_modes })).status, 400);
});

// ── response_modes without a profile ──────────────────────────────────────────────────────────────────────────

test('§5.3.3 a client may use the response modes that it is registered for, and gets refusals by them', async (t) => {
  const world = await openWorld(t, openRegistration());
  const redirect_uri = 'https://app.example/callback';
  const { client_id, metadata } = await register(world, {
    redirect_uris: [redirect_uri],
    response_modes: ['fragment', 'form_post'],
  });
  assert.deepEqual(metadata.response_modes, ['fragment', 'form_post']);
  const request = { ...USUAL, client_id, redirect_uri, scope: 'openid' };
  for (const response_mode of ['fragment', 'form_post']) {
    const { responseMode } = await world.server.authorization.validate(
      exactly({ ...request, response_mode }),
    );
    assert.equal(responseMode, response_mode);
  }
  for (const response_mode of ['query', 'jwt', undefined]) {
    const sent = exactly({ ...request, response_mode });
    const error = await world.server.authorization.validate(sent).catch((refusal: unknown) => refusal);
    const { redirectTo = '' } = error as { readonly redirectTo?: string };
    assert.match(redirectTo, /^https:\/\/app\.example\/callback#error=invalid_request&/);
    assert.equal(world.lastReason, 'response_mode_not_allowed');
  }
});

test('§5.3.3 an unknown response mode cannot be registered', async (t) => {
  const world = await openWorld(t, openRegistration());
  const { operator } = world.server;
  const members = { grant_types: ['client_credentials'], response_modes: ['web_message'] };
  await assert.rejects(
    operator.clientFrom({ id: 'app' }, members),
    /^ClientMetadataError: response_modes: expected/,
  );
});
