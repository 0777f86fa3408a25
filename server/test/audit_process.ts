// A process of `audit.test.ts`: adds users without end, until it is killed. Its argument says which database.
import type { Database } from '../src/data/database.ts';
import { postgresDatabase } from '../src/data/postgres_database.ts';
import { sqliteDatabase } from '../src/data/sqlite_database.ts';
import { ISSUER } from './harness/program_data.ts';

const [, , where = ''] = process.argv;
const database: Database = where.startsWith('postgres')
  ? postgresDatabase(where, {
      connections: 2,
      connectTimeoutMs: 5000,
      statementTimeoutMs: 5000,
      onConnectionLost: () => {},
    })
  : sqliteDatabase(where);
const { people } = await database.open(ISSUER, 'cli');
const [begun] = [process.pid];
for (let count = 0; ; count++) {
  await Promise.all(
    Array.from({ length: 4 }, (_, index) =>
      people.add({ name: `user-${begun}-${count}-${index}`, passwordHash: 'none', claims: {} }),
    ),
  );
  if (count === 3) process.stdout.write('busy\n');
}
