// Breaks a cluster in several ways under load and looks for broken promises. Exits with 1 if it finds one.
//
//     npm run test:chaos -- --deployment sqlite --kills 200 --outages 10 --json report.json
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { flagsOf, wholeNumber } from './arguments.ts';
import { CHAOS_PARTS, type PartReport } from './chaos/parts.ts';
import { deploymentNamed } from './deployments/deployments.ts';
import { runScript, showProgress } from './script.ts';

const values = flagsOf(
  `npm run test:chaos -- [FLAGS]

  --deployment NAME  sqlite, sqlite-workers or postgres (sqlite)
  --processes N      of the server (2)
  --parts NAMES      ${Object.keys(CHAOS_PARTS).join(',')} (all)
  --kills N          of a process (50)
  --outages N        of the database (6)
  --json FILE        that gets the report`,
  {
    deployment: { type: 'string', default: 'sqlite' },
    processes: { type: 'string', default: '2' },
    parts: { type: 'string', default: Object.keys(CHAOS_PARTS).join(',') },
    kills: { type: 'string', default: '50' },
    outages: { type: 'string', default: '6' },
    json: { type: 'string' },
  },
);

await runScript(async (workbench) => {
  const deployment = deploymentNamed(workbench, values.deployment);
  const order = {
    processes: wholeNumber('processes', values.processes),
    kills: wholeNumber('kills', values.kills),
    outages: wholeNumber('outages', values.outages),
    onProgress: showProgress,
  };
  const reports: Record<string, PartReport> = {};
  for (const name of values.parts.split(',')) {
    const part = CHAOS_PARTS[name];
    if (part === undefined)
      throw new Error(`--parts: expected some of ${Object.keys(CHAOS_PARTS).join(', ')}`);
    const report = await part(workbench, deployment, order);
    showProgress('');
    print(name, report);
    reports[name] = report;
  }
  if (values.json !== undefined) {
    const report = { deployment: deployment.name, ...reports };
    writeFileSync(fromWhereTyped(values.json), `${JSON.stringify(report, undefined, 2)}\n`);
  }
  return Object.values(reports).every((report) => 'skipped' in report || report.faults.length === 0);
});

function print(name: string, report: PartReport): void {
  if ('skipped' in report) {
    console.log(`${name}: skipped, because ${report.skipped}`);
    return;
  }
  const { faults, ...figures } = report;
  console.log(name);
  for (const [figure, value] of Object.entries(figures)) {
    console.log(`  ${figure}: ${typeof value === 'number' ? Math.round(value) : JSON.stringify(value)}`);
  }
  for (const fault of faults) console.log(`  ${fault}`);
  console.log(`  ${faults.length} faults`);
}

/** npm runs scripts in the folder of their package. */
function fromWhereTyped(path: string): string {
  return resolve(process.env.INIT_CWD ?? '.', path);
}
