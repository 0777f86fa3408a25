import { BENCH_CLIENTS, clientOf } from '../population/clients.ts';
import { bareLike, grantd } from '../subjects/contestants.ts';
import { REVOKED } from './answers.ts';
import { BETTER_AUTH_ON_SQLITE, OAUTH2_ON_SQLITE, OIDC_ON_SQLITE, peers } from './peers.ts';
import { revoking } from './requests.ts';
import { tokensOf } from './stage.ts';
import { warmUpOf } from './warm_up.ts';
import type { Work } from './work.ts';

/** Opaque tokens, each revoked once and durably. */
function revocationWork(connections: number): Work {
  const name = `revocation-${connections}`;
  return {
    name,
    title: `revocation, opaque, ${connections === 1 ? '1 connection' : `${connections} connections`}`,
    connections,
    async contestants(stage) {
      const population = await stage.population();
      const planned = revoking(tokensOf(population, 'opaque'), clientOf('opaque'));
      const workload = { ...(await stage.requests(name, planned)), answers: [REVOKED], onlyOnce: true };
      const warmUp = await warmUpOf(stage, name, {
        tokens: tokensOf(population, 'jwt_rs256'),
        client: BENCH_CLIENTS.machine_es256,
      });
      const measured = grantd(stage, population, workload, { changes: true, warmUp });
      return [
        measured,
        ...(stage.isComparison ? [] : [await bareLike(measured)]),
        ...(await peers(stage, name, {
          peers: [...OIDC_ON_SQLITE, ...OAUTH2_ON_SQLITE, BETTER_AUTH_ON_SQLITE],
          kind: 'machine',
          planned: (tokens, { machine }) => revoking(tokens, machine),
          answers: [REVOKED],
          onlyOnce: true,
        })),
      ];
    },
  };
}

export const revocationOne = revocationWork(1);
export const revocationMany = revocationWork(64);
