import { mount } from '@grantd/core/fetch';
import * as oauth from 'oauth4webapi';
import { ISSUER, type World } from './world.ts';

/** What a call of oauth4webapi sends. */
interface Sent {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: URLSearchParams | undefined | null;
}

/** How oauth4webapi reaches a server of the tests, and what time it is there. */
export function libraryOptions(world: World) {
  const answer = mount(world.server);
  return {
    [oauth.customFetch]: (url: string, { method, headers, body }: Sent) =>
      answer(new Request(url, { method, headers, body: body ?? null })),
    [oauth.clockSkew]: world.clock.seconds - Math.floor(Date.now() / 1000),
  };
}

/** The server as the library knows it from its metadata. */
export async function discovered(
  options: ReturnType<typeof libraryOptions>,
): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(ISSUER);
  return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options));
}
