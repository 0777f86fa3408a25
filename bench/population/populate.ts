import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { AuthorizationServer, OperatorIssue } from '@grantd/core';
import { CLIENTS, register } from '../../reliability/load/registrations.ts';
import { BulkRows } from '../../reliability/volume/bulk_rows.ts';
import { readConfiguration } from '../../server/src/config/configuration.ts';
import { sqliteDatabase } from '../../server/src/data/sqlite_database.ts';
import { type Instance, openInstance } from '../../server/src/instance/instance.ts';
import { issuing } from '../works/requests.ts';
import { CALLBACK, CODE_VERIFIER, clientOf, ISSUER, REGISTRATIONS } from './clients.ts';
import { tokenProof } from './dpop_proofs.ts';
import { isCode, isRefresh, kindsOf, type PopulationOrder, rowsOf, type TokenKind } from './order.ts';

/** Lifetime of everything in seconds, so that the population can be reused. */
export const LIFETIME = 60 * 86_400;

/** The age of the oldest copies. */
const ISSUED_DURING_MS = 30 * 86_400_000;

const AT_ONCE = 500;
const PEOPLE = 100;
/**
 * Real rows and copies alternate, so that the real ones are not all at one end of the file. Each turn rewrites nearly
 * every page of the indexes.
 */
const TURNS = 4;
/** Samples for `BulkRows`: a single token, and a pair. */
export const COPIED = 3;

interface PopulateOptions {
  /** The token file of each kind, one token per line. */
  readonly fileOf: (kind: TokenKind) => string;
  /** Called with the progress. */
  readonly onProgress: (text: string) => void;
}

/**
 * Creates a database like the program, with its secret next to it, and fills it.
 * @param path of a file that does not exist yet
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
  const settings = readConfiguration(
    {
      accessTokenLifetime: String(LIFETIME),
      refreshTokenLifetime: String(LIFETIME),
      authorizationCodeLifetime: String(LIFETIME),
    },
    {},
  );
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
      // Of four tokens, two are a pair, with its principal and its row of `grants`.
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
  /** The number of earlier tokens of this kind. */
  readonly before: number;
}

function batchesOf(order: PopulationOrder, subjects: readonly string[]): readonly Batch[] {
  return kindsOf(order).flatMap(([kind, count]) => {
    const isPersonal = kind.startsWith('web_');
    // A batch is of one user, and even few tokens should have many users.
    const atOnce = isPersonal ? Math.min(AT_ONCE, Math.ceil(count / subjects.length)) : AT_ONCE;
    return Array.from({ length: Math.ceil(count / atOnce) }, (_, index) => ({
      kind,
      subject: isPersonal ? subjects[index % subjects.length] : undefined,
      count: Math.min(atOnce, count - index * atOnce),
      before: index * atOnce,
    }));
  });
}

/** libuv's threads sign, on all cores. */
async function issue(
  server: AuthorizationServer,
  { kind, subject, count }: Batch,
): Promise<readonly string[]> {
  if (isCode(kind)) return issueCodes(server, clientOf(kind).id, subject ?? '', count);
  if (kind === 'bound_jwt') return issueBound(server, kind, count);
  const order: OperatorIssue = {
    clientId: clientOf(kind).id,
    lifetime: LIFETIME,
    ...(subject !== undefined && { subject, scopes: ['openid', 'profile', 'email'] }),
    ...(isRefresh(kind) && { refresh: true }),
  };
  const issued = await server.operator.issueTokens(order, count);
  const tokens = issued.map(
    ({ accessToken, refreshToken }) => (isRefresh(kind) ? refreshToken : accessToken) ?? '',
  );
  if (kind === 'revoked_jwt' || kind === 'revoked_opaque')
    await Promise.all(tokens.map((token) => server.revokeToken(token)));
  return tokens;
}

/** By the token endpoint, because operators cannot prove that a client has a key. */
async function issueBound(
  server: AuthorizationServer,
  kind: TokenKind,
  count: number,
): Promise<readonly string[]> {
  const { method, path, authorization = '', body = '' } = issuing(clientOf(kind));
  const item = async () => {
    const headers = {
      authorization,
      dpop: await tokenProof(),
      'content-type': 'application/x-www-form-urlencoded',
    };
    const response = await server.token({ method, url: path, headers, body });
    const { access_token: token, token_type: type } = JSON.parse(response.body);
    if (type !== 'DPoP') throw new Error(`a bound token was answered ${response.status}`);
    return token as string;
  };
  return Promise.all(Array.from({ length: count }, item));
}

/** As after the pages of sign-in and consent. */
async function issueCodes(
  server: AuthorizationServer,
  clientId: string,
  subject: string,
  count: number,
): Promise<readonly string[]> {
  const parameters = new URLSearchParams({
    client_id: clientId,
    response_type: 'code',
    redirect_uri: CALLBACK,
    scope: 'openid profile email offline_access',
    prompt: 'consent',
    code_challenge: createHash('sha256').update(CODE_VERIFIER).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const item = async () => {
    const request = await server.authorization.validate({
      method: 'GET',
      url: `/authorize?${parameters}`,
      headers: {},
    });
    const { headers } = await server.authorization.complete(request, { subject });
    const code = new URL(String(headers.location)).searchParams.get('code');
    if (code === null) throw new Error(`no code was issued: ${headers.location}`);
    return code;
  };
  return Promise.all(Array.from({ length: count }, item));
}

async function registerClients({ storage }: Instance, server: AuthorizationServer): Promise<void> {
  for (const [{ id, secret }, registration] of REGISTRATIONS)
    await storage.clients.add({
      id,
      ...registration,
      secrets: [await server.operator.hashClientSecret(secret)],
    });
  for (const client of [CLIENTS.opaque, CLIENTS.web]) await register(server, storage.clients, client);
}

/** @returns their subjects */
async function addPeople({ people }: Instance): Promise<readonly string[]> {
  const subjects: string[] = [];
  for (let number = 0; number < PEOPLE; number++) {
    const person = await people.add({
      name: `person-${number}`,
      // No user signs in here.
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
  // After a crash the population is created again, so nothing must be durable. VACUUM rewrites every index.
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
