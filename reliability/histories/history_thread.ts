/** A thread that runs several histories at once and checks each when it has ended. Started by `run_histories.ts`. */
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
  /** Whether to run each scenario once before random selection starts. */
  readonly eachScenario: boolean;
}

/** Message of a thread: its counts since the last one. */
export interface Progress {
  readonly tally: Tally;
  readonly isOver: boolean;
}

const PROGRESS_MS = 500;

if (parentPort === null) throw new Error('history_thread.ts runs as a thread');
const port = parentPort;
const { addresses, connectionsEach, histories, lanes, eachScenario }: ThreadOrder = workerData;
const stand = new Stand(addresses, connectionsEach, remoteOperator(port));
let tally = emptyTally();
let begun = 0;
const first = eachScenario ? [...SCENARIOS] : [];

function report(isOver: boolean): void {
  const progress: Progress = { tally, isOver };
  port.postMessage(progress);
  tally = emptyTally();
}

async function lane(): Promise<void> {
  while (begun < histories) {
    const scenario = first.pop() ?? anyScenario();
    begun += scenario.histories;
    const history = await scenario.run(stand);
    count(tally, scenario.name, scenario.histories, history.operations());
  }
}

const timer = setInterval(() => report(false), PROGRESS_MS);
await Promise.all(Array.from({ length: lanes }, lane)).finally(() => {
  clearInterval(timer);
  stand.close();
});
report(true);
port.close();
