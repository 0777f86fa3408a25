import type { Answer } from '../load/generator.ts';
import type { PlannedRequest } from '../load/request_file.ts';
import { BENCH_CLIENTS, type BenchClient } from '../population/clients.ts';
import { peer } from '../subjects/contestants.ts';
import type { PeerTokenKind } from '../subjects/peer_order.ts';
import { PEERS, type PeerName } from '../subjects/peer_state.ts';
import { linesOf, type Stage } from './stage.ts';
import type { Contestant } from './work.ts';

export interface PeerWork {
  /** Default: all; not each of them has each endpoint. */
  readonly peers?: readonly PeerName[];
  readonly kind: PeerTokenKind;
  readonly planned: (tokens: readonly string[], peer: PeerName) => Iterable<PlannedRequest>;
  readonly answers: readonly Answer[];
  readonly onlyOnce?: boolean;
}

/** The peers, each asked about tokens of its own. */
export async function peers(stage: Stage, name: string, work: PeerWork): Promise<readonly Contestant[]> {
  const { peers: chosen = Object.keys(PEERS) as PeerName[], kind, planned, answers, onlyOnce = false } = work;
  if (!stage.hasPeers) return [];
  const contestants: Contestant[] = [];
  for (const each of chosen) {
    const state = await stage.peer(each);
    const asked = await stage.requests(`${name}.${each}`, planned(linesOf(state.tokenFile(kind)), each));
    contestants.push(peer(each, state, { ...asked, answers, onlyOnce }));
  }
  return contestants;
}

/** Whose the tokens of machines are there. */
export const MACHINE_OF: Readonly<Record<PeerName, BenchClient>> = {
  'oidc-provider': BENCH_CLIENTS.machine_opaque,
  '@jmondi/oauth2-server': BENCH_CLIENTS.machine_rs256,
};
