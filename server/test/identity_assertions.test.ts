// Two servers: the application of one gets access at the other for its user, as docs/token_exchange.md says.
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { EXCHANGE_GRANT, JWT_BEARER_GRANT } from '@grantd/core';
import * as oauth from 'oauth4webapi';
import { freePort } from '../../core/test/harness/free_port.ts';
import { signInAndConsent } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { DATABASES } from './harness/databases.ts';
import { newPerson } from './harness/new_person.ts';
import {
  environmentOf,
  PROGRAM_VARIABLE,
  type RunningServer,
  SOURCES,
  Workbench,
} from './harness/program.ts';
import { authorizationUrl, basic, newPkce, payloadOf, postForm, type Tokens } from './harness/protocol.ts';

const WHOLE = readFileSync(join(import.meta.dirname, '../../docs/token_exchange.md'), 'utf8');
const [PAGE = ''] = /^## Send a user's identity.*?(?=^## )/ms.exec(WHOLE) ?? [];
const REDIRECT_URI = 'https://wiki.example/callback';
const missing = ['bash', 'curl', 'jq'].find((name) => spawnSync(name, ['--version']).status !== 0);

/** The blocks of the section in a language. */
function blocks(language: string): readonly string[] {
  return [...PAGE.matchAll(new RegExp(`^( *)\`\`\`${language}\n(.*?)^ *\`\`\`$`, 'gms'))].map(
    ([, indent = '', code = '']) => code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

for (const database of DATABASES)
  describe(`an identity at another server, with ${database.name}`, {
    skip: database.absence || (missing !== undefined && `${missing} is not installed`),
  }, () => {
    const workbench = new Workbench(database);
    let here: RunningServer;
    let there: RunningServer;
    const secrets = { WIKI_SECRET: '', CHAT_SECRET: '' };
    const environments = new Map<string, Readonly<Record<string, string>>>();
    const command = (folder: string, ...words: string[]) =>
      grantdPrints(folder, words, '', environments.get(folder));
    const asHere = (text: string) =>
      text.replaceAll('https://login.example.com', here.url).replaceAll('https://chat.example', there.url);

    async function added(folder: string, ...words: string[]): Promise<string> {
      return JSON.parse(await command(folder, 'client', 'add', ...words, '--json')).client_secret;
    }

    before(async () => {
      const [first, second] = [await workbench.home(), await workbench.home()];
      const start = async (folder: string, ...args: string[]) => {
        const port = String(await freePort());
        environments.set(folder, { GRANTD_PORT: port });
        return workbench.start(folder, ['--insecure-development', '--workers', '2', '--port', port, ...args]);
      };
      here = await start(first);
      const [issuers = '', policy = ''] = blocks('json');
      writeFileSync(join(second, 'issuers.json'), issuers.replace('https://login.example.com', here.url));
      there = await start(second, '--trusted-issuers', 'issuers.json');
      environments.set(second, { ...environments.get(second), GRANTD_TRUSTED_ISSUERS: 'issuers.json' });
      writeFileSync(join(first, 'other_servers.json'), asHere(policy));
      const [, words = ''] = /^\$ npx grantd client add (.*)$/m.exec(blocks('console').join()) ?? [];
      secrets.WIKI_SECRET = await added(first, ...words.split(' '));
      await added(second, 'chat-api', '--resource', 'https://api.chat.example', '--api-scope', 'chat:read');
      const grant = [
        '--grant',
        JWT_BEARER_GRANT,
        '--api',
        'https://api.chat.example',
        '--scope',
        'chat:read',
      ];
      secrets.CHAT_SECRET = await added(second, 'wiki-at-chat', ...grant);
    });
    after(() => workbench.clear());

    /** Signs a user in here, who has an account there. */
    async function signedIn(name: string) {
      const { who, browser } = await newPerson(here, name);
      const pkce = newPkce();
      const request = { client_id: 'wiki', redirect_uri: REDIRECT_URI, scope: 'openid' };
      const callback = await signInAndConsent(browser, authorizationUrl(here.url, pkce, request), who);
      const code = callback.searchParams.get('code') ?? '';
      const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI };
      const wiki = basic('wiki', secrets.WIKI_SECRET);
      const response = await postForm(`${here.url}/token`, { ...form, code_verifier: pkce.verifier }, wiki);
      const tokens = (await response.json()) as Tokens;
      const sub = String(payloadOf(tokens.id_token).sub);
      const links = [{ provider: 'company', issuer: here.url, sub }];
      writeFileSync(join(there.folder, `${name}.jsonl`), JSON.stringify({ username: name, links }));
      await command(there.folder, 'user', 'import', `${name}.jsonl`);
      return { ...tokens, sub, browser };
    }

    async function run(script: string, variables: object = {}): Promise<string> {
      const [node, sources] = SOURCES;
      const main = process.env[PROGRAM_VARIABLE] ?? sources;
      const code = asHere(script).replaceAll('npx grantd', `"${node}" "${main}"`);
      const PATH = `${dirname(node)}:${process.env.PATH}`;
      const env = {
        PATH,
        ...environmentOf(here.folder),
        ...environments.get(here.folder),
        ...secrets,
        ...variables,
      };
      const options = { cwd: here.folder, env };
      return (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', code], options)).stdout;
    }

    async function introspected(token: string): Promise<Record<string, unknown>> {
      const chat = basic('wiki-at-chat', secrets.CHAT_SECRET);
      return (await postForm(`${there.url}/token/introspect`, { token }, chat)).json();
    }

    test('the steps of docs/token_exchange.md give access at the other server', async () => {
      const { id_token: ID_TOKEN, sub } = await signedIn('alice');
      const [exchange = '', redeem = '', list = ''] = blocks('sh');
      const answer = JSON.parse(await run(`${exchange}${redeem}`, { ID_TOKEN }));
      assert.deepEqual([answer.scope, answer.refresh_token], ['chat:read', undefined]);
      const { aud, sub: there, active } = await introspected(answer.access_token);
      assert.deepEqual([aud, active], ['https://api.chat.example', true]);
      assert.notEqual(there, sub);
      assert.match(
        await run(list),
        new RegExp(`identity_assertion_issued +\\S+ +client:wiki +wiki +${sub} `),
      );
    });

    test('a user of one server is known at another, and not after the session has ended', async () => {
      const { id_token: token = '', refresh_token: refreshToken = '', browser, sub } = await signedIn('bob');
      const insecure = { [oauth.allowInsecureRequests]: true } as const;
      const ask = async (subject: string, type = 'id_token') => {
        const as = await metadataOf(here.url);
        assert.deepEqual(as.identity_chaining_requested_token_types_supported, [
          'urn:ietf:params:oauth:token-type:id-jag',
        ]);
        const client = { client_id: 'wiki' };
        const response = await oauth.genericTokenEndpointRequest(
          as,
          client,
          oauth.ClientSecretBasic(secrets.WIKI_SECRET),
          EXCHANGE_GRANT,
          {
            requested_token_type: 'urn:ietf:params:oauth:token-type:id-jag',
            subject_token_type: `urn:ietf:params:oauth:token-type:${type}`,
            ...{ subject_token: subject, audience: there.url, scope: 'chat:read' },
          },
          insecure,
        );
        return oauth.processGenericTokenEndpointResponse(as, client, response, {
          recognizedTokenTypes: { n_a: () => {} },
        });
      };
      const { access_token: assertion, token_type, expires_in } = await ask(token);
      assert.deepEqual([token_type, expires_in], ['n_a', 300]);
      assert.equal((await ask(refreshToken, 'refresh_token')).token_type, 'n_a');

      const redeem = async () => {
        const as = await metadataOf(there.url);
        const client = { client_id: 'wiki-at-chat' };
        const response = await oauth.genericTokenEndpointRequest(
          as,
          client,
          oauth.ClientSecretBasic(secrets.CHAT_SECRET),
          JWT_BEARER_GRANT,
          { assertion },
          insecure,
        );
        return oauth.processGenericTokenEndpointResponse(as, client, response);
      };
      const { access_token: access } = await redeem();
      assert.equal((await introspected(access)).active, true);
      // What is an assertion there is nothing here.
      const asToken = await postForm(
        `${here.url}/token/introspect`,
        { token: assertion },
        basic('wiki', secrets.WIKI_SECRET),
      );
      assert.deepEqual(await asToken.json(), { active: false });
      assert.match(
        await command(here.folder, 'token', 'explain', assertion),
        /^what +identity assertion for/,
      );

      await browser.submit(await browser.get(`${here.url}/logout`), { decision: 'yes' });
      for (const [subject, type] of [
        [token, 'id_token'],
        [refreshToken, 'refresh_token'],
      ] as const)
        await assert.rejects(ask(subject, type), { error: 'invalid_request' });
      // The other server has not heard of it: what was issued before ends by its time, or by an operator there.
      assert.equal((await introspected((await redeem()).access_token)).active, true);
      const end = ['--trusted-issuer', here.url, '--trusted-sub', sub];
      assert.match(await command(there.folder, 'token', 'revoke', ...end), /^revoked all tokens/);
      assert.equal((await introspected(access)).active, false);
      await assert.rejects(redeem(), { error: 'invalid_grant' });

      const listed = await command(here.folder, 'audit', 'list', '--subject', 'bob', '--json');
      const events: readonly Record<string, unknown>[] = JSON.parse(listed);
      const issued = events.filter(({ type }) => type === 'identity_assertion_issued');
      assert.deepEqual(
        issued.map(({ reason }) => reason),
        [`${there.url} chat:read`, `${there.url} chat:read`],
      );
      assert.equal(
        issued.some(({ target }) => target === payloadOf(assertion).jti),
        true,
      );
      const log = JSON.stringify([here.log(), there.log()]);
      for (const secret of [token, assertion, access]) assert.equal(log.includes(secret), false);
    });

    test('a client is shown with what it may obtain, and changed by a file of desired state', async () => {
      const shown = JSON.parse(await command(here.folder, 'client', 'show', 'wiki', '--json'));
      assert.deepEqual(shown.identity_assertions, JSON.parse(asHere(blocks('json')[1] ?? '')));
      assert.match(await command(here.folder, 'client', 'show', 'wiki'), /identity assertions +\{"/);
      const policy = { 'https://mail.example': { client_id: 'w', signs_in_as: 'mail' } };
      writeFileSync(join(here.folder, 'secret.txt'), 'a secret of the other client', { mode: 0o600 });
      const state = {
        clients: {
          other: {
            identity_assertions: policy,
            grant_types: [EXCHANGE_GRANT],
            secret: { file: 'secret.txt' },
          },
        },
      };
      writeFileSync(join(here.folder, 'state.json'), JSON.stringify(state));
      await command(here.folder, 'apply', '-f', 'state.json', '--yes');
      const other = JSON.parse(await command(here.folder, 'client', 'show', 'other', '--json'));
      assert.deepEqual(other.identity_assertions, policy);
      const own = {
        clients: {
          other: { ...state.clients.other, identity_assertions: { [here.url]: { client_id: 'w' } } },
        },
      };
      writeFileSync(join(here.folder, 'state.json'), JSON.stringify(own));
      await assert.rejects(
        command(here.folder, 'apply', '-f', 'state.json', '--yes'),
        /other servers than this one/,
      );
    });
  });

async function metadataOf(issuer: string): Promise<oauth.AuthorizationServer> {
  return (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
}
