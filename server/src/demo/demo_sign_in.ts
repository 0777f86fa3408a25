import { createHash, randomBytes } from 'node:crypto';
import { DEMO_CLIENTS } from './demo_clients.ts';

interface DemoServer {
  readonly issuer: string;
  /** As in the metadata (RFC 8414 §2, RFC 9126 §5). */
  readonly serverMetadata: Readonly<Record<string, unknown>>;
}

/**
 * How to see the pages in a browser, without an application that sends somebody there.
 * @param knownPassword of the person, where it is still the one that everyone knows
 */
export function demoSignIn(server: DemoServer, name: string, knownPassword: string | undefined): string {
  const { spa, machine } = DEMO_CLIENTS;
  const who = `${name} (${knownPassword === undefined ? 'whose password was changed' : `password ${knownPassword}`})`;
  // A link has no client that could push its request.
  const steps = server.serverMetadata.require_pushed_authorization_requests ? '' : signInSteps(server, who);
  return `${steps}The account of ${who}, with a button that ends the access of an application:

  ${server.issuer.replace(/\/$/, '')}/account

There are also ${spa.id}, a public client, and ${machine.id}, which acts for itself: npx grantd client list

`;
}

function signInSteps({ serverMetadata }: DemoServer, who: string): string {
  const {
    authorization_endpoint: endpoint,
    token_endpoint: tokenUrl,
    userinfo_endpoint: oidc,
  } = serverMetadata;
  const { id, secret, redirectUris } = DEMO_CLIENTS.web;
  const [callback = ''] = redirectUris;
  const verifier = randomBytes(32).toString('base64url');
  const parameters = new URLSearchParams({
    response_type: 'code',
    client_id: id,
    redirect_uri: callback,
    scope: oidc === undefined ? 'email' : 'openid profile email',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  });
  const redeem = `-d grant_type=authorization_code -d code=$CODE -d redirect_uri=${callback} -d code_verifier=${verifier}`;
  return `5. ${who} signs in to ${id}: open this in a browser.

  ${endpoint}?${parameters}

  It ends at ${callback}?code=…, where an application would listen. In the demo nothing does,
  and the browser cannot connect; the code in its address is good for a minute:

  CODE=…; curl -s -u ${id}:${secret} ${redeem} ${tokenUrl}

`;
}
