import type { Place } from '../../harness/places.ts';
import { MEMORY } from '../../harness/stores.ts';
import { FETCH } from '../../harness/transports/fetch.ts';
import { FUNCTION } from '../../harness/transports/function.ts';

/** Where a suite runs on a runtime that has nothing of Node. */
export const PLACES: readonly Place[] = [FUNCTION, FETCH].map((transport) => ({ transport, store: MEMORY }));
