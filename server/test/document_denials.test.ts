// Metadata documents that operators deny while the server runs (ADR 199).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { AuthorizationServer, clientDocuments, type FetchDocument } from '@grantd/core';
import { exactly, USUAL } from '../../core/test/harness/authorization_endpoint.ts';
import { VERIFIER } from '../../core/test/harness/world.ts';
import { Caller } from '../src/admin/caller.ts';
import { DENIED_DOCUMENT_OPERATIONS } from '../src/admin/denied_documents.ts';
import type { AdminParts } from '../src/admin/operation.ts';
import type { OpenDatabase } from '../src/data/database.ts';
import {
  denialRule,
  denialsOf,
  finishDenials,
  isDeniedBy,
  REMOVED_AT_ONCE,
} from '../src/data/document_denials.ts';
import { ALICE, Browser, isConsent } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { DATABASES, SQLITE } from './harness/databases.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import { ISSUER, openDatabases } from './harness/program_data.ts';
import { authorizationUrl, introspect, newPkce, redeem } from './harness/protocol.ts';

test('all spellings of a rule are one rule, and what is none is refused', () => {
  for (const [written, rule] of [
    ['a.example', 'a.example'],
    ['A.Example', 'a.example'],
    ['a.example.', 'a.example'],
    ['*.A.example.', '*.a.example'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
    ['*.bücher.example', '*.xn--bcher-kva.example'],
    ['127.0.0.1', '127.0.0.1'],
    ['0x7f.1', '127.0.0.1'],
    ['[::1]', '[::1]'],
    ['[0:0:0:0:0:0:0:1]', '[::1]'],
    ['https://A.example./x', 'https://a.example/x'],
    ['HTTPS://a.example:443/x', 'https://a.example/x'],
    ['https://a.example:8443/X?y=Z', 'https://a.example:8443/X?y=Z'],
    ['https://bücher.example/x', 'https://xn--bcher-kva.example/x'],
    ['http://localhost:4000/x', 'http://localhost:4000/x'],
    ['https://a.example/', 'https://a.example/'],
    ...[
      ...['', '*', '*.', '.', '..', '.a.example', 'a..example', '*.*.example', '*a.example', 'a.*.example'],
      ...['a.example:443', 'a.example/x', 'user@a.example', 'a example', 'a.example?x', 'a.example#x'],
      ...['*.[::1]', 'a%2eexample', 'http://a.example/x', 'ftp://a.example/x', 'https://a.example/x#y'],
      ...['https://user@a.example/x', 'https://*.a.example/x', '//a.example/x'],
    ].map((text) => [text, undefined] as const),
  ] as const)
    assert.equal(denialRule(written), rule, written);
});

test('a rule denies the documents of its host in all spellings, and names below it only if it says so', () => {
  for (const [rule, denied, others] of [
    [
      'a.example',
      [
        ...['https://a.example/x', 'https://A.EXAMPLE/x', 'https://a.example./x', 'https://a.example:8443/x'],
        ...['https://a.example/', 'https://a.example/y?z'],
      ],
      ['https://b.a.example/x', 'https://a.example.net/x', 'https://xa.example/x', 'a.example', 'web'],
    ],
    [
      '*.a.example',
      ['https://b.a.example/x', 'https://C.B.a.example.:1/x'],
      ['https://a.example/x', 'https://xa.example/x', 'https://b.a.example.net/x'],
    ],
    [
      'https://a.example/x',
      ['https://a.example/x', 'https://A.example/x', 'https://a.example:443/x', 'https://a.example./x'],
      ['https://a.example/X', 'https://a.example/x/', 'https://a.example/x?', 'https://a.example:8443/x'],
    ],
    [
      'xn--bcher-kva.example',
      ['https://xn--bcher-kva.example/x', 'https://XN--bcher-kva.example/x'],
      ['https://bcher.example/x'],
    ],
    ['127.0.0.1', ['https://127.0.0.1/x', 'https://2130706433/x', 'http://127.0.0.1:1/x'], []],
  ] as const) {
    for (const id of denied) assert.equal(isDeniedBy(new Set([rule]), id), true, `${rule} ${id}`);
    for (const id of others) assert.equal(isDeniedBy(new Set([rule]), id), false, `${rule} ${id}`);
  }
});

const DENY = DENIED_DOCUMENT_OPERATIONS.denyDocuments.perform;

const REDIRECT_URI = 'https://client.example/callback';
const OF_CODE = { grant_type: 'authorization_code', code_verifier: VERIFIER, redirect_uri: REDIRECT_URI };

/** Every document exists, after a pause of a few turns. */
const fetchDocument: FetchDocument = async (url) => {
  for (let turns = Math.random() * 6; turns > 0; turns--) await new Promise(setImmediate);
  const body = { client_id: url, client_name: `At ${Date.now()}`, redirect_uris: [REDIRECT_URI] };
  return { status: 200, contentType: 'application/json', body: JSON.stringify(body) };
};

class Worker {
  readonly #open: OpenDatabase;
  readonly server: AuthorizationServer<OpenDatabase['storage']>;

  constructor(open: OpenDatabase) {
    this.#open = open;
    this.server = new AuthorizationServer({
      ...{ issuer: ISSUER, secret: 's'.repeat(32), pairwiseSecret: 'p'.repeat(32) },
      ...{ storage: open.storage, fetchDocument },
      clientDocuments: clientDocuments({
        ...{ scopes: ['read'], mostNewPerSite: 0 },
        denials: denialsOf(open.deniedDocuments, ISSUER),
      }),
    });
  }

  /** Runs the whole flow. @returns the reason of a refusal, or `undefined` with tokens */
  async obtains(id: string, subject: string): Promise<string | undefined> {
    const { authorization } = this.server;
    try {
      const asked = { ...USUAL, client_id: id, redirect_uri: REDIRECT_URI, scope: 'read' };
      const request = await authorization.validate(exactly(asked));
      const { headers } = await authorization.complete(request, { subject });
      const code = new URL(String(headers.location)).searchParams.get('code') ?? '';
      const answer = await this.#post('/token', { ...OF_CODE, client_id: id, code });
      assert.ok(answer);
      const { status, body } = answer;
      return status === 200 ? undefined : JSON.parse(String(body)).error;
    } catch (error) {
      const { reason } = Object(error);
      if (typeof reason !== 'string') throw error;
      return reason;
    }
  }

  #post(path: string, form: Readonly<Record<string, string>>) {
    return this.server.handle({
      ...{ method: 'POST', url: path },
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(form).toString(),
    });
  }

  deny(rule: string, more: { readonly dry_run?: boolean } = {}): ReturnType<typeof DENY> {
    const caller = Caller.ofCommandLine(undefined, () => {});
    const parts = { ...this.#open, caller, issuer: ISSUER, clock: Date.now } as unknown as AdminParts;
    return DENY(parts, { rule, ...more });
  }

  async left(id: string): Promise<readonly [isStored: boolean, alive: number]> {
    const { storage } = this.#open;
    const client = await storage.clients.get(id);
    return [client != null, (await storage.countAlive({ principal: 'client', id })).count];
  }
}

const ROUNDS = 200;

for (const database of DATABASES)
  describe(database.name, { skip: database.absence }, () => {
    test('a denial that meets clients on their way leaves no client and no token', async (t) => {
      const workers = (await openDatabases(t, database, 4)).map((open) => new Worker(open));
      const [first, second, third, fourth] = workers;
      assert.ok(first && second && third && fourth);
      let outrun = 0;
      let refused = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const host = `h${round}.example`;
        const ids = [`https://${host}/x`, `https://${host}/y`] as const;
        const began = performance.now();
        const other = round % 3 === 0 ? ids[0] : `https://other${round}.example/x`;
        assert.equal(await first.obtains(other, `before${round}`), undefined);
        // Some denials come before all of the flows below, and some after.
        const wait = Math.random() * 5 * (performance.now() - began);
        const denial: ReturnType<typeof DENY> = pause(wait).then(() => fourth.deny(host));
        const reasons = await Promise.all([
          first.obtains(ids[0], `a${round}`),
          second.obtains(ids[1], `b${round}`),
          third.obtains(ids[0], `c${round}`),
        ]);
        assert.equal((await denial).document.is_new, true);
        for (const id of ids) assert.deepEqual(await first.left(id), [false, 0], `${id} in round ${round}`);
        assert.equal(await second.obtains(ids[0], 'after'), 'client_document_denied');
        for (const reason of reasons) reason === undefined ? outrun++ : refused++;
      }
      // Both orders came up.
      assert.ok(outrun > 20, `${outrun} were first`);
      assert.ok(refused > 20, `${refused} were late`);
    });

    test('a denial of more clients than one transaction removes is finished by the next process, if its own is killed', async (t) => {
      const [open, next] = await openDatabases(t, database, 2);
      assert.ok(open && next);
      const worker = new Worker(open);
      const ids = Array.from({ length: REMOVED_AT_ONCE + 1 }, (_, index) => `https://a.example/${index}`);
      const last = ids.at(-1) ?? '';
      assert.equal(await worker.obtains(last, 'alice'), undefined);
      assert.equal(await worker.obtains('https://b.example/', 'alice'), undefined);
      const stored = await open.storage.clients.get(last);
      assert.ok(stored);
      const { generation: _, revision: __, registrationRevision: ___, disabledAtMs: ____, ...facts } = stored;
      await Promise.all(ids.slice(0, -1).map(async (id) => open.storage.clients.add({ ...facts, id })));
      let transactions = 0;
      const killed = new Worker({
        ...open,
        storage: {
          ...open.storage,
          clients: {
            ...open.storage.clients,
            async removeAll(some) {
              if (++transactions > 1) throw new Error('killed');
              // The list of a real store has an order of its own.
              return open.storage.clients.removeAll(some.filter((id) => id !== last));
            },
          },
        },
      });
      await assert.rejects(killed.deny('a.example'), /killed/);
      const [isStored, alive] = await worker.left(last);
      assert.deepEqual([isStored, alive], [true, 1], 'what the test is about');
      assert.equal(await worker.obtains(last, 'alice'), 'client_document_denied', 'it gets nothing more');

      const left = (await next.storage.clients.list()).filter(({ id }) =>
        id.startsWith('https://a.example/'),
      );
      assert.equal(await finishDenials(next), left.length);
      assert.deepEqual(await worker.left(last), [false, 0]);
      assert.deepEqual(await worker.left('https://b.example/'), [true, 1]);
      assert.equal(await next.deniedDocuments.unfinished(), undefined);
      assert.equal(await finishDenials(next), 0);
      assert.deepEqual(
        (await next.deniedDocuments.list()).map(({ rule }) => rule),
        ['a.example'],
      );
    });

    test('a dry run counts, and a denial ends the clients of its rule, and no others', async (t) => {
      const [first, second] = (await openDatabases(t, database, 2)).map((open) => new Worker(open));
      assert.ok(first && second);
      const [one, two] = ['https://a.example/x', 'https://b.a.example/y'];
      for (const id of [one, two]) assert.equal(await first.obtains(id, 'alice'), undefined);
      const counted = { rule: 'a.example', is_new: true, clients: 1, tokens: 1, has_more: false };
      assert.deepEqual((await second.deny('A.example.', { dry_run: true })).document, counted);
      assert.deepEqual(await first.left(one), [true, 1]);
      const made = { rule: 'a.example', is_new: true, clients: 1 };
      assert.deepEqual((await second.deny('A.example.')).document, made);
      assert.deepEqual((await second.deny('a.example')).document, { ...made, is_new: false, clients: 0 });
      assert.deepEqual(await first.left(one), [false, 0]);
      assert.deepEqual(await first.left(two), [true, 1]);
    });
  });

const workbench = new Workbench();
after(() => workbench.clear());

describe('a running server', () => {
  const CALLBACK = 'http://127.0.0.1:50123/callback';
  const site = createServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({
        client_id: `http://127.0.0.1:${(site.address() as AddressInfo).port}${request.url}`,
        redirect_uris: ['http://127.0.0.1/callback'],
        grant_types: ['authorization_code', 'refresh_token'],
      }),
    );
  });
  let id: string;
  let server: RunningServer;
  before(async () => {
    await once(site.listen(0, '127.0.0.1'), 'listening');
    id = `http://127.0.0.1:${(site.address() as AddressInfo).port}/client.json`;
    const options = ['--demo', '--client-documents', 'open', '--insecure-development'];
    server = await workbench.start(workbench.folder(), options);
  });
  after(() => site.close());

  const pkce = newPkce();
  const url = () =>
    authorizationUrl(server.url, pkce, {
      ...{ client_id: id, redirect_uri: CALLBACK, scope: 'openid offline_access' },
    });

  async function granted() {
    const browser = new Browser(server.url);
    const consent = await browser.submit(await browser.get(url()), { ...ALICE });
    assert.ok(isConsent(consent), consent.html);
    const answered = await browser.submit(consent, { decision: 'allow' });
    return redeem(server.url, pkce, new URL(answered.url), id);
  }

  const post = async (path: string, form: Readonly<Record<string, string>>) => {
    const body = new URLSearchParams({ client_id: id, ...form });
    const response = await fetch(server.url + path, { method: 'POST', body });
    return [response.status, (await response.json()).error_description];
  };

  test('stops accepting a host as soon as a command denies it, and accepts it again, without a restart', async () => {
    const { access_token: token, refresh_token: refreshToken = '' } = await granted();
    const run = (...args: readonly string[]) => grantdPrints(server.folder, ['client', ...args]);
    const pushing = { method: 'POST', body: new URL(url()).searchParams };
    const { request_uri: pushed } = await (await fetch(`${server.url}/par`, pushing)).json();
    assert.match(pushed, /^urn:/);
    const planned = await run('deny-document', '127.0.0.1', '--dry-run');
    assert.equal(planned, 'would deny 127.0.0.1, and end 1 client with 2 active tokens');
    assert.equal((await introspect(server.url, token)).active, true);
    assert.equal(
      await run('deny-document', '127.0.0.1', '--note', 'Ticket 4711'),
      'denied 127.0.0.1 and removed 1 client',
    );

    assert.deepEqual(await introspect(server.url, token), { active: false });
    const refused = [401, 'the server does not accept the metadata document of the client'];
    const { code_challenge: challenge } = Object.fromEntries(new URL(url()).searchParams);
    assert.deepEqual(
      await post('/token', { grant_type: 'refresh_token', refresh_token: refreshToken }),
      refused,
    );
    assert.deepEqual(
      await post('/token', { grant_type: 'authorization_code', code: 'c', redirect_uri: CALLBACK }),
      refused,
    );
    assert.deepEqual(
      await post('/par', {
        response_type: 'code',
        redirect_uri: CALLBACK,
        code_challenge: String(challenge),
      }),
      refused,
    );
    const ofPushed = `${server.url}/authorize?${new URLSearchParams({ client_id: id, request_uri: pushed })}`;
    for (const page of [url(), ofPushed]) {
      const { html } = await new Browser(server.url).get(page);
      assert.match(html, /the server does not accept the metadata document of the client/, page);
    }
    assert.match(
      await run('denied-documents'),
      /^DENIED +SINCE +BY +NOTE\n127\.0\.0\.1 +20\S+Z +cli +Ticket 4711$/,
    );

    assert.equal(await run('allow-document', '127.0.0.1'), 'allowed 127.0.0.1 again');
    assert.deepEqual(await introspect(server.url, token), { active: false });
    assert.equal((await introspect(server.url, (await granted()).access_token)).active, true);
    const { code, stderr } = await grantd(server.folder, ['client', 'allow-document', '127.0.0.1']);
    assert.equal(code, 1);
    assert.match(stderr, /127\.0\.0\.1 is not denied/);
    const events = await grantdPrints(server.folder, [
      'audit',
      'list',
      '--type',
      'documents_denied',
      '--json',
    ]);
    assert.match(events, /"target": ?"127\.0\.0\.1"/);
    assert.match(events, /"actor": ?"cli"/);
  });

  test('a start finishes a denial whose process was killed before it had removed all clients', async () => {
    const { access_token: token } = await granted();
    await server.stop();
    await SQLITE.run(
      server.folder,
      `INSERT INTO document_denials (issuer, rule, denied_by, denied_at_ms) VALUES ('${server.url}', '127.0.0.1', 'cli', 1);
       INSERT INTO document_denials (issuer, rule, denied_by, denied_at_ms, note) VALUES ('${server.url}', '', '', 0, 'killed')
       ON CONFLICT (issuer, rule) DO UPDATE SET note = excluded.note`,
    );
    const options = ['--demo', '--client-documents', 'open', '--insecure-development'];
    server = await workbench.start(server.folder, [...options, '--port', new URL(server.url).port]);
    const finished = await server.logged(
      ({ event }) => event === 'document_denial_finished',
      'the denial is finished',
    );
    assert.equal(finished.clients, 1);
    const flags = ['--type', 'client_removed', '--client', id, '--json'];
    const [removal] = JSON.parse(await grantdPrints(server.folder, ['audit', 'list', ...flags]));
    assert.equal(removal.actor, 'server', 'the client has not removed its registration');
    assert.deepEqual(await introspect(server.url, token), { active: false });
  });
});
