// Lets APIs that follow look at tokens while these end, and while streams, nonces, servers, databases and clocks fail.
// No acceptance may begin later than the bound (`maxSilence`) after the end was answered. Exits with 1 if one does.
//
//     npm run test:following -- --histories 20000 --deployment sqlite
//
// A history is one token at one API that could have failed: the API accepts the token, the token ends and the end is
// answered, and the API refuses it in a look that begins after the bound. Until then, the API looks at it again and
// again. Tokens of one user end together, so one end concludes several histories. Looks at tokens that an API sees for
// the first time after their end are judged too, and count as no history.
import { parseArgs } from 'node:util';
import { wholeNumber } from './arguments.ts';
import { deploymentNamed } from './deployments/deployments.ts';
import { runFollowing, serverAccidents } from './following/run_following.ts';
import { runScript, showProgress } from './script.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' },
    histories: { type: 'string', default: '200000' },
    processes: { type: 'string', default: '3' },
    followers: { type: 'string', default: '8' },
    lanes: { type: 'string', default: '40' },
    deployment: { type: 'string', default: 'sqlite' },
  },
});

await runScript(async (workbench) => {
  const deployment = deploymentNamed(workbench, values.deployment);
  const cluster = await deployment.start({ processes: wholeNumber('processes', values.processes) });
  const startedAtMs = performance.now();
  const tally = await runFollowing(cluster, {
    seconds: wholeNumber('seconds', values.seconds),
    histories: wholeNumber('histories', values.histories),
    followers: wholeNumber('followers', values.followers),
    lanes: wholeNumber('lanes', values.lanes),
    maxSilence: 3,
    disturbances: [serverAccidents(cluster)],
    onProgress: ({ histories, late }) => showProgress(`${histories} histories, ${late.length} late`),
  });
  const seconds = (performance.now() - startedAtMs) / 1000;
  showProgress('');
  const { histories, inconclusive, acceptances, unanswered, byWay, disturbances, late } = tally;
  for (const counts of [disturbances, byWay]) {
    for (const [what, count] of Object.entries(counts)) console.log(`${String(count).padStart(9)}  ${what}`);
    console.log('');
  }
  console.log(`${histories} histories on ${deployment.name} in ${Math.round(seconds)} s`);
  console.log(`${inconclusive} others, in which no server could be asked before the end or after the bound`);
  console.log(`${acceptances} acceptances after an end, ${unanswered} looks without an answer`);
  for (const line of late.slice(0, 20)) console.log(line);
  console.log(`${late.length} acceptances after the bound`);
  return late.length === 0 && histories > 0;
});
