import type { GoalResult } from './goals.ts';

/** The goal in words. */
export function boundOf({ atLeast, atMost, of }: Pick<GoalResult, 'atLeast' | 'atMost' | 'of'>): string {
  if (atLeast !== undefined) return `at least ${atLeast} ${of}`;
  return atMost === undefined ? `(no goal) ${of}` : `at most ${atMost} ${of}`;
}

/** A measured value, with as many digits as are meaningful. */
export function formatValue(value = Number.NaN): string {
  return value >= 20 ? value.toFixed(0) : value.toFixed(value >= 2 ? 2 : 3);
}

/** The value, and the most that it can be, if that is known. */
export function formatResult({ value, bound }: Pick<GoalResult, 'value' | 'bound'>): string {
  return formatValue(value) + (bound === undefined ? '' : ` (at most ${formatValue(bound)})`);
}

export function percent(share: number | undefined): string {
  return share === undefined ? '' : `${Math.round(share * 100)} %`;
}
