import type { Answer } from '../load/generator.ts';
import type { PlannedRequest } from '../load/request_file.ts';
import type { ProcessOrder } from '../processes/measured_process.ts';
import type { Stage } from './stage.ts';

/** One program that does a work, and what it is asked. */
export interface Contestant {
  readonly name: string;
  /** Called before each start; for what the last round has changed. */
  readonly beforeStart?: () => void;
  readonly process: ProcessOrder;
  /** A file of requests, and how many they are. */
  readonly requests: string;
  readonly requestCount: number;
  /** The first of them. */
  readonly sample: PlannedRequest;
  readonly answers: readonly Answer[];
  /** Whether a request says something else when it is sent again; all is over then when each has been sent. */
  readonly onlyOnce?: boolean;
  /** A program that does something else meanwhile, on the generator's core. */
  readonly beside?: readonly string[];
}

/** One row of the table: what is asked of whom, and what the right answers are. */
export interface Work {
  readonly name: string;
  readonly title: string;
  readonly connections: number;
  /**
   * What is sent before the measurement begins: requests for some seconds, or each request once first, so that every
   * token has been seen.
   */
  readonly warmUp: 'seconds' | 'each_once';
  contestants(stage: Stage): Promise<readonly Contestant[]>;
}
