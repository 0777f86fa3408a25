import type { Connection } from '../load/connection.ts';
import { introspect } from '../load/protocol.ts';

/** The results that servers have acknowledged to clients, and must keep. */
export class Ledger {
  /** Tokens whose issuance was acknowledged, and that no client revokes. */
  readonly kept: string[] = [];
  /** Tokens whose revocation was acknowledged. */
  readonly revoked: string[] = [];
  /** Broken promises, described without secrets. */
  readonly faults: string[] = [];
  /** Requests that got 503, or no response because the server died. */
  unanswered = 0;

  fault(text: string): void {
    this.faults.push(text);
  }
}

/** The number of attempts for a read without a result, and the milliseconds between them. */
const MOST_LOOKS = 100;
const PAUSE_MS = 50;
const AT_ONCE = 16;

/**
 * Reads each of the tokens.
 * @returns how many have the wrong state
 */
export async function countUnlike(
  connections: readonly Connection[],
  tokens: readonly string[],
  expected: 'active' | 'inactive',
): Promise<number> {
  let next = 0;
  let unlike = 0;
  const lane = async (connection: Connection) => {
    for (let token = tokens[next++]; token !== undefined; token = tokens[next++]) {
      if ((await conclusiveLook(connection, token)) !== expected) unlike += 1;
    }
  };
  const lanes = Array.from({ length: AT_ONCE }, (_, index) => connections[index % connections.length]);
  await Promise.all(lanes.map((connection) => connection && lane(connection)));
  return unlike;
}

/** @throws Error if the server did not come back in time */
export async function conclusiveLook(connection: Connection, token: string): Promise<'active' | 'inactive'> {
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    const seen = await introspect(connection, token);
    if (seen !== 'unknown') return seen;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  throw new Error(`${connection.address} did not answer ${MOST_LOOKS} looks`);
}
