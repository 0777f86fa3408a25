import { type ApplicationClaims, type Claims, type GetUserClaims, unreadableName } from '@grantd/core';
import type { StoredClaims } from '../config/options.ts';
import { newIdentifier, type ProgramTables, type TableRow } from './tables.ts';

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
}

/** The password hash of users without a password. No password fits it. */
export const NO_PASSWORD = '';

export type NewPerson = Pick<Person, 'name' | 'passwordHash' | 'claims'>;

/** The users of one issuer. Every method rejects with a `StorageFault` if the database does not answer. */
export interface People {
  /** @returns `undefined` if the name is taken */
  add(person: NewPerson): Promise<Person | undefined>;
  /** The user with exactly this name, or else with a name that readers confuse with it. */
  byName(name: string): Promise<Person | undefined>;
  bySubject(subject: string): Promise<Person | undefined>;
  /** Users whose verified email address this is, oldest first. Ignores the case of Latin letters. */
  byVerifiedEmail(address: string, limit: number): Promise<readonly Person[]>;
  /** Sorted by name. */
  list(): Promise<readonly Person[]>;
  /**
   * @param from the hash that is replaced, for a compare-and-set
   * @returns `false` if the user does not exist, or has another hash than `from`
   */
  setPasswordHash(subject: string, passwordHash: string, from?: string): Promise<boolean>;
  /** Replaces name and claims. Compare-and-set on the revision. @returns `changed` also if the user was removed */
  update(person: Person): Promise<'updated' | 'name_taken' | 'changed'>;
  /** First step of a removal: reserves the subject identifier permanently. Idempotent. */
  beginRemoval(subject: string, nowMs: number): Promise<void>;
  /** Deletes the user. The name can be reused, the subject identifier cannot. Idempotent. */
  erase(subject: string): Promise<void>;
  /** Last step of a removal. */
  finishRemoval(subject: string, nowMs: number): Promise<void>;
  /** Subjects whose removal started before a time and was not finished. */
  halfRemoved(beforeMs: number, limit: number): Promise<readonly string[]>;
  /**
   * Computes missing name keys.
   * @returns the names whose key belongs to another user. Only their exact spelling finds them.
   */
  keyNames(): Promise<readonly string[]>;
}

/** A new user as stored, with a subject identifier and a normalized name. */
export function personToKeep({ name, passwordHash, claims }: NewPerson): Person {
  return {
    subject: newIdentifier(),
    name: nameAsKept(name),
    passwordHash,
    claims,
    createdAtMs: Date.now(),
    revision: 0,
  };
}

const MAX_LENGTH = 128;

/** Whether a text can be a username. Other texts are never looked up. */
export function isName(text: string): boolean {
  const name = nameAsKept(text);
  return name !== '' && name.length <= MAX_LENGTH && name.trim() === name && !/\p{C}/u.test(name);
}

/**
 * Why a text is not allowed as a new username.
 * @returns the end of a sentence “expected …”; `undefined` if the name is allowed
 */
export function nameProblem(text: string): string | undefined {
  if (!isName(text)) return `visible characters, at most ${MAX_LENGTH}, without space around them`;
  const unreadable = unreadableName(text);
  if (unreadable !== undefined) return unreadable;
  // RFC 8264 §9.17: identifiers exclude characters with a compatibility mapping, except other widths, which are mapped.
  const name = nameAsKept(text);
  return plainWidth(name).normalize('NFKC') === plainWidth(name)
    ? undefined
    : 'letters in their ordinary form';
}

/** Normalizes a name for storage and display, so that canonically equivalent spellings are equal. */
export function nameAsKept(text: string): string {
  return text.normalize('NFC');
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
 * A key that confusable names share: ignores width, case (RFC 8265 §3.3, UsernameCaseMapped) and look-alike letters of
 * other scripts. Each key belongs to one user.
 */
export function nameKey(text: string): string {
  const lowered = text.normalize('NFKC').toLowerCase();
  return Array.from(lowered, (letter) => RESEMBLES.get(letter) ?? letter)
    .join('')
    .normalize('NFC');
}

/** Fullwidth and halfwidth letters (Unicode: U+FF00 to U+FFEF) in their ordinary form (RFC 8265 §3.3.2). */
function plainWidth(name: string): string {
  return name.replaceAll(/[\uFF00-\uFFEF]+/g, (wide) => wide.normalize('NFKC'));
}

/** An email address in the form in which addresses are compared. Folds ASCII only, as SQL does. */
export function emailKey(address: string): string {
  return address.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** The key of a verified email address. @returns `null` without one */
function verifiedEmailOf({ email, email_verified: isVerified }: Claims): string | null {
  return typeof email === 'string' && isVerified === true ? emailKey(email) : null;
}

/** A user’s claims for UserInfo. */
export function claimsOf({ name, claims }: Person): Claims {
  return { preferred_username: name, ...claims };
}

/** Looks up a user’s claims by subject, for the library. */
export function userClaims(people: People): GetUserClaims {
  return async (subject) => {
    const person = await people.bySubject(subject);
    return person && claimsOf(person);
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

const COLUMNS = 'subject, name, password_hash, claims, created_at_ms, revision';

/** Whether another user has the name or its key. Users whose names predate keys keep their names. */
const TAKEN = `
  SELECT 1 FROM grantd.people AS others
  WHERE others.issuer = $1 AND others.subject <> $2 AND (others.name_key = $3 OR others.name = $4)
    AND NOT EXISTS (SELECT 1 FROM grantd.people AS own WHERE own.issuer = $1 AND own.subject = $2 AND own.name = $4)`;

const PEOPLE_SQL = {
  add: `
    INSERT INTO grantd.people (issuer, ${COLUMNS}, name_key, verified_email)
    SELECT $1, $2, $3, $4, $5, CAST($6 AS bigint), 0, $7, CAST($8 AS text)
    WHERE NOT EXISTS (SELECT 1 FROM grantd.removed_people WHERE issuer = $1 AND subject = $2)
    ON CONFLICT DO NOTHING RETURNING subject`,
  byName: `
    SELECT ${COLUMNS} FROM grantd.people WHERE issuer = $1 AND (name = $2 OR name_key = $3)
    ORDER BY CASE WHEN name = $2 THEN 0 ELSE 1 END LIMIT 1`,
  bySubject: `SELECT ${COLUMNS} FROM grantd.people WHERE issuer = $1 AND subject = $2`,
  byVerifiedEmail: `
    SELECT ${COLUMNS} FROM grantd.people WHERE issuer = $1 AND verified_email = $2
    ORDER BY created_at_ms, subject LIMIT $3`,
  list: `SELECT ${COLUMNS} FROM grantd.people WHERE issuer = $1 ORDER BY name`,
  setPassword: `
    UPDATE grantd.people SET password_hash = $3
    WHERE issuer = $1 AND subject = $2 AND (CAST($4 AS text) IS NULL OR password_hash = $4) RETURNING subject`,

  update: `
    UPDATE grantd.people SET name = $4, name_key = CASE WHEN name = $4 THEN name_key ELSE $3 END, claims = $5,
      verified_email = $7, revision = revision + 1
    WHERE issuer = $1 AND subject = $2 AND revision = $6 AND NOT EXISTS (${TAKEN}) RETURNING subject`,
  taken: TAKEN,

  beginRemoval: `
    INSERT INTO grantd.removed_people (issuer, subject, removed_at_ms)
    SELECT issuer, subject, CAST($3 AS bigint) FROM grantd.people WHERE issuer = $1 AND subject = $2
    ON CONFLICT DO NOTHING`,
  erase: `
    DELETE FROM grantd.people WHERE issuer = $1 AND subject = $2 AND subject IN (
      SELECT subject FROM grantd.removed_people WHERE issuer = $1)`,
  forgetMails: 'DELETE FROM grantd.mails WHERE issuer = $1 AND subject = $2',
  forgetLinks: 'DELETE FROM grantd.mailed_links WHERE issuer = $1 AND subject = $2',
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
};

/** Names per transaction, which blocks other writers. */
const KEYS_PER_TRANSACTION = 200;

export function peopleTable(tables: ProgramTables, issuer: string): People {
  const findOne = async (sql: string, ...values: readonly string[]): Promise<Person | undefined> => {
    const [row] = await tables.read(sql, issuer, ...values);
    return row && personOf(row);
  };

  return {
    async add(newPerson) {
      const person = personToKeep(newPerson);
      const { subject, name, passwordHash, claims, createdAtMs } = person;
      const values = [subject, name, passwordHash, JSON.stringify(claims), createdAtMs, nameKey(name)];
      const [added] = await tables.write([PEOPLE_SQL.add, issuer, ...values, verifiedEmailOf(claims)]);
      return added?.length === 1 ? person : undefined;
    },
    byName: (name) => findOne(PEOPLE_SQL.byName, nameAsKept(name), nameKey(name)),
    bySubject: (subject) => findOne(PEOPLE_SQL.bySubject, subject),
    byVerifiedEmail: async (address, limit) =>
      (await tables.read(PEOPLE_SQL.byVerifiedEmail, issuer, emailKey(address), limit)).map(personOf),
    list: async () => (await tables.read(PEOPLE_SQL.list, issuer)).map(personOf),
    async setPasswordHash(subject, passwordHash, from) {
      const values = [subject, passwordHash, from ?? null];
      const [changed] = await tables.write([PEOPLE_SQL.setPassword, issuer, ...values]);
      return changed?.length === 1;
    },
    async update({ subject, name: newName, claims, revision }) {
      const name = nameAsKept(newName);
      const key = nameKey(name);
      const values = [subject, key, name];
      const [updated] = await tables.write([
        PEOPLE_SQL.update,
        issuer,
        ...values,
        JSON.stringify(claims),
        revision,
        verifiedEmailOf(claims),
      ]);
      if (updated?.length === 1) return 'updated';
      return (await tables.read(PEOPLE_SQL.taken, issuer, ...values)).length > 0 ? 'name_taken' : 'changed';
    },
    async beginRemoval(subject, nowMs) {
      await tables.write([PEOPLE_SQL.beginRemoval, issuer, subject, nowMs]);
    },
    async erase(subject) {
      await tables.write(
        [PEOPLE_SQL.erase, issuer, subject],
        [PEOPLE_SQL.forgetMails, issuer, subject],
        [PEOPLE_SQL.forgetLinks, issuer, subject],
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

function personOf(row: TableRow): Person {
  return {
    subject: String(row.subject),
    name: String(row.name),
    passwordHash: String(row.password_hash),
    claims: JSON.parse(String(row.claims)),
    createdAtMs: Number(row.created_at_ms),
    revision: Number(row.revision),
  };
}

/**
 * Sign-in attempts per time window, by opaque keys. Every method rejects with a `StorageFault` if the database does not
 * answer.
 */
export interface Attempts {
  /**
   * Counts an attempt in the current window or a new one. Atomic: concurrent attempts all count.
   * @returns the number of attempts in the window, and when the window ends
   */
  count(keyDigest: string, nowMs: number, windowMs: number): Promise<AttemptsOfWindow>;
  forget(keyDigest: string): Promise<void>;
}

interface AttemptsOfWindow {
  readonly attempts: number;
  readonly endsAtMs: number;
}

const ATTEMPTS_SQL = {
  count: `
    INSERT INTO grantd.sign_in_attempts AS a (issuer, key_digest, attempts, ends_at_ms) VALUES ($1, $2, 1, $4)
    ON CONFLICT (issuer, key_digest) DO UPDATE SET
      attempts = CASE WHEN a.ends_at_ms <= $3 THEN 1 ELSE a.attempts + 1 END,
      ends_at_ms = CASE WHEN a.ends_at_ms <= $3 THEN excluded.ends_at_ms ELSE a.ends_at_ms END
    RETURNING attempts, ends_at_ms`,

  forget: 'DELETE FROM grantd.sign_in_attempts WHERE issuer = $1 AND key_digest = $2',
};

export function attemptsTable(tables: ProgramTables, issuer: string): Attempts {
  return {
    async count(keyDigest, nowMs, windowMs) {
      const [rows] = await tables.write([ATTEMPTS_SQL.count, issuer, keyDigest, nowMs, nowMs + windowMs]);
      const [counted] = rows ?? [];
      return { attempts: Number(counted?.attempts), endsAtMs: Number(counted?.ends_at_ms) };
    },
    async forget(keyDigest) {
      await tables.write([ATTEMPTS_SQL.forget, issuer, keyDigest]);
    },
  };
}
