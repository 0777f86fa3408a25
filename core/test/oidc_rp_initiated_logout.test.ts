// § refers to RP-Initiated Logout.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorResponse, type HttpResponse, type LogoutRequest, type NewClient } from '@grantd/core';
import { decodeJwt } from 'jose';
import { grantTo } from './harness/granting.ts';
import { ON_MEMORY } from './harness/places.ts';
import { JSON_HEADERS } from './harness/responses.ts';
import { forgedWithStolenKey } from './harness/stolen_key.ts';
import { addClient } from './harness/token_endpoint.ts';
import { CLIENTS, ISSUER, OIDC_OFF, openWorld, specification, type World } from './harness/world.ts';

const AFTERWARDS = 'https://app.example/signed-out';
const APP = {
  ...CLIENTS.web,
  id: 'app',
  name: 'An application',
  metadata: { post_logout_redirect_uris: [AFTERWARDS, 'http://127.0.0.1/bye?from=grantd'] },
} satisfies NewClient;

type Parameters = Readonly<Record<string, string>>;

function asked(world: World, parameters: Parameters, method: 'GET' | 'POST' = 'GET'): Promise<LogoutRequest> {
  const form = new URLSearchParams(parameters).toString();
  return world.server.logout.validate(
    method === 'GET'
      ? { method, url: `/logout?${form}`, headers: {} }
      : {
          method,
          url: '/logout',
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: form,
        },
  );
}

/** The response to a request that needs no page. */
async function refusalOf(world: World, parameters: Parameters): Promise<HttpResponse> {
  return asked(world, parameters).then(() => assert.fail('it was accepted'), errorResponse);
}

function refused(description: string): HttpResponse {
  const body = JSON.stringify({ error: 'invalid_request', error_description: description });
  return { status: 400, headers: JSON_HEADERS, body };
}

const NO_HINT = refused('the id_token_hint is not valid');

specification('RP-Initiated Logout', ON_MEMORY, (spec) => {
  spec('§2 a request by GET or POST becomes plain data for the host’s pages', async (world) => {
    await addClient(world, APP);
    const { id_token } = await grantTo(world, 'app');
    const parameters = {
      id_token_hint: id_token,
      logout_hint: 'alice@example.org',
      client_id: 'app',
      post_logout_redirect_uri: AFTERWARDS,
      state: 'a state & more',
      ui_locales: 'de-AT en !',
    };
    for (const method of ['GET', 'POST'] as const) {
      const { client, ...request } = await asked(world, { ...parameters, unknown: 'ignored' }, method);
      assert.deepEqual(request, {
        parameters,
        idTokenHint: { clientId: 'app', sub: 'alice', sid: 'session of alice' },
        postLogoutRedirectUri: AFTERWARDS,
        state: 'a state & more',
        logoutHint: 'alice@example.org',
        uiLocales: ['de-AT', 'en'],
      });
      assert.deepEqual([client?.id, client?.name, client?.metadata], ['app', APP.name, APP.metadata]);
      assert.equal(client && 'secrets' in client, false);
      const resumed = await world.server.logout.resume(request.parameters);
      assert.deepEqual(resumed, { client, ...request });
    }
  });

  spec('§2 every parameter may be omitted: the user is asked, and stays at the server', async (world) => {
    const request = await asked(world, {});
    assert.deepEqual(request, { parameters: {}, uiLocales: [] });
    assert.equal(await world.server.logout.isHintedSession(request, 'alice', 'session of alice'), false);
    assert.equal(world.server.logout.complete(request), undefined);
  });

  spec('§2 the ID token of an ended sign-in is a valid hint, whichever key signed it', async (world) => {
    await addClient(world, APP);
    const { id_token } = await grantTo(world, 'app');
    await world.server.operator.rotateSigningKey('RS256');
    await world.storage.revokeAll({ principal: 'session', id: 'session of alice' });
    world.clock.advance(30 * 24 * 3600);
    const { client, idTokenHint } = await asked(world, { id_token_hint: id_token });
    assert.deepEqual([client?.id, idTokenHint?.sub], ['app', 'alice']);
  });

  spec('§2 a hint that is no ID token of this server is refused, whatever else it is', async (world) => {
    await addClient(world, APP);
    const tokens = await grantTo(world, 'app');
    const [header = '', payload = '', signature = ''] = tokens.id_token.split('.');
    const changed = btoa(JSON.stringify({ ...decodeJwt(tokens.id_token), sub: 'bob' }));
    for (const id_token_hint of [
      tokens.access_token,
      tokens.refresh_token,
      `${header}.${changed.replaceAll('=', '')}.${signature}`,
      `${header}.${payload}.`,
      'grantd_at_x',
      'no token at all',
    ]) {
      assert.deepEqual(await refusalOf(world, { id_token_hint, client_id: 'app' }), NO_HINT);
      assert.equal(world.lastReason, 'id_token_hint_wrong');
    }
  });

  spec('§2 a hint that was issued to another client than client_id is refused', async (world) => {
    await addClient(world, APP);
    const { id_token } = await world.grant();
    const answer = await refusalOf(world, { id_token_hint: id_token, client_id: 'app' });
    assert.deepEqual(answer, refused('the id_token_hint is for another client'));
  });

  spec('§2 no question is necessary if the hint means the current session and user', async (world) => {
    await addClient(world, APP);
    const { id_token } = await grantTo(world, 'app');
    const request = await asked(world, { id_token_hint: id_token });
    const isHinted = (subject: string, sessionId: string) =>
      world.server.logout.isHintedSession(request, subject, sessionId);
    assert.equal(await isHinted('alice', 'session of alice'), true);
    assert.equal(await isHinted('alice', 'another session'), false);
    assert.equal(await isHinted('bob', 'session of alice'), false);
    const { idTokenHint: _, ...unhinted } = request;
    assert.equal(await world.server.logout.isHintedSession(unhinted, 'alice', 'session of alice'), false);
  });

  spec('§3 the browser goes to the registered URI, with an unchanged state', async (world) => {
    await addClient(world, APP);
    const { id_token } = await grantTo(world, 'app');
    const goesTo = async (parameters: Parameters) =>
      world.server.logout.complete(await asked(world, parameters));
    const redirect = (location: string) => ({
      status: 303,
      headers: { location, 'cache-control': 'no-store' },
      body: '',
    });
    const hint = { id_token_hint: id_token, post_logout_redirect_uri: AFTERWARDS };
    assert.deepEqual(await goesTo(hint), redirect(AFTERWARDS));
    assert.deepEqual(
      await goesTo({ ...hint, state: 'a&b=c d' }),
      redirect(`${AFTERWARDS}?state=a%26b%3Dc+d`),
    );
    const withQuery = { client_id: 'app', post_logout_redirect_uri: 'http://127.0.0.1/bye?from=grantd' };
    assert.deepEqual(await goesTo(withQuery), redirect('http://127.0.0.1/bye?from=grantd'));
    assert.deepEqual(
      await goesTo({ ...withQuery, state: 'x' }),
      redirect('http://127.0.0.1/bye?from=grantd&state=x'),
    );
  });

  spec('§3 a URI that is not registered exactly is ignored, and the user is asked', async (world) => {
    await addClient(world, APP);
    const { id_token } = await grantTo(world, 'app');
    for (const post_logout_redirect_uri of [
      `${AFTERWARDS}/`,
      `${AFTERWARDS}?more=1`,
      AFTERWARDS.toUpperCase(),
      'https://app.example',
      'http://127.0.0.1:8080/bye?from=grantd',
      'https://evil.example/',
      'javascript:alert(1)',
      APP.redirectUris[0],
    ]) {
      const request = await asked(world, { id_token_hint: id_token, post_logout_redirect_uri, state: 'x' });
      assert.equal(request.hasUnregisteredUri, true, post_logout_redirect_uri);
      assert.equal(request.postLogoutRedirectUri, undefined);
      assert.equal(world.server.logout.complete(request), undefined);
      assert.equal(await world.server.logout.isHintedSession(request, 'alice', 'session of alice'), false);
      assert.equal(world.lastReason, 'redirect_uri_mismatch', 'the operator learns of it');
      const events = world.events.length;
      assert.deepEqual(await world.server.logout.resume(request.parameters), request);
      assert.equal(world.events.length, events, 'once');
    }
  });

  spec('§3 a client without registered scopes has none', async (world) => {
    const request = await asked(world, {
      client_id: 'web',
      post_logout_redirect_uri: CLIENTS.web.redirectUris[0],
    });
    assert.deepEqual([request.hasUnregisteredUri, world.server.logout.complete(request)], [true, undefined]);
  });

  spec(
    'RFC 9700 §4.11.2 after logout a client that registered itself gets a page with a link',
    async (world) => {
      await addClient(world, { ...APP, id: 'stranger', registeredAt: 1 });
      const request = await asked(world, {
        client_id: 'stranger',
        post_logout_redirect_uri: AFTERWARDS,
        state: '"x',
      });
      const answer = world.server.logout.complete(request);
      const redirectTo = `${AFTERWARDS}?state=%22x`;
      assert.equal(answer?.status, 200);
      assert.equal('location' in answer.headers, false);
      assert.deepEqual(answer.leaving, { redirectTo });
      assert.ok(
        answer.body.includes(
          `<a id="leave" href="${redirectTo}" rel="noreferrer">Continue to app.example</a>`,
        ),
      );
      assert.doesNotMatch(answer.body, /<script/);
    },
  );

  spec('§3 if the client is not certain, the user stays at the server', async (world) => {
    await addClient(world, APP);
    const request = await asked(world, { post_logout_redirect_uri: AFTERWARDS, state: 'x' });
    assert.equal(request.postLogoutRedirectUri, undefined);
    assert.equal(world.server.logout.complete(request), undefined);
  });

  spec('§4 an unknown or disabled client is refused, with and without a hint', async (world) => {
    await addClient(world, APP);
    const { id_token } = await grantTo(world, 'app');
    assert.deepEqual(await refusalOf(world, { client_id: 'nobody' }), refused('the client is unknown'));
    await world.storage.setDisabled('client', 'app', true);
    for (const parameters of [{ client_id: 'app' }, { id_token_hint: id_token }])
      assert.deepEqual(await refusalOf(world, parameters), refused('the client is disabled'));
  });
});

test('§2 a logout token, a UserInfo response and another server’s ID token are no hints', async (t) => {
  const world = await openWorld(t);
  await addClient(world, APP);
  const { id_token } = await grantTo(world, 'app');
  const signed = (claims: Readonly<Record<string, unknown>>, typ = 'JWT') =>
    forgedWithStolenKey(world, { ...decodeJwt(id_token), jti: undefined, ...claims }, { typ });
  for (const hint of [
    await signed({}, 'logout+jwt'),
    await signed({}, 'token-introspection+jwt'),
    await signed({ iat: undefined }),
    await signed({ exp: undefined }),
    await signed({ iss: 'https://other.example' }),
    await signed({ aud: ['app', 'web'] }),
    await signed({ sub: undefined }),
  ])
    assert.deepEqual(await refusalOf(world, { id_token_hint: hint }), NO_HINT);
  assert.equal((await asked(world, { id_token_hint: await signed({}) })).client?.id, 'app');
});

test('§2 the hint of a client with pairwise subjects identifies the user by its own sub', async (t) => {
  const world = await openWorld(t, { pairwiseSecret: 'the secret of pairwise subjects, never changed' });
  await addClient(world, { ...APP, metadata: { ...APP.metadata, subject_type: 'pairwise' } });
  const { id_token } = await grantTo(world, 'app');
  const request = await asked(world, { id_token_hint: id_token });
  assert.notEqual(request.idTokenHint?.sub, 'alice');
  assert.equal(await world.server.logout.isHintedSession(request, 'alice', 'session of alice'), true);
  assert.equal(await world.server.logout.isHintedSession(request, 'bob', 'session of alice'), false);
});

test('§2 a hint without sid means any session of the user', async (t) => {
  const world = await openWorld(t);
  const request = { client: CLIENTS.web, idTokenHint: { clientId: 'web', sub: 'alice' } };
  const isHinted = (subject: string) =>
    world.server.logout.isHintedSession({ ...request, parameters: {}, uiLocales: [] }, subject, 'any');
  assert.deepEqual([await isHinted('alice'), await isHinted('bob')], [true, false]);
});

test('§4 a malformed request is refused at the server', async (t) => {
  const world = await openWorld(t);
  const get = (query: string, method = 'GET') =>
    world.server.logout
      .validate({ method, url: `/logout?${query}`, headers: {} })
      .then(() => assert.fail('it was accepted'), errorResponse);
  assert.deepEqual(await get('state=1&state=2'), refused('a parameter is repeated'));
  assert.deepEqual(
    await get(`state=${'x'.repeat(6140)}`),
    refused('the request is longer than 6144 characters'),
  );
  const { status, headers } = await get('', 'PUT');
  assert.deepEqual([status, headers.allow], [405, 'GET, HEAD, POST']);
});

test('OpenID Connect Discovery §3 the logout endpoint is in the metadata of an OpenID Provider', async (t) => {
  const paths = { endSession: '/session/end' };
  const { server } = await openWorld(t, { paths });
  assert.equal(server.serverMetadata.end_session_endpoint, `${ISSUER}/session/end`);
  const off = await openWorld(t, { oidc: OIDC_OFF });
  assert.equal('end_session_endpoint' in off.server.serverMetadata, false);
});
