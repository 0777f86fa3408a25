/** A guarantee that a store does not keep; the message says which. */
export class KitFailure extends Error {
  override readonly name = 'KitFailure';
}

/** @throws KitFailure with `message` where the condition does not hold */
export function expect(condition: boolean, message: string): asserts condition {
  if (!condition) throw new KitFailure(message);
}

/**
 * Compares plain data by its JSON text, so that the order of members counts.
 * @throws KitFailure that shows both
 */
export function expectEqual(actual: unknown, expected: unknown, what: string): void {
  const [actualText, expectedText] = [JSON.stringify(actual), JSON.stringify(expected)];
  expect(actualText === expectedText, `${what}: expected ${expectedText}, got ${actualText}`);
}

/** @throws KitFailure where `attempt` resolves, or does not reject with an error */
export async function expectRejection(attempt: () => unknown, what: string): Promise<void> {
  let answer: unknown;
  try {
    answer = await attempt();
  } catch (error) {
    expect(error instanceof Error, `${what}: expected a rejection with an Error, got ${String(error)}`);
    return;
  }
  throw new KitFailure(`${what}: expected a rejection, got ${JSON.stringify(answer)}`);
}
