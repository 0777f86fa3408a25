import assert from 'node:assert/strict';
import type { Result } from './plans.ts';

/** The result of a module, in the suite's terms. */
export interface Verdict {
  readonly result: Result;
  /** Present if it did not pass. */
  readonly because?: string;
}

/** The remarks of a running module. A failed assertion is a failure. */
export interface Remarks {
  /** A recommendation that the provider ignores. */
  warn(text: string): void;
  /** Ends the module: the provider does not announce this optional feature. */
  skip(text: string): never;
}

/** A failure that the suite is known to report, with the module's own words, so that no other failure matches. */
export class KnownFailure extends Error {}

class Skipped extends Error {}

/** Runs a module. Throws any unknown failure. */
export async function verdictOf(run: (remarks: Remarks) => Promise<void>): Promise<Verdict> {
  const warnings: string[] = [];
  const remarks: Remarks = {
    warn: (text) => void warnings.push(text),
    skip(text) {
      throw new Skipped(text);
    },
  };
  try {
    await run(remarks);
  } catch (error) {
    if (error instanceof Skipped) return { result: 'skipped', because: error.message };
    if (error instanceof KnownFailure) return { result: 'failed', because: error.message };
    throw error;
  }
  return warnings.length === 0 ? { result: 'passed' } : { result: 'warning', because: warnings.join('; ') };
}

/** Asserts that a value is present. */
export function present<T>(value: T | undefined | null, what: string): T {
  assert.ok(value !== undefined && value !== null, `${what} is missing`);
  return value;
}
