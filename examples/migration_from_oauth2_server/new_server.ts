import {
  type AdministrableStorage,
  AuthorizationServer,
  guarded,
  ServerSecret,
  SigningKeys,
  StoredKeysJwtService,
} from '@grantd/core';
import { withFormerTokens } from './former_tokens.ts';
import type { OldRepositories } from './old_repositories.ts';
import { type OldKey, withOldSignatures } from './old_signatures.ts';
import { oldTokens } from './old_tokens.ts';

/** grantd where the old server was. */
export async function newServer(
  issuer: string,
  secret: string,
  storage: AdministrableStorage,
  { tokens, users }: OldRepositories,
  oldKey: OldKey,
): Promise<AuthorizationServer> {
  const keys = new SigningKeys(guarded(storage.keys), new ServerSecret(secret), Date.now, ['RS256']);
  await keys.prepare();
  const former = guarded(oldTokens(tokens));
  return new AuthorizationServer({
    issuer,
    secret,
    storage: withFormerTokens(storage, former),
    jwtService: withOldSignatures(new StoredKeysJwtService(keys), oldKey, issuer, former),
    oidc: { getUserClaims: (subject) => users.claimsOf(subject) },
    getSubjectState: (subject) => users.stateOf(subject),
  });
}
