// Lets APIs that follow look at tokens while these end, and while streams, nonces, servers, databases and clocks fail.
// No acceptance may begin later than the bound (`maxSilence`) after the end was answered. Exits with 1 if one does.
//
//     npm run test:following -- --histories 20000 --deployment sqlite
//
// A history is one token at one API that could have failed: the API accepts the token, the token ends and the end is
// answered, and the API refuses it in a look that begins after the bound. Until then, the API looks at it again and
// again. Tokens of one user end together, so one end concludes several histories. Looks at tokens that an API sees for
// the first time after their end are judged too, and count as no history.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { CHEAP_OPTIONS } from '../server/test/harness/program.ts';
import { flagsOf, wholeNumber } from './arguments.ts';
import { deploymentNamed } from './deployments/deployments.ts';
import { startReplicated } from './deployments/replicated_postgres.ts';
import { applyMutant, MUTANT_VARIABLE, MUTANTS } from './following/mutants.ts';
import { runScript, showProgress } from './script.ts';

const values = flagsOf(
  `npm run test:following -- [FLAGS]

  --seconds N        time after which no history begins (600)
  --histories N      after which no other begins (200000)
  --processes N      of the server (3)
  --followers N      APIs that follow (8)
  --lanes N          users whose tokens live at the same time (40)
  --deployment NAME  sqlite, sqlite-workers, postgres or postgres-failover (sqlite)
  --bound SECONDS    after which no ended token is accepted (3)
  --mutant NAME      a fault of followers or servers, with which the run has to fail`,
  {
    seconds: { type: 'string', default: '600' },
    histories: { type: 'string', default: '200000' },
    processes: { type: 'string', default: '3' },
    followers: { type: 'string', default: '8' },
    lanes: { type: 'string', default: '40' },
    deployment: { type: 'string', default: 'sqlite' },
    bound: { type: 'string', default: '3' },
    mutant: { type: 'string' },
  },
);

const { mutant } = values;
if (mutant !== undefined) {
  if (!Object.hasOwn(MUTANTS, mutant)) throw new Error(`--mutant: expected one of ${Object.keys(MUTANTS)}`);
  applyMutant(mutant);
}
// A mutant must come before the code that it changes.
const { failovers } = await import('./following/failovers.ts');
const { runFollowing, serverAccidents } = await import('./following/run_following.ts');

const inServers = ['mutants.ts', 'stepping_clock.ts'].map(
  (file) => `--import ${pathToFileURL(join(import.meta.dirname, 'following', file))}`,
);

const SHORT_TIMEOUTS = [
  ...['--database-statement-timeout-ms', '2000', '--database-connect-timeout-ms', '2000'],
];

await runScript(async (workbench) => {
  const order = {
    processes: wholeNumber('processes', values.processes),
    // Refreshes are repeated for as long as a server may be away.
    flags: ['--refresh-grace', '600'],
    environment: {
      NODE_OPTIONS: [CHEAP_OPTIONS, ...inServers].join(' '),
      ...(mutant !== undefined && { [MUTANT_VARIABLE]: mutant }),
    },
  };
  const replicated =
    values.deployment === 'postgres-failover'
      ? await startReplicated(workbench, { ...order, flags: [...order.flags, ...SHORT_TIMEOUTS] })
      : undefined;
  const cluster = replicated?.cluster ?? (await deploymentNamed(workbench, values.deployment).start(order));
  const startedAtMs = performance.now();
  const tally = await runFollowing(cluster, {
    seconds: wholeNumber('seconds', values.seconds),
    histories: wholeNumber('histories', values.histories),
    followers: wholeNumber('followers', values.followers),
    lanes: wholeNumber('lanes', values.lanes),
    maxSilence: wholeNumber('bound', values.bound),
    isOverWhenLate: mutant !== undefined,
    disturbances: [serverAccidents(cluster), ...(replicated ? [failovers(replicated)] : [])],
    onProgress: ({ histories, late }) => showProgress(`${histories} histories, ${late.length} late`),
  });
  const seconds = (performance.now() - startedAtMs) / 1000;
  showProgress('');
  const { histories, inconclusive, acceptances, unanswered, byWay, disturbances, late, failures } = tally;
  for (const counts of [disturbances, byWay]) {
    for (const [what, count] of Object.entries(counts)) console.log(`${String(count).padStart(9)}  ${what}`);
    console.log('');
  }
  console.log(`${histories} histories on ${values.deployment} in ${Math.round(seconds)} s`);
  console.log(`${inconclusive} others, in which no server could be asked before the end or after the bound`);
  console.log(`${acceptances} acceptances after an end, ${unanswered} looks without an answer`);
  for (const line of late.slice(0, 20)) console.log(line);
  console.log(`${late.length} acceptances after the bound`);
  for (const failure of failures) console.error(failure);
  return late.length === 0 && failures.length === 0 && histories > 0;
});
