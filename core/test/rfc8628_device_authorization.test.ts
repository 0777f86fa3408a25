// § refers to RFC 8628.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AuthorizationServer,
  ConfigurationError,
  DEVICE_GRANT,
  type DeviceOperations,
  type DeviceRequest,
  deviceAuthorization,
  type NewClient,
} from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import * as oauth from 'oauth4webapi';
import { changeClient } from './harness/client_change.ts';
import { discovered, libraryOptions } from './harness/client_library.ts';
import { proofOf, thumbprintOf } from './harness/dpop_proofs.ts';
import { ON_EVERY_STORE, ON_MEMORY } from './harness/places.ts';
import { CLIENT_REFUSED, errorOf, OPEN_JSON_HEADERS } from './harness/responses.ts';
import { secondServer } from './harness/second_server.ts';
import { addClient } from './harness/token_endpoint.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import {
  CLIENTS,
  type GrantedTokens,
  ISSUER,
  openWorld,
  SECRET,
  specification,
  type World,
  type WorldOptions,
} from './harness/world.ts';

const WITH_DEVICES: WorldOptions = { deviceAuthorization: deviceAuthorization() };

/** A command line: a public client without a redirect URI. */
const CLI = {
  id: 'cli',
  grantTypes: [DEVICE_GRANT, 'refresh_token'],
  scopes: ['openid', 'offline_access', 'read', 'write'],
  redirectUris: [],
  metadata: { apis: ['https://api.example'] },
} as const satisfies NewClient;

interface Codes {
  readonly device_code: string;
  readonly user_code: string;
}

type Parameters = Readonly<Record<string, string>>;

function request(world: World, parameters: Parameters = {}, headers: Parameters = {}) {
  return world.post('/device_authorization', { client_id: 'cli', ...parameters }, null, headers);
}

async function codes(world: World, parameters: Parameters = {}, headers: Parameters = {}): Promise<Codes> {
  const { status, body } = await request(world, parameters, headers);
  assert.equal(status, 200, body);
  return JSON.parse(body);
}

function poll(world: World, { device_code }: Pick<Codes, 'device_code'>, more: Parameters = {}) {
  return world.post('/token', { client_id: 'cli', grant_type: DEVICE_GRANT, device_code, ...more });
}

function operations({ server }: World): DeviceOperations {
  return server.device ?? assert.fail('the server has no devices');
}

async function found(world: World, { user_code }: Pick<Codes, 'user_code'>): Promise<DeviceRequest> {
  return (await operations(world).find(user_code)) ?? assert.fail('no device waits');
}

async function approve(world: World, given: Codes, approval: object = {}): Promise<void> {
  await operations(world).approve(await found(world, given), { subject: 'alice', ...approval });
}

function tokensIn({ status, body }: TestResponse): GrantedTokens {
  assert.equal(status, 200, body);
  return JSON.parse(body);
}

function refusal(error: string, description: string): TestResponse {
  return errorOf(400, error, description, OPEN_JSON_HEADERS);
}

const PENDING = refusal('authorization_pending', 'the user has not decided yet');
const SLOW_DOWN = refusal('slow_down', 'the device polls too often');
const DENIED = refusal('access_denied', 'the user denied access');
const EXPIRED = refusal('expired_token', 'the device code has expired');
const UNKNOWN = refusal('invalid_grant', 'the device code is not valid');
const USED = refusal('invalid_grant', 'the authorization code is not valid');
const NOT_WAITING = { code: 'invalid_request', reason: 'user_code_unknown' };

function errorIn({ body }: TestResponse): string {
  return JSON.parse(body).error;
}

/** A world with the command line. */
function withCli(run: (world: World) => Promise<void>) {
  return async (world: World) => {
    await addClient(world, CLI, true);
    await run(world);
  };
}

specification('Device authorization (RFC 8628)', ON_EVERY_STORE, (declare) => {
  const spec = (sentence: string, run: (world: World) => Promise<void>, options: WorldOptions = {}) =>
    declare(sentence, withCli(run), { ...WITH_DEVICES, ...options });

  declare.http(
    '§3.2 a request gets both codes, the page, their lifetime and the interval',
    withCli(async (world) => {
      const { status, headers, body } = await request(world, { scope: 'read' });
      assert.deepEqual([status, headers], [200, OPEN_JSON_HEADERS]);
      const { device_code, user_code, ...others } = JSON.parse(body);
      assert.match(device_code, /^grantd_dc_[\w-]{43}$/);
      assert.match(user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
      assert.deepEqual(others, {
        verification_uri: `${ISSUER}/device`,
        verification_uri_complete: `${ISSUER}/device?user_code=${user_code}`,
        expires_in: 600,
        interval: 5,
      });
      assert.notEqual((await codes(world)).user_code, user_code);
    }),
    WITH_DEVICES,
  );

  spec('§3.4 a device gets tokens after the approval of its user, once', async (world) => {
    const given = await codes(world, { scope: 'openid read offline_access' });
    assert.deepEqual(await poll(world, given), PENDING);
    await approve(world, given, { authTime: world.clock.seconds, username: 'Alice', acr: 'high' });
    const tokens = tokensIn(await poll(world, given));
    assert.equal(tokens.scope, 'openid read offline_access');
    const { body } = await world.introspect(tokens.access_token);
    const { active, sub, client_id, username } = JSON.parse(body);
    assert.deepEqual([active, sub, client_id, username], [true, 'alice', 'cli', 'Alice']);
    assert.ok(tokens.id_token.length > 0 && tokens.refresh_token.length > 0);

    // A second use revokes what the first one got.
    assert.deepEqual(await poll(world, given), USED);
    assert.deepEqual(await world.alive(tokens.access_token), [false]);
  });

  spec('a device refreshes its tokens, and revokes them', async (world) => {
    const given = await codes(world, { scope: 'read' });
    await approve(world, given);
    const first = tokensIn(await poll(world, given));
    const refresh = (token: string) =>
      world.post('/token', { client_id: 'cli', grant_type: 'refresh_token', refresh_token: token });
    const second = tokensIn(await refresh(first.refresh_token));
    assert.deepEqual(await world.alive(second.access_token), [true]);
    await world.post('/token/revoke', { client_id: 'cli', token: second.refresh_token });
    assert.deepEqual(await world.alive(first.access_token, second.access_token), [false, false]);
    assert.equal(errorIn(await refresh(second.refresh_token)), 'invalid_grant');
  });

  spec('tokens of a device end with the session of its user, unless it has offline_access', async (world) => {
    const [bound, offline] = [await codes(world, { scope: 'read' }), await codes(world)];
    await approve(world, bound, { sessionId: 's1' });
    await approve(world, offline, { sessionId: 's1', scopes: ['read', 'offline_access'] });
    const tokens = [tokensIn(await poll(world, bound)), tokensIn(await poll(world, offline))];
    await world.storage.revokeAll({ principal: 'session', id: 's1' });
    assert.deepEqual(await world.alive(...tokens.map((each) => each.access_token)), [false, true]);
  });

  spec('§3.5 a denial is final, and decides every later poll', async (world) => {
    const given = await codes(world);
    const pending = await found(world, given);
    await operations(world).deny(pending);
    assert.equal(world.lastReason, 'consent_denied');
    for (const _ of [1, 2]) assert.deepEqual(await poll(world, given), DENIED);
    await assert.rejects(operations(world).approve(pending, { subject: 'alice' }), NOT_WAITING);
    assert.deepEqual(await poll(world, given), DENIED);
    assert.equal(await operations(world).find(given.user_code), undefined);
  });

  spec(
    '§3.5 codes expire, also those that were approved, and nothing approves them afterwards',
    async (world) => {
      const [waiting, approved] = [await codes(world), await codes(world)];
      const pending = await found(world, waiting);
      await approve(world, approved);
      world.clock.advance(599);
      assert.deepEqual(await poll(world, waiting), PENDING);
      world.clock.advance(1);
      for (const given of [waiting, approved]) assert.deepEqual(await poll(world, given), EXPIRED);
      await assert.rejects(operations(world).approve(pending, { subject: 'alice' }), NOT_WAITING);
      await assert.rejects(operations(world).deny(pending), NOT_WAITING);
      await assert.rejects(operations(world).resume(pending.parameters), NOT_WAITING);
      assert.equal(await operations(world).find(waiting.user_code), undefined);
      assert.deepEqual(await poll(world, waiting), EXPIRED);
    },
  );

  spec('denied, expired and used codes have the same answer after a restart', async (world) => {
    const [denied, expired, used] = [await codes(world), await codes(world), await codes(world)];
    await operations(world).deny(await found(world, denied));
    await approve(world, used);
    tokensIn(await poll(world, used));
    const restarted = await secondServer(world, WITH_DEVICES);
    assert.deepEqual(await poll(restarted, denied), DENIED);
    assert.deepEqual(await poll(restarted, used), USED);
    world.clock.advance(600);
    for (const [given, answer] of [
      [denied, DENIED],
      [expired, EXPIRED],
    ] as const)
      assert.deepEqual(await poll(restarted, given), answer);
    // A host may have deleted what the second use has revoked.
    assert.equal(errorIn(await poll(restarted, used)), 'invalid_grant');
    world.clock.advance(3600);
    await world.storage.sweep(100);
    for (const given of [denied, expired, used]) assert.deepEqual(await poll(restarted, given), UNKNOWN);
  });

  spec('§3.5 the first poll is never early, and each early one adds five seconds for good', async (world) => {
    const given = await codes(world);
    assert.deepEqual(await poll(world, given), PENDING);
    world.clock.advance(2);
    assert.deepEqual(await poll(world, given), SLOW_DOWN);
    // From now on ten seconds, from the last poll that was not early, also in another process.
    const other = await secondServer(world, WITH_DEVICES);
    world.clock.advance(6);
    assert.deepEqual(await poll(other, given), SLOW_DOWN);
    world.clock.advance(7);
    assert.deepEqual(await poll(other, given), PENDING);
    world.clock.advance(10);
    assert.deepEqual(await poll(world, given), SLOW_DOWN);
    world.clock.advance(10);
    assert.deepEqual(await poll(world, given), PENDING);
  });

  spec('§3.5 a device that obeys is never stuck, however its polls are delayed', async (world) => {
    const given = await codes(world);
    let wait = 3;
    const answers: string[] = [];
    for (let polls = 0; polls < 20; polls++) {
      const error = errorIn(await poll(world, given));
      answers.push(error);
      if (error === 'slow_down') wait += 5;
      world.clock.advance(wait);
    }
    assert.ok(answers.filter((error) => error === 'slow_down').length <= 10, answers.join());
    // A device at the interval may arrive somewhat early.
    const steady = await codes(world);
    for (let polls = 0; polls < 10; polls++) {
      assert.deepEqual(await poll(world, steady), PENDING);
      world.clock.advance(polls % 2 === 0 ? 4.2 : 5.8);
    }
  });

  spec('a clock that is set back or forward makes no device wait longer than its interval', async (world) => {
    const given = await codes(world);
    assert.deepEqual(await poll(world, given), PENDING);
    for (const seconds of [-3600, 300, -60]) {
      world.clock.advance(seconds);
      assert.deepEqual(await poll(world, given), PENDING, String(seconds));
      world.clock.advance(5);
      assert.deepEqual(await poll(world, given), PENDING, String(seconds));
    }
  });

  spec('a device that ignores slow_down still gets its tokens and its denial at once', async (world) => {
    const [approved, denied] = [await codes(world), await codes(world)];
    for (const given of [approved, denied])
      for (const expected of [PENDING, SLOW_DOWN, SLOW_DOWN])
        assert.deepEqual(await poll(world, given), expected);
    await approve(world, approved);
    await operations(world).deny(await found(world, denied));
    tokensIn(await poll(world, approved));
    assert.deepEqual(await poll(world, denied), DENIED);
  });

  spec('of polls at the same time, one counts, and an approval between them is kept', async (world) => {
    const given = await codes(world);
    const answers = await Promise.all(Array.from({ length: 8 }, () => poll(world, given)));
    const errors = answers.map(errorIn).sort();
    assert.deepEqual(errors, ['authorization_pending', ...Array<string>(7).fill('slow_down')]);
    const pending = await found(world, given);
    await Promise.all([
      operations(world).approve(pending, { subject: 'alice' }),
      ...Array.from({ length: 4 }, () => poll(world, given)),
    ]);
    const last = await poll(world, given);
    assert.ok([200, 400].includes(last.status));
    if (last.status === 400) assert.deepEqual(last, USED);
  });

  spec('of two approvals at once, one counts, and the device gets tokens of that user', async (world) => {
    const given = await codes(world, { scope: 'read' });
    const pending = await found(world, given);
    const outcomes = await Promise.allSettled(
      ['alice', 'bob'].map((subject) => operations(world).approve(pending, { subject })),
    );
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    const winner = outcomes[0]?.status === 'fulfilled' ? 'alice' : 'bob';
    const { access_token } = tokensIn(await poll(world, given));
    const { body } = await world.introspect(access_token);
    assert.equal(JSON.parse(body).sub, winner);
  });

  spec('of an approval and a denial at once, one counts', async (world) => {
    for (let round = 0; round < 4; round++) {
      const given = await codes(world);
      const pending = await found(world, given);
      const [approval, denial] = await Promise.allSettled([
        operations(world).approve(pending, { subject: 'alice' }),
        operations(world).deny(pending),
      ]);
      assert.notEqual(approval.status, denial.status);
      const answer = await poll(world, given);
      if (denial.status === 'fulfilled') assert.deepEqual(answer, DENIED);
      else tokensIn(answer);
    }
  });

  spec('of redemptions at once, at most one issues tokens that live', async (world) => {
    const given = await codes(world);
    await approve(world, given);
    const answers = await Promise.all(Array.from({ length: 4 }, () => poll(world, given)));
    const issued = answers.filter(({ status }) => status === 200);
    assert.equal(issued.length, 1, answers.map(({ body }) => body).join());
    assert.deepEqual(await world.alive(...issued.map((each) => tokensIn(each).access_token)), [false]);
  });

  spec('§3.4 a device code of another client is refused, and stays usable for its own', async (world) => {
    await addClient(world, { ...CLI, id: 'tv' }, true);
    const given = await codes(world);
    await approve(world, given);
    assert.deepEqual(await poll(world, given, { client_id: 'tv' }), UNKNOWN);
    assert.equal(world.lastReason, 'device_code_foreign');
    tokensIn(await poll(world, given));
  });

  spec('what is no device code is refused, also an authorization code', async (world) => {
    const code = await world.code();
    for (const device_code of ['x', code, `grantd_dc_${'A'.repeat(43)}`])
      assert.deepEqual(await poll(world, { device_code }), UNKNOWN);
    const given = await codes(world);
    await approve(world, given);
    const asCode = await world.redeem(given.device_code);
    assert.equal(errorIn(asCode), 'invalid_grant');
    assert.equal(
      errorIn(await world.post('/token', { client_id: 'cli', grant_type: DEVICE_GRANT })),
      'invalid_request',
    );
    tokensIn(await poll(world, given));
  });

  spec('a client that loses the grant, or is disabled, gets nothing for its codes', async (world) => {
    const [first, second] = [await codes(world), await codes(world)];
    await approve(world, first);
    await changeClient(world, 'cli', { grantTypes: ['refresh_token'] });
    assert.equal(errorIn(await poll(world, first)), 'unauthorized_client');
    await assert.rejects(operations(world).find(second.user_code), { code: 'invalid_request' });
    assert.equal(errorIn(await request(world)), 'unauthorized_client');
    await changeClient(world, 'cli', { grantTypes: CLI.grantTypes });
    await world.storage.setDisabled('client', 'cli', true);
    await assert.rejects(operations(world).find(second.user_code), { code: 'invalid_request' });
    assert.equal((await poll(world, first)).status, 401);
  });

  spec('a disabled user approves nothing, and loses what was approved', async (world) => {
    const [before, after] = [await codes(world), await codes(world)];
    await approve(world, before);
    await world.storage.setDisabled('subject', 'alice', true);
    await assert.rejects(approve(world, after), { code: 'access_denied' });
    assert.equal(errorIn(await poll(world, before)), 'invalid_grant');
    assert.deepEqual(await poll(world, after), PENDING);
  });

  spec('an approval that has ended in the meantime gives no tokens', async (world) => {
    const given = await codes(world);
    await assert.rejects(approve(world, given, { isStillApproved: async () => false }), {
      code: 'access_denied',
      reason: 'issuance_overtaken',
    });
    assert.deepEqual(await poll(world, given), PENDING);
  });

  spec('§6.1 the code is found however it is typed', async (world) => {
    const { user_code } = await codes(world);
    const [start = '', end = ''] = user_code.toLowerCase().split('-');
    for (const typed of [`${start}${end}`, ` ${start} – ${end} `, `${start}_${end}.`, user_code])
      assert.ok(await operations(world).find(typed), typed);
    for (const typed of ['', start, `${user_code}B`, 'AEIO-AEIO', `${user_code.slice(0, -1)}8`])
      assert.equal(await operations(world).find(typed), undefined, typed);
  });

  spec('stores see neither of the codes', async (world) => {
    const given = await codes(world);
    const { parameters } = await found(world, given);
    const row = JSON.stringify(
      await world.storage.pending.get('device_request', parameters.device_request ?? ''),
    );
    for (const code of [given.device_code, given.user_code, given.user_code.replace('-', '')])
      assert.ok(!row.includes(code), row);
  });

  spec('a code is found under an older server secret, as long as it is accepted', async (world) => {
    const given = await codes(world);
    const newer = 'a newer secret of the tests with more than 32 characters';
    const rotated = await secondServer(world, { ...WITH_DEVICES, secret: [newer, SECRET] });
    await approve(rotated, given);
    tokensIn(await poll(rotated, given));
  });

  spec(
    'scopes, APIs and details are those of the request, as far as the user approves them',
    async (world) => {
      const given = await codes(world, { scope: 'read write', resource: 'https://api.example' });
      const { scopes, resources } = await found(world, given);
      assert.deepEqual([scopes, resources], [['read', 'write'], ['https://api.example']]);
      await approve(world, given, { scopes: ['read'] });
      const { access_token, scope } = tokensIn(await poll(world, given));
      const { body } = await world.introspect(access_token);
      assert.deepEqual([scope, JSON.parse(body).aud], ['read', 'https://api.example']);
      for (const [parameters, error] of [
        [{ scope: 'admin' }, 'invalid_scope'],
        [{ resource: 'https://other.example' }, 'invalid_target'],
        [{ claims: '[]' }, 'invalid_request'],
        [{ scope: 'x'.repeat(7000) }, 'invalid_request'],
      ] as const)
        assert.equal(errorIn(await request(world, parameters)), error);
    },
  );

  spec('a wider registration does not widen a request, and a narrower one narrows it', async (world) => {
    const given = await codes(world, { scope: 'read unknown' });
    await changeClient(world, 'cli', { scopes: ['openid', 'read', 'unknown'] });
    assert.deepEqual((await found(world, given)).scopes, ['read']);
    await changeClient(world, 'cli', { scopes: ['openid'] });
    await assert.rejects(found(world, given), { code: 'invalid_scope' });
  });

  spec('RFC 9449 §10 a request with a proof binds its code to the key', async (world) => {
    const url = `${ISSUER}/device_authorization`;
    const given = await codes(world, {}, { dpop: await proofOf(world, { htu: url }) });
    await approve(world, given);
    assert.equal(errorIn(await poll(world, given)), 'invalid_dpop_proof');
    const asOther = { dpop: await proofOf(world, { key: 'other' }) };
    const form = { client_id: 'cli', grant_type: DEVICE_GRANT, device_code: given.device_code };
    assert.equal(errorIn(await world.post('/token', form, null, asOther)), 'invalid_grant');
    const tokens = await world.post('/token', form, null, { dpop: await proofOf(world) });
    assert.equal(JSON.parse(tokens.body).token_type, 'DPoP');
    const { body } = await world.introspect(tokensIn(tokens).access_token);
    assert.deepEqual(JSON.parse(body).cnf, { jkt: await thumbprintOf() });
    const reused = { dpop: await proofOf(world, { htu: url, claims: { jti: 'once' } }) };
    await codes(world, {}, reused);
    assert.equal(errorIn(await request(world, {}, reused)), 'invalid_dpop_proof');
  });

  spec('§3.1 the client authenticates as at the token endpoint, and names no other client', async (world) => {
    await addClient(world, { ...CLI, id: 'kiosk' });
    assert.deepEqual(await request(world, { client_id: 'kiosk' }), CLIENT_REFUSED);
    assert.deepEqual(await request(world, { client_id: 'nobody' }), CLIENT_REFUSED);
    await changeClient(world, 'web', { grantTypes: [...CLIENTS.web.grantTypes, DEVICE_GRANT] });
    const asWeb = await world.post('/device_authorization', { scope: 'read' }, 'web');
    assert.equal(asWeb.status, 200, asWeb.body);
    const asAnother = await world.post('/device_authorization', { client_id: 'cli' }, 'web');
    assert.equal(asAnother.status, 400, asAnother.body);
  });

  spec(
    'what a sign-in needs is as registered: the time of sign-in, the class, and the users',
    async (world) => {
      await changeClient(world, 'cli', {
        metadata: { ...CLI.metadata, token_endpoint_auth_method: 'none', default_max_age: 60 },
      });
      const given = await codes(world, { acr_values: 'high', prompt: 'none', login_hint: 'bob' });
      const { maxAge, acrValues, prompt, loginHint } = await found(world, given);
      assert.deepEqual([maxAge, acrValues, prompt, loginHint], [60, ['high'], [], undefined]);
      await assert.rejects(approve(world, given), { code: 'server_error' });
      await assert.rejects(approve(world, given, { authTime: world.clock.seconds - 7200 }), {
        code: 'login_required',
      });
      await changeClient(world, 'cli', {
        metadata: { token_endpoint_auth_method: 'none', allowed_groups: ['staff'] },
      });
      await assert.rejects(approve(world, given, { authTime: world.clock.seconds }), {
        code: 'access_denied',
        reason: 'person_not_allowed',
      });
      assert.deepEqual(await poll(world, given), PENDING);
    },
    { acrValues: ['high'] },
  );
});

specification('Device authorization in the metadata', ON_MEMORY, (spec) => {
  spec(
    '§4 the metadata names the endpoint and the grant, if the option is set',
    async (world) => {
      const { device_authorization_endpoint: endpoint, grant_types_supported: grants } = world.server
        .serverMetadata as { device_authorization_endpoint: string; grant_types_supported: string[] };
      assert.equal(endpoint, `${ISSUER}/device_authorization`);
      assert.ok(grants.includes(DEVICE_GRANT));
    },
    WITH_DEVICES,
  );

  spec('without the option there is neither endpoint nor grant', async (world) => {
    await addClient(world, CLI, true);
    assert.ok(!JSON.stringify(world.server.serverMetadata).includes('device'));
    assert.equal(world.server.device, undefined);
    assert.equal(world.server.serves('/device_authorization'), false);
    const form = { client_id: 'cli', grant_type: DEVICE_GRANT, device_code: 'x' };
    assert.equal(errorIn(await world.post('/token', form)), 'unsupported_grant_type');
  });
});

test('lifetime, interval, paths and the sender of a request are those of the host', async (t) => {
  const world = await openWorld(t, {
    deviceAuthorization: deviceAuthorization({ lifetime: 60, interval: 10 }),
    paths: { deviceAuthorization: '/oauth/device', device: '/activate' },
  });
  await addClient(world, CLI, true);
  const requestedAtMs = world.clock.nowMs;
  const response = await world.server.handle({
    method: 'POST',
    url: '/oauth/device',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'client_id=cli',
    place: '192.0.2.7',
  });
  const { user_code, verification_uri, expires_in, interval } = JSON.parse(response?.body ?? '');
  assert.deepEqual([verification_uri, expires_in, interval], [`${ISSUER}/activate`, 60, 10]);
  const { device } = await found(world, { user_code });
  const expiresAt = Math.floor(requestedAtMs / 1000) + 60;
  assert.deepEqual(device, { requestedAtMs, place: '192.0.2.7', expiresAt });
});

test('wrong options and missing groups are errors at the start', () => {
  for (const options of [
    { lifetime: 59 },
    { lifetime: 86_400 },
    { interval: 0 },
    { intervall: 5 },
  ] as object[])
    assert.throws(() => deviceAuthorization(options), ConfigurationError);
  const { pending: _, ...storage } = memoryStorage();
  const options = { issuer: ISSUER, secret: SECRET, ...WITH_DEVICES, storage };
  assert.throws(() => new AuthorizationServer(options), { message: /pending.*deviceAuthorization/ });
});

test('a client of a FAPI profile may not use the grant, which no profile knows', async (t) => {
  const world = await openWorld(t, WITH_DEVICES);
  await addClient(world, { ...CLI, metadata: { profile: 'fapi2-security' } }, true);
  const { status } = await request(world);
  assert.ok(status >= 400);
});

test('a flood of early polls writes a bounded number of times', async (t) => {
  const world = await openWorld(t, WITH_DEVICES);
  await addClient(world, CLI, true);
  const given = await codes(world);
  const id = (await found(world, given)).parameters.device_request ?? '';
  for (let polls = 0; polls < 300; polls++) await poll(world, given);
  const row = await world.storage.pending.get('device_request', id);
  assert.ok(row !== undefined && row !== null && row.version <= 121, String(row?.version));
  assert.deepEqual(await poll(world, given), SLOW_DOWN);
});

test('oauth4webapi polls a device code and gets tokens', async (t) => {
  const world = await openWorld(t, WITH_DEVICES);
  await addClient(world, CLI, true);
  const options = libraryOptions(world);
  const as = await discovered(options);
  const client = { client_id: 'cli', [oauth.clockSkew]: options[oauth.clockSkew] };
  const none = oauth.None();
  const started = await oauth.deviceAuthorizationRequest(as, client, none, { scope: 'openid read' }, options);
  const given = await oauth.processDeviceAuthorizationResponse(as, client, started);
  const pollOnce = async () => {
    const { device_code } = given;
    return oauth.processDeviceCodeResponse(
      as,
      client,
      await oauth.deviceCodeGrantRequest(as, client, none, device_code, options),
    );
  };
  await assert.rejects(pollOnce(), { error: 'authorization_pending' });
  await approve(world, given);
  const { access_token, id_token } = await pollOnce();
  assert.deepEqual(await world.alive(access_token), [true]);
  assert.ok(id_token);
});
