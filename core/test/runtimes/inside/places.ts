import type { Place } from '../../harness/places.ts';
import { MEMORY } from '../../harness/stores.ts';
import { FETCH } from '../../harness/transports/fetch.ts';
import { FUNCTION } from '../../harness/transports/function.ts';
import { H3_APP } from '../../harness/transports/h3.ts';
import { HONO } from '../../harness/transports/hono.ts';

/** The places of a suite on a runtime without Node's modules. */
const FUNCTION_ALONE: readonly Place[] = [{ transport: FUNCTION, store: MEMORY }];
const ADAPTERS: readonly Place[] = [FETCH, HONO, H3_APP].map((transport) => ({ transport, store: MEMORY }));

const EVERY_PAIR = process.env.TEST_EVERY_PAIR === 'yes' ? [...FUNCTION_ALONE, ...ADAPTERS] : undefined;

export const ON_MEMORY = EVERY_PAIR ?? FUNCTION_ALONE;
export { ON_MEMORY as ON_EVERY_HOST, ON_MEMORY as ON_EVERY_STORE };

export const THROUGH_EVERY_ADAPTER = EVERY_PAIR ? [] : ADAPTERS;
