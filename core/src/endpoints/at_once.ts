/**
 * Does two things that do not need each other at the same time. The outcome is that of doing one after the other:
 * if the first fails, that is the failure, at once and whatever becomes of the second.
 * @param first already under way
 */
export async function atOnce<A, B>(first: Promise<A>, second: () => Promise<B>): Promise<readonly [A, B]> {
  const other = second();
  other.catch(() => undefined); // thrown below, unless the first has failed
  return [await first, await other];
}
