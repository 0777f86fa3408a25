import type { Answer } from '../load/generator.ts';
import type { PlannedRequest } from '../load/request_file.ts';
import { BENCH_CLIENTS, type BenchClient } from '../population/clients.ts';
import { peer } from '../subjects/contestants.ts';
import type { PeerTokenKind } from '../subjects/peer_order.ts';
import { PEERS, type PeerName } from '../subjects/peer_state.ts';
import { linesOf, type Stage } from './stage.ts';
import { warmUpOf } from './warm_up.ts';
import type { Contestant } from './work.ts';

interface PeerWork {
  /** Default: all. Not every peer has every endpoint. */
  readonly peers?: readonly PeerName[];
  readonly kind: PeerTokenKind;
  /** @param tokensOf tokens of another kind */
  readonly planned: (
    tokens: readonly string[],
    peer: PeerName,
    tokensOf: (kind: PeerTokenKind) => readonly string[],
  ) => Iterable<PlannedRequest>;
  readonly answers: readonly Answer[];
  readonly onlyOnce?: boolean;
}

/** The peers, each with its own tokens. */
export async function peers(stage: Stage, name: string, work: PeerWork): Promise<readonly Contestant[]> {
  const { peers: chosen = Object.keys(PEERS) as PeerName[], kind, planned, answers, onlyOnce = false } = work;
  if (!stage.hasPeers) return [];
  const contestants: Contestant[] = [];
  for (const each of chosen) {
    const state = await stage.peer(each);
    const tokensOf = (kind: PeerTokenKind) => linesOf(state.tokenFile(kind));
    const label = `${name}.${each}`;
    const workload = {
      ...(await stage.requests(label, planned(tokensOf(kind), each, tokensOf))),
      answers,
      onlyOnce,
    };
    const warmUp = onlyOnce
      ? await warmUpOf(stage, label, { tokens: tokensOf('machine'), client: MACHINE_OF[each] })
      : undefined;
    contestants.push({ ...peer(each, state, workload), ...(warmUp !== undefined && { warmUp }) });
  }
  return contestants;
}

/** The owner of client tokens at each peer. */
export const MACHINE_OF: Readonly<Record<PeerName, BenchClient>> = {
  'oidc-provider': BENCH_CLIENTS.machine_opaque,
  '@jmondi/oauth2-server': BENCH_CLIENTS.machine_rs256,
};
