import { grantd } from '../subjects/contestants.ts';
import { ACTIVE } from './answers.ts';
import { introspecting } from './requests.ts';
import { tokensOf } from './stage.ts';
import type { Contestant, Work } from './work.ts';

const name = 'growth';

/** How many records there are, as parts of those of the other works. */
const SIZES = [0.01, 0.1, 1, 10];

/** The program against itself, with ever more in its database: the first contestant has the least. */
export const growth: Work = {
  name,
  title: 'introspection, JWT, as the database grows',
  connections: 32,
  async contestants(stage) {
    const contestants: Contestant[] = [];
    for (const size of SIZES) {
      const records = Math.round(stage.sizes.records * size);
      const population = await stage.populationOf(records);
      const planned = introspecting(tokensOf(population, 'jwt_rs256'));
      const asked = { ...(await stage.requests(`${name}.${records}`, planned)), answers: [ACTIVE] };
      const contestant = `${records.toLocaleString('en')} records`;
      contestants.push(grantd(stage, population, asked, { name: contestant, first: asked }));
    }
    return contestants;
  },
};
