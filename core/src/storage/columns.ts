// The columns of the SQL stores. Column lists, insertions and records are derived from these tables. A migration in
// each `schema.ts` creates the columns. The tables of the program have the same types of columns (ADR 60).
import type { PendingRow } from '../protocol/pending.ts';
import type {
  AuthorizationCodeRecord,
  ClientRecord,
  GrantRecord,
  KeyRecord,
  NewToken,
  TokenRecord,
} from '../protocol/records.ts';

/** Every member of a record that has a column. A member that is forgotten here does not compile. */
type Columns<T> = { readonly [M in keyof T]-?: Column<T, M> };

type Column<T, M extends keyof T> = ColumnUse & {
  /** In SQL. */
  readonly name: string;
  readonly type: TypeOf<NonNullable<T[M]>>;
} & (Record<never, never> extends Pick<T, M>
    ? { /** NULL if the record has no such member. */ readonly optional: true }
    : { readonly optional?: never });

/** A table without the names that follow from the members. */
type Unnamed<T> = {
  readonly [M in keyof T]-?: Omit<Column<T, M>, 'name'> & { readonly name?: string };
};

/** Names the columns of a table as its members: `issued_at_ms` for `issuedAtMs`. */
function named<T>(columns: Unnamed<T>): Columns<T> {
  const entries = Object.entries<{ readonly name?: string }>(columns).map(([member, column]) => {
    const name = member.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return [member, { name, ...column }];
  });
  return Object.fromEntries(entries);
}

type TypeOf<V> = [V] extends [string]
  ? 'text'
  : [V] extends [number]
    ? 'integer'
    : [V] extends [boolean]
      ? 'flag'
      : 'json';

interface ColumnUse {
  /** Not written when the row is inserted. A later statement sets it. */
  readonly setLater?: true;
  /** Not part of the record that a lookup returns. */
  readonly unread?: true;
  /** Many rows have the same value. The cache keeps one copy of it. */
  readonly repeated?: true;
}

/** The column types of each database. JSON is text, which keeps the order of members. */
export const COLUMN_TYPES = {
  text: { sqlite: 'TEXT', postgres: 'text' },
  /** Seconds, milliseconds and counters. */
  integer: { sqlite: 'INTEGER', postgres: 'bigint' },
  flag: { sqlite: 'INTEGER', postgres: 'boolean' },
  json: { sqlite: 'TEXT', postgres: 'text' },
  /** A flag as 0 or 1. */
  bit: { sqlite: 'INTEGER', postgres: 'bigint' },
  /** Texts without spaces, separated by spaces. */
  words: { sqlite: 'TEXT', postgres: 'text' },
} as const;

export type ColumnType = keyof typeof COLUMN_TYPES;

/** Only tables of the program have the other types. */
export type StoreType = Exclude<ColumnType, 'bit' | 'words'>;

type StoredToken = Omit<TokenRecord, 'digest' | 'notBeforeMs' | 'standing' | 'version'> &
  Pick<NewToken, 'digest' | 'keepUntil'>;

// ADR 60
export const TOKENS = /* @__PURE__ */ named<StoredToken>({
  id: { type: 'text' },
  kind: { type: 'text', repeated: true },
  digest: { type: 'text' },
  clientId: { type: 'text', repeated: true },
  scopes: { type: 'json', repeated: true },
  tokenType: { type: 'text', optional: true, repeated: true },
  confirmation: { name: 'cnf', type: 'json', optional: true },
  subject: { type: 'text', optional: true },
  claims: { type: 'json', optional: true },
  claimsRequest: { type: 'json', optional: true },
  resources: { type: 'json', optional: true },
  authorizationDetails: { type: 'json', optional: true },
  issuedAtMs: { type: 'integer' },
  expiresAt: { type: 'integer' },
  keepUntil: { type: 'integer', unread: true },
  keyId: { type: 'text', optional: true, repeated: true },
  pairId: { type: 'text', optional: true },
  familyId: { type: 'text', optional: true },
  grantId: { type: 'text', optional: true },
  sessionId: { type: 'text', optional: true },
  ancestors: { type: 'json', optional: true },
  supersededAtMs: { type: 'integer', optional: true, setLater: true },
  successorId: { type: 'text', optional: true, setLater: true },
  revokedAtMs: { type: 'integer', optional: true, setLater: true },
});

type StoredCode = Omit<AuthorizationCodeRecord, 'notBeforeMs' | 'standing'> & {
  /** Seconds until which the row is kept. */
  readonly keepUntil: number;
};

export const AUTHORIZATION_CODES = /* @__PURE__ */ named<StoredCode>({
  id: { type: 'text' },
  clientId: { type: 'text' },
  redirectUri: { type: 'text' },
  redirectUriGiven: { type: 'flag' },
  codeChallenge: { type: 'text', optional: true },
  confirmation: { name: 'cnf', type: 'json', optional: true },
  scopes: { type: 'json' },
  subject: { type: 'text' },
  grantId: { type: 'text' },
  sessionId: { type: 'text', optional: true },
  nonce: { type: 'text', optional: true },
  claims: { type: 'json' },
  claimsRequest: { type: 'json', optional: true },
  resources: { type: 'json', optional: true },
  authorizationDetails: { type: 'json', optional: true },
  issuedAtMs: { type: 'integer' },
  expiresAt: { type: 'integer' },
  keepUntil: { type: 'integer', unread: true },
  redeemedAtMs: { type: 'integer', optional: true, setLater: true },
  revokedAtMs: { type: 'integer', optional: true, setLater: true },
});

export const CLIENTS = /* @__PURE__ */ named<ClientRecord>({
  id: { type: 'text' },
  name: { type: 'text', optional: true },
  secrets: { type: 'json', optional: true },
  grantTypes: { type: 'json' },
  scopes: { type: 'json' },
  redirectUris: { type: 'json' },
  resource: { type: 'text', optional: true },
  rotateRefreshTokens: { type: 'flag', optional: true },
  accessTokenFormat: { type: 'text', optional: true },
  accessTokenAlgorithm: { type: 'text', optional: true },
  idTokenAlgorithm: { type: 'text', optional: true },
  metadata: { type: 'json', optional: true },
  registrationTokenDigest: { type: 'text', optional: true },
  registeredAt: { type: 'integer', optional: true },
  documentValidAt: { type: 'integer', optional: true },
  usedUntil: { type: 'integer', optional: true, setLater: true },
  generation: { type: 'integer', optional: true, setLater: true },
  revision: { type: 'integer', optional: true, setLater: true },
  registrationRevision: { type: 'integer', optional: true, setLater: true },
  disabledAtMs: { type: 'integer', optional: true, setLater: true },
});

// ADR 15
export const GRANTS = /* @__PURE__ */ named<GrantRecord>({
  id: { name: 'grant_id', type: 'text' },
  clientId: { type: 'text' },
  subject: { type: 'text' },
  scopes: { type: 'json' },
  sessionId: { type: 'text', optional: true },
  createdAtMs: { type: 'integer' },
});

export const SIGNING_KEYS = /* @__PURE__ */ named<KeyRecord>({
  kid: { type: 'text' },
  algorithm: { type: 'text' },
  status: { type: 'text' },
  publicJwk: { type: 'json' },
  sealedPrivateKey: { type: 'text' },
  createdAtMs: { type: 'integer' },
  retiredAtMs: { type: 'integer', optional: true, setLater: true },
});

export const PENDING = /* @__PURE__ */ named<PendingRow>({
  kind: { type: 'text' },
  id: { type: 'text' },
  otherId: { type: 'text', optional: true },
  clientId: { type: 'text' },
  data: { type: 'json' },
  version: { type: 'integer', setLater: true },
  expiresAt: { type: 'integer' },
});

/** Columns of any table, in the order of its entries. */
export type AnyColumns = Readonly<Record<string, AnyColumn>>;

export interface AnyColumn extends ColumnUse {
  readonly name: string;
  readonly type: ColumnType;
  readonly optional?: true;
}

/** The columns of a record's members, without those in `except`. */
export function columnsWithout<C extends AnyColumns, E extends keyof C = never>(
  columns: C,
  ...except: readonly E[]
): Omit<C, E> {
  const kept = Object.entries(columns).filter(([member]) => !except.includes(member as E));
  return Object.fromEntries(kept) as Omit<C, E>;
}

/** The columns of some members. */
export function columnsOf<C extends AnyColumns, M extends keyof C>(
  columns: C,
  ...members: readonly M[]
): Pick<C, M> {
  return Object.fromEntries(members.map((member) => [member, columns[member]])) as Pick<C, M>;
}

/** Members whose values many rows have in common. */
export function repeatedIn<C extends AnyColumns>(columns: C): readonly (keyof C)[] {
  return Object.keys(columns).filter((member) => columns[member]?.repeated);
}

/** The names of the columns that a lookup reads. */
export function readNames(columns: AnyColumns): readonly string[] {
  return namesOf(columns, ({ unread }) => !unread);
}

/** The names of the columns that an insertion writes. */
export function insertedNames(columns: AnyColumns): readonly string[] {
  return namesOf(columns, ({ setLater }) => !setLater);
}

function namesOf(columns: AnyColumns, isWanted: (column: AnyColumn) => boolean): readonly string[] {
  return Object.values(columns)
    .filter(isWanted)
    .map(({ name }) => name);
}

/** What an insertion writes, as columns of a row that PostgreSQL reads from JSON: `id text, issued_at_ms bigint`. */
export function postgresDefinitions(columns: AnyColumns): string {
  return Object.values(columns)
    .filter(({ setLater }) => !setLater)
    .map(({ name, type }) => `${name} ${COLUMN_TYPES[type].postgres}`)
    .join(', ');
}

/** A value as both databases take it; PostgreSQL takes it as JSON. */
export type WrittenValue = string | number | null;

/** What an insertion writes of a record, in the order of `insertedNames`. */
export function insertedValues<T>(columns: Columns<T>, record: Partial<T>): WrittenValue[] {
  const values: WrittenValue[] = [];
  for (const member in columns) {
    const { type, setLater } = columns[member];
    if (!setLater) values.push(written(type, record[member]));
  }
  return values;
}

/** What an insertion writes of a record, by column. */
export function insertedRow<T>(columns: Columns<T>, record: Partial<T>): Record<string, WrittenValue> {
  const row: Record<string, WrittenValue> = {};
  for (const member in columns) {
    const { name, type, setLater } = columns[member];
    if (!setLater) row[name] = written(type, record[member]);
  }
  return row;
}

/** A value of a record as a column holds it. @returns `null` without one */
export function written(type: ColumnType, value: unknown): WrittenValue {
  if (value === undefined || value === null) return null;
  const write = WRITERS[type];
  return write === undefined ? (value as string | number) : write(value);
}

/** Of types whose values are stored in another form. */
const WRITERS: { readonly [T in ColumnType]?: (value: unknown) => WrittenValue } = {
  json: (value) => JSON.stringify(value),
  flag: Number,
  bit: Number,
  words: (value) => (value as readonly string[]).join(' '),
};

/** A value as either database returns it. */
type StoredValue = string | number | boolean | null;

/** A row as a list, in the order of `readNames`. Reading it takes half the time of reading an object. */
export type RowList = readonly StoredValue[];

export type RowObject = Readonly<Record<string, StoredValue>>;

type Writable<T> = { -readonly [M in keyof T]: T[M] };

/** @returns a function that reads a record from a list, which may have further values at its end */
export function listReader<T>(columns: Columns<T>): (row: RowList) => Writable<T>;
export function listReader(columns: AnyColumns): (row: RowList) => unknown;
export function listReader(columns: AnyColumns): (row: RowList) => unknown {
  const read = Object.entries<AnyColumn>(columns).filter(([, { unread }]) => !unread);
  const members = read.map(([member]) => member);
  const parsers = read.map(([, { type }]) => PARSERS[type]);
  return (row) => {
    const record: Record<string, unknown> = {};
    for (let at = 0; at < members.length; at++) {
      const value = row[at];
      if (value === null) continue;
      const parse = parsers[at];
      record[members[at] as string] = parse === undefined ? value : parse(value);
    }
    return record;
  };
}

/** @returns a function that reads a record from an object, which may have further members */
export function rowReader<T>(columns: Columns<T>): (row: RowObject) => T;
export function rowReader(columns: AnyColumns): (row: RowObject) => Readonly<Record<string, unknown>>;
export function rowReader(columns: AnyColumns): (row: RowObject) => unknown {
  const names = readNames(columns);
  const read = listReader(columns);
  return (row) => read(names.map((name) => row[name] ?? null));
}

/** Of the same types. */
const PARSERS: { readonly [T in ColumnType]?: (value: unknown) => unknown } = {
  json: (value) => JSON.parse(value as string),
  flag: Boolean,
  bit: Boolean,
  words: (value) => (value === '' ? [] : (value as string).split(' ')),
};
