// The application's own table of users, which knows nothing of tokens.
import { randomBytes, randomUUID, scryptSync, timingSafeEqual } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';

const database = new DatabaseSync(process.env.USERS ?? 'users.db');
database.exec(`CREATE TABLE IF NOT EXISTS users (
  id TEXT PRIMARY KEY, name TEXT UNIQUE NOT NULL, email TEXT NOT NULL, salt BLOB NOT NULL, password BLOB NOT NULL) STRICT`);

const hashOf = (password: string, salt: Uint8Array) =>
  scryptSync(password, salt, 32, { N: 2 ** 16, maxmem: 2 ** 27 });

export const users = {
  add(name: string, email: string, password: string): void {
    const salt = randomBytes(16);
    database
      .prepare('INSERT OR IGNORE INTO users VALUES (?, ?, ?, ?, ?)')
      .run(randomUUID(), name, email, salt, hashOf(password, salt));
  },

  withPassword(name: string, password: string): { readonly id: string } | undefined {
    const user = database.prepare('SELECT id, salt, password FROM users WHERE name = ?').get(name);
    // A name that is nobody's takes as long.
    const { id, salt = Buffer.alloc(16), password: hash = Buffer.alloc(32) } = user ?? {};
    const isRight = timingSafeEqual(hashOf(password, salt as Uint8Array), hash as Uint8Array);
    return isRight && typeof id === 'string' ? { id } : undefined;
  },

  claimsOf(id: string) {
    const { name, email } = database.prepare('SELECT name, email FROM users WHERE id = ?').get(id) ?? {};
    return { name, email };
  },
};

users.add('alice', 'alice@example.com', 'wonderland');
