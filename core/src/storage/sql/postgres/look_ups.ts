import { rowsOf } from './connections.ts';
import type { PostgresResult } from './pool.ts';
import type { Primary } from './primary.ts';
import type { PostgresCall, PostgresStatement } from './statement.ts';
import { isStorable } from './storable.ts';

/** Identifiers that a statement is asked for at most: those in a flight wait for each other's rows, and fail together. */
const MOST_IN_A_FLIGHT = 64;

/**
 * That a column is one of the identifiers in `$2`, a JSON list. Planned for some, however many there are: a planner that
 * counted them would find a plan for few better than the one that it keeps, and plan anew each time.
 */
export const IS_ASKED_FOR = '= ANY (ARRAY(SELECT json_array_elements_text($2)))';

/**
 * The look-ups by identifier of one handle. To ask PostgreSQL costs more than to find a row, so those that are asked
 * while a connection is awaited, at least until the turn of the event loop is over, share a flight: one statement of
 * each kind on one connection. It leaves after the last of them was asked, so that each sees whatever was committed
 * before; and what becomes of it becomes of all of them. Of those that ask for the same, one asks.
 */
export class LookUps {
  readonly #primary: Primary;
  readonly #issuerId: number;
  readonly #kinds: Kind[] = [];
  #isBoarding = false;

  constructor(primary: Primary, issuerId: number) {
    this.#primary = primary;
    this.#issuerId = issuerId;
  }

  /**
   * @param statement for the issuer `$1`, of those that are asked for; see `Primary.readUnderLease` for its rows
   * @param recordOf is given a row, whose first value is the identifier
   * @returns a look-up by identifier, whose callers share the record; `undefined` where there is none
   */
  by<Row extends readonly [string, ...unknown[]], T>(
    statement: PostgresStatement,
    recordOf: (row: Row) => T,
  ): (id: string) => Promise<T | undefined> {
    const waiting = new Map<string, Waiting<T>>();
    this.#kinds.push({
      isAskedFor: () => waiting.size > 0,
      board: (most) => this.#board(taken(waiting, most), statement, recordOf),
    });
    return async (id) => {
      if (!isStorable(id)) return undefined;
      const known = waiting.get(id);
      if (known !== undefined) return known.promise;
      const asked = Promise.withResolvers<T | undefined>();
      waiting.set(id, asked);
      this.#awaitFlight();
      return asked.promise;
    };
  }

  #awaitFlight(): void {
    if (this.#isBoarding) return;
    this.#isBoarding = true;
    setImmediate(() => this.#fly());
  }

  #board<Row extends readonly [string, ...unknown[]], T>(
    aboard: ReadonlyMap<string, Waiting<T>>,
    statement: PostgresStatement,
    recordOf: (row: Row) => T,
  ): Boarded {
    return {
      call: [statement, this.#issuerId, JSON.stringify([...aboard.keys()])],
      land(result) {
        for (const row of rowsOf<Row | readonly [null]>(result)) {
          if (row[0] === null) continue;
          const waiting = aboard.get(row[0]);
          try {
            waiting?.resolve(recordOf(row));
          } catch (error) {
            waiting?.reject(error);
          }
        }
        for (const { resolve } of aboard.values()) resolve(undefined);
      },
      fail(error) {
        for (const { reject } of aboard.values()) reject(error);
      },
    };
  }

  /** Never rejects: what fails are the look-ups aboard; all that wait where there is no connection for them. */
  async #fly(): Promise<void> {
    let flight: readonly Boarded[] | undefined;
    try {
      const results = await this.#primary.readUnderLease((isPipelined) => {
        flight ??= this.#depart(isPipelined);
        return flight.map(({ call }) => call);
      });
      for (const [index, boarded] of (flight ?? []).entries()) boarded.land(results[index]);
    } catch (error) {
      const failed = flight ?? this.#kinds.map(({ board }) => board(Number.POSITIVE_INFINITY));
      if (flight === undefined) this.#isBoarding = false;
      for (const { fail } of failed) fail(error);
    }
  }

  /** @param isPipelined whether one connection takes more than one statement at once */
  #depart(isPipelined: boolean): readonly Boarded[] {
    const asked = this.#kinds.filter(({ isAskedFor }) => isAskedFor());
    const flight = (isPipelined ? asked : asked.slice(0, 1)).map(({ board }) => board(MOST_IN_A_FLIGHT));
    this.#isBoarding = this.#kinds.some(({ isAskedFor }) => isAskedFor());
    if (this.#isBoarding) void this.#fly();
    return flight;
  }
}

interface Kind {
  readonly isAskedFor: () => boolean;
  readonly board: (most: number) => Boarded;
}

/** Look-ups of one kind in a flight. */
interface Boarded {
  readonly call: PostgresCall;
  readonly land: (result: PostgresResult | undefined) => void;
  readonly fail: (error: unknown) => void;
}

type Waiting<T> = PromiseWithResolvers<T | undefined>;

/** Those that have waited longest. */
function taken<T>(waiting: Map<string, T>, most: number): ReadonlyMap<string, T> {
  const first = new Map<string, T>();
  for (const [id, one] of waiting) {
    if (first.size === most) break;
    first.set(id, one);
    waiting.delete(id);
  }
  return first;
}
