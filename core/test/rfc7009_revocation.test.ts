// § refers to RFC 7009.
// Long: the rules of one specification, in its order.
import assert from 'node:assert/strict';
import { decodeJwt } from 'jose';
import { ON_EVERY_HOST } from './harness/places.ts';
import {
  CLIENT_REFUSED,
  errorOf,
  OPEN_JSON_HEADERS,
  OUTAGE_DESCRIPTION,
  opened,
  REVOKED,
} from './harness/responses.ts';
import { forgedWithStolenKey, withBrokenSignature } from './harness/stolen_key.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import { basic, type GrantedTokens, specification, type World } from './harness/world.ts';

const MALFORMED = ['x', 'a.b.c', '..', 'grantd_rt_short', `grantd_rt_${'A'.repeat(43)}`, 'ä', '\u0000', ' '];

function badRequest(error: string, description: string): TestResponse {
  return errorOf(400, error, description, OPEN_JSON_HEADERS);
}

specification('Revocation (RFC 7009)', ON_EVERY_HOST, (spec) => {
  // ── Tokens that end together ───────────────────────────────────────────────────────────────────────────

  spec.http('grantd §6.4 a revoked access token takes its refresh token along', async (world) => {
    const { access_token, refresh_token } = await world.grant();
    assert.deepEqual(await world.revoke(access_token), REVOKED);
    await assertDead(world, access_token, refresh_token);
  });

  spec('grantd §6.4 a revoked refresh token takes its access token along', async (world) => {
    const { access_token, refresh_token } = await world.grant();
    assert.deepEqual(await world.revoke(refresh_token), REVOKED);
    await assertDead(world, access_token, refresh_token);
  });

  spec(
    'grantd §6.4 a revoked refresh token ends every token of its grant, also after rotations',
    async (world) => {
      const first = await world.grant();
      const second = await world.rotated(first.refresh_token);
      const third = await world.rotated(second.refresh_token);
      assert.deepEqual(await world.alive(...accessTokensOf(first, second, third)), [true, true, true]);
      await world.revoke(third.refresh_token);
      for (const { access_token, refresh_token } of [first, second, third]) {
        await assertDead(world, access_token, refresh_token);
      }
    },
  );

  spec(
    'grantd §6.4 a refresh token that was rotated already still takes its whole grant along',
    async (world) => {
      const first = await world.grant();
      const second = await world.rotated(first.refresh_token);
      assert.deepEqual(await world.revoke(first.refresh_token), REVOKED);
      await assertDead(world, first.access_token, second.refresh_token);
      await assertDead(world, second.access_token, second.refresh_token);
    },
  );

  spec(
    'grantd §6.4 an access token ends the current refresh token of its family with its access token, also after several rotations',
    async (world) => {
      const first = await world.grant();
      const second = await world.rotated(first.refresh_token);
      const third = await world.rotated(second.refresh_token);
      await world.revoke(first.access_token);
      await assertDead(world, first.access_token, third.refresh_token);
      await assertDead(world, third.access_token, first.refresh_token);
      assert.deepEqual(await world.alive(second.access_token), [true], 'it is in neither of the pairs');
    },
  );

  spec(
    'grantd §6.4 the retry of a refresh within its grace leads to tokens of the same pair',
    async (world) => {
      const first = await world.grant();
      const second = await world.rotated(first.refresh_token);
      const again = await world.rotated(first.refresh_token);
      assert.equal(again.refresh_token, second.refresh_token);
      await world.revoke(again.access_token);
      await assertDead(world, second.access_token, second.refresh_token);
      await assertDead(world, again.access_token, first.refresh_token);
      assert.deepEqual(await world.alive(first.access_token), [true]);
    },
  );

  spec(
    'grantd §6.4 an access token of narrowed scope takes its family along like any other',
    async (world) => {
      const first = await world.grant();
      const narrowed = await world.rotated(first.refresh_token, { scope: 'read' });
      await world.revoke(narrowed.access_token);
      await assertDead(world, narrowed.access_token, narrowed.refresh_token);
      assert.deepEqual(await world.alive(first.access_token), [true]);
    },
  );

  spec('grantd §6.4 another grant of the same client and user stays alive', async (world) => {
    const phone = await world.grant();
    const tablet = await world.grant();
    await world.revoke(phone.refresh_token);
    assert.deepEqual(await world.alive(tablet.access_token, tablet.refresh_token), [true, true]);
    await world.revoke((await world.grant()).access_token);
    assert.equal((await world.refresh(tablet.refresh_token)).status, 200);
  });

  spec(
    'grantd §6.6 an expired access token can still be revoked, and takes its refresh token along',
    async (world) => {
      const { access_token, refresh_token } = await world.grant();
      world.clock.advance(3600);
      assert.deepEqual(await world.alive(access_token, refresh_token), [false, true]);
      assert.deepEqual(await world.revoke(access_token), REVOKED);
      await assertDead(world, access_token, refresh_token);
    },
  );

  spec(
    'grantd §6.6 an expired access token ends the current refresh token, after rotations and a sweep',
    async (world) => {
      const first = await world.grant();
      world.clock.advance(7 * 24 * 60 * 60);
      const second = await world.rotated(first.refresh_token);
      world.clock.advance(6 * 24 * 60 * 60);
      const other = await world.grant();
      const next = await world.rotated(other.refresh_token);
      await sweepAll(world);
      await world.revoke(first.access_token);
      await assertDead(world, first.access_token, second.refresh_token);
      world.clock.advance(13 * 24 * 60 * 60);
      await sweepAll(world);
      await world.revoke(next.access_token);
      await assertDead(world, next.access_token, next.refresh_token);
    },
  );

  spec(
    'grantd §6.4 a revoked token stays revoked: a repeated request gets the same response and revives no token',
    async (world) => {
      const { access_token, refresh_token } = await world.grant();
      for (const token of [access_token, access_token, refresh_token, refresh_token]) {
        assert.deepEqual(await world.revoke(token), REVOKED);
      }
      await assertDead(world, access_token, refresh_token);
    },
  );

  spec('grantd §6.4 a client’s own token is revoked alone', async (world) => {
    const [one, other] = [await world.machineToken(), await world.machineToken()];
    assert.deepEqual(await world.revoke(one, 'machine'), REVOKED);
    assert.deepEqual(await world.alive(one, other), [false, true]);
  });

  // ── Hints ──────────────────────────────────────────────────────────────────────────────────────────────

  spec(
    'grantd §6.3 the hint is advisory: absent, empty, right or wrong, the token and its pair are revoked',
    async (world) => {
      for (const kind of ['access_token', 'refresh_token'] as const) {
        for (const hint of [undefined, '', 'access_token', 'refresh_token', 'auth_code']) {
          const tokens = await world.grant();
          assert.deepEqual(await world.revoke(tokens[kind], 'web', hint), REVOKED);
          await assertDead(world, tokens.access_token, tokens.refresh_token);
        }
      }
    },
  );

  spec('grantd §6.5 a code is revoked with the hint auth_code', async (world) => {
    const code = await world.code();
    assert.deepEqual(await world.revoke(code, 'web', 'auth_code'), REVOKED);
    assert.deepEqual(await world.redeem(code), CODE_REFUSED);
  });

  spec('grantd §6.5 without the hint auth_code a code is never touched', async (world) => {
    for (const hint of [undefined, 'access_token', 'refresh_token']) {
      const code = await world.code();
      assert.deepEqual(await world.revoke(code, 'web', hint), REVOKED);
      assert.equal((await world.redeem(code)).status, 200);
    }
  });

  spec('grantd §6.5 a public client revokes its own code with the hint auth_code', async (world) => {
    const code = await world.code('alice', 'spa');
    assert.deepEqual(await world.revoke(code, 'spa', 'auth_code'), REVOKED);
    assert.deepEqual(await world.redeem(code, 'spa'), CODE_REFUSED);
  });

  spec('grantd §6.5 another client’s code stays valid, and the response reveals nothing', async (world) => {
    const code = await world.code('alice', 'spa');
    assert.deepEqual(await world.revoke(code, 'web', 'auth_code'), REVOKED);
    assert.equal(world.lastReason, 'code_foreign');
    assert.equal((await world.redeem(code, 'spa')).status, 200);
  });

  spec('grantd §6.5 a redeemed code ends what it issued', async (world) => {
    const code = await world.code();
    const { access_token, refresh_token } = JSON.parse((await world.redeem(code)).body);
    assert.deepEqual(await world.revoke(code, 'web', 'auth_code'), REVOKED);
    await assertDead(world, access_token, refresh_token);
  });

  spec.http(
    'grantd §6.5 a code that is unknown, malformed or expired is the same empty 200',
    async (world) => {
      const expired = await world.code();
      world.clock.advance(60);
      for (const code of [expired, `grantd_ac_${'A'.repeat(43)}`, 'grantd_ac_x', 'x']) {
        assert.deepEqual(await world.revoke(code, 'web', 'auth_code'), REVOKED);
      }
    },
  );

  spec('grantd §3.3 an unknown hint is 400 unsupported_token_type, and nothing is revoked', async (world) => {
    const { access_token, refresh_token } = await world.grant();
    const expected = badRequest('unsupported_token_type', 'the token_type_hint is unknown');
    for (const hint of ['id_token', 'ACCESS_TOKEN', 'authorization_code', 'toString']) {
      assert.deepEqual(await world.revoke(access_token, 'web', hint), expected);
    }
    const spaced = badRequest('unsupported_token_type', 'the token_type_hint has white space around it');
    for (const hint of ['access_token\n', ' refresh_token', 'auth_code\r\n'])
      assert.deepEqual(await world.revoke(access_token, 'web', hint), spaced);
    assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);
  });

  // ── Ignored tokens ─────────────────────────────────────────────────────────────────────────────────────

  spec('grantd §6.3 a forged JWT is ignored, and what it imitates stays alive', async (world) => {
    const { access_token, refresh_token } = await world.grant();
    for (const token of [access_token, refresh_token]) {
      assert.deepEqual(await world.revoke(withBrokenSignature(token)), REVOKED);
      assert.equal(world.lastReason, 'bad_signature');
      assert.deepEqual(await world.revoke(unsigned(token)), REVOKED);
    }
    assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);
  });

  spec(
    'grantd §6.3 a JWT signed with a stolen key and the jti of a live record is ignored',
    async (world) => {
      const { access_token, refresh_token } = await world.grant();
      for (const forged of await imitations(world, access_token, refresh_token)) {
        assert.deepEqual(await world.revoke(forged), REVOKED);
        assert.equal(world.lastReason, 'differs_from_issued');
      }
      assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);
    },
  );

  spec.http(
    'grantd §6.3 a forged JWT is ignored without client authentication too',
    async (world) => {
      const { access_token, refresh_token } = await world.grant();
      const forged = await imitations(world, access_token, refresh_token);
      for (const token of [...forged, withBrokenSignature(access_token), unsigned(refresh_token)]) {
        assert.deepEqual(await world.revoke(token, null), REVOKED);
      }
      assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);
    },
    { authenticateRevoke: false },
  );

  spec.http(
    'grantd §6.7 an unknown, malformed, forged, expired, revoked or foreign token is the same empty 200 to the byte',
    async (world) => {
      const expired = await world.grant();
      world.clock.advance(14 * 24 * 60 * 60);
      const revoked = await world.grant();
      await world.revoke(revoked.refresh_token);
      const foreign = await world.grant('bob', 'spa');
      const never = await forgedWithStolenKey(world);
      const tokens = [expired, revoked, foreign].flatMap((one) => [one.access_token, one.refresh_token]);
      for (const token of [...tokens, never, withBrokenSignature(never), revoked.id_token, ...MALFORMED]) {
        for (const hint of [undefined, 'access_token', 'refresh_token', 'auth_code']) {
          assert.deepEqual(await world.revoke(token, 'web', hint), REVOKED, JSON.stringify(token));
        }
      }
    },
  );

  spec(
    'grantd §6.2 the tokens of another client are left untouched, by either token and whatever the hint',
    async (world) => {
      const { access_token, refresh_token } = await world.grant('alice', 'spa');
      for (const hint of [undefined, 'access_token', 'refresh_token', 'auth_code']) {
        assert.deepEqual(await world.revoke(access_token, 'web', hint), REVOKED);
        assert.deepEqual(await world.revoke(refresh_token, 'machine', hint), REVOKED);
      }
      assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);
    },
  );

  spec(
    'grantd §9.1 a foreign revocation is reported as revocation_ignored, never as token_revoked',
    async (world) => {
      const { access_token } = await world.grant('alice', 'spa');
      world.events.length = 0;
      await world.revoke(access_token, 'web');
      assert.deepEqual(world.events, [
        { operation: 'revocation', clientId: 'web', type: 'revocation_ignored', reason: 'token_foreign' },
      ]);
    },
  );

  spec(
    'grantd §9.1 a revocation that happened is reported with the identifier of the token',
    async (world) => {
      const { access_token } = await world.grant();
      const { jti } = decodeJwt(access_token);
      world.events.length = 0;
      await world.revoke(access_token);
      assert.deepEqual(world.events, [
        { operation: 'revocation', clientId: 'web', type: 'token_revoked', tokenId: jti },
      ]);
    },
  );

  spec(
    'grantd §9.1 the event for a revoked code has its identifier, the one for an unknown code the reason',
    async (world) => {
      const code = await world.code();
      const order = { hint: 'auth_code' } as const;
      const result = await world.server.revokeToken(code, order);
      assert.ok(result.revoked);
      assert.deepEqual(world.events.at(-1), {
        ...{ operation: 'revocation', type: 'token_revoked' },
        tokenId: result.tokenId,
      });
      const unknown = `${code.slice(0, -2)}${code.endsWith('AA') ? 'QA' : 'AA'}`;
      const ignored = { revoked: false, reason: 'code_unknown' };
      assert.deepEqual(await world.server.revokeToken(unknown, order), ignored);
    },
  );

  spec('grantd §9.2 no event of a revocation holds a token, a code or a secret', async (world) => {
    const { access_token, refresh_token } = await world.grant();
    const code = await world.code();
    const texts = [access_token, refresh_token, code, 'the secret of web', withBrokenSignature(access_token)];
    for (const token of texts) await world.revoke(token, 'web', 'auth_code');
    await world.post('/token/revoke', {
      token: access_token,
      client_id: 'web',
      client_secret: 'the secret of web',
    });
    await world.post('/token/revoke', { token: refresh_token }, null, {
      authorization: basic('web', 'a wrong secret'),
    });
    const written = JSON.stringify(world.events);
    for (const text of [...texts, 'a wrong secret']) assert.equal(written.includes(text), false);
  });

  // ── Who may revoke ─────────────────────────────────────────────────────────────────────────────────────

  spec('grantd §6.2 a client needs no grant of its own to revoke its tokens', async (world) => {
    const { storage } = world;
    const secrets = [await world.server.operator.hashClientSecret('another secret')];
    await storage.clients.add({
      id: 'no-grants',
      secrets,
      grantTypes: [],
      scopes: ['read'],
      redirectUris: [],
    });
    const [issued] = await world.server.operator.issueTokens({
      clientId: 'no-grants',
      subject: 'alice',
      refresh: true,
    });
    const authorization = basic('no-grants', 'another secret');
    const token = issued?.refreshToken ?? '';
    assert.deepEqual(await world.post('/token/revoke', { token }, null, { authorization }), REVOKED);
    assert.deepEqual(await world.alive(token, issued?.accessToken ?? ''), [false, false]);
  });

  spec.http('grantd §6.2 a public client revokes its own tokens with only its client_id', async (world) => {
    for (const kind of ['access_token', 'refresh_token'] as const) {
      const tokens = await world.grant('alice', 'spa');
      assert.deepEqual(await world.revoke(tokens[kind], 'spa'), REVOKED);
      assert.deepEqual(await world.alive(tokens.access_token, tokens.refresh_token), [false, false]);
    }
  });

  spec.http('grantd §4.2 credentials in the form body work like Basic', async (world) => {
    const { access_token: token, refresh_token } = await world.grant();
    const form = { token, client_id: 'web', client_secret: 'the secret of web' };
    assert.deepEqual(await world.post('/token/revoke', form), REVOKED);
    await assertDead(world, token, refresh_token);
  });

  spec.http(
    'grantd §4.4 client authentication that fails is 401 invalid_client with a challenge, and nothing is revoked',
    async (world) => {
      const { access_token: token, refresh_token } = await world.grant();
      const attempts = [
        world.post('/token/revoke', { token }),
        world.post('/token/revoke', { token, client_id: 'nobody' }),
        world.post('/token/revoke', { token, client_id: 'web' }),
        world.post('/token/revoke', { token, client_id: 'web', client_secret: '' }),
        world.post('/token/revoke', { token, client_id: 'web', client_secret: 'wrong' }),
        world.post('/token/revoke', { token, client_id: 'spa', client_secret: 'none is registered' }),
        world.post('/token/revoke', { token, client_secret: 'the secret of web' }),
        world.post('/token/revoke', { token }, null, { authorization: basic('web', 'wrong') }),
        world.post('/token/revoke', { token }, null, { authorization: basic('web', '') }),
        world.post('/token/revoke', { token }, null, { authorization: basic('nobody') }),
      ];
      for (const response of await Promise.all(attempts)) assert.deepEqual(response, CLIENT_REFUSED);
      assert.deepEqual(await world.alive(token, refresh_token), [true, true]);
    },
  );

  spec.http('grantd §4.4 an unreadable Authorization header is 401 too', async (world) => {
    const { access_token: token } = await world.grant('alice', 'spa');
    const unreadable = ['Basic', 'Basic !', `Basic ${btoa('no colon')}`, 'Basic /w==', `Bearer ${token}`];
    const description = 'the Authorization header carries no Basic credentials';
    for (const authorization of unreadable) {
      const response = await world.post('/token/revoke', { token, client_id: 'spa' }, null, {
        authorization,
      });
      assert.deepEqual(response, errorOf(401, 'invalid_client', description, CLIENT_REFUSED.headers));
    }
    assert.deepEqual(await world.alive(token), [true]);
  });

  spec.http(
    'grantd §4.3 two credentials, or two client_ids, are 400 invalid_request; the same client_id twice is not',
    async (world) => {
      const { access_token: token } = await world.grant();
      const expected = badRequest('invalid_request', 'the request carries more than one client credential');
      const secret = { client_secret: 'the secret of web' };
      assert.deepEqual(
        await world.post('/token/revoke', { token, client_id: 'web', ...secret }, 'web'),
        expected,
      );
      assert.deepEqual(await world.post('/token/revoke', { token, ...secret }, 'web'), expected);
      assert.deepEqual(await world.post('/token/revoke', { token, client_id: 'spa' }, 'web'), expected);
      assert.deepEqual(await world.alive(token), [true]);
      assert.deepEqual(await world.post('/token/revoke', { token, client_id: 'web' }, 'web'), REVOKED);
      assert.deepEqual(await world.alive(token), [false]);
    },
  );

  spec('grantd §4.4 a disabled client cannot revoke, and learns no more than a stranger', async (world) => {
    const { access_token } = await world.grant();
    await world.storage.setDisabled('client', 'web', true);
    assert.deepEqual(await world.revoke(access_token), CLIENT_REFUSED);
  });

  spec(
    'grantd §4.1 without authentication only token and hint are sent, and any token is revoked',
    async (world) => {
      const [own, foreign] = [await world.grant(), await world.grant('bob', 'spa')];
      assert.deepEqual(await world.revoke(own.access_token, null), REVOKED);
      assert.deepEqual(await world.revoke(foreign.refresh_token, null, 'access_token'), REVOKED);
      await assertDead(world, own.access_token, own.refresh_token);
      assert.deepEqual(await world.alive(foreign.access_token, foreign.refresh_token), [false, false]);
      const code = await world.code();
      assert.deepEqual(await world.revoke(code, null, 'auth_code'), REVOKED);
      assert.deepEqual(await world.redeem(code), CODE_REFUSED);
    },
    { authenticateRevoke: false },
  );

  spec(
    'grantd §4.1 without authentication an unknown hint and a missing token are 400 still',
    async (world) => {
      const unknown = badRequest('unsupported_token_type', 'the token_type_hint is unknown');
      assert.deepEqual(await world.revoke('x', null, 'id_token'), unknown);
      const missing = badRequest('invalid_request', 'the parameter token is missing');
      assert.deepEqual(await world.post('/token/revoke', {}), missing);
    },
    { authenticateRevoke: false },
  );

  // ── Formats ────────────────────────────────────────────────────────────────────────────────────────────

  spec(
    'grantd §6.3 an opaque refresh token is read by getByRefreshToken and revoked with its pair',
    async (world) => {
      const first = await world.grant();
      assert.match(first.refresh_token, /^grantd_rt_/);
      const second = await world.rotated(first.refresh_token);
      assert.deepEqual(await world.revoke(second.refresh_token, 'web', 'access_token'), REVOKED);
      await assertDead(world, second.access_token, second.refresh_token);
      await assertDead(world, first.access_token, first.refresh_token);
    },
    { useOpaqueRefreshTokens: true },
  );

  spec(
    'grantd §6.3 an opaque access token is revoked with its pair',
    async (world) => {
      const first = await world.grant();
      assert.match(first.access_token, /^grantd_at_/);
      const second = await world.rotated(first.refresh_token);
      assert.deepEqual(await world.revoke(first.access_token, 'web', 'refresh_token'), REVOKED);
      await assertDead(world, first.access_token, second.refresh_token);
      assert.deepEqual(await world.alive(second.access_token), [false]);
    },
    { accessTokenFormat: 'opaque', useOpaqueRefreshTokens: true },
  );

  spec(
    'grantd §6.3 an opaque token that is cut off or changed is ignored',
    async (world) => {
      const { access_token, refresh_token } = await world.grant();
      for (const token of [access_token, refresh_token]) {
        const other = token.endsWith('A') ? 'B' : 'A';
        for (const forged of [token.slice(0, -1), `${token}A`, token.slice(0, -1) + other, token.slice(10)]) {
          assert.deepEqual(await world.revoke(forged), REVOKED);
        }
      }
      assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);
    },
    { accessTokenFormat: 'opaque', useOpaqueRefreshTokens: true },
  );

  // ── The request ────────────────────────────────────────────────────────────────────────────────────────

  spec.http('grantd §3.2 a missing or empty token is 400 invalid_request', async (world) => {
    const expected = badRequest('invalid_request', 'the parameter token is missing');
    assert.deepEqual(await world.post('/token/revoke', {}, 'web'), expected);
    assert.deepEqual(await world.revoke(''), expected);
  });

  spec.http(
    'grantd §3.1 a repeated parameter and another media type are 400 invalid_request, and nothing is revoked',
    async (world) => {
      const { access_token, refresh_token } = await world.grant();
      const form = 'application/x-www-form-urlencoded';
      const send = (body: string, contentType: string) => {
        const headers = { authorization: basic('web'), 'content-type': contentType };
        return world.send({ method: 'POST', path: '/token/revoke', headers, body });
      };
      const repeated = badRequest('invalid_request', 'a parameter is repeated');
      assert.deepEqual(await send(`token=${access_token}&token=${refresh_token}`, form), repeated);
      assert.deepEqual(await send(`token=${access_token}&token=${access_token}`, form), repeated);
      assert.deepEqual(await send(`token=${access_token}&token_type_hint=&token_type_hint=`, form), repeated);
      const mediaType = badRequest(
        'invalid_request',
        'the content type must be application/x-www-form-urlencoded',
      );
      assert.deepEqual(await send(JSON.stringify({ token: access_token }), 'application/json'), mediaType);
      assert.deepEqual(await send(`token=${access_token}`, 'text/plain'), mediaType);
      assert.deepEqual(await world.alive(access_token, refresh_token), [true, true]);
      assert.deepEqual(await send(`token=${access_token}`, `${form.toUpperCase()} ; charset=utf-8`), REVOKED);
      assert.deepEqual(await world.alive(access_token), [false]);
    },
  );

  spec.http('grantd §3.1 unknown parameters are ignored, and so is a token in the query', async (world) => {
    const { access_token: token } = await world.grant();
    const inQuery = await world.post(`/token/revoke?token=${token}`, {}, 'web');
    assert.deepEqual(inQuery, badRequest('invalid_request', 'the parameter token is missing'));
    assert.deepEqual(await world.post('/token/revoke', { token, tokn: 'x', foo: '' }, 'web'), REVOKED);
    assert.deepEqual(await world.alive(token), [false]);
  });

  spec.http('grantd §1.4 another method is 405 with Allow', async (world) => {
    const { access_token } = await world.grant();
    for (const method of ['GET', 'PUT', 'DELETE']) {
      const headers = { authorization: basic('web') };
      const response = await world.send({ method, path: `/token/revoke?token=${access_token}`, headers });
      const expected = { ...OPEN_JSON_HEADERS, allow: 'POST' };
      assert.deepEqual(response, errorOf(405, 'invalid_request', 'the method is not allowed', expected));
    }
    assert.deepEqual(await world.alive(access_token), [true]);
  });

  spec.http('grantd §3.4 a body of more than 64 KiB is 413, one of exactly 64 KiB is read', async (world) => {
    const fill = (bytes: number) => ({ token: 'x'.repeat(bytes - 'token='.length) });
    assert.deepEqual(await world.post('/token/revoke', fill(64 * 1024), 'web'), REVOKED);
    const expected = errorOf(413, 'invalid_request', 'the request body is too large', OPEN_JSON_HEADERS);
    assert.deepEqual(await world.post('/token/revoke', fill(64 * 1024 + 1), 'web'), expected);
  });

  spec.http('grantd §3.5 errors are JSON whatever Accept says, and are never cached', async (world) => {
    const response = await world.post('/token/revoke', {}, 'web', { accept: 'text/html' });
    assert.deepEqual(response, badRequest('invalid_request', 'the parameter token is missing'));
  });

  spec.http('grantd §8.5 unavailable storage is 503 with Retry-After, and never 200', async (world) => {
    const { access_token } = await world.grant();
    await world.storage.close();
    const headers = { ...OPEN_JSON_HEADERS, 'retry-after': '1' };
    const expected = errorOf(503, 'temporarily_unavailable', OUTAGE_DESCRIPTION, headers);
    assert.deepEqual(await world.revoke(access_token), expected);
  });

  // ── CORS ───────────────────────────────────────────────────────────────────────────────────────────────

  spec.http(
    'grantd §3.6 a page reads the response if its origin is that of a redirect URI of the client',
    async (world) => {
      const { access_token: token } = await world.grant('alice', 'spa');
      const form = { token, client_id: 'spa' };
      const response = await world.post('/token/revoke', form, null, { origin: 'https://spa.example' });
      assert.deepEqual(response, opened(REVOKED, 'https://spa.example'));
    },
  );

  spec('grantd §3.6 once the client is known, another client’s origin does not count', async (world) => {
    const form = { token: 'x', client_id: 'spa' };
    for (const origin of [
      'https://web.example',
      'https://evil.example',
      'https://spa.example.evil.example',
      'null',
    ]) {
      assert.deepEqual(await world.post('/token/revoke', form, null, { origin }), REVOKED);
    }
    const unknownHint = { ...form, token_type_hint: 'x' };
    const refused = await world.post('/token/revoke', unknownHint, null, { origin: 'https://web.example' });
    assert.deepEqual(refused, badRequest('unsupported_token_type', 'the token_type_hint is unknown'));
  });

  spec.http(
    'grantd §3.6 before the client is known, errors are read from the origins of any enabled client',
    async (world) => {
      const send = (origin: string) => world.post('/token/revoke', { token: 'x' }, null, { origin });
      assert.deepEqual(await send('https://web.example'), opened(CLIENT_REFUSED, 'https://web.example'));
      assert.deepEqual(await send('https://spa.example'), opened(CLIENT_REFUSED, 'https://spa.example'));
      assert.deepEqual(await send('https://evil.example'), CLIENT_REFUSED);
      await world.storage.setDisabled('client', 'spa', true);
      assert.deepEqual(await send('https://spa.example'), CLIENT_REFUSED);
    },
  );

  spec.http('grantd §3.6 a preflight succeeds only for origins of enabled clients', async (world) => {
    const preflight = (origin: string) => {
      const headers = { origin, 'access-control-request-method': 'POST' };
      return world.send({ method: 'OPTIONS', path: '/token/revoke', headers });
    };
    const refused = { status: 204, headers: { 'cache-control': 'no-store', vary: 'Origin' }, body: '' };
    const { headers } = opened(refused, 'https://spa.example');
    const allowed = {
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'Authorization, Content-Type, DPoP, MCP-Protocol-Version',
      'access-control-max-age': '600',
    };
    assert.deepEqual(await preflight('https://spa.example'), {
      ...refused,
      headers: { ...headers, ...allowed },
    });
    assert.deepEqual(await preflight('https://evil.example'), refused);
  });
});

const CODE_REFUSED = badRequest('invalid_grant', 'the authorization code is not valid');

/** All endpoints refuse both of them. */
async function assertDead(world: World, accessToken: string, refreshToken: string): Promise<void> {
  assert.deepEqual(await world.alive(accessToken, refreshToken), [false, false]);
  assert.equal((await world.userInfo(accessToken)).status, 401);
  const refused = badRequest('invalid_grant', 'the refresh token is not valid');
  assert.deepEqual(await world.refresh(refreshToken), refused);
}

function accessTokensOf(...grants: readonly GrantedTokens[]): readonly string[] {
  return grants.map((grant) => grant.access_token);
}

/** JWTs of a thief that name the records of real ones. */
async function imitations(
  world: World,
  accessToken: string,
  refreshToken: string,
): Promise<readonly string[]> {
  const [access, refresh] = [decodeJwt(accessToken), decodeJwt(refreshToken)];
  return [
    await forgedWithStolenKey(world, { jti: access.jti }),
    await forgedWithStolenKey(world, { ...access, exp: world.clock.seconds + 1 }),
    await forgedWithStolenKey(world, { jti: refresh.jti }, { typ: 'rt+jwt' }),
  ];
}

/** The token's claims without a signature, with the algorithm `none` (RFC 7518 §3.6). */
function unsigned(token: string): string {
  const header = JSON.stringify({ alg: 'none', typ: 'at+jwt' });
  return `${btoa(header).replaceAll('=', '')}.${token.split('.')[1]}.`;
}

async function sweepAll({ storage }: World): Promise<void> {
  while ((await storage.sweep(100)) > 0);
}
