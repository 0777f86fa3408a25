// Takes about ten seconds.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { previousServer } from '@grantd/core';
import {
  OLD_ACCESS_LIFETIME,
  OLD_REFRESH_LIFETIME,
  OldServer,
  type PreviousPair,
} from './harness/old_server.ts';
import {
  bearerError,
  errorOf,
  INACTIVE,
  JSON_HEADERS,
  OPEN_JSON_HEADERS,
  OUTAGE,
  OUTAGE_DESCRIPTION,
  REVOKED,
} from './harness/responses.ts';
import { forgedWithStolenKey } from './harness/stolen_key.ts';
import { HOSTS_BY_REVOCATION, MEMORY, STORES } from './harness/stores.ts';
import { FUNCTION } from './harness/transports/function.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import { type GrantedTokens, ISSUER, openWorld, type World, type WorldOptions } from './harness/world.ts';

const REFUSED = errorOf(400, 'invalid_grant', 'the refresh token is not valid', OPEN_JSON_HEADERS);
const OVERTAKEN = errorOf(400, 'invalid_grant', 'the grant is no longer valid', OPEN_JSON_HEADERS);
const OPEN_OUTAGE = errorOf(503, 'temporarily_unavailable', OUTAGE_DESCRIPTION, {
  ...OPEN_JSON_HEADERS,
  'retry-after': '1',
});
const PARALLEL = 10;

type Run = (world: World, previous: OldServer, t: TestContext) => Promise<void>;

/** Runs a test in a world with a previous server, on each store and with each kind of host. */
function oldTokenTest(sentence: string, run: Run, options: WorldOptions = {}, stores = EVERYWHERE): void {
  for (const store of stores) {
    test(sentence, async (t) => {
      t.diagnostic(store.name);
      const previous = new OldServer();
      const place = { transport: FUNCTION, store };
      await run(
        await openWorld(t, { ...options, previousServer: previousServer(previous) }, place),
        previous,
        t,
      );
    });
  }
}

const EVERYWHERE = [...STORES, ...HOSTS_BY_REVOCATION];

/** The introspection response for a live token. */
function active(members: Readonly<Record<string, unknown>>): TestResponse {
  return { status: 200, headers: JSON_HEADERS, body: JSON.stringify({ active: true, ...members }) };
}

async function reasonOf({ server }: World, token: string): Promise<string | undefined> {
  return (await server.operator.explainToken(token)).reason;
}

/** Whether introspection calls the old pair and its successors active. */
function living(world: World, pair: PreviousPair, ...issued: readonly GrantedTokens[]) {
  const tokens = issued.flatMap(({ access_token, refresh_token }) => [access_token, refresh_token]);
  return world.alive(pair.access, pair.refresh, ...new Set(tokens));
}

function issuedBy(responses: readonly TestResponse[]): readonly GrantedTokens[] {
  return responses.filter(({ status }) => status === 200).map(({ body }) => JSON.parse(body));
}

function assertServedOrRefused(responses: readonly TestResponse[]): void {
  for (const response of responses)
    if (response.status !== 200)
      assert.deepEqual(response, response.body === OVERTAKEN.body ? OVERTAKEN : REFUSED);
}

// ── Requests about them ───────────────────────────────────────────────────────────────────────────────────

oldTokenTest('an old access token works at introspection and UserInfo', async (world, previous) => {
  const { access, accessId } = await previous.issue(world.clock);
  const iat = world.clock.seconds;
  const expected = active({
    ...{ scope: 'openid email', client_id: 'web', token_type: 'Bearer' },
    ...{ exp: iat + OLD_ACCESS_LIFETIME, iat, nbf: iat },
    ...{ sub: 'alice', aud: 'https://api.example', iss: ISSUER, jti: accessId },
  });
  assert.deepEqual(await world.introspect(access), expected);
  assert.deepEqual(await world.introspect(access, 'web', 'refresh_token'), expected);
  const { status, body } = await world.userInfo(access);
  assert.deepEqual(
    [status, JSON.parse(body)],
    [200, { email: 'alice@example.org', email_verified: true, sub: 'alice' }],
  );
});

oldTokenTest('an old refresh token is introspected, and is no access token', async (world, previous) => {
  const { refresh, refreshId } = await previous.issue(world.clock, {
    claims: { aud: 'https://else.example' },
  });
  const iat = world.clock.seconds;
  const exp = iat + OLD_REFRESH_LIFETIME;
  const expected = active({
    ...{ scope: 'openid email', client_id: 'web', exp, iat, sub: 'alice', iss: ISSUER, jti: refreshId },
  });
  assert.deepEqual(await world.introspect(refresh), expected);
  assert.deepEqual(await world.introspect(refresh, 'web', 'access_token'), expected);
  assert.deepEqual(
    await world.userInfo(refresh),
    bearerError(401, 'invalid_token', 'the token is not an access token'),
  );
});

oldTokenTest('an old token expires with its row, or by its own exp', async (world, previous) => {
  const { access, refresh, refreshId } = await previous.issue(world.clock);
  const short = await previous.issue(world.clock, { claims: { exp: world.clock.seconds + 60 } });
  world.clock.advance(59);
  assert.deepEqual(await living(world, short), [true, true]);
  world.clock.advance(1);
  assert.deepEqual(await living(world, short), [false, false]);
  assert.equal(await reasonOf(world, short.access), 'expired');
  assert.deepEqual(await world.refresh(short.refresh), REFUSED);

  world.clock.advance(OLD_ACCESS_LIFETIME - 60);
  assert.deepEqual(await world.alive(access, refresh), [false, true]);
  const tokens = await world.rotated(refresh);
  const row = previous.rows.get(`refresh_token ${refreshId}`);
  assert.equal(row?.expiresAt, 0);
  world.clock.advance(OLD_REFRESH_LIFETIME);
  assert.deepEqual(await world.alive(refresh, tokens.access_token), [false, false]);
  assert.deepEqual(await world.refresh(refresh), REFUSED);
});

// ── Revocation ────────────────────────────────────────────────────────────────────────────────────────────

oldTokenTest(
  'revoking either token of an old pair ends both, in the old rows too',
  async (world, previous) => {
    for (const which of ['access', 'refresh'] as const) {
      const pair = await previous.issue(world.clock);
      const spared = await previous.issue(world.clock);
      assert.deepEqual(await world.revoke(pair[which], 'machine'), REVOKED);
      assert.deepEqual(await living(world, pair), [true, true], 'another client ends nothing');
      assert.deepEqual(previous.revoked(pair), [false, false]);

      assert.deepEqual(await world.revoke(pair[which]), REVOKED);
      assert.deepEqual(await living(world, pair), [false, false]);
      assert.deepEqual(previous.revoked(pair), [true, true]);
      assert.equal(await reasonOf(world, pair.refresh), 'revoked');
      assert.equal((await world.userInfo(pair.access)).status, 401);
      assert.deepEqual(await world.refresh(pair.refresh), REFUSED);
      assert.deepEqual(await living(world, spared), [true, true]);
    }
  },
);

oldTokenTest('a token that the previous server revokes is dead here', async (world, previous) => {
  const pair = await previous.issue(world.clock);
  const row = await previous.getByAccessToken(pair.accessId);
  assert.ok(row);
  await previous.revoke(row);
  assert.deepEqual(await world.introspect(pair.access), INACTIVE);
  assert.deepEqual(await world.introspect(pair.refresh), INACTIVE);
  assert.deepEqual(await world.refresh(pair.refresh), REFUSED);
});

oldTokenTest(
  'revoking any token of an old grant after its exchange ends all of it',
  async (world, previous) => {
    for (const which of ['access', 'refresh', 'new'] as const) {
      const pair = await previous.issue(world.clock);
      const tokens = await world.rotated(pair.refresh);
      await world.revoke(which === 'new' ? tokens.refresh_token : pair[which]);
      assert.deepEqual(await living(world, pair, tokens), [false, false, false, false], which);
      assert.deepEqual(await world.refresh(tokens.refresh_token), REFUSED);
    }
  },
);

// ── Exchange ──────────────────────────────────────────────────────────────────────────────────────────────

oldTokenTest(
  'an old refresh token is exchanged once, and is revoked with its pair',
  async (world, previous) => {
    const pair = await previous.issue(world.clock);
    const tokens = await world.rotated(pair.refresh);
    assert.equal(tokens.scope, 'openid email');
    assert.deepEqual(await living(world, pair, tokens), [false, false, true, true]);
    assert.deepEqual(previous.revoked(pair), [true, true]);
    assert.equal(await reasonOf(world, pair.refresh), 'superseded');
    assert.equal(JSON.parse((await world.userInfo(tokens.access_token)).body).sub, 'alice');
    const next = await world.rotated(tokens.refresh_token);
    assert.deepEqual(await world.alive(next.access_token, next.refresh_token), [true, true]);
  },
);

oldTokenTest(
  'an exchange is retried within the grace; later use of it ends the family',
  async (world, previous) => {
    const pair = await previous.issue(world.clock);
    const first = await world.rotated(pair.refresh);
    world.clock.advance(9);
    const again = await world.rotated(pair.refresh);
    assert.equal(again.refresh_token, first.refresh_token);
    world.clock.advance(1);
    assert.deepEqual(await world.refresh(pair.refresh), REFUSED);
    assert.equal(world.lastReason, 'refresh_token_reused');
    assert.deepEqual(await living(world, pair, first, again), [false, false, false, false, false]);
  },
);

oldTokenTest(
  `${PARALLEL} concurrent exchanges of one old token make one lineage`,
  async (world, previous) => {
    const pair = await previous.issue(world.clock);
    const responses = await parallel(PARALLEL, () => world.refresh(pair.refresh));
    const issued = issuedBy(responses);
    assert.equal(issued.length, PARALLEL, 'all of them come within the grace');
    assert.equal(new Set(issued.map(({ refresh_token }) => refresh_token)).size, 1);
    const [tokens] = issued;
    assert.ok(tokens);
    await world.revoke(tokens.refresh_token);
    assert.ok((await living(world, pair, ...issued)).every((isAlive) => !isAlive));
  },
);

oldTokenTest(
  `with a grace of 0 one of ${PARALLEL} exchanges at once is served, and the others end it`,
  async (world, previous) => {
    const pair = await previous.issue(world.clock);
    const responses = await parallel(PARALLEL, () => world.refresh(pair.refresh));
    assert.equal(issuedBy(responses).length, 1);
    assertServedOrRefused(responses);
    assert.deepEqual(await living(world, pair, ...issuedBy(responses)), [false, false, false, false]);
    assert.deepEqual(previous.revoked(pair), [true, true]);
  },
  { refreshGrace: 0 },
);

oldTokenTest(
  'a revocation during exchanges leaves no token alive at either server',
  async (world, previous) => {
    for (const which of ['access', 'refresh'] as const) {
      for (const early of [0, 1, PARALLEL / 2]) {
        const pair = await previous.issue(world.clock);
        const before = parallel(early, () => world.refresh(pair.refresh));
        const revoked = world.revoke(pair[which]);
        const after = parallel(PARALLEL / 2, () => world.refresh(pair.refresh));
        assert.deepEqual(await revoked, REVOKED);
        const responses = [...(await before), ...(await after)];
        assertServedOrRefused(responses);
        assert.ok((await living(world, pair, ...issuedBy(responses))).every((isAlive) => !isAlive));
        assert.deepEqual(previous.revoked(pair), [true, true]);
      }
    }
  },
);

oldTokenTest('a client whose refresh tokens do not rotate keeps the old one', async (world, previous) => {
  const client = await world.storage.clients.get('web');
  assert.ok(client);
  await world.storage.clients.replace({ ...client, rotateRefreshTokens: false }, client);
  const [pair, granted] = [await previous.issue(world.clock), await previous.issue(world.clock)];
  for (const { refresh, refreshId, ...others } of [pair, granted]) {
    const first = await world.rotated(refresh);
    const second = await world.rotated(refresh);
    assert.deepEqual([first.refresh_token, second.refresh_token], [refresh, refresh]);
    const all = [others.access, refresh, first.access_token, second.access_token];
    assert.deepEqual(await world.alive(...all), [true, true, true, true]);
    if (refresh === pair.refresh) await world.revoke(refresh);
    else await world.storage.revokeAll({ principal: 'grant', id: `previous:${refreshId}` });
    assert.deepEqual(await world.alive(...all), [false, false, false, false]);
    assert.deepEqual(await world.refresh(refresh), REFUSED);
  }
});

oldTokenTest(
  'an old pair is dead if the host itself has revoked the copy of its refresh token',
  async (world, previous) => {
    const client = await world.storage.clients.get('web');
    assert.ok(client);
    await world.storage.clients.replace({ ...client, rotateRefreshTokens: false }, client);
    const pair = await previous.issue(world.clock);
    await world.rotated(pair.refresh);
    assert.deepEqual(await living(world, pair), [true, true]);
    const copy = await world.storage.tokens.getByRefreshToken(pair.refreshId);
    assert.ok(copy);
    await world.storage.tokens.revoke(copy);
    assert.deepEqual(await living(world, pair), [false, false]);
    assert.deepEqual(await world.refresh(pair.refresh), REFUSED);
  },
  {},
  EVERYWHERE.filter(({ name }) => !name.includes('deletes')), // there no data is left to show it
);

// ── Clients and users ─────────────────────────────────────────────────────────────────────────────────────

oldTokenTest('an old token is dead once its client or user was disabled', async (world, previous) => {
  for (const [principal, id] of [
    ['client', 'web'],
    ['subject', 'alice'],
  ] as const) {
    world.clock.advance(1);
    const pair = await previous.issue(world.clock);
    await world.storage.setDisabled(principal, id, true);
    assert.deepEqual(await living(world, pair), [false, false]);
    assert.equal(await reasonOf(world, pair.access), `${principal}_disabled`);
    assert.equal((await world.refresh(pair.refresh)).status, principal === 'client' ? 401 : 400);
    await world.storage.setDisabled(principal, id, false);
    assert.deepEqual(await living(world, pair), [false, false]);
    assert.equal(await reasonOf(world, pair.access), `${principal}_revoked`);

    world.clock.advance(1);
    const later = await previous.issue(world.clock);
    assert.deepEqual(await living(world, later), [true, true]);
    const tokens = await world.rotated(later.refresh);
    const bystander = await previous.issue(world.clock);
    await world.storage.revokeAll({ principal, id });
    assert.deepEqual(await living(world, bystander, tokens), [false, false, false, false]);
    assert.deepEqual(await world.refresh(bystander.refresh), REFUSED);
  }
});

oldTokenTest('an old token of a removed or unknown client is not a token', async (world, previous) => {
  const unknown = await previous.issue(world.clock, { clientId: 'unknown' });
  const removed = await previous.issue(world.clock, { clientId: 'machine' });
  assert.deepEqual(await living(world, unknown), [false, false]);
  assert.deepEqual(await living(world, removed), [true, true]);
  await world.storage.clients.remove('machine');
  assert.deepEqual(await living(world, removed), [false, false]);
  assert.equal(await reasonOf(world, removed.access), 'no_record');
});

oldTokenTest(
  'after a revocation of everything before a time, no old token is exchanged',
  async (world, previous) => {
    const pair = await previous.issue(world.clock);
    await world.storage.revokeAll({ issuedBeforeMs: world.clock.nowMs + 1 });
    assert.deepEqual(await world.refresh(pair.refresh), OVERTAKEN);
    assert.deepEqual(previous.revoked(pair), [false, false]);
  },
);

oldTokenTest(
  'a user whom the host does not let in has no live old token',
  async (world, previous) => {
    const pair = await previous.issue(world.clock);
    assert.deepEqual(await living(world, pair), [false, false]);
    assert.equal(await reasonOf(world, pair.access), 'subject_disabled');
    assert.deepEqual(await world.refresh(pair.refresh), REFUSED);
  },
  { getSubjectState: () => 'disabled' },
  [MEMORY],
);

// ── Faults ────────────────────────────────────────────────────────────────────────────────────────────────

oldTokenTest('unavailable old rows are an outage everywhere', async (world, previous) => {
  const { access, refresh } = await previous.issue(world.clock);
  previous.outage = 'find';
  for (const token of [access, refresh]) {
    assert.deepEqual(await world.introspect(token), OUTAGE);
    assert.deepEqual(await world.revoke(token), OPEN_OUTAGE);
  }
  assert.deepEqual(await world.refresh(refresh), OPEN_OUTAGE);
  assert.equal((await world.userInfo(access)).status, 503);
  await assert.rejects(world.server.introspectToken(access), { name: 'StorageFault' });
  previous.outage = undefined;
  assert.deepEqual(await world.alive(access, refresh), [true, true]);
});

oldTokenTest(
  'a failed revocation in the old rows is repeated by the next request',
  async (world, previous) => {
    const pair = await previous.issue(world.clock);
    previous.outage = 'revoke';
    assert.deepEqual(await world.revoke(pair.access), OPEN_OUTAGE);
    assert.deepEqual(await living(world, pair), [true, true], 'nothing has happened');
    assert.deepEqual(await world.refresh(pair.refresh), OPEN_OUTAGE);
    assert.deepEqual(await living(world, pair), [false, false], 'though its row is as it was');
    assert.deepEqual(previous.revoked(pair), [false, false]);

    previous.outage = undefined;
    const tokens = await world.rotated(pair.refresh);
    assert.deepEqual(previous.revoked(pair), [true, true]);
    previous.resurrect(pair, world.clock);
    assert.deepEqual(await living(world, pair, tokens), [false, false, true, true]);
    await world.revoke(tokens.access_token);
    assert.deepEqual(previous.revoked(pair), [true, true]);
    assert.deepEqual(await living(world, pair, tokens), [false, false, false, false]);

    const stolen = await previous.issue(world.clock);
    await world.rotated(stolen.refresh);
    previous.resurrect(stolen, world.clock);
    world.clock.advance(11);
    assert.deepEqual(await world.refresh(stolen.refresh), REFUSED);
    assert.deepEqual(previous.revoked(stolen), [true, true]);
  },
);

oldTokenTest(
  'null for an old row or its members is absence, and a row without client or expiry a fault',
  async (world, previous) => {
    const { access, accessId } = await previous.issue(world.clock);
    const name = `access_token ${accessId}`;
    const row = previous.rows.get(name);
    assert.ok(row);
    const answer = async (found: unknown) => {
      previous.rows.set(name, JSON.parse(JSON.stringify(found)));
      const { status, body } = await world.introspect(access);
      return [status, JSON.parse(body).active, JSON.parse(body).sub];
    };
    const { clientId: _, ...withoutClient } = row;
    assert.deepEqual(await answer(null), [200, false, undefined]);
    assert.deepEqual(await answer({ ...row, subject: null, refreshTokenId: null }), [200, true, undefined]);
    assert.deepEqual(await answer({ ...row, expiresAt: undefined }), [503, undefined, undefined]);
    assert.deepEqual(await answer(withoutClient), [503, undefined, undefined]);
  },
  {},
  [MEMORY],
);

// ── Tokens of this server ─────────────────────────────────────────────────────────────────────────────────

oldTokenTest('tokens of this server never read the old rows', async (world, previous) => {
  const tokens = await world.grant();
  const next = await world.rotated(tokens.refresh_token);
  assert.deepEqual(await world.alive(tokens.refresh_token, next.access_token), [false, true]);
  await world.rotated(tokens.refresh_token);
  world.clock.advance(11);
  assert.deepEqual(await world.refresh(tokens.refresh_token), REFUSED);
  await world.revoke((await world.grant()).access_token);
  assert.deepEqual(await world.introspect('no.token.ofours'), INACTIVE);
  assert.deepEqual(previous.asked, []);
});

oldTokenTest('a copy of an old token is useless to a thief of this server’s key', async (world, previous) => {
  const pair = await previous.issue(world.clock);
  const tokens = await world.rotated(pair.refresh);
  for (const [typ, jti] of [
    ['rt+jwt', pair.refreshId],
    ['at+jwt', pair.accessId],
  ] as const) {
    const forged = await forgedWithStolenKey(world, { jti }, { typ });
    assert.deepEqual(await world.introspect(forged), INACTIVE);
    assert.deepEqual(await world.revoke(forged), REVOKED);
  }
  assert.deepEqual(await world.alive(tokens.access_token, tokens.refresh_token), [true, true]);
});

function parallel(count: number, send: () => Promise<TestResponse>): Promise<readonly TestResponse[]> {
  return Promise.all(Array.from({ length: count }, send));
}
