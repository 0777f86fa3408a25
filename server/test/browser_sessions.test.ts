import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServerSecret } from '@grantd/core';
import { Hono } from 'hono';
import { BrowserSessions } from '../src/pages/browser_sessions.ts';
import { Cookies } from '../src/pages/cookies.ts';
import { PendingRequests } from '../src/pages/pending_requests.ts';
import { SignedValues } from '../src/pages/signed_values.ts';
import type { People, Person } from '../src/people/people.ts';

const secret = new ServerSecret('s'.repeat(32));
const ALICE: Person = { subject: 'alice-1', name: 'alice', passwordHash: '', claims: {}, createdAtMs: 0 };
const people: People = {
  add: async () => undefined,
  byName: async () => ALICE,
  bySubject: async (subject) => (subject === ALICE.subject ? ALICE : undefined),
  list: async () => [ALICE],
};
const sessions = new BrowserSessions({
  cookies: new Cookies('http://localhost'),
  secret,
  people,
  storage: { getPrincipalState: () => undefined },
  lifetimeSeconds: 60,
});

/** Who is signed in with a cookie that says this. */
async function signedInWith(content: unknown): Promise<string | undefined> {
  const cookie = `grantd_session=${await new SignedValues(secret, 'browser_session').seal(content)}`;
  let name: string | undefined;
  const app = new Hono().get('/', async (c) => {
    name = (await sessions.current(c))?.person.name;
    return c.body(null);
  });
  assert.equal((await app.request('/', { headers: { cookie } })).status, 200);
  return name;
}

test('a sealed session of the right form signs in', async () => {
  const signedInAtMs = Date.now();
  assert.equal(await signedInWith({ id: 'a', subject: 'alice-1', signedInAtMs }), 'alice');
  assert.equal(
    await signedInWith({ id: 'a', subject: 'alice-1', signedInAtMs: signedInAtMs - 60_000 }),
    undefined,
  );
});

test('a sealed value of another form is no session: one without a time would never end', async () => {
  const signedInAtMs = Date.now();
  for (const content of [
    { id: 'a', subject: 'alice-1' },
    { id: 'a', subject: 'alice-1', signedInAtMs: 'now' },
    { subject: 'alice-1', signedInAtMs },
    { id: 'a', subject: ['alice-1'], signedInAtMs },
    null,
    'alice-1',
  ])
    assert.equal(await signedInWith(content), undefined, JSON.stringify(content));
});

test('a sealed value of another form is no authorization request', async () => {
  const values = new SignedValues(secret, 'pending_authorization_request');
  const open = async (value: unknown) => new PendingRequests(secret).open(await values.seal(value));
  const begunAtMs = Date.now();
  assert.deepEqual(await open({ query: 'a=b', begunAtMs }), { query: 'a=b', begunAtMs });
  assert.equal(await open({ begunAtMs }), undefined);
  assert.equal(await open({ query: 'a=b', begunAtMs: String(begunAtMs) }), undefined);
  assert.equal(await open(null), undefined);
});
