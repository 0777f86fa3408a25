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

/** Where a spec suite runs: how requests arrive, and what remembers. */
export interface Place {
  readonly transport: Transport;
  readonly store: StoreKind;
}

const FRAMEWORKS: readonly Transport[] = [
  ...[EXPRESS, EXPRESS_4, FASTIFY, KOA, NEST_ON_EXPRESS, NEST_ON_FASTIFY],
  ...[HONO, H3_APP, NEXT],
];

export const PLACES: readonly Place[] = [
  ...[FUNCTION, NODE, FETCH].flatMap((transport) => STORES.map((store) => ({ transport, store }))),
  ...FRAMEWORKS.map((transport) => ({ transport, store: MEMORY })),
  ...HOSTS_BY_REVOCATION.map((store) => ({ transport: FUNCTION, store })),
];
