import { oneOf } from '../../load/choice.ts';
import { monotonicNs } from '../../load/monotonic_clock.ts';
import { requestTokens } from '../../load/protocol.ts';
import { CLIENTS } from '../../load/registrations.ts';
import { History } from '../history.ts';
import { observe } from '../observe.ts';
import type { Stand, StockKind } from '../stand.ts';
import type { Scenario } from './scenario.ts';

/** One access token without a user, revoked by its client. */
export const SINGLE_TOKENS: readonly Scenario[] = [
  { name: 'an opaque token', share: 470, histories: 1, run: (stand) => revokeStocked(stand, 'opaque') },
  { name: 'a JWT', share: 100, histories: 1, run: (stand) => revokeStocked(stand, 'jwt') },
  { name: 'a token of client_credentials', share: 100, histories: 1, run: issueAndRevoke },
];

async function revokeStocked(stand: Stand, kind: StockKind): Promise<History> {
  const { history, tokens } = await stand.take(kind);
  const at = stand.anywhere();
  const token = oneOf(tokens);
  await observe(stand, history, { ending: tokens, at }, () => history.revoke(token, at, tokens));
  return history;
}

async function issueAndRevoke(stand: Stand): Promise<History> {
  const history = new History();
  const { id: clientId } = oneOf([CLIENTS.opaque, CLIENTS.jwt]);
  const connection = stand.anywhere();
  const startNs = monotonicNs();
  const outcome = await requestTokens(connection, { grant_type: 'client_credentials' }, clientId);
  const span = { startNs, endNs: monotonicNs() };
  if (outcome === 'unknown') return history;
  if (outcome === 'refused') throw new Error(`${clientId} was refused a token`);

  const text = outcome.accessToken;
  const token = { name: 'A1', text, kind: 'access_token', clientId, isPersonal: false } as const;
  history.issued(token, span, connection.address, startNs + 3500 * 1e9);
  const at = stand.anywhere();
  await observe(stand, history, { ending: [token], at }, () => history.revoke(token, at, [token]));
  return history;
}
