// Breaks a cluster in several ways under load and looks for promises that it does not keep. Ends with 1 if there is one.
//
//   npm run test:chaos -- --kills 200 --deployment sqlite --json report.json
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { wholeNumber } from './arguments.ts';
import { crashes } from './chaos/crashes.ts';
import { deploymentNamed } from './deployments/deployments.ts';
import { percentile } from './load/percentiles.ts';
import { runScript, showProgress } from './script.ts';

const GRACE_SECONDS = 10;

const { values } = parseArgs({
  options: {
    deployment: { type: 'string', default: 'sqlite' },
    processes: { type: 'string', default: '2' },
    kills: { type: 'string', default: '50' },
    json: { type: 'string' },
  },
});

/** What one way of breaking showed; the first line names it. */
interface Part {
  readonly name: string;
  readonly report: Readonly<Record<string, unknown>> & { readonly faults: readonly string[] };
  readonly lines: readonly string[];
}

await runScript(async (workbench) => {
  const deployment = deploymentNamed(workbench, values.deployment);
  const processes = wholeNumber('processes', values.processes);
  const kills = wholeNumber('kills', values.kills, 0);
  const parts: Part[] = [];

  if (kills > 0) {
    const flags = ['--refresh-grace', String(GRACE_SECONDS)];
    const cluster = await deployment.start({ processes, flags });
    const report = await crashes(cluster, {
      kills,
      graceMs: GRACE_SECONDS * 1000,
      onKill: (killed, faults) => showProgress(`${killed} of ${kills} kills, ${faults} faults`),
    });
    const { recoveriesMs, ...rest } = report;
    const recovery = (share: number) => Math.round(percentile(recoveriesMs, share));
    parts.push({
      name: 'crashes',
      report: { ...rest, recoveryMs: { p50: recovery(0.5), p99: recovery(0.99), max: recovery(1) } },
      lines: [
        `${report.kills} kills with SIGKILL of one of ${processes} servers`,
        `recovery: p50 ${recovery(0.5)} ms, p99 ${recovery(0.99)} ms, max ${recovery(1)} ms from start to first answer`,
        `${report.acknowledgedRevocations} acknowledged revocations, ${report.acknowledgedIssues} acknowledged tokens`,
        `${report.refreshes} refreshes, ${report.retries} retried since the answer was lost, ${report.overdue} overdue`,
        `${report.unanswered} requests without an answer`,
      ],
    });
  }

  showProgress('');
  for (const { name, lines, report } of parts) {
    console.log(`${name}, ${deployment.name}`);
    for (const line of [...lines, ...report.faults, `${report.faults.length} faults`])
      console.log(`  ${line}`);
  }
  if (values.json !== undefined) writeFileSync(fromWhereTyped(values.json), `${asJson(parts)}\n`);
  return parts.every(({ report }) => report.faults.length === 0);
});

function asJson(parts: readonly Part[]): string {
  const reports = Object.fromEntries(parts.map(({ name, report }) => [name, report]));
  return JSON.stringify({ deployment: values.deployment, ...reports }, undefined, 2);
}

/** npm runs scripts in the folder of their package. */
function fromWhereTyped(path: string): string {
  return resolve(process.env.INIT_CWD ?? '.', path);
}
