import type { History } from '../history.ts';
import type { Stand } from '../stand.ts';

/** A way for tokens to live and end. */
export interface Scenario {
  readonly name: string;
  /** How many histories in a thousand are of this kind. */
  readonly share: number;
  /** Tokens that end together, each of which counts as one history. */
  readonly histories: number;
  /** @returns what was seen, to be checked as a whole */
  run(stand: Stand): Promise<History>;
}
