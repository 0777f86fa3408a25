// Services that exchange tokens, on two workers of the program: what they got dies with the tokens of the user.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { EXCHANGE_GRANT } from '@grantd/core';
import { AccessTokenFollower, OAuthError } from '@grantd/protect';
import * as oauth from 'oauth4webapi';
import { type Browser, signInAndConsent } from './harness/browser.ts';
import { grantd, grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { type RunningServer, Workbench } from './harness/program.ts';
import {
  authorizationUrl,
  basic,
  introspect,
  newPkce,
  payloadOf,
  postForm,
  redeem,
  type Tokens,
} from './harness/protocol.ts';

const CLIENT = 'demo-spa';
const REDIRECT_URI = 'http://localhost:4002/callback';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const LEDGER = 'https://ledger.example';

/** Services, each of which calls the next one. The first is the API of the demo. */
const SERVICES = [
  ['orders', 'http://localhost:4003', 'https://billing.example', 'billing:write'],
  ['billing', 'https://billing.example', LEDGER, 'ledger:write'],
  ['ledger', LEDGER, 'https://archive.example', 'archive:write'],
] as const;

for (const database of DATABASES) {
  describe(`services that exchange tokens, with ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    const secrets = new Map<string, string>();
    let server: RunningServer;
    const command = (...args: string[]) => grantdPrints(server.folder, args);
    before(async () => {
      server = await workbench.start(await workbench.home(), ['--demo', '--workers', '2']);
      await command(
        'client',
        'add',
        'archive',
        '--resource',
        'https://archive.example',
        '--api-scope',
        'archive:write',
      );
      for (const [id, resource, next, scope] of SERVICES.toReversed()) {
        const kind = id === 'ledger' ? ['--kind', 'agent'] : [];
        const own = SERVICES.find(([, , target]) => target === resource)?.[3];
        const printed = await command(
          ...['client', 'add', id, '--grant', EXCHANGE_GRANT, '--resource', resource, '--api', next],
          ...['--scope', scope, '--exchange-scope', scope, '--json'],
          ...(own === undefined ? [] : ['--api-scope', own]),
          ...kind,
        );
        secrets.set(id, JSON.parse(printed).client_secret);
      }
    });
    after(() => workbench.clear());

    async function signedIn(name: string): Promise<Tokens & { readonly browser: Browser }> {
      const { who, browser } = await newPerson(server, name);
      const pkce = newPkce();
      const request = { client_id: CLIENT, redirect_uri: REDIRECT_URI };
      const scope = 'openid offline_access api:read';
      const url = authorizationUrl(server.url, pkce, { ...request, scope });
      const tokens = await redeem(server.url, pkce, await signInAndConsent(browser, url, who), CLIENT);
      return { ...tokens, browser };
    }

    function exchange(id: string, token: string, more: Readonly<Record<string, string>> = {}) {
      const form = { grant_type: EXCHANGE_GRANT, subject_token: token, subject_token_type: ACCESS_TOKEN };
      return postForm(`${server.url}/token`, { ...form, ...more }, basic(id, secrets.get(id) ?? ''));
    }

    /** What each service gets of the one before. */
    async function chainOf(token = ''): Promise<readonly string[]> {
      const chain = [];
      for (const [id, , resource] of SERVICES) {
        const response = await exchange(id, chain.at(-1) ?? token, { resource });
        const body = await response.json();
        assert.equal(response.status, 200, JSON.stringify(body));
        chain.push(body.access_token);
      }
      return chain;
    }

    const isAlive = async (token: string) => (await introspect(server.url, token)).active === true;
    const refresh = async (refresh_token = ''): Promise<Tokens> => {
      const form = { grant_type: 'refresh_token', refresh_token, client_id: CLIENT };
      return (await (await postForm(`${server.url}/token`, form)).json()) as Tokens;
    };

    test('a chain lives through refreshes of its root, and ends with it, on every process', async () => {
      const tokens = await signedIn('chained');
      const chain = await chainOf(tokens.access_token);
      const last = payloadOf(chain.at(-1));
      assert.deepEqual(
        [last.aud, last.scope, last.act],
        [
          'https://archive.example',
          'archive:write',
          { sub: 'ledger', act: { sub: 'billing', act: { sub: 'orders' } } },
        ],
      );
      const next = await refresh(tokens.refresh_token);
      for (const token of chain) assert.equal(await isAlive(token), true);
      const renewed = await chainOf(next.access_token);
      await postForm(`${server.url}/token/revoke`, { token: next.refresh_token ?? '', client_id: CLIENT });
      for (const token of [...chain, ...renewed])
        for (let times = 0; times < 4; times++) assert.equal(await isAlive(token), false);
      const { status, body } = await exchange('orders', next.access_token, { resource: LEDGER });
      assert.equal(status, 400, await new Response(body).text());
    });

    test('an API that follows refuses what hangs below a token that has ended', async () => {
      const secret = JSON.parse(
        await command('client', 'add', 'ledger-api', '--resource', LEDGER, '--json'),
      ).client_secret;
      const follower = new AccessTokenFollower({
        ...{ issuer: server.url, audience: LEDGER },
        credentials: { clientId: 'ledger-api', clientSecret: secret },
      });
      try {
        await follower.ready();
        for (const [what, end] of [
          ['the first token', ({ access_token }: Tokens) => access_token],
          ['the first hop', (_: Tokens, [orders = '']: readonly string[]) => orders],
        ] as const) {
          const tokens = await signedIn(`followed-${what.replaceAll(' ', '-')}`);
          const chain = await chainOf(tokens.access_token);
          const [, second = ''] = chain;
          await follower.verify(second);
          await command('token', 'revoke', end(tokens, chain) ?? '');
          const endedAt = performance.now();
          const isRefused = () =>
            follower.verify(second).then(
              () => false,
              (error) => error instanceof OAuthError && error.reason === 'not_active',
            );
          while (!(await isRefused())) {
            assert.ok(performance.now() - endedAt < 8000, what);
            await pause(5);
          }
        }
      } finally {
        await follower.close();
      }
    });

    test('a user sees which services act for them, and ends one with what it has obtained', async () => {
      const { browser, access_token: token } = await signedIn('watching');
      const others = await signedIn('watching-too');
      const account = `${server.url}/account`;
      const acting = async (path = '') => {
        const { html } = await browser.get(account + path);
        const [, entries = ''] = /<h2 id="acting">([\s\S]*?)<\/section>/.exec(html) ?? [];
        return entries;
      };
      const ending = (entries: string) =>
        [...entries.matchAll(/id="end-access-(\w+)"/g)].map(([, id]) => id).toSorted();
      assert.equal(await acting(), '');
      const chain = await chainOf(token);
      const otherChain = await chainOf(others.access_token);
      for (const path of ['', '/applications']) {
        const entries = await acting(path);
        assert.deepEqual(ending(entries), ['billing', 'ledger', 'orders']);
        assert.match(entries, /Services and agents that act for you/);
        assert.match(
          entries,
          />billing<[\s\S]*Through <bdi class="name">Demo[^<]*<\/bdi> · used this hour[\s\S]*<code>ledger:write<\/code>[\s\S]*For use at <code>https:\/\/ledger\.example<\/code>/,
        );
      }
      const { acting: shown } = JSON.parse(await command('user', 'show', 'watching', '--json'));
      const seen = shown.map((one: Record<string, unknown>) => [one.client_id, one.applications, one.scopes]);
      assert.match(
        await command('user', 'show', 'watching'),
        new RegExp(
          `^acting: orders through ${CLIENT} since \\S+, last used between \\S+:00:00.000Z and \\S+:00:00.000Z, active, billing:write, for https://billing.example$`,
          'm',
        ),
      );
      assert.deepEqual(seen.toSorted(), [
        ['billing', [CLIENT], ['ledger:write']],
        ['ledger', [CLIENT], ['archive:write']],
        ['orders', [CLIENT], ['billing:write']],
      ]);
      assert.match(await command('user', 'show', 'watching'), /^acting: ledger \(agent\) through /m);
      const question = await browser.get(`${account}/applications?end=billing`);
      assert.match(question.html, /when it gets new access through <bdi class="name">Demo/);
      const done = await browser.submit(question, { end_access: 'billing' });
      assert.match(done.html, /id="notice"[\s\S]*billing<\/bdi> no longer has access/);
      assert.deepEqual(await Promise.all([token, ...chain].map(isAlive)), [true, true, false, false]);
      assert.deepEqual(await Promise.all([others.access_token ?? '', ...otherChain].map(isAlive)), [
        ...[true, true, true, true],
      ]);
      assert.deepEqual(ending(await acting()), ['orders']);
      assert.equal((await exchange('billing', chain[0] ?? '', { resource: LEDGER })).status, 400);

      const explained = await command('token', 'explain', chain[1] ?? '');
      assert.match(
        explained,
        /^event +exchanges_revoked by user:\S+ at \S+: what the client had obtained for the user was ended$/m,
      );
      await server.logged(({ reason }) => reason === 'exchanges_ended', 'an exchange after the end');
      const pressed = await browser.submit(await browser.get(account), { end_access: 'orders' });
      assert.match(pressed.html, /orders<\/bdi> no longer has access/);
      assert.equal(await acting(), '');
      assert.equal(await isAlive(token ?? ''), true);
    });

    test('an operator finds in the events what a service got for a user, and ends it', async () => {
      const { access_token: token = '', refresh_token: refreshToken } = await signedIn('asked-about');
      const others = await signedIn('not-asked-about');
      const chain = await chainOf(token);
      const otherChain = await chainOf(others.access_token);
      const events = ['audit', 'list', '--subject', 'asked-about', '--client', 'orders'];
      const table = await command(...events);
      const { sub } = payloadOf(token);
      const [, id = ''] =
        new RegExp(
          `token_issued +(\\S+) +client:orders +orders +${sub} .*token_exchange:${CLIENT}$`,
          'm',
        ).exec(table) ?? [];
      assert.equal(id, payloadOf(chain[0]).jti);
      const explain = async () => JSON.parse(await command('token', 'explain', id, '--json'));
      const { kind, active, record, ancestors, descendants } = await explain();
      assert.deepEqual(
        [kind, active, record.scopes, record.resources, ancestors.length, descendants.length],
        ['access_token', true, ['billing:write'], ['https://billing.example'], 1, 2],
      );

      const end = ['token', 'revoke', '--user', 'asked-about', '--client', 'orders'];
      assert.equal(await command(...end), 'revoked all tokens of the client orders for asked-about');
      assert.deepEqual(await Promise.all([token, ...chain].map(isAlive)), [true, false, false, false]);
      assert.deepEqual(await Promise.all([others.access_token ?? '', ...otherChain].map(isAlive)), [
        ...[true, true, true, true],
      ]);
      assert.match(
        await command(...events),
        new RegExp(` exchanges_revoked +orders +cli +orders +${sub}$`, 'm'),
      );
      assert.equal((await explain()).reason, 'revoked');
      assert.match(await command(...end), /^nothing was revoked: the client orders has no active tokens/);

      const jti = String(payloadOf(token).jti);
      assert.equal(await command('token', 'revoke', jti), 'revoked the access token');
      assert.deepEqual(
        [await isAlive(token), (await refresh(refreshToken)).access_token],
        [false, undefined],
      );
    });

    test('the audit trail says if there is no such user or client', async () => {
      const list = (...flags: string[]) => grantd(server.folder, ['audit', 'list', ...flags]);
      for (const [flags, problem] of [
        [['--subject', 'mistyped'], /there is no user mistyped/],
        [['--client', 'mistyped'], /there is no client mistyped/],
      ] as const) {
        const { code, stdout, stderr } = await list(...flags);
        assert.deepEqual([code, stdout], [1, ''], stderr);
        assert.match(stderr, problem);
      }
      assert.equal((await list('--client', 'archive', '--type', 'client_disabled')).code, 0);
    });

    test('a user who leaves a group loses what a service of this group has obtained', async () => {
      await command('group', 'add', 'clerks');
      const printed = await command(
        ...[
          'client',
          'add',
          'clerk',
          '--grant',
          EXCHANGE_GRANT,
          '--api',
          'https://billing.example',
          '--json',
        ],
        ...['--scope', 'billing:write', '--exchange-scope', 'billing:write'],
        ...['--exchange-tokens-of', CLIENT, '--allow-group', 'clerks'],
      );
      secrets.set('clerk', JSON.parse(printed).client_secret);
      const { access_token: token = '' } = await signedIn('leaving');
      assert.equal((await exchange('clerk', token)).status, 400);
      await command('group', 'add-member', 'clerks', 'leaving');
      const { access_token: obtained } = await (await exchange('clerk', token)).json();
      assert.equal(await isAlive(obtained), true);
      await command('group', 'remove-member', 'clerks', 'leaving');
      assert.deepEqual(await Promise.all([token, obtained].map(isAlive)), [true, false]);
    });

    test('oauth4webapi exchanges a token, and the log names no token', async () => {
      const { access_token: token } = await signedIn('by-library');
      const as = { issuer: server.url, token_endpoint: `${server.url}/token` };
      const client = { client_id: 'orders' };
      const response = await oauth.genericTokenEndpointRequest(
        as,
        client,
        oauth.ClientSecretBasic(secrets.get('orders') ?? ''),
        EXCHANGE_GRANT,
        { subject_token: token, subject_token_type: ACCESS_TOKEN, audience: 'billing' },
        { [oauth.allowInsecureRequests]: true },
      );
      const answer = await oauth.processGenericTokenEndpointResponse(as, client, response);
      assert.equal(answer.issued_token_type, ACCESS_TOKEN);
      assert.equal(payloadOf(answer.access_token).aud, 'https://billing.example');
      const log = JSON.stringify(server.log());
      for (const secret of [token, answer.access_token]) assert.equal(log.includes(secret), false);
    });

    test('an exchanged token is explained with its ancestors and descendants, and what has ended it', async () => {
      const tokens = await signedIn('explained');
      const chain = await chainOf(tokens.access_token);
      const [first = '', second = '', third = ''] = chain;
      const idOf = (token?: string) => payloadOf(token).jti;
      const explained = async () => JSON.parse(await command('token', 'explain', third, '--json'));
      const hops = [
        [tokens.access_token, CLIENT],
        [first, 'orders'],
        [second, 'billing'],
      ].map(([token, client_id]) => ({ kind: 'access_token', id: idOf(token), client_id, active: true }));
      const before = await explained();
      assert.deepEqual([before.active, before.ancestors], [true, hops]);
      const explainedFirst = async () => JSON.parse(await command('token', 'explain', first, '--json'));
      const below = [
        [second, 'billing'],
        [third, 'ledger'],
      ].map(([token, client_id]) => ({ kind: 'access_token', id: idOf(token), client_id }));
      const living = below.map((one) => ({ ...one, active: true }));
      assert.deepEqual((await explainedFirst()).descendants, living);
      assert.match(
        await command('token', 'explain', first),
        /^descendant 2 +access token .* of ledger: alive$/m,
      );
      await command('token', 'revoke', first);
      const ends = (await explainedFirst()).descendants.map(
        ({ explanation: _, ...end }: { explanation?: string }) => end,
      );
      assert.deepEqual(
        ends,
        below.map((one) => ({ ...one, active: false, reason: 'ancestor_ended' })),
      );
      const { active, reason, since, ended_by_ancestor: ended, ancestors } = await explained();
      assert.deepEqual([active, reason, ended], [false, 'ancestor_ended', idOf(first)]);
      assert.deepEqual(
        ancestors.map(({ explanation: _, ...life }: { explanation?: string }) => life),
        [hops[0], { ...hops[1], active: false, reason: 'revoked', since }, hops[2]],
      );
      const printed = await command('token', 'explain', third);
      assert.match(printed, /^ended by +ancestor 2$/m);
      assert.match(
        printed,
        new RegExp(`^ancestor 1 +access token ${idOf(tokens.access_token)} of ${CLIENT}: alive$`, 'm'),
      );
      assert.match(
        printed,
        new RegExp(`^ancestor 2 +access token ${idOf(first)} of orders: revoked since ${since}$`, 'm'),
      );
    });
  });
}
