import { PasswordHasher } from '../../src/people/password_hasher.ts';
import { Browser } from './browser.ts';
import type { RunningServer } from './program.ts';
import { addPerson } from './program_data.ts';
import { withDatabaseOf } from './stored.ts';

const PASSWORD = 'correct horse';

/** One for all: to hash it for each would be most of the tests' time. */
let passwordHash: Promise<string> | undefined;

/** A person that nobody else uses, whom a running server knows from now on, and a browser of theirs. */
export async function newPerson(server: RunningServer, name: string) {
  passwordHash ??= new PasswordHasher().hash(PASSWORD);
  const hash = await passwordHash;
  await withDatabaseOf(server, (database) => addPerson(database, name, hash));
  return { who: { username: name, password: PASSWORD }, browser: new Browser(server.url) };
}
