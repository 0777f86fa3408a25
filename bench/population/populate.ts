import { appendFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { AuthorizationServer, OperatorIssue } from '@grantd/core';
import { CLIENTS, register } from '../../reliability/load/registrations.ts';
import { BulkRows } from '../../reliability/volume/bulk_rows.ts';
import { readConfiguration } from '../../server/src/config/configuration.ts';
import { sqliteDatabase } from '../../server/src/data/sqlite_database.ts';
import { type Instance, openInstance } from '../../server/src/instance/instance.ts';
import { clientOf, ISSUER, REGISTRATIONS } from './clients.ts';
import { kindsOf, type PopulationOrder, rowsOf, type TokenKind } from './order.ts';

/** Seconds that everything lives, so that it can be kept for a while. */
export const LIFETIME = 60 * 86_400;

/** How long ago the first of the copies was issued. */
const ISSUED_DURING_MS = 30 * 86_400_000;

const AT_ONCE = 500;
const PEOPLE = 100;
/**
 * Real rows and copies take turns, so that the real ones are not all at one end of the file. Each turn writes nearly
 * every page of the indexes once more.
 */
const TURNS = 4;
/** Tokens that `BulkRows` copies: one alone, and a pair. */
export const COPIED = 3;

export interface PopulateOptions {
  /** Where each kind's tokens are written to, one a line. */
  readonly fileOf: (kind: TokenKind) => string;
  /** Is told how far it is. */
  readonly onProgress: (text: string) => void;
}

/**
 * Makes a database as the program itself does, its secret beside it, and fills it.
 * @param path of a file that is not there yet
 */
export async function populate(
  path: string,
  order: PopulationOrder,
  { fileOf, onProgress }: PopulateOptions,
): Promise<void> {
  const copies = order.records - rowsOf(order) - COPIED;
  if (copies < 0)
    throw new Error(`${order.records} records are fewer than the tokens that are asked for need`);
  const database = sqliteDatabase(path);
  const settings = readConfiguration({ refreshTokenLifetime: String(LIFETIME) }, {});
  const instance = await openInstance(settings, database, ISSUER, 'cli');
  const server = await instance.server();
  const rows = new DatabaseSync(path);
  try {
    await registerClients(instance, server);
    const subjects = await addPeople(instance);
    const bulk = await prepareBulk(rows, server);
    const batches = batchesOf(order, subjects);
    let added = 0;
    const begunAtMs = Date.now();
    const issuedAtMs = (copy: number) => begunAtMs - (1 - copy / copies) * ISSUED_DURING_MS;
    const addUntil = (share: number) => {
      const due = Math.round(copies * share) - added;
      const issued = { fromMs: issuedAtMs(added), untilMs: issuedAtMs(added + due) };
      // Of four tokens, two are a pair, with its grant and what people are shown of that.
      if (due > 0) bulk.add(`copy-${added}`, due + 2 * Math.floor(due / 4), expiry(), issued);
      added += due;
    };
    for (const [index, batch] of batches.entries()) {
      if (index % Math.ceil(batches.length / TURNS) === 0) addUntil(index / batches.length);
      onProgress(`${batch.kind}: ${batch.before} of ${order.tokens[batch.kind]} tokens, ${added} copies`);
      appendFileSync(fileOf(batch.kind), `${(await issue(server, batch)).join('\n')}\n`);
    }
    onProgress(`${copies} copies`);
    addUntil(1);
    rows.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } finally {
    rows.close();
    await database.close();
  }
}

interface Batch {
  readonly kind: TokenKind;
  readonly subject: string | undefined;
  readonly count: number;
  /** How many of this kind there are before it. */
  readonly before: number;
}

function batchesOf(order: PopulationOrder, subjects: readonly string[]): readonly Batch[] {
  return kindsOf(order).flatMap(([kind, count]) => {
    const isPersonal = kind === 'web_access' || kind === 'web_refresh';
    // A batch is of one person, and there should be many people among few tokens as well.
    const atOnce = isPersonal ? Math.min(AT_ONCE, Math.ceil(count / subjects.length)) : AT_ONCE;
    return Array.from({ length: Math.ceil(count / atOnce) }, (_, index) => ({
      kind,
      subject: isPersonal ? subjects[index % subjects.length] : undefined,
      count: Math.min(atOnce, count - index * atOnce),
      before: index * atOnce,
    }));
  });
}

/** Signing is done in the threads of libuv, on as many cores as there are. */
async function issue(
  server: AuthorizationServer,
  { kind, subject, count }: Batch,
): Promise<readonly string[]> {
  const isRefresh = kind === 'web_refresh';
  const order: OperatorIssue = {
    clientId: clientOf(kind).id,
    lifetime: LIFETIME,
    ...(subject !== undefined && { subject, scopes: ['openid', 'profile', 'email'] }),
    ...(isRefresh && { refresh: true }),
  };
  const issued = await server.issueTokens(order, count);
  const tokens = issued.map(
    ({ accessToken, refreshToken }) => (isRefresh ? refreshToken : accessToken) ?? '',
  );
  if (kind === 'revoked_jwt' || kind === 'revoked_opaque')
    await Promise.all(tokens.map((token) => server.revokeToken(token)));
  return tokens;
}

async function registerClients({ storage }: Instance, server: AuthorizationServer): Promise<void> {
  for (const [{ id, secret }, registration] of REGISTRATIONS)
    await storage.clients.add({ id, ...registration, secrets: [await server.hashClientSecret(secret)] });
  for (const client of [CLIENTS.opaque, CLIENTS.web]) await register(server, storage.clients, client);
}

/** @returns their subjects */
async function addPeople({ people }: Instance): Promise<readonly string[]> {
  const subjects: string[] = [];
  for (let number = 0; number < PEOPLE; number++) {
    const person = await people.add({
      name: `person-${number}`,
      // Nobody signs in here.
      passwordHash: '',
      claims: {
        name: `Person ${number}`,
        email: `person-${number}@example.com`,
        email_verified: true,
      },
    });
    if (person === undefined) throw new Error('the name of a person is taken in a new database');
    subjects.push(person.subject);
  }
  return subjects;
}

async function prepareBulk(rows: DatabaseSync, server: AuthorizationServer): Promise<BulkRows> {
  // What is lost in a crash is made anew; and each index is written all over.
  rows.exec('PRAGMA busy_timeout = 10000; PRAGMA synchronous = OFF; PRAGMA cache_size = -2000000');
  const bulk = new BulkRows(rows);
  await bulk.prepare({ opaque: server });
  rows.prepare('UPDATE tokens SET expires_at = :at, keep_until = :at').run({ at: expiry() });
  rows.prepare('UPDATE principals SET keep_until = :at WHERE keep_until IS NOT NULL').run({ at: expiry() });
  return bulk;
}

function expiry(): number {
  return Math.ceil(Date.now() / 1000) + LIFETIME;
}
