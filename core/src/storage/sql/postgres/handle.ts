import type { LookUps } from './look_ups.ts';
import type { Primary } from './primary.ts';

/** What each part of the store works with. */
export interface PostgresHandle {
  readonly primary: Primary;
  readonly lookUps: LookUps;
  readonly issuerId: number;
  /** Milliseconds. */
  readonly clock: () => number;
}
