// Lookups of tokens and clients in PostgreSQL, in batches.
import { frozen } from '../../platform/cache.ts';
import type { EventOrigin } from '../../protocol/event_records.ts';
import type { ClientRecord, TokenRecord } from '../../protocol/records.ts';
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

/**
 * Compares with a JSON list. The subquery hides the list's length from the planner, which would otherwise make a new
 * plan for each short list.
 */
const isOneOf = (list: string) => `= ANY (ARRAY(SELECT json_array_elements_text(${list})))`;

export const LOOK_UPS_SQL = {
  // Each row is one JSON text, because columns cost the driver and the server more than their content.
  find: underLease(`
    SELECT 'token' AS kind, json_build_array(${TOKEN_COLUMNS}) AS found
    FROM grantd.tokens t ${PRINCIPAL_JOINS}
    WHERE t.issuer_id = i.id AND t.id ${isOneOf('$2')}
    UNION ALL
    SELECT 'client', row_to_json(c)
    FROM (SELECT ${CLIENT_COLUMNS} FROM grantd.clients WHERE issuer_id = i.id AND id ${isOneOf('$3')}) c`),
};

/** A row that was found, as JSON, or none. */
type FoundRow = { readonly epoch: number | null } & (
  | { readonly kind: 'token' | 'client'; readonly found: string }
  | { readonly kind: null }
);

/**
 * Looks up tokens and clients by identifier, for one handle. A round trip costs more than finding a row, so lookups in
 * the same turn of the event loop, and those that wait for a connection, share one statement. It is sent after the last
 * of these calls, so each call sees everything that was committed before it. A failure rejects the whole batch. Lookups
 * of the same identifier share one record (ADR 27).
 */
export class LookUps {
  readonly #primary: Primary;
  readonly #issuerId: number;
  readonly #sql: Readonly<Record<keyof typeof LOOK_UPS_SQL, PostgresStatement>>;
  readonly #tokens: Waiting<TokenRecord> = new Map();
  readonly #clients: Waiting<ClientRecord> = new Map();
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
  token(id: string): Promise<TokenRecord | undefined> {
    return this.#ask(this.#tokens, id);
  }

  client(id: string): Promise<ClientRecord | undefined> {
    return this.#ask(this.#clients, id);
  }

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
        (rows: readonly FoundRow[]) => batch?.resolve(rows),
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
  readonly #tokens: Waiting<TokenRecord>;
  readonly #clients: Waiting<ClientRecord>;

  constructor(
    statement: PostgresStatement,
    issuerId: number,
    tokens: Waiting<TokenRecord>,
    clients: Waiting<ClientRecord>,
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

  /** @throws SyntaxError a row holds no JSON */
  resolve(rows: readonly FoundRow[]): void {
    for (const row of rows) {
      if (row.kind === 'token') {
        const token = frozen(toTokenRecord(JSON.parse(row.found)));
        this.#tokens.get(token.id)?.resolve(token);
      } else if (row.kind === 'client') {
        const client = frozen(toClientRecord(JSON.parse(row.found)));
        this.#clients.get(client.id)?.resolve(client);
      }
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
