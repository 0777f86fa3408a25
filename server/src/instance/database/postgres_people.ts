import { namedStatements, type PostgresCall, type PostgresConnections, rowsOf } from '@grantd/core/postgres';
import { nameAsKept } from '../../people/names.ts';
import { type People, type Person, personToKeep } from '../../people/people.ts';
import { PERSON_COLUMNS, personOf, personValues } from '../../people/person_rows.ts';
import { askStorage } from './ask_storage.ts';

const SQL = {
  insert: `
    INSERT INTO grantd.people (issuer, ${PERSON_COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (issuer, name) DO NOTHING`,
  findByName: `SELECT ${PERSON_COLUMNS} FROM grantd.people WHERE issuer = $1 AND name = $2`,
  findBySubject: `SELECT ${PERSON_COLUMNS} FROM grantd.people WHERE issuer = $1 AND subject = $2`,
  findAll: `SELECT ${PERSON_COLUMNS} FROM grantd.people WHERE issuer = $1 ORDER BY name`,
};

type Row = Parameters<typeof personOf>[0];

export async function postgresPeople(connections: PostgresConnections, issuer: string): Promise<People> {
  const sql = await namedStatements(SQL);
  const find = async (...call: PostgresCall): Promise<readonly Person[]> =>
    rowsOf<Row>(await askStorage(() => connections.read(call))).map(personOf);

  return {
    async add(newPerson) {
      const person = personToKeep(newPerson);
      const [added] = await askStorage(() =>
        connections.write([[sql.insert, issuer, ...personValues(person)]]),
      );
      return added?.rowCount === 1 ? person : undefined;
    },
    byName: async (name) => (await find(sql.findByName, issuer, nameAsKept(name)))[0],
    bySubject: async (subject) => (await find(sql.findBySubject, issuer, subject))[0],
    list: () => find(sql.findAll, issuer),
  };
}
