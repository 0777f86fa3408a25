// § refers to draft-ietf-oauth-client-id-metadata-document-03.
// Long: the rules of one specification, in its order.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import {
  AuthorizationServer,
  clientDocuments,
  DocumentError,
  type FetchDocument,
  type FetchedDocument,
} from '@grantd/core';
import { authorizationDetails } from '@grantd/core/authorization_details';
import { memoryStorage } from '@grantd/core/memory';
import { documentFetcher } from '@grantd/core/node';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { accepted, asked, codeIn, exactly, refused, shown, USUAL } from './harness/authorization_endpoint.ts';
import { ON_EVERY_STORE } from './harness/places.ts';
import { CLIENT_CHALLENGE, CLIENT_REFUSED, errorOf, OPEN_JSON_HEADERS } from './harness/responses.ts';
import { secondServer } from './harness/second_server.ts';
import {
  type GrantedTokens,
  ISSUER,
  openWorld,
  SECRET,
  specification,
  VERIFIER,
  type World,
  type WorldOptions,
} from './harness/world.ts';

const URL_OF_EDITOR = 'https://editor.example/oauth/client.json';
const LOOPBACK = 'http://127.0.0.1:50123/callback';

/** As editors and command lines publish it: no type, loopback addresses without a port, grants that do not exist here. */
const EDITOR = {
  client_id: URL_OF_EDITOR,
  client_name: 'Editor',
  client_uri: 'https://editor.example',
  redirect_uris: [
    'http://localhost/callback',
    'http://127.0.0.1/callback',
    'https://editor.example/callback',
  ],
  grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
};

type Response = Partial<Omit<FetchedDocument, 'body'>> & { readonly body?: unknown };

/** The sites of clients. */
class Sites {
  readonly #responses = new Map<string, Response | Error>();
  readonly fetched: string[] = [];
  readonly conditions: (string | undefined)[] = [];
  readonly timeouts: (number | undefined)[] = [];

  serve(url: string, response: Response | Error): void {
    this.#responses.set(url, response);
  }

  readonly fetch: FetchDocument = async (url, { headers, timeoutMs } = {}) => {
    this.fetched.push(url);
    this.timeouts.push(timeoutMs);
    this.conditions.push(headers?.['if-none-match']);
    const response = this.#responses.get(url);
    if (response === undefined) throw new DocumentError('failed', 'there was no answer in time');
    if (response instanceof Error) throw response;
    const { status = 200, contentType = 'application/json', body, caching } = response;
    return { status, contentType, body: typeof body === 'string' ? body : JSON.stringify(body), caching };
  };
}

let sites = new Sites();

function options(more: Parameters<typeof clientDocuments>[0] = {}): WorldOptions {
  return {
    fetchDocument: (...request) => sites.fetch(...request),
    clientDocuments: clientDocuments({ scopes: ['read'], ...more }),
  };
}

const OPEN = options();
const ANY_OBJECT = { schema: { type: 'object', additionalProperties: true } };
const DETAILS = authorizationDetails({ types: { payment: ANY_OBJECT, account: ANY_OBJECT } });
const OF_EDITOR = { client_id: URL_OF_EDITOR, redirect_uri: LOOPBACK, scope: 'openid offline_access read' };
const HOUR = 60 * 60;
const DAY = 24 * HOUR;

async function approved(world: World, parameters: object = {}, subject = 'alice'): Promise<string> {
  const request = await accepted(world, { ...OF_EDITOR, ...parameters });
  return codeIn(await world.server.authorization.complete(request, { subject }));
}

function redeem(world: World, code: string, parameters: Readonly<Record<string, string>> = {}) {
  const form = { grant_type: 'authorization_code', code, code_verifier: VERIFIER, redirect_uri: LOOPBACK };
  return world.post('/token', { client_id: URL_OF_EDITOR, ...form, ...parameters });
}

function refresh(world: World, { refresh_token = '' }: Partial<GrantedTokens>) {
  return world.post('/token', { client_id: URL_OF_EDITOR, grant_type: 'refresh_token', refresh_token });
}

async function granted(world: World): Promise<GrantedTokens> {
  const { status, body } = await redeem(world, await approved(world));
  assert.equal(status, 200, body);
  return JSON.parse(body);
}

/** A new site for each test. */
function withSites(run: (world: World) => Promise<void>) {
  return async (world: World) => {
    sites = new Sites();
    sites.serve(URL_OF_EDITOR, { body: EDITOR });
    await run(world);
  };
}

const DOCUMENT_REFUSED = errorOf(401, 'invalid_client', 'the metadata document of the client is not valid', {
  ...OPEN_JSON_HEADERS,
  'www-authenticate': CLIENT_CHALLENGE,
});
const NOT_VALID = shown('invalid_request', 'the metadata document of the client is not valid');
const UNREACHABLE = shown('invalid_request', 'the metadata document of the client cannot be fetched');
const UNKNOWN = shown('invalid_request', 'the client is unknown');

specification('Clients whose identifier is the URL of a document', ON_EVERY_STORE, (spec) => {
  spec(
    'a client gets tokens by its document alone, refreshes them, and is refused after a revocation',
    withSites(async (world) => {
      const tokens = await granted(world);
      const { body } = await world.introspect(tokens.access_token);
      assert.deepEqual(
        [JSON.parse(body).client_id, JSON.parse(body).scope],
        [URL_OF_EDITOR, 'openid offline_access read'],
      );
      const next = await refresh(world, tokens);
      assert.equal(next.status, 200, next.body);
      const again = JSON.parse(next.body);
      const revoked = await world.post('/token/revoke', {
        client_id: URL_OF_EDITOR,
        token: again.refresh_token,
      });
      assert.equal(revoked.status, 200, revoked.body);
      assert.deepEqual(await world.alive(again.access_token, again.refresh_token), [false, false]);
      assert.equal((await refresh(world, again)).status, 400);
    }),
    OPEN,
  );

  spec(
    '§6 the server’s metadata say that documents are accepted',
    async (world) => {
      const { body } = await world.send({
        method: 'GET',
        path: '/.well-known/oauth-authorization-server',
        headers: {},
      });
      assert.equal(JSON.parse(body).client_id_metadata_document_supported, true);
    },
    OPEN,
  );

  spec(
    'a request alone stores nothing: only what a user has approved is kept',
    withSites(async (world) => {
      const request = await accepted(world, OF_EDITOR);
      assert.equal(await world.storage.clients.get(URL_OF_EDITOR), undefined);
      await world.server.authorization.complete(request, { subject: 'alice' });
      const stored = await world.storage.clients.get(URL_OF_EDITOR);
      assert.deepEqual(
        [stored?.name, stored?.documentValidAt, stored?.registeredAt, stored?.metadata?.application_type],
        ['Editor', world.clock.seconds, world.clock.seconds, 'native'],
      );
    }),
    OPEN,
  );

  spec(
    '§5 the document is resolved at every step once it is no longer fresh, and concurrent steps share one fetch',
    withSites(async (world) => {
      await Promise.all([accepted(world, OF_EDITOR), accepted(world, OF_EDITOR), accepted(world, OF_EDITOR)]);
      assert.equal(sites.fetched.length, 1);
      const code = await approved(world);
      assert.equal(sites.fetched.length, 1, 'while it is fresh');
      world.clock.advance(4 * 60);
      const tokens = JSON.parse((await redeem(world, code)).body);
      assert.equal(sites.fetched.length, 1, 'while it is fresh');
      world.clock.advance(60);
      await refresh(world, tokens);
      assert.equal(sites.fetched.length, 2, 'after five minutes');
    }),
    OPEN,
  );

  for (const [control, seconds] of [
    ['max-age=60', 60],
    ['public, max-age=600', 600],
    ['max-age=31536000', HOUR],
    ['max-age=0', 5],
    ['no-store', 5],
    ['private, max-age=600', 5],
    [undefined, 300],
  ] as const)
    spec(
      `§5.2 with Cache-Control ${control} a document is fresh for ${seconds} s`,
      withSites(async (world) => {
        sites.serve(URL_OF_EDITOR, { body: EDITOR, caching: { 'cache-control': control } });
        await accepted(world, OF_EDITOR);
        world.clock.advance(seconds - 1);
        await accepted(world, OF_EDITOR);
        assert.equal(sites.fetched.length, 1);
        world.clock.advance(1);
        await accepted(world, OF_EDITOR);
        assert.equal(sites.fetched.length, 2);
      }),
      OPEN,
    );

  spec(
    '§5.2 a document is revalidated by its entity tag',
    withSites(async (world) => {
      sites.serve(URL_OF_EDITOR, { body: EDITOR, caching: { etag: '"1"' } });
      const first = await accepted(world, OF_EDITOR);
      world.clock.advance(5 * 60);
      sites.serve(URL_OF_EDITOR, { status: 304, body: '' });
      assert.deepEqual(asked(await accepted(world, OF_EDITOR)).client, {
        ...first.client,
        registeredAt: world.clock.seconds,
        documentValidAt: world.clock.seconds,
      });
      world.clock.advance(5 * 60);
      await accepted(world, OF_EDITOR);
      assert.deepEqual(sites.conditions, [undefined, '"1"', '"1"']);
    }),
    OPEN,
  );

  for (const [what, response] of Object.entries({
    'another client_id': { body: { ...EDITOR, client_id: 'https://editor.example/' } },
    'no client_id': { body: { ...EDITOR, client_id: undefined } },
    'a secret': { body: { ...EDITOR, client_secret: 'known to all' } },
    'the end of a secret': { body: { ...EDITOR, client_secret_expires_at: 0 } },
    'an authentication by secret': { body: { ...EDITOR, token_endpoint_auth_method: 'client_secret_basic' } },
    'an authentication by certificate': {
      body: { ...EDITOR, token_endpoint_auth_method: 'tls_client_auth' },
    },
    'a key method without keys': { body: { ...EDITOR, token_endpoint_auth_method: 'private_key_jwt' } },
    'a private key': {
      body: {
        ...EDITOR,
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [{ kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA', d: 'AA' }] },
      },
    },
    'no redirect URI': { body: { ...EDITOR, redirect_uris: [] } },
    'a redirect URI of the wrong type': {
      body: { ...EDITOR, redirect_uris: 'https://editor.example/callback' },
    },
    'no grant that exists here': { body: { ...EDITOR, grant_types: ['implicit'] } },
    'text that is not JSON': { body: '<!doctype html>' },
    'a list': { body: [EDITOR] },
    'another media type': { body: EDITOR, contentType: 'text/html' },
    'status 404': { status: 404, body: '' },
    'status 410': { status: 410, body: '' },
    'status 204': { status: 204, body: '' },
    'a redirect': { status: 302, body: '' },
    'a refused address': new DocumentError('refused', 'the host has an address that is not public'),
  }))
    spec(
      `§4, §5 a document with ${what} is refused on a page, and is asked for again at the next request`,
      withSites(async (world) => {
        sites.serve(URL_OF_EDITOR, response);
        for (const times of [1, 2]) {
          assert.deepEqual(await refused(accepted(world, OF_EDITOR)), NOT_VALID);
          assert.equal(sites.fetched.length, times);
        }
        assert.equal(world.events.at(-1)?.type, 'refused');
        assert.equal(Reflect.get(world.events.at(-1) ?? {}, 'reason'), 'client_document_invalid');
        sites.serve(URL_OF_EDITOR, { body: EDITOR });
        await accepted(world, OF_EDITOR);
      }),
      OPEN,
    );

  for (const [what, response] of Object.entries({
    'no answer': new DocumentError('failed', 'there was no answer in time'),
    'status 503': { status: 503, body: '' },
    'status 429': { status: 429, body: '' },
  }))
    spec(
      `while the site gives ${what}, browsers get a page, grants live for a day on the last valid copy, and then wait`,
      withSites(async (world) => {
        const tokens = await granted(world);
        sites.serve(URL_OF_EDITOR, response);
        world.clock.advance(HOUR);
        assert.deepEqual(await refused(accepted(world, OF_EDITOR)), UNREACHABLE);
        world.clock.advance(22 * HOUR);
        const next = await refresh(world, tokens);
        assert.equal(next.status, 200, next.body);
        world.clock.advance(HOUR);
        const late = await refresh(world, JSON.parse(next.body));
        assert.deepEqual([late.status, late.headers['retry-after']], [503, '10']);
        const event = world.events.findLast(({ type }) => type === 'refused');
        assert.equal(Reflect.get(event ?? {}, 'clientId'), URL_OF_EDITOR);
        sites.serve(URL_OF_EDITOR, { body: EDITOR });
        assert.equal((await refresh(world, JSON.parse(next.body))).status, 200);
      }),
      OPEN,
    );

  spec(
    'a document that is gone ends refreshing at once, and a new one lets the grant live on',
    withSites(async (world) => {
      const tokens = await granted(world);
      sites.serve(URL_OF_EDITOR, { status: 404, body: '' });
      world.clock.advance(HOUR);
      assert.deepEqual(await refresh(world, tokens), DOCUMENT_REFUSED);
      sites.serve(URL_OF_EDITOR, { body: EDITOR });
      assert.equal((await refresh(world, tokens)).status, 200);
    }),
    OPEN,
  );

  spec(
    'introspection, UserInfo and revocation fetch nothing, and work while the document cannot be fetched',
    withSites(async (world) => {
      const tokens = await granted(world);
      sites.serve(URL_OF_EDITOR, new DocumentError('failed', 'there was no answer in time'));
      world.clock.advance(10 * 60);
      const before = sites.fetched.length;
      assert.deepEqual(await world.alive(tokens.access_token), [true]);
      assert.equal((await world.userInfo(tokens.access_token)).status, 200);
      const request = { client_id: URL_OF_EDITOR, token: tokens.refresh_token };
      assert.equal((await world.post('/token/revoke', request)).status, 200);
      assert.deepEqual(await world.alive(tokens.access_token, tokens.refresh_token), [false, false]);
      assert.equal(sites.fetched.length, before);
    }),
    OPEN,
  );

  spec(
    'a changed document is stored, and neither revives a token nor widens a grant',
    withSites(async (world) => {
      const dead = await granted(world);
      await world.server.revokeToken(dead.refresh_token);
      const tokens = await granted(world);
      world.clock.advance(5 * 60);
      sites.serve(URL_OF_EDITOR, {
        body: { ...EDITOR, client_name: 'Another', redirect_uris: ['https://other.example/callback'] },
      });
      assert.deepEqual(
        await refused(accepted(world, OF_EDITOR)),
        shown('invalid_request', 'the redirect_uri is not registered for this client'),
      );
      const stored = await world.storage.clients.get(URL_OF_EDITOR);
      assert.deepEqual([stored?.name, stored?.redirectUris], ['Another', ['https://other.example/callback']]);
      assert.equal((await refresh(world, dead)).status, 400);
      const next = JSON.parse((await refresh(world, tokens)).body);
      assert.equal(next.scope, 'openid offline_access read');
    }),
    OPEN,
  );

  spec(
    'a document that changes between consent and code neither moves the code nor widens what it grants',
    withSites(async (world) => {
      const serve = (body: object, status = 200) =>
        sites.serve(URL_OF_EDITOR, { status, body, caching: { 'cache-control': 'no-store' } });
      serve(EDITOR);
      const [code, moved, kept, gone] = await Promise.all([1, 2, 3, 4].map(() => approved(world)));
      assert.ok(code && moved && kept && gone);
      world.clock.advance(5);
      const other = 'https://other.example/callback';
      const scope = 'openid offline_access read write';
      serve({ ...EDITOR, redirect_uris: [other], scope });
      assert.equal((await redeem(world, moved, { redirect_uri: other })).status, 400);
      assert.equal((await redeem(world, kept)).status, 400, 'its redirect URI is no longer the client’s');
      world.clock.advance(5);
      serve({ ...EDITOR, scope });
      const { status, body } = await redeem(world, code);
      assert.equal(status, 200, body);
      assert.equal(JSON.parse(body).scope, OF_EDITOR.scope);
      world.clock.advance(5);
      serve({}, 404);
      assert.deepEqual(await redeem(world, gone), DOCUMENT_REFUSED);
    }),
    OPEN,
  );

  spec(
    'a document cannot take the key away from a client that had one',
    withSites(async (world) => {
      const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
      const withKey = {
        ...EDITOR,
        token_endpoint_auth_method: 'private_key_jwt',
        jwks: { keys: [{ ...(await exportJWK(publicKey)), kid: 'one' }] },
      };
      sites.serve(URL_OF_EDITOR, { body: withKey });
      const code = await approved(world);
      assert.deepEqual(await redeem(world, code), CLIENT_REFUSED);
      const assertion = await new SignJWT({ jti: 'first' })
        .setProtectedHeader({ alg: 'ES256', kid: 'one' })
        .setIssuer(URL_OF_EDITOR)
        .setSubject(URL_OF_EDITOR)
        .setAudience(ISSUER)
        .setIssuedAt(world.clock.seconds)
        .setExpirationTime(world.clock.seconds + 60)
        .sign(privateKey);
      const proof = {
        client_assertion: assertion,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      };
      const { status, body } = await redeem(world, code, proof);
      assert.equal(status, 200, body);
      world.clock.advance(HOUR);
      sites.serve(URL_OF_EDITOR, { body: EDITOR });
      assert.deepEqual(await refresh(world, JSON.parse(body)), DOCUMENT_REFUSED);
      assert.equal(
        (await world.storage.clients.get(URL_OF_EDITOR))?.metadata?.token_endpoint_auth_method,
        'private_key_jwt',
      );
    }),
    OPEN,
  );

  spec(
    'a disabled client stays disabled whatever its document says, and nothing is fetched for it',
    withSites(async (world) => {
      const tokens = await granted(world);
      await world.storage.setDisabled('client', URL_OF_EDITOR, true);
      world.clock.advance(HOUR);
      const before = sites.fetched.length;
      assert.deepEqual(
        await refused(accepted(world, OF_EDITOR)),
        shown('invalid_request', 'the client is disabled'),
      );
      assert.deepEqual(await refresh(world, tokens), CLIENT_REFUSED);
      assert.deepEqual(await world.alive(tokens.access_token), [false]);
      assert.equal(sites.fetched.length, before);
    }),
    OPEN,
  );

  spec(
    'a client that an operator added under such a URL keeps what the operator wrote',
    withSites(async (world) => {
      await world.storage.clients.add({
        id: URL_OF_EDITOR,
        name: 'Known',
        grantTypes: ['authorization_code'],
        scopes: ['openid'],
        redirectUris: ['https://known.example/callback'],
        metadata: { token_endpoint_auth_method: 'none' },
      });
      const parameters = { ...OF_EDITOR, redirect_uri: 'https://known.example/callback', scope: 'openid' };
      assert.equal((await accepted(world, parameters)).client.name, 'Known');
      assert.deepEqual(sites.fetched, []);
    }),
    OPEN,
  );

  spec(
    'what an operator sets of such a client outlives changes of its document',
    withSites(async (world) => {
      await granted(world);
      const stored = await world.storage.clients.get(URL_OF_EDITOR);
      assert.ok(stored);
      const { generation: _, revision: __, registrationRevision: ___, usedUntil: ____, ...record } = stored;
      const metadata = { ...record.metadata, set_by_operator: ['scope'] };
      assert.equal(
        await world.storage.clients.replace({ ...record, scopes: ['openid'], metadata }, stored),
        true,
      );
      world.clock.advance(HOUR);
      sites.serve(URL_OF_EDITOR, { body: { ...EDITOR, client_name: 'Renamed', scope: 'openid read' } });
      await accepted(world, { ...OF_EDITOR, scope: 'openid' });
      const after = await world.storage.clients.get(URL_OF_EDITOR);
      assert.deepEqual([after?.name, after?.scopes], ['Renamed', ['openid']]);
    }),
    OPEN,
  );

  spec(
    'a token request of a client without a grant fetches nothing',
    withSites(async (world) => {
      assert.deepEqual(await redeem(world, 'no code'), CLIENT_REFUSED);
      assert.deepEqual(sites.fetched, []);
    }),
    OPEN,
  );

  spec(
    'a pushed request of a new client is accepted by its document',
    withSites(async (world) => {
      const { status, body } = await world.post('/par', { ...USUAL, ...OF_EDITOR });
      assert.equal(status, 201, body);
      const { request_uri } = JSON.parse(body);
      const request = await world.server.authorization.validate(
        exactly({ client_id: URL_OF_EDITOR, request_uri }),
      );
      assert.equal(request.client.name, 'Editor');
      sites.serve(
        'https://slow.example/client.json',
        new DocumentError('failed', 'there was no answer in time'),
      );
      const slow = await world.post('/par', { ...USUAL, client_id: 'https://slow.example/client.json' });
      assert.deepEqual([slow.status, slow.headers['retry-after']], [503, '10']);
    }),
    OPEN,
  );

  spec(
    'unused clients are removed like those that registered themselves',
    withSites(async (world) => {
      await approved(world);
      const unused = () => world.storage.clients.listUnused(world.clock.seconds - DAY, 10);
      assert.deepEqual(await unused(), []);
      world.clock.advance(3 * DAY);
      assert.deepEqual(
        (await unused()).map(({ id }) => id),
        [URL_OF_EDITOR],
      );
    }),
    OPEN,
  );

  spec(
    'a document that stays valid is noted at most once an hour, and keeps consents valid',
    withSites(async (world) => {
      await approved(world);
      const first = await world.storage.clients.get(URL_OF_EDITOR);
      for (const minutes of [30, 29, 1, 60]) {
        world.clock.advance(minutes * 60);
        await accepted(world, OF_EDITOR);
      }
      const last = await world.storage.clients.get(URL_OF_EDITOR);
      assert.equal(last?.documentValidAt, world.clock.seconds);
      assert.deepEqual(
        [last?.registrationRevision, last?.revision],
        [first?.registrationRevision, first?.revision],
      );
    }),
    OPEN,
  );

  spec(
    'each user can add only some clients, so that no one fills the store for others',
    withSites(async (world) => {
      const add = async (number: number, subject: string) => {
        const url = `https://c${number}.example/client.json`;
        sites.serve(url, { body: { ...EDITOR, client_id: url } });
        return approved(world, { client_id: url }, subject);
      };
      for (let number = 0; number < 200; number++) await add(number, 'alice');
      await assert.rejects(add(200, 'alice'), {
        code: 'temporarily_unavailable',
        reason: 'too_many_registered',
        status: 429,
      });
      assert.notEqual(await add(200, 'bob'), '');
    }),
    OPEN,
  );

  for (const [place, urlOf] of [
    ['one host', (number: number) => `https://victim.example/${number}`],
    ['one domain', (number: number) => `https://C${number}.victim.example./client.json`],
    [
      'addresses',
      (number: number) =>
        `https://${number % 2 === 0 ? `198.51.100.${number}` : `[2001:db8:${number}::1]`}/c`,
    ],
  ] as const)
    spec(
      `invented URLs of ${place} cause a bounded number of fetches, and known documents are still fetched`,
      withSites(async (world) => {
        await accepted(world, OF_EDITOR);
        const invented = (number: number) => accepted(world, { ...OF_EDITOR, client_id: urlOf(number) });
        for (let number = 0; number < 30; number++)
          assert.deepEqual(await refused(invented(number)), UNREACHABLE);
        for (let number = 30; number < 40; number++)
          await assert.rejects(invented(number), ({ status, reason, headers }) => {
            assert.deepEqual([status, reason], [429, 'too_many_client_documents']);
            return Number(headers['retry-after']) <= 60;
          });
        assert.equal(sites.fetched.length, 31);
        const elsewhere = accepted(world, { ...OF_EDITOR, client_id: 'https://c.example/client.json' });
        assert.deepEqual(await refused(elsewhere), UNREACHABLE);
        world.clock.advance(5 * 60);
        await accepted(world, OF_EDITOR);
      }),
      OPEN,
    );

  let place: string | undefined;
  spec(
    'one place can use up only a third of the new documents of a site',
    withSites(async (world) => {
      let number = 0;
      const isFetched = async (from: string | undefined) => {
        place = from;
        const client_id = `https://victim.example/${number++}`;
        return accepted(world, { ...OF_EDITOR, client_id }).then(
          () => assert.fail('it was accepted'),
          ({ reason }) => reason === 'client_document_unreachable',
        );
      };
      const results = async (...from: readonly (string | undefined)[]) => {
        const found: boolean[] = [];
        for (const one of from) found.push(await isFetched(one));
        return found;
      };
      assert.deepEqual(await results('a', 'a', 'a', 'a'), [true, true, false, false]);
      assert.deepEqual(await results('b', 'b', 'b', undefined, 'c', 'c'), [
        true,
        true,
        false,
        true,
        true,
        false,
      ]);
      assert.equal(sites.fetched.length, 6);
      world.clock.advance(60);
      assert.deepEqual(await results('c', 'a'), [true, true]);
    }),
    options({ mostNewPerSite: 6, placeOf: () => place }),
  );

  spec(
    'a document that the stored client cannot follow is refused at every request, also while its site is down',
    withSites(async (world) => {
      const { publicKey } = await generateKeyPair('ES256');
      const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' }] };
      const withKey = { ...EDITOR, token_endpoint_auth_method: 'private_key_jwt', jwks };
      sites.serve(URL_OF_EDITOR, { body: withKey });
      await approved(world);
      world.clock.advance(5 * 60);
      const caching = { 'cache-control': 'max-age=3600' };
      sites.serve(URL_OF_EDITOR, { body: EDITOR, caching });
      const form = { client_id: URL_OF_EDITOR, grant_type: 'refresh_token', refresh_token: 'any' };
      const refusals = async () => {
        for (let time = 0; time < 3; time++) {
          assert.deepEqual(await world.post('/token', form), DOCUMENT_REFUSED);
          assert.deepEqual(await refused(accepted(world, OF_EDITOR)), NOT_VALID);
        }
      };
      await refusals();
      sites.serve(URL_OF_EDITOR, new DocumentError('failed', 'there was no answer in time'));
      await refusals();
      sites.serve(URL_OF_EDITOR, { body: withKey });
      await accepted(world, OF_EDITOR);
    }),
    OPEN,
  );

  spec(
    'what is stored is what the user approved, also if the document changes meanwhile',
    withSites(async (world) => {
      const request = await accepted(world, OF_EDITOR);
      world.clock.advance(5 * 60);
      sites.serve(URL_OF_EDITOR, { body: { ...EDITOR, client_name: 'Another' } });
      await accepted(world, OF_EDITOR);
      await world.server.authorization.complete(request, { subject: 'alice' });
      assert.equal((await world.storage.clients.get(URL_OF_EDITOR))?.name, 'Editor');
    }),
    OPEN,
  );

  for (const [place, hostOf, unaffected] of [
    ['sites', (number: number) => `c${number}.example`, URL_OF_EDITOR],
    ['names of one site', (number: number) => `c${number}.slow.example`, 'https://new.example/client.json'],
  ] as const)
    spec(
      `slow ${place} of new clients do not keep ${new URL(unaffected).host} out`,
      withSites(async (world) => {
        await accepted(world, OF_EDITOR);
        world.clock.advance(5 * 60);
        sites.serve(unaffected, { body: { ...EDITOR, client_id: unaffected } });
        const { fetch } = sites;
        const slow = Promise.withResolvers<never>();
        Object.assign(sites, {
          fetch: (url: string, request: object) => (url === unaffected ? fetch(url, request) : slow.promise),
        });
        const waiting = Array.from({ length: 60 }, (_, number) =>
          refused(accepted(world, { ...OF_EDITOR, client_id: `https://${hostOf(number)}/client.json` })),
        );
        await accepted(world, { ...OF_EDITOR, client_id: unaffected });
        // New documents have less time than known ones.
        assert.deepEqual(sites.timeouts, [2500, unaffected === URL_OF_EDITOR ? 5000 : 2500]);
        slow.reject(new DocumentError('failed', 'there was no answer in time'));
        assert.deepEqual(await Promise.all(waiting), Array(60).fill(UNREACHABLE));
      }),
      OPEN,
    );

  spec(
    'another document that the client names and that cannot be fetched is an outage, not a wrong client',
    withSites(async (world) => {
      const members = {
        subject_type: 'pairwise',
        sector_identifier_uri: 'https://editor.example/sector.json',
      };
      sites.serve(URL_OF_EDITOR, { body: { ...EDITOR, ...members } });
      sites.serve('https://editor.example/sector.json', { body: EDITOR.redirect_uris });
      const tokens = await granted(world);
      sites.serve('https://editor.example/sector.json', { status: 503 });
      world.clock.advance(HOUR);
      const next = await refresh(world, tokens);
      assert.equal(next.status, 200, next.body);
    }),
    { ...OPEN, pairwiseSecret: 'a secret of pairwise subjects with more than 32 characters' },
  );

  spec(
    'RFC 9396 §10 a document names types of authorization details, and gets those that the operator opens',
    withSites(async (world) => {
      const requested = (...types: readonly string[]) => JSON.stringify(types.map((type) => ({ type })));
      sites.serve(URL_OF_EDITOR, {
        body: { ...EDITOR, authorization_details_types: ['payment', 'account', 'unknown'] },
      });
      const { status, body } = await redeem(
        world,
        await approved(world, { authorization_details: requested('payment') }),
      );
      assert.equal(status, 200, body);
      assert.deepEqual(JSON.parse(body).authorization_details, [{ type: 'payment' }]);
      const refusal = { code: 'invalid_authorization_details' };
      for (const type of ['account', 'unknown'])
        await assert.rejects(
          accepted(world, { ...OF_EDITOR, authorization_details: requested('payment', type) }),
          refusal,
        );
      world.clock.advance(5 * 60);
      sites.serve(URL_OF_EDITOR, { body: EDITOR });
      await assert.rejects(
        accepted(world, { ...OF_EDITOR, authorization_details: requested('payment') }),
        refusal,
      );
    }),
    { ...options({ authorizationDetailsTypes: ['payment'] }), authorizationDetails: DETAILS },
  );

  for (const [id, why] of [
    ['http://editor.example/client.json', 'http'],
    ['https://editor.example', 'no path'],
    ['https://editor.example/a/../client.json', 'a dot segment'],
    ['https://editor.example/%2e%2E/client.json', 'an encoded dot segment'],
    ['https://editor.example/./client.json', 'a single dot'],
    ['https://editor.example/client.json#top', 'a fragment'],
    ['https://user@editor.example/client.json', 'a user'],
    ['https://editor.example\\@evil.example/client.json', 'a backslash'],
    ['https:editor.example/client.json', 'no authority'],
    ['HTTPS://editor.example/client.json', 'an upper-case scheme'],
    [`https://editor.example/${'a'.repeat(2000)}`, 'too many characters'],
  ] as const)
    spec(
      `§3 a URL with ${why} names no client, and is not fetched`,
      withSites(async (world) => {
        sites.serve(id, { body: { ...EDITOR, client_id: id } });
        assert.deepEqual(await refused(accepted(world, { ...OF_EDITOR, client_id: id })), UNKNOWN);
        assert.deepEqual(sites.fetched, []);
      }),
      OPEN,
    );

  for (const [spelling, what] of [
    ['https://EDITOR.example/oauth/client.json', 'an upper-case host'],
    ['https://editor.example:443/oauth/client.json', 'the usual port'],
    ['https://editor.example./oauth/client.json', 'a dot after the host'],
    ['https://%65ditor.example/oauth/client.json', 'an encoded host'],
    ['https://editor.example/oauth/%63lient.json', 'an encoded path'],
    ['https://editor.example/OAUTH/client.json', 'an upper-case path'],
    ['https://editor.example/oauth//client.json', 'an empty segment'],
    ['https://editor.example/oauth/client.json?', 'an empty query'],
  ] as const)
    spec(
      `§3 a URL with ${what} is another client, and only if its document says so`,
      withSites(async (world) => {
        const tokens = await granted(world);
        sites.serve(spelling, { body: EDITOR });
        const other = { ...OF_EDITOR, client_id: spelling };
        assert.deepEqual(await refused(accepted(world, other)), NOT_VALID);
        const form = {
          client_id: spelling,
          grant_type: 'refresh_token',
          refresh_token: tokens.refresh_token,
        };
        assert.deepEqual(await world.post('/token', form), CLIENT_REFUSED);
        sites.serve(spelling, { body: { ...EDITOR, client_id: spelling } });
        const code = await approved(world, { client_id: spelling });
        const [moved, own] = [await redeem(world, code), await redeem(world, code, { client_id: spelling })];
        assert.deepEqual([moved.status, own.status], [400, 200]);
        assert.equal((await world.post('/token', form)).status, 400, 'a token of the first client');
        await world.storage.setDisabled('client', URL_OF_EDITOR, true);
        const { access_token: kept } = JSON.parse(own.body);
        assert.deepEqual(await world.alive(tokens.access_token, kept), [false, true]);
        // Both count for the same site.
        const stricter = await secondServer(world, options({ deniedHosts: ['editor.example'] }));
        assert.deepEqual(await refused(accepted(stricter, other)), UNKNOWN);
      }),
      OPEN,
    );

  for (const [host, policy, isAccepted] of [
    ['claude.ai', { hosts: ['claude.ai'] }, true],
    ['www.claude.ai', { hosts: ['claude.ai'] }, false],
    ['claude.ai.evil.example', { hosts: ['claude.ai'] }, false],
    ['a.b.example.com', { hosts: ['*.example.com'] }, true],
    ['example.com', { hosts: ['*.example.com'] }, false],
    ['badexample.com', { hosts: ['*.example.com'] }, false],
    ['evil.example.com', { hosts: ['*.example.com'], deniedHosts: ['evil.example.com'] }, false],
    ['EVIL.example.', { deniedHosts: ['evil.example'] }, false],
    ['any.example', { deniedHosts: ['evil.example'] }, true],
  ] as const)
    spec(
      `the policy ${JSON.stringify(policy)} ${isAccepted ? 'accepts' : 'does not accept'} ${host}`,
      withSites(async (world) => {
        const url = `https://${host}/client.json`;
        sites.serve(url, { body: { ...EDITOR, client_id: url } });
        const request = accepted(world, { ...OF_EDITOR, client_id: url });
        if (isAccepted) assert.equal((await request).client.id, url);
        else assert.deepEqual(await refused(request), UNKNOWN);
        assert.deepEqual(sites.fetched, isAccepted ? [url] : []);
      }),
      options(policy),
    );

  spec(
    'a host that is denied later gets no new tokens, and its tokens can be revoked',
    withSites(async (world) => {
      const tokens = await granted(world);
      const stricter = await secondServer(world, options({ deniedHosts: ['editor.example'] }));
      assert.deepEqual(await refresh(stricter, tokens), CLIENT_REFUSED);
      assert.deepEqual(await stricter.alive(tokens.access_token), [true]);
      const request = { client_id: URL_OF_EDITOR, token: tokens.refresh_token };
      assert.equal((await stricter.post('/token/revoke', request)).status, 200);
      assert.deepEqual(await stricter.alive(tokens.access_token), [false]);
    }),
    OPEN,
  );
});

test('ten thousand URLs leave no row and a bounded number of documents in memory', async (t) => {
  const world = await openWorld(t, OPEN);
  await withSites(async () => {
    await granted(world);
    const urlOf = (number: number) => `https://c${number}.example/client.json`;
    const ask = async (number: number) => {
      sites.serve(urlOf(number), { body: { ...EDITOR, client_id: urlOf(number) } });
      await accepted(world, { ...OF_EDITOR, client_id: urlOf(number) });
    };
    for (let number = 0; number < 10_000; number++) await ask(number);
    const fetched = sites.fetched.length;
    await ask(9_999);
    assert.equal(sites.fetched.length, fetched, 'the last ones are in memory');
    for (let number = 0; number < 8_000; number += 1000) await ask(number);
    assert.equal(sites.fetched.length, fetched + 8, 'earlier ones are not');
    for (const number of [0, 9_999]) assert.equal(await world.storage.clients.get(urlOf(number)), undefined);
    assert.notEqual(await world.storage.clients.get(URL_OF_EDITOR), undefined);
  })(world);
});

test('clientDocuments needs fetchDocument, and says so', () => {
  assert.throws(
    () =>
      new AuthorizationServer({
        issuer: ISSUER,
        secret: SECRET,
        storage: memoryStorage(),
        clientDocuments: clientDocuments(),
      }),
    /fetchDocument: expected a function, because the option clientDocuments is set/,
  );
});

test('clientDocuments opens only types of authorization details that the server has', () => {
  for (const details of [undefined, DETAILS])
    assert.throws(
      () =>
        new AuthorizationServer({
          ...{ issuer: ISSUER, secret: SECRET, storage: memoryStorage(), fetchDocument: sites.fetch },
          ...(details && { authorizationDetails: details }),
          clientDocuments: clientDocuments({ authorizationDetailsTypes: ['payment', 'unknown'] }),
        }),
      /clientDocuments\.authorizationDetailsTypes: expected types of authorizationDetails/,
    );
});

test('a misspelt or wrong option of clientDocuments is refused with its name', () => {
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ host: ['claude.ai'] }, /clientDocuments\.host/],
    [{ hosts: ['https://claude.ai'] }, /clientDocuments\.hosts: expected a list of hosts in lower case/],
    [{ hosts: ['Claude.ai'] }, /clientDocuments\.hosts/],
    [{ scopes: ['a b'] }, /clientDocuments\.scopes/],
    [{ placeOf: 'here' }, /clientDocuments\.placeOf: expected a function/],
    [{ mostNewPerSite: -1 }, /clientDocuments\.mostNewPerSite: expected a whole number from 0/],
  ];
  for (const [given, message] of wrong) assert.throws(() => clientDocuments(given), message);
});

test('§8.6 documents come through the real fetcher: within 5 KiB, without redirects, and not from this network', async (t) => {
  let big = false;
  const site = createServer((request, response) => {
    const client_id = `http://127.0.0.1:${(site.address() as AddressInfo).port}${request.url}`;
    if (request.url === '/moved.json')
      return void response.writeHead(302, { location: '/client.json' }).end();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ...EDITOR, client_id, ...(big && { filler: 'x'.repeat(5 * 1024) }) }));
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  t.after(() => site.close());
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const allowInsecureUris = true;
  const openWith = (fetchDocument: FetchDocument) =>
    openWorld(t, { fetchDocument, clientDocuments: clientDocuments({ allowInsecureUris }) });
  const world = await openWith(documentFetcher({ allowPrivateAddresses: true }));
  const at = (path: string) => accepted(world, { ...OF_EDITOR, scope: 'openid', client_id: origin + path });
  assert.equal((await at('/client.json')).client.name, 'Editor');
  assert.deepEqual(await refused(at('/moved.json')), NOT_VALID);
  big = true;
  assert.deepEqual(await refused(at('/big.json')), NOT_VALID);
  const guarded = await openWith(documentFetcher());
  assert.deepEqual(
    await refused(accepted(guarded, { ...OF_EDITOR, client_id: `${origin}/client.json` })),
    NOT_VALID,
  );
});
