import { HOSTS_BY_REVOCATION, MEMORY, STORES, type StoreKind } from './stores.ts';
import { EXPRESS, EXPRESS_4 } from './transports/express.ts';
import { FASTIFY } from './transports/fastify.ts';
import { FETCH } from './transports/fetch.ts';
import { FUNCTION } from './transports/function.ts';
import { H3_APP } from './transports/h3.ts';
import { HONO } from './transports/hono.ts';
import { KOA } from './transports/koa.ts';
import { NEST_ON_EXPRESS, NEST_ON_FASTIFY } from './transports/nest.ts';
import { NEXT } from './transports/next.ts';
import { NODE } from './transports/node.ts';
import type { Transport } from './transports/transport.ts';

/** A place to run a suite: a transport and a store. */
export interface Place {
  readonly transport: Transport;
  readonly store: StoreKind;
}

const ADAPTERS: readonly Transport[] = [
  ...[NODE, FETCH, EXPRESS, EXPRESS_4, FASTIFY, KOA, NEST_ON_EXPRESS, NEST_ON_FASTIFY],
  ...[HONO, H3_APP, NEXT],
];

/** The operation itself, without HTTP, on each kind of store. */
const onEach = (stores: readonly StoreKind[]): readonly Place[] =>
  stores.map((store) => ({ transport: FUNCTION, store }));

/**
 * Every adapter on every store. There are too many pairs for every run, so only `scripts/test.ts --every-pair` runs
 * them.
 */
const PAIRS: readonly Place[] | undefined =
  process.env.TEST_EVERY_PAIR === 'yes'
    ? [
        ...[FUNCTION, ...ADAPTERS].flatMap((transport) => STORES.map((store) => ({ transport, store }))),
        ...onEach(HOSTS_BY_REVOCATION),
      ]
    : undefined;

/** Mutants of the core run on the memory store, without an adapter. */
const IS_MEMORY_ALONE = process.env.TEST_ON_MEMORY_ALONE === 'yes';

/** For rules that no store can break. */
export const ON_MEMORY: readonly Place[] = PAIRS ?? onEach([MEMORY]);

/** For rules that depend on stored data. */
export const ON_EVERY_STORE: readonly Place[] = PAIRS ?? onEach(IS_MEMORY_ALONE ? [MEMORY] : STORES);

/** For rules about dead tokens. A host may revoke by a flag, by deletion or by an expiry of zero. */
export const ON_EVERY_HOST: readonly Place[] =
  PAIRS ?? onEach(IS_MEMORY_ALONE ? [MEMORY] : [...STORES, ...HOSTS_BY_REVOCATION]);

/** For rules of HTTP, which an adapter can break. They run in addition to the places of their specification. */
export const THROUGH_EVERY_ADAPTER: readonly Place[] =
  PAIRS || IS_MEMORY_ALONE ? [] : ADAPTERS.map((transport) => ({ transport, store: MEMORY }));
