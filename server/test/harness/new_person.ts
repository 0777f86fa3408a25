import { Browser } from './browser.ts';
import { cheapHash } from './cheap_hash.ts';
import type { RunningServer } from './program.ts';
import { addPerson } from './program_data.ts';
import { withDatabaseOf } from './stored.ts';

const PASSWORD = 'correct horse';

/** A new user, known to a running server, with a new browser. */
export async function newPerson(server: RunningServer, name: string) {
  await withDatabaseOf(server, (database) => addPerson(database, name, cheapHash(PASSWORD)));
  return { who: { username: name, password: PASSWORD }, browser: new Browser(server.url) };
}
