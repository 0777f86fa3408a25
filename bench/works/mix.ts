import type { PlannedRequest } from '../load/request_file.ts';
import { BENCH_CLIENTS, clientOf } from '../population/clients.ts';
import { GENERATOR_CORE, SERVER_CORE } from '../processes/pinning.ts';
import { bareLike, grantd } from '../subjects/contestants.ts';
import { ACTIVE, ISSUED, REVOKED } from './answers.ts';
import { MACHINE_OF, peers } from './peers.ts';
import { introspecting, issuing, revoking } from './requests.ts';
import { tokensOf } from './stage.ts';
import type { Work } from './work.ts';

const name = 'mix';

/** Of a hundred requests. */
const CYCLE = 100;
const ISSUES = new Set([5, 30, 55, 80]);
const REVOCATION = 50;

/** What parts of all requests are what. */
export const SHARES = { introspection: 0.95, issue: 0.04, revocation: 0.01 } as const;

/** 95 introspections, 4 issued tokens and 1 revocation, as many times as there are tokens to revoke. */
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

/** What a server of the real world does, by one process and by two workers. */
export const mix: Work = {
  name,
  title: 'mix: 95 % introspection, 4 % issue, 1 % revocation',
  connections: 32,
  async contestants(stage) {
    const population = await stage.population();
    const revocable = Math.ceil(stage.sizes.tokens / 50);
    const introspections = introspecting(tokensOf(population, 'jwt_rs256'));
    const first = { ...(await stage.requests(`${name}.first`, introspections)), answers: [ACTIVE] };
    const asked = {
      ...(await stage.requests(
        name,
        mixed({
          introspections,
          issue: issuing(BENCH_CLIENTS.machine_es256),
          revocations: revoking(tokensOf(population, 'opaque').slice(0, revocable), clientOf('opaque')),
        }),
      )),
      answers: [ACTIVE, ISSUED, REVOKED],
      onlyOnce: true,
    };
    const measured = grantd(stage, population, asked, { changes: true, first });
    return [
      measured,
      grantd(stage, population, asked, {
        name: 'grantd, 2 workers',
        flags: ['--workers', '2'],
        changes: true,
        first,
        // Nothing is left for the generator alone where there are two cores.
        cores: [SERVER_CORE, GENERATOR_CORE],
      }),
      await bareLike(measured),
      ...(await peers(stage, name, {
        kind: 'machine',
        planned: (tokens, peer) =>
          mixed({
            introspections: introspecting(tokens.slice(revocable)),
            issue: issuing(MACHINE_OF[peer]),
            revocations: revoking(tokens.slice(0, revocable), MACHINE_OF[peer]),
          }),
        answers: [ACTIVE, ISSUED, REVOKED],
        onlyOnce: true,
      })),
    ];
  },
};
