// Lists of users: their filters, and their orders, each of which an index has.
import { searchForms } from './names.ts';
import { dynamicCall, type TableCall, type TableRow } from './tables.ts';

/** Orders of a list, each by an index: by username, or by when users were added. */
export const PEOPLE_ORDERS = ['username', 'created_at'] as const;

export type PeopleOrder = (typeof PEOPLE_ORDERS)[number];

/** Second factors to filter users by. */
export const LISTED_FACTORS = ['none', 'totp', 'passkey', 'security_key'] as const;

/** Which users to list. */
export interface PeopleFilter {
  /** Part of the username, e-mail address, name or phone number. */
  readonly search?: string;
  readonly group?: string;
  readonly factor?: (typeof LISTED_FACTORS)[number];
  /** Default: by username. */
  readonly sort?: PeopleOrder;
  readonly descending?: boolean;
  /** Only users after this place in the order, which `placeOfPerson` names. */
  readonly after?: string;
  /** Whether to read the activity too. */
  readonly withActivity?: boolean;
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
const HAS_KEY = `EXISTS (${OF_PERSON('passkeys')})`;
const keyOfKind = (isSecurityKey: 0 | 1) =>
  `EXISTS (${OF_PERSON('passkeys')} AND f.is_security_key = ${isSecurityKey})`;
const HAS_TOTP = `EXISTS (${OF_PERSON('totp_secrets')})`;

const OF_FACTOR: Readonly<Record<(typeof LISTED_FACTORS)[number], string>> = {
  none: `NOT ${HAS_KEY} AND NOT ${HAS_TOTP}`,
  totp: HAS_TOTP,
  passkey: keyOfKind(0),
  security_key: keyOfKind(1),
};

const KEY_COUNT = (isSecurityKey: 0 | 1) => `(
      SELECT count(*) FROM grantd.passkeys AS f
      WHERE f.issuer = people.issuer AND f.subject = people.subject AND f.is_security_key = ${isSecurityKey})`;

const ACTIVITY = `, ${KEY_COUNT(0)} AS passkeys, ${KEY_COUNT(1)} AS security_keys,
    CASE WHEN ${HAS_TOTP} THEN 1 ELSE 0 END AS has_totp, (
      SELECT max(f.at_ms) FROM grantd.sign_ins AS f
      WHERE f.issuer = people.issuer AND f.subject = people.subject AND f.reason = '') AS last_sign_in_at_ms`;

/** The statement for a list of users. Each combination of conditions is a statement, so that indexes can be used. @param selected the columns of a user */
export function listCall(selected: string, filter: PeopleFilter): TableCall {
  const { search, group, factor, sort = 'username', descending = false, after, limit } = filter;
  const values: Record<string, string | number> = {};
  const conditions = ['issuer = :issuer'];
  const columns = ORDERS[sort];
  if (after !== undefined) {
    const places = valuesAt(after, sort) ?? [];
    const names = columns.map((_, index) => {
      values[`after${index}`] = places[index] ?? '';
      return `:after${index}`;
    });
    conditions.push(`(${columns.join(', ')}) ${descending ? '<' : '>'} (${names.join(', ')})`);
  }
  if (search !== undefined) {
    const forms = searchForms(search).map((form, index) => {
      values[`search${index}`] = `%${form.replaceAll(/[!%_]/g, '!$&')}%`;
      return `search_text LIKE :search${index} ESCAPE '!'`;
    });
    conditions.push(`(${forms.join(' OR ')})`);
  }
  if (group !== undefined) {
    values.group = group;
    conditions.push(`EXISTS (
      SELECT 1 FROM grantd.group_members AS g
      WHERE g.issuer = people.issuer AND g.subject = people.subject AND g.group_name = :group
        AND g.ended_at_ms IS NULL)`);
  }
  if (factor !== undefined) conditions.push(`(${OF_FACTOR[factor]})`);
  if (limit !== undefined) values.limit = limit;
  const order = columns.map((column) => (descending ? `${column} DESC` : column)).join(', ');
  return dynamicCall(
    `SELECT ${selected}${filter.withActivity === true ? ACTIVITY : ''} FROM grantd.people
     WHERE ${conditions.join(' AND ')} ORDER BY ${order} ${limit === undefined ? '' : 'LIMIT :limit'}`,
    values,
  );
}

/** @returns `undefined` for a row without `ACTIVITY` */
export function activityOf(row: TableRow): Activity | undefined {
  const { passkeys, security_keys: securityKeys, has_totp: hasTotp, last_sign_in_at_ms: lastMs } = row;
  if (passkeys === undefined) return undefined;
  const last = lastMs === null || lastMs === undefined ? {} : { lastSignInAtMs: Number(lastMs) };
  return {
    passkeys: Number(passkeys),
    securityKeys: Number(securityKeys),
    hasTotp: Number(hasTotp) === 1,
    ...last,
  };
}
