import type { PostgresResult } from './connections.ts';
import {
  type Continuation,
  namedStatements,
  type PostgresCall,
  type PostgresConnections,
  type PostgresStatement,
  rowsOf,
} from './connections.ts';
import { STORE_TABLES } from './schema.ts';

/**
 * Milliseconds for which a primary is trusted without having shown that it still is one. The same in every process
 * of a cluster, of whatever version.
 */
export const LEASE_MS = 2000;

/** What is read under a lease: a row with its `Key`, or none. */
export type Found<Row, Key extends keyof Row> = (Row | { readonly [K in Key]: null }) & {
  readonly epoch: number | null;
};

type Dated = { readonly epoch: number | null };

/** Of the issuer `i`; a standby has none of its own. */
const EPOCH = 'CASE WHEN pg_is_in_recovery() THEN NULL ELSE i.epoch END AS epoch';

/** One row at least, whatever there is: the epoch of the issuer `i`, which is `$1`, and what `select` finds beside it. */
export function underLease(select: string): string {
  return `
  SELECT ${EPOCH}, x.*
  FROM grantd.issuers i LEFT JOIN LATERAL (${select}) x ON true
  WHERE i.id = $1`;
}

const PRIMARY_SQL = {
  // Where commits wait for a standby, this one waits as well: a primary that was deposed cannot complete it.
  show: `
    SELECT pg_logical_emit_message(true, 'grantd', '') WHERE current_setting('synchronous_standby_names') <> ''`,

  stamp: `
    SELECT epoch, epoch_timeline IS NOT DISTINCT FROM substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS is_known,
      (extract(epoch FROM clock_timestamp() - epoch_since) * 1000)::bigint AS age_ms,
      (SELECT max(version) FROM ${STORE_TABLES.versions}) AS schema_version
    FROM grantd.issuers WHERE id = $1`,

  // The first primary of all succeeds nobody who could still be trusted.
  begin: `
    UPDATE grantd.issuers SET epoch = epoch + 1,
      epoch_since = CASE WHEN epoch_timeline IS NULL THEN epoch_since ELSE clock_timestamp() END,
      epoch_timeline = substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
    WHERE id = $1
      AND epoch_timeline IS DISTINCT FROM substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`,
};

/** A look-up is tried on so many connections at most. */
const MOST_READS = 3;

class NotThePrimary extends Error {
  override readonly name = 'NotThePrimary';
}

/** Over as soon as one of two clocks says so: the first stands still while the machine sleeps, the second can be set. */
interface Lease {
  readonly epoch: number;
  readonly untilMs: number;
  readonly untilByCalendarMs: number;
}

type StampRow = {
  readonly epoch: number;
  /** Whether the server's timeline is the one that the epoch was begun for. */
  readonly is_known: boolean;
  /** Milliseconds since the epoch began. */
  readonly age_ms: number;
  /** Of the store's tables. */
  readonly schema_version: number;
};

/**
 * The primary, and the proof that it still is one. After a failover a deposed primary may go on answering: what it
 * says about tokens is then not true any more. So an answer that was read from it counts only under a lease, which is
 * renewed by a commit that its synchronous standby confirms; and what is committed on a new primary is answered only
 * when every lease on the former one has run out. Each primary has its epoch, which look-ups read along with the token.
 */
export class Primary {
  readonly #connections: PostgresConnections;
  readonly #issuerId: number;
  readonly #sql: Readonly<Record<keyof typeof PRIMARY_SQL, PostgresStatement>>;
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

  /** A statement that only reads, and whose answer may be old after a failover: for what leads to no answer by itself. */
  read(call: PostgresCall): Promise<PostgresResult> {
    return this.#connections.read(call);
  }

  /**
   * A statement that reads one row with the `epoch` of its issuer, or none where a standby answers.
   * @throws Error the server cannot show that it is the primary
   */
  async readUnderLease<Row extends Dated>(call: PostgresCall): Promise<Row> {
    const [row] = await this.readAllUnderLease<Row>(() => call);
    return row;
  }

  /**
   * As `readUnderLease`, of a statement that reads one row or several, all with the same `epoch`.
   * @param callOf says what to read once there is a connection; asked again, and for the same, at each attempt
   */
  async readAllUnderLease<Row extends Dated>(callOf: () => PostgresCall): Promise<readonly [Row, ...Row[]]> {
    // Again where an epoch ended in between, or a connection led to a server that is the primary no more.
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#readOnce<Row>(callOf);
      } catch (error) {
        if (!(error instanceof NotThePrimary) || attempt === MOST_READS) throw error;
      }
    }
  }

  /** Statements as one transaction, sent at once. Resolves once it is durable, and true for every process. */
  async write(calls: readonly PostgresCall[]): Promise<readonly PostgresResult[]> {
    const [stamp, , ...results] = await this.#connections.write([this.#stamp, this.#show, ...calls]);
    await this.#outlastFormerPrimary(stamp);
    return results;
  }

  /** As `PostgresConnections.transaction`. Resolves once it is durable, and true for every process. */
  async transaction<T>(
    first: readonly PostgresCall[],
    next: (found: readonly PostgresResult[]) => Continuation<T>,
  ): Promise<T> {
    const { stamp, result } = await this.#connections.transaction(
      [this.#stamp, ...first],
      ([stamp, ...found]) => {
        const { calls, outcome } = next(found);
        return {
          calls: [this.#show, ...calls],
          outcome: ([, ...results]) => ({ stamp, result: outcome(results) }),
        };
      },
    );
    await this.#outlastFormerPrimary(stamp);
    return result;
  }

  /** Also where nothing is changed: what was done already may not have reached the standby yet. */
  get #show(): PostgresCall {
    return [this.#sql.show];
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

  /** @throws {NotThePrimary} as far as that can be told without asking again */
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
      // With time left nobody needs to wait for it; what fails then fails again for whoever does.
      if (this.#leaseMsLeft(epoch) > 0) renewed.catch(() => undefined);
      else await renewed;
    }
    return this.#leaseMsLeft(epoch) > 0;
  }

  /** Milliseconds; none where it is for another epoch. */
  #leaseMsLeft(epoch: number): number {
    if (this.#lease?.epoch !== epoch) return 0;
    const { untilMs, untilByCalendarMs } = this.#lease;
    return Math.min(untilMs - performance.now(), untilByCalendarMs - Date.now());
  }

  /** Of callers that need it at once, one asks. */
  #renew(): Promise<void> {
    this.#renewal ??= this.#renewOnce().finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async #renewOnce(): Promise<void> {
    // Counted from before the proof began: it was the primary at some moment after this one.
    let lease = leaseFromNow();
    let stamp = await this.#proof();
    if (!stamp.is_known) {
      await this.#connections.write([[this.#sql.begin, this.#issuerId]]);
      lease = leaseFromNow();
      stamp = await this.#proof();
    }
    if (!stamp.is_known) throw new Error('PostgreSQL changes its primary at this moment');
    this.#lease = { ...lease, epoch: stamp.epoch };
  }

  async #proof(): Promise<StampRow> {
    const [stamp] = await this.#connections.write([this.#stamp, this.#show]);
    return stampOf(stamp);
  }

  async #outlastFormerPrimary(result: PostgresResult | undefined): Promise<void> {
    const { is_known: isKnown, age_ms: ageMs } = stampOf(result);
    if (!isKnown) await this.#renew();
    // Never longer than a lease, wherever the server's clock has been set to.
    const restMs = Math.min(LEASE_MS, LEASE_MS - (isKnown ? ageMs : 0));
    if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
  }
}

function stampOf(result: PostgresResult | undefined): StampRow {
  const [row] = rowsOf<StampRow>(result);
  if (row === undefined) throw new Error('the issuer is no longer in the database');
  // Every write and every renewal of the lease comes by here.
  const known = STORE_TABLES.migrations.length;
  if (row.schema_version !== known) {
    throw new Error(
      `the database was migrated to schema ${row.schema_version} while it was open, and this program knows schema ` +
        `${known}: start the newer program instead`,
    );
  }
  return row;
}

function leaseFromNow(): Omit<Lease, 'epoch'> {
  return { untilMs: performance.now() + LEASE_MS, untilByCalendarMs: Date.now() + LEASE_MS };
}
