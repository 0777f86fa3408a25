// Ends a million tokens of one client at once, and checks that they are dead.
//
//     npm run measure:mass-revocation -- --tokens 1000000 --deployment sqlite
import { flagsOf, wholeNumber } from './arguments.ts';
import { deploymentNamed } from './deployments/deployments.ts';
import { runScript, showProgress } from './script.ts';
import { measureMassRevocation } from './volume/measure_mass_revocation.ts';

const GOAL_MS = 100;

const values = flagsOf(
  `npm run measure:mass-revocation -- [FLAGS]

  --tokens N         that end (1000000)
  --looks N          at tokens, before and after (1000)
  --processes N      of the server (2)
  --deployment NAME  sqlite, sqlite-workers or postgres (sqlite)`,
  {
    tokens: { type: 'string', default: '1000000' },
    looks: { type: 'string', default: '1000' },
    processes: { type: 'string', default: '2' },
    deployment: { type: 'string', default: 'sqlite' },
  },
);

await runScript(async (workbench) => {
  const deployment = deploymentNamed(workbench, values.deployment);
  const cluster = await deployment.start({ processes: wholeNumber('processes', values.processes) });
  const tokens = wholeNumber('tokens', values.tokens);
  const report = await measureMassRevocation(cluster, {
    tokens,
    looks: wholeNumber('looks', values.looks),
    onProgress: (issued) => showProgress(`${issued} of ${tokens} tokens issued`),
  });
  showProgress('');
  const { issuedPerSecond, revocationMs, looks, activeBefore, activeAfter, firstLookMs } = report;
  console.log(
    `${tokens} live tokens of one client on ${deployment.name}, issued at ${Math.round(issuedPerSecond)} a second`,
  );
  console.log(`before: ${activeBefore} of ${looks} sampled tokens active`);
  console.log(`revokeAll returned in ${revocationMs.toFixed(2)} ms (goal: under ${GOAL_MS} ms)`);
  console.log(
    `after: ${activeAfter} of ${looks} active; the first answer came ${firstLookMs.toFixed(2)} ms after the return`,
  );
  return revocationMs < GOAL_MS && activeBefore === looks && activeAfter === 0;
});
