// The application's own users, in a table without tokens.
import { randomUUID, scrypt, timingSafeEqual } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';

const database = new DatabaseSync(process.env.USERS ?? 'users.db');
database.exec(
  'CREATE TABLE IF NOT EXISTS users (id TEXT, name TEXT UNIQUE, email TEXT, salt TEXT, hash BLOB)',
);
await addPerson('alice', 'alice@example.com', 'wonderland');

/** Has no effect if the name is taken. */
async function addPerson(name: string, email: string, password: string): Promise<void> {
  const salt = randomUUID();
  const hash = await hashOf(password, salt);
  const add = database.prepare('INSERT OR IGNORE INTO users VALUES (?, ?, ?, ?, ?)');
  add.run(randomUUID(), name, email, salt, hash);
}

/** The claims of a user for other applications; `undefined` if there is no such user. */
export function claimsOf(id: string) {
  return database.prepare('SELECT name, email FROM users WHERE id = ?').get(id);
}

/** The user with this name and password. An unknown name takes as long as a wrong password. */
export async function idOf(name: string, password: string): Promise<string | undefined> {
  const { id, salt, hash } = database.prepare('SELECT * FROM users WHERE name = ?').get(name) ?? {};
  const actual = await hashOf(password, String(salt));
  return hash instanceof Uint8Array && timingSafeEqual(hash, actual) ? String(id) : undefined;
}

function hashOf(password: string, salt: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, 32, { N: 2 ** 14, p: 5 }, (error, hash) =>
      error ? reject(error) : resolve(hash),
    );
  });
}
