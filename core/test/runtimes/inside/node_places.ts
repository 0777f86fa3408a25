import type { Place } from '../../harness/places.ts';
import { MEMORY, SQLITE } from '../../harness/stores.ts';
import { FETCH } from '../../harness/transports/fetch.ts';
import { FUNCTION } from '../../harness/transports/function.ts';
import { NODE } from '../../harness/transports/node.ts';

/** Where a suite runs on a runtime that has the modules of Node. */
export const PLACES: readonly Place[] = [
  { transport: FUNCTION, store: SQLITE },
  { transport: FETCH, store: MEMORY },
  { transport: NODE, store: MEMORY },
];
