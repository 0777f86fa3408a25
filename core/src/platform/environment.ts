// Clock, randomness, and small functions that depend on neither runtime nor protocol.
/** Returns milliseconds since 1970-01-01T00:00:00Z. */
export type Clock = () => number;

/** Bytes that Web Crypto accepts: `Uint8Array<ArrayBuffer>`, which TypeScript 5.6 calls `Uint8Array`. */
export type Bytes = ReturnType<Uint8ArrayConstructor['of']>;

/** Returns the requested number of cryptographically random bytes. */
export type RandomSource = (bytes: number) => Bytes;

/** One call of the system's generator takes 5 µs, however few bytes it returns, so it fetches bytes for many values. */
const FETCHED_BYTES = 4096;

/** Returns the system's generator. Bytes that it has returned do not stay in its memory. */
export function systemRandom(): RandomSource {
  let unused = new Uint8Array();
  return (bytes) => {
    if (bytes > unused.length)
      unused = crypto.getRandomValues(new Uint8Array(Math.max(bytes, FETCHED_BYTES)));
    const taken = unused.slice(0, bytes);
    unused = unused.fill(0, 0, bytes).subarray(bytes);
    return taken;
  };
}

/** Rounds milliseconds down to whole seconds. */
export function secondsOf(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}

/** An object whose members may be absent where they could be undefined. */
type Defined<T> = {
  readonly [M in keyof T as undefined extends T[M] ? never : M]: T[M];
} & { readonly [M in keyof T as undefined extends T[M] ? M : never]?: Exclude<T[M], undefined> };

/** Leaves out the members that are undefined. */
export function defined<T extends object>(members: T): Defined<T> {
  return Object.fromEntries(Object.entries(members).filter(([, item]) => item !== undefined)) as Defined<T>;
}

/**
 * Seconds by which a client's clock may be ahead in JWTs that the client signs. There is no other leeway: the server's
 * own tokens are checked by the clock that issued them (ADR 16).
 */
export const CLIENT_CLOCK_AHEAD = 60;

/**
 * Calls a callback of the host and prints its errors. They must not change the response, because what the callback
 * hears of has already happened.
 * @param name of the option, for the console
 */
export function observe<Value>(name: string, observer: (value: Value) => unknown, value: Value): void {
  const complain = (error: unknown) => console.error(`${name} failed`, error);
  try {
    const observed = observer(value);
    if (observed !== undefined) Promise.resolve(observed).catch(complain);
  } catch (error) {
    complain(error);
  }
}

/** Takes the same time wherever two texts of equal length differ, so that timing does not reveal a secret. */
export function equalInConstantTime(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}

/**
 * Runs two independent steps in parallel, with the outcome of running them in order: if the first fails, its error wins
 * at once, without waiting for the second (ADR 14).
 * @param first has already started
 */
export async function inParallel<A, B>(
  first: Promise<A>,
  second: () => Promise<B>,
): Promise<readonly [A, B]> {
  const other = second();
  other.catch(() => undefined); // awaited below, unless the first one fails
  return [await first, await other];
}
