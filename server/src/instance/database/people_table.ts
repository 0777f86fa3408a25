import { nameAsKept, nameKey } from '../../people/names.ts';
import { type People, type Person, personToKeep } from '../../people/people.ts';
import type { ProgramTables, TableRow } from './program_tables.ts';

const COLUMNS = 'subject, name, password_hash, claims, created_at_ms, revision';

/** By somebody else, who may have the key of a name that is older than keys are: whose name it is keeps it. */
const TAKEN = `
  SELECT 1 FROM grantd.people AS others
  WHERE others.issuer = $1 AND others.subject <> $2 AND (others.name_key = $3 OR others.name = $4)
    AND NOT EXISTS (SELECT 1 FROM grantd.people AS own WHERE own.issuer = $1 AND own.subject = $2 AND own.name = $4)`;

const SQL = {
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
      const [added] = await tables.write([SQL.add, issuer, ...values]);
      return added?.length === 1 ? person : undefined;
    },
    byName: (name) => findOne(SQL.byName, nameAsKept(name), nameKey(name)),
    bySubject: (subject) => findOne(SQL.bySubject, subject),
    list: async () => (await tables.read(SQL.list, issuer)).map(personOf),
    async setPasswordHash(subject, passwordHash) {
      const [changed] = await tables.write([SQL.setPassword, issuer, subject, passwordHash]);
      return changed?.length === 1;
    },
    async update({ subject, name: newName, claims, revision }) {
      const name = nameAsKept(newName);
      const key = nameKey(name);
      const values = [subject, key, name];
      const [updated] = await tables.write([SQL.update, issuer, ...values, JSON.stringify(claims), revision]);
      if (updated?.length === 1) return 'updated';
      return (await tables.read(SQL.taken, issuer, ...values)).length > 0 ? 'name_taken' : 'changed';
    },
    async beginRemoval(subject, nowMs) {
      await tables.write([SQL.beginRemoval, issuer, subject, nowMs]);
    },
    async erase(subject) {
      await tables.write([SQL.erase, issuer, subject]);
    },
    async finishRemoval(subject, nowMs) {
      await tables.write([SQL.finishRemoval, issuer, subject, nowMs]);
    },
    halfRemoved: async (beforeMs, limit) =>
      (await tables.read(SQL.halfRemoved, issuer, beforeMs, limit)).map(({ subject }) => String(subject)),
    async keyNames() {
      const names = await tables.read(SQL.withoutKey, issuer);
      if (names.length === 0) return [];
      for (let begin = 0; begin < names.length; begin += MOST_KEYED_AT_ONCE) {
        const some = names.slice(begin, begin + MOST_KEYED_AT_ONCE);
        await tables.write(
          ...some.map(
            ({ subject, name }) => [SQL.keyName, issuer, String(subject), nameKey(String(name))] as const,
          ),
        );
      }
      return (await tables.read(SQL.withoutKey, issuer)).map(({ name }) => String(name));
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
