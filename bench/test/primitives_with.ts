import { type Primitives, quickestOf, timingOf } from '../primitives/primitives.ts';

/** Primitives with these durations in microseconds; a missing one takes no time. */
export function primitivesWith(
  microseconds: Readonly<Partial<Record<keyof Primitives, number>>>,
): Primitives {
  const timing = (name: keyof Primitives) => timingOf([microseconds[name] ?? 0]);
  const quickest = (name: keyof Primitives) => quickestOf({ only: timing(name) });
  return {
    verifyRs256: quickest('verifyRs256'),
    verifyEs256: quickest('verifyEs256'),
    signRs256: quickest('signRs256'),
    signEs256: quickest('signEs256'),
    lookUp: timing('lookUp'),
    insert: timing('insert'),
    commit: timing('commit'),
  };
}
