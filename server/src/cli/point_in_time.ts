import { BadUsage } from './exit.ts';

const ISO_8601 = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;

/**
 * Milliseconds of a time in the past: ISO 8601, or seconds since 1970.
 * A time to come is refused: it would make every token dead that is issued until then.
 */
export function pointInTime(flag: string, text: string, nowMs: number): number {
  const milliseconds = /^\d+$/.test(text)
    ? Number(text) * 1000
    : ISO_8601.test(text) && isDay(text.slice(0, 10))
      ? Date.parse(text)
      : Number.NaN;
  if (Number.isNaN(milliseconds)) {
    throw new BadUsage(`${flag}: expected a time such as 2026-01-31T12:00:00Z, or seconds since 1970`);
  }
  if (milliseconds > nowMs) throw new BadUsage(`${flag}: expected a time that is not in the future`);
  return milliseconds;
}

/** Whether the calendar has the day: `Date` takes the 30th of February for the 2nd of March. */
function isDay(day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(day);
}
