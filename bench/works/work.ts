import type { Answer } from '../load/generator.ts';
import type { PlannedRequest } from '../load/request_file.ts';
import type { ProcessOrder } from '../processes/measured_process.ts';
import type { Stage } from './stage.ts';

/** What somebody is asked. */
export interface Asked {
  /** A file of requests, and how many they are. */
  readonly requests: string;
  readonly requestCount: number;
  /** The first of them. */
  readonly sample: PlannedRequest;
  readonly answers: readonly Answer[];
  /** Whether a request says something else when it is sent again; all is over then when each has been sent. */
  readonly onlyOnce?: boolean;
}

/** One program that does a work, and what it is asked. */
export interface Contestant extends Asked {
  readonly name: string;
  /** Called before each start; for what the last one has changed. */
  readonly beforeStart?: () => void;
  readonly process: ProcessOrder;
  /** Each of these is sent once when it has started: so that tokens have been seen, or that only tokens have not. */
  readonly first?: Asked;
  /** These are sent again and again before its own, where its own can be sent but once. */
  readonly warmUp?: Asked;
  /** The file that it alone changes, where commits are to be counted. */
  readonly database?: string;
  /** A program that does something else while this one is asked, on the generator's core. */
  readonly beside?: readonly string[];
  /** It is asked for so long before each measurement, where it lets go of what it did not need meanwhile. */
  readonly wakeUpSeconds?: number;
  /** Processes that work for it besides its own, with their children. */
  readonly servants?: readonly number[];
}

/** One row of the table: what is asked of whom, and what the right answers are. */
export interface Work {
  readonly name: string;
  readonly title: string;
  readonly connections: number;
  contestants(stage: Stage): Promise<readonly Contestant[]>;
}
