import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as oauth from 'oauth4webapi';
import { ALICE, Browser, signInAndConsent } from './harness/browser.ts';
import { enterCode } from './harness/devices.ts';
import { type RunningServer, Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

/** The demo runs on loopback without TLS. */
const INSECURE = { [oauth.allowInsecureRequests]: true };

const WEB: oauth.Client = { client_id: 'demo-web' };
const WEB_AUTHENTICATION = oauth.ClientSecretBasic('demo-web-secret');
const REDIRECT_URI = 'http://localhost:4001/callback';

describe('oauth4webapi', () => {
  let server: RunningServer;
  let as: oauth.AuthorizationServer;
  before(async () => {
    server = await workbench.start(workbench.folder(), ['--demo']);
    const issuer = new URL(server.url);
    as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, INSECURE));
  });

  async function signIn(): Promise<oauth.TokenEndpointResponse> {
    const verifier = oauth.generateRandomCodeVerifier();
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()];
    assert.ok(as.authorization_endpoint);
    const url = new URL(as.authorization_endpoint);
    url.search = String(
      new URLSearchParams({
        client_id: WEB.client_id,
        redirect_uri: REDIRECT_URI,
        response_type: 'code',
        scope: 'openid email offline_access',
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state,
        nonce,
      }),
    );
    const callback = await signInAndConsent(new Browser(server.url), url.href);
    const parameters = oauth.validateAuthResponse(as, WEB, callback, state);
    const response = await oauth.authorizationCodeGrantRequest(
      as,
      WEB,
      WEB_AUTHENTICATION,
      parameters,
      REDIRECT_URI,
      verifier,
      INSECURE,
    );
    const tokens = await oauth.processAuthorizationCodeResponse(as, WEB, response, {
      expectedNonce: nonce,
      requireIdToken: true,
    });
    await oauth.validateApplicationLevelSignature(as, response, INSECURE);
    return tokens;
  }

  const introspect = async (token: string) => {
    const api = { client_id: 'demo-api' };
    const authentication = oauth.ClientSecretBasic('demo-api-secret');
    const response = await oauth.introspectionRequest(as, api, authentication, token, INSECURE);
    return oauth.processIntrospectionResponse(as, api, response);
  };

  test('both metadata documents are its server’s', async () => {
    const issuer = new URL(server.url);
    const oauth2 = await oauth.discoveryRequest(issuer, { ...INSECURE, algorithm: 'oauth2' });
    assert.deepEqual(await oauth.processDiscoveryResponse(issuer, oauth2), as);
  });

  test('code flow with PKCE, signed ID token, UserInfo, refresh, introspection and revocation', async () => {
    const tokens = await signIn();
    const claims = oauth.getValidatedIdTokenClaims(tokens);
    assert.ok(claims);

    const userInfo = await oauth.userInfoRequest(as, WEB, tokens.access_token, INSECURE);
    const person = await oauth.processUserInfoResponse(as, WEB, claims.sub, userInfo);
    assert.equal(person.email, 'alice@example.com');

    const refresh = await oauth.refreshTokenGrantRequest(
      as,
      WEB,
      WEB_AUTHENTICATION,
      tokens.refresh_token ?? '',
      INSECURE,
    );
    const refreshed = await oauth.processRefreshTokenResponse(as, WEB, refresh);
    const alive = await introspect(refreshed.access_token);
    assert.equal(alive.active, true);
    assert.equal(alive.sub, claims.sub);

    const revocation = await oauth.revocationRequest(
      as,
      WEB,
      WEB_AUTHENTICATION,
      refreshed.access_token,
      INSECURE,
    );
    await oauth.processRevocationResponse(revocation);
    assert.deepEqual(await introspect(refreshed.access_token), { active: false });
    assert.deepEqual(await introspect(refreshed.refresh_token ?? ''), { active: false });
  });

  test('a JWT access token is one by RFC 9068', async () => {
    const { access_token: token } = await signIn();
    const request = new Request('http://localhost:4003/', { headers: { authorization: `Bearer ${token}` } });
    const claims = await oauth.validateJwtAccessToken(as, request, server.url, INSECURE);
    assert.equal(claims.client_id, 'demo-web');
  });

  test('RFC 8628 §3.4 a device polls until its user has decided, and gets tokens', async () => {
    const cli: oauth.Client = { client_id: 'demo-cli' };
    const none = oauth.None();
    const started = await oauth.deviceAuthorizationRequest(as, cli, none, { scope: 'openid' }, INSECURE);
    const given = await oauth.processDeviceAuthorizationResponse(as, cli, started);
    const poll = async () => {
      const response = await oauth.deviceCodeGrantRequest(as, cli, none, given.device_code, INSECURE);
      return oauth.processDeviceCodeResponse(as, cli, response);
    };
    await assert.rejects(poll(), { error: 'authorization_pending' });
    await assert.rejects(poll(), { error: 'slow_down' });
    const browser = new Browser(server.url);
    const entry = await browser.submit(await browser.get(given.verification_uri), { ...ALICE });
    await browser.submit(await enterCode(browser, entry, given), { decision: 'allow' });
    const tokens = await poll();
    const claims = oauth.getValidatedIdTokenClaims(tokens);
    const info = await oauth.userInfoRequest(as, cli, tokens.access_token, INSECURE);
    await oauth.processUserInfoResponse(as, cli, claims?.sub ?? assert.fail('no ID token'), info);
  });
});
