import { BENCH_CLIENTS, clientOf } from '../population/clients.ts';
import { bareLike, grantd } from '../subjects/contestants.ts';
import { REVOKED } from './answers.ts';
import { MACHINE_OF, peers } from './peers.ts';
import { revoking } from './requests.ts';
import { tokensOf } from './stage.ts';
import { warmUpOf } from './warm_up.ts';
import type { Work } from './work.ts';

/** Opaque tokens, each revoked once and durably. The peers revoke in memory. */
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
        await bareLike(measured),
        ...(await peers(stage, name, {
          kind: 'machine',
          planned: (tokens, peer) => revoking(tokens, MACHINE_OF[peer]),
          answers: [REVOKED],
          onlyOnce: true,
        })),
      ];
    },
  };
}

export const revocationOne = revocationWork(1);
export const revocationMany = revocationWork(64);
