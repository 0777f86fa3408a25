// Events of changes say what changed, never a secret or a claim of a user.
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { describe, test } from 'node:test';
import { EVENT_TYPES } from '@grantd/core';
import { call } from '../src/admin/in_process.ts';
import { ocsfOf } from '../src/admin/ocsf.ts';
import type { Input, OperationId } from '../src/admin/table.ts';
import { localCalls } from '../src/cli/local_calls.ts';
import { changesIn, changesOf } from '../src/data/changes.ts';
import { type Page, unescaped } from './harness/browser.ts';
import { startConsole } from './harness/console_server.ts';
import { DATABASES } from './harness/databases.ts';
import { newDatabase } from './harness/program_data.ts';

test('each member that differs is a change, with short values and without objects', () => {
  const before = { a: 'x', b: ['p'], c: { k: 1 }, same: [1], gone: true, long: 'y'.repeat(500) };
  const after = { a: 'z', b: ['p', 'q'], c: { k: 2 }, same: [1], added: 5, long: '' };
  assert.deepEqual(changesIn('client_changed', changesOf(before, after)), [
    { member: 'a', values: ['x', 'z'] },
    { member: 'b', values: ['p', 'p q'] },
    { member: 'c' },
    { member: 'gone', values: ['true', ''] },
    { member: 'long', values: [`${'y'.repeat(200)}…`, ''] },
    { member: 'added', values: ['', '5'] },
  ]);
  assert.equal(changesOf(before, { ...before }), undefined);
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`m${at}`, 'v'.repeat(300)]));
  const bounded = changesOf({}, many) ?? '';
  assert.ok(bounded.length < 5000, String(bounded.length));
  assert.equal(changesIn('client_changed', bounded)?.length, 50);
});

test('another reason, or none, is no list of changes', () => {
  assert.equal(changesIn('client_changed', undefined), undefined);
  assert.equal(changesIn('client_changed', '{broken'), undefined);
  assert.equal(changesIn('audit_restarted', '{"a":["b","c"]}'), undefined);
});

interface Changed {
  /** What the page of the event says. */
  readonly says: readonly RegExp[];
  /** What it must not say. */
  readonly hides?: readonly string[];
  change(perform: <Id extends OperationId>(id: Id, input: Input<Id>) => Promise<unknown>): Promise<unknown>;
}

/** A change of each type of event that says what changed. */
const CHANGES: Readonly<Record<string, Changed>> = {
  client_changed: {
    says: [
      /Scopes <code class="raw">scope<\/code><\/dt><dd><code>openid offline_access<\/code> → <code>openid<\/code>/,
      /<em>nothing<\/em> → <code>Shop<\/code>/,
      /<code class="raw">jwks<\/code><\/dt><dd>Changed\. Events do not keep its values\./,
    ],
    hides: ['key-of-shop'],
    change: async (perform) => {
      const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const jwks = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'key-of-shop' }] };
      return perform('updateClient', { client_id: 'shop', client_name: 'Shop', scope: 'openid', jwks });
    },
  },
  group_changed: {
    says: [/<code>old<\/code> → <code>new<\/code>/],
    async change(perform) {
      await perform('addGroup', { name: 'crew', description: 'old' });
      return perform('updateGroup', { group: 'crew', description: 'new' });
    },
  },
  scope_texts_changed: {
    says: [/<code>First<\/code> → <code>Second<\/code>/],
    async change(perform) {
      await perform('addScopeTexts', { scope: 'profile', texts: { name: 'First' } } as never);
      return perform('updateScopeTexts', { scope: 'profile', name: 'Second' } as never);
    },
  },
  person_changed: {
    says: [/<code class="raw">nickname<\/code><\/dt><dd>Changed\. Events do not keep its values\./],
    hides: ['Dormouse'],
    change: (perform) => perform('updateUser', { sub: 'SUB', claims: { nickname: 'Dormouse' } }),
  },
};

test('every type of event that ends in _changed is known', () => {
  const types = EVENT_TYPES.filter((type) => type.endsWith('_changed'));
  assert.deepEqual(Object.keys(CHANGES).toSorted(), types.toSorted());
});

for (const database of DATABASES)
  describe(`events of changes on ${database.name}`, { skip: database.absence }, () => {
    test('the page of each event says what changed, and so do the API and OCSF', async (t) => {
      const closers: (() => unknown)[] = [];
      const place = await newDatabase(
        { after: (close: () => unknown) => closers.push(close) } as never,
        database,
      );
      const server = await startConsole({ GRANTD_CREATE: 'true' }, place);
      t.after(async () => {
        await server.close();
        for (const close of closers) await close();
      });
      await server.addUser('ada', ['admins']);
      const { subject } = await server.addUser('bob');
      await server.addClient('shop');
      const cli = localCalls({ ...server.instance.actingAs('cli'), configuration: server.configuration });
      const browser = await server.browserOf('ada');
      for (const [type, { says, hides = [], change }] of Object.entries(CHANGES)) {
        await change((id, input) => call(cli, id, { ...input, ...('sub' in input && { sub: subject }) }));
        const { items } = await call(cli, 'listAudit', { type: type as never, limit: 1 });
        const [event] = items;
        assert.ok(event, type);
        assert.ok(changesIn(type, event.reason), `${type}: ${event.reason}`);
        const page: Page = await browser.get(`${server.url}/console/audit?event=${event.number}`);
        const html = unescaped(page.html);
        for (const one of says) assert.match(html.slice(html.indexOf('<main')), one, type);
        for (const one of hides)
          assert.ok(!`${html}${JSON.stringify(event)}`.includes(one), `${type}: ${one}`);
        const { number: sequence, reason, target } = event;
        const record = { sequence, atMs: 0, type: type as never, target, actor: 'cli', reason };
        const made = ocsfOf(record as never, 'https://id.example') as {
          readonly unmapped: { readonly changes?: object };
        };
        assert.ok(made.unmapped.changes, type);
      }
      // Rows name the changed fields.
      const rows = async (query: string) => {
        const { html } = await browser.get(`${server.url}/console/audit?${query}`);
        return unescaped(
          html
            .slice(html.indexOf('<main'))
            .replaceAll(/<time|<\/td>/g, '\n$&')
            .replaceAll(/<[^>]*>/g, ''),
        );
      };
      assert.match(
        await rows('type=client_changed'),
        /changed the client Shop \(shop\): Scopes, Name of the client and Public keys\n/,
      );
      assert.match(await rows('type=person_changed'), /changed the data of bob: Nickname\n/);
      const first = { client_name: 'Store', client_uri: 'https://a.example', contacts: ['a@example.com'] };
      const update = { ...first, policy_uri: 'https://a.example/p', tos_uri: 'https://a.example/t' };
      await call(cli, 'updateClient', { client_id: 'shop', ...update });
      await call(cli, 'updateClient', {
        client_id: 'shop',
        ...update,
        client_name: 'Shop',
        client_uri: 'https://b.example',
        contacts: ['b@example.com'],
        tos_uri: 'https://b.example',
      });
      const [english, german] = [await rows('changes=yes'), await rows('changes=yes&ui_language=de')];
      assert.match(english, /: [A-Z][^,\n]+, [^,\n]+, [^,\n]+ and 1 more\n/);
      assert.match(english, /: [A-Z][^,\n]+, [^,\n]+, [^,\n]+ and 2 more\n/);
      assert.match(german, / geändert: [A-Z][^,\n]+, [^,\n]+, [^,\n]+ und 1 weiteres\n/);
      assert.match(german, / geändert: [A-Z][^,\n]+, [^,\n]+, [^,\n]+ und 2 weitere\n/);
    });
  });
