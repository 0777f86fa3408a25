import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type BackupPlan, backUpIfDue } from '../src/serve/scheduled_backups.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { until, Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const DAY = 24 * 60 * 60;

/** A folder with a database, and a folder for its backups. */
async function newHome() {
  const folder = workbench.folder();
  await (await workbench.start(folder, ['--issuer', 'https://id.example'])).stop();
  const recipient = await grantdPrints(folder, ['backup', 'new-key', 'backup.key']);
  const backups = join(folder, 'backups');
  mkdirSync(backups);
  const lines: Record<string, unknown>[] = [];
  const log = {
    info: (line: object) => lines.push({ level: 'info', ...line }),
    error: (line: object) => lines.push({ level: 'error', ...line }),
  };
  const plan: BackupPlan = {
    folder: backups,
    intervalSeconds: DAY,
    keep: 3,
    lock: { recipients: [recipient] },
  };
  const path = join(folder, 'grantd-data', 'grantd.db');
  const backedUp = { database: { path }, issuer: 'https://id.example', secrets: undefined };
  const { signal } = new AbortController();
  return {
    folder,
    backups,
    lines,
    plan,
    recipient,
    path,
    ifDue: () => backUpIfDue(plan, backedUp, log, signal),
    backedUp,
    log,
  };
}

/** The name of a backup of some time ago. */
function nameOf(issuer: string, agoSeconds: number): string {
  const time = new Date(Date.now() - agoSeconds * 1000).toISOString();
  return `${issuer}-${time.slice(0, 19).replaceAll(/[-:]/g, '')}Z.age`;
}

test('a backup is due when the newest in the folder is older than the interval, and only then', async () => {
  const { backups, lines, ifDue, folder } = await newHome();
  writeFileSync(join(backups, nameOf('id.example', DAY - 60)), '');
  assert.equal(await ifDue(), true);
  assert.deepEqual([readdirSync(backups).length, lines], [1, []]);

  writeFileSync(join(backups, nameOf('other.example', 60)), '');
  const [recent = ''] = readdirSync(backups).filter((name) => name.startsWith('id.'));
  renameSync(join(backups, recent), join(backups, nameOf('id.example', DAY + 60)));
  assert.equal(await ifDue(), true);
  const [line] = lines;
  assert.deepEqual([lines.length, line?.level, line?.event, line?.removed], [1, 'info', 'backup_written', 0]);
  await grantdPrints(folder, ['backup', 'verify', String(line?.file), '--identity-file', 'backup.key']);
  assert.equal(await ifDue(), true);
  assert.equal(lines.length, 1);
});

test('old backups of the same issuer are deleted, and what killed ones have left, and nothing else', async () => {
  const { backups, lines, ifDue } = await newHome();
  const old = [2, 3, 4, 5].map((days) => nameOf('id.example', days * DAY));
  const unfinished = `${nameOf('id.example', 60)}.partial`;
  const others = ['notes.txt', nameOf('other.example', 9 * DAY), 'id.example-x.age', unfinished];
  for (const name of [...old, ...others, `${old[0]}.partial`]) writeFileSync(join(backups, name), '');
  await ifDue();
  assert.equal(lines[0]?.removed, 2);
  const left = readdirSync(backups).sort();
  const [made = ''] = left.filter((name) => ![...old, ...others].includes(name));
  assert.deepEqual(left, [...others, ...old.slice(0, 2), made].sort());
});

test('a backup from a server whose clock was ahead neither delays the next ones nor counts as one that is kept', async () => {
  const { backups, lines, ifDue } = await newHome();
  const ahead = nameOf('id.example', -40 * DAY);
  const old = [2, 3, 4].map((days) => nameOf('id.example', days * DAY));
  for (const name of [ahead, ...old]) writeFileSync(join(backups, name), '');
  assert.equal(await ifDue(), true);
  assert.deepEqual([lines[0]?.event, lines[0]?.removed], ['backup_written', 1]);
  const left = readdirSync(backups);
  assert.deepEqual([left.length, left.includes(ahead), left.includes(old[2] ?? '')], [4, true, false]);
});

test('a failed backup is an error line, and deletes nothing', async () => {
  const { backups, lines, plan, backedUp, log } = await newHome();
  const old = [2, 3, 4, 5].map((days) => nameOf('id.example', days * DAY));
  for (const name of old) writeFileSync(join(backups, name), '');
  const lost = { ...backedUp, database: { path: join(backups, 'lost.db') } };
  assert.equal(await backUpIfDue(plan, lost, log, new AbortController().signal), false);
  assert.deepEqual(
    lines.map(({ level, event }) => [level, event]),
    [['error', 'backup_failed']],
  );
  assert.match(String(lines[0]?.reason), /secret \S+ is missing/);
  assert.equal(readdirSync(backups).length, 4);
});

test('a backup that another server has finished before this one began is no failure', async () => {
  const { backups, lines, ifDue } = await newHome();
  const backingUp = ifDue();
  // The process for the backup has yet to start.
  for (const age of [0, 1]) writeFileSync(join(backups, nameOf('id.example', age)), '');
  await backingUp;
  assert.deepEqual(lines, []);
});

test('of several servers on one database, one makes the backup', async () => {
  const { backups, lines, ifDue } = await newHome();
  await Promise.all([ifDue(), ifDue(), ifDue()]);
  await ifDue();
  assert.equal(readdirSync(backups).length, 1);
  assert.deepEqual(
    lines.map(({ event }) => event),
    ['backup_written'],
  );
});

test('a server makes its first backup soon after the start, and logs it', async () => {
  const { folder, backups, recipient } = await newHome();
  const flags = ['--backup-folder', 'backups', '--backup-recipients', recipient, '--workers', '2'];
  const server = await workbench.start(folder, flags);
  await until(() => server.log().some(({ event }) => event === 'backup_written'), 'a backup is written');
  const [name = '', ...others] = readdirSync(backups);
  assert.deepEqual(others, []);
  assert.match(name, /^id\.example-\d{8}T\d{6}Z\.age$/);
  await server.stop();
});

test('a server does not start if it could make no backup', async () => {
  const { folder, recipient } = await newHome();
  const refusals: readonly (readonly [readonly string[], RegExp])[] = [
    [
      ['--backup-folder', 'nowhere'],
      /^grantd: --backup-folder: \S+\/nowhere: expected an existing folder that this user can write\n$/,
    ],
    [
      ['--backup-folder', 'backups'],
      /^grantd: a backup contains secrets, so it is sealed: expected --backup-recipients/,
    ],
    [
      [
        '--backup-folder',
        'backups',
        '--backup-recipients',
        recipient,
        '--backup-passphrase-file',
        'backup.key',
      ],
      /^grantd: --backup-recipients: expected either public keys or a passphrase, not both\n$/,
    ],
    [
      ['--backup-folder', 'backups', '--backup-recipients', recipient.slice(0, -1)],
      /^grantd: --backup-recipients: age1\w+ is not the public key of an age identity\n$/,
    ],
  ];
  for (const [flags, expected] of refusals) {
    const { code, stderr } = await grantd(folder, ['serve', '--port', '0', ...flags]);
    assert.match(stderr, expected);
    assert.equal(code, 2);
  }
});
