import type { AdministrableStorage, AuthorizationServer } from '@grantd/core';
import { GRANT_TYPES } from '@grantd/core';
import type { OldRepositories } from './old_repositories.ts';

/** Registers the old server's clients, once: grantd keeps no secret as it is, and has neither `password` nor `implicit`. */
export async function importClients(
  { clients }: Pick<AdministrableStorage, 'clients'>,
  server: AuthorizationServer,
  old: OldRepositories['clients'],
): Promise<void> {
  for (const { id, name, secret, redirectUris, allowedGrants, scopes } of old.all()) {
    await clients.add({
      id,
      name,
      redirectUris,
      ...(secret && { secretHash: await server.hashClientSecret(secret) }),
      grantTypes: GRANT_TYPES.filter((grant) => allowedGrants.includes(grant)),
      scopes: scopes.map((scope) => scope.name),
    });
  }
}
