// § refers to FAPI 2.0 Security Profile.
// Long: the rules of one specification, in its order.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  AuthorizationServer,
  type AuthorizationServerOptions,
  CLIENT_ALGORITHMS,
  type ClientCertificate,
  type ClientMetadata,
  ConfigurationError,
  type ProfileName,
} from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { decodeJwt, decodeProtectedHeader, exportJWK, exportPKCS8, importPKCS8, SignJWT } from 'jose';
import { sha256 } from '#crypto';
import { ALL_OPTIONS, REGISTRATION_OPTIONS } from '../src/options/options.ts';
import { resolveOptions } from '../src/options/resolved.ts';
import { PROFILES } from '../src/protocol/profile.ts';
import { codeIn, exactly, refusalOf, refused, shown, USUAL } from './harness/authorization_endpoint.ts';
import { newCertificate, presented } from './harness/certificates.ts';
import { clientKey } from './harness/client_keys.ts';
import { PAR_URL, USERINFO_URL } from './harness/dpop_proofs.ts';
import { addFapiClient, FapiClient, requestUriIn, tokensIn } from './harness/fapi_client.ts';
import {
  CALLBACK as OWN_CALLBACK,
  openRegistration,
  postRegistration,
  register,
} from './harness/registration.ts';
import { CLIENT_REFUSED, errorOf, OPEN_JSON_HEADERS } from './harness/responses.ts';
import { secondServer } from './harness/second_server.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import {
  CLIENTS,
  ISSUER,
  openWorld,
  SECRET,
  VERIFIER,
  type World,
  type WorldOptions,
} from './harness/world.ts';

const PROFILE: ProfileName = 'fapi2-security';

/** The two ways in which a client gets a profile: it is the server's, or its own at a server with others. */
const WAYS = [
  ['of the server', { profile: PROFILE }, {}],
  ['of the client', {}, { profile: PROFILE }],
] as const satisfies readonly (readonly [string, WorldOptions, ClientMetadata])[];

function refusal(error: string, description: string, status = 400): TestResponse {
  return errorOf(status, error, description, OPEN_JSON_HEADERS);
}

function assertRefused(
  world: World,
  { status, headers, body }: TestResponse,
  expected: TestResponse,
  reason: string,
): void {
  const { 'dpop-nonce': _, ...others } = headers;
  assert.deepEqual([{ status, headers: others, body }, world.lastReason], [expected, reason]);
}

for (const [way, options, own] of WAYS) {
  /** A server and a client with the profile. */
  const opened = async (
    t: Parameters<typeof openWorld>[0],
    metadata: ClientMetadata = {},
    more: WorldOptions = {},
  ): Promise<{ world: World; bank: FapiClient }> => {
    const world = await openWorld(t, { ...options, ...more });
    return { world, bank: await addFapiClient(world, { ...own, ...metadata }) };
  };

  describe(`FAPI 2.0 Security Profile, ${way}`, () => {
    test('§5.3.2.1, §5.3.2.2 the whole flow: push, approve, redeem, UserInfo, refresh', async (t) => {
      const { world, bank } = await opened(t);
      const response = await bank.push();
      assert.deepEqual([response.status, JSON.parse(response.body).expires_in], [201, 60]);
      const answer = await bank.answer(requestUriIn(response));
      assert.equal(answer.status, 303);
      const { searchParams } = new URL(String(answer.headers.location));
      assert.deepEqual([...searchParams.keys()], ['code', 'state', 'iss']);
      assert.equal(searchParams.get('iss'), ISSUER);
      const tokens = tokensIn(await bank.redeem(codeIn(answer)));
      assert.equal(tokens.token_type, 'DPoP');
      const { status, body } = await bank.userInfo(tokens.access_token);
      assert.deepEqual([status, JSON.parse(body).sub], [200, 'alice']);
      const again = tokensIn(await bank.refresh(tokens.refresh_token));
      assert.equal(again.token_type, 'DPoP');
      assert.deepEqual(world.events, []);
    });

    test('§5.4.1 (4) codes and refresh tokens have 256 random bits, and access tokens are signed', async (t) => {
      const { bank } = await opened(t);
      const answer = await bank.answer(requestUriIn(await bank.push()));
      assert.match(codeIn(answer), /^grantd_ac_[\w-]{43}$/);
      const { access_token: access, refresh_token: refresh } = tokensIn(await bank.redeem(codeIn(answer)));
      assert.match(refresh, /^grantd_rt_[\w-]{43,}$/);
      assert.match(access, /^[\w-]+\.[\w-]+\.[\w-]{86,}$/);
    });

    test('§5.3.2.1 (3, 6) no secret and no identifier alone authenticates, whatever is stored', async (t) => {
      const { world } = await opened(t);
      const secrets = [await world.server.operator.hashClientSecret('the secret of old')];
      const form = { grant_type: 'client_credentials', scope: 'read' };
      const old = { ...CLIENTS.machine, id: 'old', grantTypes: [...CLIENTS.machine.grantTypes] } as const;
      await world.storage.clients.add({ ...old, secrets, metadata: own });
      const basic = { authorization: `Basic ${btoa('old:the+secret+of+old')}` };
      const attempts = [
        () => world.post('/token', form, null, basic),
        () => world.post('/token', { ...form, client_id: 'old', client_secret: 'the secret of old' }),
        () => world.post('/token', { ...form, client_id: 'old' }),
        () => world.post('/par', { ...USUAL, client_id: 'old' }),
        () => world.post('/token/introspect', { token: 'x' }, null, basic),
        () => world.post('/token/revoke', { token: 'x', client_id: 'old' }),
      ];
      for (const attempt of attempts) {
        const { status, body } = await attempt();
        assert.deepEqual([status, JSON.parse(body).error], [401, 'invalid_client']);
        assert.equal(world.lastReason, 'profile_method_refused');
      }
      const methods = ['client_secret_basic', 'client_secret_jwt', 'none'] as const;
      for (const method of methods) {
        const metadata = { ...own, token_endpoint_auth_method: method };
        await world.storage.clients.add({ ...old, id: method, secrets, metadata });
        const response = await world.post('/token', {
          ...form,
          client_id: method,
          client_secret: 'the secret of old',
        });
        assertRefused(world, response, CLIENT_REFUSED, 'profile_method_refused');
      }
    });

    test('§5.3.2.1 (4) no token is issued without a proof, for any grant', async (t) => {
      const { world, bank } = await opened(t, { dpop_bound_access_tokens: false });
      const missing = refusal('invalid_dpop_proof', 'a DPoP proof is required');
      assertRefused(
        world,
        await bank.redeem(await bank.code(), { proof: null }),
        missing,
        'dpop_proof_missing',
      );
      const { refresh_token } = await bank.grant();
      assertRefused(world, await bank.refresh(refresh_token, { proof: null }), missing, 'dpop_proof_missing');
      const job = await addFapiClient(world, own, { ...CLIENTS.machine, id: 'job' });
      const form = { grant_type: 'client_credentials', scope: 'read' };
      assertRefused(world, await job.post('/token', form, { proof: null }), missing, 'dpop_proof_missing');
      assert.equal(tokensIn(await job.post('/token', form)).token_type, 'DPoP');
    });

    test('§5.3.2.1 (4) an operator cannot issue a bearer token either', async (t) => {
      const { world, bank } = await opened(t);
      await assert.rejects(world.server.operator.issueTokens({ clientId: bank.id, subject: 'alice' }), {
        name: 'OperatorIssueError',
        message: 'the tokens of the client bank are bound to a key of its own',
      });
    });

    test('§5.3.2.1 (5) a client that is registered for certificates needs one instead of a proof', async (t) => {
      const bound = { tls_client_certificate_bound_access_tokens: true };
      const { world, bank } = await opened(t, bound, { clientCertificates: true });
      const code = await bank.code();
      const missing = refusal('invalid_request', 'a client certificate is required');
      assertRefused(world, await bank.redeem(code, { proof: null }), missing, 'client_certificate_missing');
      const certificate = presented(await newCertificate());
      const tokens = tokensIn(await bank.redeem(code, { proof: null, certificate }));
      assert.equal(tokens.token_type, 'Bearer');
      assert.deepEqual(Object.keys(decodeJwt(tokens.access_token).cnf ?? {}), ['x5t#S256']);
    });

    test('§5.3.2.1 (5, 6) a client authenticates by a certificate, and its tokens are bound to it', async (t) => {
      const made = await newCertificate();
      const x5c = [made.certificate.toString('base64')];
      const { world } = await opened(t, {}, { clientCertificates: true });
      await world.storage.clients.add({
        ...CLIENTS.machine,
        id: 'certified',
        grantTypes: ['client_credentials'],
        metadata: {
          ...own,
          token_endpoint_auth_method: 'self_signed_tls_client_auth',
          tls_client_certificate_bound_access_tokens: true,
          jwks: { keys: [{ ...(await exportJWK(made.keys.publicKey)), x5c }] },
        },
      });
      const send = (clientCertificate?: ClientCertificate) =>
        world.send({
          ...{ method: 'POST', path: '/token' },
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: 'grant_type=client_credentials&scope=read&client_id=certified',
          ...(clientCertificate && { clientCertificate }),
        });
      assertRefused(world, await send(), CLIENT_REFUSED, 'client_certificate_missing');
      const { access_token } = tokensIn(await send(presented(made)));
      assert.deepEqual(Object.keys(decodeJwt(access_token).cnf ?? {}), ['x5t#S256']);
    });

    test('§5.3.2.1 (8) the aud of an assertion is the issuer, as a text', async (t) => {
      const { world, bank } = await opened(t, { assertion_audience: 'endpoint' });
      for (const aud of [[ISSUER], `${ISSUER}/token`, PAR_URL, [ISSUER, `${ISSUER}/token`], undefined]) {
        const response = await bank.push({}, { assertion: { claims: { aud } } });
        assertRefused(world, response, CLIENT_REFUSED, 'assertion_audience_wrong');
      }
      await bank.pushed({}, { assertion: { claims: { aud: ISSUER } } });
    });

    test('§5.3.2.1 (9) refresh tokens are not rotated, and work again', async (t) => {
      const { bank } = await opened(t);
      const { refresh_token, access_token } = await bank.grant();
      const first = tokensIn(await bank.refresh(refresh_token));
      const second = tokensIn(await bank.refresh(refresh_token));
      assert.deepEqual([first.refresh_token, second.refresh_token], [refresh_token, refresh_token]);
      assert.equal(new Set([access_token, first.access_token, second.access_token]).size, 3);
    });

    test('§5.3.2.1 (9) a stored wish for rotation has no effect', async (t) => {
      const { world } = await opened(t);
      const rotating = await addFapiClient(world, own, { id: 'rotating', rotateRefreshTokens: true });
      const { refresh_token } = await rotating.grant();
      assert.equal(tokensIn(await rotating.refresh(refresh_token)).refresh_token, refresh_token);
    });

    test('§5.3.2.1 (11) a code expires after 60 seconds', async (t) => {
      const { world, bank } = await opened(t);
      const [early, late] = [await bank.code(), await bank.code()];
      world.clock.advance(59);
      tokensIn(await bank.redeem(early));
      world.clock.advance(1);
      const expired = refusal('invalid_grant', 'the authorization code is not valid');
      assertRefused(world, await bank.redeem(late), expired, 'code_expired');
    });

    test('§5.3.2.1 (12) a code is bound to the key of the pushed request, if there is one', async (t) => {
      const { world, bank } = await opened(t);
      const code = await bank.code({}, { proof: { htu: PAR_URL } });
      const other = await bank.redeem(code, { proof: { key: 'another key' } });
      const wrong = refusal('invalid_grant', 'the grant is bound to another key');
      assertRefused(world, other, wrong, 'dpop_key_wrong');
      assert.equal(tokensIn(await bank.redeem(code)).token_type, 'DPoP');
    });

    test('§5.3.2.1 (13) an assertion or proof may be ten seconds ahead, but not more than a minute', async (t) => {
      const { world, bank } = await opened(t);
      const now = world.clock.seconds;
      for (const ahead of [0, 10]) {
        const claims = { iat: now + ahead, nbf: now + ahead };
        const code = await bank.code({}, { assertion: { claims } });
        tokensIn(await bank.redeem(code, { proof: { claims: { iat: now + ahead } } }));
      }
      for (const claims of [{ iat: now + 61 }, { nbf: now + 61 }]) {
        const response = await bank.push({}, { assertion: { claims } });
        assertRefused(world, response, CLIENT_REFUSED, 'assertion_not_yet_valid');
      }
      const early = await bank.redeem(await bank.code(), { proof: { claims: { iat: now + 61 } } });
      assert.deepEqual([early.status, JSON.parse(early.body).error], [400, 'invalid_dpop_proof']);
      assert.equal(world.lastReason, 'dpop_proof_not_yet_valid');
    });

    test('§5.3.2.2 (1) only the response type code is accepted', async (t) => {
      const { world, bank } = await opened(t);
      const unsupported = refusal('unsupported_response_type', 'only the response_type code is supported');
      for (const response_type of ['code id_token', 'token', 'none'])
        assertRefused(world, await bank.push({ response_type }), unsupported, 'parameter_invalid');
    });

    test('§5.3.2.2 (3) a request that was not pushed is refused, signed or not', async (t) => {
      const { world, bank } = await opened(t, { require_pushed_authorization_requests: false });
      const description = 'the request must be pushed';
      const direct = { ...USUAL, client_id: bank.id };
      const signed = await bank.requestObject({ response_mode: 'query' });
      for (const parameters of [direct, signed]) {
        const { redirect_uri: _, ...unnamed }: Readonly<Record<string, string>> = parameters;
        const response = await refused(world.server.authorization.validate(exactly(unnamed)));
        assert.deepEqual(
          [response, world.lastReason],
          [shown('invalid_request', description), 'pushed_request_missing'],
        );
      }
    });

    test('§5.3.2.2 (4) a request without client authentication cannot be pushed', async (t) => {
      const { world, bank } = await opened(t);
      const response = await world.post('/par', { ...USUAL, client_id: bank.id });
      assertRefused(world, response, CLIENT_REFUSED, 'profile_method_refused');
    });

    test('§5.3.2.2 (5) PKCE with S256 is required, whatever is stored', async (t) => {
      const { world, bank } = await opened(t, { insecure_allow_missing_pkce: true });
      const absent = { code_challenge: undefined, code_challenge_method: undefined };
      const missing = refusal('invalid_request', 'the parameter code_challenge is missing');
      assertRefused(world, await bank.push(absent), missing, 'pkce_missing');
      const method = refusal('invalid_request', 'the code_challenge_method must be S256');
      for (const code_challenge_method of ['plain', undefined])
        assertRefused(world, await bank.push({ code_challenge_method }), method, 'parameter_invalid');
    });

    test('§5.3.2.2 (6) a pushed request needs redirect_uri, also if only one is registered', async (t) => {
      const { world, bank } = await opened(t);
      const missing = refusal('invalid_request', 'the parameter redirect_uri is missing');
      for (const scope of ['openid', 'read'])
        assertRefused(
          world,
          await bank.push({ scope, redirect_uri: undefined }),
          missing,
          'parameter_missing',
        );
    });

    test('§5.3.2.2 (8) a redirect URI is not http, except on loopback', async (t) => {
      const { world } = await opened(t);
      const [exposed, native] = ['http://app.example/callback', 'http://127.0.0.1:5000/callback'];
      const metadata = { ...own, insecure_redirect_uris: true };
      const app = await addFapiClient(world, metadata, { id: 'app', redirectUris: [exposed, native] });
      const insecure = refusal('invalid_request', 'the redirect_uri is not https');
      assertRefused(world, await app.push({ redirect_uri: exposed }), insecure, 'redirect_uri_exposed');
      await app.pushed({ redirect_uri: native });
    });

    test('§5.3.2.2 (8) no refusal goes to a redirect URI that networks can read', async (t) => {
      const { world } = await opened(t);
      const redirect_uri = 'http://app.example/callback';
      const metadata = { ...own, insecure_redirect_uris: true };
      await addFapiClient(world, metadata, { id: 'app', redirectUris: [redirect_uri] });
      const early = await refusalOf(world, { client_id: 'app', redirect_uri });
      assert.deepEqual(early, shown('invalid_request', 'the request must be pushed'));
    });

    test('§5.3.2.2 (9) a code is redeemed once', async (t) => {
      const { world, bank } = await opened(t);
      const code = await bank.code();
      tokensIn(await bank.redeem(code));
      const reused = refusal('invalid_grant', 'the authorization code is not valid');
      assertRefused(world, await bank.redeem(code), reused, 'code_reused');
    });

    test('§5.3.2.2 (12) a pushed request expires within 600 seconds', async (t) => {
      const { world, bank } = await opened(t, {}, { pushedRequestLifetime: 599 });
      const requestUri = await bank.pushed();
      world.clock.advance(599);
      const gone = shown('invalid_request_uri', 'the request_uri is unknown or has expired');
      const late = world.server.authorization.validate(
        exactly({ client_id: bank.id, request_uri: requestUri }),
      );
      assert.deepEqual(await refused(late), gone);
    });

    test('§5.3.2.2 (14) a nonce of 64 characters comes back in the ID token', async (t) => {
      const { bank } = await opened(t);
      const nonce = 'n'.repeat(64);
      const { id_token } = tokensIn(await bank.redeem(await bank.code({ nonce })));
      assert.equal(decodeJwt(id_token).nonce, nonce);
    });

    test('§5.4.1 (1) clients sign with PS256, ES256 or EdDSA: assertions, proofs and request objects', async (t) => {
      const { world, bank } = await opened(t);
      const used = { assertions: [] as string[], proofs: [] as string[] };
      for (const algorithm of [...CLIENT_ALGORITHMS, 'Ed25519']) {
        const pushed = await bank.push({}, { algorithm });
        if (pushed.status === 201) used.assertions.push(algorithm);
        else assertRefused(world, pushed, CLIENT_REFUSED, 'assertion_algorithm_refused');
        const redeemed = await bank.redeem(await bank.code(), { proof: { algorithm } });
        if (redeemed.status === 200) used.proofs.push(algorithm);
        else assert.equal(world.lastReason, 'dpop_algorithm_refused');
      }
      const allowed = ['PS256', 'ES256', 'EdDSA', 'Ed25519'];
      assert.deepEqual(used, { assertions: allowed, proofs: allowed });
      const response = await bank.post(
        '/par',
        await bank.requestObject({ response_mode: 'query' }, {}, 'RS256'),
      );
      const wrong = refusal('invalid_request_object', 'the algorithm of the request object is not allowed');
      assertRefused(world, response, wrong, 'request_object_wrong_key');
    });

    test('§5.4.1 (1) UserInfo takes no proof by another algorithm, also by the same key', async (t) => {
      const { world, bank } = await opened(t);
      const { access_token } = tokensIn(
        await bank.redeem(await bank.code(), { proof: { algorithm: 'PS256' } }),
      );
      const { privateKey, publicJwk } = await clientKey('PS256');
      const pkcs8 = await exportPKCS8(privateKey);
      const { n, e } = publicJwk;
      for (const [alg, status] of [
        ['RS256', 401],
        ['PS256', 200],
      ] as const) {
        const claims = {
          htm: 'GET',
          htu: USERINFO_URL,
          iat: world.clock.seconds,
          ath: await sha256(access_token),
        };
        const dpop = await new SignJWT({ ...claims, jti: alg })
          .setProtectedHeader({ alg, typ: 'dpop+jwt', jwk: { kty: 'RSA', n: n ?? '', e: e ?? '' } })
          .sign(await importPKCS8(pkcs8, alg));
        const headers = { authorization: `DPoP ${access_token}`, dpop };
        const response = await world.send({ method: 'GET', path: '/userinfo', headers });
        assert.equal(response.status, status, response.body);
      }
      assert.equal(world.lastReason, 'dpop_algorithm_refused');
    });

    test('§5.4.1 (1) the server signs with one of them, whatever is stored; refresh tokens are opaque', async (t) => {
      const { world } = await opened(t);
      const stored = { accessTokenAlgorithm: 'RS256', idTokenAlgorithm: 'RS256' } as const;
      const userinfo = { userinfo_signed_response_alg: 'RS256' } as const;
      for (const [id, client, metadata] of [
        ['usual', {}, {}],
        ['old', stored, userinfo],
      ] as const) {
        const bank = await addFapiClient(world, { ...own, ...metadata }, { ...client, id });
        const { access_token, id_token, refresh_token } = await bank.grant();
        const { body } = await bank.userInfo(access_token);
        const signed = [access_token, id_token, ...(id === 'old' ? [body] : [])];
        assert.deepEqual(new Set(signed.map((jwt) => decodeProtectedHeader(jwt).alg)), new Set(['PS256']));
        assert.match(refresh_token, /^grantd_rt_[\w-]+$/);
      }
    });

    test('§5.4.1 (1) a registered algorithm of the profile is used', async (t) => {
      const { world } = await opened(t);
      const algorithms = { accessTokenAlgorithm: 'ES256', idTokenAlgorithm: 'EdDSA' } as const;
      const bank = await addFapiClient(world, own, { id: 'chosen', ...algorithms });
      const { access_token, id_token } = await bank.grant();
      assert.deepEqual(
        [access_token, id_token].map((jwt) => decodeProtectedHeader(jwt).alg),
        ['ES256', 'EdDSA'],
      );
    });
  });
}

// ── The server's option ───────────────────────────────────────────────────────────────────────────────────────

const REQUIRED = {
  issuer: ISSUER,
  secret: SECRET,
  storage: memoryStorage(),
  profile: PROFILE,
} satisfies AuthorizationServerOptions;

/** For each option, what is written, and what was expected. */
const CONTRADICTIONS = [
  [{ issuer: 'http://as.example' }, 'issuer', 'an https URL, or http on loopback for development'],
  [{ authenticateIntrospect: false }, 'authenticateIntrospect', 'true'],
  [{ authenticateRevoke: false }, 'authenticateRevoke', 'true'],
  [{ authorizationCodeLifetime: 61 }, 'authorizationCodeLifetime', 'at most 60'],
  [{ requirePushedAuthorizationRequests: false }, 'requirePushedAuthorizationRequests', 'true'],
  [{ pushedRequestLifetime: 600 }, 'pushedRequestLifetime', 'at most 599'],
  [
    { requestObjectAlgorithms: ['RS256', 'PS256'] },
    'requestObjectAlgorithms',
    'a list of PS256, ES256, EdDSA',
  ],
  [{ clientAssertionAlgorithms: ['HS256'] }, 'clientAssertionAlgorithms', 'a list of PS256, ES256, EdDSA'],
  [{ dpopAlgorithms: ['RS256'] }, 'dpopAlgorithms', 'a list of PS256, ES256, EdDSA'],
  [{ dpopAlgorithms: [] }, 'dpopAlgorithms', 'an algorithm, or the option clientCertificates'],
  [{ accessTokenAlgorithm: 'RS256' }, 'accessTokenAlgorithm', 'one of PS256, ES256, EdDSA, Ed25519'],
  [{ idTokenAlgorithm: 'RS256' }, 'idTokenAlgorithm', 'one of PS256, ES256, EdDSA, Ed25519'],
  [{ useOpaqueRefreshTokens: false }, 'useOpaqueRefreshTokens', 'true'],
] as const satisfies readonly (readonly [Partial<AuthorizationServerOptions>, string, string])[];

const REGISTRATION_CONTRADICTIONS = [
  [{ allowInsecureUris: true }, 'allowInsecureUris', 'false'],
  [{ assertionAudience: 'endpoint' }, 'assertionAudience', 'issuer'],
  [{ insecureAllowMissingPkce: true }, 'insecureAllowMissingPkce', 'false'],
] as const;

for (const [options, name, expected] of [
  ...CONTRADICTIONS,
  ...REGISTRATION_CONTRADICTIONS.map(
    ([members, name, expected]) =>
      [{ registration: { openTo: 'anyone', ...members } }, `registration.${name}`, expected] as const,
  ),
])
  test(`§5.3.2 ${JSON.stringify(options)} contradicts the profile, and is refused at the start`, () => {
    assert.throws(
      () => new AuthorizationServer({ ...REQUIRED, ...options }),
      (error) => {
        assert.ok(error instanceof ConfigurationError);
        assert.equal(error.message, `${name}: expected ${expected}, because of the profile ${PROFILE}`);
        return error.option === name;
      },
    );
  });

test('§5.3.2 each rule of a profile is for an option, and has a contradiction in these tests', () => {
  const refused = new Set<string>(CONTRADICTIONS.map(([, name]) => name));
  const { options, registration } = PROFILES[PROFILE];
  assert.deepEqual(new Set(Object.keys(options)), refused);
  for (const name of Object.keys(PROFILES['fapi2-message-signing'].options))
    assert.ok(name in ALL_OPTIONS, name);
  const ofRegistration = new Set(REGISTRATION_CONTRADICTIONS.map(([, name]) => name));
  assert.deepEqual(new Set(Object.keys(registration)), ofRegistration);
  for (const name of ofRegistration) assert.ok(name in REGISTRATION_OPTIONS, name);
});

test('§5.3.2 an unknown profile is refused', () => {
  const options = { ...REQUIRED, profile: 'fapi1' as ProfileName };
  assert.throws(() => new AuthorizationServer(options), {
    message: 'profile: expected one of fapi2-security, fapi2-message-signing, got the text "fapi1"',
  });
});

test('§5.3.2 a storage that cannot keep what a profile needs is refused', () => {
  for (const missing of ['pending', 'oneTimeIdentifiers'] as const) {
    const { [missing]: _, ...storage } = memoryStorage();
    assert.throws(() => new AuthorizationServer({ ...REQUIRED, storage }), { option: `storage.${missing}` });
  }
});

test('§5.3.2 the profile sets the options that it needs, and leaves the others', () => {
  const { profile: _, ...without } = REQUIRED;
  const usual = resolveOptions(without);
  const resolved = resolveOptions(REQUIRED);
  const changed = Object.entries(resolved).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(usual[name as keyof typeof usual]),
  );
  assert.deepEqual(Object.fromEntries(changed), {
    profile: PROFILE,
    requirePushedAuthorizationRequests: true,
    requestObjectAlgorithms: ['PS256', 'ES256', 'EdDSA'],
    clientAssertionAlgorithms: ['PS256', 'ES256', 'EdDSA'],
    dpopAlgorithms: ['PS256', 'ES256', 'EdDSA'],
    accessTokenAlgorithm: 'PS256',
    idTokenAlgorithm: 'PS256',
    useOpaqueRefreshTokens: true,
    userInfoAudiences: [ISSUER],
  });
});

test('§5.3.2 options within the profile are kept', async (t) => {
  const options = { profile: PROFILE, idTokenAlgorithm: 'EdDSA', accessTokenAlgorithm: 'ES256' } as const;
  const world = await openWorld(t, { ...options, dpopAlgorithms: ['ES256'], issuer: 'https://as.example' });
  const { access_token, id_token } = await (await addFapiClient(world)).grant();
  assert.deepEqual(
    [access_token, id_token].map((jwt) => decodeProtectedHeader(jwt).alg),
    ['ES256', 'EdDSA'],
  );
  assert.deepEqual(world.server.serverMetadata.dpop_signing_alg_values_supported, ['ES256']);
});

test('§5.2.1 (1) http is possible on loopback, for development', () => {
  for (const issuer of ['http://localhost:4000', 'http://127.0.0.1', 'http://[::1]:8080'])
    assert.equal(new AuthorizationServer({ ...REQUIRED, issuer }).issuer, issuer);
});

test('§5.3.2.1 (1), RFC 8414 §2 the metadata say what the profile leaves', async (t) => {
  const { serverMetadata } = (await openWorld(t, { profile: PROFILE })).server;
  const allowed = ['PS256', 'ES256', 'EdDSA', 'Ed25519'];
  const expected = {
    token_endpoint_auth_methods_supported: ['private_key_jwt'],
    token_endpoint_auth_signing_alg_values_supported: allowed,
    introspection_endpoint_auth_methods_supported: ['private_key_jwt'],
    revocation_endpoint_auth_methods_supported: ['private_key_jwt'],
    introspection_signing_alg_values_supported: allowed,
    authorization_signing_alg_values_supported: allowed,
    id_token_signing_alg_values_supported: allowed,
    userinfo_signing_alg_values_supported: allowed,
    request_object_signing_alg_values_supported: allowed,
    dpop_signing_alg_values_supported: allowed,
    require_pushed_authorization_requests: true,
    authorization_response_iss_parameter_supported: true,
    code_challenge_methods_supported: ['S256'],
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
    require_signed_request_object: undefined,
  };
  const members = Object.keys(expected).map((name) => [name, serverMetadata[name]]);
  assert.deepEqual(Object.fromEntries(members), expected);
});

test('§5.3.2.1 (2) the password grant does not exist', async (t) => {
  const world = await openWorld(t, { profile: PROFILE });
  const bank = await addFapiClient(world);
  const form = { grant_type: 'password', username: 'alice', password: 'x' };
  const unknown = refusal('unsupported_grant_type', 'the grant_type is not supported');
  assertRefused(world, await bank.post('/token', form), unknown, 'grant_unknown');
});

test('§5.4.2 each published key has a kid of its own, and no token names the URL of a key', async (t) => {
  const world = await openWorld(t, { profile: PROFILE });
  const bank = await addFapiClient(world);
  const { access_token: access, id_token: idToken } = tokensIn(await bank.redeem(await bank.code()));
  const { body } = await world.send({ method: 'GET', path: '/jwks', headers: {} });
  const kids: readonly string[] = JSON.parse(body).keys.map(({ kid }: { kid: string }) => kid);
  assert.deepEqual([new Set(kids).size, kids.includes('')], [kids.length, false]);
  for (const token of [access, String(idToken)]) {
    const { kid = '', ...header } = decodeProtectedHeader(token);
    assert.ok(kids.includes(kid));
    assert.deepEqual(
      ['jku', 'x5u', 'jwk', 'x5c'].filter((name) => name in header),
      [],
    );
  }
});

test('§5.3.4 (1) UserInfo refuses tokens for APIs, and tokens in the query', async (t) => {
  const world = await openWorld(t, { profile: PROFILE });
  const bank = await addFapiClient(world, { apis: [CLIENTS.api.resource] });
  const request = { scope: 'openid read', resource: CLIENTS.api.resource };
  const { access_token } = tokensIn(await bank.redeem(await bank.code(request)));
  const { status } = await bank.userInfo(access_token);
  assert.deepEqual([status, world.lastReason], [401, 'audience_wrong']);
  const own = (await bank.grant()).access_token;
  const path = `/userinfo?access_token=${own}`;
  assert.equal((await world.send({ method: 'GET', path, headers: {} })).status, 401);
  assert.equal((await bank.userInfo(own)).status, 200);
});

test('§5.3.4 (5) UserInfo refuses a token without its proof', async (t) => {
  const world = await openWorld(t, { profile: PROFILE });
  const { access_token } = await (await addFapiClient(world)).grant();
  assert.equal((await world.userInfo(access_token)).status, 401);
  assert.equal(world.lastReason, 'token_bound');
});

// ── Other clients ─────────────────────────────────────────────────────────────────────────────────────────────

test('§5.3.2 other clients of the server keep what they have', async (t) => {
  const world = await openWorld(t);
  const bank = await addFapiClient(world, { profile: PROFILE });
  const { access_token, refresh_token } = await world.grant();
  assert.equal(decodeProtectedHeader(access_token).alg, 'RS256');
  assert.notEqual((await world.rotated(refresh_token)).refresh_token, refresh_token);
  assert.equal((await bank.grant()).token_type, 'DPoP');
});

test('§5.3.2 a grant from before the profile goes on under the profile', async (t) => {
  const before = await openWorld(t, { useOpaqueRefreshTokens: true });
  const bank = await addFapiClient(before, { profile: PROFILE });
  const { refresh_token } = await before.grant();
  const after = await secondServer(before, { profile: PROFILE });
  const metadata = (await before.storage.clients.get(bank.id))?.metadata;
  const web = await before.storage.clients.get('web');
  assert.ok(web && metadata);
  const { profile: _, ...keys } = metadata;
  await before.storage.clients.replace({ ...web, metadata: { ...web.metadata, ...keys } }, web);
  const form = { grant_type: 'refresh_token', refresh_token };
  const old = await after.post('/token', form, 'web');
  assert.deepEqual([old.status, after.lastReason], [401, 'profile_method_refused']);
  const same = await addFapiClient(after, {}, { id: 'other' });
  assert.equal((await same.refresh(refresh_token)).status, 400);
  const tokens = tokensIn(await new FapiClient(after, 'web').refresh(refresh_token));
  assert.deepEqual([tokens.token_type, tokens.refresh_token], ['DPoP', refresh_token]);
});

test('§5.3.2.1 (11), §5.3.2.2 (12) the profile of a client shortens the lifetimes of the server', async (t) => {
  const world = await openWorld(t, { authorizationCodeLifetime: 3600, pushedRequestLifetime: 7200 });
  const bank = await addFapiClient(world, { profile: PROFILE });
  const pushed = await bank.push();
  assert.equal(JSON.parse(pushed.body).expires_in, 599);
  const [early, late] = [await bank.code(), await bank.code()];
  world.clock.advance(59);
  tokensIn(await bank.redeem(early));
  world.clock.advance(1);
  const expired = refusal('invalid_grant', 'the authorization code is not valid');
  assertRefused(world, await bank.redeem(late), expired, 'code_expired');
  world.clock.advance(539);
  const parameters = exactly({ client_id: bank.id, request_uri: requestUriIn(pushed) });
  const gone = shown('invalid_request_uri', 'the request_uri is unknown or has expired');
  assert.deepEqual(await refused(world.server.authorization.validate(parameters)), gone);
});

test('§5.3.2.2 (8) a code that networks could read before the profile cannot be redeemed under it', async (t) => {
  const world = await openWorld(t);
  const redirect_uri = 'http://app.example/callback';
  const exposed = { insecure_redirect_uris: true };
  const app = await addFapiClient(world, exposed, { id: 'app', redirectUris: [redirect_uri] });
  const code = await app.code({ redirect_uri });
  const stored = await world.storage.clients.get('app');
  assert.ok(stored);
  const metadata = { ...stored.metadata, profile: PROFILE };
  assert.ok(await world.storage.clients.replace({ ...stored, metadata }, stored));
  const form = { grant_type: 'authorization_code', code, redirect_uri, code_verifier: VERIFIER };
  const unsafe = refusal('invalid_grant', 'the redirect_uri is not https');
  assertRefused(world, await app.post('/token', form), unsafe, 'redirect_uri_exposed');
});

// ── Registration ──────────────────────────────────────────────────────────────────────────────────────────────

const KEYS = { jwks_uri: 'https://app.example/jwks' };

test('§5.3.2.1 (6) a client that registers itself gets what the profile requires', async (t) => {
  const world = await openWorld(t, { profile: PROFILE, ...openRegistration() });
  const { metadata, client_secret } = await register(world, { redirect_uris: [OWN_CALLBACK], ...KEYS });
  assert.equal(client_secret, undefined);
  assert.deepEqual(metadata, {
    ...{ redirect_uris: [OWN_CALLBACK], ...KEYS },
    ...{ application_type: 'web', grant_types: ['authorization_code'], response_types: ['code'] },
    ...{ scope: 'openid profile email address phone offline_access', subject_type: 'public' },
    token_endpoint_auth_method: 'private_key_jwt',
    require_pushed_authorization_requests: true,
    dpop_bound_access_tokens: true,
    rotate_refresh_tokens: false,
  });
});

test('§5.3.2.1 (3, 4, 6), §5.3.2.2 (3, 8), §5.4.1 (1) registration refuses other values, and names the member', async (t) => {
  const world = await openWorld(t, { profile: PROFILE, ...openRegistration() });
  const algorithms = 'expected one of PS256, ES256, EdDSA';
  const methods = 'expected one of private_key_jwt, tls_client_auth, self_signed_tls_client_auth';
  for (const [members, description] of [
    [{ token_endpoint_auth_method: 'none' }, `token_endpoint_auth_method: ${methods}`],
    [{ token_endpoint_auth_method: 'client_secret_basic' }, `token_endpoint_auth_method: ${methods}`],
    [{ dpop_bound_access_tokens: false }, 'dpop_bound_access_tokens: expected true'],
    [
      { require_pushed_authorization_requests: false },
      'require_pushed_authorization_requests: expected true',
    ],
    [{ id_token_signed_response_alg: 'RS256' }, `id_token_signed_response_alg: ${algorithms}, Ed25519`],
    [{ userinfo_signed_response_alg: 'RS256' }, `userinfo_signed_response_alg: ${algorithms}, Ed25519`],
    [{ request_object_signing_alg: 'RS256' }, `request_object_signing_alg: ${algorithms}`],
    [{ token_endpoint_auth_signing_alg: 'RS256' }, `token_endpoint_auth_signing_alg: ${algorithms}`],
  ] as const) {
    const sent = { redirect_uris: [OWN_CALLBACK], ...KEYS, ...members };
    const { status, body } = await postRegistration(world, sent);
    const expected: string = `${description}, because of the profile ${PROFILE}`;
    assert.deepEqual([status, JSON.parse(body).error_description], [400, expected]);
  }
  const { status, body } = await postRegistration(world, { redirect_uris: ['http://app.example/'], ...KEYS });
  assert.deepEqual([status, JSON.parse(body).error], [400, 'invalid_redirect_uri']);
});

test('§5.3.2 an operator gives a client its profile, and the client cannot take it away', async (t) => {
  const world = await openWorld(t, openRegistration());
  const { operator } = world.server;
  const members = { grant_types: ['authorization_code'], redirect_uris: [OWN_CALLBACK], ...KEYS };
  const added = await operator.clientFrom({ id: 'bank' }, { ...members, profile: PROFILE });
  assert.deepEqual(
    [added.rotateRefreshTokens, added.metadata],
    [
      false,
      {
        ...KEYS,
        profile: PROFILE,
        token_endpoint_auth_method: 'private_key_jwt',
        require_pushed_authorization_requests: true,
        dpop_bound_access_tokens: true,
      },
    ],
  );
  for (const [more, message] of [
    [{ rotate_refresh_tokens: true }, 'rotate_refresh_tokens: expected false'],
    [{ insecure_allow_missing_pkce: true }, 'insecure_allow_missing_pkce: expected false'],
    [{ insecure_redirect_uris: true }, 'insecure_redirect_uris: expected false'],
    [{ assertion_audience: 'endpoint' }, 'assertion_audience: expected issuer'],
    [
      { access_token_signed_response_alg: 'RS256' },
      'access_token_signed_response_alg: expected one of PS256, ES256, EdDSA, Ed25519',
    ],
  ] as const)
    await assert.rejects(operator.clientFrom({ id: 'bank' }, { ...members, profile: PROFILE, ...more }), {
      name: 'ClientMetadataError',
      message: `${message}, because of the profile ${PROFILE}`,
    });
  const { metadata } = await register(world, { redirect_uris: [OWN_CALLBACK], profile: PROFILE });
  assert.equal('profile' in metadata, false);
});

test('§5.3.2.1 (5) a client that registers for certificates is not also bound to a key', async (t) => {
  const world = await openWorld(t, { clientCertificates: true, ...openRegistration() });
  const bound = { tls_client_certificate_bound_access_tokens: true };
  const members = { ...KEYS, ...bound, profile: PROFILE, grant_types: ['client_credentials'] };
  const { metadata } = await world.server.operator.clientFrom({ id: 'bank' }, members);
  assert.equal(metadata?.dpop_bound_access_tokens, undefined);
  assert.equal(metadata?.tls_client_certificate_bound_access_tokens, true);
});
