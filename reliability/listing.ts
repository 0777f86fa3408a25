// Measures lists of many users, on SQLite and PostgreSQL: `npm run measure:listing`. An argument sets the number of users.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { call } from '../server/src/admin/in_process.ts';
import type { Input } from '../server/src/admin/table.ts';
import { localCalls } from '../server/src/cli/local_calls.ts';
import { readConfiguration } from '../server/src/config/configuration.ts';
import { postgresDatabase } from '../server/src/data/postgres_database.ts';
import { sqliteDatabase } from '../server/src/data/sqlite_database.ts';
import { openInstance } from '../server/src/instance/instance.ts';
import { DATABASES } from '../server/test/harness/databases.ts';
import { SOURCES } from '../server/test/harness/program.ts';

const USERS = Number(process.argv[2] ?? 100_000);
const ROUNDS = 15;
const ISSUER = 'http://localhost:4000';
const HASH = '$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy';
const LIMITS = { connections: 4, connectTimeoutMs: 5000, statementTimeoutMs: 5000 };
const PAGE = { limit: 50, activity: true };

/** What the console asks for. */
const LISTS: Readonly<Record<string, Input<'listUsers'>>> = {
  'by username': PAGE,
  'by username, the last page': { ...PAGE, descending: true },
  'the newest': { ...PAGE, sort: 'created_at', descending: true },
  'without second factor': { ...PAGE, factor: 'none' },
  'with a passkey, which no user has': { ...PAGE, factor: 'passkey' },
  'active ones': { ...PAGE, state: 'active' },
  'disabled ones, of which there are none': { ...PAGE, state: 'disabled' },
  'a group of half of the users': { ...PAGE, group: 'even' },
  'a search that finds one': { limit: 100, search: `user${USERS - 1}@` },
  'a search that finds nothing': { limit: 100, search: 'nothing has this name' },
  'a username': { username: `user${USERS - 1}` },
  'an email address': { email: `user${USERS - 1}@example.com` },
};

const [node, main] = SOURCES;
for (const database of DATABASES.filter(({ absence }) => absence === false)) {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-listing-'));
  try {
    const lines = Array.from({ length: USERS }, (_, index) =>
      JSON.stringify({
        username: `user${index}`,
        password_hash: HASH,
        claims: { name: `User ${index}`, email: `user${index}@example.com`, email_verified: true },
        groups: [index % 2 === 0 ? 'even' : 'odd'],
      }),
    );
    writeFileSync(join(folder, 'people.jsonl'), `${lines.join('\n')}\n`);
    const own = { GRANTD_ISSUER: ISSUER, GRANTD_SECRET: 's'.repeat(32), ...(await database.newDatabase()) };
    const args = [main, 'user', 'import', 'people.jsonl', '--create-groups'];
    const env = { ...process.env, ...own, INIT_CWD: folder };
    const child = spawn(node, args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] });
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`the import ended with ${code}`);

    const configuration = readConfiguration({}, own);
    const { GRANTD_DATABASE: address = join(folder, 'grantd-data', 'grantd.db') } = own as Record<
      string,
      string
    >;
    const opened = address.startsWith('postgres')
      ? postgresDatabase(address, { ...LIMITS, onConnectionLost: () => {} })
      : sqliteDatabase(address);
    const instance = await openInstance(configuration, opened, ISSUER, 'cli');
    const calls = localCalls({ ...instance.actingAs('cli'), configuration });
    for (const [name, wish] of Object.entries(LISTS)) {
      const times: number[] = [];
      let rows = 0;
      for (let round = 0; round < ROUNDS; round += 1) {
        const beganMs = performance.now();
        rows = (await call(calls, 'listUsers', wish)).items.length;
        times.push(performance.now() - beganMs);
      }
      const median = times.toSorted((one, other) => one - other)[Math.floor(ROUNDS / 2)] ?? 0;
      console.log(`${database.name}, ${USERS} users, ${name}: ${median.toFixed(1)} ms, ${rows} rows`);
    }
    await opened.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
}
process.exit();
