/**
 * A process of `sqlite_processes.test.ts`. Its arguments are a task, a database file, an issuer, and the task's
 * targets. It begins when its input ends, so that several processes begin together.
 */
import { text } from 'node:stream/consumers';
import type { NewToken, TokenRecord } from '../../src/protocol/records.ts';
import type { Awaitable } from '../../src/storage/contract.ts';
import { readStoredIssuer } from '../../src/storage/sqlite/files.ts';
import { openSqliteStorage, type SqliteStorage } from '../../src/storage/sqlite/sqlite_storage.ts';
import { newClient, newToken } from './samples.ts';

const TASKS: Readonly<Record<string, (storage: SqliteStorage, name: string) => Awaitable<unknown>>> = {
  add_client: ({ clients }, name) => clients.add(newClient(name)),

  async rotate({ tokens }, name) {
    const record = await refreshToken(tokens, name);
    const successor = beside(record, { kind: 'refresh_token' });
    return tokens.rotate(record, successor, [successor, beside(record)]);
  },

  /** The identifier is the token's name before the slash. */
  async rotate_once({ tokens }, name) {
    const record = await refreshToken(tokens, name);
    const successor = beside(record, { kind: 'refresh_token' });
    const once = { id: name.split('/')[0] ?? '', expiresAt: Math.ceil(Date.now() / 1000) + 600 };
    return tokens.rotate(record, successor, [successor, beside(record)], once);
  },

  async issue_from({ tokens }, name) {
    const record = await refreshToken(tokens, name);
    return tokens.issueFrom(record, [beside(record)]);
  },

  async revoke({ tokens }, name) {
    await tokens.revoke(await refreshToken(tokens, name));
    return 'revoked';
  },

  async redeem({ authorizationCodes }, name) {
    const record = await authorizationCodes.get(name);
    if (!record) throw new Error(`no code ${name}`);
    const { clientId, subject, grantId } = record;
    return authorizationCodes.redeem(record, [newToken(clientId, { subject, grantId })]);
  },

  async issue({ clients, tokens }, name) {
    const clientGeneration = (await clients.get(name))?.generation ?? 0;
    return tokens.issue([newToken(name)], { clientGeneration });
  },

  /** With a client's state from before any revocation. */
  issue_as_at_first({ tokens }, name) {
    return tokens.issue([newToken(name)], { clientGeneration: 0 });
  },

  async revoke_all(storage, name) {
    await storage.revokeAll({ principal: 'client', id: name });
    return 'revoked';
  },

  async disable(storage, name) {
    await storage.setDisabled('client', name, true);
    return 'disabled';
  },
};

async function refreshToken(tokens: SqliteStorage['tokens'], id: string): Promise<TokenRecord> {
  const record = await tokens.getByRefreshToken(id);
  if (!record) throw new Error(`no token ${id}`);
  return record;
}

/** A new token of the same family and grant. */
function beside(
  { clientId, familyId, grantId }: TokenRecord,
  fields: Pick<Partial<NewToken>, 'kind'> = {},
): NewToken {
  return newToken(clientId, {
    ...fields,
    ...(familyId !== undefined && { familyId }),
    ...(grantId !== undefined && { grantId }),
  });
}

const [task = '', path = '', issuer = '', ...names] = process.argv.slice(2);
process.stdout.write('ready\n');
await text(process.stdin);

if (task === 'stored_issuer') {
  console.log(readStoredIssuer(path));
} else if (task === 'start') {
  for (const name of names) {
    readStoredIssuer(path + name);
    openSqliteStorage({ path: path + name, issuer }).close();
  }
} else {
  const perform = TASKS[task];
  if (perform === undefined) throw new Error(`no task ${task}`);
  const storage = openSqliteStorage({ path, issuer });
  const results: unknown[] = [];
  for (const name of names) results.push(await perform(storage, name));
  storage.close();
  console.log(results.join(' '));
}
