// Clients of the Model Context Protocol: what they register and ask for, and the flow of their official SDK.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clientDocuments } from '@grantd/core';
import { mount } from '@grantd/core/fetch';
import { auth, type OAuthClientProvider } from '@modelcontextprotocol/sdk/client/auth.js';
import { decodeJwt } from 'jose';
import { accepted, asked } from './harness/authorization_endpoint.ts';
import { type Members, openRegistration, postRegistration } from './harness/registration.ts';
import { addClient } from './harness/token_endpoint.ts';
import { ISSUER, openWorld, type World, type WorldOptions } from './harness/world.ts';

const MCP = 'https://mcp.example';
/** As docs/mcp.md says. */
const OPEN = openRegistration({ scopes: ['mcp:use'], apis: [MCP] });
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code';
const CODE = ['authorization_code', 'refresh_token'];

async function addServer(world: World): Promise<void> {
  const members = { grantTypes: [], scopes: [], redirectUris: [], resource: MCP };
  await addClient(world, { ...members, id: 'mcp', metadata: { api_scopes: ['mcp:use', 'mcp:admin'] } });
}

test('an operator allows exact redirect URIs that no client could register otherwise', async (t) => {
  const uris = [
    'editor://vendor.editor-mcp/oauth/callback',
    'https://www.editor.example/agents/mcp/oauth/callback',
    'http://localhost:8787/callback',
  ];
  // As it was recorded: a native application that calls itself a web application.
  const sent = { redirect_uris: uris, application_type: 'web', token_endpoint_auth_method: 'none' };
  const refused = await postRegistration(await openWorld(t, OPEN), sent);
  assert.deepEqual([refused.status, JSON.parse(refused.body).error], [400, 'invalid_redirect_uri']);
  const redirectUris = [uris[0] ?? '', uris[2] ?? ''];
  const world = await openWorld(t, openRegistration({ scopes: ['mcp:use'], apis: [MCP], redirectUris }));
  await addServer(world);
  const { status, body } = await postRegistration(world, sent);
  assert.equal(status, 201, body);
  const { client_id: clientId, redirect_uris: registered } = JSON.parse(body);
  assert.deepEqual(registered, uris);
  for (const [uri, isAllowed] of [
    ...uris.map((one) => [one, true] as const),
    ['editor://vendor.editor-mcp/oauth/callback/', false],
    ['editor://other/oauth/callback', false],
    ['http://localhost:8788/callback', false],
  ] as const) {
    const other = await postRegistration(world, { ...sent, redirect_uris: [uri] });
    assert.equal(other.status, isAllowed ? 201 : 400, uri);
    const request = accepted(world, { client_id: clientId, redirect_uri: uri, scope: 'mcp:use' });
    const isAccepted = await request.then(
      () => true,
      () => false,
    );
    assert.equal(isAccepted, isAllowed, uri);
  }
});

test('RFC 7591 §3.2.1 of a client that offers everything, what the server offers is registered', async (t) => {
  const sent = {
    client_name: 'Everything',
    grant_types: ['authorization_code', 'implicit', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
    response_types: ['code', 'code id_token', 'token'],
    redirect_uris: ['http://127.0.0.1:7777/oauth/callback'],
    token_endpoint_auth_method: 'attest_jwt_client_auth',
  };
  const { status, body } = await postRegistration(await openWorld(t, OPEN), sent);
  assert.equal(status, 201, body);
  const { grant_types, response_types, redirect_uris, token_endpoint_auth_method: method } = JSON.parse(body);
  assert.deepEqual(
    [grant_types, response_types, method],
    [['authorization_code'], ['code'], 'client_secret_basic'],
  );
  assert.deepEqual(redirect_uris, sent.redirect_uris);
});

/** Documents of well-known clients, and a redirect URI with which they come. */
const DOCUMENTS: Readonly<
  Record<string, { readonly document: Members & { readonly client_id: string }; readonly redirect: string }>
> = {
  'a command line with loopback addresses without a port and no type': {
    document: {
      client_id: 'https://assistant.example/oauth/command-line-client-metadata',
      client_name: 'Command line',
      client_uri: 'https://assistant.example/',
      redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
      grant_types: CODE,
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    redirect: 'http://localhost:54545/callback',
  },
  'an editor that lists the grant of device codes': {
    document: {
      client_id: 'https://editor.example/oauth/client-metadata.json',
      client_name: 'Editor',
      client_uri: 'https://editor.example/product',
      grant_types: [...CODE, DEVICE],
      response_types: ['code'],
      redirect_uris: ['https://editor.example/redirect', 'http://127.0.0.1/', 'http://127.0.0.1:33418/'],
      token_endpoint_auth_method: 'none',
    },
    redirect: 'http://127.0.0.1:41234/',
  },
  'a web assistant that names more than it needs': {
    document: {
      client_id: 'https://assistant.example/oauth/mcp-client-metadata',
      client_name: 'Assistant',
      logo_uri: 'https://assistant.example/logo.png',
      redirect_uris: ['https://assistant.example/api/mcp/auth_callback'],
      grant_types: [...CODE, 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'web',
      software_id: '7e02b1cc-53c0-4f9c-8a3b-0d2a9c8c7a11',
      contacts: ['mcp@assistant.example'],
      scope: 'mcp:use offline_access unknown',
    },
    redirect: 'https://assistant.example/api/mcp/auth_callback',
  },
};

const byDocument = (document: object): WorldOptions => ({
  fetchDocument: async () => ({
    status: 200,
    contentType: 'application/json; charset=utf-8',
    body: JSON.stringify(document),
  }),
  clientDocuments: clientDocuments({ scopes: ['mcp:use'], apis: [MCP] }),
});

describe('clients of the SDK connect with the URL of their document alone', () => {
  for (const [name, { document, redirect }] of Object.entries(DOCUMENTS))
    test(name, async (t) => {
      const world = await openWorld(t, byDocument(document));
      await addServer(world);
      const client = new SdkClient(world, MCP, { url: document.client_id, redirect });
      const first = await client.connect();
      assert.deepEqual(client.memory.client, { client_id: document.client_id, issuer: ISSUER });
      const { aud, scope, client_id } = decodeJwt(first.access_token);
      assert.deepEqual([aud, client_id], [MCP, document.client_id]);
      assert.ok(String(scope).split(' ').includes('mcp:use'));
      const second = await client.connect();
      assert.notEqual(second.refresh_token, first.refresh_token);
      await world.server.revokeToken(second.refresh_token ?? '');
      assert.deepEqual(await world.alive(second.access_token), [false]);
    });
});

/** A client of the SDK, with its browser and its memory. */
class SdkClient {
  readonly #world: World;
  readonly #resource: string;
  readonly #document: { readonly url: string; readonly redirect: string } | undefined;
  #code: string | undefined;
  readonly memory: { client?: unknown; tokens?: Tokens; verifier?: string } = {};

  /**
   * @param resource as the MCP server's own metadata name it
   * @param document without one, the client registers
   */
  constructor(
    world: World,
    resource: string,
    document?: { readonly url: string; readonly redirect: string },
  ) {
    this.#world = world;
    this.#resource = resource;
    this.#document = document;
  }

  get provider(): OAuthClientProvider {
    const { memory } = this;
    const redirectUrl = this.#document?.redirect ?? 'http://localhost:8090/callback';
    const provider = {
      ...(this.#document && { clientMetadataUrl: this.#document.url }),
      redirectUrl,
      clientMetadata: {
        client_name: 'SDK',
        redirect_uris: [redirectUrl],
        grant_types: [...CODE, DEVICE],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      },
      clientInformation: () => memory.client,
      saveClientInformation: (client: unknown) => {
        memory.client = client;
      },
      tokens: () => memory.tokens,
      saveTokens: (tokens: Tokens) => {
        memory.tokens = tokens;
      },
      saveCodeVerifier: (verifier: string) => {
        memory.verifier = verifier;
      },
      codeVerifier: () => memory.verifier,
      redirectToAuthorization: (url: URL) => this.#visit(url),
    };
    return provider as unknown as OAuthClientProvider;
  }

  /** Registers, signs in and gets tokens, or refreshes those that it has. */
  async connect(): Promise<Tokens> {
    const options = {
      serverUrl: `${MCP}/`,
      fetchFn: (url: string | URL, init?: RequestInit) => this.#fetch(url, init),
    };
    if ((await auth(this.provider, options)) === 'REDIRECT') {
      assert.ok(this.#code !== undefined);
      await auth(this.provider, { ...options, authorizationCode: this.#code });
    }
    assert.ok(this.memory.tokens);
    return this.memory.tokens;
  }

  async #visit(url: URL): Promise<void> {
    const { authorization } = this.#world.server;
    const request = await authorization.validate({ method: 'GET', url: url.href, headers: {} });
    assert.deepEqual(asked(request).resources, [MCP]);
    const { headers, leaving } = await authorization.complete(request, { subject: 'alice' });
    const target = leaving?.redirectTo ?? String(headers.location);
    this.#code = new URL(target).searchParams.get('code') ?? undefined;
  }

  async #fetch(url: string | URL, init?: RequestInit): Promise<Response> {
    const { origin, pathname } = new URL(url);
    if (origin === ISSUER) return mount(this.#world.server)(new Request(url, init));
    if (origin !== MCP || !pathname.startsWith('/.well-known/oauth-protected-resource'))
      return new Response(null, { status: 404 });
    return Response.json({
      resource: this.#resource,
      authorization_servers: [ISSUER],
      scopes_supported: ['mcp:use', 'mcp:admin'],
    });
  }
}

interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly scope?: string;
}

for (const resource of [MCP, `${MCP}/`, `${MCP}:443`])
  test(`the official SDK registers, authorizes, and refreshes, for the resource ${resource}`, async (t) => {
    const world = await openWorld(t, OPEN);
    await addServer(world);
    const client = new SdkClient(world, resource);
    const first = await client.connect();
    const { aud, scope } = decodeJwt(first.access_token);
    assert.equal(aud, MCP, 'the registered text');
    assert.ok(String(scope).split(' ').includes('mcp:use'));
    assert.ok(!String(scope).includes('mcp:admin'));
    assert.equal(first.scope, scope, 'the response names what was granted');
    assert.ok(first.refresh_token);

    const second = await client.connect();
    assert.notEqual(second.access_token, first.access_token);
    assert.notEqual(second.refresh_token, first.refresh_token);
    assert.equal(decodeJwt(second.access_token).aud, MCP);
    assert.deepEqual(await world.alive(second.access_token), [true]);
  });
