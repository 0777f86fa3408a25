import { PEERS, type PeerName } from '../subjects/peer_state.ts';
import { peer } from '../subjects/contestants.ts';
import type { PlannedRequest } from '../load/request_file.ts';
import type { PeerTokenKind } from '../subjects/peer_order.ts';
import { linesOf, type Stage } from './stage.ts';
import type { Contestant } from './work.ts';
import type { Answer } from '../load/generator.ts';

export interface PeerWork {
  readonly peers?: readonly PeerName[];
  readonly kind: PeerTokenKind;
  readonly count: number;
  readonly planned: (tokens: readonly string[], peer: PeerName) => Iterable<PlannedRequest>;
  readonly answers: readonly Answer[];
}

/** The peers, each with tokens of its own. */
export async function peers(stage: Stage, name: string, work: PeerWork): Promise<readonly Contestant[]> {
  const { peers: chosen = Object.keys(PEERS) as PeerName[], kind, count, planned, answers } = work;
  const contestants: Contestant[] = [];
  for (const each of chosen) {
    const state = await stage.peer(each, { [kind]: count });
    const asked = await stage.requests(`${name}.${each}`, planned(linesOf(state.tokenFile(kind)), each));
    contestants.push(peer(each, state, { ...asked, answers }));
  }
  return contestants;
}
