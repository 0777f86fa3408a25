// Makes sure that results come from the current PostgreSQL primary. Failures are `StorageFault`s.
import { asRejection } from '../faults.ts';
import { canUse, type SchemaState } from '../migrations.ts';
import type { PostgresResult } from './connections.ts';
import {
  type Continuation,
  namedStatements,
  type PostgresCall,
  type PostgresConnections,
  type PostgresStatement,
  rowsOf,
  sqlState,
} from './connections.ts';
import { STORE_TABLES } from './schema.ts';

/**
 * Milliseconds for which a primary is trusted after it has proved that it is one. The same in every process of a
 * cluster, of any version.
 */
export const LEASE_MS = 2000;

/** The result of a read under a lease: a row with its `Key`, or none. */
export type Found<Row, Key extends keyof Row> = (Row | { readonly [K in Key]: null }) & {
  readonly epoch: number | null;
};

type Dated = { readonly epoch: number | null };

/** The epoch of the issuer `i`, or NULL on a standby. */
const EPOCH = 'CASE WHEN pg_is_in_recovery() THEN NULL ELSE i.epoch END AS epoch';

/** Returns at least one row: the epoch of the issuer `i`, which is `$1`, and the rows that `select` finds. */
export function underLease(select: string): string {
  return `
  SELECT ${EPOCH}, x.*
  FROM grantd.issuers i LEFT JOIN LATERAL (${select}) x ON true
  WHERE i.id = $1`;
}

const PRIMARY_SQL = {
  // If commits wait for a standby, the message makes this one wait as well, even if it changes nothing: what was done
  // before may not have reached the standby yet. A replaced primary cannot complete it.
  stamp: `
    SELECT
      CASE WHEN current_setting('synchronous_standby_names') <> '' THEN pg_logical_emit_message(true, 'grantd', '') END,
      epoch, epoch_timeline IS NOT DISTINCT FROM substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS is_known,
      (extract(epoch FROM clock_timestamp() - epoch_since) * 1000)::bigint AS age_ms,
      v.version, coalesce(v.floor, v.version) AS floor
    FROM grantd.issuers, (SELECT * FROM ${STORE_TABLES.versions} ORDER BY version DESC LIMIT 1) v
    WHERE id = $1`,

  // Before the first primary there was none that could still be trusted.
  begin: `
    UPDATE grantd.issuers SET epoch = epoch + 1,
      epoch_since = CASE WHEN epoch_timeline IS NULL THEN epoch_since ELSE clock_timestamp() END,
      epoch_timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
    WHERE id = $1
      AND epoch_timeline IS DISTINCT FROM substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`,
};

/** The maximum number of connections on which a lookup is tried. */
const MAX_READS = 3;

class NotThePrimary extends Error {
  override readonly name = 'NotThePrimary';
}

/** Ends as soon as one of two clocks says so: the first stops while the machine sleeps, the second can be set. */
export interface Term {
  readonly untilMs: number;
  readonly untilByCalendarMs: number;
}

export function termFromNow(ms: number, clock: () => number = Date.now): Term {
  return { untilMs: performance.now() + ms, untilByCalendarMs: clock() + ms };
}

export function msLeftOf({ untilMs, untilByCalendarMs }: Term, clock: () => number = Date.now): number {
  return Math.min(untilMs - performance.now(), untilByCalendarMs - clock());
}

/** The maximum number of writes in one call: their locks are held until the last of them is done. */
const MAX_SHARED = 64;

/** Milliseconds after which a call holds up the next no longer, if PostgreSQL has not answered. */
const MAX_HOLD_MS = 200;

/**
 * The classes of SQLSTATE that one of several writes can cause: its data, a lost race, a limit, a lock, or a canceled
 * statement. PostgreSQL has then rolled back all of them.
 */
const OF_ONE_WRITE = /^(2[23]|40|5[45]|57014|P0|XX)/;

/** Parameters by the names that a statement reads. */
type ParametersByName = Readonly<Record<string, unknown>>;

/** A write that waits for others. */
interface Waiting extends PromiseWithResolvers<string> {
  readonly parameters: ParametersByName;
  /** By `performance.now`. */
  readonly untilMs: number;
}

/** A row of a statement that calls a function for each write. `at` is the position of the write, from 1. */
interface Done extends StampRow {
  readonly at: number;
  readonly outcome: unknown;
}

interface Lease extends Term {
  readonly epoch: number;
}

type StampRow = SchemaState & {
  readonly epoch: number;
  /** Whether the epoch began on the server's present timeline. */
  readonly is_known: boolean;
  /** Milliseconds since the epoch began. */
  readonly age_ms: number;
};

/**
 * The primary, with proof that it is still the primary. After a failover, a deposed primary may still return outdated
 * tokens, so a result counts only under a lease. Renewing the lease takes a commit that the synchronous standby
 * confirms. A new primary completes no write before all leases on the old one have ended. Each primary has its epoch,
 * which lookups read together with the token.
 *
 * The store sends every statement through its methods. They reject with a `StorageFault` if the driver, the server
 * or reading the result fails. A `ContractBreach` passes through (ADR 10).
 */
export class Primary {
  readonly #connections: PostgresConnections;
  readonly #issuerId: number;
  readonly #sql: Readonly<Record<keyof typeof PRIMARY_SQL, PostgresStatement>>;
  /** Writes that wait for the call under way, by the name of their statement. */
  readonly #waiting = new Map<string, Waiting[]>();
  #lease: Lease | undefined;
  #renewal: Promise<void> | undefined;

  private constructor(
    connections: PostgresConnections,
    issuerId: number,
    sql: Readonly<Record<keyof typeof PRIMARY_SQL, PostgresStatement>>,
  ) {
    this.#connections = connections;
    this.#issuerId = issuerId;
    this.#sql = sql;
  }

  /** @throws Error the server cannot show that it is the primary */
  static async of(connections: PostgresConnections, issuerId: number): Promise<Primary> {
    const primary = new Primary(connections, issuerId, await namedStatements(PRIMARY_SQL));
    await primary.#renew();
    return primary;
  }

  /**
   * Reads without a lease. The result may be outdated after a failover, so it must not decide a response alone.
   * @param outcome what the result means
   */
  read<T>(call: PostgresCall, outcome: (result: PostgresResult) => T): Promise<T> {
    return reportingFaults(async () => outcome(await this.#connections.read(call)));
  }

  /**
   * Runs a statement that reads one row with the `epoch` of its issuer, or no row on a standby. It fails if the server
   * cannot prove that it is the primary.
   * @param outcome what the row means
   */
  readUnderLease<Row extends Dated, T>(call: PostgresCall, outcome: (row: Row) => T): Promise<T> {
    return this.readAllUnderLease<Row, T>(
      () => call,
      ([row]) => outcome(row),
    );
  }

  /**
   * As `readUnderLease`, for a statement that reads one or more rows, all with the same `epoch`.
   * @param callOf returns the statement once there is a connection; each attempt calls it again and gets the same
   * @param outcome what the rows mean
   */
  readAllUnderLease<Row extends Dated, T>(
    callOf: () => PostgresCall,
    outcome: (rows: readonly [Row, ...Row[]]) => T,
  ): Promise<T> {
    return reportingFaults(async () => {
      // Retry if an epoch ended in between, or if the connection led to a deposed primary.
      for (let attempt = 1; ; attempt++) {
        try {
          return outcome(await this.#readOnce<Row>(callOf));
        } catch (error) {
          if (!(error instanceof NotThePrimary) || attempt === MAX_READS) throw error;
        }
      }
    });
  }

  /**
   * Sends statements as one transaction, at once. Resolves once it is durable and visible to every process.
   * @param outcome what the results of the statements mean
   */
  write(calls: readonly PostgresCall[]): Promise<void>;
  write<T>(calls: readonly PostgresCall[], outcome: (results: readonly PostgresResult[]) => T): Promise<T>;
  write(
    calls: readonly PostgresCall[],
    outcome: (results: readonly PostgresResult[]) => unknown = () => undefined,
  ): Promise<unknown> {
    return reportingFaults(async () => {
      const [stamp, ...results] = await this.#connections.write([this.#stamp, ...calls]);
      await this.#outlastOldPrimary(stamp);
      return outcome(results);
    });
  }

  /**
   * Calls a function that is a whole write. Writes that arrive in one turn of the event loop, or
   * while a call is under way, share the next one (ADR 200).
   * @param statement calls the function for each element of the JSON list `$1`. It leaves out writes whose grant another
   *   transaction has locked, unless `$3` says that it waits
   * @returns the outcome of the function
   */
  writeOnce(statement: PostgresStatement, parameters: ParametersByName): Promise<string> {
    return reportingFaults(() => {
      if (this.#connections.hasCondition) return this.#writeAlone(statement, parameters, 'conditional');
      const untilMs = performance.now() + this.#connections.connectionTimeoutMs;
      const write = { ...Promise.withResolvers<string>(), parameters, untilMs };
      const waiting = this.#waiting.get(statement.name);
      if (waiting === undefined) {
        this.#waiting.set(statement.name, [write]);
        setImmediate(() => this.#writeNext(statement));
      } else waiting.push(write);
      return write.promise;
    });
  }

  /** Begins a call with the writes that wait. While it is under way, others do. Those that wait too long are not sent. */
  #writeNext(statement: PostgresStatement): void {
    const waiting = this.#waiting.get(statement.name) ?? [];
    const nowMs = performance.now();
    while (waiting[0] !== undefined && waiting[0].untilMs < nowMs)
      waiting.shift()?.reject(new Error('PostgreSQL did not answer the writes before this one in time'));
    const writes = waiting.splice(0, MAX_SHARED);
    if (writes.length === 0) {
      this.#waiting.delete(statement.name);
      return;
    }
    let isUnderWay = true;
    const goOn = () => {
      clearTimeout(timer);
      if (isUnderWay) setImmediate(() => this.#writeNext(statement));
      isUnderWay = false;
    };
    const timer = setTimeout(goOn, MAX_HOLD_MS);
    void this.#writeTogether(statement, writes, goOn);
  }

  /** Never rejects. A write that was left out, or may have made the others fail, is called again by itself. */
  async #writeTogether(
    statement: PostgresStatement,
    writes: readonly Waiting[],
    onAnswer: () => void,
  ): Promise<void> {
    const done = new Map<number, string>();
    try {
      const parameters = writes.map((write) => write.parameters);
      const result = await this.#call(statement, parameters, 'shared').catch(requireOfOne).finally(onAnswer);
      const rows = result === undefined ? [] : rowsOf<Done>(result);
      // From here on, they are stored.
      if (rows.length > 0) await this.#outlastOldPrimary(result);
      for (const { at, outcome } of rows) done.set(at, String(outcome));
    } catch (error) {
      for (const { reject } of writes) reject(error);
      return;
    }
    for (const [index, { parameters, resolve }] of writes.entries())
      resolve(done.get(index + 1) ?? this.#writeAlone(statement, parameters, 'single'));
  }

  async #writeAlone(
    statement: PostgresStatement,
    parameters: ParametersByName,
    scope: 'single' | 'conditional',
  ): Promise<string> {
    const result = await this.#call(statement, [parameters], scope);
    await this.#outlastOldPrimary(result);
    return String(rowsOf<Done>(result)[0]?.outcome);
  }

  #call(
    statement: PostgresStatement,
    writes: readonly ParametersByName[],
    scope: 'shared' | 'single' | 'conditional',
  ): Promise<PostgresResult> {
    const list = JSON.stringify(writes);
    return this.#connections.writeOnce([statement, list, this.#issuerId, scope !== 'shared'], scope);
  }

  /** As `PostgresConnections.transaction`. Resolves once it is durable and visible to every process. */
  transaction<T>(
    first: readonly PostgresCall[],
    next: (found: readonly PostgresResult[]) => Continuation<T>,
  ): Promise<T> {
    return reportingFaults(async () => {
      const { stamp, result } = await this.#connections.transaction(
        [this.#stamp, ...first],
        ([stamp, ...found]) => {
          const { calls, outcome } = next(found);
          return { calls, outcome: (results) => ({ stamp, result: outcome(results) }) };
        },
      );
      await this.#outlastOldPrimary(stamp);
      return result;
    });
  }

  get #stamp(): PostgresCall {
    return [this.#sql.stamp, this.#issuerId];
  }

  async #readOnce<Row extends Dated>(callOf: () => PostgresCall): Promise<readonly [Row, ...Row[]]> {
    const result = await this.#connections.readBelieved(callOf, (read) => this.#requireCurrent(read));
    const [row, ...others] = rowsOf<Row>(result);
    if (row !== undefined && row.epoch !== null && (await this.#holdsLease(row.epoch)))
      return [row, ...others];
    throw new NotThePrimary('PostgreSQL answered from a primary that has been replaced');
  }

  /** @throws {NotThePrimary} as far as the result shows it */
  #requireCurrent(result: PostgresResult): void {
    const [row] = rowsOf<{ epoch: number | null }>(result);
    if (row === undefined) throw new Error('the issuer is no longer in the database');
    if (row.epoch === null) throw new NotThePrimary('PostgreSQL is a standby here: grantd needs the primary');
    if (this.#lease !== undefined && row.epoch < this.#lease.epoch) {
      throw new NotThePrimary('PostgreSQL answered from a primary that has been replaced');
    }
  }

  async #holdsLease(epoch: number): Promise<boolean> {
    if (this.#leaseMsLeft(epoch) < LEASE_MS / 2) {
      const renewed = this.#renew();
      // While the lease is valid, no caller waits for its renewal. A failure then recurs for a caller that does
      // wait.
      if (this.#leaseMsLeft(epoch) > 0) renewed.catch(() => undefined);
      else await renewed;
    }
    return this.#leaseMsLeft(epoch) > 0;
  }

  /** Milliseconds; 0 for another epoch. */
  #leaseMsLeft(epoch: number): number {
    return this.#lease?.epoch === epoch ? msLeftOf(this.#lease) : 0;
  }

  /** Callers that need it at the same time share one renewal. */
  #renew(): Promise<void> {
    this.#renewal ??= this.#renewOnce().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async #renewOnce(): Promise<void> {
    // The lease counts from before the proof began, since the server was the primary at some moment after that.
    let lease = termFromNow(LEASE_MS);
    let stamp = await this.#proof();
    if (!stamp.is_known) {
      await this.#connections.writeForAll([[this.#sql.begin, this.#issuerId]]);
      lease = termFromNow(LEASE_MS);
      stamp = await this.#proof();
    }
    if (!stamp.is_known) throw new Error('PostgreSQL changes its primary at this moment');
    this.#lease = { ...lease, epoch: stamp.epoch };
  }

  async #proof(): Promise<StampRow> {
    const [stamp] = await this.#connections.writeForAll([this.#stamp]);
    return stampOf(stamp);
  }

  async #outlastOldPrimary(result: PostgresResult | undefined): Promise<void> {
    const { is_known: isKnown, age_ms: ageMs } = stampOf(result);
    if (!isKnown) await this.#renew();
    // Never longer than a lease, even if the server's clock was set.
    const restMs = Math.min(LEASE_MS, LEASE_MS - (isKnown ? ageMs : 0));
    if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
  }
}

/** @throws the error of a shared call, unless one of the writes can have caused it */
function requireOfOne(error: unknown): undefined {
  if (!OF_ONE_WRITE.test(sqlState(error))) throw error;
}

async function reportingFaults<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asRejection(error);
  }
}

function stampOf(result: PostgresResult | undefined): StampRow {
  const [row] = rowsOf<StampRow>(result);
  if (typeof row?.epoch !== 'number') throw new Error('the issuer is no longer in the database');
  // Every write and every renewal of the lease reads this stamp.
  if (!canUse(row, STORE_TABLES.migrations)) {
    throw new Error(
      `the database was migrated to schema ${row.version} while it was open, and this program knows schema ` +
        `${STORE_TABLES.migrations.length}: start the other program instead`,
    );
  }
  return row;
}
