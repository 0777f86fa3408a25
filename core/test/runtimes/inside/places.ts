import type { Place } from '../../harness/places.ts';
import { MEMORY } from '../../harness/stores.ts';
import { FETCH } from '../../harness/transports/fetch.ts';
import { FUNCTION } from '../../harness/transports/function.ts';
import { H3_APP } from '../../harness/transports/h3.ts';
import { HONO } from '../../harness/transports/hono.ts';

/** Where a suite runs on a runtime that has nothing of Node. */
export const PLACES: readonly Place[] = [FUNCTION, FETCH, HONO, H3_APP].map((transport) => ({
  transport,
  store: MEMORY,
}));
