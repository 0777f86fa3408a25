import { frozen } from '../../cache.ts';
import type { ClientRecord, TokenRecord } from '../../protocol/records.ts';
import {
  CLIENT_COLUMNS,
  PRINCIPAL_JOINS,
  TOKEN_COLUMNS,
  toClientRecord,
  toTokenRecord,
} from '../statements.ts';
import { isStorable, namedStatements, type PostgresCall, type PostgresStatement } from './connections.ts';
import { type Primary, underLease } from './primary.ts';

/** Tokens, and clients, that one flight looks up at most: they wait for each other's rows, and fail together. */
const MOST_IN_A_FLIGHT = 64;

/**
 * One of a JSON list. The planner is kept from counting it: it would find a plan for few better than the one that it
 * has kept for any number, and plan anew each time.
 */
const isOneOf = (list: string) => `= ANY (ARRAY(SELECT json_array_elements_text(${list})))`;

export const LOOK_UPS_SQL = {
  // Each row as one text: the driver and the server spend more on each column than on what is in it.
  find: underLease(`
    SELECT 'token' AS kind, json_build_array(${TOKEN_COLUMNS}) AS found
    FROM grantd.tokens t ${PRINCIPAL_JOINS}
    WHERE t.issuer_id = i.id AND t.id ${isOneOf('$2')}
    UNION ALL
    SELECT 'client', row_to_json(c)
    FROM (SELECT ${CLIENT_COLUMNS} FROM grantd.clients WHERE issuer_id = i.id AND id ${isOneOf('$3')}) c`),
};

/** What was found, as JSON, or nothing. */
type FoundRow = { readonly epoch: number | null } & (
  | { readonly kind: 'token' | 'client'; readonly found: string }
  | { readonly kind: null }
);

/**
 * The look-ups of tokens and clients by identifier, of one handle. To ask PostgreSQL costs more than to find a row, so
 * those that are asked until the turn of the event loop is over, and then until there is a connection, share a flight:
 * one statement. It leaves after the last of them was asked, so that each sees whatever was committed before; what
 * becomes of it becomes of all of them. Of those that ask for the same, one asks, and they share the record.
 */
export class LookUps {
  readonly #primary: Primary;
  readonly #issuerId: number;
  readonly #sql: Readonly<Record<keyof typeof LOOK_UPS_SQL, PostgresStatement>>;
  readonly #tokens: Waiting<TokenRecord> = new Map();
  readonly #clients: Waiting<ClientRecord> = new Map();
  #isBoarding = false;

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

  /** Of either kind. */
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
    const asked = Promise.withResolvers<T | undefined>();
    waiting.set(id, asked);
    if (!this.#isBoarding) {
      this.#isBoarding = true;
      setImmediate(() => this.#fly());
    }
    return asked.promise;
  }

  /** Never rejects: what fails is failed to those aboard; to all that wait, where no connection could be had. */
  async #fly(): Promise<void> {
    let flight: Flight | undefined;
    try {
      const rows = await this.#primary.readAllUnderLease<FoundRow>(() => {
        flight ??= this.#depart();
        return flight.call;
      });
      flight?.land(rows);
    } catch (error) {
      if (flight === undefined) this.#isBoarding = false;
      flight ??= this.#board(Number.POSITIVE_INFINITY);
      flight.fail(error);
    }
  }

  /** Where not all find room, those left are the first of the next one. */
  #depart(): Flight {
    const flight = this.#board(MOST_IN_A_FLIGHT);
    this.#isBoarding = this.#tokens.size + this.#clients.size > 0;
    if (this.#isBoarding) void this.#fly();
    return flight;
  }

  #board(most: number): Flight {
    return new Flight(this.#sql.find, this.#issuerId, taken(this.#tokens, most), taken(this.#clients, most));
  }
}

type Waiting<T> = Map<string, PromiseWithResolvers<T | undefined>>;

/** Those that have waited longest. */
function taken<T>(waiting: Waiting<T>, most: number): Waiting<T> {
  const first: Waiting<T> = new Map();
  for (const [id, asked] of waiting) {
    if (first.size === most) break;
    first.set(id, asked);
    waiting.delete(id);
  }
  return first;
}

class Flight {
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

  /** @throws SyntaxError what is stored is not ours */
  land(rows: readonly FoundRow[]): void {
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

  fail(error: unknown): void {
    for (const { reject } of this.#tokens.values()) reject(error);
    for (const { reject } of this.#clients.values()) reject(error);
  }
}

/** What each part of the store works with. */
export interface PostgresHandle {
  readonly primary: Primary;
  readonly lookUps: LookUps;
  readonly issuerId: number;
  /** Milliseconds. */
  readonly clock: () => number;
}
