import { Worker } from 'node:worker_threads';
import type { Cluster } from '../deployments/cluster.ts';
import { openLibrary, registerClients, registerPerson } from '../deployments/library.ts';
import type { Progress, Stop, ThreadOrder } from './history_thread.ts';
import { operatorOf, patient } from './operator.ts';
import { serveOperator } from './remote_operator.ts';
import { add, emptyTally, type Tally } from './tally.ts';

interface HistoriesOrder {
  readonly histories: number;
  /** Threads that generate load. */
  readonly threads: number;
  /** Whether to run each scenario once before random selection starts. */
  readonly eachScenario?: boolean;
  /** Part of the names of scenarios. Default: all are run. */
  readonly scenario?: string | undefined;
  /** Concurrent runs of scenarios per thread. */
  readonly lanes?: number;
  /** Milliseconds that each lane waits between two runs. Default: not at all. */
  readonly restMs?: number;
  /** Whether the database already has the clients of the load. */
  readonly hasClients?: boolean;
  /** Milliseconds for which the operator repeats what failed. Default: it fails at once. */
  readonly operatorPatienceMs?: number;
  /** Ends the run before it has all histories. Those that have begun are completed. */
  readonly signal?: AbortSignal;
  /** Called now and then with the progress. */
  readonly onProgress?: (soFar: Tally) => void;
}

const LANES = 12;
/** Connections of each thread to each process. */
const CONNECTIONS_EACH = 4;

/**
 * Runs histories on a new cluster and checks them.
 * @throws Error if a server gave an impossible response, or an operator's command failed
 */
export async function runHistories(cluster: Cluster, order: HistoriesOrder): Promise<Tally> {
  const { histories, threads, eachScenario = false, lanes = LANES, restMs = 0, onProgress } = order;
  const { hasClients = false, operatorPatienceMs = 0, signal } = order;
  const library = await openLibrary(cluster);
  try {
    if (!hasClients) await registerClients(library);
    const impatient = operatorOf(cluster, library, await registerPerson(cluster, 'alice'));
    const operator = operatorPatienceMs === 0 ? impatient : patient(impatient, operatorPatienceMs);
    const threadOrder: ThreadOrder = {
      addresses: cluster.servers.map(({ address }) => address),
      connectionsEach: CONNECTIONS_EACH * cluster.connectionsToReachAll,
      histories: Math.ceil(histories / threads),
      lanes,
      restMs,
      eachScenario,
      scenario: order.scenario,
    };
    const tally = emptyTally();
    const running = Array.from({ length: threads }, () => {
      const worker = new Worker(new URL('history_thread.ts', import.meta.url), {
        workerData: threadOrder,
      });
      const stop: Stop = { stop: true };
      signal?.addEventListener('abort', () => worker.postMessage(stop));
      return {
        worker,
        ended: endOf(worker, operator, (part) => {
          add(tally, part);
          onProgress?.(tally);
        }),
      };
    });
    await Promise.all(running.map(({ ended }) => ended)).finally(() =>
      Promise.all(running.map(({ worker }) => worker.terminate())),
    );
    return tally;
  } finally {
    await library.close();
  }
}

function endOf(
  worker: Worker,
  operator: ReturnType<typeof operatorOf>,
  onTally: (part: Tally) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    serveOperator(worker, operator, reject);
    worker.on('message', (message: Progress | object) => {
      if (!('isOver' in message)) return;
      onTally(message.tally);
      if (message.isOver) resolve();
    });
    worker.on('error', reject);
    worker.on('exit', (code) => reject(new Error(`a thread of the load ended with ${code}`)));
  });
}
