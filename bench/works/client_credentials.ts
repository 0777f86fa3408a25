import { BENCH_CLIENTS } from '../population/clients.ts';
import { bareLike, grantd } from '../subjects/contestants.ts';
import { ISSUED } from './answers.ts';
import { BETTER_AUTH_ON_SQLITE, OAUTH2_ON_SQLITE, OIDC_ON_SQLITE, peers } from './peers.ts';
import { issuing } from './requests.ts';
import type { Work } from './work.ts';

const name = 'client-credentials';

/** A client gets a JWT, signed with ES256 and stored durably. The peers sign with RS256, or not at all. */
export const clientCredentials: Work = {
  name,
  title: 'client_credentials, ES256',
  connections: 64,
  async contestants(stage) {
    const population = await stage.population();
    const workload = {
      ...(await stage.requests(name, [issuing(BENCH_CLIENTS.machine_es256)])),
      answers: [ISSUED],
    };
    const measured = grantd(stage, population, workload, { changes: true });
    return [
      measured,
      ...(stage.isComparison ? [] : [await bareLike(measured)]),
      ...(await peers(stage, name, {
        peers: [...OIDC_ON_SQLITE, ...OAUTH2_ON_SQLITE, BETTER_AUTH_ON_SQLITE],
        kind: 'machine',
        planned: (_tokens, { machine }) => [issuing(machine)],
        answers: [ISSUED],
      })),
    ];
  },
};
