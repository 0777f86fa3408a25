// § refers to RFC 8693.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { EXCHANGE_GRANT, type NewClient, ServerSecret, StorageFault } from '@grantd/core';
import { decodeJwt } from 'jose';
import { changeClient } from './harness/client_change.ts';
import { proofOf, thumbprintOf } from './harness/dpop_proofs.ts';
import {
  ACCESS_TOKEN,
  BILLING,
  type Chain,
  chainOf,
  exchange,
  exchanged,
  LEDGER,
  living,
  ORDERS,
  TYPE,
  tokensIn,
  tokensOfUser,
  WITH_EXCHANGE,
  withServices,
} from './harness/exchanges.ts';
import { ON_EVERY_STORE, ON_MEMORY } from './harness/places.ts';
import { addClient, asClient, codeFor, issued, PKCE, refused } from './harness/token_endpoint.ts';
import { ISSUER, SECRET, specification, VERIFIER, type World, type WorldOptions } from './harness/world.ts';

const ALL = 'refresh_token access_token orders billing ledger aside';

specification('Revocation of what a token was exchanged for', ON_EVERY_STORE, (declare) => {
  const spec = (sentence: string, run: (world: World) => Promise<void>, options: WorldOptions = {}) =>
    declare(sentence, withServices(run), { ...WITH_EXCHANGE, ...options });

  const ends: readonly (readonly [string, (world: World, chain: Chain) => Promise<unknown>, string])[] = [
    ['the refresh token of the user', (world, { refresh_token }) => world.revoke(String(refresh_token)), ''],
    ['the access token of the user', (world, { access_token }) => world.revoke(access_token), ''],
    [
      'one hop',
      async (world, { orders }) => world.server.revokeToken(orders),
      'refresh_token access_token aside',
    ],
    [
      'a later hop',
      async (world, { billing }) => world.server.revokeToken(billing),
      'refresh_token access_token orders aside',
    ],
    [
      'the last hop',
      async (world, { ledger }) => world.server.revokeToken(ledger),
      'refresh_token access_token orders billing aside',
    ],
    [
      'the user',
      (world) => world.storage.revokeAll({ principal: 'subject', id: 'alice' }) as Promise<unknown>,
      '',
    ],
    [
      'a client on the way',
      (world) => world.storage.revokeAll({ principal: 'client', id: 'orders' }) as Promise<unknown>,
      'refresh_token access_token',
    ],
    [
      'a later client, disabled',
      (world) => world.storage.setDisabled('client', 'billing', true) as Promise<unknown>,
      'refresh_token access_token orders aside',
    ],
    [
      'the first client',
      (world) => world.storage.revokeAll({ principal: 'client', id: 'web' }) as Promise<unknown>,
      '',
    ],
    [
      'all grants of the first client',
      (world) => world.storage.revokeGrants('alice', 'web') as Promise<unknown>,
      '',
    ],
    [
      'the disabled user',
      (world) => world.storage.setDisabled('subject', 'alice', true) as Promise<unknown>,
      '',
    ],
    [
      'what a client on the way has for the user',
      (world) => world.storage.revokeGrants('alice', 'orders') as Promise<unknown>,
      'refresh_token access_token',
    ],
    [
      'what a later client has for the user',
      (world) => world.storage.revokeGrants('alice', 'billing') as Promise<unknown>,
      'refresh_token access_token orders aside',
    ],
    [
      'what the last client has for the user',
      (world) => world.storage.revokeGrants('alice', 'ledger') as Promise<unknown>,
      'refresh_token access_token orders billing aside',
    ],
    ['the removed first client', async (world) => world.storage.clients.remove('web'), ''],
    [
      'a client on the way that is removed and added again',
      async (world) => {
        await world.storage.clients.remove('orders');
        await addClient(world, ORDERS);
      },
      'refresh_token access_token',
    ],
    [
      'a client on the way that is enabled again',
      async (world) => {
        await world.storage.setDisabled('client', 'orders', true);
        await world.storage.setDisabled('client', 'orders', false);
      },
      'refresh_token access_token',
    ],
  ];
  for (const [what, end, left] of ends)
    spec(`the end of ${what} ends everything below, and nothing else`, async (world) => {
      // Generations of clients have nothing to do with each other: those of the services are ahead.
      for (const { id } of [ORDERS, BILLING, LEDGER])
        await world.storage.revokeAll({ principal: 'client', id });
      const chain = await chainOf(world);
      const other = await chainOf(world);
      assert.equal(await living(world, chain), ALL);
      const clients = (await world.storage.grantsOf('alice')).map(({ clientId }) => clientId);
      assert.deepEqual(clients, ['web', 'web']);
      await end(world, chain);
      assert.equal(await living(world, chain), left);
      const concernsAll = /user$|client/.test(what) && !/token/.test(what);
      assert.equal(await living(world, other), concernsAll ? left : ALL);
    });

  spec('a refresh ends nothing, its later end everything', async (world) => {
    const chain = await chainOf(world);
    const next = await world.rotated(String(chain.refresh_token));
    assert.equal(await living(world, chain), ALL.replace('refresh_token ', ''));
    await world.revoke(String(next.refresh_token));
    assert.equal(await living(world, chain), '');
  });

  spec('a stolen refresh token, used twice, ends everything', async (world) => {
    const chain = await chainOf(world);
    await world.rotated(String(chain.refresh_token));
    world.clock.advance(11);
    assert.equal((await world.refresh(String(chain.refresh_token))).status, 400);
    assert.equal(await living(world, chain), '');
  });

  spec('an exchanged refresh token passes its end on, and its rotation does not', async (world) => {
    const { refresh_token: first = '' } = await tokensOfUser(world);
    await changeClient(world, 'web', { grantTypes: ['authorization_code', 'refresh_token', EXCHANGE_GRANT] });
    const type = { subject_token_type: `${TYPE}refresh_token` };
    const token = await exchanged(world, 'web', first, type);
    const next = await world.rotated(first);
    assert.deepEqual(await world.alive(token), [true]);
    assert.deepEqual(await exchange(world, 'web', first, type), refusedToken);
    await world.revoke(String(next.refresh_token));
    assert.deepEqual(await world.alive(token), [false]);
  });

  spec('an ancestor that cannot be looked up is an outage, and no end', async (world) => {
    const chain = await chainOf(world);
    const { tokens } = world.storage;
    const { getByAccessToken } = tokens;
    const ancestor = decodeJwt(chain.access_token).jti;
    tokens.getByAccessToken = (id) => {
      if (id === ancestor) throw new StorageFault(new Error('storage is away'));
      return getByAccessToken.call(tokens, id);
    };
    const exchanging = exchange(world, 'billing', chain.orders, { resource: 'https://ledger.example' });
    for (const answer of [world.introspect(chain.ledger), exchanging, world.introspect(chain.access_token)])
      assert.equal((await answer).status, 503);
    tokens.getByAccessToken = getByAccessToken;
    assert.equal(await living(world, chain), ALL);
  });

  spec('a token that ends while it is exchanged has no living descendant', async (world) => {
    const { access_token: token } = await tokensOfUser(world);
    const { issue } = world.storage.tokens;
    // As a request of another process would, between the check and the write.
    world.storage.tokens.issue = async (tokens, basis) => {
      world.storage.tokens.issue = issue;
      await world.server.revokeToken(token);
      return issue.call(world.storage.tokens, tokens, basis);
    };
    const response = await exchange(world, 'orders', token, { audience: 'billing' });
    assert.deepEqual(response, refused('invalid_grant', 'the grant is no longer valid'));
    assert.equal(world.lastReason, 'issuance_overtaken');
  });

  spec(
    'an exchange that is under way when a user ends its client gets nothing, nor a later one',
    async (world) => {
      const target = { audience: 'billing' };
      const ended = refused('invalid_grant', 'the grant is no longer valid');
      const { access_token: token } = await tokensOfUser(world);
      const { access_token: ofAnother } = await tokensOfUser(world, {}, 'bob');
      const { issue } = world.storage.tokens;
      world.storage.tokens.issue = async (tokens, basis) => {
        world.storage.tokens.issue = issue;
        await world.storage.revokeGrants('alice', 'orders');
        return issue.call(world.storage.tokens, tokens, basis);
      };
      for (const _ of ['under way', 'later']) {
        assert.deepEqual(await exchange(world, 'orders', token, target), ended);
        assert.equal(world.lastReason, 'exchanges_ended');
      }
      await exchanged(world, 'orders', ofAnother, target);
      world.clock.advance(1);
      const { access_token: later } = await tokensOfUser(world);
      await exchanged(world, 'orders', later, target);
    },
  );
});

const refusedToken = refused('invalid_request', 'the subject_token is not valid');

specification('Token exchange (RFC 8693)', ON_MEMORY, (declare) => {
  const spec = (sentence: string, run: (world: World) => Promise<void>, options: WorldOptions = {}) =>
    declare(sentence, withServices(run), { ...WITH_EXCHANGE, ...options });

  spec('§2.2.1 the response names the type of the token, which is for the next API', async (world) => {
    const { access_token: token } = await tokensOfUser(world);
    const response = await exchange(world, 'orders', token, { audience: 'billing', scope: 'read' });
    const { access_token: exchanged, ...others } = JSON.parse(response.body);
    assert.deepEqual(others, {
      issued_token_type: ACCESS_TOKEN,
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'read',
    });
    const { sub, aud, client_id, act, scope } = decodeJwt(exchanged);
    assert.deepEqual(
      { sub, aud, client_id, act, scope },
      {
        ...{ sub: 'alice', aud: 'https://billing.example', client_id: 'orders' },
        ...{ act: { sub: 'orders' }, scope: 'read' },
      },
    );
  });

  spec('§4.1 each hop wraps the actors before, and introspection shows them', async (world) => {
    const { ledger } = await chainOf(world);
    const act = { sub: 'ledger', act: { sub: 'billing', act: { sub: 'orders' } } };
    assert.deepEqual(decodeJwt(ledger).act, act);
    assert.deepEqual(JSON.parse((await world.introspect(ledger)).body).act, act);
  });

  spec('§1.1 an operator can let a client impersonate', async (world) => {
    await changeClient(world, 'orders', { metadata: { ...ORDERS.metadata, exchange_impersonates: true } });
    const { access_token: token } = await tokensOfUser(world);
    assert.equal(decodeJwt(await exchanged(world, 'orders', token, { audience: 'billing' })).act, undefined);
  });

  spec(
    '§2.1 scopes, lifetime and audience never go beyond the subject token, the client and the API',
    async (world) => {
      const { access_token: narrow } = await tokensOfUser(world, { scope: 'openid read' });
      const wider = await exchange(world, 'orders', narrow, { audience: 'billing', scope: 'write' });
      assert.deepEqual(wider, refused('invalid_scope', 'a scope is not allowed'));
      const personal = await exchange(world, 'orders', narrow, { audience: 'billing', scope: 'openid' });
      assert.deepEqual(personal, refused('invalid_scope', 'a scope is not allowed'));
      assert.equal(
        decodeJwt(await exchanged(world, 'orders', narrow, { audience: 'billing' })).scope,
        'read',
      );

      for (const target of [
        { resource: 'https://ledger.example' },
        { audience: 'ledger' },
        { audience: 'web' },
        { audience: 'https://unknown.example' },
      ]) {
        const { status, body } = await exchange(world, 'orders', narrow, target);
        assert.deepEqual([status, JSON.parse(body).error], [400, 'invalid_target'], JSON.stringify(target));
      }

      world.clock.advance(3000);
      const late = decodeJwt(await exchanged(world, 'orders', narrow, { audience: 'billing' }));
      assert.equal(late.exp, decodeJwt(narrow).exp);
    },
  );

  spec('§2.1 several audiences and resources become one audience', async (world) => {
    const { access_token: token } = await tokensOfUser(world);
    const body = new URLSearchParams({
      ...{ grant_type: EXCHANGE_GRANT, subject_token: token, subject_token_type: ACCESS_TOKEN },
      audience: 'billing',
    });
    body.append('audience', 'https://mail.example/v1');
    body.append('resource', 'https://billing.example');
    await changeClient(world, 'api', { resource: 'https://mail.example/v1' });
    const { headers } = await exchange(world, 'orders', token, { audience: 'billing' });
    assert.ok(headers);
    const response = await world.send({
      ...{ method: 'POST', path: '/token', body: body.toString() },
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Basic ${btoa('orders:the+secret+of+orders')}`,
      },
    });
    assert.deepEqual(decodeJwt(issued(response).access_token).aud, [
      'https://billing.example',
      'https://mail.example/v1',
    ]);
  });

  spec('§2.2.2 what is no living token of its type is refused as a bad request', async (world) => {
    const { access_token: token, refresh_token: refresh = '', id_token: id = '' } = await tokensOfUser(world);
    const dead = (await tokensOfUser(world)).access_token;
    await world.server.revokeToken(dead);
    for (const [what, other] of Object.entries({ nonsense: 'nonsense', dead, refresh, id }))
      assert.deepEqual(await exchange(world, 'orders', other), refusedToken, what);
    for (const type of [`${TYPE}saml2`, 'access_token'])
      assert.deepEqual(
        await exchange(world, 'orders', token, { subject_token_type: type }),
        refused('invalid_request', 'the token type is not supported'),
      );
    for (const type of [`${TYPE}refresh_token`, `${TYPE}id_token`, 'urn:x'])
      assert.deepEqual(
        await exchange(world, 'orders', token, { requested_token_type: type }),
        refused('invalid_request', 'the token type is not supported'),
      );
    for (const name of ['subject_token', 'subject_token_type'])
      assert.deepEqual(
        await exchange(world, 'orders', token, { [name]: '' }),
        refused('invalid_request', `the parameter ${name} is missing`),
      );
    assert.deepEqual(
      await exchange(world, 'orders', token, { actor_token_type: ACCESS_TOKEN }),
      refused('invalid_request', 'actor_token_type needs an actor_token'),
    );
  });

  spec(
    'a client exchanges only its own tokens, those for its API, and those of named clients',
    async (world) => {
      const { access_token: token, refresh_token: refresh = '' } = await tokensOfUser(world);
      const target = { resource: 'https://ledger.example' };
      assert.deepEqual(await exchange(world, 'billing', token, target), refusedToken);
      assert.equal(world.lastReason, 'exchange_not_allowed');
      await changeClient(world, 'billing', {
        metadata: { ...BILLING.metadata, exchange_tokens_of: ['web'] },
      });
      await exchanged(world, 'billing', token, target);
      // A refresh token is for its client alone.
      const type = { subject_token_type: `${TYPE}refresh_token` };
      assert.deepEqual(await exchange(world, 'billing', refresh, { ...target, ...type }), refusedToken);
      assert.equal(world.lastReason, 'exchange_not_allowed');
      assert.equal((await exchange(world, 'web', token)).status, 400);
      assert.equal(world.lastReason, 'grant_not_allowed');
    },
  );

  spec('a client that registered itself and a public one exchange nothing', async (world) => {
    const { access_token: token } = await tokensOfUser(world);
    await addClient(world, { ...ORDERS, id: 'registered', registeredAt: 1 });
    const response = await exchange(world, 'registered', token, { audience: 'billing' });
    assert.deepEqual(
      response,
      refused('unauthorized_client', 'a client that registered itself exchanges no tokens'),
    );
    await addClient(world, { ...ORDERS, id: 'public' }, true);
    const form = { grant_type: EXCHANGE_GRANT, subject_token: token, subject_token_type: ACCESS_TOKEN };
    assert.deepEqual(
      await world.post('/token', { ...form, client_id: 'public' }),
      refused('unauthorized_client', 'only confidential clients may use this grant'),
    );
  });

  spec('a bound token needs the proof of its key, unless an operator allows it without', async (world) => {
    const target = { resource: 'https://billing.example' };
    const request = {
      ...{ client_id: 'web', redirect_uri: 'https://web.example/callback', ...PKCE },
      ...{ scope: 'read', resource: 'https://api.example', dpop_jkt: await thumbprintOf() },
    };
    const code = await codeFor(world, request);
    const form = { grant_type: 'authorization_code', redirect_uri: request.redirect_uri, code };
    const dpop = async () => ({ dpop: await proofOf(world) });
    const bound = tokensIn(await asClient(world, 'web', { ...form, code_verifier: VERIFIER }, await dpop()));
    assert.equal(bound.token_type, 'DPoP');
    assert.deepEqual(await exchange(world, 'orders', bound.access_token, target), refusedToken);
    assert.equal(world.lastReason, 'subject_token_bound');
    const proven = tokensIn(await exchange(world, 'orders', bound.access_token, target, await dpop()));
    assert.equal(proven.token_type, 'DPoP');
    await changeClient(world, 'orders', { metadata: { ...ORDERS.metadata, exchange_without_proof: true } });
    assert.equal(issued(await exchange(world, 'orders', bound.access_token, target)).token_type, 'Bearer');
  });

  let permitted: unknown;
  for (const place of ['access_token', 'introspection'] as const)
    spec(
      `§4.4 may_act names the only actor, in ${place}`,
      async (world) => {
        for (const [value, status] of [
          [{ sub: 'billing' }, 400],
          ['orders', 400],
          [{}, 400],
          [{ sub: 'orders', iss: 'https://other.example' }, 400],
          [{ sub: 'orders', iss: ISSUER }, 200],
          [{ sub: 'orders' }, 200],
        ] as const) {
          permitted = value;
          const { access_token: token } = await tokensOfUser(world);
          const response = await exchange(world, 'orders', token, { audience: 'billing' });
          assert.equal(response.status, status, JSON.stringify(value));
          if (status === 400)
            assert.deepEqual(response, refused('invalid_request', 'the subject_token permits another actor'));
        }
      },
      {
        applicationClaims: {
          claims: { may_act: { in: [place] } },
          valuesOf: () => ({ may_act: permitted }),
        },
      },
    );

  spec('a client gets no JWT if an operator has made its tokens opaque', async (world) => {
    const { access_token: token } = await tokensOfUser(world);
    const wanted = { audience: 'billing', requested_token_type: `${TYPE}jwt` };
    decodeJwt(await exchanged(world, 'orders', token, wanted));
    await changeClient(world, 'orders', { accessTokenFormat: 'opaque' });
    assert.deepEqual(
      await exchange(world, 'orders', token, wanted),
      refused('invalid_request', 'the token type is not supported'),
    );
  });

  spec('§2.1 a request has at most ten audiences', async (world) => {
    const { access_token: token } = await tokensOfUser(world);
    const audience = Array.from({ length: 11 }, (_, at) => `api-${at}`).join('\n');
    assert.deepEqual(
      await exchange(world, 'orders', token, { audience }),
      refused('invalid_target', 'the request names more than ten audiences'),
    );
  });

  spec('followers get the keys of everything that can end a token', async (world) => {
    const secret = await new ServerSecret<'ending_key'>(SECRET).key('ending_key');
    const keyOf = (...words: readonly string[]) =>
      createHmac('sha256', secret).update(words.join('\n')).digest('base64url').slice(0, 8);
    const keysIn = (token: string) => decodeJwt(token).ending_keys;
    const form = { grant_type: 'client_credentials', resource: 'https://api.example' };
    const machine = issued(await asClient(world, 'machine', form)).access_token;
    const first = await exchanged(world, 'orders', machine, { audience: 'billing' });
    const ofMachine = [keyOf('client', 'machine'), keyOf('grant', 'machine', 'machine')];
    // Events name clients that act for themselves, not the subject of their tokens.
    const ofOrders = keyOf('grant', 'orders', 'orders');
    assert.deepEqual(keysIn(first), [...ofMachine, ofOrders]);
    const second = await exchanged(world, 'billing', first, { audience: 'ledger' });
    assert.deepEqual(keysIn(second), [
      ...[...ofMachine, ofOrders, keyOf('client', 'orders'), keyOf('grant', 'billing', 'billing')],
    ]);

    const { access_token: token } = await tokensOfUser(world);
    const { access_token: actor } = await tokensOfUser(world, {}, 'bob');
    const metadata = { exchange_user_actors: true };
    await changeClient(world, 'web', { grantTypes: ['authorization_code', EXCHANGE_GRANT], metadata });
    const more = { actor_token: actor, actor_token_type: ACCESS_TOKEN };
    assert.deepEqual(keysIn(await exchanged(world, 'web', token, more)), [
      ...[keyOf('client', 'web'), keyOf('grant', 'web', 'alice'), keyOf('grant', 'web', 'bob')],
      keyOf('subject', 'bob'),
    ]);
  });

  spec('a bound actor token needs the proof of its key', async (world) => {
    const { access_token: token } = await tokensOfUser(world);
    await changeClient(world, 'orders', { grantTypes: [EXCHANGE_GRANT, 'client_credentials'] });
    const form = { grant_type: 'client_credentials' };
    const dpop = async () => ({ dpop: await proofOf(world) });
    const { access_token: actor } = tokensIn(await asClient(world, 'orders', form, await dpop()));
    const more = { audience: 'billing', actor_token: actor, actor_token_type: ACCESS_TOKEN };
    assert.deepEqual(
      await exchange(world, 'orders', token, more),
      refused('invalid_request', 'the actor_token is not valid'),
    );
    assert.equal(tokensIn(await exchange(world, 'orders', token, more, await dpop())).token_type, 'DPoP');
  });

  spec(
    '§2.1 an actor token is one of the client itself, and its end ends what it acted for',
    async (world) => {
      const { access_token: token } = await tokensOfUser(world);
      await changeClient(world, 'orders', { grantTypes: [EXCHANGE_GRANT, 'client_credentials'] });
      const actor = issued(
        await asClient(world, 'orders', { grant_type: 'client_credentials' }),
      ).access_token;
      const target = { audience: 'billing', actor_token_type: ACCESS_TOKEN };
      const foreign = await exchange(world, 'orders', token, {
        ...target,
        actor_token: await world.machineToken(),
      });
      assert.deepEqual(foreign, refused('invalid_request', 'the actor_token is not valid'));
      const result = await exchanged(world, 'orders', token, { ...target, actor_token: actor });
      assert.deepEqual(decodeJwt(result).act, { sub: 'orders' });
      await world.server.revokeToken(actor);
      assert.deepEqual(await world.alive(result, token), [false, true]);
    },
  );

  spec(
    '§2.1 a user is an actor only if an operator allows it, and only by a token that was not exchanged',
    async (world) => {
      const grants = { grantTypes: ['authorization_code', EXCHANGE_GRANT] } satisfies Partial<NewClient>;
      await changeClient(world, 'web', grants);
      const { access_token: token } = await tokensOfUser(world);
      const { access_token: actor } = await tokensOfUser(world, {}, 'bob');
      const more = { actor_token: actor, actor_token_type: ACCESS_TOKEN };
      const refusedActor = refused('invalid_request', 'the actor_token is not valid');
      assert.deepEqual(await exchange(world, 'web', token, more), refusedActor);
      assert.equal(world.lastReason, 'exchange_not_allowed');
      await changeClient(world, 'web', { ...grants, metadata: { exchange_user_actors: true } });
      const result = await exchanged(world, 'web', token, more);
      assert.deepEqual(decodeJwt(result).act, { sub: 'bob' });
      const again = await exchanged(world, 'web', actor);
      assert.equal(decodeJwt(again).act, undefined);
      assert.deepEqual(await exchange(world, 'web', token, { ...more, actor_token: again }), refusedActor);
      await world.storage.setDisabled('subject', 'bob', true);
      assert.deepEqual(await world.alive(result, token), [false, true]);
      assert.deepEqual(await exchange(world, 'web', token, more), refusedActor);
    },
  );

  spec('a token that impersonates another client does not make this client the actor', async (world) => {
    const metadata = { ...ORDERS.metadata, exchange_impersonates: true };
    await changeClient(world, 'orders', { metadata });
    const form = { grant_type: 'client_credentials', resource: 'https://api.example' };
    const machine = issued(await asClient(world, 'machine', form)).access_token;
    const actor = await exchanged(world, 'orders', machine, { audience: 'billing' });
    const { sub, act } = decodeJwt(actor);
    assert.deepEqual([sub, act], ['machine', undefined]);
    const { access_token: token } = await tokensOfUser(world);
    assert.deepEqual(
      await exchange(world, 'orders', token, {
        ...{ audience: 'billing', actor_token: actor, actor_token_type: ACCESS_TOKEN },
      }),
      refused('invalid_request', 'the actor_token is not valid'),
    );
  });

  spec('a client that acts for itself stays the one that the token is about', async (world) => {
    const form = { grant_type: 'client_credentials', resource: 'https://api.example' };
    const token = issued(await asClient(world, 'machine', form)).access_token;
    const result = decodeJwt(await exchanged(world, 'orders', token, { audience: 'billing' }));
    assert.deepEqual([result.sub, result.client_id, result.act], ['machine', 'orders', { sub: 'orders' }]);
  });

  spec('a chain has an end', async (world) => {
    let { access_token: token } = await tokensOfUser(world);
    const targets = { orders: 'billing', billing: 'ledger', ledger: 'orders' } as const;
    for (const client of ['orders', 'billing', 'ledger', 'orders', 'billing'] as const)
      token = await exchanged(world, client, token, { audience: targets[client] });
    assert.deepEqual(await exchange(world, 'ledger', token, { audience: 'orders' }), refusedToken);
    assert.equal(world.lastReason, 'exchange_too_deep');
  });
});
