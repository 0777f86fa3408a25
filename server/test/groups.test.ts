// Begins early: it runs hundreds of commands.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ConditionBroken, stays, under } from '../src/data/conditions.ts';
import { AccessEnding } from '../src/people/groups.ts';
import { Browser, isConsent, isLogin, type Page, signInAndConsent, unescaped } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { addPerson, ISSUER, openDatabase, openDatabases } from './harness/program_data.ts';
import {
  authorizationUrl,
  basic,
  introspect,
  newPkce,
  postForm,
  redeem,
  userInfo,
} from './harness/protocol.ts';
import { withDatabaseOf } from './harness/stored.ts';

const CONFIG = {
  applicationClaims: {
    groups: { in: ['userinfo'], live: true },
    roles: { from: 'groups', in: ['access_token', 'introspection'] },
  },
};

const isDenied = ({ html }: Page) => html.includes('id="denied-back"');

for (const database of DATABASES) {
  describe(`groups on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());
    let server: RunningServer;
    before(async () => {
      const folder = await workbench.home();
      writeFileSync(join(folder, 'grantd.json'), JSON.stringify(CONFIG));
      server = await workbench.start(folder, ['--demo', '--config', 'grantd.json']);
    });

    const pkce = newPkce();
    const url = (parameters = {}) => authorizationUrl(server.url, pkce, parameters);
    const prints = (...args: readonly string[]) => grantdPrints(server.folder, args);
    const isActive = async (token = '') => (await introspect(server.url, token)).active;
    const refresh = async (token = '') => {
      const fields = { grant_type: 'refresh_token', refresh_token: token };
      const response = await postForm(`${server.url}/token`, fields, basic('demo-web', 'demo-web-secret'));
      return (await response.json()) as Record<string, string | undefined>;
    };

    test('of two members who end the membership of the other at the same time, one stays', async (t) => {
      const processes = await openDatabases(t, database, 2);
      const [one, other] = processes;
      assert.ok(one && other);
      const people = [await addPerson(one, 'one'), await addPerson(one, 'other')] as const;
      const ways = { hasPasswords: true, hasPasskeys: false, hasDirectory: false, links: [] };
      for (let round = 1; round <= 20; round++) {
        const group = `round ${round}`;
        await one.groups.add({ name: group, description: '' }, 1);
        for (const { subject } of people) await one.groups.addMember({ subject, group }, 1);
        const outcomes = await Promise.all(
          processes.map(({ groups }, at) => {
            const [by, subject] = at === 0 ? [0, 1] : [1, 0];
            const membership = { subject: people[subject]?.subject ?? '', group };
            const remaining = { subject: people[by]?.subject ?? '', ways };
            return under(stays(ISSUER, group, remaining), () => groups.beginEnd(membership, 2)).catch(
              (error: unknown) => {
                if (error instanceof ConditionBroken) return false;
                throw error;
              },
            );
          }),
        );
        assert.deepEqual(outcomes.toSorted(), [false, true], group);
        assert.equal((await one.groups.byName(group))?.members, 1, group);
      }
    });

    test('commands add, describe, list, show and remove groups, and their events name no user', async () => {
      assert.equal(await prints('group', 'add', 'ops', '--description', 'On call'), 'added the group ops');
      const again = await grantd(server.folder, ['group', 'add', 'OPS']);
      assert.deepEqual([again.code, /already exists/.test(again.stderr)], [1, true]);
      await prints('group', 'update', 'ops', '--description', 'Operations');
      await newPerson(server, 'gina');
      const { sub } = JSON.parse(await prints('user', 'show', 'gina', '--json'));
      assert.equal(await prints('group', 'add-member', 'Ops', 'gina'), 'added gina to ops');
      assert.equal(await prints('group', 'add-member', 'ops', 'gina'), 'gina is already in ops');
      const { created_at: createdAt, ...shown } = JSON.parse(await prints('group', 'show', 'ops', '--json'));
      assert.ok(Date.parse(createdAt) <= Date.now());
      assert.deepEqual(shown, { name: 'ops', description: 'Operations', members: 1, clients: [] });
      assert.match(await prints('group', 'list'), /^NAME +MEMBERS +DESCRIPTION\nops +1 +Operations$/);
      assert.deepEqual(JSON.parse(await prints('user', 'show', 'gina', '--json')).groups, ['ops']);
      assert.equal(await prints('group', 'remove-member', 'ops', 'gina'), 'removed gina from ops');
      assert.equal(await prints('group', 'remove-member', 'ops', 'gina'), 'gina was not in ops');
      await prints('group', 'add-member', 'ops', 'gina');
      assert.equal((await grantd(server.folder, ['group', 'remove', 'ops'])).code, 2, 'needs --yes');
      assert.equal(
        await prints('group', 'remove', 'ops', '--yes'),
        'removed the group ops, which had 1 member',
      );
      assert.deepEqual(JSON.parse(await prints('user', 'show', 'gina', '--json')).groups, []);
      const events: { type: string; target: string }[] = JSON.parse(await prints('events', 'list', '--json'));
      assert.deepEqual(
        events.filter(({ type }) => type.startsWith('group_')).map(({ type, target }) => [type, target]),
        [
          ['group_added', 'ops'],
          ['group_changed', 'ops'],
          ['group_member_added', `ops/${sub}`],
          ['group_member_removed', `ops/${sub}`],
          ['group_member_added', `ops/${sub}`],
          ['group_removed', 'ops'],
        ],
      );
    });

    test('applications see groups at UserInfo at once, and in tokens from the next issuance', async () => {
      const { who, browser } = await newPerson(server, 'hugo');
      await prints('group', 'add', 'writers');
      await prints('group', 'add', 'readers');
      await prints('user', 'update', 'hugo', '--add-group', 'writers');
      const tokens = await redeem(server.url, pkce, await signInAndConsent(browser, url(), who));
      const groups = async () => {
        const response = await userInfo(server.url, tokens.access_token);
        return ((await response.json()) as { groups?: readonly string[] }).groups;
      };
      assert.deepEqual(await groups(), ['writers']);
      assert.deepEqual((await introspect(server.url, tokens.access_token)).roles, ['writers']);
      await prints('user', 'update', 'hugo', '--add-group', 'readers', '--remove-group', 'writers');
      assert.deepEqual(await groups(), ['readers']);
      assert.deepEqual((await introspect(server.url, tokens.access_token)).roles, ['writers'], 'as issued');
      const next = await refresh(tokens.refresh_token);
      assert.deepEqual((await introspect(server.url, next.access_token ?? '')).roles, ['readers']);
      await prints('user', 'update', 'hugo', '--claim', 'groups=["own"]');
      assert.deepEqual(await groups(), ['own'], 'a stored value comes first');
    });

    test('others get a page with ways on, and the client gets access_denied', async () => {
      const { who, browser } = await newPerson(server, 'iris');
      const { who: member } = await newPerson(server, 'jack');
      await prints('group', 'add', 'staff');
      await prints('group', 'add-member', 'staff', 'jack');
      await prints('client', 'update', 'demo-web', '--allow-group', 'staff');
      try {
        const denied = await browser.submit(await browser.get(url()), { ...who });
        assert.ok(isDenied(denied), denied.html);
        assert.equal(denied.status, 403);
        assert.match(denied.html, /You cannot use/);
        // Nothing tells the client who is signed in, because this user has never agreed to anything.
        const silent = new URL((await browser.get(url({ prompt: 'none' }))).url);
        assert.equal(silent.searchParams.get('error'), 'login_required');
        // The consent page cannot be reached past it.
        const pending = new URL(denied.url).search;
        assert.ok(isDenied(await browser.get(`${server.url}/consent${pending}`)));
        const other = /<a id="denied-other" class="button" href="([^"]*)"/.exec(denied.html)?.[1] ?? '';
        const login = await browser.get(new URL(unescaped(other), server.url).href);
        assert.ok(isLogin(login));
        assert.ok(isConsent(await browser.submit(login, { ...member })));

        const again = new Browser(server.url);
        const page = await again.submit(await again.get(url()), { ...who });
        const left = new URL((await again.submit(page, { decision: 'back' })).url);
        assert.deepEqual(
          [left.origin, left.searchParams.get('error'), left.searchParams.get('state')],
          ['http://localhost:4001', 'access_denied', 'state-1'],
        );
        const order = ['token', 'issue', '--client', 'demo-web', '--user', 'iris'];
        const issue = await grantd(server.folder, order);
        assert.deepEqual([issue.code, /may not use/.test(issue.stderr)], [1, true]);
        await server.logged(({ reason }) => reason === 'client_not_allowed', 'why');
      } finally {
        await prints('client', 'update', 'demo-web', '--allow-everyone');
      }
      const allowed = await browser.submit(await browser.get(url({ prompt: 'login' })), { ...who });
      assert.ok(isConsent(allowed), 'everyone may again');
    });

    test('whoever leaves the group has no live token of the client, and gets no new one', async () => {
      const { who, browser } = await newPerson(server, 'kim');
      await prints('group', 'add', 'crew');
      await prints('group', 'add', 'guests');
      await prints('group', 'add-member', 'crew', 'kim');
      const unused = await newPkce();
      const tokens = await redeem(server.url, pkce, await signInAndConsent(browser, url(), who));
      await prints('client', 'update', 'demo-web', '--allow-group', 'crew', '--allow-group', 'guests');
      try {
        assert.equal(await isActive(tokens.access_token), true, 'members keep their tokens');
        const code = new URL((await browser.get(url({ code_challenge: unused.challenge }))).url);
        assert.ok(code.searchParams.has('code'), 'by the remembered consent');
        assert.match(
          await prints('group', 'remove-member', 'crew', 'kim'),
          /^removed kim from crew and revoked their tokens of demo-web$/,
        );
        assert.deepEqual(
          [await isActive(tokens.access_token), await isActive(tokens.refresh_token)],
          [false, false],
        );
        assert.equal((await refresh(tokens.refresh_token)).error, 'invalid_grant');
        assert.equal((await redeem(server.url, unused, code)).error, 'invalid_grant');
        assert.ok(isDenied(await browser.get(url())), 'also with a remembered consent');
        const silent = new URL((await browser.get(url({ prompt: 'none' }))).url);
        assert.equal(silent.searchParams.get('error'), 'access_denied');
        assert.equal(isLogin(await browser.get(`${server.url}/account`)), false, 'still signed in');

        await prints('group', 'add-member', 'guests', 'kim');
        assert.equal(await isActive(tokens.access_token), false, 'nothing comes back');
        const back = new URL((await browser.get(url({ prompt: 'none' }))).url);
        assert.equal(await isActive((await redeem(server.url, pkce, back)).access_token), true);
      } finally {
        await prints('client', 'update', 'demo-web', '--allow-everyone');
      }
    });

    test('a client that is restricted later revokes the tokens of those who may no longer use it', async () => {
      const [inside, outside] = [await newPerson(server, 'lea'), await newPerson(server, 'max')];
      await prints('group', 'add', 'team');
      await prints('group', 'add-member', 'team', 'lea');
      const tokens = [];
      for (const { browser, who } of [inside, outside])
        tokens.push(await redeem(server.url, pkce, await signInAndConsent(browser, url(), who)));
      const done = await grantd(server.folder, ['client', 'update', 'demo-web', '--allow-group', 'team']);
      try {
        assert.match(done.stderr, /revoked the tokens of \d+ users? who may no longer use demo-web/);
        assert.deepEqual(await Promise.all(tokens.map((one) => isActive(one.access_token))), [true, false]);
        const refused = await grantd(server.folder, ['group', 'remove', 'team', '--yes']);
        assert.deepEqual(
          [refused.code, /the client demo-web is for the group team/.test(refused.stderr)],
          [1, true],
        );
        const unknown = ['client', 'update', 'demo-web', '--allow-group', 'Team'];
        assert.match((await grantd(server.folder, unknown)).stderr, /there is no group Team: use team/);
      } finally {
        await prints('client', 'update', 'demo-web', '--allow-everyone');
      }
    });

    test('of a refresh and the end of a membership at the same time, no token survives', async () => {
      const { who, browser } = await newPerson(server, 'nora');
      await prints('group', 'add', 'night');
      await prints('group', 'add-member', 'night', 'nora');
      const { sub } = JSON.parse(await prints('user', 'show', 'nora', '--json'));
      await prints('client', 'update', 'demo-web', '--allow-group', 'night');
      try {
        await withDatabaseOf(server, async (opened) => {
          const access = new AccessEnding(opened);
          const membership = { subject: sub, group: 'night' };
          for (let round = 0; round < 8; round += 1) {
            await opened.groups.addMember(membership, Date.now());
            const callback =
              round === 0
                ? await signInAndConsent(browser, url(), who)
                : new URL((await browser.get(url())).url);
            const tokens = await redeem(server.url, pkce, callback);
            assert.ok(tokens.access_token, `round ${round}`);
            const refreshing = Array.from({ length: 3 }, () => refresh(tokens.refresh_token));
            const [refreshed] = await Promise.all([Promise.all(refreshing), access.leaveGroup(membership)]);
            const issued = refreshed.flatMap(({ access_token, refresh_token }) => [
              access_token,
              refresh_token,
            ]);
            for (const token of [tokens.access_token, ...issued])
              if (token !== undefined) assert.equal(await isActive(token), false, `round ${round}`);
          }
        });
      } finally {
        await prints('client', 'update', 'demo-web', '--allow-everyone');
      }
    });

    test('a server finishes the end of a membership that a dead process began', async (t) => {
      const opened = await openDatabase(t, database);
      const { groups, people, storage } = opened;
      const person = await people.add({ name: 'otto', passwordHash: '', claims: {} });
      assert.ok(person);
      await storage.clients.add({
        id: 'payroll',
        grantTypes: [],
        scopes: [],
        redirectUris: [],
        metadata: { allowed_groups: ['pay'] },
      });
      await groups.add({ name: 'pay', description: '' }, 1);
      const membership = { subject: person.subject, group: 'pay' };
      assert.equal(await groups.addMember(membership, 1), true);
      const code = {
        id: 'code',
        clientId: 'payroll',
        redirectUri: 'https://p.example',
        redirectUriGiven: true,
      };
      const grant = { scopes: [], subject: person.subject, grantId: 'grant', claims: { sub: 's' } };
      const times = { issuedAtMs: Date.now(), expiresAt: Math.floor(Date.now() / 1000) + 600 };
      assert.equal(await storage.authorizationCodes.issue({ ...code, ...grant, ...times }, {}), 'issued');
      assert.equal(await groups.beginEnd(membership, 1), true);
      assert.equal((await people.bySubject(person.subject))?.groups, undefined);
      assert.equal((await storage.grantsOf(person.subject)).length, 1);
      assert.deepEqual(await new AccessEnding({ ...opened, clock: () => 30_000 }).finishHalfEnded(), []);
      assert.deepEqual(await new AccessEnding(opened).finishHalfEnded(), [membership]);
      assert.deepEqual(await storage.grantsOf(person.subject), []);
      assert.deepEqual(await new AccessEnding(opened).finishHalfEnded(), []);

      await groups.addMember(membership, 1);
      await people.beginRemoval(person.subject, 1);
      await people.erase(person.subject);
      assert.equal((await groups.byName('pay'))?.members, 0, 'a removed user is in no group');
    });

    test('user list searches, filters and pages, and its JSON is a list', async () => {
      await prints('group', 'add', 'choir');
      for (const name of ['pia', 'quinn', 'rosa']) await newPerson(server, name);
      await prints('group', 'add-member', 'choir', 'pia', 'quinn', 'rosa');
      await prints(
        'user',
        'update',
        'quinn',
        '--email',
        'Q@Music.example',
        '--phone',
        '+44 1865 1',
        '--phone-verified',
      );
      await prints('user', 'update', 'rosa', '--claim', 'name=Rosa 100%');
      await prints('user', 'disable', 'pia');
      const list = async (...flags: readonly string[]) => {
        const found: { username: string }[] = JSON.parse(await prints('user', 'list', '--json', ...flags));
        return found.map(({ username }) => username);
      };
      assert.deepEqual(await list('--group', 'choir'), ['pia', 'quinn', 'rosa']);
      assert.deepEqual(await list('--search', 'music.EXAMPLE'), ['quinn']);
      assert.deepEqual(await list('--search', '100%'), ['rosa'], 'no pattern');
      assert.deepEqual(await list('--search', 'o_a'), []);
      assert.deepEqual(await list('--group', 'choir', '--state', 'disabled'), ['pia']);
      assert.deepEqual(await list('--group', 'choir', '--state', 'active', '--limit', '1'), ['quinn']);
      assert.deepEqual(await list('--group', 'choir', '--limit', '1', '--after', 'pia'), ['quinn']);
      assert.ok((await list()).includes('alice'));
      const [pia] = JSON.parse(await prints('user', 'list', '--json', '--search', 'pia'));
      assert.deepEqual(Object.keys(pia), [
        ...['sub', 'username', 'claims', 'groups', 'created_at', 'disabled_at', 'has_password'],
      ]);
      const { claims } = JSON.parse(await prints('user', 'show', 'quinn', '--json'));
      assert.deepEqual(claims, {
        email: 'Q@Music.example',
        phone_number: '+44 1865 1',
        phone_number_verified: true,
      });
      await prints('user', 'update', 'quinn', '--phone', '+44 1865 2');
      const changed = JSON.parse(await prints('user', 'show', 'quinn', '--json')).claims;
      assert.equal(changed.phone_number_verified, undefined, 'a new number is unverified');
      for (const flags of [
        ['--state', 'gone'],
        ['--limit', '0'],
        ['--search', ''],
      ])
        assert.equal((await grantd(server.folder, ['user', 'list', ...flags])).code, 2);
    });
  });
}
