/** What was opened one after another. It is closed in reverse order. */
export class OpenedParts {
  readonly #closings: (() => unknown)[] = [];

  /** @param close may be called after the part was closed in another way */
  add(close: () => unknown): void {
    this.#closings.push(close);
  }

  /**
   * Closes everything that is still open, also if closing one part fails.
   * @throws the first failure
   */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.#closings.pop(); close !== undefined; close = this.#closings.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}
