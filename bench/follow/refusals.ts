// How long after the answer to its revocation a token is accepted for the last time, and refused for the first time.
import { setImmediate as turn } from 'node:timers/promises';
import { AccessTokenFollower } from '@grantd/protect';
import { delayedLine, type Line } from './delayed_line.ts';
import { API, AUDIENCE } from './parties.ts';
import { type Credentials, type Issuer, newTokens, revoke } from './servers.ts';

interface RefusalOrder {
  readonly followers: number;
  readonly revocations: number;
  /** Milliseconds to the server and back. */
  readonly delayMs?: number;
}

/** Milliseconds from the answer to a revocation, in ascending order: one for each follower and revocation. */
export interface Times {
  /** Until the begin of the last check that accepted the token. */
  readonly accepted: readonly number[];
  /** Until the answer of the check that refused it, which asks the server first. */
  readonly refused: readonly number[];
}

export async function timesOfRefusal(
  issuer: Issuer,
  { followers: count, revocations, delayMs = 0 }: RefusalOrder,
): Promise<Times> {
  const line =
    delayMs === 0 ? undefined : await delayedLine(Number(new URL(issuer.issuer).port), delayMs / 2);
  const followers = await followersWithContact(issuer, { count, line });
  const [accepted, refused]: [number[], number[]] = [[], []];
  for (const token of await newTokens(issuer, revocations)) {
    for (const follower of followers) await follower.verify(token);
    await revoke(issuer, token);
    const revokedAt = performance.now();
    const refusals = followers.map(async (follower) => {
      accepted.push(await lastAccepted(follower, token, revokedAt));
      refused.push(performance.now() - revokedAt);
    });
    await Promise.all(refusals);
  }
  await Promise.all(followers.map((follower) => follower.close()));
  line?.close();
  const ascending = (a: number, b: number) => a - b;
  return { accepted: accepted.toSorted(ascending), refused: refused.toSorted(ascending) };
}

/**
 * Checks the token again and again, until it is refused.
 * @returns milliseconds from the revocation to the begin of the last check that accepted it
 */
async function lastAccepted(
  follower: AccessTokenFollower,
  token: string,
  revokedAt: number,
): Promise<number> {
  let last = 0;
  for (;;) {
    const askedAt = performance.now();
    try {
      await follower.verify(token);
    } catch {
      return last;
    }
    last = askedAt - revokedAt;
    await turn();
  }
}

interface FollowersOrder {
  readonly count: number;
  readonly line?: Line | undefined;
  /** A client may have a hundred followers. */
  readonly clients?: readonly Credentials[];
  /** Default: that of the issuer. */
  readonly followEndpoint?: string;
}

export async function followersWithContact(
  { issuer }: Pick<Issuer, 'issuer'>,
  { count, line, clients = [API], followEndpoint }: FollowersOrder,
): Promise<readonly AccessTokenFollower[]> {
  const endpoints = {
    ...(followEndpoint !== undefined && { followEndpoint }),
    ...(line !== undefined && {
      followEndpoint: `${line.url}/token/follow`,
      introspectionEndpoint: `${line.url}/token/introspect`,
      jwksUri: `${line.url}/jwks`,
    }),
  };
  const followers = Array.from({ length: count }, (_, at) => {
    const credentials = clients[Math.floor(at / 100)] ?? API;
    return new AccessTokenFollower({ issuer, audience: AUDIENCE, credentials, ...endpoints });
  });
  await Promise.all(followers.map((follower) => follower.ready()));
  return followers;
}
