// Measures how many users a second `grantd user import` adds, on SQLite and PostgreSQL: `npm run measure:importing`.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { DATABASES } from '../server/test/harness/databases.ts';
import { SOURCES } from '../server/test/harness/program.ts';
import { flagsOf, wholeNumber } from './arguments.ts';

const values = flagsOf(
  `npm run measure:importing -- [FLAGS]

  --users N          who are imported (50000)`,
  { users: { type: 'string', default: '50000' } },
);
const USERS = wholeNumber('users', values.users);
const HASH = '$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy';

const [node, main] = SOURCES;
for (const database of DATABASES.filter(({ absence }) => absence === false)) {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-import-'));
  try {
    const lines = Array.from({ length: USERS }, (_, index) =>
      JSON.stringify({
        username: `user${index}`,
        password_hash: HASH,
        claims: { name: `User ${index}`, email: `user${index}@example.com`, email_verified: true },
        groups: ['staff', index % 2 === 0 ? 'even' : 'odd'],
      }),
    );
    writeFileSync(join(folder, 'people.jsonl'), `${lines.join('\n')}\n`);
    const env = { ...process.env, ...(await database.newDatabase()) };
    for (const what of ['imports', 'skips']) {
      const beganMs = performance.now();
      const args = [main, 'user', 'import', 'people.jsonl', '--create-groups'];
      const child = spawn(node, args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] });
      const [code] = await once(child, 'exit');
      if (code !== 0) throw new Error(`the import ended with ${code}`);
      const seconds = (performance.now() - beganMs) / 1000;
      console.log(
        `${database.name} ${what} ${Math.round(USERS / seconds)} users a second (${USERS} in ${seconds.toFixed(1)} s)`,
      );
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
process.exit();
