import assert from 'node:assert/strict';
import type { Result } from './plans.ts';

/** What came of a module, in the words of the suite. */
export interface Verdict {
  readonly result: Result;
  /** Where it did not simply pass. */
  readonly because?: string;
}

/** What a module remarks while it runs. A failure is an assertion that fails. */
export interface Remarks {
  /** Something that should be otherwise, but need not be. */
  warn(text: string): void;
  /** Ends the module: the provider says that it does not do this, and need not. */
  skip(text: string): never;
}

/** A failure that the suite is known to report: the module's own words, so that no other failure counts as this one. */
export class KnownFailure extends Error {}

class Skipped extends Error {}

/** Runs a module to its end. Any failure that is not a known one is thrown. */
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

/** Narrows to what a check has found to be there. */
export function present<T>(value: T | undefined | null, what: string): T {
  assert.ok(value !== undefined && value !== null, `${what} is missing`);
  return value;
}
