import { createHash, randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { AuthorizationServer } from '@grantd/core';
import { openSqliteStorage } from '@grantd/core/sqlite';
import { API_RESOURCE, BENCH_CLIENTS, clientOf, ISSUER } from './clients.ts';
import { type PopulationOrder, TOKEN_KINDS, type TokenKind } from './order.ts';

export interface Population {
  readonly order: PopulationOrder;
  readonly database: string;
  readonly tokenFiles: Readonly<Partial<Record<TokenKind, string>>>;
}

const LIFETIME = 30 * 86_400;
const AT_ONCE = 500;

export async function population(
  order: PopulationOrder,
  onProgress: (text: string) => void = () => undefined,
): Promise<Population> {
  const hash = createHash('sha256').update(JSON.stringify(order)).digest('hex').slice(0, 16);
  const folder = join(tmpdir(), `grantd-bench-standin-${process.getuid?.() ?? 0}`, hash);
  const database = join(folder, 'grantd.db');
  const kinds = TOKEN_KINDS.filter((kind) => (order.tokens[kind] ?? 0) > 0);
  const made = {
    order,
    database,
    tokenFiles: Object.fromEntries(kinds.map((kind) => [kind, join(folder, kind)])),
  };
  if (existsSync(folder)) return made;
  const draft = `${folder}.draft`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true, mode: 0o700 });
  const secret = randomBytes(32).toString('base64url');
  writeFileSync(join(draft, 'grantd.db.secret'), secret, { mode: 0o600 });
  const storage = openSqliteStorage({ path: join(draft, 'grantd.db'), issuer: ISSUER });
  const server = new AuthorizationServer({ issuer: ISSUER, secret, storage });
  await server.prepare();
  const secretHash = (client: { secret: string }) => server.hashClientSecret(client.secret);
  const { api, machine_es256, machine_opaque, machine_rs256, web } = BENCH_CLIENTS;
  const machine = { grantTypes: ['client_credentials'], scopes: ['read'], redirectUris: [] };
  await storage.clients.add({
    id: api.id,
    secretHash: await secretHash(api),
    grantTypes: [],
    scopes: [],
    redirectUris: [],
    resource: API_RESOURCE,
  });
  await storage.clients.add({ ...machine, id: machine_rs256.id, secretHash: await secretHash(machine_rs256) });
  await storage.clients.add({
    ...machine,
    id: machine_es256.id,
    secretHash: await secretHash(machine_es256),
    accessTokenAlgorithm: 'ES256',
  });
  await storage.clients.add({
    ...machine,
    id: machine_opaque.id,
    secretHash: await secretHash(machine_opaque),
    accessTokenFormat: 'opaque',
  });
  await storage.clients.add({
    id: web.id,
    secretHash: await secretHash(web),
    grantTypes: ['authorization_code', 'refresh_token'],
    scopes: ['openid', 'profile', 'email', 'offline_access'],
    redirectUris: ['https://web.example/callback'],
  });
  for (const kind of kinds) {
    const count = order.tokens[kind] ?? 0;
    onProgress(`${count} of ${kind}`);
    const tokens: string[] = [];
    const isWeb = kind.startsWith('web_');
    while (tokens.length < count) {
      const issued = await server.issueTokens(
        {
          clientId: clientOf(kind).id,
          lifetime: LIFETIME,
          ...(isWeb && { subject: 'somebody', scopes: ['openid', 'profile', 'email'] }),
          ...(kind === 'web_refresh' && { refresh: true }),
        },
        Math.min(AT_ONCE, count - tokens.length),
      );
      for (const { accessToken, refreshToken } of issued)
        tokens.push(kind === 'web_refresh' ? (refreshToken ?? '') : accessToken);
    }
    if (kind.startsWith('revoked_')) for (const token of tokens) await server.revokeToken(token);
    writeFileSync(join(draft, kind), `${tokens.join('\n')}\n`);
  }
  await storage.close();
  new DatabaseSync(join(draft, 'grantd.db')).exec('PRAGMA wal_checkpoint(TRUNCATE)');
  renameSync(draft, folder);
  return made;
}

export function copyPopulation({ database }: Population, folder: string): string {
  mkdirSync(folder, { recursive: true });
  const copy = join(folder, 'grantd.db');
  rmSync(`${copy}-wal`, { force: true });
  copyFileSync(database, copy);
  copyFileSync(`${database}.secret`, `${copy}.secret`);
  return copy;
}

export function tokenFileOf({ tokenFiles }: Population, kind: TokenKind): string {
  const file = tokenFiles[kind];
  if (file === undefined) throw new Error(`no ${kind} was ordered`);
  return file;
}

export function linesOf(file: string): readonly string[] {
  return readFileSync(file, 'utf8').trimEnd().split('\n');
}
