import type { ClientMetadata } from '../protocol/client_metadata.ts';
import type {
  ApiRecord,
  AuthorizationCodeRecord,
  ClientRecord,
  GrantRecord,
  KeyRecord,
  PushedRequest,
  Standing,
  TokenRecord,
} from '../protocol/records.ts';
import {
  AUTHORIZATION_CODES,
  CLIENTS,
  GRANTS,
  insertedNames,
  listReader,
  PUSHED_REQUESTS,
  type RowList,
  type RowObject,
  readNames,
  rowReader,
  SIGNING_KEYS,
  TOKENS,
} from './columns.ts';

/** The SQL that both databases share, and how the rows that it reads become records. */

/** PostgreSQL keeps the tables in a schema of their own. Ends with the dot that separates it from a table's name. */
export type Schema = '' | 'grantd.';

/**
 * How a token or code stands to what its life depends on: part of every look-up, so that one statement answers
 * completely. `t` is the row that was looked up; each joined row is found by its primary key.
 */
const STANDING_COLUMNS = `
  t.client_generation,  c.generation, c.raised_at_ms, c.disabled_at_ms,
  t.subject_generation, s.generation, s.raised_at_ms, s.disabled_at_ms,
  t.session_generation, e.generation, e.raised_at_ms,
  t.grant_generation,   g.generation, g.raised_at_ms,
  i.not_before_ms`;

/** The joins that `STANDING_COLUMNS` and `STANDS` need. */
export function standingJoins(schema: Schema): string {
  return `
  JOIN ${schema}issuers i ON i.id = t.issuer_id
  ${principalJoins(schema)}`;
}

/** That something is behind none of its principals. */
const IS_NOT_BEHIND = `t.client_generation >= c.generation
  AND (t.subject IS NULL OR t.subject_generation >= s.generation)
  AND (t.session_id IS NULL OR t.session_generation >= e.generation)
  AND (t.grant_id IS NULL OR t.grant_generation >= g.generation)`;

/**
 * That a token was ended neither by itself nor by what was joined to it: what `storedLife` decides of a record, but for
 * its expiry. A disabling raises the generation and lets none be issued, so that it needs no condition of its own.
 */
export const STANDS = `
  t.revoked_at_ms IS NULL AND t.superseded_at_ms IS NULL
  AND t.issued_at_ms >= coalesce(i.not_before_ms, 0)
  AND ${IS_NOT_BEHIND}`;

export function principalJoins(schema: Schema): string {
  return `
  LEFT JOIN ${schema}clients c ON c.issuer_id = t.issuer_id AND c.id = t.client_id
  LEFT JOIN ${schema}principals s ON s.issuer_id = t.issuer_id AND s.kind = 'subject' AND s.id = t.subject
  LEFT JOIN ${schema}principals e ON e.issuer_id = t.issuer_id AND e.kind = 'session' AND e.id = t.session_id
  LEFT JOIN ${schema}principals g ON g.issuer_id = t.issuer_id AND g.kind = 'grant' AND g.id = t.grant_id`;
}

type Writable<T> = { -readonly [Member in keyof T]: T[Member] };

type WithStanding = Writable<Pick<TokenRecord, 'standing' | 'notBeforeMs'>>;

/** Adds to a record what `STANDING_COLUMNS` read, whose first value is at `at`. */
function addStanding(record: WithStanding, row: RowList, at: number): void {
  const standing: Writable<NonNullable<TokenRecord['standing']>> = {
    client: standingAt(row, at, at + 3),
  };
  if (row[at + 4] !== null) standing.subject = standingAt(row, at + 4, at + 7);
  if (row[at + 8] !== null) standing.session = standingAt(row, at + 8);
  if (row[at + 11] !== null) standing.grant = standingAt(row, at + 11);
  record.standing = standing;
  const notBeforeMs = row[at + 14];
  if (typeof notBeforeMs === 'number') record.notBeforeMs = notBeforeMs;
}

/**
 * A principal without a row is ahead of every copy of its generation: its row was swept after its last token ended.
 * @param at the place of the copied generation, which the current one and the time of its last change follow
 * @param disabledAt the place of the time at which the principal was disabled; sessions and grants cannot be
 */
function standingAt(row: RowList, at: number, disabledAt?: number): Standing {
  const copied = row[at] as number;
  const raisedAtMs = row[at + 2];
  const disabledAtMs = disabledAt === undefined ? null : row[disabledAt];
  const standing: Writable<Standing> = { copied, current: (row[at + 1] as number | null) ?? copied + 1 };
  if (typeof raisedAtMs === 'number') standing.raisedAtMs = raisedAtMs;
  if (typeof disabledAtMs === 'number') standing.disabledAtMs = disabledAtMs;
  return standing;
}

const ofRow = (name: string) => `t.${name}`;

/** What a lookup of a token reads; `t` is its row. */
export const TOKEN_COLUMNS = `${readNames(TOKENS).map(ofRow).join(', ')}, ${STANDING_COLUMNS}`;

const readToken = listReader(TOKENS);
const TOKEN_WIDTH = readNames(TOKENS).length;

/** @param row in the order of `TOKEN_COLUMNS` */
export function toTokenRecord(row: RowList): TokenRecord {
  const record: Writable<TokenRecord> = readToken(row);
  addStanding(record, row, TOKEN_WIDTH);
  return record;
}

/** The size of those values of a row that a host or a request can make as long as it likes. */
export interface TokenExtent {
  /** Characters. */
  readonly length: number;
  /** Objects, lists, and their elements after the first: each takes more memory than its text. */
  readonly parts: number;
}

const UNBOUNDED = Object.values(TOKENS)
  .filter(({ unbounded }) => unbounded)
  .map(({ name, type }) => ({ at: readNames(TOKENS).indexOf(name), isJson: type === 'json' }));

/** @param row in the order of `TOKEN_COLUMNS` */
export function extentOf(row: RowList): TokenExtent {
  let [length, parts] = [0, 0];
  for (const { at, isJson } of UNBOUNDED) {
    const text = row[at];
    if (typeof text !== 'string') continue;
    length += text.length;
    if (isJson) parts += text.match(/[[{,]/g)?.length ?? 0;
  }
  return { length, parts };
}

/** What a lookup of an authorization code reads; `t` is its row. */
export const CODE_COLUMNS = `${readNames(AUTHORIZATION_CODES).map(ofRow).join(', ')}, ${STANDING_COLUMNS}`;

const readCode = listReader(AUTHORIZATION_CODES);
const CODE_WIDTH = readNames(AUTHORIZATION_CODES).length;

/** @param row in the order of `CODE_COLUMNS` */
export function toCodeRecord(row: RowList): AuthorizationCodeRecord {
  const record: Writable<AuthorizationCodeRecord> = readCode(row);
  addStanding(record, row, CODE_WIDTH);
  return record;
}

export const CLIENT_COLUMNS = readNames(CLIENTS).join(', ');

/** What describes a client: the columns that `replace` writes. */
export const CLIENT_DESCRIPTION = insertedNames(CLIENTS).filter((name) => name !== 'id');

export const toClientRecord: (row: RowObject) => ClientRecord = rowReader(CLIENTS);

export type ApiRow = { readonly id: string; readonly resource: string; readonly metadata: string | null };

export function toApiRecord({ id: clientId, resource, metadata }: ApiRow): ApiRecord {
  const { api_scopes: scopes = [] }: ClientMetadata = metadata === null ? {} : JSON.parse(metadata);
  return { clientId, resource, scopes };
}

/** The columns in which tokens, codes and grants keep their copies of generations. */
export const GENERATIONS = [
  'client_generation',
  'subject_generation',
  'session_generation',
  'grant_generation',
] as const;

/** The columns of a grant besides its key. */
export const GRANT_DESCRIPTION = [
  ...insertedNames(GRANTS).filter((name) => name !== 'grant_id'),
  ...GENERATIONS,
];

/**
 * What becomes of a grant that is known already: it begins anew where what it was has ended, which shows in the
 * generations that it copied then. `known` stands for the table.
 */
export const ON_KNOWN_GRANT = `
    ON CONFLICT (issuer_id, grant_id) DO UPDATE
    SET (${GRANT_DESCRIPTION.join(', ')}) = (${GRANT_DESCRIPTION.map((column) => `excluded.${column}`).join(', ')})
    WHERE ${GENERATIONS.map((generation) => `excluded.${generation} > known.${generation}`).join(' OR ')}`;

/**
 * Grants that are alive: what a disabling ends was raised by it as well. Where tokens were ended one by one, or by a
 * time before which they were issued, the grant itself lives on until the last of them would be over.
 * Looked for by person, and by nothing that finds more: no index knows of `coalesce`.
 * @param parameter spells the parameters `issuerId`, `subject` and `now`
 */
export function aliveGrants(
  schema: Schema,
  parameter: (name: 'issuerId' | 'subject' | 'now') => string,
): string {
  return `
    FROM ${schema}grants t ${principalJoins(schema)}
    WHERE t.issuer_id = ${parameter('issuerId')} AND t.subject = ${parameter('subject')}
      AND coalesce(g.keep_until, 0) > ${parameter('now')} AND ${IS_NOT_BEHIND}`;
}

export const GRANT_COLUMNS = readNames(GRANTS).map(ofRow).join(', ');

export const NEWEST_FIRST = 'ORDER BY t.created_at_ms DESC, t.grant_id DESC';

export const toGrantRecord: (row: RowObject) => GrantRecord = rowReader(GRANTS);

export const KEY_COLUMNS = readNames(SIGNING_KEYS).join(', ');

export const toKeyRecord: (row: RowObject) => KeyRecord = rowReader(SIGNING_KEYS);

export const PUSHED_REQUEST_COLUMNS = readNames(PUSHED_REQUESTS).join(', ');

export const toPushedRequest: (row: RowObject) => PushedRequest = rowReader(PUSHED_REQUESTS);

/** Rows of one table on their way from one database to another; tables and columns have the same names in each. */
export interface TableRows {
  readonly table: string;
  readonly rows: readonly Readonly<Record<string, string | number | null>>[];
}

/** The store's own tables, each after those that it refers to. */
export const TABLES = [
  'issuers',
  'clients',
  'redirect_origins',
  'api_scopes',
  'principals',
  'grants',
  'tokens',
  'authorization_codes',
  'signing_keys',
  'one_time_identifiers',
  'pushed_requests',
  'events',
] as const;
