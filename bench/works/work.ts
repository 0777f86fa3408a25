import type { Answer } from '../load/generator.ts';
import type { PlannedRequest } from '../load/request_file.ts';
import type { ProcessOrder } from '../processes/measured_process.ts';
import type { Stage } from './stage.ts';

/** The requests for one program. */
export interface Workload {
  /** A file of requests, and their number. */
  readonly requests: string;
  readonly requestCount: number;
  /** The first of them. */
  readonly sample: PlannedRequest;
  readonly answers: readonly Answer[];
  /** Whether a request can be sent only once. Then the work ends when all have been sent. */
  readonly onlyOnce?: boolean;
}

/** A program that does a work, with its requests. */
export interface Contestant extends Workload {
  readonly name: string;
  /** Called before each start, to undo the changes of the last one. */
  readonly beforeStart?: () => void;
  readonly process: ProcessOrder;
  /** Requests that are sent once after the start, so that tokens are cached, or so that only they are not. */
  readonly first?: Workload;
  /** Requests that are repeated before its own, if its own can be sent only once. */
  readonly warmUp?: Workload;
  /** The file that only this program changes, to count its commits. */
  readonly database?: string;
  /** A program that runs next to it, on the generator's core. */
  readonly beside?: readonly string[];
  /** Seconds of load before each measurement, if the program releases resources when idle. */
  readonly wakeUpSeconds?: number;
  /** Other processes that work for it, with their children. */
  readonly servants?: readonly number[];
}

/** A row of the table: the programs, their requests and the right responses. */
export interface Work {
  readonly name: string;
  readonly title: string;
  readonly connections: number;
  contestants(stage: Stage): Promise<readonly Contestant[]>;
}
