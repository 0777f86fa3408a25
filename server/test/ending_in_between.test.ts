import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { before, describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type AdministrableStorage,
  type AuthorizationCodeRepository,
  AuthorizationServer,
  type KeyRecord,
  ServerSecret,
} from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { documentFetcher } from '@grantd/core/node';
import { readConfiguration } from '../src/config/configuration.ts';
import type { OpenDatabase } from '../src/data/database.ts';
import { openLog, RequestLog } from '../src/log/log.ts';
import { openPages } from '../src/pages/pages.ts';
import { ConsentWithdrawal } from '../src/people/consents.ts';
import { SessionEnding } from '../src/people/sessions.ts';
import { Browser, isConsent, isLogin } from './harness/browser.ts';
import { cheapHash } from './harness/cheap_hash.ts';
import { hashCheaply } from './harness/cheap_hasher.ts';
import { DATABASES } from './harness/databases.ts';
import { DUE, ISSUER, openDatabases } from './harness/program_data.ts';
import { authorizationUrl, newPkce } from './harness/protocol.ts';

const SECRET = 's'.repeat(32);
const ALICE = { username: 'alice', password: 'wonderland' };
const WEB = { client_id: 'web', redirect_uri: 'https://web.example/callback' };

/** Signing keys for the database of every test, because new ones would take most of the time. */
async function signingKeys(): Promise<readonly KeyRecord[]> {
  const storage = memoryStorage();
  await new AuthorizationServer({ issuer: ISSUER, secret: SECRET, storage }).prepare();
  return storage.keys.list();
}

/** The moment of the interruption: before or after a code is stored. */
type Moment = 'before' | 'after';

/** Where no request is under way, as in another process. */
const elsewhere = AsyncLocalStorage.snapshot();

/** The same store, which runs an action before or after it stores the next code. */
function interrupted(storage: AdministrableStorage) {
  let planned: { moment: Moment; what: () => Promise<unknown> } | undefined;
  const issue: AuthorizationCodeRepository['issue'] = async (...of) => {
    const { moment, what } = planned ?? {};
    planned = undefined;
    if (moment === 'before') await elsewhere(() => what?.());
    const outcome = await storage.authorizationCodes.issue(...of);
    if (moment === 'after') await elsewhere(() => what?.());
    return outcome;
  };
  return {
    storage: { ...storage, authorizationCodes: { ...storage.authorizationCodes, issue } },
    plan: (moment: Moment, what: () => Promise<unknown>) => {
      planned = { moment, what };
    },
  };
}

/** The moment of the interruption: after the user was read, or after the password was found correct. */
type MomentOfSignIn = 'read' | 'verified';

/** The same users and sessions, with an action during the next sign-in. */
function interruptedSignIn({ people, sessions }: Pick<OpenDatabase, 'people' | 'sessions'>) {
  let planned: { moment: MomentOfSignIn; what: () => Promise<unknown> } | undefined;
  const reach = async (moment: MomentOfSignIn) => {
    if (planned?.moment !== moment) return;
    const { what } = planned;
    planned = undefined;
    await what();
  };
  const byName: typeof people.byName = async (name) => {
    const person = await people.byName(name);
    await reach('read');
    return person;
  };
  const add: typeof sessions.add = async (...of) => {
    await reach('verified');
    return sessions.add(...of);
  };
  const renew: typeof sessions.renew = async (...of) => {
    await reach('verified');
    return sessions.renew(...of);
  };
  return {
    parts: { people: { ...people, byName }, sessions: { ...sessions, add, renew } },
    plan: (moment: MomentOfSignIn, what: () => Promise<unknown>) => {
      planned = { moment, what };
    },
  };
}

hashCheaply();

let keys: readonly KeyRecord[];
before(async () => {
  keys = await signingKeys();
});

for (const database of DATABASES) {
  describe(`ending in the middle of an authorization on ${database.name}`, { skip: database.absence }, () => {
    /** The pages over a store that can be interrupted, and another process's handles of the same database. */
    async function open(t: TestContext) {
      const [mine, others] = await openDatabases(t, database, 2);
      assert.ok(mine && others);
      const { storage, plan } = interrupted(mine.storage);
      const server = new AuthorizationServer({
        issuer: ISSUER,
        secret: SECRET,
        storage,
        oidc: { getUserClaims: () => ({}) },
        onEvent: () => {},
      });
      await storage.keys.initialize(keys);
      await server.prepare();
      await storage.clients.add({
        id: 'web',
        secrets: [{ hash: 'none' }],
        grantTypes: ['authorization_code', 'refresh_token'],
        scopes: ['openid', 'profile', 'offline_access'],
        redirectUris: [WEB.redirect_uri],
      });
      const passwordHash = cheapHash(ALICE.password);
      const alice = await mine.people.add({ name: 'alice', passwordHash, claims: {} });
      assert.ok(alice);
      const signingIn = interruptedSignIn(mine);
      const url = await serve(t, { ...mine, ...signingIn.parts, storage }, server);
      const commits = () => mine.storage.statistics?.().writes?.commits ?? 0;
      return { url, plan, planAtSignIn: signingIn.plan, others, subject: alice.subject, commits };
    }

    async function serve(t: TestContext, opened: OpenDatabase, server: AuthorizationServer): Promise<string> {
      const pages = openPages(
        {
          ...opened,
          ownPeople: opened.people,
          ownFactors: opened.factors,
          issuer: 'http://localhost',
          fetchDocument: documentFetcher(),
          secret: () => new ServerSecret(SECRET),
          openWays: () => ({ providers: [], hasPasskeys: true, hasDirectory: false }),
        },
        {
          server,
          settings: readConfiguration({}, {}).settings,
          requestLog: new RequestLog(await openLog('off')),
          operator: {},
          notifyClients: async () => new Map(),
          mail: undefined,
          directory: undefined,
          openUpstream: undefined,
          ownsGlobals: false,
        },
      );
      const http: Server = createServer((request, response) => void pages(request, response));
      await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
      t.after(() => {
        http.closeAllConnections();
        http.close();
      });
      return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
    }

    const pkce = newPkce();
    const urlAt = (url: string, scope: string) =>
      authorizationUrl(url, pkce, { ...WEB, scope, code_challenge: pkce.challenge });

    for (const moment of ['before', 'after'] as const) {
      for (const scope of ['openid', 'openid offline_access']) {
        test(`nothing of a consent that is withdrawn ${moment} the code is stored stays alive (${scope})`, async (t) => {
          const { url, plan, others, subject } = await open(t);
          const browser = new Browser(url);
          const consent = await browser.submit(await browser.get(urlAt(url, scope)), ALICE);
          const first = await browser.submit(consent, { decision: 'allow' });
          assert.ok(new URL(first.url).searchParams.has('code'));
          assert.equal((await others.storage.grantsOf(subject)).length, 1);

          plan(moment, () => new ConsentWithdrawal(others).withdraw({ subject, clientId: 'web' }));
          const left = new URL((await browser.get(urlAt(url, scope))).url);
          assert.equal(left.searchParams.get('code'), null);
          assert.equal(left.searchParams.get('error'), 'access_denied');
          assert.deepEqual(await others.storage.grantsOf(subject), []);
          assert.equal(await others.consents.get({ subject, clientId: 'web' }), undefined);
        });
      }

      test(`nothing of a session that ends ${moment} the code is stored stays alive`, async (t) => {
        const { url, plan, others, subject } = await open(t);
        const browser = new Browser(url);
        const consent = await browser.submit(await browser.get(urlAt(url, 'openid')), ALICE);
        await browser.submit(consent, { decision: 'allow' });
        plan(moment, () => new SessionEnding(others).end({ subject }));
        const left = new URL((await browser.get(urlAt(url, 'openid'))).url);
        assert.equal(left.searchParams.get('error'), 'access_denied');
        assert.equal(left.searchParams.get('code'), null);
        assert.ok(isLogin(await browser.get(urlAt(url, 'openid'))));
        assert.deepEqual(await others.storage.grantsOf(subject), []);
        assert.deepEqual(
          (await others.logoutDeliveries.take(Date.now(), 1000, DUE)).map(({ clientId }) => clientId),
          ['web'],
        );
      });
    }

    test('a consent, the client that its session knows, and the code are one commit', {
      skip: database.name !== 'SQLite',
    }, async (t) => {
      const { url, commits } = await open(t);
      const browser = new Browser(url);
      const consent = await browser.submit(await browser.get(urlAt(url, 'openid')), ALICE);
      // The answer of the first form is stored some milliseconds later.
      await pause(100);
      const before = commits();
      assert.ok(new URL((await browser.submit(consent, { decision: 'allow' })).url).searchParams.has('code'));
      // The other two are the right to decide, and the end of the request. The answer may be stored by now.
      const count = commits() - before;
      assert.ok(count === 3 || count === 4, `${count} commits`);
    });

    test('consents for one application at the same time are both stored, and each gets a code', async (t) => {
      const { url, others, subject } = await open(t);
      const browser = new Browser(url);
      await browser.submit(await browser.get(urlAt(url, 'openid profile')), ALICE);
      const pages = await Promise.all(
        ['openid profile', 'openid offline_access'].map((scope) => browser.get(urlAt(url, scope))),
      );
      const left = await Promise.all(pages.map((page) => browser.submit(page, { decision: 'allow' })));
      for (const page of left) assert.ok(new URL(page.url).searchParams.has('code'), page.html);
      const { entries = [] } = (await others.consents.get({ subject, clientId: 'web' })) ?? {};
      assert.deepEqual(entries.map(({ scopes }) => scopes.toSorted().join(' ')).sort(), [
        'offline_access openid',
        'openid profile',
      ]);
    });

    test('an approval that is refused stores no consent', async (t) => {
      const { url, plan, others, subject } = await open(t);
      const browser = new Browser(url);
      const consent = await browser.submit(await browser.get(urlAt(url, 'openid')), ALICE);
      plan('before', async () => others.storage.setDisabled('client', 'web', true));
      const left = new URL((await browser.submit(consent, { decision: 'allow' })).url);
      assert.equal(left.searchParams.get('error'), 'access_denied');
      assert.equal(await others.consents.get({ subject, clientId: 'web' }), undefined);
    });

    for (const moment of ['read', 'verified'] as const) {
      const between =
        moment === 'read' ? 'after the user has been read' : 'after the password has been checked';
      for (const isAgain of [false, true]) {
        const who = isAgain ? 'a user who signs in again' : 'a user who signs in';
        test(`${who} with the previous password is not signed in if it changes ${between}`, async (t) => {
          const { url, planAtSignIn, others, subject } = await open(t);
          const browser = new Browser(url);
          if (isAgain) await browser.submit(await browser.get(urlAt(url, 'openid')), ALICE);
          const login = await browser.get(`${urlAt(url, 'openid')}&prompt=login`);
          const passwordHash = cheapHash('another password');
          planAtSignIn(moment, async () => {
            await others.people.setPasswordHash(subject, passwordHash);
            await new SessionEnding(others).end({ subject });
          });
          const refused = await browser.submit(login, ALICE);
          assert.deepEqual([refused.status, isLogin(refused)], [403, true]);
          assert.match(refused.html, /Wrong username or password\./);
          assert.deepEqual(await others.sessions.ofSubject(subject, 0), []);
          const signedIn = await browser.submit(refused, { ...ALICE, password: 'another password' });
          assert.ok(isConsent(signedIn));
        });
      }
    }

    test('a user who is disabled after the password check is not signed in, even when enabled again', async (t) => {
      const { url, planAtSignIn, others, subject } = await open(t);
      const browser = new Browser(url);
      const login = await browser.get(urlAt(url, 'openid'));
      planAtSignIn('verified', async () => {
        await others.storage.setDisabled('subject', subject, true);
        await new SessionEnding(others).end({ subject });
      });
      const refused = await browser.submit(login, ALICE);
      assert.deepEqual([refused.status, isLogin(refused)], [403, true]);
      await others.storage.setDisabled('subject', subject, false);
      assert.deepEqual(await others.sessions.ofSubject(subject, 0), []);
      assert.ok(isLogin(await browser.get(urlAt(url, 'openid'))));
    });

    test('what a process leaves half-ended when it dies is ended by another', async (t) => {
      const { url, others, subject } = await open(t);
      const browser = new Browser(url);
      const consent = await browser.submit(await browser.get(urlAt(url, 'openid')), ALICE);
      await browser.submit(consent, { decision: 'allow' });
      assert.equal((await others.storage.grantsOf(subject)).length, 1);

      const begunAtMs = Date.now();
      await others.consents.beginWithdrawal({ subject, clientId: 'web' }, begunAtMs);
      const atMs = (clock: number) => ({ ...others, clock: () => clock });
      assert.equal(await new ConsentWithdrawal(atMs(begunAtMs + 30_000)).finishHalfWithdrawn(), 0);
      assert.equal(await new ConsentWithdrawal(atMs(begunAtMs + 30_001)).finishHalfWithdrawn(), 1);
      assert.deepEqual(await others.storage.grantsOf(subject), []);

      const [ended] = await others.sessions.beginEnd({ subject }, begunAtMs);
      assert.ok(ended);
      assert.deepEqual(await new SessionEnding(atMs(begunAtMs + 30_000)).finishHalfEnded(), []);
      assert.deepEqual(await new SessionEnding(atMs(begunAtMs + 30_001)).finishHalfEnded(), [
        { ...ended, clientIds: ['web'] },
      ]);
      assert.equal((await others.logoutDeliveries.take(begunAtMs + 30_001, 1000, DUE)).length, 1);
    });
  });
}
