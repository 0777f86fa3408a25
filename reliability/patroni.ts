// Breaks a PostgreSQL cluster of Patroni, etcd and HAProxy under two servers, and looks for broken promises. Exits with
// 1 if it finds one, and with 0 if this machine lacks something.
//
//     npm run test:patroni -- --rounds 4 --logs /tmp/logs
import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { flagsOf, wholeNumber } from './arguments.ts';
import { type ExperimentReport, experiment, faultsOf, type Round } from './patroni/experiment.ts';
import { FAULTS } from './patroni/faults.ts';
import { absence, type EtcdApi, safeEtcdApi } from './patroni/requirements.ts';
import { runScript, showProgress } from './script.ts';

const values = flagsOf(
  `npm run test:patroni -- [FLAGS]

  --rounds N         accidents. Each happens once in ten minutes (${FAULTS.length})
  --first N          the first accident, by its number (1)
  --etcd-api N       2 or 3. 3 shows what an unsafe combination does. Default: the one that is safe with this Patroni
  --logs FOLDER      that keeps the logs of all programs`,
  {
    rounds: { type: 'string', default: String(FAULTS.length) },
    first: { type: 'string', default: '1' },
    'etcd-api': { type: 'string' },
    logs: { type: 'string' },
    inside: { type: 'string' },
  },
);

/** Goal after the loss of a primary. */
const GOAL_SECONDS = 30;

const rounds = wholeNumber('rounds', values.rounds);
const first = wholeNumber('first', values.first);
if (values.inside === undefined) await isolate();
else await inside(values.inside);

/**
 * Runs this script again, in namespaces for its network, its mounts and its processes. When they end, the kernel removes
 * every machine and ends every process in them, however this script ends.
 */
async function isolate(): Promise<void> {
  const reason = absence();
  if (reason !== undefined) {
    console.log(`skipped: ${reason}`);
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), 'grantd-patroni-'));
  chmodSync(folder, 0o711);
  const options = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  // The first process of the namespace must reap the orphans of killed nodes. A shell does.
  const inner = ['sh', '-c', '"$@" & wait "$!"', 'sh', process.execPath, ...process.execArgv];
  const script = [import.meta.filename, ...process.argv.slice(2), '--inside', folder];
  const child = spawn('setpriv', ['--pdeathsig=KILL', 'unshare', ...options, ...inner, ...script], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  let interrupted = false;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      interrupted = true;
      child.kill('SIGKILL');
    });
  }
  const code = await new Promise<number | null>((done, failed) => {
    child.once('error', failed);
    child.once('exit', done);
  });
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  process.exitCode = interrupted ? 130 : (code ?? 1);
}

async function inside(folder: string): Promise<never> {
  const etcdApi = chosenEtcdApi();
  const logs = values.logs === undefined ? join(folder, 'logs') : fromWhereTyped(values.logs);
  mkdirSync(logs, { recursive: true });
  return runScript(async (workbench) => {
    console.log(`${rounds} accidents on three nodes and two servers, version ${etcdApi} of etcd's API`);
    const seen: Round[] = [];
    const report = await experiment(workbench, {
      folder,
      logs,
      etcdApi,
      faults: faultsOf(rounds, first - 1),
      onRound(round, number) {
        showProgress('');
        seen.push(round);
        const { fault, secondsWithoutWrites, primaries } = round;
        const seconds = `${secondsWithoutWrites.toFixed(1)} s without writes`;
        console.log(`${String(number).padStart(3)}  ${seconds}, ${primaries.join(' to ')}: ${fault}`);
      },
    });
    return print(report, seen);
  });
}

function chosenEtcdApi(): EtcdApi {
  const api = values['etcd-api'] ?? safeEtcdApi();
  if (api !== '2' && api !== '3') throw new Error(`--etcd-api: expected 2 or 3, not "${api}"`);
  return api;
}

/** @returns whether every promise was kept */
function print(report: ExperimentReport, seen: readonly Round[]): boolean {
  const { tally, faults, acknowledgedRevocations, acknowledgedIssues, refreshes, unanswered } = report;
  const { histories, operations, reads, unknown, conclusive, violations } = tally;
  console.log(`${histories} histories, ${operations} operations, ${reads} of them looks at a token`);
  console.log(`${conclusive} of them saw a token alive before its end and dead after it`);
  console.log(`${unknown} looks and ${unanswered} other requests without an answer (503)`);
  console.log(`${acknowledgedIssues} tokens, ${acknowledgedRevocations} revocations, ${refreshes} refreshes`);
  for (const { scenario, violation, history } of tally.examples) {
    console.log(`\n${violation.rule}: ${violation.token} (${scenario})`);
    for (const operation of history.toSorted((a, b) => a.startNs - b.startNs)) {
      console.log(`  ${JSON.stringify(operation)}`);
    }
  }
  for (const fault of faults) console.log(`  ${fault}`);
  const slowest = Math.max(...seen.map(({ secondsWithoutWrites }) => secondsWithoutWrites));
  console.log(`${violations} stale or wrong states in histories`);
  console.log(`${faults.length} lost acknowledged writes and other faults`);
  console.log(
    `at most ${slowest.toFixed(1)} s without writes (goal: ${GOAL_SECONDS} s after a lost primary)`,
  );
  return violations === 0 && faults.length === 0;
}

/** npm runs scripts in the folder of their package. */
function fromWhereTyped(path: string): string {
  return resolve(process.env.INIT_CWD ?? '.', path);
}
