import { setTimeout as pause } from 'node:timers/promises';
import type { Connection } from '../load/connection.ts';
import { requestTokens, revoke } from '../load/protocol.ts';
import { CLIENTS } from '../load/registrations.ts';
import type { Ledger } from './ledger.ts';

const PAUSE_MS = 20;
/** The longest time in which no server may respond. */
const LONGEST_OUTAGE_MS = 120_000;
const SHARE_KEPT = 0.3;
const FORM = { grant_type: 'client_credentials' };

/**
 * A client that gets a token, and either keeps it or revokes it until that is acknowledged.
 * @throws Error if that took too long
 */
export async function issueAndRevoke(ledger: Ledger, anywhere: () => Connection): Promise<void> {
  const { id } = Math.random() < 0.2 ? CLIENTS.jwt : CLIENTS.opaque;
  const issued = await requestTokens(anywhere(), FORM, id);
  if (issued === 'refused') return ledger.fault('a client was refused a token of its own');
  if (issued === 'unknown') {
    ledger.unanswered += 1;
    return pause(PAUSE_MS);
  }
  if (Math.random() < SHARE_KEPT) {
    ledger.kept.push(issued.accessToken);
    return;
  }
  const firstSentMs = performance.now();
  while (performance.now() - firstSentMs < LONGEST_OUTAGE_MS) {
    if ((await revoke(anywhere(), issued.accessToken, id)) === 'done') {
      ledger.revoked.push(issued.accessToken);
      return;
    }
    ledger.unanswered += 1;
    await pause(PAUSE_MS);
  }
  throw new Error('no server answered a revocation');
}
