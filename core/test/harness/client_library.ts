import { mount } from '@grantd/core/fetch';
import * as oauth from 'oauth4webapi';
import { ISSUER, type World } from './world.ts';

/** The request of an oauth4webapi call. */
interface Sent {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body?: URLSearchParams | undefined | null;
}

/** Connects oauth4webapi to a server of the tests, with its clock. */
export function libraryOptions(world: World) {
  const answer = mount(world.server);
  return {
    [oauth.customFetch]: (url: string, { method, headers, body }: Sent) =>
      answer(new Request(url, { method, headers, body: body ?? null })),
    [oauth.clockSkew]: world.clock.seconds - Math.floor(Date.now() / 1000),
  };
}

/** The server, from its metadata. */
export async function discovered(
  options: ReturnType<typeof libraryOptions>,
): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(ISSUER);
  return oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options));
}
