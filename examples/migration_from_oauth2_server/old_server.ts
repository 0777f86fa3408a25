// The authorization server that the host had.
import { AuthorizationServer, DateInterval, type JwtInterface } from '@jmondi/oauth2-server';
import type { OldRepositories } from './old_repositories.ts';

/** @param key the secret of HS256, or the host's own service for JWTs */
export function oldServer(
  { clients, tokens, scopes, authCodes, users }: OldRepositories,
  key: string | JwtInterface,
  accessTokenLifetime = '1h',
): AuthorizationServer {
  const server = new AuthorizationServer(clients, tokens, scopes, key);
  const lifetime = new DateInterval(accessTokenLifetime);
  server.enableGrantTypes(
    ['client_credentials', lifetime],
    ['refresh_token', lifetime],
    [{ grant: 'authorization_code', authCodeRepository: authCodes, userRepository: users }, lifetime],
  );
  return server;
}
