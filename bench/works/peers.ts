import type { Answer } from '../load/generator.ts';
import type { PlannedRequest } from '../load/request_file.ts';
import { peer } from '../subjects/contestants.ts';
import type { PeerTokenKind } from '../subjects/peer_order.ts';
import { PEERS, type Peer, type PeerName } from '../subjects/peer_state.ts';
import { linesOf, type Stage } from './stage.ts';
import { warmUpOf } from './warm_up.ts';
import type { Contestant } from './work.ts';

/** Without a database, for works whose peers are not measured durably. */
export const IN_MEMORY = ['oidc-provider', '@jmondi/oauth2-server'] as const;
export const OIDC_ON_SQLITE = ['oidc-provider', 'oidc-provider, SQLite'] as const;
export const OAUTH2_ON_SQLITE = ['@jmondi/oauth2-server', '@jmondi/oauth2-server, SQLite'] as const;
export const BETTER_AUTH_ON_SQLITE = 'better-auth, SQLite';
export const ON_POSTGRES = ['oidc-provider, PostgreSQL', '@jmondi/oauth2-server, PostgreSQL'] as const;

/** Of the tokens of clients, if each request of a work uses one up. */
const PART_FOR_WARM_UP = 0.1;

interface PeerWork {
  /** Not every peer has every endpoint. */
  readonly peers: readonly PeerName[];
  readonly kind: PeerTokenKind;
  /** @param tokensOf tokens of another kind */
  readonly planned: (
    tokens: readonly string[],
    peer: Peer,
    tokensOf: (kind: PeerTokenKind) => readonly string[],
  ) => Iterable<PlannedRequest>;
  readonly answers: readonly Answer[];
  readonly onlyOnce?: boolean;
}

/** The peers, each with its own tokens. */
export async function peers(stage: Stage, name: string, work: PeerWork): Promise<readonly Contestant[]> {
  const { peers: chosen, kind, planned, answers, onlyOnce = false } = work;
  if (!stage.hasPeers) return [];
  const contestants: Contestant[] = [];
  for (const each of chosen.filter((each) => !stage.isComparison || PEERS[each].storage !== 'memory')) {
    const state = await stage.peer(each);
    const all = (kind: PeerTokenKind) => linesOf(state.tokenFile(kind));
    const kept = Math.ceil(all('machine').length * PART_FOR_WARM_UP);
    // The warm-up asks about tokens that no request of the work ends.
    const tokensOf = (kind: PeerTokenKind) =>
      kind === 'machine' && onlyOnce ? all(kind).slice(kept) : all(kind);
    const label = `${name}.${each}`;
    const workload = {
      ...(await stage.requests(label, planned(tokensOf(kind), PEERS[each], tokensOf))),
      answers,
      onlyOnce,
    };
    const warmUp = onlyOnce
      ? await warmUpOf(stage, label, {
          tokens: all('machine').slice(0, kept),
          client: PEERS[each].machine,
          introspector: PEERS[each].introspector,
        })
      : undefined;
    contestants.push({
      ...(await peer(stage, each, state, workload)),
      ...(warmUp !== undefined && { warmUp }),
    });
  }
  return contestants;
}
