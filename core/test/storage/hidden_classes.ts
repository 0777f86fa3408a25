// Prints whether V8 gives equal hidden classes to objects that the same functions read. Needs a process of its own,
// because V8 changes hidden classes when it has seen more values.
//
//     node --allow-natives-syntax hidden_classes.ts DATABASE

import { openSqliteConnection } from '../../src/storage/sqlite/connection.ts';
import { prepareAll } from '../../src/storage/sqlite/queues.ts';
import { openSqliteStorage } from '../../src/storage/sqlite/sqlite_storage.ts';
import { newClient, newToken } from './samples.ts';

const haveSameClass = new Function('one', 'other', 'return %HaveSameMap(one, other)');

const path = process.argv[2] ?? '';
const storage = openSqliteStorage({ path, issuer: 'https://issuer.example' });
await storage.clients.add(newClient('app'));
// The generation of a client is small, and that of a subject is a time.
const ofClient = newToken('app');
const ofSubject = newToken('app', { subject: 'subject' });
await storage.tokens.issue([ofClient], {});
await storage.tokens.issue([ofSubject], {});
const standingOf = async ({ id }: { readonly id: string }) =>
  (await storage.tokens.getByAccessToken(id))?.standing;
const read = [(await standingOf(ofClient))?.client, (await standingOf(ofSubject))?.subject];
const cached = [(await standingOf(ofClient))?.client, (await standingOf(ofSubject))?.subject];
storage.close();

const connection = openSqliteConnection(path);
const { row } = prepareAll(connection, { row: 'SELECT :value AS value, 1 AS one' });
const rows = [row.get({ value: 1 }), row.get({ value: 2 }), ...row.all({ value: 3 })];
connection.close();

console.log(
  JSON.stringify({
    read: haveSameClass(...read),
    cached: haveSameClass(...cached),
    values: rows.map((found) => found?.value),
    rows: rows.every((found) => haveSameClass(found, rows[0])),
  }),
);
