import { type HandlerFigures, measureHandlers } from '../follow/handlers.ts';
import { Servers } from '../follow/servers.ts';
import type { Generator } from '../load/generator.ts';
import { GENERATOR_CORE } from '../processes/pinning.ts';

/** Different tokens, sent in turn. */
const TOKENS = 200;

/** What a request costs an API, by the name of the authorization server and the way of checking its token. */
export type ApiChecks = Readonly<Record<string, HandlerFigures>>;

interface ApiChecksOrder {
  readonly generator: Generator;
  readonly rounds: number;
  readonly seconds: number;
}

/** The API has the server's core; the authorization servers share the generator's. */
export async function measureApiChecks(order: ApiChecksOrder): Promise<ApiChecks> {
  const servers = new Servers(GENERATOR_CORE);
  try {
    const issuers = [await servers.grantd(), await servers.oidcProvider()];
    return await measureHandlers(servers, issuers, { ...order, tokens: TOKENS });
  } finally {
    await servers.close();
  }
}
