import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { AdministrableStorage, NewClient } from '@grantd/core';
import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, type JWTPayload, jwtVerify } from 'jose';
import { secondServer } from './harness/second_server.ts';
import type { TestResponse } from './harness/transports.ts';
import {
  basic,
  CHALLENGE,
  CLIENTS,
  type GrantedTokens,
  ISSUER,
  openWorld,
  SECRET,
  secretOf,
  specification,
  VERIFIER,
  type World,
  type WorldOptions,
} from './harness/world.ts';

const HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store', vary: 'Origin' };
const DEAD_CODE = refused('invalid_grant', 'the authorization code is not valid');
const WRONG_REDIRECT_URI = refused('invalid_grant', 'the redirect_uri does not match');
const WRONG_VERIFIER = refused('invalid_grant', 'the code_verifier does not match');
const DEAD_REFRESH_TOKEN = refused('invalid_grant', 'the refresh token is not valid');
const OVERTAKEN = refused('invalid_grant', 'the grant is no longer valid');
const SCOPE_NOT_ALLOWED = refused('invalid_scope', 'a scope is not allowed');
const SCOPE_MALFORMED = refused('invalid_scope', 'the scope is malformed');
const UNAUTHORIZED = refused('unauthorized_client', 'the client may not use this grant_type');
const GRACE_MS = 10_000;
const NEW_SECRET = 'the secret that follows it, with more than 32 characters';

function refused(error: string, description: string, status = 400): TestResponse {
  return { status, headers: HEADERS, body: JSON.stringify({ error, error_description: description }) };
}

function issued(response: TestResponse): GrantedTokens & { readonly token_type: string } {
  assert.equal(response.status, 200, response.body);
  assert.deepEqual(response.headers, HEADERS);
  return JSON.parse(response.body);
}

/** A client of a test's own, confidential unless it says otherwise. */
async function addClient(world: World, client: NewClient, isPublic = false): Promise<void> {
  const secretHash = isPublic ? undefined : await world.server.hashClientSecret(secretOf(client.id));
  await world.storage.clients.add({ ...client, ...(secretHash !== undefined && { secretHash }) });
}

function asClient(
  world: World,
  id: string,
  parameters: Readonly<Record<string, string>>,
): Promise<TestResponse> {
  return world.post('/token', parameters, null, { authorization: basic(id) });
}

/** A code from an authorization request of the test's own; the person approves everything. */
async function codeFor(world: World, parameters: Readonly<Record<string, string>>): Promise<string> {
  const url = `/authorize?${new URLSearchParams({ response_type: 'code', ...parameters })}`;
  const request = await world.server.validateAuthorizationRequest({ method: 'GET', url, headers: {} });
  const { headers } = await world.server.completeAuthorization(request, { subject: 'alice' });
  return new URL(String(headers.location)).searchParams.get('code') ?? '';
}

const PKCE = { code_challenge: CHALLENGE, code_challenge_method: 'S256' };

/** The payload of a JWT that verifies against what JWKS publishes. */
async function verified(world: World, token: string): Promise<{ header: unknown; payload: JWTPayload }> {
  const { body } = await world.send({ method: 'GET', path: '/jwks', headers: {} });
  const currentDate = new Date(world.clock.nowMs);
  const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(JSON.parse(body)), {
    currentDate,
  });
  return { header: protectedHeader, payload };
}

async function currentKeyId(
  world: World,
  algorithm: 'RS256' | 'ES256' | 'EdDSA' | 'PS256',
): Promise<unknown> {
  return world.storage.keys.currentKeyId(algorithm);
}

specification('Client credentials (RFC 6749 §4.4)', (spec) => {
  spec('§4.4.3 the response has an access token and no refresh token', async (world) => {
    const response = await world.post(
      '/token',
      { grant_type: 'client_credentials', scope: 'read' },
      'machine',
    );
    const tokens = issued(response);
    const { access_token } = tokens;
    assert.deepEqual(tokens, { access_token, token_type: 'Bearer', expires_in: 3600, scope: 'read' });
    assert.deepEqual(await world.alive(access_token), [true]);
  });

  spec(
    'RFC 9068 §2.2 an access token is a JWT that verifies against JWKS and says what it is for',
    async (world) => {
      const token = await world.machineToken('write read');
      const iat = world.clock.seconds;
      const { header, payload } = await verified(world, token);
      assert.deepEqual(header, { alg: 'RS256', typ: 'at+jwt', kid: await currentKeyId(world, 'RS256') });
      assert.deepEqual(payload, {
        iss: ISSUER,
        sub: 'machine',
        aud: ISSUER,
        client_id: 'machine',
        scope: 'write read',
        iat,
        exp: iat + 3600,
        jti: payload.jti,
      });
      assert.match(String(payload.jti), /^[A-Za-z0-9_-]{22}$/);
      assert.notEqual(decodeJwt(await world.machineToken()).jti, payload.jti);
    },
  );

  spec('§3.3 without scope the client gets all of its own that need no person', async (world) => {
    await addClient(world, {
      ...CLIENTS.machine,
      id: 'both',
      scopes: ['openid', 'read', 'email', 'offline_access', 'write'],
    });
    const tokens = issued(await asClient(world, 'both', { grant_type: 'client_credentials' }));
    assert.equal(tokens.scope, 'read write');
    const narrowed = issued(await asClient(world, 'both', { grant_type: 'client_credentials', scope: '' }));
    assert.equal(narrowed.scope, 'read write');
  });

  spec('§3.3 a client without scopes gets a token without scope', async (world) => {
    await addClient(world, { ...CLIENTS.machine, id: 'scopeless', scopes: [] });
    const tokens = issued(await asClient(world, 'scopeless', { grant_type: 'client_credentials' }));
    assert.equal('scope' in tokens, false);
    assert.equal('scope' in decodeJwt(tokens.access_token), false);
  });

  spec('§3.3 a repeated scope counts once, in the order that was asked for', async (world) => {
    const form = { grant_type: 'client_credentials', scope: ' write  read write ' };
    assert.equal(issued(await world.post('/token', form, 'machine')).scope, 'write read');
  });

  spec('§3.3 a scope that is not registered, or not well-formed, is invalid_scope', async (world) => {
    const ask = (scope: string) =>
      world.post('/token', { grant_type: 'client_credentials', scope }, 'machine');
    assert.deepEqual(await ask('admin'), SCOPE_NOT_ALLOWED);
    assert.deepEqual(await ask('read admin'), SCOPE_NOT_ALLOWED);
    assert.deepEqual(await ask('READ'), SCOPE_NOT_ALLOWED);
    assert.deepEqual(await ask('__proto__'), SCOPE_NOT_ALLOWED);
    for (const malformed of ['  ', 'read\twrite', 're"ad', 're\\ad', 'lesen-ä', 'read\n']) {
      assert.deepEqual(await ask(malformed), SCOPE_MALFORMED, JSON.stringify(malformed));
    }
    assert.equal(world.lastReason, 'scope_not_allowed');
  });

  spec(
    '§4.4.2 a scope that speaks of a person is refused, though the client is registered for it',
    async (world) => {
      const scopes = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'];
      await addClient(world, { ...CLIENTS.machine, id: 'both', scopes: [...scopes, 'read'] });
      for (const scope of scopes) {
        const response = await asClient(world, 'both', {
          grant_type: 'client_credentials',
          scope: `read ${scope}`,
        });
        assert.deepEqual(response, refused('invalid_scope', 'a scope needs a person'), scope);
      }
    },
  );

  spec('§4.4 a public client may not act for itself', async (world) => {
    await addClient(world, { ...CLIENTS.machine, id: 'public-machine' }, true);
    const response = await world.post('/token', {
      grant_type: 'client_credentials',
      client_id: 'public-machine',
    });
    assert.deepEqual(
      response,
      refused('unauthorized_client', 'only confidential clients may use this grant'),
    );
    assert.equal(world.lastReason, 'grant_not_allowed');
  });

  spec('§5.2 a client that is not registered for a grant gets unauthorized_client', async (world) => {
    const { refresh_token } = await world.grant();
    assert.deepEqual(await world.post('/token', { grant_type: 'client_credentials' }, 'web'), UNAUTHORIZED);
    assert.deepEqual(
      await world.post('/token', { grant_type: 'authorization_code' }, 'machine'),
      UNAUTHORIZED,
    );
    assert.deepEqual(
      await world.post('/token', { grant_type: 'refresh_token', refresh_token }, 'api'),
      UNAUTHORIZED,
    );
    assert.deepEqual(await world.alive(refresh_token), [true]);
  });

  spec(
    '§5.1 audience, lifetime and format come from the options',
    async (world) => {
      const form = { grant_type: 'client_credentials' };
      const { access_token, expires_in } = issued(await world.post('/token', form, 'machine'));
      assert.match(access_token, /^grantd_at_[A-Za-z0-9_-]{43}$/);
      assert.equal(expires_in, 90);
      world.clock.advance(89);
      assert.deepEqual(await world.alive(access_token), [true]);
      world.clock.advance(1);
      assert.deepEqual(await world.alive(access_token), [false]);
    },
    { accessTokenFormat: 'opaque', accessTokenLifetime: 90, defaultAudience: ['https://api.example'] },
  );
});

specification('Token endpoint (RFC 6749 §3.2)', (spec) => {
  spec('§5.2 a grant that the server does not have is unsupported_grant_type', async (world) => {
    const expected = refused('unsupported_grant_type', 'the grant_type is not supported');
    for (const grantType of [
      'password',
      'implicit',
      'Authorization_Code',
      'toString',
      '__proto__',
      'urn:x',
    ]) {
      assert.deepEqual(await world.post('/token', { grant_type: grantType }, 'web'), expected, grantType);
    }
    assert.equal(world.lastReason, 'grant_unknown');
  });

  spec('§5.2 a missing or empty parameter is invalid_request', async (world) => {
    const missing = (name: string) => refused('invalid_request', `the parameter ${name} is missing`);
    const ask = (form: Readonly<Record<string, string>>) => world.post('/token', form, 'web');
    assert.deepEqual(await ask({}), missing('grant_type'));
    assert.deepEqual(await ask({ grant_type: '' }), missing('grant_type'));
    assert.deepEqual(await ask({ grant_type: 'authorization_code' }), missing('code'));
    assert.deepEqual(await ask({ grant_type: 'authorization_code', code: '' }), missing('code'));
    assert.deepEqual(await ask({ grant_type: 'refresh_token' }), missing('refresh_token'));
    assert.equal(world.lastReason, 'parameter_missing');
  });

  spec('§3.2 a repeated parameter is invalid_request, an unknown one is ignored', async (world) => {
    const send = (body: string) =>
      world.send({
        method: 'POST',
        path: '/token',
        headers: { authorization: basic('machine'), 'content-type': 'application/x-www-form-urlencoded' },
        body,
      });
    const repeated = refused('invalid_request', 'a parameter is repeated');
    assert.deepEqual(await send('grant_type=client_credentials&grant_type=client_credentials'), repeated);
    assert.deepEqual(await send('grant_type=client_credentials&scope=&scope=read'), repeated);
    assert.deepEqual(await send('grant_type=client_credentials&%67rant_type=x'), repeated);
    issued(await send('grant_type=client_credentials&colour=red&audience='));
  });

  spec('§3.2 parameters in the query do not count', async (world) => {
    const response = await world.send({
      method: 'POST',
      path: '/token?grant_type=client_credentials',
      headers: { authorization: basic('machine'), 'content-type': 'application/x-www-form-urlencoded' },
      body: 'scope=read',
    });
    assert.deepEqual(response, refused('invalid_request', 'the parameter grant_type is missing'));
  });

  spec('§3.2 another method is 405 with Allow', async (world) => {
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const response = await world.send({
        method,
        path: '/token',
        headers: { authorization: basic('machine') },
      });
      const expected = refused('invalid_request', 'the method is not allowed', 405);
      assert.deepEqual(response, { ...expected, headers: { ...HEADERS, allow: 'POST' } });
    }
  });

  spec('§2.3 nothing is issued before the client is known, whatever it asks for', async (world) => {
    const { refresh_token } = await world.grant();
    const attempts = [
      { grant_type: 'refresh_token', refresh_token },
      { grant_type: 'refresh_token', refresh_token, client_id: 'web' },
      {
        grant_type: 'authorization_code',
        code: await world.code(),
        code_verifier: VERIFIER,
        client_id: 'web',
      },
      { grant_type: 'nonsense' },
      {},
    ];
    for (const form of attempts) assert.equal((await world.post('/token', form)).status, 401);
    assert.deepEqual(await world.alive(refresh_token), [true]);
  });
});

specification('Authorization code (RFC 6749 §4.1.3)', (spec) => {
  spec('§4.1.4 the response has access, refresh and ID token, and the scope', async (world) => {
    const tokens = issued(await world.redeem(await world.code()));
    const { access_token, refresh_token, id_token } = tokens;
    assert.deepEqual(tokens, {
      access_token,
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_token,
      scope: 'openid profile email read write',
      id_token,
    });
    assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);
  });

  spec('RFC 9068 §2.2.1 an access token of a person says who signed in, and when', async (world) => {
    const { access_token } = await world.grant();
    const { payload } = await verified(world, access_token);
    const iat = world.clock.seconds;
    assert.deepEqual(payload, {
      iss: ISSUER,
      sub: 'alice',
      aud: ISSUER,
      client_id: 'web',
      scope: 'openid profile email read write',
      username: 'alice',
      auth_time: iat,
      iat,
      exp: iat + 3600,
      jti: payload.jti,
    });
  });

  spec('§4.1.4 a client that is not registered for refresh_token gets none', async (world) => {
    await addClient(world, { ...CLIENTS.web, id: 'brief', grantTypes: ['authorization_code'] });
    const redirect_uri = CLIENTS.web.redirectUris[0];
    const code = await codeFor(world, { client_id: 'brief', redirect_uri, scope: 'read', ...PKCE });
    const form = { grant_type: 'authorization_code', code, redirect_uri, code_verifier: VERIFIER };
    const tokens = issued(await asClient(world, 'brief', form));
    assert.deepEqual(Object.keys(tokens), ['access_token', 'token_type', 'expires_in', 'scope']);
  });

  spec('§4.1.3 a public client redeems its code with the verifier alone', async (world) => {
    const tokens = await world.grant('alice', 'spa');
    assert.equal(tokens.scope, 'openid profile read');
    assert.deepEqual(await world.alive(tokens.access_token, tokens.refresh_token), [true, true]);
  });

  spec('§4.1.2 a code is redeemed once; the second time kills all that it issued', async (world) => {
    const code = await world.code();
    const first = issued(await world.redeem(code));
    const other = await world.grant();
    assert.deepEqual(await world.redeem(code), DEAD_CODE);
    assert.equal(world.lastReason, 'code_reused');
    assert.deepEqual(await world.alive(first.access_token, first.refresh_token), [false, false]);
    assert.deepEqual(await world.refresh(first.refresh_token), DEAD_REFRESH_TOKEN);
    assert.deepEqual(await world.alive(other.access_token, other.refresh_token), [true, true]);
    assert.equal(world.events.filter(({ type }) => type === 'authorization_code_reused').length, 1);
  });

  spec('§4.1.2 the second redemption kills what came out of a rotation as well', async (world) => {
    const code = await world.code();
    const first = issued(await world.redeem(code));
    const second = await world.rotated(first.refresh_token);
    assert.deepEqual(await world.redeem(code), DEAD_CODE);
    assert.deepEqual(await world.alive(first.access_token, second.access_token, second.refresh_token), [
      false,
      false,
      false,
    ]);
  });

  spec(
    '§4.1.2 a code that was used, in hands without the secret, the redirect URI or the verifier, kills nothing',
    async (world) => {
      const code = await world.code();
      const { access_token, refresh_token } = issued(await world.redeem(code));
      assert.deepEqual(await world.redeem(code, 'spa'), DEAD_CODE);
      assert.equal(world.lastReason, 'code_foreign');
      assert.deepEqual(
        await world.redeem(code, 'web', { redirect_uri: 'https://evil.example' }),
        WRONG_REDIRECT_URI,
      );
      assert.deepEqual(await world.redeem(code, 'web', { code_verifier: 'x'.repeat(43) }), WRONG_VERIFIER);
      assert.deepEqual(await world.redeem(code, 'web', { code_verifier: '' }), WRONG_VERIFIER);
      assert.equal(
        (await world.post('/token', { grant_type: 'authorization_code', code, client_id: 'web' })).status,
        401,
      );
      assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);
    },
  );

  spec('§4.1.3 a failed attempt does not use up the code', async (world) => {
    const code = await world.code();
    await world.redeem(code, 'spa');
    await world.redeem(code, 'web', { redirect_uri: 'https://evil.example' });
    await world.redeem(code, 'web', { code_verifier: 'x'.repeat(43) });
    issued(await world.redeem(code));
  });

  spec('§10.5 of many redemptions at once exactly one succeeds, and reuse ends even that', async (world) => {
    const code = await world.code();
    const responses = await Promise.all(Array.from({ length: 10 }, () => world.redeem(code)));
    const successes = responses.filter(({ status }) => status === 200).map(issued);
    assert.equal(successes.length, 1);
    for (const { status, body } of responses) {
      if (status !== 200) assert.deepEqual([status, JSON.parse(body).error], [400, 'invalid_grant']);
    }
    for (const { access_token, refresh_token } of successes) {
      assert.deepEqual(await world.alive(access_token, refresh_token), [false, false]);
    }
  });

  spec('§4.1.2 a code expires after its lifetime, to the second', async (world) => {
    const expiresAtMs = (world.clock.seconds + 60) * 1000;
    const [good, late] = [await world.code(), await world.code()];
    world.clock.nowMs = expiresAtMs - 1;
    issued(await world.redeem(good));
    world.clock.nowMs = expiresAtMs;
    assert.deepEqual(await world.redeem(late), DEAD_CODE);
    assert.equal(world.lastReason, 'code_expired');
  });

  spec('§4.1.2 a used code that comes back after its expiry still kills what it issued', async (world) => {
    const code = await world.code();
    const { access_token } = issued(await world.redeem(code));
    world.clock.advance(61);
    assert.deepEqual(await world.redeem(code), DEAD_CODE);
    assert.deepEqual(await world.alive(access_token), [false]);
  });

  spec('§5.2 what is no code of this server is invalid_grant', async (world) => {
    const { access_token, refresh_token } = await world.grant();
    const code = await world.code();
    const texts = [
      access_token,
      refresh_token,
      code.slice(0, -1),
      `${code}A`,
      code.toUpperCase(),
      'x',
      `grantd_ac_${'A'.repeat(43)}`,
    ];
    for (const text of texts) assert.deepEqual(await world.redeem(text), DEAD_CODE, text);
    assert.equal(world.lastReason, 'code_unknown');
    issued(await world.redeem(code));
  });

  spec('RFC 7009 §2.1 a code that was revoked cannot be redeemed', async (world) => {
    const code = await world.code();
    await world.revoke(code, 'web', 'auth_code');
    assert.deepEqual(await world.redeem(code), DEAD_CODE);
  });

  spec(
    '§4.1.3 a person or client that was disabled in between gets nothing, also when enabled again',
    async (world) => {
      const [first, second, third] = [await world.code(), await world.code(), await world.code()];
      await world.storage.setDisabled('subject', 'alice', true);
      assert.deepEqual(await world.redeem(first), DEAD_CODE);
      await world.storage.setDisabled('subject', 'alice', false);
      assert.deepEqual(await world.redeem(second), DEAD_CODE);
      assert.equal(world.lastReason, 'subject_revoked');

      await world.storage.setDisabled('client', 'web', true);
      assert.equal((await world.redeem(third)).status, 401);
      await world.storage.setDisabled('client', 'web', false);
      assert.deepEqual(await world.redeem(third), DEAD_CODE);
      issued(await world.redeem(await world.code()));
    },
  );

  spec('§4.1.3 a person whom the host has disabled gets nothing', async (world) => {
    const code = await world.code();
    const states = { alice: 'disabled' } as const;
    const strict = await secondServer(world, { getSubjectState: () => states.alice });
    assert.deepEqual(await strict.redeem(code), DEAD_CODE);
    assert.equal(strict.lastReason, 'subject_disabled');
    const forgetful = await secondServer(world, { getSubjectState: () => undefined });
    assert.deepEqual(await forgetful.redeem(code), DEAD_CODE);
    issued(await world.redeem(code));
  });

  spec('§4.1.3 the redirect URI must be that of the request, to the letter', async (world) => {
    const code = await world.code();
    const wrong = [
      'https://web.example/callback/',
      'https://web.example/callback?x',
      'https://WEB.example/callback',
      'https://web.example:443/callback',
      'https://spa.example/callback',
      '',
    ];
    for (const redirect_uri of wrong) {
      assert.deepEqual(await world.redeem(code, 'web', { redirect_uri }), WRONG_REDIRECT_URI, redirect_uri);
    }
    assert.equal(world.lastReason, 'redirect_uri_mismatch');
    issued(await world.redeem(code));
  });

  spec(
    '§4.1.3 where the request left the redirect URI out, it may be left out or be the registered one',
    async (world) => {
      const ask = () => codeFor(world, { client_id: 'web', scope: 'read', ...PKCE });
      issued(await world.redeem(await ask()));
      issued(await world.redeem(await ask(), 'web', { redirect_uri: '' }));
      const other = await world.redeem(await ask(), 'web', { redirect_uri: 'https://evil.example' });
      assert.deepEqual(other, WRONG_REDIRECT_URI);
    },
  );

  spec('RFC 8252 §7.3 the port of a loopback URI must be the one that the request had', async (world) => {
    await addClient(world, { ...CLIENTS.spa, id: 'cli', redirectUris: ['http://127.0.0.1/cb'] }, true);
    const redirect_uri = 'http://127.0.0.1:53682/cb';
    const code = await codeFor(world, { client_id: 'cli', scope: 'read', redirect_uri, ...PKCE });
    const redeem = (uri: string) =>
      world.post('/token', {
        grant_type: 'authorization_code',
        client_id: 'cli',
        code,
        code_verifier: VERIFIER,
        redirect_uri: uri,
      });
    assert.deepEqual(await redeem('http://127.0.0.1/cb'), WRONG_REDIRECT_URI);
    assert.deepEqual(await redeem('http://127.0.0.1:53683/cb'), WRONG_REDIRECT_URI);
    issued(await redeem(redirect_uri));
  });

  spec('RFC 7636 §4.6 the verifier must fit the challenge by S256', async (world) => {
    const code = await world.code();
    const wrong = [
      CHALLENGE, // as if the method were plain
      VERIFIER.slice(0, -1),
      `${VERIFIER}A`,
      `${VERIFIER} `,
      VERIFIER.toLowerCase(),
      'short',
      'x'.repeat(129),
      `${'x'.repeat(42)}ä`,
      '',
    ];
    for (const code_verifier of wrong) {
      assert.deepEqual(await world.redeem(code, 'web', { code_verifier }), WRONG_VERIFIER, code_verifier);
    }
    assert.equal(world.lastReason, 'pkce_missing');
    issued(await world.redeem(code));
  });

  spec(
    'RFC 9700 §2.1.1 a verifier for a code without a challenge is refused, as is none for a code with one',
    async (world) => {
      const redirect_uri = CLIENTS.web.redirectUris[0];
      const plain = await codeFor(world, { client_id: 'web', scope: 'read', redirect_uri });
      assert.deepEqual(await world.redeem(plain), WRONG_VERIFIER);
      issued(await world.redeem(plain, 'web', { code_verifier: '' }));
      assert.deepEqual(await world.redeem(await world.code(), 'web', { code_verifier: '' }), WRONG_VERIFIER);
    },
    { allowConfidentialClientsWithoutPkce: true },
  );

  spec('§10.4 tokens of a code are bound to it: one grant ends and the next goes on', async (world) => {
    const [one, other] = [await world.grant(), await world.grant()];
    await world.revoke(one.refresh_token);
    assert.deepEqual(await world.alive(one.access_token, other.access_token, other.refresh_token), [
      false,
      true,
      true,
    ]);
  });
});

specification('ID token (OpenID Connect Core §2)', (spec) => {
  spec('§2 it verifies against JWKS and has every claim that a client checks', async (world) => {
    const { access_token, id_token } = await world.grant();
    const iat = world.clock.seconds;
    const { header, payload } = await verified(world, id_token);
    assert.deepEqual(header, { alg: 'RS256', typ: 'JWT', kid: await currentKeyId(world, 'RS256') });
    assert.deepEqual(payload, {
      iss: ISSUER,
      sub: 'alice',
      aud: 'web',
      iat,
      exp: iat + 3600,
      at_hash: leftHalfOf('sha256', access_token),
      auth_time: iat,
      nonce: 'n-0S6_WzA2Mj',
      sid: 'session of alice',
    });
  });

  spec('§3.1.3.3 without openid there is none', async (world) => {
    assert.equal('id_token' in (await world.grant('alice', 'web', 'read profile')), false);
  });

  spec('§3.1.3.7 its sub is the one that UserInfo and introspection say', async (world) => {
    const { access_token, id_token } = await world.grant();
    const { sub } = decodeJwt(id_token);
    assert.equal(JSON.parse((await world.userInfo(access_token)).body).sub, sub);
    assert.equal(JSON.parse((await world.introspect(access_token)).body).sub, sub);
  });

  spec(
    '§2 acr and amr are told where the host knows them, and nothing that it does not know',
    async (world) => {
      const query = new URLSearchParams({
        client_id: 'web',
        response_type: 'code',
        scope: 'openid',
        ...PKCE,
      });
      query.set('redirect_uri', CLIENTS.web.redirectUris[0]);
      const url = `/authorize?${query}`;
      const request = await world.server.validateAuthorizationRequest({ method: 'GET', url, headers: {} });
      const known = { subject: 'bob', acr: 'urn:mace:incommon:iap:silver', amr: ['pwd', 'otp'] };
      const payloads = [];
      for (const approval of [known, { subject: 'bob' }]) {
        const { headers } = await world.server.completeAuthorization(request, approval);
        const code = new URL(String(headers.location)).searchParams.get('code') ?? '';
        const { access_token, id_token } = issued(await world.redeem(code));
        const { at_hash, ...payload } = decodeJwt(id_token);
        payloads.push(payload);
        assert.deepEqual(decodeJwt(access_token).amr, payload.amr);
      }
      const iat = world.clock.seconds;
      const unknown = { iss: ISSUER, sub: 'bob', aud: 'web', iat, exp: iat + 3600 };
      assert.deepEqual(payloads, [{ ...unknown, acr: known.acr, amr: known.amr }, unknown]);
    },
  );

  spec('§12.2 a refresh brings none, since nobody signed in anew', async (world) => {
    const { refresh_token } = await world.grant();
    assert.equal('id_token' in (await world.rotated(refresh_token)), false);
  });
});

test('§3.1.3.6 at_hash is the left half of the hash that belongs to the algorithm', async (t) => {
  const world = await openWorld(t);
  const cases = [
    ['PS256', 'sha256'],
    ['ES256', 'sha256'],
    ['EdDSA', 'sha512'],
  ] as const;
  for (const [algorithm, hash] of cases) {
    const id = `client-${algorithm}`;
    await addClient(world, { ...CLIENTS.web, id, idTokenAlgorithm: algorithm });
    const redirect_uri = CLIENTS.web.redirectUris[0];
    const code = await codeFor(world, { client_id: id, redirect_uri, scope: 'openid', ...PKCE });
    const form = { grant_type: 'authorization_code', code, redirect_uri, code_verifier: VERIFIER };
    const { access_token, id_token } = issued(await asClient(world, id, form));
    const { header, payload } = await verified(world, id_token);
    assert.deepEqual(header, { alg: algorithm, typ: 'JWT', kid: await currentKeyId(world, algorithm) });
    assert.equal(payload.at_hash, leftHalfOf(hash, access_token));
    assert.equal(decodeProtectedHeader(access_token).alg, 'RS256');
  }
});

function leftHalfOf(hash: 'sha256' | 'sha512', token: string): string {
  const digest = createHash(hash).update(token).digest();
  return digest.subarray(0, digest.length / 2).toString('base64url');
}

specification('Refresh (RFC 6749 §6)', (spec) => {
  spec('§6 a refresh token is exchanged for a new pair, and is spent', async (world) => {
    const first = await world.grant();
    world.clock.advance(60);
    const second = issued(await world.refresh(first.refresh_token));
    assert.deepEqual(second, {
      access_token: second.access_token,
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_token: second.refresh_token,
      scope: 'openid profile email read write',
    });
    assert.notEqual(second.refresh_token, first.refresh_token);
    assert.notEqual(second.access_token, first.access_token);
    assert.deepEqual(
      await world.alive(first.access_token, first.refresh_token, second.access_token, second.refresh_token),
      [true, false, true, true],
    );
  });

  spec(
    '§6 the new tokens speak of the same person and sign-in, and live for their full time',
    async (world) => {
      const first = await world.grant();
      const signedInAt = world.clock.seconds;
      world.clock.advance(1000);
      const second = await world.rotated(first.refresh_token);
      const iat = world.clock.seconds;
      const { jti: _, ...claims } = decodeJwt(second.access_token);
      assert.deepEqual(claims, {
        iss: ISSUER,
        sub: 'alice',
        aud: ISSUER,
        client_id: 'web',
        scope: 'openid profile email read write',
        username: 'alice',
        auth_time: signedInAt,
        iat,
        exp: iat + 3600,
      });
      const { exp } = JSON.parse((await world.introspect(second.refresh_token)).body);
      assert.equal(exp, iat + 14 * 24 * 60 * 60);
      assert.equal((await world.userInfo(second.access_token)).status, 200);
    },
  );

  spec('§6 a public client refreshes by naming itself', async (world) => {
    const { refresh_token } = await world.grant('alice', 'spa');
    const form = { grant_type: 'refresh_token', refresh_token, client_id: 'spa' };
    const second = issued(await world.post('/token', form));
    assert.deepEqual(await world.alive(refresh_token, second.refresh_token), [false, true]);
  });

  spec(
    'RFC 9700 §4.14.2 a retry within the grace gets the same successor and a fresh access token',
    async (world) => {
      const { refresh_token } = await world.grant();
      const rotatedAtMs = world.clock.nowMs;
      const first = issued(await world.refresh(refresh_token));
      const accessTokens = [first.access_token];
      for (const afterMs of [0, 5_000, GRACE_MS - 1]) {
        world.clock.nowMs = rotatedAtMs + afterMs;
        const again = issued(await world.refresh(refresh_token));
        assert.equal(again.refresh_token, first.refresh_token);
        assert.equal(again.scope, first.scope);
        accessTokens.push(again.access_token);
      }
      assert.equal(new Set(accessTokens).size, 4);
      assert.deepEqual(await world.alive(...accessTokens, first.refresh_token), [
        true,
        true,
        true,
        true,
        true,
      ]);
      await world.revoke(first.refresh_token);
      assert.deepEqual(await world.alive(...accessTokens), [false, false, false, false]);
    },
  );

  spec('RFC 9700 §4.14.2 what a retry got dies with the successor’s pair', async (world) => {
    const { refresh_token } = await world.grant();
    const first = await world.rotated(refresh_token);
    const again = await world.rotated(refresh_token);
    await world.revoke(again.access_token);
    assert.deepEqual(await world.alive(first.access_token, again.access_token, first.refresh_token), [
      false,
      false,
      false,
    ]);
  });

  spec('RFC 9700 §4.14.2 a retry after the grace kills the family', async (world) => {
    const { refresh_token, access_token } = await world.grant();
    const second = await world.rotated(refresh_token);
    world.clock.nowMs += GRACE_MS;
    assert.deepEqual(await world.refresh(refresh_token), DEAD_REFRESH_TOKEN);
    assert.equal(world.lastReason, 'refresh_token_reused');
    assert.deepEqual(await world.alive(access_token, second.access_token, second.refresh_token), [
      false,
      false,
      false,
    ]);
    assert.deepEqual(await world.refresh(second.refresh_token), DEAD_REFRESH_TOKEN);
    const told = world.events.filter(({ type }) => type === 'refresh_token_reused');
    assert.deepEqual(
      told.map(({ clientId, operation }) => [clientId, operation]),
      [['web', 'token']],
    );
  });

  spec(
    'RFC 9700 §4.14.2 a token older than the predecessor kills the family, within the grace as well',
    async (world) => {
      const first = await world.grant();
      const second = await world.rotated(first.refresh_token);
      const third = await world.rotated(second.refresh_token);
      assert.deepEqual(await world.refresh(first.refresh_token), DEAD_REFRESH_TOKEN);
      assert.equal(world.lastReason, 'refresh_token_reused');
      assert.deepEqual(await world.alive(second.access_token, third.access_token, third.refresh_token), [
        false,
        false,
        false,
      ]);
      assert.deepEqual(await world.refresh(second.refresh_token), DEAD_REFRESH_TOKEN);
      assert.deepEqual(await world.refresh(third.refresh_token), DEAD_REFRESH_TOKEN);
    },
  );

  spec(
    'RFC 9700 §4.14.2 reuse kills that family only: other devices and other people go on',
    async (world) => {
      const stolen = await world.grant();
      const others = [await world.grant(), await world.grant('bob'), await world.grant('alice', 'spa')];
      await world.rotated(stolen.refresh_token);
      world.clock.nowMs += GRACE_MS;
      assert.deepEqual(await world.refresh(stolen.refresh_token), DEAD_REFRESH_TOKEN);
      for (const { access_token, refresh_token } of others) {
        assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);
      }
      issued(await world.refresh(others[0]?.refresh_token ?? ''));
    },
  );

  spec('RFC 9700 §4.14.2 of many refreshes at once all lead to one successor', async (world) => {
    const { refresh_token } = await world.grant();
    const responses = await Promise.all(Array.from({ length: 10 }, () => world.refresh(refresh_token)));
    const successors = new Set(responses.map((response) => issued(response).refresh_token));
    assert.equal(successors.size, 1);
    assert.deepEqual(await world.alive(...successors, refresh_token), [true, false]);
  });

  spec(
    'RFC 9700 §4.14.2 without a grace the second use kills the family',
    async (world) => {
      const { refresh_token } = await world.grant();
      const second = await world.rotated(refresh_token);
      assert.deepEqual(await world.refresh(refresh_token), DEAD_REFRESH_TOKEN);
      assert.deepEqual(await world.alive(second.refresh_token), [false]);
    },
    { refreshGrace: 0 },
  );

  spec('§6 a narrower scope narrows that access token alone', async (world) => {
    const { refresh_token } = await world.grant();
    const narrow = issued(await world.refresh(refresh_token, { scope: 'read' }));
    assert.equal(narrow.scope, 'read');
    assert.equal(decodeJwt(narrow.access_token).scope, 'read');
    assert.equal((await world.userInfo(narrow.access_token)).status, 403);
    const retried = issued(await world.refresh(refresh_token, { scope: 'openid write' }));
    assert.deepEqual([retried.scope, retried.refresh_token], ['openid write', narrow.refresh_token]);
    const whole = issued(await world.refresh(narrow.refresh_token));
    assert.equal(whole.scope, 'openid profile email read write');
  });

  spec('§6 a wider scope is refused and spends nothing', async (world) => {
    const { refresh_token } = await world.grant('alice', 'web', 'openid read');
    for (const scope of ['write', 'read write', 'openid read profile', 'admin']) {
      assert.deepEqual(await world.refresh(refresh_token, { scope }), SCOPE_NOT_ALLOWED, scope);
    }
    assert.deepEqual(await world.refresh(refresh_token, { scope: ' ' }), SCOPE_MALFORMED);
    assert.deepEqual(await world.alive(refresh_token), [true]);
    assert.equal((await world.rotated(refresh_token)).scope, 'openid read');
    assert.deepEqual(await world.refresh(refresh_token, { scope: 'write' }), SCOPE_NOT_ALLOWED);
  });

  spec('§6 another client’s refresh token is refused, and nothing happens to it', async (world) => {
    const { refresh_token } = await world.grant();
    const asSpa = { grant_type: 'refresh_token', refresh_token, client_id: 'spa' };
    assert.deepEqual(await world.post('/token', asSpa), DEAD_REFRESH_TOKEN);
    assert.equal(world.lastReason, 'refresh_token_foreign');
    const second = await world.rotated(refresh_token);
    world.clock.nowMs += GRACE_MS;
    assert.deepEqual(await world.post('/token', asSpa), DEAD_REFRESH_TOKEN);
    assert.deepEqual(await world.alive(second.access_token, second.refresh_token), [true, true]);
  });

  spec('§6 whatever is no living refresh token gets one answer', async (world) => {
    const { access_token, id_token, refresh_token } = await world.grant();
    const revoked = await world.grant();
    await world.revoke(revoked.refresh_token);
    const texts = [
      access_token,
      id_token,
      await world.code(),
      revoked.refresh_token,
      `${refresh_token}A`,
      refresh_token.slice(0, -1),
      'x',
      `grantd_rt_${'A'.repeat(43)}`,
      'ä',
    ];
    for (const text of texts) assert.deepEqual(await world.refresh(text), DEAD_REFRESH_TOKEN, text);
    assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);
  });

  spec(
    '§6 an expired refresh token is refused, to the second, also within the grace of its rotation',
    async (world) => {
      const [first, late] = [await world.grant(), await world.grant()];
      const expiresAtMs = (world.clock.seconds + 14 * 24 * 60 * 60) * 1000;
      world.clock.nowMs = expiresAtMs - 1;
      const second = await world.rotated(first.refresh_token);
      world.clock.nowMs = expiresAtMs;
      assert.deepEqual(await world.refresh(late.refresh_token), DEAD_REFRESH_TOKEN);
      assert.equal(world.lastReason, 'expired');
      assert.deepEqual(await world.refresh(first.refresh_token), DEAD_REFRESH_TOKEN);
      assert.deepEqual(await world.alive(second.refresh_token), [true]);
    },
  );

  spec('§6 a retry after a revocation brings nothing back', async (world) => {
    const { refresh_token } = await world.grant();
    const second = await world.rotated(refresh_token);
    await world.revoke(second.refresh_token);
    assert.deepEqual(await world.refresh(refresh_token), DEAD_REFRESH_TOKEN);
    assert.deepEqual(await world.refresh(second.refresh_token), DEAD_REFRESH_TOKEN);

    const other = await world.grant();
    const next = await world.rotated(other.refresh_token);
    await world.revoke(next.access_token);
    assert.deepEqual(await world.refresh(other.refresh_token), DEAD_REFRESH_TOKEN);
  });

  spec('§6 a disabled person or client refreshes nothing, also when enabled again', async (world) => {
    const tokens = await world.grant();
    await world.storage.setDisabled('subject', 'alice', true);
    assert.deepEqual(await world.refresh(tokens.refresh_token), DEAD_REFRESH_TOKEN);
    await world.storage.setDisabled('subject', 'alice', false);
    assert.deepEqual(await world.refresh(tokens.refresh_token), DEAD_REFRESH_TOKEN);

    const { refresh_token } = await world.grant();
    const strict = await secondServer(world, { getSubjectState: () => 'disabled' });
    assert.deepEqual(await strict.refresh(refresh_token), DEAD_REFRESH_TOKEN);
    await world.storage.setDisabled('client', 'web', true);
    assert.equal((await world.refresh(refresh_token)).status, 401);
    await world.storage.setDisabled('client', 'web', false);
    assert.deepEqual(await world.refresh(refresh_token), DEAD_REFRESH_TOKEN);
  });

  spec('§6 a client whose refresh tokens do not rotate keeps the one it has', async (world) => {
    await addClient(world, { ...CLIENTS.web, id: 'steady', rotateRefreshTokens: false });
    const redirect_uri = CLIENTS.web.redirectUris[0];
    const code = await codeFor(world, { client_id: 'steady', redirect_uri, ...PKCE });
    const form = { grant_type: 'authorization_code', code, redirect_uri, code_verifier: VERIFIER };
    const { refresh_token, access_token } = issued(await asClient(world, 'steady', form));
    const refresh = (more = {}) =>
      asClient(world, 'steady', { grant_type: 'refresh_token', refresh_token, ...more });
    const second = issued(await refresh());
    world.clock.advance(60);
    const third = issued(await refresh({ scope: 'read' }));
    assert.deepEqual([second.refresh_token, third.refresh_token], [refresh_token, refresh_token]);
    assert.equal(third.scope, 'read');
    assert.deepEqual(
      await world.alive(access_token, second.access_token, third.access_token, refresh_token),
      [true, true, true, true],
    );
    await world.revoke(third.access_token, null);
    assert.deepEqual(await world.alive(third.access_token, refresh_token), [true, true]);
    const asItself = { authorization: basic('steady') };
    await world.post('/token/revoke', { token: third.access_token }, null, asItself);
    assert.deepEqual(
      await world.alive(access_token, second.access_token, third.access_token, refresh_token),
      [false, false, false, false],
    );
    assert.deepEqual(await refresh(), DEAD_REFRESH_TOKEN);
  });

  for (const useOpaqueRefreshTokens of [false, true]) {
    const [from, to] = useOpaqueRefreshTokens ? ['opaque', 'a JWT'] : ['a JWT', 'opaque'];
    spec(
      `§6 a refresh token that is ${from} stays good when new ones become ${to}, before a refresh and before its retry`,
      async (world) => {
        const changed = await secondServer(world, { useOpaqueRefreshTokens: !useOpaqueRefreshTokens });
        const isOpaque = (token: string) => token.startsWith('grantd_rt_');

        const beforeRefresh = await world.grant();
        const successor = await changed.rotated(beforeRefresh.refresh_token);
        assert.deepEqual(
          [isOpaque(beforeRefresh.refresh_token), isOpaque(successor.refresh_token)],
          [useOpaqueRefreshTokens, !useOpaqueRefreshTokens],
        );
        for (const server of [world, changed]) {
          assert.equal(
            (await server.rotated(beforeRefresh.refresh_token)).refresh_token,
            successor.refresh_token,
          );
        }

        const beforeRetry = await world.grant();
        const { refresh_token } = await world.rotated(beforeRetry.refresh_token);
        assert.equal((await changed.rotated(beforeRetry.refresh_token)).refresh_token, refresh_token);
        issued(await changed.refresh(refresh_token));
      },
      { useOpaqueRefreshTokens },
    );

    spec(
      `§6 a retry gets the same successor, ${from}, when the server’s secret was changed in between`,
      async (world) => {
        const { refresh_token } = await world.grant();
        const successor = await world.rotated(refresh_token);
        const changing = await secondServer(world, { secret: [NEW_SECRET, SECRET], useOpaqueRefreshTokens });
        assert.equal((await changing.rotated(refresh_token)).refresh_token, successor.refresh_token);

        const next = await changing.rotated(successor.refresh_token);
        const behind = await secondServer(world, { secret: [SECRET, NEW_SECRET], useOpaqueRefreshTokens });
        assert.equal((await behind.rotated(successor.refresh_token)).refresh_token, next.refresh_token);
      },
      { useOpaqueRefreshTokens },
    );
  }

  spec('§6 a retry gets the same successor when the signing key was rotated in between', async (world) => {
    const { refresh_token } = await world.grant();
    const successor = await world.rotated(refresh_token);
    await world.server.rotateSigningKey('RS256');
    const again = await world.rotated(refresh_token);
    assert.equal(again.refresh_token, successor.refresh_token);
    const keys = [successor.access_token, again.access_token].map(
      (token) => decodeProtectedHeader(token).kid,
    );
    assert.notEqual(keys[0], keys[1]);
    issued(await world.refresh(successor.refresh_token));
  });

  spec(
    '§6 a retry gets the same successor from a store that gives claims back in another order',
    async (world) => {
      const { tokens } = world.storage;
      const reordering: AdministrableStorage = {
        ...world.storage,
        tokens: {
          ...tokens,
          async getByRefreshToken(id) {
            const record = await tokens.getByRefreshToken(id);
            const claims = Object.fromEntries(Object.entries(record?.claims ?? {}).reverse());
            return record && { ...record, claims };
          },
        },
      };
      const { refresh_token } = await world.grant();
      const successor = await world.rotated(refresh_token);
      const server = await secondServer(world, {}, reordering);
      assert.equal((await server.rotated(refresh_token)).refresh_token, successor.refresh_token);
    },
  );
});

/** What may come in between a check and the write that rests upon it. */
const INTERFERENCES: readonly (readonly [string, (storage: AdministrableStorage) => unknown])[] = [
  ['the client is disabled', ({ setDisabled }) => setDisabled('client', 'web', true)],
  ['the person is disabled', ({ setDisabled }) => setDisabled('subject', 'alice', true)],
  [
    'the client is disabled and enabled again',
    async ({ setDisabled }) => {
      await setDisabled('client', 'web', true);
      await setDisabled('client', 'web', false);
    },
  ],
  [
    'all tokens of the person are revoked',
    ({ revokeAll }) => revokeAll({ principal: 'subject', id: 'alice' }),
  ],
  ['the session is ended', ({ revokeAll }) => revokeAll({ principal: 'session', id: 'session of alice' })],
];

/** The same storage, to which something happens right before it stores tokens for the first time. */
function interruptedBeforeIssuing(
  storage: AdministrableStorage,
  happen: () => unknown,
): AdministrableStorage {
  const { tokens, authorizationCodes } = storage;
  let hasHappened = false;
  const before =
    <A extends unknown[], R>(write: (...args: A) => R) =>
    async (...args: A): Promise<Awaited<R>> => {
      if (!hasHappened) {
        hasHappened = true;
        await happen();
      }
      return await write(...args);
    };
  return {
    ...storage,
    tokens: {
      ...tokens,
      issue: before(tokens.issue),
      rotate: before(tokens.rotate),
      issueBeside: before(tokens.issueBeside),
    },
    authorizationCodes: { ...authorizationCodes, redeem: before(authorizationCodes.redeem) },
  };
}

specification('What comes in between (RFC 6749 §10)', (spec) => {
  for (const [interference, happen] of INTERFERENCES) {
    spec(`§4.1.4 nothing is issued for a code while ${interference}`, async (world) => {
      const code = await world.code();
      const storage = interruptedBeforeIssuing(world.storage, () => happen(world.storage));
      const server = await secondServer(world, {}, storage);
      assert.deepEqual(await server.redeem(code), OVERTAKEN);
      assert.equal(server.lastReason, 'issuance_overtaken');
    });

    spec(`§6 nothing is issued for a refresh token while ${interference}`, async (world) => {
      const { refresh_token } = await world.grant();
      const storage = interruptedBeforeIssuing(world.storage, () => happen(world.storage));
      const server = await secondServer(world, {}, storage);
      assert.deepEqual(await server.refresh(refresh_token), OVERTAKEN);
      assert.deepEqual(await world.alive(refresh_token), [false]);
    });

    spec(`§6 nothing is issued for the retry of a refresh while ${interference}`, async (world) => {
      const { refresh_token } = await world.grant();
      const successor = await world.rotated(refresh_token);
      const storage = interruptedBeforeIssuing(world.storage, () => happen(world.storage));
      const server = await secondServer(world, {}, storage);
      assert.deepEqual(await server.refresh(refresh_token), OVERTAKEN);
      assert.deepEqual(await world.alive(successor.refresh_token), [false]);
    });
  }

  spec(
    '§4.4 nothing is issued for a client that is disabled meanwhile, also when it is enabled again',
    async (world) => {
      for (const isEnabledAgain of [true, false]) {
        const storage = interruptedBeforeIssuing(world.storage, async () => {
          await world.storage.setDisabled('client', 'machine', true);
          if (isEnabledAgain) await world.storage.setDisabled('client', 'machine', false);
        });
        const server = await secondServer(world, {}, storage);
        assert.deepEqual(
          await server.post('/token', { grant_type: 'client_credentials' }, 'machine'),
          OVERTAKEN,
        );
      }
    },
  );

  spec('§6 a family that is revoked while its refresh token rotates stays dead', async (world) => {
    const { refresh_token, access_token } = await world.grant();
    const storage = interruptedBeforeIssuing(world.storage, () => world.revoke(access_token));
    const server = await secondServer(world, {}, storage);
    const response = await server.refresh(refresh_token);
    assert.deepEqual(response, OVERTAKEN);
    assert.deepEqual(await world.alive(refresh_token, access_token), [false, false]);
  });

  spec('§6 a successor that is rotated while its predecessor is retried ends the family', async (world) => {
    const first = await world.grant();
    const second = await world.rotated(first.refresh_token);
    let third = second;
    const storage = interruptedBeforeIssuing(world.storage, async () => {
      third = await world.rotated(second.refresh_token);
    });
    const server = await secondServer(world, {}, storage);
    assert.deepEqual(await server.refresh(first.refresh_token), DEAD_REFRESH_TOKEN);
    assert.equal(server.lastReason, 'refresh_token_reused');
    assert.deepEqual(await world.alive(second.refresh_token, third.access_token, third.refresh_token), [
      false,
      false,
      false,
    ]);
  });

  spec('§10 all that was issued before a time is dead, what was issued at that time lives', async (world) => {
    const before = await world.grant();
    const code = await world.code();
    const rotatedAt = await world.grant();
    world.clock.nowMs += 1;
    const successor = await world.rotated(rotatedAt.refresh_token);
    const after = await world.grant();
    await world.storage.revokeAll({ issuedBeforeMs: world.clock.nowMs });

    assert.deepEqual(await world.alive(before.access_token, before.refresh_token), [false, false]);
    assert.deepEqual(await world.refresh(before.refresh_token), DEAD_REFRESH_TOKEN);
    assert.equal(world.lastReason, 'issued_before_cutoff');
    assert.deepEqual(await world.redeem(code), DEAD_CODE);
    assert.deepEqual(await world.alive(after.access_token, after.refresh_token, successor.refresh_token), [
      true,
      true,
      true,
    ]);
    assert.deepEqual(await world.refresh(rotatedAt.refresh_token), DEAD_REFRESH_TOKEN);
    issued(await world.refresh(after.refresh_token));
    assert.deepEqual(await world.alive((await world.grant()).access_token), [true]);
  });
});

/** A server whose storage fails at one method. */
async function failingAt(world: World, part: 'tokens' | 'keys', method: string, options: WorldOptions = {}) {
  const repository = new Proxy(world.storage[part], {
    get: (target, name) =>
      name === method
        ? () => Promise.reject(new Error('the disk is full'))
        : Reflect.get(target, name, target),
  });
  return secondServer(world, options, { ...world.storage, [part]: repository });
}

test('§4.1.4 a code is not used up where the ID token cannot be signed', async (t) => {
  const world = await openWorld(t);
  const code = await world.code();
  const keys: AdministrableStorage['keys'] = {
    ...world.storage.keys,
    currentKeyId: (algorithm) => {
      if (algorithm === 'ES256') throw new Error('the keys are out of reach');
      return world.storage.keys.currentKeyId(algorithm);
    },
  };
  const server = await secondServer(world, { idTokenAlgorithm: 'ES256' }, { ...world.storage, keys });
  assert.equal((await server.redeem(code)).status, 503);
  issued(await world.redeem(code));
});

test('§5.2 storage that fails is 503 with Retry-After, and never a refusal', async (t) => {
  const world = await openWorld(t);
  const { refresh_token } = await world.grant();
  const expected = {
    ...refused('temporarily_unavailable', 'the server cannot answer at the moment', 503),
    headers: { ...HEADERS, 'retry-after': '1' },
  };
  for (const method of ['getByRefreshToken', 'isRefreshTokenRevoked', 'rotate']) {
    const server = await failingAt(world, 'tokens', method);
    assert.deepEqual(await server.refresh(refresh_token), expected, method);
    assert.equal(server.lastReason, 'storage_unavailable');
  }
  const issue = await failingAt(world, 'tokens', 'issue');
  assert.deepEqual(await issue.post('/token', { grant_type: 'client_credentials' }, 'machine'), expected);
  const second = await world.rotated(refresh_token);
  const beside = await failingAt(world, 'tokens', 'issueBeside');
  assert.deepEqual(await beside.refresh(refresh_token), expected);
  world.clock.nowMs += GRACE_MS;
  const family = await failingAt(world, 'tokens', 'revokeFamily');
  assert.deepEqual(await family.refresh(refresh_token), expected);
  assert.deepEqual(await world.alive(second.refresh_token), [true]);
});

test('§5.2 a rejection counts as a fault also where the host’s library has promises of its own', async (t) => {
  const world = await openWorld(t);
  const { refresh_token } = await world.grant();
  const failing: PromiseLike<never> = {
    // biome-ignore lint/suspicious/noThenProperty: what query builders look like
    then: (_, reject) => Promise.reject(new Error('no connection')).then(undefined, reject),
  };
  const tokens = { ...world.storage.tokens, getByRefreshToken: () => failing as Promise<never> };
  const server = await secondServer(world, {}, { ...world.storage, tokens });
  assert.equal((await server.refresh(refresh_token)).status, 503);
});

test('§5.1 nothing of a token, secret or code is in any event', async (t) => {
  const world = await openWorld(t);
  const code = await world.code();
  const first = issued(await world.redeem(code));
  await world.redeem(code);
  const second = await world.grant();
  const third = await world.rotated(second.refresh_token);
  world.clock.nowMs += GRACE_MS;
  await world.refresh(second.refresh_token);
  const told = JSON.stringify(world.events);
  const secrets = [code, first, second, third].flatMap((value) =>
    typeof value === 'string' ? value : Object.values(value),
  );
  for (const secret of secrets) {
    if (String(secret).length > 40) assert.equal(told.includes(String(secret)), false);
  }
  assert.equal(told.includes(secretOf('web')), false);
});

specification('What outlives its own expiry', (spec) => {
  spec('§4.1.2 a code that comes back long after its expiry still ends what it issued', async (world) => {
    const code = await world.code();
    const { refresh_token } = JSON.parse((await world.redeem(code)).body);
    world.clock.advance(24 * 60 * 60);
    await world.storage.sweep(100);
    assert.equal((await world.redeem(code)).status, 400);
    assert.equal(world.lastReason, 'code_reused');
    assert.equal((await world.refresh(refresh_token)).status, 400);
  });
});

test('§2.2.2 the refresh tokens of a public client rotate, whatever its registration says', async (t) => {
  const world = await openWorld(t);
  await world.storage.clients.add({ ...CLIENTS.spa, id: 'still', rotateRefreshTokens: false });
  const [issued] = await world.server.issueTokens({ clientId: 'still', subject: 'alice', refresh: true });
  const form = {
    grant_type: 'refresh_token',
    client_id: 'still',
    refresh_token: String(issued?.refreshToken),
  };
  const { refresh_token } = JSON.parse((await world.post('/token', form)).body);
  assert.notEqual(refresh_token, issued?.refreshToken);
});

test('§1 a host may answer null for what a record does not have', async (t) => {
  const world = await openWorld(t);
  const { tokens } = world.storage;
  const none = {
    revokedAtMs: null,
    supersededAtMs: null,
    successorId: null,
    notBeforeMs: null,
    sessionId: null,
  };
  const withNulls = async (id: string) =>
    JSON.parse(JSON.stringify({ ...none, ...(await tokens.getByRefreshToken(id)) }));
  const storage = { ...world.storage, tokens: { ...tokens, getByRefreshToken: withNulls } };
  const { refresh_token } = await world.grant();
  const { server } = await secondServer(world, {}, storage);
  assert.equal((await server.introspectToken(refresh_token)).active, true);
});

test('§5.3 getUserClaims may be a method that needs its object', async (t) => {
  class Directory {
    readonly names = new Map([['alice', 'Alice Liddell']]);
    getUserClaims(subject: string) {
      return { name: this.names.get(subject) };
    }
  }
  const world = await openWorld(t, { oidc: new Directory() });
  const { access_token } = await world.grant();
  assert.deepEqual(await world.server.userInfoOf(access_token), { name: 'Alice Liddell', sub: 'alice' });
});

test('§3.1.2.1 a request with max_age cannot be approved without the time of sign-in', async (t) => {
  const world = await openWorld(t);
  const query = new URLSearchParams({
    client_id: 'web',
    response_type: 'code',
    redirect_uri: CLIENTS.web.redirectUris[0],
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    scope: 'openid',
    max_age: '60',
  });
  const request = { method: 'GET', url: `/authorize?${query}`, headers: {} };
  const authorization = await world.server.validateAuthorizationRequest(request);
  await assert.rejects(
    world.server.completeAuthorization(authorization, { subject: 'alice' }),
    /server_error/,
  );
});
