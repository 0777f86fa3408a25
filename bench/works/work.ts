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
}

/** One row of the table: what is asked of whom, and what the right answers are. */
export interface Work {
  readonly name: string;
  readonly title: string;
  readonly connections: number;
  /**
   * What is sent before the measurement begins: requests for some seconds, each request once (so that every token has
   * been seen), or nothing.
   */
  readonly warmUp: 'seconds' | 'each_once' | 'none';
  /** Whether a request may be sent again once all have been. */
  readonly repeats: boolean;
  contestants(stage: Stage): Promise<readonly Contestant[]>;
}

export const ACTIVE: Answer = { name: 'active', status: 200, contains: '"active":true' };
export const INACTIVE: Answer = { name: 'inactive', status: 200, contains: '{"active":false}' };
export const REVOKED: Answer = { name: 'revoked', status: 200, contains: '' };
export const ISSUED: Answer = { name: 'issued', status: 200, contains: '"access_token":"' };
export const TOLD: Answer = { name: 'told', status: 200, contains: '"sub":"' };
