import type { Storage } from '../contract.ts';
import { Stage } from './stage.ts';
import type { KitSubject } from './subject.ts';

/** Which guarantee a case is about. */
export type KitGroup = 'records' | 'atomicity' | 'concurrency' | 'expiry' | 'faults' | 'administration';

export interface KitCase {
  readonly group: KitGroup;
  /** A sentence: what the store does. */
  readonly title: string;
  /**
   * Opens a store of its own, tries it and closes it.
   * @throws KitFailure where the store does otherwise
   */
  run<S extends Storage>(subject: KitSubject<S>): Promise<void>;
}

/** Every case begins at this time: 2030-01-01T00:00:00Z. */
const START_MS = 1_893_456_000_000;

export function kitCase(group: KitGroup, title: string, check: (stage: Stage) => Promise<void>): KitCase {
  return {
    group,
    title,
    async run(subject) {
      subject.clock.nowMs = START_MS;
      const stage = new Stage(subject, await subject.open());
      try {
        await check(stage);
      } finally {
        await stage.close();
      }
    },
  };
}
