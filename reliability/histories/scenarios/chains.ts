import { oneOf } from '../../load/choice.ts';
import { CLIENTS } from '../../load/registrations.ts';
import type { History, Token } from '../history.ts';
import { observe } from '../observe.ts';
import type { Stand } from '../stand.ts';
import type { Scenario } from './scenario.ts';

/** Tokens that services obtained from those of a user, one from the other (docs/adr/0182). */
export const CHAINS: readonly Scenario[] = [
  { name: 'a chain of exchanges, by any of its tokens', share: 60, histories: 1, run: revokeChain },
  { name: 'a chain of exchanges that grows meanwhile', share: 40, histories: 1, run: revokeAmidExchanges },
];

const HOPS = 3;

/** A token ends those behind it. Each of the pair, from which the first one was obtained, ends all. */
async function revokeChain(stand: Stand): Promise<History> {
  const { history, tokens } = await stand.take(oneOf(['pair_opaque', 'pair_jwt'] as const));
  const chain = await chainOf(stand, history, tokens);
  const chosen = oneOf([...tokens, ...chain]);
  const place = chain.indexOf(chosen);
  const ending = place === -1 ? [...tokens, ...chain] : chain.slice(place);
  const staying = place === -1 ? [] : [...accessIn(tokens), ...chain.slice(0, place)];
  const at = stand.anywhere();
  await observe(stand, history, { ending, staying, at }, () => history.revoke(chosen, at, ending));
  await Promise.all(ending.filter(isAccess).map((token) => obtain(stand, history, token, 'late')));
  return history;
}

/** What is obtained while a token ends is dead too, whichever of the two came first. */
async function revokeAmidExchanges(stand: Stand): Promise<History> {
  const { history, tokens } = await stand.take(oneOf(['pair_opaque', 'pair_jwt'] as const));
  const chain = await chainOf(stand, history, tokens);
  const chosen = oneOf(tokens);
  const ending: Token[] = [...tokens, ...chain];
  const at = stand.anywhere();
  await observe(stand, history, { ending, at }, async () => {
    const exchanging = [...accessIn(tokens), ...chain.slice(0, -1)].map(async (from) => {
      for (let number = 1; number <= 3; number++) {
        const token = await obtain(stand, history, from, `of ${from.name}, ${number}`);
        if (token !== undefined) ending.push(token);
      }
    });
    await Promise.all([...exchanging, history.revoke(chosen, at, ending)]);
  });
  return history;
}

async function chainOf(stand: Stand, history: History, tokens: readonly Token[]): Promise<readonly Token[]> {
  const chain: Token[] = [];
  let from = accessIn(tokens)[0];
  while (from !== undefined && chain.length < HOPS) {
    from = await obtain(stand, history, from, `hop ${chain.length + 1}`);
    if (from !== undefined) chain.push(from);
  }
  return chain;
}

/** @returns nothing without a response or after a refusal */
async function obtain(stand: Stand, history: History, from: Token, name: string): Promise<Token | undefined> {
  const connection = stand.anywhere();
  const { id: clientId } = oneOf([CLIENTS.service, CLIENTS.otherService]);
  const obtained = await history.exchange(from, connection, clientId);
  if (obtained === undefined) return undefined;
  const { tokens, ...span } = obtained;
  const text = tokens.accessToken;
  const token = { name, text, kind: 'access_token', clientId, isPersonal: false } as const;
  return history.issued(token, span, connection.address, span.startNs + 3000 * 1e9);
}

function accessIn(tokens: readonly Token[]): readonly Token[] {
  return tokens.filter(isAccess);
}

function isAccess({ kind }: Token): boolean {
  return kind === 'access_token';
}
