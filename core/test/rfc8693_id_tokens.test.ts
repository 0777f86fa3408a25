// ID tokens as subject tokens. § refers to RFC 8693.
import assert from 'node:assert/strict';
import { EXCHANGE_GRANT, type ExchangeForUser, type NewClient, tokenExchange } from '@grantd/core';
import { decodeJwt } from 'jose';
import { decryptedAnswer } from './harness/answer_jwts.ts';
import { changeClient } from './harness/client_change.ts';
import { clientKey } from './harness/client_keys.ts';
import { proofOf, thumbprintOf } from './harness/dpop_proofs.ts';
import { approvedCode, askForTokens, grantTo, redeemed } from './harness/granting.ts';
import { ON_EVERY_STORE, ON_MEMORY } from './harness/places.ts';
import { forgedWithStolenKey, withBrokenSignature } from './harness/stolen_key.ts';
import { addClient, asClient, codeFor, DEAD_CODE, issued, PKCE, refused } from './harness/token_endpoint.ts';
import {
  type GrantedTokens,
  specification,
  VERIFIER,
  type World,
  type WorldOptions,
} from './harness/world.ts';

const TYPE = 'urn:ietf:params:oauth:token-type:';

/** An application of users, which exchanges their ID tokens. */
const SHOP = {
  ...{ id: 'shop', redirectUris: ['https://shop.example/callback'] },
  grantTypes: ['authorization_code', 'refresh_token', EXCHANGE_GRANT],
  scopes: ['openid', 'profile', 'read', 'offline_access'],
  metadata: { apis: ['https://billing.example'], exchange_scopes: ['read'] },
} satisfies NewClient;
const BILLING = {
  ...{ id: 'billing', resource: 'https://billing.example', redirectUris: [], scopes: ['read'] },
  grantTypes: [EXCHANGE_GRANT],
  metadata: { apis: ['https://billing.example'], exchange_tokens_of: ['shop'] },
} satisfies NewClient;

const ONLINE = { request: { scope: 'openid profile' } };

function exchange(world: World, token: string, client = 'shop', more: Readonly<Record<string, string>> = {}) {
  return askForTokens(world, client, {
    ...{ grant_type: EXCHANGE_GRANT, subject_token: token, subject_token_type: `${TYPE}id_token` },
    ...{ resource: 'https://billing.example', ...more },
  });
}

async function exchanged(world: World, { id_token }: GrantedTokens): Promise<string> {
  return issued(await exchange(world, id_token)).access_token;
}

async function refreshed(world: World, refresh_token: string): Promise<GrantedTokens> {
  return issued(await askForTokens(world, 'shop', { grant_type: 'refresh_token', refresh_token }));
}

const REFUSED = refused('invalid_request', 'the subject_token is not valid');

async function isRefused(world: World, token: string, reason: string, client = 'shop'): Promise<void> {
  assert.deepEqual(await exchange(world, token, client), REFUSED, reason);
  assert.equal(world.lastReason, reason);
}

function withClients(run: (world: World) => Promise<void>) {
  return async (world: World) => {
    for (const client of [SHOP, BILLING]) await addClient(world, client);
    await run(world);
  };
}

const OPTIONS: WorldOptions = { tokenExchange: tokenExchange() };

specification('Revocation of what an ID token was exchanged for', ON_EVERY_STORE, (declare) => {
  const spec = (sentence: string, run: (world: World) => Promise<void>) =>
    declare(sentence, withClients(run), OPTIONS);

  const ends: readonly (readonly [string, (world: World, tokens: GrantedTokens) => Promise<unknown>])[] = [
    ['refresh token', (world, { refresh_token }) => world.server.revokeToken(refresh_token)],
    ['access token', (world, { access_token }) => world.server.revokeToken(access_token)],
    ['session', async ({ storage }) => storage.revokeAll({ principal: 'session', id: 'session of alice' })],
    ['user', async ({ storage }) => storage.setDisabled('subject', 'alice', true)],
    ['grant', async ({ storage }) => storage.revokeGrants('alice', 'shop')],
    ['client', async ({ storage }) => storage.revokeAll({ principal: 'client', id: 'shop' })],
  ];
  for (const [what, end] of ends)
    spec(`the end of the ${what} ends an ID token, and what was obtained with it`, async (world) => {
      const tokens = await grantTo(world, 'shop', ONLINE);
      const before = await exchanged(world, tokens);
      const next = await refreshed(world, tokens.refresh_token);
      assert.deepEqual(await world.alive(before), [true]);
      const after = await exchanged(world, next);
      const other = await grantTo(world, 'shop', { ...ONLINE, approval: { subject: 'bob', sessionId: 'b' } });
      const ofOther = await exchanged(world, other);
      await end(world, next);
      // The access token from before a refresh is of another pair.
      assert.deepEqual(await world.alive(before, after), [what === 'access token', false]);
      assert.deepEqual(await exchange(world, next.id_token), REFUSED);
      assert.deepEqual(await world.alive(ofOther), [what !== 'client']);
    });

  spec('a code that is redeemed twice ends an ID token, and what was obtained with it', async (world) => {
    const code = await approvedCode(world, 'shop', ONLINE);
    const response = await redeemed(world, 'shop', { redemption: { code } });
    const tokens: GrantedTokens = JSON.parse(response.body);
    const token = await exchanged(world, tokens);
    assert.deepEqual(await redeemed(world, 'shop', { redemption: { code } }), DEAD_CODE);
    assert.deepEqual(await world.alive(token), [false]);
    assert.deepEqual(await exchange(world, tokens.id_token), REFUSED);
  });

  spec('an ID token that ends while it is exchanged has no living descendant', async (world) => {
    const tokens = await grantTo(world, 'shop', ONLINE);
    const { issue } = world.storage.tokens;
    world.storage.tokens.issue = async (issuedTokens, basis) => {
      world.storage.tokens.issue = issue;
      await world.server.revokeToken(tokens.refresh_token);
      return issue.call(world.storage.tokens, issuedTokens, basis);
    };
    assert.deepEqual(
      await exchange(world, tokens.id_token),
      refused('invalid_grant', 'the grant is no longer valid'),
    );
  });
});

specification('ID tokens as subject tokens (RFC 8693 §3)', ON_MEMORY, (declare) => {
  const spec = (sentence: string, run: (world: World) => Promise<void>, options: WorldOptions = {}) =>
    declare(sentence, withClients(run), { ...OPTIONS, ...options });

  spec('an ID token is exchanged by its client, and has no scopes', async (world) => {
    const { id_token, access_token } = await grantTo(world, 'shop', ONLINE);
    const token = issued(await exchange(world, id_token)).access_token;
    const { sub, client_id, aud, scope, act, auth_time } = decodeJwt(token);
    const expected = { sub: 'alice', client_id: 'shop', aud: 'https://billing.example', scope: 'read' };
    assert.deepEqual(
      { sub, client_id, aud, scope, act, auth_time },
      { ...expected, act: undefined, auth_time: world.clock.seconds },
    );
    assert.deepEqual(
      await exchange(world, id_token, 'shop', { scope: 'profile' }),
      refused('invalid_scope', 'a scope is not allowed'),
    );
    const { access_token_id, at_hash } = decodeJwt(id_token);
    assert.deepEqual([access_token_id, typeof at_hash], [decodeJwt(access_token).jti, 'string']);
    const { body } = await world.introspect(access_token);
    assert.doesNotMatch(body, /id_token/);
    assert.doesNotMatch((await world.userInfo(access_token)).body, /_id|digest/);
  });

  spec('an ID token of an opaque access token is exchanged too', async (world) => {
    await changeClient(world, 'shop', { accessTokenFormat: 'opaque' });
    const { id_token, access_token } = await grantTo(world, 'shop', ONLINE);
    assert.equal((await exchange(world, id_token)).status, 200);
    assert.doesNotMatch((await world.introspect(access_token)).body, /id_token/);
  });

  spec(
    'the first of the ID token and its access token to expire is the end',
    async (world) => {
      const { id_token, access_token } = await grantTo(world, 'shop', ONLINE);
      const token = issued(await exchange(world, id_token)).access_token;
      assert.equal(decodeJwt(token).exp, decodeJwt(id_token).exp);
      world.clock.advance(301);
      assert.deepEqual(await world.alive(access_token, token), [true, false]);
      await isRefused(world, id_token, 'expired');
    },
    { idTokenLifetime: 300 },
  );

  spec('an ID token of another client is refused, also if its access token is not', async (world) => {
    const { id_token, access_token } = await grantTo(world, 'shop', ONLINE);
    await isRefused(world, id_token, 'exchange_not_allowed', 'billing');
    const type = { subject_token_type: `${TYPE}access_token` };
    issued(await exchange(world, access_token, 'billing', type));
  });

  spec('an ID token whose grant outlives its session, or has none, is refused', async (world) => {
    const request = { scope: 'openid offline_access' };
    await isRefused(world, (await grantTo(world, 'shop', { request })).id_token, 'exchange_not_allowed');
    const code = await codeFor(world, {
      ...{ client_id: 'shop', redirect_uri: 'https://shop.example/callback', scope: 'openid', ...PKCE },
    });
    const { id_token } = await grantTo(world, 'shop', { redemption: { code } });
    assert.equal(decodeJwt(id_token).sid, undefined);
    await isRefused(world, id_token, 'exchange_not_allowed');
  });

  spec('an ID token that was not issued is refused, even if a stolen key signed it', async (world) => {
    const { id_token, access_token, refresh_token } = await grantTo(world, 'shop', ONLINE);
    const claims = decodeJwt(id_token);
    const forged = (change: object, typ = 'JWT') =>
      forgedWithStolenKey(world, { ...claims, jti: undefined, ...change }, { typ });
    for (const [what, token, reason] of [
      ['a later end', await forged({ exp: world.clock.seconds + 9999 }), 'differs_from_issued'],
      ['the same claims', await forged({}), 'differs_from_issued'],
      ['another user', await forged({ sub: 'bob' }), 'differs_from_issued'],
      ['another azp', await forged({ azp: 'billing' }), 'differs_from_issued'],
      ['an unknown access token', await forged({ access_token_id: 'unknown' }), 'no_record'],
      ['no access token', await forged({ access_token_id: undefined }), 'wrong_type'],
      ['another issuer', await forged({ iss: 'https://other.example' }), 'differs_from_issued'],
      ['an access token that only names itself', await forged({}, 'at+jwt'), 'differs_from_issued'],
      ['a broken signature', withBrokenSignature(id_token), 'wrong_type'],
      ['an access token', access_token, 'wrong_type'],
      ['a refresh token', refresh_token, 'wrong_type'],
    ] as const) {
      assert.notEqual(token, id_token, what);
      await isRefused(world, token, reason);
    }
    await changeClient(world, 'shop', {
      metadata: { ...SHOP.metadata, userinfo_signed_response_alg: 'RS256' },
    });
    await isRefused(world, (await world.userInfo(access_token)).body, 'wrong_type');
    const asOther = { subject_token_type: `${TYPE}access_token` };
    for (const type of [asOther, { subject_token_type: `${TYPE}jwt` }])
      assert.deepEqual(await exchange(world, id_token, 'shop', type), REFUSED);
  });

  spec('an ID token from before the client had the grant, or an encrypted one, is refused', async (world) => {
    await changeClient(world, 'shop', { grantTypes: ['authorization_code', 'refresh_token'] });
    const tokens = await grantTo(world, 'shop', ONLINE);
    assert.equal(decodeJwt(tokens.id_token).access_token_id, undefined);
    await changeClient(world, 'shop', { grantTypes: SHOP.grantTypes });
    await isRefused(world, tokens.id_token, 'wrong_type');
    const next = await refreshed(world, tokens.refresh_token);
    assert.equal((await exchange(world, next.id_token)).status, 200);
    const { privateKey, publicJwk } = await clientKey('ECDH-ES');
    await changeClient(world, 'shop', {
      metadata: {
        ...SHOP.metadata,
        ...{ jwks: { keys: [publicJwk] }, id_token_encrypted_response_alg: 'ECDH-ES' },
      },
    });
    const { id_token: encrypted } = await refreshed(world, next.refresh_token);
    const { content } = await decryptedAnswer(encrypted, privateKey);
    await isRefused(world, encrypted, 'wrong_type');
    await isRefused(world, content, 'differs_from_issued');
  });

  spec('the ID token of a bound access token needs its proof', async (world) => {
    const request = { ...ONLINE.request, dpop_jkt: await thumbprintOf() };
    const code = await approvedCode(world, 'shop', { request });
    const form = { grant_type: 'authorization_code', code, code_verifier: VERIFIER };
    const redirect_uri = 'https://shop.example/callback';
    const dpop = { dpop: await proofOf(world) };
    const { body } = await asClient(world, 'shop', { ...form, redirect_uri }, dpop);
    await isRefused(world, JSON.parse(body).id_token, 'subject_token_bound');
  });

  spec('an ID token of a user names an actor only if an operator allows it', async (world) => {
    const { id_token } = await grantTo(world, 'shop', ONLINE);
    const bob = { subject: 'bob', sessionId: 'session of bob' };
    const { id_token: actor } = await grantTo(world, 'shop', { ...ONLINE, approval: bob });
    const more = { actor_token: actor, actor_token_type: `${TYPE}id_token` };
    const refusedActor = refused('invalid_request', 'the actor_token is not valid');
    assert.deepEqual(await exchange(world, id_token, 'shop', more), refusedActor);
    const metadata = { ...SHOP.metadata, exchange_user_actors: true };
    await changeClient(world, 'shop', { metadata });
    const token = issued(await exchange(world, id_token, 'shop', more)).access_token;
    assert.deepEqual(decodeJwt(token).act, { sub: 'bob' });
    await world.storage.revokeAll({ principal: 'session', id: 'session of bob' });
    assert.deepEqual(await world.alive(token), [false]);
  });

  const wanted: ExchangeForUser[] = [];
  let answer: unknown = true;
  spec(
    '§2.2.2 a client that needs the consent of the user gets no token without it',
    async (world) => {
      const metadata = { ...SHOP.metadata, exchange_consent_required: true };
      await changeClient(world, 'shop', { metadata });
      const { id_token, access_token } = await grantTo(world, 'shop', ONLINE);
      issued(await exchange(world, id_token));
      const [asked, ...others] = wanted.splice(0);
      const { client, ...rest } = asked ?? assert.fail();
      const expected = { subject: 'alice', scopes: ['read'], resources: ['https://billing.example'] };
      assert.deepEqual([client.id, rest, others], ['shop', expected, []]);
      const refusal = refused('invalid_request', 'the user has not consented to the client');
      const type = { subject_token_type: `${TYPE}access_token` };
      for (answer of [false, undefined, 'yes'])
        assert.deepEqual(await exchange(world, access_token, 'shop', type), refusal);
      assert.equal(world.lastReason, 'exchange_consent_missing');
      answer = Promise.reject(new Error('the host is away'));
      assert.equal((await exchange(world, id_token)).status, 503);
    },
    {
      tokenExchange: tokenExchange({
        hasConsented(exchange) {
          wanted.push(exchange);
          return answer as boolean;
        },
      }),
    },
  );

  spec('without a host that knows of consents, no user has consented', async (world) => {
    const metadata = { ...SHOP.metadata, exchange_consent_required: true };
    await changeClient(world, 'shop', { metadata });
    const { id_token } = await grantTo(world, 'shop', ONLINE);
    const refusal = refused('invalid_request', 'the user has not consented to the client');
    assert.deepEqual(await exchange(world, id_token), refusal);
    await changeClient(world, 'shop', { metadata: { ...metadata, exchange_consent_required: false } });
    issued(await exchange(world, id_token));
  });
});
