// Lists of users: their filters, and their orders, each of which an index has (ADR 202).
import { OF_HOST } from '@grantd/core/internal/storage/statements';
import { searchTerms } from './names.ts';
import { batch, dynamicCall, type ProgramTables, type TableCall, type TableRow } from './tables.ts';

/** Orders of a list, each by an index: by username, or by when users were added. */
export const PEOPLE_ORDERS = ['username', 'created_at'] as const;

export type PeopleOrder = (typeof PEOPLE_ORDERS)[number];

/** Second factors to filter users by. */
export const LISTED_FACTORS = ['none', 'totp', 'passkey', 'security_key'] as const;

/** Whether a user can sign in. A locked user cannot from somewhere, for now, after too many attempts. */
export const PEOPLE_STATES = ['active', 'disabled', 'locked'] as const;

/** Which users to list. */
export interface PeopleFilter {
  /** Beginnings of words of the username, email address, name or phone number, or a whole subject identifier. */
  readonly search?: string;
  readonly group?: string;
  readonly factor?: (typeof LISTED_FACTORS)[number];
  readonly state?: Exclude<(typeof PEOPLE_STATES)[number], 'locked'>;
  /** Only users who are locked at this time. */
  readonly lockedAtMs?: number;
  /** Default: by username. */
  readonly sort?: PeopleOrder;
  readonly descending?: boolean;
  /** Only users after this place in the order, which `placeOfPerson` names. */
  readonly after?: string;
  /** Only users up to this place. */
  readonly upTo?: string;
  /** To read the activity too, as it is at this time. */
  readonly activityAtMs?: number;
  /** Default: no limit. */
  readonly limit?: number;
}

/** What a list says about the sign-ins of a user. */
export interface Activity {
  readonly passkeys: number;
  readonly securityKeys: number;
  readonly hasTotp: boolean;
  /** Of the sign-ins that the server still remembers. */
  readonly lastSignInAtMs?: number;
  /** When the last lock after too many attempts ends. */
  readonly lockedUntilMs?: number;
}

/** The columns of each order, whose values are unique. */
const ORDERS: Readonly<Record<PeopleOrder, readonly string[]>> = {
  username: ['name'],
  created_at: ['created_at_ms', 'subject'],
};

/** What places depend on. */
interface Placed {
  readonly name: string;
  readonly createdAtMs: number;
  readonly subject: string;
}

/** The place of a user in a list, which the next page begins after. */
export function placeOfPerson(
  { name, createdAtMs, subject }: Placed,
  sort: PeopleOrder = 'username',
): string {
  return sort === 'username' ? name : `${createdAtMs} ${subject}`;
}

/** @returns the values of the order’s columns; `undefined` if it is no place in this order */
function valuesAt(place: string, sort: PeopleOrder): readonly (string | number)[] | undefined {
  if (sort === 'username') return [place];
  const [, time, subject = ''] = /^(\d{1,15}) (.+)$/s.exec(place) ?? [];
  return time === undefined ? undefined : [Number(time), subject];
}

/** Whether a list in this order can begin there. */
export function isPlaceOfPerson(place: string, sort: PeopleOrder = 'username'): boolean {
  return valuesAt(place, sort) !== undefined;
}

const OF_PERSON = (table: string) =>
  `SELECT 1 FROM grantd.${table} AS f WHERE f.issuer = people.issuer AND f.subject = people.subject`;
/** Looked up for each user. Without OFFSET, PostgreSQL would read the whole table first, for a thousand users too. */
const isThere = (rows: string) => `EXISTS (${rows} LIMIT 1 OFFSET 0)`;
const HAS_KEY = isThere(OF_PERSON('passkeys'));
const keyOfKind = (isSecurityKey: 0 | 1) =>
  isThere(`${OF_PERSON('passkeys')} AND f.is_security_key = ${isSecurityKey}`);
const HAS_TOTP = isThere(OF_PERSON('totp_secrets'));

const OF_FACTOR: Readonly<Record<(typeof LISTED_FACTORS)[number], string>> = {
  none: `NOT ${HAS_KEY} AND NOT ${HAS_TOTP}`,
  totp: HAS_TOTP,
  passkey: keyOfKind(0),
  security_key: keyOfKind(1),
};

/** That attempts have locked a user (ADR 214). An index has exactly these rows. @param now SQL */
const isLock = (now: string) => `subject <> '' AND attempts >= most AND ends_at_ms > ${now}`;

const KEY_COUNT = (isSecurityKey: 0 | 1) => `(
      SELECT count(*) FROM grantd.passkeys AS f
      WHERE f.issuer = people.issuer AND f.subject = people.subject AND f.is_security_key = ${isSecurityKey})`;

const ACTIVITY = `, ${KEY_COUNT(0)} AS passkeys, ${KEY_COUNT(1)} AS security_keys,
    CASE WHEN ${HAS_TOTP} THEN 1 ELSE 0 END AS has_totp, (
      SELECT max(f.at_ms) FROM grantd.sign_ins AS f
      WHERE f.issuer = people.issuer AND f.subject = people.subject AND f.reason = '') AS last_sign_in_at_ms, (
      SELECT max(f.ends_at_ms) FROM grantd.sign_in_attempts AS f
      WHERE f.issuer = people.issuer AND f.subject = people.subject AND ${isLock(':activityAtMs')}
    ) AS locked_until_ms`;

interface Condition {
  readonly sql: string;
  readonly values?: Readonly<Record<string, string | number>>;
  /** SQL for the subjects that fulfil it, if there can be few of them. */
  readonly subjects?: string;
}

/** At most as many users are looked up one by one, instead of all users in order. */
const FEW = 1000;

/** Parameters for subjects. Most searches find few users, and a statement with fewer parameters is read faster. */
const BATCHES = [50, FEW].map((size) => ({ size, ...batch(size) }));

/** All users that fulfil a condition. */
interface FewUsers {
  readonly condition: Condition;
  readonly subjects: readonly string[];
}

const keysOfKind = (isSecurityKey: 0 | 1) =>
  `SELECT DISTINCT subject FROM grantd.passkeys WHERE issuer = :issuer AND is_security_key = ${isSecurityKey}`;

const SUBJECTS_OF_FACTOR: Partial<Record<(typeof LISTED_FACTORS)[number], string>> = {
  totp: 'SELECT subject FROM grantd.totp_secrets WHERE issuer = :issuer',
  passkey: keysOfKind(0),
  security_key: keysOfKind(1),
};

/** Comes after all characters of words. */
const LAST_CHARACTER = '\u{10FFFF}';

/** That a search finds the user: by the beginnings of words, or by the whole subject identifier (ADR 202). */
function foundBy(search: string): readonly Condition[] {
  const terms = searchTerms(search);
  return terms.map((term, index) => {
    const begins = `word >= :from${index} AND word < :end${index}`;
    const isSubject = terms.length === 1 ? 'subject = :search' : undefined;
    const like = `search_text LIKE :text${index} ESCAPE '!'`;
    return {
      sql: isSubject === undefined ? like : `(${like} OR ${isSubject})`,
      subjects: `
      SELECT subject FROM grantd.people_words WHERE issuer = :issuer AND ${begins}${
        isSubject === undefined
          ? ''
          : ` UNION ALL
      SELECT subject FROM grantd.people WHERE issuer = :issuer AND ${isSubject}`
      }`,
      values: {
        [`from${index}`]: term,
        [`end${index}`]: `${term}${LAST_CHARACTER}`,
        [`text${index}`]: `%\n${term.replaceAll(/[!%_]/g, '!$&')}%`,
        ...(isSubject !== undefined && { search: search.trim() }),
      },
    };
  });
}

/** The conditions of a filter, those first whose users are found fastest. */
function conditionsOf(filter: PeopleFilter): readonly Condition[] {
  const { search, group, factor, state, lockedAtMs } = filter;
  const conditions: Condition[] = [];
  if (lockedAtMs !== undefined)
    conditions.push({
      sql: `EXISTS (${OF_PERSON('sign_in_attempts')} AND ${isLock(':lockedAtMs')})`,
      subjects: `
      SELECT DISTINCT subject FROM grantd.sign_in_attempts
      WHERE issuer = :issuer AND ${isLock(':lockedAtMs')}`,
      values: { lockedAtMs },
    });
  if (search !== undefined) conditions.push(...foundBy(search));
  if (state !== undefined) {
    const isDisabled = OF_HOST.isDisabled('people.subject');
    conditions.push(
      state === 'disabled'
        ? { sql: isDisabled, subjects: OF_HOST.disabledSubjects }
        : { sql: `NOT ${isDisabled}` },
    );
  }
  if (factor !== undefined) {
    const subjects = SUBJECTS_OF_FACTOR[factor];
    conditions.push({ sql: `(${OF_FACTOR[factor]})`, ...(subjects !== undefined && { subjects }) });
  }
  if (group !== undefined)
    conditions.push({
      sql: `EXISTS (
      SELECT 1 FROM grantd.group_members AS g
      WHERE g.issuer = people.issuer AND g.subject = people.subject AND g.group_name = :group
        AND g.ended_at_ms IS NULL)`,
      subjects: `
      SELECT subject FROM grantd.group_members
      WHERE issuer = :issuer AND group_name = :group AND ended_at_ms IS NULL`,
      values: { group },
    });
  return conditions;
}

/** The part of a list between two places. @returns SQL, and the values of its parameters */
function between({ sort = 'username', descending = false, after, upTo }: PeopleFilter) {
  const columns = ORDERS[sort];
  const values: Record<string, string | number> = {};
  const compared = (name: string, place: string, sign: string) => {
    const parameters = columns.map((_, index) => `:${name}${index}`);
    const found = valuesAt(place, sort) ?? [];
    for (const [index] of columns.entries()) values[`${name}${index}`] = found[index] ?? '';
    return `(${columns.join(', ')}) ${sign} (${parameters.join(', ')})`;
  };
  const conditions = [
    ...(after === undefined ? [] : [compared('after', after, descending ? '<' : '>')]),
    ...(upTo === undefined ? [] : [compared('upTo', upTo, descending ? '>=' : '<=')]),
  ];
  const order = columns.map((column) => (descending ? `${column} DESC` : column)).join(', ');
  return { conditions, values, order };
}

/**
 * The statement for a list of users. Each combination of conditions is a statement, so that indexes can be used. Whole rows
 * are read only of the users on the page.
 * @param selected the columns of a user
 * @param few to look up only these users
 */
export function listCall(selected: string, filter: PeopleFilter, few?: FewUsers): TableCall {
  const { limit, activityAtMs } = filter;
  const { conditions, values, order } = between(filter);
  const filters = conditionsOf(filter).filter(({ sql }) => sql !== few?.condition.sql);
  const among = few && BATCHES.find(({ size }) => size >= few.subjects.length);
  const all = [
    'issuer = :issuer',
    ...(among === undefined ? [] : [`subject IN (VALUES ${among.rows})`]),
    ...conditions,
    ...filters.map(({ sql }) => sql),
  ];
  const found = `FROM grantd.people WHERE ${all.join(' AND ')} ORDER BY ${order}`;
  const columns = `${selected}${activityAtMs === undefined ? '' : ACTIVITY}`;
  const sql =
    limit === undefined
      ? `SELECT ${columns} ${found}`
      : `
    SELECT ${columns} FROM grantd.people WHERE issuer = :issuer AND subject IN (
      SELECT subject ${found} LIMIT :limit)
    ORDER BY ${order}`;
  return dynamicCall(sql, {
    ...values,
    ...among?.valuesOf(few?.subjects ?? []),
    ...Object.assign({}, ...filters.map((one) => one.values ?? {})),
    ...(limit !== undefined && { limit }),
    ...(activityAtMs !== undefined && { activityAtMs }),
  });
}

/** Users that are looked at in one read. */
const USERS_PER_READ = 1000;

/** Which page to read. */
export interface PeoplePage extends PeopleFilter {
  readonly limit: number;
  /** Milliseconds after which the search stops, although the page is not full. Default: no limit. */
  readonly withinMs?: number;
}

/** A page, which is not full if there are no more users, or if the time was over. */
export interface FoundPeople<T> {
  readonly people: readonly T[];
  /** If the time was over: how many users were looked at, and the place of the last one. */
  readonly stopped?: { readonly lookedAt: number; readonly place: string };
}

/**
 * Reads a page of users. If few users fulfil a condition, it looks these up. Otherwise, it looks at all users in the order
 * of the list until the page is full.
 * @param list reads users by a statement
 */
export async function readPage<T>(
  tables: Pick<ProgramTables, 'first' | 'list'>,
  { withinMs, ...filter }: PeoplePage,
  list: (filter: PeopleFilter, few?: FewUsers) => Promise<readonly T[]>,
): Promise<FoundPeople<T>> {
  const conditions = conditionsOf(filter);
  if (conditions.length === 0) return { people: await list(filter) };
  for (const condition of conditions) {
    const few = await fewThat(tables, condition);
    if (few !== undefined) return { people: few.subjects.length === 0 ? [] : await list(filter, few) };
  }

  const beganMs = performance.now();
  const people: T[] = [];
  let { after } = filter;
  for (let lookedAt = USERS_PER_READ; ; lookedAt += USERS_PER_READ) {
    const upTo = await placeFurtherOn(tables, { ...filter, ...(after !== undefined && { after }) });
    const part = { ...(after !== undefined && { after }), ...(upTo !== undefined && { upTo }) };
    people.push(...(await list({ ...filter, ...part, limit: filter.limit - people.length })));
    if (upTo === undefined || people.length === filter.limit) return { people };
    if (withinMs !== undefined && performance.now() - beganMs >= withinMs)
      return { people, stopped: { lookedAt, place: upTo } };
    after = upTo;
  }
}

/** @returns `undefined` if many users fulfil the condition */
async function fewThat(
  tables: Pick<ProgramTables, 'list'>,
  condition: Condition,
): Promise<FewUsers | undefined> {
  if (condition.subjects === undefined) return undefined;
  const call = dynamicCall(`${condition.subjects} LIMIT ${FEW + 1}`, condition.values ?? {});
  const subjects = await tables.list(call, ({ subject }) => String(subject));
  return subjects.length > FEW ? undefined : { condition, subjects: [...new Set(subjects)] };
}

/** The place of the last user of a read. @returns `undefined` if fewer users follow */
async function placeFurtherOn(
  tables: Pick<ProgramTables, 'first'>,
  filter: PeopleFilter,
): Promise<string | undefined> {
  const { conditions, values, order } = between(filter);
  const last = await tables.first(
    dynamicCall(
      `SELECT ${ORDERS[filter.sort ?? 'username'].join(', ')} FROM grantd.people
       WHERE ${['issuer = :issuer', ...conditions].join(' AND ')} ORDER BY ${order} LIMIT 1 OFFSET ${USERS_PER_READ - 1}`,
      values,
    ),
    ({ name, created_at_ms: createdAtMs, subject }) => ({
      ...{ name: String(name), subject: String(subject) },
      createdAtMs: Number(createdAtMs),
    }),
  );
  return last && placeOfPerson(last, filter.sort);
}

/** @returns `undefined` for a row without `ACTIVITY` */
export function activityOf(row: TableRow): Activity | undefined {
  const { passkeys, security_keys: securityKeys, has_totp: hasTotp } = row;
  const { last_sign_in_at_ms: lastMs, locked_until_ms: lockedMs } = row;
  if (passkeys === undefined) return undefined;
  return {
    passkeys: Number(passkeys),
    securityKeys: Number(securityKeys),
    hasTotp: Number(hasTotp) === 1,
    ...(lastMs != null && { lastSignInAtMs: Number(lastMs) }),
    ...(lockedMs != null && { lockedUntilMs: Number(lockedMs) }),
  };
}
