// Stands in for your application: creates its tables and its key, and issues tokens to a client for a user.
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { hashSync } from 'bcryptjs';
import { exportSPKI, generateKeyPair, SignJWT } from 'jose';

const database = new DatabaseSync('application.db');
database.exec(`
  CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT);
  CREATE TABLE clients (id TEXT PRIMARY KEY, secret_hash TEXT NOT NULL);
  CREATE TABLE tokens (client_id TEXT NOT NULL, user_id INTEGER, scope TEXT NOT NULL,
    grant_id TEXT NOT NULL, revoked INTEGER NOT NULL DEFAULT 0,
    access_jti TEXT UNIQUE, access_expires_at INTEGER NOT NULL,
    refresh_token TEXT UNIQUE, refresh_expires_at INTEGER);
  CREATE INDEX tokens_of_grant ON tokens (grant_id);
  INSERT INTO users VALUES (7, 'Alice Liddell', 'alice@example.com');
`);
database.prepare('INSERT INTO clients VALUES (?, ?)').run('my-app', hashSync('its-secret', 10));

const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
writeFileSync('public_key.pem', await exportSPKI(publicKey));

const [jti, refreshToken, now] = [randomUUID(), randomUUID(), Math.floor(Date.now() / 1000)];
const accessToken = await new SignJWT({ sub: '7', client_id: 'my-app', scope: 'openid email' })
  .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' })
  .setIssuer('http://localhost:3000')
  .setJti(jti)
  .setIssuedAt(now)
  .setExpirationTime(now + 3600)
  .sign(privateKey);
database
  .prepare('INSERT INTO tokens VALUES (?, ?, ?, ?, 0, ?, ?, ?, ?)')
  .run('my-app', 7, 'openid email', randomUUID(), jti, now + 3600, refreshToken, now + 86_400);
console.log(`ACCESS_TOKEN=${accessToken}\nREFRESH_TOKEN=${refreshToken}`);
