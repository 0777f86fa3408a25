// § refers to RFC 9470.
import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import { after, before, describe, test } from 'node:test';
import { AccessTokenIntrospector, type AccessTokens, AccessTokenVerifier } from '@grantd/protect';
import { protect, tokenOf } from '@grantd/protect/node';
import * as client from 'openid-client';
import { portOf } from '../../core/test/harness/transports/listener.ts';
import { ALICE, Browser, isLogin, signInAndConsent } from './harness/browser.ts';
import { ANY_DATABASE } from './harness/databases.ts';
import { type RunningServer, Workbench } from './harness/program.ts';

const REDIRECT_URI = 'http://localhost:4002/callback';
const AUDIENCE = 'http://localhost:4003';
const MAX_AGE = 300;

for (const database of ANY_DATABASE) {
  describe(`an API that wants a recent sign-in, on ${database.name}`, { skip: database.absence }, () => {
    const workbench = new Workbench(database);
    const apis: Server[] = [];
    after(() => {
      for (const api of apis) api.close();
      return workbench.clear();
    });
    let server: RunningServer;
    let configuration: client.Configuration;
    let ways: Readonly<Record<string, URL>>;
    before(async () => {
      server = await workbench.start(await workbench.home(), ['--demo']);
      const { url: issuer } = server;
      configuration = await client.discovery(new URL(issuer), 'demo-spa', undefined, client.None(), {
        execute: [client.allowInsecureRequests],
      });
      const credentials = { clientId: 'demo-api', clientSecret: 'demo-api-secret' };
      ways = {
        verifying: await openApi(new AccessTokenVerifier({ issuer, audience: AUDIENCE })),
        introspecting: await openApi(
          new AccessTokenIntrospector({ issuer, audience: AUDIENCE, credentials }),
        ),
      };
    });

    async function openApi(tokens: AccessTokens): Promise<URL> {
      const guard = protect({ tokens, scopes: ['api:read'], maxAge: MAX_AGE });
      const api = createServer((request, response) => {
        guard(request, response, (error) => response.end(error ? 'fault' : tokenOf(request).clientId));
      });
      apis.push(api);
      await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
      return new URL(`http://127.0.0.1:${portOf(api)}/`);
    }

    /** The content for a client with the token, or the parameters of the challenge. */
    async function call(api: URL, { access_token }: client.TokenEndpointResponse) {
      try {
        const response = await client.fetchProtectedResource(configuration, access_token, api, 'GET');
        return await response.text();
      } catch (error) {
        assert.ok(error instanceof client.WWWAuthenticateChallengeError, String(error));
        const [{ parameters } = assert.fail('there is no challenge')] = error.cause;
        return parameters;
      }
    }

    /** An authorization request of the client. `redeem` makes tokens of the response. */
    async function request(parameters: Readonly<Record<string, string>> = {}) {
      const pkceCodeVerifier = client.randomPKCECodeVerifier();
      const { href } = client.buildAuthorizationUrl(configuration, {
        redirect_uri: REDIRECT_URI,
        scope: 'openid api:read',
        code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: 'S256',
        ...parameters,
      });
      const redeem = (callback: URL) =>
        client.authorizationCodeGrant(configuration, callback, { pkceCodeVerifier });
      return { href, redeem };
    }

    test('§3, §4, §5 an API refuses an old sign-in, the client sends its max_age, and after a new one the API accepts the token', async () => {
      const browser = new Browser(server.url);
      const first = await request();
      const fresh = await first.redeem(await signInAndConsent(browser, first.href));
      for (const [way, api] of Object.entries(ways)) assert.equal(await call(api, fresh), 'demo-spa', way);

      // As if alice had signed in one second too early. Without max_age she need not sign in again.
      const sessions = `${database.schema}sessions`;
      const earlierMs = (MAX_AGE + 1) * 1000;
      await database.run(
        server.folder,
        `UPDATE ${sessions} SET signed_in_at_ms = signed_in_at_ms - ${earlierMs}`,
      );
      const second = await request();
      const old = await second.redeem(new URL((await browser.get(second.href)).url));
      const challenge = {
        realm: 'api',
        error: 'insufficient_user_authentication',
        error_description: 'more recent authentication is required',
        max_age: String(MAX_AGE),
        scope: 'api:read',
      };
      for (const [way, api] of Object.entries(ways)) assert.deepEqual(await call(api, old), challenge, way);

      const third = await request({ max_age: challenge.max_age });
      const login = await browser.get(third.href);
      assert.ok(isLogin(login), login.html);
      const left = await browser.submit(login, { ...ALICE });
      const renewed = await third.redeem(new URL(left.url));
      for (const [way, api] of Object.entries(ways)) {
        assert.equal(await call(api, renewed), 'demo-spa', way);
        assert.deepEqual(await call(api, old), challenge, way);
      }
    });
  });
}
