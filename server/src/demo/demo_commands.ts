import { type AuthorizationServer, OperatorIssueError } from '@grantd/core';
import type { Instance } from '../instance/instance.ts';
import type { DemoPerson } from './add_demo_data.ts';
import { DEMO_CLIENTS } from './demo_clients.ts';
import { demoSignIn } from './demo_sign_in.ts';

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
