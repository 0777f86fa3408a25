// What many followers cost a server.
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../core/test/harness/free_port.ts';
import { exactCpuSeconds } from '../processes/process_usage.ts';
import { API } from './parties.ts';
import { followersWithContact } from './refusals.ts';
import { type Issuer, newTokens, revoke, type Servers } from './servers.ts';

const REVOCATIONS_PER_SECOND = 100;

/** Shares of a core, in percent. */
export interface ManyFigures {
  /** Of revocations alone. */
  readonly alone: number;
  /** Of followers, beside as many revocations. */
  readonly beside: number;
  /** Of followers without revocations. */
  readonly quiet: number;
  /** Of a bare server that answers as many nonces and sends as many messages. */
  readonly bare: number;
  /** Followers with contact at the end. */
  readonly inContact: number;
}

export async function measureMany(
  servers: Servers,
  issuer: Issuer,
  { count, seconds }: { readonly count: number; readonly seconds: number },
): Promise<ManyFigures> {
  const clients = [API];
  while (clients.length * 100 < count) clients.push(servers.addFollower(`follower-${clients.length}`));
  const tokens = await newTokens(issuer, REVOCATIONS_PER_SECOND * seconds * 3);
  const revoking = () => revokeSteadily(issuer, tokens, seconds);
  await revoking(); // to warm up
  const alone = await usageOf(issuer.pid, revoking);
  const followers = await followersWithContact(issuer, { count, clients });
  await pause(3000);
  const quiet = await usageOf(issuer.pid, () => pause(seconds * 1000));
  const followed = await usageOf(issuer.pid, revoking);
  const inContact = followers.filter((follower) => follower.status().isInContact).length;
  await Promise.all(followers.map((follower) => follower.close()));

  const port = await freePort();
  const pid = await servers.start([join(import.meta.dirname, 'bare_feed.ts'), String(port)]);
  const followEndpoint = `http://localhost:${port}/token/follow`;
  const others = await followersWithContact(issuer, { count, followEndpoint });
  await pause(3000);
  const bare = await usageOf(pid, () => pause(seconds * 1000));
  await Promise.all(others.map((follower) => follower.close()));
  const share = (used: number, { seconds }: Usage) => (used / seconds) * 100;
  return {
    alone: share(alone.used, alone),
    // On a busy machine, the same revocations can take longer.
    beside: share(followed.used - alone.used, followed),
    ...{ quiet: share(quiet.used, quiet), bare: share(bare.used, bare), inContact },
  };
}

async function revokeSteadily(issuer: Issuer, tokens: string[], seconds: number): Promise<void> {
  const startedAt = performance.now();
  for (let at = 1; at <= REVOCATIONS_PER_SECOND * seconds; at++) {
    await revoke(issuer, tokens.pop() ?? '');
    await pause(Math.max(0, startedAt + (at * 1000) / REVOCATIONS_PER_SECOND - performance.now()));
  }
}

/** In seconds. */
interface Usage {
  /** Of a processor. */
  readonly used: number;
  readonly seconds: number;
}

async function usageOf(pid: number, work: () => Promise<unknown>): Promise<Usage> {
  const before = exactCpuSeconds(pid) ?? Number.NaN;
  const startedAt = performance.now();
  await work();
  const used = (exactCpuSeconds(pid) ?? Number.NaN) - before;
  return { used, seconds: (performance.now() - startedAt) / 1000 };
}
