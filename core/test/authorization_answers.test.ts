// An authorization request ends with its first answer (RFC 6749).
// § refers to RFC 6749.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accepted, codeIn, redirected, refused, shown } from './harness/authorization_endpoint.ts';
import { secondServer } from './harness/second_server.ts';
import { openWorld } from './harness/world.ts';

test('§4.1.2 a request ends with its first response, whether that is a code or a refusal', async (t) => {
  const world = await openWorld(t);
  const expected = shown('invalid_request', 'the authorization request was answered before');
  for (const first of ['code', 'refusal'] as const) {
    const { parameters } = await accepted(world);
    const resumed = () => world.server.authorization.resume(parameters);
    const complete = async () => world.server.authorization.complete(await resumed(), { subject: 'alice' });
    const refuse = async () => world.server.authorization.refuse(await resumed(), 'access_denied', 'no');
    await (first === 'code' ? complete() : refuse());
    const granted = (await world.storage.grantsOf('alice')).length;
    for (const again of [complete, refuse]) {
      assert.deepEqual(await refused(again()), expected);
      assert.equal(world.lastReason, 'authorization_request_answered');
    }
    assert.equal((await world.storage.grantsOf('alice')).length, granted);
  }
});

test('§4.1.2 of several simultaneous responses one is a code', async (t) => {
  const world = await openWorld(t);
  const request = await accepted(world);
  const answers = await Promise.allSettled(
    Array.from({ length: 8 }, () => world.server.authorization.complete(request, { subject: 'alice' })),
  );
  const codes = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [codeIn(answer.value)] : []));
  assert.equal(codes.length, 1);
  assert.equal((await world.storage.grantsOf('alice')).length, 1);
  assert.equal((await world.redeem(codes[0] ?? '')).status, 200);
});

test('§4.1.2 a request cannot set its own identifier, which is stored with its parameters', async (t) => {
  const world = await openWorld(t);
  const named = { authorization_request_id: '9999999999.mine' };
  const [one, other] = [await accepted(world, named), await accepted(world, named)];
  assert.notEqual(one.parameters.authorization_request_id, other.parameters.authorization_request_id);
  assert.deepEqual(await world.server.authorization.resume(one.parameters), one);
  for (const request of [one, other])
    await world.server.authorization.complete(request, { subject: 'alice' });
  assert.equal(
    (await accepted(world, { ...named, prompt: 'none' })).parameters.authorization_request_id,
    undefined,
  );
});

test('§4.1.2 a request cannot be answered after a day, when its identifier is swept', async (t) => {
  const world = await openWorld(t);
  const request = await accepted(world);
  world.clock.advance(24 * 60 * 60 - 1);
  await world.server.authorization.resume(request.parameters);
  world.clock.advance(1);
  const expected = shown('invalid_request', 'the authorization request has expired');
  assert.deepEqual(await refused(world.server.authorization.resume(request.parameters)), expected);
  const late = world.server.authorization.complete(request, { subject: 'alice' });
  assert.deepEqual(await refused(late), expected);
  assert.equal(world.lastReason, 'authorization_request_expired');
});

test('§4.1.2 a response that storage failed to complete can be repeated', async (t) => {
  const world = await openWorld(t);
  const request = await accepted(world);
  let failures = 1;
  const { oneTimeIdentifiers } = world.storage;
  const storage = {
    ...world.storage,
    oneTimeIdentifiers: {
      take: (id: string, expiresAt: number) =>
        failures-- > 0
          ? Promise.reject(new Error('the disk is full'))
          : oneTimeIdentifiers.take(id, expiresAt),
    },
  };
  const { server } = await secondServer(world, {}, storage);
  const { status } = await refused(server.authorization.complete(request, { subject: 'alice' }));
  assert.equal(status, 503);
  const code = codeIn(await server.authorization.complete(request, { subject: 'alice' }));
  assert.equal((await world.redeem(code)).status, 200);
});

test('§4.1.2.1 if the user or session ends during the approval, the response is access_denied, and no code is left', async (t) => {
  const world = await openWorld(t);
  const approval = { subject: 'alice', isStillApproved: async () => false };
  assert.deepEqual(
    await refused(world.server.authorization.complete(await accepted(world), approval)),
    redirected('access_denied', 'the authorization was revoked'),
  );
  assert.deepEqual(await world.storage.grantsOf('alice'), []);
});

test('§4.1.2 a host runs the write of a code, and can prevent it', async (t) => {
  const world = await openWorld(t);
  const request = await accepted(world);
  const stored: string[] = [];
  const approval = {
    subject: 'alice',
    storing: async <T>(store: () => Promise<T>, { id }: { readonly id: string }) => {
      stored.push(id);
      return store();
    },
  };
  const code = codeIn(await world.server.authorization.complete(request, approval));
  assert.deepEqual(stored, [request.client.id]);
  assert.equal((await world.redeem(code)).status, 200);
  const grants = (await world.storage.grantsOf('alice')).length;
  const prevented = { subject: 'alice', storing: async () => undefined };
  assert.deepEqual(
    await refused(world.server.authorization.complete(await accepted(world), prevented)),
    redirected('access_denied', 'the authorization was revoked'),
  );
  assert.equal((await world.storage.grantsOf('alice')).length, grants);
});
