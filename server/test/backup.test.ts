import assert from 'node:assert/strict';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { ALICE, Browser, signInAndConsent } from './harness/browser.ts';
import { grantd, grantdPrints, type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, basic, introspect, newPkce, postForm, redeem } from './harness/protocol.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const databaseOf = (folder: string) => join(folder, 'grantd-data', 'grantd.db');

interface Home {
  readonly server: RunningServer;
  readonly folder: string;
  /** Flags of a backup. */
  readonly seal: readonly string[];
  /** Flags that open it. */
  readonly open: readonly string[];
}

/** A running server with demo data, and a key for its backups. */
async function newHome(): Promise<Home> {
  const folder = workbench.folder();
  const server = await workbench.start(folder, ['--demo']);
  const recipient = await grantdPrints(folder, ['backup', 'new-key', 'backup.key']);
  return { server, folder, seal: ['--recipient', recipient], open: ['--identity-file', 'backup.key'] };
}

/** Restores into a folder of its own, which is then the home of another server. */
async function restored(
  { folder: from, open }: Pick<Home, 'folder' | 'open'>,
  backup: string,
  flags: readonly string[] = [],
): Promise<{ folder: string; shown: Record<string, unknown>; stderr: string }> {
  const folder = workbench.folder();
  const database = `sqlite:${databaseOf(folder)}`;
  const { code, stdout, stderr } = await grantd(from, [
    ...['restore', backup, '--database', database, '--json'],
    ...open,
    ...flags,
  ]);
  assert.equal(code, 0, stderr);
  return { folder, shown: JSON.parse(stdout), stderr };
}

const issue = async (folder: string, ...flags: readonly string[]) =>
  (await grantdPrints(folder, ['token', 'issue', '--client', 'demo-machine', ...flags])).split('\n');

describe('a backup of a running server', () => {
  let home: Home;
  let tokens: readonly string[];
  before(async () => {
    home = await newHome();
    tokens = await issue(home.folder, '--count', '20');
    await grantdPrints(home.folder, ['backup', 'first.age', ...home.seal]);
  });

  test('is one file that only its owner can read, and leaves nothing else behind', () => {
    assert.equal(statSync(join(home.folder, 'first.age')).mode & 0o777, 0o600);
    assert.match(
      readFileSync(join(home.folder, 'first.age'), 'latin1'),
      /^age-encryption\.org\/v1\n-> X25519 /,
    );
    assert.deepEqual(readdirSync(join(home.folder, 'grantd-data')).sort(), [
      'grantd.db',
      'grantd.db-backup.lock',
      'grantd.db-inodes',
      'grantd.db-shm',
      'grantd.db-wal',
      'grantd.db.secret',
    ]);
    assert.deepEqual(
      readdirSync(home.folder).filter((name) => name.includes('first')),
      ['first.age'],
    );
  });

  test('contains neither tokens, user names nor the server’s secret in the clear', () => {
    const bytes = readFileSync(join(home.folder, 'first.age'));
    const secret = readFileSync(`${databaseOf(home.folder)}.secret`, 'utf8').trim();
    for (const text of [secret, 'alice', 'demo-machine', 'SQLite format 3'])
      assert.equal(bytes.includes(text), false, text);
  });

  test('is verified as it would be restored', async () => {
    const shown = JSON.parse(
      await grantdPrints(home.folder, ['backup', 'verify', 'first.age', '--json', ...home.open]),
    );
    const { ageSeconds, takenAt, lastEvent, program, schemas, activeTokens, ...rest } = shown;
    assert.deepEqual(rest, {
      file: 'first.age',
      issuer: home.server.url,
      clients: 4,
      users: 1,
      secret: true,
    });
    assert.ok(ageSeconds >= 0 && ageSeconds < 60 && Date.parse(takenAt) <= Date.now());
    assert.ok(lastEvent > 0 && schemas.library >= 8 && schemas.program >= 5 && program !== '');
    assert.ok(activeTokens >= tokens.length);
  });

  test('is restored with everything, and a server answers from it', async () => {
    const { folder, shown, stderr } = await restored(home, 'first.age');
    const path = databaseOf(folder);
    assert.deepEqual([shown.database, shown.issuer], [path, home.server.url]);
    assert.ok(Number(shown.activeTokens) >= tokens.length);
    assert.match(
      stderr,
      /Tokens that were revoked, sessions that ended and refresh tokens that were used after \S+ may be active again/,
    );
    assert.ok(stderr.includes('grantd token revoke --issued-before '));
    assert.equal(
      readFileSync(`${path}.secret`, 'utf8'),
      readFileSync(`${databaseOf(home.folder)}.secret`, 'utf8'),
    );
    for (const file of [path, `${path}.secret`]) assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(join(folder, 'grantd-data')).sort(), [
      'grantd.db',
      'grantd.db-backup.lock',
      'grantd.db.secret',
    ]);

    const server = await workbench.start(folder, ['--issuer', home.server.url]);
    for (const token of tokens) assert.equal((await introspect(server.url, token)).active, true);
    const browser = new Browser(server.url);
    const pkce = newPkce();
    const callback = await signInAndConsent(browser, authorizationUrl(server.url, pkce), ALICE);
    assert.ok((await redeem(server.url, pkce, callback)).id_token);
    await server.stop();
  });

  test('the command that restore prints ends every token of the backup', async () => {
    const { folder, stderr } = await restored(home, 'first.age');
    const command = /^ {2}grantd (token revoke .*)$/m.exec(stderr)?.[1]?.split(' ') ?? [];
    await grantdPrints(folder, command);
    for (const token of tokens)
      assert.match(await grantdPrints(folder, ['token', 'explain', token]), /^alive +no$/m);
  });

  test('--revoke-tokens ends every token and session before a server uses the database', async () => {
    const browser = new Browser(home.server.url);
    const callback = await signInAndConsent(browser, authorizationUrl(home.server.url, newPkce()), ALICE);
    assert.ok(callback.searchParams.has('code'));
    await grantdPrints(home.folder, ['backup', 'session.age', ...home.seal]);
    const { folder, shown, stderr } = await restored(home, 'session.age', ['--revoke-tokens']);
    assert.deepEqual([shown.activeTokens, shown.sessionsEnded], [0, 1]);
    assert.doesNotMatch(stderr, /may be active again/);
    for (const token of tokens)
      assert.match(await grantdPrints(folder, ['token', 'explain', token]), /^alive +no$/m);
    const { sessions } = JSON.parse(await grantdPrints(folder, ['user', 'show', 'alice', '--json']));
    assert.deepEqual(sessions, []);
  });

  test('numbers of new events are higher than any number that was used before', async () => {
    const { folder } = await restored(home, 'first.age');
    await grantdPrints(home.folder, ['token', 'revoke', ...(await issue(home.folder))]);
    await grantdPrints(folder, ['client', 'disable', 'demo-machine']);
    const last = async (of: string): Promise<number> =>
      JSON.parse(await grantdPrints(of, ['events', 'list', '--json'])).at(-1).number;
    assert.ok((await last(folder)) > (await last(home.folder)) + 1000);
  });

  test('can be sealed with a passphrase from a file, standard input or the environment', async () => {
    const passphrase = 'twelve characters and more';
    writeFileSync(join(home.folder, 'words'), `${passphrase}\n`, { mode: 0o600 });
    await grantdPrints(home.folder, ['backup', 'words.age', '--passphrase-file', 'words']);
    const environment = { GRANTD_BACKUP_PASSPHRASE: passphrase };
    await grantdPrints(home.folder, ['backup', 'verify', 'words.age'], '', environment);
    const open = ['backup', 'verify', 'words.age', '--passphrase-file', '-'];
    await grantdPrints(home.folder, open, `${passphrase}\n`);
    assert.deepEqual(await grantd(home.folder, open, { input: 'another passphrase' }), {
      code: 1,
      stdout: '',
      stderr: `grantd: the passphrase does not open ${join(home.folder, 'words.age')}: it is another one, or the backup was sealed for a key (--identity-file).\n`,
    });
    chmodSync(join(home.folder, 'words'), 0o644);
    const exposed = await grantd(home.folder, ['backup', 'more.age', '--passphrase-file', 'words']);
    assert.equal(exposed.code, 2);
    assert.match(exposed.stderr, /^grantd: --passphrase-file: \S+ can be read by others: run chown/);
  });

  test('without the secret needs it from elsewhere', async () => {
    await grantdPrints(home.folder, ['backup', 'bare.age', '--no-secret', ...home.seal]);
    const { folder, shown, stderr } = await restored(home, 'bare.age');
    assert.equal(shown.secretFile, undefined);
    assert.match(stderr, /The backup does not contain the server’s secret: put it into/);
    assert.match((await grantd(folder, ['keys', 'rotate'])).stderr, /secret/);
  });

  test('of another server secret than GRANTD_SECRET is refused', async () => {
    const folder = workbench.folder();
    const { code, stderr } = await grantd(
      home.folder,
      ['restore', 'first.age', '--database', `sqlite:${databaseOf(folder)}`, ...home.open],
      { environment: { GRANTD_SECRET: 'x'.repeat(32) } },
    );
    assert.deepEqual(
      [code, stderr],
      [
        1,
        'grantd: the secret of the options (GRANTD_SECRET) is not the one of the backup: unset it, or set the same.\n',
      ],
    );
    assert.equal(existsSync(databaseOf(folder)), false);
  });
});

describe('a restore changes nothing and says why in one line if', () => {
  let home: Home;
  before(async () => {
    home = await newHome();
    await issue(home.folder, '--count', '300');
    await grantdPrints(home.folder, ['backup', 'good.age', ...home.seal]);
  });

  /** Restores a backup, which must fail. @returns its message */
  async function refused(backup: string, flags: readonly string[] = home.open): Promise<string> {
    const folder = workbench.folder();
    const database = `sqlite:${databaseOf(folder)}`;
    const { code, stdout, stderr } = await grantd(home.folder, [
      'restore',
      backup,
      '--database',
      database,
      ...flags,
    ]);
    assert.deepEqual([code, stdout], [1, '']);
    // Only the lock of the attempt remains.
    assert.deepEqual(readdirSync(join(folder, 'grantd-data')), ['grantd.db-backup.lock']);
    const { code: ofVerify } = await grantd(home.folder, ['backup', 'verify', backup, ...home.open]);
    if (flags === home.open) assert.equal(ofVerify, 1);
    assert.equal(stderr.split('\n').length, 2, stderr);
    return stderr.replace('grantd: ', '').trim();
  }

  const file = (name: string) => join(home.folder, name);

  /** A copy of the good backup with a change. */
  function changed(name: string, change: (path: string, size: number) => void): string {
    copyFileSync(file('good.age'), file(name));
    change(file(name), statSync(file(name)).size);
    return name;
  }

  const damaged = (name: string) => `${file(name)} is damaged or cut off: use another backup.`;

  test('the backup is cut off', async () => {
    for (const keep of [0.999, 0.5, 0.01]) {
      const name = changed(`cut${keep}.age`, (path, size) => truncateSync(path, Math.floor(size * keep)));
      assert.equal(await refused(name), damaged(name));
    }
  });

  test('a bit of the backup has changed, in its header, its middle or its end', async () => {
    for (const place of [150, -1, 0.5]) {
      const name = changed(`bit${place}.age`, (path, size) => {
        const bytes = readFileSync(path);
        const at = place === 0.5 ? size >> 1 : place < 0 ? size + place : place;
        bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
        writeFileSync(path, bytes);
      });
      const message = await refused(name);
      assert.ok(message.startsWith(file(name)) || message.startsWith('no identity opens'), message);
    }
  });

  test('the file is no backup, or does not exist', async () => {
    writeFileSync(file('text.age'), 'hello\n');
    assert.equal(await refused('text.age'), `${file('text.age')} is not a backup: expected an age file.`);
    assert.equal(await refused('none.age'), `the backup ${file('none.age')} cannot be read: ENOENT.`);
  });

  test('the identity is another one', async () => {
    await grantdPrints(home.folder, ['backup', 'new-key', 'other.key']);
    assert.equal(
      await refused('good.age', ['--identity-file', 'other.key']),
      `no identity opens ${file('good.age')}: it was sealed for other keys, or with a passphrase (--passphrase-file).`,
    );
  });

  test('the backup is of another issuer', async () => {
    assert.equal(
      await refused('good.age', [...home.open, '--issuer', 'https://other.example']),
      `${file('good.age')} is a backup of the issuer ${home.server.url}, not of https://other.example: use another backup or --issuer.`,
    );
  });

  test('the backup is of a newer version', async () => {
    const { folder } = await restored(home, 'good.age');
    const database = new DatabaseSync(databaseOf(folder));
    database.exec('PRAGMA user_version = 99');
    database.close();
    await grantdPrints(folder, ['backup', file('newer.age'), ...home.seal]);
    assert.match(
      await refused('newer.age'),
      /newer\.age was written by grantd \S+, whose tables \(versions 99 and \d+\) are newer than this version knows \(\d+ and \d+\): use that version, or a later one\.$/,
    );
  });

  test('the database was damaged already, and no backup is made of it', async () => {
    const { folder } = await restored(home, 'good.age');
    const bytes = readFileSync(databaseOf(folder));
    bytes.fill('x', bytes.length - 3 * 4096);
    writeFileSync(databaseOf(folder), bytes);
    const { code, stderr } = await grantd(folder, ['backup', 'bad.age', ...home.seal]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^grantd: the database \S+ is damaged \(.*\): no backup was written\. Restore an earlier one\.\n$/,
    );
    assert.equal(existsSync(join(folder, 'bad.age')), false);
  });

  test('the database exists, or files of an earlier one are in its place (findings D2)', async () => {
    const path = databaseOf(home.folder);
    const order = ['restore', 'good.age', ...home.open];
    const before = statSync(path).ino;
    const running = await grantd(home.folder, order);
    assert.equal(running.code, 1);
    assert.equal(
      running.stderr,
      `grantd: ${path} exists: stop every program that uses it, and move it away, together with ${path}-wal and ${path}-shm, or choose another with --database.\n`,
    );
    assert.equal(statSync(path).ino, before);

    const folder = workbench.folder();
    mkdirSync(join(folder, 'grantd-data'));
    writeFileSync(`${databaseOf(folder)}-wal`, 'pages of an earlier database');
    const withLog = await grantd(home.folder, [...order, '--database', `sqlite:${databaseOf(folder)}`]);
    assert.deepEqual(
      [withLog.code, withLog.stderr],
      [
        1,
        `grantd: ${databaseOf(folder)}-wal of an earlier database exists: stop every program that uses it, and move it away.\n`,
      ],
    );
    assert.equal(existsSync(databaseOf(folder)), false);
  });

  test('another secret is in its place', async () => {
    const folder = workbench.folder();
    mkdirSync(join(folder, 'grantd-data'));
    writeFileSync(`${databaseOf(folder)}.secret`, 'x'.repeat(40), { mode: 0o600 });
    const { code, stderr } = await grantd(home.folder, [
      ...['restore', 'good.age', '--database', `sqlite:${databaseOf(folder)}`],
      ...home.open,
    ]);
    assert.deepEqual(
      [code, stderr],
      [1, `grantd: ${databaseOf(folder)}.secret has another secret than the backup: move it away.\n`],
    );
    assert.equal(readFileSync(`${databaseOf(folder)}.secret`, 'utf8'), 'x'.repeat(40));
  });
});

test('findings D2: a restore removes the notes of the earlier file, and the server starts', async () => {
  const home = await newHome();
  const path = databaseOf(home.folder);
  await grantdPrints(home.folder, ['backup', 'b.age', ...home.seal]);
  await home.server.stop();
  for (const file of [path, `${path}-inodes`]) assert.ok(existsSync(file));
  renameSync(path, `${path}.old`);
  writeFileSync(`${path}-corrupt`, 'database disk image is malformed\n');
  await grantdPrints(home.folder, ['restore', 'b.age', ...home.open]);
  assert.equal(existsSync(`${path}-inodes`) || existsSync(`${path}-corrupt`), false);
  const server = await workbench.start(home.folder, ['--demo', '--port', String(home.server.port)]);
  assert.equal((await fetch(`${server.url}/health/ready`)).status, 200);
  await server.stop();
});

test('--replay-events applies what ended after the backup, so that nothing of it is active again', async () => {
  const home = await newHome();
  const { folder, server } = home;
  const prints = (...args: readonly string[]) => grantdPrints(folder, args);
  for (const [name, flags] of [
    ['gone', ['--grant', 'client_credentials', '--scope', 'a']],
    ['off', ['--grant', 'client_credentials', '--scope', 'a']],
  ] as const)
    await grantdPrints(
      folder,
      ['client', 'add', name, '--secret-stdin', ...flags],
      'a secret of the client in the test',
    );
  for (const name of ['ada', 'bob', 'eve'])
    await grantdPrints(folder, ['user', 'add', name, '--password-stdin'], 'correct horse');
  const ofUser = (user: string) => issue2(folder, user);
  const kept = [...(await issue(folder)), ...(await ofUser('alice'))];
  const [single = ''] = await issue(folder);
  const family = await ofUser('alice');
  const pair = await ofUser('alice');
  const ended = [
    single,
    ...family,
    ...pair,
    ...(await ofUser('ada')),
    ...(await ofUser('bob')),
    ...(await ofUser('eve')),
    await prints('token', 'issue', '--client', 'gone'),
    await prints('token', 'issue', '--client', 'off'),
  ];
  const browser = new Browser(server.url);
  const pkce = newPkce();
  const url = authorizationUrl(server.url, pkce);
  const ofSession = await redeem(
    server.url,
    pkce,
    await signInAndConsent(browser, url, { username: 'bob', password: 'correct horse' }),
  );
  ended.push(ofSession.access_token, ofSession.refresh_token ?? ofSession.access_token);
  for (const token of [...kept, ...ended]) assert.equal((await introspect(server.url, token)).active, true);
  await prints('backup', 'b.age', ...home.seal);

  await prints('token', 'revoke', single);
  await prints('token', 'revoke', pair[0] ?? '');
  const web = basic('demo-web', 'demo-web-secret');
  const refresh = () =>
    postForm(`${server.url}/token`, { grant_type: 'refresh_token', refresh_token: family[1] ?? '' }, web);
  const rotated = (await (await refresh()).json()) as { refresh_token: string };
  await prints('token', 'revoke', rotated.refresh_token);
  await prints('user', 'disable', 'ada');
  await prints('user', 'end-sessions', 'bob');
  await prints('token', 'revoke', '--user', 'bob');
  await prints('user', 'remove', 'eve', '--yes');
  await prints('client', 'remove', 'gone');
  await prints('client', 'disable', 'off');
  await prints('client', 'rotate-secret', 'demo-api');
  const events = await prints('events', 'list', '--json');
  writeFileSync(join(folder, 'events.json'), events);

  const { folder: other, shown, stderr } = await restored(home, 'b.age', ['--replay-events', 'events.json']);
  const state = async (token: string) =>
    /^alive +(yes|no)$/m.exec(await grantdPrints(other, ['token', 'explain', token]))?.[1];
  for (const token of kept) assert.equal(await state(token), 'yes');
  // The refresh token of the backup was used afterwards, and its successor was revoked.
  const unresolved = new Set(family);
  for (const token of ended) if (!unresolved.has(token)) assert.equal(await state(token), 'no', token);
  const { replayed } = shown as { replayed: { applied: number; unknown: number } };
  assert.equal(replayed.unknown, 1);
  assert.ok(replayed.applied >= 8);
  assert.match(stderr, /1 revoked tokens, codes or clients are not in the backup/);
  assert.match(stderr, /client_secret_rotated demo-api: the earlier secret is accepted again/);
  const { sessions } = JSON.parse(await grantdPrints(other, ['user', 'show', 'bob', '--json']));
  assert.deepEqual(sessions, []);
  assert.match((await grantd(other, ['user', 'show', 'eve'])).stderr, /there is no user eve/);
  const clients = JSON.parse(await grantdPrints(other, ['client', 'list', '--json'])) as {
    id: string;
    disabledAt?: string;
  }[];
  assert.equal(
    clients.some(({ id }) => id === 'gone'),
    false,
  );
  assert.ok(clients.find(({ id }) => id === 'off')?.disabledAt);

  const list: { number: number }[] = JSON.parse(events);
  writeFileSync(
    join(folder, 'gap.json'),
    JSON.stringify(list.filter(({ number }) => number !== (list.at(-1)?.number ?? 0) - 1)),
  );
  const gap = await restored(home, 'b.age', ['--replay-events', 'gap.json']);
  assert.match(gap.stderr, /The file lacks the events \d+ to \d+: what they ended may be active again\./);
  writeFileSync(
    join(folder, 'foreign.json'),
    JSON.stringify(list.map((event) => ({ ...event, target: 'x' }))),
  );
  const foreign = await grantd(folder, [
    ...[
      'restore',
      'b.age',
      '--database',
      `sqlite:${databaseOf(workbench.folder())}`,
      '--replay-events',
      'foreign.json',
    ],
    ...home.open,
  ]);
  assert.equal(foreign.code, 1);
  assert.match(foreign.stderr, /foreign\.json is of another database: event \d+ differs/);
});

/** An access token and its refresh token. */
async function issue2(folder: string, user: string): Promise<readonly string[]> {
  const printed = await grantdPrints(folder, [
    'token',
    'issue',
    '--client',
    'demo-web',
    '--user',
    user,
    '--refresh',
  ]);
  return printed.split('\n');
}

test('PostgreSQL is backed up with its own tools, and the command says so', async () => {
  const folder = workbench.folder();
  for (const command of [
    ['backup', 'x.age'],
    ['restore', 'x.age'],
  ]) {
    const { code, stderr } = await grantd(folder, [
      ...command,
      '--database',
      'postgres://grantd@127.0.0.1:1/grantd',
    ]);
    assert.equal(code, 2);
    assert.match(
      stderr,
      /--database: expected sqlite:PATH\. Back up PostgreSQL with its own tools, pg_dump or pg_basebackup/,
    );
  }
});
