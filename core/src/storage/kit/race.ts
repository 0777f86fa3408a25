import type { Awaitable, Storage } from '../contract.ts';
import type { Stage } from './stage.ts';

/** Attempts of which one succeeds. */
export const PARALLEL = 100;
/** Attempts that race something else. */
export const RACERS = 20;

export type Attempt<T> = (storage: Storage) => Awaitable<T>;

/** Starts attempts with `act` in their middle, so that it comes after some and before others. */
export async function race(
  stage: Stage,
  attempts: readonly Attempt<unknown>[],
  act: Attempt<unknown>,
): Promise<void> {
  const middle = attempts.length / 2;
  await stage.parallel([...attempts.slice(0, middle), act, ...attempts.slice(middle)]);
}
