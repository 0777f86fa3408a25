import { frozen } from '../../protocol/frozen.ts';
import type {
  AuthorizationCodeRecord,
  ClientRecord,
  EventRecord,
  EventType,
  GrantRecord,
  KeyRecord,
  Principal,
  PushedRequest,
  TokenRecord,
} from '../../protocol/records.ts';

/** A stored record with the generations that it copied. Rows are never changed, only replaced. */
export interface Row<R> {
  readonly record: R;
  readonly generations: Generations;
  /** Seconds. */
  readonly keepUntil: number;
}

export type Generations = Readonly<Partial<Record<Principal, number>>>;

export type TokenRow = Row<Omit<TokenRecord, 'standing' | 'notBeforeMs'>>;
export type CodeRow = Row<Omit<AuthorizationCodeRecord, 'standing' | 'notBeforeMs'>>;

/** A grant with the generations that it copied when it began. Its row is kept as long as its principal's. */
export interface GrantRow {
  readonly record: GrantRecord;
  readonly generations: Generations;
}

export interface PrincipalRow {
  readonly generation: number;
  readonly raisedAtMs?: number;
  readonly disabledAtMs?: number;
  /** Seconds; for ever where it is infinite. */
  readonly keepUntil: number;
}

export interface KeyRow {
  readonly record: KeyRecord;
  /** Seconds until which rows that it signed are kept. */
  readonly neededUntil: number;
}

/** Everything that a memory store holds. */
export interface Tables {
  readonly clients: Map<string, ClientRecord>;
  /** Of all four kinds, under `principalKey`. */
  readonly principals: Map<string, PrincipalRow>;
  readonly grants: Map<string, GrantRow>;
  readonly tokens: Map<string, TokenRow>;
  readonly authorizationCodes: Map<string, CodeRow>;
  readonly keys: Map<string, KeyRow>;
  /** Seconds until which each is taken. */
  readonly oneTimeIdentifiers: Map<string, number>;
  readonly pushedRequests: Map<string, PushedRequest>;
  readonly events: EventRecord[];
  lastSequence: number;
  notBeforeMs: number | undefined;
  /** Where the generation of a new client begins: above that of every client that was removed. */
  firstClientGeneration: number;
}

/** What each part of the store works with. */
export interface MemoryHandle {
  /** @throws Error once the store is closed */
  readonly tables: () => Tables;
  /** Milliseconds. */
  readonly clock: () => number;
}

export function emptyTables(): Tables {
  return {
    clients: new Map(),
    principals: new Map(),
    grants: new Map(),
    tokens: new Map(),
    authorizationCodes: new Map(),
    keys: new Map(),
    oneTimeIdentifiers: new Map(),
    pushedRequests: new Map(),
    events: [],
    lastSequence: 0,
    notBeforeMs: undefined,
    firstClientGeneration: 0,
  };
}

export function principalKey(principal: Principal, id: string): string {
  return `${principal} ${id}`;
}

export function addEvent(
  { tables, clock }: MemoryHandle,
  type: EventType,
  target: string,
  actor?: string,
): void {
  const held = tables();
  held.lastSequence += 1;
  held.events.push({
    sequence: held.lastSequence,
    atMs: clock(),
    type,
    target,
    ...(actor !== undefined && { actor }),
  });
}

/** A copy that neither the caller's changes nor a reader's can reach. */
export function snapshot<T>(value: T): T {
  return frozen(structuredClone(value));
}
