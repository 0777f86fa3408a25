import { createHash, randomBytes } from 'node:crypto';
import { type AuthorizationServer, type Claims, type NewClient, OperatorIssueError } from '@grantd/core';
import type { Person } from '../data/people.ts';
import type { Instance } from '../instance/instance.ts';
import { PasswordHasher } from '../people/password_hasher.ts';

type DemoClient = Omit<NewClient, 'secrets'> & { readonly secret?: string };

const PERSONAL = ['openid', 'profile', 'email', 'address', 'phone', 'offline_access'];

const API = 'http://localhost:4003';

/** Their secrets are known to everyone: they exist on loopback only. */
const DEMO_CLIENTS = {
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
      // Without it, any program on loopback could be meant, and the person is asked each time.
      application_type: 'web',
      post_logout_redirect_uris: ['http://localhost:4002/'],
      apis: [API],
    },
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
    preferred_username: 'alice',
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

/** The person of the demo, as they are in the database. */
interface DemoPerson extends Person {
  /** Theirs, where it is still the one that everyone knows. */
  readonly knownPassword?: string;
}

/** Adds what is missing of the demo data; what is there stays as it is. */
export async function addDemoData(
  { storage, people, demoMark }: Instance,
  server: AuthorizationServer,
): Promise<DemoPerson> {
  await demoMark.set();
  for (const client of Object.values(DEMO_CLIENTS)) {
    if (await storage.clients.get(client.id)) continue;
    const { secret, ...registration } = { secret: undefined, ...client };
    await storage.clients.add({
      ...registration,
      ...(secret !== undefined && { secrets: [await server.hashClientSecret(secret)] }),
    });
  }

  const { name, password, claims } = DEMO_PERSON;
  const hasher = new PasswordHasher();
  if (!(await people.byName(name)))
    await people.add({ name, passwordHash: await hasher.hash(password), claims });
  const person = await people.byName(name);
  if (person === undefined) throw new Error('the person of the demo was not stored');
  return {
    ...person,
    ...((await hasher.fits(password, person.passwordHash)) && { knownPassword: password }),
  };
}

/** Commands that work when pasted, with a token that was issued for them just now, and what they answer. */
export async function demoCommands(
  { storage, issuer }: Instance,
  server: AuthorizationServer,
  person: DemoPerson,
): Promise<string> {
  const { web, api } = DEMO_CLIENTS;
  // Everything works the same with the JWTs that clients get by default.
  const order = {
    clientId: web.id,
    subject: person.subject,
    username: person.name,
    format: 'opaque',
  } as const;
  const issued = await server.issueTokens(order).catch((error: unknown) => {
    if (error instanceof OperatorIssueError) return error;
    throw error;
  });
  if (issued instanceof OperatorIssueError) return `No demo commands: ${issued.message}.\n`;
  const token = issued[0]?.accessToken;
  if (token === undefined) throw new Error('no token was issued');

  const caller = (await storage.clients.get(api.id)) ?? undefined;
  const introspection = JSON.stringify(await server.introspectToken(token, { caller }));
  const {
    introspection_endpoint: introspectionUrl,
    userinfo_endpoint: userInfoUrl,
    revocation_endpoint: revocationUrl,
  } = server.serverMetadata;
  const introspect = `curl -s -u ${api.id}:${api.secret} -d token=${token} ${introspectionUrl}`;
  const [readClaims, claims] =
    userInfoUrl === undefined
      ? ['nothing can be asked:', 'OpenID Connect is off']
      : [
          `curl -s -H "Authorization: Bearer ${token}" ${userInfoUrl}`,
          JSON.stringify(await server.userInfoOf(token)),
        ];

  return `
An access token of ${person.name} for ${web.id}, issued just now; an opaque one, which fits a line:

  ${token}

1. An API, ${api.id}, asks whether the token is alive (RFC 7662):

  ${introspect}
  ${introspection}

2. ${web.id} asks whose it is (OpenID Connect Core §5.3):

  ${readClaims}
  ${claims}

3. ${web.id} revokes it (RFC 7009); the answer is 200 and empty:

  curl -s -u ${web.id}:${web.secret} -d token=${token} ${revocationUrl}

4. From now on it is dead, everywhere:

  ${introspect}
  {"active":false}

${demoSignIn({ issuer, serverMetadata: server.serverMetadata }, person.name, person.knownPassword)}`;
}

interface DemoServer {
  readonly issuer: string;
  /** As in the metadata (RFC 8414 §2, RFC 9126 §5). */
  readonly serverMetadata: Readonly<Record<string, unknown>>;
}

/**
 * How to see the pages in a browser, without an application that sends somebody there.
 * @param knownPassword of the person, where it is still the one that everyone knows
 */
function demoSignIn(server: DemoServer, name: string, knownPassword: string | undefined): string {
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
