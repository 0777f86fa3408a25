// § refers to RFC 6749.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AdministrableStorage, TokenRecord } from '@grantd/core';
import { changeClient } from './harness/client_change.ts';
import { ON_EVERY_HOST } from './harness/places.ts';
import { secondServer } from './harness/second_server.ts';
import {
  DEAD_CODE,
  DEAD_REFRESH_TOKEN,
  GRACE_MS,
  HEADERS,
  issued,
  OVERTAKEN,
  refused,
} from './harness/token_endpoint.ts';
import { openWorld, secretOf, specification, type World, type WorldOptions } from './harness/world.ts';

/** An event between a check and the write that depends on it. */
const INTERFERENCES: readonly (readonly [string, (storage: AdministrableStorage) => unknown])[] = [
  ['the client is disabled', ({ setDisabled }) => setDisabled('client', 'web', true)],
  ['the user is disabled', ({ setDisabled }) => setDisabled('subject', 'alice', true)],
  [
    'the client is disabled and enabled again',
    async ({ setDisabled }) => {
      await setDisabled('client', 'web', true);
      await setDisabled('client', 'web', false);
    },
  ],
  ['all tokens of the user are revoked', ({ revokeAll }) => revokeAll({ principal: 'subject', id: 'alice' })],
  ['the session is ended', ({ revokeAll }) => revokeAll({ principal: 'session', id: 'session of alice' })],
];

/** The same storage, with an event right before it first stores tokens. */
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
      issueFrom: before(tokens.issueFrom),
    },
    authorizationCodes: { ...authorizationCodes, redeem: before(authorizationCodes.redeem) },
  };
}

specification('What comes in between (RFC 6749 §10)', ON_EVERY_HOST, (spec) => {
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
    '§4.4 nothing is issued for a client that is disabled meanwhile, even when it is enabled again',
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

  spec('§10 a token from before the time is dead, one from that time lives', async (world) => {
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

/** A server whose store answers the second lookup of a refresh token, that of the successor, in its own way. */
function withSuccessor(
  world: World,
  present: (record: TokenRecord | undefined) => TokenRecord | undefined,
  further: Partial<AdministrableStorage['tokens']> = {},
): Promise<World> {
  const { tokens } = world.storage;
  let lookups = 0;
  const getByRefreshToken = async (id: string) => {
    const record = await tokens.getByRefreshToken(id);
    lookups += 1;
    return lookups === 1 ? record : present(record ?? undefined);
  };
  return secondServer(world, {}, { ...world.storage, tokens: { ...tokens, getByRefreshToken, ...further } });
}

test('§6 a retry is refused if its successor is gone, or cannot be derived from the presented token', async (t) => {
  const world = await openWorld(t);
  const { refresh_token } = await world.grant();
  await world.rotated(refresh_token);
  const gone = await withSuccessor(world, () => undefined);
  assert.deepEqual(await gone.refresh(refresh_token), DEAD_REFRESH_TOKEN);
  assert.equal(gone.lastReason, 'no_record');
  const other = await withSuccessor(world, (record) => record && { ...record, digest: 'of another token' });
  assert.deepEqual(await other.refresh(refresh_token), DEAD_REFRESH_TOKEN);
  assert.equal(other.lastReason, 'refresh_token_inactive');
});

test('§6 nothing is issued if a concurrent request rotates the token and its record is gone afterwards', async (t) => {
  const world = await openWorld(t);
  const { refresh_token } = await world.grant();
  const server = await withSuccessor(world, () => undefined, { rotate: () => 'superseded' });
  assert.deepEqual(await server.refresh(refresh_token), OVERTAKEN);
});

test('§6 nothing is issued for a token that does not rotate while its user is disabled', async (t) => {
  const world = await openWorld(t);
  await changeClient(world, 'web', { rotateRefreshTokens: false });
  const { refresh_token } = await world.grant();
  const disable = () => world.storage.setDisabled('subject', 'alice', true);
  const server = await secondServer(world, {}, interruptedBeforeIssuing(world.storage, disable));
  assert.deepEqual(await server.refresh(refresh_token), OVERTAKEN);
});

test('§6 a retry gets its successor if the client stopped rotating in between', async (t) => {
  const world = await openWorld(t);
  const { refresh_token } = await world.grant();
  const successor = await world.rotated(refresh_token);
  await changeClient(world, 'web', { rotateRefreshTokens: false });
  assert.equal((await world.rotated(refresh_token)).refresh_token, successor.refresh_token);
});

test('§4.1.3 a malformed code is refused without a lookup', async (t) => {
  const world = await openWorld(t);
  const { authorizationCodes } = world.storage;
  const get = () => assert.fail('storage is asked');
  const server = await secondServer(
    world,
    {},
    { ...world.storage, authorizationCodes: { ...authorizationCodes, get } },
  );
  assert.deepEqual(await server.redeem('x'), DEAD_CODE);
});

test('§4.4 a client from a host that counts no generations gets its token', async (t) => {
  const world = await openWorld(t);
  const { clients } = world.storage;
  const get = async (id: string) => {
    const { generation: _, ...client } = (await clients.get(id)) ?? assert.fail();
    return client;
  };
  const server = await secondServer(world, {}, { ...world.storage, clients: { ...clients, get } });
  issued(await server.post('/token', { grant_type: 'client_credentials' }, 'machine'));
});

test('§4.1.4 a code is not used up if the ID token cannot be signed', async (t) => {
  const world = await openWorld(t);
  const code = await world.code();
  const keys: AdministrableStorage['keys'] = {
    ...world.storage.keys,
    currentKeyId: (algorithm) => {
      if (algorithm === 'ES256') throw new Error('the keys are out of reach');
      return world.storage.keys.currentKeyId(algorithm);
    },
  };
  const options = { idTokenAlgorithm: 'ES256', oidc: { getUserClaims: () => undefined } } as const;
  const server = await secondServer(world, options, { ...world.storage, keys });
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
  const beside = await failingAt(world, 'tokens', 'issueFrom');
  assert.deepEqual(await beside.refresh(refresh_token), expected);
  world.clock.nowMs += GRACE_MS;
  const family = await failingAt(world, 'tokens', 'revokeFamily');
  assert.deepEqual(await family.refresh(refresh_token), expected);
  assert.deepEqual(await world.alive(second.refresh_token), [true]);
});

test('§5.2 a rejection is a fault even if the host’s library has its own promises', async (t) => {
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
