import { createHash, randomBytes } from 'node:crypto';
import {
  type AuthorizationServer,
  type Claims,
  DEVICE_GRANT,
  type NewClient,
  OperatorIssueError,
} from '@grantd/core';
import type { Person } from '../src/data/people.ts';
import type { Instance } from '../src/instance/instance.ts';
import type { PasswordHasher } from '../src/people/password_hasher.ts';

type DemoClient = Omit<NewClient, 'secrets'> & { readonly secret?: string };

const PERSONAL = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'];

const API = 'http://localhost:4003';

/** The demo clients. Their secrets are public, so they exist only on loopback. */
export const DEMO_CLIENTS = {
  web: {
    id: 'demo-web',
    name: 'Demo web application',
    secret: 'demo-web-secret',
    grantTypes: ['authorization_code', 'refresh_token'],
    scopes: PERSONAL,
    redirectUris: ['http://localhost:4001/callback'],
    metadata: { post_logout_redirect_uris: ['http://localhost:4001/'] },
  },
  api: {
    id: 'demo-api',
    name: 'Demo API',
    secret: 'demo-api-secret',
    grantTypes: [],
    scopes: [],
    redirectUris: [],
    resource: API,
    metadata: { api_scopes: ['api:read', 'api:write'] },
  },
  spa: {
    id: 'demo-spa',
    name: 'Demo single-page application',
    grantTypes: ['authorization_code', 'refresh_token'],
    scopes: [...PERSONAL, 'api:read'],
    redirectUris: ['http://localhost:4002/callback'],
    metadata: {
      token_endpoint_auth_method: 'none',
      // As a native application, it would need consent each time, because any program can listen on loopback.
      application_type: 'web',
      post_logout_redirect_uris: ['http://localhost:4002/'],
      apis: [API],
    },
  },
  commandLine: {
    id: 'demo-cli',
    name: 'Demo command line',
    grantTypes: ['authorization_code', 'refresh_token', DEVICE_GRANT],
    scopes: PERSONAL,
    // With any port.
    redirectUris: ['http://127.0.0.1/callback', 'http://localhost/callback'],
    metadata: { token_endpoint_auth_method: 'none', application_type: 'native' },
  },
  machine: {
    id: 'demo-machine',
    name: 'Demo machine',
    secret: 'demo-machine-secret',
    grantTypes: ['client_credentials'],
    scopes: ['api:read', 'api:write'],
    redirectUris: [],
    metadata: { apis: [API] },
  },
} satisfies Record<string, DemoClient>;

export const DEMO_PERSON = {
  name: 'alice',
  password: 'wonderland',
  /** A claim for every standard scope (OpenID Connect Core §5.1). */
  claims: {
    name: 'Alice Liddell',
    given_name: 'Alice',
    family_name: 'Liddell',
    middle_name: 'Pleasance',
    nickname: 'Al',
    profile: 'https://alice.example/',
    picture: 'https://alice.example/portrait.png',
    website: 'https://alice.example/',
    gender: 'female',
    birthdate: '1852-05-04',
    zoneinfo: 'Europe/London',
    locale: 'en-GB',
    updated_at: 1_700_000_000,
    email: 'alice@example.com',
    email_verified: true,
    address: {
      formatted: 'The Deanery\nOxford OX1 1DP\nUnited Kingdom',
      street_address: 'The Deanery',
      locality: 'Oxford',
      postal_code: 'OX1 1DP',
      country: 'United Kingdom',
    },
    phone_number: '+441865000000',
    phone_number_verified: true,
  } satisfies Claims,
} as const;

/** The demo user, as stored in the database. */
interface DemoPerson extends Person {
  /** The demo password, if it is unchanged. */
  readonly knownPassword?: string;
}

/**
 * Adds missing demo data. Existing data stays unchanged.
 * @param hasher passed in, so that this file imports only types of the program
 * @returns a function that returns commands to paste
 */
export async function addDemoData(
  instance: Instance,
  server: AuthorizationServer,
  hasher: Pick<PasswordHasher, 'hash' | 'check'>,
): Promise<() => Promise<string>> {
  const { storage, people, demoMark } = instance;
  await demoMark.set();
  for (const client of Object.values(DEMO_CLIENTS)) {
    if (await storage.clients.get(client.id)) continue;
    const { secret, ...registration } = { secret: undefined, ...client };
    await storage.clients.add({
      ...registration,
      ...(secret !== undefined && { secrets: [await server.operator.hashClientSecret(secret)] }),
    });
  }

  const { name, password, claims } = DEMO_PERSON;
  if (!(await people.byName(name)))
    await people.add({ name, passwordHash: await hasher.hash(password), claims });
  const person = await people.byName(name);
  if (person === undefined) throw new Error('the person of the demo was not stored');
  const { fits: isKnown } = await hasher.check(password, person.passwordHash);
  return () => demoCommands(instance, server, { ...person, ...(isKnown && { knownPassword: password }) });
}

/** Commands to paste, with a fresh token, and their output. */
async function demoCommands(
  { storage, issuer }: Instance,
  server: AuthorizationServer,
  person: DemoPerson,
): Promise<string> {
  const { web, api } = DEMO_CLIENTS;
  // JWTs, the default for clients, work the same.
  const order = {
    clientId: web.id,
    subject: person.subject,
    username: person.name,
    format: 'opaque',
  } as const;
  const issued = await server.operator.issueTokens(order).catch((error: unknown) => {
    if (error instanceof OperatorIssueError) return error;
    throw error;
  });
  if (issued instanceof OperatorIssueError) return `No demo commands: ${issued.message}.\n`;
  const token = issued[0]?.accessToken;
  if (token === undefined) throw new Error('no token was issued');

  const caller = await storage.clients.get(api.id);
  if (!caller) throw new Error('the API was removed');
  const introspection = JSON.stringify(await server.introspectToken(token, { caller }));
  const {
    introspection_endpoint: introspectionUrl,
    userinfo_endpoint: userInfoUrl,
    revocation_endpoint: revocationUrl,
  } = server.serverMetadata;
  const introspect = `curl -s -u ${api.id}:${api.secret} -d token=${token} ${introspectionUrl}`;
  const [readClaims, claims] =
    userInfoUrl === undefined
      ? ['(not available)', 'OpenID Connect is off']
      : [
          `curl -s -H "Authorization: Bearer ${token}" ${userInfoUrl}`,
          JSON.stringify(await server.userInfoOf(token)),
        ];

  return `
A new access token of ${person.name} for ${web.id}. It is opaque, so it fits on one line:

  ${token}

1. An API, ${api.id}, checks whether the token is active (RFC 7662):

  ${introspect}
  ${introspection}

2. ${web.id} reads the user's claims (OpenID Connect Core §5.3):

  ${readClaims}
  ${claims}

3. ${web.id} revokes the token (RFC 7009). The response is 200 and empty:

  curl -s -u ${web.id}:${web.secret} -d token=${token} ${revocationUrl}

4. From now on, the token is inactive everywhere:

  ${introspect}
  {"active":false}

${demoSignIn({ issuer, serverMetadata: server.serverMetadata }, person.name, person.knownPassword)}`;
}

interface DemoServer {
  readonly issuer: string;
  /** Server metadata (RFC 8414 §2, RFC 9126 §5). */
  readonly serverMetadata: Readonly<Record<string, unknown>>;
}

/**
 * Steps to see the pages in a browser without an application.
 * @param knownPassword the demo password, if it is unchanged
 */
function demoSignIn(server: DemoServer, name: string, knownPassword: string | undefined): string {
  const { api, machine } = DEMO_CLIENTS;
  const who = `${name} (${knownPassword === undefined ? 'whose password was changed' : `password ${knownPassword}`})`;
  // A link cannot push its request.
  const steps = server.serverMetadata.require_pushed_authorization_requests ? '' : signInSteps(server, who);
  return `${steps}The account of ${who}, where users end the access of an application:

  ${server.issuer.replace(/\/$/, '')}/account

The emails that the demo would send, without --smtp-url:

  ${server.issuer.replace(/\/$/, '')}/demo/mailbox

${machine.id} gets a token for the API ${api.id}, on its own behalf:

  curl -s -u ${machine.id}:${machine.secret} -d grant_type=client_credentials -d scope=api:read -d resource=${api.resource} ${server.serverMetadata.token_endpoint}

${clientTable()}
`;
}

/** Everything an application needs to act as a demo client. */
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
  return `Demo clients:\n\n${rows.join('\n')}\n`;
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

  The browser ends at ${callback}?code=…, where an application would listen. The demo has none,
  so the browser cannot connect. The code in the address bar is valid for one minute:

  CODE=…; curl -s -u ${id}:${secret} ${redeem} ${tokenUrl}

`;
}
