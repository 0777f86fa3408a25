/** What `sqlite_processes.test.ts` has other processes do: the name of a task, a database file, and more. */
import { openSqliteStorage, readStoredIssuer } from '../../src/storage/sql/sqlite/sqlite_storage.ts';
import { newClient, newToken } from './samples.ts';

const [task, path = '', issuer = '', ...names] = process.argv.slice(2);

if (task === 'stored_issuer') {
  console.log(readStoredIssuer(path));
} else {
  const storage = openSqliteStorage({ path, issuer });
  const results: unknown[] = [];
  for (const name of names) {
    if (task === 'add_client') results.push(await storage.clients.add(newClient(name)));
    if (task === 'rotate') {
      const record = await storage.tokens.getByRefreshToken(name);
      if (!record) throw new Error(`no token ${name}`);
      const successor = newToken(record.clientId, {
        kind: 'refresh_token',
        familyId: record.familyId ?? name,
      });
      results.push(await storage.tokens.rotate(record, successor, [successor]));
    }
  }
  storage.close();
  console.log(results.join(' '));
}
