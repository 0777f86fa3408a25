/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Clock = () => number;

/** As many unpredictable bytes as asked for. */
export type RandomSource = (bytes: number) => Uint8Array<ArrayBuffer>;

/** Whole seconds of a clock's milliseconds. */
export function secondsOf(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
