import type { DatabaseSync } from 'node:sqlite';
import { nameAsKept } from '../../people/names.ts';
import { type People, type Person, personToKeep } from '../../people/people.ts';
import { PERSON_COLUMNS, personOf, personValues } from '../../people/person_rows.ts';
import { askStorage } from './ask_storage.ts';

export function sqlitePeople(database: DatabaseSync, issuer: string): People {
  const insert = database.prepare(`
    INSERT INTO people (issuer, ${PERSON_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (issuer, name) DO NOTHING`);
  const findByName = database.prepare(`SELECT ${PERSON_COLUMNS} FROM people WHERE issuer = ? AND name = ?`);
  const findBySubject = database.prepare(
    `SELECT ${PERSON_COLUMNS} FROM people WHERE issuer = ? AND subject = ?`,
  );
  const findAll = database.prepare(`SELECT ${PERSON_COLUMNS} FROM people WHERE issuer = ? ORDER BY name`);

  const findOne = async (find: typeof findByName, value: string): Promise<Person | undefined> => {
    const row = await askStorage(() => find.get(issuer, value));
    return row && personOf(row);
  };

  return {
    async add(newPerson) {
      const person = personToKeep(newPerson);
      const { changes } = await askStorage(() => insert.run(issuer, ...personValues(person)));
      return changes === 1 ? person : undefined;
    },
    byName: (name) => findOne(findByName, nameAsKept(name)),
    bySubject: (subject) => findOne(findBySubject, subject),
    list: async () => (await askStorage(() => findAll.all(issuer))).map(personOf),
  };
}
