// What depends on how a session began is asked again when tokens are made, and when the admin API or console is used
// (ADR 201).
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { EXCHANGE_GRANT } from '@grantd/core';
import { isConsent, isLogin } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import { Workbench } from './harness/program.ts';
import { authorizationUrl, basic, newPkce, postForm } from './harness/protocol.ts';

const CALLBACK = 'https://desk.example/cb';

/** How the sessions began, as they are stored. */
const BEGUN = { password: 'pwd', code: 'email', 'code, then an app': 'email otp mfa' } as const;

const CONSOLE = ['--console', '--admin-api', '--admin-group', 'admins', '--console-sign-in-policy'];
const CODES = ['--smtp-url', 'smtp://127.0.0.1:9', '--mail-from', 'login@id.example', '--email-code', 'also'];
const EVERYONE = '--insecure-email-code-for-administrators';

interface Change {
  /** The options of the server before, and afterwards. Default: the same. */
  readonly before: readonly string[];
  readonly after?: readonly string[];
  /** Whether the user joins the administrators only with the change. */
  readonly joins?: true;
  /** What is left to each session, by the names of `LEFT`. */
  readonly left: Readonly<Record<keyof typeof BEGUN, keyof typeof LEFT>>;
}

const KEPT = { password: 'all', code: 'nothing', 'code, then an app': 'nothing' } as const;

const WAYS: Readonly<Record<string, Change>> = {
  'the user joins the administrators': {
    ...{ before: [...CONSOLE, 'password', ...CODES], joins: true, left: KEPT },
  },
  'administrators lose codes': {
    before: [...CONSOLE, 'password', ...CODES, EVERYONE],
    after: [...CONSOLE, 'password', ...CODES],
    left: KEPT,
  },
  'the group loses codes': {
    before: [...CONSOLE, 'password', ...CODES, EVERYONE, '--email-code-groups', 'staff'],
    after: [...CONSOLE, 'password', ...CODES, EVERYONE, '--email-code-groups', 'others'],
    left: KEPT,
  },
  'the server sends no more codes': {
    before: [...CONSOLE, 'password', ...CODES, EVERYONE],
    after: [...CONSOLE, 'password'],
    left: KEPT,
  },
  'the console becomes stricter': {
    before: [...CONSOLE, 'password', ...CODES, EVERYONE],
    after: [...CONSOLE, 'second_factor', ...CODES, EVERYONE],
    left: { password: 'tokens', code: 'tokens', 'code, then an app': 'all' },
  },
  'the server becomes stricter': {
    before: [...CONSOLE, 'password', ...CODES, EVERYONE],
    after: [...CONSOLE, 'password', ...CODES, EVERYONE, '--sign-in-policy', 'second_factor'],
    left: { password: 'second step', code: 'second step', 'code, then an app': 'all' },
  },
  'nothing changes': {
    before: [...CONSOLE, 'password', ...CODES, EVERYONE],
    left: { password: 'all', code: 'all', 'code, then an app': 'all' },
  },
};

/** What each source of tokens gives, and what the token then gets at the admin API. */
const CHALLENGE = '401 insufficient_user_authentication';
const CLASSES = `${CHALLENGE} urn:grantd:acr:multi-factor phr`;

const NOTHING = {
  'a new code': 'refused',
  'an earlier code': 'invalid_grant',
  refresh: 'invalid_grant',
  exchange: 'insufficient_user_authentication',
  'an earlier token': CHALLENGE,
  'an exchanged token': CHALLENGE,
  console: 'closed',
} as const;

const LEFT = {
  all: {
    ...{ 'a new code': 'code', 'an earlier code': 'token, 200', refresh: 'token, 200' },
    ...{ exchange: 'token, 200', 'an earlier token': '200', 'an exchanged token': '200', console: 'open' },
  },
  // The policy of the console is no condition of tokens. The API names the classes that it needs.
  tokens: {
    'a new code': 'code',
    'an earlier code': `token, ${CLASSES}`,
    refresh: `token, ${CLASSES}`,
    exchange: `token, ${CLASSES}`,
    'an earlier token': CLASSES,
    'an exchanged token': CLASSES,
    console: 'closed',
  },
  nothing: NOTHING,
  'second step': { ...NOTHING, 'an earlier token': CLASSES, 'an exchanged token': CLASSES },
} as const;

for (const database of ANY_DATABASE)
  describe(`rights that depend on a sign-in, on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    after(() => workbench.clear());

    let folder = '';
    let port = '';
    let audience = '';
    let secret = '';
    const prints = (...args: readonly string[]) => grantdPrints(folder, args);
    before(async () => {
      const first = await workbench.start(await workbench.home(), ['--demo']);
      ({ folder } = first);
      ({ port } = new URL(first.url));
      audience = `${first.url}/admin`;
      for (const group of ['staff', 'others', 'admins']) await prints('group', 'add', group);
      const shared = ['--api', audience, '--allow-group', 'staff', '--scope', 'grantd:keys:read', '--json'];
      const grants = ['authorization_code', 'refresh_token', EXCHANGE_GRANT];
      const own = [...grants.flatMap((grant) => ['--grant', grant]), '--redirect-uri', CALLBACK];
      const added = await prints('client', 'add', 'desk', ...shared, ...own, '--scope', 'openid');
      secret = JSON.parse(added).client_secret;
      await first.stop();
    });

    for (const [index, [name, change]] of Object.entries(WAYS).entries())
      test(`${name}: each source of tokens asks again`, async () => {
        let server = await workbench.start(folder, ['--demo', ...change.before, '--port', port]);
        const people = [];
        for (const [begun, amr] of Object.entries(BEGUN)) {
          const { who, browser } = await newPerson(server, `${begun.replaceAll(/\W+/g, '-')}-${index}`);
          const groups = change.joins ? ['staff'] : ['staff', 'admins'];
          for (const group of groups) await prints('group', 'add-member', group, who.username);
          await browser.submit(await browser.get(`${server.url}/account`), who);
          const { sub } = JSON.parse(await prints('user', 'show', who.username, '--json'));
          await database.run(
            server.folder,
            `UPDATE ${database.schema}sessions SET amr = '${amr}' WHERE subject = '${sub}'`,
          );
          const asking = { client_id: 'desk', redirect_uri: CALLBACK, resource: audience };
          const scope = 'openid grantd:keys:read';
          const ask = async (form: Readonly<Record<string, string>>) =>
            (await postForm(`${server.url}/token`, form, basic('desk', secret))).json();
          const authorize = async () => {
            const pkce = newPkce();
            const url = authorizationUrl(server.url, pkce, { ...asking, scope });
            const page = await browser.get(url);
            const left = isConsent(page) ? await browser.submit(page, { decision: 'allow' }) : page;
            const code = new URL(left.url).searchParams.get('code') ?? assert.fail(left.html);
            return {
              grant_type: 'authorization_code',
              code,
              redirect_uri: CALLBACK,
              code_verifier: pkce.verifier,
            };
          };
          const issued = await ask(await authorize());
          const exchange = () =>
            ask({
              ...{ grant_type: EXCHANGE_GRANT, subject_token: issued.access_token },
              ...{ subject_token_type: 'urn:ietf:params:oauth:token-type:access_token' },
              ...{ resource: audience, scope: 'grantd:keys:read' },
            });
          const exchanged = await exchange();
          const earlier = await authorize();
          const atApi = async (token: string) => {
            const response = await fetch(`${server.url}/admin/keys`, {
              headers: { authorization: `Bearer ${token}` },
            });
            const challenge = response.headers.get('www-authenticate') ?? '';
            const [, error = '', classes = ''] =
              /error="([^"]*)".*?(?:acr_values="([^"]*)")?$/.exec(challenge) ?? [];
            return [response.status, error, classes].join(' ').trim();
          };
          const tokenOf = async ({ access_token, error }: { access_token?: string; error?: string }) =>
            access_token === undefined ? error : `token, ${await atApi(access_token)}`;
          const sources = {
            async 'a new code'() {
              const url = authorizationUrl(server.url, newPkce(), { ...asking, scope, prompt: 'none' });
              const { searchParams } = new URL((await browser.get(url)).url);
              return searchParams.has('code') ? 'code' : searchParams.has('error') ? 'refused' : 'page';
            },
            'an earlier code': async () => tokenOf(await ask(earlier)),
            refresh: async () =>
              tokenOf(await ask({ grant_type: 'refresh_token', refresh_token: issued.refresh_token })),
            exchange: async () => tokenOf(await exchange()),
            'an earlier token': () => atApi(issued.access_token),
            'an exchanged token': () => atApi(exchanged.access_token),
            async console() {
              const page = await browser.get(`${server.url}/console`);
              return page.status === 200 && page.url.endsWith('/console') && !isLogin(page)
                ? 'open'
                : 'closed';
            },
          };
          people.push({ begun: begun as keyof typeof BEGUN, username: who.username, sources });
        }

        if (change.after !== undefined) {
          await server.stop();
          server = await workbench.start(folder, ['--demo', ...change.after, '--port', port]);
        }
        for (const { begun, username, sources } of people) {
          if (change.joins) await prints('group', 'add-member', 'admins', username);
          const found: Record<string, unknown> = {};
          for (const [source, ask] of Object.entries(sources)) found[source] = await ask();
          assert.deepEqual(found, LEFT[change.left[begun]], begun);
        }
        await server.stop();
      });
  });
