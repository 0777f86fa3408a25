import { HOSTS_BY_REVOCATION, MEMORY, SQLITE, STORES, type StoreKind } from './stores.ts';
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

/** Where a spec suite runs: how requests arrive, and what remembers. */
export interface Place {
  readonly transport: Transport;
  readonly store: StoreKind;
}

const ADAPTERS: readonly Transport[] = [
  ...[NODE, FETCH, EXPRESS, EXPRESS_4, FASTIFY, KOA, NEST_ON_EXPRESS, NEST_ON_FASTIFY],
  ...[HONO, H3_APP, NEXT],
];

/** What the program runs on. */
const PROGRAM: Place = { transport: NODE, store: SQLITE };

/** Every store, and every adapter, once; and every way in which a host may revoke. */
const EACH: readonly Place[] = [
  ...STORES.map((store) => ({ transport: FUNCTION, store })),
  ...ADAPTERS.map((transport) => ({ transport, store: MEMORY })),
  PROGRAM,
  ...HOSTS_BY_REVOCATION.map((store) => ({ transport: FUNCTION, store })),
];

/** Every adapter on every store. */
const PAIRS: readonly Place[] = [FUNCTION, ...ADAPTERS].flatMap((transport) =>
  STORES.map((store) => ({ transport, store })),
);

/** Told by `scripts/test.ts`, since there are too many pairs for every run. */
export const PLACES: readonly Place[] = process.env.TEST_EVERY_PAIR === 'yes' ? PAIRS : EACH;
