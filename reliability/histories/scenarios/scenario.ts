import type { History } from '../history.ts';
import type { Stand } from '../stand.ts';

/** A kind of token life, from issuance to end. */
export interface Scenario {
  readonly name: string;
  /** How many of a thousand histories are of this kind. */
  readonly share: number;
  /** The number of tokens that end together. Each counts as one history. */
  readonly histories: number;
  /** @returns the recorded operations, which are checked together */
  run(stand: Stand): Promise<History>;
}
