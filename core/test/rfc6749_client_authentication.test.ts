// § refers to RFC 6749.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import type { AdministrableStorage, ClientSecretRecord } from '@grantd/core';
import { counted } from './harness/counted_calls.ts';
import { ON_EVERY_STORE } from './harness/places.ts';
import { secondServer } from './harness/second_server.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import {
  basic,
  CLIENTS,
  ISSUER,
  openWorld,
  SECRET,
  secretOf,
  specification,
  type World,
} from './harness/world.ts';

const JSON_HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store' };
const CHALLENGE = { 'www-authenticate': `Basic realm="${ISSUER}", charset="UTF-8"` };
const ENDPOINTS = [
  { path: '/token', headers: { ...JSON_HEADERS, vary: 'Origin' } },
  { path: '/token/introspect', headers: JSON_HEADERS },
  { path: '/token/revoke', headers: { ...JSON_HEADERS, vary: 'Origin' } },
];
const FAILED = '{"error":"invalid_client","error_description":"client authentication failed"}';
const MALFORMED = JSON.stringify({
  error: 'invalid_client',
  error_description: 'the Authorization header carries no Basic credentials',
});
const REPEATED = JSON.stringify({
  error: 'invalid_request',
  error_description: 'the request carries more than one client credential',
});
const NEW_SECRET = 'the secret that follows it, with more than 32 characters';

/** The same parameters at every endpoint that authenticates clients. An authenticated client gets 200. */
async function everywhere(
  world: World,
  parameters: Readonly<Record<string, string>>,
  authorization?: string,
): Promise<readonly TestResponse[]> {
  const form = { grant_type: 'client_credentials', token: 'no token at all', ...parameters };
  const headers = authorization === undefined ? {} : { authorization };
  return Promise.all(ENDPOINTS.map(({ path }) => world.post(path, form, null, headers)));
}

function assertAdmitted(responses: readonly TestResponse[], message = 'a client that gets in'): void {
  assert.deepEqual(
    responses.map(({ status }) => status),
    [200, 200, 200],
    message,
  );
}

function assertRefused(responses: readonly TestResponse[], body = FAILED, message = 'a refusal'): void {
  const expected = ENDPOINTS.map(({ headers }) => ({
    status: 401,
    headers: { ...headers, ...CHALLENGE },
    body,
  }));
  assert.deepEqual(responses, expected, message);
}

/** A client with its own secret that may introspect, revoke and use client_credentials. */
async function addClient(world: World, id: string, secret: string): Promise<void> {
  const secrets = [await world.server.operator.hashClientSecret(secret)];
  await world.storage.clients.add({ ...CLIENTS.machine, id, secrets });
}

async function replaceSecrets(
  { storage }: World,
  id: string,
  secrets: readonly ClientSecretRecord[],
): Promise<void> {
  const client = await storage.clients.get(id);
  assert.equal(await storage.clients.replaceSecrets(id, secrets, client ?? {}), true);
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** The encoding of identifier and secret by RFC 6749 §2.3.1. */
function formEncoded(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}

specification('Client authentication (RFC 6749 §2.3)', ON_EVERY_STORE, (spec) => {
  spec.http('§2.3.1 the scheme Basic is known in any case, with any number of spaces', async (world) => {
    const credentials = base64(`machine:${encodeURIComponent(secretOf('machine'))}`);
    for (const start of ['Basic ', 'basic ', 'BASIC ', 'bAsIc   ']) {
      assertAdmitted(await everywhere(world, {}, start + credentials), start);
    }
  });

  spec.http('§2.3.1 identifier and secret are form-decoded, whatever characters they have', async (world) => {
    const secrets = ['a:b', 'a+b', 'a%b', '100%', '%41', 'a b', '::', '&=?#', 'geheim-ä€😀', 'ends with :'];
    for (const [index, secret] of secrets.entries()) {
      const id = `the +1%: client ${index}`;
      await addClient(world, id, secret);
      const credentials = base64(`${formEncoded(id)}:${formEncoded(secret)}`);
      assertAdmitted(await everywhere(world, {}, `Basic ${credentials}`), secret);
    }
    assert.equal(
      world.events.some(({ type }) => type === 'client_secret_not_decoded'),
      false,
    );
  });

  spec('§2.3.1 credentials are split at the first colon', async (world) => {
    await addClient(world, 'colons', 'one:two::three');
    assertAdmitted(await everywhere(world, {}, `Basic ${base64('colons:one:two::three')}`));
  });

  spec('§2.3.1 a secret that was not encoded is accepted with an event', async (world) => {
    for (const [index, secret] of ['a+b', '%41bc', 'a%20b+%'].entries()) {
      const id = `unencoded-${index}`;
      await addClient(world, id, secret);
      world.events.length = 0;
      assertAdmitted(await everywhere(world, {}, `Basic ${base64(`${id}:${secret}`)}`), secret);
      const told = world.events.filter(({ type }) => type === 'client_secret_not_decoded');
      const isChanged = secret !== 'a%20b+%'; // it is not valid form encoding, so it is not decoded
      assert.deepEqual(
        told.map(({ clientId }) => clientId),
        isChanged ? [id, id, id] : [],
      );
    }
  });

  spec.http('§2.3.1 credentials in the body work like Basic', async (world) => {
    assertAdmitted(await everywhere(world, { client_id: 'machine', client_secret: secretOf('machine') }));
    await addClient(world, 'odd', 'a+b:%41 ä');
    assertAdmitted(await everywhere(world, { client_id: 'odd', client_secret: 'a+b:%41 ä' }));
  });

  spec('§2.3.1 a client whose stored hash is empty is let in by no secret', async (world) => {
    await addClient(world, 'hashless', 'x');
    await replaceSecrets(world, 'hashless', [{ hash: '' }]);
    for (const secret of ['anything', secretOf('machine'), '-'])
      assertRefused(await everywhere(world, {}, `Basic ${base64(`hashless:${secret}`)}`));
    assertAdmitted(await everywhere(world, {}, basic('machine')));
    const [id, secret] = ['hashless', formEncoded(secretOf('machine'))];
    assertRefused(await everywhere(world, {}, `Basic ${base64(`${id}:${secret}`)}`));
  });

  spec(
    '§2.3.1 once another secret is stored, the old one is refused and the new one accepted',
    async (world) => {
      await addClient(world, 'changing', 'the previous one');
      const authorized = (secret: string) =>
        everywhere(world, {}, `Basic ${base64(`changing:${formEncoded(secret)}`)}`);
      assertAdmitted(await authorized('the previous one'));
      assertAdmitted(await authorized('the previous one'));
      await replaceSecrets(world, 'changing', [await world.server.operator.hashClientSecret('the new one')]);
      assertRefused(await authorized('the previous one'));
      assertAdmitted(await authorized('the new one'));
      assertRefused(await authorized('the previous one'));
    },
  );

  spec('§2.3.1 a secret that was right for one client is wrong for another, and for none', async (world) => {
    const secret = formEncoded(secretOf('machine'));
    assertAdmitted(await everywhere(world, {}, basic('machine')));
    for (const id of ['api', 'unknown'])
      assertRefused(await everywhere(world, {}, `Basic ${base64(`${id}:${secret}`)}`));
  });

  spec.http('§2.3 a secret in the body with Basic is 400, even if both are right', async (world) => {
    const right = { client_id: 'machine', client_secret: secretOf('machine') };
    const expected = ENDPOINTS.map(({ headers }) => ({ status: 400, headers, body: REPEATED }));
    assert.deepEqual(await everywhere(world, right, basic('machine')), expected);
    assert.deepEqual(
      await everywhere(world, { client_secret: secretOf('machine') }, basic('machine')),
      expected,
    );
  });

  spec('§2.3 two different identifiers are 400', async (world) => {
    const expected = ENDPOINTS.map(({ headers }) => ({ status: 400, headers, body: REPEATED }));
    assert.deepEqual(await everywhere(world, { client_id: 'spa' }, basic('machine')), expected);
    assert.deepEqual(await everywhere(world, { client_id: 'MACHINE' }, basic('machine')), expected);
  });

  spec.http(
    '§2.3 the same identifier in Basic and in the body is allowed, an empty one is ignored',
    async (world) => {
      assertAdmitted(await everywhere(world, { client_id: 'machine' }, basic('machine')));
      assertAdmitted(await everywhere(world, { client_id: '', client_secret: '' }, basic('machine')));
    },
  );

  spec.http(
    '§5.2 an Authorization header that cannot be read as Basic is 401 with a challenge',
    async (world) => {
      const unreadable = [
        'Basic',
        'Basic !',
        'Basic =',
        `Basic ${base64('no colon')}`,
        'Basic machine:secret',
        `Basic ${btoa('machine:\u00ff')}`, // not UTF-8
        `Basic ${base64('machine:x')} y`,
        'Bearer x',
        'Digest username="machine"',
        base64(`machine:${secretOf('machine')}`),
      ];
      for (const header of unreadable) assertRefused(await everywhere(world, {}, header), MALFORMED, header);
      const rightBody = { client_id: 'machine', client_secret: secretOf('machine') };
      assertRefused(await everywhere(world, rightBody, 'Bearer x'), MALFORMED);
    },
  );

  spec.http(
    '§5.2 whatever was wrong with the credentials, the response is the same 401 with a challenge',
    async (world) => {
      await world.storage.setDisabled('client', 'web', true);
      const attempts: readonly [string, Readonly<Record<string, string>>, string?][] = [
        ['nothing at all', {}],
        ['an unknown client', {}, basic('nobody')],
        ['an unknown client in the body', { client_id: 'nobody', client_secret: 'x' }],
        ['an unknown public client', { client_id: 'nobody' }],
        ['a wrong secret', {}, basic('machine', 'wrong')],
        ['a wrong secret in the body', { client_id: 'machine', client_secret: 'wrong' }],
        ['the secret of another client', {}, basic('machine', secretOf('api'))],
        ['a truncated secret', {}, basic('machine', secretOf('machine').slice(0, -1))],
        [
          'the hash as the secret',
          {},
          basic('machine', (await world.server.operator.hashClientSecret(secretOf('machine'))).hash),
        ],
        ['a confidential client without a secret', { client_id: 'machine' }],
        ['a confidential client with an empty secret', { client_id: 'machine', client_secret: '' }],
        ['a confidential client with an empty secret by Basic', {}, `Basic ${base64('machine:')}`],
        ['no identifier by Basic', {}, `Basic ${base64(':x')}`],
        ['a secret without an identifier', { client_secret: secretOf('machine') }],
        ['a public client with a secret', { client_id: 'spa', client_secret: 'x' }],
        ['a public client with a secret by Basic', {}, basic('spa', 'x')],
        ['a disabled client', {}, basic('web')],
        ['an identifier in another case', {}, basic('Machine', secretOf('machine'))],
        [
          'an identifier with a control character',
          { client_id: 'machine\u0000', client_secret: secretOf('machine') },
        ],
      ];
      for (const [what, parameters, header] of attempts) {
        assertRefused(await everywhere(world, parameters, header), FAILED, what);
      }
    },
  );

  spec('§5.2 the operator learns why, and no event carries a secret', async (world) => {
    await world.storage.setDisabled('client', 'web', true);
    const attempts: readonly [string, string][] = [
      [basic('nobody', 'hush-1'), 'client_unknown'],
      [basic('machine', 'hush-2'), 'client_secret_wrong'],
      [basic('spa', 'hush-3'), 'client_secret_unexpected'],
      [`Basic ${base64('machine:')}`, 'client_secret_missing'],
      ['Basic hush-4', 'credentials_malformed'],
      [basic('web'), 'client_disabled'],
      [basic('web', 'hush-5'), 'client_secret_wrong'],
    ];
    for (const [header, reason] of attempts) {
      await everywhere(world, {}, header);
      assert.equal(world.lastReason, reason);
    }
    await everywhere(world, {});
    assert.equal(world.lastReason, 'credentials_missing');
    await everywhere(world, { client_secret: 'hush-6' }, basic('machine'));
    assert.equal(world.lastReason, 'credentials_repeated');
    assert.doesNotMatch(JSON.stringify(world.events), /hush|the secret of/);
  });

  spec('§2.3 a client that was enabled again gets in again', async (world) => {
    await world.storage.setDisabled('client', 'machine', true);
    assertRefused(await everywhere(world, {}, basic('machine')));
    await world.storage.setDisabled('client', 'machine', false);
    assertAdmitted(await everywhere(world, {}, basic('machine')));
  });

  spec('§2.3.1 a new secret works at once, and the old one no longer', async (world) => {
    await replaceSecrets(world, 'machine', [await world.server.operator.hashClientSecret('a new one')]);
    assertRefused(await everywhere(world, {}, basic('machine')));
    assertAdmitted(await everywhere(world, {}, basic('machine', 'a new one')));
  });

  spec('§3.2.1 a public client names itself, in the body or by Basic without a secret', async (world) => {
    for (const header of [undefined, `Basic ${base64('spa:')}`]) {
      const headers = header === undefined ? {} : { authorization: header };
      const response = await world.post('/token/revoke', { token: 'x', client_id: 'spa' }, null, headers);
      assert.deepEqual([response.status, response.body], [200, '']);
    }
  });

  spec(
    '§2.3.1 while the server’s secret is changed, client secrets hashed with the old one are accepted',
    async (world) => {
      const changing = await secondServer(world, { secret: [NEW_SECRET, SECRET] });
      assertAdmitted(await everywhere(changing, {}, basic('machine')));

      // New hashes use the first secret. Without the previous one the signing keys do not open, so no token is issued.
      await addClient(changing, 'newcomer', 'x');
      const changed = await secondServer(world, { secret: NEW_SECRET });
      const statusOf = async (server: World, authorization: string) =>
        (await server.post('/token/introspect', { token: 'x' }, null, { authorization })).status;
      assert.equal(await statusOf(changed, basic('newcomer', 'x')), 200);
      assert.equal(await statusOf(changed, basic('api')), 401);
      assert.equal(await statusOf(world, basic('newcomer', 'x')), 401);
      // The one that authenticated while both were accepted has moved.
      await changing.server.flush();
      assert.equal(await statusOf(changed, basic('machine')), 200);
    },
  );
});

/** Counts the lookups and hashes of an authentication. */
async function costsOf(
  world: World,
  attempts: readonly (() => Promise<unknown>)[],
): Promise<readonly string[]> {
  const costs: string[] = [];
  for (const attempt of attempts) {
    const hashing = test.mock.method(crypto, 'createHmac');
    syncBuiltinESMExports();
    lookUps.length = 0;
    await attempt();
    costs.push(`${hashing.mock.callCount()} hashes, ${lookUps.join(' and ')}`);
    hashing.mock.restore();
    syncBuiltinESMExports();
  }
  assert.equal(world.events.length > 0, true);
  return costs;
}

const lookUps: string[] = [];

function countingLookUps(storage: AdministrableStorage): AdministrableStorage {
  const clients = counted(storage.clients, (method) => lookUps.push(method));
  return { ...storage, clients };
}

test('§2.3.1 an unknown client costs as many look-ups and hashes as a wrong secret', async (t) => {
  const world = await openWorld(t);
  const counting = await secondServer(
    world,
    { secret: [NEW_SECRET, SECRET] },
    countingLookUps(world.storage),
  );
  await counting.introspect('x', 'machine'); // derives the keys
  const origin = { origin: 'https://elsewhere.example' };
  const attemptsOf = (id: string) => [
    () => counting.post('/token/introspect', {}, null, { authorization: basic(id, 'wrong') }),
    () => counting.post('/token', {}, null, { authorization: basic(id, 'wrong'), ...origin }),
    () => counting.post('/token/introspect', {}, null, { authorization: `Basic ${base64(`${id}:a+%41`)}` }),
    () => counting.post('/token/introspect', { client_id: id, client_secret: 'wrong' }),
    () => counting.post('/token/revoke', { client_id: id }),
  ];
  const wrong = await costsOf(counting, attemptsOf('machine'));
  assert.deepEqual(wrong, [
    '2 hashes, get',
    '2 hashes, get and hasRedirectOrigin',
    '4 hashes, get',
    '2 hashes, get',
    '0 hashes, get',
  ]);
  assert.deepEqual(await costsOf(counting, attemptsOf('nobody')), wrong);
  await world.storage.setDisabled('client', 'machine', true);
  assert.deepEqual(await costsOf(counting, attemptsOf('machine')), wrong);
});

test('§2.3.1 an identifier with impossible characters is not looked up', async (t) => {
  const world = await openWorld(t);
  const counting = await secondServer(world, {}, countingLookUps(world.storage));
  for (const id of ['machine\n', '\u0000', 'mäschine', '\u007f']) {
    lookUps.length = 0;
    const response = await counting.post('/token/introspect', { client_id: id, client_secret: 'x' });
    assert.deepEqual([response.status, lookUps], [401, []]);
  }
});
