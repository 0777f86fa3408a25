import type { Place } from '../../harness/places.ts';
import { MEMORY, SQLITE } from '../../harness/stores.ts';
import { FETCH } from '../../harness/transports/fetch.ts';
import { FUNCTION } from '../../harness/transports/function.ts';
import { NODE } from '../../harness/transports/node.ts';

/** The places of a suite on a runtime with Node's modules. */
const ON_SQLITE: readonly Place[] = [{ transport: FUNCTION, store: SQLITE }];
const ADAPTERS: readonly Place[] = [FETCH, NODE].map((transport) => ({ transport, store: MEMORY }));

const EVERY_PAIR = process.env.TEST_EVERY_PAIR === 'yes' ? [...ON_SQLITE, ...ADAPTERS] : undefined;

export const ON_MEMORY: readonly Place[] = EVERY_PAIR ?? [{ transport: FUNCTION, store: MEMORY }];
export const ON_EVERY_STORE = EVERY_PAIR ?? ON_SQLITE;
export { ON_EVERY_STORE as ON_EVERY_HOST };

export const THROUGH_EVERY_ADAPTER = EVERY_PAIR ? [] : ADAPTERS;
