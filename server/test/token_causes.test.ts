// The page of a token draws only tokens that exist, and names the one cause of its end.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EVENT_TYPES } from '@grantd/core';
import type { AuditEventView } from '../src/admin/audit.ts';
import { call } from '../src/admin/in_process.ts';
import { localCalls } from '../src/cli/local_calls.ts';
import { type Cause, causeOf } from '../src/console/causes.ts';
import { PERSONAL_TOKENS_CLIENT, prepareClient } from '../src/instance/personal_tokens_client.ts';
import { OwnTokens } from '../src/people/personal_tokens.ts';
import { ENDING_REASONS } from '../src/people/sessions.ts';
import { DE, EN } from '../src/texts/texts.ts';
import { hiddenFields, unescaped } from './harness/browser.ts';
import { startConsole } from './harness/console_server.ts';
import { DATABASES } from './harness/databases.ts';
import { newDatabase } from './harness/program_data.ts';
import { postForm } from './harness/protocol.ts';

test('the page of a token names the one cause of its end, and draws only tokens that exist', async (t) => {
  const server = await startConsole();
  t.after(() => server.close());
  await server.addUser('ada', ['admins']);
  const cli = localCalls({ ...server.instance.actingAs('cli'), configuration: server.configuration });
  await call(cli, 'addGroup', { name: 'staff' });
  const { subject: sub } = await server.addUser('grace', ['staff']);
  const members = { redirect_uris: ['https://app.example/cb'], scope: 'openid offline_access' };
  await call(cli, 'addClient', { ...members, client_id: 'payroll', allowed_groups: ['staff'] });
  await call(cli, 'addClient', { ...members, client_id: 'shop' });
  const browser = await server.browserOf('ada');
  const explained = async (token: string) => {
    const form = await browser.get(`${server.url}/console/tokens`);
    const { html } = await browser.submit(form, { token, do: 'explain' });
    const main = unescaped(html.slice(html.indexOf('<main')));
    return { main, text: main.replaceAll(/<[^>]*>/g, '') };
  };

  const left = await server.tokensOf('payroll', sub);
  assert.match((await explained(left.access)).main, /<span>Refresh token<\/span><small>issued with it/);
  await call(cli, 'removeMember', { group: 'staff', sub });
  assert.match(
    (await explained(left.access)).text,
    /ended the access of .*payroll.*, because grace left staff/,
  );

  const revoked = await server.tokensOf('shop', sub);
  await call(cli, 'revokeToken', { token: revoked.access });
  const several = /alone, (?:or )?with its pair/;
  const [own, other] = [await explained(revoked.access), await explained(revoked.refresh)];
  assert.match(own.text, /An operator has revoked this token\. revoked/);
  assert.match(
    other.text,
    /An operator has revoked another token of the same grant, and this one ended with it\. revoked/,
  );
  for (const { text } of [own, other]) assert.doesNotMatch(text, several);

  const [alone] = await server.server.operator.issueTokens({ clientId: 'shop', subject: sub });
  const { main } = await explained(alone?.accessToken ?? '');
  assert.match(main, /<svg class="family"/);
  assert.doesNotMatch(main, /Refresh token/);
});

test('each cause has its own sentence in each language, and an event that leads to it', () => {
  const reached = new Set<Cause>();
  const reasons = [
    ...ENDING_REASONS,
    ...['refresh_token_reused', 'code_reused', 'consent_withdrawn', 'left_group:staff', 'groups_changed'],
    'beyond_policy',
  ];
  const event = (facts: Partial<AuditEventView>): AuditEventView => ({
    ...{ number: 1, at: new Date(0).toISOString(), type: 'grant_revoked', target: 'x', subject: 'ada' },
    ...{ actor: 'console:root', ...facts },
  });
  for (const actor of ['cli', 'console:root', 'api:ops', 'user:ada', 'client:web', 'server']) {
    for (const reason of reasons) {
      const cause = causeOf(event({ actor, reason }), true);
      assert.ok(cause, `${reason} by ${actor}`);
      reached.add(cause);
    }
    for (const type of EVENT_TYPES)
      for (const isItself of [true, false]) {
        const cause = causeOf(event({ type, actor }), isItself);
        if (cause !== undefined) reached.add(cause);
        // If an event is the end of tokens, an operator's always says why.
        if (actor === 'cli' && /(?:_revoked|_disabled|session_ended)$/.test(type)) assert.ok(cause, type);
      }
  }
  assert.deepEqual([...reached].toSorted(), Object.keys(EN.console.causes).toSorted());
  for (const { causes } of [EN.console, DE.console])
    assert.equal(new Set(Object.values(causes)).size, reached.size);
  for (const cause of reached) assert.notEqual(EN.console.causes[cause], DE.console.causes[cause]);
});

const API = 'https://notes.example';
const POLICY = {
  ...{ apis: [API], scopes: undefined, groups: undefined, lifetime: 3600, limit: 20 },
  binding: 'none',
} as const;

/** Types whose target is a grant, token, session or code, which belongs to a user and a client. */
const OWNED = /^(?:grant|token|family|code|exchanges|session)_revoked$|^session_ended$|^consent_/;

for (const database of DATABASES)
  describe(`who ended tokens and why, on ${database.name}`, { skip: database.absence }, () => {
    test('the page of a token says it, and the event is in the trails of its user and client', async (t) => {
      const server = await startConsole({ GRANTD_CREATE: 'true' }, await newDatabase(t, database));
      t.after(() => server.close());
      await server.addUser('otto', ['admins']);
      const { subject: sub } = await server.addUser('carol');
      await server.addClient('crm', { token_endpoint_auth_method: 'none', client_name: 'CRM' });
      const browser = await server.browserOf('otto');
      const text = async (path: string, form?: Readonly<Record<string, string>>) => {
        const page = await browser.get(`${server.url}/console/${path}`);
        const { html } = form === undefined ? page : await browser.submit(page, form);
        return unescaped(html.slice(html.indexOf('<main'))).replaceAll(/<[^>]*>/g, '');
      };
      const explained = (token: string) => text('tokens', { token, do: 'explain' });
      const cli = localCalls({ ...server.instance.actingAs('cli'), configuration: server.configuration });
      const post = (form: Readonly<Record<string, string>>, path = '/token') =>
        postForm(`${server.url}${path}`, { client_id: 'crm', ...form });
      const refresh = async (token: string) => {
        const response = await post({ grant_type: 'refresh_token', refresh_token: token });
        const { refresh_token: successor } = (await response.json()) as { refresh_token?: string };
        return successor ?? 'refused';
      };

      const reused = await server.tokensOf('crm', sub);
      const next = await refresh(reused.refresh);
      await refresh(next);
      assert.equal(await refresh(reused.refresh), 'refused');
      const page = await explained(next);
      assert.match(page, /An old refresh token of the same family was used again.*thief may have a copy/);
      assert.match(
        page,
        /The server revoked a refresh token of CRM \(crm\) for carol and its successors, because an old refresh token was used again from 127\.0\.0\.1/,
      );

      const byClient = await server.tokensOf('crm', sub);
      await post({ token: byClient.access }, '/token/revoke');
      assert.match(await explained(byClient.access), /Its client has revoked this token\./);

      const ended = await server.tokensOf('crm', sub);
      const { record } = await call(cli, 'explainToken', { token: ended.access });
      const grant = record?.grant_id ?? '';
      await call(cli, 'revokeAll', { grant_id: grant });
      assert.match(await explained(ended.access), /An operator has ended this access\./);

      await call(cli, 'revokeAll', { sub, client_id: 'crm' });
      const byPassword = await server.tokensOf('crm', sub);
      await call(cli, 'setPassword', { sub, password: 'another long password' });
      assert.match(await explained(byPassword.access), /An operator has set a new password for the user\./);

      const events = (await call(cli, 'listAudit', { limit: 200 })).items.filter(({ type }) =>
        OWNED.test(type),
      );
      assert.deepEqual([...new Set(events.map(({ type }) => type))].toSorted(), [
        'family_revoked',
        'grant_revoked',
        'token_revoked',
      ]);
      for (const event of events)
        assert.deepEqual([event.subject, event.client_id], [sub, 'crm'], event.type);
      const ofGrant = events.find(({ target }) => target === grant);
      for (const filter of [`user=${sub}`, 'client=crm', `target=${grant}`]) {
        const trail = await text(`audit?type=grant_revoked&${filter}`);
        assert.match(trail, /A command on the server ended the access of CRM \(crm\) for carol/, filter);
      }
      assert.match(await text(`audit?event=${ofGrant?.number}`), /ended the access of CRM/);
      // The search for the grant leads to its events.
      const fields = hiddenFields(await browser.get(`${server.url}/console`));
      const found = await browser.post(`${server.url}/console/search`, { ...fields, q: grant });
      assert.equal(found.url, `${server.url}/console/audit?target=${grant}`);
    });

    test('the end of a session, factor or personal token is in the trail of its user, with its cause', async (t) => {
      const server = await startConsole({ GRANTD_CREATE: 'true' }, await newDatabase(t, database));
      t.after(() => server.close());
      await server.addUser('otto', ['admins']);
      const carol = await server.addUser('carol');
      const { subject: sub } = carol;
      const browser = await server.browserOf('otto');
      const { issuer, factors, storage, personalTokens, clock, secret } = server.instance;
      const cli = localCalls({ ...server.instance.actingAs('cli'), configuration: server.configuration });

      const endOne = async () => {
        await server.browserOf('carol');
        const [session] = (await call(cli, 'listSessions', { sub })).items;
        return call(cli, 'endSession', { sub, session: session?.id ?? '' });
      };
      await endOne();
      await server.browserOf('carol');
      await factors.addTotp(sub, { sealed: 'sealed', createdAtMs: 1, countsFromMs: 0 }, 1);
      await call(cli, 'removeFactor', { sub, factor: 'authenticator_app' });
      await call(cli, 'addClient', { client_id: 'notes', resource: API, api_scopes: ['read'] });
      await prepareClient(storage, POLICY);
      const own = new OwnTokens({
        ...{ issuer, policy: POLICY, storage, personalTokens, secret: secret(), clock, queue: undefined },
      });
      const wanted = {
        name: 'job',
        resource: API,
        scopes: ['read'],
        lifetime: 60,
        binding: '',
        language: 'en',
      };
      const made = await own.make(carol, wanted);
      assert.ok('id' in made, JSON.stringify(made));
      await call(cli, 'endPersonalTokens', { sub });

      const events = (await call(cli, 'listAudit', { subject: sub, limit: 200 })).items;
      const ended = events.filter(({ type }) => /_(?:revoked|ended|removed|made)$/.test(type));
      assert.deepEqual(
        ended.map(({ type, client_id: client, reason }) => [type, client, reason]).toSorted(),
        [
          ['grant_revoked', PERSONAL_TOKENS_CLIENT, undefined],
          ['person_factor_removed', undefined, 'authenticator_app'],
          ['personal_token_made', undefined, undefined],
          ['session_ended', undefined, undefined],
          ['session_ended', undefined, undefined],
          ['subject_revoked', undefined, 'factor_removed'],
        ],
      );
      const trail = await browser.get(`${server.url}/console/audit?user=${sub}`);
      const text = unescaped(trail.html.slice(trail.html.indexOf('<main'))).replaceAll(/<[^>]*>/g, '');
      for (const sentence of [
        'A command on the server ended a session of carol',
        'A command on the server removed an authenticator app of carol',
        'A command on the server revoked all tokens of the user carol, because a factor was removed',
        /carol made a personal access token/,
        /A command on the server ended the access of .*for carol/,
      ])
        assert.match(text, new RegExp(sentence));
    });
  });
