// Every file with a secret follows one rule (docs/secrets.md).
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ADMIN_VARIABLES } from '../src/config/configuration.ts';
import { flagOf, OPTION_NAMES, OPTIONS } from '../src/config/options.ts';
import { exposureOf } from '../src/config/private_file.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { Workbench } from './harness/program.ts';
import { serverCertificate } from './harness/tls.ts';

const workbench = new Workbench();
after(() => workbench.clear());

const SRC = join(import.meta.dirname, '..', 'src');

const hasModes = process.getuid === undefined ? 'this system has no modes of files' : false;

/** Options whose files are not secret, with what the files contain. */
const NOT_SECRET: Readonly<Record<string, string>> = {
  tlsCertificate: 'a certificate',
  tlsClientCa: 'certificates',
  ldapCa: 'certificates',
  operatorLogo: 'a picture',
  theme: 'the look of the pages',
  providers: 'settings. Each secret has a file of its own',
  trustedIssuers: 'settings and public keys',
};

/** Files of the program that read other files without the check for secrets, with what they read. */
const READS_NO_SECRET: Readonly<Record<string, string>> = {
  'cli/apply.ts': 'the file of grantd apply. Each secret has a file of its own',
  'cli/client_flags.ts': 'public keys',
  'cli/help_pages.ts': 'the documentation',
  'cli/restore.ts': 'events',
  'cli/user_files.ts': 'users of another server, once',
  'config/certificates_file.ts': 'certificates',
  'config/configuration.ts': 'JSON. It checks the config file if it contains a secret',
  'config/picture.ts': 'pictures, fonts and themes',
  'config/private_file.ts': 'the check itself',
  'config/text_file.ts': 'what others read with it',
  'config/trusted_issuers.ts': 'a token that its platform writes, with a mode of its own',
  'console/chart_library.ts': 'a file of a package',
  'console/troubles.ts': 'a certificate',
  'data/backup.ts': 'a secret that the program itself has just written',
  'data/backup_file.ts': 'the start of a sealed file',
  'serve/thread_priorities.ts': 'a file of the kernel',
  'serve/tls.ts': 'certificates',
};

test('every file is read with the check for secrets, unless it contains none', () => {
  const reading = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .filter((file) =>
      /\b(readTextFile|readFileSync|readFile|readSync|createReadStream)\(/.test(
        readFileSync(join(SRC, file), 'utf8'),
      ),
    );
  assert.deepEqual(reading.sort(), Object.keys(READS_NO_SECRET).sort());
});

interface SecretFile {
  readonly content: string;
  /** Flags of `config check` and `serve`. */
  readonly flags: readonly string[];
  /** How messages name the file. */
  readonly source: string;
}

test('config check and serve refuse the same files with secrets that others can read', {
  skip: hasModes,
}, async () => {
  const folder = workbench.folder();
  const put = (name: string, content: string) => {
    writeFileSync(join(folder, name), content, { mode: 0o600 });
    return name;
  };
  const { cert, key } = (await serverCertificate()).pem;
  put('tls.pem', cert);
  put(
    'providers.json',
    JSON.stringify({
      one: { kind: 'google', client_id: 'us', client_secret: { file: 'client_secret' } },
      two: { kind: 'google', client_id: 'us', private_key: { file: 'private_key' } },
    }),
  );
  mkdirSync(join(folder, 'backups'));
  mkdirSync(join(folder, 'grantd-data'));
  const passphrase = 'twelve characters and more';
  put('client_secret', passphrase);
  put('private_key', key);

  /** By option. */
  const needed: Readonly<Record<string, Omit<SecretFile, 'source'>>> = {
    secretFile: { content: 's'.repeat(40), flags: ['--secret-file'] },
    tlsKey: { content: key, flags: ['--tls-certificate', 'tls.pem', '--tls-key'] },
    backupPassphraseFile: {
      content: passphrase,
      flags: ['--backup-folder', 'backups', '--backup-passphrase-file'],
    },
    ldapBindPasswordFile: {
      content: passphrase,
      flags: [
        ...['--ldap-url', 'ldaps://directory.example', '--ldap-base', 'dc=example'],
        ...['--ldap-bind-dn', 'cn=grantd', '--ldap-bind-password-file'],
      ],
    },
  };
  const ofOptions = OPTION_NAMES.filter(
    (name) => OPTIONS[name].kind.placeholder === 'FILE' && !Object.hasOwn(NOT_SECRET, name),
  );
  assert.deepEqual(
    [...ofOptions].sort(),
    Object.keys(needed).sort(),
    'each option is listed as one or the other',
  );
  const files: Record<string, SecretFile> = {
    client_secret: {
      content: passphrase,
      flags: ['--providers', 'providers.json'],
      source: '--providers: providers.json: one.client_secret',
    },
    private_key: {
      content: key,
      flags: ['--providers', 'providers.json'],
      source: '--providers: providers.json: two.private_key',
    },
    'secret.json': {
      content: JSON.stringify({ secret: 's'.repeat(40) }),
      flags: ['--config', 'secret.json'],
      source: 'secret in a file',
    },
    'smtp.json': {
      content: JSON.stringify({ smtpUrl: 'smtps://us:secret@mail.example', mailFrom: 'us@mail.example' }),
      flags: ['--config', 'smtp.json'],
      source: 'the password of smtpUrl in a file',
    },
    'grantd-data/grantd.db.secret': {
      content: 's'.repeat(40),
      flags: ['--issuer', 'http://localhost:4000'],
      source: 'the server’s secret',
    },
  };
  for (const name of ofOptions) {
    const { content, flags } = needed[name] ?? assert.fail(name);
    files[name] = { content, flags: [...flags, name], source: flagOf(name) };
  }
  for (const [name, { content, flags, source }] of Object.entries(files)) {
    const path = join(folder, put(name, content));
    const check = () => grantd(folder, ['config', 'check', ...flags]);
    assert.deepEqual((await check()).stderr, '', name);
    chmodSync(path, 0o604);
    const checked = await check();
    const served = await grantd(folder, ['serve', '--port', '0', ...flags]);
    assert.ok(checked.stderr.startsWith(`grantd: ${source}: ${path} is open to others`), checked.stderr);
    assert.equal(checked.code, 2, name);
    assert.deepEqual([served.code, served.stderr, served.stdout], [2, checked.stderr, ''], name);
    chmodSync(path, 0o400);
    assert.deepEqual((await check()).stderr, '', name);
    chmodSync(path, 0o600);
  }
});

test('commands refuse files with secrets that others can read', { skip: hasModes }, async () => {
  const folder = workbench.folder();
  const put = (name: string, content: string, mode = 0o600) => {
    writeFileSync(join(folder, name), content, { mode });
    return name;
  };
  await grantdPrints(folder, ['client', 'add', 'x']);
  const recipient = await grantdPrints(folder, ['backup', 'new-key', 'identity']);
  await grantdPrints(folder, ['backup', 'backup.age', '--recipient', recipient]);
  chmodSync(join(folder, 'identity'), 0o604);
  put('open', 'a passphrase, or another secret of 32 characters', 0o604);
  put('state.yaml', 'clients: {shop: {secret: {file: open}}}');
  const remotely = ['client', 'list', '--url', 'http://localhost:1'];
  const withClient = { [ADMIN_VARIABLES.clientId]: 'x' };
  for (const [args, environment, file, code = 2] of [
    [['backup', 'verify', 'backup.age', '--identity-file', 'identity'], {}, 'identity'],
    [['backup', 'more.age', '--passphrase-file', 'open'], {}, 'open'],
    [['apply', '--file', 'state.yaml', '--yes'], {}, 'open'],
    [remotely, { [ADMIN_VARIABLES.token]: 'open' }, 'open'],
    [remotely, { ...withClient, [ADMIN_VARIABLES.key]: 'open' }, 'open'],
    [remotely, { ...withClient, [ADMIN_VARIABLES.secret]: 'open' }, 'open'],
  ] as const) {
    const refused = await grantd(folder, args, { environment });
    assert.match(refused.stderr, new RegExp(`: \\S*/${file} is open to others`), args.join(' '));
    assert.equal(refused.code, code);
  }
});

test('the process, its groups and root may have access to a secret, and others may not', {
  skip: hasModes,
}, () => {
  const path = join(workbench.folder(), 'secret');
  writeFileSync(path, 'secret');
  // Only root can give a file away. Other users test with their own files.
  if (process.getuid?.() === 0) chownSync(path, 1000, 2000);
  const { uid, gid } = statSync(path);
  const isPrivate = (mode: number, user: number, ...groups: number[]) => {
    chmodSync(path, mode);
    const file = openSync(path, 'r');
    try {
      return exposureOf(file, path, { user, groups: new Set(groups) }) === undefined;
    } finally {
      closeSync(file);
    }
  };
  for (const mode of [0o400, 0o600, 0o700]) assert.ok(isPrivate(mode, uid, gid + 1), mode.toString(8));
  for (const mode of [0o440, 0o640, 0o660]) {
    assert.ok(isPrivate(mode, uid, gid + 1, gid), `its own group, ${mode.toString(8)}`);
    assert.ok(!isPrivate(mode, uid, gid + 1), `another group, ${mode.toString(8)}`);
  }
  for (const mode of [0o401, 0o602, 0o604, 0o644, 0o664, 0o777])
    assert.ok(!isPrivate(mode, uid, gid), mode.toString(8));
  assert.ok(!isPrivate(0o600, uid + 1, gid), 'a file of another user');
  assert.ok(!isPrivate(0o440, uid + 1, gid), 'a file of another user and the own group');
  if (process.getuid?.() !== 0) return;
  chownSync(path, 0, 2000);
  assert.ok(isPrivate(0o440, 1000, 2000), 'as Kubernetes mounts a secret with fsGroup');
  assert.ok(isPrivate(0o600, 1000));
  assert.ok(!isPrivate(0o440, 1000, 1000));
  assert.ok(!isPrivate(0o444, 1000, 2000));
});

test('secrets are accepted as Kubernetes, Docker and systemd mount them, and nothing that merely looks alike', (t) => {
  const folder = workbench.folder();
  const probe = `
    const { readPrivateText } = await import(${JSON.stringify(join(SRC, 'config', 'private_file.ts'))});
    for (const path of process.argv.slice(1)) {
      let outcome = 'accepted';
      try { readPrivateText(path, 'x'); } catch ({ message }) { outcome = /open to others/.test(message) ? 'open' : message; }
      console.log(path.replace(${JSON.stringify(`${folder}/`)}, '') + ' ' + outcome);
    }`;
  // A namespace of its own, so that mounts end with the process.
  const script = `
    set -e
    cd "$1"
    mkdir kubernetes swarm writable disk disk/folder
    mount -t tmpfs none kubernetes
    mkdir kubernetes/..2026
    echo secret > kubernetes/..2026/secret
    chmod 644 kubernetes/..2026/secret
    ln -s ..2026 kubernetes/..data
    ln -s ..data/secret kubernetes/secret
    mount -o remount,bind,ro kubernetes
    mount -t tmpfs none swarm
    echo secret > swarm/secret
    chmod 444 swarm/secret
    mount -o remount,ro swarm
    mount -t tmpfs none writable
    echo secret > writable/secret
    chmod 444 writable/secret
    echo secret > disk/folder/secret
    echo secret > disk/a\\ file
    chmod 444 disk/a\\ file disk/folder/secret
    cp -p disk/a\\ file disk/compose
    mount --bind disk/a\\ file disk/compose
    mount -o remount,bind,ro disk/compose
    cp -p disk/a\\ file disk/b\\ file
    mount --bind disk/a\\ file disk/b\\ file
    mount -o remount,bind,ro disk/b\\ file
    mount --bind disk/folder disk/folder
    mount -o remount,bind,ro disk/folder
    mount -t tmpfs none /var/tmp
    echo secret > /var/tmp/secret
    chmod 444 /var/tmp/secret
    mount -o remount,ro /var/tmp
    exec "$2" --input-type=module --eval "$3" -- "$1/kubernetes/secret" "$1/swarm/secret" "$1/disk/compose" \\
      "$1/disk/b file" "$1/writable/secret" "$1/disk/a file" "$1/disk/folder/secret" /var/tmp/secret`;
  const { status, stdout, stderr } = spawnSync(
    'unshare',
    [...['--mount', '--map-root-user'], ...['sh', '-c', script, 'sh', folder, process.execPath, probe]],
    { encoding: 'utf8' },
  );
  if (status !== 0 && /unshare|mount:|ENOENT/.test(stderr ?? 'ENOENT'))
    return t.skip(`there are no mounts here: ${stderr ?? 'no unshare'}`);
  assert.equal(stderr, '');
  assert.deepEqual(stdout.trim().split('\n'), [
    'kubernetes/secret accepted',
    'swarm/secret accepted',
    'disk/compose accepted',
    'disk/b file accepted',
    'writable/secret open',
    'disk/a file open',
    'disk/folder/secret open',
    '/var/tmp/secret open',
  ]);
});

test('a missing file, a folder and a named pipe in place of a secret are refused at once', async () => {
  const folder = workbench.folder();
  mkdirSync(join(folder, 'folder'), { mode: 0o700 });
  const made = spawnSync('mkfifo', ['-m', '600', join(folder, 'pipe')]);
  const flags = ['--backup-folder', '.', '--backup-passphrase-file'];
  for (const [name, message] of [
    ['missing', 'expected a readable file'],
    ['folder', 'is not a regular file'],
    ...(made.status === 0 ? ([['pipe', 'is not a regular file']] as const) : []),
  ] as const) {
    const { code, stderr } = await grantd(folder, ['config', 'check', ...flags, name]);
    assert.equal(code, 2);
    assert.match(stderr, new RegExp(`^grantd: --backup-passphrase-file: \\S+${name}:? ${message}`, 'm'));
  }
});
