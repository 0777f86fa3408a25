import { domainToASCII, domainToUnicode } from 'node:url';
import {
  type ActType,
  type ApplicationClaims,
  type Claims,
  type GetUserClaims,
  unreadableName,
} from '@grantd/core';
import type { StoredClaims } from '../config/options.ts';
import { type Notice, noticeCalls } from './mails.ts';
import {
  type ActOfChange,
  newIdentifier,
  type ProgramTables,
  recorded,
  type TableCall,
  type TableRow,
} from './tables.ts';
import { hasWay, NO_PASSWORD, type WaysToSignIn } from './ways_to_sign_in.ts';

/**
 * A user who can sign in. The library’s store records whether the user is disabled, because tokens depend on it too.
 */
export interface Person {
  /** Random and never reused; the `sub` of the user’s tokens. */
  readonly subject: string;
  /** The username. */
  readonly name: string;
  /** `NO_PASSWORD` until the user has chosen a password. */
  readonly passwordHash: string;
  readonly claims: Claims;
  readonly createdAtMs: number;
  /** Number of changes to the name and claims. */
  readonly revision: number;
  /** Names of the groups, sorted. Absent if there are none. */
  readonly groups?: readonly string[];
  /** Identifier of the user’s entry in the directory, which checks their password. Absent for local users. */
  readonly directoryId?: string;
}

export interface NewPerson extends Pick<Person, 'name' | 'passwordHash' | 'claims' | 'directoryId'> {
  /**
   * Whether the user has shown that the verified email address is theirs. Then no other user may have it. Operators can
   * give an address to several users.
   */
  readonly claimsEmail?: boolean;
}

/** Which users to list. */
export interface PeopleFilter {
  /** Part of the username, e-mail address, name or phone number. */
  readonly search?: string;
  readonly group?: string;
  /** Only users whose name is sorted after this one. */
  readonly after?: string;
  /** Default: no limit. */
  readonly limit?: number;
}

/** The users of one issuer. Every method rejects with a `StorageFault` if the database does not answer. */
export interface People {
  /**
   * @param subject default: a new one
   * @returns `undefined` if the name, the subject identifier or a claimed address is taken, or the entry of the directory
   * belongs to another user
   */
  add(person: NewPerson, subject?: string): Promise<Person | undefined>;
  /** The user with exactly this name, or else with a name that readers confuse with it. */
  byName(name: string): Promise<Person | undefined>;
  bySubject(subject: string): Promise<Person | undefined>;
  /** Whether a user has one of these ways to sign in. An invited user who has not chosen a password has none. */
  hasWay(subject: string, ways: WaysToSignIn): Promise<boolean>;
  /** Whether a user has or had this subject identifier. */
  isSubject(text: string): Promise<boolean>;
  /** The user with this entry in the directory, unless they have a local password. */
  byDirectoryId(id: string): Promise<Person | undefined>;
  /** Users whose verified email address this is, in any spelling (`emailKey`), oldest first. */
  byVerifiedEmail(address: string, limit: number): Promise<readonly Person[]>;
  /** Sorted by name. */
  list(filter?: PeopleFilter): Promise<readonly Person[]>;
  /**
   * Sets the password of a user, who is a local user from then on.
   * @param from the hash that is replaced, for a compare-and-set
   * @param notice queued in the same transaction, if the hash changes
   * @returns `false` if the user does not exist, or has another hash than `from`
   */
  setPasswordHash(subject: string, passwordHash: string, from?: string, notice?: Notice): Promise<boolean>;
  /**
   * Replaces the hash of a password by another hash of the same password. Compare-and-set on the hash.
   * @returns `false` if the password has changed or the user was removed
   */
  replacePasswordHash(subject: string, before: string, after: string): Promise<boolean>;
  /**
   * Ties a user to their entry in the directory, and deletes the local password.
   * @returns `false` if the user does not exist, or the entry belongs to another user
   */
  setDirectoryId(subject: string, id: string): Promise<boolean>;
  /** Replaces name and claims. Compare-and-set on the revision. @returns `changed` also if the user was removed */
  update(person: Person): Promise<'updated' | 'name_taken' | 'changed'>;
  /**
   * As `update`, for a user who has shown that the verified email address is theirs.
   * @returns `taken` if another user has the address
   */
  updateEmail(person: Person): Promise<'updated' | 'taken' | 'changed'>;
  /** First step of a removal: reserves the subject identifier permanently. Idempotent. */
  beginRemoval(subject: string, nowMs: number): Promise<void>;
  /** Deletes the user with their factors and their history of sign-ins. The name can be reused, the subject identifier cannot. Idempotent. */
  erase(subject: string): Promise<void>;
  /** Last step of a removal. */
  finishRemoval(subject: string, nowMs: number): Promise<void>;
  /** Subjects whose removal started before a time and was not finished. */
  halfRemoved(beforeMs: number, limit: number): Promise<readonly string[]>;
  /**
   * Computes missing name keys and search texts.
   * @returns the names whose key belongs to another user. Only their exact spelling finds them.
   */
  keyNames(): Promise<readonly string[]>;
}

/** A new user as stored, with a subject identifier and a normalized name. */
export function personToKeep(
  { name, claimsEmail: _, ...person }: NewPerson,
  subject = newIdentifier(),
  clock: () => number = Date.now,
): Person {
  return { ...person, subject, name: nameAsKept(name), createdAtMs: clock(), revision: 0 };
}

const MAX_LENGTH = 128;

/** Whether a text can be a username. Other texts are never looked up. */
export function isName(text: string): boolean {
  const name = nameAsKept(text);
  return name !== '' && name.length <= MAX_LENGTH && !/\p{C}/u.test(name);
}

/**
 * Why a text is not allowed as a new username.
 * @returns the end of a sentence “expected …”; `undefined` if the name is allowed
 */
export function nameProblem(text: string): string | undefined {
  if (!isName(text)) return `visible characters, at most ${MAX_LENGTH}`;
  // `иван@example.com`: the domain of an address is not chosen to match the letters before it.
  const unreadable = partsOf(nameAsKept(text))
    .map(unreadableName)
    .find((problem) => problem !== undefined);
  if (unreadable !== undefined) return unreadable;
  // RFC 8264 §9.17: identifiers exclude characters with a compatibility mapping, except other widths, which are mapped.
  const name = nameAsKept(text);
  return plainWidth(name).normalize('NFKC') === plainWidth(name)
    ? undefined
    : 'letters in their ordinary form';
}

/**
 * Normalizes a name for storage, lookup and display: canonically equivalent spellings are equal, and white space around
 * the name does not count, because the keyboards of phones add some.
 */
export function nameAsKept(text: string): string {
  return text.trim().normalize('NFC');
}

/** Claims as they are stored: without white space around an address. */
export function claimsAsKept(claims: Claims): Claims {
  const asKept = (name: string, value: unknown) =>
    ['email', 'phone_number'].includes(name) && typeof value === 'string' ? value.trim() : value;
  return Object.fromEntries(Object.entries(claims).map(([name, value]) => [name, asKept(name, value)]));
}

/** What is before and after the last `@` of an address. Any other text is one part. */
function partsOf(text: string): readonly string[] {
  const at = text.lastIndexOf('@');
  return at <= 0 || at === text.length - 1 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** An address with its domain in another form, if it has one. */
function withDomain(address: string, form: (domain: string) => string): string {
  const [local = '', domain] = partsOf(address);
  return domain === undefined ? address : `${local}@${form(domain) || domain}`;
}

/** Lower-case letters of other scripts with the Latin letters that they resemble in either case (UTS 39 §4). */
const LOOKALIKES: readonly (readonly [letters: string, resembles: string])[] = [
  ['авсԁеһіјкмнорԛѕтуԝхӏ', 'abcdehijkmhopqstywxl'], // Cyrillic
  ['αβεηικμνορςτυχζ', 'abehikmvopσtyxz'], // Greek; its final sigma is a sigma
];

const RESEMBLES: ReadonlyMap<string, string> = new Map(
  LOOKALIKES.flatMap(([letters, resembles]) =>
    Array.from(letters, (letter, index) => [letter, resembles.charAt(index)] as const),
  ),
);

/**
 * A key that confusable names share: ignores width, case (RFC 8265 §3.3, UsernameCaseMapped), look-alike letters of
 * other scripts, and whether a domain is in Punycode. Each key belongs to one user (ADR 54).
 */
export function nameKey(text: string): string {
  const lowered = lowerCase(text);
  return likeLatin(lowered.includes('@') ? withDomain(lowered, unicodeDomain) : lowered);
}

function lowerCase(text: string): string {
  return text.trim().normalize('NFKC').toLowerCase();
}

function likeLatin(lowered: string): string {
  return Array.from(lowered, (letter) => RESEMBLES.get(letter) ?? letter)
    .join('')
    .normalize('NFC');
}

/** A domain in Punycode as Unicode. Others stay as they are. @returns empty if it is no domain */
function unicodeDomain(domain: string): string {
  return domain.includes('xn--') ? domainToUnicode(domain) : domain;
}

/** Maximum spellings of a name in one script. */
const MAX_SPELLINGS = 16;

/**
 * Spellings that readers confuse with a name, for users who are looked up elsewhere: as given, and in the letters of each
 * script whose letters resemble all of it. No username has letters of several of these scripts.
 * @returns `undefined` if there are too many
 */
export function spellingsOf(text: string): ReadonlySet<string> | undefined {
  const key = nameKey(text);
  const spellings = new Set([nameAsKept(text), key]);
  for (const [letters, resembles] of LOOKALIKES) {
    const choices = Array.from(key, (character) => {
      const own = Array.from(letters).filter((_, index) => resembles.charAt(index) === character);
      return own.length > 0 || /\p{L}/u.test(character) ? own : [character];
    });
    if (choices.reduce((product, { length }) => product * length, 1) > MAX_SPELLINGS) return undefined;
    const some = choices.reduce<readonly string[]>(
      (begun, own) => begun.flatMap((start) => own.map((one) => start + one)),
      [''],
    );
    for (const one of some) spellings.add(one);
  }
  return spellings;
}

/** Fullwidth and halfwidth letters (Unicode: U+FF00 to U+FFEF) in their ordinary form (RFC 8265 §3.3.2). */
function plainWidth(name: string): string {
  return name.replaceAll(/[\uFF00-\uFFEF]+/g, (wide) => wide.normalize('NFKC'));
}

/** Claims that a search finds, besides the username. */
const SEARCHED_CLAIMS = ['email', 'name', 'given_name', 'family_name', 'phone_number'];

const MAX_SEARCH_TEXT = 1000;

/** The text in which a search looks for a part. Names that readers confuse are the same in it. */
function searchTextOf({ name, claims }: Pick<Person, 'name' | 'claims'>): string {
  const texts = SEARCHED_CLAIMS.map((claim) => claims[claim]).filter((value) => typeof value === 'string');
  return [name, ...texts]
    .map((text) => likeLatin(lowerCase(text)))
    .join('\n')
    .slice(0, MAX_SEARCH_TEXT);
}

/** Letters that become ASCII ones when they are normalized or lowered. To some mail servers, they are other letters. */
const ALMOST_ASCII = /[\u212A\u0130\u037E\u1FEF]/;

/**
 * An email address in the form in which addresses are compared: in lower case, with the domain as the mailer sends it
 * (UTS 46, Punycode), and without white space around it (ADR 131).
 */
export function emailKey(address: string): string {
  return withDomain(foldAscii(address.trim()), asciiDomain).replace(/^[^@]*/, (local) =>
    ALMOST_ASCII.test(local) ? local : local.normalize('NFC').toLowerCase(),
  );
}

/** The domain of an email address, as `emailKey`. @returns `undefined` without one */
export function emailDomain(address: string): string | undefined {
  return partsOf(emailKey(address))[1];
}

/** A trailing dot ends the name at the root. @returns empty if it is no domain */
function asciiDomain(domain: string): string {
  return domainToASCII(domain).replace(/\.$/, '');
}

/** As earlier versions stored keys of addresses, and as their migration did in SQL. */
function foldAscii(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The keys that earlier versions may have stored for an address, besides the current one. */
function emailKeysOf(address: string): readonly [string, string, string] {
  const key = emailKey(address);
  return [key, foldAscii(address.trim()), withDomain(key, unicodeDomain)];
}

/** The key of a verified email address. @returns `null` without one */
function verifiedEmailOf({ email, email_verified: isVerified }: Claims): string | null {
  return typeof email === 'string' && isVerified === true ? emailKey(email) : null;
}

/** A user’s stored claims for UserInfo. */
export function claimsOf({ name, claims }: Pick<Person, 'name' | 'claims'>): Claims {
  return { ...withoutOwnClaims(claims), preferred_username: name };
}

/**
 * Claims that say who the user is, or what the server knows about the sign-in. Applications find accounts by them, so they
 * come from the user’s record, and no value that is stored or brought along stands in for them.
 */
const OWN_CLAIMS: ReadonlySet<string> = new Set([
  ...[
    'sub',
    'preferred_username',
    'username',
    'iss',
    'aud',
    'azp',
    'client_id',
    'scope',
    'jti',
    'sid',
    'nonce',
  ],
  ...['exp', 'iat', 'nbf', 'auth_time', 'acr', 'amr', 'cnf', 'act', 'may_act', 'events', 'token_type'],
]);

/** Whether a claim comes from the server alone. */
export function isOwnClaim(name: string): boolean {
  return OWN_CLAIMS.has(name);
}

/** Without claims that come from the server alone. */
export function withoutOwnClaims(claims: Claims): Claims {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !isOwnClaim(name)));
}

/**
 * Looks up a user’s claims by subject, for the library. The claim `groups` has the names of the user’s groups, unless
 * another value is stored for it.
 */
export function userClaims(people: People): GetUserClaims {
  return async (subject) => {
    const person = await people.bySubject(subject);
    if (person === undefined) return undefined;
    const { groups } = person;
    return { ...(groups !== undefined && { groups }), ...claimsOf(person) };
  };
}

/** Application claims whose values come from the stored claims of the user. */
export function applicationClaims(stored: StoredClaims, getUserClaims: GetUserClaims): ApplicationClaims {
  const declared = Object.entries(stored).map(([name, { from = name, ...claim }]) => ({ name, from, claim }));
  return {
    claims: Object.fromEntries(declared.map(({ name, claim }) => [name, claim])),
    async valuesOf({ subject, names }) {
      const claims = subject === undefined ? undefined : await getUserClaims(subject);
      const wanted = declared.filter(({ name }) => names.includes(name));
      return Object.fromEntries(wanted.map(({ name, from }) => [name, claims?.[from]]));
    },
  };
}

const STORED_COLUMNS = 'subject, name, password_hash, claims, created_at_ms, revision, directory_id';

/** Separates group names, which have no line breaks. */
export const COLUMNS = `${STORED_COLUMNS}, (
      SELECT string_agg(m.group_name, '\n' ORDER BY m.group_name) FROM grantd.group_members AS m
      WHERE m.issuer = people.issuer AND m.subject = people.subject AND m.ended_at_ms IS NULL) AS group_names`;

/** Whether another user than `$2` has one of the keys of an address. */
function emailTaken(...keys: readonly string[]): string {
  const texts = keys.map((key) => `CAST(${key} AS text)`).join(', ');
  return `SELECT 1 FROM grantd.people AS others
    WHERE others.issuer = $1 AND others.subject <> $2 AND others.verified_email IN (${texts})`;
}

/** Whether another user has the name or its key. Users whose names predate keys keep their names. */
const TAKEN = `
  SELECT 1 FROM grantd.people AS others
  WHERE others.issuer = $1 AND others.subject <> $2 AND (others.name_key = $3 OR others.name = $4)
    AND NOT EXISTS (SELECT 1 FROM grantd.people AS own WHERE own.issuer = $1 AND own.subject = $2 AND own.name = $4)`;

/** @param condition a further one */
function addPerson(condition: string): string {
  return `
    INSERT INTO grantd.people
      (issuer, ${STORED_COLUMNS}, name_key, search_text, verified_email, import_digest, claimed_email)
    SELECT $1, $2, $3, $4, $5, CAST($6 AS bigint), 0, CAST($7 AS text), $8, $9, CAST($10 AS text), $11,
      CAST($12 AS text)
    WHERE NOT EXISTS (SELECT 1 FROM grantd.removed_people WHERE issuer = $1 AND subject = $2) ${condition}
    ON CONFLICT DO NOTHING RETURNING subject`;
}

const PEOPLE_SQL = {
  add: addPerson(''),
  addOwner: addPerson(`AND NOT EXISTS (${emailTaken('$12', '$13', '$14')})`),
  byName: `
    SELECT ${COLUMNS} FROM grantd.people WHERE issuer = $1 AND (name = $2 OR name_key IN ($3, $4))
    ORDER BY CASE WHEN name = $2 THEN 0 WHEN name_key = $3 THEN 1 ELSE 2 END LIMIT 1`,
  bySubject: `SELECT ${COLUMNS} FROM grantd.people WHERE issuer = $1 AND subject = $2`,
  hasWay: (condition: string) =>
    `SELECT 1 FROM grantd.people WHERE issuer = $1 AND subject = $2 AND ${condition}`,
  isSubject: `
    SELECT 1 FROM grantd.people WHERE issuer = $1 AND subject = $2
    UNION ALL SELECT 1 FROM grantd.removed_people WHERE issuer = $1 AND subject = $2`,
  // An earlier version that serves the same database sets a password without removing the identifier.
  byDirectoryId: `
    SELECT ${COLUMNS} FROM grantd.people
    WHERE issuer = $1 AND directory_id = $2 AND password_hash = '${NO_PASSWORD}'`,
  setDirectoryId: `
    UPDATE grantd.people SET directory_id = $3, password_hash = '${NO_PASSWORD}'
    WHERE issuer = $1 AND subject = $2 AND NOT EXISTS (
      SELECT 1 FROM grantd.people WHERE issuer = $1 AND subject <> $2 AND directory_id = $3)
    RETURNING subject`,
  byVerifiedEmail: `
    SELECT ${COLUMNS} FROM grantd.people WHERE issuer = $1 AND verified_email IN ($2, $3, $4)
    ORDER BY created_at_ms, subject LIMIT $5`,

  replacePassword: `
    UPDATE grantd.people SET password_hash = $4
    WHERE issuer = $1 AND subject = $2 AND password_hash = $3 RETURNING subject`,
  setPassword: `
    UPDATE grantd.people SET password_hash = $3, directory_id = NULL
    WHERE issuer = $1 AND subject = $2 AND (CAST($4 AS text) IS NULL OR password_hash = $4) RETURNING subject`,

  update: `
    UPDATE grantd.people SET name = $4, name_key = CASE WHEN name = $4 THEN name_key ELSE $3 END, claims = $5,
      search_text = $7, verified_email = $8, revision = revision + 1,
      claimed_email = CASE WHEN claimed_email = $8 THEN claimed_email END
    WHERE issuer = $1 AND subject = $2 AND revision = $6 AND NOT EXISTS (${TAKEN}) RETURNING subject`,
  taken: TAKEN,
  updateEmail: `
    UPDATE grantd.people SET claims = $3, search_text = $4, verified_email = $6, claimed_email = $6,
      revision = revision + 1
    WHERE issuer = $1 AND subject = $2 AND revision = $5 AND NOT EXISTS (${emailTaken('$6', '$7', '$8')})
    RETURNING subject`,
  emailTaken: emailTaken('$3', '$4', '$5'),

  beginRemoval: `
    INSERT INTO grantd.removed_people (issuer, subject, removed_at_ms)
    SELECT issuer, subject, CAST($3 AS bigint) FROM grantd.people WHERE issuer = $1 AND subject = $2
    ON CONFLICT DO NOTHING RETURNING subject`,
  erase: `
    DELETE FROM grantd.people WHERE issuer = $1 AND subject = $2 AND subject IN (
      SELECT subject FROM grantd.removed_people WHERE issuer = $1)`,
  forgetMails: 'DELETE FROM grantd.mails WHERE issuer = $1 AND subject = $2',
  forgetLinks: 'DELETE FROM grantd.mailed_links WHERE issuer = $1 AND subject = $2',
  eraseRest: ['passkeys', 'totp_secrets', 'recovery_codes', 'sign_ins'].map(
    (table) => `
    DELETE FROM grantd.${table} WHERE issuer = $1 AND subject = $2 AND subject IN (
      SELECT subject FROM grantd.removed_people WHERE issuer = $1)`,
  ),
  finishRemoval: `
    UPDATE grantd.removed_people SET finished_at_ms = $3
    WHERE issuer = $1 AND subject = $2 AND finished_at_ms IS NULL`,
  halfRemoved: `
    SELECT subject FROM grantd.removed_people
    WHERE issuer = $1 AND finished_at_ms IS NULL AND removed_at_ms < $2 ORDER BY removed_at_ms LIMIT $3`,

  withoutKey: `
    SELECT subject, name FROM grantd.people WHERE issuer = $1 AND name_key IS NULL
    ORDER BY created_at_ms, subject`,
  keyName: `
    UPDATE grantd.people SET name_key = $3 WHERE issuer = $1 AND subject = $2 AND name_key IS NULL
      AND NOT EXISTS (SELECT 1 FROM grantd.people WHERE issuer = $1 AND name_key = $3)`,

  withoutSearchText: `
    SELECT subject, name, claims, revision FROM grantd.people WHERE issuer = $1 AND search_text IS NULL LIMIT $2`,
  makeSearchable: `
    UPDATE grantd.people SET search_text = $4
    WHERE issuer = $1 AND subject = $2 AND revision = $3 AND search_text IS NULL RETURNING subject`,
};

/** What a search looks for: the text, and its domain in Punycode and Unicode, because the stored one may be either. */
function searchForms(search: string): readonly string[] {
  const lowered = lowerCase(search);
  const domain = lowered.slice(lowered.lastIndexOf('@') + 1);
  const before = lowered.slice(0, lowered.length - domain.length);
  const domains = domain.includes('.') ? [domainToASCII(domain), domainToUnicode(domain)] : [];
  const forms = domains.filter((form) => form !== '').map((form) => `${before}${form}`);
  return [...new Set([lowered, ...forms].map(likeLatin))];
}

/** The statement for a list of users. Each combination of conditions is a statement, so that indexes can be used. */
function listCall(issuer: string, { search, group, after = '', limit }: PeopleFilter): TableCall {
  const values: (string | number)[] = [issuer, after];
  const parameter = (value: string | number) => `$${values.push(value)}`;
  const conditions = ['issuer = $1', 'name > $2'];
  if (search !== undefined) {
    const forms = searchForms(search).map((form) => `%${form.replaceAll(/[!%_]/g, '!$&')}%`);
    conditions.push(
      `(${forms.map((form) => `search_text LIKE ${parameter(form)} ESCAPE '!'`).join(' OR ')})`,
    );
  }
  if (group !== undefined)
    conditions.push(`EXISTS (
      SELECT 1 FROM grantd.group_members AS g
      WHERE g.issuer = people.issuer AND g.subject = people.subject AND g.group_name = ${parameter(group)}
        AND g.ended_at_ms IS NULL)`);
  const most = limit === undefined ? '' : `LIMIT ${parameter(limit)}`;
  return [
    `SELECT ${COLUMNS} FROM grantd.people WHERE ${conditions.join(' AND ')} ORDER BY name ${most}`,
    ...values,
  ];
}

/** Names per transaction, which blocks other writers. */
const KEYS_PER_TRANSACTION = 200;

export function peopleTable(tables: ProgramTables, issuer: string): People {
  const findOne = async (sql: string, ...values: readonly string[]): Promise<Person | undefined> => {
    const [row] = await tables.read(sql, issuer, ...values);
    return row && personOf(row);
  };

  const makeSearchable = async (): Promise<void> => {
    for (;;) {
      const people = await tables.read(PEOPLE_SQL.withoutSearchText, issuer, KEYS_PER_TRANSACTION);
      if (people.length === 0) return;
      await tables.write(
        ...people.map(({ subject, name, claims, revision }): TableCall => {
          const text = searchTextOf({ name: String(name), claims: JSON.parse(String(claims)) });
          return [PEOPLE_SQL.makeSearchable, issuer, String(subject), Number(revision), text];
        }),
      );
    }
  };

  return {
    async add(newPerson, subject) {
      const person = personToKeep(newPerson, subject);
      const [added] = await tables.write(
        recorded(newPersonCall(issuer, person, newPerson), personAct('person_added', person.subject)),
      );
      return added?.length === 1 ? person : undefined;
    },
    async replacePasswordHash(subject, before, after) {
      const [changed] = await tables.write([PEOPLE_SQL.replacePassword, issuer, subject, before, after]);
      return changed?.length === 1;
    },
    // Earlier versions stored keys with a domain in Punycode.
    byName: (name) => findOne(PEOPLE_SQL.byName, nameAsKept(name), nameKey(name), likeLatin(lowerCase(name))),
    bySubject: (subject) => findOne(PEOPLE_SQL.bySubject, subject),
    async hasWay(subject, ways) {
      const condition = hasWay(ways, { subject: '$2', firstLink: 3 });
      return (await tables.read(PEOPLE_SQL.hasWay(condition), issuer, subject, ...ways.links)).length > 0;
    },
    isSubject: async (text) => (await tables.read(PEOPLE_SQL.isSubject, issuer, text)).length > 0,
    byDirectoryId: (id) => findOne(PEOPLE_SQL.byDirectoryId, id),
    async setDirectoryId(subject, id) {
      const [changed] = await tables.write(
        recorded([PEOPLE_SQL.setDirectoryId, issuer, subject, id], personAct('person_changed', subject)),
      );
      return changed?.length === 1;
    },
    byVerifiedEmail: async (address, limit) =>
      (await tables.read(PEOPLE_SQL.byVerifiedEmail, issuer, ...emailKeysOf(address), limit)).map(personOf),
    list: async (filter = {}) => (await tables.read(...listCall(issuer, filter))).map(personOf),
    async setPasswordHash(subject, passwordHash, from, notice) {
      const values = [subject, passwordHash, from ?? null];
      // A hash is salted, so it is new.
      const isChanged =
        'EXISTS (SELECT 1 FROM grantd.people WHERE issuer = $1 AND subject = $3 AND password_hash = $10)';
      const [changed] = await tables.write(
        recorded([PEOPLE_SQL.setPassword, issuer, ...values], personAct('person_password_set', subject)),
        ...noticeCalls(issuer, notice, isChanged, passwordHash),
      );
      return changed?.length === 1;
    },
    async update({ subject, name: newName, claims, revision }) {
      const name = nameAsKept(newName);
      const key = nameKey(name);
      const values = [subject, key, name];
      const stored = [
        JSON.stringify(claims),
        revision,
        searchTextOf({ name, claims }),
        verifiedEmailOf(claims),
      ];
      const [updated] = await tables.write(
        recorded([PEOPLE_SQL.update, issuer, ...values, ...stored], personAct('person_changed', subject)),
      );
      if (updated?.length === 1) return 'updated';
      return (await tables.read(PEOPLE_SQL.taken, issuer, ...values)).length > 0 ? 'name_taken' : 'changed';
    },
    async updateEmail({ subject, name, claims, revision }) {
      const keys = emailKeysOf(String(claims.email));
      const [updated] = await tables.write(
        recorded(
          [
            ...([PEOPLE_SQL.updateEmail, issuer, subject, JSON.stringify(claims)] as const),
            ...[searchTextOf({ name, claims }), revision, ...keys],
          ],
          personAct('person_changed', subject),
        ),
      );
      if (updated?.length === 1) return 'updated';
      const taken = await tables.read(PEOPLE_SQL.emailTaken, issuer, subject, ...keys);
      return taken.length > 0 ? 'taken' : 'changed';
    },
    async beginRemoval(subject, nowMs) {
      await tables.write(
        recorded([PEOPLE_SQL.beginRemoval, issuer, subject, nowMs], personAct('person_removed', subject)),
      );
    },
    async erase(subject) {
      await tables.write(
        [PEOPLE_SQL.erase, issuer, subject],
        [PEOPLE_SQL.forgetMails, issuer, subject],
        [PEOPLE_SQL.forgetLinks, issuer, subject],
        ...PEOPLE_SQL.eraseRest.map((sql) => [sql, issuer, subject] as const),
      );
    },
    async finishRemoval(subject, nowMs) {
      await tables.write([PEOPLE_SQL.finishRemoval, issuer, subject, nowMs]);
    },
    halfRemoved: async (beforeMs, limit) =>
      (await tables.read(PEOPLE_SQL.halfRemoved, issuer, beforeMs, limit)).map(({ subject }) =>
        String(subject),
      ),
    async keyNames() {
      await makeSearchable();
      const names = await tables.read(PEOPLE_SQL.withoutKey, issuer);
      if (names.length === 0) return [];
      for (let begin = 0; begin < names.length; begin += KEYS_PER_TRANSACTION) {
        const some = names.slice(begin, begin + KEYS_PER_TRANSACTION);
        await tables.write(
          ...some.map(
            ({ subject, name }) =>
              [PEOPLE_SQL.keyName, issuer, String(subject), nameKey(String(name))] as const,
          ),
        );
      }
      return (await tables.read(PEOPLE_SQL.withoutKey, issuer)).map(({ name }) => String(name));
    },
  };
}

/** The event of a change to a user. */
export function personAct(type: ActType, subject: string): ActOfChange & { readonly target: string } {
  return { type, target: subject, subject };
}

/** Adds a user. Returns no row if the name or a claimed address is taken. */
export function newPersonCall(
  issuer: string,
  person: Person,
  {
    importDigest,
    mayLookAlike,
    claimsEmail,
  }: { readonly importDigest?: string; readonly mayLookAlike?: boolean; readonly claimsEmail?: boolean } = {},
): TableCall {
  const { subject, name, passwordHash, claims, createdAtMs, directoryId = null } = person;
  const columns = [subject, name, passwordHash, JSON.stringify(claims), createdAtMs, directoryId];
  const key = mayLookAlike ? null : nameKey(name);
  const found = [key, searchTextOf(person), verifiedEmailOf(claims), importDigest ?? null];
  return claimsEmail === true
    ? [PEOPLE_SQL.addOwner, issuer, ...columns, ...found, ...emailKeysOf(String(claims.email))]
    : [PEOPLE_SQL.add, issuer, ...columns, ...found, null];
}

/** A user from a row with `COLUMNS`. */
export function personOf(row: TableRow): Person {
  const { group_names: groups, directory_id: directoryId } = row;
  return {
    subject: String(row.subject),
    name: String(row.name),
    passwordHash: String(row.password_hash),
    claims: JSON.parse(String(row.claims)),
    createdAtMs: Number(row.created_at_ms),
    revision: Number(row.revision),
    ...(typeof groups === 'string' && { groups: groups.split('\n') }),
    ...(typeof directoryId === 'string' && { directoryId }),
  };
}

/**
 * Sign-in attempts per time window, by opaque keys. Every method rejects with a `StorageFault` if the database does not
 * answer.
 */
export interface Attempts {
  /**
   * Counts an attempt under several keys, each in its current window or a new one, up to the first that has reached its
   * limit. Atomic: concurrent attempts all count.
   * @returns for each counted key the number of attempts in the window, and when the window ends
   */
  count(keys: readonly CountedKey[], nowMs: number): Promise<readonly AttemptsOfWindow[]>;
  /** The current windows of all keys that begin with the digest of a name and a period. */
  ofName(nameDigest: string, nowMs: number): Promise<readonly AttemptsOfWindow[]>;
  /**
   * Forgets all keys that begin with one of the digests and a period.
   * @param subject the user whom the event is about, if there was any key
   */
  forgetNames(nameDigests: readonly string[], subject: string): Promise<void>;
  /** Subtracts an attempt from some keys, and forgets others, in one write. */
  end(keys: { readonly takenBack: readonly string[]; readonly forgotten: readonly string[] }): Promise<void>;
}

/** A key with its limit. */
export interface CountedKey {
  readonly keyDigest: string;
  /** The attempts that a window allows. */
  readonly attempts: number;
  readonly windowMs: number;
}

interface AttemptsOfWindow {
  readonly attempts: number;
  readonly endsAtMs: number;
}

export const ATTEMPTS_SQL = {
  /**
   * Counts nothing if an earlier key has reached its limit.
   * @param earlier how many keys the same transaction has counted before
   */
  count: (earlier: number) => `
    INSERT INTO grantd.sign_in_attempts AS a (issuer, key_digest, attempts, ends_at_ms)
    SELECT $1, $2, 1, CAST($4 AS bigint) WHERE TRUE${Array.from(
      { length: earlier },
      (_, index) => ` AND NOT EXISTS (
        SELECT 1 FROM grantd.sign_in_attempts AS b
        WHERE b.issuer = $1 AND b.key_digest = $${5 + 2 * index} AND b.attempts > $${6 + 2 * index})`,
    ).join('')}
    ON CONFLICT (issuer, key_digest) DO UPDATE SET
      attempts = CASE WHEN a.ends_at_ms <= $3 THEN 1 ELSE a.attempts + 1 END,
      ends_at_ms = CASE WHEN a.ends_at_ms <= $3 THEN excluded.ends_at_ms ELSE a.ends_at_ms END
    RETURNING attempts, ends_at_ms`,

  takeBack: `
    UPDATE grantd.sign_in_attempts SET attempts = attempts - 1
    WHERE issuer = $1 AND key_digest = $2 AND attempts > 0`,
  forget: 'DELETE FROM grantd.sign_in_attempts WHERE issuer = $1 AND key_digest = $2',

  // A range of the primary key: `/` is the character after `.`.
  ofName: `
    SELECT attempts, ends_at_ms FROM grantd.sign_in_attempts
    WHERE issuer = $1 AND key_digest >= $2 || '.' AND key_digest < $2 || '/' AND ends_at_ms > $3`,
  forgetNames: (digests: readonly string[]) => `
    DELETE FROM grantd.sign_in_attempts WHERE issuer = $1 AND (${digests
      .map((_, index) => `(key_digest >= $${index + 2} || '.' AND key_digest < $${index + 2} || '/')`)
      .join(' OR ')})
    RETURNING key_digest`,
};

export function attemptsTable(tables: ProgramTables, issuer: string): Attempts {
  return {
    async count(keys, nowMs) {
      const calls = keys.map(({ keyDigest, windowMs }, index): TableCall => {
        const earlier = keys.slice(0, index).flatMap((key) => [key.keyDigest, key.attempts]);
        return [ATTEMPTS_SQL.count(index), issuer, keyDigest, nowMs, nowMs + windowMs, ...earlier];
      });
      const counted = await tables.write(...calls);
      return counted.flat().map(windowOf);
    },
    ofName: async (nameDigest, nowMs) =>
      (await tables.read(ATTEMPTS_SQL.ofName, issuer, nameDigest, nowMs)).map(windowOf),
    async forgetNames(nameDigests, subject) {
      await tables.write(
        recorded(
          [ATTEMPTS_SQL.forgetNames(nameDigests), issuer, ...nameDigests],
          personAct('person_unlocked', subject),
        ),
      );
    },
    async end({ takenBack, forgotten }) {
      await tables.write(
        ...takenBack.map((key): TableCall => [ATTEMPTS_SQL.takeBack, issuer, key]),
        ...forgotten.map((key): TableCall => [ATTEMPTS_SQL.forget, issuer, key]),
      );
    },
  };
}

function windowOf(row: TableRow): AttemptsOfWindow {
  return { attempts: Number(row.attempts), endsAtMs: Number(row.ends_at_ms) };
}
