import type { KeyRecord, NewAuthorizationCode, NewClient, NewPendingRow, NewToken } from '@grantd/core';
import { sql } from 'drizzle-orm';
import { check, index, integer, json, pgTable, text, timestamp, uniqueIndex } from 'drizzle-orm/pg-core';

const time = () => timestamp({ withTimezone: true, precision: 3 });

/** The host's own table of users. */
export const users = pgTable('users', {
  id: text().primaryKey(),
  email: text(),
  /** While it is set, the user has no live token. */
  disabledAt: time(),
  /** Raising it by one ends all tokens of the user, since each copied the previous value. */
  tokenGeneration: integer().notNull().default(0),
});

export const clients = pgTable(
  'oauth_clients',
  {
    id: text().primaryKey(),
    record: json().$type<NewClient>().notNull(),
    origins: text().array().notNull(),
    disabledAt: time(),
  },
  (client) => [index().using('gin', client.origins)],
);

export const grants = pgTable(
  'oauth_grants',
  { id: text().primaryKey(), revokedAt: time(), keepUntil: time().notNull() },
  (grant) => [index().on(grant.keepUntil)],
);

const toClient = () =>
  text()
    .notNull()
    .references(() => clients.id, { onDelete: 'cascade' });
const toUser = () => text().references(() => users.id, { onDelete: 'cascade' });
const toGrant = () => text().references(() => grants.id, { onDelete: 'cascade' });

export const tokens = pgTable(
  'oauth_tokens',
  {
    id: text().primaryKey(),
    /** Unlike `jsonb`, `json` keeps the order of members and every character. */
    record: json().$type<Omit<NewToken, 'keepUntil'>>().notNull(),
    kind: text().$type<NewToken['kind']>().notNull(),
    clientId: toClient(),
    userId: toUser(),
    userGeneration: integer(),
    grantId: toGrant(),
    familyId: text(),
    pairId: text(),
    supersededAt: time(),
    successorId: text(),
    revokedAt: time(),
    keepUntil: time().notNull(),
  },
  (token) => [
    index().on(token.clientId),
    index().on(token.userId),
    index().on(token.grantId),
    index().on(token.keepUntil),
    check(
      'oauth_ties_belong_to_a_grant',
      sql`${token.grantId} IS NOT NULL OR (${token.familyId} IS NULL AND ${token.pairId} IS NULL)`,
    ),
  ],
);

export const codes = pgTable(
  'oauth_codes',
  {
    id: text().primaryKey(),
    record: json().$type<NewAuthorizationCode>().notNull(),
    clientId: toClient(),
    userId: toUser().notNull(),
    userGeneration: integer().notNull(),
    grantId: toGrant().notNull(),
    redeemedAt: time(),
  },
  (code) => [index().on(code.grantId), index().on(code.clientId), index().on(code.userId)],
);

export const keys = pgTable(
  'oauth_keys',
  {
    kid: text().primaryKey(),
    algorithm: text().$type<KeyRecord['algorithm']>().notNull(),
    status: text().$type<KeyRecord['status']>().notNull(),
    publicJwk: json().$type<KeyRecord['publicJwk']>().notNull(),
    sealedPrivateKey: text().notNull(),
    createdAt: time().notNull(),
    retiredAt: time(),
  },
  (key) => [uniqueIndex().on(key.algorithm, key.status).where(sql`${key.status} <> 'retired'`)],
);

export const pending = pgTable('oauth_pending', {
  /** Kind and identifier. */
  id: text().primaryKey(),
  otherId: text().unique(),
  record: json().$type<NewPendingRow>().notNull(),
  version: integer().notNull(),
  expiresAt: time().notNull(),
});

export const oneTimeIdentifiers = pgTable('oauth_one_time_identifiers', {
  id: text().primaryKey(),
  expiresAt: time().notNull(),
});
