import type { NewToken } from '../protocol/records.ts';

/** What is about to be issued, as far as it matters for whether it may be. */
export interface Candidate {
  readonly clientId: string;
  readonly subject?: string;
  /** Milliseconds. */
  readonly issuedAtMs: number;
}

/** What is about to be issued to a person, as far as it tells of its grant. */
export interface GrantBeginning extends Candidate {
  readonly sessionId?: string;
  readonly grantId?: string;
  readonly scopes: readonly string[];
}

/** The one way in which tokens come into a store that looks and writes in steps; all within one atomic step of its caller. */
export interface Issuing {
  /**
   * Whether a token or code may be issued: its client is there, nobody concerned is disabled, and it would not be
   * dead at birth.
   * @param clientGeneration what the client's generation must still be, where the caller read it before
   */
  admits(candidate: Candidate, clientGeneration?: number): boolean;
  /**
   * Stores tokens with the present generations of their principals; where this throws, none of them.
   * @throws {Error} an identifier is taken
   * @throws {TypeError} a token is tied to others without a grant
   */
  insert(tokens: readonly NewToken[]): void;
}
