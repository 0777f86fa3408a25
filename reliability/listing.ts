// Measures every filter, order and search of lists in the console, on SQLite and PostgreSQL: `npm run measure:listing`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { ask } from '../core/test/harness/postgres_server.ts';
import { call } from '../server/src/admin/in_process.ts';
import type { Document, Input } from '../server/src/admin/table.ts';
import { localCalls } from '../server/src/cli/local_calls.ts';
import { readConfiguration } from '../server/src/config/configuration.ts';
import { LISTED_FACTORS, PEOPLE_ORDERS, PEOPLE_STATES } from '../server/src/data/people_list.ts';
import { postgresDatabase } from '../server/src/data/postgres_database.ts';
import { sqliteDatabase } from '../server/src/data/sqlite_database.ts';
import { openInstance } from '../server/src/instance/instance.ts';
import { DATABASES } from '../server/test/harness/databases.ts';
import { SOURCES } from '../server/test/harness/program.ts';
import { flagsOf, wholeNumber } from './arguments.ts';

const values = flagsOf(
  `npm run measure:listing -- [FLAGS]

  --users N          of the lists (100000)`,
  { users: { type: 'string', default: '100000' } },
);
const USERS = wholeNumber('users', values.users);
const ROUNDS = 9;
const ISSUER = 'http://localhost:4000';
const HASH = '$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy';
const LIMITS = { connections: 4, connectTimeoutMs: 5000, statementTimeoutMs: 5000 };

/** As the console asks for a page. */
const PAGE = { limit: 50, activity: true, within_ms: 25 };

type Wish = Input<'listUsers'>;

/** What a visitor can choose. Groups have all users, half of them, ten of them, and none. */
const FILTERS: Readonly<Record<string, Wish>> = {
  'all users': {},
  ...Object.fromEntries(PEOPLE_STATES.map((state) => [`state ${state}`, { state }])),
  ...Object.fromEntries(LISTED_FACTORS.map((factor) => [`factor ${factor}`, { factor }])),
  ...Object.fromEntries(['even', 'ten', 'empty'].map((group) => [`group ${group}`, { group }])),
  'search for all': { search: 'user' },
  'search for one': { search: `user${USERS - 1}@` },
  'search for nothing': { search: 'nothing has this name' },
  'disabled users of half of the users': { state: 'disabled', group: 'even' },
  'users without factor that a search finds': { factor: 'none', search: 'user' },
};

/** What is in the database besides users. */
const SCENES: Readonly<Record<string, readonly string[]>> = {
  'no user has a factor or is disabled': [],
  'the last tenth of the users has a passkey, and is disabled': [
    `INSERT INTO grantd.passkeys (issuer, id, subject, public_key, counter, transports, is_backed_up, name, created_at_ms)
     SELECT issuer, subject, subject, 'key', 0, '[]', 0, 'Key', 0 FROM grantd.people WHERE name > 'user9'`,
    `INSERT INTO grantd.principals (issuer_id, kind, id, generation, disabled_at_ms)
     SELECT 1, 'subject', subject, 1, 1 FROM grantd.people WHERE name > 'user9'`,
  ],
  'the last tenth of the users is locked': [
    `INSERT INTO grantd.sign_in_attempts (issuer, key_digest, subject, most, attempts, ends_at_ms)
     SELECT issuer, subject, subject, 10, 10, 9000000000000 FROM grantd.people WHERE name > 'user9'`,
  ],
  'ten users are locked': [
    `DELETE FROM grantd.sign_in_attempts WHERE subject NOT IN (
       SELECT subject FROM grantd.people WHERE name LIKE '%99999' OR name LIKE 'user9_')`,
  ],
  'every user has a factor': [
    `INSERT INTO grantd.totp_secrets (issuer, subject, sealed, last_step, created_at_ms)
     SELECT issuer, subject, '', 0, 0 FROM grantd.people WHERE true ON CONFLICT DO NOTHING`,
  ],
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
        groups: [index % 2 === 0 ? 'even' : 'odd', ...(index < 10 ? ['ten'] : [])],
      }),
    );
    writeFileSync(join(folder, 'people.jsonl'), `${lines.join('\n')}\n`);
    const own = { GRANTD_ISSUER: ISSUER, GRANTD_SECRET: 's'.repeat(32), ...(await database.newDatabase()) };
    const args = [main, 'user', 'import', 'people.jsonl', '--create-groups'];
    const env = { ...process.env, ...own, INIT_CWD: folder };
    const beganMs = performance.now();
    const child = spawn(node, args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] });
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new Error(`the import ended with ${code}`);
    console.log(`${database.name}, ${USERS} users, import: ${Math.round(performance.now() - beganMs)} ms`);

    const configuration = readConfiguration({}, own);
    const { GRANTD_DATABASE: address = join(folder, 'grantd-data', 'grantd.db') } = own as Record<
      string,
      string
    >;
    const isPostgres = address.startsWith('postgres');
    const run = (sql: string) => (isPostgres ? ask({ url: address }, sql) : database.run(folder, sql));
    const opened = isPostgres
      ? postgresDatabase(address, { ...LIMITS, onConnectionLost: () => {} })
      : sqliteDatabase(address);
    const instance = await openInstance(configuration, opened, ISSUER, 'cli');
    const calls = localCalls({ ...instance.actingAs('cli'), configuration });
    await call(calls, 'addGroup', { name: 'empty' });
    for (const [scene, statements] of Object.entries(SCENES)) {
      for (const sql of statements) await run(sql.replaceAll('grantd.', database.schema));
      if (isPostgres) await run('ANALYZE');
      console.log(`${database.name}, ${USERS} users: ${scene}`);
      const measure = async (name: string, work: () => Promise<Document<'listUsers'>>) => {
        const times: number[] = [];
        let page: Document<'listUsers'> | undefined;
        for (let round = 0; round < ROUNDS; round += 1) {
          const startMs = performance.now();
          page = await work();
          times.push(performance.now() - startMs);
        }
        const median = times.toSorted((one, other) => one - other)[Math.floor(ROUNDS / 2)] ?? 0;
        const looked = page?.looked_at === undefined ? '' : `, looked at ${page.looked_at}`;
        const mark = median > 50 ? '  <-- over 50 ms' : '';
        console.log(
          `  ${median.toFixed(1).padStart(7)} ms, ${page?.items.length} rows${looked}: ${name}${mark}`,
        );
      };
      for (const [name, filter] of Object.entries(FILTERS))
        for (const sort of PEOPLE_ORDERS)
          for (const descending of [false, true])
            await measure(`${name}, by ${sort}${descending ? ', descending' : ''}`, () =>
              call(calls, 'listUsers', { ...PAGE, ...filter, sort, descending }),
            );
      await measure('a username', () => call(calls, 'listUsers', { username: `user${USERS - 1}` }));
      await measure('an email address', () =>
        call(calls, 'listUsers', { email: `user${USERS - 1}@example.com` }),
      );
      const others = {
        'groups with their members': () => call(calls, 'listGroups', {}),
        'clients by name': () => call(calls, 'listClients', { sort: 'client_name' }),
        'waiting emails': () => call(calls, 'listMails', {}),
      };
      for (const [name, work] of Object.entries(others))
        await measure(name, async () => ({ ...(await work()), items: [] }));
    }
    await opened.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
}
process.exit();
