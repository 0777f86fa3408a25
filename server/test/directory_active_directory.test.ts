// The directory against a real domain controller of Active Directory: Samba’s, as Debian has it. Skipped without root,
// because its ports are fixed (389, 636), or if Samba is absent:
//     apt-get install samba-ad-dc samba-ad-provision
import assert from 'node:assert/strict';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { Attribute, Change, Client } from 'ldapts';
import { newCertificate } from '../../core/test/harness/certificates.ts';
import { type GivenFlags, readConfiguration } from '../src/config/configuration.ts';
import type { DirectoryEntry, SearchableDirectory } from '../src/directory/contract.ts';
import { openDirectory } from '../src/directory/directory.ts';
import { listens } from './harness/listening.ts';
import { serverCertificate } from './harness/tls.ts';

/** Part of loopback, so that it does not collide with another directory of this machine. */
const HOST = '127.0.0.66';
const BASE = 'DC=ad,DC=example,DC=com';
const USERS = `OU=Staff,${BASE}`;
const ADMIN_PASSWORD = 'Adm1n-of-the-domain';
const ACCOUNT = { dn: 'grantd@ad.example.com', password: 'S3rvice-account' };
const PASSWORD = 'Right-pass-1';

/** Also finds users who are in a group through another group (LDAP_MATCHING_RULE_IN_CHAIN). */
const NESTED = '(member:1.2.840.113556.1.4.1941:={dn})';
const BOTH_NAMES =
  '(&(objectCategory=person)(objectClass=user)(|(sAMAccountName={username})(userPrincipalName={username})))';

const PARTS = ['/usr/sbin/samba', '/usr/bin/samba-tool', '/usr/share/samba/setup/ad-schema'];
const ABSENCE = !PARTS.every((path) => existsSync(path))
  ? 'Samba’s domain controller is not installed (apt-get install samba-ad-dc samba-ad-provision)'
  : process.getuid?.() !== 0
    ? 'the ports of a domain controller need root'
    : false;

describe('Active Directory', { skip: ABSENCE }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-ad-'));
  const opened: SearchableDirectory[] = [];
  let controller: ChildProcess;
  let admin: Client;
  before(async () => {
    const names = [
      { type: 'dns', value: 'dc1.ad.example.com' },
      { type: 'ip', value: HOST },
    ] as const;
    const { pem } = await newCertificate({ subject: [{ CN: ['dc1.ad.example.com'] }], names: [...names] });
    writeFileSync(join(folder, 'cert.pem'), pem.cert);
    writeFileSync(join(folder, 'other.pem'), (await serverCertificate()).pem.cert);
    writeFileSync(join(folder, 'key.pem'), pem.key, { mode: 0o600 });
    await provision(folder);
    controller = startController(folder);
    await listens(636, HOST);
    admin = new Client({ url: `ldaps://${HOST}`, tlsOptions: { ca: pem.cert } });
    await admin.bind('Administrator@ad.example.com', ADMIN_PASSWORD);
    await addEntries(admin);
  });
  after(async () => {
    for (const directory of opened) directory.close();
    await admin?.unbind();
    if (controller?.exitCode === null) {
      const gone = new Promise((resolve) => controller.once('exit', resolve));
      controller.kill('SIGKILL');
      await gone;
    }
    rmSync(folder, { recursive: true });
  });

  async function open(flags: GivenFlags = {}): Promise<SearchableDirectory> {
    const environment = { GRANTD_LDAP_BIND_PASSWORD: ACCOUNT.password };
    const given = {
      ldapKind: 'active_directory',
      ldapUrl: `ldaps://${HOST}`,
      ldapCa: join(folder, 'cert.pem'),
      ldapBindDn: ACCOUNT.dn,
      ldapBase: BASE,
      ldapConnectTimeoutMs: '10000',
      ldapTimeoutMs: '10000',
      ldapGroups: JSON.stringify({ [`CN=Everyone at work,${USERS}`]: 'work', [`CN=Team,${USERS}`]: 'team' }),
      ...flags,
    };
    const directory = await openDirectory(readConfiguration(given, environment), environment);
    assert.ok(directory);
    opened.push(directory);
    return directory;
  }

  const outcomes = async (
    directory: SearchableDirectory,
    attempts: readonly (readonly [string, string])[],
  ) => {
    const seen = [];
    for (const [name, password] of attempts) {
      const outcome = await directory.authenticate(name, password);
      seen.push('user' in outcome ? outcome.user.names : outcome.refused);
    }
    return seen;
  };

  for (const [how, flags] of [
    ['ldaps', {}],
    ['STARTTLS', { ldapUrl: `ldap://${HOST}` }],
    ['the global catalog', { ldapUrl: `ldaps://${HOST}:3269` }],
  ] as const)
    test(`a user of a domain signs in over ${how}, below the root of the domain with its referrals`, async () => {
      const directory = await open(flags);
      const outcome = await directory.authenticate('bob', PASSWORD);
      assert.ok('user' in outcome, JSON.stringify(outcome));
      const { id, ...user } = outcome.user;
      assert.match(id, /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      assert.deepEqual(user, {
        dn: `CN=bob,${USERS}`,
        names: ['bob'],
        claims: { name: 'Bob Builder', given_name: 'Bob', family_name: 'Builder', email: 'bob@example.com' },
        groups: ['team'],
        directoryGroups: [`CN=Team,${USERS}`],
        isDisabled: false,
      });
      assert.deepEqual(
        await outcomes(directory, [
          ['bob', 'guessed'],
          ['bob', ''],
          ...['nobody', 'b*', '*)(sAMAccountName=bob', 'bob@ad.example.com'].map(
            (name) => [name, PASSWORD] as const,
          ),
        ]),
        ['password_wrong', 'password_wrong', ...Array(4).fill('person_unknown')],
      );
    });

  test('the account that searches is named by its user principal name, domain or distinguished name', async () => {
    for (const ldapBindDn of ['AD\\grantd', `CN=grantd,${USERS}`])
      assert.deepEqual(await outcomes(await open({ ldapBindDn }), [['bob', PASSWORD]]), [['bob']]);
  });

  test('a search below the root of the domain brings referrals, and they are left alone', async () => {
    const { searchReferences } = await admin.search(BASE, { filter: '(sAMAccountName=bob)' });
    assert.ok(searchReferences.length > 0);
    assert.deepEqual(await outcomes(await open(), [['bob', PASSWORD]]), [['bob']]);
  });

  test('a filter with both names finds a user by sAMAccountName and by userPrincipalName, in any case', async () => {
    const directory = await open({ ldapFilter: BOTH_NAMES });
    assert.deepEqual(
      await outcomes(directory, [
        ['bob', PASSWORD],
        ['BOB', PASSWORD],
        ['Bob@AD.example.com', PASSWORD],
        ['bob@ad.example.com', 'guessed'],
      ]),
      [['bob'], ['bob'], ['bob'], 'password_wrong'],
    );
  });

  test('a matching rule finds groups through groups, for the claims and for who may sign in', async () => {
    const nested = await open({ ldapGroupFilter: NESTED });
    const outcome = await nested.authenticate('bob', PASSWORD);
    assert.deepEqual('user' in outcome && outcome.user.groups, ['team', 'work']);
    const limited = await open({
      ldapFilter: `(&(sAMAccountName={username})(memberOf:1.2.840.113556.1.4.1941:=CN=Everyone at work,${USERS}))`,
    });
    assert.deepEqual(
      await outcomes(limited, [
        ['bob', PASSWORD],
        ['ivy', PASSWORD],
      ]),
      [['bob'], 'person_unknown'],
    );
  });

  test('each state of an account has its reason, and a wrong password tells none', async () => {
    const directory = await open();
    const states = {
      carol: 'person_disabled',
      dora: 'password_expired',
      gina: 'person_disabled',
      hank: 'directory_sign_in_restricted',
    };
    for (const [name, reason] of Object.entries(states))
      assert.deepEqual(
        await outcomes(directory, [
          [name, PASSWORD],
          [name, 'guessed'],
        ]),
        [reason, 'password_wrong'],
        name,
      );
  });

  test('an account that wrong passwords have locked is refused, and its reason is in the log only', async () => {
    const directory = await open();
    assert.deepEqual(
      await outcomes(directory, [
        ['erin', 'guessed'],
        ['erin', PASSWORD],
        ['erin', 'guessed'],
      ]),
      ['password_wrong', 'directory_account_locked', 'directory_account_locked'],
    );
  });

  test('objectGUID stays the same when an account is renamed and moved, and tells when it is disabled or removed', async () => {
    const directory = await open();
    const [before] = await directory.find('ivy');
    assert.ok(before);
    const moved = `CN=ivy.jones,CN=Users,${BASE}`;
    await admin.modifyDN(`CN=ivy,${USERS}`, moved);
    await change(admin, moved, 'sAMAccountName', 'ivy.jones');
    const after = (await directory.byId(before.id)) as DirectoryEntry | undefined;
    assert.deepEqual([after?.dn, after?.names, after?.isDisabled], [moved, ['ivy.jones'], false]);
    await change(admin, moved, 'userAccountControl', '514');
    assert.equal((await directory.byId(before.id))?.isDisabled, true);
    await admin.del(moved);
    assert.equal(await directory.byId(before.id), undefined);
  });

  test('a refused account, a base outside of the domain and an untrusted certificate are outages', async () => {
    for (const flags of [
      { ldapBindDn: 'stranger@ad.example.com' },
      { ldapBase: 'DC=other,DC=example,DC=org' },
      { ldapCa: join(folder, 'other.pem') },
    ])
      await assert.rejects((await open(flags)).authenticate('bob', PASSWORD), { name: 'DirectoryFault' });
  });
});

/** Makes a domain. It keeps everything in the folder. */
async function provision(folder: string): Promise<void> {
  const run = promisify(execFile);
  await run('samba-tool', [
    ...['domain', 'provision', `--targetdir=${folder}`, '--quiet', '--dns-backend=NONE'],
    ...['--realm=AD.EXAMPLE.COM', '--domain=AD', '--host-name=dc1', `--host-ip=${HOST}`, '--server-role=dc'],
    `--adminpass=${ADMIN_PASSWORD}`,
  ]);
}

/** Only LDAP, and only at the address of the test. */
function startController(folder: string): ChildProcess {
  const options = {
    interfaces: `${HOST}/8`,
    'bind interfaces only': 'yes',
    'server services': 'ldap',
    'tls certfile': join(folder, 'cert.pem'),
    'tls keyfile': join(folder, 'key.pem'),
    'tls cafile': '',
    'log file': join(folder, 'log.%m'),
    'ncalrpc dir': join(folder, 'ncalrpc'),
    'pid directory': folder,
    'winbindd socket directory': join(folder, 'winbindd'),
    'ntp signd socket directory': join(folder, 'ntp'),
  };
  return spawn(
    '/usr/sbin/samba',
    [
      ...['--foreground', '--model=single', '--no-process-group', '--debug-stdout'],
      `--configfile=${join(folder, 'etc', 'smb.conf')}`,
      ...Object.entries(options).map(([name, value]) => `--option=${name}=${value}`),
    ],
    { stdio: 'ignore' },
  );
}

async function addEntries(admin: Client): Promise<void> {
  const enabled = { userAccountControl: '512' };
  const people: Readonly<Record<string, Record<string, string>>> = {
    grantd: enabled,
    bob: { ...enabled, mail: 'bob@example.com', givenName: 'Bob', sn: 'Builder', displayName: 'Bob Builder' },
    carol: { userAccountControl: '514' },
    dora: { ...enabled, pwdLastSet: '0' },
    erin: enabled,
    // 2001-01-01
    gina: { ...enabled, accountExpires: '126227808000000000' },
    hank: enabled,
    ivy: enabled,
  };
  await admin.add(USERS, { objectClass: 'organizationalUnit', ou: 'Staff' });
  for (const [name, attributes] of Object.entries(people))
    await admin.add(`CN=${name},${USERS}`, {
      objectClass: 'user',
      sAMAccountName: name,
      userPrincipalName: `${name}@ad.example.com`,
      unicodePwd: Buffer.from(`"${name === 'grantd' ? ACCOUNT.password : PASSWORD}"`, 'utf16le'),
      ...attributes,
    } as never);
  const group = (name: string, member: string) =>
    admin.add(`CN=${name},${USERS}`, { objectClass: 'group', sAMAccountName: name, member });
  await group('Team', `CN=bob,${USERS}`);
  await group('Everyone at work', `CN=Team,${USERS}`);
  // A policy of a group of users: one wrong password locks an account.
  await admin.add(`CN=locks,CN=Password Settings Container,CN=System,${BASE}`, {
    objectClass: 'msDS-PasswordSettings',
    'msDS-PSOAppliesTo': `CN=erin,${USERS}`,
    'msDS-PasswordSettingsPrecedence': '1',
    'msDS-PasswordReversibleEncryptionEnabled': 'FALSE',
    'msDS-PasswordHistoryLength': '0',
    'msDS-PasswordComplexityEnabled': 'FALSE',
    'msDS-MinimumPasswordLength': '1',
    'msDS-MinimumPasswordAge': '0',
    'msDS-MaximumPasswordAge': '-9223372036854775808',
    'msDS-LockoutThreshold': '1',
    'msDS-LockoutObservationWindow': '-18000000000',
    'msDS-LockoutDuration': '-18000000000',
  });
  await change(admin, `CN=hank,${USERS}`, 'logonHours', Buffer.alloc(21));
}

function change(admin: Client, dn: string, type: string, value: string | Buffer): Promise<void> {
  const modification = new Attribute({ type, values: [value] as string[] | Buffer[] });
  return admin.modify(dn, new Change({ operation: 'replace', modification }));
}
