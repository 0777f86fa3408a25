// § refers to RFC 8705.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AuthorizationServer,
  type ClientMetadata,
  ClientMetadataError,
  ConfigurationError,
  type HttpRequest,
  OAuthError,
  type TokenRecord,
} from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { decodeJwt } from 'jose';
import { newCertificate, presented, thumbprintOf as thumbprint } from './harness/certificates.ts';
import { setMetadata } from './harness/client_metadata.ts';
import { proofOf, thumbprintOf, USERINFO_URL } from './harness/dpop_proofs.ts';
import { ON_EVERY_STORE, ON_MEMORY } from './harness/places.ts';
import { openRegistration } from './harness/registration.ts';
import { OPEN_JSON_HEADERS } from './harness/responses.ts';
import { secondServer } from './harness/second_server.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import {
  basic,
  CLIENTS,
  type GrantedTokens,
  openWorld,
  PEOPLE,
  SECRET,
  specification,
  VERIFIER,
  type World,
  type WorldOptions,
} from './harness/world.ts';

type Certificate = NonNullable<HttpRequest['clientCertificate']>;
type Tokens = GrantedTokens & { readonly token_type: string };

const OWN = await newCertificate({ subject: [{ CN: ['own'] }] });
const OTHER = await newCertificate({ subject: [{ CN: ['own'] }] });
const CERTIFICATE = presented(OWN);
const CNF = { 'x5t#S256': await thumbprint(OWN) };

const BOUND: ClientMetadata = { tls_client_certificate_bound_access_tokens: true };
const ON = { clientCertificates: true };

/** A request to the token endpoint over TLS with a certificate, or without one if it is `null`. */
function tokenRequest(
  world: World,
  parameters: Readonly<Record<string, string>>,
  as: 'web' | 'machine' | 'spa',
  clientCertificate: Certificate | null = CERTIFICATE,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestResponse> {
  return world.send({
    method: 'POST',
    path: '/token',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(as !== 'spa' && { authorization: basic(as) }),
      ...headers,
    },
    body: new URLSearchParams({ ...parameters, ...(as === 'spa' && { client_id: as }) }).toString(),
    ...(clientCertificate !== null && { clientCertificate }),
  });
}

function machine(world: World, certificate?: Certificate | null, headers?: Readonly<Record<string, string>>) {
  return tokenRequest(
    world,
    { grant_type: 'client_credentials', scope: 'read' },
    'machine',
    certificate,
    headers,
  );
}

async function redeemed(world: World, as: 'web' | 'spa', certificate?: Certificate | null, code?: string) {
  const parameters = {
    grant_type: 'authorization_code',
    code: code ?? (await world.code('alice', as)),
    code_verifier: VERIFIER,
    redirect_uri: CLIENTS[as].redirectUris[0],
  };
  return tokenRequest(world, parameters, as, certificate);
}

function refreshed(
  world: World,
  as: 'web' | 'spa',
  refresh_token: string,
  certificate: Certificate | null = CERTIFICATE,
) {
  return tokenRequest(world, { grant_type: 'refresh_token', refresh_token }, as, certificate);
}

function userInfo(
  world: World,
  token: string,
  clientCertificate: Certificate | null = CERTIFICATE,
  headers: Readonly<Record<string, string>> = { authorization: `Bearer ${token}` },
): Promise<TestResponse> {
  const request = { method: 'GET', path: '/userinfo', headers };
  return world.send({ ...request, ...(clientCertificate !== null && { clientCertificate }) });
}

function tokensIn({ status, body }: TestResponse): Tokens {
  assert.equal(status, 200, body);
  return JSON.parse(body);
}

async function introspected(world: World, token: string): Promise<Record<string, unknown>> {
  return JSON.parse((await world.introspect(token)).body);
}

function assertRefused(
  world: World,
  { status, headers, body }: TestResponse,
  error: string,
  error_description: string,
  reason: string,
): void {
  assert.deepEqual(
    [status, headers, JSON.parse(body)],
    [400, OPEN_JSON_HEADERS, { error, error_description }],
  );
  assert.equal(world.lastReason, reason);
}

/** A refusal of UserInfo. */
function assertChallenged(
  world: World,
  { status, headers, body }: TestResponse,
  description: string,
  reason: string,
): void {
  const challenge = `Bearer error="invalid_token", error_description="${description}"`;
  assert.deepEqual([status, headers], [401, { ...OPEN_JSON_HEADERS, 'www-authenticate': challenge }]);
  assert.deepEqual(JSON.parse(body), { error: 'invalid_token', error_description: description });
  assert.equal(world.lastReason, reason);
}

const NEEDED = 'a client certificate is required';
const IS_BOUND = 'the access token is bound to a client certificate';
const BOUND_TO_OTHER = 'the access token is bound to another client certificate';
const GRANT_OF_OTHER = 'the grant is bound to another certificate';

specification('certificate-bound tokens (RFC 8705)', ON_EVERY_STORE, (spec) => {
  spec(
    '§3, §3.1, §3.2 the access token is bound to the certificate, and introspection says so',
    async (world) => {
      await setMetadata(world, 'machine', { ...CLIENTS.machine.metadata, ...BOUND });
      for (const accessTokenFormat of ['jwt', 'opaque'] as const) {
        const server = await secondServer(world, { ...ON, accessTokenFormat });
        const { access_token, token_type } = tokensIn(await machine(server));
        assert.equal(token_type, 'Bearer');
        if (accessTokenFormat === 'jwt') assert.deepEqual(decodeJwt(access_token).cnf, CNF);
        const { active, token_type: type, cnf } = await introspected(server, access_token);
        assert.deepEqual([active, type, cnf], [true, 'Bearer', CNF]);
      }
    },
  );

  spec('§3 UserInfo accepts a bound token with the same certificate alone', async (world) => {
    await setMetadata(world, 'web', BOUND);
    for (const accessTokenFormat of ['jwt', 'opaque'] as const) {
      const oidc = { getUserClaims: (subject: string) => PEOPLE[subject] };
      const server = await secondServer(world, { ...ON, accessTokenFormat, oidc });
      const { access_token } = tokensIn(await redeemed(server, 'web'));
      assert.equal(JSON.parse((await userInfo(server, access_token)).body).sub, 'alice');
      const without = await userInfo(server, access_token, null);
      assertChallenged(server, without, IS_BOUND, 'client_certificate_missing');
      const other = await userInfo(server, access_token, presented(OTHER));
      assertChallenged(server, other, BOUND_TO_OTHER, 'client_certificate_wrong');
    }
  });

  spec(
    '§4 the refresh token of a public client is bound to the certificate, through every rotation',
    async (world) => {
      await setMetadata(world, 'spa', BOUND);
      const first = tokensIn(await redeemed(world, 'spa'));
      assert.deepEqual((await introspected(world, first.refresh_token)).cnf, CNF);
      const stolen = await refreshed(world, 'spa', first.refresh_token, presented(OTHER));
      assertRefused(world, stolen, 'invalid_grant', GRANT_OF_OTHER, 'client_certificate_wrong');
      const without = await refreshed(world, 'spa', first.refresh_token, null);
      assertRefused(world, without, 'invalid_request', NEEDED, 'client_certificate_missing');

      const second = tokensIn(await refreshed(world, 'spa', first.refresh_token));
      assert.deepEqual((await introspected(world, second.access_token)).cnf, CNF);
      const again = tokensIn(await refreshed(world, 'spa', first.refresh_token));
      assert.equal(again.refresh_token, second.refresh_token);
      const retried = await refreshed(world, 'spa', first.refresh_token, presented(OTHER));
      assertRefused(world, retried, 'invalid_grant', GRANT_OF_OTHER, 'client_certificate_wrong');
      const later = await refreshed(world, 'spa', second.refresh_token, presented(OTHER));
      assertRefused(world, later, 'invalid_grant', GRANT_OF_OTHER, 'client_certificate_wrong');
      tokensIn(await refreshed(world, 'spa', second.refresh_token));
    },
    ON,
  );

  spec(
    '§4 who has a spent refresh token but not its certificate, cannot end its family',
    async (world) => {
      await setMetadata(world, 'spa', BOUND);
      const first = tokensIn(await redeemed(world, 'spa'));
      const second = tokensIn(await refreshed(world, 'spa', first.refresh_token));
      world.clock.advance(60);
      const stolen = await refreshed(world, 'spa', first.refresh_token, presented(OTHER));
      assertRefused(world, stolen, 'invalid_grant', GRANT_OF_OTHER, 'client_certificate_wrong');
      assert.deepEqual(await world.alive(second.refresh_token), [true]);
    },
    ON,
  );

  spec(
    '§4 a bound refresh token stays bound when its client no longer is',
    async (world) => {
      await setMetadata(world, 'spa', BOUND);
      const first = tokensIn(await redeemed(world, 'spa'));
      await setMetadata(world, 'spa', {});
      const without = await refreshed(world, 'spa', first.refresh_token, null);
      assertRefused(world, without, 'invalid_grant', GRANT_OF_OTHER, 'client_certificate_missing');
      const { access_token } = tokensIn(await refreshed(world, 'spa', first.refresh_token));
      assert.equal((await introspected(world, access_token)).cnf, undefined);
    },
    ON,
  );

  spec(
    '§7.1 the refresh token of a confidential client is not bound, so it may change its certificate',
    async (world) => {
      await setMetadata(world, 'web', BOUND);
      const first = tokensIn(await redeemed(world, 'web'));
      assert.equal((await introspected(world, first.refresh_token)).cnf, undefined);
      const second = tokensIn(await refreshed(world, 'web', first.refresh_token, presented(OTHER)));
      const cnf = { 'x5t#S256': await thumbprint(OTHER) };
      assert.deepEqual((await introspected(world, second.access_token)).cnf, cnf);
    },
    ON,
  );
});

specification('certificate-bound tokens: registration and options (RFC 8705)', ON_MEMORY, (spec) => {
  spec(
    '§3.4 without tls_client_certificate_bound_access_tokens a certificate binds nothing',
    async (world) => {
      const { access_token, token_type } = tokensIn(await machine(world));
      const { token_type: type, cnf } = await introspected(world, access_token);
      assert.deepEqual([token_type, type, cnf], ['Bearer', 'Bearer', undefined]);
      const web = tokensIn(await redeemed(world, 'web'));
      assert.equal((await userInfo(world, web.access_token, null)).status, 200);
      assert.equal((await userInfo(world, web.access_token)).status, 200);
    },
    ON,
  );

  spec(
    '§3.4 a client that has bound tokens gets none without a certificate, and its code stays',
    async (world) => {
      await setMetadata(world, 'web', BOUND);
      const code = await world.code('alice', 'web');
      const refused = await redeemed(world, 'web', null, code);
      assertRefused(world, refused, 'invalid_request', NEEDED, 'client_certificate_missing');
      tokensIn(await redeemed(world, 'web', CERTIFICATE, code));
    },
    ON,
  );

  spec(
    '§3 with the option off, certificates do not count, and clients that need one are refused',
    async (world) => {
      await setMetadata(world, 'machine', { ...CLIENTS.machine.metadata, ...BOUND });
      assertRefused(world, await machine(world), 'invalid_request', NEEDED, 'client_certificates_off');
    },
  );

  spec(
    '§3, RFC 9449 §5 a token that is bound to a key and a certificate needs both',
    async (world) => {
      await setMetadata(world, 'web', BOUND);
      const code = await world.code('alice', 'web');
      const form = { code, code_verifier: VERIFIER, redirect_uri: CLIENTS.web.redirectUris[0] };
      const dpop = await proofOf(world);
      const tokens = tokensIn(
        await tokenRequest(world, { grant_type: 'authorization_code', ...form }, 'web', CERTIFICATE, {
          dpop,
        }),
      );
      assert.equal(tokens.token_type, 'DPoP');
      const cnf = { jkt: await thumbprintOf(), ...CNF };
      assert.deepEqual((await introspected(world, tokens.access_token)).cnf, cnf);

      const token = tokens.access_token;
      const withProof = async () => ({
        authorization: `DPoP ${token}`,
        dpop: await proofOf(world, { htm: 'GET', htu: USERINFO_URL, token }),
      });
      assert.equal((await userInfo(world, token)).status, 401);
      assert.equal(world.lastReason, 'token_bound');
      for (const certificate of [null, presented(OTHER)])
        assert.equal((await userInfo(world, token, certificate, await withProof())).status, 401);
      assert.equal(world.lastReason, 'client_certificate_wrong');
      assert.equal((await userInfo(world, token, CERTIFICATE, await withProof())).status, 200);
    },
    ON,
  );

  spec(
    '§3, RFC 9449 §5 a refused certificate does not use up the proof',
    async (world) => {
      await setMetadata(world, 'machine', { ...CLIENTS.machine.metadata, ...BOUND });
      const dpop = await proofOf(world);
      assert.equal((await machine(world, null, { dpop })).status, 400);
      assert.equal(tokensIn(await machine(world, CERTIFICATE, { dpop })).token_type, 'DPoP');
    },
    ON,
  );

  spec(
    '§3 a bound token with the scheme DPoP is refused, with any proof',
    async (world) => {
      await setMetadata(world, 'web', BOUND);
      const { access_token: token } = tokensIn(await redeemed(world, 'web'));
      const dpop = await proofOf(world, { htm: 'GET', htu: USERINFO_URL, token });
      const headers = { authorization: `DPoP ${token}`, dpop };
      assert.equal((await userInfo(world, token, CERTIFICATE, headers)).status, 401);
      assert.equal(world.lastReason, 'token_unbound');
    },
    ON,
  );

  spec(
    '§3 without HTTP, a bound token needs the thumbprint of its certificate',
    async (world) => {
      await setMetadata(world, 'web', BOUND);
      const { access_token } = tokensIn(await redeemed(world, 'web'));
      const { accessTokens } = world.server;
      const isRefused = (reason: string) => (error: unknown) =>
        error instanceof OAuthError && error.code === 'invalid_token' && error.reason === reason;
      await assert.rejects(accessTokens.verify(access_token), isRefused('client_certificate_missing'));
      await assert.rejects(
        accessTokens.verify(access_token, 'Bearer', await thumbprint(OTHER)),
        isRefused('client_certificate_wrong'),
      );
      await assert.rejects(world.server.userInfoOf(access_token), isRefused('client_certificate_missing'));
      const { record } = await accessTokens.verify(access_token, 'Bearer', await thumbprint(OWN));
      assert.deepEqual(record.confirmation, CNF);
    },
    ON,
  );

  spec(
    '§3.1 a host whose store keeps no confirmation still has bound tokens, by their claims',
    async (world) => {
      await setMetadata(world, 'web', BOUND);
      for (const accessTokenFormat of ['jwt', 'opaque'] as const) {
        const withoutColumn = async (found: Promise<TokenRecord | undefined> | TokenRecord | undefined) => {
          const { confirmation: _, ...record } = (await found) ?? ({} as TokenRecord);
          return record as TokenRecord;
        };
        const { tokens } = world.storage;
        const storage = {
          ...world.storage,
          tokens: new Proxy(tokens, {
            get: (target, name) =>
              name === 'getByAccessToken'
                ? (id: string) => withoutColumn(target.getByAccessToken(id) as Promise<TokenRecord>)
                : Reflect.get(target, name),
          }),
        };
        const oidc = { getUserClaims: () => ({}) };
        const server = await secondServer(world, { ...ON, accessTokenFormat, oidc }, storage);
        const { access_token } = tokensIn(await redeemed(server, 'web'));
        assert.equal((await userInfo(server, access_token, null)).status, 401, accessTokenFormat);
        assert.equal((await userInfo(server, access_token)).status, 200, accessTokenFormat);
      }
    },
    ON,
  );

  spec('§3.4 an operator gets no bearer token of a client that has none', async (world) => {
    await setMetadata(world, 'machine', { ...CLIENTS.machine.metadata, ...BOUND });
    await assert.rejects(
      world.server.operator.issueTokens({ clientId: 'machine' }),
      /bound to a certificate of its own/,
    );
  });
});

async function metadataOf(world: World): Promise<Record<string, unknown>> {
  const path = '/.well-known/oauth-authorization-server';
  return JSON.parse((await world.send({ method: 'GET', path, headers: {} })).body);
}

test('§3.3 metadata say that tokens can be bound to certificates', async (t) => {
  const on = await metadataOf(await openWorld(t, ON));
  assert.equal(on.tls_client_certificate_bound_access_tokens, true);
  assert.equal('mtls_endpoint_aliases' in on, false);
  const off = await metadataOf(await openWorld(t));
  assert.equal('tls_client_certificate_bound_access_tokens' in off, false);
});

test('§5 metadata list the endpoints at the origin that asks for certificates', async (t) => {
  const issuer = 'https://as.example/tenant';
  const mtlsOrigin = 'https://mtls.as.example:8443';
  const world = await openWorld(t, { ...ON, issuer, mtlsOrigin });
  const path = '/.well-known/oauth-authorization-server/tenant';
  const { body } = await world.server.metadata({ method: 'GET', url: path, headers: {} });
  assert.deepEqual(JSON.parse(body).mtls_endpoint_aliases, {
    token_endpoint: `${mtlsOrigin}/tenant/token`,
    introspection_endpoint: `${mtlsOrigin}/tenant/token/introspect`,
    revocation_endpoint: `${mtlsOrigin}/tenant/token/revoke`,
    pushed_authorization_request_endpoint: `${mtlsOrigin}/tenant/par`,
    userinfo_endpoint: `${mtlsOrigin}/tenant/userinfo`,
  });
  assert.equal(JSON.parse(body).token_endpoint, `${issuer}/token`);
});

test('§5, RFC 9449 §4.3 a proof may name the URL of an alias', async (t) => {
  const world = await openWorld(t, { ...ON, mtlsOrigin: 'https://mtls.example:8443' });
  const at = async (htu: string) => machine(world, CERTIFICATE, { dpop: await proofOf(world, { htu }) });
  assert.equal(tokensIn(await at('https://mtls.example:8443/token')).token_type, 'DPoP');
  assert.equal(tokensIn(await at('https://as.example/token')).token_type, 'DPoP');
  assert.equal((await at('https://mtls.example/token')).status, 400);
  assert.equal(world.lastReason, 'dpop_url_wrong');
});

test('§5 an invalid mtlsOrigin, or one without clientCertificates, is refused at the start', () => {
  const newServer = (options: object) =>
    new AuthorizationServer({
      issuer: 'https://as.example',
      secret: SECRET,
      storage: memoryStorage(),
      ...options,
    });
  for (const mtlsOrigin of ['http://mtls.example', 'https://mtls.example/', 'https://mtls.example/a', 'mtls'])
    assert.throws(
      () => newServer({ ...ON, mtlsOrigin }),
      (error) => error instanceof ConfigurationError && /^mtlsOrigin/.test(error.message),
      mtlsOrigin,
    );
  assert.throws(() => newServer({ mtlsOrigin: 'https://mtls.example' }), /^ConfigurationError: mtlsOrigin/);
});

test('§3.4 bound tokens can only be registered at a server that can read certificates', async (t) => {
  const members = { grant_types: ['client_credentials'], ...BOUND };
  const registered = async (options: WorldOptions) => {
    const world = await openWorld(t, { ...openRegistration(), ...options });
    const byOperator = await world.server.operator.clientFrom({ id: 'job' }, members).then(
      () => 'accepted',
      (error: unknown) => (error instanceof ClientMetadataError ? error.member : error),
    );
    const { status } = await world.send({
      ...{ method: 'POST', path: '/register' },
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['https://app.example/callback'], ...BOUND }),
    });
    return [byOperator, status];
  };
  assert.deepEqual(await registered(ON), ['accepted', 201]);
  assert.deepEqual(await registered({}), ['tls_client_certificate_bound_access_tokens', 400]);
});
