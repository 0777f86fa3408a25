import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { AccessTokenFollower, type AccessTokens, OAuthError } from '@grantd/protect';
import type { Cluster } from '../deployments/cluster.ts';
import { ISSUER } from '../deployments/identity.ts';
import { type Library, openLibrary } from '../deployments/library.ts';
import { oneOf } from '../load/choice.ts';
import { Connection } from '../load/connection.ts';
import { revoke } from '../load/protocol.ts';
import { machine, register, secretOf } from '../load/registrations.ts';
import { FaultyLine } from './faulty_line.ts';

export interface FollowingOrder {
  readonly seconds: number;
  readonly followers: number;
  /** Histories at the same time. */
  readonly lanes: number;
  /** Whether servers are killed, stopped and reloaded meanwhile. */
  readonly disturbs: boolean;
  /** Seconds. */
  readonly maxSilence: number;
  /** Replaces the followers, to show that the check can fail. */
  readonly instead?: ((line: FaultyLine) => AccessTokens) | undefined;
  readonly onProgress?: (tally: FollowingTally) => void;
}

/** A history is a token at one follower: it is accepted, ends, and is refused. */
export interface FollowingTally {
  histories: number;
  /** In which the token was accepted before its end, and refused after it. */
  conclusive: number;
  acceptances: number;
  /** Looks without an answer: no server could be asked. */
  unanswered: number;
  readonly byWay: Record<string, number>;
  /** Acceptances that began too late. */
  readonly late: string[];
}

/** The API of all followers. */
export const API = {
  ...{ id: 'followed-api', grantTypes: [], scopes: [], redirectUris: [] },
  ...{ resource: 'https://followed.example', metadata: { api_scopes: ['read'] } },
} as const;

type Look = 'accepted' | 'refused' | 'unanswered';

const WAYS = [
  'its revocation',
  'all of its subject',
  'all of its client',
  'its grant',
  'a disabled subject',
  'a disabled client',
  'a removed client',
  'a cutoff in time',
] as const;

/** The last one ends the tokens of other histories too, before their time. */
const RARE = 'a cutoff in time';

const LONGEST_LOOK_BOUNDS = 2;

/** Lets followers look at tokens that end, while their lines and servers fail. */
export async function runFollowing(cluster: Cluster, order: FollowingOrder): Promise<FollowingTally> {
  const library = await openLibrary(cluster);
  if ((await library.storage.clients.get(API.id)) === undefined)
    await register(library.opaque, library.storage.clients, API);
  const run = randomUUID().slice(0, 8);
  const lines = Array.from({ length: order.followers }, () => new FaultyLine(cluster));
  const tokens = lines.map((line) => order.instead?.(line) ?? followerOn(line, order.maxSilence));
  const tally: FollowingTally = {
    ...{ histories: 0, conclusive: 0, acceptances: 0, unanswered: 0 },
    ...{ byWay: {}, late: [] },
  };
  const endsAtMs = performance.now() + order.seconds * 1000;
  const isOver = () => performance.now() > endsAtMs;
  try {
    await Promise.all([
      ...Array.from({ length: order.lanes }, async (_, lane) => {
        for (let number = 0; !isOver(); number++) {
          await live(`${run}-${lane}-${number}`, { library, cluster, order, tokens, tally });
          order.onProgress?.(tally);
        }
      }),
      ...lines.map(async (line) => {
        while (!isOver()) {
          line.change();
          await pause(Math.random() * 4000);
          line.heal();
          await pause(Math.random() * 4000);
        }
      }),
      order.disturbs ? disturb(cluster, isOver) : undefined,
    ]);
    return tally;
  } finally {
    await Promise.all(tokens.map((one) => (one instanceof AccessTokenFollower ? one.close() : undefined)));
    await library.close();
  }
}

function followerOn({ fetch, clock }: FaultyLine, maxSilence: number): AccessTokenFollower {
  const credentials = { clientId: API.id, clientSecret: secretOf(API.id) };
  const checkIssued = Math.random() < 0.3;
  return new AccessTokenFollower({
    ...{ issuer: ISSUER, audience: API.resource, credentials, fetch, clock, maxSilence, checkIssued },
    timeoutMs: 4000,
  });
}

interface Stage {
  readonly library: Library;
  readonly cluster: Cluster;
  readonly order: FollowingOrder;
  readonly tokens: readonly AccessTokens[];
  readonly tally: FollowingTally;
}

/** The life of a token, at each follower. */
async function live(name: string, stage: Stage): Promise<void> {
  const { library, tokens, tally } = stage;
  const way = oneOf(Math.random() < 0.02 ? WAYS : WAYS.filter((one) => one !== RARE));
  const [clientId, subject] = [`client-${name}`, `subject-${name}`];
  const format = Math.random() < 0.8 ? 'jwt' : 'opaque';
  const client = { ...machine(clientId, format), redirectUris: ['https://app.example/callback'] };
  const grantTypes = ['client_credentials', 'authorization_code', 'refresh_token'] as const;
  await register(library.opaque, library.storage.clients, {
    ...{ ...client, grantTypes, metadata: { apis: [API.resource] } },
  });
  const [issued] = await library.opaque.operator.issueTokens({
    ...{ clientId, subject, resources: [API.resource], scopes: ['read'], refresh: true },
  });
  if (issued === undefined) throw new Error('no token was issued');
  const text = issued.accessToken;
  const first = await Promise.all(tokens.map((one) => look(one, text)));
  await pause(Math.random() * 300);
  await end(way, { ...stage, clientId, subject, issued });
  const endedAtMs = performance.now();
  await Promise.all(
    tokens.map(async (one, at) => {
      const isRefused = await watch(one, text, { way, endedAtMs, stage });
      tally.histories += 1;
      tally.byWay[way] = (tally.byWay[way] ?? 0) + 1;
      if (first[at] === 'accepted' && isRefused) tally.conclusive += 1;
    }),
  );
}

/** Looks until the token is refused, and once more. @returns whether it was refused */
async function watch(
  tokens: AccessTokens,
  text: string,
  { way, endedAtMs, stage }: { readonly way: string; readonly endedAtMs: number; readonly stage: Stage },
): Promise<boolean> {
  const { tally, order } = stage;
  const note = (seen: Look, afterMs: number) => {
    if (seen === 'unanswered') tally.unanswered += 1;
    if (seen !== 'accepted') return;
    tally.acceptances += 1;
    if (afterMs > order.maxSilence * 1000)
      tally.late.push(`${way}: accepted ${Math.round(afterMs)} ms after its end`);
  };
  for (;;) {
    const afterMs = performance.now() - endedAtMs;
    const seen = await look(tokens, text);
    note(seen, afterMs);
    if (seen === 'refused') break;
    if (afterMs > LONGEST_LOOK_BOUNDS * order.maxSilence * 1000) return false;
    await pause(Math.random() * 200);
  }
  await pause(Math.random() * order.maxSilence * 1000);
  const afterMs = performance.now() - endedAtMs;
  note(await look(tokens, text), afterMs);
  return true;
}

async function look(tokens: AccessTokens, text: string): Promise<Look> {
  try {
    await tokens.verify(text);
    return 'accepted';
  } catch (error) {
    // A follower whose clock is wrong may see a token that is not valid yet.
    return error instanceof OAuthError && error.reason === 'not_active' ? 'refused' : 'unanswered';
  }
}

interface Ending extends Stage {
  readonly clientId: string;
  readonly subject: string;
  readonly issued: { readonly accessToken: string; readonly grantId?: string };
}

/** Repeats what has no answer, because its server may have been killed. */
async function end(way: (typeof WAYS)[number], { library, cluster, clientId, subject, issued }: Ending) {
  const { storage } = library;
  switch (way) {
    case 'its revocation':
      for (;;) {
        const connection = new Connection(oneOf(cluster.servers).address);
        const done = await revoke(connection, issued.accessToken, clientId).finally(() => connection.close());
        if (done === 'done') return;
        await pause(50);
      }
    case 'all of its subject':
      return storage.revokeAll({ principal: 'subject', id: subject });
    case 'all of its client':
      return storage.revokeAll({ principal: 'client', id: clientId });
    case 'its grant':
      return storage.revokeAll({ principal: 'grant', id: issued.grantId ?? '' });
    case 'a disabled subject':
      return storage.setDisabled('subject', subject, true);
    case 'a disabled client':
      return storage.setDisabled('client', clientId, true);
    case 'a removed client':
      return storage.clients.remove(clientId);
    case 'a cutoff in time':
      return storage.revokeAll({ issuedBeforeMs: Date.now() + 1 });
  }
}

/** Kills, stops and reloads servers, one at a time. */
async function disturb({ servers }: Cluster, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await pause(1000 + Math.random() * 4000);
    const server = oneOf(servers);
    const { pid } = server.running();
    const kind = oneOf(['kill', 'stop', 'reload'] as const);
    if (kind === 'reload') process.kill(pid, 'SIGHUP');
    if (kind === 'stop') {
      process.kill(pid, 'SIGSTOP');
      await pause(500 + Math.random() * 5000);
      process.kill(pid, 'SIGCONT');
    }
    if (kind === 'kill') {
      await server.end('SIGKILL');
      await server.start();
    }
  }
}
