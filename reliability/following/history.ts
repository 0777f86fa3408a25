import { setTimeout as pause } from 'node:timers/promises';
import { OAuthError } from '@grantd/protect';
import type { FollowingApi } from './following_api.ts';
import type { FollowingTally } from './tally.ts';
import { anyWay, end, issue, type Place } from './ways.ts';

type Look = 'accepted' | 'refused' | 'unanswered';

export interface Stage extends Place {
  readonly apis: readonly FollowingApi[];
  readonly tally: FollowingTally;
  /** Milliseconds. */
  readonly boundMs: number;
}

/** Tokens of one user that end together. */
const MOST_TOKENS = 6;

const LONGEST_REST_MS = 200;
/** Without an answer, which is likely to be missing again. */
const UNANSWERED_REST_MS = 1000;
/** A history is looked at once more within this time after the bound. */
const LAST_LOOK_WITHIN_MS = 2000;
/** For which the last look is repeated if it has no answer. */
const LONGEST_LAST_LOOK_MS = 6000;

/** Some tokens of one user that end in one way, at each API. Before that, no API has seen the first of them. */
export async function live(name: string, stage: Stage): Promise<void> {
  const { apis } = stage;
  const way = anyWay();
  const kin = await issue(name, 1 + Math.ceil(Math.random() * MOST_TOKENS), way, stage);
  const before = await Promise.all(
    kin.tokens.map(({ accessToken }, at) =>
      at === 0 ? [] : Promise.all(apis.map((api) => look(api, accessToken))),
    ),
  );
  await pause(Math.random() * 300);
  const endedAtMs = await end(way, kin, stage);
  await Promise.all(
    kin.tokens.flatMap(({ accessToken }, at) =>
      apis.map(async (api, number) => {
        const ended = { way: way.name, endedAtMs: endedAtMs[at] ?? Infinity };
        const isRefused = await watch(api, accessToken, ended, stage);
        if (at === 0) return;
        if (before[at]?.[number] === 'accepted' && isRefused) stage.tally.conclude(way.name);
        else stage.tally.inconclusive += 1;
      }),
    ),
  );
}

/**
 * Looks until the token is refused, once more within the bound, and once after it.
 * @returns whether the last look was refused
 */
async function watch(
  api: FollowingApi,
  token: string,
  { way, endedAtMs }: { readonly way: string; readonly endedAtMs: number },
  { tally, boundMs }: Stage,
): Promise<boolean> {
  const afterMs = () => performance.now() - endedAtMs;
  const lookNow = async () => {
    const { faults } = api;
    const beganMs = afterMs();
    const seen = await look(api, token);
    tally.note(seen);
    if (seen === 'accepted' && beganMs > boundMs)
      tally.late.push(`${way}: accepted ${Math.round(beganMs)} ms after its end, while ${faults}`);
    return seen;
  };
  for (let seen = await lookNow(); seen !== 'refused' && afterMs() < boundMs; seen = await lookNow())
    await pause(seen === 'accepted' ? Math.random() * LONGEST_REST_MS : UNANSWERED_REST_MS);
  await pause(Math.random() * Math.max(0, boundMs - afterMs()));
  await lookNow();
  await pause(Math.max(0, boundMs - afterMs()) + Math.random() * LAST_LOOK_WITHIN_MS);
  for (;;) {
    const seen = await lookNow();
    if (seen !== 'unanswered') return seen === 'refused';
    if (afterMs() > boundMs + LONGEST_LAST_LOOK_MS) return false;
    await pause(UNANSWERED_REST_MS);
  }
}

async function look({ tokens }: FollowingApi, token: string): Promise<Look> {
  try {
    await tokens.verify(token);
    return 'accepted';
  } catch (error) {
    // A follower whose clock is wrong may see a token that is not valid yet.
    return error instanceof OAuthError && error.reason === 'not_active' ? 'refused' : 'unanswered';
  }
}
