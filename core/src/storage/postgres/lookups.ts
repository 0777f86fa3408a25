// Lookups of tokens and clients in PostgreSQL, in batches.
import { frozen, RecentlyUsed } from '../../platform/cache.ts';
import type { EventOrigin } from '../../protocol/event_records.ts';
import type { ClientRecord, TokenRecord } from '../../protocol/records.ts';
import type { RecordVersions } from '../contract.ts';
import { asFault } from '../faults.ts';
import {
  CLIENT_COLUMNS,
  isAlive,
  PRINCIPAL_JOINS,
  STANDING_JOINS,
  TOKEN_COLUMNS,
  toClientRecord,
  toTokenRecord,
} from '../statements.ts';
import { isStorable, namedStatements, type PostgresCall, type PostgresStatement } from './connections.ts';
import { type Primary, underLease } from './primary.ts';

/** The maximum number of tokens, and of clients, in one batch: they wait for each other's rows and fail together. */
const MAX_BATCH = 64;

/** The maximum number of clients whose rows are kept. Each takes a few hundred bytes. */
const MAX_KNOWN_CLIENTS = 2000;

/**
 * Compares with a JSON list. The subquery hides the list's length from the planner, which would otherwise make a new
 * plan for each short list.
 */
const isOneOf = (list: string) => `= ANY (ARRAY(SELECT json_array_elements_text(${list})))`;

export const LOOK_UPS_SQL = {
  // Each row is one JSON text, because columns cost the driver and the server more than their content. The first letter
  // of the name tells the kind.
  find: underLease(`
    SELECT 't' || t.id AS name, json_build_array(${TOKEN_COLUMNS}) AS found
    FROM grantd.tokens t ${PRINCIPAL_JOINS}
    WHERE t.issuer_id = i.id AND t.id ${isOneOf('$2')}
    UNION ALL
    SELECT 'c' || id, row_to_json(c)
    FROM (SELECT ${CLIENT_COLUMNS} FROM grantd.clients WHERE issuer_id = i.id AND id ${isOneOf('$3')}) c`),
};

/** A row that was found, as JSON, or none. */
type FoundRow = { readonly epoch: number | null } & (
  | { readonly name: string; readonly found: string }
  | { readonly name: null; readonly found: null }
);

/** A row. Only what a lookup needs of it is read. */
class Row<T> {
  readonly text: string;
  readonly #read: (text: string) => T;
  #record: T | undefined;

  constructor(text: string, read: (text: string) => T) {
    this.text = text;
    this.#read = read;
  }

  /** The same record each time. @throws {StorageFault} the row holds no record */
  get record(): T {
    try {
      this.#record ??= frozen(this.#read(this.text));
      return this.#record;
    } catch (error) {
      throw asFault(error);
    }
  }

  /** Whether the record was read from this row. */
  isOf(record: T): boolean {
    return this.#record === record;
  }
}

/** The text says all that an answer can rest on: the token, and the standing of its principals. */
const readToken = (text: string): TokenRecord =>
  Object.assign(toTokenRecord(JSON.parse(text)), { version: text });

/** Rows with the same number are equal. */
class ClientRow extends Row<ClientRecord> {
  readonly number: number;

  constructor(text: string, number: number) {
    super(text, (json) => toClientRecord(JSON.parse(json)));
    this.number = number;
  }
}

/**
 * Looks up tokens and clients by identifier, for one handle. A round trip costs more than finding a row, so lookups in
 * the same turn of the event loop, and those that wait for a connection, share one statement. It is sent after the last
 * of these calls, so each call sees everything that was committed before it. A failure rejects the whole batch. Lookups
 * of the same identifier share one record (ADR 27), and those of a client as long as its row has the same text.
 */
export class LookUps {
  readonly #primary: Primary;
  readonly #issuerId: number;
  readonly #sql: Readonly<Record<keyof typeof LOOK_UPS_SQL, PostgresStatement>>;
  readonly #tokens: Waiting<Row<TokenRecord>> = new Map();
  readonly #clients: Waiting<ClientRow> = new Map();
  /** The last rows of clients, by identifier. A lookup that finds another text finds another row. */
  readonly #knownClients = new RecentlyUsed<ClientRow>(MAX_KNOWN_CLIENTS);
  #clientRows = 0;
  #isScheduled = false;

  private constructor(
    primary: Primary,
    issuerId: number,
    sql: Readonly<Record<keyof typeof LOOK_UPS_SQL, PostgresStatement>>,
  ) {
    this.#primary = primary;
    this.#issuerId = issuerId;
    this.#sql = sql;
  }

  static async of(primary: Primary, issuerId: number): Promise<LookUps> {
    return new LookUps(primary, issuerId, await namedStatements(LOOK_UPS_SQL));
  }

  /** A token of either kind. */
  async token(id: string): Promise<TokenRecord | undefined> {
    return (await this.#ask(this.#tokens, id))?.record;
  }

  async client(id: string): Promise<ClientRecord | undefined> {
    return (await this.#ask(this.#clients, id))?.record;
  }

  /** The text of the token's row, and the number of the client's. They take no JSON to compare. */
  readonly versions: RecordVersions = {
    of: ({ version }, caller) => {
      const row = caller && this.#knownClients.get(caller.id);
      return caller && !row?.isOf(caller) ? undefined : `${row?.number} ${version}`;
    },
    now: async (tokenId, callerId) => {
      const [token, caller] = await Promise.all([
        this.#ask(this.#tokens, tokenId),
        callerId === undefined ? undefined : this.#ask(this.#clients, callerId),
      ]);
      return token && `${caller?.number} ${token.text}`;
    },
  };

  async #ask<T>(waiting: Waiting<T>, id: string): Promise<T | undefined> {
    if (!isStorable(id)) return undefined;
    const known = waiting.get(id);
    if (known !== undefined) return known.promise;
    const lookup = Promise.withResolvers<T | undefined>();
    waiting.set(id, lookup);
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(() => this.#sendBatch());
    }
    return lookup.promise;
  }

  /** Never rejects. A failure rejects the lookups of the batch, or all that wait if there was no connection. */
  async #sendBatch(): Promise<void> {
    let batch: Batch | undefined;
    try {
      await this.#primary.readAllUnderLease(
        () => {
          batch ??= this.#nextBatch();
          return batch.call;
        },
        (rows: readonly FoundRow[]) => batch?.resolve(rows, (id, text) => this.#clientRow(id, text)),
      );
    } catch (error) {
      if (batch === undefined) this.#isScheduled = false;
      batch ??= this.#take(Number.POSITIVE_INFINITY);
      batch.reject(error);
    }
  }

  /** Lookups that do not fit are the first of the next batch. */
  #nextBatch(): Batch {
    const batch = this.#take(MAX_BATCH);
    this.#isScheduled = this.#tokens.size + this.#clients.size > 0;
    if (this.#isScheduled) void this.#sendBatch();
    return batch;
  }

  #clientRow(id: string, text: string): ClientRow {
    const known = this.#knownClients.get(id);
    if (known?.text === text) return known;
    this.#clientRows += 1;
    const row = new ClientRow(text, this.#clientRows);
    this.#knownClients.set(id, row);
    return row;
  }

  #take(most: number): Batch {
    return new Batch(this.#sql.find, this.#issuerId, taken(this.#tokens, most), taken(this.#clients, most));
  }
}

type Waiting<T> = Map<string, PromiseWithResolvers<T | undefined>>;

/** The lookups that have waited longest. */
function taken<T>(waiting: Waiting<T>, most: number): Waiting<T> {
  const first: Waiting<T> = new Map();
  for (const [id, asked] of waiting) {
    if (first.size === most) break;
    first.set(id, asked);
    waiting.delete(id);
  }
  return first;
}

class Batch {
  readonly call: PostgresCall;
  readonly #tokens: Waiting<Row<TokenRecord>>;
  readonly #clients: Waiting<ClientRow>;

  constructor(
    statement: PostgresStatement,
    issuerId: number,
    tokens: Waiting<Row<TokenRecord>>,
    clients: Waiting<ClientRow>,
  ) {
    this.call = [
      statement,
      issuerId,
      JSON.stringify([...tokens.keys()]),
      JSON.stringify([...clients.keys()]),
    ];
    this.#tokens = tokens;
    this.#clients = clients;
  }

  resolve(rows: readonly FoundRow[], clientRow: (id: string, text: string) => ClientRow): void {
    for (const { name, found } of rows) {
      if (name === null) continue;
      const id = name.slice(1);
      const [token, client] = name.startsWith('t')
        ? [this.#tokens.get(id)]
        : [undefined, this.#clients.get(id)];
      token?.resolve(new Row(found, readToken));
      client?.resolve(clientRow(id, found));
      // Without its row, a token or client would look absent.
      if (!token && !client) throw new SyntaxError('PostgreSQL returned a row that nothing has asked for');
    }
    for (const { resolve } of this.#tokens.values()) resolve(undefined);
    for (const { resolve } of this.#clients.values()) resolve(undefined);
  }

  reject(error: unknown): void {
    for (const { reject } of this.#tokens.values()) reject(error);
    for (const { reject } of this.#clients.values()) reject(error);
  }
}

/**
 * Whether all tokens from which a token was obtained are alive.
 * OFFSET 0 keeps the lookups from becoming a join: without statistics, it would go through all tokens for each ancestor.
 * @param token the row of the token
 * @param now SQL for seconds since 1970
 * @param condition a further one, of each ancestor `t`
 */
export function hasLivingAncestors(token: string, now: string, condition = ''): string {
  return `NOT EXISTS (
        SELECT 1 FROM json_to_recordset(${token}.ancestors::json) AS a (kind text, id text)
        WHERE NOT EXISTS (
          SELECT 1 FROM grantd.tokens t ${STANDING_JOINS}
          WHERE t.issuer_id = $1 AND t.id = a.id AND t.kind = a.kind AND ${isAlive(now)} ${condition}
          OFFSET 0))`;
}

/** What each part of the store needs. */
export interface PostgresHandle {
  readonly primary: Primary;
  readonly lookUps: LookUps;
  readonly issuerId: number;
  /** Milliseconds. */
  readonly clock: () => number;
  /** Where a change comes from; `undefined` if the store is not audited. Call it when the write begins. */
  readonly originOf: () => EventOrigin | undefined;
  /** Whether each issuance is recorded. */
  readonly recordsIssuance: boolean;
}
