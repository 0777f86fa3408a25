/**
 * Does two things that do not need each other at the same time. The outcome is that of doing one after the other:
 * where the first fails, that is the failure, at once and whatever becomes of the second.
 */
export async function atOnce<A, B>(
  first: () => Promise<A>,
  second: () => Promise<B>,
): Promise<readonly [A, B]> {
  const [one, other] = [first(), second()];
  other.catch(() => undefined); // thrown below, unless the first has failed
  return [await one, await other];
}
