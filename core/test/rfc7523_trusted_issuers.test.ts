// Long: attacks, platforms and refusals need the same issuers and keys.
// § refers to RFC 7523.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import {
  type ConfigurationError,
  DocumentError,
  type FetchDocument,
  type NewClient,
  type TrustedIssuer,
  trustedIssuers,
} from '@grantd/core';
import { exportSPKI, importJWK, SignJWT } from 'jose';
import { ASSERTION_TYPE, assertionOf, clientKey } from './harness/client_keys.ts';
import { ON_EVERY_STORE, ON_MEMORY } from './harness/places.ts';
import { openRegistration, register } from './harness/registration.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import { CLIENTS, ISSUER, openWorld, specification, type World, type WorldOptions } from './harness/world.ts';

const FAILED = '{"error":"invalid_client","error_description":"client authentication failed"}';
const SPIFFE_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-spiffe';

const ACTIONS = 'https://token.actions.githubusercontent.com';
const CLUSTER = 'https://kubernetes.default.svc.cluster.local';
const DOMAIN = 'spiffe://prod.example';

/** Both issuers name their key alike. */
const KID = 'the key';
const actionsKey = await clientKey('RS256', KID);
const clusterKey = await clientKey('ES256', KID);
const svidKey = await clientKey('ES256', 'key of SVIDs');

const jwksOf = (jwk: object, use = 'sig') => ({ keys: [{ ...jwk, use }] });

const TRUSTED: Readonly<Record<string, TrustedIssuer>> = {
  github: {
    issuer: ACTIONS,
    jwks: jwksOf(actionsKey.publicJwk),
    clients: [
      {
        client: 'deploy',
        claims: { sub: 'repo:acme/shop:ref:refs/heads/main', repository_owner_id: '4711' },
      },
      { client: 'preview', claims: { sub: 'repo:acme/shop:ref:refs/heads/*', repository_owner_id: '4711' } },
    ],
  },
  cluster: {
    issuer: CLUSTER,
    jwks: jwksOf(clusterKey.publicJwk),
    reuse: 'allowed',
    clients: [
      {
        client: 'billing',
        claims: { sub: 'system:serviceaccount:shop:billing', 'kubernetes.io': { namespace: 'shop' } },
      },
      { client: 'disabled', claims: { sub: 'system:serviceaccount:shop:disabled' } },
      { client: 'gone', claims: { sub: 'system:serviceaccount:shop:gone' } },
      { client: 'machine', claims: { sub: 'system:serviceaccount:shop:machine' } },
    ],
  },
  mesh: {
    issuer: DOMAIN,
    jwks: {
      keys: [
        { ...svidKey.publicJwk, use: 'jwt-svid' },
        { ...clusterKey.publicJwk, use: 'x509-svid' },
      ],
    },
    clients: [{ client: 'billing', claims: { sub: `${DOMAIN}/shop/billing` } }],
  },
};

const WITH_ISSUERS: WorldOptions = { trustedIssuers: trustedIssuers(TRUSTED) };

const workload = (id: string): NewClient => ({
  ...CLIENTS.machine,
  id,
  metadata: { ...CLIENTS.machine.metadata, token_endpoint_auth_method: 'trusted_issuer_jwt' },
});

interface Changes {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly key?: typeof actionsKey;
}

const present = (members: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

function jwt(alg: string, claims: object, { key, header, claims: more }: Changes, own: typeof actionsKey) {
  return new SignJWT(present({ ...claims, ...more }))
    .setProtectedHeader({ kid: KID, ...header, alg })
    .sign((key ?? own).privateKey);
}

let tokens = 0;

/** As GitHub Actions issues them. */
function ofActions({ clock }: World, changes: Changes = {}): Promise<string> {
  tokens += 1;
  const now = clock.seconds;
  const claims = {
    ...{ iss: ACTIONS, sub: 'repo:acme/shop:ref:refs/heads/main', aud: ISSUER, jti: `run ${tokens}` },
    ...{ ref: 'refs/heads/main', repository: 'acme/shop', repository_owner_id: '4711' },
    ...{ nbf: now - 300, iat: now, exp: now + 300 },
  };
  return jwt('RS256', claims, { ...changes, header: { typ: 'JWT', ...changes.header } }, actionsKey);
}

/** As Kubernetes projects them into a pod. */
function ofCluster({ clock }: World, name = 'billing', changes: Changes = {}): Promise<string> {
  const now = clock.seconds;
  const claims = {
    ...{ iss: CLUSTER, sub: `system:serviceaccount:shop:${name}`, aud: [ISSUER], jti: crypto.randomUUID() },
    ...{ iat: now, nbf: now, exp: now + 3600 },
    'kubernetes.io': { namespace: 'shop', serviceaccount: { name, uid: crypto.randomUUID() } },
  };
  return jwt('ES256', claims, changes, clusterKey);
}

/** As SPIRE issues them: without `iss` and `jti`. */
function svid({ clock }: World, changes: Changes = {}): Promise<string> {
  const now = clock.seconds;
  const claims = { sub: `${DOMAIN}/shop/billing`, aud: [ISSUER], iat: now, exp: now + 300 };
  const header = { kid: svidKey.publicJwk.kid, typ: 'JWT', ...changes.header };
  return jwt('ES256', claims, { ...changes, header }, svidKey);
}

function withAssertion(
  world: World,
  client_assertion: string,
  more: Readonly<Record<string, string>> = {},
): Promise<TestResponse> {
  const form = { grant_type: 'client_credentials', client_assertion_type: ASSERTION_TYPE, client_assertion };
  return world.post('/token', { ...form, ...more });
}

async function clientIn(world: World, assertion: string, more: Readonly<Record<string, string>> = {}) {
  const { status, body } = await withAssertion(world, assertion, more);
  assert.equal(status, 200, `${body} ${world.lastReason}`);
  const { active, client_id } = JSON.parse((await world.introspect(JSON.parse(body).access_token)).body);
  assert.equal(active, true);
  return client_id;
}

async function assertRefused(world: World, assertion: string, reason: string, message = reason, more = {}) {
  const { status, body } = await withAssertion(world, assertion, more);
  assert.deepEqual({ status, body }, { status: 401, body: FAILED }, message);
  assert.equal(world.lastReason, reason, message);
}

function withWorkloads(run: (world: World) => Promise<void>) {
  return async (world: World) => {
    for (const id of ['deploy', 'preview', 'billing', 'disabled'])
      await world.storage.clients.add(workload(id));
    await world.storage.setDisabled('client', 'disabled', true);
    await run(world);
  };
}

specification('Client assertions of trusted issuers (RFC 7523)', ON_EVERY_STORE, (declare) => {
  const spec = (sentence: string, run: (world: World) => Promise<void>, options = WITH_ISSUERS) =>
    declare(sentence, withWorkloads(run), options);

  spec('§2.2 a token of a platform authenticates the client that its claims name', async (world) => {
    assert.equal(await clientIn(world, await ofActions(world)), 'deploy');
    const branch = await ofActions(world, { claims: { sub: 'repo:acme/shop:ref:refs/heads/next' } });
    assert.equal(await clientIn(world, branch), 'preview');
    assert.equal(await clientIn(world, await ofCluster(world)), 'billing');
    const type = { client_assertion_type: SPIFFE_TYPE };
    assert.equal(await clientIn(world, await svid(world), type), 'billing');
  });

  spec(
    '§3 (7) a token that is accepted once is refused the second time, also at the same moment',
    async (world) => {
      const token = await ofActions(world);
      const answers = await Promise.all([1, 2, 3].map(() => withAssertion(world, token)));
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401]);
      await assertRefused(world, token, 'assertion_replayed');
      // Another request for the same client is no use of it.
      assert.equal(await clientIn(world, await ofActions(world)), 'deploy');
    },
  );

  spec('a token that may be used again authenticates until it ends', async (world) => {
    const token = await ofCluster(world);
    for (const _ of [1, 2, 3]) assert.equal(await clientIn(world, token), 'billing');
    world.clock.advance(3599);
    assert.equal(await clientIn(world, token), 'billing');
    world.clock.advance(1);
    await assertRefused(world, token, 'assertion_expired');
  });

  spec('a token from before its client was disabled or revoked authenticates never again', async (world) => {
    const { storage } = world;
    const ends = [
      () => storage.revokeAll({ principal: 'client', id: 'billing' }),
      async () => {
        await storage.setDisabled('client', 'billing', true);
        await storage.setDisabled('client', 'billing', false);
      },
    ];
    for (const end of ends) {
      const stolen = [
        await ofCluster(world),
        await ofCluster(world, 'billing', { claims: { iat: undefined } }),
      ];
      for (const token of stolen) assert.equal(await clientIn(world, token), 'billing');
      world.clock.advance(1);
      await end();
      world.clock.advance(1);
      for (const token of stolen) await assertRefused(world, token, 'assertion_ended');
      assert.equal(await clientIn(world, await ofCluster(world)), 'billing');
    }
  });
});

specification('Attacks on trusted issuers (RFC 7523)', ON_MEMORY, (declare) => {
  const spec = (sentence: string, run: (world: World) => Promise<void>, options = WITH_ISSUERS) =>
    declare(sentence, withWorkloads(run), options);

  spec(
    '§3 every claim, type, key and algorithm that does not fit is refused in the same way',
    async (world) => {
      const now = world.clock.seconds;
      const stranger = await clientKey('RS256', 'key of a stranger');
      const actions = (claims: object, header = {}) => ofActions(world, { claims: { ...claims }, header });
      const cluster = (claims: object) => ofCluster(world, 'billing', { claims: { ...claims } });
      const cases: readonly (readonly [string, Promise<string>, string])[] = [
        ['an unknown issuer', actions({ iss: 'https://gitlab.com' }), 'assertion_issuer_unknown'],
        ['the issuer with a slash', actions({ iss: `${ACTIONS}/` }), 'assertion_issuer_unknown'],
        ['a list of issuers', actions({ iss: [ACTIONS] }), 'assertion_issuer_unknown'],
        ['no issuer', actions({ iss: undefined }), 'assertion_issuer_unknown'],
        ['another issuer with the same kid', actions({ iss: CLUSTER }), 'assertion_key_unknown'],
        ['the key of another issuer', cluster({ iss: ACTIONS }), 'assertion_key_unknown'],
        ['a stranger’s key', ofActions(world, { key: stranger }), 'assertion_signature_wrong'],
        ['an unknown kid', actions({}, { kid: 'another' }), 'assertion_key_unknown'],
        ['another type', actions({}, { typ: 'at+jwt' }), 'assertion_type_unknown'],
        ['an ID-JAG', actions({}, { typ: 'oauth-id-jag+jwt' }), 'assertion_type_unknown'],
        [
          'another organization',
          actions({ sub: 'repo:acme-evil/shop:ref:refs/heads/main' }),
          'assertion_claims_unmatched',
        ],
        [
          'a longer subject',
          actions({ sub: 'repo:acme/shop:ref:refs/heads/main/x' }),
          'assertion_claims_unmatched',
        ],
        [
          'a longer prefix',
          actions({ sub: 'x:repo:acme/shop:ref:refs/heads/main' }),
          'assertion_claims_unmatched',
        ],
        [
          'a line break',
          actions({ sub: 'repo:acme/shop:ref:refs/heads/main\n', repository_owner_id: '4712' }),
          'assertion_malformed',
        ],
        ['an empty part', actions({ sub: 'repo:acme/shop:ref:refs/heads/' }), 'assertion_claims_unmatched'],
        ['two parts', actions({ sub: 'repo:acme/shop:ref:refs/heads/a/b' }), 'assertion_claims_unmatched'],
        [
          'another case',
          actions({ sub: 'repo:Acme/shop:ref:refs/heads/main' }),
          'assertion_claims_unmatched',
        ],
        ['a renamed owner', actions({ repository_owner_id: '4712' }), 'assertion_claims_unmatched'],
        ['a number for a text', actions({ repository_owner_id: 4711 }), 'assertion_claims_unmatched'],
        ['a subject that is no text', actions({ sub: { toString: 1 } }), 'assertion_malformed'],
        ['an issuer that is no text', actions({ iss: { toString: 1 } }), 'assertion_issuer_unknown'],
        ['no owner', actions({ repository_owner_id: undefined }), 'assertion_claims_unmatched'],
        [
          'a list of subjects',
          actions({ sub: ['repo:acme/shop:ref:refs/heads/main'] }),
          'assertion_malformed',
        ],
        [
          'another namespace',
          cluster({ 'kubernetes.io': { namespace: 'evil' } }),
          'assertion_claims_unmatched',
        ],
        ['a claim of its prototype', cluster({ 'kubernetes.io': [] }), 'assertion_claims_unmatched'],
        ['another audience', actions({ aud: 'https://other.example' }), 'assertion_audience_wrong'],
        ['the audience with a slash', actions({ aud: `${ISSUER}/` }), 'assertion_audience_wrong'],
        ['the token endpoint', actions({ aud: `${ISSUER}/token` }), 'assertion_audience_wrong'],
        ['two audiences', actions({ aud: [ISSUER, 'https://other.example'] }), 'assertion_audience_wrong'],
        ['this audience twice', actions({ aud: [ISSUER, ISSUER] }), 'assertion_audience_wrong'],
        ['no audience', actions({ aud: undefined }), 'assertion_audience_wrong'],
        ['an end of now', actions({ exp: now }), 'assertion_expired'],
        ['no end', actions({ exp: undefined }), 'assertion_malformed'],
        ['an end that is a text', actions({ exp: String(now + 60) }), 'assertion_malformed'],
        ['a begin that is a text', actions({ iat: 'now' }), 'assertion_malformed'],
        ['a long life', actions({ exp: now + 3601 }), 'assertion_lives_too_long'],
        ['a long life without iat', actions({ iat: undefined, exp: now + 3601 }), 'assertion_lives_too_long'],
        [
          'a life that began long ago',
          actions({ iat: now - 4000, exp: now + 60 }),
          'assertion_lives_too_long',
        ],
        ['a later begin', actions({ nbf: now + 61 }), 'assertion_not_yet_valid'],
        ['a later issuance', actions({ iat: now + 61, exp: now + 120 }), 'assertion_not_yet_valid'],
        ['no identifier', actions({ jti: undefined }), 'assertion_identifier_missing'],
        ['an identifier that is a number', actions({ jti: 7 }), 'assertion_identifier_missing'],
        ['a client that is not registered', ofCluster(world, 'gone'), 'client_unknown'],
        ['a disabled client', ofCluster(world, 'disabled'), 'client_disabled'],
        ['a client with a secret', ofCluster(world, 'machine'), 'client_method_wrong'],
      ];
      for (const [what, token, reason] of cases) await assertRefused(world, await token, reason, what);
    },
  );

  spec(
    'the log names the claims that do not match, without their values and only of verified tokens',
    async (world) => {
      const loggedFor = async (token: Promise<string>, more = {}) => {
        await withAssertion(world, await token, more);
        const event = world.events.at(-1);
        return event !== undefined && 'value' in event ? event.value : undefined;
      };
      const [main, shop] = ['repo:acme/shop:ref:refs/heads/main', 'system:serviceaccount:shop'];
      const claims = { repository_owner_id: '4712' };
      assert.equal(
        await loggedFor(ofActions(world, { claims })),
        `claim repository_owner_id of ${ACTIONS} ${main}`,
      );
      const next = { claims: { sub: 'repo:acme/shop:ref:refs/heads/next' } };
      assert.equal(
        await loggedFor(ofActions(world, next), { client_id: 'deploy' }),
        `claim sub of ${ACTIONS} ${next.claims.sub}`,
      );
      const evil = { claims: { 'kubernetes.io': { namespace: 'evil' } } };
      assert.equal(
        await loggedFor(ofCluster(world, 'billing', evil), { client_id: 'billing' }),
        `claim kubernetes.io.namespace of ${CLUSTER} ${shop}:billing`,
      );
      assert.equal(
        await loggedFor(ofActions(world), { client_id: 'billing' }),
        `${ACTIONS} ${main}`,
        'no rule is for the client',
      );
      const key = await clientKey('RS256', 'key of a stranger');
      assert.equal(await loggedFor(ofActions(world, { claims, key })), `${ACTIONS} ${main}`);
    },
  );

  spec('§3 (9) no signature, and a MAC with the public key, are refused', async (world) => {
    const [, payload] = (await ofActions(world)).split('.');
    const encoded = (header: object) => Buffer.from(JSON.stringify(header)).toString('base64url');
    for (const alg of ['none', 'None', '', undefined])
      await assertRefused(
        world,
        `${encoded({ alg, kid: KID })}.${payload}.AA`,
        'assertion_algorithm_refused',
      );
    const pem = await exportSPKI((await importJWK(actionsKey.publicJwk, 'RS256')) as CryptoKey);
    const input = `${encoded({ alg: 'HS256', kid: KID })}.${payload}`;
    const mac = createHmac('sha256', pem).update(input).digest('base64url');
    await assertRefused(world, `${input}.${mac}`, 'client_unknown');
    await assertRefused(
      world,
      `${input.replace(/^[^.]+/, encoded({ alg: 'RS256', kid: KID, crit: ['x'], x: 1 }))}.AA`,
      'assertion_malformed',
    );
  });

  spec(
    'an issuer signs with the algorithms that the operator allows, and no others',
    async (world) => {
      await assertRefused(world, await ofActions(world), 'assertion_algorithm_refused');
      assert.equal(await clientIn(world, await ofCluster(world)), 'billing');
    },
    {
      trustedIssuers: trustedIssuers({
        github: { ...(TRUSTED.github ?? assert.fail()), algorithms: ['ES256', 'PS256'] },
        cluster: { ...(TRUSTED.cluster ?? assert.fail()), algorithms: ['ES256'] },
      }),
    },
  );

  spec('a rule does not show before the signature has verified', async (world) => {
    const stranger = await clientKey('RS256', 'key of a stranger');
    const forged = (claims: object) => ofActions(world, { key: stranger, claims: { ...claims } });
    for (const client_id of ['deploy', 'preview', 'billing', 'nobody', ''])
      for (const sub of ['repo:acme/shop:ref:refs/heads/main', 'repo:evil/shop:ref:refs/heads/main']) {
        const more = client_id === '' ? {} : { client_id };
        for (const iss of [ACTIONS, 'https://unknown.example']) {
          const { status, body } = await withAssertion(world, await forged({ iss, sub }), more);
          assert.deepEqual({ status, body }, { status: 401, body: FAILED }, `${client_id} ${iss} ${sub}`);
        }
      }
  });

  spec('client_id selects one of the clients that a token may authenticate, and no other', async (world) => {
    assert.equal(await clientIn(world, await ofActions(world), { client_id: 'preview' }), 'preview');
    for (const client_id of ['billing', 'machine', 'nobody'])
      assert.equal(
        (await withAssertion(world, await ofActions(world), { client_id })).body,
        FAILED,
        client_id,
      );
    await assertRefused(world, await ofActions(world), 'assertion_claims_unmatched', 'billing', {
      client_id: 'billing',
    });
  });

  spec('a JWT-SVID is of the trust domain in its sub, and its key is one for JWT-SVIDs', async (world) => {
    const type = { client_assertion_type: SPIFFE_TYPE };
    const withIssuer = await svid(world, { claims: { iss: ACTIONS } });
    assert.equal(await clientIn(world, withIssuer, type), 'billing');
    const refusals: readonly (readonly [Changes, string])[] = [
      [{ claims: { sub: 'spiffe://other.example/shop/billing' } }, 'assertion_issuer_unknown'],
      [{ claims: { sub: 'spiffe://prod.example.evil/shop/billing' } }, 'assertion_issuer_unknown'],
      [{ claims: { sub: DOMAIN } }, 'assertion_issuer_unknown'],
      [{ claims: { sub: `${DOMAIN}/shop/orders` } }, 'assertion_claims_unmatched'],
      [{ key: clusterKey, header: { kid: KID } }, 'assertion_key_unknown'],
      [{ claims: { aud: [ISSUER, 'spiffe://prod.example/other'] } }, 'assertion_audience_wrong'],
    ];
    for (const [changes, reason] of refusals)
      await assertRefused(world, await svid(world, changes), reason, JSON.stringify(changes.claims), type);
    await assertRefused(world, await ofActions(world), 'assertion_issuer_unknown', 'no SVID', type);
    await assertRefused(world, await svid(world), 'assertion_issuer_unknown', 'the type of other JWTs');
    await assertRefused(
      world,
      await ofActions(world, { claims: { iss: DOMAIN } }),
      'assertion_issuer_unknown',
    );
  });

  spec('times are exact at their limits', async (world) => {
    const now = world.clock.seconds;
    for (const claims of [
      { exp: now + 1 },
      { iat: now + 60, nbf: now + 60, exp: now + 120 },
      { exp: now + 3600 },
      { iat: now + 60, exp: now + 3660 },
      { nbf: undefined, iat: undefined, exp: now + 3600 },
    ])
      assert.equal(
        await clientIn(world, await ofActions(world, { claims })),
        'deploy',
        JSON.stringify(claims),
      );
  });

  spec(
    'clients that sign their own assertions, and those with a secret, are served as before',
    async (world) => {
      const { publicJwk } = await clientKey('ES256');
      await world.storage.clients.add({
        ...CLIENTS.machine,
        id: 'signer',
        metadata: { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [publicJwk] } },
      });
      assert.equal(await clientIn(world, await assertionOf(world, 'signer', 'ES256')), 'signer');
      assert.equal((await world.introspect(await world.machineToken())).status, 200);
      // No trusted issuer vouches for a client with another method.
      await assertRefused(world, await ofCluster(world, 'machine'), 'client_method_wrong');
    },
  );

  spec(
    'without the option, no such token authenticates anyone, and no client registers for it',
    async (world) => {
      await assertRefused(world, await ofActions(world), 'client_unknown');
      const methods = world.server.serverMetadata.token_endpoint_auth_methods_supported as string[];
      assert.equal(methods.includes('trusted_issuer_jwt'), false);
    },
    {},
  );

  spec(
    'metadata names the method, which only operators register',
    async (world) => {
      const methods = world.server.serverMetadata.token_endpoint_auth_methods_supported as string[];
      assert.equal(methods.includes('trusted_issuer_jwt'), true);
      const { metadata } = await register(world, {
        redirect_uris: ['https://new.example/callback'],
        token_endpoint_auth_method: 'trusted_issuer_jwt',
      });
      assert.equal(metadata.token_endpoint_auth_method, 'client_secret_basic');
    },
    { ...WITH_ISSUERS, ...openRegistration() },
  );
});

const DISCOVERED = 'https://issuer.example';
const JWKS_URI = 'https://keys.example/jwks';

/** What the issuer serves, and how often it was fetched. */
function site(documents: Record<string, unknown>) {
  const fetched: string[] = [];
  const fetchDocument: FetchDocument = async (url) => {
    fetched.push(url);
    const document = documents[url];
    if (document === undefined) throw new DocumentError('failed', 'there is no such document');
    return { status: 200, contentType: 'application/json', body: JSON.stringify(document) };
  };
  return { documents, fetched, fetchDocument };
}

const byDiscovery = (fetchDocument: FetchDocument, more: Partial<TrustedIssuer> = {}): WorldOptions => ({
  trustedIssuers: trustedIssuers({
    ci: {
      ...{ issuer: DISCOVERED, fetchDocument, reuse: 'allowed' },
      clients: [{ client: 'deploy', claims: { sub: 'project_path:acme/shop:ref_type:branch:ref:main' } }],
      ...more,
    },
  }),
});

const ofCi = (world: World, changes: Changes = {}) => {
  const sub = 'project_path:acme/shop:ref_type:branch:ref:main';
  return ofActions(world, { ...changes, claims: { iss: DISCOVERED, sub, ...changes.claims } });
};

test('keys are found by the metadata of the issuer, and cached', async (t) => {
  const { documents, fetched, fetchDocument } = site({
    [`${DISCOVERED}/.well-known/openid-configuration`]: { issuer: DISCOVERED, jwks_uri: JWKS_URI },
    [JWKS_URI]: jwksOf(actionsKey.publicJwk),
  });
  const world = await openWorld(t, byDiscovery(fetchDocument));
  await world.storage.clients.add(workload('deploy'));
  await Promise.all([1, 2, 3].map(async () => clientIn(world, await ofCi(world))));
  assert.deepEqual(fetched, [`${DISCOVERED}/.well-known/openid-configuration`, JWKS_URI]);

  // A new key is found at once, and a flood of unknown ones costs one fetch in ten seconds.
  const next = await clientKey('RS256', 'next key');
  documents[JWKS_URI] = jwksOf(next.publicJwk);
  assert.equal(
    await clientIn(world, await ofCi(world, { key: next, header: { kid: 'next key' } })),
    'deploy',
  );
  const before = fetched.length;
  for (const kid of Array.from({ length: 50 }, (_, at) => `unknown ${at}`))
    await assertRefused(world, await ofCi(world, { header: { kid } }), 'assertion_key_unknown');
  assert.equal(fetched.length, before);
  world.clock.advance(10);
  await Promise.all(
    [1, 2, 3].map(async () => withAssertion(world, await ofCi(world, { header: { kid: 'x' } }))),
  );
  assert.equal(fetched.length, before + 2);
});

test('metadata of another issuer is refused, and an issuer that does not answer is an outage', async (t) => {
  const { documents, fetchDocument } = site({
    [`${DISCOVERED}/.well-known/openid-configuration`]: {
      issuer: 'https://evil.example',
      jwks_uri: JWKS_URI,
    },
    [JWKS_URI]: jwksOf(actionsKey.publicJwk),
  });
  const world = await openWorld(t, byDiscovery(fetchDocument));
  await world.storage.clients.add(workload('deploy'));
  await assertRefused(world, await ofCi(world), 'issuer_keys_refused');
  for (const name of Object.keys(documents)) delete documents[name];
  world.clock.advance(10);
  assert.equal((await withAssertion(world, await ofCi(world))).status, 503);
});

test('wrong options are refused by name', () => {
  const right: TrustedIssuer = {
    issuer: ACTIONS,
    clients: [{ client: 'deploy', claims: { sub: 'repo:acme/shop:ref:refs/heads/main' } }],
  };
  const withSub = (sub: unknown) => ({ ...right, clients: [{ client: 'deploy', claims: { sub } }] });
  const cases: readonly (readonly [unknown, string])[] = [
    [{ ...right, issuer: '' }, 'trustedIssuers.ci.issuer'],
    [{ ...right, issuer: 'spiffe://Prod/x' }, 'trustedIssuers.ci.issuer'],
    [{ ...right, issuer: 'no URL' }, 'trustedIssuers.ci.jwks'],
    [{ ...right, issuer: 'spiffe://prod.example' }, 'trustedIssuers.ci.jwks'],
    [{ ...right, jwks: { keys: [] } }, 'trustedIssuers.ci.jwks'],
    [{ ...right, jwks: { keys: [{ kty: 'oct', k: 'AAAA' }] } }, 'trustedIssuers.ci.jwks'],
    [{ ...right, jwks: jwksOf(actionsKey.publicJwk), jwksUri: JWKS_URI }, 'trustedIssuers.ci.jwksUri'],
    [{ ...right, jwksUri: 'file:///etc/passwd' }, 'trustedIssuers.ci.jwksUri'],
    [{ ...right, algorithms: ['HS256'] }, 'trustedIssuers.ci.algorithms'],
    [{ ...right, algorithms: [] }, 'trustedIssuers.ci.algorithms'],
    [{ ...right, reuse: 'always' }, 'trustedIssuers.ci.reuse'],
    [{ ...right, maxLifetime: 0 }, 'trustedIssuers.ci.maxLifetime'],
    [{ ...right, audience: 'x' }, 'audience'],
    [{ ...right, clients: [] }, 'trustedIssuers.ci.clients'],
    [{ ...right, clients: [{ client: '', claims: {} }] }, 'trustedIssuers.ci.clients.0.client'],
    [{ ...right, clients: [{ client: 'x', claims: {} }] }, 'trustedIssuers.ci.clients.0.claims'],
    [
      { ...right, clients: [{ client: 'x', claims: { ref: 'y' } }] },
      'trustedIssuers.ci.clients.0.claims.sub',
    ],
    [
      { ...right, clients: [{ client: 'x', claims: { sub: 'y' }, subject: 'z' }] },
      'trustedIssuers.ci.clients.0.subject',
    ],
    ...[
      '*',
      '*:*',
      'repo:*',
      'repo:*/shop:ref:refs/heads/main',
      'spiffe://*/x',
      'spiffe://acme.example/*',
      'https://ci.example/*',
      ':/:*',
      '',
      [],
      7,
      { a: 'b' },
    ].map((sub) => [withSub(sub), 'trustedIssuers.ci.clients.0.claims.sub'] as const),
    ...['repo:acme*', 'repo:acme/*shop', 'repo:acme/shop:**'].map(
      (sub) => [withSub(sub), 'trustedIssuers.ci.clients.0.claims.sub'] as const,
    ),
    [withSub(['repo:acme/shop', 'repo:*']), 'trustedIssuers.ci.clients.0.claims.sub'],
  ];
  for (const [issuer, option] of cases)
    assert.throws(
      () => trustedIssuers({ ci: issuer as TrustedIssuer }),
      (error: ConfigurationError) => error.message.startsWith(`${option}`) || error.message.includes(option),
      JSON.stringify(issuer),
    );
  const twice = () => trustedIssuers({ ci: right, again: right });
  assert.throws(twice, { option: 'trustedIssuers.again.issuer' });
});

test('keys need a way to be fetched, and a token that is accepted once a storage that remembers it', async (t) => {
  await assert.rejects(
    openWorld(t, {
      trustedIssuers: trustedIssuers({ ci: { issuer: DISCOVERED, clients: TRUSTED.github?.clients ?? [] } }),
    }),
    { option: 'trustedIssuers.ci.jwks' },
  );
});
