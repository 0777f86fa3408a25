// § refers to RFC 7591.
// Long: the rules of one specification, in its order, with a table of every member.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AdministrableStorage,
  AuthorizationServer,
  type ClientRecord,
  ConfigurationError,
  DEVICE_GRANT,
  DocumentError,
  EXCHANGE_GRANT,
  MEMBER_NAMES,
  type MemberName,
  memberOf,
  sweepRegistrations,
} from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { MEMBER_TEXTS } from '@grantd/core/options';
import { exportJWK, generateKeyPair } from 'jose';
import { changeClient } from './harness/client_change.ts';
import { ON_EVERY_STORE } from './harness/places.ts';
import {
  BY_DEFAULT,
  CALLBACK,
  configure,
  type Members,
  openRegistration,
  postRegistration,
  register,
} from './harness/registration.ts';
import { OUTAGE, PUBLIC_JSON_HEADERS, publicErrorOf } from './harness/responses.ts';
import { secondServer } from './harness/second_server.ts';
import {
  basic,
  CHALLENGE,
  ISSUER,
  OIDC_OFF,
  openWorld,
  SECRET,
  specification,
  VERIFIER,
  type WorldOptions,
} from './harness/world.ts';

/** Seconds. */
const DAY = 24 * 60 * 60;
const OPEN = openRegistration();
const BEHIND_TOKEN: WorldOptions = { registration: { openTo: 'initial_access_token' } };
const PAIRWISE_SECRET = 'a secret of pairwise subjects with more than 32 characters';
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const PUBLIC_OUTAGE = { ...OUTAGE, headers: { ...OUTAGE.headers, 'access-control-allow-origin': '*' } };

const unfit = (member: string, problem: string) =>
  publicErrorOf(400, 'invalid_client_metadata', `${member}: ${problem}`);
const unfitRedirect = (problem: string) =>
  publicErrorOf(400, 'invalid_redirect_uri', `redirect_uris: ${problem}`);

const REFUSED_TOKEN = publicErrorOf(401, 'invalid_token', 'registration needs a valid initial access token', {
  ...PUBLIC_JSON_HEADERS,
  'www-authenticate':
    'Bearer error="invalid_token", error_description="registration needs a valid initial access token"',
});

async function publicJwk(algorithm = 'ES256', members: object = {}) {
  const { publicKey } = await generateKeyPair(algorithm, { extractable: true });
  return { ...(await exportJWK(publicKey)), ...members };
}

specification('RFC 7591 dynamic client registration', ON_EVERY_STORE, (spec) => {
  // ── §3.1, §3.2.1 request and response ───────────────────────────────────────────────────────────────────

  spec(
    'clients that register themselves may leave out PKCE only if the option says so, and never public ones',
    async (world) => {
      const [secret, none] = ['client_secret_basic', 'none'];
      const waivedFor = async (method: string) => {
        const { client_id, metadata } = await register(world, {
          redirect_uris: [CALLBACK],
          token_endpoint_auth_method: method,
          insecure_allow_missing_pkce: true, // not for the client to set
        });
        const client = await world.storage.clients.get(client_id);
        assert.equal(client?.metadata?.insecure_allow_missing_pkce, metadata.insecure_allow_missing_pkce);
        return metadata.insecure_allow_missing_pkce;
      };
      assert.deepEqual([await waivedFor(secret), await waivedFor(none)], [true, undefined]);
    },
    openRegistration({ insecureAllowMissingPkce: true }),
  );

  spec(
    'a client cannot waive PKCE for itself',
    async (world) => {
      const { metadata } = await register(world, {
        redirect_uris: [CALLBACK],
        insecure_allow_missing_pkce: true,
      });
      assert.equal(metadata.insecure_allow_missing_pkce, undefined);
    },
    openRegistration(),
  );

  spec.http(
    '§3.2.1 a registration gets 201, credentials and the whole registration',
    async (world) => {
      const response = await postRegistration(world, { redirect_uris: [CALLBACK], client_name: 'Läden' });
      const { client_id, client_secret, registration_access_token, ...rest } = JSON.parse(response.body);
      assert.match(client_id, /^[A-Za-z0-9_-]{22}$/);
      assert.match(client_secret, /^grantd_cs_[A-Za-z0-9_-]{43}$/);
      assert.match(registration_access_token, /^grantd_ra_[A-Za-z0-9_-]{43}$/);
      assert.deepEqual(
        { ...response, body: rest },
        {
          status: 201,
          headers: PUBLIC_JSON_HEADERS,
          body: {
            client_id_issued_at: world.clock.seconds,
            client_secret_expires_at: 0,
            registration_client_uri: `${ISSUER}/register/${client_id}`,
            client_name: 'Läden',
            ...BY_DEFAULT,
          },
        },
      );
    },
    OPEN,
  );

  spec(
    '§3.2.1 storage has the registration, with secrets only as digests',
    async (world) => {
      const { client_id, client_secret, registration_access_token } = await register(world, {
        redirect_uris: [CALLBACK],
        client_name: 'Shop',
        logo_uri: 'https://app.example/logo.png',
      });
      const stored = await world.storage.clients.get(client_id);
      assert.ok(stored && client_secret);
      const { secrets, registrationTokenDigest, ...others } = stored;
      const { generation: _, revision: __, registrationRevision: ___, ...rest } = others;
      assert.deepEqual(rest, {
        id: client_id,
        name: 'Shop',
        grantTypes: ['authorization_code'],
        scopes: ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'],
        redirectUris: [CALLBACK],
        idTokenAlgorithm: 'RS256',
        registeredAt: world.clock.seconds,
        metadata: {
          token_endpoint_auth_method: 'client_secret_basic',
          application_type: 'web',
          subject_type: 'public',
          logo_uri: 'https://app.example/logo.png',
        },
      });
      assert.deepEqual(secrets, [await world.server.operator.hashClientSecret(client_secret)]);
      assert.match(registrationTokenDigest ?? '', /^[A-Za-z0-9_-]{43}$/);
      const everything = JSON.stringify(stored);
      assert.ok(!everything.includes(client_secret) && !everything.includes(registration_access_token));
    },
    OPEN,
  );

  spec(
    '§3.2.1 a registered client gets tokens for a user, and every process knows it',
    async (world) => {
      const client = await register(world, {
        redirect_uris: [CALLBACK],
        grant_types: ['authorization_code', 'refresh_token'],
      });
      const query = new URLSearchParams({
        client_id: client.client_id,
        response_type: 'code',
        redirect_uri: CALLBACK,
        code_challenge: CHALLENGE,
        code_challenge_method: 'S256',
        scope: 'openid email',
      });
      const asked = await world.server.authorization.validate({
        method: 'GET',
        url: `/authorize?${query}`,
        headers: {},
      });
      const { headers } = await world.server.authorization.complete(asked, { subject: 'alice' });
      const code = new URL(String(headers.location)).searchParams.get('code') ?? '';
      const response = await world.post(
        '/token',
        { grant_type: 'authorization_code', code, code_verifier: VERIFIER, redirect_uri: CALLBACK },
        null,
        { authorization: basic(client.client_id, client.client_secret) },
      );
      assert.equal(response.status, 200, response.body);
      const { access_token } = JSON.parse(response.body);
      assert.deepEqual(await world.alive(access_token), [true]);
    },
    OPEN,
  );

  spec(
    '§2 a client that authenticates with nothing or with keys has no secret',
    async (world) => {
      const spa = await register(world, {
        redirect_uris: [CALLBACK],
        token_endpoint_auth_method: 'none',
      });
      const jwk = await publicJwk();
      const signer = await register(world, {
        redirect_uris: [CALLBACK],
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [jwk] },
      });
      for (const { client_id, client_secret, client_secret_expires_at } of [spa, signer]) {
        assert.deepEqual([client_secret, client_secret_expires_at], [undefined, undefined]);
        assert.equal((await world.storage.clients.get(client_id))?.secrets, undefined);
      }
      assert.deepEqual(signer.metadata.jwks, { keys: [jwk] });
    },
    OPEN,
  );

  spec.http(
    '§2 every registered member is stored as sent',
    async (world) => {
      const jwk = await publicJwk();
      const members = {
        redirect_uris: [CALLBACK, 'https://app.example/other?x=1'],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        client_name: 'Shop',
        'client_name#de': 'Laden',
        'client_name#ja-Hani-JP': '店',
        client_uri: 'https://app.example/',
        logo_uri: 'https://app.example/logo.png',
        'logo_uri#de': 'https://app.example/de.png',
        scope: 'openid email',
        contacts: ['carol@app.example'],
        tos_uri: 'https://app.example/tos',
        policy_uri: 'https://app.example/policy',
        jwks: {
          keys: [
            { ...jwk, kid: 'one', use: 'sig', alg: 'ES256' },
            { ...jwk, kid: 'two', use: 'enc' },
          ],
        },
        software_id: '4NRB1-0XZABZI9E6-5SM3R',
        software_version: '2.1',
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_signing_alg: 'ES256',
        application_type: 'web',
        subject_type: 'public',
        id_token_signed_response_alg: 'ES256',
        id_token_encrypted_response_alg: 'ECDH-ES+A256KW',
        id_token_encrypted_response_enc: 'A256CBC-HS512',
        userinfo_signed_response_alg: 'PS256',
        userinfo_encrypted_response_alg: 'ECDH-ES',
        userinfo_encrypted_response_enc: 'A256GCM',
        authorization_signed_response_alg: 'ES256',
        authorization_encrypted_response_alg: 'ECDH-ES',
        authorization_encrypted_response_enc: 'A128CBC-HS256',
        introspection_signed_response_alg: 'EdDSA',
        introspection_encrypted_response_alg: 'ECDH-ES+A128KW',
        introspection_encrypted_response_enc: 'A128GCM',
        request_object_signing_alg: 'ES256',
        request_uris: ['https://app.example/request#hash'],
        default_max_age: 3600,
        require_auth_time: true,
        default_acr_values: ['urn:example:gold'],
        initiate_login_uri: 'https://app.example/login',
        require_pushed_authorization_requests: false,
        require_signed_request_object: true,
        post_logout_redirect_uris: ['https://app.example/bye'],
        backchannel_logout_uri: 'https://app.example/logout',
        backchannel_logout_session_required: true,
        brand_color: '#00aa7F',
      };
      assert.deepEqual((await register(world, members)).metadata, members);
    },
    OPEN,
  );

  spec(
    '§2 members that the server does not know, and those of the operator, are ignored; null and the empty text are absence',
    async (world) => {
      const { client_id, metadata } = await register(world, {
        redirect_uris: [CALLBACK],
        client_name: null,
        logo_uri: '',
        contacts: null,
        frontchannel_logout_uri: 'https://app.example/front',
        ...JSON.parse('{"constructor":1,"__proto__":{"client_name":"x"},"hasOwnProperty":1,"#de":"x"}'),
        client_id: 'web',
        client_secret: 'chosen',
        secrets: [{ hash: 'chosen' }],
        resource: 'https://api.example',
        access_token_format: 'opaque',
        rotate_refresh_tokens: false,
        assertion_audience: 'endpoint',
        kind: 'agent',
        access_token_lifetime: 60,
      });
      assert.deepEqual(metadata, BY_DEFAULT);
      assert.notEqual(client_id, 'web');
    },
    OPEN,
  );

  spec(
    '§2 an encryption needs a key in jwks that fits it; keys at jwks_uri may come later',
    async (world) => {
      const jwk = await publicJwk();
      for (const kind of ['id_token', 'userinfo', 'authorization', 'introspection']) {
        const name = `${kind}_encrypted_response_alg`;
        const attempt = (keys: readonly object[], algorithm = 'ECDH-ES') =>
          postRegistration(world, { redirect_uris: [CALLBACK], jwks: { keys }, [name]: algorithm });
        const refusal = (algorithm: string) => unfit(name, `needs a key for ${algorithm} in jwks`);
        assert.deepEqual(await attempt([{ ...jwk, use: 'sig' }]), refusal('ECDH-ES'));
        assert.deepEqual(await attempt([{ ...jwk, alg: 'ES256' }]), refusal('ECDH-ES'));
        assert.deepEqual(await attempt([jwk], 'RSA-OAEP-256'), refusal('RSA-OAEP-256'));
        assert.equal(
          (
            await attempt([
              { ...jwk, use: 'sig' },
              { ...jwk, use: 'enc' },
            ])
          ).status,
          201,
        );
        const jwks_uri = 'https://app.example/jwks';
        assert.equal(
          (await postRegistration(world, { redirect_uris: [CALLBACK], jwks_uri, [name]: 'ECDH-ES' })).status,
          201,
        );
      }
    },
    OPEN,
  );

  spec(
    '§2 an encryption of which only the key management is said gets the default content encryption',
    async (world) => {
      const { metadata } = await register(world, {
        redirect_uris: [CALLBACK],
        jwks_uri: 'https://app.example/jwks',
        id_token_encrypted_response_alg: 'RSA-OAEP-256',
        userinfo_encrypted_response_alg: 'RSA-OAEP-256',
        authorization_encrypted_response_alg: 'ECDH-ES',
        introspection_encrypted_response_alg: 'ECDH-ES',
      });
      assert.equal(metadata.id_token_encrypted_response_enc, 'A128CBC-HS256');
      assert.equal(metadata.userinfo_encrypted_response_enc, 'A128CBC-HS256');
      assert.equal(metadata.authorization_encrypted_response_enc, 'A128CBC-HS256');
      assert.equal(metadata.introspection_encrypted_response_enc, 'A128CBC-HS256');
    },
    OPEN,
  );

  // ── §3.2.2 errors ───────────────────────────────────────────────────────────────────────────────────────

  spec.http(
    '§3.2.2 a body that is no JSON object is invalid_request',
    async (world) => {
      const refused = publicErrorOf(400, 'invalid_request', 'the body must be a JSON object');
      for (const body of ['', '{', '[]', '"text"', 'null', '1'])
        assert.deepEqual(await postRegistration(world, body), refused, body);
      assert.equal(world.lastReason, 'body_unreadable');
      const mediaType = publicErrorOf(400, 'invalid_request', 'the content type must be application/json');
      for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'application/jsonp'])
        assert.deepEqual(await postRegistration(world, {}, { 'content-type': type }), mediaType, type);
      const accepted = { 'content-type': 'Application/JSON; charset=utf-8' };
      assert.equal((await postRegistration(world, { redirect_uris: [CALLBACK] }, accepted)).status, 201);
    },
    OPEN,
  );

  spec.http(
    '§3.1 another method is 405, a body of more than 64 KiB is 413',
    async (world) => {
      const response = await world.send({ method: 'GET', path: '/register', headers: {} });
      assert.deepEqual(
        response,
        publicErrorOf(405, 'invalid_request', 'the method is not allowed', {
          ...PUBLIC_JSON_HEADERS,
          allow: 'POST',
        }),
      );
      const tooLarge = await postRegistration(world, {
        redirect_uris: [CALLBACK],
        client_name: 'x'.repeat(64 * 1024),
      });
      assert.deepEqual(tooLarge, publicErrorOf(413, 'invalid_request', 'the request body is too large'));
    },
    OPEN,
  );

  spec(
    '§3.2.2 a redirect URI that the application cannot have is invalid_redirect_uri',
    async (world) => {
      const form =
        'expected at most 50 values, each of them an absolute URI without fragment and wildcard, at most 2000 characters';
      const web =
        'expected https, and not localhost, for a web application; native applications send application_type native';
      const native =
        'expected https, http with a loopback host, or a private-use scheme with a period, for a native application';
      for (const [redirectUris, problem, type] of [
        [undefined, 'expected at least one for the grant authorization_code'],
        [[], 'expected at least one for the grant authorization_code'],
        [CALLBACK, form],
        [{ 0: CALLBACK }, form],
        [[CALLBACK, 7], form],
        [['/callback'], form],
        [['https://app.example/#fragment'], form],
        [['https://user:pass@app.example/'], form],
        [['https://app.example/ä'], form],
        [['javascript:alert(1)'], form],
        [['data:text/html,x'], form],
        [[`https://app.example/${'x'.repeat(2000)}`], form],
        [Array.from({ length: 51 }, (_, index) => `${CALLBACK}/${index}`), form],
        [['http://app.example/callback'], web],
        [[CALLBACK, 'http://app.example/callback'], web],
        [['https://localhost/callback'], web],
        [['https://127.0.0.1/callback'], web],
        [['https://[::1]/callback'], web],
        [['https://app.localhost/callback'], web],
        ...['localhost.', 'app.localhost.', 'LOCALHOST', '127.0.0.2', '127.1', '0x7f.1', '0', '0.0.0.0'].map(
          (host) => [[`https://${host}/callback`], web] as const,
        ),
        ...['::1', '::', '::ffff:127.0.0.1', '::127.8.9.10', '0:0:0:0:0:ffff:7f00:1', '::ffff:0:0'].map(
          (host) => [[`https://[${host}]/callback`], web] as const,
        ),
        [['com.example.app:/callback'], web],
        [['https://localhost/callback'], native, 'native'],
        [['http://127.0.0.1/callback', 'http://app.example/callback'], native],
        [['http://127.0.0.1/callback'], web, 'web'],
        [['http://app.example/callback'], native, 'native'],
        [['myapp:/callback'], native, 'native'],
      ] as const) {
        const members = {
          ...(redirectUris !== undefined && { redirect_uris: redirectUris }),
          ...(type !== undefined && { application_type: type }),
        };
        assert.deepEqual(
          await postRegistration(world, members),
          unfitRedirect(problem),
          String(redirectUris),
        );
      }
      assert.equal(world.lastReason, 'redirect_uri_unfit');
    },
    OPEN,
  );

  spec(
    '§2 a native application has loopback or private-use redirect URIs',
    async (world) => {
      const redirectUris = [
        'http://127.0.0.1/callback',
        'http://[::1]:4711/callback',
        'http://localhost:3000/callback',
        'com.example.app:/callback',
        'https://app.example/claimed',
      ];
      const { metadata } = await register(world, {
        application_type: 'native',
        redirect_uris: redirectUris,
        token_endpoint_auth_method: 'none',
      });
      assert.deepEqual(metadata.redirect_uris, redirectUris);
    },
    OPEN,
  );

  spec(
    '§2 in development a web application may be on localhost and without https',
    async (world) => {
      const members = {
        application_type: 'web',
        redirect_uris: ['http://localhost:3000/callback', 'https://localhost/callback'],
        post_logout_redirect_uris: ['http://localhost:3000/'],
        logo_uri: 'http://localhost:3000/logo.png',
        backchannel_logout_uri: 'http://localhost:3000/logout',
      };
      const { metadata } = await register(world, members);
      assert.deepEqual(metadata, { ...BY_DEFAULT, ...members });
      const { application_type: _, ...untyped } = members;
      assert.equal((await register(world, untyped)).metadata.application_type, 'native');
    },
    openRegistration({ allowInsecureUris: true }),
  );

  spec(
    '§3.2.2 any other value that does not fit is invalid_client_metadata, and nothing is registered',
    async (world) => {
      const before = (await world.storage.clients.list()).length;
      const keys =
        'expected a JWK set of at most 32 public keys, at least one of them of the type RSA, EC or OKP';
      const visible = 'visible characters, at most 200';
      const text = `expected ${visible}`;
      const jwk = await publicJwk();
      for (const [members, member, problem] of [
        [{ client_name: 7 }, 'client_name', text],
        [{ client_name: 'x'.repeat(201) }, 'client_name', text],
        [{ client_name: 'a\u0000b' }, 'client_name', text],
        [{ client_name: 'a\u202eb' }, 'client_name', text],
        [{ 'client_name#de': [] }, 'client_name', text],
        [
          { 'client_name#': 'x' },
          'client_name',
          'expected a valid language tag, on a member that users read',
        ],
        [
          { 'client_name#<b>': 'x' },
          'client_name',
          'expected a valid language tag, on a member that users read',
        ],
        [
          { 'jwks_uri#de': 'https://a.example' },
          'jwks_uri',
          'expected a valid language tag, on a member that users read',
        ],
        [{ contacts: 'carol' }, 'contacts', `expected at most 50 values, each of them ${visible}`],
        [{ jwks_uri: 'http://app.example/jwks' }, 'jwks_uri', 'expected https'],
        [
          { jwks: { keys: [jwk] }, jwks_uri: 'https://a.example' },
          'jwks_uri',
          'expected jwks or jwks_uri, not both',
        ],
        [{ jwks: { keys: [] } }, 'jwks', keys],
        [{ jwks: [jwk] }, 'jwks', keys],
        [{ jwks: { keys: [jwk, { kty: 'oct', k: 'AAAA' }] } }, 'jwks', keys],
        [{ jwks: { keys: [{ ...jwk, d: 'AAAA' }] } }, 'jwks', keys],
        [{ jwks: { keys: Array(33).fill(jwk) } }, 'jwks', keys],
        [
          { token_endpoint_auth_method: 'private_key_jwt' },
          'token_endpoint_auth_method',
          'private_key_jwt needs jwks or jwks_uri',
        ],
        [{ require_signed_request_object: true }, 'require_signed_request_object', 'needs jwks or jwks_uri'],
        [
          { userinfo_encrypted_response_alg: 'RSA-OAEP-256' },
          'userinfo_encrypted_response_alg',
          'needs jwks or jwks_uri',
        ],
        [
          { userinfo_encrypted_response_alg: 'RSA1_5' },
          'userinfo_encrypted_response_alg',
          'expected one of RSA-OAEP-256, ECDH-ES, ECDH-ES+A128KW, ECDH-ES+A256KW',
        ],
        [
          { userinfo_encrypted_response_enc: 'A128GCM' },
          'userinfo_encrypted_response_enc',
          'needs userinfo_encrypted_response_alg',
        ],
        [
          { introspection_encrypted_response_enc: 'A128GCM' },
          'introspection_encrypted_response_enc',
          'needs introspection_encrypted_response_alg',
        ],
        [
          { id_token_encrypted_response_alg: 'RSA-OAEP-256' },
          'id_token_encrypted_response_alg',
          'needs jwks or jwks_uri',
        ],
        [
          { id_token_encrypted_response_enc: 'A128GCM' },
          'id_token_encrypted_response_enc',
          'needs id_token_encrypted_response_alg',
        ],
        [
          { authorization_encrypted_response_alg: 'ECDH-ES' },
          'authorization_encrypted_response_alg',
          'needs jwks or jwks_uri',
        ],
        [
          { authorization_encrypted_response_enc: 'A128GCM' },
          'authorization_encrypted_response_enc',
          'needs authorization_encrypted_response_alg',
        ],
        [
          { grant_types: ['implicit'] },
          'grant_types',
          'expected at most 50 values, each of them one of authorization_code, refresh_token, client_credentials, urn:ietf:params:oauth:grant-type:device_code, urn:ietf:params:oauth:grant-type:token-exchange, urn:ietf:params:oauth:grant-type:jwt-bearer',
        ],
        ...[['refresh_token'], ['client_credentials', 'refresh_token'], ['client_credentials']].map(
          (grants) =>
            [
              { grant_types: grants },
              'grant_types',
              'none of them is open to this client; expected authorization_code, refresh_token',
            ] as const,
        ),
        [
          { grant_types: ['authorization_code', 7] },
          'grant_types',
          'expected at most 50 values, each of them one of authorization_code, refresh_token, client_credentials, urn:ietf:params:oauth:grant-type:device_code, urn:ietf:params:oauth:grant-type:token-exchange, urn:ietf:params:oauth:grant-type:jwt-bearer',
        ],
        [{ response_types: 'code' }, 'response_types', 'expected at most 50 values, each of them code'],
        [
          { token_endpoint_auth_method: ['none'] },
          'token_endpoint_auth_method',
          'expected one of client_secret_basic, client_secret_post, client_secret_jwt, private_key_jwt, trusted_issuer_jwt, tls_client_auth, self_signed_tls_client_auth, none',
        ],
        [{ application_type: 7 }, 'application_type', 'expected one of web, native'],
        [{ scope: ['openid'] }, 'scope', 'expected scopes separated by spaces (RFC 6749 section 3.3)'],
        [
          { response_modes: ['web_message'] },
          'response_modes',
          'expected at most 50 values, each of them one of query, fragment, form_post, query.jwt, fragment.jwt, form_post.jwt, jwt',
        ],
        [
          { response_types: ['code id_token'] },
          'response_types',
          'expected at most 50 values, each of them code',
        ],
        [
          { response_types: [] },
          'response_types',
          'expected code with the grant type authorization_code, otherwise an empty list',
        ],
        [{ scope: 'a"b' }, 'scope', 'expected scopes separated by spaces (RFC 6749 section 3.3)'],
        [{ default_max_age: -1 }, 'default_max_age', 'expected whole seconds from 0 to 31536000'],
        [{ default_max_age: '60' }, 'default_max_age', 'expected whole seconds from 0 to 31536000'],
        [{ require_auth_time: 'true' }, 'require_auth_time', 'expected true or false'],
        [
          { backchannel_logout_uri: 'https://app.example/#x' },
          'backchannel_logout_uri',
          'expected a web URL without credentials and fragment, at most 2000 characters',
        ],
        [{ sector_identifier_uri: 'http://a.example/' }, 'sector_identifier_uri', 'expected https'],
        [
          { sector_identifier_uri: 'https://a.example/none' },
          'sector_identifier_uri',
          'the document could not be fetched',
        ],
      ] as readonly [Members, string, string][]) {
        assert.deepEqual(
          await postRegistration(world, { redirect_uris: [CALLBACK], ...members }),
          unfit(member, problem),
          JSON.stringify(members),
        );
      }
      assert.equal(world.lastReason, 'client_metadata_unfit');
      assert.equal((await world.storage.clients.list()).length, before);
    },
    OPEN,
  );

  // ── §3.2.1 what is not offered ──────────────────────────────────────────────────────────────────────────

  spec(
    '§3.2.1 of every member, values that the server does not offer are left out, and the response says what is left',
    async (world) => {
      const jwks = { keys: [await publicJwk()] };
      const none = undefined;
      const [method, algorithm] = ['token_endpoint_auth_method', 'token_endpoint_auth_signing_alg'] as const;
      for (const [sent, registered] of [
        [
          { grant_types: ['authorization_code', 'implicit', DEVICE_GRANT, EXCHANGE_GRANT] },
          { grant_types: ['authorization_code'] },
        ],
        [
          { grant_types: ['client_credentials', 'refresh_token', 'authorization_code'] },
          { grant_types: ['refresh_token', 'authorization_code'] },
        ],
        [{ response_types: ['code', 'id_token', 'code id_token'] }, { response_types: ['code'] }],
        [
          { response_modes: ['query', 'web_message', 'form_post'] },
          { response_modes: ['query', 'form_post'] },
        ],
        [{ scope: 'openid read' }, { scope: 'openid' }],
        [{ scope: 'read write' }, { scope: BY_DEFAULT.scope }],
        [{ authorization_details_types: ['payment'] }, { authorization_details_types: [] }],
        [{ [method]: 'attest_jwt_client_auth' }, { [method]: 'client_secret_basic' }],
        [{ [algorithm]: 'RS256' }, { [algorithm]: none }],
        [{ [algorithm]: 'HS1' }, { [algorithm]: none }],
        [
          { [method]: 'client_secret_jwt', [algorithm]: 'ES256' },
          { [method]: 'client_secret_jwt', [algorithm]: none },
        ],
        [
          { [method]: 'private_key_jwt', jwks, [algorithm]: 'HS256' },
          { [method]: 'private_key_jwt', [algorithm]: none },
        ],
        [{ id_token_signed_response_alg: 'none' }, { id_token_signed_response_alg: 'RS256' }],
        [{ userinfo_signed_response_alg: 'ES512' }, { userinfo_signed_response_alg: none }],
        [{ authorization_signed_response_alg: 'ES512' }, { authorization_signed_response_alg: none }],
        [{ introspection_signed_response_alg: 'ES512' }, { introspection_signed_response_alg: none }],
        [{ request_object_signing_alg: 'none' }, { request_object_signing_alg: none }],
        [{ application_type: 'desktop' }, { application_type: 'web' }],
        [{ subject_type: 'pairwise' }, { subject_type: 'public' }],
        [{ subject_type: 'ephemeral' }, { subject_type: 'public' }],
        [
          {
            jwks,
            userinfo_encrypted_response_alg: 'ECDH-ES',
            userinfo_encrypted_response_enc: 'A192CBC-HS384',
          },
          { userinfo_encrypted_response_enc: 'A128CBC-HS256' },
        ],
        [{ request_object_encryption_alg: 'RSA-OAEP' }, { request_object_encryption_alg: none }],
        [{ software_statement: 'eyJhbGciOiJub25lIn0.e30.' }, { software_statement: none }],
      ] as readonly [Members, Members][]) {
        const { metadata } = await register(world, { redirect_uris: [CALLBACK], ...sent });
        for (const [name, value] of Object.entries(registered))
          assert.deepEqual(metadata[name], value, JSON.stringify(sent));
      }
    },
    OPEN,
  );

  spec(
    '§3.2.1 of every member, an unfit value is left out if the client works without it, and otherwise refused',
    async (world) => {
      const http = 'http://app.example/x';
      const long = 'x'.repeat(3000);
      const url = [
        http,
        'javascript:alert(1)',
        '/x',
        'https://user@app.example/',
        `https://a.example/${long}`,
      ];
      const byDefault: Members = BY_DEFAULT;
      const outcomes: {
        readonly [Name in MemberName]?: readonly ['left out' | 'refused', ...(readonly unknown[])];
      } = {
        redirect_uris: ['refused', [http], [CALLBACK, http], [CALLBACK, 'x']],
        token_endpoint_auth_method: ['left out', 'unknown'],
        grant_types: ['left out', ['authorization_code', 'unknown']],
        response_types: ['left out', ['code', 'unknown']],
        client_name: ['refused', 'a\u202eb', 'аpple', long],
        client_uri: ['left out', ...url],
        logo_uri: ['left out', ...url, 'https://10.0.0.1/logo'],
        scope: ['refused', 'a"b'],
        strict_scopes: ['refused', 'true'],
        contacts: ['left out', [long], ['a\u0000b']],
        policy_uri: ['left out', ...url],
        tos_uri: ['left out', ...url],
        jwks_uri: ['refused', ...url, 'https://10.0.0.1/jwks'],
        jwks: ['refused', 'x', { keys: [] }],
        software_id: ['left out', long],
        software_version: ['left out', long],
        application_type: ['left out', 'unknown'],
        sector_identifier_uri: ['refused', ...url, 'https://10.0.0.1/sector'],
        subject_type: ['left out', 'unknown'],
        id_token_signed_response_alg: ['left out', 'none'],
        userinfo_signed_response_alg: ['left out', 'none'],
        authorization_signed_response_alg: ['left out', 'none'],
        introspection_signed_response_alg: ['left out', 'none'],
        request_object_signing_alg: ['left out', 'none', 'ES256'],
        token_endpoint_auth_signing_alg: ['left out', 'none', 'ES256'],
        default_max_age: ['refused', -1, '60'],
        require_auth_time: ['refused', 'true'],
        default_acr_values: ['refused', [long]],
        initiate_login_uri: ['left out', ...url],
        request_uris: ['left out', ...url.map((one) => [one]), ['https://10.0.0.1/request']],
        require_pushed_authorization_requests: ['refused', 'true'],
        require_signed_request_object: ['refused', 'true', true],
        dpop_bound_access_tokens: ['refused', 'true'],
        tls_client_auth_subject_dn: ['refused', long],
        tls_client_auth_san_dns: ['refused', 'a b'],
        tls_client_auth_san_uri: ['refused', 'x'],
        tls_client_auth_san_ip: ['refused', 'x'],
        tls_client_auth_san_email: ['refused', 'x'],
        tls_client_certificate_bound_access_tokens: ['refused', 'true'],
        response_modes: ['left out', ['query', 'unknown']],
        authorization_details_types: ['refused', [long]],
        post_logout_redirect_uris: ['left out', ...[...url, 'https://localhost/', 'x'].map((one) => [one])],
        backchannel_logout_uri: ['refused', ...url, 'https://10.0.0.1/logout'],
        backchannel_logout_session_required: ['refused', 'true'],
        brand_color: ['left out', 'red;}'],
        ...Object.fromEntries(
          ['id_token', 'userinfo', 'authorization', 'introspection'].flatMap((kind) => [
            [`${kind}_encrypted_response_alg`, ['refused', 'RSA1_5', 'ECDH-ES']],
            [`${kind}_encrypted_response_enc`, ['left out', 'unknown']],
          ]),
        ),
      };
      const ofClients = MEMBER_NAMES.filter((name) => memberOf(name).setBy === 'client');
      assert.deepEqual(Object.keys(outcomes).sort(), [...ofClients].sort());
      for (const name of ofClients) {
        const [outcome, ...unfitValues] = outcomes[name] ?? ['refused'];
        for (const value of unfitValues) {
          const sent = { redirect_uris: [CALLBACK], [name]: value };
          const { status, body } = await postRegistration(world, sent);
          const what = `${name}: ${JSON.stringify(value).slice(0, 80)}: ${body}`;
          assert.equal(status, outcome === 'refused' ? 400 : 201, what);
          if (outcome === 'refused') continue;
          const fit =
            Array.isArray(value) && memberOf(name).kind.each?.isChoice ? [value[0]] : byDefault[name];
          assert.deepEqual(JSON.parse(body)[name], fit, what);
        }
      }
    },
    {
      ...OPEN,
      fetchDocument: Object.assign(openRegistration().fetchDocument, {
        refusalOf: (url: string) => (url.includes('//10.') ? 'a private address' : undefined),
      }),
    },
  );

  spec(
    '§3.2.1 of a list, unfit values are left out alone, and of languages, the language',
    async (world) => {
      const { metadata } = await register(world, {
        redirect_uris: [CALLBACK],
        post_logout_redirect_uris: ['http://app.example/', 'https://app.example/bye', 'x'],
        contacts: ['a\u0000b', 'carol@app.example'],
        tos_uri: 'https://app.example/tos',
        'tos_uri#de': 'http://app.example/agb',
        'logo_uri#de': 'x',
      });
      assert.deepEqual(metadata, {
        ...BY_DEFAULT,
        post_logout_redirect_uris: ['https://app.example/bye'],
        contacts: ['carol@app.example'],
        tos_uri: 'https://app.example/tos',
      });
      const native = await register(world, {
        redirect_uris: ['http://127.0.0.1/callback'],
        post_logout_redirect_uris: ['http://127.0.0.1/bye', 'com.example.app:/bye', 'myapp:/bye'],
      });
      assert.deepEqual(native.metadata.post_logout_redirect_uris, [
        'http://127.0.0.1/bye',
        'com.example.app:/bye',
      ]);
    },
    OPEN,
  );

  spec(
    '§3.2.1 every member that has a fixed list of values leaves out those that are not in it, or protects',
    async (world) => {
      const isChoice = ({ kind }: ReturnType<typeof memberOf>) => (kind.each ?? kind).isChoice === true;
      const names = MEMBER_NAMES.filter((name) => isChoice(memberOf(name)));
      assert.ok(names.length > 15);
      for (const name of names) {
        const { kind, isProtection, setBy } = memberOf(name);
        const known = kind.each?.placeholder.split('|')[0];
        const value = known === undefined ? 'of-tomorrow' : [known, 'of-tomorrow'];
        const { status, body } = await postRegistration(world, { redirect_uris: [CALLBACK], [name]: value });
        assert.equal(status, isProtection && setBy === 'client' ? 400 : 201, `${name}: ${body}`);
        assert.ok(!body.includes('of-tomorrow'));
      }
    },
    OPEN,
  );

  spec(
    '§3 all members together have at most 32,768 characters, and at most 50 are in several languages',
    async (world) => {
      const uris = (length: number) =>
        Array.from({ length: 25 }, (_, index) => `${CALLBACK}/${String(index).padEnd(length, 'x')}`);
      assert.deepEqual(
        await postRegistration(world, { redirect_uris: uris(1500) }),
        unfit('metadata', 'expected at most 32768 characters together'),
      );
      assert.equal((await postRegistration(world, { redirect_uris: uris(1200) })).status, 201);
      const names = (count: number) =>
        Object.fromEntries(Array.from({ length: count }, (_, index) => [`client_name#a-${index}`, 'name']));
      assert.deepEqual(
        await postRegistration(world, { redirect_uris: [CALLBACK], ...names(51) }),
        unfit('client_name', 'expected at most 50 members with a language tag'),
      );
      assert.equal((await postRegistration(world, { redirect_uris: [CALLBACK], ...names(50) })).status, 201);
    },
    OPEN,
  );

  // ── §3 who may register ─────────────────────────────────────────────────────────────────────────────────

  spec(
    '§3 with required initial access tokens, registration needs a current one of this server',
    async (world) => {
      const members = { redirect_uris: [CALLBACK] };
      const token = await world.server.operator.newInitialAccessToken({ lifetime: 60 });
      const [, rest = ''] = token.split('grantd_ia_');
      const [id, expiry, use, signed] = rest.split('.');
      assert.deepEqual(await postRegistration(world, members), REFUSED_TOKEN);
      assert.equal(world.lastReason, 'access_token_missing');
      for (const wrong of [
        'grantd_ia_',
        `${token}x`,
        `grantd_ia_${id}.${Number(expiry) + 1}.${use}.${signed}`,
        `grantd_ia_${id}.${expiry}.one.${signed}`,
        token.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')),
      ])
        assert.deepEqual(await postRegistration(world, members, bearer(wrong)), REFUSED_TOKEN, wrong);
      assert.equal(world.lastReason, 'initial_access_token_invalid');

      await register(world, members, bearer(token));
      await register(world, members, bearer(token));
      world.clock.advance(59);
      await register(world, members, bearer(token));
      world.clock.advance(1);
      assert.deepEqual(await postRegistration(world, members, bearer(token)), REFUSED_TOKEN);
    },
    BEHIND_TOKEN,
  );

  spec(
    '§3 an initial access token for one client is used up by it, and by nothing that was refused',
    async (world) => {
      const token = await world.server.operator.newInitialAccessToken({ lifetime: 60, isForOne: true });
      const members = { redirect_uris: [CALLBACK] };
      assert.equal((await postRegistration(world, {}, bearer(token))).status, 400);
      const answers = await Promise.all([1, 2, 3].map(() => postRegistration(world, members, bearer(token))));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 401, 401]);
      assert.deepEqual(await postRegistration(world, members, bearer(token)), REFUSED_TOKEN);
      assert.equal(world.lastReason, 'initial_access_token_used');
    },
    BEHIND_TOKEN,
  );

  spec(
    '§3 an initial access token for one client outlives a refusal because too many clients have registered',
    async (world) => {
      const token = await world.server.operator.newInitialAccessToken({ lifetime: 60, isForOne: true });
      const members = { redirect_uris: [CALLBACK] };
      const other = await world.server.operator.newInitialAccessToken({ lifetime: 60 });
      const registered = await register(world, members, bearer(other));
      assert.equal((await postRegistration(world, members, bearer(token))).status, 429);
      assert.equal((await configure(world, 'DELETE', registered)).status, 204);
      assert.equal((await postRegistration(world, members, bearer(token))).status, 201);
    },
    { registration: { openTo: 'initial_access_token', mostClients: 1 } },
  );

  spec.http(
    '§3 other credentials are refused, and a token in the body or query is ignored',
    async (world) => {
      const token = await world.server.operator.newInitialAccessToken({ lifetime: 60 });
      assert.deepEqual(
        await postRegistration(world, { redirect_uris: [CALLBACK], access_token: token }),
        REFUSED_TOKEN,
      );
      const basicHeader = await postRegistration(world, {}, { authorization: basic('web') });
      assert.equal(basicHeader.status, 401);
      assert.match(basicHeader.headers['www-authenticate'] ?? '', /^Bearer error="invalid_token"/);
    },
    BEHIND_TOKEN,
  );

  spec.http('§3 by default there is no registration, and nothing says that there was one', async (world) => {
    for (const path of ['/register', '/register/web']) {
      const response = await world.send({
        method: 'POST',
        path,
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
      assert.deepEqual(response, { status: 404, headers: {}, body: '' });
    }
    assert.equal(world.server.serverMetadata.registration_endpoint, undefined);
  });

  spec(
    'RFC 8414 §2 the metadata name the registration endpoint if there is one',
    (world) => assert.equal(world.server.serverMetadata.registration_endpoint, `${ISSUER}/register`),
    OPEN,
  );

  spec(
    '§5 no more clients register themselves than may, and the operator learns of it',
    async (world) => {
      const [first] = [await register(world), await register(world)];
      const refusal = publicErrorOf(
        429,
        'temporarily_unavailable',
        'no more clients can register at the moment',
        {
          ...PUBLIC_JSON_HEADERS,
          'retry-after': '3600',
        },
      );
      const { length } = await world.storage.clients.list();
      assert.deepEqual(await postRegistration(world, { redirect_uris: [CALLBACK] }), refusal);
      assert.equal(world.lastReason, 'too_many_registered');
      assert.equal((await world.storage.clients.list()).length, length);
      assert.equal((await configure(world, 'DELETE', first)).status, 204);
      await register(world);
    },
    openRegistration({ mostClients: 2 }),
  );

  // ── OpenID Connect Dynamic Client Registration §5 ───────────────────────────────────────────────────────

  const sector = 'https://sector.example/uris';
  const two = ['https://one.example/callback', 'https://two.example/callback'];
  const pairwise = (answer: unknown): WorldOptions => ({
    ...openRegistration({}, { [sector]: answer }),
    pairwiseSecret: PAIRWISE_SECRET,
  });

  spec(
    'OpenID Connect Registration §5 a sector document that names every redirect URI makes several hosts one sector',
    async (world) => {
      const members = { redirect_uris: two, subject_type: 'pairwise', sector_identifier_uri: sector };
      assert.deepEqual((await register(world, members)).metadata, { ...BY_DEFAULT, ...members });
    },
    pairwise([...two, 'https://three.example/callback']),
  );

  spec(
    'OpenID Connect Registration §5 a sector document that lacks a redirect URI is refused, whatever the subjects are',
    async (world) => {
      for (const type of ['pairwise', 'public'])
        assert.deepEqual(
          await postRegistration(world, {
            redirect_uris: two,
            subject_type: type,
            sector_identifier_uri: sector,
          }),
          unfit('sector_identifier_uri', 'expected a JSON array at this URL that lists every redirect URI'),
        );
    },
    pairwise([two[0]]),
  );

  for (const [what, answer, problem] of [
    ['no JSON', 'hello', 'expected a JSON array at this URL that lists every redirect URI'],
    ['no array', { uris: two }, 'expected a JSON array at this URL that lists every redirect URI'],
    [
      'not to be asked for',
      new DocumentError('refused', 'a private address'),
      'the document could not be fetched',
    ],
    ['nothing but an error', undefined, 'the document could not be fetched'],
  ] as const) {
    spec(
      `OpenID Connect Registration §5 a sector document that is ${what} is refused`,
      async (world) => {
        const members = { redirect_uris: two, subject_type: 'pairwise', sector_identifier_uri: sector };
        assert.deepEqual(await postRegistration(world, members), unfit('sector_identifier_uri', problem));
      },
      pairwise(answer),
    );
  }

  spec(
    'OpenID Connect Registration §5 a sector document that cannot be fetched is the request’s own error, no outage',
    async (world) => {
      const members = { redirect_uris: two, sector_identifier_uri: sector };
      const refused = unfit('sector_identifier_uri', 'the document could not be fetched');
      assert.deepEqual(await postRegistration(world, members), refused);
      const event = world.events.at(-1);
      assert.ok(event?.type === 'refused' && event.cause instanceof DocumentError);
      assert.deepEqual([event.status, event.reason], [400, 'client_metadata_unfit']);
      const client = await register(world);
      const replacement = { ...members, client_id: client.client_id };
      assert.deepEqual(await configure(world, 'PUT', client, replacement), refused);
    },
    pairwise(new DocumentError('failed', 'no answer')),
  );

  spec(
    'OpenID Connect Registration §2 pairwise subjects with redirect URIs of several hosts need a sector document',
    async (world) => {
      const problem = 'required unless all redirect URIs have one https host, or none is https';
      const refused = unfit('sector_identifier_uri', problem);
      const mixed = [CALLBACK, 'com.example.app:/callback'];
      for (const redirect_uris of [two, mixed, [CALLBACK, 'http://127.0.0.1/callback']]) {
        const members = { application_type: 'native', redirect_uris, subject_type: 'pairwise' };
        assert.deepEqual(await postRegistration(world, members), refused);
      }
      for (const redirect_uris of [[CALLBACK, `${CALLBACK}/other`], ['com.example.app:/callback']]) {
        const members = { application_type: 'native', redirect_uris, subject_type: 'pairwise' };
        assert.equal((await register(world, members)).metadata.subject_type, 'pairwise');
      }
    },
    pairwise([]),
  );

  // ── Clients of the Model Context Protocol ───────────────────────────────────────────────────────────────

  spec.http(
    'pages of any origin may register, and say which version of the protocol they speak',
    async (world) => {
      const origin = 'https://inspector.example';
      const asking = {
        origin,
        'access-control-request-headers': 'content-type,mcp-protocol-version',
      };
      const registered = await register(world, { redirect_uris: [CALLBACK] }, { origin });
      for (const [path, method, methods] of [
        ['/register', 'POST', 'POST'],
        [registered.registration_client_uri.slice(ISSUER.length), 'GET', 'GET, HEAD, PUT, DELETE'],
        ['/.well-known/oauth-authorization-server', 'GET', 'GET, HEAD'],
      ] as const) {
        const response = await world.send({
          method: 'OPTIONS',
          path,
          headers: { ...asking, 'access-control-request-method': method },
        });
        assert.deepEqual(response, {
          status: 204,
          headers: {
            'access-control-allow-origin': '*',
            'access-control-allow-methods': methods,
            'access-control-allow-headers': 'Authorization, Content-Type, DPoP, MCP-Protocol-Version',
            'access-control-max-age': '600',
            'cache-control': 'no-store',
          },
          body: '',
        });
      }
    },
    OPEN,
  );

  // ── Limits of unchecked clients ─────────────────────────────────────────────────────────────────────────

  spec(
    '§5 a self-registered client introspects only its own tokens, until the operator makes it an API',
    async (world) => {
      const { client_id, client_secret } = await register(world);
      const { access_token } = await world.grant();
      const ask = () =>
        world.post('/token/introspect', { token: access_token }, null, {
          authorization: basic(client_id, client_secret),
        });
      assert.equal((await ask()).body, '{"active":false}');
      assert.equal(world.lastReason, 'policy');
      await changeClient(world, client_id, { resource: 'https://api.example/stranger' });
      assert.equal(JSON.parse((await ask()).body).active, true);
    },
    OPEN,
  );
});

test('RFC 6749 §5.2 what is expected of a member has only the characters that a description may have', () => {
  for (const name of MEMBER_NAMES) {
    assert.match(
      `${name}: ${memberOf(name).kind.expected} ${MEMBER_TEXTS[name].about}`,
      /^[\x20-\x21\x23-\x5B\x5D-\x7E]*$/,
      name,
    );
  }
});

// ── Options ───────────────────────────────────────────────────────────────────────────────────────────────

test('RFC 7591 §3 a host may know the initial access tokens itself, and what it cannot say is an outage', async (t) => {
  const world = await openWorld(t, {
    registration: {
      openTo: async (token) => {
        if (token === 'outage') throw new Error('the directory is down');
        return token === 'known';
      },
    },
  });
  await register(world, { redirect_uris: [CALLBACK] }, bearer('known'));
  assert.deepEqual(await postRegistration(world, {}, bearer('unknown')), REFUSED_TOKEN);
  assert.deepEqual(await postRegistration(world, {}, bearer('outage')), PUBLIC_OUTAGE);
});

test('RFC 7591 §3 whether an initial access token for one client was used is what storage says, or an outage', async (t) => {
  const world = await openWorld(t, BEHIND_TOKEN);
  const order = { lifetime: 60, isForOne: true };
  const token = await world.server.operator.newInitialAccessToken(order);
  const clients = { ...world.storage.clients, add: () => JSON.parse('null') };
  const silent = await secondServer(world, BEHIND_TOKEN, { ...world.storage, clients });
  assert.deepEqual(
    await postRegistration(silent, { redirect_uris: [CALLBACK] }, bearer(token)),
    PUBLIC_OUTAGE,
  );

  const { oneTimeIdentifiers: _, ...others } = world.storage;
  await assert.rejects(secondServer(world, BEHIND_TOKEN, others as AdministrableStorage), {
    name: 'ConfigurationError',
    option: 'storage.oneTimeIdentifiers',
  });

  await register(world, { redirect_uris: [CALLBACK] }, bearer(token));
});

test('RFC 7591 §3 an initial access token works at every process with the secret, including old ones, and at no other issuer', async (t) => {
  const world = await openWorld(t, BEHIND_TOKEN);
  const token = await world.server.operator.newInitialAccessToken({ lifetime: 60 });
  const newSecret = 'the secret that follows it, with more than 32 characters';
  for (const [options, status] of [
    [{}, 201],
    [{ secret: [newSecret, SECRET] }, 201],
    [{ secret: newSecret }, 401],
  ] as const) {
    const other = await secondServer(world, { ...BEHIND_TOKEN, ...options });
    assert.equal(
      (await postRegistration(other, { redirect_uris: [CALLBACK] }, bearer(token))).status,
      status,
    );
  }
  const elsewhere = await openWorld(t, { ...BEHIND_TOKEN, issuer: 'https://other.example' });
  assert.equal((await postRegistration(elsewhere, {}, bearer(token))).status, 401);
});

test('RFC 7591 §2 which scopes and grants strangers may have is an option', async (t) => {
  const world = await openWorld(
    t,
    openRegistration({ scopes: ['read'], grantTypes: ['client_credentials'] }),
  );
  const { metadata, client_id, client_secret } = await register(world, {
    grant_types: ['client_credentials'],
  });
  assert.deepEqual(
    [metadata.scope, metadata.grant_types, metadata.response_types],
    [`${BY_DEFAULT.scope} read`, ['client_credentials'], []],
  );
  const response = await world.post('/token', { grant_type: 'client_credentials' }, null, {
    authorization: basic(client_id, client_secret),
  });
  assert.equal(response.status, 200);
  assert.deepEqual(
    await postRegistration(world, {
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'none',
    }),
    unfit('grant_types', 'none of them is open to this client; expected client_credentials'),
  );
});

test('RFC 7591 §2 the scopes of OpenID Connect are open with every other scope, unless they are closed by name', async (t) => {
  const scopeWith = async (scopes: readonly string[], closedScopes: readonly string[]) => {
    const world = await openWorld(t, openRegistration({ scopes, closedScopes }));
    const all = await register(world, { redirect_uris: [CALLBACK] });
    const some = await register(world, { redirect_uris: [CALLBACK], scope: 'read offline_access' });
    return [all.metadata.scope, some.metadata.scope];
  };
  assert.deepEqual(await scopeWith(['read'], []), [`${BY_DEFAULT.scope} read`, 'read offline_access']);
  assert.deepEqual(await scopeWith(['openid', 'read'], ['offline_access', 'address', 'phone']), [
    'openid profile email read',
    'read',
  ]);
  assert.deepEqual(await scopeWith(['read'], ['read']), [BY_DEFAULT.scope, 'offline_access']);
});

test('RFC 7591 §2 without OpenID Connect strangers have no scope unless the option says so', async (t) => {
  const world = await openWorld(t, { ...OPEN, oidc: OIDC_OFF });
  assert.equal((await register(world)).metadata.scope, undefined);
});

test('RFC 7591 §2 without a way to fetch, what would have to be fetched is refused with that reason', async (t) => {
  const world = await openWorld(t, { registration: { openTo: 'anyone' } });
  const jwk = await publicJwk();
  for (const members of [
    { jwks_uri: 'https://app.example/jwks' },
    { sector_identifier_uri: 'https://app.example/sector' },
  ]) {
    const [name = ''] = Object.keys(members);
    assert.deepEqual(
      await postRegistration(world, { redirect_uris: [CALLBACK], ...members }),
      unfit(name, 'this server does not fetch URLs of clients'),
    );
  }
  await register(world, { redirect_uris: [CALLBACK], jwks: { keys: [jwk] } });
  const { metadata } = await register(world, {
    redirect_uris: [CALLBACK],
    request_uris: ['https://app.example/request'],
    backchannel_logout_uri: 'https://app.example/logout',
  });
  assert.deepEqual(metadata, BY_DEFAULT, 'what needs a fetch and has a default is left out');
});

test('RFC 7591 §2 only algorithms that the server signs with can be registered', async (t) => {
  const world = await openWorld(t);
  const algorithms = ['RS256', 'ES256'] as const;
  const stub = { sign: Promise.reject, verify: Promise.reject, publicKeys: async () => [] };
  const other = await secondServer(world, { ...OPEN, jwtService: { ...stub, algorithms } });
  for (const [name, usual] of [
    ['id_token_signed_response_alg', 'RS256'],
    ['userinfo_signed_response_alg', undefined],
    ['introspection_signed_response_alg', undefined],
    ['authorization_signed_response_alg', undefined],
  ] as const) {
    const { metadata } = await register(other, { redirect_uris: [CALLBACK], [name]: 'EdDSA' });
    assert.equal(metadata[name], usual, name);
  }
});

test('the options of registration are checked, and so is that storage can register', () => {
  const storage = memoryStorage();
  const { get, hasRedirectOrigin } = storage.clients;
  const open = { openTo: 'anyone' };
  for (const [options, message] of [
    [{ registration: true }, 'registration: expected an object'],
    [
      { registration: { openTo: 'all' } },
      'registration.openTo: expected anyone, initial_access_token or a function',
    ],
    [{ registration: { ...open, scopes: ['a b'] } }, 'registration.scopes: expected a list of scopes'],
    [
      { registration: { ...open, grantTypes: ['implicit'] } },
      'registration.grantTypes: expected a list of authorization_code, refresh_token, client_credentials',
    ],
    [
      { registration: { ...open, allowInsecureUris: 'yes' } },
      'registration.allowInsecureUris: expected true or false',
    ],
    [
      { registration: { ...open, assertionAudience: 'token_endpoint' } },
      'registration.assertionAudience: expected one of issuer, endpoint',
    ],
    [
      { registration: { ...open, mostClients: 0 } },
      'registration.mostClients: expected a whole number from 1 to 9007199254740991',
    ],
    [
      { registration: open, storage: { ...storage, clients: { get, hasRedirectOrigin } } },
      'storage.clients.add, storage.clients.replace, storage.clients.remove: expected methods, because the option registration is set',
    ],
  ] as const) {
    const given = JSON.parse(JSON.stringify({ issuer: ISSUER, secret: SECRET }));
    assert.throws(
      () => new AuthorizationServer({ ...given, storage, ...options }),
      (error) => error instanceof ConfigurationError && error.message.startsWith(message),
    );
  }
});

test('OpenID Connect Registration §5 a sector document comes from its own host, and no redirect is followed', async (t) => {
  const sector = 'https://sector.example/uris';
  const two = ['https://one.example/callback', 'https://two.example/callback'];
  const asked: unknown[] = [];
  const world = await openWorld(t, {
    ...OPEN,
    pairwiseSecret: PAIRWISE_SECRET,
    fetchDocument: async (url, { maxRedirects } = {}) => {
      asked.push([url, maxRedirects]);
      return { status: 200, contentType: 'application/json', body: JSON.stringify(two) };
    },
  });
  await register(world, { redirect_uris: two, subject_type: 'pairwise', sector_identifier_uri: sector });
  assert.deepEqual(asked, [[sector, 0]]);
});

test('loopback redirect URIs make a client native unless it says what it is, and their ports may vary', async (t) => {
  const world = await openWorld(t, OPEN);
  for (const uri of ['http://localhost:33418/callback', 'http://127.0.0.1/', 'http://[::1]:8090/oauth']) {
    const redirect_uris = [uri, 'https://vscode.example/redirect'];
    const { client_id, metadata } = await register(world, {
      client_name: 'MCP Inspector',
      redirect_uris,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    });
    assert.deepEqual([metadata.application_type, metadata.redirect_uris], ['native', redirect_uris]);
    const other = new URL(uri);
    other.port = '50123';
    for (const redirectUri of [uri, other.href]) {
      const query = new URLSearchParams({
        response_type: 'code',
        client_id,
        code_challenge: CHALLENGE,
        code_challenge_method: 'S256',
        redirect_uri: redirectUri,
      });
      const request = { method: 'GET', url: `/authorize?${query}`, headers: {} };
      const asked = await world.server.authorization.validate(request);
      const { headers } = await world.server.authorization.complete(asked, { subject: 'alice' });
      const code = new URL(String(headers.location)).searchParams.get('code') ?? '';
      const form = { grant_type: 'authorization_code', code, code_verifier: VERIFIER, client_id };
      const tokens = await world.post('/token', { ...form, redirect_uri: redirectUri });
      assert.equal(tokens.status, 200, tokens.body);
    }
  }
});

test('a name that cannot be seen, or mixes scripts, is refused in every language', async (t) => {
  const world = await openWorld(t, OPEN);
  const seen = 'expected a name that can be seen';
  const invisible = 'expected a name without invisible characters';
  const mixed = 'expected a name in letters of one script';
  for (const [name, problem] of [
    ['\u3164', seen],
    ['\u2800\u2800', seen],
    ['\u115f', seen],
    ['\u0301\u0302', seen],
    ['Pay\u3164Pal', invisible],
    ['\u0301Shop', invisible],
    ['Shop\ufe0f', invisible],
    ['Z\u0300\u0301\u0302\u0303\u0304', 'expected a name with at most four marks on a letter'],
    ['P\u0430ypal', mixed],
    ['Paypal \u0420\u0430\u0443', mixed],
    ['Goo\u0261le \u0391', mixed],
    ['\u0421\u0391', mixed],
  ] as const) {
    for (const member of ['client_name', 'client_name#de']) {
      const response = await postRegistration(world, { redirect_uris: [CALLBACK], [member]: name });
      assert.deepEqual(response, unfit('client_name', problem), JSON.stringify(name));
    }
  }
});

test('names in one script, or in commonly mixed scripts, are accepted', async (t) => {
  const world = await openWorld(t, OPEN);
  for (const client_name of [
    'Läden & Söhne, S.à r.l.',
    'Яндекс',
    'Ελληνικά 24/7',
    '楽天 Rakuten カード',
    '네이버 Naver',
    'חנות Shop',
    'متجر ١٢٣',
    'ร้านค้า',
    'हिन्दी',
    'Việt Nam',
    'ᏣᎳᎩ',
    'Photos ❤️ 📷',
    '4711',
  ]) {
    const { metadata } = await register(world, { redirect_uris: [CALLBACK], client_name });
    assert.equal(metadata.client_name, client_name);
  }
});

test('§5 one address cannot use up the registrations of all, and initial access tokens are not counted', async (t) => {
  const options = openRegistration({ mostClients: 6, mostClientsPerAddress: 2 });
  const world = await openWorld(t, options);
  const attempt = async (server: AuthorizationServer, place: string | undefined, headers = {}) => {
    const { status } = await server
      .register({
        method: 'POST',
        url: '/register',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ redirect_uris: [CALLBACK] }),
        ...(place !== undefined && { place }),
      })
      .catch((error) => error);
    return status;
  };
  const { server } = world;
  const attempts = await Promise.all(Array.from({ length: 5 }, () => attempt(server, '192.0.2.1')));
  assert.deepEqual(attempts.sort(), [201, 201, 429, 429, 429]);
  assert.equal(world.lastReason, 'too_many_registered');
  assert.equal(await attempt(server, '2001:db8::/64'), 201, 'another address');
  assert.equal(await attempt(server, undefined), 201, 'an unknown address');
  const behindToken = await secondServer(world, {
    registration: { openTo: 'initial_access_token', mostClients: 6, mostClientsPerAddress: 2 },
  });
  const token = await behindToken.server.operator.newInitialAccessToken({ lifetime: 60 });
  assert.equal(await attempt(behindToken.server, '192.0.2.1', bearer(token)), 201);
  const [first] = (await world.storage.clients.list()).filter(({ registeredAt }) => registeredAt);
  assert.ok(first);
  assert.equal(await attempt(server, '192.0.2.9'), 201);
  assert.equal(await attempt(server, '192.0.2.10'), 429, 'the limit for all');
  const places = JSON.stringify(await world.storage.clients.list());
  assert.ok(!places.includes('192.0.2'), 'no record has an address');
});

test('§5 unused registrations are removed, and those with tokens, requests or settings of the operator stay', async (t) => {
  const world = await openWorld(t, OPEN);
  const names = ['unused', 'asks', 'pushes', 'signs in', 'changed', 'disabled'] as const;
  const clients = new Map<string, { client_id: string; client_secret: string }>();
  for (const name of names)
    clients.set(name, (await register(world, { redirect_uris: [CALLBACK], client_name: name })) as never);
  const idOf = (name: (typeof names)[number]) => clients.get(name)?.client_id ?? '';
  const kept = async () =>
    (await world.storage.clients.list())
      .flatMap(({ name, registeredAt }) => (registeredAt ? [name] : []))
      .sort();
  const sweepBefore = async (days: number, isUsed?: (client: ClientRecord) => boolean) => {
    const unusedSince = world.clock.seconds - days * DAY;
    const options = { unusedSince, clock: world.clock.read, ...(isUsed && { isUsed }) };
    while ((await sweepRegistrations(world.storage, options)) > 0);
  };
  const query = (name: (typeof names)[number]) => ({
    client_id: idOf(name),
    response_type: 'code',
    redirect_uri: CALLBACK,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    scope: 'openid',
  });
  const validate = (name: (typeof names)[number]) => {
    const url = `/authorize?${new URLSearchParams(query(name))}`;
    return world.server.authorization.validate({ method: 'GET', url, headers: {} });
  };
  await world.storage.setDisabled('client', idOf('disabled'), true);
  await changeClient(world, idOf('changed'), { metadata: { set_by_operator: ['scope'] } });
  await sweepBefore(30);
  assert.deepEqual(await kept(), [...names].sort(), 'all are new');

  world.clock.advance(29 * DAY);
  await validate('asks');
  const pushed = await world.post('/par', query('pushes'), null, {
    authorization: basic(idOf('pushes'), clients.get('pushes')?.client_secret),
  });
  assert.equal(pushed.status, 201, pushed.body);
  const { headers } = await world.server.authorization.complete(await validate('signs in'), {
    subject: 'alice',
  });
  const code = new URL(String(headers.location)).searchParams.get('code') ?? '';
  const form = { grant_type: 'authorization_code', code, code_verifier: VERIFIER, redirect_uri: CALLBACK };
  const authorization = basic(idOf('signs in'), clients.get('signs in')?.client_secret);
  const { status, body } = await world.post('/token', form, null, { authorization });
  assert.equal(status, 200, body);
  world.clock.advance(2 * DAY);
  await sweepBefore(30, ({ name }) => name === 'unused');
  assert.deepEqual(await kept(), [...names].sort(), 'one is used for another reason');
  assert.ok((await world.storage.clients.listUnused(world.clock.seconds - 30 * DAY, 9)).length === 0);

  world.clock.advance(31 * DAY);
  await sweepBefore(30, () => false);
  assert.deepEqual(await kept(), ['changed', 'disabled']);
  await assert.rejects(validate('asks'));
});

test('§5 a client is not removed while its refresh token lives, and each client writes its use once a day', async (t) => {
  const world = await openWorld(t, openRegistration());
  const client = await register(world, {
    redirect_uris: [CALLBACK],
    grant_types: ['authorization_code', 'refresh_token'],
  });
  let writes = 0;
  const { clients } = world.storage;
  const counted = {
    ...clients,
    noteUse(id: string, until: number) {
      writes++;
      return clients.noteUse(id, until);
    },
  };
  const { server } = await secondServer(world, OPEN, { ...world.storage, clients: counted });
  const query = new URLSearchParams({
    client_id: client.client_id,
    response_type: 'code',
    redirect_uri: CALLBACK,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
  });
  const ask = () => server.authorization.validate({ method: 'GET', url: `/authorize?${query}`, headers: {} });
  world.clock.advance(1);
  const [first, ...others] = [await ask(), await ask(), await ask()];
  for (const other of others)
    assert.deepEqual(other.client, first.client, 'its use is no part of the client that users see');
  assert.equal(writes, 1);
  const { headers } = await server.authorization.complete(await ask(), { subject: 'alice' });
  const code = new URL(String(headers.location)).searchParams.get('code') ?? '';
  const form = { grant_type: 'authorization_code', code, code_verifier: VERIFIER, redirect_uri: CALLBACK };
  const response = await server.token({
    method: 'POST',
    url: '/token',
    headers: { authorization: basic(client.client_id, client.client_secret) },
    body: form,
  });
  assert.equal(response.status, 200, response.body);
  assert.equal(writes, 2);
  const lifetime = 14 * DAY;
  const { usedUntil = 0 } = (await clients.get(client.client_id)) ?? {};
  assert.ok(usedUntil >= world.clock.seconds + lifetime && usedUntil <= world.clock.seconds + lifetime + DAY);
});
