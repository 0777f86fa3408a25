// Well-known clients of the Model Context Protocol, with no settings but those of docs/mcp.md.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { AccessTokenIntrospector } from '@grantd/protect';
import { protect } from '@grantd/protect/fetch';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { Browser, signInAndConsent } from './harness/browser.ts';
import { grantdPrints } from './harness/commands.ts';
import { KEYS_URL, MCP_CLIENTS, type McpClient } from './harness/mcp_clients.ts';
import { CHEAP_OPTIONS, type RunningServer, Workbench } from './harness/program.ts';
import { basic, newPkce, postForm } from './harness/protocol.ts';

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'mcp.md'), 'utf8');
/** The MCP server of the page, and one without a path. */
const APIS = { 'my-mcp': 'https://mcp.example/mcp', 'my-notes': 'https://notes.example' } as const;

/** The words of the commands on the page that begin with these. */
function commandsOfPage(start: string): readonly (readonly string[])[] {
  return [...PAGE.matchAll(/^ *npx grantd (.*)$/gm)]
    .map(([, words = '']) => words.split(' '))
    .filter((words) => words.join(' ').startsWith(start));
}

test('docs/mcp.md names the clients', () => {
  for (const name of Object.keys(MCP_CLIENTS)) {
    const [product = ''] = name.split(/,| as | on | in a /);
    assert.ok(PAGE.includes(product), product);
  }
});

const workbench = new Workbench();
after(() => workbench.clear());

for (const mode of [[], ['--insecure-development']])
  describe(`docs/mcp.md: known clients get tokens, refresh them, and are refused after a revocation ${mode}`, () => {
    const documents = new Map<string, object>();
    for (const { document } of Object.values(MCP_CLIENTS))
      if (document !== undefined) documents.set(document.client_id, document);
    const site = createServer(({ headers, url }, response) => {
      const document = documents.get(`https://${headers.host}${url}`);
      response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(document ?? null));
    });
    const secrets: Record<string, string> = {};
    let server: RunningServer;
    let metadata: Readonly<Record<string, string & readonly string[]>>;
    let privateKey: CryptoKey;

    before(async () => {
      const pair = await generateKeyPair('RS256');
      privateKey = pair.privateKey;
      documents.set(KEYS_URL, { keys: [{ ...(await exportJWK(pair.publicKey)), kid: 'one', alg: 'RS256' }] });
      await once(site.listen(0, '127.0.0.1'), 'listening');
      const hosts = new Set([...documents.keys()].map((url) => new URL(url).hostname));
      const preload = pathToFileURL(join(import.meta.dirname, 'harness', 'public_sites.mjs'));
      const environment = {
        NODE_OPTIONS: `${CHEAP_OPTIONS} --import ${preload}`,
        PUBLIC_SITES: [(site.address() as AddressInfo).port, ...hosts].join(','),
      };
      const [[, ...steps] = [], [, ...cursor] = []] = commandsOfPage('serve ');
      assert.equal(steps[0], '--client-documents', 'the first command of the page that starts grantd');
      const options = [...steps, ...cursor.slice(cursor.indexOf('--registration-redirect-uris'))];
      const apis = options.map((word) => (word === APIS['my-mcp'] ? Object.values(APIS).join(',') : word));
      const folder = workbench.folder();
      server = await workbench.start(folder, ['--demo', ...apis, ...mode], environment);
      const [[...add] = []] = commandsOfPage('client add my-mcp --resource https:');
      for (const [id, resource] of Object.entries(APIS)) {
        const words = add.map((word) => word.replace('my-mcp', id).replace(APIS['my-mcp'], resource));
        secrets[id] = (await grantdPrints(folder, words)).split('\n').at(-1) ?? '';
      }
      const found = await fetch(`${server.url}/.well-known/oauth-authorization-server`);
      metadata = (await found.json()) as typeof metadata;
    });
    after(() => site.close());

    test('the metadata have what clients require before they begin', () => {
      assert.equal(Reflect.get(metadata, 'client_id_metadata_document_supported'), true);
      assert.equal(Reflect.get(metadata, 'authorization_response_iss_parameter_supported'), true);
      assert.ok(metadata.code_challenge_methods_supported?.includes('S256'));
      for (const method of ['none', 'private_key_jwt', 'client_secret_post'])
        assert.ok(metadata.token_endpoint_auth_methods_supported?.includes(method), method);
      assert.ok(metadata.scopes_supported?.includes('offline_access'));
    });

    /** @returns the identifier of a client, and how it authenticates */
    async function identified({ document, registration, registered = {} }: McpClient) {
      if (document !== undefined) {
        const id = document.client_id;
        const hasKey = document.token_endpoint_auth_method === 'private_key_jwt';
        return { id, proof: async () => (hasKey ? { client_assertion: await assertion(id), ...JWT } : {}) };
      }
      const response = await fetch(metadata.registration_endpoint ?? '', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'mcp-protocol-version': '2026-07-28' },
        body: JSON.stringify(registration),
      });
      const answer = (await response.json()) as Record<string, string>;
      assert.equal(response.status, 201, JSON.stringify(answer));
      assert.deepEqual(answer.redirect_uris, registration?.redirect_uris);
      for (const [name, value] of Object.entries(registered)) assert.deepEqual(answer[name], value, name);
      const { client_id: id = '', client_secret } = answer;
      return { id, proof: async () => (client_secret === undefined ? {} : { client_secret }) };
    }

    const JWT = { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' };

    function assertion(id: string): Promise<string> {
      return new SignJWT({ jti: crypto.randomUUID() })
        .setProtectedHeader({ alg: 'RS256', kid: 'one' })
        .setIssuer(id)
        .setSubject(id)
        .setAudience(server.url)
        .setIssuedAt()
        .setExpirationTime('1 minute')
        .sign(privateKey);
    }

    /** What the MCP server of an API answers. */
    async function called(api: keyof typeof APIS, token: string): Promise<number> {
      const tokens = new AccessTokenIntrospector({
        ...{ issuer: server.url, audience: APIS[api] },
        credentials: { clientId: api, clientSecret: secrets[api] ?? '' },
      });
      const guarded = protect({ tokens, scopes: ['mcp:use'] })(() => new Response());
      const headers = { authorization: `Bearer ${token}` };
      return (await guarded(new Request(APIS[api], { method: 'POST', headers }))).status;
    }

    async function introspected(api: string, token: string): Promise<Record<string, unknown>> {
      const response = await postForm(
        `${server.url}/token/introspect`,
        { token },
        basic(api, secrets[api] ?? ''),
      );
      return (await response.json()) as Record<string, unknown>;
    }

    for (const [name, client] of Object.entries(MCP_CLIENTS))
      for (const api of ['my-mcp', 'my-notes'] as const)
        test(`${name}: ${APIS[api]}`, async () => {
          const { redirectUri, scope, parameters, addsSlash = false } = client;
          const { id: client_id, proof } = await identified(client);
          const resource = addsSlash ? new URL(APIS[api]).href : APIS[api];
          const send = async (url: string | undefined, fields: Readonly<Record<string, string>>) =>
            postForm(url ?? '', { client_id, ...fields, ...(await proof()) });

          const pkce = newPkce();
          const query = new URLSearchParams({
            ...{ response_type: 'code', client_id, redirect_uri: redirectUri, state: 'a/b+c=', resource },
            ...{ code_challenge: pkce.challenge, code_challenge_method: 'S256' },
            ...(scope !== undefined && { scope }),
            ...parameters,
          });
          const url = `${metadata.authorization_endpoint}?${query}`;
          const returned = await signInAndConsent(new Browser(server.url), url);
          assert.equal(returned.href.split('?')[0], redirectUri);
          assert.equal(returned.searchParams.get('state'), 'a/b+c=');
          assert.equal(returned.searchParams.get('iss'), server.url);

          const redeemed = await send(metadata.token_endpoint, {
            ...{ grant_type: 'authorization_code', code: returned.searchParams.get('code') ?? '' },
            ...{ code_verifier: pkce.verifier, redirect_uri: redirectUri, resource },
          });
          const first = (await redeemed.json()) as Record<string, string>;
          assert.equal(redeemed.status, 200, JSON.stringify(first));
          assert.ok(first.refresh_token, 'a refresh token');
          assert.match(first.scope ?? '', /(?:^| )mcp:use(?: |$)/);
          assert.equal(await called(api, first.access_token ?? ''), 200);

          const refresh = ({ refresh_token = '' }) =>
            send(metadata.token_endpoint, {
              ...{ grant_type: 'refresh_token', refresh_token },
              ...(client.refreshesWithoutResource !== true && { resource }),
            });
          const refreshed = await refresh(first);
          const second = (await refreshed.json()) as Record<string, string>;
          assert.equal(refreshed.status, 200, JSON.stringify(second));
          assert.notEqual(second.access_token, first.access_token);
          assert.equal(await called(api, second.access_token ?? ''), 200);
          const { active, aud, client_id: known } = await introspected(api, second.access_token ?? '');
          assert.deepEqual([active, aud, known], [true, APIS[api], client_id]);

          const latest = { ...first, ...second };
          const { status } = await send(metadata.revocation_endpoint, { token: latest.refresh_token ?? '' });
          assert.equal(status, 200);
          assert.deepEqual(await introspected(api, latest.access_token ?? ''), { active: false });
          const late = await refresh(latest);
          assert.deepEqual([late.status, (await late.json()).error], [400, 'invalid_grant']);
          assert.equal(await called(api, latest.access_token ?? ''), 401);
        });
  });
