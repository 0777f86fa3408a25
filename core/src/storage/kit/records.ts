// Kit cases: records come back as they were stored.
import type { ClientMetadata } from '../../protocol/client_members.ts';
import type {
  AuthorizationCodeRecord,
  ClientRecord,
  NewAuthorizationCode,
  NewToken,
  TokenRecord,
} from '../../protocol/records.ts';
import type { NewClient } from '../contract.ts';
import { isUnguarded } from '../faults.ts';
import { authorizationCodeRecord, clientRecord, tokenRecord } from '../host_records.ts';
import { expect, expectEqual, type KitCase, kitCase, type Stage } from './stage.ts';

const isAbsent = (found: unknown): boolean => found === undefined || found === null;

/** Not in alphabetical order, and with values that break naive storage. */
const CLAIMS = {
  sub: 'né "quoted" \\ \u0000 \u{1f511}',
  aud: ['https://api.example', "o'brien"],
  act: { sub: 'other', nested: { b: 1, a: [null, true, 1.5] } },
  auth_time: 1_893_456_000,
  acr: '',
};

const CLAIMS_REQUEST = {
  userinfo: { given_name: { essential: true }, 'http://example.com/"x"': null },
  id_token: { auth_time: { essential: false }, acr: { values: ['b', 'a', 1], value: { z: 1, a: null } } },
};

const DETAILS = [
  {
    type: 'payment',
    locations: ['https://z.example', 'https://a.example'],
    amount: { value: '1.50', a: null },
  },
  { type: 'o\'brien "\\', actions: [], limit: -0.5, nested: [[true, {}]] },
];

const CONFIRMATION = {
  jkt: '0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I',
  'x5t#S256': 'bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2',
};

/** Every member, so that the compiler notices a missing one. */
const METADATA: Required<ClientMetadata> = {
  token_endpoint_auth_method: 'private_key_jwt',
  client_uri: 'https://client.example',
  'client_name#ja-Hani-JP': 'クライアント名',
  'client_name#de': 'Ein “Name”',
  'logo_uri#fr-CA': 'https://client.example/logo-fr.png',
  logo_uri: 'https://client.example/logo.png',
  policy_uri: 'https://client.example/policy',
  tos_uri: 'https://client.example/tos',
  contacts: ['z@client.example', 'a@client.example'],
  jwks_uri: 'https://client.example/jwks',
  jwks: {
    keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: '1', key_ops: ['verify'], x5c: ['MIIB+/=='] }],
  },
  software_id: 'b5e2a7c4',
  software_version: '1.0',
  application_type: 'web',
  subject_type: 'pairwise',
  sector_identifier_uri: 'https://client.example/sector',
  token_endpoint_auth_signing_alg: 'EdDSA',
  id_token_encrypted_response_alg: 'ECDH-ES+A256KW',
  id_token_encrypted_response_enc: 'A128GCM',
  userinfo_signed_response_alg: 'RS256',
  userinfo_encrypted_response_alg: 'ECDH-ES+A128KW',
  userinfo_encrypted_response_enc: 'A256GCM',
  request_object_signing_alg: 'PS256',
  request_uris: ['https://client.example/request#abc'],
  default_max_age: 0,
  require_auth_time: false,
  default_acr_values: ['2', '1'],
  initiate_login_uri: 'https://client.example/login',
  require_pushed_authorization_requests: true,
  require_signed_request_object: false,
  dpop_bound_access_tokens: true,
  authorization_signed_response_alg: 'PS256',
  authorization_encrypted_response_alg: 'ECDH-ES',
  authorization_encrypted_response_enc: 'A256CBC-HS512',
  authorization_details_types: ['z', 'https://a.example/type'],
  tls_client_auth_subject_dn: 'CN=Ein \\"Name\\",O=Example\\, Inc.,C=DE',
  tls_client_auth_san_dns: 'client.example',
  tls_client_auth_san_uri: 'https://client.example/one',
  tls_client_auth_san_ip: '2001:db8::1',
  tls_client_auth_san_email: 'client@client.example',
  tls_client_certificate_bound_access_tokens: true,
  introspection_signed_response_alg: 'ES256',
  introspection_encrypted_response_alg: 'RSA-OAEP-256',
  introspection_encrypted_response_enc: 'A128CBC-HS256',
  post_logout_redirect_uris: ['https://client.example/bye'],
  backchannel_logout_uri: 'https://client.example/logout',
  backchannel_logout_session_required: true,
  allowed_groups: ['z', 'a'],
  sign_in_policy: 'second_factor',
  api_scopes: ['z', 'a'],
  apis: ['https://z.example', 'https://a.example'],
  follow_all: true,
  set_by_operator: ['scope', 'client_name#de'],
  profile: 'fapi2-security',
  response_modes: ['jwt', 'fragment.jwt'],
  assertion_audience: 'endpoint',
  assertion_lifetime: 3600,
  ignore_unknown_token_type_hint: true,
  insecure_redirect_uris: true,
  insecure_allow_missing_pkce: false,
  id_token_user_claims: true,
  consent_required: false,
  strict_scopes: true,
  exchange_tokens_of: ['https://client.example/client.json', 'a'],
  exchange_scopes: ['z', 'a'],
  exchange_impersonates: false,
  exchange_without_proof: true,
  exchange_user_actors: true,
  exchange_consent_required: true,
  exchange_step_up_scopes: ['z', 'a'],
  identity_assertions: {
    'https://chat.example/': {
      ...{ client_id: 'f53', signs_in_as: 'chat', email: true, lifetime: 60 },
      ...{ scopes: ['z', 'a'], resources: ['https://api.chat.example/'], authorization_details_types: ['z'] },
    },
  },
  kind: 'agent',
  access_token_lifetime: 300,
  brand_color: '#12aB0f',
};

/** The members of `expected`, taken from the record that was read. */
function pick(record: object, expected: object): object {
  const read = new Map(Object.entries(record));
  return Object.fromEntries(Object.keys(expected).map((name) => [name, read.get(name)]));
}

async function expectStored(stage: Stage, token: NewToken): Promise<void> {
  const record = await stage.find(token);
  expect(record !== undefined, 'a stored token is found');
  const { keepUntil: _, ...expected } = token;
  expectEqual(pick(record, expected), expected, 'a stored token');
}

/** Results of lookups, each with the record that is read from it if it is not trusted to be plain. */
interface Answered {
  readonly what: string;
  readonly found: TokenRecord | AuthorizationCodeRecord | ClientRecord;
  readonly read: object | undefined;
}

/** Whether it consists only of objects, lists, strings, numbers, booleans and `null`, like JSON. */
function isPlain(value: unknown): boolean {
  if (typeof value !== 'object') return ['string', 'number', 'boolean'].includes(typeof value);
  if (value === null) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isOfClass = prototype !== null && prototype !== (Array.isArray(value) ? Array : Object).prototype;
  return !isOfClass && Object.values(value).every(isPlain);
}

const namesOf = (value: unknown): readonly string[] =>
  typeof value === 'object' && value !== null ? Object.keys(value).toSorted() : [];

interface Ids {
  readonly clientId: string;
  readonly access: string;
  readonly refresh: string;
  readonly code: string;
}

async function allOf(
  { storage }: Stage,
  { clientId, access, refresh, code }: Ids,
): Promise<readonly Answered[]> {
  const client = await storage.clients.get(clientId);
  const accessToken = await storage.tokens.getByAccessToken(access);
  const refreshToken = await storage.tokens.getByRefreshToken(refresh);
  const stored = await storage.authorizationCodes.get(code);
  return [
    ...(client ? [{ what: 'a client', found: client, read: clientRecord(client) }] : []),
    ...(accessToken
      ? [
          {
            what: 'an access token',
            found: accessToken,
            read: tokenRecord(accessToken, 'access_token', access),
          },
        ]
      : []),
    ...(refreshToken
      ? [
          {
            what: 'a refresh token',
            found: refreshToken,
            read: tokenRecord(refreshToken, 'refresh_token', refresh),
          },
        ]
      : []),
    ...(stored ? [{ what: 'a code', found: stored, read: authorizationCodeRecord(stored) }] : []),
  ];
}

function expectPlain({ what, found, read }: Answered): void {
  expect(isPlain(found), `${what} must be plain data, got ${JSON.stringify(found)}`);
  const names = namesOf(found).filter((name) => name !== 'version');
  expectEqual(names, namesOf(read), `the members of ${what}`);
  const standings = [found, read].map((record) => Object.entries(Object(record).standing ?? {}).toSorted());
  const members = standings.map((standing) => standing.map(([principal, one]) => [principal, namesOf(one)]));
  expectEqual(members[0], members[1], `the members of the standing of ${what}`);
}

export const records: readonly KitCase[] = [
  kitCase('records', 'an unknown identifier is absence, not an error', async ({ storage }) => {
    expect(isAbsent(await storage.tokens.getByAccessToken('unknown')), 'no access token');
    expect(isAbsent(await storage.tokens.getByRefreshToken('unknown')), 'no refresh token');
    expect(isAbsent(await storage.authorizationCodes.get('unknown')), 'no code');
    expect(isAbsent(await storage.clients.get('unknown')), 'no client');
    // Which key a token names is asked before anything of it is believed.
    for (const kid of ['unknown', '', '\u0000'])
      expect(isAbsent(await storage.keys?.get(kid)), `no key ${JSON.stringify(kid)}`);
  }),

  kitCase('records', 'every field of a token comes back, its claims in their order', async (stage) => {
    const grant = await stage.grant();
    const { refresh, access } = stage.pair(grant, {
      claims: CLAIMS,
      claimsRequest: CLAIMS_REQUEST,
      resources: ['https://api.example/z', 'https://api.example/a'],
      authorizationDetails: DETAILS,
      keyId: 'k1',
      confirmation: CONFIRMATION,
      scopes: ['openid', 'a:b/c'],
    });
    const code = await stage.code(grant);
    expectEqual(
      await stage.storage.authorizationCodes.redeem(code, [refresh, access]),
      'issued',
      'redeeming',
    );
    await expectStored(stage, refresh);
    await expectStored(stage, access);
    await stage.expectAlive(refresh, access);
  }),

  kitCase('records', 'a field that a token does not have is absent from its record', async (stage) => {
    const client = await stage.client();
    const { tokenType: _, ...token } = stage.accessToken({ clientId: client.id, scopes: [] });
    await stage.issued(client, token);
    const record = await stage.find(token);
    const names = Object.entries(record ?? {}).filter(([, value]) => value !== undefined);
    const allowed = new Set([...Object.keys(token), 'standing', 'notBeforeMs', 'version']);
    for (const [name, value] of names) {
      expect(allowed.has(name), `${name} must be absent, got ${JSON.stringify(value)}`);
    }
    await stage.expectAlive(token);
  }),

  kitCase('records', 'what the caller does to its objects afterwards changes no record', async (stage) => {
    const client = await stage.client();
    const claims: Record<string, unknown> = { sub: 'one', roles: ['reader'] };
    const token = stage.accessToken({ clientId: client.id, claims });
    await stage.issued(client, token);
    claims.sub = 'two';
    expectEqual((await stage.find(token))?.claims, { sub: 'one', roles: ['reader'] }, 'claims');
  }),

  kitCase(
    'records',
    'a token that is bound to a key and a certificate stays bound, and so does its code',
    async (stage) => {
      const grant = await stage.grant();
      const confirmation = CONFIRMATION;
      const code = await stage.code(grant, { confirmation });
      const { authorizationCodes } = stage.storage;
      expectEqual((await authorizationCodes.get(code.id))?.confirmation, confirmation, 'of the code');
      const { refresh, access } = stage.pair(grant, { confirmation });
      const bound = { ...access, tokenType: 'DPoP' };
      expectEqual(await authorizationCodes.redeem(code, [refresh, bound]), 'issued', 'redeeming');
      const found = await stage.find(bound);
      expectEqual([found?.tokenType, found?.confirmation], ['DPoP', confirmation], 'of the access token');
      expectEqual((await stage.find(refresh))?.confirmation, confirmation, 'of the refresh token');
    },
  ),

  kitCase('records', 'a token of one kind is not found as the other', async (stage) => {
    const { refresh, access } = await stage.redeemed(await stage.grant());
    const { tokens } = stage.storage;
    expect(isAbsent(await tokens.getByRefreshToken(access.id)), 'an access token is no refresh token');
    expect(isAbsent(await tokens.getByAccessToken(refresh.id)), 'a refresh token is no access token');
  }),

  kitCase('records', 'every field of a code comes back', async (stage) => {
    const grant = await stage.grant();
    const fields: Partial<NewAuthorizationCode> = {
      redirectUriGiven: false,
      codeChallenge: 'challenge',
      confirmation: CONFIRMATION,
      nonce: 'nonce',
      scopes: ['openid', 'email'],
      claims: CLAIMS,
      claimsRequest: CLAIMS_REQUEST,
      resources: ['https://api.example/z', 'https://api.example/a'],
      authorizationDetails: DETAILS,
    };
    const code = await stage.code(grant, fields);
    const record = await stage.storage.authorizationCodes.get(code.id);
    expectEqual(pick(record ?? {}, code), code, 'a stored code');
    expect(record?.redeemedAtMs === undefined && record?.revokedAtMs === undefined, 'a new code is unused');
  }),

  kitCase('records', 'every field of a client comes back', async (stage) => {
    const client: NewClient = {
      id: 'https://client.example/a b',
      name: 'Åsa’s "client"',
      secrets: [
        {
          hash: 'hash',
          sealed: 'sealed',
          serverSecret: 'print',
          createdAtMs: 1,
          expiresAt: 1_893_456_000,
          lastUsedAtMs: 2,
        },
        { hash: 'other' },
      ],
      grantTypes: ['client_credentials'],
      scopes: ['z', 'a'],
      redirectUris: ['https://app.example/callback?x=1', 'com.example.app:/callback'],
      resource: 'https://api.example',
      rotateRefreshTokens: false,
      accessTokenFormat: 'opaque',
      accessTokenAlgorithm: 'ES256',
      idTokenAlgorithm: 'PS256',
      metadata: METADATA,
      registrationTokenDigest: 'digest',
      registeredAt: 1_893_456_000,
    };
    const record = await stage.client(client);
    expectEqual(pick(record, client), client, 'a stored client');
    expect(record.disabledAtMs === undefined, 'a new client is enabled');
  }),

  kitCase(
    'records',
    'a field that a client or a code does not have is absent from its record',
    async (stage) => {
      const { id } = await stage.client();
      const code = await stage.code(await stage.grant({ clientId: id }));
      const client = await stage.storage.clients.get(id);
      for (const name of ['metadata', 'registrationTokenDigest', 'registeredAt'] as const)
        expect(client?.[name] === undefined, `${name} must be absent`);
      const record = await stage.storage.authorizationCodes.get(code.id);
      for (const name of ['claimsRequest', 'resources', 'authorizationDetails', 'confirmation'] as const)
        expect(record?.[name] === undefined, `${name} must be absent`);
    },
  ),

  kitCase('records', 'the web origins of redirect URIs are known, and only they', async (stage) => {
    await stage.client({
      redirectUris: [
        'https://app.example/callback',
        'https://app.example/other',
        'com.example.app:/callback',
      ],
    });
    await stage.client({ redirectUris: ['https://app.example/callback', 'http://127.0.0.1:8080/cb'] });
    const { clients } = stage.storage;
    for (const origin of ['https://app.example', 'http://127.0.0.1:8080']) {
      expect((await clients.hasRedirectOrigin(origin)) === true, `${origin} is known`);
    }
    for (const origin of ['https://app.example.evil', 'http://app.example', 'http://127.0.0.1', 'null', '']) {
      expect((await clients.hasRedirectOrigin(origin)) === false, `"${origin}" is unknown`);
    }
  }),

  kitCase(
    'records',
    'a store that says that its records are plain returns what the types say',
    async (stage) => {
      const { storage } = stage;
      const parts = [storage.clients, storage.tokens, storage.authorizationCodes];
      if (storage.answersPlainRecords !== true && !parts.some(isUnguarded)) return;
      for (const absent of [
        await storage.clients.get('unknown'),
        await storage.tokens.getByAccessToken('unknown'),
        await storage.tokens.getByRefreshToken('unknown'),
        await storage.authorizationCodes.get('unknown'),
      ])
        expect(absent === undefined, 'absence is undefined');

      const client = await stage.client({
        name: 'App',
        secrets: [{ hash: 'hash' }],
        metadata: { contacts: ['a@b.example'] },
      });
      const grant = await stage.grant({ clientId: client.id });
      const code = await stage.code(grant, {
        nonce: 'nonce',
        claims: { sub: 'sub', acr: null, amr: ['pwd'] },
      });
      const { refresh, access } = stage.pair(grant, { claims: { act: { sub: 'other' }, aud: ['a', 'b'] } });
      const ids = { clientId: client.id, access: access.id, refresh: refresh.id, code: code.id };
      expectEqual(await storage.authorizationCodes.redeem(code, [refresh, access]), 'issued', 'redeeming');

      const before = await allOf(stage, ids);
      expectEqual(before.length, 4, 'how much of what was stored is found');
      before.forEach(expectPlain);
      const texts = before.map(({ found }) => JSON.stringify(found));
      const stored = await storage.tokens.getByRefreshToken(refresh.id);
      expect(stored !== undefined && stored !== null, 'a stored refresh token is found');
      await storage.tokens.revoke(stored);
      expectEqual(
        before.map(({ found }) => JSON.stringify(found)),
        texts,
        'what was answered before a revocation',
      );
      const after = await allOf(stage, ids);
      after.forEach(expectPlain);
      await stage.expectDead(access, refresh);
    },
  ),
];
