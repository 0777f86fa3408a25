// § refers to RFC 7523.
// Long: the rules of one specification, in its order.
import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, KeyObject, sign } from 'node:crypto';
import { test } from 'node:test';
import {
  type AdministrableStorage,
  type ClientMetadata,
  DocumentError,
  type FetchDocument,
  type NewClient,
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
} from '@grantd/core';
import { CompactEncrypt, importJWK } from 'jose';
import { changeClient } from './harness/client_change.ts';
import {
  ASSERTION_TYPE,
  type AssertionChanges,
  asParameters,
  assertionOf,
  clientKey,
} from './harness/client_keys.ts';
import { counted } from './harness/counted_calls.ts';
import { PAR_URL, type ProofChanges, proofOf } from './harness/dpop_proofs.ts';
import { ON_EVERY_STORE, ON_MEMORY } from './harness/places.ts';
import { CALLBACK, openRegistration, register } from './harness/registration.ts';
import { CLIENT_CHALLENGE, JSON_HEADERS, OPEN_JSON_HEADERS } from './harness/responses.ts';
import { secondServer } from './harness/second_server.ts';
import { STORES } from './harness/stores.ts';
import { FUNCTION } from './harness/transports/function.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import {
  basic,
  CHALLENGE,
  CLIENTS,
  ISSUER,
  openWorld,
  secretOf,
  specification,
  type World,
} from './harness/world.ts';

const ENDPOINTS = [
  { path: '/token', headers: OPEN_JSON_HEADERS },
  { path: '/token/introspect', headers: JSON_HEADERS },
  { path: '/token/revoke', headers: OPEN_JSON_HEADERS },
] as const;
const FAILED = '{"error":"invalid_client","error_description":"client authentication failed"}';
const REPEATED =
  '{"error":"invalid_request","error_description":"the request carries more than one client credential"}';

/** A client that signs its assertions with the key of this algorithm, and has others. */
async function addSigner(
  { storage }: Pick<World, 'storage'>,
  id = 'signer',
  metadata: ClientMetadata = {},
  others: Partial<NewClient> = {},
): Promise<void> {
  const keys = await Promise.all(SIGNING_ALGORITHMS.map(async (alg) => (await clientKey(alg)).publicJwk));
  await storage.clients.add({
    ...CLIENTS.machine,
    ...others,
    id,
    metadata: {
      ...others.metadata,
      token_endpoint_auth_method: 'private_key_jwt',
      ...(metadata.jwks_uri === undefined && { jwks: { keys } }),
      ...metadata,
    },
  });
}

/** The same parameters at every endpoint that authenticates clients. An authenticated client gets 200. */
async function everywhere(
  world: World,
  parametersFor: () => Promise<Readonly<Record<string, string>>> | Readonly<Record<string, string>>,
  authorization?: string,
): Promise<readonly TestResponse[]> {
  const headers = authorization === undefined ? {} : { authorization };
  return Promise.all(
    ENDPOINTS.map(async ({ path }) => {
      const form = { grant_type: 'client_credentials', token: 'no token at all', ...(await parametersFor()) };
      return world.post(path, form, null, headers);
    }),
  );
}

/** A new assertion for each endpoint. */
async function assertedEverywhere(
  world: World,
  changes: AssertionChanges = {},
  algorithm: SigningAlgorithm = 'ES256',
): Promise<readonly TestResponse[]> {
  return everywhere(world, async () => asParameters(await assertionOf(world, 'signer', algorithm, changes)));
}

function assertAdmitted(responses: readonly TestResponse[], message = 'a client that gets in'): void {
  assert.deepEqual(
    responses.map(({ status }) => status),
    [200, 200, 200],
    message,
  );
}

function assertRefused(
  world: World,
  responses: readonly TestResponse[],
  reason: string,
  message = reason,
): void {
  const expected = ENDPOINTS.map(({ headers }) => ({
    status: 401,
    headers: { ...headers, 'www-authenticate': CLIENT_CHALLENGE },
    body: FAILED,
  }));
  assert.deepEqual(responses, expected, message);
  assert.equal(world.lastReason, reason, message);
}

function assertRepeated(world: World, responses: readonly TestResponse[]): void {
  assert.deepEqual(
    responses,
    ENDPOINTS.map(({ headers }) => ({ status: 400, headers, body: REPEATED })),
  );
  assert.equal(world.lastReason, 'credentials_repeated');
}

function rightClaims(world: World): Readonly<Record<string, unknown>> {
  const iat = world.clock.seconds;
  return { iss: 'signer', sub: 'signer', aud: ISSUER, iat, exp: iat + 60, jti: crypto.randomUUID() };
}

/** A JWS with any content and signature, which no correct library would produce. */
function roughJws(header: object, claims: object, signer: (input: Buffer) => Buffer): string {
  const input = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${input}.${signer(Buffer.from(input)).toString('base64url')}`;
}

function rsa(key: KeyObject): (input: Buffer) => Buffer {
  return (input) => sign('sha256', input, key);
}

specification('Client assertions (RFC 7521, RFC 7523, OpenID Connect Core §9)', ON_MEMORY, (spec) => {
  spec('RFC 7523 §2.2 a client is known by a JWT that it has signed, with each algorithm', async (world) => {
    await addSigner(world);
    for (const algorithm of SIGNING_ALGORITHMS) {
      assertAdmitted(await assertedEverywhere(world, {}, algorithm), algorithm);
    }
  });

  spec('RFC 9864 §2.2 Ed25519 is another name of EdDSA, registered or not', async (world) => {
    const { privateKey, publicJwk } = await clientKey('EdDSA');
    const ed25519: (input: Buffer) => Buffer = (input) => sign(null, input, KeyObject.from(privateKey));
    const header = { alg: 'Ed25519', kid: publicJwk.kid };
    for (const metadata of [{}, { token_endpoint_auth_signing_alg: 'EdDSA' }] as const) {
      await world.storage.clients.remove('signer');
      await addSigner(world, 'signer', metadata);
      assertAdmitted(
        await everywhere(world, () => asParameters(roughJws(header, rightClaims(world), ed25519))),
      );
    }
    const forged = () => asParameters(roughJws(header, rightClaims(world), () => Buffer.alloc(64)));
    assertRefused(world, await everywhere(world, forged), 'assertion_signature_wrong');
  });

  spec('RFC 7521 §4.2 client_id may accompany an assertion, and must be its client', async (world) => {
    await addSigner(world);
    await addSigner(world, 'other');
    const withId = (client_id: string) =>
      everywhere(world, async () => ({
        client_id,
        ...asParameters(await assertionOf(world, 'signer', 'ES256')),
      }));
    assertAdmitted(await withId('signer'));
    assertRepeated(world, await withId('other'));
    assertRepeated(world, await withId('nobody'));
  });

  spec('RFC 7521 §4.2 half an assertion is 400', async (world) => {
    await addSigner(world);
    const { client_assertion, client_assertion_type } = asParameters(
      await assertionOf(world, 'signer', 'ES256'),
    );
    const missing = (name: string) =>
      ENDPOINTS.map(({ headers }) => ({
        status: 400,
        headers,
        body: `{"error":"invalid_request","error_description":"the parameter ${name} is missing"}`,
      }));
    assert.deepEqual(
      await everywhere(world, () => ({ client_assertion: client_assertion ?? '' })),
      missing('client_assertion_type'),
    );
    assert.deepEqual(
      await everywhere(world, () => ({
        client_id: 'signer',
        client_assertion_type: client_assertion_type ?? '',
      })),
      missing('client_assertion'),
    );
  });

  spec('RFC 7521 §4.2 assertions of other types are refused', async (world) => {
    await addSigner(world);
    for (const type of [
      'urn:ietf:params:oauth:client-assertion-type:saml2-bearer',
      'jwt',
      `${ASSERTION_TYPE}/`,
    ]) {
      const responses = await everywhere(world, async () => ({
        ...asParameters(await assertionOf(world, 'signer', 'ES256')),
        client_assertion_type: type,
      }));
      assertRefused(world, responses, 'assertion_type_unknown', type);
    }
  });

  spec(
    'RFC 7521 §4.2.1 an assertion with another credential is 400, even if both are right',
    async (world) => {
      await addSigner(world);
      const asserted = async () => asParameters(await assertionOf(world, 'signer', 'ES256'));
      assertRepeated(world, await everywhere(world, asserted, basic('machine')));
      assertRepeated(world, await everywhere(world, asserted, basic('signer', '')));
      const secret = { client_id: 'machine', client_secret: secretOf('machine') };
      assertRepeated(world, await everywhere(world, async () => ({ ...(await asserted()), ...secret })));
      assertRepeated(world, await everywhere(world, () => ({ client_assertion: 'x' }), basic('machine')));
      assertRepeated(
        world,
        await everywhere(world, () => ({ client_assertion_type: 'x' }), basic('machine')),
      );
    },
  );

  spec('RFC 7523 §3 a text that is no JWT, or is encrypted or too long, is refused', async (world) => {
    await addSigner(world);
    const whole = await assertionOf(world, 'signer', 'ES256');
    const [header = '', payload = '', signature = ''] = whole.split('.');
    const { publicJwk } = await clientKey('RS256');
    const encrypted = await new CompactEncrypt(new TextEncoder().encode(whole))
      .setProtectedHeader({ alg: 'RSA-OAEP-256', enc: 'A128GCM', cty: 'JWT' })
      .encrypt(await importJWK(publicJwk, 'RSA-OAEP-256'));
    const list = Buffer.from('["signer"]').toString('base64url');
    const texts = [
      'x',
      'a.b.c',
      '..',
      `${header}.${payload}`,
      `${header}.${payload}.`,
      `${whole}.${signature}`,
      ` ${whole}`,
      `${header}.${list}.${signature}`,
      `${header}.${payload}=.${signature}`,
      `{"payload":"${payload}","protected":"${header}","signature":"${signature}"}`,
      encrypted,
      roughJws({ alg: 'RS256', kid: 5 }, rightClaims(world), () => Buffer.alloc(256)),
      roughJws({ alg: 'RS256', typ: {} }, rightClaims(world), () => Buffer.alloc(256)),
      await assertionOf(world, 'signer', 'ES256', { claims: { sub: undefined } }),
      await assertionOf(world, 'signer', 'ES256', { claims: { sub: ['signer'] } }),
      await assertionOf(world, 'signer', 'ES256', { claims: { padding: 'x'.repeat(8 * 1024) } }),
    ];
    for (const text of texts) {
      const responses = await everywhere(world, () => asParameters(text));
      assertRefused(world, responses, 'assertion_malformed', text.slice(0, 100));
    }
    const large = await assertionOf(world, 'signer', 'ES256', { claims: { padding: 'x'.repeat(5 * 1024) } });
    assert.equal((await world.post('/token/revoke', { token: 'x', ...asParameters(large) })).status, 200);
  });

  spec(
    'RFC 7515 §4.1.1 neither no signature nor one by a shared secret is a signature of a client',
    async (world) => {
      await addSigner(world);
      const { publicJwk } = await clientKey('RS256');
      const claims = rightClaims(world);
      const hmac = (secret: string) => (input: Buffer) => createHmac('sha256', secret).update(input).digest();
      const pem = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({
        type: 'spki',
        format: 'pem',
      });
      const attempts = [
        roughJws({ alg: 'none' }, claims, () => Buffer.from('x')),
        roughJws({ alg: 'None' }, claims, () => Buffer.from('x')),
        roughJws({}, claims, () => Buffer.from('x')),
        roughJws({ alg: 'RS1', kid: publicJwk.kid }, claims, () => Buffer.alloc(256)),
      ];
      for (const [index, text] of attempts.entries()) {
        const responses = await everywhere(world, () => asParameters(text));
        assertRefused(world, responses, 'assertion_algorithm_refused', `attempt ${index}`);
      }
      const byMac = [
        roughJws({ alg: 'HS256', kid: publicJwk.kid }, claims, hmac(JSON.stringify(publicJwk))),
        roughJws({ alg: 'HS256', kid: publicJwk.kid }, claims, hmac(String(pem))),
        roughJws({ alg: 'HS256' }, claims, hmac(secretOf('signer'))),
      ];
      for (const text of byMac)
        assertRefused(world, await everywhere(world, () => asParameters(text)), 'client_method_wrong');
      const empty = roughJws({ alg: 'none' }, claims, () => Buffer.alloc(0));
      assertRefused(world, await everywhere(world, () => asParameters(empty)), 'assertion_malformed');
    },
  );

  spec('RFC 7523 §3 (9) an assertion that the client has not signed is refused', async (world) => {
    await addSigner(world);
    const stranger = await clientKey('ES256', 'a stranger');
    const { publicJwk } = stranger;
    await addSigner(world, 'other', { jwks: { keys: [publicJwk] } });
    const kid = 'ES256 key';
    const wrong: readonly [AssertionChanges, string][] = [
      [{ key: stranger.privateKey }, 'assertion_signature_wrong'],
      [{ key: stranger.privateKey, header: { kid: publicJwk.kid } }, 'assertion_key_unknown'],
      [{ key: stranger.privateKey, header: { kid: undefined } }, 'assertion_signature_wrong'],
      [{ key: stranger.privateKey, header: { kid, jwk: publicJwk } }, 'assertion_signature_wrong'],
      [{ header: { kid: 'no such key' } }, 'assertion_key_unknown'],
      [{ header: { kid: '../../etc/passwd' } }, 'assertion_key_unknown'],
      [{ header: { kid: 'RS256 key' } }, 'assertion_key_unknown'],
    ];
    for (const [changes, reason] of wrong) {
      const message = JSON.stringify([changes.header, reason]);
      assertRefused(world, await assertedEverywhere(world, changes), reason, message);
    }
    const [head, payload, signature] = (await assertionOf(world, 'signer', 'ES256')).split('.');
    const claims = { ...JSON.parse(Buffer.from(payload ?? '', 'base64url').toString()), jti: 'another' };
    const changed = [head, Buffer.from(JSON.stringify(claims)).toString('base64url'), signature].join('.');
    const responses = await everywhere(world, () => asParameters(changed));
    assertRefused(world, responses, 'assertion_signature_wrong');
  });

  spec('RFC 7515 §4.1 keys that a header carries or points to are not looked at', async (world) => {
    await addSigner(world);
    const { privateKey, publicJwk } = await clientKey('ES256', 'a stranger');
    const uri = 'https://evil.example/keys';
    const pointers = { jwk: publicJwk, jku: uri, x5u: uri, x5c: ['MIIB'], x5t: 'x' };
    const responses = await assertedEverywhere(world, { key: privateKey, header: pointers });
    assertRefused(world, responses, 'assertion_signature_wrong');
    assertAdmitted(await assertedEverywhere(world, { header: pointers }));
    const critical = await assertedEverywhere(world, { header: { crit: ['jku'], jku: uri } }).catch(
      () => undefined,
    );
    assert.equal(critical, undefined, 'not even a library signs such a header');
    const unknownDemand = roughJws(
      { alg: 'RS256', kid: 'RS256 key', crit: ['x'], x: 1 },
      rightClaims(world),
      () => Buffer.alloc(256),
    );
    const demanded = await everywhere(world, () => asParameters(unknownDemand));
    assertRefused(world, demanded, 'assertion_signature_wrong');
  });

  spec('RFC 7518 §3.3 RSA keys of less than 2048 bits are no keys', async (world) => {
    const short = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const publicJwk = { ...short.publicKey.export({ format: 'jwk' }), kid: 'short' };
    await addSigner(world, 'signer', { jwks: { keys: [publicJwk] } });
    for (const kid of ['short', undefined]) {
      const text = roughJws({ alg: 'RS256', kid }, rightClaims(world), rsa(short.privateKey));
      assertRefused(world, await everywhere(world, () => asParameters(text)), 'assertion_key_unknown');
    }
  });

  spec('OpenID Connect Core §10.1 a kid may be omitted only if one key matches', async (world) => {
    await addSigner(world);
    assertAdmitted(await assertedEverywhere(world, { header: { kid: undefined } }));
    const keys = await Promise.all(['one', 'two'].map((kid) => clientKey('ES256', kid)));
    await addSigner(world, 'two keys', { jwks: { keys: keys.map(({ publicJwk }) => publicJwk) } });
    for (const [index, kid, reason] of [
      [0, 'one', undefined],
      [1, 'two', undefined],
      [0, 'two', 'assertion_signature_wrong'],
      [0, undefined, 'assertion_key_unknown'],
    ] as const) {
      const changes = { key: (keys[index] ?? (await clientKey('ES256'))).privateKey, header: { kid } };
      const responses = await everywhere(world, async () =>
        asParameters(await assertionOf(world, 'two keys', 'ES256', changes)),
      );
      if (reason === undefined) assertAdmitted(responses, kid);
      else assertRefused(world, responses, reason);
    }
  });

  spec('RFC 7523 §3 (1, 2) iss and sub are both the client', async (world) => {
    await addSigner(world);
    await addSigner(world, 'other', { jwks: { keys: [(await clientKey('ES256', 'a stranger')).publicJwk] } });
    for (const iss of ['other', ISSUER, undefined, ['signer'], 'Signer']) {
      const responses = await assertedEverywhere(world, { claims: { iss } });
      assertRefused(world, responses, 'assertion_subject_wrong', String(iss));
    }
    // sub identifies the client. A sender that names another client needs that client's key.
    for (const [sub, reason] of [
      ['other', 'assertion_key_unknown'],
      ['machine', 'client_method_wrong'],
      ['spa', 'client_method_wrong'],
      ['nobody', 'client_unknown'],
      ['signer\u0000', 'client_unknown'],
    ] as const) {
      const responses = await assertedEverywhere(world, { claims: { iss: sub, sub } });
      assertRefused(world, responses, reason, sub);
    }
  });

  spec('RFC 7523 §3 (3) the audience is only the issuer', async (world) => {
    await addSigner(world);
    for (const aud of [ISSUER, [ISSUER]]) {
      assertAdmitted(await assertedEverywhere(world, { claims: { aud } }), String(aud));
    }
    const others = [
      undefined,
      '',
      [],
      `${ISSUER}/`,
      `${ISSUER}/token`,
      `${ISSUER}/token/introspect`,
      ISSUER.toUpperCase(),
      'https://other.example',
      [ISSUER, 'https://other.example'],
      [ISSUER, ISSUER],
      [[ISSUER]],
      { 0: ISSUER, length: 1 },
      null,
    ];
    for (const aud of others) {
      const responses = await assertedEverywhere(world, { claims: { aud } });
      assertRefused(world, responses, 'assertion_audience_wrong', JSON.stringify(aud));
    }
  });

  spec(
    'RFC 7523 §3 (3) by registration the audience may be the endpoint, but not another one',
    async (world) => {
      await addSigner(world, 'signer', { assertion_audience: 'endpoint' });
      const TOKEN = `${ISSUER}/token`;
      const statusesOf = async (aud: unknown) =>
        (await assertedEverywhere(world, { claims: { aud } })).map(({ status }) => status);
      for (const aud of [ISSUER, [ISSUER], TOKEN, [TOKEN], [ISSUER, TOKEN]]) {
        assert.deepEqual(await statusesOf(aud), [200, 200, 200], String(aud));
      }
      assert.deepEqual(await statusesOf(`${ISSUER}/token/introspect`), [401, 200, 401]);
      assert.deepEqual(await statusesOf(`${ISSUER}/token/revoke`), [401, 401, 200]);
      assert.deepEqual(await statusesOf([ISSUER, `${ISSUER}/token/revoke`]), [401, 401, 200]);
      for (const aud of [
        `${ISSUER}/userinfo`,
        `${ISSUER}/token/`,
        [TOKEN, 'https://other.example/token'],
        [],
        '',
      ]) {
        const responses = await assertedEverywhere(world, { claims: { aud } });
        assertRefused(world, responses, 'assertion_audience_wrong', String(aud));
      }
    },
  );

  spec(
    'RFC 7523 §3 (3) self-registered clients may name the endpoint if an option allows it',
    async (world) => {
      const { client_id, metadata } = await register(world, {
        redirect_uris: [CALLBACK],
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [(await clientKey('ES256')).publicJwk] },
      });
      assert.equal(metadata.assertion_audience, 'endpoint');
      const assertion = await assertionOf(world, client_id, 'ES256', { claims: { aud: `${ISSUER}/token` } });
      const form = { token: 'no token at all', ...asParameters(assertion) };
      assert.equal((await world.post('/token/revoke', form, null)).status, 200);
      assert.equal((await register(world)).metadata.assertion_audience, undefined, 'it makes no assertions');
    },
    openRegistration({ assertionAudience: 'endpoint' }),
  );

  spec('RFC 7523 §3 (4) an assertion ends with the very second of its exp', async (world) => {
    await addSigner(world);
    const { seconds } = world.clock; // and a quarter
    for (const exp of [seconds + 1, seconds + 0.5, seconds + 300, seconds + 360]) {
      assertAdmitted(await assertedEverywhere(world, { claims: { exp } }), `exp in ${exp - seconds} s`);
    }
    for (const exp of [seconds, seconds + 0.25, seconds - 60, 0, -1]) {
      const responses = await assertedEverywhere(world, { claims: { exp } });
      assertRefused(world, responses, 'assertion_expired', `exp in ${exp - seconds} s`);
    }
    for (const exp of [undefined, null, `${seconds + 60}`, true, [seconds + 60]]) {
      const responses = await assertedEverywhere(world, { claims: { exp } });
      assertRefused(world, responses, 'assertion_malformed', String(exp));
    }
  });

  spec(
    'RFC 7523 §3 (4) an assertion lives for five minutes at most, by a clock that may be one ahead',
    async (world) => {
      await addSigner(world);
      const { seconds } = world.clock;
      for (const exp of [seconds + 361, seconds + 3600, seconds * 1000, Number.MAX_VALUE]) {
        const responses = await assertedEverywhere(world, { claims: { exp } });
        assertRefused(world, responses, 'assertion_lives_too_long', `exp in ${exp - seconds} s`);
      }
      const endless = roughJws({ alg: 'RS256', kid: 'RS256 key' }, {}, () => Buffer.alloc(256));
      const claims = JSON.stringify(rightClaims(world)).replace(/"exp":\d+/, '"exp":1e999');
      const text = endless.replace(/\.[^.]+\./, `.${Buffer.from(claims).toString('base64url')}.`);
      assertRefused(world, await everywhere(world, () => asParameters(text)), 'assertion_signature_wrong');
    },
  );

  spec(
    'RFC 7523 §3 (4) the server and the registration of a client say how long its assertions may live',
    async (world) => {
      await addSigner(world);
      const { seconds } = world.clock;
      const responsesFor = (lifetime: number) =>
        assertedEverywhere(world, { claims: { exp: seconds + lifetime } });
      assertAdmitted(await responsesFor(3600), 'an hour, as some libraries write');
      assertRefused(world, await responsesFor(3661), 'assertion_lives_too_long');
      await changeClient(world, 'signer', {
        metadata: { ...(await metadataOf(world)), assertion_lifetime: 60 },
      });
      assertRefused(world, await responsesFor(121), 'assertion_lives_too_long');
      assertAdmitted(await responsesFor(60));
      await changeClient(world, 'signer', {
        metadata: { ...(await metadataOf(world)), assertion_lifetime: 24 * 3600 },
      });
      assertAdmitted(await responsesFor(24 * 3600));
      await changeClient(world, 'signer', {
        metadata: { ...(await metadataOf(world)), profile: 'fapi2-security' },
      });
      const fapi = await assertionOf(world, 'signer', 'ES256', { claims: { exp: seconds + 361 } });
      await world.post('/token/revoke', { token: 'no token at all', ...asParameters(fapi) }, null);
      assert.equal(world.lastReason, 'assertion_lives_too_long', 'a profile keeps its own');
    },
    { clientAssertionLifetime: 3600 },
  );

  spec('RFC 7523 §3 (5, 6) the clock of a client may be a minute ahead, and no more', async (world) => {
    await addSigner(world);
    const { seconds } = world.clock;
    for (const name of ['iat', 'nbf']) {
      for (const time of [undefined, seconds + 60, seconds, seconds - 86400, 0]) {
        assertAdmitted(await assertedEverywhere(world, { claims: { [name]: time } }), `${name} ${time}`);
      }
      for (const time of [seconds + 61, seconds + 3600]) {
        const responses = await assertedEverywhere(world, { claims: { [name]: time } });
        assertRefused(world, responses, 'assertion_not_yet_valid', `${name} ${time}`);
      }
      for (const time of [`${seconds}`, null, {}]) {
        const responses = await assertedEverywhere(world, { claims: { [name]: time } });
        assertRefused(world, responses, 'assertion_malformed', `${name} ${time}`);
      }
    }
  });

  spec('OpenID Connect Core §9 an assertion has a jti', async (world) => {
    await addSigner(world);
    for (const jti of [undefined, null, '', 1, ['x']]) {
      const responses = await assertedEverywhere(world, { claims: { jti } });
      assertRefused(world, responses, 'assertion_identifier_missing', String(jti));
    }
  });

  spec('RFC 8725 §3.11 a JWT whose typ is that of something else is no assertion', async (world) => {
    await addSigner(world);
    for (const typ of [
      undefined,
      'JWT',
      'jwt',
      'client-authentication+jwt',
      'application/client-authentication+jwt',
    ]) {
      assertAdmitted(await assertedEverywhere(world, { header: { typ } }), typ);
    }
    for (const typ of ['at+jwt', 'rt+jwt', 'dpop+jwt', 'oauth-authz-req+jwt', 'logout+jwt', '']) {
      assertRefused(
        world,
        await assertedEverywhere(world, { header: { typ } }),
        'assertion_type_unknown',
        typ,
      );
    }
  });

  spec(
    'RFC 7591 §2 a client authenticates in the way that it is registered for, and in no other',
    async (world) => {
      const secrets = [await world.server.operator.hashClientSecret('its secret')];
      await addSigner(world, 'signer', {}, { secrets });
      const methods = ['client_secret_basic', 'client_secret_post', 'none'] as const;
      for (const method of methods) {
        await addSigner(world, method, { token_endpoint_auth_method: method }, { secrets });
      }
      await world.storage.clients.add({ ...CLIENTS.machine, id: 'unsaid', secrets });
      const ways: Readonly<Record<string, (id: string) => Promise<TestResponse>>> = {
        client_secret_basic: (id) =>
          world.post('/token/revoke', { token: 'x' }, null, { authorization: basic(id, 'its secret') }),
        client_secret_post: (id) =>
          world.post('/token/revoke', { token: 'x', client_id: id, client_secret: 'its secret' }),
        private_key_jwt: async (id) =>
          world.post('/token/revoke', { token: 'x', ...asParameters(await assertionOf(world, id, 'ES256')) }),
        none: (id) => world.post('/token/revoke', { token: 'x', client_id: id }),
      };
      const admitted: Record<string, string[]> = {};
      for (const id of ['signer', ...methods, 'unsaid']) {
        const answers = await Promise.all(
          Object.entries(ways).map(async ([way, send]) => ({ way, status: (await send(id)).status })),
        );
        admitted[id] = answers.filter(({ status }) => status === 200).map(({ way }) => way);
      }
      assert.deepEqual(admitted, {
        signer: ['private_key_jwt'],
        client_secret_basic: ['client_secret_basic'],
        client_secret_post: ['client_secret_post'],
        none: ['none'],
        unsaid: ['client_secret_basic', 'client_secret_post'],
      });
    },
  );

  spec('OpenID Connect Registration §2 a registered algorithm is the only one', async (world) => {
    await addSigner(world, 'signer', { token_endpoint_auth_signing_alg: 'PS256' });
    assertAdmitted(await assertedEverywhere(world, {}, 'PS256'));
    for (const algorithm of ['RS256', 'ES256', 'EdDSA'] as const) {
      assertRefused(world, await assertedEverywhere(world, {}, algorithm), 'assertion_algorithm_refused');
    }
  });

  spec('RFC 6749 §2.1 a client that signs is a confidential one', async (world) => {
    await addSigner(world);
    const asserted = async () => asParameters(await assertionOf(world, 'signer', 'ES256'));
    const { body } = await world.post('/token', { grant_type: 'client_credentials', ...(await asserted()) });
    const { access_token } = JSON.parse(body);
    const described = await world.post('/token/introspect', { token: access_token, ...(await asserted()) });
    assert.equal(JSON.parse(described.body).client_id, 'signer');
    await world.post('/token/revoke', { token: access_token, ...(await asserted()) });
    const after = await world.post('/token/introspect', { token: access_token, ...(await asserted()) });
    assert.equal(after.body, '{"active":false}');
  });

  spec(
    'RFC 9700 §2.1.1 if confidential clients may omit PKCE, so may a client that signs, but no public one',
    async (world) => {
      const { id: _, ...person } = CLIENTS.web;
      const waived = { insecure_allow_missing_pkce: true };
      await addSigner(world, 'signer', waived, person);
      await addSigner(world, 'public', { ...waived, token_endpoint_auth_method: 'none' }, person);
      const ask = (client_id: string) => {
        const query = new URLSearchParams({
          client_id,
          response_type: 'code',
          redirect_uri: CLIENTS.web.redirectUris[0],
          scope: 'read',
        });
        return world.server.authorization.validate({
          method: 'GET',
          url: `/authorize?${query}`,
          headers: {},
        });
      };
      assert.equal((await ask('signer')).client.id, 'signer');
      await assert.rejects(ask('public'), { reason: 'pkce_missing' });
    },
  );

  spec('RFC 9700 §2.2.2 refresh tokens of a client that signs may stay as they are', async (world) => {
    const { id: _, ...person } = CLIENTS.web;
    await addSigner(world, 'signer', {}, { ...person, rotateRefreshTokens: false });
    await addSigner(
      world,
      'public',
      { token_endpoint_auth_method: 'none' },
      { ...person, rotateRefreshTokens: false },
    );
    const credentialsOf = async (id: string): Promise<Readonly<Record<string, string>>> =>
      id === 'public' ? { client_id: id } : asParameters(await assertionOf(world, id, 'ES256'));
    for (const [id, stays] of [
      ['signer', true],
      ['public', false],
    ] as const) {
      const query = new URLSearchParams({
        client_id: id,
        response_type: 'code',
        redirect_uri: CLIENTS.web.redirectUris[0],
        code_challenge: CHALLENGE,
        code_challenge_method: 'S256',
        scope: 'read',
      });
      const request = await world.server.authorization.validate({
        method: 'GET',
        url: `/authorize?${query}`,
        headers: {},
      });
      const { headers } = await world.server.authorization.complete(request, { subject: 'alice' });
      const code = new URL(String(headers.location)).searchParams.get('code') ?? '';
      const redeemed = await world.post('/token', {
        grant_type: 'authorization_code',
        code,
        code_verifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
        redirect_uri: CLIENTS.web.redirectUris[0],
        ...(await credentialsOf(id)),
      });
      const { refresh_token } = JSON.parse(redeemed.body);
      const refreshed = await world.post('/token', {
        grant_type: 'refresh_token',
        refresh_token,
        ...(await credentialsOf(id)),
      });
      assert.equal(JSON.parse(refreshed.body).refresh_token === refresh_token, stays, id);
    }
  });

  spec(
    'RFC 9126 §2.1 a client pushes authorization requests by assertion, as it does everything else',
    async (world) => {
      const { id: _, ...person } = CLIENTS.web;
      await addSigner(world, 'signer', {}, person);
      await addSigner(world, 'lenient', { assertion_audience: 'endpoint' }, person);
      const push = async (id: string, aud: string, headers: Readonly<Record<string, string>> = {}) => {
        const assertion = asParameters(await assertionOf(world, id, 'ES256', { claims: { aud } }));
        const form = {
          response_type: 'code',
          redirect_uri: CLIENTS.web.redirectUris[0],
          code_challenge: CHALLENGE,
          code_challenge_method: 'S256',
          scope: 'read',
          ...assertion,
        };
        const { status } = await world.post('/par', form, null, headers);
        return { status, again: (await world.post('/par', form, null, headers)).status };
      };
      const once = { status: 201, again: 401 };
      const never = { status: 401, again: 401 };
      assert.deepEqual(await push('signer', ISSUER), once);
      assert.deepEqual(await push('signer', `${ISSUER}/par`), never);
      assert.deepEqual(await push('lenient', `${ISSUER}/par`), once);
      assert.deepEqual(await push('lenient', `${ISSUER}/token`), once);
      assert.deepEqual(await push('lenient', `${ISSUER}/token/revoke`), never);
      const beside = await push('signer', ISSUER, { authorization: basic('machine') });
      assert.deepEqual(beside, { status: 400, again: 400 });
    },
  );

  spec('RFC 7521 §4.2.1 the operator learns why, and no event carries an assertion', async (world) => {
    await addSigner(world);
    const assertion = await assertionOf(world, 'signer', 'ES256', { claims: { jti: 'hush' } });
    for (const text of [assertion, assertion, `${assertion.slice(0, -8)}hushhush`, `hush.${assertion}`]) {
      await world.post('/token/introspect', { token: 'x', ...asParameters(text) });
    }
    assert.deepEqual(
      world.events.map((event) => ('reason' in event ? [event.clientId, event.reason] : [])),
      [
        ['signer', 'no_record'],
        ['signer', 'assertion_replayed'],
        ['signer', 'assertion_signature_wrong'],
        [undefined, 'assertion_malformed'],
      ],
    );
    assert.doesNotMatch(JSON.stringify(world.events), /hush|eyJ/);
  });
});

specification('Assertions count once (RFC 7523 §3)', ON_EVERY_STORE, (spec) => {
  spec('RFC 7523 §3 (7) an assertion works once, at any endpoint', async (world) => {
    await addSigner(world);
    await addSigner(world, 'other');
    const claims = { jti: 'the same' };
    const assertion = await assertionOf(world, 'signer', 'ES256', { claims });
    const used = await world.post('/token/introspect', { token: 'x', ...asParameters(assertion) });
    assert.equal(used.status, 200);
    assertRefused(world, await everywhere(world, () => asParameters(assertion)), 'assertion_replayed');

    const again = await assertionOf(world, 'signer', 'RS256', { claims });
    assertRefused(world, await everywhere(world, () => asParameters(again)), 'assertion_replayed');
    const ofOther = await assertionOf(world, 'other', 'ES256', { claims });
    assert.equal((await world.post('/token/revoke', { token: 'x', ...asParameters(ofOther) })).status, 200);
  });

  spec('RFC 7523 §3 (7) a jti stays used until its assertion would be refused as expired', async (world) => {
    await addSigner(world);
    const assertion = await assertionOf(world, 'signer', 'ES256', {
      claims: { exp: world.clock.seconds + 300 },
    });
    const use = () => world.post('/token/revoke', { token: 'x', ...asParameters(assertion) });
    assert.equal((await use()).status, 200);
    for (const [seconds, reason] of [
      [299, 'assertion_replayed'],
      [1, 'assertion_expired'],
      [60, 'assertion_expired'],
    ] as const) {
      world.clock.advance(seconds);
      while ((await world.storage.sweep(100)) > 0);
      assert.deepEqual([(await use()).status, world.lastReason], [401, reason]);
    }
  });

  spec('RFC 7523 §3 (7) a process whose clock is slower does not take an assertion again', async (world) => {
    await addSigner(world);
    const slow = await secondServer(world);
    const assertion = await assertionOf(world, 'signer', 'ES256');
    const use = (server: World) => server.post('/token/revoke', { token: 'x', ...asParameters(assertion) });
    assert.equal((await use(world)).status, 200);
    world.clock.advance(61); // here it has expired and is swept
    while ((await world.storage.sweep(100)) > 0);
    world.clock.advance(-30); // and there it would still be accepted
    assert.deepEqual([(await use(slow)).status, slow.lastReason], [401, 'assertion_replayed']);
  });

  spec('RFC 7523 §3 (7) only the client uses up its jti', async (world) => {
    await addSigner(world);
    const { privateKey } = await clientKey('ES256', 'a stranger');
    const claims = { jti: 'wanted' };
    const foreign: readonly AssertionChanges[] = [
      { claims, key: privateKey },
      { claims: { ...claims, aud: 'https://other.example' } },
      { claims: { ...claims, exp: world.clock.seconds } },
      { claims: { ...claims, iss: 'other' } },
    ];
    for (const changes of foreign) {
      assert.deepEqual(
        (await assertedEverywhere(world, changes)).map(({ status }) => status),
        [401, 401, 401],
      );
    }
    await world.storage.setDisabled('client', 'signer', true);
    assertRefused(world, await assertedEverywhere(world, { claims }), 'client_disabled');
    await world.storage.setDisabled('client', 'signer', false);
    const right = await assertionOf(world, 'signer', 'ES256', { claims });
    assert.equal((await world.post('/token/introspect', { token: 'x', ...asParameters(right) })).status, 200);
  });
});

for (const store of STORES) {
  test(`RFC 7523 §3 (7) of several that use one assertion at once, one gets in, on ${store.name}`, async (t) => {
    const world = await openWorld(t, {}, { transport: FUNCTION, store });
    await addSigner(world);
    const other = await secondServer(world);
    for (let round = 0; round < 5; round++) {
      const form = { token: 'x', ...asParameters(await assertionOf(world, 'signer', 'ES256')) };
      const used = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          (index % 2 === 0 ? world : other).post('/token/revoke', form),
        ),
      );
      assert.deepEqual(used.map(({ status }) => status).sort(), [200, 401, 401, 401, 401, 401, 401, 401]);
    }
  });
}

test('RFC 7591 §2 keys are fetched from the jwks_uri of the client, and a new one is found', async (t) => {
  const first = await clientKey('ES256', 'first');
  const second = await clientKey('ES256', 'second');
  const asked: string[] = [];
  let keys = [first.publicJwk];
  const fetchDocument: FetchDocument = async (url) => {
    asked.push(url);
    return { status: 200, contentType: 'application/json', body: JSON.stringify({ keys }) };
  };
  const world = await openWorld(t, { fetchDocument });
  await addSigner(world, 'signer', { jwks_uri: 'https://signer.example/jwks' });
  const with_ = ({ privateKey, publicJwk }: typeof first) =>
    assertedEverywhere(world, { key: privateKey, header: { kid: publicJwk.kid } });
  assertAdmitted(await with_(first));
  assert.deepEqual(asked, ['https://signer.example/jwks']);
  assertRefused(world, await with_(second), 'assertion_key_unknown');
  keys = [second.publicJwk];
  world.clock.advance(60);
  assertAdmitted(await with_(second));
  assertRefused(world, await with_(first), 'assertion_key_unknown');
});

test('RFC 7521 §4.2.1 if the keys of a client cannot be fetched, the response is 503, never a refusal', async (t) => {
  const fetchDocument: FetchDocument = () =>
    Promise.reject(new DocumentError('failed', 'no answer', new Error('10.1.2.3 hush')));
  const world = await openWorld(t, { fetchDocument });
  await addSigner(world, 'signer', { jwks_uri: 'https://signer.example/jwks' });
  const body =
    '{"error":"temporarily_unavailable","error_description":"a document of the client cannot be fetched at the moment"}';
  assert.deepEqual(
    await assertedEverywhere(world),
    ENDPOINTS.map(({ headers }) => ({ status: 503, headers: { ...headers, 'retry-after': '10' }, body })),
  );
  assert.equal(world.lastReason, 'document_unavailable');
  const clients = world.events.map((event) => event.type === 'refused' && event.clientId);
  assert.deepEqual([...new Set(clients)], ['signer'], 'it names the client whose keys are missing');
});

test('RFC 7521 §4.2.1 if the keys of a client may not be fetched, or are no keys, it is refused', async (t) => {
  const outcomes: readonly FetchDocument[] = [
    () => Promise.reject(new DocumentError('refused', 'a private address')),
    async () => ({ status: 200, contentType: 'text/html', body: '<p>' }),
  ];
  for (const fetchDocument of outcomes) {
    const world = await openWorld(t, { fetchDocument });
    await addSigner(world, 'signer', { jwks_uri: 'https://signer.example/jwks' });
    assertRefused(world, await assertedEverywhere(world), 'client_keys_refused');
  }
});

test('RFC 6749 §2.3.1 an unknown client costs as many look-ups and signature checks as a wrong signature', async (t) => {
  const world = await openWorld(t);
  await addSigner(world);
  const lookUps: string[] = [];
  const clients = counted(world.storage.clients, (method) => lookUps.push(method));
  const counting = await secondServer(world, {}, { ...world.storage, clients });
  const { privateKey } = await clientKey('ES256', 'a stranger');
  const costOf = async (id: string, header: Readonly<Record<string, unknown>> = {}) => {
    const verifying = t.mock.method(crypto.subtle, 'verify');
    lookUps.length = 0;
    const assertion = await assertionOf(counting, id, 'ES256', { key: privateKey, header });
    const { status } = await counting.post('/token/introspect', { token: 'x', ...asParameters(assertion) });
    const checks = verifying.mock.callCount();
    verifying.mock.restore();
    return { status, checks, lookUps: [...lookUps] };
  };
  const expected = { status: 401, checks: 1, lookUps: ['get'] };
  assert.deepEqual(await costOf('signer'), expected);
  assert.deepEqual(await costOf('signer', { kid: 'no such key' }), expected);
  assert.deepEqual(await costOf('machine'), expected);
  assert.deepEqual(await costOf('nobody'), expected);
  for (const algorithm of SIGNING_ALGORITHMS) {
    const assertion = await assertionOf(counting, 'nobody', algorithm);
    const response = await counting.post('/token/introspect', { token: 'x', ...asParameters(assertion) });
    assert.deepEqual([response.status, counting.lastReason], [401, 'client_unknown'], algorithm);
  }
});

test('RFC 7523 §3 (7) without one-time identifiers in storage, assertions are neither accepted nor announced', async (t) => {
  const world = await openWorld(t);
  await addSigner(world);
  const { oneTimeIdentifiers: _, ...others } = world.storage;
  const without = await secondServer(world, {}, others as AdministrableStorage);
  assertRefused(without, await assertedEverywhere(without), 'assertion_not_supported');
  const { serverMetadata } = without.server;
  for (const endpoint of ['token', 'introspection', 'revocation']) {
    const methods = serverMetadata[`${endpoint}_endpoint_auth_methods_supported`];
    assert.ok(Array.isArray(methods) && !methods.includes('private_key_jwt'), endpoint);
    assert.equal(serverMetadata[`${endpoint}_endpoint_auth_signing_alg_values_supported`], undefined);
  }
});

async function metadataOf(world: World) {
  return (await world.storage.clients.get('signer'))?.metadata;
}

for (const [path, form, htu] of [
  ['/token', { grant_type: 'client_credentials', scope: 'read' }, undefined],
  [
    '/par',
    {
      response_type: 'code',
      redirect_uri: CLIENTS.web.redirectUris[0],
      scope: 'openid',
      code_challenge: CHALLENGE,
      code_challenge_method: 'S256',
    },
    PAR_URL,
  ],
] as const)
  test(`RFC 9449 §8 at ${path}, a client may answer the refusal of its proof with the same assertion, once`, async (t) => {
    const world = await openWorld(t, { dpopNonces: 'required' });
    await addSigner(world, 'signer', {}, path === '/par' ? CLIENTS.web : {});
    const assertion = await assertionOf(world, 'signer', 'ES256');
    const send = async (changes: ProofChanges | undefined) => {
      const dpop = changes && (await proofOf(world, { ...(htu && { htu }), ...changes }));
      return world.post(
        path,
        { ...form, ...asParameters(assertion) },
        null,
        dpop === undefined ? {} : { dpop },
      );
    };
    const first = await send({});
    assert.deepEqual([first.status, JSON.parse(first.body).error], [400, 'use_dpop_nonce']);
    const nonce = String(first.headers['dpop-nonce']);
    for (const wrong of [
      { nonce: 'x'.repeat(43) },
      { nonce, htm: 'GET' },
      { nonce, claims: { iat: world.clock.seconds - 3600 } },
    ])
      assert.equal((await send(wrong)).status, 400);
    const { status, body } = await send({ nonce });
    assert.ok(status === 200 || status === 201, body);
    assert.equal((await send({ nonce })).status, 401);
    assert.equal(world.lastReason, 'assertion_replayed');
  });
