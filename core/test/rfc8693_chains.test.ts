// Where tokens of a chain are used, and who tries to get more from one. § refers to RFC 8693.
import assert from 'node:assert/strict';
import { EXCHANGE_GRANT, type NewClient, tokenExchange } from '@grantd/core';
import { decodeJwt } from 'jose';
import { askForTokens, grantTo } from './harness/granting.ts';
import { ON_EVERY_STORE } from './harness/places.ts';
import { addClient, issued, refused } from './harness/token_endpoint.ts';
import { specification, type World } from './harness/world.ts';

const TYPE = 'urn:ietf:params:oauth:token-type:';

/** Each exchanges its own tokens and those for its API, and gets tokens for UserInfo and for the other one. */
const service = (id: string, next: string) =>
  ({
    ...{ id, resource: `https://${id}.example`, redirectUris: [`https://${id}.example/callback`] },
    grantTypes: [EXCHANGE_GRANT, 'authorization_code', 'refresh_token', 'client_credentials'],
    scopes: ['openid', 'email', 'read'],
    metadata: { apis: [`https://${next}.example`, `https://${id}.example`] },
  }) satisfies NewClient;

specification('Tokens of a chain', ON_EVERY_STORE, (declare) => {
  const spec = (sentence: string, run: (world: World) => Promise<void>) =>
    declare(
      sentence,
      async (world) => {
        await addClient(world, service('shop', 'stock'));
        await addClient(world, service('stock', 'shop'));
        await run(world);
      },
      { tokenExchange: tokenExchange() },
    );

  const exchange = (
    world: World,
    client: string,
    token: string,
    more: Readonly<Record<string, string>> = {},
  ) =>
    askForTokens(world, client, {
      ...{ grant_type: EXCHANGE_GRANT, subject_token: token, subject_token_type: `${TYPE}access_token` },
      ...more,
    });
  const ofUser = (world: World) =>
    grantTo(world, 'shop', { request: { scope: 'openid email read', resource: 'https://stock.example' } });

  spec(
    'UserInfo shows what the scopes of an exchanged token permit, as long as its chain lives',
    async (world) => {
      const tokens = await ofUser(world);
      const shop = issued(await exchange(world, 'shop', tokens.access_token, { scope: 'openid email' }));
      const body = JSON.parse((await world.userInfo(shop.access_token)).body);
      assert.deepEqual(body, { sub: 'alice', email: 'alice@example.org', email_verified: true });
      await world.storage.revokeAll({ principal: 'session', id: 'session of alice' });
      assert.equal((await world.userInfo(shop.access_token)).status, 401);
      assert.equal(world.lastReason, 'session_revoked');
    },
  );

  spec('a chain that begins with a refresh token ends with the family of this token', async (world) => {
    const { refresh_token } = await ofUser(world);
    const type = { subject_token_type: `${TYPE}refresh_token`, resource: 'https://stock.example' };
    const first = issued(await exchange(world, 'shop', refresh_token, { ...type, scope: 'read' }));
    const second = issued(
      await exchange(world, 'stock', first.access_token, { resource: 'https://shop.example' }),
    );
    const refresh = () => askForTokens(world, 'shop', { grant_type: 'refresh_token', refresh_token });
    issued(await refresh());
    assert.deepEqual(await world.alive(first.access_token, second.access_token), [true, true]);
    world.clock.advance(11);
    assert.equal((await refresh()).status, 400);
    assert.deepEqual(await world.alive(first.access_token, second.access_token), [false, false]);
  });

  spec('a chain with actor tokens has an end, and ends with each of them', async (world) => {
    let token = (await ofUser(world)).access_token;
    const actors: string[] = [];
    const hop = async (at: number) => {
      const [client, next] = at % 2 === 0 ? ['stock', 'shop'] : ['shop', 'stock'];
      const own = { grant_type: 'client_credentials', scope: 'read', resource: `https://${client}.example` };
      const actor = issued(await askForTokens(world, client, own)).access_token;
      actors.push(actor);
      return exchange(world, client, token, {
        ...{
          actor_token: actor,
          actor_token_type: `${TYPE}access_token`,
          resource: `https://${next}.example`,
        },
      });
    };
    for (let at = 0; at < 3; at++) token = issued(await hop(at)).access_token;
    assert.deepEqual(decodeJwt(token).act, { sub: 'stock', act: { sub: 'shop', act: { sub: 'stock' } } });
    assert.deepEqual(await hop(3), refused('invalid_request', 'the subject_token is not valid'));
    assert.equal(world.lastReason, 'exchange_too_deep');
    const [, second = ''] = actors;
    await world.server.revokeToken(second);
    assert.deepEqual(await world.alive(token), [false]);
  });

  spec('no client revokes or exchanges a token of the chain that is not its own', async (world) => {
    const { access_token: token } = await ofUser(world);
    const next = issued(await exchange(world, 'stock', token, { resource: 'https://shop.example' }));
    await world.revoke(next.access_token, 'web');
    await world.revoke(next.access_token, 'machine');
    assert.deepEqual(await world.alive(token, next.access_token), [true, true]);
    const foreign = await exchange(world, 'web', next.access_token);
    assert.equal(JSON.parse(foreign.body).error, 'unauthorized_client');
  });
});
