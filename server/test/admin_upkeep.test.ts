// Operations of the admin API on factors, emails, secrets, registration tokens, and imports and exports of users.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { MAX_LINES } from '../src/admin/operation.ts';
import { type AdminServer, ALL_SCOPES, startAdmin } from './harness/admin.ts';
import { cheapHash } from './harness/cheap_hash.ts';

const LINES = { 'content-type': 'application/x-ndjson' };

let admin: AdminServer;
before(async () => {
  admin = await startAdmin({ GRANTD_ADMIN_GROUP: 'admins' });
});
after(() => admin.close());

function linesOf(values: readonly object[]): string {
  return values.map((one) => `${JSON.stringify(one)}\n`).join('');
}

function parsed(text: string) {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

describe('an import', () => {
  async function importOf(values: readonly object[] | string, query = '', token?: string) {
    const body = typeof values === 'string' ? values : linesOf(values);
    return admin.send('POST', `/admin/imports/users${query}`, { body, headers: LINES, token });
  }

  test('adds users, reports each line, and can be repeated', async () => {
    const hash = cheapHash('correct horse');
    const users = [
      { username: 'ina', password_hash: hash, claims: { name: 'Ina' }, groups: ['imported'] },
      { username: 'ivo', password_hash: 'plain' },
    ];
    const first = await importOf(users, '?create_groups=true');
    assert.equal(first.status, 200);
    assert.equal(first.headers.get('content-type'), 'application/x-ndjson');
    assert.equal(first.headers.get('cache-control'), 'no-store');
    const ina = await admin.instance.people.byName('ina');
    assert.ok(ina);
    assert.deepEqual(ina.groups, ['imported']);
    const [refused, added, summary] = parsed(first.text);
    assert.deepEqual(added, { line: 1, username: 'ina', outcome: 'imported', subject: ina.subject });
    assert.deepEqual(
      { ...refused, reasons: undefined },
      { line: 2, username: 'ivo', outcome: 'failed', reasons: undefined },
    );
    assert.match(refused.reasons.join(), /^password_hash: expected a hash of argon2/);
    const { import: id, ...counts } = summary;
    assert.deepEqual(counts, {
      ...{ dry_run: false, imported: 1, updated: 0, unchanged: 0, skipped: 0, exists: 0, failed: 1 },
    });
    const event = await admin.send('GET', `/admin/events?type=people_imported&target=${id}`);
    assert.equal(event.body.items[0].actor, 'api:ops');

    const again = await importOf(users, '?first_line=11');
    assert.deepEqual(
      parsed(again.text).map(({ line, outcome }) => ({ line, outcome })),
      [
        { line: 12, outcome: 'failed' },
        { line: 11, outcome: 'unchanged' },
        { line: undefined, outcome: undefined },
      ],
    );
  });

  test('in a dry run changes nothing', async () => {
    const { text } = await importOf([{ username: 'dry' }], '?dry_run=true');
    assert.equal(parsed(text)[0].outcome, 'imported');
    assert.equal(await admin.instance.people.byName('dry'), undefined);
  });

  test('cannot reach what its own token cannot', async () => {
    await admin.addUser('root', ['admins']);
    const some = await admin.tokenOf(['grantd:users:write', 'grantd:groups:write']);
    const few = await admin.tokenOf(['grantd:users:write']);
    const reasons = async (values: readonly object[], token: string) =>
      parsed((await importOf(values, '?update=true', token)).text)
        .slice(0, -1)
        .flatMap((one) => one.reasons);
    assert.deepEqual(
      await reasons(
        [
          { username: 'eve', groups: ['Admins'] },
          { username: 'root', password_hash: cheapHash('x') },
        ],
        some,
      ),
      Array(2).fill('the token needs every scope to change an administrator'),
    );
    assert.deepEqual(await reasons([{ username: 'eve', groups: ['imported'] }], few), [
      'groups: the token needs the scope grantd:groups:write',
    ]);
    assert.deepEqual(await reasons([{ username: 'eve', claims: { groups: ['admins'] } }], admin.token), [
      'claims: groups: applications would see it instead of the user’s groups',
    ]);
    assert.deepEqual(await reasons([{ username: 'eve', subject: 'ops' }], admin.token), [
      'subject: a client has this identifier, so APIs could take the user for the client',
    ]);
    const denied = await importOf([], '?create_groups=true', few);
    assert.deepEqual([denied.status, denied.body.code], [403, 'insufficient_scope']);
    assert.equal(await admin.instance.people.byName('eve'), undefined);
  });

  /** Every way by which a line puts a user into the group of the administrators, or changes what a member signs in with. */
  const TO_ADMINISTRATORS: Readonly<
    Record<string, { readonly username: string; readonly [member: string]: unknown }>
  > = {
    'a new user': { username: 'eve', groups: ['admins'] },
    'another spelling of the group': { username: 'eve', groups: ['staff', ' \u{1d400}DMINS'] },
    'a user who exists': { username: 'member', groups: ['admins'] },
    'the password of an administrator': { username: 'chief', password_hash: cheapHash('x') },
    'a link of an administrator': {
      username: 'chief',
      links: [{ provider: 'google', issuer: 'https://accounts.google.com', sub: '1' }],
    },
    'the entry of an administrator': { username: 'chief', directory_id: 'entry' },
    'the address of an administrator': {
      username: 'chief',
      claims: { email: 'eve@example.com', email_verified: true },
    },
    'the name of an administrator, by the subject': { username: 'ch\u0456ef', subject: 'chief-1' },
    'the groups of an administrator': { username: 'chief', groups: ['admins', 'imported'] },
  };

  test('makes and changes no administrator, unless it is allowed', async () => {
    const { instance } = admin;
    const member = await admin.addUser('member');
    const own = { passwordHash: cheapHash('x'), claims: { name: 'Chief' } };
    const { subject } = (await instance.people.add({ name: 'chief', ...own }, 'chief-1')) ?? {};
    assert.ok(subject);
    await instance.groups.addMember({ subject, group: 'admins' }, Date.now());
    const before = await instance.people.bySubject(subject);
    const ways = Object.entries(TO_ADMINISTRATORS);
    for (const isDryRun of [true, false]) {
      const query = `?update=true&create_groups=true&dry_run=${isDryRun}`;
      for (const [way, line] of ways) {
        const [{ outcome, reasons }] = parsed((await importOf([line], query)).text);
        assert.equal(outcome, 'failed', way);
        assert.match(
          reasons.join(),
          /\badmins\b.*the group of the administrators: use --allow-administrators/,
          way,
        );
      }
    }
    assert.equal(await instance.people.byName('eve'), undefined);
    assert.equal((await instance.people.byName('member'))?.groups, undefined);
    assert.deepEqual(await instance.people.bySubject(subject), before);
    // A line that changes nothing is as it was.
    const same = { username: 'chief', claims: { name: 'Chief' }, groups: ['admins'] };
    assert.equal(parsed((await importOf([same], '?update=true')).text)[0].outcome, 'unchanged');
    for (const [way, line] of ways.filter(([, { username }]) => username !== 'eve')) {
      const allowed = '?update=true&create_groups=true&allow_administrators=true';
      assert.equal(parsed((await importOf([line], allowed)).text)[0].outcome, 'updated', way);
    }
    const [added] = parsed(
      (await importOf([{ username: 'eve', groups: ['admins'] }], '?allow_administrators=true')).text,
    );
    assert.equal(added.outcome, 'imported');
    assert.deepEqual((await instance.people.byName('eve'))?.groups, ['admins']);
    const few = await admin.tokenOf(['grantd:users:write', 'grantd:groups:write']);
    const [refused] = parsed(
      (await importOf([{ username: 'ego', groups: ['admins'] }], '?allow_administrators=true', few)).text,
    );
    assert.deepEqual(refused.reasons, ['the token needs every scope to change an administrator']);
    for (const one of [subject, added.subject, member.subject])
      await admin.send('DELETE', `/admin/users/${one}`);
  });

  test('ends after its last allowed line, and takes no line that is too long', async () => {
    const long = JSON.stringify({ username: 'long', claims: { name: 'x'.repeat(70_000) } });
    const { text } = await importOf(`${long}\n{"username":"after-long"}\n`, '?dry_run=true');
    const [tooLong, next] = parsed(text);
    assert.deepEqual(tooLong, { line: 1, outcome: 'failed', reasons: ['expected at most 65536 characters'] });
    assert.equal(next.outcome, 'imported');
    const many = '{\n'.repeat(MAX_LINES + 5);
    const reports = parsed((await importOf(many, '?dry_run=true')).text);
    assert.equal(reports.length, MAX_LINES + 2);
    assert.deepEqual(reports.at(-2), {
      line: MAX_LINES + 1,
      outcome: 'failed',
      reasons: [`expected at most ${MAX_LINES} lines: send the rest in another request`],
    });
  });

  test('needs lines of JSON, and no Idempotency-Key', async () => {
    const json = await admin.send('POST', '/admin/imports/users', { body: {} });
    assert.deepEqual([json.status, json.body.code], [415, 'unsupported_media_type']);
    assert.equal(json.headers.get('accept'), 'application/x-ndjson');
    const keyed = await admin.send('POST', '/admin/imports/users', {
      ...{ body: '{}', headers: { ...LINES, 'idempotency-key': 'k' } },
    });
    assert.deepEqual([keyed.status, keyed.body.errors[0].in], [400, 'Idempotency-Key']);
  });
});

describe('an export', () => {
  test('has a line for each user, which an import reads', async () => {
    const { text, headers } = await admin.send('GET', '/admin/exports/users');
    assert.equal(headers.get('content-type'), 'application/x-ndjson');
    const users = parsed(text);
    assert.ok(users.some(({ username }) => username === 'root'));
    assert.ok(users.every((user) => !('password_hash' in user)));
    const members = parsed((await admin.send('GET', '/admin/exports/users?group=admins')).text);
    assert.deepEqual(
      members.map(({ username }) => username),
      ['root'],
    );
    const head = await admin.send('HEAD', '/admin/exports/users');
    assert.deepEqual([head.status, head.text], [200, '']);
  });

  test('has hashes only for a token with every scope', async () => {
    const path = '/admin/exports/users?with_password_hashes=true';
    assert.ok(parsed((await admin.send('GET', path)).text).some((user) => 'password_hash' in user));
    const token = await admin.tokenOf(ALL_SCOPES.slice(1));
    const denied = await admin.send('GET', path, { token });
    assert.deepEqual([denied.status, denied.body.code], [403, 'insufficient_scope']);
    assert.equal((await admin.send('GET', '/admin/exports/users?group=nobody')).status, 404);
  });
});

test('a reset of factors ends sessions and tokens; an administrator’s needs every scope', async () => {
  const { subject } = await admin.addUser('phoneless');
  const totp = { sealed: 'sealed', createdAtMs: Date.parse('2026-01-01T00:00:00Z'), countsFromMs: 0 };
  assert.equal(await admin.instance.factors.addTotp(subject, totp, 1), true);
  const shown = await admin.send('GET', `/admin/users/${subject}/factors`);
  assert.deepEqual(shown.body, {
    ...{ passkeys: [], security_keys: [], recovery_codes: 0 },
    authenticator_app_added_at: '2026-01-01T00:00:00.000Z',
  });
  const confirm = () => admin.send('POST', `/admin/users/${subject}/factors/confirm`);
  assert.deepEqual((await confirm()).body, { factors_confirmed: false });
  const passkey = {
    id: 'k1',
    subject,
    publicKey: '',
    counter: 0,
    transports: [],
    isBackedUp: false,
    isSecurityKey: false,
    name: 'Key',
  };
  const times = { createdAtMs: 1, countsFromMs: Date.parse('2100-01-01T00:00:00Z') };
  assert.equal(await admin.instance.factors.addPasskey({ ...passkey, ...times }), true);
  const waiting = await admin.send('GET', `/admin/users/${subject}/factors`);
  assert.equal(waiting.body.count_from, '2100-01-01T00:00:00.000Z');
  assert.deepEqual((await confirm()).body, { factors_confirmed: true });
  const reset = await admin.send('DELETE', `/admin/users/${subject}/factors`);
  assert.deepEqual(reset.body, { factors_removed: true, sessions_ended: 0 });
  const after = await admin.send('GET', `/admin/users/${subject}/factors`);
  assert.deepEqual(after.body, { passkeys: [], security_keys: [], recovery_codes: 0 });

  const root = await admin.instance.people.byName('root');
  const token = await admin.tokenOf(['grantd:users:write']);
  const path = `/admin/users/${root?.subject}`;
  assert.equal((await admin.send('DELETE', `${path}/factors`, { token })).status, 403);
  assert.equal((await admin.send('POST', `${path}/factors/confirm`, { token })).status, 403);
  assert.equal((await admin.send('DELETE', `${path}/links/x`, { token })).status, 403);
});

test('a link to a provider is shown and removed', async () => {
  const { subject } = await admin.addUser('linked');
  const name = { provider: 'google', upstreamIssuer: 'https://accounts.google.com', upstreamSub: 'g-1' };
  const nowMs = Date.parse('2026-01-01T00:00:00Z');
  const link = await admin.instance.upstreamIdentities.link(
    { ...name, label: 'l@example.com' },
    subject,
    nowMs,
  );
  const { body } = await admin.send('GET', `/admin/users/${subject}/links`);
  assert.deepEqual(body.items, [
    {
      ...{ id: link?.id, provider: 'google', issuer: 'https://accounts.google.com', upstream_sub: 'g-1' },
      ...{ label: 'l@example.com', linked_at: '2026-01-01T00:00:00.000Z' },
    },
  ]);
  const removed = await admin.send('DELETE', `/admin/users/${subject}/links/${link?.id}`);
  assert.deepEqual(removed.body, { provider: 'google', label: 'l@example.com', sessions_ended: 0 });
  assert.equal((await admin.send('DELETE', `/admin/users/${subject}/links/${link?.id}`)).status, 404);
});

test('an email that was given up is listed and retried; a test email needs an SMTP server', async () => {
  const { mails } = admin.instance;
  const mail = {
    recipient: 'a\u0000@example.com',
    template: 'invite',
    language: 'en',
    sealed: '',
    subject: undefined,
  };
  const id = await mails.add({ ...mail, recipient: 'a\u202e@example.com' }, 0);
  await mails.fail(id, 1000, 'refused');
  const failed = await admin.send('GET', '/admin/mails?failed=true');
  assert.deepEqual(failed.body.items, [
    {
      ...{ id, template: 'invite', recipient: 'a?@example.com', state: 'failed', attempts: 0 },
      ...{
        created_at: '1970-01-01T00:00:00.000Z',
        failed_at: '1970-01-01T00:00:01.000Z',
        last_error: 'refused',
      },
    },
  ]);
  assert.equal((await admin.send('POST', `/admin/mails/${id}/retry`)).status, 204);
  assert.equal((await admin.send('POST', `/admin/mails/${id}/retry`)).status, 404);
  assert.equal((await admin.send('GET', '/admin/mails')).body.items[0].state, 'waiting');
  const sent = await admin.send('POST', '/admin/mails/test', { body: { address: 'bob@example.com' } });
  assert.equal(sent.status, 422);
  assert.match(sent.body.errors[0].detail, /^required to send an email/);
});

test('a registration token says when it ends, and warns if clients cannot use it', async () => {
  const { body } = await admin.send('POST', '/admin/registration-tokens', { body: { lifetime: 60 } });
  const left = Date.parse(body.expires_at) - Date.now();
  assert.ok(left > 0 && left <= 60_000);
  assert.deepEqual(body.warnings, ['the server accepts this token only with --registration token']);
  const unfit = await admin.send('POST', '/admin/registration-tokens', { body: { lifetime: 0 } });
  assert.equal(unfit.status, 422);
});

describe('the server’s secret in a file', () => {
  let ownSecret: AdminServer;
  before(async () => {
    ownSecret = await startAdmin({ GRANTD_SECRET: '' });
  });
  after(() => ownSecret.close());

  test('is rotated and dropped with the fingerprints of the file, and never shown', async () => {
    const status = async () => (await ownSecret.send('GET', '/admin/secrets')).body.items;
    const [before] = await status();
    assert.equal(before.use, 'used for new values');
    assert.ok(before.clients.includes('ops'));
    const single = await ownSecret.send('POST', '/admin/secrets/drop');
    assert.deepEqual(
      [single.status, single.body.detail],
      [409, 'there is only one secret, and it is in use'],
    );

    const rotated = await ownSecret.send('POST', '/admin/secrets/rotate');
    assert.deepEqual(rotated.body, {
      file: rotated.body.file,
      fingerprint: rotated.body.fingerprint,
      accepted: [before.secret],
    });
    const rows = await status();
    assert.deepEqual(
      rows.map(({ secret, use }: { secret: string; use: string }) => [secret, use]),
      [
        [rotated.body.fingerprint, 'used for new values'],
        [before.secret, 'accepted'],
      ],
    );
    const kept = await ownSecret.send('POST', '/admin/secrets/drop', { body: {} });
    assert.equal(kept.status, 409);
    assert.match(kept.body.detail, /^the secrets of .*ops/);
    const dropped = await ownSecret.send('POST', '/admin/secrets/drop', { body: { force: true } });
    assert.deepEqual(dropped.body, {
      ...{ file: rotated.body.file, fingerprint: rotated.body.fingerprint, dropped: [before.secret] },
    });
    const { body } = await ownSecret.send('GET', '/admin/events?type=server_secret_rotated');
    assert.deepEqual(
      body.items.map(({ target, actor }: { target: string; actor: string }) => [target, actor]),
      [[rotated.body.fingerprint, 'api:ops']],
    );
    const generate = await ownSecret.send('POST', '/admin/secrets/rotate', { body: { generate: true } });
    assert.equal(generate.status, 422);
  });

  test('is only explained if an option sets it', async () => {
    const explained = await admin.send('POST', '/admin/secrets/rotate', { body: { generate: true } });
    assert.equal(explained.body.source, 'GRANTD_SECRET');
    assert.ok(explained.body.secret.length >= 32);
    assert.deepEqual(Object.keys(explained.body), ['source', 'secret']);
    const token = await admin.tokenOf(['grantd:secrets:write']);
    const denied = await admin.send('POST', '/admin/secrets/rotate', { token, body: { generate: true } });
    assert.deepEqual([denied.status, denied.body.code], [403, 'insufficient_scope']);
  });
});
