// § refers to RFC 4511.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { type MadeCertificate, newCertificate } from '../../core/test/harness/certificates.ts';
import { freePort } from '../../core/test/harness/free_port.ts';
import { type GivenFlags, readConfiguration } from '../src/config/configuration.ts';
import { ConfigurationRefused } from '../src/config/refused.ts';
import type { Directory } from '../src/directory/contract.ts';
import { dnKey, openDirectory } from '../src/directory/directory.ts';
import { ACCOUNT, DirectoryServer, passwordOf, SUFFIX } from './harness/directory_server.ts';
import { serverCertificate } from './harness/tls.ts';

const folder = mkdtempSync(join(tmpdir(), 'grantd-directory-'));
const opened: Directory[] = [];
let certificate: MadeCertificate;
let server: DirectoryServer;

before(async () => {
  certificate = await serverCertificate();
  writeFileSync(join(folder, 'ca.pem'), certificate.pem.cert);
  writeFileSync(join(folder, 'other-ca.pem'), (await newCertificate()).pem.cert);
  server = await new DirectoryServer({ implicit: certificate }).start();
});
after(async () => {
  for (const directory of opened) directory.close();
  await server.stop();
  rmSync(folder, { recursive: true });
});
beforeEach(() => server.reset());

const urlOf = ({ port }: { readonly port: number }, scheme = 'ldaps') => `${scheme}://localhost:${port}`;

/** Flags of a usable directory. */
const flagsOf = (flags: GivenFlags = {}): GivenFlags => ({
  ldapUrl: urlOf(server),
  ldapCa: join(folder, 'ca.pem'),
  ldapBase: SUFFIX,
  ldapBindDn: ACCOUNT.dn,
  ldapConnectTimeoutMs: '5000',
  ...flags,
});

async function open(flags: GivenFlags = {}, password = ACCOUNT.password): Promise<Directory> {
  const environment = { GRANTD_LDAP_BIND_PASSWORD: password };
  const directory = await openDirectory(readConfiguration(flagsOf(flags), environment), environment);
  assert.ok(directory);
  opened.push(directory);
  return directory;
}

const FAULT = (message: RegExp) => (error: unknown) =>
  error instanceof Error && error.name === 'DirectoryFault' && message.test(error.message);

test('§4.2 the right password brings the entry, with its claims and mapped groups', async () => {
  const staff = `cn=Staff,ou=groups,${SUFFIX}`;
  server.addPerson('ada', {
    ...{ cn: 'Ada Lovelace', givenName: 'Ada', sn: 'Lovelace', mail: 'ada@example.com' },
    memberOf: [staff, `cn=other,ou=groups,${SUFFIX}`],
  });
  const ldapGroups = JSON.stringify({ [`CN=staff, OU=Groups,${SUFFIX}`]: 'employees' });
  const directory = await open({ ldapGroups });
  assert.deepEqual(await directory.authenticate('ada', passwordOf('ada')), {
    user: {
      dn: `uid=ada,ou=people,${SUFFIX}`,
      id: 'id-of-ada',
      names: ['ada'],
      claims: { name: 'Ada Lovelace', given_name: 'Ada', family_name: 'Lovelace', email: 'ada@example.com' },
      groups: ['employees'],
      directoryGroups: [staff, `cn=other,ou=groups,${SUFFIX}`],
      isDisabled: false,
    },
  });
});

test('§4.2 a wrong password, an unknown name and an empty password are refused at the same number of requests', async () => {
  server.addPerson('ada');
  const directory = await open();
  const reasons = [];
  for (const [name, password] of [
    ['ada', 'guessed'],
    ['nobody', 'guessed'],
    ['ada', ''],
    [undefined, 'guessed'],
  ] as const) {
    const before = server.binds.length + server.filters.length;
    const outcome = await directory.authenticate(name, password);
    reasons.push([
      'refused' in outcome && outcome.refused,
      server.binds.length + server.filters.length - before,
    ]);
  }
  assert.deepEqual(reasons, [
    ['password_wrong', 3],
    ['person_unknown', 3],
    ['password_wrong', 3],
    ['person_unknown', 3],
  ]);
});

test('RFC 4513 §5.1.2 an empty password is never sent', async () => {
  server.addPerson('ada');
  const directory = await open();
  assert.deepEqual(await directory.authenticate('ada', ''), { refused: 'password_wrong' });
  assert.deepEqual(server.sentFor('ada'), []);
  assert.ok(server.binds.every(({ password }) => password !== ''));
});

test('RFC 4515 §3 a username cannot change the filter', async () => {
  server.addPerson('ada');
  const directory = await open();
  const injections = [
    '*',
    'a*',
    'ada)(uid=*',
    '*)(objectClass=*',
    'ada)(|(uid=*',
    'x)(!(uid=x',
    '\\2a',
    '{dn}',
    'ad\0a',
  ];
  for (const name of injections) {
    assert.deepEqual(
      await directory.authenticate(name, passwordOf('ada')),
      { refused: 'person_unknown' },
      name,
    );
  }
  assert.deepEqual(
    server.filters.slice(0, 3),
    ['\\2a', 'a\\2a', 'ada\\29\\28uid=\\2a'].map((value) => `(&(objectClass=person)(uid=${value}))`),
  );
  assert.deepEqual(server.sentFor('ada'), []);
});

test('several entries for one name are nobody', async () => {
  server.addPerson('ada', { mail: 'shared@example.com' });
  server.addPerson('bea', { mail: 'shared@example.com' }, passwordOf('ada'));
  const directory = await open({ ldapFilter: '(|(uid={username})(mail={username}))' });
  const outcome = await directory.authenticate('shared@example.com', passwordOf('ada'));
  assert.deepEqual(outcome, { refused: 'directory_entry_ambiguous' });
  assert.ok('user' in (await directory.authenticate('bea', passwordOf('ada'))));
});

test('groups come from a search, if a filter says how', async () => {
  const bob = server.addPerson('bob, the builder');
  server.entries.push(
    {
      dn: `cn=staff,ou=groups,${SUFFIX}`,
      password: '',
      attributes: { objectClass: 'groupOfNames', member: bob.dn },
    },
    {
      dn: `cn=others,ou=groups,${SUFFIX}`,
      password: '',
      attributes: { objectClass: 'groupOfNames', member: 'cn=x' },
    },
  );
  const directory = await open({
    ldapGroupFilter: '(&(objectClass=groupOfNames)(member={dn}))',
    ldapGroupBase: `ou=groups,${SUFFIX}`,
    ldapGroups: JSON.stringify({ [`cn=staff,ou=groups,${SUFFIX}`]: 'staff' }),
  });
  const outcome = await directory.authenticate('bob, the builder', passwordOf('bob, the builder'));
  assert.deepEqual('user' in outcome && outcome.user.groups, ['staff']);
});

test('Active Directory: the identifier is the GUID, and each reason of a refusal has its own', async () => {
  const objectGUID = Buffer.from('33221100554477668899aabbccddeeff', 'hex');
  const account = (name: string, control: string) =>
    server.entries.push({
      dn: `CN=${name},CN=Users,${SUFFIX}`,
      password: passwordOf(name),
      attributes: {
        ...{ objectCategory: 'person', objectClass: ['top', 'person', 'user'], sAMAccountName: name },
        ...{ displayName: name.toUpperCase(), objectGUID, userAccountControl: control },
      },
    });
  for (const [name, control] of [
    ['ada', '512'],
    ['bea', '514'],
    ['cay', '512'],
    ['dee', '512'],
    ['eve', '512'],
    ['fay', '512'],
    ['gus', '512'],
    ['hal', '512'],
    ['ian', '512'],
    ['jim', '512'],
  ] as const)
    account(name, control);
  const data = (code: string) => ({
    code: 49,
    message: `80090308: LdapErr: DSID-0C09044E, comment: AcceptSecurityContext error, data ${code}, v2580`,
  });
  server.refusals.set(`CN=cay,CN=Users,${SUFFIX}`, data('533'));
  server.refusals.set(`CN=dee,CN=Users,${SUFFIX}`, data('773'));
  server.refusals.set(`CN=eve,CN=Users,${SUFFIX}`, data('52e'));
  server.refusals.set(`CN=fay,CN=Users,${SUFFIX}`, data('532'));
  server.refusals.set(`CN=gus,CN=Users,${SUFFIX}`, data('530'));
  server.refusals.set(`CN=hal,CN=Users,${SUFFIX}`, data('531'));
  server.refusals.set(`CN=ian,CN=Users,${SUFFIX}`, data('701'));
  server.refusals.set(`CN=jim,CN=Users,${SUFFIX}`, data('775'));
  const directory = await open({ ldapKind: 'active_directory' });
  const outcome = await directory.authenticate('ada', passwordOf('ada'));
  assert.ok('user' in outcome);
  assert.equal(outcome.user.id, '00112233-4455-6677-8899-aabbccddeeff');
  assert.deepEqual(outcome.user.claims, { name: 'ADA' });
  const refusals = [];
  for (const name of ['bea', 'cay', 'dee', 'eve', 'fay', 'gus', 'hal', 'ian', 'jim'])
    refusals.push(await directory.authenticate(name, passwordOf(name)));
  assert.deepEqual(
    refusals,
    [
      ...['person_disabled', 'person_disabled', 'password_expired', 'password_wrong', 'password_expired'],
      ...['directory_sign_in_restricted', 'directory_sign_in_restricted'],
      ...['person_disabled', 'directory_account_locked'],
    ].map((refused) => ({ refused })),
  );
  // A wrong password says nothing about the state of the account.
  assert.deepEqual(await directory.authenticate('bea', 'guessed'), { refused: 'password_wrong' });
});

test('Active Directory: an entry is found by its GUID, and an account that has expired is disabled', async () => {
  // The test server can only compare text.
  const objectGUID = Buffer.from('abcdefghijklmnop');
  const add = (accountExpires: string) =>
    server.entries.splice(0, 1, {
      dn: `CN=fay,CN=Users,${SUFFIX}`,
      password: passwordOf('fay'),
      attributes: {
        ...{ objectCategory: 'person', objectClass: ['top', 'person', 'user'], sAMAccountName: 'fay' },
        ...{ objectGUID, accountExpires },
      },
    });
  const directory = await open({ ldapKind: 'active_directory' });
  const id = '64636261-6665-6867-696a-6b6c6d6e6f70';
  for (const [expires, isDisabled] of [
    ['0', false],
    ['9223372036854775807', false],
    // 2001-01-01
    ['126227808000000000', true],
  ] as const) {
    add(expires);
    const user = await directory.byId(id);
    assert.deepEqual([user?.id, user?.names, user?.isDisabled], [id, ['fay'], isDisabled]);
  }
  assert.equal(await directory.byId('74636261-6665-6867-696a-6b6c6d6e6f70'), undefined);
});

test('an outage is never a wrong password: no server, no answer in time, a refused account, an unknown base', async () => {
  server.addPerson('ada');
  const attempt = async (flags: GivenFlags, password?: string) =>
    (await open(flags, password)).authenticate('ada', passwordOf('ada'));
  const port = await freePort();
  await assert.rejects(
    attempt({ ldapUrl: urlOf({ port }) }),
    FAULT(/^no connection to the directory: ldaps:/),
  );
  await assert.rejects(attempt({}, 'outdated'), FAULT(/refuses the account cn=grantd,dc=example,dc=com/));
  server.refusals.set(`uid=ada,ou=people,${SUFFIX}`, { code: 51, message: 'busy' });
  await assert.rejects(attempt({}), FAULT(/did not answer as expected: busy/));
  server.refusals.clear();
  server.isSilent = true;
  const began = performance.now();
  await assert.rejects(attempt({ ldapTimeoutMs: '100' }), FAULT(/timed out/));
  assert.ok(performance.now() - began < 4000);
});

test('RFC 4513 §3.1.3 a server without a certificate of a trusted CA for its name gets no password', async () => {
  server.addPerson('ada');
  const attempt = async (flags: GivenFlags) => (await open(flags)).authenticate('ada', passwordOf('ada'));
  await assert.rejects(attempt({ ldapCa: join(folder, 'other-ca.pem') }), FAULT(/self-signed|certificate/));
  await assert.rejects(
    attempt({ ldapUrl: `ldaps://127.0.0.1:${server.port}` }),
    FAULT(/certificate|altnames/),
  );
  assert.deepEqual(server.binds, []);
});

test('§4.14 ldap:// asks for STARTTLS first, and sends no password without it', async () => {
  const upgrading = await new DirectoryServer({ upgrade: certificate }).start();
  const plain = await new DirectoryServer().start();
  try {
    for (const one of [upgrading, plain]) one.addPerson('ada');
    const directory = await open({ ldapUrl: urlOf(upgrading, 'ldap') });
    for (let attempt = 0; attempt < 2; attempt++)
      assert.ok('user' in (await directory.authenticate('ada', passwordOf('ada'))));
    assert.deepEqual(
      [upgrading.binds.length, upgrading.binds.every(({ isEncrypted }) => isEncrypted)],
      [4, true],
    );
    const other = await open({ ldapUrl: urlOf(plain, 'ldap') });
    await assert.rejects(
      other.authenticate('ada', passwordOf('ada')),
      FAULT(/no connection to the directory/),
    );
    assert.deepEqual(plain.binds, []);
    const local = await open({ ldapUrl: urlOf(plain, 'ldap'), ldapTls: 'off', ldapCa: undefined });
    assert.ok('user' in (await local.authenticate('ada', passwordOf('ada'))));
  } finally {
    await upgrading.stop();
    await plain.stop();
  }
});

test('§4.14 what an attacker puts before the TLS handshake is no answer', async () => {
  // Successful binds (§4.2.2) for every early message; the last one ends with the first byte that arrives over TLS.
  const success = (id: number) => Buffer.from([48, 12, 2, 1, id, 97, 7, 10, 1, 0, 4, 0, 4, 0]);
  const cutOff = (id: number) => Buffer.from([48, 13, 2, 1, id, 97, 8, 10, 1, 0, 4, 0, 4, 1]);
  for (const id of [2, 3]) {
    const injected = Buffer.concat([success(1), success(2), success(3), success(4), cutOff(id)]);
    const attacked = await new DirectoryServer({ upgrade: certificate, injected }).start();
    try {
      attacked.addPerson('ada');
      const directory = await open({ ldapUrl: urlOf(attacked, 'ldap') }, 'outdated');
      await assert.rejects(directory.authenticate('ada', 'guessed'), FAULT(/./));
    } finally {
      await attacked.stop();
    }
  }
});

test('the next server is asked if one is away, and stays the first', async () => {
  server.addPerson('ada');
  const away = await freePort();
  const directory = await open({ ldapUrl: `${urlOf({ port: away })},${urlOf(server)}` });
  assert.ok('user' in (await directory.authenticate('ada', passwordOf('ada'))));
});

test('connections are reused, limited in number, and replaced when the directory has closed them', async () => {
  server.addPerson('ada');
  const directory = await open({ ldapConnections: '2' });
  server.connections.most = server.connections.now;
  const before = server.connections.now;
  server.delayMs = 10;
  const many = Array.from({ length: 12 }, () => directory.authenticate('ada', passwordOf('ada')));
  assert.ok((await Promise.all(many)).every((outcome) => 'user' in outcome));
  assert.equal(server.connections.most - before, 2);
  server.drop();
  assert.ok('user' in (await directory.authenticate('ada', passwordOf('ada'))));
});

test('a sign-in waits for a free connection no longer than the time limit', async () => {
  server.addPerson('ada');
  const directory = await open({ ldapConnections: '1', ldapTimeoutMs: '200' });
  assert.ok('user' in (await directory.authenticate('ada', passwordOf('ada'))));
  server.isSilent = true;
  const outcomes = await Promise.allSettled(
    Array.from({ length: 80 }, () => directory.authenticate('ada', passwordOf('ada'))),
  );
  assert.ok(outcomes.every(({ status }) => status === 'rejected'));
  server.isSilent = false;
  assert.ok('user' in (await directory.authenticate('ada', passwordOf('ada'))), 'the pool has recovered');
});

test('a password that its user must change signs nobody in, and the password policy tells the reason', async () => {
  const cases: readonly (readonly [value: string, code: number, refused: string | undefined])[] = [
    // A reset, two grace logins, an expired password, and a locked account.
    ['3003810102', 0, 'password_expired'],
    ['3005a003810102', 0, 'password_expired'],
    ['3003810100', 49, 'password_expired'],
    ['3003810101', 49, 'directory_account_locked'],
    // A password that expires in 90 seconds, and nothing to say.
    ['3005a00380015a', 0, undefined],
    ['3000', 0, undefined],
    ['3000', 49, 'password_wrong'],
  ];
  const { dn } = server.addPerson('ada');
  const directory = await open();
  for (const [value, code, refused] of cases) {
    server.policies.set(dn, Buffer.from(value, 'hex'));
    server.refusals.clear();
    if (code !== 0) server.refusals.set(dn, { code });
    const outcome = await directory.authenticate('ada', passwordOf('ada'));
    assert.equal('refused' in outcome ? outcome.refused : undefined, refused, `${value} with ${code}`);
  }
});

test('an identifier can have any bytes, and finds its entry', async () => {
  // The test server can only compare text.
  for (const [attribute, value, id] of [
    ['GUID', Buffer.from('00ff80c3', 'hex'), 'hex:00ff80c3'],
    ['GUID', Buffer.from('ABCD'), 'hex:41424344'],
    ['customId', Buffer.from('c328a0a1', 'hex'), 'hex:c328a0a1'],
    ['customId', Buffer.from('a\0b'), 'hex:610062'],
    ['customId', 'hex:41', 'hex:6865783a3431'],
    ['customId', 'Émile-1', 'émile-1'],
  ] as const) {
    server.reset();
    server.addPerson('ada', { [attribute]: value });
    const directory = await open({ ldapIdAttribute: attribute });
    const outcome = await directory.authenticate('ada', passwordOf('ada'));
    assert.equal('user' in outcome ? outcome.user.id : outcome.refused, id);
    const isComparable = /^[ -~]+$/.test(String(value)) && !id.startsWith('hex:68');
    if (isComparable) assert.equal((await directory.byId(id))?.id, id, id);
  }
});

test('a password is in no error', async () => {
  server.addPerson('ada');
  server.refusals.set(`uid=ada,ou=people,${SUFFIX}`, { code: 80, message: 'other' });
  const error: unknown = await (await open()).authenticate('ada', passwordOf('ada')).catch((fault) => fault);
  assert.doesNotMatch(
    JSON.stringify(error, Object.getOwnPropertyNames(error)),
    /password of ada|service-secret/,
  );
});

test('the start names the option that is wrong', async () => {
  const refusals: readonly [GivenFlags, RegExp][] = [
    [{ ldapFilter: '(uid={username}' }, /^--ldap-filter: expected a valid filter/],
    [{ ldapGroupFilter: '&(member={dn})(' }, /^--ldap-group-filter: expected a valid filter/],
    [
      { ldapTls: 'off', ldapUrl: 'ldap://ldap.example.com' },
      /^--ldap-tls: expected required, because ldap:\/\/ldap\.example\.com/,
    ],
    [{ ldapTls: 'off' }, /^--ldap-tls: expected required, because ldaps:/],
    [{ ldapCa: join(folder, 'absent.pem') }, /^--ldap-ca: .*absent\.pem: expected a readable file/],
    [{ ldapGroups: '{"x=":"staff"}' }, /^--ldap-groups: expected distinguished names/],
    [{ ldapBindPasswordFile: join(folder, 'ca.pem') }, /^--ldap-bind-password-file: expected only one of it/],
  ];
  for (const [flags, message] of refusals)
    await assert.rejects(
      open(flags),
      (error) => error instanceof ConfigurationRefused && message.test(error.message),
    );
  const bare = readConfiguration(flagsOf(), {});
  await assert.rejects(
    openDirectory(bare, {}),
    /^ConfigurationRefused: --ldap-bind-dn: expected a password with it/,
  );
  writeFileSync(join(folder, 'open'), 'secret', { mode: 0o644 });
  const exposed = readConfiguration(flagsOf({ ldapBindPasswordFile: join(folder, 'open') }), {});
  await assert.rejects(openDirectory(exposed, {}), /--ldap-bind-password-file: .* is open to others/);
});

test('RFC 4514 §2 spellings of one distinguished name are the same', () => {
  const key = dnKey('CN=Smith\\, John + OU=x,dc=Example ,DC=com');
  assert.equal(
    dnKey('cn=smith\\2c John+ou=X, DC=example,dc=COM'),
    dnKey('cn=smith\\, john+ou=x,dc=example,dc=com'),
  );
  assert.notEqual(key, undefined);
  assert.equal(dnKey('cn=M\\C3\\BCller,dc=com'), dnKey('CN=müller,DC=com'));
  assert.equal(dnKey('cn=Mu\u0308ller\\20,dc=com'), dnKey('cn=m\u00fcller,dc=com'), 'RFC 4518 §2.3, §2.6.1');
  assert.notEqual(dnKey('cn=a\\,dc=b,dc=com'), dnKey('cn=a,dc=b,dc=com'));
  // A decoded backslash escapes nothing.
  assert.equal(dnKey('cn=sta\\5Cff,dc=com'), dnKey('cn=sta\\\\ff,dc=com'));
  for (const other of ['sta\\5Cff', 'sta\\\\ff', '\\5C73taff', '\\\\staff'])
    assert.notEqual(dnKey(`cn=${other},dc=com`), dnKey('cn=staff,dc=com'), other);
  // The values of a relative name are a set.
  assert.equal(dnKey('ou=x+cn=a,dc=com'), dnKey('CN=a + OU=X,dc=com'));
  assert.notEqual(dnKey('cn=a\\+ou=x,dc=com'), dnKey('cn=a+ou=x,dc=com'));
  for (const text of ['', 'staff', 'cn=', '=x', 'cn=a,staff', 'cn=a+staff'])
    assert.equal(dnKey(text), undefined, text);
});
