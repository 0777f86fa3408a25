import { nameAsKept } from '../../people/names.ts';
import { type People, type Person, personToKeep } from '../../people/people.ts';
import { PERSON_COLUMNS, personOf, personValues } from '../../people/person_rows.ts';
import type { AskPostgres } from './postgres_statements.ts';

const SQL = {
  insert: `
    INSERT INTO grantd.people (issuer, ${PERSON_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (issuer, name) DO NOTHING`,
  findByName: `SELECT ${PERSON_COLUMNS} FROM grantd.people WHERE issuer = $1 AND name = $2`,
  findBySubject: `SELECT ${PERSON_COLUMNS} FROM grantd.people WHERE issuer = $1 AND subject = $2`,
  findAll: `SELECT ${PERSON_COLUMNS} FROM grantd.people WHERE issuer = $1 ORDER BY name`,
};

export function postgresPeople(ask: AskPostgres, issuer: string): People {
  const findOne = async (sql: string, value: string): Promise<Person | undefined> => {
    const [row] = (await ask(sql, issuer, value)).rows;
    return row && personOf(row);
  };
  return {
    async add(newPerson) {
      const person = personToKeep(newPerson);
      const { rowCount } = await ask(SQL.insert, issuer, ...personValues(person));
      return rowCount === 1 ? person : undefined;
    },
    byName: (name) => findOne(SQL.findByName, nameAsKept(name)),
    bySubject: (subject) => findOne(SQL.findBySubject, subject),
    list: async () => (await ask(SQL.findAll, issuer)).rows.map(personOf),
  };
}
