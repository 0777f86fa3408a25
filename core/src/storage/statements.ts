// The SQL that SQLite and PostgreSQL share, and how the rows that it reads become records. Tables are in the schema
// `grantd`, and parameters have names.
import type { ClientMetadata } from '../protocol/client_members.ts';
import type { EventRecord, EventType } from '../protocol/event_records.ts';
import type { PendingRow } from '../protocol/pending.ts';
import { MOST_ALIVE, NO_TOKEN, withResources } from '../protocol/record_rules.ts';
import type {
  ApiRecord,
  AuthorizationCodeRecord,
  ClientRecord,
  GrantRecord,
  KeyRecord,
  Principal,
  Standing,
  TokenRecord,
  UsableGrant,
} from '../protocol/records.ts';
import {
  type AnyColumns,
  AUTHORIZATION_CODES,
  CLIENTS,
  GRANTS,
  insertedNames,
  listReader,
  PENDING,
  type RowList,
  type RowObject,
  readNames,
  rowReader,
  SIGNING_KEYS,
  TOKENS,
} from './columns.ts';
import type { AliveToken, RevocationTarget } from './contract.ts';
import { EXCHANGE_END_MARGIN } from './issuing.ts';

/** Shared SQL as SQLite takes it: its tables have no schema. */
export function forSqlite<S extends string | Readonly<Record<string, string>>>(shared: S): S {
  const unqualified = (sql: string) => sql.replaceAll('grantd.', '');
  if (typeof shared === 'string') return unqualified(shared) as S;
  return Object.fromEntries(Object.entries(shared).map(([name, sql]) => [name, unqualified(sql)])) as S;
}

/** As `:issuerId`. No text or comment of a statement contains a colon, except the `::` of PostgreSQL. */
export const PARAMETER = /(?<!:):([a-z]\w*)/gi;

/** The name of each parameter of SQL, in the order of their places. */
export function parametersOf(sql: string): readonly string[] {
  return Array.from(sql.matchAll(PARAMETER), ([, name = '']) => name);
}

/** Replaces the parameters of SQL. @param textOf the text that takes the place of a parameter */
export function withParameters(sql: string, textOf: (name: string) => string): string {
  return sql.replaceAll(PARAMETER, (_, name: string) => textOf(name));
}

/**
 * Shared SQL as PostgreSQL takes it: its parameters have numbers.
 * @param parameters the names of the parameters from `$1` on
 * @throws {Error} the SQL has other parameters
 */
export function forPostgres(shared: string, ...parameters: readonly string[]): string {
  const unused = new Set(parameters);
  const numbered = withParameters(shared, (name) => {
    unused.delete(name);
    if (!parameters.includes(name)) throw new Error(`the parameter ${name} has no number: ${shared}`);
    return `$${parameters.indexOf(name) + 1}`;
  });
  if (unused.size > 0) throw new Error(`there is no parameter ${[...unused].join(', ')}: ${shared}`);
  return numbered;
}

/**
 * The generations that a token or code copied, and the current ones. Part of every lookup, so that one statement is
 * enough. `t` is the row that was looked up; each joined row is found by its primary key.
 */
const STANDING_COLUMNS = `
  t.client_generation,  c.generation, c.raised_at_ms, c.disabled_at_ms,
  t.subject_generation, s.generation, s.raised_at_ms, s.disabled_at_ms,
  t.session_generation, e.generation, e.raised_at_ms,
  t.grant_generation,   g.generation, g.raised_at_ms,
  i.not_before_ms`;

export const PRINCIPAL_JOINS = `
  LEFT JOIN grantd.clients c ON c.issuer_id = t.issuer_id AND c.id = t.client_id
  LEFT JOIN grantd.principals s ON s.issuer_id = t.issuer_id AND s.kind = 'subject' AND s.id = t.subject
  LEFT JOIN grantd.principals e ON e.issuer_id = t.issuer_id AND e.kind = 'session' AND e.id = t.session_id
  LEFT JOIN grantd.principals g ON g.issuer_id = t.issuer_id AND g.kind = 'grant' AND g.id = t.grant_id`;

/** The joins that the columns of a standing need. */
export const STANDING_JOINS = `
  JOIN grantd.issuers i ON i.id = t.issuer_id
  ${PRINCIPAL_JOINS}`;

/** SQL for the current generation of a principal of the row `t`, and for the cutoff of the issuer. */
type Standings = Readonly<Record<Principal | 'notBefore', string>>;

const JOINED: Standings = {
  ...{ client: 'c.generation', subject: 's.generation', session: 'e.generation', grant: 'g.generation' },
  notBefore: 'i.not_before_ms',
};

/** The row `t` is behind none of its principals. */
const isNotBehind = (of = JOINED) => `t.client_generation >= ${of.client}
  AND (t.subject IS NULL OR t.subject_generation >= ${of.subject})
  AND (t.session_id IS NULL OR t.session_generation >= ${of.session})
  AND (t.grant_id IS NULL OR t.grant_generation >= ${of.grant})`;

/**
 * The row `t` is alive, by the rules of `storedLife`. Disabling needs no condition, because it raises the generation and
 * prevents issuance.
 * @param now SQL for seconds since 1970
 */
export const isAlive = (now: string, of = JOINED) => `t.expires_at > ${now} AND t.revoked_at_ms IS NULL
    AND t.issued_at_ms >= coalesce(${of.notBefore}, 0)
    AND ${isNotBehind(of)}`;

const generationIn = (kind: string, id: string) =>
  `(SELECT generation FROM grantd.principals WHERE issuer_id = :issuerId AND kind = '${kind}' AND id = t.${id})`;

/** Each looked up for each row: a join could read all principals. */
const LOOKED_UP: Standings = {
  client: '(SELECT generation FROM grantd.clients WHERE issuer_id = :issuerId AND id = t.client_id)',
  subject: generationIn('subject', 'subject'),
  session: generationIn('session', 'session_id'),
  grant: generationIn('grant', 'grant_id'),
  notBefore: '(SELECT not_before_ms FROM grantd.issuers WHERE id = :issuerId)',
};

/** Rows that a count reads at most. */
const MOST_READ = 500_000;

const IS_KEPT = 'issuer_id = :issuerId AND keep_until > :now';

/**
 * Live tokens without superseded ones, among the rows that a count reads: counting is too rare to pay for an index at every
 * issuance (ADR 209). Only grants have one.
 * @param own SQL for tokens of the target
 * @param from which rows are read. Default: those that end last
 */
const fromAlive = (own: string, from = `${IS_KEPT} ORDER BY keep_until DESC`) => `
  FROM (SELECT * FROM grantd.tokens WHERE ${from} LIMIT ${MOST_READ}) t
  WHERE t.${own} AND t.superseded_at_ms IS NULL
    AND coalesce(t.token_type, '') <> '${NO_TOKEN}' AND ${isAlive(':now', LOOKED_UP)}`;

/** For an index of the tokens of a grant. */
const OF_GRANT = `${IS_KEPT} AND superseded_at_ms IS NULL AND revoked_at_ms IS NULL AND grant_id`;

const OWN_GRANTS = '(SELECT grant_id FROM grantd.grants WHERE issuer_id = :issuerId AND subject = :id)';

const countAlive = (...found: readonly string[]) =>
  `SELECT count(*) AS alive FROM (${found.map((from) => `SELECT 1 ${from}`).join(' UNION ALL ')} LIMIT ${MOST_ALIVE + 1}) found`;

/** A row of `aliveOfClient`. */
export type AliveRow = Readonly<
  Record<'kind' | 'scopes', string> &
    Record<'resources' | 'subject' | 'grant_id' | 'session_id', string | null>
>;

export function aliveToken({ kind, scopes, resources, subject, ...row }: AliveRow): AliveToken {
  return {
    kind: kind === 'refresh_token' ? kind : 'access_token',
    scopes: JSON.parse(scopes),
    ...(resources !== null && { resources: JSON.parse(resources) }),
    ...(subject !== null && { subject }),
    ...(row.grant_id !== null && { grantId: row.grant_id }),
    ...(row.session_id !== null && { sessionId: row.session_id }),
  };
}

export const COUNTS = {
  countOfClient: countAlive(fromAlive('client_id = :id')),
  // Those of grants by the index, and a few others.
  countOfSubject: countAlive(
    fromAlive('subject = :id', `${OF_GRANT} IN ${OWN_GRANTS}`),
    fromAlive(`subject = :id AND coalesce(t.grant_id, '') NOT IN ${OWN_GRANTS}`),
  ),
  countOfSession: countAlive(fromAlive('session_id = :id')),
  countOfGrant: countAlive(fromAlive('grant_id = :id', `${OF_GRANT} = :id`)),
  countIssuedBefore: countAlive(fromAlive('issued_at_ms < :id')),
  aliveOfClient: `
    SELECT t.kind, t.scopes, t.resources, t.subject, t.grant_id, t.session_id ${fromAlive('client_id = :id')}
    LIMIT :most`,
  /** A row that a count leaves out. */
  unread: `SELECT 1 FROM grantd.tokens WHERE ${IS_KEPT} ORDER BY keep_until DESC LIMIT 1 OFFSET ${MOST_READ}`,
};

const COUNT_OF = {
  client: 'countOfClient',
  subject: 'countOfSubject',
  session: 'countOfSession',
  grant: 'countOfGrant',
} as const satisfies Record<Principal, keyof typeof COUNTS>;

/** The statement that counts the tokens of a target, and its parameter `:id`. */
export function countFor(target: RevocationTarget) {
  return 'principal' in target
    ? ({ name: COUNT_OF[target.principal], id: target.id } as const)
    : ({ name: 'countIssuedBefore', id: target.issuedBeforeMs } as const);
}

/** Clients keep their generation in their own row, the other principals in the table `principals`. */
export const PRINCIPALS = {
  raise: `
    UPDATE grantd.principals SET generation = generation + 1, raised_at_ms = :nowMs
    WHERE issuer_id = :issuerId AND kind = :kind AND id = :id`,

  raiseMarked: `
    INSERT INTO grantd.principals AS p (issuer_id, kind, id, generation, raised_at_ms, keep_until)
    VALUES (:issuerId, :kind, :id, :nowMs, :nowMs, :keepUntil)
    ON CONFLICT (issuer_id, kind, id) DO UPDATE SET generation = p.generation + 1, raised_at_ms = :nowMs,
      keep_until = CASE WHEN excluded.keep_until > p.keep_until THEN excluded.keep_until ELSE p.keep_until END`,

  raiseClient: `
    UPDATE grantd.clients SET generation = generation + 1, raised_at_ms = :nowMs
    WHERE issuer_id = :issuerId AND id = :id`,

  disableClient: `
    UPDATE grantd.clients SET generation = generation + 1, raised_at_ms = :nowMs, disabled_at_ms = :nowMs
    WHERE issuer_id = :issuerId AND id = :id AND disabled_at_ms IS NULL`,

  enableClient: `
    UPDATE grantd.clients SET disabled_at_ms = NULL
    WHERE issuer_id = :issuerId AND id = :id AND disabled_at_ms IS NOT NULL`,

  // A user can be disabled before the first token is issued.
  disableSubject: `
    INSERT INTO grantd.principals AS p (issuer_id, kind, id, generation, raised_at_ms, disabled_at_ms)
    VALUES (:issuerId, 'subject', :id, :nowMs, :nowMs, :nowMs)
    ON CONFLICT (issuer_id, kind, id) DO UPDATE
    SET generation = p.generation + 1, raised_at_ms = :nowMs, disabled_at_ms = :nowMs
    WHERE p.disabled_at_ms IS NULL`,

  enableSubject: `
    UPDATE grantd.principals SET disabled_at_ms = NULL
    WHERE issuer_id = :issuerId AND kind = 'subject' AND id = :id AND disabled_at_ms IS NOT NULL`,

  stateOfClient: `
    SELECT id, raised_at_ms, disabled_at_ms FROM grantd.clients WHERE issuer_id = :issuerId AND id = :id`,

  stateOfSubject: `
    SELECT id, raised_at_ms, disabled_at_ms FROM grantd.principals
    WHERE issuer_id = :issuerId AND kind = 'subject' AND id = :id`,
};

type Writable<T> = { -readonly [Member in keyof T]: T[Member] };

type WithStanding = Writable<Pick<TokenRecord, 'standing' | 'notBeforeMs'>>;

/** Adds to a record what `STANDING_COLUMNS` read, whose first value is at `at`. */
function withStandingAt<T extends WithStanding>(record: T, row: RowList, at: number): T {
  const standing: Writable<NonNullable<TokenRecord['standing']>> = { client: standingAt(row, at, at + 3) };
  if (row[at + 4] !== null) standing.subject = standingAt(row, at + 4, at + 7);
  if (row[at + 8] !== null) standing.session = standingAt(row, at + 8);
  if (row[at + 11] !== null) standing.grant = standingAt(row, at + 11);
  record.standing = standing;
  if (row[at + 14] !== null) record.notBeforeMs = row[at + 14] as number;
  return record;
}

/**
 * Gives all standings V8's hidden class for large numbers. If the first numbers were small, V8 would replace the class
 * later, and compile the functions that read standings anew.
 */
export const LARGE_NUMBERS: Standing = { copied: Number.MAX_SAFE_INTEGER, current: Number.MAX_SAFE_INTEGER };

/**
 * A principal without a row is ahead of every copy of its generation: its row was swept after its last token ended.
 * @param at the place of the copied generation, which the current one and the time of its last change follow
 * @param disabledAt the place of the time at which the principal was disabled; sessions and grants cannot be
 */
function standingAt(row: RowList, at: number, disabledAt?: number): Standing {
  const copied = row[at] as number;
  const disabledAtMs = disabledAt === undefined ? null : row[disabledAt];
  const current = (row[at + 1] as number | null) ?? copied + 1;
  const standing: Writable<Standing> = { ...LARGE_NUMBERS, copied, current };
  if (row[at + 2] !== null) standing.raisedAtMs = row[at + 2] as number;
  if (typeof disabledAtMs === 'number') standing.disabledAtMs = disabledAtMs;
  return standing;
}

const ofRow = (name: string) => `t.${name}`;

/** What a lookup reads of the row `t`: these columns, and its standing. */
export const withStanding = (columns: AnyColumns) =>
  `${readNames(columns).map(ofRow).join(', ')}, ${STANDING_COLUMNS}`;

/**
 * @template T the members of these columns
 * @returns a function that reads what `withStanding` names from the beginning of a list
 */
export function standingReader<T>(columns: AnyColumns): (row: RowList) => T & WithStanding {
  const read = listReader(columns);
  const width = readNames(columns).length;
  return (row) => withStandingAt(read(row) as T & WithStanding, row, width);
}

export const TOKEN_COLUMNS = withStanding(TOKENS);

export const toTokenRecord: (row: RowList) => TokenRecord = standingReader(TOKENS);

export const CODE_COLUMNS = withStanding(AUTHORIZATION_CODES);

export const toCodeRecord: (row: RowList) => AuthorizationCodeRecord = standingReader(AUTHORIZATION_CODES);

export const CLIENT_COLUMNS = readNames(CLIENTS).join(', ');

/** What describes a client: the columns that `replace` writes. */
export const CLIENT_DESCRIPTION = insertedNames(CLIENTS).filter((name) => name !== 'id');

export const toClientRecord: (row: RowObject) => ClientRecord = rowReader(CLIENTS);

/**
 * The row of a client that registered itself and has not been in use since a time, as `ClientRegistry.listUnused` says.
 * @param setByOperator SQL for the member of the metadata
 */
export const isUnused = (since: string, setByOperator: string) => `(registration_token_digest IS NOT NULL
    OR document_valid_at IS NOT NULL) AND coalesce(used_until, registered_at) < ${since} AND disabled_at_ms IS NULL AND resource IS NULL
    AND ${setByOperator} IS NULL`;

export const CLIENT_STATEMENTS = {
  list: `SELECT ${CLIENT_COLUMNS} FROM grantd.clients WHERE issuer_id = :issuerId ORDER BY id`,

  hasRedirectOrigin: `
    SELECT 1 FROM grantd.redirect_origins o
    JOIN grantd.clients c ON c.issuer_id = o.issuer_id AND c.id = o.client_id
    WHERE o.issuer_id = :issuerId AND o.origin = :origin AND c.disabled_at_ms IS NULL LIMIT 1`,

  replaceSecrets: `
    UPDATE grantd.clients SET secrets = :secrets, revision = revision + 1
    WHERE issuer_id = :issuerId AND id = :id AND secrets IS NOT NULL
      AND generation = :generation AND revision = :revision`,

  noteUse: `
    UPDATE grantd.clients SET used_until = :until
    WHERE issuer_id = :issuerId AND id = :id AND registered_at IS NOT NULL
      AND coalesce(used_until, 0) < :until`,

  noteDocument: `
    UPDATE grantd.clients SET document_valid_at = :validAt
    WHERE issuer_id = :issuerId AND id = :id AND coalesce(document_valid_at, :validAt) < :validAt`,
};

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

/** The columns of a grant without its key. */
export const GRANT_DESCRIPTION = [
  ...insertedNames(GRANTS).filter((name) => name !== 'grant_id'),
  ...GENERATIONS,
];

/** Replaces the row of a grant if that has ended, which its copied generations show. `known` is the table. */
export const ON_KNOWN_GRANT = `
    ON CONFLICT (issuer_id, grant_id) DO UPDATE
    SET (${GRANT_DESCRIPTION.join(', ')}) = (${GRANT_DESCRIPTION.map((column) => `excluded.${column}`).join(', ')})
    WHERE ${GENERATIONS.map((generation) => `excluded.${generation} > known.${generation}`).join(' OR ')}`;

/**
 * Grants that were not revoked as a whole. Disabling a principal raises its generation, and so ends its grants too.
 * Revocation goes by these, so that no token escapes that is issued meanwhile. `coalesce` keeps the planner from the
 * index of `keep_until`, which finds more rows than that of the subject.
 */
export const UNREVOKED_GRANTS = `
    FROM grantd.grants t ${PRINCIPAL_JOINS}
    WHERE t.issuer_id = :issuerId AND t.subject = :subject
      AND coalesce(g.keep_until, 0) > :now AND ${isNotBehind()}`;

/** The row `l` of a grant `t` that was not revoked as a whole can still be used. Its tokens are found by the grant. */
const IS_LEFT = `l.issuer_id = t.issuer_id AND l.grant_id = t.grant_id AND l.expires_at > :now AND l.revoked_at_ms IS NULL
      AND l.issued_at_ms >= (SELECT coalesce(not_before_ms, 0) FROM grantd.issuers WHERE id = t.issuer_id)
      AND ${GENERATIONS.map((name) => `coalesce(l.${name}, 0) >= coalesce(t.${name}, 0)`).join(' AND ')}`;

const LEFT_TOKENS = `FROM grantd.tokens l
        WHERE ${IS_LEFT} AND l.superseded_at_ms IS NULL AND l.ancestors IS NULL`;

/** Grants with a live token, or a code that can be redeemed. Exchanged tokens live only as long as another one. */
export const USABLE_GRANTS = `${UNREVOKED_GRANTS}
      AND (EXISTS (SELECT 1 ${LEFT_TOKENS})
      OR EXISTS (SELECT 1 FROM grantd.authorization_codes l WHERE ${IS_LEFT} AND l.redeemed_at_ms IS NULL))`;

export const GRANTS_OF_SUBJECT = `
    SELECT ${readNames(GRANTS).map(ofRow).join(', ')},
      (SELECT string_agg(l.resources, ',') ${LEFT_TOKENS}) AS resources ${USABLE_GRANTS}
    ORDER BY t.created_at_ms DESC, t.grant_id DESC`;

/**
 * Remembers when a user ended what a client had obtained for them by exchange (ADR 185). Only of clients that exist. Kept
 * for a day longer than all tokens that are there, because later ones are not compared.
 */
export const NOTE_EXCHANGE_END = `
    INSERT INTO grantd.exchange_ends (issuer_id, client_id, subject, ended_at_ms, keep_until)
    SELECT c.issuer_id, c.id, :subject, CAST(:nowMs AS bigint), ${EXCHANGE_END_MARGIN} + coalesce((
      SELECT max(keep_until) FROM grantd.tokens
      WHERE issuer_id = :issuerId AND keep_until > CAST(:nowMs AS bigint) / 1000), CAST(:nowMs AS bigint) / 1000)
    FROM grantd.clients c WHERE c.issuer_id = :issuerId AND c.id = :clientId
    ON CONFLICT (issuer_id, client_id, subject) DO UPDATE
    SET ended_at_ms = excluded.ended_at_ms, keep_until = excluded.keep_until
    WHERE excluded.ended_at_ms > exchange_ends.ended_at_ms`;

export const END_EXCHANGES = `
    UPDATE grantd.tokens SET revoked_at_ms = :nowMs
    WHERE issuer_id = :issuerId AND subject = :subject AND ancestors IS NOT NULL AND expires_at > :now
      AND client_id = :clientId AND revoked_at_ms IS NULL`;

const toGrantRecord: (row: RowObject) => GrantRecord = rowReader(GRANTS);

/** A row of `GRANTS_OF_SUBJECT`. */
export function toUsableGrant(row: RowObject): UsableGrant {
  const lists: readonly (readonly string[])[] = JSON.parse(`[${row.resources ?? ''}]`);
  return withResources(toGrantRecord(row), lists.flat());
}

const KEY_COLUMNS = readNames(SIGNING_KEYS).join(', ');

export const KEYS = {
  list: `SELECT ${KEY_COLUMNS} FROM grantd.signing_keys WHERE issuer_id = :issuerId ORDER BY created_at_ms, kid`,

  get: `SELECT ${KEY_COLUMNS} FROM grantd.signing_keys WHERE issuer_id = :issuerId AND kid = :kid`,

  currentKeyId: `
    SELECT kid FROM grantd.signing_keys
    WHERE issuer_id = :issuerId AND algorithm = :algorithm AND status = 'current'`,

  promote: `
    UPDATE grantd.signing_keys SET status = 'current'
    WHERE issuer_id = :issuerId AND algorithm = :algorithm AND status = 'next'`,

  reseal: `
    UPDATE grantd.signing_keys SET sealed_private_key = :resealed
    WHERE issuer_id = :issuerId AND kid = :kid AND sealed_private_key = :sealed`,
};

export const toKeyRecord: (row: RowObject) => KeyRecord = rowReader(SIGNING_KEYS);

/**
 * Makes a statement that takes a one-time identifier. One that has expired can be taken for longer.
 * @param row the issuer, the identifier and its expiry, as VALUES or SELECT
 * @param now an expression, in seconds
 */
export function takeIdentifier(row: string, now: string): string {
  return `
    INSERT INTO grantd.one_time_identifiers AS known (issuer_id, id, expires_at)
    ${row}
    ON CONFLICT (issuer_id, id) DO UPDATE SET expires_at = excluded.expires_at
    WHERE known.expires_at <= ${now} AND known.expires_at < excluded.expires_at`;
}

/**
 * Adds one-time identifiers of a host.
 * @param rows SQL that selects the URL of the `issuer`, `id` and `expires_at`
 */
export function identifiersFrom(rows: string): string {
  return `
    INSERT INTO grantd.one_time_identifiers (issuer_id, id, expires_at)
    SELECT i.id, given.id, given.expires_at FROM (${rows}) AS given JOIN grantd.issuers i ON i.issuer = given.issuer`;
}

const PENDING_NAMES = readNames(PENDING).join(', ');
const IS_PENDING_ROW = 'issuer_id = :issuerId AND kind = :kind AND id = :id';

export const PENDING_ROWS = {
  get: `SELECT ${PENDING_NAMES} FROM grantd.pending WHERE ${IS_PENDING_ROW}`,

  getByOtherId: `
    SELECT ${PENDING_NAMES} FROM grantd.pending
    WHERE issuer_id = :issuerId AND kind = :kind AND other_id = :otherId`,

  take: `DELETE FROM grantd.pending WHERE ${IS_PENDING_ROW} RETURNING ${PENDING_NAMES}`,

  change: `
    UPDATE grantd.pending SET data = :data, expires_at = :expiresAt, version = version + 1
    WHERE ${IS_PENDING_ROW} AND version = :version`,
};

export const toPendingRow: (row: RowObject) => PendingRow = rowReader(PENDING);

export const EVENT_COLUMNS =
  'sequence, at_ms, type, target, actor, address, client_id, subject, reason, request_id';

export type EventRow = {
  readonly sequence: number;
  readonly at_ms: number;
  readonly type: EventType;
  readonly target: string;
  readonly actor: string | null;
  readonly address: string | null;
  readonly client_id: string | null;
  readonly subject: string | null;
  readonly reason: string | null;
  readonly request_id: string | null;
};

/** An event as a list, in the order of `EVENT_COLUMNS`. */
export type EventList = readonly [
  sequence: number,
  atMs: number,
  type: EventType,
  target: string,
  ...others: (string | null)[],
];

export function eventOfList(row: EventList): EventRecord {
  const [sequence, atMs, type, target, actor, address, clientId, subject, reason, requestId] = row;
  const event: Writable<EventRecord> = { sequence, atMs, type, target };
  if (typeof actor === 'string') event.actor = actor;
  if (typeof address === 'string') event.address = address;
  if (typeof clientId === 'string') event.clientId = clientId;
  if (typeof subject === 'string') event.subject = subject;
  if (typeof reason === 'string') event.reason = reason;
  if (typeof requestId === 'string') event.requestId = requestId;
  return event;
}

/** @param row as read by `EVENT_COLUMNS` */
export function toEventRecord(row: EventRow): EventRecord {
  const { sequence, at_ms, type, target, actor, address, client_id, subject, reason, request_id } = row;
  return eventOfList([sequence, at_ms, type, target, actor, address, client_id, subject, reason, request_id]);
}

/** Rows of one table that move from one database to another. Tables and columns have the same names in both. */
export interface TableRows {
  readonly table: string;
  readonly rows: readonly Readonly<Record<string, string | number | null>>[];
}

/** The store's own tables, each after the tables that it references. */
export const TABLES = [
  'issuers',
  'clients',
  'redirect_origins',
  'api_scopes',
  'principals',
  'grants',
  'exchange_ends',
  'tokens',
  'authorization_codes',
  'signing_keys',
  'one_time_identifiers',
  'pending',
  'events',
] as const;

const OF_ISSUER = 'issuer_id = (SELECT id FROM grantd.issuers WHERE issuer = :issuer)';

/** What a host needs of events to keep an audit trail of them. Only here, `:issuer` is the URL of the issuer. */
export const TRAIL = {
  between: `
    SELECT ${EVENT_COLUMNS} FROM grantd.events
    WHERE ${OF_ISSUER} AND sequence > :after AND sequence <= :to ORDER BY sequence LIMIT :limit`,

  before: `
    SELECT ${EVENT_COLUMNS} FROM grantd.events
    WHERE ${OF_ISSUER} AND sequence > :after AND sequence < :before ORDER BY sequence DESC LIMIT :limit`,

  count: `SELECT count(*) AS events FROM grantd.events WHERE ${OF_ISSUER} AND sequence <= :to`,

  // Numbers continue after the removed ones.
  keepLastNumber: `
    UPDATE grantd.issuers SET last_event_sequence = :to WHERE issuer = :issuer AND last_event_sequence < :to`,

  // The host can add conditions.
  remove: `DELETE FROM grantd.events WHERE ${OF_ISSUER} AND sequence <= :to`,
} as const;

/** What changes of a host depend on. `:issuer` is the URL of the issuer. */
export const OF_HOST = {
  lockIssuer: 'UPDATE grantd.issuers SET issuer = issuer WHERE issuer = :issuer',

  lockClient: `UPDATE grantd.clients SET id = id WHERE ${OF_ISSUER} AND id = :clientId`,

  isOtherRevision: `
    SELECT 1 FROM grantd.clients WHERE ${OF_ISSUER} AND id = :clientId AND coalesce(revision, 0) <> :revision`,

  isOtherGeneration: `
    SELECT 1 WHERE NOT EXISTS (
      SELECT 1 FROM grantd.clients
      WHERE ${OF_ISSUER} AND id = :clientId AND generation = :generation AND disabled_at_ms IS NULL)`,

  /** An expression, for conditions of other statements. @param subject SQL */
  isDisabled: (subject: string) => `EXISTS (
      SELECT 1 FROM grantd.principals
      WHERE ${OF_ISSUER} AND kind = 'subject' AND id = ${subject} AND disabled_at_ms IS NOT NULL)`,

  disabledSubjects: `
    SELECT id AS subject FROM grantd.principals
    WHERE ${OF_ISSUER} AND kind = 'subject' AND disabled_at_ms IS NOT NULL`,
} as const;
