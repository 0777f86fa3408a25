// Requests whose storage fails: each method that a request calls is made to fail in turn.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { errorResponse, type HttpResponse } from '@grantd/core';
import { BreakableStore, DRIVER_MESSAGE, FAILURES, type Failure } from './breakable_store.ts';
import {
  bearerError,
  errorOf,
  OPEN_JSON_HEADERS,
  OUTAGE_DESCRIPTION,
  PUBLIC_JSON_HEADERS,
  publicErrorOf,
} from './responses.ts';
import { HOSTS_BY_REVOCATION } from './stores.ts';
import { FUNCTION } from './transports/function.ts';
import type { TestResponse } from './transports/transport.ts';
import { openWorld, type World, type WorldOptions } from './world.ts';

export const OPEN_OUTAGE = errorOf(503, 'temporarily_unavailable', OUTAGE_DESCRIPTION, {
  ...OPEN_JSON_HEADERS,
  'retry-after': '1',
});
export const PUBLIC_OUTAGE = publicErrorOf(503, 'temporarily_unavailable', OUTAGE_DESCRIPTION, {
  ...PUBLIC_JSON_HEADERS,
  'retry-after': '1',
});
export const BEARER_OUTAGE = bearerError(503, 'temporarily_unavailable', OUTAGE_DESCRIPTION, {
  'retry-after': '1',
});

export const CALLER = ['clients.get'];
export const VERIFYING = ['keys.get'];
export const SIGNING = ['keys.currentKeyId', 'keys.get'];
export const ACCESS = ['tokens.getByAccessToken', 'tokens.isAccessTokenRevoked'];
export const ONCE = ['oneTimeIdentifiers.take'];
export const REFRESH = ['tokens.getByRefreshToken', 'tokens.isRefreshTokenRevoked'];

/** A request that uses storage, in a world of its own. */
export interface Scene {
  readonly sentence: string;
  /** Every method that it calls. Each is made to fail in turn. */
  readonly asks: readonly string[];
  /** The status without a failure, and again when storage is back. */
  readonly status: number;
  /** The status of a retry after a write that happened although it failed, if that differs. */
  readonly statusOnceDone?: number;
  readonly outage: TestResponse;
  readonly options?: WorldOptions;
  /** @returns a function that sends the request */
  arrange(world: World): Promise<() => Promise<TestResponse>>;
}

/** A host that implements every method of the contract, optional ones too. */
export const [WHOLE_HOST] = HOSTS_BY_REVOCATION;

/** Opens the world of a scene and breaks methods of its store right before the request. */
async function play(
  t: TestContext,
  scene: Scene,
  broken?: { methods: string | ReadonlySet<string>; failure: Failure },
) {
  assert.ok(WHOLE_HOST);
  const store = new BreakableStore(WHOLE_HOST);
  const world = await openWorld(t, scene.options, { transport: FUNCTION, store });
  const request = await scene.arrange(world);
  store.asked.clear();
  if (broken !== undefined) store.break(broken.methods, broken.failure);
  const response = await request();
  // Only the request's own calls: last uses of secrets are written in the background, also those of `arrange`.
  const asked = new Set(store.asked);
  asked.delete('clients.replaceSecrets');
  return { store, world, request, response, asked };
}

/** Declares a test for each scene. */
export function runScenes(scenes: readonly Scene[]): void {
  for (const scene of scenes) {
    test(scene.sentence, async (t) => {
      const { store, response, asked } = await play(t, scene);
      assert.deepEqual([...asked].sort(), [...new Set(scene.asks)].sort());
      assert.equal(response.status, scene.status);

      // No other method matters, even if all of them fail at once.
      const others = new Set([...store.methods].filter((method) => !asked.has(method)));
      for (const failure of FAILURES) {
        const { response } = await play(t, scene, { methods: others, failure });
        assert.equal(response.status, scene.status, `the other methods ${failure}`);
      }
      for (const method of asked) {
        for (const failure of FAILURES) {
          const what = `${method} ${failure}`;
          const broken = await play(t, scene, { methods: method, failure });
          assert.deepEqual(broken.response, scene.outage, what);
          const event = broken.world.events.at(-1);
          assert.ok(event?.type === 'refused' && event.cause instanceof Error, what);
          assert.equal(event.reason, 'storage_unavailable', what);
          assert.equal(event.cause.message, DRIVER_MESSAGE, what);
          broken.store.repair();
          const isDone =
            failure === 'rejects after it was done' &&
            /redeem$|Identifiers\.take$|clients\.remove$|pending\.change$/.test(method);
          const retried = (isDone ? scene.statusOnceDone : undefined) ?? scene.status;
          assert.equal((await broken.request()).status, retried, `${what}, and was repaired`);
        }
      }
    });
  }
}

/** The response of a host to a step of the authorization endpoint. */
export async function asResponse(step: Promise<HttpResponse | object>): Promise<TestResponse> {
  const answer = await step.catch(errorResponse);
  if (!('status' in answer && 'headers' in answer)) return { status: 200, headers: {}, body: '' };
  const headers = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const);
  return { status: answer.status, headers: Object.fromEntries(headers), body: answer.body };
}
