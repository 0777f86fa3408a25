import { oneOf } from '../../load/choice.ts';
import type { Connection } from '../../load/connection.ts';
import { CLIENTS } from '../../load/registrations.ts';
import type { History, Token } from '../history.ts';
import { observe } from '../observe.ts';
import type { Stand } from '../stand.ts';
import type { Scenario } from './scenario.ts';

/** Pairs of a user, and which other tokens of the family and grant a revocation ends. */
export const PAIRS: readonly Scenario[] = [
  { name: 'a pair, by either token', share: 130, histories: 1, run: revokePair },
  { name: 'a rotated family, by any token', share: 60, histories: 1, run: revokeRotated },
  { name: 'a pair that is refreshed meanwhile', share: 40, histories: 1, run: revokeAmidRefreshes },
  { name: 'a family, by reuse', share: 20, histories: 1, run: reuse },
];

async function revokePair(stand: Stand): Promise<History> {
  const { history, tokens } = await takePair(stand);
  const at = stand.anywhere();
  const chosen = oneOf(tokens);
  await observe(stand, history, { ending: tokens, at }, () => history.revoke(chosen, at, tokens));
  return history;
}

/**
 * An access token ends its pair, the current refresh token and that token's pair. A refresh token ends its whole grant
 * (docs/adr/0002).
 */
async function revokeRotated(stand: Stand): Promise<History> {
  const { history, tokens } = await takePair(stand);
  const generations = [tokens];
  const last = await rotate(stand, history, tokens, 2);
  if (last === undefined) return history;
  generations.push(last);

  const chosen = oneOf(generations.flat());
  const own = generations.find((generation) => generation.includes(chosen)) ?? [];
  const isAccess = chosen.kind === 'access_token';
  const ending = isAccess ? [...new Set([...own, ...last])] : generations.flat();
  const staying = generations.flat().filter((token) => !ending.includes(token));
  const at = stand.anywhere();
  // A superseded refresh token is inactive already, so its end cannot be observed.
  const watched = ending.filter((token) => token.kind === 'access_token' || last.includes(token));
  const seenToStay = staying.filter(({ kind }) => kind === 'access_token');
  await observe(stand, history, { ending: watched, staying: seenToStay, at }, () =>
    history.revoke(chosen, at, ending),
  );
  await refreshNoMore(stand, history, last, at);
  return history;
}

/** The revocation also ends the tokens of a concurrent refresh. */
async function revokeAmidRefreshes(stand: Stand): Promise<History> {
  const { history, tokens } = await takePair(stand);
  const chosen = oneOf(tokens);
  const ending: Token[] = [...tokens];
  const at = stand.anywhere();
  await observe(stand, history, { ending, at }, async () => {
    const refreshing = [2, 3].map(async (number) => {
      const issued = await rotate(stand, history, tokens, number);
      ending.push(...(issued ?? []));
    });
    await Promise.all([...refreshing, history.revoke(chosen, at, ending)]);
  });
  await refreshNoMore(stand, history, ending, at);
  return history;
}

/** Presenting a refresh token whose successor was used ends the family (RFC 9700 §4.14.2). */
async function reuse(stand: Stand): Promise<History> {
  const { history, tokens } = await takePair(stand);
  const second = await rotate(stand, history, tokens, 2);
  const third = second && (await rotate(stand, history, second, 3));
  if (second === undefined || third === undefined) return history;
  const [stolen] = tokens.filter(({ kind }) => kind === 'refresh_token');
  if (stolen === undefined) return history;
  const at = stand.anywhere();
  const watched = [...tokens, ...second, ...third].filter(
    (token) => token.kind === 'access_token' || third.includes(token),
  );
  await observe(stand, history, { ending: watched, at }, () => history.reuse(stolen, at, watched));
  await refreshNoMore(stand, history, third, at);
  return history;
}

function takePair(stand: Stand) {
  return stand.take(oneOf(['pair_opaque', 'pair_opaque', 'pair_jwt'] as const));
}

/** @returns the new pair, numbered; nothing without a response or after a refusal */
async function rotate(
  stand: Stand,
  history: History,
  tokens: readonly Token[],
  number: number,
): Promise<readonly Token[] | undefined> {
  const current = tokens.find(({ kind }) => kind === 'refresh_token');
  if (current === undefined) throw new Error('a pair has a refresh token');
  const connection = stand.anywhere();
  const refreshed = await history.refresh(current, connection);
  if (refreshed === undefined) return undefined;
  const { tokens: next, ...span } = refreshed;
  const common = { clientId: CLIENTS.web.id };
  const pair: readonly Token[] = [
    { ...common, name: `A${number}`, text: next.accessToken, kind: 'access_token', isPersonal: true },
    {
      ...common,
      name: `R${number}`,
      text: next.refreshToken ?? '',
      kind: 'refresh_token',
      isPersonal: false,
    },
  ];
  for (const token of pair) history.issued(token, span, connection.address, span.startNs + 3500 * 1e9);
  return pair;
}

/** After its end, a family issues no more tokens. */
async function refreshNoMore(
  stand: Stand,
  history: History,
  tokens: readonly Token[],
  at: Connection,
): Promise<void> {
  const refreshTokens = tokens.filter(({ kind }) => kind === 'refresh_token');
  await Promise.all(refreshTokens.map((token) => history.refresh(token, stand.elsewhere(at))));
}
