import type { ActType, ApplicationClaims, Claims, GetUserClaims } from '@grantd/core';
import type { StoredClaims } from '../config/options.ts';
import { changesOf } from './changes.ts';
import { type Notice, noticeCalls } from './mails.ts';
import {
  emailKeysOf,
  nameAsKept,
  nameKey,
  nameKeysOf,
  searchTextOf,
  trimmed,
  verifiedEmailOf,
} from './names.ts';
import {
  type Activity,
  activityOf,
  type FoundPeople,
  listCall,
  type PeopleFilter,
  type PeoplePage,
  readPage,
} from './people_list.ts';
import { HAS_NO_WORDS } from './people_words.ts';
import { IS_IMPORTED_HASH } from './program_migrations.ts';
import {
  type ActOfChange,
  batch,
  newIdentifier,
  type ProgramTables,
  recorded,
  statement,
  type TableCall,
  type TableRow,
  table,
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

export type ListedPerson = Person & { readonly activity?: Activity };

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
  /** The usernames of some users, by subject. Users who do not exist have none. */
  namesOf(subjects: Iterable<string>): Promise<ReadonlyMap<string, string>>;
  /** Whether a user has one of these ways to sign in. An invited user who has not chosen a password has none. */
  hasWay(subject: string, ways: WaysToSignIn): Promise<boolean>;
  /** Whether a user has or had this subject identifier. */
  isSubject(text: string): Promise<boolean>;
  /** The user with this entry in the directory, unless they have a local password. */
  byDirectoryId(id: string): Promise<Person | undefined>;
  /** Users whose verified email address this is, in any spelling (`emailKey`), oldest first. */
  byVerifiedEmail(address: string, limit: number): Promise<readonly Person[]>;
  /**
   * The one user whose verified email address this is. `undefined` if several users have it, or if it is the username of
   * another user (ADR 191).
   */
  byOwnEmail(address: string): Promise<Person | undefined>;
  /** Sorted by name, unless the filter says otherwise. */
  list(filter?: PeopleFilter): Promise<readonly ListedPerson[]>;
  /** One page of the list. */
  page(page: PeoplePage): Promise<FoundPeople<ListedPerson>>;
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
  /** The first hash behind a text, in the order of bytes. Not one that this server makes: an index has only the others. */
  importedHashAfter(text: string): Promise<string | undefined>;
  /**
   * Ties a user to their entry in the directory, and deletes the local password.
   * @returns `false` if the user does not exist, or the entry belongs to another user
   */
  setDirectoryId(subject: string, id: string): Promise<boolean>;
  /**
   * Replaces name and claims. Compare-and-set on the revision.
   * @param before whose differing members the event names
   * @returns `changed` also if the user was removed
   */
  update(person: Person, before?: Person): Promise<'updated' | 'name_taken' | 'changed'>;
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
   * Computes missing name keys, and the words of users whom an earlier version has stored.
   * @param onWords receives how many of these users have words now
   * @returns the names whose key belongs to another user. Only their exact spelling finds them.
   */
  keyNames(onWords?: (done: number, all: number) => void): Promise<readonly string[]>;
}

/** A new user as stored, with a subject identifier and a normalized name. */
export function personToKeep(
  { name, claimsEmail: _, ...person }: NewPerson,
  subject = newIdentifier(),
  clock: () => number = Date.now,
): Person {
  return { ...person, subject, name: nameAsKept(name), createdAtMs: clock(), revision: 0 };
}

/** The name key is absent if another user has it. */
export const PEOPLE = table(
  'people',
  {
    text: 'subject name password_hash',
    json: 'claims',
    integer: 'created_at_ms revision',
    'text?': 'directory_id',
  },
  { 'text?': 'name_key search_text verified_email import_digest claimed_email' },
);

/** Separates group names, which have no line breaks. */
export const COLUMNS = `${PEOPLE.list}, (
      SELECT string_agg(m.group_name, '\n' ORDER BY m.group_name) FROM grantd.group_members AS m
      WHERE m.issuer = people.issuer AND m.subject = people.subject AND m.ended_at_ms IS NULL) AS group_names`;

const ONE = 'issuer = :issuer AND subject = :subject';

/** Whether another user has one of the keys of an address. */
const EMAIL_TAKEN = `
  SELECT 1 FROM grantd.people AS others
  WHERE others.issuer = :issuer AND others.subject <> :subject AND others.verified_email IN (
    CAST(:emailKey AS text), CAST(:foldedEmail AS text), CAST(:unicodeEmail AS text))`;

/** Whether another user has the name or its key. Users whose names predate keys keep their names. */
const TAKEN = `
  SELECT 1 FROM grantd.people AS others
  WHERE others.issuer = :issuer AND others.subject <> :subject
    AND (others.name_key = :nameKey OR others.name = :name)
    AND NOT EXISTS (
      SELECT 1 FROM grantd.people AS own
      WHERE own.issuer = :issuer AND own.subject = :subject AND own.name = :name)`;

const IS_REMOVED = `EXISTS (SELECT 1 FROM grantd.removed_people WHERE ${ONE})` as const;
const IS_NEW = `NOT ${IS_REMOVED}` as const;
const IF_FREE = 'ON CONFLICT DO NOTHING RETURNING subject';

const HAS_EMAIL = 'issuer = :issuer AND verified_email IN (:emailKey, :foldedEmail, :unicodeEmail)';

/** Names that one statement looks up. */
const NAMES_AT_ONCE = 100;

const NAMES_BATCH = batch(NAMES_AT_ONCE);

const namesOf = statement(`
    SELECT subject, name FROM grantd.people WHERE issuer = :issuer AND subject IN (VALUES ${NAMES_BATCH.rows})`);

const SQL = PEOPLE.statements({
  add: `${PEOPLE.insert} WHERE ${IS_NEW} ${IF_FREE}`,
  addOwner: `${PEOPLE.insert} WHERE ${IS_NEW} AND NOT EXISTS (${EMAIL_TAKEN}) ${IF_FREE}`,
  byName: `
    SELECT ${COLUMNS} FROM grantd.people
    WHERE issuer = :issuer AND (name = :name OR name_key IN (:nameKey, :formerKey))
    ORDER BY CASE WHEN name = :name THEN 0 WHEN name_key = :nameKey THEN 1 ELSE 2 END LIMIT 1`,
  bySubject: `SELECT ${COLUMNS} FROM grantd.people WHERE ${ONE}`,
  isSubject: `
    SELECT 1 FROM grantd.people WHERE ${ONE} UNION ALL SELECT 1 FROM grantd.removed_people WHERE ${ONE}`,
  // An earlier version that serves the same database sets a password without removing the identifier.
  byDirectoryId: `
    SELECT ${COLUMNS} FROM grantd.people
    WHERE issuer = :issuer AND directory_id = :directoryId AND password_hash = '${NO_PASSWORD}'`,
  setDirectoryId: `
    UPDATE grantd.people SET directory_id = :directoryId, password_hash = '${NO_PASSWORD}'
    WHERE ${ONE} AND NOT EXISTS (
      SELECT 1 FROM grantd.people
      WHERE issuer = :issuer AND subject <> :subject AND directory_id = :directoryId)
    RETURNING subject`,
  byVerifiedEmail: `
    SELECT ${COLUMNS} FROM grantd.people WHERE ${HAS_EMAIL}
    ORDER BY created_at_ms, subject LIMIT :limit`,
  byOwnEmail: `
    SELECT ${COLUMNS} FROM grantd.people WHERE ${HAS_EMAIL} AND NOT EXISTS (
      SELECT 1 FROM grantd.people AS others
      WHERE others.issuer = :issuer AND others.subject <> people.subject
        AND others.name_key IN (:nameKey, :formerKey))
    LIMIT 2`,

  replacePassword: `
    UPDATE grantd.people SET password_hash = :passwordHash
    WHERE ${ONE} AND password_hash = :from RETURNING subject`,
  setPassword: `
    UPDATE grantd.people SET password_hash = :passwordHash, directory_id = NULL
    WHERE ${ONE} AND (CAST(:from AS text) IS NULL OR password_hash = :from) RETURNING subject`,

  // As the condition of the index.
  importedHashAfter: `
    SELECT password_hash FROM grantd.people
    WHERE issuer = :issuer AND password_hash COLLATE "C" > :text AND ${IS_IMPORTED_HASH}
    ORDER BY password_hash COLLATE "C" LIMIT 1`,

  update: `
    UPDATE grantd.people SET name = :name, name_key = CASE WHEN name = :name THEN name_key ELSE :nameKey END,
      claims = :claims, search_text = :searchText, verified_email = :verifiedEmail, revision = revision + 1,
      claimed_email = CASE WHEN claimed_email = :verifiedEmail THEN claimed_email END
    WHERE ${ONE} AND revision = :revision AND NOT EXISTS (${TAKEN}) RETURNING subject`,
  taken: TAKEN,
  updateEmail: `
    UPDATE grantd.people SET claims = :claims, search_text = :searchText, verified_email = :emailKey,
      claimed_email = :emailKey, revision = revision + 1
    WHERE ${ONE} AND revision = :revision AND NOT EXISTS (${EMAIL_TAKEN}) RETURNING subject`,
  emailTaken: EMAIL_TAKEN,

  beginRemoval: `
    INSERT INTO grantd.removed_people (issuer, subject, removed_at_ms)
    SELECT issuer, subject, CAST(:nowMs AS bigint) FROM grantd.people WHERE ${ONE}
    ON CONFLICT DO NOTHING RETURNING subject`,
  finishRemoval: `
    UPDATE grantd.removed_people SET finished_at_ms = :nowMs WHERE ${ONE} AND finished_at_ms IS NULL`,
  halfRemoved: `
    SELECT subject FROM grantd.removed_people
    WHERE issuer = :issuer AND finished_at_ms IS NULL AND removed_at_ms < :beforeMs
    ORDER BY removed_at_ms LIMIT :limit`,

  withoutKey: `
    SELECT subject, name FROM grantd.people WHERE issuer = :issuer AND name_key IS NULL
    ORDER BY created_at_ms, subject`,
  keyName: `
    UPDATE grantd.people SET name_key = :nameKey WHERE ${ONE} AND name_key IS NULL
      AND NOT EXISTS (SELECT 1 FROM grantd.people WHERE issuer = :issuer AND name_key = :nameKey)`,

  withoutWords: `
    SELECT ${COLUMNS} FROM grantd.people WHERE issuer = :issuer AND ${HAS_NO_WORDS} LIMIT :limit`,
  countWithoutWords: `SELECT count(*) AS count FROM grantd.people WHERE issuer = :issuer AND ${HAS_NO_WORDS}`,
  makeSearchable: `
    UPDATE grantd.people SET search_text = :searchText
    WHERE ${ONE} AND revision = :revision AND ${HAS_NO_WORDS} RETURNING subject`,
});

/** Emails go in any case. The rest goes once a removal has begun. */
const ERASURES = [
  ...['mails', 'mailed_links'].map((table) => `DELETE FROM grantd.${table} WHERE ${ONE}` as const),
  ...['people', 'passkeys', 'totp_secrets', 'recovery_codes', 'sign_ins', 'personal_tokens'].map(
    (table) => `DELETE FROM grantd.${table} WHERE ${ONE} AND ${IS_REMOVED}` as const,
  ),
].map((sql) => statement(sql));

/** Names per transaction, which blocks other writers. */
const KEYS_PER_TRANSACTION = 200;

/** Members as the API names them. */
function membersOf({ name, claims }: Pick<Person, 'name' | 'claims'>): object {
  return { username: name, ...claims };
}

export function peopleTable(tables: ProgramTables): People {
  const withoutKey = () =>
    tables.list(SQL.withoutKey(), (row) => ({ subject: String(row.subject), name: String(row.name) }));
  const changes = (call: TableCall, subject: string, reason?: string) =>
    tables.changes(recorded(call, { ...personAct('person_changed', subject), reason }));

  const makeSearchable = async (onWords: (done: number, all: number) => void): Promise<void> => {
    const all = await tables.first(SQL.countWithoutWords(), ({ count }) => Number(count));
    for (let done = 0; done < (all ?? 0); ) {
      const people = await tables.list(SQL.withoutWords({ limit: KEYS_PER_TRANSACTION }), personOf);
      if (people.length === 0) return;
      await tables.run(
        ...people.map((person) => SQL.makeSearchable({ ...person, searchText: searchTextOf(person) })),
      );
      done += people.length;
      onWords(done, all ?? 0);
    }
  };

  return {
    async add(newPerson, subject) {
      const person = personToKeep(newPerson, subject);
      const act = personAct('person_added', person.subject);
      return (await tables.changes(recorded(newPersonCall(person, newPerson), act))) ? person : undefined;
    },
    replacePasswordHash: (subject, from, passwordHash) =>
      tables.changes(SQL.replacePassword({ subject, from, passwordHash })),
    byName: (name) => tables.first(SQL.byName({ name: nameAsKept(name), ...nameKeysOf(name) }), personOf),
    bySubject: (subject) => tables.first(SQL.bySubject({ subject }), personOf),
    importedHashAfter: (text) =>
      tables.first(SQL.importedHashAfter({ text }), ({ password_hash: hash }) => String(hash)),
    async namesOf(subjects) {
      const wanted = [...new Set(subjects)];
      const names = new Map<string, string>();
      for (let begin = 0; begin < wanted.length; begin += NAMES_AT_ONCE) {
        const call = namesOf(NAMES_BATCH.valuesOf(wanted.slice(begin, begin + NAMES_AT_ONCE)));
        const found = await tables.list(
          call,
          ({ subject, name }) => [String(subject), String(name)] as const,
        );
        for (const [subject, name] of found) names.set(subject, name);
      }
      return names;
    },
    hasWay(subject, ways) {
      const { condition, values } = hasWay(ways);
      const find = `SELECT 1 FROM grantd.people WHERE ${ONE} AND ${condition}`;
      return tables.has(PEOPLE.dynamic(find, { subject, ...values }));
    },
    isSubject: (subject) => tables.has(SQL.isSubject({ subject })),
    byDirectoryId: (directoryId) => tables.first(SQL.byDirectoryId({ directoryId }), personOf),
    setDirectoryId: (subject, directoryId) => changes(SQL.setDirectoryId({ subject, directoryId }), subject),
    byVerifiedEmail: (address, limit) =>
      tables.list(SQL.byVerifiedEmail({ ...emailKeysOf(address), limit }), personOf),
    async byOwnEmail(address) {
      const keys = emailKeysOf(address);
      const found = await tables.list(SQL.byOwnEmail({ ...keys, ...nameKeysOf(keys.emailKey) }), personOf);
      return found.length === 1 ? found[0] : undefined;
    },
    list: (filter = {}) => tables.list(listCall(COLUMNS, filter), listedOf),
    page: (page) =>
      readPage(tables, page, (filter, few) => tables.list(listCall(COLUMNS, filter, few), listedOf)),
    setPasswordHash(subject, passwordHash, from, notice) {
      // A hash is salted, so it is new.
      const isChanged =
        'EXISTS (SELECT 1 FROM grantd.people WHERE issuer = :issuer AND subject = :subject AND password_hash = :passwordHash)';
      return tables.changes(
        recorded(
          SQL.setPassword({ subject, passwordHash, from: from ?? null }),
          personAct('person_password_set', subject),
        ),
        ...noticeCalls(notice, isChanged, { passwordHash }),
      );
    },
    async update(person, before) {
      const { subject, claims, revision } = person;
      const name = nameAsKept(person.name);
      const names = { subject, name, nameKey: nameKey(name) };
      // Without values, which would outlive the user.
      const reason = before && changesOf(membersOf(before), membersOf(person), () => false);
      const found = { searchText: searchTextOf({ name, claims }), verifiedEmail: verifiedEmailOf(claims) };
      if (await changes(SQL.update({ ...names, ...found, claims, revision }), subject, reason))
        return 'updated';
      return (await tables.has(SQL.taken(names))) ? 'name_taken' : 'changed';
    },
    async updateEmail(person) {
      const { subject, claims, revision } = person;
      const keys = { subject, ...emailKeysOf(String(claims.email)) };
      const searchText = searchTextOf(person);
      if (await changes(SQL.updateEmail({ ...keys, claims, searchText, revision }), subject))
        return 'updated';
      return (await tables.has(SQL.emailTaken(keys))) ? 'taken' : 'changed';
    },
    beginRemoval: (subject, nowMs) =>
      tables.run(recorded(SQL.beginRemoval({ subject, nowMs }), personAct('person_removed', subject))),
    erase: (subject) => tables.run(...ERASURES.map((erase) => erase({ subject }))),
    finishRemoval: (subject, nowMs) => tables.run(SQL.finishRemoval({ subject, nowMs })),
    halfRemoved: (beforeMs, limit) =>
      tables.list(SQL.halfRemoved({ beforeMs, limit }), ({ subject }) => String(subject)),
    async keyNames(onWords = () => {}) {
      await makeSearchable(onWords);
      const people = await withoutKey();
      for (let begin = 0; begin < people.length; begin += KEYS_PER_TRANSACTION) {
        const some = people.slice(begin, begin + KEYS_PER_TRANSACTION);
        await tables.run(
          ...some.map(({ subject, name }) => SQL.keyName({ subject, nameKey: nameKey(name) })),
        );
      }
      return people.length === 0 ? [] : (await withoutKey()).map(({ name }) => name);
    },
  };
}

/** The event of a change to a user. */
export function personAct(type: ActType, subject: string): ActOfChange & { readonly target: string } {
  return { type, target: subject, subject };
}

/** Adds a user. Returns no row if the name or a claimed address is taken. */
export function newPersonCall(
  person: Person,
  {
    importDigest,
    mayLookAlike,
    claimsEmail,
  }: { readonly importDigest?: string; readonly mayLookAlike?: boolean; readonly claimsEmail?: boolean } = {},
): TableCall {
  const { name, claims } = person;
  const row = {
    ...person,
    nameKey: mayLookAlike ? undefined : nameKey(name),
    searchText: searchTextOf(person),
    verifiedEmail: verifiedEmailOf(claims),
    importDigest,
  };
  if (claimsEmail !== true) return SQL.add(row);
  const keys = emailKeysOf(String(claims.email));
  return SQL.addOwner({ ...row, ...keys, claimedEmail: keys.emailKey });
}

/** A user from a row with `COLUMNS`. */
export function personOf(row: TableRow): Person {
  const groups = typeof row.group_names === 'string' && { groups: row.group_names.split('\n') };
  return { ...(PEOPLE.recordOf(row) as Person), ...groups };
}

function listedOf(row: TableRow): ListedPerson {
  const activity = activityOf(row);
  return { ...personOf(row), ...(activity && { activity }) };
}

/** Claims as they are stored: without blanks around an address. */
export function claimsAsKept(claims: Claims): Claims {
  const asKept = (name: string, value: unknown) =>
    ['email', 'phone_number'].includes(name) && typeof value === 'string' ? trimmed(value) : value;
  return Object.fromEntries(Object.entries(claims).map(([name, value]) => [name, asKept(name, value)]));
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
