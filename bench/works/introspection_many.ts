import type { PopulationOrder } from '../population/order.ts';
import { COPIED } from '../population/populate.ts';
import { grantd } from '../subjects/contestants.ts';
import { ACTIVE } from './answers.ts';
import { introspecting } from './requests.ts';
import { type Sizes, tokensOf } from './stage.ts';
import type { Work } from './work.ts';

const name = 'introspection-many';

/** Tokens in use, relative to the other works. */
const TIMES_TOKENS = 10;
/** A share of the rows: the requested tokens must not be the only ones. */
const TOKENS_PART = 0.9;

/** A full cache keeps at least the half that was used last (ADR 62), so half of it has to hold all tokens. */
const TIMES_CACHED = 2;

/** The contestant that gets requests about a tenth of the tokens. */
export const A_TENTH = 'grantd, a tenth in use';

/** All tokens are opaque, because the JWTs would take minutes to sign. */
export function manyOrder({ tokens }: Sizes): PopulationOrder & { readonly tokens: { opaque: number } } {
  const opaque = TIMES_TOKENS * tokens;
  return { records: Math.ceil(opaque / TOKENS_PART) + COPIED, tokens: { opaque } };
}

/**
 * More tokens in use than the program caches by default, with a cache that is large enough for them. The program is
 * compared with itself: same database, same size of the cache, a tenth of the tokens.
 */
export const introspectionMany: Work = {
  name,
  title: 'introspection, opaque, ten times as many tokens in use, all cached',
  connections: 32,
  async contestants(stage) {
    const order = manyOrder(stage.sizes);
    const population = await stage.populationOf(order);
    const tokens = tokensOf(population, 'opaque');
    const flags = ['--cached-tokens', String(TIMES_CACHED * order.tokens.opaque)];
    const asking = async (contestant: string, count: number) => {
      const planned = introspecting(tokens.slice(0, count));
      const workload = { ...(await stage.requests(`${name}.${count}`, planned)), answers: [ACTIVE] };
      return grantd(stage, population, workload, { name: contestant, flags, first: workload });
    };
    return [
      await asking('grantd', order.tokens.opaque),
      await asking(A_TENTH, order.tokens.opaque / TIMES_TOKENS),
    ];
  },
};
