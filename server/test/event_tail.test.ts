// Which endings a follower learns when it joins, and when it learns that some are unknown (ADR 175).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { AuthorizationServer, type EventRecord, type EventType, ServerSecret } from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { readConfiguration } from '../src/config/configuration.ts';
import type { ProgramSecretUse } from '../src/data/secrets.ts';
import { EndingReader, type Endings, keyOf, MAX_KEYS } from '../src/follow/endings.ts';
import { Feed } from '../src/follow/feed.ts';
import { EventTail, type Mark } from '../src/follow/tail.ts';
import { Guesses } from '../src/limits/guesses.ts';
import { logThrough, RequestLog } from '../src/log/log.ts';
import { basic, postForm } from './harness/protocol.ts';

const LIFETIME = 3600;
const NOW_MS = 1_800_000_000_000;
const OLD_MS = NOW_MS - (LIFETIME + 601) * 1000;

const subjectKey = (sub: string) => keyOf(['subject', sub]);

/** A database whose events a test writes, removes and replaces. */
class Stage {
  events: EventRecord[] = [];
  reads = 0;
  isDown = false;
  readonly tail: EventTail;

  constructor(t: TestContext) {
    const storage = memoryStorage();
    const secret = 'the secret of the server, in more than 32 characters';
    const server = new AuthorizationServer({ issuer: 'https://id.example', secret, storage });
    const eventsAfter = async (sequence: number, limit: number) => {
      this.reads += 1;
      if (this.isDown) throw new Error('the database is down');
      return this.events.filter((event) => event.sequence > sequence).slice(0, limit);
    };
    const reader = new EndingReader(storage, server, { keys: async () => [] });
    this.tail = new EventTail({ eventsAfter }, reader, { keptForSeconds: LIFETIME, clock: () => NOW_MS });
    t.after(() => this.tail.close());
  }

  add(
    sub: string,
    { type = 'subject_revoked', atMs = NOW_MS }: { type?: EventType; atMs?: number } = {},
  ): Mark {
    const sequence = (this.events.at(-1)?.sequence ?? 0) + 1;
    this.events.push({ sequence, atMs, type, target: sub });
    return `${sequence}.`;
  }

  /** The mark after everything so far, as a stream has it. */
  async mark(): Promise<Mark> {
    return (await this.tail.missedSince(undefined)).last;
  }

  async missed(after?: Mark): Promise<readonly string[] | 'unknown'> {
    const { keys, isComplete } = await this.tail.missedSince(after);
    return isComplete ? keys : 'unknown';
  }
}

test('a follower that has seen events after the last ending continues without a gap', async (t) => {
  const stage = new Stage(t);
  stage.add('1');
  const heard: Endings[] = [];
  stage.tail.listen({ restMs: () => 1, endings: (endings) => heard.push(endings), broken: assert.fail });
  await stage.tail.current();
  stage.add('2');
  await stage.tail.current();
  stage.add('3', { type: 'token_issued' });
  await stage.tail.current();
  const heartbeat = stage.tail.last ?? assert.fail();
  assert.match(heartbeat, /^3\./);
  assert.deepEqual(await stage.missed(heartbeat), []);
  stage.add('4');
  assert.deepEqual(await stage.missed(heartbeat), [subjectKey('4')]);
  assert.ok(heard.length > 0);
  stage.tail.leave();
});

test('events that are missing are noticed, unless no token can be as old', async (t) => {
  for (const [atMs, expected] of [
    [NOW_MS, 'unknown'],
    [OLD_MS, [subjectKey('kept')]],
  ] as const) {
    const stage = new Stage(t);
    stage.add('first', { type: 'token_issued', atMs: OLD_MS });
    const mark = await stage.mark();
    stage.add('removed');
    stage.add('kept', { atMs });
    stage.events.splice(1, 1);
    assert.deepEqual(await stage.missed(mark), expected, 'since a mark');
    assert.deepEqual(await stage.missed(), expected, 'since ever');
    stage.events.shift();
    assert.deepEqual(await stage.missed(mark), 'unknown', 'since a mark that is gone');
    assert.deepEqual(await stage.missed(), expected, 'at the beginning');
  }
});

test('followers that know nothing yet, and begin at once, share the reads of what they missed', async (t) => {
  const stage = new Stage(t);
  for (let sub = 0; sub < 3500; sub++) stage.add(String(sub));
  const alone = await stage.missed();
  stage.reads = 0;
  const together = await Promise.all(Array.from({ length: 50 }, () => stage.missed()));
  for (const missed of together) assert.deepEqual(missed, alone);
  assert.ok(stage.reads < 10, `${stage.reads} reads`);
});

test('another event with the number of a mark is noticed, and a mark from the future', async (t) => {
  const stage = new Stage(t);
  stage.add('1');
  stage.add('2');
  const mark = await stage.mark();
  stage.events.pop();
  assert.equal(await stage.missed(mark), 'unknown');
  stage.add('another');
  assert.equal(await stage.missed(mark), 'unknown');
});

test('of an empty database, it is unknown what has ended', async (t) => {
  const stage = new Stage(t);
  stage.add('1');
  await stage.mark();
  stage.events = [];
  assert.equal(await stage.missed(), 'unknown');
  assert.equal(await new Stage(t).missed('0.'), 'unknown');
});

test('endings arrive in pages of any size, and too many of them become the key of all tokens', async (t) => {
  for (const count of [998, 999, 1000]) {
    const stage = new Stage(t);
    stage.add('before', { type: 'token_issued' });
    const mark = await stage.mark();
    const heard = new Set<string>();
    const endings = ({ keys }: Endings) => {
      for (const key of keys) heard.add(key);
    };
    stage.tail.listen({ restMs: () => 1, endings, broken: assert.fail });
    const subjects = Array.from({ length: count }, (_, at) => `subject-${at}`);
    for (const subject of subjects) stage.add(subject);
    await stage.tail.current();
    stage.tail.leave();
    const keys = subjects.map(subjectKey).sort();
    assert.deepEqual([...heard].sort(), keys, String(count));
    assert.deepEqual([...(await stage.missed(mark))].sort(), keys, String(count));
  }
  const stage = new Stage(t);
  for (let at = 0; at <= MAX_KEYS; at++) stage.add(String(at));
  assert.equal(await stage.missed(), 'unknown');
});

test('a process that has not read for long looks for the last event, instead of reading all', async (t) => {
  const stage = new Stage(t);
  stage.add('0');
  let nowMs = 100_000;
  t.mock.method(performance, 'now', () => nowMs);
  await stage.tail.current();
  for (let at = 0; at < 50_000; at++) stage.add(String(at), { type: 'token_issued' });
  const last = stage.add('last');
  stage.reads = 0;
  nowMs = 200_000;
  await pause(10); // until the tail rests
  const mark = await stage.tail.current();
  assert.ok(mark.startsWith(last), mark);
  assert.ok(stage.reads < 45, `${stage.reads} reads`);
});

test('the age of the last read tells that storage does not answer', async (t) => {
  const stage = new Stage(t);
  stage.add('1');
  await stage.tail.current();
  const age = stage.tail.ageMs;
  assert.ok(age < 1000, String(age));
  stage.isDown = true;
  await assert.rejects(stage.tail.current(), /down/);
  assert.ok(stage.tail.ageMs > age);
});

test('a process that cannot read events ends its streams, because another one may answer their nonces', async (t) => {
  const storage = memoryStorage();
  const secret = 'the secret of the server, in more than 32 characters';
  const server = new AuthorizationServer({ issuer: 'https://id.example', secret, storage });
  const secrets = [await server.operator.hashClientSecret('a secret of an API')];
  const resource = 'https://api.example';
  await storage.clients.add({ id: 'api', grantTypes: [], scopes: [], redirectUris: [], resource, secrets });
  let read: typeof storage.eventsAfter = (...args) => storage.eventsAfter(...args);
  const readable = Object.create(storage, {
    eventsAfter: { value: (...args: [number, number]) => read(...args) },
  });
  const requestLog = new RequestLog(logThrough(() => {}));
  const { settings } = readConfiguration({}, {});
  const guesses = new Guesses({ settings, clients: storage.clients, requestLog });
  const feed = new Feed({
    ...{ storage: readable, server, requestLog, guesses, accessTokenLifetime: LIFETIME },
    ...{ secret: new ServerSecret<ProgramSecretUse>(secret), clock: Date.now },
  });
  const http = createServer((request, response) => void feed.answer(request, response, 'id')).listen(
    0,
    '127.0.0.1',
  );
  t.after(() => http.close());
  t.after(() => feed.close());
  await once(http, 'listening');
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/token/follow`;
  const readWell = read;
  let answers = Promise.withResolvers<void>();
  const hanging: typeof read = async (...args) => {
    await answers.promise;
    return readWell(...args);
  };
  for (const blind of [() => Promise.reject(new Error('the database is down')), hanging]) {
    const { status, body } = await postForm(url, {}, basic('api', 'a secret of an API'));
    assert.equal(status, 200);
    const reader = body?.getReader() ?? assert.fail();
    await reader.read();
    assert.equal(feed.streams.get('api')?.length, 1);
    read = blind;
    while (!(await reader.read()).done);
    assert.equal(feed.streams.size, 0);
    read = readWell;
  }

  // A stream that has not begun yet gets a status.
  answers.resolve();
  await postForm(url, { nonce: 'a-nonce-of-enough-letters' }, basic('api', 'a secret of an API'));
  answers = Promise.withResolvers();
  read = hanging;
  const opening = postForm(url, {}, basic('api', 'a secret of an API'));
  await pause(3000);
  answers.resolve();
  const { status, headers } = await opening;
  assert.deepEqual([status, headers.get('retry-after')], [503, '5']);
});
