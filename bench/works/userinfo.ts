import { bareLike, grantd } from '../subjects/contestants.ts';
import { CLAIMS } from './answers.ts';
import { peers } from './peers.ts';
import { askingUserInfo } from './requests.ts';
import { tokensOf } from './stage.ts';
import type { Work } from './work.ts';

const name = 'userinfo';

/** Applications read the claims of users whose tokens they have. */
export const userInfo: Work = {
  name,
  title: 'UserInfo, tokens seen before',
  connections: 32,
  async contestants(stage) {
    const population = await stage.population();
    const planned = askingUserInfo(tokensOf(population, 'web_access'));
    const workload = { ...(await stage.requests(name, planned)), answers: [CLAIMS] };
    const measured = grantd(stage, population, workload, { first: workload });
    return [
      measured,
      await bareLike(measured),
      ...(await peers(stage, name, {
        peers: ['oidc-provider'],
        kind: 'person',
        planned: (tokens) => askingUserInfo(tokens),
        answers: [CLAIMS],
      })),
    ];
  },
};
