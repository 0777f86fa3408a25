// The host's previous authorization server.
import {
  AuthorizationServer,
  type AuthorizationServerOptions,
  DateInterval,
  type JwtInterface,
} from '@jmondi/oauth2-server';
import type { OldRepositories } from './old_repositories.ts';

/** @param key the HS256 secret, or the host's own JWT service */
export function oldServer(
  { clients, tokens, scopes, authCodes, users }: OldRepositories,
  key: string | JwtInterface,
  accessTokenLifetime = '1h',
  options: Partial<AuthorizationServerOptions> = {},
): AuthorizationServer {
  const server = new AuthorizationServer(clients, tokens, scopes, key, options);
  const lifetime = new DateInterval(accessTokenLifetime);
  server.enableGrantTypes(
    ['client_credentials', lifetime],
    ['refresh_token', lifetime],
    [{ grant: 'authorization_code', authCodeRepository: authCodes, userRepository: users }, lifetime],
  );
  return server;
}
