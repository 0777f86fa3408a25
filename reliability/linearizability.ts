// Runs the short lives of many tokens on a cluster and checks each: after a revocation has returned, no read that
// starts later, on any process, may find the token active. Exits with 1 if one does.
import { flagsOf, wholeNumber } from './arguments.ts';
import { deploymentNamed } from './deployments/deployments.ts';
import { runHistories } from './histories/run_histories.ts';
import type { Tally } from './histories/tally.ts';
import { runScript, showProgress } from './script.ts';

const values = flagsOf(
  `npm run test:linearizability -- [FLAGS]

  --histories N        lives of tokens in all (200000)
  --processes N        of the server (4)
  --threads N          that send requests (1)
  --deployment NAME    sqlite, sqlite-workers or postgres (sqlite)
  --scenario WORD      only scenarios with this word in their names
  --seconds N          begin no histories after this time`,
  {
    histories: { type: 'string', default: '200000' },
    processes: { type: 'string', default: '4' },
    threads: { type: 'string', default: '1' },
    deployment: { type: 'string', default: 'sqlite' },
    scenario: { type: 'string' },
    seconds: { type: 'string' },
  },
);

await runScript(async (workbench) => {
  const deployment = deploymentNamed(workbench, values.deployment);
  const histories = wholeNumber('histories', values.histories);
  const processes = wholeNumber('processes', values.processes);
  const cluster = await deployment.start({ processes, flags: ['--refresh-grace', '600'] });
  console.log(`${histories} histories on ${deployment.name}, ${processes} processes`);

  const startedAtMs = performance.now();
  const seconds = () => (performance.now() - startedAtMs) / 1000;
  const longest = values.seconds === undefined ? undefined : wholeNumber('seconds', values.seconds);
  const tally = await runHistories(cluster, {
    histories,
    ...(longest !== undefined && { signal: AbortSignal.timeout(longest * 1000) }),
    threads: wholeNumber('threads', values.threads),
    scenario: values.scenario,
    onProgress(soFar) {
      const rate = Math.round(soFar.histories / seconds());
      showProgress(`${soFar.histories} of ${histories}, ${rate} a second, ${soFar.violations} violations`);
    },
  });
  showProgress('');
  print(tally, seconds());
  const isWhole = tally.histories >= histories || (longest !== undefined && tally.histories > 0);
  return tally.violations === 0 && isWhole;
});

function print(tally: Tally, seconds: number): void {
  const { histories, operations, reads, unknown, violations } = tally;
  for (const [scenario, count] of Object.entries(tally.byScenario)) {
    console.log(`${String(count).padStart(9)}  ${scenario}`);
  }
  console.log(
    `${histories} histories in ${seconds.toFixed(1)} s, ${Math.round(histories / seconds)} a second`,
  );
  console.log(`${tally.conclusive} of them saw a token alive before its end and dead after it`);
  console.log(
    `${operations} operations, ${reads} of them looks at a token, ${unknown} without an answer (503)`,
  );
  console.log(`${tally.readsDuringEnd} looks while a revocation was in flight`);
  console.log(`${tally.readsRightAfterEnd} looks begun within a millisecond after one had been acknowledged`);
  for (const { scenario, violation, history } of tally.examples) {
    console.log(`\n${violation.rule}: ${violation.token} (${scenario})`);
    for (const operation of history.toSorted((a, b) => a.startNs - b.startNs)) {
      console.log(`  ${JSON.stringify(operation)}`);
    }
  }
  console.log(`${violations} violations`);
}
