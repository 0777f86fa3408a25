// Identity assertions for other servers.
// § refers to draft-ietf-oauth-identity-assertion-authz-grant-04.
import assert from 'node:assert/strict';
import {
  type ClientMetadata,
  EXCHANGE_GRANT,
  type IdentityAssertionPolicy,
  JWT_BEARER_GRANT,
  type NewClient,
  tokenExchange,
  trustedIssuers,
} from '@grantd/core';
import { decodeJwt } from 'jose';
import { changeClient } from './harness/client_change.ts';
import { clientKey } from './harness/client_keys.ts';
import { proofOf, thumbprintOf } from './harness/dpop_proofs.ts';
import { askForTokens, type Fields, grantTo } from './harness/granting.ts';
import { ON_EVERY_STORE, ON_MEMORY } from './harness/places.ts';
import { forgedWithStolenKey } from './harness/stolen_key.ts';
import {
  addClient,
  issued,
  OVERTAKEN,
  PKCE,
  refused,
  SCOPE_NOT_ALLOWED,
  verified,
} from './harness/token_endpoint.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import {
  basic,
  type GrantedTokens,
  ISSUER,
  specification,
  type World,
  type WorldOptions,
} from './harness/world.ts';

const TYPE = 'urn:ietf:params:oauth:token-type:';
const ID_JAG = `${TYPE}id-jag`;
const CHAT = 'https://chat.example/';
const POLICY = {
  client_id: 'f53f191f9311af35',
  scopes: ['chat.read', 'chat.history'],
  resources: ['https://api.chat.example', 'https://files.chat.example'],
} satisfies IdentityAssertionPolicy;

const wiki = (policy: Partial<IdentityAssertionPolicy> = {}, metadata: ClientMetadata = {}) =>
  ({
    ...{ id: 'wiki', redirectUris: ['https://wiki.example/callback'], scopes: ['openid', 'offline_access'] },
    grantTypes: ['authorization_code', 'refresh_token', EXCHANGE_GRANT],
    metadata: { identity_assertions: { [CHAT]: { ...POLICY, ...policy } }, ...metadata },
  }) satisfies NewClient;
/** As which the other server signs users in. */
const SIGN_IN = {
  ...{ id: 'chat', redirectUris: ['https://chat.example/callback'], scopes: ['openid'] },
  grantTypes: ['authorization_code'],
} satisfies NewClient;

const ONLINE = { request: { scope: 'openid' } };

function ask(world: World, subject_token: string, more: Fields = {}, client = 'wiki'): Promise<TestResponse> {
  return askForTokens(world, client, {
    ...{ grant_type: EXCHANGE_GRANT, requested_token_type: ID_JAG, audience: CHAT },
    ...{ subject_token, subject_token_type: `${TYPE}id_token`, ...more },
  });
}

const asRefresh = { subject_token_type: `${TYPE}refresh_token` };

async function asserted(world: World, token: string, more: Fields = {}) {
  return decodeJwt(issued(await ask(world, token, more)).access_token);
}

const REFUSED = refused('invalid_request', 'the subject_token is not valid');
const UNSUPPORTED = refused('invalid_request', 'the token type is not supported');
const WRONG_TARGET = refused('invalid_target', 'the client may obtain no identity assertion for this');

function withClients(run: (world: World) => Promise<void>) {
  return async (world: World) => {
    for (const client of [wiki(), SIGN_IN]) await addClient(world, client);
    await run(world);
  };
}

const OPTIONS: WorldOptions = { tokenExchange: tokenExchange() };

specification('Revocation of the tokens behind an identity assertion', ON_EVERY_STORE, (declare) => {
  const spec = (sentence: string, run: (world: World) => Promise<void>) =>
    declare(sentence, withClients(run), OPTIONS);

  const ends: readonly (readonly [string, (world: World, tokens: GrantedTokens) => Promise<unknown>])[] = [
    ['refresh token', (world, { refresh_token }) => world.server.revokeToken(refresh_token)],
    ['access token', (world, { access_token }) => world.server.revokeToken(access_token)],
    ['session', async ({ storage }) => storage.revokeAll({ principal: 'session', id: 'session of alice' })],
    ['user', async ({ storage }) => storage.setDisabled('subject', 'alice', true)],
    ['grant', async ({ storage }) => storage.revokeGrants('alice', 'wiki')],
    ['client', async ({ storage }) => storage.revokeAll({ principal: 'client', id: 'wiki' })],
  ];
  for (const [what, end] of ends)
    spec(`after the end of the ${what}, there is no new one`, async (world) => {
      const tokens = await grantTo(world, 'wiki', ONLINE);
      const other = await grantTo(world, 'wiki', { ...ONLINE, approval: { subject: 'bob', sessionId: 'b' } });
      const { jti } = await asserted(world, tokens.id_token);
      issued(await ask(world, tokens.refresh_token, asRefresh));
      assert.equal(await world.storage.tokens.getByAccessToken(String(jti)), undefined, 'no row');
      await end(world, tokens);
      assert.deepEqual(await ask(world, tokens.id_token), REFUSED);
      assert.deepEqual(await ask(world, tokens.refresh_token, asRefresh), REFUSED);
      assert.equal((await ask(world, other.id_token)).status, what === 'client' ? 400 : 200);
    });

  spec('what ends while an assertion is issued prevents it', async (world) => {
    const { issue } = world.storage.tokens;
    for (const end of [
      ({ refresh_token }: GrantedTokens) => world.server.revokeToken(refresh_token),
      async () => world.storage.revokeAll({ principal: 'session', id: 'session of alice' }),
      async () => world.storage.setDisabled('client', 'wiki', true),
    ]) {
      const tokens = await grantTo(world, 'wiki', ONLINE);
      world.storage.tokens.issue = async (...given) => {
        world.storage.tokens.issue = issue;
        await end(tokens);
        return issue.apply(world.storage.tokens, given);
      };
      assert.deepEqual(await ask(world, tokens.id_token), OVERTAKEN);
    }
  });

  spec('what a user has ended for a client is not continued with an older access token', async (world) => {
    const tokens = await grantTo(world, 'wiki', ONLINE);
    await world.storage.revokeGrants('alice', 'wiki');
    assert.deepEqual(await ask(world, tokens.id_token), REFUSED);
    world.clock.advance(1);
    const next = await grantTo(world, 'wiki', ONLINE);
    issued(await ask(world, next.id_token));
  });
});

specification('Identity assertions for other servers', ON_MEMORY, (declare) => {
  const spec = (sentence: string, run: (world: World) => Promise<void>, options: WorldOptions = {}) =>
    declare(sentence, withClients(run), { ...OPTIONS, ...options });

  spec('§4.3.4 the response has an assertion, which says all that policy allows', async (world) => {
    const { id_token } = await grantTo(world, 'wiki', {
      ...ONLINE,
      approval: { acr: 'mfa', amr: ['pwd', 'otp'] },
    });
    const response = issued(await ask(world, id_token));
    const { access_token, ...others } = response;
    assert.deepEqual(others, {
      token_type: 'N_A',
      expires_in: 300,
      issued_token_type: ID_JAG,
      scope: 'chat.read chat.history',
    } as object);
    const { header, payload } = await verified(world, access_token);
    const { kid, ...form } = header as { kid: string };
    assert.deepEqual(form, { alg: 'RS256', typ: 'oauth-id-jag+jwt' });
    assert.equal(kid, await world.storage.keys.currentKeyId('RS256'));
    const { jti, ...claims } = payload;
    const now = world.clock.seconds;
    assert.deepEqual(claims, {
      ...{ iss: ISSUER, sub: 'alice', aud: CHAT, client_id: POLICY.client_id, resource: POLICY.resources },
      ...{ scope: 'chat.read chat.history', auth_time: now, acr: 'mfa', amr: ['pwd', 'otp'] },
      ...{ iat: now, exp: now + 300 },
    });
    assert.notEqual(jti, (await asserted(world, id_token)).jti);
  });

  spec('§4.3.3 a request narrows scopes and resources, and never goes beyond policy', async (world) => {
    const { id_token } = await grantTo(world, 'wiki', ONLINE);
    const narrow = await asserted(world, id_token, {
      scope: 'chat.read',
      resource: 'https://api.chat.example/',
    });
    assert.deepEqual([narrow.scope, narrow.resource], ['chat.read', 'https://api.chat.example']);
    const { body } = await ask(world, id_token, { scope: 'chat.read' });
    assert.equal(JSON.parse(body).scope, 'chat.read');
    for (const scope of ['chat.read chat.admin', 'openid', 'CHAT.READ'])
      assert.deepEqual(await ask(world, id_token, { scope }), SCOPE_NOT_ALLOWED, scope);
    for (const resource of ['https://other.example', ['https://api.chat.example', 'https://wiki.example']])
      assert.deepEqual(await ask(world, id_token, { resource }), WRONG_TARGET);
    assert.equal(world.lastReason, 'assertion_audience_not_allowed');
    await changeClient(world, 'wiki', {
      metadata: { identity_assertions: { [CHAT]: { client_id: 'f53' } } },
    });
    const bare = await asserted(world, id_token);
    assert.deepEqual([bare.client_id, bare.scope, bare.resource], ['f53', undefined, undefined]);
    assert.deepEqual(await ask(world, id_token, { scope: 'chat.read' }), SCOPE_NOT_ALLOWED);
    assert.deepEqual(await ask(world, id_token, { resource: 'https://api.chat.example' }), WRONG_TARGET);
  });

  spec('§4.3 the audience is exactly one issuer, spelled as in the policy', async (world) => {
    const { id_token } = await grantTo(world, 'wiki', ONLINE);
    for (const audience of [
      ...['https://chat.example', 'HTTPS://chat.example/', 'https://chat.example//', 'https://CHAT.example/'],
      ...[
        'https://chat.example:443/',
        ' https://chat.example/',
        'https://chat.example/?',
        'chat',
        'toString',
      ],
      ...[ISSUER, 'https://api.chat.example', '__proto__'],
    ])
      assert.deepEqual(await ask(world, id_token, { audience }), WRONG_TARGET, audience);
    for (const audience of [
      [CHAT, 'https://other.example/'],
      ['https://other.example/', CHAT],
    ])
      assert.deepEqual(await ask(world, id_token, { audience }), WRONG_TARGET);
    const { body } = await ask(world, id_token, { audience: [] });
    assert.equal(JSON.parse(body).error, 'invalid_request');
    // Storage has it from an earlier issuer of this server.
    await changeClient(world, 'wiki', { metadata: { identity_assertions: { [ISSUER]: POLICY } } });
    assert.deepEqual(await ask(world, id_token, { audience: ISSUER }), WRONG_TARGET);
  });

  spec('§4.3 only an ID token or a refresh token of the client itself is a subject', async (world) => {
    await addClient(world, { ...wiki(), id: 'other', redirectUris: ['https://other.example/callback'] });
    const own = await grantTo(world, 'wiki', ONLINE);
    const foreign = await grantTo(world, 'other', ONLINE);
    assert.deepEqual(await ask(world, foreign.id_token), REFUSED);
    assert.equal(world.lastReason, 'exchange_not_allowed');
    assert.deepEqual(await ask(world, foreign.refresh_token, asRefresh), REFUSED);
    assert.deepEqual(await ask(world, own.access_token), REFUSED, 'an access token as an ID token');
    const assertion = issued(await ask(world, own.id_token)).access_token;
    for (const type of ['access_token', 'jwt', 'id-jag', 'saml2', ''])
      for (const token of [own.access_token, own.id_token, assertion])
        assert.equal(
          (await ask(world, token, { subject_token_type: `${TYPE}${type}` })).body,
          UNSUPPORTED.body,
        );
    assert.deepEqual(await ask(world, assertion), REFUSED, 'an assertion as an ID token');
    assert.deepEqual(await ask(world, assertion, asRefresh), REFUSED);
    const actor = { actor_token: own.access_token, actor_token_type: `${TYPE}access_token` };
    const { body } = await ask(world, own.id_token, actor);
    assert.equal(JSON.parse(body).error_description, 'an identity assertion names no actor');
  });

  spec('an assertion is nothing else than an assertion, at every endpoint', async (world) => {
    const { id_token } = await grantTo(world, 'wiki', ONLINE);
    const assertion = issued(await ask(world, id_token)).access_token;
    assert.equal((await world.introspect(assertion)).body, '{"active":false}');
    assert.equal((await world.userInfo(assertion)).status, 401);
    assert.equal((await world.server.operator.explainToken(assertion)).kind, 'identity_assertion');
    const form = {
      ...{ grant_type: 'refresh_token', refresh_token: assertion },
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    };
    assert.equal((await askForTokens(world, 'wiki', form)).status, 400);
    const { status } = await world.post('/token', {
      ...form,
      client_assertion: assertion,
      client_id: 'wiki',
    });
    assert.equal(status, 401);
    const exchange = { grant_type: EXCHANGE_GRANT, subject_token: assertion };
    for (const type of ['access_token', 'id_token', 'refresh_token', 'jwt'])
      assert.deepEqual(
        await askForTokens(world, 'wiki', { ...exchange, subject_token_type: `${TYPE}${type}` }),
        REFUSED,
        type,
      );
    const request = {
      client_id: 'wiki',
      response_type: 'code',
      redirect_uri: 'https://wiki.example/callback',
      ...PKCE,
    };
    const hint = new URLSearchParams({ ...request, id_token_hint: assertion }).toString();
    await assert.rejects(
      world.server.authorization.validate({ method: 'GET', url: `/authorize?${hint}`, headers: {} }),
      { reason: 'id_token_hint_wrong' },
    );
    // Not even with a stolen key: there is no row.
    const forged = await forgedWithStolenKey(
      world,
      { ...decodeJwt(assertion), aud: ISSUER },
      { typ: 'at+jwt' },
    );
    assert.equal((await world.introspect(forged)).body, '{"active":false}');
  });

  spec(
    '§5 sub is that of an ID token for the other server, which its users may use',
    async (world) => {
      const policy = { ...POLICY, signs_in_as: 'chat' };
      const change = (metadata: ClientMetadata) => changeClient(world, 'chat', { metadata });
      await changeClient(world, 'wiki', wiki(policy, { subject_type: 'pairwise' }));
      await change({ subject_type: 'pairwise' });
      const { id_token } = await grantTo(world, 'wiki', ONLINE);
      const { sub } = await asserted(world, id_token);
      const there = await grantTo(world, 'chat', ONLINE);
      assert.equal(sub, decodeJwt(there.id_token).sub);
      assert.notEqual(sub, decodeJwt(id_token).sub);
      await changeClient(world, 'chat', {
        idTokenAlgorithm: 'ES256',
        metadata: { allowed_groups: ['staff'] },
      });
      assert.equal(
        JSON.parse((await ask(world, id_token)).body).error_description,
        'the user may not use the other server',
      );
      await change({});
      assert.equal((await asserted(world, id_token)).sub, 'alice');
      const { header } = await verified(world, issued(await ask(world, id_token)).access_token);
      assert.equal((header as { alg: string }).alg, 'ES256');
      await world.storage.setDisabled('client', 'chat', true);
      assert.deepEqual(await ask(world, id_token), WRONG_TARGET);
      await world.storage.clients.remove('chat');
      assert.deepEqual(await ask(world, id_token), WRONG_TARGET);
    },
    { pairwiseSecret: 'a pairwise secret of more than 32 characters' },
  );

  spec(
    'an assertion names a verified email address if policy says so',
    async (world) => {
      const { id_token } = await grantTo(world, 'wiki', ONLINE);
      assert.equal('email' in (await asserted(world, id_token)), false);
      await changeClient(world, 'wiki', wiki({ email: true }));
      const { email, email_verified } = await asserted(world, id_token);
      assert.deepEqual([email, email_verified], ['alice@example.com', true]);
      const bob = await grantTo(world, 'wiki', { ...ONLINE, approval: { subject: 'bob', sessionId: 'b' } });
      assert.equal('email' in (await asserted(world, bob.id_token)), false);
    },
    {
      oidc: {
        getUserClaims: (subject) => ({
          email: `${subject}@example.com`,
          email_verified: subject === 'alice',
        }),
      },
    },
  );

  spec('authorization_details are those of the request, of types that policy names', async (world) => {
    const { id_token } = await grantTo(world, 'wiki', ONLINE);
    const details = [{ type: 'chat_read', actions: ['read'] }];
    const more = { authorization_details: JSON.stringify(details) };
    const refusal = await ask(world, id_token, more);
    assert.equal(JSON.parse(refusal.body).error, 'invalid_authorization_details');
    await changeClient(world, 'wiki', wiki({ authorization_details_types: ['chat_read'] }));
    assert.deepEqual((await asserted(world, id_token, more)).authorization_details, details);
    assert.deepEqual(JSON.parse((await ask(world, id_token, more)).body).authorization_details, details);
    const mixed = JSON.stringify([...details, { type: 'chat_admin' }]);
    for (const authorization_details of [mixed, '{}', '[]', 'x', '[{}]'])
      assert.equal(
        (await ask(world, id_token, { authorization_details })).status,
        400,
        authorization_details,
      );
  });

  spec(
    'an assertion ends with its ID token at the latest, or earlier by policy',
    async (world) => {
      const { id_token, refresh_token } = await grantTo(world, 'wiki', ONLINE);
      world.clock.advance(500);
      const now = world.clock.seconds;
      assert.equal((await asserted(world, id_token)).exp, now + 100);
      assert.equal((await asserted(world, refresh_token, asRefresh)).exp, now + 300);
      await changeClient(world, 'wiki', wiki({ lifetime: 7 }));
      assert.equal((await asserted(world, id_token)).exp, now + 7);
      world.clock.advance(100);
      assert.deepEqual(await ask(world, id_token), REFUSED);
      assert.equal(world.lastReason, 'expired');
    },
    { idTokenLifetime: 600 },
  );

  spec('a proof of the client binds the assertion, and a bound subject needs its proof', async (world) => {
    const { id_token } = await grantTo(world, 'wiki', ONLINE);
    const send = (token: string, headers: Readonly<Record<string, string>>) =>
      world.post(
        '/token',
        {
          ...{ grant_type: EXCHANGE_GRANT, requested_token_type: ID_JAG, audience: CHAT },
          ...{ subject_token: token, subject_token_type: `${TYPE}id_token` },
        },
        null,
        { authorization: basic('wiki'), ...headers },
      );
    const { body } = await send(id_token, { dpop: await proofOf(world) });
    const { access_token, token_type } = JSON.parse(body);
    assert.deepEqual([decodeJwt(access_token).cnf, token_type], [{ jkt: await thumbprintOf() }, 'N_A']);
    await changeClient(world, 'wiki', wiki({}, { dpop_bound_access_tokens: true }));
    assert.equal(JSON.parse((await send(id_token, {})).body).error, 'invalid_dpop_proof');
  });

  let hasConsented = false;
  spec(
    'consent and step-up are asked for as of other exchanges',
    async (world) => {
      await changeClient(world, 'wiki', wiki({}, { exchange_consent_required: true }));
      const { id_token } = await grantTo(world, 'wiki', ONLINE);
      const refusal = refused('invalid_request', 'the user has not consented to the client');
      assert.deepEqual(await ask(world, id_token), refusal);
      hasConsented = true;
      issued(await ask(world, id_token));
      const stepUp = { exchange_step_up_scopes: ['chat.history'], default_acr_values: ['mfa'] };
      await changeClient(world, 'wiki', wiki({}, stepUp));
      assert.equal((await asserted(world, id_token)).scope, 'chat.read');
      const { body } = await ask(world, id_token, { scope: 'chat.history' });
      const needed = 'insufficient_user_authentication';
      assert.deepEqual([JSON.parse(body).error, JSON.parse(body).acr_values], [needed, 'mfa']);
      await changeClient(world, 'wiki', wiki({ scopes: ['chat.history'] }, stepUp));
      assert.equal(JSON.parse((await ask(world, id_token)).body).error, needed, 'none is left');
      await changeClient(world, 'wiki', wiki({}, stepUp));
      const strong = await grantTo(world, 'wiki', { ...ONLINE, approval: { acr: 'mfa' } });
      assert.equal((await asserted(world, strong.id_token)).scope, 'chat.read chat.history');
    },
    { tokenExchange: tokenExchange({ hasConsented: () => hasConsented }) },
  );

  spec('authorization_details name only APIs of the policy', async (world) => {
    await changeClient(world, 'wiki', wiki({ authorization_details_types: ['chat_read'] }));
    const { id_token } = await grantTo(world, 'wiki', ONLINE);
    const at = (location: string) => {
      const details = [{ type: 'chat_read', locations: [location] }];
      return ask(world, id_token, { authorization_details: JSON.stringify(details) });
    };
    issued(await at('https://api.chat.example'));
    assert.deepEqual(await at('https://admin.chat.example'), WRONG_TARGET);
  });

  spec('a refresh token counts if its client can refresh it and gets ID tokens with it', async (world) => {
    const withoutSignIn = refused('invalid_request', 'the subject_token gives its client no ID tokens');
    const { refresh_token } = await grantTo(world, 'wiki', { request: { scope: 'offline_access' } });
    assert.deepEqual(await ask(world, refresh_token, asRefresh), withoutSignIn);
    const tokens = await grantTo(world, 'wiki', ONLINE);
    issued(await ask(world, tokens.refresh_token, asRefresh));
    await changeClient(world, 'wiki', { ...wiki(), grantTypes: ['authorization_code', EXCHANGE_GRANT] });
    assert.deepEqual(await ask(world, tokens.refresh_token, asRefresh), withoutSignIn);
  });

  spec('a client without a policy, or one that registered itself, gets none', async (world) => {
    await changeClient(world, 'wiki', { metadata: {} });
    const { id_token } = await grantTo(world, 'wiki', ONLINE);
    assert.deepEqual(await ask(world, id_token), WRONG_TARGET);
    await changeClient(world, 'wiki', { ...wiki(), registeredAt: world.clock.seconds });
    const { body } = await ask(world, id_token);
    assert.equal(JSON.parse(body).error, 'unauthorized_client');
  });

  spec('§7 metadata says that the server issues identity assertions', async (world) => {
    const { identity_chaining_requested_token_types_supported: types } = world.server.serverMetadata;
    assert.deepEqual(types, [ID_JAG]);
  });

  spec(
    'an operator names other servers, and what is unfit is refused by name',
    async (world) => {
      const { operator } = world.server;
      const document = (policies: unknown, more: object = {}) =>
        operator.clientFrom(
          { id: 'wiki' },
          { grant_types: [EXCHANGE_GRANT], identity_assertions: policies, ...more },
        );
      const whole = { ...POLICY, signs_in_as: 'chat', email: true, lifetime: 3600 };
      const checked = await document({ [CHAT]: whole, 'http://127.0.0.1:4000': POLICY });
      assert.deepEqual(checked.metadata?.identity_assertions?.[CHAT], whole);
      for (const [policies, more] of [
        [{ [CHAT]: {} }],
        [{ [CHAT]: { ...POLICY, scope: 'chat.read' } }],
        [{ [CHAT]: { ...POLICY, scopes: ['openid'] } }],
        [{ [CHAT]: { ...POLICY, resources: ['chat'] } }],
        [{ [CHAT]: { ...POLICY, scopes: [] } }],
        [{ [CHAT]: { ...POLICY, resources: [] } }],
        [{ [CHAT]: { ...POLICY, lifetime: 3601 } }],
        [{ [CHAT]: { ...POLICY, email: 'yes' } }],
        [{ chat: POLICY }],
        [{ 'https://chat.example/?tenant=1': POLICY }],
        [[POLICY]],
        [Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`https://${at}.example`, POLICY]))],
        [{ [ISSUER]: POLICY }],
        [{ [CHAT]: POLICY }, { subject_type: 'pairwise' }],
      ] as const)
        await assert.rejects(
          document(policies, more),
          { member: 'identity_assertions' },
          JSON.stringify(policies),
        );
    },
    { pairwiseSecret: 'a pairwise secret of more than 32 characters' },
  );
});

specification('Identity assertions of this server itself', ON_MEMORY, (declare) => {
  declare('§8.3 are no grant here: a server cannot trust its own issuer', async (world) => {
    const { publicJwk } = await clientKey('ES256', 'any');
    const grants = [
      { clients: ['wiki'], subject: 'alice', claims: { sub: 'a:b' }, profile: 'id-jag' as const },
    ];
    const options = { issuer: ISSUER, jwks: { keys: [publicJwk] }, grants };
    const { storage, clock } = world;
    assert.throws(
      () =>
        trustedIssuers({ self: options }).open({
          storage: storage as never,
          clock: clock.read,
          issuer: ISSUER,
          fetchDocument: undefined,
        }),
      { option: 'trustedIssuers.self.issuer' },
    );
    assert.equal(
      world.server.serverMetadata.grant_types_supported?.toString().includes(JWT_BEARER_GRANT),
      false,
    );
  });
});
