// Forms that are sent twice, to one process or to two on the same database.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import { ServerSecret, StorageFault } from '@grantd/core';
import { Hono } from 'hono';
import { AnsweredRequests } from '../src/data/answered_requests.ts';
import type { OpenDatabase } from '../src/data/database.ts';
import type { ProgramSecretUse } from '../src/data/secrets.ts';
import type { RequestLog } from '../src/log/log.ts';
import { Cookies } from '../src/pages/browser/cookies.ts';
import {
  answerOnce,
  countAnswers,
  type FormAnswer,
  FormTokens,
  type PerformedForm,
  PerformedForms,
  sentForm,
} from '../src/pages/browser/forms.ts';
import type { PageContext } from '../src/pages/browser/request.ts';
import { DATABASES } from './harness/databases.ts';
import { openDatabases } from './harness/program_data.ts';

const SECRET = new ServerSecret<ProgramSecretUse>('s'.repeat(32));

interface Sent {
  readonly cookie: string;
  readonly token: string;
  readonly answer?: string;
}

/** A process with a form that says how often it was performed. Tests set its clock. */
class Process {
  nowMs = Date.parse('2026-01-01T00:00:00Z');
  performed = 0;
  /** Called by each performance, with its number. */
  perform = async (number: number): Promise<Response> => new Response(`result ${number}`, { status: 201 });
  /** What its forms decide about. */
  subject: string | undefined;
  /** The user whose session its forms find. */
  user: string | undefined;
  count = countAnswers(() => this.nowMs);
  readonly failures: unknown[] = [];
  readonly #app: Hono;

  constructor({ apiRequests }: Pick<OpenDatabase, 'apiRequests'>) {
    const cookies = new Cookies('http://localhost');
    const formTokens = new FormTokens(cookies, SECRET);
    const formAnswers = new AnsweredRequests<FormAnswer>({
      ...{ apiRequests, secret: SECRET, use: 'answered_form' },
      clock: () => this.nowMs,
    });
    const requestLog = { failure: (...given: unknown[]) => this.failures.push(given) };
    const app = new Hono<{
      Variables: { plain: { url: string; body: string }; earlier?: string; decision?: string; user?: string };
    }>();
    app.get('/form', async (c) => c.text(await formTokens.make(c, 'test')));
    app.use(async (c, next) => {
      c.set('plain', { url: c.req.path, body: await c.req.text() });
      await next();
    });
    app.use(
      answerOnce(
        {
          ...{
            cookies,
            formAnswers,
            countAnswer: (...stored) => this.count(...stored),
            clock: () => this.nowMs,
          },
          visitors: { unitOf: (c) => c.env.incoming.address ?? '' },
          requestLog: requestLog as unknown as RequestLog,
        },
        sentForm({ formTokens, pending: { decided: async () => this.subject } }),
      ) as never,
    );
    app.post('/form', async (c) => {
      const earlier = c.get('earlier');
      if (earlier !== undefined) return c.text(`earlier ${earlier}`);
      this.performed += 1;
      if (this.user !== undefined) c.set('user', this.user);
      const response = await this.perform(this.performed);
      if (this.subject !== undefined && response.ok) c.set('decision', 'denied');
      return response;
    });
    app.onError((error, c) => c.text(error.message, error instanceof StorageFault ? 503 : 500));
    this.#app = app as unknown as Hono;
  }

  /** A new browser with a form. */
  async open(cookie = ''): Promise<Sent> {
    const response = await this.#app.request('/form', { headers: { cookie } });
    const [set = cookie] = response.headers.getSetCookie();
    return { cookie: set.split(';', 1)[0] ?? '', token: await response.text() };
  }

  async send({ cookie, token, answer = 'yes' }: Sent): Promise<string> {
    const body = new URLSearchParams({ form_token: token, answer });
    const response = await this.#app.request('/form', { method: 'POST', headers: { cookie }, body }, {
      incoming: { address: '192.0.2.1' },
    } as never);
    return `${response.status} ${await response.text()}`;
  }
}

/** Counts answers. Returns the names of those that are dropped. */
function newCounter() {
  const clock = { nowMs: 0 };
  const count = countAnswers(() => clock.nowMs);
  const add = (
    name: string,
    {
      user,
      browser = name,
      address = '192.0.2.1',
    }: { user?: string; browser?: string; address?: string } = {},
  ) => count({ keyDigest: '', attempt: name }, user, browser, address).map(({ attempt }) => attempt);
  return { clock, add };
}

test('answers of strangers never take the place of those of users', () => {
  const { clock, add } = newCounter();
  assert.deepEqual(add('of a user', { user: 'user' }), []);
  const dropped = Array.from({ length: 1300 }, (_, sent) => add(`${sent}`)).flat();
  assert.equal(dropped.length, 300);
  assert.deepEqual(dropped.slice(0, 2), ['0', '1'], 'the oldest first');
  clock.nowMs += 2 * 60 * 1000;
  assert.deepEqual(add('later'), [], 'what was swept does not count');
});

test('the oldest answers of a user go first, and what was dropped does not count', () => {
  const { add } = newCounter();
  for (let sent = 0; sent < 32; sent++) assert.deepEqual(add(`${sent}`, { user: 'user' }), []);
  assert.deepEqual(add('32', { user: 'user' }), ['0']);
  assert.deepEqual(add('33', { user: 'user', address: '192.0.2.2' }), ['1'], 'at all addresses');
  assert.deepEqual(add('34', { user: 'other' }), []);
  assert.deepEqual(add('35', { user: 'user' }), ['2']);
  // 33 of 36 are left.
  for (let sent = 36; sent < 1003; sent++) assert.deepEqual(add(`${sent}`, { user: `user ${sent}` }), []);
  assert.deepEqual(add('1003', { user: 'last' }), ['3'], 'of the user with the most');
});

describe('no place drops the answers of others, with however many browsers or users', () => {
  const GREEDY: Readonly<Record<string, (sent: number) => string>> = {
    'an IPv4 address': () => '192.0.2.1',
    'an IPv6 /64': () => '2001:db8:1:1::/64',
    'an IPv6 /48 with many /64': (sent) => `2001:db8:1:${sent.toString(16)}::/64`,
    'ten sites': (sent) => `2001:db8:${sent % 10}:1::/64`,
  };
  for (const [what, addressOf] of Object.entries(GREEDY))
    for (const isUser of [false, true])
      test(`${what}, ${isUser ? 'signed in' : 'strangers'}`, () => {
        const { add } = newCounter();
        const from = (name: string, address: string) => add(name, { address, ...(isUser && { user: name }) });
        const others = ['198.51.100.1', '198.51.100.2', '2001:db8:ffff:1::/64'];
        for (const address of others) assert.deepEqual(from(address, address), []);
        const dropped = Array.from({ length: 3000 }, (_, sent) => from(`${sent}`, addressOf(sent))).flat();
        assert.equal(dropped.length, 2003);
        assert.deepEqual(
          others.filter((address) => dropped.includes(address)),
          [],
        );
      });

  test('a /64 of the same /48', () => {
    const { add } = newCounter();
    add('neighbor', { address: '2001:db8:1:2::/64' });
    const dropped = Array.from({ length: 2000 }, (_, sent) =>
      add(`${sent}`, { address: '2001:db8:1:1::/64' }),
    );
    assert.ok(!dropped.flat().includes('neighbor'));
  });
});

for (const database of DATABASES) {
  describe(`a form that is sent twice on ${database.name}`, { skip: database.absence }, () => {
    async function newProcesses(t: TestContext): Promise<readonly [Process, Process]> {
      const [one, other] = await openDatabases(t, database, 2);
      assert.ok(one && other);
      return [new Process(one), new Process(other)];
    }

    test('is performed once, also by two processes at the same time', async (t) => {
      const processes = await newProcesses(t);
      const [one, other] = processes;
      for (const process of processes)
        process.perform = async (number) => {
          await new Promise((resolve) => setTimeout(resolve, 150));
          return new Response(`result ${number}`, {
            headers: [
              ['set-cookie', 'a=1'],
              ['set-cookie', 'b=2'],
            ],
          });
        };
      const form = await one.open();
      const answers = await Promise.all([one, other, one, other, other].map((process) => process.send(form)));
      assert.deepEqual(
        answers,
        Array.from(answers, () => '200 result 1'),
      );
      assert.equal(one.performed + other.performed, 1);
      assert.equal(await other.send(form), '200 result 1', 'also afterwards');
    });

    test('is performed again with another answer, after some seconds, and from another form or browser', async (t) => {
      const [one, other] = await newProcesses(t);
      const form = await one.open();
      assert.equal(await one.send(form), '201 result 1');
      assert.equal(await one.send({ ...form, answer: 'no' }), '201 result 2');
      const window = await one.open(form.cookie);
      assert.notEqual(window.token, form.token);
      assert.equal(await one.send(window), '201 result 3');
      assert.equal(await one.send(form), '201 result 1');
      one.nowMs += 9_999;
      assert.equal(await one.send(form), '201 result 1');
      one.nowMs += 1;
      assert.equal(await one.send(form), '201 result 4');
      const stranger = await one.open();
      assert.equal(await one.send({ ...form, cookie: stranger.cookie }), '201 result 5');
      assert.equal(await one.send({ ...form, cookie: '' }), '201 result 6');
      assert.equal(other.performed, 0);
    });

    test('decides before all other forms about the same, in each process and for an hour', async (t) => {
      const processes = await newProcesses(t);
      const [one, other] = processes;
      for (const process of processes) {
        process.subject = 'a request';
        process.perform = async (number) => {
          await new Promise((resolve) => setTimeout(resolve, 100));
          return new Response(`result ${number}`);
        };
      }
      const form = await one.open();
      const page = await one.open(form.cookie);
      const [first, second, third] = await Promise.all([
        one.send(form),
        one.send({ ...form, answer: 'no' }),
        one.send(page),
      ]);
      assert.deepEqual([first, second, third], ['200 result 1', '200 earlier denied', '200 earlier denied']);
      assert.deepEqual([await one.send(form), await other.send(form)], ['200 result 1', '200 result 1']);
      assert.equal(await other.send(page), '200 earlier denied');
      const inSession = { ...form, cookie: `${form.cookie}; grantd_session=another` };
      assert.equal(await other.send(inSession), '200 earlier denied', 'the same form in another session');
      for (const process of processes) process.nowMs += 10_000;
      assert.equal(await other.send(form), '200 earlier denied', 'after ten seconds');
      const stranger = await one.open();
      assert.equal(await one.send(stranger), '200 result 2', 'another browser');
      for (const process of processes) process.nowMs += 60 * 60 * 1000 - 10_000;
      assert.equal(await one.send(page), '200 result 3', 'after an hour');
      one.subject = 'another request';
      one.perform = async () => new Response('x'.repeat(64 * 1024 + 1));
      await one.send(page);
      assert.equal(await one.send(form), '200 earlier denied', 'also if the answer is long');
      const location = `https://app.example/?state=${randomBytes(1100).toString('hex')}`;
      for (const process of processes) {
        process.subject = 'a request with a long state';
        process.perform = async () => new Response('', { headers: { location } });
      }
      await one.send(page);
      assert.equal(await other.send(page), '200 earlier denied', 'a decision takes little space');
      assert.equal(other.performed, 0);
    });

    test('leaves the decision to the next form if it has decided nothing', async (t) => {
      const processes = await newProcesses(t);
      const [one, other] = processes;
      for (const process of processes) {
        process.subject = 'a request';
        process.perform = async (number) => new Response(`result ${number}`, { status: 400 });
      }
      const form = await one.open();
      assert.deepEqual(
        [await one.send(form), await one.send(form), await other.send(await one.open(form.cookie))],
        ['400 result 1', '400 result 2', '400 result 1'],
      );
    });

    test('gets the answer only in the session that it was sent in, or in the one that it has begun', async (t) => {
      const [one, other] = await newProcesses(t);
      one.perform = async (number) =>
        new Response(`result ${number}`, { headers: { 'set-cookie': `grantd_session=s${number}; Path=/` } });
      other.perform = one.perform;
      const form = await one.open();
      const inSession = (session: string) => ({
        ...form,
        cookie: `${form.cookie}; grantd_session=${session}`,
      });
      assert.equal(await one.send(inSession('s0')), '200 result 1');
      for (const session of ['s0', 's1']) {
        assert.equal(await one.send(inSession(session)), '200 result 1');
        assert.equal(await other.send(inSession(session)), '200 result 1');
      }
      assert.equal(await one.send(inSession('s9')), '200 result 2');
      assert.equal(await other.send(form), '200 result 1', 'its own first result, as nobody is signed in');
      assert.equal(other.performed, 1);

      const out = await one.open();
      const signedIn = { ...out, cookie: `${out.cookie}; grantd_session=s5` };
      one.perform = async () =>
        new Response('out', { headers: { 'set-cookie': 'grantd_session=; Max-Age=0' } });
      assert.equal(await one.send(signedIn), '200 out');
      assert.equal(await other.send(out), '200 out', 'after the end of its session');
    });

    test('counts for the user of a valid session, and otherwise for its browser and address', async (t) => {
      const [one] = await newProcesses(t);
      const counted: unknown[] = [];
      one.count = (_, ...sender) => {
        counted.push(sender);
        return [];
      };
      const form = await one.open();
      const [, browser = ''] = form.cookie.split('=');
      const address = '192.0.2.1';
      await one.send({ ...form, cookie: `${form.cookie}; grantd_session=invented` });
      one.user = 'subject';
      await one.send({ ...form, answer: 'no' });
      assert.deepEqual(counted, [
        [undefined, browser, address],
        ['subject', browser, address],
      ]);
    });

    test('is performed again after a failure, and when the process has died', async (t) => {
      const [one, other] = await newProcesses(t);
      const form = await one.open();
      one.perform = async () => {
        throw new Error('failed');
      };
      const answers = await Promise.all([one.send(form), other.send(form)]);
      assert.equal(other.performed, 1);
      assert.ok(answers.includes('201 result 1'));
      const lost = await one.open();
      one.perform = () => new Promise(() => {});
      // Not 1: the other process may have been first above.
      const before = one.performed;
      void one.send(lost);
      while (one.performed === before) await new Promise((resolve) => setTimeout(resolve, 5));
      other.nowMs += 30_000;
      assert.equal(await other.send(lost), '201 result 2');
    });

    test('is not stored without a form of this server: nobody can fill the database without one', async (t) => {
      const [opened] = await openDatabases(t, database);
      assert.ok(opened);
      let begun = 0;
      const process = new Process({
        apiRequests: {
          ...opened.apiRequests,
          begin(...given) {
            begun += 1;
            return opened.apiRequests.begin(...given);
          },
        },
      });
      const form = await process.open();
      const [serial = '', mac = ''] = form.token.split('.');
      const other = `${serial.startsWith('A') ? 'B' : 'A'}${serial.slice(1)}`;
      for (const token of [
        '',
        mac,
        `.${mac}`,
        `${mac}.${serial}`,
        `${other}.${mac}`,
        `${serial}x.${mac}`,
        `${serial}=.${mac}`,
      ]) {
        await process.send({ ...form, token });
        await process.send({ ...form, token });
      }
      assert.equal(begun, 0);
      await process.send(form);
      assert.equal(begun, 1);
    });

    test('takes a bounded part of the database: the oldest answers of a session go first, and no one else’s', async (t) => {
      const [opened] = await openDatabases(t, database);
      assert.ok(opened);
      const { apiRequests } = opened;
      const stored = new Set<string>();
      const process = new Process({
        apiRequests: {
          ...apiRequests,
          async finishSoon(answer, freed) {
            await apiRequests.finishSoon(answer, freed);
            stored.add(answer.attempt);
            for (const { attempt } of freed) stored.delete(attempt);
          },
        },
      });
      const other = await process.open();
      const first = await process.send(other);
      const forms = [await process.open()];
      const [{ cookie = '' } = assert.fail()] = forms;
      for (let sent = 1; sent < 40; sent++) forms.push(await process.open(cookie));
      const answers: string[] = [];
      for (const form of forms) answers.push(await process.send(form));
      await opened.gatheredWrites.flush();
      assert.equal(stored.size, 1 + 32);
      const [last = assert.fail()] = forms.slice(-1);
      assert.equal(await process.send(last), answers.at(-1), 'the newest');
      assert.equal(await process.send(other), first, 'another browser');
      const [oldest = assert.fail()] = forms;
      assert.notEqual(await process.send(oldest), answers[0]);
      const page = 'one row\n'.repeat(40_000);
      process.perform = async () => new Response(page);
      const long = await process.open();
      assert.ok((await process.send(long)) === `200 ${page}`);
      process.perform = async () => new Response(randomBytes(50_000).toString('hex'));
      assert.ok((await process.send(long)) === `200 ${page}`, 'a long page');
      await opened.gatheredWrites.flush();
      const before = stored.size;
      const download = await process.open();
      const performed = process.performed;
      const [pressed, again] = await Promise.all([process.send(download), process.send(download)]);
      assert.ok(pressed === again, 'the second press has waited');
      assert.equal(process.performed, performed + 1);
      await opened.gatheredWrites.flush();
      assert.equal(stored.size, before, 'a download is not stored');
      assert.ok((await process.send(download)) !== pressed);
    });

    test('is known for a day by what it has done, in its browser, also after a rotation of the secret', async (t) => {
      const [opened] = await openDatabases(t, database);
      assert.ok(opened);
      let nowMs = Date.parse('2026-01-01T00:00:00Z');
      const next = new ServerSecret<ProgramSecretUse>(['n'.repeat(32), 's'.repeat(32)]);
      const app = new Hono<{
        Variables: { plain: { url: string; body: string }; earlier?: string; decision?: string };
      }>();
      app.post('/:secret/:act', async (c) => {
        const secret = c.req.param('secret') === 'next' ? next : SECRET;
        const formTokens = new FormTokens(new Cookies('http://localhost'), secret);
        const parts = { apiRequests: opened.apiRequests, secret, clock: () => nowMs };
        const answers = new AnsweredRequests<PerformedForm>({ ...parts, use: 'answered_form' });
        const requestLog = { failure: () => assert.fail() } as unknown as RequestLog;
        const forms = new PerformedForms({ formTokens, requestLog, answers });
        c.set('plain', { url: c.req.path, body: await c.req.text() });
        const page = c as unknown as PageContext;
        if (c.req.param('act') === 'remember') await forms.remember(page, 'reset');
        return c.text(String(await forms.find(page, 'reset', 'invite')));
      });
      const send = async (path: string, browser = 'one', form_token = 'a.b') => {
        const headers = { cookie: `grantd_browser=${browser}` };
        const body = new URLSearchParams({ form_token, new_password: path });
        return (await app.request(path, { method: 'POST', headers, body })).text();
      };
      assert.equal(await send('/present/find'), 'undefined');
      assert.equal(await send('/present/remember'), 'reset');
      assert.equal(await send('/next/find'), 'reset');
      assert.equal(await send('/next/find', 'another'), 'undefined');
      assert.equal(await send('/next/find', 'one', 'a.c'), 'undefined');
      nowMs += 24 * 60 * 60 * 1000;
      assert.equal(await send('/present/find'), 'undefined');
    });

    test('is stored with the answers of other forms, at the latest when the process ends', async (t) => {
      const [opened] = await openDatabases(t, database);
      assert.ok(opened);
      const { apiRequests } = opened;
      const keys: string[] = [];
      const writes: Promise<void>[] = [];
      const process = new Process({
        apiRequests: {
          ...apiRequests,
          finishSoon(answer, freed) {
            keys.push(answer.keyDigest);
            writes.push(apiRequests.finishSoon(answer, freed));
            return writes.at(-1) ?? assert.fail();
          },
        },
      });
      for (const form of [await process.open(), await process.open()]) await process.send(form);
      await opened.gatheredWrites.flush();
      assert.equal(keys.length, 2);
      for (const key of keys) assert.ok((await apiRequests.find(key, process.nowMs))?.sealed);
      await Promise.all(writes);
      await opened.gatheredWrites.flush();
    });

    test('keeps its answer if the database fails after it was performed', async (t) => {
      const [opened] = await openDatabases(t, database);
      assert.ok(opened);
      const process = new Process({
        apiRequests: {
          ...opened.apiRequests,
          finishSoon: async () => {
            throw new StorageFault(new Error('gone'));
          },
        },
      });
      assert.equal(await process.send(await process.open()), '201 result 1');
      assert.equal(process.failures.length, 1);
    });
  });
}
