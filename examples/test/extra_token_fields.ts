import type { ApplicationClaims } from '@grantd/core';
import { type ExtraAccessTokenFieldArgs, JwtService } from '@jmondi/oauth2-server';
import type { OldRepositories } from '../migration_from_oauth2_server/old_repositories.ts';

// before
export class OldJwtService extends JwtService {
  extraTokenFields({ user, client }: ExtraAccessTokenFieldArgs) {
    return { tenant: `tenant of ${user?.email}`, app: client.id };
  }
}

// after
export const applicationClaims = ({ users }: OldRepositories): ApplicationClaims => ({
  claims: {
    tenant: { in: ['access_token', 'introspection'] },
    app: { in: ['access_token', 'introspection'] },
  },
  valuesOf: ({ subject, clientId }) => ({ tenant: `tenant of ${users.find(subject)?.email}`, app: clientId }),
});
