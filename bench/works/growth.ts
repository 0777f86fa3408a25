import type { PopulationOrder } from '../population/order.ts';
import { grantd } from '../subjects/contestants.ts';
import { ACTIVE } from './answers.ts';
import { introspecting } from './requests.ts';
import { opaqueOf, type Sizes, type Stage, tokensOf } from './stage.ts';
import type { Contestant, Work } from './work.ts';

const name = 'growth';

/** Numbers of records, relative to those of the other works. */
const SIZES = [0.01, 0.1, 1, 10];

/** A share of the rows: the requested tokens must not be the only ones. */
const OPAQUE_PART = 0.5;
/** Each has an access token as well. */
const REFRESH_PART = 0.2;

/** Kinds of tokens that the program reads from the file each time. */
export const REFRESH_TOKENS = 'records, refresh tokens';
/** Kinds that it caches, unless there are too many. */
export const ACCESS_TOKENS = 'records, access tokens';

/** The content of a database of another size. */
export function growthOrder(sizes: Sizes, records: number): PopulationOrder {
  const atMost = (part: number, most: number) => Math.min(most, Math.floor(records * part));
  return {
    records,
    tokens: {
      opaque: atMost(OPAQUE_PART, opaqueOf(sizes)),
      web_refresh: atMost(REFRESH_PART, sizes.personal),
    },
  };
}

/**
 * Compares the program with itself at growing database sizes, the smallest first. Refresh tokens are never cached. The
 * access tokens of a small database all fit the cache, those of a large one do not.
 */
export const growth: Work = {
  name,
  title: 'introspection, as the database grows',
  connections: 32,
  async contestants(stage) {
    const contestants: Contestant[] = [];
    for (const size of SIZES) contestants.push(...(await ofSize(stage, size)));
    return contestants;
  },
};

async function ofSize(stage: Stage, size: number): Promise<readonly Contestant[]> {
  const records = Math.round(stage.sizes.records * size);
  const population =
    size === 1 ? await stage.population() : await stage.populationOf(growthOrder(stage.sizes, records));
  const asking = async (kind: 'web_refresh' | 'opaque', label: string) => {
    const planned = introspecting(tokensOf(population, kind));
    const workload = { ...(await stage.requests(`${name}.${records}.${kind}`, planned)), answers: [ACTIVE] };
    const contestant = `${records.toLocaleString('en')} ${label}`;
    return grantd(stage, population, workload, { name: contestant, first: workload });
  };
  return [await asking('web_refresh', REFRESH_TOKENS), await asking('opaque', ACCESS_TOKENS)];
}
