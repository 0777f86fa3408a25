import { bareLike, grantd } from '../subjects/contestants.ts';
import { peers } from './peers.ts';
import { introspecting } from './requests.ts';
import { tokensOf } from './stage.ts';
import { ACTIVE, type Work } from './work.ts';

const name = 'introspection-jwt';

/** JWT access tokens that were seen before, drawn from as many distinct ones as the run is about. */
export const introspectionJwt: Work = {
  name,
  title: 'introspection, JWT, seen before',
  connections: 32,
  warmUp: 'each_once',
  repeats: true,
  async contestants(stage) {
    const { tokens } = stage.sizes;
    const population = await stage.population();
    const asked = await stage.requests(name, introspecting(tokensOf(population, 'jwt_rs256')));
    const measured = grantd(stage, population, { ...asked, answers: [ACTIVE] });
    return [
      measured,
      await bareLike(measured),
      ...(await peers(stage, name, {
        kind: 'machine',
        count: tokens,
        planned: introspecting,
        answers: [ACTIVE],
      })),
    ];
  },
};
