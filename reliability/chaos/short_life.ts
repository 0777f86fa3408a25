import { History } from '../histories/history.ts';
import { violationsIn } from '../histories/violations.ts';
import type { Connection } from '../load/connection.ts';
import { monotonicNs } from '../load/monotonic_clock.ts';
import { requestTokens } from '../load/protocol.ts';
import { CLIENTS } from '../load/registrations.ts';
import type { Ledger } from './ledger.ts';

const LIFETIME_NS = 3500 * 1e9;

/** Issues a token, reads it, revokes it until that is acknowledged, and reads it again. No result may be wrong. */
export async function shortLife(ledger: Ledger, anywhere: () => Connection): Promise<void> {
  const history = new History();
  const startNs = monotonicNs();
  const clientId = CLIENTS.opaque.id;
  const connection = anywhere();
  const issued = await requestTokens(connection, { grant_type: 'client_credentials' }, clientId);
  const span = { startNs, endNs: monotonicNs() };
  if (issued === 'refused') return ledger.fault('a client was refused a token of its own');
  if (issued === 'unknown') {
    ledger.unanswered += 1;
    return;
  }
  const text = issued.accessToken;
  const token = { name: 'A1', text, kind: 'access_token', clientId, isPersonal: false } as const;
  history.issued(token, span, connection.address, startNs + LIFETIME_NS);
  const look = () => history.look(token, anywhere());
  await Promise.all([look(), look()]);
  const [revoked] = await Promise.all([history.revoke(token, anywhere(), [token]), look()]);
  await Promise.all([look(), look()]);
  for (const { rule } of violationsIn(history.operations())) ledger.fault(`a token was ${rule}`);
  if (revoked === 'done') ledger.revoked.push(text);
}
