// Opens a SQLite store.
import type { DatabaseSync } from 'node:sqlite';
import { CachedRows } from '../../platform/cache.ts';
import type { AuditOptions } from '../../protocol/event_records.ts';
import {
  anyFunction,
  anyText,
  anyValue,
  type KindsOf,
  milliseconds,
  requireKinds,
  wholeNumber,
} from '../../protocol/option_kinds.ts';
import type { ClientRecord } from '../../protocol/records.ts';
import type {
  AdministrableStorage,
  HostCondition,
  MigrationAssumption,
  RecordVersions,
} from '../contract.ts';
import { unguarded } from '../faults.ts';
import { DEFAULT_EVENT_RETENTION_SECONDS } from '../issuing.ts';
import { RememberedAnswers } from '../remembered_answers.ts';
import { CachedTokens } from './cached_tokens.ts';
import { sqliteClients } from './clients.ts';
import {
  DEFAULT_BUSY_TIMEOUT_MS,
  isBusy,
  openDatabase,
  type Reads,
  type SqliteHandle,
  type Transaction,
} from './connection.ts';
import { type Events, sqliteEvents, sqliteSweep } from './events.ts';
import { readSqlite } from './files.ts';
import { sqliteKeys, sqliteOneTimeIdentifiers, sqlitePending, sqliteTake } from './keys.ts';
import { sqliteAdministration, sqlitePrincipals } from './principals.ts';
import {
  Corruption,
  EventNumbers,
  inTransaction,
  lastNumbersIn,
  ReadQueue,
  requireUsableTables,
  WriteQueue,
} from './queues.ts';
import {
  ISSUER_SQL,
  isUpToDate,
  migrate,
  SQLITE_STORE_TABLES,
  type SqliteTables,
  usableState,
} from './schema.ts';
import { sqliteAuthorizationCodes, sqliteGrants, sqliteIssuing, sqliteTokens } from './tokens.ts';

export type { Migration, MigrationDirection, SchemaState } from '../migrations.ts';
export type { Reads, Transaction } from './connection.ts';
export { migrateTables, type SqliteTables } from './schema.ts';

export interface SqliteStorageOptions {
  /** The database file. Created with its folder, readable by its owner alone, if it is missing. */
  readonly path: string;
  /** The issuer whose records this handle sees; one file can hold several. */
  readonly issuer: string;
  /** Returns milliseconds since 1970. Default: the system clock. */
  readonly clock?: () => number;
  /** Milliseconds for which a write waits for another process's write. Default: 2000. */
  readonly busyTimeoutMs?: number;
  /** The age in seconds at which events are swept. Default: 30 days. */
  readonly eventRetentionSeconds?: number;
  /**
   * Records issuance and changes to clients and keys as events, and for every event where it came from. Default: events
   * record only what ended tokens.
   */
  readonly audit?: AuditOptions;
  /** What must hold in the transaction of a change, for hosts that keep tables in the same file. */
  readonly hostCondition?: HostCondition;
  /**
   * Pages after which a commit copies SQLite's log into the database file, which takes some milliseconds. Default: 1000.
   */
  readonly checkpointPages?: number;
  /**
   * Receives SQLite's first error about a corrupt file. From then on, every lookup and write is rejected.
   */
  readonly onCorruption?: (error: Error) => void;
  /** Tables that a host keeps in the same file. */
  readonly hostTables?: SqliteHostTables;
  /** Receives what the migration of the file assumed. */
  readonly onAssumption?: (assumption: MigrationAssumption) => void;
}

const OPTIONS: KindsOf<SqliteStorageOptions> = {
  path: anyText,
  issuer: anyText,
  clock: anyFunction,
  busyTimeoutMs: milliseconds(0),
  eventRetentionSeconds: wholeNumber(0, Number.MAX_SAFE_INTEGER),
  checkpointPages: wholeNumber(1, 1_000_000),
  onAssumption: anyFunction,
  hostTables: anyValue,
  onCorruption: anyFunction,
  hostCondition: anyValue,
  audit: anyValue,
};

/** Tables that a host keeps in the file of a store. */
export interface SqliteHostTables {
  readonly tables: SqliteTables;
  /** Creates them, or brings them up to date, in the current write transaction. */
  migrate(database: DatabaseSync, path: string): void;
}

export interface SqliteStorage extends AdministrableStorage {
  /** The database file. */
  readonly path: string;
  /** For the tables of the host. */
  readonly connection: SqliteConnection;
}

/**
 * The connection of a store. SQLite's cache belongs to a connection, and another connection's commit empties it. A host
 * with tables in the same file uses this one, so its writes also share commits with the store's.
 */
export interface SqliteConnection {
  readonly database: DatabaseSync;
  readonly reads: Reads;
  readonly transaction: Transaction;
  /**
   * Writes an event of the issuer as part of the current write.
   * @throws Error outside of a write
   */
  readonly addEvent: Events['add'];
  /**
   * Whether an older copy was restored into the file. Lookups notice it after a commit of another process. Call it once a
   * second, so that it knows the last event of this one.
   * @param readsFile whether to also read the file as a new connection does, which sees that it was overwritten
   */
  isOlderCopy(readsFile: boolean): boolean;
}

/**
 * Opens a store in a SQLite file, which any number of processes of one machine may share. The lookups of one turn of
 * the event loop run together at its end. Writes wait without blocking the event loop, share commits, and are on disk
 * once they have resolved. Once SQLite reports that the file is corrupt, every lookup and write is rejected.
 * @throws Error if the file cannot be opened or kept durable, was written by a newer program, or has a log of another
 *   file next to it
 */
export function openSqliteStorage(options: SqliteStorageOptions): SqliteStorage {
  requireKinds(options, OPTIONS);
  const { path, issuer, hostTables, busyTimeoutMs = DEFAULT_BUSY_TIMEOUT_MS } = options;
  const database = openDatabase(path, busyTimeoutMs);
  try {
    const assumptions: MigrationAssumption[] = [];
    const issuerId =
      knownIssuerId(database, path, issuer, hostTables) ??
      inTransaction(database, () => {
        assumptions.push(...migrate(database, path));
        hostTables?.migrate(database, path);
        return addIssuer(database, issuer);
      });
    keepStatistics(database);
    for (const assumption of assumptions) options.onAssumption?.(assumption);
    if (options.checkpointPages !== undefined)
      database.exec(`PRAGMA wal_autocheckpoint = ${options.checkpointPages}`);
    return storageOn(database, issuerId, options);
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Without a write, so that opening an up-to-date file never waits for another process. */
function knownIssuerId(
  database: DatabaseSync,
  path: string,
  issuer: string,
  host: SqliteHostTables | undefined,
): number | undefined {
  const isReady = tablesOf(host).every((tables) => isUpToDate(database, path, tables));
  return isReady ? findIssuerId(database, issuer) : undefined;
}

function tablesOf(host: SqliteHostTables | undefined): readonly SqliteTables[] {
  return host === undefined ? [SQLITE_STORE_TABLES] : [SQLITE_STORE_TABLES, host.tables];
}

function storageOn(
  database: DatabaseSync,
  issuerId: number,
  {
    path,
    clock = Date.now,
    busyTimeoutMs = DEFAULT_BUSY_TIMEOUT_MS,
    eventRetentionSeconds = DEFAULT_EVENT_RETENTION_SECONDS,
    onCorruption,
    hostTables,
    hostCondition,
    audit,
  }: SqliteStorageOptions,
): SqliteStorage {
  const allTables = tablesOf(hostTables);
  const checks = {
    corruption: new Corruption(onCorruption),
    requireUsable: requireUsableTables(database, allTables),
    numbers: new EventNumbers(database),
  };
  const writes = new WriteQueue(database, busyTimeoutMs, checks);
  const reads = new ReadQueue(database, writes, checks);
  // The queues check tables that change from now on. They must be usable already.
  for (const tables of allTables) usableState(database, path, tables);
  const transaction = writes.transactionOf(audit, hostCondition);
  const recordsIssuance = audit !== undefined && audit.issuance !== false;
  const handle: SqliteHandle = {
    ...{ database, issuerId, clock, transaction, reads, recordsIssuance },
    transactions: writes,
  };
  const events = sqliteEvents(handle);
  const principals = sqlitePrincipals(handle);
  const issuing = sqliteIssuing(handle, { principals, events });
  const grants = sqliteGrants(handle, { principals, events });
  const take = sqliteTake(handle);

  const cachedTokens = new CachedTokens(reads, events, clock);
  const cachedClients = new CachedRows<ClientRecord>(reads);

  const partsOfClients = { events, cache: cachedClients, take };
  const { look: lookForClient, ...allClients } = sqliteClients(handle, partsOfClients);
  const clients = unguarded(allClients);
  const parts = { issuing, grants, principals, events, cache: cachedTokens, take };
  const { look: lookForToken, ...allTokens } = sqliteTokens(handle, parts);
  const tokens = unguarded({ ...allTokens, joinedClients: clients });
  // Each change of a client raises one of the two numbers, except that it is enabled again. A disabled one gets no answer.
  const of: RecordVersions['of'] = ({ version }, caller) =>
    version === undefined ? undefined : `${version} ${caller?.generation} ${caller?.revision}`;
  const answers = new RememberedAnswers(clients, tokens, {
    of,
    now: (tokenId, callerId) =>
      reads.read(() => {
        const token = lookForToken(tokenId);
        return token && of(token, callerId === undefined ? undefined : lookForClient(callerId));
      }),
  });
  return {
    path,
    connection: {
      ...{ database, reads, transaction: writes.transaction, addEvent: events.add },
      isOlderCopy(readsFile) {
        const { numbers } = checks;
        return numbers.isOlder() || (readsFile && numbers.isOlder(readSqlite(path, lastNumbersIn)));
      },
    },
    answersPlainRecords: true,
    clients,
    keys: unguarded(sqliteKeys(handle, events)),
    tokens,
    authorizationCodes: unguarded(
      sqliteAuthorizationCodes(handle, { issuing, grants, principals, events, take }),
    ),
    oneTimeIdentifiers: unguarded(sqliteOneTimeIdentifiers(handle, take)),
    pending: unguarded(sqlitePending(handle)),
    ...sqliteAdministration(handle, { principals, events }),
    grantsOf: grants.grantsOf,
    revokeGrants: grants.revokeGrants,
    eventsAfter: events.after,
    sweep: sqliteSweep(handle, events, eventRetentionSeconds),
    cache: {
      answers,
      limitTokens(most) {
        cachedTokens.limitTo(most);
        answers.limitTo(most);
      },
      forgetCached() {
        answers.clear();
        cachedTokens.clear();
        cachedClients.clear();
      },
    },
    statistics: () => ({
      caches: { tokens: cachedTokens.use, clients: cachedClients.use, answers: answers.use },
      writes: { waiting: writes.length, commits: writes.commits },
    }),
    close() {
      writes.close();
      if (database.isOpen) database.close();
    },
  };
}

/** The rows of every table, to SQLite. A real number would come from `ANALYZE`, and plans would differ by database. */
const ASSUMED_ROWS = 1_000_000;

/** A partial index has this part of the rows. */
const ASSUMED_PART = 0.01;

const INDEXES_SQL = `
  SELECT t.name AS tbl, CASE WHEN t.wr AND i.origin = 'pk' THEN t.name ELSE i.name END AS idx,
    i."unique" AS is_unique, i.partial AS is_partial, count(*) AS columns
  FROM pragma_table_list t
  JOIN pragma_index_list(t.name) i
  JOIN pragma_index_info(i.name) c
  WHERE t.schema = 'main' AND t.type = 'table'
  GROUP BY t.name, i.name HAVING max(c.seqno = 0 AND c.name IN ('issuer', 'issuer_id'))
  ORDER BY 1, 2`;

/**
 * Tells SQLite's planner that one issuer has nearly all rows. Without statistics, it takes an issuer for one of many, and
 * searches the primary key for the issuer alone instead of another index for more columns. The statistics are the same in
 * every database. `ANALYZE` replaces them until the next start (ADR 196). Tables of hosts keep theirs, unless they have
 * the same first column.
 */
function keepStatistics(database: DatabaseSync): void {
  const indexes = database.prepare(INDEXES_SQL).all();
  const wanted = indexes.map(
    ({ tbl = '', idx = '', is_unique: isUnique, is_partial: isPartial, columns }) => {
      const part = isPartial === 1 ? ASSUMED_PART : 1;
      // How many rows are equal in the first column, in the first two, and so on.
      const equal = Array.from({ length: Number(columns) }, (_, at) => {
        const following = Number(columns) - at - 1;
        if (following === 0 && isUnique === 1) return 1;
        const all = at === 0 ? ASSUMED_ROWS : Math.min(ASSUMED_ROWS, 10 * 100 ** following);
        return Math.max(1, all * part);
      });
      const rows = ASSUMED_ROWS * part;
      return [tbl, idx, [rows, ...equal].join(' ')] as const;
    },
  );
  const known = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'").get();
  const tables = JSON.stringify(wanted.map(([table]) => table));
  const ofTables = 'FROM sqlite_stat1 WHERE tbl IN (SELECT value FROM json_each(?))';
  const found =
    known === undefined
      ? []
      : database.prepare(`SELECT tbl, idx, stat ${ofTables} ORDER BY 1, 2`).all(tables);
  if (JSON.stringify(found.map(({ tbl, idx, stat }) => [tbl, idx, stat])) === JSON.stringify(wanted)) return;
  try {
    inTransaction(database, () => {
      // Creates the table of the statistics. The second time, it reads them.
      database.exec('ANALYZE sqlite_schema; DROP TABLE IF EXISTS sqlite_stat4');
      database.prepare(`DELETE ${ofTables}`).run(tables);
      const add = database.prepare('INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)');
      for (const row of wanted) add.run(...row);
      database.exec('ANALYZE sqlite_schema');
    });
  } catch (error) {
    // Another process writes. The next start tries again.
    if (!isBusy(error)) throw error;
  }
}

/** The number of an issuer in every key; `undefined` if it has none yet. */
function findIssuerId(database: DatabaseSync, issuer: string): number | undefined {
  const row = database.prepare(ISSUER_SQL.find).get(issuer);
  return row && Number(row.id);
}

/** Gives an issuer a number if it has none yet; inside the caller's transaction. */
function addIssuer(database: DatabaseSync, issuer: string): number {
  database.prepare(ISSUER_SQL.add).run(issuer);
  const id = findIssuerId(database, issuer);
  if (id === undefined) throw new Error(`the issuer ${issuer} was not stored`);
  return id;
}
