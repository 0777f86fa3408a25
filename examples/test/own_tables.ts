import { argon2Sync, createHash, randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { hashSync } from 'bcryptjs';
import { type CryptoKey, exportSPKI, generateKeyPair, SignJWT } from 'jose';
import { Pool } from 'pg';

/** How an application stores its clients and tokens. */
export interface TableForm {
  readonly title: string;
  /** The example in `three_endpoints` that reads the tables. */
  readonly file: 'sqlite.ts' | 'postgres.ts' | 'drizzle.ts';
  readonly times: 'integer' | 'bigint' | 'timestamptz';
  readonly refreshTokens: 'refresh_token' | 'refresh_digest';
  readonly hash: (secret: string) => string;
  /** Whether another form has the same example. */
  readonly isVariant?: true;
}

const bcrypt = (secret: string) => hashSync(secret, 4);

/** In the usual form, at a low cost. */
function argon2id(secret: string): string {
  const nonce = randomBytes(16);
  const cost = { memory: 64, passes: 2, parallelism: 1, tagLength: 32 };
  const tag = argon2Sync('argon2id', { message: secret, nonce, ...cost });
  const [salt, hash] = [nonce, tag].map((bytes) => bytes.toString('base64').replaceAll('=', ''));
  return `$argon2id$v=19$m=64,t=2,p=1$${salt}$${hash}`;
}

export const TABLE_FORMS: readonly TableForm[] = [
  { title: 'SQLite', file: 'sqlite.ts', times: 'integer', refreshTokens: 'refresh_token', hash: bcrypt },
  {
    title: 'PostgreSQL with times as bigint',
    file: 'postgres.ts',
    times: 'bigint',
    refreshTokens: 'refresh_token',
    hash: bcrypt,
    isVariant: true,
  },
  {
    title: 'PostgreSQL with times as timestamptz',
    file: 'postgres.ts',
    times: 'timestamptz',
    refreshTokens: 'refresh_token',
    hash: bcrypt,
  },
  {
    title: 'Drizzle',
    file: 'drizzle.ts',
    times: 'timestamptz',
    refreshTokens: 'refresh_digest',
    hash: argon2id,
  },
];

const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
export const PUBLIC_KEY = await exportSPKI(publicKey);
export const { privateKey: OTHER_KEY } = await generateKeyPair('ES256');

export const CLIENTS = { 'my-app': 'its-secret', 'other-app': 'another-secret' } as const;

/** Values of a token that differ from the usual ones. */
interface Issue {
  readonly scope?: string;
  readonly refresh?: string;
  /** From now on. */
  readonly lifetimeSeconds?: number;
}

export interface IssuedTokens {
  readonly access: string;
  readonly refresh: string;
  readonly jti: string;
  readonly issuedAt: number;
  readonly expiresAt: number;
}

type Execute = (sql: string, ...values: readonly unknown[]) => Promise<unknown>;

/** An application that issues tokens in its own way, and stores them in its own tables. */
export interface Application {
  readonly issuer: string;
  /** Runs a statement with `$1`, `$2` … */
  readonly execute: Execute;
  /** @param seconds since 1970 @returns as the tables have it */
  time(seconds: number): number | Date;
  issue(values?: Issue): Promise<IssuedTokens>;
  /** Makes a token that is signed, but not stored. */
  sign(claims?: Readonly<Record<string, unknown>>, key?: CryptoKey): Promise<string>;
  /** While `work` runs, no tokens can be read. */
  duringOutage(work: () => Promise<void>): Promise<void>;
  /** Ends the connections of all others. */
  disconnect?(): Promise<unknown>;
  end(): Promise<void>;
}

/** @param place of the database: the folder of a file, or a URL */
export async function applicationWith(form: TableForm, place: string, issuer: string): Promise<Application> {
  const { execute, end } = form.times === 'integer' ? sqlite(place) : postgres(place);
  const flag = form.times === 'integer' ? 'INTEGER' : 'BOOLEAN';
  await execute('CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, email TEXT)');
  await execute('CREATE TABLE clients (id TEXT PRIMARY KEY, secret_hash TEXT NOT NULL)');
  await execute(`CREATE TABLE tokens (client_id TEXT NOT NULL, user_id INTEGER, scope TEXT NOT NULL,
    grant_id TEXT NOT NULL, revoked ${flag} NOT NULL, access_jti TEXT UNIQUE, access_expires_at ${form.times} NOT NULL,
    ${form.refreshTokens} TEXT UNIQUE, refresh_expires_at ${form.times} NOT NULL)`);
  await execute("INSERT INTO users VALUES (7, 'Alice Liddell', 'alice@example.com')");
  for (const [id, secret] of Object.entries(CLIENTS))
    await execute('INSERT INTO clients VALUES ($1, $2)', id, form.hash(secret));

  const time = (seconds: number) => (form.times === 'timestamptz' ? new Date(seconds * 1000) : seconds);
  const stored = (token: string) =>
    form.refreshTokens === 'refresh_token' ? token : createHash('sha256').update(token).digest('base64url');
  const sign: Application['sign'] = (claims = {}, key = privateKey) =>
    new SignJWT({ iss: issuer, sub: '7', exp: now() + 60, jti: randomUUID(), ...claims })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt' })
      .sign(key);

  return {
    issuer,
    execute,
    time,
    sign,
    async issue({ scope = 'openid email', refresh = randomUUID(), lifetimeSeconds = 3600 } = {}) {
      const [jti, issuedAt] = [randomUUID(), now()];
      const expiresAt = issuedAt + lifetimeSeconds;
      const [end, revoked] = [time(expiresAt), form.times === 'integer' ? 0 : false];
      const row = ['my-app', 7, scope, randomUUID(), revoked, jti, end, stored(refresh), end];
      await execute('INSERT INTO tokens VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)', ...row);
      // The token itself stays valid, so that only the row can end it.
      const access = await sign({ jti, iat: issuedAt, exp: Math.max(expiresAt, issuedAt + 60) });
      return { access, refresh, jti, issuedAt, expiresAt };
    },
    async duringOutage(work) {
      await execute('ALTER TABLE tokens RENAME TO moved_tokens');
      try {
        await work();
      } finally {
        await execute('ALTER TABLE moved_tokens RENAME TO tokens');
      }
    },
    ...(form.times !== 'integer' && {
      disconnect: () =>
        execute(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()`),
    }),
    end,
  };
}

function now(): number {
  return Math.floor(Date.now() / 1000);
}

interface Connection {
  readonly execute: Execute;
  readonly end: () => Promise<void>;
}

function sqlite(folder: string): Connection {
  const database = new DatabaseSync(join(folder, 'application.db'), { timeout: 5000 });
  return {
    execute: async (sql, ...values) =>
      database.prepare(sql.replaceAll(/\$\d/g, '?')).run(...(values as readonly string[])),
    end: async () => database.close(),
  };
}

function postgres(connectionString: string): Connection {
  const pool = new Pool({ connectionString, max: 1 });
  return { execute: (sql, ...values) => pool.query(sql, [...values]), end: () => pool.end() };
}
