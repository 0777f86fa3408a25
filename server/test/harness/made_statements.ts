// Makes every statement of the program and of its store on SQLite, and tells their SQL. It runs in a thread of its own, because
// most statements are made when their modules are loaded.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parentPort } from 'node:worker_threads';
import { PARAMETER } from '@grantd/core/internal/storage/statements';
import { openSqliteStorage } from '@grantd/core/sqlite';
import type { PeopleFilter } from '../../src/data/people_list.ts';

export interface MadeStatements {
  readonly made: readonly string[];
  /** Files whose statements depend on values. */
  readonly files: readonly string[];
}

const DATA = join(import.meta.dirname, '..', '..', 'src', 'data');
const folder = mkdtempSync(join(tmpdir(), 'grantd-statements-'));
const issuer = 'https://id.example';

const made = new Set<string>();

/** Notes each statement of the program when it is made, and each that is prepared, before any module makes one. */
function noteStatements(): void {
  const { prepare } = DatabaseSync.prototype;
  const matchAll = RegExp.prototype[Symbol.matchAll];
  DatabaseSync.prototype.prepare = function (sql, ...options) {
    made.add(sql);
    return prepare.call(this, sql, ...options);
  };
  RegExp.prototype[Symbol.matchAll] = function (text) {
    if (this.source === PARAMETER.source) made.add(text);
    return matchAll.call(this, text);
  };
}

/** Statements that depend on their values, by their files. */
async function makeDynamicStatements(): Promise<readonly string[]> {
  const { ProgramTables } = await import('../../src/data/tables.ts');
  const { programData } = await import('../../src/data/program_data.ts');
  const conditions = await import('../../src/data/conditions.ts');
  const { LISTED_FACTORS, PEOPLE_ORDERS, PEOPLE_STATES } = await import('../../src/data/people_list.ts');
  const storage = openSqliteStorage({ path: join(folder, 'dynamic.db'), issuer });
  const tables = new ProgramTables({ list: async () => [], write: async () => [] });
  const due = new ProgramTables({ list: async (_, recordOf) => [recordOf({})], write: async () => [] });
  const data = programData(tables, issuer, storage);
  const ways = { hasPasswords: true, hasPasskeys: true, hasDirectory: true, links: ['a', 'b'] };
  const notice = {
    id: 'n',
    subject: 's',
    recipient: 'r',
    template: 't',
    language: 'en',
    sealed: '',
    queuedAtMs: 0,
  };
  const filters: PeopleFilter[] = [
    ...[{}, { search: 'a' }, { search: 'a b' }, { group: 'g' }],
    ...PEOPLE_STATES.map((state) => (state === 'locked' ? { lockedAtMs: 1 } : { state })),
    ...LISTED_FACTORS.map((factor) => ({ factor })),
  ];
  // Few users are looked up, many are searched in order.
  for (const found of [1, 1001]) {
    const rows = Array.from({ length: found }, () => ({ subject: 's', name: 'n', created_at_ms: 1 }));
    const { people } = programData(
      new ProgramTables({ list: async (_, recordOf) => rows.map(recordOf), write: async () => [] }),
      issuer,
      storage,
    );
    for (const filter of filters)
      for (const sort of PEOPLE_ORDERS)
        for (const after of [undefined, sort === 'username' ? 'a' : '1 a'])
          for (const descending of [false, true]) {
            const wish = { ...filter, sort, descending, ...(after && { after }) };
            await people.list(wish).catch(() => {});
            await people.page({ ...wish, activityAtMs: 1, limit: 51, withinMs: 0 }).catch(() => {});
          }
  }
  await data.people.hasWay('s', ways);
  await data.mails.addPasswordLink(notice, { subject: 's', passwordHash: 'h', revision: 0 }, 0);
  await data.factors.removePasskey('s', 'id', ways, notice);
  await data.upstreamIdentities.unlink('id', 's', ways, notice);
  await data.attempts.forgetNames(['a', 'b'], 's');
  await programData(due, issuer, storage)
    .logoutDeliveries.take(0, 1, { exceptClients: [], limit: 1 })
    .catch(() => {});
  conditions.staysOut(issuer, 'g', { subject: 's', ways });
  conditions.stays(issuer, 'g', { subject: 's', ways });
  const token = {
    id: 'i',
    tokenId: 't',
    subject: 's',
    name: 'n',
    resource: 'r',
    scopes: [],
    createdAtMs: 0,
    expiresAtMs: 1,
  };
  await data.deniedDocuments.isDenied({ url: 'https://b.a.example/x', host: 'b.a.example' });
  data.personalTokens.storing(issuer, token, '', { limit: 1, groups: ['g'] }, notice);
  await storage.close();
  return [
    ...['people.ts', 'people_list.ts', 'factors.ts', 'upstream_identities.ts', 'attempts.ts', 'sessions.ts'],
    ...['conditions.ts', 'document_denials.ts', 'personal_tokens.ts', 'mails.ts'],
  ];
}

noteStatements();
for (const name of readdirSync(DATA)) await import(join(DATA, name));
const files = await makeDynamicStatements();
rmSync(folder, { recursive: true });
parentPort?.postMessage({ made: [...made], files } satisfies MadeStatements);
