import type { PlannedRequest } from '../load/request_file.ts';
import { BENCH_CLIENTS, clientOf } from '../population/clients.ts';
import { WORKER_CORES } from '../processes/pinning.ts';
import { bareLike, grantd } from '../subjects/contestants.ts';
import { ACTIVE, ISSUED, REVOKED } from './answers.ts';
import { IN_MEMORY, peers } from './peers.ts';
import { introspecting, issuing, revoking } from './requests.ts';
import { tokensOf } from './stage.ts';
import { warmUpOf } from './warm_up.ts';
import type { Work } from './work.ts';

const name = 'mix';
/** The name of the program with two workers. */
export const TWO_WORKERS = 'grantd, 2 workers';

/** Per hundred requests. */
const CYCLE = 100;
const ISSUES = new Set([5, 30, 55, 80]);
const REVOCATION = 50;

/** Of so many tokens, one is revoked, and at most so many in all. Each makes 100 requests, which can be sent only once. */
const TOKENS_OF_A_REVOCATION = 5;
const MOST_REVOCATIONS = 2000;

/** The share of each kind of request. */
export const SHARES = { introspection: 0.95, issue: 0.04, revocation: 0.01 } as const;

/** 95 introspections, 4 issuances and 1 revocation, repeated for each token to revoke. */
export function* mixed(parts: {
  readonly introspections: readonly PlannedRequest[];
  readonly issue: PlannedRequest;
  readonly revocations: readonly PlannedRequest[];
}): Generator<PlannedRequest> {
  let next = 0;
  for (const revocation of parts.revocations) {
    for (let position = 0; position < CYCLE; position += 1) {
      const introspection = parts.introspections[next % parts.introspections.length];
      if (position === REVOCATION) yield revocation;
      else if (ISSUES.has(position)) yield parts.issue;
      else if (introspection !== undefined) {
        next += 1;
        yield introspection;
      }
    }
  }
}

/** Client tokens, which end alone, and refresh tokens of users, which end their whole grant, in turns. */
export function revokingBoth(
  machines: readonly PlannedRequest[],
  people: readonly PlannedRequest[],
): readonly PlannedRequest[] {
  return machines.flatMap((ofMachine, index) => {
    const ofPerson = people[index];
    return ofPerson === undefined ? [ofMachine] : [ofMachine, ofPerson];
  });
}

/** A realistic mix, with one process and with two workers. */
export const mix: Work = {
  name,
  title: 'mix: 95 % introspection, 4 % issue, 1 % revocation',
  connections: 32,
  async contestants(stage) {
    const population = await stage.population();
    const half = Math.ceil(Math.min(stage.sizes.tokens / TOKENS_OF_A_REVOCATION, MOST_REVOCATIONS) / 2);
    const introspections = introspecting(tokensOf(population, 'jwt_rs256'));
    const first = { ...(await stage.requests(`${name}.first`, introspections)), answers: [ACTIVE] };
    const workload = {
      ...(await stage.requests(
        name,
        mixed({
          introspections,
          issue: issuing(BENCH_CLIENTS.machine_es256),
          revocations: revokingBoth(
            revoking(tokensOf(population, 'opaque').slice(0, half), clientOf('opaque')),
            revoking(tokensOf(population, 'web_refresh').slice(0, half), clientOf('web_refresh')),
          ),
        }),
      )),
      answers: [ACTIVE, ISSUED, REVOKED],
      onlyOnce: true,
    };
    const warmUp = await warmUpOf(stage, name, {
      tokens: tokensOf(population, 'jwt_rs256'),
      client: BENCH_CLIENTS.machine_es256,
    });
    const measured = grantd(stage, population, workload, { changes: true, first, warmUp });
    return [
      measured,
      grantd(stage, population, workload, {
        name: TWO_WORKERS,
        flags: ['--workers', '2'],
        changes: true,
        first,
        warmUp,
        cores: WORKER_CORES,
      }),
      await bareLike(measured),
      ...(await peers(stage, name, {
        peers: IN_MEMORY,
        kind: 'machine',
        planned: (tokens, { machine }, tokensOf) =>
          mixed({
            introspections: introspecting(tokens.slice(half)),
            issue: issuing(machine),
            revocations: revokingBoth(
              revoking(tokens.slice(0, half), machine),
              revoking(tokensOf('refresh').slice(0, half), BENCH_CLIENTS.web),
            ),
          }),
        answers: [ACTIVE, ISSUED, REVOKED],
        onlyOnce: true,
      })),
    ];
  },
};
