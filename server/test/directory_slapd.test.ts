// The directory against OpenLDAP as Debian has it. Skipped if slapd is absent: apt-get install slapd
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Attribute, Change, Client } from 'ldapts';
import { freePort } from '../../core/test/harness/free_port.ts';
import { type GivenFlags, readConfiguration } from '../src/config/configuration.ts';
import type { Directory } from '../src/directory/contract.ts';
import { openDirectory } from '../src/directory/directory.ts';
import { SUFFIX } from './harness/directory_server.ts';
import { listens } from './harness/listening.ts';
import { serverCertificate } from './harness/tls.ts';

const SLAPD = '/usr/sbin/slapd';
const SCHEMAS = '/etc/ldap/schema';
const ABSENCE =
  existsSync(SLAPD) && existsSync(SCHEMAS) ? false : 'slapd is not installed (apt-get install slapd)';

const ADMIN = { dn: `cn=admin,${SUFFIX}`, password: 'admin-secret' };
const ACCOUNT = { dn: `cn=grantd,${SUFFIX}`, password: 'service-secret' };

/** A username with every character that filters and distinguished names treat specially. */
const AWKWARD = 'o\\neil, (the) *=+"ü<;#';

describe('OpenLDAP', { skip: ABSENCE }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-slapd-'));
  const opened: Directory[] = [];
  let slapd: ChildProcess;
  let ports: { readonly plain: number; readonly tls: number };
  before(async () => {
    const { pem } = await serverCertificate();
    writeFileSync(join(folder, 'cert.pem'), pem.cert);
    writeFileSync(join(folder, 'key.pem'), pem.key, { mode: 0o600 });
    mkdirSync(join(folder, 'data'));
    writeFileSync(join(folder, 'slapd.conf'), configuration(folder));
    ports = { plain: await freePort(), tls: await freePort() };
    const urls = `ldap://127.0.0.1:${ports.plain}/ ldaps://127.0.0.1:${ports.tls}/`;
    slapd = spawn(SLAPD, ['-f', join(folder, 'slapd.conf'), '-h', urls, '-d', '0'], { stdio: 'ignore' });
    await listens(ports.tls);
    await addEntries(`ldap://127.0.0.1:${ports.plain}`);
  });
  after(async () => {
    for (const directory of opened) directory.close();
    const gone = new Promise((resolve) => slapd.once('exit', resolve));
    slapd.kill('SIGKILL');
    await gone;
    rmSync(folder, { recursive: true });
  });

  async function open(flags: GivenFlags = {}): Promise<Directory> {
    const environment = { GRANTD_LDAP_BIND_PASSWORD: ACCOUNT.password };
    const given = {
      ldapUrl: `ldaps://localhost:${ports.tls}`,
      ldapCa: join(folder, 'cert.pem'),
      ldapBindDn: ACCOUNT.dn,
      ldapBase: `ou=people,${SUFFIX}`,
      ldapConnectTimeoutMs: '10000',
      ldapTimeoutMs: '10000',
      ldapGroups: JSON.stringify({ [`cn=Staff, ou=groups,${SUFFIX}`]: 'employees' }),
      ...flags,
    };
    const directory = await openDirectory(readConfiguration(given, environment), environment);
    assert.ok(directory);
    opened.push(directory);
    return directory;
  }

  for (const [how, flags] of [
    ['ldaps, with memberOf', () => ({})],
    [
      'STARTTLS, with a search for groups',
      () => ({
        ldapUrl: `ldap://localhost:${ports.plain}`,
        ldapGroupBase: `ou=groups,${SUFFIX}`,
        ldapGroupFilter: '(&(objectClass=groupOfNames)(member={dn}))',
      }),
    ],
  ] as const)
    test(`a user signs in over ${how}`, async () => {
      const directory = await open(flags());
      const outcome = await directory.authenticate('bob', 'password of bob');
      assert.ok('user' in outcome, JSON.stringify(outcome));
      const { id, ...user } = outcome.user;
      assert.match(id, /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      assert.deepEqual(user, {
        dn: `uid=bob,ou=people,${SUFFIX}`,
        names: ['bob'],
        claims: { name: 'Bob Builder', family_name: 'Builder', email: 'bob@example.com' },
        groups: ['employees'],
        directoryGroups: [`cn=staff,ou=groups,${SUFFIX}`],
        isDisabled: false,
      });
      const refusals = [];
      for (const [name, password] of [
        ['bob', 'guessed'],
        ['bob', ''],
        ['nobody', 'password of bob'],
        ['b*', 'password of bob'],
        ['*)(uid=bob', 'password of bob'],
      ] as const)
        refusals.push(await directory.authenticate(name, password));
      assert.deepEqual(
        refusals.map((one) => 'refused' in one && one.refused),
        ['password_wrong', 'password_wrong', ...Array(3).fill('person_unknown')],
      );
    });

  test('a username may have every character, in the filter and in the distinguished name', async () => {
    const directory = await open({
      ldapGroupBase: `ou=groups,${SUFFIX}`,
      ldapGroupFilter: '(&(objectClass=groupOfNames)(member={dn}))',
    });
    const outcome = await directory.authenticate(AWKWARD, 'password of o');
    assert.deepEqual('user' in outcome && [outcome.user.names, outcome.user.groups], [
      [AWKWARD],
      ['employees'],
    ]);
    assert.deepEqual(await directory.authenticate(AWKWARD, 'guessed'), { refused: 'password_wrong' });
  });

  test('a password policy refuses a reset password, a grace login and a locked account, each with its reason', async () => {
    const directory = await open();
    const outcomeOf = async (uid: string, password = `password of ${uid}`) => {
      const outcome = await directory.authenticate(uid, password);
      return 'refused' in outcome ? outcome.refused : 'signed in';
    };
    assert.equal(await outcomeOf('reset'), 'signed in');
    await resetPassword(`ldap://127.0.0.1:${ports.plain}`, `uid=reset,ou=people,${SUFFIX}`);
    assert.equal(await outcomeOf('reset'), 'password_expired');
    // The password ages within a second.
    let outcome = await outcomeOf('aged');
    while (outcome === 'signed in') {
      await new Promise((resolve) => setTimeout(resolve, 100));
      outcome = await outcomeOf('aged');
    }
    // Two grace logins, and none.
    assert.deepEqual(
      [outcome, await outcomeOf('aged'), await outcomeOf('aged')],
      Array(3).fill('password_expired'),
    );
    assert.deepEqual(
      [await outcomeOf('locked', 'wrong'), await outcomeOf('locked', 'wrong'), await outcomeOf('locked')],
      ['password_wrong', 'directory_account_locked', 'directory_account_locked'],
    );
  });

  test('a refused account and an unknown base are outages', async () => {
    for (const flags of [{ ldapBindDn: `cn=stranger,${SUFFIX}` }, { ldapBase: `ou=absent,${SUFFIX}` }])
      await assert.rejects((await open(flags)).authenticate('bob', 'password of bob'), {
        name: 'DirectoryFault',
      });
  });
});

function configuration(folder: string): string {
  return `
include ${SCHEMAS}/core.schema
include ${SCHEMAS}/cosine.schema
include ${SCHEMAS}/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload memberof
moduleload ppolicy
pidfile ${folder}/slapd.pid
TLSCertificateFile ${folder}/cert.pem
TLSCertificateKeyFile ${folder}/key.pem
database mdb
suffix "${SUFFIX}"
rootdn "${ADMIN.dn}"
rootpw ${ADMIN.password}
directory ${folder}/data
overlay memberof
overlay ppolicy
ppolicy_use_lockout
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="${ACCOUNT.dn}" read by anonymous auth by * none
`;
}

const policy = (cn: string, attributes: Record<string, string>) => ({
  ...{ objectClass: ['device', 'pwdPolicy'], cn, pwdAttribute: 'userPassword' },
  ...attributes,
});

/** Policies of users of the same name. */
const POLICIES: Readonly<Record<string, Record<string, string | string[]>>> = {
  reset: policy('reset', { pwdMustChange: 'TRUE' }),
  aged: policy('aged', { pwdMaxAge: '1', pwdGraceAuthNLimit: '2' }),
  locked: policy('locked', { pwdLockout: 'TRUE', pwdMaxFailure: '1', pwdLockoutDuration: '600' }),
};

function policyOf(uid: string): string {
  return `cn=${uid},ou=policies,${SUFFIX}`;
}

/** As an administrator does whose users must then choose another password. */
async function resetPassword(url: string, dn: string): Promise<void> {
  const client = new Client({ url });
  await client.bind(ADMIN.dn, ADMIN.password);
  const modification = new Attribute({ type: 'pwdReset', values: ['TRUE'] });
  await client.modify(dn, new Change({ operation: 'add', modification }));
  await client.unbind();
}

async function addEntries(url: string): Promise<void> {
  const client = new Client({ url });
  await client.bind(ADMIN.dn, ADMIN.password);
  const awkward = `uid=${AWKWARD.replaceAll(/[\\,=+"<;#]/g, '\\$&')},ou=people,${SUFFIX}`;
  const person = (uid: string, sn: string, more: object, password: string) => ({
    ...{ objectClass: 'inetOrgPerson', uid, sn, userPassword: password },
    ...more,
  });
  const entries: Readonly<Record<string, Record<string, string | string[]>>> = {
    [SUFFIX]: { objectClass: ['dcObject', 'organization'], o: 'Example', dc: 'example' },
    [ACCOUNT.dn]: {
      objectClass: ['organizationalRole', 'simpleSecurityObject'],
      userPassword: ACCOUNT.password,
      cn: 'grantd',
    },
    [`ou=people,${SUFFIX}`]: { objectClass: 'organizationalUnit', ou: 'people' },
    [`ou=groups,${SUFFIX}`]: { objectClass: 'organizationalUnit', ou: 'groups' },
    [`uid=bob,ou=people,${SUFFIX}`]: person(
      ...(['bob', 'Builder', { cn: 'Bob Builder', mail: 'bob@example.com' }, 'password of bob'] as const),
    ),
    [`ou=policies,${SUFFIX}`]: { objectClass: 'organizationalUnit', ou: 'policies' },
    ...Object.fromEntries(Object.entries(POLICIES).map(([uid, policy]) => [policyOf(uid), policy])),
    ...Object.fromEntries(
      Object.keys(POLICIES).map((uid) => [
        `uid=${uid},ou=people,${SUFFIX}`,
        person(uid, uid, { cn: uid, pwdPolicySubentry: policyOf(uid) }, `password of ${uid}`),
      ]),
    ),
    [awkward]: person(AWKWARD, 'O’Neil', { cn: 'O’Neil' }, 'password of o'),
    [`cn=staff,ou=groups,${SUFFIX}`]: {
      objectClass: 'groupOfNames',
      cn: 'staff',
      member: [`uid=bob,ou=people,${SUFFIX}`, awkward],
    },
  };
  for (const [dn, attributes] of Object.entries(entries)) await client.add(dn, attributes);
  await client.unbind();
}
