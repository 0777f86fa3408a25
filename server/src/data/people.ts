import { type ApplicationClaims, type Claims, type GetUserClaims, unreadableName } from '@grantd/core';
import type { StoredClaims } from '../config/options.ts';
import { newIdentifier, type ProgramTables, type TableRow } from './tables.ts';

/** Someone who can sign in. Whether they are disabled is the store's to say, which their tokens depend on as well. */
export interface Person {
  /** Random and never used again: the `sub` of their tokens. */
  readonly subject: string;
  /** What they sign in with. */
  readonly name: string;
  readonly passwordHash: string;
  readonly claims: Claims;
  readonly createdAtMs: number;
  /** How often the name or the claims have been changed. */
  readonly revision: number;
}

export type NewPerson = Pick<Person, 'name' | 'passwordHash' | 'claims'>;

/** The people of one issuer. Every method rejects with a `StorageFault` where the database cannot be asked. */
export interface People {
  /** @returns `undefined` where the name is taken */
  add(person: NewPerson): Promise<Person | undefined>;
  /** Somebody of exactly this name, or else of one that a reader takes for it. */
  byName(name: string): Promise<Person | undefined>;
  bySubject(subject: string): Promise<Person | undefined>;
  /** By name. */
  list(): Promise<readonly Person[]>;
  /** @returns `false` where there is no such person */
  setPasswordHash(subject: string, passwordHash: string): Promise<boolean>;
  /** Replaces name and claims. Compare-and-set on the revision. @returns `changed` also if the person is gone */
  update(person: Person): Promise<'updated' | 'name_taken' | 'changed'>;
  /** First step of a removal: remembers for good that the subject identifier was given. Idempotent. */
  beginRemoval(subject: string, nowMs: number): Promise<void>;
  /** Deletes the person. The name can be given again, the subject identifier cannot. Idempotent. */
  erase(subject: string): Promise<void>;
  /** Last step of a removal. */
  finishRemoval(subject: string, nowMs: number): Promise<void>;
  /** Subjects whose removal began before a time and was not finished. */
  halfRemoved(beforeMs: number, limit: number): Promise<readonly string[]>;
  /**
   * Gives keys to names that were stored without one.
   * @returns the names that share their key with another person, who has it; only their exact spelling finds them
   */
  keyNames(): Promise<readonly string[]>;
}

/** A person as they will be kept: with a subject, and the name in one way of writing it. */
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

const LONGEST = 128;

/** Whether a text could be the name of a person: only such a name is looked up. */
export function isName(text: string): boolean {
  const name = nameAsKept(text);
  return name !== '' && name.length <= LONGEST && name.trim() === name && !/\p{C}/u.test(name);
}

/**
 * Why a name cannot be given to a person.
 * @returns ends the sentence "expected …"; `undefined` for a name that can be given
 */
export function nameProblem(text: string): string | undefined {
  if (!isName(text)) return `visible characters, at most ${LONGEST}, without space around them`;
  const unreadable = unreadableName(text);
  if (unreadable !== undefined) return unreadable;
  // RFC 8264 §9.17: characters with a compatibility mapping are not for identifiers; other widths are mapped.
  const name = nameAsKept(text);
  return plainWidth(name).normalize('NFKC') === plainWidth(name)
    ? undefined
    : 'letters in their ordinary form';
}

/** A name as it is shown: canonically equivalent spellings are one. */
export function nameAsKept(text: string): string {
  return text.normalize('NFC');
}

/** Letters of other scripts, in lower case, beside those that they are taken for in either case (UTS 39 §4). */
const LOOK_ALIKES: readonly (readonly [letters: string, takenFor: string])[] = [
  ['авсԁеһіјкмнорԛѕтуԝхӏ', 'abcdehijkmhopqstywxl'], // Cyrillic
  ['αβεηικμνορςτυχζ', 'abehikmvopσtyxz'], // Greek; its final sigma is a sigma
];

const TAKEN_FOR: ReadonlyMap<string, string> = new Map(
  LOOK_ALIKES.flatMap(([letters, takenFor]) =>
    Array.from(letters, (letter, index) => [letter, takenFor.charAt(index)] as const),
  ),
);

/**
 * What two names have in common that a reader takes for the same one: without regard to width, case (RFC 8265
 * §3.3, UsernameCaseMapped) and letters of another script that look alike. Nobody else can have a name with this key.
 */
export function nameKey(text: string): string {
  const lowered = text.normalize('NFKC').toLowerCase();
  return Array.from(lowered, (letter) => TAKEN_FOR.get(letter) ?? letter)
    .join('')
    .normalize('NFC');
}

/** Fullwidth and halfwidth letters (Unicode: U+FF00 to U+FFEF) in their ordinary form (RFC 8265 §3.3.2). */
function plainWidth(name: string): string {
  return name.replaceAll(/[\uFF00-\uFFEF]+/g, (wide) => wide.normalize('NFKC'));
}

/** A person's claims as UserInfo may tell them. */
export function claimsOf({ name, claims }: Person): Claims {
  return { preferred_username: name, ...claims };
}

/** The claims of a person by subject, as the library asks for them. */
export function userClaims(people: People): GetUserClaims {
  return async (subject) => {
    const person = await people.bySubject(subject);
    return person && claimsOf(person);
  };
}

/** Claims of tokens that are taken from those stored with a person. */
export function applicationClaims(stored: StoredClaims, getUserClaims: GetUserClaims): ApplicationClaims {
  const declared = Object.entries(stored).map(([name, { from = name, ...claim }]) => ({ name, from, claim }));
  return {
    claims: Object.fromEntries(declared.map(({ name, claim }) => [name, claim])),
    async valuesOf({ subject, names }) {
      const claims = subject === undefined ? undefined : await getUserClaims(subject);
      const due = declared.filter(({ name }) => names.includes(name));
      return Object.fromEntries(due.map(({ name, from }) => [name, claims?.[from]]));
    },
  };
}

const COLUMNS = 'subject, name, password_hash, claims, created_at_ms, revision';

/** By somebody else, who may have the key of a name that is older than keys are: whose name it is keeps it. */
const TAKEN = `
  SELECT 1 FROM grantd.people AS others
  WHERE others.issuer = $1 AND others.subject <> $2 AND (others.name_key = $3 OR others.name = $4)
    AND NOT EXISTS (SELECT 1 FROM grantd.people AS own WHERE own.issuer = $1 AND own.subject = $2 AND own.name = $4)`;

const PEOPLE_SQL = {
  add: `
    INSERT INTO grantd.people (issuer, ${COLUMNS}, name_key)
    SELECT $1, $2, $3, $4, $5, CAST($6 AS bigint), 0, $7
    WHERE NOT EXISTS (SELECT 1 FROM grantd.removed_people WHERE issuer = $1 AND subject = $2)
    ON CONFLICT DO NOTHING RETURNING subject`,
  byName: `
    SELECT ${COLUMNS} FROM grantd.people WHERE issuer = $1 AND (name = $2 OR name_key = $3)
    ORDER BY CASE WHEN name = $2 THEN 0 ELSE 1 END LIMIT 1`,
  bySubject: `SELECT ${COLUMNS} FROM grantd.people WHERE issuer = $1 AND subject = $2`,
  list: `SELECT ${COLUMNS} FROM grantd.people WHERE issuer = $1 ORDER BY name`,
  setPassword: `
    UPDATE grantd.people SET password_hash = $3 WHERE issuer = $1 AND subject = $2 RETURNING subject`,

  update: `
    UPDATE grantd.people SET name = $4, name_key = CASE WHEN name = $4 THEN name_key ELSE $3 END, claims = $5,
      revision = revision + 1
    WHERE issuer = $1 AND subject = $2 AND revision = $6 AND NOT EXISTS (${TAKEN}) RETURNING subject`,
  taken: TAKEN,

  beginRemoval: `
    INSERT INTO grantd.removed_people (issuer, subject, removed_at_ms)
    SELECT issuer, subject, CAST($3 AS bigint) FROM grantd.people WHERE issuer = $1 AND subject = $2
    ON CONFLICT DO NOTHING`,
  erase: `
    DELETE FROM grantd.people WHERE issuer = $1 AND subject = $2 AND subject IN (
      SELECT subject FROM grantd.removed_people WHERE issuer = $1)`,
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

/** Rows of a transaction in which names get keys: it holds up other writers. */
const MOST_KEYED_AT_ONCE = 200;

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
      const [added] = await tables.write([PEOPLE_SQL.add, issuer, ...values]);
      return added?.length === 1 ? person : undefined;
    },
    byName: (name) => findOne(PEOPLE_SQL.byName, nameAsKept(name), nameKey(name)),
    bySubject: (subject) => findOne(PEOPLE_SQL.bySubject, subject),
    list: async () => (await tables.read(PEOPLE_SQL.list, issuer)).map(personOf),
    async setPasswordHash(subject, passwordHash) {
      const [changed] = await tables.write([PEOPLE_SQL.setPassword, issuer, subject, passwordHash]);
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
      ]);
      if (updated?.length === 1) return 'updated';
      return (await tables.read(PEOPLE_SQL.taken, issuer, ...values)).length > 0 ? 'name_taken' : 'changed';
    },
    async beginRemoval(subject, nowMs) {
      await tables.write([PEOPLE_SQL.beginRemoval, issuer, subject, nowMs]);
    },
    async erase(subject) {
      await tables.write([PEOPLE_SQL.erase, issuer, subject]);
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
      for (let begin = 0; begin < names.length; begin += MOST_KEYED_AT_ONCE) {
        const some = names.slice(begin, begin + MOST_KEYED_AT_ONCE);
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

/** Attempts of a window, by keys that tell nobody anything. Rejects with a `StorageFault`. */
export interface Attempts {
  /**
   * Counts one, in the window that is open or in a new one. Atomic: of several at once each is counted.
   * @returns how many there are in the window now, and when it ends
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
