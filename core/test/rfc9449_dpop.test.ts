// § refers to RFC 9449.
// Long: the rules of one specification, in its order.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AdministrableStorage, TokenRecord } from '@grantd/core';
import { OAuthError } from '@grantd/core';
import { decodeJwt, exportJWK, SignJWT } from 'jose';
import * as oauth from 'oauth4webapi';
import { formOf, USUAL } from './harness/authorization_endpoint.ts';
import { BreakableStore } from './harness/breakable_store.ts';
import { clientKey } from './harness/client_keys.ts';
import { discovered, libraryOptions } from './harness/client_library.ts';
import { setMetadata } from './harness/client_metadata.ts';
import {
  PAR_URL,
  type ProofChanges,
  proofOf,
  TOKEN_URL,
  thumbprintOf,
  USERINFO_URL,
} from './harness/dpop_proofs.ts';
import { ON_EVERY_STORE, ON_MEMORY } from './harness/places.ts';
import { INACTIVE, OPEN_JSON_HEADERS, REVOKED } from './harness/responses.ts';
import { secondServer } from './harness/second_server.ts';
import { MEMORY } from './harness/stores.ts';
import { FUNCTION } from './harness/transports/function.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import {
  basic,
  CHALLENGE,
  CLIENTS,
  type GrantedTokens,
  openWorld,
  SECRET,
  specification,
  VERIFIER,
  type World,
} from './harness/world.ts';

type Tokens = GrantedTokens & { readonly token_type: string };

const USED_BEFORE = 'the DPoP proof was used before';
const NOT_VALID = 'the refresh token is not valid';

/** Servers whose storage takes the identifier of a proof together with the tokens, and in a write before. */
const PLACES_OF_USE: readonly (readonly [storage: string, open: (world: World) => Promise<World>])[] = [
  ['a storage that takes it with the tokens', (world) => secondServer(world)],
  ['a storage that takes it alone', (world) => secondServer(world, {}, withoutOnce(world.storage))],
];

function withoutOnce(storage: AdministrableStorage): AdministrableStorage {
  const { takesOnce: _, ...tokens } = storage.tokens;
  const { rotate, issueFrom } = tokens;
  return {
    ...storage,
    tokens: {
      ...tokens,
      rotate: (record, successor, issued) => rotate(record, successor, issued),
      issueFrom: (record, issued) => issueFrom(record, issued),
    },
  };
}

const ALGS = 'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519';

/** Of every response to a request with a proof. */
const NONCE = /^[\w-]{43}$/;

/** A request to the token endpoint with a proof. */
async function withProof(
  world: World,
  parameters: Readonly<Record<string, string>>,
  proof: ProofChanges | string | null = {},
  as: 'web' | 'machine' | null = null,
): Promise<TestResponse> {
  const text = typeof proof === 'string' || proof === null ? proof : await proofOf(world, proof);
  return world.post('/token', parameters, as, text === null ? {} : { dpop: text });
}

const MACHINE = { grant_type: 'client_credentials', scope: 'read' };

function machine(world: World, proof?: ProofChanges | string | null): Promise<TestResponse> {
  return withProof(world, MACHINE, proof, 'machine');
}

function tokensIn({ status, body }: TestResponse): Tokens {
  assert.equal(status, 200, body);
  return JSON.parse(body);
}

async function redeemed(
  world: World,
  clientId: 'web' | 'spa',
  proof: ProofChanges | string | null = {},
  code?: string,
): Promise<TestResponse> {
  const form = {
    grant_type: 'authorization_code',
    code: code ?? (await world.code('alice', clientId)),
    code_verifier: VERIFIER,
    redirect_uri: CLIENTS[clientId].redirectUris[0],
    ...(clientId === 'spa' && { client_id: clientId }),
  };
  return withProof(world, form, proof, clientId === 'web' ? 'web' : null);
}

function refreshed(
  world: World,
  clientId: 'web' | 'spa',
  refresh_token: string,
  proof: ProofChanges | string | null = {},
): Promise<TestResponse> {
  const form = { grant_type: 'refresh_token', refresh_token };
  if (clientId === 'web') return withProof(world, form, proof, 'web');
  return withProof(world, { ...form, client_id: 'spa' }, proof);
}

/** UserInfo with the scheme DPoP. */
async function userInfo(
  world: World,
  token: string,
  proof: ProofChanges | string | null = {},
  method = 'GET',
): Promise<TestResponse> {
  const forToken = { htm: method, htu: USERINFO_URL, token };
  const text =
    typeof proof === 'string' || proof === null ? proof : await proofOf(world, { ...forToken, ...proof });
  const headers = { authorization: `DPoP ${token}`, ...(text !== null && { dpop: text }) };
  return world.send({ method, path: '/userinfo', headers });
}

async function introspected(world: World, token: string): Promise<Record<string, unknown>> {
  return JSON.parse((await world.introspect(token)).body);
}

/** A refusal of the token endpoint. */
function assertRefused(
  { status, headers, body }: TestResponse,
  error: string,
  description: string,
  message = description,
): void {
  const { 'dpop-nonce': _, ...others } = headers;
  const expected = { error, error_description: description };
  assert.deepEqual([status, others, JSON.parse(body)], [400, OPEN_JSON_HEADERS, expected], message);
}

/** A refusal of UserInfo to a request with the scheme DPoP. */
function assertChallenged(
  { status, headers, body }: TestResponse,
  error: string,
  description: string,
  message = description,
): void {
  const { 'dpop-nonce': _, ...others } = headers;
  const challenge = `DPoP error="${error}", error_description="${description}", algs="${ALGS}", Bearer`;
  const expected = [401, { ...OPEN_JSON_HEADERS, 'www-authenticate': challenge }];
  assert.deepEqual([status, others], expected, message);
  assert.deepEqual(JSON.parse(body), { error, error_description: description });
}

const MISSING = 'a DPoP proof is required';
const OTHER_KEY = 'the grant is bound to another key';

specification('DPoP: what is bound (RFC 9449)', ON_EVERY_STORE, (spec) => {
  spec('§5, §6.1, §6.2 a proof binds the access token: its type and cnf say so everywhere', async (world) => {
    const jkt = await thumbprintOf();
    for (const format of ['jwt', 'opaque'] as const) {
      const server = await secondServer(world, { accessTokenFormat: format });
      const { access_token, token_type } = tokensIn(await machine(server));
      assert.equal(token_type, 'DPoP');
      if (format === 'jwt') assert.deepEqual(decodeJwt(access_token).cnf, { jkt });
      const { active, token_type: type, cnf } = await introspected(world, access_token);
      assert.deepEqual([active, type, cnf], [true, 'DPoP', { jkt }], format);
    }
  });

  spec('§5 without a proof tokens are as before: bearer tokens without cnf', async (world) => {
    const { access_token, token_type } = tokensIn(await machine(world, null));
    const { token_type: type, cnf } = await introspected(world, access_token);
    assert.deepEqual([token_type, type, cnf], ['Bearer', 'Bearer', undefined]);
    assert.equal('cnf' in decodeJwt(access_token), false);
  });

  spec(
    '§5 the refresh token of a public client is bound to the key, through every rotation',
    async (world) => {
      const first = tokensIn(await redeemed(world, 'spa'));
      assert.equal(first.token_type, 'DPoP');
      const cnf = { jkt: await thumbprintOf() };
      assert.deepEqual((await introspected(world, first.refresh_token)).cnf, cnf);

      const stolen = await refreshed(world, 'spa', first.refresh_token, { key: 'of a thief' });
      assertRefused(stolen, 'invalid_grant', OTHER_KEY);
      assert.equal(world.lastReason, 'dpop_key_wrong');
      assertRefused(await refreshed(world, 'spa', first.refresh_token, null), 'invalid_dpop_proof', MISSING);
      assert.equal(world.lastReason, 'dpop_proof_missing');

      const second = tokensIn(await refreshed(world, 'spa', first.refresh_token));
      assert.equal(second.token_type, 'DPoP');
      assertRefused(
        await refreshed(world, 'spa', second.refresh_token, { key: 'of a thief' }),
        'invalid_grant',
        OTHER_KEY,
      );
      tokensIn(await refreshed(world, 'spa', second.refresh_token));
    },
  );

  spec('§5 who has a spent refresh token but not its key, cannot end its family', async (world) => {
    const first = tokensIn(await redeemed(world, 'spa'));
    const second = tokensIn(await refreshed(world, 'spa', first.refresh_token));
    world.clock.advance(60);
    const stolen = await refreshed(world, 'spa', first.refresh_token, { key: 'of a thief' });
    assertRefused(stolen, 'invalid_grant', OTHER_KEY);
    assert.deepEqual(await world.alive(second.refresh_token), [true]);
    assertRefused(
      await refreshed(world, 'spa', first.refresh_token),
      'invalid_grant',
      'the refresh token is not valid',
    );
    assert.deepEqual(await world.alive(second.refresh_token), [false]);
  });

  spec('§5 a retried refresh gets the same successor, with the right key only', async (world) => {
    const first = tokensIn(await redeemed(world, 'spa', null));
    assert.equal(first.token_type, 'Bearer');
    const second = tokensIn(await refreshed(world, 'spa', first.refresh_token));
    assert.deepEqual((await introspected(world, second.refresh_token)).cnf, { jkt: await thumbprintOf() });
    const again = tokensIn(await refreshed(world, 'spa', first.refresh_token));
    assert.equal(again.refresh_token, second.refresh_token);
    for (const [proof, error, description] of [
      [null, 'invalid_dpop_proof', MISSING],
      [{ key: 'of a thief' }, 'invalid_grant', OTHER_KEY],
    ] as const)
      assertRefused(await refreshed(world, 'spa', first.refresh_token, proof), error, description);
  });

  spec('§5 a retried refresh that shows a key for the first time is refused', async (world) => {
    const first = tokensIn(await redeemed(world, 'spa', null));
    const second = tokensIn(await refreshed(world, 'spa', first.refresh_token, null));
    for (const proof of [{}, { key: 'of a thief' }]) {
      const late = await refreshed(world, 'spa', first.refresh_token, proof);
      assertRefused(late, 'invalid_grant', 'the refresh token is not valid');
      assert.equal(world.lastReason, 'proof_unexpected');
    }
    // The client still has what the first use gave it, and may be bound from the next use on.
    assert.deepEqual(await world.alive(second.access_token, second.refresh_token), [true, true]);
    assert.equal((await introspected(world, second.refresh_token)).cnf, undefined);
    const again = tokensIn(await refreshed(world, 'spa', first.refresh_token, null));
    assert.deepEqual([again.refresh_token, again.token_type], [second.refresh_token, 'Bearer']);
    const third = tokensIn(await refreshed(world, 'spa', second.refresh_token));
    assert.deepEqual((await introspected(world, third.refresh_token)).cnf, { jkt: await thumbprintOf() });
  });

  spec('§5 of concurrent refreshes with and without a proof, only one kind succeeds', async (world) => {
    const { refresh_token } = tokensIn(await redeemed(world, 'spa', null));
    const proofs = [{}, null, {}, null];
    const answers = await Promise.all(proofs.map((proof) => refreshed(world, 'spa', refresh_token, proof)));
    const issued = answers.filter(({ status }) => status === 200).map(tokensIn);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 400, 400]);
    const successors = new Set(issued.map((tokens) => tokens.refresh_token));
    const types = new Set(issued.map(({ token_type }) => token_type));
    assert.deepEqual([successors.size, types.size], [1, 1]);
    const { cnf } = await introspected(world, [...successors].join());
    assert.deepEqual(cnf, types.has('DPoP') ? { jkt: await thumbprintOf() } : undefined);
  });

  spec(
    '§5 a confidential client may show a key at a retry, because its refresh token stays unbound',
    async (world) => {
      const first = tokensIn(await redeemed(world, 'web', null));
      const second = tokensIn(await refreshed(world, 'web', first.refresh_token, null));
      const again = tokensIn(await refreshed(world, 'web', first.refresh_token));
      assert.deepEqual([again.refresh_token, again.token_type], [second.refresh_token, 'DPoP']);
    },
  );

  spec(
    '§5 the refresh token of a confidential client is not bound; each refresh binds to the key of its proof',
    async (world) => {
      const first = tokensIn(await redeemed(world, 'web'));
      assert.equal((await introspected(world, first.refresh_token)).cnf, undefined);
      const second = tokensIn(await refreshed(world, 'web', first.refresh_token, { key: 'new' }));
      const cnf = { jkt: await thumbprintOf('new') };
      assert.deepEqual((await introspected(world, second.access_token)).cnf, cnf);
      const third = tokensIn(await refreshed(world, 'web', second.refresh_token, null));
      assert.equal(third.token_type, 'Bearer');
      assert.equal((await introspected(world, third.access_token)).cnf, undefined);
    },
  );

  spec('§10 dpop_jkt binds the code to a key, and a code survives a refused proof', async (world) => {
    const code = await codeBoundTo(world, { dpop_jkt: await thumbprintOf() });
    assertRefused(await redeemed(world, 'web', { key: 'of a thief' }, code), 'invalid_grant', OTHER_KEY);
    assert.equal(world.lastReason, 'dpop_key_wrong');
    assertRefused(await redeemed(world, 'web', null, code), 'invalid_dpop_proof', MISSING);
    assert.equal(tokensIn(await redeemed(world, 'web', {}, code)).token_type, 'DPoP');
  });

  spec('§10 who has a redeemed code but not its key, cannot revoke what it issued', async (world) => {
    const code = await codeBoundTo(world, { dpop_jkt: await thumbprintOf() });
    const { access_token } = tokensIn(await redeemed(world, 'web', {}, code));
    assertRefused(await redeemed(world, 'web', { key: 'of a thief' }, code), 'invalid_grant', OTHER_KEY);
    assert.deepEqual(await world.alive(access_token), [true]);
    assert.equal((await redeemed(world, 'web', {}, code)).status, 400);
    assert.deepEqual(await world.alive(access_token), [false]);
  });

  spec('§10.1 a pushed request with a proof binds the code to its key', async (world) => {
    const dpop = await proofOf(world, { htu: PAR_URL });
    const code = await approved(world, { client_id: 'web', request_uri: await pushed(world, {}, { dpop }) });
    assertRefused(await redeemed(world, 'web', { key: 'of a thief' }, code), 'invalid_grant', OTHER_KEY);
    assert.equal(tokensIn(await redeemed(world, 'web', {}, code)).token_type, 'DPoP');
  });

  spec('§11.1 a proof is accepted once, by whichever process', async (world) => {
    const proof = await proofOf(world);
    const other = await secondServer(world);
    const answers = await Promise.all([world, other, world, other].map((server) => machine(server, proof)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400, 400]);
    world.clock.advance(100);
    assertRefused(await machine(other, proof), 'invalid_dpop_proof', 'the DPoP proof was used before');
    assert.equal(other.events.at(-1)?.type, 'refused');
  });

  for (const [storage, place] of PLACES_OF_USE) {
    spec(`§11.1 of requests with one proof at once, one gets tokens, with ${storage}`, async (world) => {
      const servers = [await place(world), await place(world)] as const;
      const grants = [await world.grant(), await world.grant()] as const;
      const proof = await proofOf(world);
      const refresh = (server: World, index: 0 | 1, used: string) =>
        refreshed(server, 'web', grants[index].refresh_token, used);
      const answers = await Promise.all([refresh(servers[0], 0, proof), refresh(servers[1], 1, proof)]);
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400]);
      const loser = answers[0].status === 400 ? 0 : 1;
      assertRefused(answers[loser], 'invalid_dpop_proof', USED_BEFORE);
      assert.equal((await refresh(servers[1], loser, await proofOf(world))).status, 200);
    });

    spec(`§11.1 a proof that was used before consumes nothing, with ${storage}`, async (world) => {
      const server = await place(world);
      const code = await world.code();
      const { refresh_token } = await world.grant();
      const proof = await proofOf(world);
      assert.equal((await machine(server, proof)).status, 200);
      assertRefused(await redeemed(server, 'web', proof, code), 'invalid_dpop_proof', USED_BEFORE);
      assertRefused(await refreshed(server, 'web', refresh_token, proof), 'invalid_dpop_proof', USED_BEFORE);
      assert.equal((await redeemed(server, 'web', {}, code)).status, 200);
      assert.equal((await refreshed(server, 'web', refresh_token)).status, 200);
    });

    spec(`§11.1 a client without rotation uses a proof once, with ${storage}`, async (world) => {
      const server = await place(world);
      const { refresh_token } = await world.grant();
      const web = (await world.storage.clients.get('web')) ?? assert.fail();
      await world.storage.clients.replace({ ...web, rotateRefreshTokens: false }, web);
      const proof = await proofOf(world);
      assert.equal((await refreshed(server, 'web', refresh_token, proof)).status, 200);
      assertRefused(await refreshed(server, 'web', refresh_token, proof), 'invalid_dpop_proof', USED_BEFORE);
      assert.equal((await refreshed(server, 'web', refresh_token)).status, 200);
    });

    spec(`§11.1 a recorded request that is sent again revokes nothing, with ${storage}`, async (world) => {
      const server = await place(world);
      const [first, second] = [await proofOf(world), await proofOf(world)];
      const code = await world.code();
      const { refresh_token } = tokensIn(await redeemed(server, 'web', first, code));
      const successor = tokensIn(await refreshed(server, 'web', refresh_token, second)).refresh_token;
      world.clock.advance(30); // longer than the grace period of a rotation
      assertRefused(await redeemed(server, 'web', first, code), 'invalid_dpop_proof', USED_BEFORE);
      assertRefused(await refreshed(server, 'web', refresh_token, second), 'invalid_dpop_proof', USED_BEFORE);
      assert.equal((await refreshed(server, 'web', successor)).status, 200);
      // With a new proof, the same is a reuse (RFC 9700 §4.14.2).
      assertRefused(await refreshed(server, 'web', refresh_token), 'invalid_grant', NOT_VALID);
      assertRefused(await refreshed(server, 'web', successor), 'invalid_grant', NOT_VALID);
    });

    spec(`§11.1 a refused request uses its proof up as well, with ${storage}`, async (world) => {
      const server = await place(world);
      const { refresh_token } = await world.grant();
      const [proof, other] = [await proofOf(world), await proofOf(world)];
      assertRefused(await refreshed(server, 'web', 'unknown', proof), 'invalid_grant', NOT_VALID);
      assertRefused(await refreshed(server, 'web', 'unknown', proof), 'invalid_dpop_proof', USED_BEFORE);
      assertRefused(await refreshed(server, 'web', refresh_token, proof), 'invalid_dpop_proof', USED_BEFORE);
      const wider = { grant_type: 'refresh_token', refresh_token, scope: 'admin' };
      assert.equal(JSON.parse((await withProof(server, wider, other, 'web')).body).error, 'invalid_scope');
      assertRefused(await refreshed(server, 'web', refresh_token, other), 'invalid_dpop_proof', USED_BEFORE);
      assert.equal((await refreshed(server, 'web', refresh_token)).status, 200);
    });
  }

  spec('§7.1 UserInfo accepts a bound token with the scheme DPoP and its proof', async (world) => {
    const { access_token } = tokensIn(await redeemed(world, 'web'));
    const { status, headers, body } = await userInfo(world, access_token);
    assert.equal(status, 200, body);
    assert.match(String(headers['dpop-nonce']), NONCE);
    assert.equal(JSON.parse(body).sub, 'alice');
  });
});

/** Sends the browser with these parameters, and the user approves. */
async function approved(world: World, parameters: Readonly<Record<string, string>>): Promise<string> {
  const url = `/authorize?${new URLSearchParams(parameters)}`;
  const request = await world.server.authorization.validate({ method: 'GET', url, headers: {} });
  // The host carries only the parameters through its pages.
  const resumed = await world.server.authorization.resume(request.parameters);
  const { headers } = await world.server.authorization.complete(resumed, { subject: 'alice' });
  return new URL(String(headers.location)).searchParams.get('code') ?? '';
}

function codeBoundTo(world: World, parameters: Readonly<Record<string, string>>): Promise<string> {
  return approved(world, { ...USUAL, scope: 'openid read', code_challenge: CHALLENGE, ...parameters });
}

function push(
  world: World,
  parameters: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
): Promise<TestResponse> {
  return world.send({
    method: 'POST',
    path: '/par',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: basic('web'),
      ...headers,
    },
    body: formOf({ ...USUAL, ...parameters }).toString(),
  });
}

async function pushed(
  world: World,
  parameters: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>>,
): Promise<string> {
  const { status, body } = await push(world, parameters, headers);
  assert.equal(status, 201, body);
  return JSON.parse(body).request_uri;
}

specification('DPoP: proofs (RFC 9449)', ON_MEMORY, (spec) => {
  // ── Proofs ─────────────────────────────────────────────────────────────────────────────────────────────

  spec.http('§4.1 a request with a proof gets a bound token, through every adapter', async (world) => {
    const { status, headers, body } = await machine(world);
    const { 'dpop-nonce': nonce, ...others } = headers;
    assert.match(String(nonce), NONCE);
    assert.deepEqual([status, others], [200, OPEN_JSON_HEADERS]);
    assert.equal(JSON.parse(body).token_type, 'DPoP');
  });

  spec.http('§4.3 (1) two proofs are refused, in one header or in two', async (world) => {
    const two = `${await proofOf(world)}, ${await proofOf(world)}`;
    const malformed = 'the DPoP proof is malformed';
    assertRefused(await machine(world, two), 'invalid_dpop_proof', malformed);
    assertRefused(await machine(world, ''), 'invalid_dpop_proof', malformed);
    assert.equal(world.lastReason, 'dpop_proof_malformed');
  });

  spec('§4.3 (1) several DPoP headers reach the operation as a list, and are refused', async (world) => {
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: basic('machine'),
      dpop: [await proofOf(world), await proofOf(world)],
    };
    const body = new URLSearchParams(MACHINE).toString();
    const request = { method: 'POST', url: '/token', headers, body };
    await assert.rejects(world.server.token(request), { code: 'invalid_dpop_proof', status: 400 });
  });

  spec('§4.3 each defect of a proof is refused with its reason, and nothing is consumed', async (world) => {
    const { publicJwk } = await clientKey('ES256');
    const privateJwk = await exportJWK((await clientKey('ES256')).privateKey);
    const { kid: _, ...jwk } = publicJwk;
    const weak = { kty: 'RSA', e: 'AQAB', n: `${'_'.repeat(170)}w` }; // 1024 bits
    const code = await world.code();
    const first = tokensIn(await redeemed(world, 'web'));
    const now = world.clock.seconds;
    const defects: readonly (readonly [ProofChanges | string, string])[] = [
      ['not a JWT', 'dpop_proof_malformed'],
      ['a.b.c', 'dpop_proof_malformed'],
      ['x'.repeat(9000), 'dpop_proof_malformed'],
      [`${await proofOf(world)}.`, 'dpop_proof_malformed'],
      [{ header: { typ: 'JWT' } }, 'dpop_proof_malformed'],
      [{ header: { typ: 'at+jwt' } }, 'dpop_proof_malformed'],
      [{ header: { typ: undefined } }, 'dpop_proof_malformed'],
      [{ header: { jwk: undefined } }, 'dpop_key_unfit'],
      [{ header: { jwk: 'a text' } }, 'dpop_key_unfit'],
      [{ header: { jwk: { ...jwk, d: privateJwk.d } } }, 'dpop_key_unfit'],
      [{ header: { jwk: { ...jwk, q: 'secret' } } }, 'dpop_key_unfit'],
      [{ header: { jwk: { kty: 'oct', k: 'AAAA' } } }, 'dpop_key_unfit'],
      [{ header: { jwk: { ...jwk, x: jwk.y } } }, 'dpop_key_unfit'],
      [{ header: { jwk: { ...jwk, alg: 'RS256' } } }, 'dpop_key_unfit'],
      [{ header: { jwk: { ...jwk, use: 'enc' } } }, 'dpop_key_unfit'],
      [{ header: { jwk: weak } }, 'dpop_key_unfit'],
      [{ header: { jwk: (await clientKey('RS256')).publicJwk } }, 'dpop_key_unfit'],
      [{ header: { jwk: (await clientKey('ES256', 'another')).publicJwk } }, 'dpop_signature_wrong'],
      [withBrokenSignature(await proofOf(world)), 'dpop_signature_wrong'],
      [await unsigned(await proofOf(world)), 'dpop_algorithm_refused'],
      [await symmetric(world), 'dpop_algorithm_refused'],
      [{ claims: { jti: undefined } }, 'dpop_proof_malformed'],
      [{ claims: { jti: '' } }, 'dpop_proof_malformed'],
      [{ claims: { jti: 1 } }, 'dpop_proof_malformed'],
      [{ claims: { iat: undefined } }, 'dpop_proof_malformed'],
      [{ claims: { iat: String(now) } }, 'dpop_proof_malformed'],
      [{ claims: { nonce: 1 } }, 'dpop_proof_malformed'],
      [{ claims: { ath: 1 } }, 'dpop_proof_malformed'],
      [{ claims: { htm: undefined } }, 'dpop_method_wrong'],
      [{ claims: { htm: 'GET' } }, 'dpop_method_wrong'],
      [{ claims: { htm: 'post' } }, 'dpop_method_wrong'],
      [{ claims: { htu: undefined } }, 'dpop_url_wrong'],
      [{ claims: { htu: 1 } }, 'dpop_url_wrong'],
      [{ htu: USERINFO_URL }, 'dpop_url_wrong'],
      [{ htu: 'https://other.example/token' }, 'dpop_url_wrong'],
      [{ claims: { iat: now - 120 } }, 'dpop_proof_expired'],
      [{ claims: { exp: now } }, 'dpop_proof_expired'],
      [{ claims: { exp: 'never' } }, 'dpop_proof_malformed'],
      [{ claims: { iat: now + 61 } }, 'dpop_proof_not_yet_valid'],
      [{ claims: { nbf: now + 61 } }, 'dpop_proof_not_yet_valid'],
    ];
    for (const [proof, reason] of defects) {
      const name = `${JSON.stringify(proof).slice(0, 100)} ${reason}`;
      const changes = typeof proof === 'string' ? proof : await proofOf(world, proof);
      const form = {
        grant_type: 'authorization_code',
        code,
        code_verifier: VERIFIER,
        redirect_uri: CLIENTS.web.redirectUris[0],
      };
      for (const answer of [
        await withProof(world, form, changes, 'web'),
        await withProof(
          world,
          { grant_type: 'refresh_token', refresh_token: first.refresh_token },
          changes,
          'web',
        ),
      ]) {
        assert.equal(answer.status, 400, name);
        assert.equal(JSON.parse(answer.body).error, 'invalid_dpop_proof', name);
        assert.equal(world.lastReason, reason, name);
      }
    }
    assert.equal((await redeemed(world, 'web', {}, code)).status, 200, 'the code');
    assert.equal((await refreshed(world, 'web', first.refresh_token)).status, 200, 'the refresh token');
  });

  spec('§4.3 (9) htu is compared normalized, without query and fragment', async (world) => {
    for (const htu of [
      TOKEN_URL,
      'HTTPS://AS.EXAMPLE/token',
      'https://as.example:443/token',
      'https://as.example/./x/../token',
      'https://as.example/%74oken',
      'https://as.example/token?a=b',
      'https://as.example/token#part',
    ])
      assert.equal((await machine(world, { htu })).status, 200, htu);
    for (const htu of [
      'http://as.example/token',
      'https://as.example:8443/token',
      'https://as.example/Token',
      'https://as.example/token/',
      'https://as.example/token%2F',
      'https://user@as.example/token',
      'https:as.example/token',
      'https:\\\\as.example\\token',
      ' https://as.example/token',
      '/token',
      'as.example/token',
      '',
    ]) {
      const { status } = await machine(world, { htu });
      assert.deepEqual([status, world.lastReason], [400, 'dpop_url_wrong'], htu);
    }
  });

  spec(
    '§4.3 (9) behind a proxy the URL is that of the issuer, whatever Host says',
    async (world) => {
      const body = new URLSearchParams(MACHINE).toString();
      const send = async (htu: string) =>
        world.server.handle({
          method: 'POST',
          url: 'http://internal:3000/auth/token',
          headers: {
            'content-type': 'application/x-www-form-urlencoded',
            authorization: basic('machine'),
            host: 'internal:3000',
            dpop: await proofOf(world, { htu }),
          },
          body,
        });
      assert.equal((await send('https://login.example/auth/token'))?.status, 200);
      assert.equal((await send('http://internal:3000/auth/token'))?.status, 400);
    },
    { issuer: 'https://login.example/auth' },
  );

  spec(
    '§11.1 a proof is accepted from a minute before its iat until its lifetime after it',
    async (world) => {
      const status = async (iat: number) => (await machine(world, { claims: { iat } })).status;
      const now = world.clock.seconds;
      assert.deepEqual(
        [await status(now + 60), await status(now + 61), await status(now - 119), await status(now - 120)],
        [200, 400, 200, 400],
      );
    },
  );

  spec(
    '§11.1 dpopProofLifetime sets how long a proof is accepted',
    async (world) => {
      const status = async (iat: number) => (await machine(world, { claims: { iat } })).status;
      const now = world.clock.seconds;
      assert.deepEqual([await status(now - 4), await status(now - 5)], [200, 400]);
    },
    { dpopProofLifetime: 5 },
  );

  spec('§11.1 an identifier counts once for each key', async (world) => {
    const claims = { jti: 'the same' };
    const status = async (key?: string) => (await machine(world, { claims, ...(key && { key }) })).status;
    assert.deepEqual([await status(), await status(), await status('another')], [200, 400, 200]);
    assert.equal(world.lastReason, 'dpop_proof_replayed');
  });

  spec('§4.2, §5.1 every listed algorithm is accepted, EdDSA by both of its names', async (world) => {
    for (const algorithm of ALGS.split(' '))
      assert.equal((await machine(world, { algorithm })).status, 200, algorithm);
  });

  spec(
    '§5.1 other algorithms than those of dpopAlgorithms are refused, and metadata lists these alone',
    async (world) => {
      assert.equal((await machine(world, { algorithm: 'ES256' })).status, 200);
      assertRefused(
        await machine(world, { algorithm: 'RS256' }),
        'invalid_dpop_proof',
        'the algorithm of the DPoP proof is not supported',
      );
      assert.deepEqual(world.server.serverMetadata.dpop_signing_alg_values_supported, ['ES256']);
      const { access_token } = tokensIn(await redeemed(world, 'web'));
      assert.equal((await userInfo(world, access_token)).status, 200);
    },
    { dpopAlgorithms: ['ES256'] },
  );

  spec('§5.1 metadata list the algorithms', (world) => {
    const listed = world.server.serverMetadata.dpop_signing_alg_values_supported;
    assert.deepEqual(listed, ALGS.split(' '));
  });

  spec('§5 the client authenticates before its proof counts', async (world) => {
    const proof = await proofOf(world);
    const refused = await world.post('/token', MACHINE, null, {
      authorization: basic('machine', 'wrong'),
      dpop: proof,
    });
    assert.equal(refused.status, 401);
    assert.equal((await machine(world, proof)).status, 200);
  });

  // ── Registration and options ───────────────────────────────────────────────────────────────────────────

  spec(
    '§5.2 a client with dpop_bound_access_tokens must send a proof with every token request',
    async (world) => {
      await setMetadata(world, 'machine', { dpop_bound_access_tokens: true });
      assertRefused(await machine(world, null), 'invalid_dpop_proof', MISSING);
      assert.equal(world.lastReason, 'dpop_proof_missing');
      assert.equal((await machine(world)).status, 200);
    },
  );

  spec('§5.2 an operator gets no bearer token of a client that has none', async (world) => {
    await setMetadata(world, 'machine', { dpop_bound_access_tokens: true });
    await assert.rejects(world.server.operator.issueTokens({ clientId: 'machine' }), {
      name: 'OperatorIssueError',
    });
  });

  spec(
    '§5 with DPoP off, proofs are ignored, and clients that need one are refused',
    async (world) => {
      const { headers, ...answer } = await machine(world);
      assert.equal(tokensIn({ headers, ...answer }).token_type, 'Bearer');
      assert.deepEqual(headers, OPEN_JSON_HEADERS);
      assert.equal('dpop_signing_alg_values_supported' in world.server.serverMetadata, false);
      await setMetadata(world, 'machine', { dpop_bound_access_tokens: true });
      assertRefused(await machine(world), 'invalid_dpop_proof', MISSING);
      assert.equal(world.lastReason, 'dpop_not_supported');
    },
    { dpopAlgorithms: [] },
  );

  spec('§7 once DPoP is off, tokens that are bound stay bound', async (world) => {
    const { access_token } = tokensIn(await redeemed(world, 'web'));
    const { refresh_token } = tokensIn(await redeemed(world, 'spa'));
    const off = await secondServer(world, { dpopAlgorithms: [], oidc: { getUserClaims: () => ({}) } });
    assert.equal((await off.userInfo(access_token)).status, 401);
    assert.equal((await userInfo(off, access_token)).status, 401);
    assert.equal(off.lastReason, 'malformed'); // the scheme is unknown
    assertRefused(await refreshed(off, 'spa', refresh_token), 'invalid_dpop_proof', MISSING);
  });

  spec('§4.1 without one-time identifiers in storage DPoP is off', async (world) => {
    const { oneTimeIdentifiers: _, pending: __, ...storage } = world.storage;
    const server = await secondServer(world, {}, storage as AdministrableStorage);
    assert.equal(tokensIn(await machine(server)).token_type, 'Bearer');
    assert.equal('dpop_signing_alg_values_supported' in server.server.serverMetadata, false);
  });

  // ── Authorization and pushed requests ──────────────────────────────────────────────────────────────────

  spec('§10 a dpop_jkt that is no thumbprint is refused', async (world) => {
    const url = `/authorize?${formOf({ ...USUAL, dpop_jkt: 'short' })}`;
    await assert.rejects(
      world.server.authorization.validate({ method: 'GET', url, headers: {} }),
      (error) => error instanceof OAuthError && error.code === 'invalid_request',
    );
  });

  spec('§10.1 a pushed request whose dpop_jkt names another key than its proof is refused', async (world) => {
    const headers = { dpop: await proofOf(world, { htu: PAR_URL }) };
    assertRefused(
      await push(world, { dpop_jkt: await thumbprintOf('another') }, headers),
      'invalid_dpop_proof',
      'the DPoP proof is by another key',
    );
    const same = { dpop: await proofOf(world, { htu: PAR_URL }) };
    assert.equal((await push(world, { dpop_jkt: await thumbprintOf() }, same)).status, 201);
  });

  spec('§10.1 a pushed request with a wrong proof is refused', async (world) => {
    for (const proof of [await proofOf(world), 'nonsense'])
      assert.equal(JSON.parse((await push(world, {}, { dpop: proof })).body).error, 'invalid_dpop_proof');
  });

  spec('§10.1 a pushed request may name the key without a proof', async (world) => {
    const request_uri = await pushed(world, { dpop_jkt: await thumbprintOf() }, {});
    const code = await approved(world, { client_id: 'web', request_uri });
    assertRefused(await redeemed(world, 'web', null, code), 'invalid_dpop_proof', MISSING);
  });

  // ── UserInfo ───────────────────────────────────────────────────────────────────────────────────────────

  spec.http('§7.1 a wrong proof at UserInfo is 401 with the challenge DPoP', async (world) => {
    const { access_token: token } = tokensIn(await redeemed(world, 'web'));
    const other = tokensIn(await redeemed(world, 'web')).access_token;
    const invalid = 'invalid_dpop_proof';
    for (const [proof, error, description] of [
      [null, invalid, MISSING],
      ['nonsense', invalid, 'the DPoP proof is malformed'],
      [{ token: other }, invalid, 'the DPoP proof is for another access token'],
      [{ claims: { ath: undefined } }, invalid, 'the DPoP proof is for another access token'],
      [{ htm: 'POST' }, invalid, 'the DPoP proof is for another method'],
      [{ htu: TOKEN_URL }, invalid, 'the DPoP proof is for another URL'],
      [{ key: 'of a thief' }, 'invalid_token', 'the access token is bound to another key'],
    ] as const)
      assertChallenged(await userInfo(world, token, proof), error, description);
    const proof = await proofOf(world, { htm: 'GET', htu: USERINFO_URL, token });
    assert.equal((await userInfo(world, token, proof)).status, 200);
    assertChallenged(await userInfo(world, token, proof), invalid, 'the DPoP proof was used before');
  });

  spec.http('§7.2 a bound token is refused as a bearer token, in the header and in a form', async (world) => {
    const { access_token } = tokensIn(await redeemed(world, 'web'));
    const description = 'the access token is bound to a key and needs a proof';
    const challenge = `Bearer error="invalid_token", error_description="${description}", DPoP algs="${ALGS}"`;
    const dpop = await proofOf(world, { htm: 'GET', htu: USERINFO_URL, token: access_token });
    for (const answer of [
      await world.userInfo(access_token),
      await world.post('/userinfo', { access_token }),
      await world.send({
        method: 'GET',
        path: '/userinfo',
        headers: { authorization: `Bearer ${access_token}`, dpop },
      }),
    ]) {
      assert.equal(answer.status, 401);
      assert.equal(answer.headers['www-authenticate'], challenge);
      assert.equal(world.lastReason, 'token_bound');
    }
  });

  spec.http('§7.1 a bearer token is refused with the scheme DPoP, with any proof', async (world) => {
    const { access_token } = await world.grant();
    for (const proof of [{}, null])
      assertChallenged(
        await userInfo(world, access_token, proof),
        'invalid_token',
        'the access token is not bound to a key',
      );
    assert.equal(world.lastReason, 'token_unbound');
  });

  spec(
    '§7.1 the scheme is read without regard to case, and POST and HEAD have their own proofs',
    async (world) => {
      const { access_token: token } = tokensIn(await redeemed(world, 'web'));
      for (const method of ['GET', 'POST', 'HEAD']) {
        assert.equal((await userInfo(world, token, {}, method)).status, 200, method);
        const dpop = await proofOf(world, { htm: method, htu: USERINFO_URL, token });
        const headers = { authorization: `dpop  ${token} `, dpop };
        assert.equal((await world.send({ method, path: '/userinfo', headers })).status, 200, method);
      }
      assert.equal((await userInfo(world, token, { htm: 'GET' }, 'HEAD')).status, 401);
    },
  );

  spec('§7.2 without HTTP nothing proves possession, so bound tokens are refused', async (world) => {
    const { access_token } = tokensIn(await redeemed(world, 'web'));
    const bound = { code: 'invalid_token', reason: 'token_bound' };
    await assert.rejects(world.server.userInfoOf(access_token), bound);
    await assert.rejects(world.server.accessTokens.verify(access_token), bound);
    const { record } = await world.server.accessTokens.verify(access_token, 'DPoP');
    assert.deepEqual(record.confirmation, { jkt: await thumbprintOf() });
  });

  spec('RFC 7800 §3.1 a token that is bound in an unknown way is refused everywhere', async (world) => {
    const { access_token } = await world.grant();
    for (const confirmation of [
      { kid: 'key' },
      { jkt: await thumbprintOf(), kid: 'key' },
      { jkt: 1 },
      { 'x5t#S256': 1 },
    ]) {
      const changed = (found: TokenRecord) => ({ ...found, confirmation }) as TokenRecord;
      const server = await secondServer(
        world,
        { oidc: { getUserClaims: () => ({}) } },
        withTokens(world.storage, changed),
      );
      assert.equal((await server.userInfo(access_token)).status, 401, JSON.stringify(confirmation));
      assert.equal(server.lastReason, 'confirmation_unknown');
      assert.equal((await userInfo(server, access_token)).status, 401);
      assert.deepEqual((await introspected(server, access_token)).cnf, confirmation);
    }
    // A record that cannot be read says nothing about the token.
    for (const confirmation of ['text', {}]) {
      const changed = (found: TokenRecord) => ({ ...found, confirmation }) as never;
      const server = await secondServer(
        world,
        { oidc: { getUserClaims: () => ({}) } },
        withTokens(world.storage, changed),
      );
      assert.equal((await server.userInfo(access_token)).status, 503);
      assert.equal((await server.introspect(access_token)).status, 503);
    }
  });

  spec(
    '§6 a host whose store keeps no confirmation still has bound tokens, by their claims',
    async (world) => {
      const withoutColumn = ({ confirmation: _, ...found }: TokenRecord) => found;
      for (const format of ['jwt', 'opaque'] as const) {
        const options = { accessTokenFormat: format, useOpaqueRefreshTokens: format === 'opaque' };
        const server = await secondServer(
          world,
          { ...options, oidc: { getUserClaims: () => ({}) } },
          withTokens(world.storage, withoutColumn),
        );
        const { access_token, refresh_token } = tokensIn(
          await redeemed(server, 'spa', {}, await world.code('alice', 'spa')),
        );
        assert.equal((await server.userInfo(access_token)).status, 401, format);
        assert.equal((await userInfo(server, access_token)).status, 200, format);
        assert.deepEqual((await introspected(server, access_token)).cnf, { jkt: await thumbprintOf() });
        assertRefused(await refreshed(server, 'spa', refresh_token, null), 'invalid_dpop_proof', MISSING);
      }
    },
  );

  spec('§6 a token of type DPoP whose record names no key is inactive everywhere', async (world) => {
    const { access_token } = await world.grant();
    for (const confirmation of [undefined, { 'x5t#S256': 'certificate' }]) {
      const changed = (found: TokenRecord) => ({ ...found, tokenType: 'DPoP', confirmation }) as TokenRecord;
      const server = await secondServer(
        world,
        { oidc: { getUserClaims: () => ({}) } },
        withTokens(world.storage, changed),
      );
      assert.deepEqual(await server.introspect(access_token), INACTIVE);
      assert.equal(server.lastReason, 'confirmation_missing');
      const asBearer = await server.userInfo(access_token);
      const withProof = await userInfo(server, access_token);
      assert.deepEqual([asBearer.status, withProof.status], [401, 401]);
      assert.equal(server.lastReason, 'confirmation_missing');
      assert.equal((await server.server.operator.explainToken(access_token)).reason, 'confirmation_missing');
    }
    const server = await secondServer(
      world,
      {},
      withTokens(world.storage, (found) => ({ ...found, tokenType: 'DPoP' })),
    );
    assert.deepEqual(await server.revoke(access_token), REVOKED);
    assert.deepEqual(await world.alive(access_token), [false]);
  });

  spec('§6.2 token_type agrees with cnf, whatever type a host has stored', async (world) => {
    const { access_token } = tokensIn(await machine(world));
    const jkt = await thumbprintOf();
    for (const tokenType of ['Bearer', 'DPoP', undefined]) {
      const changed = ({ tokenType: _, ...found }: TokenRecord) => ({
        ...found,
        ...(tokenType !== undefined && { tokenType }),
      });
      const server = await secondServer(world, {}, withTokens(world.storage, changed));
      const { active, token_type, cnf } = await introspected(server, access_token);
      assert.deepEqual([active, token_type, cnf], [true, 'DPoP', { jkt }], String(tokenType));
    }
    const { refresh_token } = tokensIn(await redeemed(world, 'spa'));
    const { token_type, cnf } = await introspected(world, refresh_token);
    assert.deepEqual([token_type, cnf], [undefined, { jkt }]);
  });

  spec(
    '§10 a host whose store keeps no confirmation still has bound codes, by their claims',
    async (world) => {
      const { authorizationCodes } = world.storage;
      const { answersPlainRecords: _, ...others } = world.storage;
      const server = await secondServer(
        world,
        { oidc: { getUserClaims: () => ({}) } },
        {
          ...others,
          authorizationCodes: {
            ...authorizationCodes,
            get: async (id) => {
              const { confirmation: _, ...found } = (await authorizationCodes.get(id)) ?? assert.fail();
              return found;
            },
          },
        },
      );
      const code = await codeBoundTo(server, { dpop_jkt: await thumbprintOf() });
      assertRefused(await redeemed(server, 'web', null, code), 'invalid_dpop_proof', MISSING);
      assertRefused(await redeemed(server, 'web', { key: 'of a thief' }, code), 'invalid_grant', OTHER_KEY);
      const { access_token, id_token } = tokensIn(await redeemed(server, 'web', {}, code));
      assert.deepEqual(decodeJwt(access_token).cnf, { jkt: await thumbprintOf() });
      assert.equal('cnf' in decodeJwt(id_token), false);
    },
  );

  // ── Nonces ─────────────────────────────────────────────────────────────────────────────────────────────

  spec('§8.2 a proof may have the offered nonce, and a wrong one is refused', async (world) => {
    const nonce = nonceIn(await machine(world));
    assert.equal((await machine(world, { nonce })).status, 200);
    for (const wrong of ['', 'x'.repeat(43), `${nonce}x`]) {
      const answer = await machine(world, { nonce: wrong });
      assertRefused(answer, 'use_dpop_nonce', 'the DPoP proof needs the nonce of the DPoP-Nonce header');
      assert.equal(nonceIn(answer), nonce);
    }
    assert.equal(world.lastReason, 'dpop_nonce_wrong');
  });

  spec.http(
    '§8, §9 a required nonce is asked for with use_dpop_nonce, and no proof without it is accepted',
    async (world) => {
      const needed = 'the DPoP proof needs the nonce of the DPoP-Nonce header';
      const refused = await machine(world);
      assertRefused(refused, 'use_dpop_nonce', needed);
      assert.equal(world.lastReason, 'dpop_nonce_missing');
      const nonce = nonceIn(refused);
      assert.equal((await machine(world, { nonce })).status, 200);

      const code = await world.code();
      assert.equal((await redeemed(world, 'web', {}, code)).status, 400);
      const { access_token } = tokensIn(await redeemed(world, 'web', { nonce }, code));
      const asked = await userInfo(world, access_token);
      assertChallenged(asked, 'use_dpop_nonce', needed);
      assert.equal((await userInfo(world, access_token, { nonce: nonceIn(asked) })).status, 200);

      const atPar = await push(world, {}, { dpop: await proofOf(world, { htu: PAR_URL }) });
      assertRefused(atPar, 'use_dpop_nonce', needed);
      const dpop = await proofOf(world, { htu: PAR_URL, nonce: nonceIn(atPar) });
      assert.equal((await push(world, {}, { dpop })).status, 201);
    },
    { dpopNonces: 'required' },
  );

  spec('§8 nonces rotate, and each is accepted for one to two minutes, by every process', async (world) => {
    const nonce = nonceIn(await machine(world));
    const start = world.clock.nowMs;
    const other = await secondServer(world);
    const isAccepted = async (server: World) => (await machine(server, { nonce })).status === 200;
    assert.equal(await isAccepted(other), true);
    world.clock.advance(60);
    assert.notEqual(nonceIn(await machine(world)), nonce);
    assert.deepEqual([await isAccepted(world), await isAccepted(other)], [true, true]);
    world.clock.advance(60);
    assert.deepEqual([await isAccepted(world), await isAccepted(other)], [false, false]);
    assert.equal(world.clock.nowMs - start, 120_000);
  });

  spec('§8 a nonce of a process whose clock is a little ahead is accepted', async (world) => {
    world.clock.advance(60);
    const nonce = nonceIn(await machine(world));
    world.clock.advance(-60);
    assert.equal((await machine(world, { nonce })).status, 200);
  });

  spec('§8 while the server’s secret is rotated, nonces under the older one are accepted', async (world) => {
    const nonce = nonceIn(await machine(world));
    const newer = await secondServer(world, {
      secret: ['another secret with more than 32 characters', SECRET],
    });
    assert.equal((await machine(newer, { nonce })).status, 200);
    const foreign = nonceIn(await machine(newer));
    assert.equal((await machine(world, { nonce: foreign })).status, 400);
  });

  // ── CORS ───────────────────────────────────────────────────────────────────────────────────────────────

  spec.http('§8 web pages may send proofs, and read nonces and challenges', async (world) => {
    const origin = 'https://spa.example';
    const preflight = await world.send({
      method: 'OPTIONS',
      path: '/token',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'dpop' },
    });
    assert.match(String(preflight.headers['access-control-allow-headers']), /\bDPoP\b/);
    const answer = await world.post(
      '/token',
      { grant_type: 'refresh_token', client_id: 'spa', refresh_token: 'x' },
      null,
      { origin, dpop: await proofOf(world) },
    );
    assert.equal(answer.headers['access-control-expose-headers'], 'WWW-Authenticate, DPoP-Nonce');
    assert.match(String(answer.headers['dpop-nonce']), NONCE);
  });
});

function nonceIn({ headers }: TestResponse): string {
  const nonce = String(headers['dpop-nonce']);
  assert.match(nonce, NONCE);
  return nonce;
}

function withBrokenSignature(proof: string): string {
  const at = proof.lastIndexOf('.') + 5;
  return proof.slice(0, at) + (proof[at] === 'A' ? 'B' : 'A') + proof.slice(at + 1);
}

async function unsigned(proof: string): Promise<string> {
  const [header = '', payload = ''] = proof.split('.');
  const changed = { ...JSON.parse(Buffer.from(header, 'base64url').toString()), alg: 'none' };
  return `${Buffer.from(JSON.stringify(changed)).toString('base64url')}.${payload}.AAAA`;
}

function symmetric({ clock }: World): Promise<string> {
  return new SignJWT({ jti: 'x', htm: 'POST', htu: TOKEN_URL, iat: clock.seconds })
    .setProtectedHeader({ alg: 'HS256', typ: 'dpop+jwt', jwk: JSON.parse('{"kty":"oct","k":"c2VjcmV0"}') })
    .sign(Buffer.from('secret'));
}

/** The same storage with changed token records. */
function withTokens(
  storage: AdministrableStorage,
  change: (found: TokenRecord) => TokenRecord,
): AdministrableStorage {
  const { tokens } = storage;
  const changed = async (found: ReturnType<typeof tokens.getByAccessToken>) => {
    const record = await found;
    return record ? change(record) : undefined;
  };
  const { answersPlainRecords: _, ...others } = storage;
  return {
    ...others,
    tokens: {
      ...tokens,
      getByAccessToken: (id) => changed(tokens.getByAccessToken(id)),
      getByRefreshToken: (id) => changed(tokens.getByRefreshToken(id)),
    },
  };
}

// ── Faults ───────────────────────────────────────────────────────────────────────────────────────────────────

test('§11.1 while one-time identifiers cannot be stored, requests with a proof are 503, and nothing is consumed', async (t) => {
  const store = new BreakableStore(MEMORY);
  const world = await openWorld(t, {}, { transport: FUNCTION, store });
  const code = await world.code();
  const { access_token } = tokensIn(await redeemed(world, 'web'));
  store.break('oneTimeIdentifiers.take', 'rejects');
  const statuses = [
    (await machine(world)).status,
    (await redeemed(world, 'web', {}, 'unknown')).status,
    (await userInfo(world, access_token)).status,
    (await push(world, {}, { dpop: await proofOf(world, { htu: PAR_URL }) })).status,
  ];
  assert.deepEqual(statuses, [503, 503, 503, 503]);
  store.repair();
  assert.equal((await redeemed(world, 'web', {}, code)).status, 200);
});

test('§11.1 while tokens cannot be stored, requests with a proof are 503, and the proof is still unused', async (t) => {
  const store = new BreakableStore(MEMORY);
  const world = await openWorld(t, {}, { transport: FUNCTION, store });
  const code = await world.code();
  const { refresh_token } = await world.grant();
  const [first, second] = [await proofOf(world), await proofOf(world)];
  const redeem = async () => (await redeemed(world, 'web', first, code)).status;
  const refresh = async () => (await refreshed(world, 'web', refresh_token, second)).status;
  store.break('authorizationCodes.redeem', 'rejects');
  assert.equal(await redeem(), 503);
  store.break('tokens.rotate', 'rejects');
  assert.deepEqual([await redeem(), await refresh()], [200, 503]);
  store.repair();
  assert.deepEqual([await refresh(), await refresh()], [200, 400]);
});

// ── Client libraries ─────────────────────────────────────────────────────────────────────────────────────────

test('§4, §8 oauth4webapi pushes, redeems, refreshes and reads UserInfo with proofs and required nonces', async (t) => {
  const world = await openWorld(t, { dpopNonces: 'required' });
  const options = libraryOptions(world);
  const server = await discovered(options);
  const client = { client_id: 'spa', [oauth.clockSkew]: options[oauth.clockSkew] };
  const DPoP = oauth.DPoP(client, await oauth.generateKeyPair('ES256'));
  const withDpop = { ...options, DPoP };
  const none = oauth.None();
  /** Clients repeat a request whose proof needs a nonce (§8). */
  const repeated = async <T>(request: () => Promise<Response>, read: (response: Response) => Promise<T>) => {
    try {
      return await read(await request());
    } catch (error) {
      if (!oauth.isDPoPNonceError(error)) throw error;
      return read(await request());
    }
  };

  const pushedRequest = new URLSearchParams({
    response_type: 'code',
    redirect_uri: CLIENTS.spa.redirectUris[0],
    scope: 'openid profile',
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
  });
  const { request_uri } = await repeated(
    () => oauth.pushedAuthorizationRequest(server, client, none, pushedRequest, withDpop),
    (response) => oauth.processPushedAuthorizationResponse(server, client, response),
  );
  const url = `/authorize?${new URLSearchParams({ client_id: 'spa', request_uri })}`;
  const request = await world.server.authorization.validate({ method: 'GET', url, headers: {} });
  const { headers } = await world.server.authorization.complete(request, { subject: 'alice' });
  const callback = oauth.validateAuthResponse(server, client, new URL(String(headers.location)));

  const tokens = await repeated(
    () =>
      oauth.authorizationCodeGrantRequest(
        server,
        client,
        none,
        callback,
        CLIENTS.spa.redirectUris[0],
        VERIFIER,
        withDpop,
      ),
    (response) => oauth.processAuthorizationCodeResponse(server, client, response),
  );
  assert.equal(tokens.token_type, 'dpop');
  const again = await repeated(
    () => oauth.refreshTokenGrantRequest(server, client, none, tokens.refresh_token ?? '', withDpop),
    (response) => oauth.processRefreshTokenResponse(server, client, response),
  );
  assert.equal(again.token_type, 'dpop');
  const { sub } = await repeated(
    () => oauth.userInfoRequest(server, client, again.access_token, withDpop),
    (response) => oauth.processUserInfoResponse(server, client, 'alice', response),
  );
  assert.equal(sub, 'alice');

  // A thief has the token, but not the key.
  const thief = { ...options, DPoP: oauth.DPoP(client, await oauth.generateKeyPair('ES256')) };
  for (const stolen of [options, thief])
    await assert.rejects(
      repeated(
        () => oauth.userInfoRequest(server, client, again.access_token, stolen),
        (response) => oauth.processUserInfoResponse(server, client, 'alice', response),
      ),
      (error) => error instanceof oauth.WWWAuthenticateChallengeError && error.status === 401,
    );
});
