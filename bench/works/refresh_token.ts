import { BENCH_CLIENTS, clientOf } from '../population/clients.ts';
import { tokenProof } from '../population/dpop_proofs.ts';
import type { TokenKind } from '../population/order.ts';
import { WORKER_CORES } from '../processes/pinning.ts';
import { bareLike, grantd } from '../subjects/contestants.ts';
import type { PeerTokenKind } from '../subjects/peer_order.ts';
import type { PeerName } from '../subjects/peer_state.ts';
import { REFRESHED } from './answers.ts';
import { BETTER_AUTH_ON_SQLITE, OAUTH2_ON_SQLITE, OIDC_ON_SQLITE, peers } from './peers.ts';
import { exchanging, refreshing } from './requests.ts';
import { tokensOf } from './stage.ts';
import { warmUpOf } from './warm_up.ts';
import type { Work } from './work.ts';

/** The contestant that gets the same requests without proofs. */
export const WITHOUT_PROOF = 'grantd, without proofs';

/** The contestant that may use both cores, where the thread pool signs with RSA beside the event loop. */
export const ON_TWO_CORES = 'grantd, 2 cores';

/** What is traded in for new tokens, and once only. */
interface Trade {
  readonly name: string;
  readonly title: string;
  readonly kind: TokenKind;
  readonly peerKind: PeerTokenKind;
  readonly peers: readonly PeerName[];
  readonly planned: typeof refreshing;
  /** Whether it is also measured on two cores. */
  readonly signsInPool?: true;
}

/** Refreshes and code exchanges: each request uses one token or code up, and gets a refresh token among others. */
function trading({ name, title, kind, peerKind, peers: chosen, planned, signsInPool }: Trade): Work {
  return {
    name,
    title,
    connections: 32,
    async contestants(stage) {
      const population = await stage.population();
      const requests = planned(tokensOf(population, kind), clientOf(kind));
      const workload = { ...(await stage.requests(name, requests)), answers: [REFRESHED], onlyOnce: true };
      const warmUp = await warmUpOf(stage, name, {
        tokens: tokensOf(population, 'jwt_rs256'),
        client: BENCH_CLIENTS.machine_es256,
      });
      const order = { changes: true, warmUp };
      const measured = grantd(stage, population, workload, order);
      const onTwoCores = { ...order, name: ON_TWO_CORES, cores: WORKER_CORES };
      return [
        measured,
        ...(signsInPool && !stage.isComparison ? [grantd(stage, population, workload, onTwoCores)] : []),
        ...(stage.isComparison ? [] : [await bareLike(measured)]),
        ...(await peers(stage, name, {
          peers: chosen,
          kind: peerKind,
          planned: (tokens) => planned(tokens, BENCH_CLIENTS.web),
          answers: [REFRESHED],
          onlyOnce: true,
        })),
      ];
    },
  };
}

/** With the program's defaults: JWTs, signed with RS256. */
export const refreshToken = trading({
  name: 'refresh-token',
  title: 'refresh, with rotation',
  kind: 'web_refresh',
  peerKind: 'refresh',
  peers: [...OIDC_ON_SQLITE, ...OAUTH2_ON_SQLITE],
  planned: refreshing,
  signsInPool: true,
});

/** What oidc-provider issues: opaque tokens, and an ID token signed with RS256. */
export const refreshTokenOpaque = trading({
  name: 'refresh-token-opaque',
  title: 'refresh, opaque tokens, RS256 ID token',
  kind: 'web_opaque_refresh',
  peerKind: 'refresh',
  peers: [...OIDC_ON_SQLITE, BETTER_AUTH_ON_SQLITE],
  planned: refreshing,
  signsInPool: true,
});

export const refreshTokenEs256 = trading({
  name: 'refresh-token-es256',
  title: 'refresh, ES256',
  kind: 'web_es256_refresh',
  peerKind: 'refresh',
  peers: [],
  planned: refreshing,
});

/** Proofs are made before the run, so they have to be valid until its end. */
const PROOFS_ARE_VALID = ['--dpop-proof-lifetime', '3600'];

/** Each refresh has a DPoP proof, so its tokens are bound to a key. The same without a proof is measured next to it. */
export const refreshTokenDpop: Work = {
  name: 'refresh-token-dpop',
  title: 'refresh, ES256, with a DPoP proof',
  connections: 32,
  async contestants(stage) {
    const kind = 'web_es256_refresh';
    const population = await stage.population();
    const planned = refreshing(tokensOf(population, kind), clientOf(kind));
    const proven = await Promise.all(
      planned.map(async (request) => ({ ...request, dpop: await tokenProof() })),
    );
    const name = 'refresh-token-dpop';
    const expected = { answers: [REFRESHED], onlyOnce: true };
    const workload = { ...(await stage.requests(name, proven)), ...expected };
    const unbound = { ...(await stage.requests(`${name}.unbound`, planned)), ...expected };
    const warmUp = await warmUpOf(stage, name, {
      tokens: tokensOf(population, 'jwt_rs256'),
      client: BENCH_CLIENTS.machine_es256,
    });
    const measured = grantd(stage, population, workload, { flags: PROOFS_ARE_VALID, changes: true, warmUp });
    return [
      measured,
      grantd(stage, population, unbound, { name: WITHOUT_PROOF, changes: true, warmUp }),
      await bareLike(measured),
    ];
  },
};

/** Like `refreshTokenOpaque`, with an authorization code. */
export const codeExchange = trading({
  name: 'code-exchange',
  title: 'code exchange, opaque tokens, RS256 ID token',
  kind: 'web_opaque_code',
  peerKind: 'code',
  peers: OIDC_ON_SQLITE,
  planned: exchanging,
  signsInPool: true,
});
