import { HOSTS_BY_REVOCATION, STORES, type StoreKind } from './stores.ts';
import { FETCH } from './transports/fetch.ts';
import { FUNCTION } from './transports/function.ts';
import { NODE } from './transports/node.ts';
import type { Transport } from './transports/transport.ts';

/** Where a spec suite runs: how requests arrive, and what remembers. */
export interface Place {
  readonly transport: Transport;
  readonly store: StoreKind;
}

export const PLACES: readonly Place[] = [
  ...[FUNCTION, NODE, FETCH].flatMap((transport) => STORES.map((store) => ({ transport, store }))),
  ...HOSTS_BY_REVOCATION.map((store) => ({ transport: FUNCTION, store })),
];
