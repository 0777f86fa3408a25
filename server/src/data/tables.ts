// The columns of the program's tables, and statements with named parameters (ADR 60). Values are bound by position: the
// names are resolved once, when a statement is made.
import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type ActType, type Awaitable, type EventFacts, type EventOrigin, StorageFault } from '@grantd/core';
import { CachedRows } from '@grantd/core/internal/platform/cache';
import {
  type AnyColumns,
  COLUMN_TYPES,
  type ColumnType,
  insertedNames,
  type RowObject,
  readNames,
  rowReader,
  type WrittenValue,
  written,
} from '@grantd/core/internal/storage/columns';
import { parametersOf } from '@grantd/core/internal/storage/statements';
import type { SqliteConnection } from '@grantd/core/sqlite';
import { type ActorKind, currentCause, within } from '../log/log.ts';

export type TableRow = RowObject;

/**
 * SQL that is valid in both SQLite and PostgreSQL. It names tables `grantd.NAME` and parameters `:name`. The database
 * supplies `:issuer`.
 */
export interface Statement {
  readonly sql: string;
  /** Without `issuer`, each once. */
  readonly parameters: readonly string[];
  readonly isOfIssuer: boolean;
  /** For SQLite: the parameter of each `?`. -1 is the issuer. */
  readonly places: readonly number[];
}

/** A statement with the values of its parameters, in their order. */
export interface TableCall extends Statement {
  readonly values: readonly WrittenValue[];
}

type AnyValues = Readonly<Record<string, unknown>>;

type UpTo<S extends string, End extends string> = S extends `${infer Start}${End}${string}` ? Start : S;

/** The names of the parameters in SQL. They end before a space, a comma, a bracket or a line break. */
export type NamesIn<S extends string, Found extends string = never> = S extends `${string}:${infer Rest}`
  ? NamesIn<Rest, Found | UpTo<UpTo<UpTo<UpTo<Rest, ' '>, ','>, ')'>, '\n'>>
  : Found;

type OptionalIn<T> = { [M in keyof T]: Record<never, never> extends Pick<T, M> ? M : never }[keyof T];

/** Values of parameters: as in the record if they are named after its members. */
type Values<T, Name extends string> = {
  readonly [N in Exclude<Name, OptionalIn<T>>]: N extends keyof T ? T[N] : string | number | null;
} & { readonly [N in Extract<Name, OptionalIn<T>>]?: T[N & keyof T] | null | undefined };

/** Makes a call of a statement. */
type Calls<T, S extends string> = [Exclude<NamesIn<S>, 'issuer'>] extends [never]
  ? () => TableCall
  : (values: Values<T, Exclude<NamesIn<S>, 'issuer'>>) => TableCall;

/** Makes a statement. */
export function statement<const S extends string>(sql: S): Calls<unknown, S> {
  return callsOf(sql, {}) as Calls<unknown, S>;
}

/** Makes several statements. */
export function statements<const S extends Readonly<Record<string, string>>>(sql: S) {
  return allCallsOf<unknown, S>(sql, {});
}

/** A call of a statement whose parameters depend on their values. */
export function dynamicCall(sql: string, values: AnyValues, columns: AnyColumns = {}): TableCall {
  return callsOf(sql, columns)(values);
}

/** @param columns parameters that are named after a member of a record are written as the record is */
function callsOf(sql: string, columns: AnyColumns): (values?: AnyValues) => TableCall {
  const named = parametersOf(sql);
  const parameters = [...new Set(named)].filter((name) => name !== 'issuer');
  const places = named.map((name) => parameters.indexOf(name));
  const isOfIssuer = places.includes(-1);
  const writers = parameters.map((name) => {
    const { type = 'text', optional = false } = columns[name] ?? {};
    const isAsIs = type === 'text' || type === 'integer';
    return ({ [name]: value }: AnyValues): WrittenValue => {
      if (value === undefined && !optional) throw new TypeError(`the parameter ${name} has no value`);
      return isAsIs ? ((value ?? null) as WrittenValue) : written(type, value);
    };
  });
  const made: Statement = { sql, parameters, isOfIssuer, places };
  return (values = {}) => ({ ...made, values: writers.map((write) => write(values)) });
}

function allCallsOf<T, S extends Readonly<Record<string, string>>>(
  sql: S,
  columns: AnyColumns,
): { readonly [N in keyof S]: Calls<T, S[N]> } {
  const made = Object.entries(sql).map(([name, text]) => [name, callsOf(text, columns)]);
  return Object.fromEntries(made);
}

/**
 * Parameters for a list of texts, so that lists of all lengths share a statement. SQLite and PostgreSQL have no syntax for
 * lists in common.
 * @param size of the longest list. Shorter ones are filled up with empty texts
 */
export function batch(size: number) {
  const names = Array.from({ length: size }, (_, index) => `item${index}`);
  return {
    /** A row with each text, for VALUES. */
    rows: names.map((name) => `(:${name})`).join(', ') as `(:${string})`,
    valuesOf: (texts: readonly string[]): Readonly<Record<string, string>> =>
      Object.fromEntries(names.map((name, index) => [name, texts[index] ?? ''])),
  };
}

/** Names of columns, separated by spaces. Those of `TYPE?` can be NULL. */
type Lists = { readonly [T in Exclude<ColumnType, 'flag'> as T | `${T}?`]?: string };

interface ValueOf {
  readonly text: string;
  readonly integer: number;
  readonly bit: boolean;
  readonly words: readonly string[];
  readonly json: unknown;
}

/** `created_at_ms` is the member `createdAtMs` of a record. */
type Member<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<Member<Rest>>}`
  : Name;

type MembersIn<List> = List extends `${infer Name} ${infer Rest}`
  ? Member<Name> | MembersIn<Rest>
  : Member<List & string>;

type RecordOf<L> = {
  readonly [T in keyof L & keyof ValueOf as MembersIn<L[T]>]: ValueOf[T];
} & {
  readonly [T in keyof ValueOf as `${T}?` extends keyof L ? MembersIn<L[`${T}?`]> : never]?: ValueOf[T];
};

/**
 * A table of the program. Besides these columns, each has the column `issuer`.
 * @param read the columns of the record that is read from a row
 * @param hidden columns that are only written, and used in conditions
 */
export function table<const Read extends Lists, const Hidden extends Lists = Record<never, never>>(
  name: string,
  read: Read,
  hidden?: Hidden,
): Table<RecordOf<Read>, RecordOf<Hidden>> {
  return new Table(name, { ...columnsIn(read), ...columnsIn(hidden ?? {}, { unread: true }) });
}

function columnsIn(lists: Lists, use: { readonly unread?: true } = {}): AnyColumns {
  const columns = Object.entries(lists).flatMap(([type, list]) =>
    list.split(' ').map((name) => {
      const member = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
      const optional = type.endsWith('?') && ({ optional: true } as const);
      return [member, { name, type: type.replace('?', '') as ColumnType, ...optional, ...use }] as const;
    }),
  );
  return Object.fromEntries(columns);
}

export class Table<Read, Hidden> {
  readonly name: string;
  /** The columns that a record is read from. */
  readonly list: string;
  /** Ends before the part of the statement that says from where, or on what condition. */
  readonly insert: `INSERT INTO ${string} SELECT :issuer, CAST(:${keyof (Read & Hidden) & string} AS ${string}`;
  readonly recordOf: (row: TableRow) => Read;
  readonly columns: AnyColumns;

  constructor(name: string, columns: AnyColumns) {
    this.name = name;
    this.columns = columns;
    this.list = readNames(columns).join(', ');
    const values = Object.entries(columns).map(
      ([member, { type }]) => `CAST(:${member} AS ${COLUMN_TYPES[type].postgres})`,
    );
    const names = insertedNames(columns).join(', ');
    this.insert =
      `INSERT INTO grantd.${name} (issuer, ${names}) SELECT :issuer, ${values.join(', ')}` as typeof this.insert;
    this.recordOf = rowReader(columns) as typeof this.recordOf;
  }

  /** Makes statements. Parameters that are named after members of the record are written as these. */
  statements<const S extends Readonly<Record<string, string>>>(sql: S) {
    return allCallsOf<Read & Hidden, S>(sql, this.columns);
  }

  /** As `dynamicCall`. */
  dynamic(sql: string, values: AnyValues): TableCall {
    return dynamicCall(sql, values, this.columns);
  }
}

/** A value of an event: the same for each, or that of a column of the changed row. */
type OfRow = string | { readonly column: string };

/** The event of a change. */
export interface ActOfChange {
  readonly type: ActType;
  /** If the target, the subject or the reason is a column, each changed row has an event. Otherwise, all have one. */
  readonly target: OfRow;
  readonly subject?: OfRow | undefined;
  readonly clientId?: string | undefined;
  readonly reason?: OfRow | undefined;
  /** Who acts if the cause does not say so. Default: the server. */
  readonly by?: 'user' | 'anonymous' | undefined;
}

/** A statement with the events to record if it changes something. */
export interface RecordedCall {
  readonly call: TableCall;
  readonly acts: readonly ActOfChange[];
}

type AnyCall = TableCall | RecordedCall;

/**
 * A statement whose change is recorded in the same transaction. Nothing is recorded if it changes nothing.
 * @param call changes rows and returns them (`RETURNING`), and has the parameter `:issuer`
 */
export function recorded(call: TableCall, ...acts: readonly ActOfChange[]): RecordedCall {
  return { call, acts };
}

export function isRecorded(call: AnyCall): call is RecordedCall {
  return 'call' in call;
}

/**
 * The facts of an event.
 * @param row the changed row. Without one, values that come from a column are left out
 */
export function factsOf(act: ActOfChange, row: TableRow = {}): EventFacts {
  const [target = '', subject, reason] = [act.target, act.subject, act.reason].map((value) => {
    const text = typeof value === 'object' ? row[value.column] : value;
    return text === null ? undefined : text?.toString();
  });
  return { target, subject, clientId: act.clientId, reason };
}

/** The column of a value, if it comes from one. */
export function columnOf(value: OfRow | undefined): string | undefined {
  return typeof value === 'object' ? value.column : undefined;
}

interface OriginOfAct extends EventOrigin {
  readonly actor: string;
}

/** Who acted, in the context of the call. */
export function originOfAct({ by }: ActOfChange, origin: EventOrigin): OriginOfAct {
  return { ...origin, actor: origin.actor ?? by ?? 'server' };
}

/** The actor of an event: users are named by their subject. */
export function actorOf(actor: string, subject: string | undefined): string {
  return actor === 'user' && subject !== undefined ? `user:${subject}` : actor;
}

/**
 * The program’s tables of one issuer, on either database. Every method rejects with a `StorageFault` if the database does
 * not answer or the outcome of a write is unknown.
 */
export class ProgramTables {
  /** The rows of a read-only statement, as records. */
  readonly list: <T>(call: TableCall, recordOf: (row: TableRow) => T) => Promise<readonly T[]>;
  /**
   * Runs statements in order, in one transaction, and records their events in it.
   * @returns the `RETURNING` rows of each, once they are durable
   */
  readonly write: (...calls: readonly AnyCall[]) => Promise<readonly (readonly TableRow[])[]>;

  constructor({ list, write }: Pick<ProgramTables, 'list' | 'write'>) {
    this.list = list;
    this.write = write;
  }

  /** The first row of a read-only statement, as a record. */
  async first<T>(call: TableCall, recordOf: (row: TableRow) => T): Promise<T | undefined> {
    return (await this.list(call, recordOf))[0];
  }

  /** Whether a read-only statement finds anything. */
  async has(call: TableCall): Promise<boolean> {
    return (await this.list(call, asRow)).length > 0;
  }

  /** As `write`, for statements whose rows do not matter. */
  async run(...calls: readonly AnyCall[]): Promise<void> {
    await this.write(...calls);
  }

  /** As `write`. @returns the rows of the recorded statement, or else of the first one */
  async change(...calls: readonly AnyCall[]): Promise<readonly TableRow[]> {
    const rows = await this.write(...calls);
    return rows[Math.max(0, calls.findIndex(isRecorded))] ?? [];
  }

  /** As `change`. @returns whether there is a row */
  async changes(...calls: readonly AnyCall[]): Promise<boolean> {
    return (await this.change(...calls)).length > 0;
  }
}

/** Milliseconds for which statements gather before they are written (ADR 212). */
const GATHERED_MS = 20;

/**
 * A statement that changes one row, and the order in which it locks the row. It is the same wherever the row is locked after
 * or before another one.
 */
export type GatheredWrite = readonly [order: string, call: TableCall];

/** Writes what need not be stored before a response, in one transaction for all callers of some milliseconds. */
export class GatheredWrites {
  readonly #tables: Pick<ProgramTables, 'run'>;
  /** The statements belong to several requests, so they run in the context of none. */
  readonly #inNone = AsyncLocalStorage.snapshot();
  #waiting: GatheredWrite[] = [];
  #gathering: Promise<void> | undefined;
  /** Also those that still gather. */
  readonly #writes = new Set<Promise<void>>();

  constructor(tables: Pick<ProgramTables, 'run'>) {
    this.#tables = tables;
  }

  /**
   * The statements of all callers are sorted by their order, so that no two transactions wait for each other on PostgreSQL.
   * Those for one row stay as they were added.
   * @returns a promise that resolves once they are durable
   */
  add(...writes: readonly GatheredWrite[]): Promise<void> {
    this.#waiting.push(...writes);
    if (this.#gathering !== undefined) return this.#gathering;
    const write = this.#inNone(() => this.#write()).finally(() => this.#writes.delete(write));
    this.#writes.add(write);
    this.#gathering = write;
    return write;
  }

  /** Resolves once everything that has gathered is written. Never rejects. */
  async flush(): Promise<void> {
    await Promise.allSettled(this.#writes);
  }

  async #write(): Promise<void> {
    await pause(GATHERED_MS);
    this.#gathering = undefined;
    const gathered = this.#waiting.splice(0).sort(([one], [other]) => (one < other ? -1 : +(one > other)));
    await this.#tables.run(...gathered.map(([, call]) => call));
  }
}

/** The row itself, for statements whose rows are no records. */
export function asRow(row: TableRow): TableRow {
  return row;
}

/**
 * Reads from a cache of records. Only single ones are cached: lists may be long, and names that are not found are
 * unlimited. Cached records are frozen.
 * @param run runs a statement during a lookup
 */
export function cachedReads(
  reads: SqliteConnection['reads'],
  run: (call: TableCall) => readonly TableRow[],
): ProgramTables['list'] {
  const cache = new CachedRows<{ readonly recordOf: unknown; readonly records: readonly unknown[] }>(reads);
  /** Statements are long, and a number is shorter. */
  const ids = new Map<string, number>();
  return <T>(call: TableCall, recordOf: (row: TableRow) => T) =>
    reads.read(() => {
      // The second part keeps texts and numbers apart.
      const name = (ids.get(call.sql) ?? ids.set(call.sql, ids.size).size - 1) + JSON.stringify(call.values);
      const known = cache.get(name);
      if (known?.recordOf === recordOf) return known.records as readonly T[];
      const records = run(call).map(recordOf);
      if (records.length === 1) cache.add(name, { recordOf, records });
      return records;
    });
}

/**
 * Runs a database operation and converts its errors.
 * @throws {StorageFault} the operation failed
 */
export async function askStorage<T>(ask: () => Awaitable<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw error instanceof StorageFault ? error : new StorageFault(error);
  }
}

/** The same store, or a part of it, whose methods convert their errors as `askStorage` does. */
export function askedStorage<T extends object>(store: T): T {
  return new Proxy(store, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof member === 'function')
        return (...args: readonly unknown[]) => askStorage(() => Reflect.apply(member, target, args));
      return typeof member === 'object' && member !== null ? askedStorage(member) : member;
    },
  });
}

const check = statement(`
  INSERT INTO grantd.write_checks (issuer, checked_at_ms) VALUES (:issuer, :nowMs)
  ON CONFLICT (issuer) DO UPDATE SET checked_at_ms = excluded.checked_at_ms`);

/** Milliseconds for which a successful write serves further probes. */
const GOOD_FOR_MS = 5_000;

/** A database server whose small writes can succeed on a full disk, because its files have room inside. */
export interface FullDisk {
  /** How many statements of this process have failed because the disk was full. */
  failures: number;
  /** Fails if the disk is full. Changes nothing. */
  readonly probe: readonly TableCall[];
}

/**
 * Checks whether the database accepts writes. It writes a row, because a full disk only shows when the file grows.
 * Concurrent probes share one write.
 * @param disk once a statement has failed on it, its probe must succeed too
 * @returns a function that rejects with a `StorageFault` if writes fail
 */
export function writeCheck(
  tables: ProgramTables,
  disk: FullDisk = { failures: 0, probe: [] },
  clock: () => number = Date.now,
): () => Promise<void> {
  let goodUntilMs = Number.NEGATIVE_INFINITY;
  let failuresBefore = 0;
  let pending: Promise<void> | undefined;
  const write = async (): Promise<void> => {
    const { failures, probe } = disk;
    await tables.run(check({ nowMs: clock() }), ...(failures === failuresBefore ? [] : probe));
    // A statement that failed meanwhile needs another probe.
    failuresBefore = failures;
    goodUntilMs = performance.now() + GOOD_FOR_MS;
  };
  return async () => {
    if (performance.now() < goodUntilMs && disk.failures === failuresBefore) return;
    pending ??= write().finally(() => {
      pending = undefined;
    });
    await pending;
  };
}

/** The same object, whose methods, and those of its parts, make their changes on behalf of an actor. */
export function actingAs<T extends object>(actor: ActorKind, part: T): T {
  return acting(actor, part, new WeakMap());
}

function acting<T extends object>(actor: ActorKind, part: T, known: WeakMap<object, object>): T {
  const before = known.get(part);
  if (before !== undefined) return before as T;
  const methods = new Map<PropertyKey, unknown>();
  const acted = new Proxy(part, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member === 'object' && member !== null && !Array.isArray(member))
        return acting(actor, member, known);
      if (typeof member !== 'function') return member;
      let method = methods.get(name);
      if (method === undefined) {
        method = (...args: readonly unknown[]): unknown =>
          within({ ...currentCause(), actor }, () => Reflect.apply(member, target, args));
        methods.set(name, method);
      }
      return method;
    },
  });
  known.set(part, acted);
  return acted;
}

/** An identifier of 128 random bits. Never starts with `-`, which a command would read as a flag. */
export function newIdentifier(): string {
  return randomBytes(16).toString('base64url').replace(/^-/, '_');
}
