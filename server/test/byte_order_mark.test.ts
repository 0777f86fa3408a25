// Some editors begin every file with a byte order mark.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parsedFile } from '../src/config/parsed_file.ts';
import { readPrivateText } from '../src/config/private_file.ts';
import { readTextFile } from '../src/config/text_file.ts';
import { identitiesIn } from '../src/data/backup_file.ts';
import { readSecretFile, secretFileOf } from '../src/data/secrets.ts';
import { PasswordHasher } from '../src/people/password_hasher.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { Workbench } from './harness/program.ts';
import { serverCertificate } from './harness/tls.ts';

const MARK = '\ufeff';
const workbench = new Workbench();
after(() => workbench.clear());

/** Files that no operator writes, or that contain no text. */
const NOT_WRITTEN_BY_OPERATORS: Readonly<Record<string, string>> = {
  'cli/help_pages.ts': 'the documentation of the program',
  'cli/user_files.ts': 'files of users, decoded without the mark',
  'config/picture.ts': 'pictures and fonts, and bytes for parsed_file.ts',
  'config/private_file.ts': 'keys, without the mark, and files of the kernel',
  'config/text_file.ts': 'the function that removes the mark',
  'console/chart_library.ts': 'a file of a package',
  'data/backup.ts': 'a secret that the program itself has written',
  'data/backup_file.ts': 'the start of a sealed file',
  'serve/thread_priorities.ts': 'a file of the kernel',
  'serve/tls.ts': 'certificates, without the mark',
};

test('every text file of an operator is read by the function that removes the mark', () => {
  const folder = join(import.meta.dirname, '..', 'src');
  const reading = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .filter((file) =>
      /\b(readFileSync|createReadStream|readSync)\(/.test(readFileSync(join(folder, file), 'utf8')),
    );
  assert.deepEqual(reading.sort(), Object.keys(NOT_WRITTEN_BY_OPERATORS).sort());
});

test('a file with a mark has the same text as one without', () => {
  const folder = workbench.folder();
  const written = (name: string, content: string) => {
    writeFileSync(join(folder, name), MARK + content, { mode: 0o600 });
    return join(folder, name);
  };
  assert.equal(readTextFile(written('plain', 'text')), 'text');
  assert.equal(readTextFile(written('empty', '')), '');
  assert.equal(readTextFile(written('inside', `a${MARK}b`)), `a${MARK}b`, 'a mark elsewhere is a character');
  assert.deepEqual(parsedFile(written('theme.yaml', 'color: "#123456"\n'), 'theme', 1024), {
    color: '#123456',
  });
  assert.equal(readPrivateText(written('password', 'hunter2\n'), 'file'), 'hunter2');
  const identity = `AGE-SECRET-KEY-${'1'.repeat(59)}`;
  assert.deepEqual(identitiesIn(written('identity', `${identity}\n`)), [identity]);
  const secret = 's'.repeat(43);
  writeFileSync(secretFileOf(join(folder, 'grantd.db')), `${MARK}${secret}\n`, { mode: 0o600 });
  assert.deepEqual(readSecretFile(join(folder, 'grantd.db')), [secret]);
});

test('text in UTF-16, as older PowerShells write it, is read like UTF-8, also by an import', async () => {
  const folder = workbench.folder();
  const little = Buffer.from(`${MARK}{"username":"änn"}\n`, 'utf16le');
  const big = Buffer.from(little).swap16();
  for (const bytes of [little, big, Buffer.concat([little, Buffer.from([0])])]) {
    writeFileSync(join(folder, 'text'), bytes);
    assert.equal(readTextFile(join(folder, 'text')), '{"username":"änn"}\n');
    const imported = await grantd(folder, ['user', 'import', 'text', '--create', '--dry-run']);
    assert.match(imported.stdout, /^1 would be imported/, imported.stderr);
  }
});

test('configuration, providers, certificates, clients, users and standard input may begin with a mark', async () => {
  const folder = workbench.folder();
  mkdirSync(join(folder, 'grantd-data'));
  const write = (name: string, content: string) => {
    writeFileSync(join(folder, name), MARK + content, { mode: 0o600 });
    return name;
  };
  const { cert, key } = (await serverCertificate()).pem;
  write('tls.crt', cert);
  write('tls.key', key);
  write('provider-secret', 'a secret of the provider');
  write(
    'providers.json',
    JSON.stringify({
      google: { kind: 'google', client_id: 'us', client_secret: { file: 'provider-secret' } },
    }),
  );
  const options = { issuer: 'https://localhost', providers: 'providers.json' };
  write('grantd.json', JSON.stringify({ ...options, tlsCertificate: 'tls.crt', tlsKey: 'tls.key' }));
  await grantdPrints(folder, ['config', 'check', '--config', 'grantd.json']);

  write('people.jsonl', '{"username":"ann"}\n');
  write('realm.json', JSON.stringify({ users: [{ id: 'b', username: 'bea' }] }));
  write('auth0.json', JSON.stringify({ user_id: 'c', username: 'cat' }));
  write('kratos.json', JSON.stringify([{ id: 'd', traits: { username: 'dot' } }]));
  for (const [file, format] of [
    ['people.jsonl', 'grantd'],
    ['realm.json', 'keycloak'],
    ['auth0.json', 'auth0'],
    ['kratos.json', 'kratos'],
  ] as const)
    await grantdPrints(folder, ['user', 'import', file, '--format', format]);
  write('state.yaml', 'groups: {staff: {members: [ann]}}\n');
  await grantdPrints(folder, ['apply', '--file', 'state.yaml', '--yes']);
  await grantdPrints(folder, ['user', 'set-password', 'ann', '--password-stdin'], `${MARK}correct horse`);
  const [ann] = (await grantdPrints(folder, ['user', 'export', '--with-password-hashes'])).split('\n');
  const { password_hash: hash } = JSON.parse(ann ?? '{}');
  // The hash says the full cost. In the tests, programs compute the lowest.
  const cheap = hash.replace('m=65536,t=3', 'm=32,t=1');
  assert.equal((await new PasswordHasher().check('correct horse', cheap)).fits, true);
  await grantdPrints(folder, ['user', 'import', '-'], `${MARK}{"username":"eli"}\n`);
  const users = JSON.parse(await grantdPrints(folder, ['user', 'list', '--json']));
  assert.deepEqual(
    users.map(({ username }: { username: string }) => username),
    ['ann', 'bea', 'cat', 'dot', 'eli'],
  );
  write('keys.json', '{"keys":[]}');
  const { stderr } = await grantd(folder, ['client', 'add', 'web', '--jwks', 'keys.json']);
  assert.doesNotMatch(stderr, /JSON/, stderr);
});
