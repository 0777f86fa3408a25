import { type AdministrableStorage, AuthorizationServer, type ServerEvent } from '@grantd/core';
import { FUNCTION } from './transports/function.ts';
import { SECRET, World, type WorldOptions } from './world.ts';

/** Options of a host whose own service cannot sign with RS256. Tokens are opaque, so nothing else needs a signature. */
export const CANNOT_SIGN = {
  useOpaqueRefreshTokens: true,
  accessTokenFormat: 'opaque',
  jwtService: {
    algorithms: ['ES256'],
    sign: () => Promise.reject(new Error('nothing is signed here')),
    verify: async () => ({ verified: false, reason: 'malformed' }),
    publicKeys: async () => [],
  },
} as const satisfies WorldOptions;

/**
 * Another server object over a world's storage and clock, as after a restart or in a second process. Of the harness's
 * options it has only the secret, so OpenID Connect is off by default.
 * @param storage the same records behind a wrapper
 */
export async function secondServer(
  { storage: shared, clock, server: { issuer } }: World,
  options: WorldOptions = {},
  storage: AdministrableStorage = shared,
): Promise<World> {
  const events: ServerEvent[] = [];
  const onEvent = (event: ServerEvent) => events.push(event);
  const server = new AuthorizationServer({
    issuer,
    secret: SECRET,
    onEvent,
    ...options,
    storage,
    clock: clock.read,
  });
  return new World({ server, storage, clock, events, transport: await FUNCTION.open(server) });
}
