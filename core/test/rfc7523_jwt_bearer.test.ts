// § refers to RFC 7523.
// Long: the tests of one grant share its issuers and helpers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type ClientMetadata,
  type ConfigurationError,
  EXCHANGE_GRANT,
  JWT_BEARER_GRANT,
  type NewClient,
  type TrustedGrant,
  type TrustedIssuer,
  tokenExchange,
  trustedIssuers,
} from '@grantd/core';
import { decodeJwt, SignJWT } from 'jose';
import { changeClient } from './harness/client_change.ts';
import { clientKey } from './harness/client_keys.ts';
import { proofOf, thumbprintOf } from './harness/dpop_proofs.ts';
import { ON_EVERY_STORE, ON_MEMORY } from './harness/places.ts';
import { addClient, asClient, issued } from './harness/token_endpoint.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import { CLIENTS, ISSUER, specification, type World, type WorldOptions } from './harness/world.ts';

const IDP = 'https://idp.example';
const OTHER = 'https://other.example';
const key = await clientKey('ES256', 'key of the provider');
const otherKey = await clientKey('ES256', 'key of another provider');
const jwks = { keys: [{ ...key.publicJwk, use: 'sig' }] };

const READER: TrustedGrant = { clients: ['reports', 'nightly', 'broker'], scopes: ['read'], lifetime: 600 };

const LINKS: Readonly<Record<string, string>> = {
  'U-1': 'alice',
  'U-2': 'bob',
  'U-3': 'alice',
  'U-4': 'mallory',
};

const PROVIDER: TrustedIssuer = {
  ...{ issuer: IDP, jwks, reuse: 'allowed', findSubject: (sub) => LINKS[sub] },
  grants: [
    {
      clients: ['cron', 'broker'],
      claims: { sub: 'job:shop:nightly' },
      subject: 'alice',
      apis: ['https://api.example'],
    },
    READER,
    { clients: ['agent'], profile: 'id-jag' },
  ],
};

const TRUSTED: Readonly<Record<string, TrustedIssuer>> = {
  idp: PROVIDER,
  once: {
    ...{ issuer: OTHER, jwks: { keys: [otherKey.publicJwk] }, findSubject: () => 'alice' },
    ...{ tokenEndpointAudience: true, grants: [{ clients: ['reports', 'broker'] }] },
  },
};

const WITH_GRANT: WorldOptions = { trustedIssuers: trustedIssuers(TRUSTED), tokenExchange: tokenExchange() };

const client = (id: string, metadata: ClientMetadata = {}): NewClient => ({
  ...CLIENTS.machine,
  ...{ id, grantTypes: [JWT_BEARER_GRANT], scopes: ['openid', 'read', 'write', 'offline_access'] },
  metadata: { ...CLIENTS.machine.metadata, ...metadata },
});

type Claims = Readonly<Record<string, unknown>>;

let assertions = 0;

function assertion(world: World, claims: Claims = {}, header: Claims = {}, signer = key): Promise<string> {
  assertions += 1;
  const now = world.clock.seconds;
  const whole = {
    ...{ iss: IDP, sub: 'U-1', aud: ISSUER, iat: now, exp: now + 300, jti: `assertion ${assertions}` },
    ...claims,
  };
  const present = Object.entries(whole).filter(([, value]) => value !== undefined);
  return new SignJWT(Object.fromEntries(present))
    .setProtectedHeader({ kid: String(signer.publicJwk.kid), ...header, alg: 'ES256' })
    .sign(signer.privateKey);
}

const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

function withOtherSignature(jwt: string): string {
  const at = jwt.lastIndexOf('.') + 1;
  const hex = Buffer.from(jwt.slice(at), 'base64url').toString('hex');
  const s = P256_ORDER - BigInt(`0x${hex.slice(64)}`);
  const changed = hex.slice(0, 64) + s.toString(16).padStart(64, '0');
  return jwt.slice(0, at) + Buffer.from(changed, 'hex').toString('base64url');
}

const idJag = (world: World, claims: Claims = {}, header: Claims = {}) =>
  assertion(world, { client_id: 'agent', ...claims }, { typ: 'oauth-id-jag+jwt', ...header });

const grant = (
  world: World,
  id: string,
  jwt: string,
  more: Readonly<Record<string, string>> = {},
  headers = {},
) => asClient(world, id, { grant_type: JWT_BEARER_GRANT, assertion: jwt, ...more }, headers);

/** The JWT as the subject of an exchange. */
const exchange = (world: World, jwt: string, more: Readonly<Record<string, string>> = {}) =>
  asClient(world, 'broker', {
    ...{ grant_type: EXCHANGE_GRANT, subject_token: jwt },
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    ...more,
  });

async function assertUnfit(world: World, jwt: string, reason: string) {
  const { status, body } = await exchange(world, jwt);
  const refusal = { error: 'invalid_request', error_description: 'the subject_token is not valid' };
  assert.deepEqual([status, JSON.parse(body)], [400, refusal]);
  assert.equal(world.lastReason, reason);
}

async function tokenOf(world: World, id: string, jwt: string, more: Readonly<Record<string, string>> = {}) {
  return issued(await grant(world, id, jwt, more));
}

async function assertRefused(world: World, id: string, jwt: string, reason: string, message = reason) {
  const response = await grant(world, id, jwt);
  assert.deepEqual(
    { status: response.status, body: JSON.parse(response.body) },
    { status: 400, body: { error: 'invalid_grant', error_description: 'the assertion is not valid' } },
    `${message} ${world.lastReason}`,
  );
  assert.equal(world.lastReason, reason, message);
}

function isError({ status, body }: TestResponse, error: string): void {
  assert.deepEqual([status, JSON.parse(body).error], [400, error], body);
}

function withClients(run: (world: World) => Promise<void>) {
  return async (world: World) => {
    for (const id of ['reports', 'nightly', 'cron', 'agent']) await addClient(world, client(id));
    await addClient(world, { ...client('broker'), grantTypes: [EXCHANGE_GRANT] });
    await run(world);
  };
}

/** As an operator finds it: by what the issuer says. */
async function sessionOf(world: World, token: string): Promise<string> {
  const { record } = await world.server.operator.explainToken(token);
  return record?.sessionId ?? assert.fail('the token has no session');
}

specification('JWTs of trusted issuers as grants (RFC 7523 §2.1)', ON_EVERY_STORE, (declare) => {
  const spec = (sentence: string, run: (world: World) => Promise<void>, options = {}) =>
    declare(sentence, withClients(run), { ...WITH_GRANT, ...options });

  spec('§2.1 a client gets an access token for the linked user, and no refresh token', async (world) => {
    const answer = await tokenOf(world, 'reports', await assertion(world));
    assert.deepEqual(Object.keys(answer).sort(), ['access_token', 'expires_in', 'scope', 'token_type']);
    assert.equal(answer.expires_in, 300);
    const { sub, client_id, scope, exp, act } = decodeJwt(answer.access_token);
    assert.deepEqual(
      { sub, client_id, scope, exp, act },
      { sub: 'alice', client_id: 'reports', scope: 'read', exp: world.clock.seconds + 300, act: undefined },
    );
    const fixed = await tokenOf(world, 'cron', await assertion(world, { sub: 'job:shop:nightly' }));
    assert.equal(decodeJwt(fixed.access_token).sub, 'alice');
    const long = await assertion(world, { exp: world.clock.seconds + 3600 });
    assert.equal((await tokenOf(world, 'reports', long)).expires_in, 600);
    const { metadata } = (await world.storage.clients.get('reports')) ?? assert.fail();
    await changeClient(world, 'reports', { metadata: { ...metadata, access_token_lifetime: 60 } });
    assert.equal((await tokenOf(world, 'reports', long)).expires_in, 60);
  });

  spec(
    'an operator ends everything of one subject of an issuer with one write, and nothing else',
    async (world) => {
      const jwt = await assertion(world);
      const first = await tokenOf(world, 'reports', jwt);
      const again = await tokenOf(world, 'reports', jwt);
      const other = await tokenOf(world, 'nightly', await assertion(world));
      // The same user by another link, and another user.
      const linked = await tokenOf(world, 'reports', await assertion(world, { sub: 'U-3' }));
      const bob = await tokenOf(world, 'reports', await assertion(world, { sub: 'U-2' }));
      const unused = await assertion(world);
      world.clock.advance(1);
      const id = await sessionOf(world, first.access_token);
      assert.equal(await world.storage.revokeAll({ principal: 'session', id }), true);
      const tokens = [first, again, other, linked, bob].map(({ access_token }) => access_token);
      assert.deepEqual(await world.alive(...tokens), [false, false, false, true, true]);
      await assertRefused(world, 'reports', jwt, 'session_revoked');
      // Also one that was signed before, and is used for the first time now.
      await assertRefused(world, 'reports', unused, 'session_revoked');
      world.clock.advance(1);
      const next = await tokenOf(world, 'reports', await assertion(world));
      assert.deepEqual(await world.alive(next.access_token), [true]);
    },
  );

  spec('the end of the row of a JWT ends everything obtained from it, also by exchange', async (world) => {
    await addClient(world, { ...CLIENTS.api, id: 'mail', resource: 'https://mail.example/v1' });
    await addClient(world, {
      ...{
        id: 'next',
        resource: 'https://api.example',
        grantTypes: [EXCHANGE_GRANT],
        scopes: ['read'],
        redirectUris: [],
      },
      metadata: { apis: ['https://mail.example/v1'], exchange_scopes: ['read'] },
    });
    const jwt = await assertion(world);
    const first = await tokenOf(world, 'reports', jwt, { resource: 'https://api.example' });
    const beside = await tokenOf(world, 'reports', await assertion(world));
    const exchanged = issued(
      await asClient(world, 'next', {
        ...{
          grant_type: EXCHANGE_GRANT,
          subject_token: first.access_token,
          resource: 'https://mail.example/v1',
        },
        subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      }),
    );
    const { record } = await world.server.operator.explainToken(first.access_token);
    const [row] = (record && 'ancestors' in record && record.ancestors) || [];
    const stored = await world.storage.tokens.getByAccessToken(row?.id ?? '');
    await world.storage.tokens.revoke(stored ?? assert.fail('there is no row'));
    assert.deepEqual(await world.alive(first.access_token, exchanged.access_token, beside.access_token), [
      false,
      false,
      true,
    ]);
    await assertRefused(world, 'reports', jwt, 'revoked');
  });

  for (const [what, end] of [
    ['user', (world: World) => world.storage.setDisabled('subject', 'alice', true)],
    ['client', (world: World) => world.storage.revokeAll({ principal: 'client', id: 'reports' })],
  ] as const)
    spec(`the end of the ${what} ends what was obtained, and the JWT`, async (world) => {
      const jwt = await assertion(world);
      const { access_token } = await tokenOf(world, 'reports', jwt);
      await end(world);
      assert.deepEqual(await world.alive(access_token), [false]);
      assert.equal((await grant(world, 'reports', jwt)).status, 400);
    });

  spec('of first uses at the same moment all get tokens, with one row', async (world) => {
    const jwt = await assertion(world);
    const answers = await Promise.all([1, 2, 3, 4].map(() => tokenOf(world, 'reports', jwt)));
    const tokens = answers.map(({ access_token }) => access_token);
    assert.deepEqual(await world.alive(...tokens), [true, true, true, true]);
    await world.storage.revokeAll({ principal: 'session', id: await sessionOf(world, tokens[0] ?? '') });
    assert.deepEqual(await world.alive(...tokens), [false, false, false, false]);
  });

  spec('a JWT that is accepted once is taken with its row, also at the same moment', async (world) => {
    const jwt = await assertion(world, { iss: OTHER, aud: `${ISSUER}/token` }, {}, otherKey);
    const answers = await Promise.all([1, 2, 3].map(() => grant(world, 'reports', jwt)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400]);
    await assertRefused(world, 'reports', jwt, 'assertion_replayed');
    // Without an identifier. Of an ECDSA signature (r, s), (r, -s) is another one.
    const unnamed = await assertion(world, { iss: OTHER, jti: undefined }, {}, otherKey);
    await tokenOf(world, 'reports', unnamed);
    await assertRefused(world, 'reports', withOtherSignature(unnamed), 'assertion_replayed');
  });

  spec(
    'RFC 7523 §3 (7) a JWT stays used in a process with a slower clock, after its row is swept',
    async (world) => {
      const jwt = await assertion(world, { iss: OTHER }, {}, otherKey);
      await tokenOf(world, 'reports', jwt);
      const aheadSeconds = 3 * 3600;
      world.clock.advance(aheadSeconds);
      while ((await world.storage.sweep(100)) > 0);
      world.clock.advance(-aheadSeconds);
      await assertRefused(world, 'reports', jwt, 'assertion_replayed');
    },
  );

  spec('RFC 8693 §2.1 an exchange gives the access of the grant, and ends as that does', async (world) => {
    const jwt = await assertion(world);
    const { access_token, ...answer } = JSON.parse((await exchange(world, jwt)).body);
    assert.deepEqual(answer, {
      ...{ issued_token_type: 'urn:ietf:params:oauth:token-type:access_token', token_type: 'Bearer' },
      ...{ expires_in: 300, scope: 'read' },
    });
    const { sub, client_id, act } = decodeJwt(access_token);
    assert.deepEqual({ sub, client_id, act }, { sub: 'alice', client_id: 'broker', act: { sub: 'broker' } });
    const again = issued(await exchange(world, jwt)).access_token;
    world.clock.advance(1);
    const id = await sessionOf(world, access_token);
    await world.storage.revokeAll({ principal: 'session', id });
    assert.deepEqual(await world.alive(access_token, again), [false, false]);
    await assertUnfit(world, jwt, 'session_revoked');
    const once = await assertion(world, { iss: OTHER, aud: ISSUER }, {}, otherKey);
    const answers = await Promise.all([1, 2, 3].map(() => exchange(world, once)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400]);
  });

  spec(
    'a JWT that waits while its user or client is ended has ended, and a later one has not',
    async (world) => {
      const { storage } = world;
      const ends = [
        () => storage.revokeGrants('alice', 'reports'),
        () => storage.revokeAll({ principal: 'subject', id: 'alice' }),
        () => storage.revokeAll({ principal: 'client', id: 'reports' }),
        () => storage.revokeAll({ issuedBeforeMs: world.clock.nowMs }),
      ];
      for (const end of ends) {
        const waiting = [await assertion(world), await assertion(world, { iat: undefined })];
        world.clock.advance(1);
        await end();
        world.clock.advance(1);
        for (const jwt of waiting) isError(await grant(world, 'reports', jwt), 'invalid_grant');
        await tokenOf(world, 'reports', await assertion(world));
      }
    },
  );

  spec('an end of a subject holds before anything was obtained, and until its JWTs expire', async (world) => {
    const { storage, server } = world;
    const id = (await server.operator.sessionOfAssertions(IDP, 'U-1')) ?? assert.fail();
    const jwt = await assertion(world, { exp: world.clock.seconds + 3500 });
    const other = await assertion(world, { sub: 'U-2' });
    world.clock.advance(1);
    assert.equal(await storage.revokeAll({ principal: 'session', id }), true);
    await assertRefused(world, 'reports', jwt, 'session_revoked');
    await tokenOf(world, 'reports', other);
    world.clock.advance(1);
    const { access_token } = await tokenOf(world, 'reports', await assertion(world));
    assert.deepEqual(await world.alive(access_token), [true]);
    // The rows of JWTs are no tokens.
    assert.equal((await storage.countAlive({ principal: 'session', id })).count, 1);
    world.clock.advance(3400);
    await storage.sweep(1000);
    await assertRefused(world, 'reports', jwt, 'session_revoked');
    assert.equal((await server.operator.explainToken(jwt)).reason, 'session_revoked');
  });

  spec('a JWT that no client has used is explained, and can be ended for good', async (world) => {
    const { operator } = world.server;
    const { tokens, clients } = world.storage;
    const [jwt, other] = [await assertion(world), await assertion(world)];
    const { kind, alive, unused = assert.fail() } = await operator.explainToken(jwt);
    assert.deepEqual([kind, alive, unused.expiresAt], ['assertion', true, world.clock.seconds + 300]);
    const { issuer, issuer_sub } = unused.claims ?? {};
    assert.deepEqual([issuer, issuer_sub], [IDP, 'U-1']);
    const { generation = 0 } = (await clients.get(unused.clientId)) ?? assert.fail();
    assert.equal(await tokens.issue([unused], { clientGeneration: generation }), 'issued');
    await tokens.revoke((await tokens.getByAccessToken(unused.id)) ?? assert.fail());
    assert.equal((await operator.explainToken(jwt)).reason, 'revoked');
    for (const id of ['reports', 'nightly']) await assertRefused(world, id, jwt, 'revoked');
    await assertUnfit(world, jwt, 'revoked');
    await tokenOf(world, 'reports', other);
    for (const [claims, signer, expected] of [
      [{ exp: world.clock.seconds }, key, ['assertion', 'assertion_expired']],
      [{ sub: 'job:shop:daily', iss: IDP }, otherKey, ['unknown', 'unknown_key']],
      [{ iss: 'https://evil.example' }, key, ['unknown', 'unknown_key']],
    ] as const) {
      const unfit = await operator.explainToken(await assertion(world, claims, {}, signer));
      assert.deepEqual([unfit.kind, unfit.reason, unfit.alive], [...expected, false]);
    }
  });

  spec('what is obtained while its JWT is ended does not survive', async (world) => {
    const jwt = await assertion(world);
    const { access_token } = await tokenOf(world, 'reports', jwt);
    const id = await sessionOf(world, access_token);
    const [, ...answers] = await Promise.all([
      world.storage.revokeAll({ principal: 'session', id }),
      ...[1, 2, 3].map(() => grant(world, 'reports', jwt)),
    ]);
    const tokens = answers.flatMap(({ status, body }) =>
      status === 200 ? [JSON.parse(body).access_token] : [],
    );
    assert.deepEqual(await world.alive(access_token, ...tokens), [false, ...tokens.map(() => false)]);
  });
});

specification('Attacks on grants of trusted issuers (RFC 7523)', ON_MEMORY, (declare) => {
  const spec = (sentence: string, run: (world: World) => Promise<void>, options = {}) =>
    declare(sentence, withClients(run), { ...WITH_GRANT, ...options });

  spec('§3.1 everything that does not fit is invalid_grant, with one description', async (world) => {
    const now = world.clock.seconds;
    const cases: readonly (readonly [string, Promise<string>, string])[] = [
      ['reports', assertion(world, { iss: 'https://evil.example' }), 'assertion_issuer_unknown'],
      ['reports', assertion(world, {}, {}, otherKey), 'assertion_key_unknown'],
      ['reports', assertion(world, { iss: OTHER }), 'assertion_key_unknown'],
      ['reports', assertion(world, {}, { typ: 'client-authentication+jwt' }), 'assertion_type_unknown'],
      ['reports', assertion(world, {}, { typ: 'at+jwt' }), 'assertion_type_unknown'],
      ['reports', assertion(world, {}, { typ: 'oauth-id-jag+jwt' }), 'assertion_claims_unmatched'],
      ['agent', assertion(world), 'assertion_claims_unmatched'],
      ['cron', assertion(world), 'assertion_claims_unmatched'],
      ['cron', assertion(world, { sub: 'job:shop:nightly:x' }), 'assertion_claims_unmatched'],
      ['reports', assertion(world, { sub: 'U-9' }), 'assertion_subject_unknown'],
      ['reports', assertion(world, { sub: 'alice' }), 'assertion_subject_unknown'],
      ['reports', assertion(world, { sub: undefined, email: 'alice@example.org' }), 'assertion_malformed'],
      ['reports', assertion(world, { sub: 7 }), 'assertion_malformed'],
      ['reports', assertion(world, { sub: { toString: 1 } }), 'assertion_malformed'],
      ['reports', assertion(world, { sub: 'U-1\u0000' }), 'assertion_malformed'],
      ['reports', assertion(world, { sub: 'U-1\ud800' }), 'assertion_malformed'],
      ['reports', assertion(world, { iss: { toString: 1 } }), 'assertion_issuer_unknown'],
      ['reports', assertion(world, { aud: `${ISSUER}/token` }), 'assertion_audience_wrong'],
      ['reports', assertion(world, { aud: [ISSUER, OTHER] }), 'assertion_audience_wrong'],
      ['reports', assertion(world, { aud: OTHER }), 'assertion_audience_wrong'],
      ['reports', assertion(world, { exp: now }), 'assertion_expired'],
      ['reports', assertion(world, { exp: undefined }), 'assertion_malformed'],
      ['reports', assertion(world, { exp: now + 3601 }), 'assertion_lives_too_long'],
      ['reports', assertion(world, { nbf: now + 61 }), 'assertion_not_yet_valid'],
      ['reports', assertion(world, { cnf: { jkt: 'x' } }), 'assertion_bound'],
      ['reports', assertion(world, { cnf: 'x' }), 'assertion_bound'],
      ['reports', Promise.resolve('no JWT'), 'assertion_malformed'],
      ['reports', Promise.resolve(`${'x'.repeat(8200)}.y.z`), 'assertion_malformed'],
    ];
    for (const [id, jwt, reason] of cases) await assertRefused(world, id, await jwt, reason);
    await assertRefused(
      world,
      'cron',
      await assertion(world, { sub: 'job:shop:nightly:x' }),
      'assertion_claims_unmatched',
    );
    const unmatched = world.events.at(-1) ?? assert.fail();
    assert.equal('value' in unmatched && unmatched.value, `claim sub of ${IDP} job:shop:nightly:x`);
    const replayed = await assertion(world, { iss: OTHER }, {}, otherKey);
    await tokenOf(world, 'reports', replayed);
    await assertRefused(world, 'reports', replayed, 'assertion_replayed');
    // Of those whose signature has verified, the log has issuer and subject.
    const unnamed = world.events.flatMap((event) =>
      'reason' in event && !('value' in event && event.value) ? [event.reason] : [],
    );
    assert.deepEqual(
      [...new Set(unnamed)].sort(),
      ['issuer_unknown', 'key_unknown', 'malformed', 'type_unknown'].map((reason) => `assertion_${reason}`),
    );
    isError(await asClient(world, 'reports', { grant_type: JWT_BEARER_GRANT }), 'invalid_request');
  });

  spec('RFC 8693 §2.2.2 a JWT that does not fit is no subject, with one description', async (world) => {
    const job = { sub: 'job:shop:nightly' };
    const cases: readonly (readonly [Promise<string>, string])[] = [
      [assertion(world, {}, {}, otherKey), 'assertion_key_unknown'],
      [assertion(world, { iss: 'https://evil.example' }), 'unknown_key'],
      [assertion(world, { sub: 'U-9' }), 'assertion_subject_unknown'],
      [assertion(world, { aud: 'broker' }), 'assertion_audience_wrong'],
      [assertion(world, { exp: world.clock.seconds }), 'assertion_expired'],
      [assertion(world, { cnf: { jkt: 'x' } }), 'assertion_bound'],
      [idJag(world, { client_id: 'broker' }), 'assertion_type_unknown'],
    ];
    for (const [jwt, reason] of cases) await assertUnfit(world, await jwt, reason);
    const used = await assertion(world);
    await tokenOf(world, 'reports', used);
    await assertUnfit(world, used, 'assertion_of_other_client');
    // As a token of this server, or as the actor.
    const type = 'urn:ietf:params:oauth:token-type:access_token';
    isError(await exchange(world, await assertion(world), { subject_token_type: type }), 'invalid_request');
    for (const unknown of ['constructor', '__proto__'])
      isError(
        await exchange(world, await assertion(world), { subject_token_type: unknown }),
        'invalid_request',
      );
    const { access_token } = issued(await exchange(world, await assertion(world)));
    const actor = {
      actor_token: await assertion(world),
      actor_token_type: type.replace('access_token', 'jwt'),
    };
    isError(await exchange(world, access_token, actor), 'invalid_request');
    isError(await exchange(world, await assertion(world), { scope: 'write' }), 'invalid_scope');
    const elsewhere = { resource: 'https://mail.example/v1' };
    isError(await exchange(world, await assertion(world, job), elsewhere), 'invalid_target');
    const there = issued(await exchange(world, await assertion(world, job), { scope: 'write' }));
    assert.equal(decodeJwt(there.access_token).aud, 'https://api.example');
  });

  spec('RFC 8693 §4 actors in a JWT are those of its issuer', async (world) => {
    const actOf = async (claims: Claims) =>
      decodeJwt(issued(await exchange(world, await assertion(world, claims))).access_token).act;
    const before = { sub: 'gateway' };
    assert.deepEqual(await actOf({ act: before }), { sub: 'broker', act: { iss: IDP, ...before } });
    assert.deepEqual(await actOf({ may_act: { iss: ISSUER, sub: 'broker' } }), { sub: 'broker' });
    for (const may_act of [{ sub: 'broker' }, { iss: ISSUER, sub: 'reports' }, 'broker'])
      isError(await exchange(world, await assertion(world, { may_act })), 'invalid_request');
  });

  spec('a JWT that one client has used is of no use to another', async (world) => {
    const jwt = await assertion(world);
    await tokenOf(world, 'reports', jwt);
    await assertRefused(world, 'nightly', jwt, 'assertion_of_other_client');
    await tokenOf(world, 'reports', jwt);
  });

  spec('§2.1 scopes and audience never go beyond the rule, the client and the API', async (world) => {
    const jwt = await assertion(world);
    isError(await grant(world, 'reports', jwt, { scope: 'write' }), 'invalid_scope');
    isError(await grant(world, 'reports', jwt, { scope: 'offline_access' }), 'invalid_scope');
    const cron = await assertion(world, { sub: 'job:shop:nightly' });
    isError(await grant(world, 'cron', cron, { resource: 'https://mail.example/v1' }), 'invalid_target');
    const { access_token } = await tokenOf(world, 'cron', cron, { resource: 'https://api.example' });
    assert.equal(decodeJwt(access_token).aud, 'https://api.example');
  });

  let answers: readonly boolean[] = [];
  spec(
    'a user who loses the client while it obtains a token is asked about again, and no token is given',
    async (world) => {
      for (const [id, grantTypes] of [
        ['reports', [JWT_BEARER_GRANT]],
        ['broker', [EXCHANGE_GRANT]],
      ] as const) {
        await world.storage.clients.remove(id);
        await addClient(world, { ...client(id, { allowed_groups: ['staff'] }), grantTypes });
      }
      answers = [true, false];
      await assertRefused(world, 'reports', await assertion(world), 'person_not_allowed');
      answers = [true, true, false];
      isError(await exchange(world, await assertion(world)), 'invalid_request');
      assert.deepEqual(answers, []);
    },
    {
      mayUseClient: () => {
        const [answer, ...later] = answers;
        answers = later;
        return answer ?? assert.fail('asked too often');
      },
    },
  );

  spec('only a confidential client of the operator with the grant may use it', async (world) => {
    const jwt = await assertion(world);
    isError(await grant(world, 'machine', jwt), 'unauthorized_client');
    await world.storage.clients.remove('reports');
    await addClient(world, { ...client('reports'), registeredAt: world.clock.seconds });
    isError(await grant(world, 'reports', jwt), 'unauthorized_client');
  });

  spec('a bound JWT needs the proof of its key, and the token is bound too', async (world) => {
    const jwt = await assertion(world, { cnf: { jkt: await thumbprintOf() } });
    const headers = { dpop: await proofOf(world) };
    const answer = JSON.parse((await grant(world, 'reports', jwt, {}, headers)).body);
    assert.equal(answer.token_type, 'DPoP', JSON.stringify(answer));
  });

  spec('a presented token never finds the row of a JWT', async (world) => {
    const jwt = await assertion(world);
    const { access_token } = await tokenOf(world, 'reports', jwt);
    const { record } = await world.server.operator.explainToken(access_token);
    const [row] = (record && 'ancestors' in record && record.ancestors) || [];
    for (const text of [jwt, row?.id ?? '']) {
      assert.deepEqual(await world.alive(text), [false]);
      assert.equal((await world.userInfo(text)).status, 401);
    }
    await world.revoke(jwt);
    assert.deepEqual(await world.alive(access_token), [true]);
  });

  spec('an identity assertion gives the access that it names, as often as it is presented', async (world) => {
    const jwt = await idJag(world, { scope: 'read other', resource: 'https://api.example' });
    for (const _ of [1, 2]) {
      const { access_token, scope, ...more } = await tokenOf(world, 'agent', jwt);
      assert.equal(Object.hasOwn(more, 'refresh_token'), false);
      const { sub, aud } = decodeJwt(access_token);
      assert.deepEqual({ sub, aud, scope }, { sub: 'alice', aud: 'https://api.example', scope: 'read' });
    }
    isError(await grant(world, 'agent', jwt, { scope: 'write' }), 'invalid_scope');
    isError(await grant(world, 'agent', jwt, { resource: 'https://mail.example/v1' }), 'invalid_target');
  });

  spec('an identity assertion is of its client, this server, and a linked user', async (world) => {
    const cases: readonly (readonly [Claims, string])[] = [
      [{ client_id: 'reports' }, 'assertion_of_other_client'],
      [{ client_id: undefined }, 'assertion_of_other_client'],
      [{ client_id: ['agent'] }, 'assertion_of_other_client'],
      [{ jti: undefined }, 'assertion_identifier_missing'],
      [{ iat: undefined, exp: world.clock.seconds + 60 }, 'assertion_malformed'],
      [{ aud: `${ISSUER}/token` }, 'assertion_audience_wrong'],
      [{ aud: [ISSUER, OTHER] }, 'assertion_audience_wrong'],
      [{ sub: 'U-9', email: 'alice@example.org', email_verified: true }, 'assertion_subject_unknown'],
      [{ scope: ['read'] }, 'assertion_malformed'],
      [{ resource: 7 }, 'assertion_malformed'],
      [{ authorization_details: [{ type: 'x' }] }, 'authorization_details_not_allowed'],
    ];
    for (const [claims, reason] of cases)
      await assertRefused(world, 'agent', await idJag(world, claims), reason, JSON.stringify(claims));
    await assertRefused(
      world,
      'reports',
      await idJag(world, { client_id: 'reports' }),
      'assertion_claims_unmatched',
    );
  });

  spec('metadata has the grant and the profile of identity assertions', async (world) => {
    const metadata = world.server.serverMetadata as Readonly<Record<string, readonly string[]>>;
    assert.equal(metadata.grant_types_supported?.includes(JWT_BEARER_GRANT), true);
    assert.deepEqual(metadata.authorization_grant_profiles_supported, [
      'urn:ietf:params:oauth:grant-profile:id-jag',
    ]);
  });

  spec(
    'without a grant in the option, the server has none',
    async (world) => {
      const metadata = world.server.serverMetadata as Readonly<Record<string, readonly string[]>>;
      assert.equal(metadata.grant_types_supported?.includes(JWT_BEARER_GRANT), false);
      assert.equal('authorization_grant_profiles_supported' in metadata, false);
      isError(await grant(world, 'reports', await assertion(world)), 'unsupported_grant_type');
    },
    {
      trustedIssuers: trustedIssuers({
        idp: { issuer: IDP, jwks, clients: [{ client: 'x', claims: { sub: 'a:b' } }] },
      }),
    },
  );
});

test('wrong grants are refused by name', () => {
  const cases: readonly (readonly [object, string])[] = [
    [{ grants: [] }, 'clients'],
    [{ grants: [{}] }, 'grants.0.clients'],
    [{ grants: [{ clients: [] }] }, 'grants.0.clients'],
    [{ grants: [{ clients: ['x'], subject: 'alice' }] }, 'grants.0.claims'],
    [{ grants: [{ clients: ['x'], subject: 'alice', claims: { sub: 'job:*' } }] }, 'grants.0.claims.sub'],
    [{ grants: [{ clients: ['x'], subject: 'alice', claims: { aud: 'x' } }] }, 'grants.0.claims.sub'],
    [{ grants: [{ clients: ['x'] }], findSubject: undefined }, 'grants.0.subject'],
    [{ grants: [{ clients: ['x'], scopes: ['a b'] }] }, 'grants.0.scopes'],
    [{ grants: [{ clients: ['x'], apis: ['x#y'] }] }, 'grants.0.apis'],
    [{ grants: [{ clients: ['x'], lifetime: 0 }] }, 'grants.0.lifetime'],
    [{ grants: [{ clients: ['x'], profile: 'saml' }] }, 'grants.0.profile'],
    [{ grants: [{ clients: ['x'], refresh: true }] }, 'grants.0.refresh'],
    [{ grants: ['x'] }, 'grants.0'],
    [{ issuer: 'spiffe://prod.example', grants: [READER] }, 'grants'],
    [{ grants: [READER], findSubject: 'alice' }, 'findSubject'],
    [{ grants: [READER], tokenEndpointAudience: 'yes' }, 'tokenEndpointAudience'],
  ];
  for (const [members, option] of cases)
    assert.throws(
      () => trustedIssuers({ idp: { issuer: IDP, jwks, findSubject: () => 'alice', ...members } }),
      (error: ConfigurationError) => error.option === `trustedIssuers.idp.${option}`,
      JSON.stringify(members),
    );
});
