// Lets followers look at tokens while these end, and while streams, nonces, servers and clocks fail. No acceptance may
// begin later than the bound (`maxSilence`) after the end was answered. Exits with 1 if one does.
//
//     npm run test:following -- --seconds 600 --deployment sqlite
import { parseArgs } from 'node:util';
import { wholeNumber } from './arguments.ts';
import { deploymentNamed } from './deployments/deployments.ts';
import { runFollowing } from './following/run_following.ts';
import { runScript, showProgress } from './script.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '600' },
    processes: { type: 'string', default: '3' },
    followers: { type: 'string', default: '8' },
    lanes: { type: 'string', default: '16' },
    deployment: { type: 'string', default: 'sqlite' },
  },
});

await runScript(async (workbench) => {
  const deployment = deploymentNamed(workbench, values.deployment);
  const cluster = await deployment.start({ processes: wholeNumber('processes', values.processes) });
  const tally = await runFollowing(cluster, {
    seconds: wholeNumber('seconds', values.seconds),
    followers: wholeNumber('followers', values.followers),
    lanes: wholeNumber('lanes', values.lanes),
    ...{ disturbs: true, maxSilence: 3 },
    onProgress: ({ histories, late }) => showProgress(`${histories} histories, ${late.length} late`),
  });
  showProgress('');
  const { histories, conclusive, acceptances, unanswered, byWay, late } = tally;
  for (const [way, count] of Object.entries(byWay)) console.log(`${String(count).padStart(9)}  ${way}`);
  console.log(
    `${histories} histories on ${deployment.name}, ${conclusive} of them accepted before, refused after`,
  );
  console.log(`${acceptances} acceptances within the bound, ${unanswered} looks without an answer`);
  for (const line of late.slice(0, 20)) console.log(line);
  console.log(`${late.length} acceptances after the bound`);
  return late.length === 0 && conclusive > 0;
});
