import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { OperatorIssueError, StorageFault } from '@grantd/core';
import type { Cluster } from '../deployments/cluster.ts';
import { openLibrary } from '../deployments/library.ts';
import type { ServerProcess } from '../deployments/server_process.ts';
import { oneOf } from '../load/choice.ts';
import { register } from '../load/registrations.ts';
import { type ApiOrder, FollowingApi } from './following_api.ts';
import { live } from './history.ts';
import { FollowingTally } from './tally.ts';
import { API, NotIssued } from './ways.ts';

/** Changes to the servers or their database, until the run is over. */
export type Disturbance = (tally: FollowingTally, isOver: () => boolean) => Promise<void>;

export interface FollowingOrder extends ApiOrder {
  readonly seconds: number;
  /** Ends before the time is over when there are so many. Default: no limit. */
  readonly histories?: number;
  /** Whether to end at the first acceptance after the bound. */
  readonly isOverWhenLate?: boolean;
  readonly followers: number;
  /** Users at the same time, each with several tokens. */
  readonly lanes: number;
  readonly disturbances: readonly Disturbance[];
  readonly onProgress?: (tally: FollowingTally) => void;
}

/** Of a server that ends at once, because its database is away, or because its port is in use for a while. */
const MOST_STARTS = 200;

/** Why no token was issued: storage is away, or a cutoff has ended what was presented. */
const NO_ISSUE = [StorageFault, OperatorIssueError, NotIssued] as const;

/** After a failed issuance. */
const RETRY_MS = 200;

/** Lets followers look at tokens that end, while their lines and servers fail. */
export async function runFollowing(cluster: Cluster, order: FollowingOrder): Promise<FollowingTally> {
  const { seconds, histories = Infinity, isOverWhenLate = false, onProgress } = order;
  const library = await openLibrary(cluster);
  if ((await library.storage.clients.get(API.id)) === undefined)
    await register(library.opaque, library.storage.clients, API);
  const run = randomUUID().slice(0, 8);
  const apis = Array.from({ length: order.followers }, () => new FollowingApi(cluster, order));
  const tally = new FollowingTally();
  const stage = { library, cluster, apis, tally, boundMs: order.maxSilence * 1000 };
  const endsAtMs = performance.now() + seconds * 1000;
  const isOver = () =>
    performance.now() > endsAtMs ||
    tally.histories >= histories ||
    tally.failures.length > 0 ||
    (isOverWhenLate && tally.late.length > 0);
  const lane = async (number: number) => {
    for (let users = 0; !isOver(); users++) {
      try {
        await live(`${run}-${number}-${users}`, stage);
      } catch (error) {
        if (!NO_ISSUE.some((kind) => error instanceof kind)) throw error;
        tally.disturb('no token could be issued');
        await pause(RETRY_MS);
      }
      onProgress?.(tally);
    }
  };
  try {
    const all = [
      ...Array.from({ length: order.lanes }, (_, number) => lane(number)),
      ...apis.map((api) => api.disturb(tally, isOver)),
      ...order.disturbances.map((disturb) => disturb(tally, isOver)),
    ];
    await Promise.all(all.map((one) => one.catch((error: unknown) => tally.failures.push(error))));
    return tally;
  } finally {
    await Promise.all(apis.map((api) => api.close()));
    await library.close();
  }
}

/** Kills, stops and reloads servers, one at a time. */
export function serverAccidents({ servers }: Cluster): Disturbance {
  return async (tally, isOver) => {
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
        await startAgain(server);
      }
      tally.disturb(`${kind} of a server`);
    }
  };
}

/** Tries until its database answers. */
async function startAgain(server: ServerProcess): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await server.start();
      return;
    } catch (error) {
      if (tries === MOST_STARTS) throw error;
      await pause(RETRY_MS);
    }
  }
}
