import * as client from 'openid-client';
import { Browser, signInAndConsent } from './browser.ts';
import type { RunningServer } from './program.ts';

type Parameters = Record<string, string>;

/** An openid-client configuration, from the server's own metadata. */
export function discovered(
  { url }: Pick<RunningServer, 'url'>,
  id: string,
  authentication: client.ClientAuth,
  metadata?: Partial<client.ClientMetadata>,
): Promise<client.Configuration> {
  return client.discovery(new URL(url), id, metadata, authentication, {
    execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks],
  });
}

interface CodeFlow {
  readonly redirectUri: string;
  /** In addition to those of every request. */
  readonly parameters?: Parameters;
  /** How the request is sent. Default: in the query. */
  readonly request?: (configuration: client.Configuration, parameters: Parameters) => URL | Promise<URL>;
  /** The browser of the user. Default: a new one each time. */
  readonly browser?: Browser;
  /** Handles the pages between request and response. Default: sign-in and consent. */
  readonly person?: (url: URL) => Promise<URL | Request>;
  /** Binds the tokens to a key (RFC 9449). */
  readonly DPoP?: client.DPoPHandle;
}

/** Runs the code flow through the real pages to its tokens, with all checks of openid-client. */
export async function codeFlow(
  { url: server }: Pick<RunningServer, 'url'>,
  configuration: client.Configuration,
  flow: CodeFlow,
): Promise<client.TokenEndpointResponse & client.TokenEndpointResponseHelpers> {
  const verifier = client.randomPKCECodeVerifier();
  const [nonce, state] = [client.randomNonce(), client.randomState()];
  const request = flow.request ?? client.buildAuthorizationUrl;
  const url = await request(configuration, {
    redirect_uri: flow.redirectUri,
    scope: 'openid profile email',
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    nonce,
    state,
    ...flow.parameters,
  });
  const goThrough =
    flow.person ?? ((to: URL) => signInAndConsent(flow.browser ?? new Browser(server), to.href));
  const checks = {
    pkceCodeVerifier: verifier,
    expectedNonce: nonce,
    expectedState: state,
    idTokenExpected: true,
  };
  const { DPoP } = flow;
  return client.authorizationCodeGrant(
    configuration,
    await goThrough(url),
    checks,
    undefined,
    DPoP && { DPoP },
  );
}
