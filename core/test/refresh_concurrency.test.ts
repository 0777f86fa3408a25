import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { decodeJwt } from 'jose';
import { distant } from './harness/distant_store.ts';
import { errorOf, OPEN_JSON_HEADERS, REVOKED } from './harness/responses.ts';
import { HOSTS_BY_REVOCATION, MEMORY, SQLITE, STORES } from './harness/stores.ts';
import { NODE } from './harness/transports/node.ts';
import type { TestResponse } from './harness/transports/transport.ts';
import { type GrantedTokens, openWorld, type World, type WorldOptions } from './harness/world.ts';

const PARALLEL = 100;
const REFUSED = errorOf(400, 'invalid_grant', 'the refresh token is not valid', OPEN_JSON_HEADERS);
const OVERTAKEN = errorOf(400, 'invalid_grant', 'the grant is no longer valid', OPEN_JSON_HEADERS);

const ON_EVERY_STORE = [...STORES, distant(MEMORY), distant(SQLITE)];

const IS_EVERY_PAIR = process.env.TEST_EVERY_PAIR === 'yes';

/**
 * The places of the races: each store with its formats of refresh tokens, and hosts. A race runs on each store with one
 * format and on one host, and the next race with the other format and on the next host. With `--every-pair` each race
 * runs with both formats and on all hosts.
 */
const fieldsOf = (race: number) => [
  ...ON_EVERY_STORE.flatMap((store, index) =>
    [false, true]
      .filter((isOpaque) => IS_EVERY_PAIR || isOpaque === ((race + index) % 2 === 0))
      .map((useOpaqueRefreshTokens) => ({ store, useOpaqueRefreshTokens })),
  ),
  ...HOSTS_BY_REVOCATION.filter(
    (_, index) => IS_EVERY_PAIR || index === race % HOSTS_BY_REVOCATION.length,
  ).map((store) => ({ store, useOpaqueRefreshTokens: false })),
];

let races = 0;

/** RS256, the default, takes twenty times as long to sign, which the races do not depend on. */
const QUICK_SIGNATURES = { accessTokenAlgorithm: 'ES256', idTokenAlgorithm: 'ES256' } as const;

/** Runs a race on every place, over HTTP. */
function race(
  sentence: string,
  run: (world: World, t: TestContext) => Promise<void>,
  options: WorldOptions = {},
): void {
  for (const { store, useOpaqueRefreshTokens } of fieldsOf(races++)) {
    test(sentence, async (t) => {
      t.diagnostic(`${store.name}, ${useOpaqueRefreshTokens ? 'opaque' : 'JWT'} refresh tokens`);
      const place = { transport: NODE, store };
      await run(await openWorld(t, { ...QUICK_SIGNATURES, useOpaqueRefreshTokens, ...options }, place), t);
    });
  }
}

race(
  `grantd §2.7 ${PARALLEL} parallel refreshes of one token leave exactly one live lineage`,
  async (world) => {
    const first = await world.grant();
    const responses = await parallel(world, first.refresh_token);
    const issued = successesOf(responses);
    assert.equal(issued.length, PARALLEL, 'all of them come within the grace');
    assert.equal(new Set(issued.map((tokens) => tokens.refresh_token)).size, 1);
    assert.equal(new Set(issued.map((tokens) => tokens.access_token)).size, PARALLEL);
    const [next] = issued;
    assert.ok(next);
    assert.deepEqual(await world.alive(first.refresh_token, next.refresh_token), [false, true]);

    // One revocation ends them all, because they are one pair.
    assert.deepEqual(await world.revoke(next.access_token), REVOKED);
    assert.deepEqual(await liveOf(world, issued), []);
  },
);

race(
  `grantd §2.7 ${PARALLEL} parallel refreshes of one token go on as one lineage, generation after generation`,
  async (world) => {
    let { refresh_token } = await world.grant();
    const spent: string[] = [];
    for (let generation = 0; generation < 3; generation++) {
      const issued = successesOf(await parallel(world, refresh_token, PARALLEL / 4));
      const successors = [...new Set(issued.map((tokens) => tokens.refresh_token))];
      assert.equal(successors.length, 1);
      spent.push(refresh_token);
      refresh_token = successors[0] ?? '';
    }
    assert.deepEqual(await world.alive(...spent, refresh_token), [...spent.map(() => false), true]);
  },
);

race('grantd §2.7 two generations that are refreshed at once never make two lineages', async (world) => {
  const first = await world.grant();
  const second = await world.rotated(first.refresh_token);
  const responses = await Promise.all(
    Array.from({ length: PARALLEL }, (_, i) =>
      world.refresh(i % 2 === 0 ? first.refresh_token : second.refresh_token),
    ),
  );
  for (const response of responses) assert.ok(response.status === 200 || isRefusal(response), response.body);
  // The first token is older than the predecessor once the second was rotated. The family is dead, or has one live
  // token.
  const refreshTokens = new Set(successesOf(responses).map((tokens) => tokens.refresh_token));
  const alive = await world.alive(...refreshTokens);
  assert.ok(alive.filter(Boolean).length <= 1);
});

race(
  `grantd §2.7 a revocation of the refresh token during ${PARALLEL} refreshes leaves no token alive`,
  async (world) => {
    const first = await world.grant();
    const [responses, revoked] = await amid(world, first.refresh_token, () =>
      world.revoke(first.refresh_token),
    );
    assert.deepEqual(revoked, REVOKED);
    await assertNothingLives(world, first, responses);
  },
);

race(
  `grantd §2.7 a revocation of the access token during ${PARALLEL} refreshes leaves no refresh token alive`,
  async (world) => {
    const first = await world.grant();
    const [responses, revoked] = await amid(world, first.refresh_token, () =>
      world.revoke(first.access_token),
    );
    assert.deepEqual(revoked, REVOKED);
    await assertNothingLives(world, first, responses);
  },
);

race(`grantd §2.7 a user disabled during ${PARALLEL} refreshes has no live token`, async (world) => {
  const first = await world.grant();
  const disable = async () => world.storage.setDisabled('subject', 'alice', true);
  const [responses] = await amid(world, first.refresh_token, disable);
  await assertNothingLives(world, first, responses);
});

race(
  `grantd §2.7 with a grace of 0 at most one of ${PARALLEL} parallel refreshes is served, and the family dies by the others`,
  async (world) => {
    const first = await world.grant();
    const bystander = await world.grant();
    const responses = await parallel(world, first.refresh_token);
    assert.equal(successesOf(responses).length, 1);
    for (const response of responses)
      assert.ok(response.status === 200 || isRefusal(response), response.body);
    assert.deepEqual(await liveOf(world, [first, ...successesOf(responses)]), []);
    assert.deepEqual(await world.alive(bystander.access_token, bystander.refresh_token), [true, true]);
    assert.ok(world.events.some((event) => event.type === 'refresh_token_reused'));
  },
  { refreshGrace: 0 },
);

race(
  'grantd §2.7 with a grace of 0 refreshes one after the other are served',
  async (world) => {
    let tokens = await world.grant();
    for (let i = 0; i < 5; i++) tokens = await world.rotated(tokens.refresh_token);
    assert.deepEqual(await world.alive(tokens.access_token, tokens.refresh_token), [true, true]);
  },
  { refreshGrace: 0 },
);

race(
  `grantd §2.7 with a grace of 0 a revocation during ${PARALLEL} refreshes leaves no token alive`,
  async (world) => {
    const first = await world.grant();
    const [responses] = await amid(world, first.refresh_token, () => world.revoke(first.refresh_token));
    await assertNothingLives(world, first, responses);
  },
  { refreshGrace: 0 },
);

race(
  'grantd §2.7 parallel redemptions of one code issue tokens once at most, and revoke them by the second',
  async (world) => {
    const code = await world.code();
    const responses = await Promise.all(Array.from({ length: PARALLEL / 4 }, () => world.redeem(code)));
    const issued = successesOf(responses);
    assert.equal(issued.length, 1);
    assert.deepEqual(await liveOf(world, issued), []);
  },
);

race('grantd §2.7 a revocation of a code during its redemptions leaves no token alive', async (world) => {
  const code = await world.code();
  const redemptions = Array.from({ length: PARALLEL / 10 }, () => () => world.redeem(code));
  const half = redemptions.length / 2;
  const [responses] = await together(redemptions, half, () => world.revoke(code, 'web', 'auth_code'));
  assert.deepEqual(await liveOf(world, successesOf(responses)), []);
});

function parallel(world: World, refreshToken: string, count = PARALLEL): Promise<readonly TestResponse[]> {
  return Promise.all(Array.from({ length: count }, () => world.refresh(refreshToken)));
}

/** Refreshes with another operation among them. */
function amid<T>(world: World, refreshToken: string, act: () => Promise<T>) {
  const refreshes = Array.from({ length: PARALLEL }, () => () => world.refresh(refreshToken));
  return together(refreshes, PARALLEL / 2, act);
}

async function together<T>(
  requests: readonly (() => Promise<TestResponse>)[],
  before: number,
  act: () => Promise<T>,
): Promise<readonly [readonly TestResponse[], T]> {
  const early = requests.slice(0, before).map((request) => request());
  const acted = act();
  const late = requests.slice(before).map((request) => request());
  const done = await acted;
  return [await Promise.all([...early, ...late]), done];
}

async function assertNothingLives(
  world: World,
  first: GrantedTokens,
  responses: readonly TestResponse[],
): Promise<void> {
  for (const response of responses) assert.ok(response.status === 200 || isRefusal(response), response.body);
  const issued = successesOf(responses);
  assert.deepEqual(await liveOf(world, [first, ...issued]), []);
  for (const { refresh_token } of [first, ...issued.slice(0, 3)]) {
    assert.ok(isRefusal(await world.refresh(refresh_token)));
  }
}

function successesOf(responses: readonly TestResponse[]): readonly GrantedTokens[] {
  return responses.filter(({ status }) => status === 200).map(({ body }) => JSON.parse(body));
}

/** The tokens that introspection calls active. */
async function liveOf(world: World, tokens: readonly GrantedTokens[]): Promise<readonly string[]> {
  const texts = [...new Set(tokens.flatMap((one) => [one.access_token, one.refresh_token]))];
  const alive = await world.alive(...texts);
  return texts
    .filter((_, i) => alive[i])
    .map((text) => (text.includes('.') ? String(decodeJwt(text).jti) : text));
}

function isRefusal(response: TestResponse): boolean {
  const text = JSON.stringify(response);
  return text === JSON.stringify(REFUSED) || text === JSON.stringify(OVERTAKEN);
}
