/** What several rounds have measured, in one number and how far apart they were. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** @throws RangeError there are none */
export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  const upper = sorted[Math.ceil((sorted.length - 1) / 2)];
  const min = sorted[0];
  const max = sorted.at(-1);
  if (lower === undefined || upper === undefined || min === undefined || max === undefined)
    throw new RangeError('there is no median of nothing');
  return { median: (lower + upper) / 2, min, max };
}
