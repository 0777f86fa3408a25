// An MCP server that is protected as docs/mcp.md says, and a client of the official SDK that knows only its URL.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mount } from '@grantd/core/fetch';
import { AccessTokenVerifier } from '@grantd/protect';
import { metadata, protect } from '@grantd/protect/fetch';
import {
  auth,
  extractWWWAuthenticateParams,
  type OAuthClientProvider,
} from '@modelcontextprotocol/sdk/client/auth.js';
import { openRegistration } from '../../core/test/harness/registration.ts';
import { addClient } from '../../core/test/harness/token_endpoint.ts';
import { ISSUER, openWorld } from '../../core/test/harness/world.ts';

const CALLBACK = 'http://localhost:8090/callback';

interface Memory {
  client?: unknown;
  tokens?: { readonly access_token: string; readonly scope?: string } | undefined;
  verifier?: string;
  code?: string;
}

function scopeOf({ tokens }: Memory): string | undefined {
  return tokens?.scope;
}

for (const resource of ['https://mcp.example', 'https://mcp.example/mcp'])
  test(`RFC 9728 §5 the official SDK finds everything from the URL of the MCP server: ${resource}`, async (t) => {
    const scopes = ['mcp:use', 'mcp:write'];
    const world = await openWorld(t, openRegistration({ scopes, apis: [resource] }));
    const api = { grantTypes: [], scopes: [], redirectUris: [], resource };
    await addClient(world, { ...api, id: 'mcp', metadata: { api_scopes: scopes } });

    const asServer = (url: string | URL | Request, init?: RequestInit) =>
      mount(world.server)(new Request(url, init));
    const tokens = new AccessTokenVerifier({
      ...{ issuer: ISSUER, audience: resource, clock: world.clock.read },
      fetch: async (url, init) => asServer(url, init as RequestInit),
    });
    const options = { tokens, clock: world.clock.read, resourceMetadata: true };
    const served = metadata({ ...options, scopes: ['mcp:use'] });
    const reading = protect({ ...options, scopes: ['mcp:use'] })(() => new Response('read'));
    const writing = protect({ ...options, scopes })(() => new Response('written'));
    const asked: string[] = [];
    const fetchFn = async (url: string | URL, init?: RequestInit): Promise<Response> => {
      const request = new Request(url, init);
      const { origin, pathname } = new URL(request.url);
      if (origin === ISSUER) return asServer(request);
      asked.push(pathname);
      if (pathname.startsWith('/.well-known/')) return served(request);
      return request.method === 'POST' ? writing(request) : reading(request);
    };

    const memory: Memory = {};
    const provider = {
      redirectUrl: CALLBACK,
      clientMetadata: { redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none' },
      clientInformation: () => memory.client,
      saveClientInformation: (client: unknown) => {
        memory.client = client;
      },
      tokens: () => memory.tokens,
      saveTokens: (saved: NonNullable<Memory['tokens']>) => {
        memory.tokens = saved;
      },
      saveCodeVerifier: (verifier: string) => {
        memory.verifier = verifier;
      },
      codeVerifier: () => memory.verifier,
      async redirectToAuthorization(url: URL) {
        const { authorization } = world.server;
        const request = await authorization.validate({ method: 'GET', url: url.href, headers: {} });
        const { headers, leaving } = await authorization.complete(request, { subject: 'alice' });
        const target = leaving?.redirectTo ?? String(headers.location);
        memory.code = new URL(target).searchParams.get('code') ?? '';
      },
    } as unknown as OAuthClientProvider;
    const call = (method: string) => {
      const authorization = memory.tokens && `Bearer ${memory.tokens.access_token}`;
      return fetchFn(resource, { method, headers: { ...(authorization && { authorization }) } });
    };
    /** Gets a token as a challenge says. */
    const answer = async (challenged: Response): Promise<string | undefined> => {
      const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(challenged);
      assert.ok(resourceMetadataUrl);
      const known = { serverUrl: resource, resourceMetadataUrl, ...(scope && { scope }), fetchFn };
      memory.tokens = undefined;
      if ((await auth(provider, known)) === 'REDIRECT')
        await auth(provider, { ...known, authorizationCode: memory.code ?? '' });
      return scopeOf(memory);
    };

    const challenged = await call('GET');
    assert.equal(challenged.status, 401);
    assert.equal(await answer(challenged), 'mcp:use');
    assert.equal(
      asked[1],
      `/.well-known/oauth-protected-resource${new URL(resource).pathname}`.replace(/\/$/, ''),
    );
    assert.equal(await (await call('GET')).text(), 'read');

    const refused = await call('POST');
    assert.equal(refused.status, 403);
    // The SDK has registered for the scopes of the first challenge alone.
    assert.equal(await answer(refused), 'mcp:use');
    delete memory.client;
    assert.equal(await answer(refused), 'mcp:use mcp:write');
    assert.equal(await (await call('POST')).text(), 'written');
  });
