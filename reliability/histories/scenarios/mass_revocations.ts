import { monotonicNs } from '../../load/monotonic_clock.ts';
import { requestTokens } from '../../load/protocol.ts';
import { History, type Span, type Token } from '../history.ts';
import { observe } from '../observe.ts';
import type { Batch, EndOrder } from '../operator.ts';
import { type Stand, tokensOf } from '../stand.ts';
import type { Scenario } from './scenario.ts';

const TOGETHER = 40;

/** Ends all tokens of a principal at once, through the library or the command line. */
export const MASS_REVOCATIONS: readonly Scenario[] = [
  { ...group('client', 'revoke_all', 25), name: 'all of a client, by the library' },
  { ...group('client', 'disable', 10), name: 'a disabled client, by the library' },
  { ...group('subject', 'revoke_all', 20), name: 'all of a person, by the library' },
  { ...group('client', 'revoke_command', 3), name: 'all of a client, by the command line' },
  { ...group('client', 'disable_command', 2), name: 'a disabled client, by the command line' },
  {
    name: 'all of a grant, by the library',
    share: 10,
    histories: 1,
    run: (stand) => endGroup(stand, 'grant', 'revoke_all'),
  },
  {
    name: 'all of a client that goes on asking for tokens',
    share: 10,
    histories: TOGETHER,
    run: endAmidIssuance,
  },
];

function group(what: 'client' | 'subject', by: EndOrder['by'], share: number) {
  return { share, histories: TOGETHER, run: (stand: Stand) => endGroup(stand, what, by) };
}

async function endGroup(
  stand: Stand,
  what: 'client' | 'subject' | 'grant',
  by: EndOrder['by'],
): Promise<History> {
  const history = new History();
  // Tokens of a user are pairs. Each history observes one of the two.
  const { tokens, principal } = await issueGroup(stand, history, what);
  await observe(stand, history, { ending: tokens }, async () => {
    const span = await stand.operator.end({ ...principal, by });
    history.ended('mass_revoke', tokens, span, 'done', 'operator');
  });
  return history;
}

/** Tokens issued before the revocation began die, and those requested after it live. In between, either is allowed. */
async function endAmidIssuance(stand: Stand): Promise<History> {
  const history = new History();
  const { tokens, principal } = await issueGroup(stand, history, 'client');
  const meanwhile: { token: Token; span: Span }[] = [];
  let isOver = false;
  const issuing = [stand.anywhere(), stand.anywhere(), stand.anywhere()].map(async (connection, index) => {
    for (let number = 0; !isOver || number < 2; number++) {
      const startNs = monotonicNs();
      const form = { grant_type: 'client_credentials' };
      const outcome = await requestTokens(connection, form, principal.id);
      const span = { startNs, endNs: monotonicNs() };
      if (typeof outcome === 'string') continue;
      const name = `meanwhile ${index}.${number}`;
      const text = outcome.accessToken;
      const token = { name, text, kind: 'access_token', clientId: principal.id, isPersonal: false } as const;
      meanwhile.push({ token, span });
      history.issued(token, span, connection.address, startNs + 3500 * 1e9);
    }
  });
  let ended: Span = { startNs: 0, endNs: 0 };
  await observe(stand, history, { ending: tokens }, async () => {
    ended = await stand.operator.end({ ...principal, by: 'revoke_all' });
    history.ended('mass_revoke', tokens, ended, 'done', 'operator');
  });
  isOver = true;
  await Promise.all(issuing);

  const before = meanwhile.filter(({ span }) => span.endNs < ended.startNs);
  const during = meanwhile.filter(({ span }) => span.endNs >= ended.startNs && span.startNs <= ended.endNs);
  history.ended('mass_revoke', before.map(tokenOf), ended, 'done', 'operator');
  history.ended('mass_revoke', during.map(tokenOf), ended, 'unknown', 'operator');
  for (let times = 0; times < 2; times++) {
    await Promise.all(meanwhile.map(({ token }) => history.look(token, stand.anywhere())));
  }
  return history;
}

async function issueGroup(stand: Stand, history: History, what: 'client' | 'subject' | 'grant') {
  const batch: Batch = await stand.operator.issue({ what, count: TOGETHER });
  const { principal } = batch;
  if (principal === undefined) throw new Error(`tokens of a ${what} were issued without saying which`);
  const tokens = batch.issued.flatMap((issued, index) => tokensOf(history, batch, issued, index + 1));
  return { tokens, principal };
}

function tokenOf({ token }: { readonly token: Token }): Token {
  return token;
}
