import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { Hono } from 'hono';
import type { OpenDatabase } from '../src/data/database.ts';
import type { Person } from '../src/data/people.ts';
import { Cookies } from '../src/pages/browser/cookies.ts';
import { BrowserSessions } from '../src/pages/browser/sessions.ts';
import { SessionValidity } from '../src/people/session_validity.ts';
import { SessionEnding } from '../src/people/sessions.ts';
import { DATABASES } from './harness/databases.ts';
import { DUE, noteClient, openDatabase } from './harness/program_data.ts';

const MINUTE_MS = 60_000;
const LIFETIMES = { idle: 30 * 60, absolute: 60 * 60 };

/** A browser, and the program's pages with a clock that tests set. */
class World {
  nowMs = Date.parse('2026-01-01T00:00:00Z');
  cookie: string | undefined;
  readonly database: OpenDatabase;
  /** Whom the last request counts for. */
  user: string | undefined;
  readonly #app: Hono;

  constructor(database: OpenDatabase) {
    this.database = database;
    const { sessions, storage, people } = database;
    const clock = () => this.nowMs;
    const ending = new SessionEnding({ sessions, storage, clock });
    const browserSessions = new BrowserSessions({
      ...{ sessions, ending, people, clock },
      cookies: new Cookies('http://localhost'),
      lifetimes: LIFETIMES,
      validity: new SessionValidity({ sessions, storage, lifetimes: LIFETIMES, clock }),
      visitors: { networkOf: () => '203.0.113.0/24' },
    });
    const app = new Hono<{ Variables: { user?: string } }>();
    this.#app = app as unknown as Hono;
    app
      .use(async (c, next) => {
        await next();
        this.user = c.get('user');
      })
      .post('/in/:subject', async (c) => {
        const person = await people.bySubject(c.req.param('subject'));
        assert.ok(person);
        const begun = await browserSessions.begin(c, person);
        assert.ok(begun);
        return c.json(begun.session);
      })
      .post('/step/:subject', async (c) => {
        const person = await people.bySubject(c.req.param('subject'));
        assert.ok(person);
        const how = { amr: ['pwd', 'otp', 'mfa'], signedInAtMs: this.nowMs };
        return c.json((await browserSessions.begin(c, person, how))?.session ?? null);
      })
      .get('/current', async (c) => c.json((await browserSessions.current(c)) ?? null))
      .post('/out', async (c) => {
        const session = await browserSessions.current(c);
        assert.ok(session);
        return c.json(await browserSessions.end(c, session));
      });
  }

  async add(name: string): Promise<Person> {
    const person = await this.database.people.add({ name, passwordHash: '', claims: {} });
    assert.ok(person);
    return person;
  }

  async signIn({ subject }: Person): Promise<{ id: string }> {
    return (await this.#call('POST', `/in/${subject}`)) as { id: string };
  }

  /** A further step. */
  async step({ subject }: Person): Promise<{ id: string } | null> {
    return (await this.#call('POST', `/step/${subject}`)) as { id: string } | null;
  }

  async signOut(): Promise<void> {
    await this.#call('POST', '/out');
  }

  /** The signed-in user and session. */
  async current(): Promise<{ readonly id: string; readonly name: string } | undefined> {
    const session = (await this.#call('GET', '/current')) as { id: string; person: Person } | null;
    return session === null ? undefined : { id: session.id, name: session.person.name };
  }

  async #call(method: string, path: string): Promise<unknown> {
    const headers = { 'user-agent': 'Browser', ...(this.cookie !== undefined && { cookie: this.cookie }) };
    const response = await this.#app.request(path, { method, headers });
    assert.equal(response.status, 200);
    const [set] = response.headers.getSetCookie();
    if (set !== undefined) this.cookie = set.split(';', 1)[0];
    return response.json();
  }
}

for (const database of DATABASES) {
  describe(`a browser's session on ${database.name}`, { skip: database.absence }, () => {
    async function newWorld(t: TestContext): Promise<World> {
      return new World(await openDatabase(t, database));
    }

    test('counts the requests of its user only while it is valid', async (t) => {
      const world = await newWorld(t);
      const alice = await world.add('alice');
      await world.signIn(alice);
      assert.equal(world.user, alice.subject);
      await world.current();
      assert.equal(world.user, alice.subject);
      const { cookie } = world;
      world.cookie = 'grantd_session=invented';
      await world.current();
      assert.equal(world.user, undefined);
      world.cookie = cookie;
      world.nowMs += 30 * MINUTE_MS;
      await world.current();
      assert.equal(world.user, undefined);
    });

    test('ends after the idle lifetime without use, and each use restarts it', async (t) => {
      const world = await newWorld(t);
      const { id } = await world.signIn(await world.add('alice'));
      const begun = world.nowMs;
      for (const minutes of [20, 40]) {
        world.nowMs = begun + minutes * MINUTE_MS;
        assert.deepEqual(await world.current(), { id, name: 'alice' });
      }
      const idle = new World(world.database);
      idle.nowMs = begun;
      await idle.signIn(await world.add('bob'));
      idle.nowMs = begun + 30 * MINUTE_MS - 1;
      assert.equal((await idle.current())?.name, 'bob');
      idle.nowMs += 30 * MINUTE_MS;
      assert.equal(await idle.current(), undefined);
    });

    test('ends at its absolute lifetime, however often it was used', async (t) => {
      const world = await newWorld(t);
      await world.signIn(await world.add('alice'));
      const begun = world.nowMs;
      for (let minutes = 5; minutes < 60; minutes += 5) {
        world.nowMs = begun + minutes * MINUTE_MS;
        assert.ok(await world.current());
      }
      world.nowMs = begun + 60 * MINUTE_MS - 1;
      assert.ok(await world.current());
      world.nowMs += 1;
      assert.equal(await world.current(), undefined);
    });

    test('writes that it is used once a minute at most', async (t) => {
      const world = await newWorld(t);
      const alice = await world.add('alice');
      await world.signIn(alice);
      const begun = world.nowMs;
      const lastSeen = async () =>
        (await world.database.sessions.ofSubject(alice.subject, 0))[0]?.lastSeenAtMs;
      world.nowMs = begun + MINUTE_MS - 1;
      await world.current();
      assert.equal(await lastSeen(), begun);
      world.nowMs = begun + MINUTE_MS;
      await world.current();
      assert.equal(await lastSeen(), begun + MINUTE_MS);
    });

    test('a further step continues the session, and begins none in place of one that has ended', async (t) => {
      const world = await newWorld(t);
      const { sessions, storage } = world.database;
      const alice = await world.add('alice');
      const { id } = await world.signIn(alice);
      assert.equal((await world.step(alice))?.id, id);
      await new SessionEnding({ sessions, storage, clock: () => world.nowMs }).end({
        id,
        subject: alice.subject,
      });
      assert.equal(await world.step(alice), null);
      // Ends between the read of the session and its renewal.
      const next = new World({
        ...world.database,
        sessions: Object.assign(Object.create(sessions), { renew: async () => false }),
      });
      next.nowMs = world.nowMs + 1;
      await next.signIn(alice);
      assert.equal(await next.step(alice), null);
      assert.equal((await sessions.ofSubject(alice.subject, 0)).length, 1);
    });

    test('has a new secret after each sign-in, and the one before is worth nothing', async (t) => {
      const world = await newWorld(t);
      const alice = await world.add('alice');
      const first = await world.signIn(alice);
      const previous = world.cookie;
      const second = await world.signIn(alice);
      assert.notEqual(world.cookie, previous);
      assert.equal(second.id, first.id, 'the same session goes on');
      const thief = new World(world.database);
      thief.cookie = previous;
      assert.equal(await thief.current(), undefined);
      assert.equal((await world.database.sessions.ofSubject(alice.subject, 0)).length, 1);
    });

    test('never has a secret that was there before the sign-in', async (t) => {
      const world = await newWorld(t);
      const planted = `grantd_session=${'A'.repeat(43)}`;
      world.cookie = planted;
      await world.signIn(await world.add('alice'));
      assert.notEqual(world.cookie, planted);
      const planter = new World(world.database);
      planter.cookie = planted;
      assert.equal(await planter.current(), undefined);
    });

    test('begins a new session if the previous one has timed out, and notifies no client', async (t) => {
      const world = await newWorld(t);
      const alice = await world.add('alice');
      const first = await world.signIn(alice);
      await noteClient(world.database, first.id, 'web', { sid: first.id, sub: 'alice' });
      world.nowMs += 31 * MINUTE_MS;
      const second = await world.signIn(alice);
      assert.notEqual(second.id, first.id);
      assert.deepEqual(await world.database.logoutDeliveries.take(world.nowMs, 1000, DUE), []);
    });

    test('ends when another user signs in with the same browser, and its clients are notified', async (t) => {
      const world = await newWorld(t);
      const alice = await world.add('alice');
      const { id } = await world.signIn(alice);
      await noteClient(world.database, id, 'web', { sid: id, sub: 'alice' });
      await world.signIn(await world.add('bob'));
      assert.equal((await world.current())?.name, 'bob');
      assert.deepEqual(await world.database.sessions.ofSubject(alice.subject, 0), []);
      assert.deepEqual(await world.database.logoutDeliveries.take(world.nowMs, 1000, DUE), [
        { sessionId: id, clientId: 'web', subject: alice.subject, sid: id, sub: 'alice', attempts: 1 },
      ]);
    });

    test('is ended after its timeout when another user signs in, and not when its own user does', async (t) => {
      const world = await newWorld(t);
      const [alice, bob] = [await world.add('alice'), await world.add('bob')];
      const isThere = async ({ id }: { id: string }) => world.database.sessions.isOpen(id);
      const first = await world.signIn(alice);
      world.nowMs += LIFETIMES.absolute * 1000;
      const second = await world.signIn(alice);
      assert.deepEqual([await isThere(first), await isThere(second)], [true, true]);
      world.nowMs += LIFETIMES.absolute * 1000;
      await world.signIn(bob);
      assert.deepEqual([await isThere(first), await isThere(second)], [true, false]);
    });

    test('ends when its user is disabled, or all their tokens are revoked', async (t) => {
      const world = await newWorld(t);
      const alice = await world.add('alice');
      const { storage } = world.database;
      await world.signIn(alice);
      await storage.setDisabled('subject', alice.subject, true);
      assert.equal(await world.current(), undefined);
      await storage.setDisabled('subject', alice.subject, false);
      assert.equal(await world.current(), undefined, 'enabling brings nothing back');
      world.nowMs = Date.now() + MINUTE_MS;
      await world.signIn(alice);
      assert.ok(await world.current());
    });

    test('ends at once when the user signs out, also for a thief of the cookie', async (t) => {
      const world = await newWorld(t);
      await world.signIn(await world.add('alice'));
      const copied = world.cookie;
      await world.signOut();
      assert.equal(await world.current(), undefined);
      world.cookie = copied;
      assert.equal(await world.current(), undefined);
    });
  });
}

test('browsers, commands, the admin API and the console list sessions by one rule', () => {
  const folder = join(import.meta.dirname, '..', 'src');
  const listing = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .filter((file) => /sessions\s*\.ofSubject\(/.test(readFileSync(join(folder, file), 'utf8')));
  assert.deepEqual(listing, [join('people', 'session_validity.ts')]);
});
