/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Clock = () => number;

/** As many unpredictable bytes as asked for. */
export type RandomSource = (bytes: number) => Uint8Array<ArrayBuffer>;

/** The random generator that every runtime has. */
export const systemRandom: RandomSource = (bytes) => crypto.getRandomValues(new Uint8Array(bytes));

/** Whole seconds of a clock's milliseconds. */
export function secondsOf(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}

/**
 * Seconds by which the clock of a client may be ahead of the server's, in JWTs that the client makes. Theirs is the only
 * leeway: what the server issues is judged by the clock that issued it.
 */
export const CLIENT_CLOCK_AHEAD = 60;

/**
 * Tells a host's observer. What it throws changes no answer: what it is told of has happened.
 * @param name of the option, for the console
 */
export function observe<Told>(name: string, observer: (told: Told) => unknown, told: Told): void {
  const complain = (error: unknown) => console.error(`${name} failed`, error);
  try {
    const observed = observer(told);
    if (observed !== undefined) Promise.resolve(observed).catch(complain);
  } catch (error) {
    complain(error);
  }
}

/** Compares two texts of equal length in a time that does not depend on where they differ. */
export function equalInConstantTime(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let i = 0; i < one.length; i++) difference |= one.charCodeAt(i) ^ other.charCodeAt(i);
  return difference === 0;
}
