/** A thread that runs several histories at once and checks each when it has ended. Started by `run_histories.ts`. */
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { remoteOperator } from './remote_operator.ts';
import { anyScenario, SCENARIOS } from './scenarios/scenarios.ts';
import { Stand } from './stand.ts';
import { count, emptyTally, type Tally } from './tally.ts';

export interface ThreadOrder {
  readonly addresses: readonly string[];
  /** Connections per address. */
  readonly connectionsEach: number;
  readonly histories: number;
  /** Concurrent runs of scenarios. */
  readonly lanes: number;
  /** Milliseconds that each of them waits before the next one. */
  readonly restMs: number;
  /** Whether to run each scenario once before random selection starts. */
  readonly eachScenario: boolean;
  /** Part of the names of scenarios. Default: all are run. */
  readonly scenario: string | undefined;
}

/** Message of a thread: its counts since the last one. */
export interface Progress {
  readonly tally: Tally;
  readonly isOver: boolean;
}

/** Message to a thread: complete the histories that have begun, and end. */
export interface Stop {
  readonly stop: true;
}

const PROGRESS_MS = 500;

if (parentPort === null) throw new Error('history_thread.ts runs as a thread');
const port = parentPort;
const {
  addresses,
  connectionsEach,
  histories,
  lanes,
  restMs,
  eachScenario,
  scenario: part,
}: ThreadOrder = workerData;
const stand = new Stand(addresses, connectionsEach, remoteOperator(port));
let tally = emptyTally();
let begun = 0;
let isStopped = false;
const first = eachScenario ? [...SCENARIOS] : [];

port.on('message', (message: Stop | object) => {
  if ('stop' in message) isStopped = true;
});

function report(isOver: boolean): void {
  const progress: Progress = { tally, isOver };
  port.postMessage(progress);
  tally = emptyTally();
}

async function lane(): Promise<void> {
  while (begun < histories && !isStopped) {
    const scenario = first.pop() ?? anyScenario(part);
    begun += scenario.histories;
    const history = await scenario.run(stand);
    count(tally, scenario.name, scenario.histories, history.operations());
    if (restMs > 0) await pause(restMs);
  }
}

const timer = setInterval(() => report(false), PROGRESS_MS);
await Promise.all(Array.from({ length: lanes }, lane)).finally(() => {
  clearInterval(timer);
  stand.close();
});
report(true);
port.close();
