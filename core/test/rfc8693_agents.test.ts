// What bounds an agent, and every other client that obtains tokens by exchange. § refers to RFC 8693.
import assert from 'node:assert/strict';
import { decodeJwt } from 'jose';
import { changeClient } from './harness/client_change.ts';
import { proofOf } from './harness/dpop_proofs.ts';
import {
  BILLING,
  chainOf,
  exchange,
  exchanged,
  LEDGER,
  ORDERS,
  tokensIn,
  tokensOfUser,
  WITH_EXCHANGE,
  withServices,
} from './harness/exchanges.ts';
import { ON_MEMORY } from './harness/places.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import { specification, type World } from './harness/world.ts';

specification('Bounds of an agent', ON_MEMORY, (declare) => {
  const spec = (sentence: string, run: (world: World) => Promise<void>) =>
    declare(sentence, withServices(run), WITH_EXCHANGE);

  spec(
    'a scope of an agent needs a sign-in as its operator says, and the refusal says which',
    async (world) => {
      const policy = {
        default_acr_values: ['mfa', 'phr'],
        default_max_age: 300,
        exchange_step_up_scopes: ['write'],
      };
      for (const { id, metadata } of [ORDERS, BILLING])
        await changeClient(world, id, { metadata: { ...metadata, ...policy, kind: 'agent' } });
      const now = world.clock.seconds;
      const needed = {
        error: 'insufficient_user_authentication',
        error_description: 'a scope needs another sign-in of the user',
        ...{ acr_values: 'mfa phr', max_age: 300 },
      };
      const expectNeeded = ({ status, body }: TestResponse, reason: string) =>
        assert.deepEqual([status, JSON.parse(body), world.lastReason], [400, needed, reason]);
      const target = { resource: 'https://billing.example' };
      for (const [signIn, reason] of [
        [{}, 'acr_unmet'],
        [{ acr: 'pwd', authTime: now }, 'acr_unmet'],
        [{ acr: 'phr' }, 'sign_in_too_old'],
        [{ acr: 'phr', authTime: now - 301 }, 'sign_in_too_old'],
      ] as const) {
        const { access_token: token } = await tokensOfUser(world, {}, 'alice', signIn);
        expectNeeded(await exchange(world, 'orders', token, { ...target, scope: 'read write' }), reason);
        // A request that names no scope gets the others.
        assert.equal(decodeJwt(await exchanged(world, 'orders', token, target)).scope, 'read');
      }
      const { access_token: token } = await tokensOfUser(world, {}, 'alice', {
        acr: 'phr',
        authTime: now - 300,
      });
      const first = await exchanged(world, 'orders', token, { ...target, scope: 'write' });
      const next = { resource: 'https://ledger.example', scope: 'write' };
      await exchanged(world, 'billing', first, next);
      world.clock.advance(1);
      expectNeeded(await exchange(world, 'billing', first, next), 'sign_in_too_old');
    },
  );

  spec('an agent with bound tokens gets none without a proof of its key', async (world) => {
    const metadata = { ...ORDERS.metadata, kind: 'agent', dpop_bound_access_tokens: true } as const;
    await changeClient(world, 'orders', { metadata });
    const { access_token: token } = await tokensOfUser(world);
    const target = { audience: 'billing' };
    const { status, body } = await exchange(world, 'orders', token, target);
    assert.deepEqual([status, JSON.parse(body).error], [400, 'invalid_dpop_proof']);
    const proven = await exchange(world, 'orders', token, target, { dpop: await proofOf(world) });
    assert.equal(tokensIn(proven).token_type, 'DPoP');
    // The next service needs the proof of this key, which only the agent has.
    const bound = tokensIn(proven).access_token;
    const { status: refused } = await exchange(world, 'billing', bound, {
      resource: 'https://ledger.example',
    });
    assert.deepEqual([refused, world.lastReason], [400, 'subject_token_bound']);
  });

  spec('the lifetime of tokens of a client also bounds what is obtained from them', async (world) => {
    const lifetimeOf = (token: string) => {
      const { exp = 0, iat = 0 } = decodeJwt(token);
      return exp - iat;
    };
    await changeClient(world, 'orders', { metadata: { ...ORDERS.metadata, access_token_lifetime: 60 } });
    await changeClient(world, 'ledger', { metadata: { ...LEDGER.metadata, access_token_lifetime: 20 } });
    const { orders, billing, ledger, aside, access_token } = await chainOf(world);
    assert.deepEqual([access_token, orders, billing, ledger, aside].map(lifetimeOf), [3600, 60, 60, 20, 60]);
    const { metadata } = (await world.storage.clients.get('web')) ?? assert.fail();
    await changeClient(world, 'web', { metadata: { ...metadata, access_token_lifetime: 90 } });
    const { access_token: own, refresh_token: refresh } = await tokensOfUser(world);
    assert.deepEqual([own, (await world.rotated(refresh)).access_token].map(lifetimeOf), [90, 90]);
  });
});
