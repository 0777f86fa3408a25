// How a user can sign in, and why the last attempts were refused.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { call } from '../src/admin/in_process.ts';
import { SIGN_IN_OPERATIONS } from '../src/admin/sign_in_explanation.ts';
import type { Input } from '../src/admin/table.ts';
import { localCalls } from '../src/cli/local_calls.ts';
import { readConfiguration } from '../src/config/configuration.ts';
import { sqliteDatabase } from '../src/data/sqlite_database.ts';
import { NO_PASSWORD } from '../src/data/ways_to_sign_in.ts';
import { openInstance } from '../src/instance/instance.ts';
import { ATTEMPTS_OF_NAME, AttemptLimits, attemptName } from '../src/people/sign_in.ts';
import { cheapHash } from './harness/cheap_hash.ts';

const ISSUER = 'http://localhost:4000';
const folder = mkdtempSync(join(tmpdir(), 'grantd-explanation-'));
const database = sqliteDatabase(join(folder, 'grantd.db'));
const configuration = readConfiguration({}, { GRANTD_ISSUER: ISSUER, GRANTD_SECRET: 's'.repeat(32) });
let instance: Awaited<ReturnType<typeof openInstance>>;
let calls: ReturnType<typeof localCalls>;

before(async () => {
  instance = await openInstance(configuration, database, ISSUER, 'server');
  calls = localCalls({ ...instance.actingAs('cli'), configuration });
});
after(async () => {
  await database.close();
  rmSync(folder, { recursive: true });
});

async function add(name: string, facts: { readonly passwordHash?: string; readonly claims?: object } = {}) {
  const person = await instance.people.add({
    ...{ name, passwordHash: cheapHash('correct horse') },
    claims: {},
    ...facts,
  } as Parameters<typeof instance.people.add>[0]);
  return person ?? assert.fail(name);
}

const explain = (input: Input<'explainUser'>) => call(calls, 'explainUser', input);

async function passkeyOf(subject: string, isSecurityKey = false): Promise<void> {
  const passkey = {
    ...{
      id: `key of ${subject} ${isSecurityKey}`,
      isSecurityKey,
      subject,
      name: 'Key',
      publicKey: '',
      counter: 0,
      transports: [],
    },
    ...{ createdAtMs: 0, countsFromMs: 0, lastUsedAtMs: undefined, isBackedUp: false },
  };
  assert.ok(await instance.factors.addPasskey(passkey as never));
}

describe('the ways to sign in of a user', () => {
  test('a password is enough without a policy, and a passkey always is', async () => {
    const { subject } = await add('ann');
    await passkeyOf(subject);
    const said = await explain({ sub: subject });
    assert.equal(said.can_sign_in, true);
    assert.deepEqual(said.obstacles, []);
    assert.deepEqual(said.ways, [
      { way: 'password', open: true, followed_by: 'second_factor' },
      { way: 'passkey', open: true, followed_by: 'nothing' },
    ]);
    assert.deepEqual(said.policies, [{ of: 'server', policy: 'second_factor_if_enrolled' }]);
  });

  test('a security key is a second factor, and no way to begin', async () => {
    const { subject } = await add('kai');
    await passkeyOf(subject, true);
    const said = await explain({ sub: subject });
    assert.deepEqual(said.ways, [{ way: 'password', open: true, followed_by: 'second_factor' }]);
    assert.deepEqual([said.factors.passkeys, said.factors.security_keys], [0, 1]);
  });

  test('a code by email is a way of the users and clients that the options name', async () => {
    const given = {
      ...{ GRANTD_ISSUER: ISSUER, GRANTD_SECRET: 's'.repeat(32), GRANTD_EMAIL_CODE: 'also' },
      ...{ GRANTD_SMTP_URL: 'smtp://localhost', GRANTD_MAIL_FROM: 'login@id.example' },
    };
    const codesOf = async (sub: string, clientId?: string, more: Readonly<Record<string, string>> = {}) => {
      const parts = {
        ...instance.actingAs('cli'),
        configuration: readConfiguration({}, { ...given, ...more }),
      };
      const asked = { sub, ...(clientId !== undefined && { client_id: clientId }) };
      const { ways } = await call(localCalls(parts), 'explainUser', asked);
      return ways.filter(({ way }) => way === 'email_code').map(({ way: _, ...one }) => one);
    };
    const mia = await add('mia', { claims: { email: 'mia@example.com', email_verified: true } });
    const open = [{ open: true, followed_by: 'nothing' }];
    assert.deepEqual(await codesOf(mia.subject), open);
    const noa = await add('noa', { claims: { email: 'noa@example.com' } });
    assert.deepEqual(await codesOf(noa.subject), [{ open: false, closed_by: 'no_verified_address' }]);
    assert.deepEqual(await codesOf(mia.subject, undefined, { GRANTD_EMAIL_CODE_GROUPS: 'none' }), []);
    const admins = { GRANTD_ADMIN_GROUP: 'admins' };
    await instance.groups.add({ name: 'admins', description: '' }, Date.now());
    await instance.groups.addMember({ subject: mia.subject, group: 'admins' }, Date.now());
    assert.deepEqual(await codesOf(mia.subject, undefined, admins), []);
    await call(calls, 'addClient', {
      ...{ client_id: 'web', redirect_uris: ['https://web.example/cb'] },
    } as Input<'addClient'>);
    const onlyWeb = { GRANTD_EMAIL_CODE_CLIENTS: 'web' };
    assert.deepEqual(await codesOf(mia.subject, 'web', onlyWeb), open);
    assert.deepEqual(await codesOf(mia.subject, undefined, onlyWeb), []);
    assert.deepEqual((await explain({ sub: mia.subject })).ways.length, 1, 'off');
  });

  test('a user without a password, passkey or link has none', async () => {
    const { subject } = await add('invited', { passwordHash: NO_PASSWORD });
    const said = await explain({ sub: subject });
    assert.equal(said.can_sign_in, false);
    assert.deepEqual(said.obstacles, ['no_way']);
    assert.deepEqual(said.ways, [{ way: 'password', open: false, closed_by: 'no_password' }]);
  });

  test('a link to a provider that is not configured is closed', async () => {
    const { subject } = await add('linked', { passwordHash: NO_PASSWORD });
    const identity = {
      provider: 'gone',
      upstreamIssuer: 'https://idp.example',
      upstreamSub: '1',
      label: 'lin',
    };
    assert.ok(await instance.upstreamIdentities.link(identity, subject, Date.now()));
    const [, link] = (await explain({ sub: subject })).ways;
    assert.deepEqual(link, {
      ...{ way: 'provider', name: 'gone', label: 'lin', open: false, closed_by: 'not_configured' },
    });
  });

  test('the strictest policy of server, groups and client decides what follows', async () => {
    const { subject } = await add('cleo', { claims: { email: 'cleo@example.com', email_verified: true } });
    await instance.groups.add({ name: 'staff', description: '', signInPolicy: 'second_factor' }, Date.now());
    await instance.groups.addMember({ subject, group: 'staff' }, Date.now());
    await call(calls, 'addClient', {
      ...{ client_id: 'vault', redirect_uris: ['https://vault.example/cb'] },
      ...{ sign_in_policy: 'phishing_resistant', allowed_groups: ['staff'] },
    } as Input<'addClient'>);
    const plain = await explain({ sub: subject });
    assert.equal(plain.policy, 'second_factor');
    assert.deepEqual(plain.ways, [{ way: 'password', open: true, followed_by: 'new_factor' }]);
    assert.deepEqual([plain.can_sign_in, plain.obstacles], [true, ['factor_needed']]);
    assert.deepEqual([plain.email, plain.email_verified], ['cleo@example.com', true]);
    const atVault = await explain({ sub: subject, client_id: 'vault' });
    assert.deepEqual(atVault.policies.slice(1), [
      { of: 'group', name: 'staff', policy: 'second_factor' },
      { of: 'client', name: 'vault', policy: 'phishing_resistant' },
    ]);
    assert.equal(atVault.policy, 'phishing_resistant');
    assert.deepEqual(atVault.client, {
      client_id: 'vault',
      allowed_groups: ['staff'],
      may_use: true,
    });

    const stranger = await add('stranger');
    await call(calls, 'disableClient', { client_id: 'vault' });
    const refused = await explain({ sub: stranger.subject, client_id: 'vault' });
    assert.equal(refused.can_sign_in, false);
    assert.deepEqual(refused.obstacles, ['client_disabled', 'not_in_groups', 'factor_needed']);
    await assert.rejects(explain({ sub: stranger.subject, client_id: 'none' }), /there is no client none/);
  });

  test('a disabled user and a locked one are told apart, with the end of the lock', async () => {
    const { subject } = await add('dan');
    const limits = new AttemptLimits(instance.attempts, instance.secret());
    for (let attempt = 0; attempt <= ATTEMPTS_OF_NAME.attempts; attempt += 1)
      await limits.begin({ name: attemptName('dan'), place: '192.0.2.7', most: ATTEMPTS_OF_NAME });
    const locked = await explain({ sub: subject });
    assert.deepEqual([locked.can_sign_in, locked.obstacles], [true, ['locked']]);
    assert.deepEqual(
      locked.locks.map(({ step, places }) => [step, places]),
      [['password', 1]],
    );
    assert.ok(Date.parse(locked.locks[0]?.ends_at ?? '') > Date.now());
    await call(calls, 'disableUser', { sub: subject });
    const disabled = await explain({ sub: subject });
    assert.deepEqual([disabled.can_sign_in, disabled.obstacles], [false, ['disabled', 'locked']]);
    assert.ok(disabled.disabled_at);
  });

  test('the command begins with whether the user can sign in, and names the command that helps', async () => {
    const { subject } = await add('fay');
    const lines = SIGN_IN_OPERATIONS.explainUser.command?.lines as (said: object) => readonly string[];
    const printed = async (clientId?: string) =>
      lines(await explain({ sub: subject, ...(clientId !== undefined && { client_id: clientId }) }));
    assert.equal(
      (await printed())[0],
      'fay can sign in (with --client ID: whether this application lets them in)',
    );
    await instance.groups.add({ name: 'ops', description: '', signInPolicy: undefined }, Date.now());
    await call(calls, 'addClient', {
      ...{ client_id: 'wiki', redirect_uris: ['https://wiki.example/cb'], allowed_groups: ['ops'] },
    } as Input<'addClient'>);
    assert.deepEqual((await printed('wiki')).slice(0, 2), [
      'fay cannot sign in to wiki',
      '  the client is only for members of ops (grantd group add-member GROUP fay)',
    ]);
    const limits = new AttemptLimits(instance.attempts, instance.secret());
    for (let attempt = 0; attempt <= ATTEMPTS_OF_NAME.attempts; attempt += 1)
      await limits.begin({ name: attemptName('fay'), place: '192.0.2.8', most: ATTEMPTS_OF_NAME });
    const [headline, reason, next] = await printed();
    assert.equal(headline, 'fay is locked, and can sign in only from other places');
    assert.match(
      reason ?? '',
      /^ {2}too many attempts for the password from 1 place, until 20\S+ \(grantd user unlock fay\)$/,
    );
    assert.equal(next, 'ways to sign in');
    const withoutWay = await add('gus', { passwordHash: NO_PASSWORD });
    const said = await explain({ sub: withoutWay.subject });
    assert.deepEqual(lines(said).slice(0, 2), [
      'gus cannot sign in',
      '  the user has no way to sign in (grantd user set-password gus, or a mailed link)',
    ]);
    const atProvider = {
      ...said,
      ways: [{ way: 'password', open: false, closed_by: 'address_of_provider' }],
    };
    assert.equal(lines(atProvider)[1], '  the user has no way to sign in', 'a password would not help');
    await call(calls, 'disableUser', { sub: subject });
    assert.deepEqual((await printed()).slice(0, 2), [
      'fay cannot sign in',
      '  the user is disabled (grantd user enable fay)',
    ]);
  });
});

test('the last attempts have their time, step, place and reason, the newest first', async () => {
  const { subject, passwordHash } = await add('eve');
  const nowMs = Date.now();
  const session = {
    ...{ id: 's1', subject, amr: ['pwd', 'otp', 'mfa'], userAgent: 'Firefox', network: '192.0.2.0/24' },
    ...{ signedInAtMs: nowMs - 60_000, lastSeenAtMs: nowMs - 60_000 },
  };
  assert.ok(await instance.sessions.add(session, 'digest', nowMs + 60_000, { subject, passwordHash }));
  const failed = {
    subject,
    reason: 'code_wrong',
    clientId: 'shop',
    userAgent: 'Firefox',
    network: '192.0.2.0/24',
  };
  await instance.sessions.addFailedSignIn(failed, nowMs);
  const { attempts } = await explain({ sub: subject });
  assert.deepEqual(attempts, [
    {
      ...{ at: new Date(nowMs).toISOString(), outcome: 'refused', step: 'code', methods: [] },
      ...{ reason: 'code_wrong', explanation: 'The code of the authenticator app is wrong.' },
      ...{ user_agent: 'Firefox', network: '192.0.2.0/24', client_id: 'shop' },
    },
    {
      ...{ at: new Date(nowMs - 60_000).toISOString(), outcome: 'signed_in', step: 'code' },
      ...{ methods: ['pwd', 'otp', 'mfa'], user_agent: 'Firefox', network: '192.0.2.0/24' },
    },
  ]);
});
