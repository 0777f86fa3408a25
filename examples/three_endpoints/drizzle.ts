// Introspection, revocation and UserInfo for the tokens in your own Drizzle tables.
import { readFileSync } from 'node:fs';
import { AuthorizationServer, type HostClient, type HostToken, jwtVerifier } from '@grantd/core';
import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { boolean, integer, pgTable, text, timestamp } from 'drizzle-orm/pg-core';
import { importSPKI } from 'jose';
import { Pool } from 'pg';
import { verifyArgon2 } from './argon2.ts';

const time = () => timestamp({ withTimezone: true }).notNull();
const users = pgTable('users', { id: integer().primaryKey(), name: text(), email: text() });
const clients = pgTable('clients', { id: text().primaryKey(), secretHash: text().notNull() });
const tokens = pgTable('tokens', {
  clientId: text().notNull(),
  subject: integer('user_id'),
  scopes: text('scope').notNull(),
  grantId: text().notNull(),
  revoked: boolean().notNull(),
  accessJti: text().unique(),
  accessExpiresAt: time(),
  refreshDigest: text().unique(), // SHA-256, base64url
  refreshExpiresAt: time(),
});
type Client = HostClient & typeof clients.$inferSelect;
type Token = HostToken & typeof tokens.$inferSelect;

const { DATABASE_URL } = process.env;
const deadlines = { connectionTimeoutMillis: 2000, query_timeout: 5000 };
const pool = new Pool({ connectionString: DATABASE_URL, ...deadlines });
pool.on('error', console.error); // without it, a lost connection ends the process
const db = drizzle({ client: pool, casing: 'snake_case' });

export const server = new AuthorizationServer({
  issuer: 'http://localhost:3000', // `iss` of your tokens
  jwtService: jwtVerifier(await importSPKI(readFileSync('public_key.pem', 'utf8'), 'ES256')),
  oidc: {
    async getUserClaims(subject) {
      const [user] = await db
        .select()
        .from(users)
        .where(eq(users.id, Number(subject)));
      return user;
    },
  },
  storage: {
    clients: {
      get: async (id) => (await db.select().from(clients).where(eq(clients.id, id)))[0],
      verifySecret: (client: Client | undefined, secret) => verifyArgon2(client?.secretHash, secret),
    },
    tokens: {
      async getByAccessToken(jti) {
        const [token] = await db.select().from(tokens).where(eq(tokens.accessJti, jti));
        return token && { ...token, expiresAt: token.accessExpiresAt };
      },
      async getByRefreshToken(digest) {
        const [token] = await db.select().from(tokens).where(eq(tokens.refreshDigest, digest));
        return token && { ...token, expiresAt: token.refreshExpiresAt };
      },
      isAccessTokenRevoked: ({ revoked }: Token) => revoked,
      isRefreshTokenRevoked: ({ revoked }: Token) => revoked,
      async revoke({ grantId }: Token) {
        await db.update(tokens).set({ revoked: true }).where(eq(tokens.grantId, grantId));
      },
    },
  },
});
