import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import * as client from 'openid-client';
import { Browser, signInAndConsent } from './harness/browser.ts';
import { type RunningServer, Workbench } from './harness/program.ts';

const workbench = new Workbench();
after(() => workbench.clear());

/** An openid-client configuration for a demo client, from the server's own metadata. */
function discovered(
  { url }: RunningServer,
  id: string,
  authentication: client.ClientAuth,
  algorithm: 'oauth2' | 'oidc' = 'oidc',
): Promise<client.Configuration> {
  return client.discovery(new URL(url), id, undefined, authentication, {
    execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
    algorithm,
  });
}

describe('openid-client', () => {
  let server: RunningServer;
  before(async () => {
    server = await workbench.start(workbench.folder(), ['--demo']);
  });

  /** The code flow to its tokens, with a nonce and a state. */
  async function signIn(
    configuration: client.Configuration,
    redirectUri: string,
    { url: serverUrl }: RunningServer = server,
    DPoP?: client.DPoPHandle,
  ) {
    const verifier = client.randomPKCECodeVerifier();
    const [nonce, state] = [client.randomNonce(), client.randomState()];
    const parameters = {
      redirect_uri: redirectUri,
      scope: 'openid profile email offline_access',
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      nonce,
      state,
      max_age: '3600',
    };
    const url =
      DPoP === undefined
        ? client.buildAuthorizationUrl(configuration, parameters)
        : await client.buildAuthorizationUrlWithPAR(configuration, parameters, { DPoP });
    const callback = await signInAndConsent(new Browser(serverUrl), url.href);
    const checks = {
      pkceCodeVerifier: verifier,
      expectedNonce: nonce,
      expectedState: state,
      maxAge: 3600,
      idTokenExpected: true,
    };
    return client.authorizationCodeGrant(configuration, callback, checks, undefined, {
      ...(DPoP && { DPoP }),
    });
  }

  const CLIENTS = [
    ['demo-web', 'http://localhost:4001/callback', client.ClientSecretBasic('demo-web-secret')],
    ['demo-web', 'http://localhost:4001/callback', client.ClientSecretPost('demo-web-secret')],
    ['demo-spa', 'http://localhost:4002/callback', client.None()],
  ] as const;

  for (const [id, redirectUri, authentication] of CLIENTS) {
    const method = ['client_secret_basic', 'client_secret_post', 'none'][
      CLIENTS.findIndex((one) => one[2] === authentication)
    ];

    test(`${id} by ${method}: code flow with PKCE, ID token, UserInfo, refresh and revocation`, async () => {
      const configuration = await discovered(server, id, authentication);
      const tokens = await signIn(configuration, redirectUri);
      const claims = tokens.claims();
      assert.ok(claims);
      assert.equal(claims.aud, id);

      const person = await client.fetchUserInfo(configuration, tokens.access_token, claims.sub);
      assert.equal(person.email, 'alice@example.com');

      const refreshed = await client.refreshTokenGrant(configuration, tokens.refresh_token ?? '');
      assert.notEqual(refreshed.refresh_token, tokens.refresh_token);
      await client.fetchUserInfo(configuration, refreshed.access_token, claims.sub);

      await client.tokenRevocation(configuration, refreshed.refresh_token ?? '', {
        token_type_hint: 'refresh_token',
      });
      await assert.rejects(client.fetchUserInfo(configuration, refreshed.access_token, claims.sub));
      await assert.rejects(
        client.refreshTokenGrant(configuration, refreshed.refresh_token ?? ''),
        (error) => error instanceof client.ResponseBodyError && error.error === 'invalid_grant',
      );
    });
  }

  test('demo-api introspects the tokens of another client', async () => {
    const web = await discovered(server, 'demo-web', client.ClientSecretBasic('demo-web-secret'));
    const api = await discovered(server, 'demo-api', client.ClientSecretBasic('demo-api-secret'), 'oauth2');
    const tokens = await signIn(web, 'http://localhost:4001/callback');
    const alive = await client.tokenIntrospection(api, tokens.access_token);
    assert.equal(alive.active, true);
    assert.equal(alive.client_id, 'demo-web');
    assert.equal(alive.username, 'alice');
    const refresh = await client.tokenIntrospection(api, tokens.refresh_token ?? '', {
      token_type_hint: 'refresh_token',
    });
    assert.equal(refresh.active, true);
    await client.tokenRevocation(web, tokens.access_token);
    assert.deepEqual({ ...(await client.tokenIntrospection(api, tokens.access_token)) }, { active: false });
    assert.deepEqual(
      { ...(await client.tokenIntrospection(api, tokens.refresh_token ?? '')) },
      { active: false },
    );
  });

  for (const nonces of ['offered', 'required'])
    test(`RFC 9449: openid-client signs in with DPoP, refreshes, and reads UserInfo with its proofs: nonces ${nonces}`, async () => {
      const bound = await workbench.start(workbench.folder(), ['--demo', '--dpop-nonces', nonces]);
      for (const [id, redirectUri, authentication] of CLIENTS.slice(1)) {
        const configuration = await discovered(bound, id, authentication);
        const DPoP = client.getDPoPHandle(configuration, await client.randomDPoPKeyPair());
        const tokens = await signIn(configuration, redirectUri, bound, DPoP);
        assert.equal(tokens.token_type, 'dpop');
        const refreshed = await client.refreshTokenGrant(
          configuration,
          tokens.refresh_token ?? '',
          undefined,
          {
            DPoP,
          },
        );
        const sub = tokens.claims()?.sub ?? '';
        const person = await client.fetchUserInfo(configuration, refreshed.access_token, sub, { DPoP });
        assert.equal(person.email, 'alice@example.com');

        // A thief has the tokens, but another key or none.
        const foreign = client.getDPoPHandle(configuration, await client.randomDPoPKeyPair());
        for (const options of [{}, { DPoP: foreign }])
          await assert.rejects(client.fetchUserInfo(configuration, refreshed.access_token, sub, options), {
            name: 'WWWAuthenticateChallengeError',
          });
        const stolen = client.refreshTokenGrant(configuration, refreshed.refresh_token ?? '', undefined, {
          DPoP: foreign,
        });
        if (id === 'demo-spa') await assert.rejects(stolen, { error: 'invalid_grant' });
        else assert.equal((await stolen).token_type, 'dpop');
      }
    });

  test('demo-machine gets a token for itself', async () => {
    const machine = await discovered(
      server,
      'demo-machine',
      client.ClientSecretBasic('demo-machine-secret'),
      'oauth2',
    );
    const tokens = await client.clientCredentialsGrant(machine, { scope: 'api:read' });
    assert.equal(tokens.scope ?? 'api:read', 'api:read');
    assert.equal((await client.tokenIntrospection(machine, tokens.access_token)).scope, 'api:read');
  });
});
