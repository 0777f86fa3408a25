// Signing in with the verified email address instead of the username.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { ServerSecret } from '@grantd/core';
import type { Provider } from '../src/config/providers.ts';
import type { People } from '../src/data/people.ts';
import type { ProgramSecretUse } from '../src/data/secrets.ts';
import { NO_PASSWORD } from '../src/data/ways_to_sign_in.ts';
import { Locks } from '../src/people/locks.ts';
import { OwnPasswords } from '../src/people/own_passwords.ts';
import { PasswordHasher } from '../src/people/password_hasher.ts';
import { AttemptLimits, addressLookup, type SignInParts, signIn } from '../src/people/sign_in.ts';
import { Browser, isLogin } from './harness/browser.ts';
import { cheapHash } from './harness/cheap_hash.ts';
import { hashCheaply } from './harness/cheap_hasher.ts';
import { grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { openDatabase } from './harness/program_data.ts';

hashCheaply();

const SECRET = new ServerSecret<ProgramSecretUse>('s'.repeat(32));
const PASSWORD = 'correct horse battery';
const HERE = '192.0.2.1';

for (const database of DATABASES)
  describe(`an email address as username on ${database.name}`, { skip: database.absence }, () => {
    /** A server at which users sign in. */
    async function serverAt(t: TestContext, providers: readonly Pick<Provider, 'domains'>[] = []) {
      const { people, storage, attempts, gatheredWrites } = await openDatabase(t, database);
      const lookups: string[] = [];
      const checks: (string | undefined)[] = [];
      const hasher = new PasswordHasher();
      const counting: Pick<PasswordHasher, 'admit' | 'check'> = {
        admit: (...args) => hasher.admit(...args),
        check(...args) {
          checks.push(args[1]);
          return hasher.check(...args);
        },
      };
      const counted: Pick<People, 'byOwnEmail'> = {
        byOwnEmail(address) {
          lookups.push(address);
          return people.byOwnEmail(address);
        },
      };
      const passwords = new OwnPasswords({ providers, identities: { ofSubject: async () => [] } });
      const parts: SignInParts = {
        ...{ people, storage, passwords, hasher: counting as PasswordHasher, directory: undefined },
        limits: new AttemptLimits(attempts, SECRET, () => 0),
        byAddress: addressLookup(counted, passwords),
      };
      return {
        ...{ people, lookups, checks, gatheredWrites },
        locks: new Locks(attempts, SECRET, () => 0),
        async add(name: string, email: string, isVerified = true, passwordHash = cheapHash(PASSWORD)) {
          const claims = { email, email_verified: isVerified };
          return (await people.add({ name, passwordHash, claims })) ?? assert.fail(name);
        },
        /** @returns the username of the user, or why they are refused */
        async signIn(typed: string, password = PASSWORD, place = HERE): Promise<string> {
          const outcome = await signIn(parts, typed, password, async () => ({ name: place, isKnown: false }));
          return 'refused' in outcome ? outcome.refused : outcome.person.name;
        },
      };
    }

    test('each spelling of a verified address signs in its one user, and one that is not verified signs in none', async (t) => {
      const server = await serverAt(t);
      await server.add('ada', 'Ada@bücher.example');
      await server.add('ben', 'ben@example.com', false);
      for (const typed of ['ada', 'ada@bücher.example', 'ADA@xn--bcher-kva.example.', 'ada@BÜCHER。example'])
        assert.equal(await server.signIn(typed), 'ada', typed);
      for (const typed of ['ben@example.com', 'ada@bucher.example', 'аda@bücher.example', 'bücher.example'])
        assert.equal(await server.signIn(typed), 'person_unknown', typed);
      assert.equal(await server.signIn('ada@bücher.example', 'wrong'), 'password_wrong');
    });

    test('an address of two users signs in neither, and costs a check of a password', async (t) => {
      const server = await serverAt(t);
      for (const name of ['ada', 'ben']) await server.add(name, 'team@example.com');
      assert.equal(await server.signIn('team@example.com'), 'person_unknown');
      assert.deepEqual(server.checks, [undefined]);
      for (const name of ['ada', 'ben']) assert.equal(await server.signIn(name), name);
    });

    test('a username comes first: in no spelling, an address that is one signs in another user', async (t) => {
      const server = await serverAt(t);
      await server.add('ada', 'info@пример.рф');
      for (const name of ['info@пример.рф', 'INFO@xn--e1afmkfd.xn--p1ai']) {
        const owner = await server.add(name, 'other@example.com', true, cheapHash('quartz falcon'));
        for (const typed of ['info@пример.рф', 'info@xn--e1afmkfd.xn--p1ai', 'Info@пример。рф.']) {
          assert.match(await server.signIn(typed), /^(?:password_wrong|person_unknown)$/, typed);
          assert.match(await server.signIn(typed, 'quartz falcon'), /@|person_unknown/, typed);
        }
        await server.people.beginRemoval(owner.subject, 1);
        await server.people.erase(owner.subject);
      }
      assert.equal(await server.signIn('info@пример.рф', PASSWORD, 'elsewhere'), 'ada');
    });

    test('a username is looked up once', async (t) => {
      const server = await serverAt(t);
      await server.add('ada@example.com', 'ada@example.com');
      await server.add('ben', 'ben@example.com');
      for (const typed of ['ada@example.com', 'ADA@example.com', 'ben', 'nobody']) await server.signIn(typed);
      assert.deepEqual(server.lookups, []);
    });

    test('whose password is elsewhere has none by any address', async (t) => {
      const server = await serverAt(t, [{ domains: ['corp.example'] }]);
      await server.add('ada@corp.example', 'ada@example.com');
      await server.add('ben', 'ben@corp.example');
      await server.add('cyd', 'cyd@example.com', true, NO_PASSWORD);
      assert.equal(await server.signIn('ada@example.com'), 'person_unknown');
      assert.equal(await server.signIn('ben@corp.example'), 'password_not_asked');
      assert.equal(await server.signIn('cyd@example.com'), 'person_unknown');
      assert.deepEqual(server.lookups, ['ada@example.com', 'cyd@example.com']);
      assert.equal(await server.signIn('ben'), 'ben');
    });

    test('username and address have ten attempts together, and no answer tells that they are of one user', async (t) => {
      for (const [first, second] of [
        ['ada', 'ada@example.com'],
        ['ada@example.com', 'ada'],
      ] as const) {
        const server = await serverAt(t);
        const ada = await server.add('ada', 'ada@example.com');
        await server.add('ben', 'ben@example.com');
        for (let attempt = 0; attempt < 10; attempt += 1)
          assert.equal(await server.signIn(first, 'wrong'), 'password_wrong');
        assert.equal(await server.signIn(first), 'too_many_attempts');

        // The page shows the same as for a name of nobody, for as many attempts.
        const checked = server.checks.length;
        const unknown: string[] = [];
        for (let attempt = 0; attempt < 11; attempt += 1) {
          const outcome = await server.signIn(second);
          assert.equal(outcome, attempt < 10 ? 'person_limited' : 'too_many_attempts');
          unknown.push(await server.signIn('nobody@example.com'));
        }
        assert.deepEqual(unknown, [...Array(10).fill('person_unknown'), 'too_many_attempts']);
        assert.deepEqual(server.checks.slice(checked), Array(20).fill(undefined), 'no hash of the user');

        assert.equal(await server.signIn(second, PASSWORD, '198.51.100.7'), 'ada');
        assert.equal(await server.signIn('ben@example.com'), 'ben');
        assert.equal((await server.locks.of(ada))[0]?.step, 'password');
        await server.locks.unlock(ada);
        assert.deepEqual(await server.locks.of(ada), []);
        for (const typed of [first, second]) assert.equal(await server.signIn(typed), 'ada');
      }
    });

    test('attempts in turn by username and address count for the user, and signing in ends the count', async (t) => {
      const server = await serverAt(t);
      await server.add('ada', 'ada@example.com');
      const outcomes: string[] = [];
      for (let attempt = 0; attempt < 14; attempt += 1)
        outcomes.push(await server.signIn(attempt % 2 ? 'ada' : 'ada@example.com', 'wrong'));
      assert.deepEqual(outcomes, [...Array(10).fill('password_wrong'), ...Array(4).fill('person_limited')]);
      assert.equal(await server.signIn('ada'), 'person_limited');

      const other = await serverAt(t);
      await other.add('ada', 'ada@example.com');
      for (let attempt = 0; attempt < 9; attempt += 1) await other.signIn('ada@example.com', 'wrong');
      assert.equal(await other.signIn('ada'), 'ada');
      // The count ends with other writes, some milliseconds later.
      await other.gatheredWrites.flush();
      for (let attempt = 0; attempt < 10; attempt += 1)
        assert.equal(await other.signIn('ada', 'wrong'), 'password_wrong');
    });
  });

describe('the pages', () => {
  const workbench = new Workbench();
  after(() => workbench.clear());
  let server: RunningServer;
  before(async () => {
    const folder = await workbench.home();
    const provider = { client_id: 'c', client_secret: { env: 'PROVIDER_SECRET' }, name: 'Corporation' };
    const providers = { corp: { ...provider, issuer: 'http://127.0.0.1:9', domains: ['corp.example'] } };
    writeFileSync(join(folder, 'providers.json'), JSON.stringify(providers));
    const flags = ['--demo', '--sign-up', 'open', '--providers', 'providers.json'];
    server = await workbench.start(folder, flags, { PROVIDER_SECRET: 'secret' });
    const add = ['user', 'add', 'ada', '--password-stdin', '--email', 'ada@example.com', '--email-verified'];
    await grantdPrints(folder, add, PASSWORD);
  });

  const labelOf = (html: string) => /<label for="username">([^<]*)</.exec(html)?.[1];

  test('the sign-in page asks for username or address, accepts both, and a refusal tells no username', async () => {
    const browser = new Browser(server.url);
    const form = await browser.get(`${server.url}/account`);
    assert.equal(labelOf(form.html), 'Username or email address');
    const wrong = await browser.submit(form, { username: 'ada@example.com', password: 'wrong' });
    assert.equal(wrong.status, 403);
    assert.match(wrong.html, /name="username" value="ada@example.com"/);
    const account = await browser.submit(wrong, { username: 'Ada@example.com', password: PASSWORD });
    assert.ok(!isLogin(account), account.html);
    assert.match(account.html, /<bdi>ada<\/bdi>/);
    const elsewhere = new Browser(server.url);
    const sent = { username: 'ada@corp.example', password: PASSWORD };
    const refused = await elsewhere.submit(await elsewhere.get(`${server.url}/account`), sent);
    assert.match(refused.html, /Corporation/);
  });

  test('without the setting, the page asks for the username', async () => {
    const own = await workbench.start(workbench.folder(), ['--demo', '--sign-in-with-email', 'false']);
    const browser = new Browser(own.url);
    const form = await browser.get(`${own.url}/account`);
    assert.equal(labelOf(form.html), 'Username');
    const sent = { username: 'alice@example.com', password: 'demo' };
    assert.equal((await browser.submit(form, sent)).status, 403);
  });

  test('who signs up cannot take the address of another person as username', async () => {
    const visitor = new Browser(server.url);
    await visitor.submit(await visitor.get(`${server.url}/sign-up`), { email: 'mallory@example.net' });
    let link: string | undefined;
    for (let tries = 0; tries < 400 && link === undefined; tries++) {
      const { html } = await visitor.get(`${server.url}/demo/mailbox`);
      link = /href="([^"]*\/link\?token=[^"]*)"/.exec(html)?.[1];
      if (link === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const form = await visitor.get(link ?? assert.fail('no email'));
    const choose = (username: string) =>
      visitor.submit(form, { username, new_password: 'quartz falcon kettle' });
    const refused = await choose('victim@example.com');
    assert.equal(refused.status, 400);
    assert.match(refused.html, /An email address must be your own/);
    assert.equal((await choose('Mallory@example.net')).status, 200);
    assert.match(await grantdPrints(server.folder, ['user', 'list']), /^Mallory@example\.net {2}/m);
  });
});
