// § refers to RFC 6749.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changeClient } from './harness/client_change.ts';
import { ON_EVERY_HOST } from './harness/places.ts';
import { secondServer } from './harness/second_server.ts';
import {
  addClient,
  asClient,
  codeFor,
  DEAD_CODE,
  DEAD_REFRESH_TOKEN,
  issued,
  MISSING_VERIFIER,
  NO_CHALLENGE,
  PKCE,
  refused,
  verified,
  WRONG_REDIRECT_URI,
  WRONG_VERIFIER,
} from './harness/token_endpoint.ts';
import { CHALLENGE, CLIENTS, ISSUER, openWorld, specification, VERIFIER } from './harness/world.ts';

specification('Authorization code (RFC 6749 §4.1.3)', ON_EVERY_HOST, (spec) => {
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

  spec('RFC 9068 §2.2.1 an access token of a user says who signed in, and when', async (world) => {
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

  spec('§4.1.4 a client that is not registered for refresh_token gets no refresh token', async (world) => {
    await addClient(world, { ...CLIENTS.web, id: 'brief', grantTypes: ['authorization_code'] });
    const redirect_uri = CLIENTS.web.redirectUris[0];
    const code = await codeFor(world, { client_id: 'brief', redirect_uri, scope: 'read', ...PKCE });
    const form = { grant_type: 'authorization_code', code, redirect_uri, code_verifier: VERIFIER };
    const tokens = issued(await asClient(world, 'brief', form));
    assert.deepEqual(Object.keys(tokens), ['access_token', 'token_type', 'expires_in', 'scope']);
  });

  spec('§4.1.3 a scope has no place in the redemption of a code: it is ignored', async (world) => {
    const expected = 'openid profile email read write';
    for (const scope of ['read', 'admin openid', '"']) {
      const tokens = issued(await world.redeem(await world.code(), 'web', { scope }));
      assert.deepEqual([tokens.scope, typeof tokens.id_token], [expected, 'string'], scope);
    }
  });

  spec('§4.1.3 a public client redeems its code with only the verifier', async (world) => {
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

  spec('§4.1.2 the second redemption also revokes tokens from a rotation', async (world) => {
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
    '§4.1.2 a used code without the secret, the redirect URI or the verifier revokes nothing',
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
      assert.deepEqual(await world.redeem(code, 'web', { code_verifier: '' }), MISSING_VERIFIER);
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

  spec('§4.1.2 a used code that is presented after its expiry still revokes its tokens', async (world) => {
    const code = await world.code();
    const { access_token } = issued(await world.redeem(code));
    world.clock.advance(61);
    assert.deepEqual(await world.redeem(code), DEAD_CODE);
    assert.deepEqual(await world.alive(access_token), [false]);
  });

  spec('§5.2 a text that is no code of this server is invalid_grant', async (world) => {
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
    '§4.1.3 a user or client that was disabled in between gets nothing, even when enabled again',
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

  spec('§4.1.3 a user whom the host has disabled gets nothing', async (world) => {
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
    ];
    for (const redirect_uri of wrong) {
      assert.deepEqual(await world.redeem(code, 'web', { redirect_uri }), WRONG_REDIRECT_URI, redirect_uri);
    }
    assert.equal(world.lastReason, 'redirect_uri_mismatch');
    issued(await world.redeem(code));
  });

  spec(
    '§4.1.3 if the request omitted the redirect URI, it may be omitted or be the registered one',
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
    ];
    for (const code_verifier of wrong) {
      assert.deepEqual(await world.redeem(code, 'web', { code_verifier }), WRONG_VERIFIER, code_verifier);
    }
    assert.equal(world.lastReason, 'pkce_mismatch');
    issued(await world.redeem(code));
  });

  spec('RFC 7636 §4.6 a missing code_verifier is called missing', async (world) => {
    const code = await world.code();
    assert.deepEqual(await world.redeem(code, 'web', { code_verifier: '' }), MISSING_VERIFIER);
    assert.equal(world.lastReason, 'pkce_missing');
    issued(await world.redeem(code));
  });

  spec(
    'RFC 9700 §2.1.1 a verifier for a code without a challenge is refused, and so is a missing one for a code with a challenge',
    async (world) => {
      const redirect_uri = CLIENTS.web.redirectUris[0];
      await changeClient(world, 'web', { metadata: { insecure_allow_missing_pkce: true } });
      const plain = await codeFor(world, { client_id: 'web', scope: 'read', redirect_uri });
      assert.deepEqual(await world.redeem(plain), NO_CHALLENGE);
      assert.equal(world.lastReason, 'pkce_unexpected');
      issued(await world.redeem(plain, 'web', { code_verifier: '' }));
      assert.deepEqual(
        await world.redeem(await world.code(), 'web', { code_verifier: '' }),
        MISSING_VERIFIER,
      );
    },
  );

  spec(
    '§10.4 tokens are bound to the grant of their code: one grant ends and the next stays alive',
    async (world) => {
      const [one, other] = [await world.grant(), await world.grant()];
      await world.revoke(one.refresh_token);
      assert.deepEqual(await world.alive(one.access_token, other.access_token, other.refresh_token), [
        false,
        true,
        true,
      ]);
    },
  );
});

specification('What outlives its own expiry', ON_EVERY_HOST, (spec) => {
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

test('§4.1.3 redirect_uri may be missing if PKCE protects the code and there is only one, otherwise the error says so', async (t) => {
  const world = await openWorld(t);
  const [first, second] = ['https://one.example/cb', 'https://two.example/cb'];
  const missing = refused('invalid_grant', 'the redirect_uri is missing');
  const base = { ...CLIENTS.web, metadata: { insecure_allow_missing_pkce: true } };
  await addClient(world, { ...base, id: 'single', redirectUris: [first] });
  await addClient(world, { ...base, id: 'several', redirectUris: [first, second] });
  await addClient(world, { ...base, id: 'loopback', redirectUris: ['http://127.0.0.1/cb'] });
  const attempt = async (id: string, redirectUri: string, isPkce: boolean, sent?: string) => {
    const pkce = isPkce ? PKCE : {};
    const code = await codeFor(world, { client_id: id, scope: 'read', redirect_uri: redirectUri, ...pkce });
    const form = { grant_type: 'authorization_code', code, ...(isPkce && { code_verifier: VERIFIER }) };
    return asClient(world, id, { ...form, ...(sent !== undefined && { redirect_uri: sent }) });
  };
  assert.equal((await attempt('single', first, true)).status, 200);
  assert.equal((await attempt('single', first, true, '')).status, 200, 'an empty parameter is absent');
  assert.deepEqual(await attempt('single', first, false), missing);
  assert.deepEqual(await attempt('several', first, true), missing);
  assert.equal(world.lastReason, 'redirect_uri_missing');
  assert.equal((await attempt('loopback', 'http://127.0.0.1:4711/cb', true)).status, 200, 'another port');
  assert.deepEqual(await attempt('loopback', 'http://127.0.0.1:4711/cb', false), missing);
  for (const id of ['single', 'several'])
    assert.deepEqual(await attempt(id, first, true, second), WRONG_REDIRECT_URI);
});
