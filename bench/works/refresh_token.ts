import { BENCH_CLIENTS } from '../population/clients.ts';
import { bareLike, grantd } from '../subjects/contestants.ts';
import { REFRESHED } from './answers.ts';
import { peers } from './peers.ts';
import { refreshing } from './requests.ts';
import { tokensOf } from './stage.ts';
import { warmUpOf } from './warm_up.ts';
import type { Work } from './work.ts';

const name = 'refresh-token';

/** Each refresh token is used once and replaced by a new pair. */
export const refreshToken: Work = {
  name,
  title: 'refresh, with rotation',
  connections: 32,
  async contestants(stage) {
    const population = await stage.population();
    const planned = refreshing(tokensOf(population, 'web_refresh'));
    const asked = { ...(await stage.requests(name, planned)), answers: [REFRESHED], onlyOnce: true };
    const warmUp = await warmUpOf(stage, name, {
      tokens: tokensOf(population, 'jwt_rs256'),
      client: BENCH_CLIENTS.machine_es256,
    });
    const measured = grantd(stage, population, asked, { changes: true, warmUp });
    return [
      measured,
      await bareLike(measured),
      ...(await peers(stage, name, {
        kind: 'refresh',
        planned: refreshing,
        answers: [REFRESHED],
        onlyOnce: true,
      })),
    ];
  },
};
