import { nameAsKept } from '../../people/names.ts';
import { type People, type Person, personToKeep } from '../../people/people.ts';
import type { ProgramTables, TableRow } from './program_tables.ts';

const COLUMNS = 'subject, name, password_hash, claims, created_at_ms';

const SQL = {
  add: `
    INSERT INTO grantd.people (issuer, ${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (issuer, name) DO NOTHING RETURNING subject`,
  byName: `SELECT ${COLUMNS} FROM grantd.people WHERE issuer = $1 AND name = $2`,
  bySubject: `SELECT ${COLUMNS} FROM grantd.people WHERE issuer = $1 AND subject = $2`,
  list: `SELECT ${COLUMNS} FROM grantd.people WHERE issuer = $1 ORDER BY name`,
  setPassword: `
    UPDATE grantd.people SET password_hash = $3 WHERE issuer = $1 AND subject = $2 RETURNING subject`,
};

export function peopleTable(tables: ProgramTables, issuer: string): People {
  const findOne = async (sql: string, value: string): Promise<Person | undefined> => {
    const [row] = await tables.read(sql, issuer, value);
    return row && personOf(row);
  };

  return {
    async add(newPerson) {
      const person = personToKeep(newPerson);
      const { subject, name, passwordHash, claims, createdAtMs } = person;
      const values = [subject, name, passwordHash, JSON.stringify(claims), createdAtMs];
      const [added] = await tables.write([SQL.add, issuer, ...values]);
      return added?.length === 1 ? person : undefined;
    },
    byName: (name) => findOne(SQL.byName, nameAsKept(name)),
    bySubject: (subject) => findOne(SQL.bySubject, subject),
    list: async () => (await tables.read(SQL.list, issuer)).map(personOf),
    async setPasswordHash(subject, passwordHash) {
      const [changed] = await tables.write([SQL.setPassword, issuer, subject, passwordHash]);
      return changed?.length === 1;
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
  };
}
