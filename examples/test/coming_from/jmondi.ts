import { jwtVerifier } from '@grantd/core';
import { jmondi } from '../../coming_from/jmondi.ts';
import { oldRepositories } from '../../migration_from_oauth2_server/old_repositories.ts';
import { oldServer } from '../../migration_from_oauth2_server/old_server.ts';
import { APP, askOldServer, hostTables, ISSUER, issueAt, OLD_SECRET, OTHER } from '../migrating.ts';
import { issuedTokens, type OtherServer } from './other_server.ts';

export async function jmondiServer(
  options: { readonly useOpaqueRefreshTokens?: boolean } = {},
  path = ':memory:',
): Promise<OtherServer> {
  const tables = hostTables(path);
  const repositories = oldRepositories(tables);
  const server = oldServer(repositories, OLD_SECRET, '1h', { ...options, issuer: ISSUER });
  const credentials = ({ client_id: id, client_secret: secret }: typeof APP) => ({ id, secret });
  return {
    issuer: ISSUER,
    storage: jmondi(tables.database, options),
    jwtService: jwtVerifier([{ algorithm: 'HS256', secret: OLD_SECRET }]),
    hasGenericJwts: true,
    app: credentials(APP),
    other: credentials(OTHER),
    subject: '7',
    scope: 'openid email',
    issue: async () => issueAt(server, await repositories.users.getUserByCredentials(7)),
    async accepts(token) {
      const { body } = await askOldServer(server, 'introspect', { ...APP, token });
      return body.active === true;
    },
    async refresh(refresh_token) {
      const fields = { ...APP, grant_type: 'refresh_token', refresh_token };
      const { status, body } = await askOldServer(server, 'respondToAccessTokenRequest', fields);
      return status === 200 ? issuedTokens(body) : undefined;
    },
    revoke: (token) => askOldServer(server, 'revoke', { ...APP, token }),
    async [Symbol.asyncDispose]() {
      tables.close();
    },
  };
}
