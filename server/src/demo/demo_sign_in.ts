import { createHash, randomBytes } from 'node:crypto';
import { DEMO_CLIENTS, type DemoClient } from './demo_clients.ts';

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
  const { api, machine } = DEMO_CLIENTS;
  const who = `${name} (${knownPassword === undefined ? 'whose password was changed' : `password ${knownPassword}`})`;
  // A link has no client that could push its request.
  const steps = server.serverMetadata.require_pushed_authorization_requests ? '' : signInSteps(server, who);
  return `${steps}The account of ${who}, with a button that ends the access of an application:

  ${server.issuer.replace(/\/$/, '')}/account

${machine.id} gets a token for the API ${api.id}, for itself:

  curl -s -u ${machine.id}:${machine.secret} -d grant_type=client_credentials -d scope=api:read -d resource=${api.resource} ${server.serverMetadata.token_endpoint}

${clientTable()}
`;
}

/** All that an application needs to be one of the clients of the demo. */
function clientTable(): string {
  const clients: readonly DemoClient[] = Object.values(DEMO_CLIENTS);
  const rows = clients.map(({ id, secret, redirectUris, resource, scopes: own, metadata }) => {
    const { post_logout_redirect_uris: afterLogout = [], api_scopes: scopes = [] } = metadata ?? {};
    return [
      `  ${id}`,
      `    secret            ${secret ?? 'none: a public client'}`,
      ...redirectUris.map((uri) => `    redirect URI      ${uri}`),
      ...afterLogout.map((uri) => `    after logout      ${uri}`),
      ...(resource === undefined ? [] : [`    resource          ${resource}`]),
      ...(scopes.length === 0 ? [] : [`    declares          ${scopes.join(' ')}`]),
      ...(own.length === 0 ? [] : [`    scopes            ${own.join(' ')}`]),
    ].join('\n');
  });
  return `The clients of the demo:\n\n${rows.join('\n')}\n`;
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
