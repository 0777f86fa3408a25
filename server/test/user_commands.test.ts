import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ALICE, Browser, isLogin, signInAndConsent } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE, DATABASES } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { ENVIRONMENT_FILE, type RunningServer, Workbench } from './harness/program.ts';
import { authorizationUrl, introspect, newPkce, redeem } from './harness/protocol.ts';
import { withDatabaseOf } from './harness/stored.ts';

for (const database of ANY_DATABASE) {
  describe(`commands about users and their sessions on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    before(async () => {
      server = await workbench.start(await workbench.home(), ['--demo']);
    });

    const pkce = newPkce();
    const url = (parameters = {}) => authorizationUrl(server.url, pkce, parameters);
    const prints = (args: readonly string[], input = '') => grantdPrints(server.folder, args, input);
    const isActive = async (token = '') => (await introspect(server.url, token)).active;

    /** A user signed in with a browser, with tokens that end with the session and others that do not. */
    async function signedIn(name: string) {
      const { who, browser } = await newPerson(server, name);
      const offlineUrl = url({ scope: 'openid offline_access' });
      const offline = await redeem(server.url, pkce, await signInAndConsent(browser, offlineUrl, who));
      const left = new URL((await browser.get(url({ scope: 'openid' }))).url);
      return { who, browser, offline, tied: await redeem(server.url, pkce, left) };
    }

    /** Gives a user an authenticator app. */
    const addApp = (name: string) =>
      withDatabaseOf(server, async ({ factors, people }) => {
        const { subject = '' } = (await people.byName(name)) ?? {};
        await factors.addTotp(subject, { sealed: '', createdAtMs: 1, countsFromMs: 0 }, 0);
      });

    const isSignedIn = async (browser: Browser) => !isLogin(await browser.get(`${server.url}/account`));

    test('set-password changes the password and ends the sessions and all tokens, also those for use while away', async () => {
      const { who, browser, offline, tied } = await signedIn('ada');
      const printed = await prints(['user', 'set-password', 'ada', '--password-stdin'], 'battery staple');
      assert.equal(printed, 'changed the password of ada, ended 1 session and revoked all their tokens');
      assert.equal(await isSignedIn(browser), false);
      assert.deepEqual(
        [await isActive(tied.access_token), await isActive(offline.access_token)],
        [false, false],
      );
      const form = await browser.get(url());
      assert.equal((await browser.submit(form, who)).status, 403);
      await signInAndConsent(browser, url(), { ...who, password: 'battery staple' });
      const short = await grantd(server.folder, ['user', 'set-password', 'ada', '--password-stdin'], {
        input: 'short',
      });
      assert.deepEqual([short.code, short.stdout], [2, '']);
    });

    test('a session that a shorter lifetime has ended is over for browsers and listed nowhere', async () => {
      const own = await workbench.start(await workbench.home(), ['--demo']);
      const browser = new Browser(own.url);
      await signInAndConsent(browser, authorizationUrl(own.url, pkce), ALICE);
      const listed = async () =>
        JSON.parse(await grantdPrints(own.folder, ['user', 'show', 'alice', '--json'])).sessions;
      assert.equal((await listed()).length, 1);
      await own.stop();
      await pause(1000);
      const options = ['--demo', '--port', String(own.port), '--session-idle-lifetime', '1'];
      const again = await workbench.start(own.folder, options);
      assert.deepEqual(await listed(), []);
      assert.ok(isLogin(await browser.get(`${again.url}/account`)));
      await again.stop();
    });

    test('end-session signs out of one browser, whose tokens end, and leaves the others', async () => {
      const { who, browser, offline, tied } = await signedIn('orla');
      const { sessions } = JSON.parse(await prints(['user', 'show', 'orla', '--json']));
      const other = new Browser(server.url);
      await signInAndConsent(other, url(), who);
      const [{ id, signed_in_at: since, user_agent: userAgent }] = sessions;
      const printed = await prints(['user', 'end-session', 'orla', id]);
      assert.equal(
        printed,
        `ended the session of orla since ${since} in ${userAgent || 'an unknown browser'}`,
      );
      assert.deepEqual([await isSignedIn(browser), await isSignedIn(other)], [false, true]);
      assert.deepEqual(
        [await isActive(tied.access_token), await isActive(offline.access_token)],
        [false, true],
      );
      const again = await grantd(server.folder, ['user', 'end-session', 'orla', id]);
      assert.deepEqual([again.code, again.stdout], [1, '']);
      assert.match(again.stderr, /orla has no session/);
    });

    test('end-sessions signs out of all browsers, and says of how many', async () => {
      const { who, browser, offline, tied } = await signedIn('bea');
      const other = new Browser(server.url);
      await signInAndConsent(other, url(), who);
      const stays =
        'demo-web still has tokens that do not depend on a session (offline_access): grantd user end-access bea ends them too';
      assert.equal(await prints(['user', 'end-sessions', 'bea']), `ended 2 sessions of bea\n${stays}`);
      for (const one of [browser, other]) assert.equal(await isSignedIn(one), false);
      assert.deepEqual(
        [await isActive(tied.access_token), await isActive(offline.access_token)],
        [false, true],
      );
      const again = await prints(['user', 'end-sessions', 'bea']);
      assert.equal(again, `bea was not signed in anywhere\n${stays}`);
      const { remaining_grants: remaining } = JSON.parse(
        await prints(['user', 'end-sessions', 'bea', '--json']),
      );
      assert.deepEqual(
        remaining.map(({ client_id: id }: { client_id: string }) => id),
        ['demo-web'],
      );
    });

    test('each command that promises to end all tokens of a user ends those with offline_access too', async () => {
      const help = await prints(['user', '--help']);
      const promising = help
        .split(/\n {2}(?=\S)/)
        .filter((command) => /all (their )?(access|tokens)/.test(command.replaceAll(/\s+/g, ' ')))
        .map((command) => command.split(' ')[0] ?? '');
      const commands: Readonly<Record<string, readonly string[]>> = {
        'set-password': ['--password-stdin'],
        'end-access': [],
        disable: [],
        'reset-factors': [],
        'remove-factor': ['authenticator_app'],
        remove: ['--yes'],
      };
      assert.deepEqual(promising.sort(), Object.keys(commands).sort(), help);
      const users = Object.entries(commands).map(
        ([command, flags]) => [`all-${command}`, ['user', command, `all-${command}`, ...flags]] as const,
      );
      for (const [name, args] of [
        ...users,
        ['all-revoke', ['token', 'revoke', '--user', 'all-revoke']] as const,
      ]) {
        const { browser, offline, tied } = await signedIn(name);
        if (name === 'all-remove-factor') await addApp(name);
        const printed = await prints(args, 'battery staple');
        assert.match(printed, /all (their )?tokens/, name);
        for (const token of [
          offline.access_token,
          offline.refresh_token,
          tied.access_token,
          tied.refresh_token,
        ])
          assert.equal(await isActive(token), false, name);
        assert.equal(await isSignedIn(browser), false, name);
      }
    });

    test('user show says that a user is locked, and unlock lets them try again at once', async () => {
      const { who, browser } = await signedIn('len');
      const stranger = new Browser(server.url);
      // Each with a form of its own, because a form that is sent twice is one attempt.
      const attempt = async (password: string) =>
        (await stranger.submit(await stranger.get(url()), { username: 'LEN', password })).status;
      for (let wrong = 0; wrong < 10; wrong += 1) assert.equal(await attempt('wrong'), 403);
      assert.equal(await attempt(who.password), 429);
      const shown = await prints(['user', 'show', 'len']);
      assert.match(
        shown,
        /\nlocked: too many attempts for the password from 1 place, until 20\d\d-\S+ \(grantd user unlock len\)\n/,
      );
      const { locks } = JSON.parse(await prints(['user', 'show', 'len', '--json']));
      assert.deepEqual([locks.length, locks[0].step, locks[0].places], [1, 'password', 1]);
      assert.match(await prints(['user', 'list', '--state', 'locked']), /^NAME.*\nlen .*$/);
      assert.equal(await prints(['user', 'unlock', 'len']), 'unlocked len');
      assert.ok(!(await prints(['user', 'show', 'len'])).includes('locked'));
      assert.equal(await prints(['user', 'list', '--state', 'locked', '--json']), '[]');
      assert.notEqual(await attempt(who.password), 429);
      assert.equal(await isSignedIn(browser), true, 'nothing else has changed');
      assert.equal(await prints(['user', 'unlock', 'len']), 'len was not locked');
      const events = JSON.parse(await prints(['events', 'list', '--json']));
      const unlocked = events.filter(({ type }: { type: string }) => type === 'person_unlocked');
      assert.equal(unlocked.length, 1, 'who was not locked has no event');
    });

    /** As the sweeper does when they have expired. */
    async function forgetSessions(name: string) {
      const { sub } = JSON.parse(await prints(['user', 'show', name, '--json']));
      await database.run(server.folder, `DELETE FROM ${database.schema}sessions WHERE subject = '${sub}'`);
    }

    test('tokens of a session that has timed out end with all sessions of its user, and not by themselves', async () => {
      const { who, browser, offline, tied } = await signedIn('fay');
      await forgetSessions('fay');
      assert.equal(await isSignedIn(browser), false);
      assert.equal(await isActive(tied.refresh_token), true, 'time has ended nothing');
      assert.match(
        await prints(['user', 'end-sessions', 'fay']),
        /^ended 1 session of fay\ndemo-web still has/,
      );
      assert.deepEqual(
        await Promise.all([tied.access_token, tied.refresh_token, offline.access_token].map(isActive)),
        [false, false, true],
      );
      assert.match(
        await prints(['user', 'end-sessions', 'fay']),
        /^fay was not signed in anywhere\ndemo-web still has/,
      );

      const first = await redeem(server.url, pkce, await signInAndConsent(browser, url(), who));
      await forgetSessions('fay');
      const own = await redeem(server.url, pkce, await signInAndConsent(browser, url(), who));
      await browser.submit(await browser.get(`${server.url}/account`), { end_other_sessions: '1' });
      assert.deepEqual(await Promise.all([first.refresh_token, own.refresh_token].map(isActive)), [
        false,
        true,
      ]);
    });

    test('set-password also revokes tokens of a session that has timed out', async () => {
      const { tied, offline } = await signedIn('gwen');
      await forgetSessions('gwen');
      await prints(['user', 'set-password', 'gwen', '--password-stdin'], 'battery staple');
      for (const token of [tied.access_token, tied.refresh_token, offline.refresh_token])
        assert.equal(await isActive(token), false);
    });

    test('show prints a user’s sessions and consents, and no secret', async () => {
      const { browser } = await signedIn('cleo');
      const text = await prints(['user', 'show', 'cleo', '--json']);
      const { sub, sessions, consents, grants, created_at: createdAt, ...rest } = JSON.parse(text);
      assert.deepEqual(rest, {
        ...{
          username: 'cleo',
          claims: {},
          groups: [],
          has_password: true,
          acting: [],
          links: [],
          personal_tokens: [],
          locks: [],
        },
        factors: { passkeys: [], security_keys: [], recovery_codes: 0 },
      });
      assert.match(sub, /^[\w-]{22}$/);
      assert.ok(Date.parse(createdAt) <= Date.now());
      assert.deepEqual(
        [sessions.length, Object.keys(sessions[0])],
        [1, ['id', 'user_agent', 'signed_in_at', 'last_seen_at']],
      );
      assert.deepEqual(
        grants.map(({ id: _, created_at: __, ...grant }: Record<string, unknown>) => grant),
        [
          { client_id: 'demo-web', scopes: ['openid'], resources: [] },
          { client_id: 'demo-web', scopes: ['openid', 'offline_access'], resources: [] },
        ],
      );
      const [{ entries, ...consent }, ...more] = consents;
      assert.deepEqual([consent, more], [{ client_id: 'demo-web' }, []]);
      const [{ given_at: givenAt, ...entry }, ...moreEntries] = entries;
      assert.deepEqual(
        [entry, moreEntries],
        [{ scopes: ['openid', 'offline_access'], resources: [], claims: [], authorization_details: [] }, []],
      );
      assert.ok(Date.parse(givenAt) <= Date.now());
      assert.ok(!text.includes(browser.cookies.get('grantd_session') ?? '-') && !text.includes('argon2'));
      assert.match(await prints(['user', 'show', 'cleo']), /demo-web since \S+: openid offline_access/);
    });

    test('disabling a user, and revoking all their tokens, ends their sessions', async () => {
      for (const [name, args] of [
        ['dora', ['user', 'disable', 'dora']],
        ['eve', ['token', 'revoke', '--user', 'eve']],
      ] as const) {
        const { browser, offline, tied } = await signedIn(name);
        await prints(args);
        assert.equal(await isSignedIn(browser), false);
        for (const { access_token: token } of [offline, tied]) assert.equal(await isActive(token), false);
        assert.deepEqual(JSON.parse(await prints(['user', 'show', name, '--json'])).sessions, []);
      }
    });

    test('update changes claims and the name; UserInfo shows it at once, and new tokens contain it', async () => {
      const { who, browser, tied } = await signedIn('hal');
      const change = ['--claim', 'nickname=Hal', '--email', 'hal@example.com', '--email-verified'];
      const {
        sub,
        created_at: _,
        ...printed
      } = JSON.parse(await prints(['user', 'update', 'hal', '--username', 'Hal9000', ...change, '--json']));
      const claims = { nickname: 'Hal', email: 'hal@example.com', email_verified: true };
      assert.deepEqual(printed, { username: 'Hal9000', claims, groups: [], has_password: true });
      const shown = async () => JSON.parse(await prints(['user', 'show', 'hal9000', '--json']));
      assert.deepEqual((await shown()).claims, printed.claims);
      const { scope } = await introspect(server.url, tied.access_token);
      assert.equal(scope, 'openid', 'tokens live on');

      const named = { ...who, username: 'hal9000' };
      const anew = new Browser(server.url);
      const openUrl = url({ scope: 'openid profile email' });
      const tokens = await redeem(server.url, pkce, await signInAndConsent(anew, openUrl, named));
      const told = async () =>
        (
          await fetch(`${server.url}/userinfo`, {
            headers: { authorization: `Bearer ${tokens.access_token}` },
          })
        ).json();
      assert.deepEqual(await told(), { sub, preferred_username: 'Hal9000', ...printed.claims });
      assert.equal((await introspect(server.url, tokens.access_token)).username, 'Hal9000');
      const changed = ['--email', 'hal@example.org', '--remove-claim', 'nickname'];
      assert.equal(await prints(['user', 'update', 'HAL9000', ...changed]), 'updated Hal9000');
      assert.deepEqual(await told(), { sub, preferred_username: 'Hal9000', email: 'hal@example.org' });
      assert.equal(await isSignedIn(browser), true);

      for (const [args, code, said] of [
        [[], 2, /nothing to update/],
        [['--username', 'ha\u0456'], 2, /--username: expected a name in letters of one script/],
        [['--email', 'hal'], 2, /--email: expected an address .* got "hal"/],
        [['--claim', 'sub=1'], 2, /sub is random/],
        [['--claim', 'email_verified=no'], 2, /--claim: email_verified: expected true or false, got "no"/],
        [['--claim', 'updated_at=today'], 2, /updated_at: expected seconds since 1970/],
        [['--claim', 'address=["Paris"]'], 2, /address: expected a JSON object/],
        [['--claim', 'a=1', '--remove-claim', 'a'], 2, /the claim a is set or removed by two flags/],
        [['--remove-claim', 'nickname'], 1, /has no claim nickname/],
        [['--username', 'Alice'], 1, /user Alice already exists, or a user whose name differs only by case/],
      ] as const) {
        const refused = await grantd(server.folder, ['user', 'update', 'hal9000', ...args]);
        assert.deepEqual([refused.code, refused.stdout], [code, ''], refused.stderr);
        assert.match(refused.stderr, said);
      }
    });

    test('OpenID Connect Core §5.1: standard claims have the type that clients expect', async () => {
      const given = [
        ...['phone_number=5551234', 'nickname=null', 'name="Ida"', 'roles=["admin"]', 'level=3'],
        ...['phone_number_verified=false', 'updated_at=1700000000', 'address={"locality":"Paris"}'],
      ];
      const args = [
        'add',
        'ida',
        '--password-stdin',
        ...given.flatMap((claim) => ['--claim', claim]),
        '--json',
      ];
      const { code, stderr } = await grantd(server.folder, ['user', ...args], {
        input: 'a password of ida',
      });
      assert.equal(code, 0, stderr);
      const { claims } = JSON.parse(await prints(['user', 'show', 'ida', '--json']));
      assert.deepEqual(claims, {
        ...{ name: 'Ida', nickname: 'null', level: 3, roles: ['admin'] },
        ...{ phone_number: '5551234', phone_number_verified: false },
        ...{ updated_at: 1700000000, address: { locality: 'Paris' } },
      });
    });

    test('removing a user removes tokens, sessions and codes; the name is free, the subject is not', async () => {
      const { who, browser, offline, tied } = await signedIn('iris');
      const pending = new URL((await browser.get(url({ scope: 'openid' }))).url);
      const { sub } = JSON.parse(await prints(['user', 'show', 'iris', '--json']));
      const unsure = await grantd(server.folder, ['user', 'remove', 'iris']);
      assert.deepEqual([unsure.code, unsure.stdout], [2, '']);
      assert.match(unsure.stderr, /--yes: required, because a removal cannot be undone/);
      assert.equal(await isActive(tied.access_token), true);

      const removed = JSON.parse(await prints(['user', 'remove', 'iris', '--yes', '--json']));
      assert.deepEqual(removed, { username: 'iris', sub, removed: true, sessions_ended: 1 });
      for (const { access_token, refresh_token } of [offline, tied]) {
        assert.deepEqual([await isActive(access_token), await isActive(refresh_token)], [false, false]);
        const headers = { authorization: `Bearer ${access_token}` };
        assert.equal((await fetch(`${server.url}/userinfo`, { headers })).status, 401);
      }
      assert.equal((await redeem(server.url, pkce, pending)).error, 'invalid_grant', 'a pending code');
      assert.equal(await isSignedIn(browser), false);
      const form = await browser.get(url());
      assert.equal((await browser.submit(form, who)).status, 403);
      assert.ok(!(await prints(['user', 'list'])).includes('iris'));
      const twice = await grantd(server.folder, ['user', 'remove', 'iris', '--yes']);
      assert.deepEqual(
        [twice.code, twice.stderr],
        [1, 'grantd: there is no user iris: grantd user list shows all users.\n'],
      );

      const again = await signedIn('iris');
      assert.equal(await isActive(again.tied.access_token), true);
      assert.notEqual(JSON.parse(await prints(['user', 'show', 'iris', '--json'])).sub, sub);
    });

    test('the hash of a password is refused as a password', async () => {
      const hash = '$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW';
      for (const command of [
        ['add', 'hashed'],
        ['set-password', 'alice'],
      ]) {
        const args = ['user', ...command, '--password-stdin'];
        const { code, stdout, stderr } = await grantd(server.folder, args, { input: hash });
        assert.deepEqual([code, stdout], [2, '']);
        assert.match(stderr, /expected a password, got a password hash/);
        assert.ok(!stderr.includes(hash));
      }
    });

    test('an unknown name is refused', async () => {
      for (const command of [['show'], ['end-sessions'], ['set-password', '--password-stdin']]) {
        const { code, stderr } = await grantd(server.folder, ['user', ...command, 'nobody'], {
          input: 'correct horse',
        });
        assert.deepEqual(
          [code, stderr],
          [1, 'grantd: there is no user nobody: grantd user list shows all users.\n'],
        );
      }
    });
  });
}

for (const database of DATABASES)
  test(`without the secret of the server, user show says that locks are unknown on ${database.name}`, {
    skip: database.absence,
  }, async (t) => {
    const workbench = new Workbench(database);
    t.after(() => workbench.clear());
    const folder = await workbench.home();
    await grantdPrints(folder, ['user', 'add', 'max', '--password-stdin', '--create'], 'correct horse');
    assert.ok(!(await grantdPrints(folder, ['user', 'show', 'max'])).includes('locked'));
    // With SQLite, the secret is a file beside the database. With PostgreSQL, it is in the environment.
    const environment = join(folder, ENVIRONMENT_FILE);
    if (existsSync(environment)) {
      const { GRANTD_SECRET: _, ...others } = JSON.parse(readFileSync(environment, 'utf8'));
      writeFileSync(environment, JSON.stringify(others));
    }
    rmSync(join(folder, 'grantd-data', 'grantd.db.secret'), { force: true });
    const shown = await grantdPrints(folder, ['user', 'show', 'max']);
    assert.match(shown, /\nlocked: unknown, because this command does not have the secret of the server/);
    assert.equal(JSON.parse(await grantdPrints(folder, ['user', 'show', 'max', '--json'])).locks, 'unknown');
    const { code, stderr } = await grantd(folder, ['user', 'unlock', 'max']);
    assert.notEqual(code, 0);
    assert.match(stderr, /secret/i);
  });
