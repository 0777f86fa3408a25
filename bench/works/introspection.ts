import type { Answer } from '../load/generator.ts';
import type { TokenKind } from '../population/order.ts';
import { bareLike, grantd } from '../subjects/contestants.ts';
import type { PeerTokenKind } from '../subjects/peer_order.ts';
import type { PeerName } from '../subjects/peer_state.ts';
import { ACTIVE, INACTIVE } from './answers.ts';
import { BETTER_AUTH_ON_SQLITE, IN_MEMORY, OAUTH2_ON_SQLITE, OIDC_ON_SQLITE, peers } from './peers.ts';
import { introspecting } from './requests.ts';
import { boundOf, tokensOf } from './stage.ts';
import type { Work } from './work.ts';

interface IntrospectionOrder {
  readonly name: string;
  readonly title: string;
  readonly kind: TokenKind;
  readonly answer: Answer;
  /**
   * For tokens that are new in each request: the kind that warms up instead, or other tokens of the same kind. Without
   * it, each token is introspected once before.
   */
  readonly coldAfter?: TokenKind;
  /** Flags for a second measurement of the program. */
  readonly alsoWith?: readonly string[];
  readonly peers: readonly PeerName[];
  readonly peerKind: PeerTokenKind;
}

function introspectionWork(order: IntrospectionOrder): Work {
  const { name, title, kind, answer, coldAfter, alsoWith } = order;
  return {
    name,
    title,
    connections: 32,
    async contestants(stage) {
      const population = await stage.population();
      const { tokens } = stage.sizes;
      const ofKind = tokensOf(population, kind);
      const own = coldAfter === kind ? ofKind.slice(tokens) : ofKind.slice(0, tokens);
      const workload = {
        ...(await stage.requests(name, introspecting(own))),
        answers: [answer],
        onlyOnce: coldAfter !== undefined,
      };
      const before = async (coldAfter: TokenKind) => {
        const planned = introspecting(tokensOf(population, coldAfter).slice(0, tokens));
        return { ...(await stage.requests(`${name}.first`, planned)), answers: [answer] };
      };
      const first = coldAfter === undefined ? workload : await before(coldAfter);
      const measured = grantd(stage, population, workload, { first });
      return [
        measured,
        ...(alsoWith === undefined || stage.isComparison
          ? []
          : [
              grantd(stage, population, workload, {
                ...{ name: `grantd ${alsoWith.join(' ')}`, flags: alsoWith, first },
              }),
            ]),
        ...(stage.isComparison ? [] : [await bareLike(measured)]),
        ...(await peers(stage, name, {
          peers: order.peers,
          kind: order.peerKind,
          planned: (tokens, { introspector }) => introspecting(tokens, introspector),
          answers: [answer],
        })),
      ];
    },
  };
}

/** The contestant that gets requests about tokens that are not bound to a key. */
export const UNBOUND = 'grantd, unbound tokens';

/** Tokens bound by DPoP. As many tokens that are not bound are measured next to them. */
export const introspectionDpop: Work = {
  name: 'introspection-dpop',
  title: 'introspection, JWT bound by DPoP, seen before',
  connections: 32,
  async contestants(stage) {
    const population = await stage.population();
    const asking = async (name: string, kind: TokenKind) => {
      const tokens = tokensOf(population, kind).slice(0, boundOf(stage.sizes));
      return { ...(await stage.requests(name, introspecting(tokens))), answers: [ACTIVE] };
    };
    const workload = await asking('introspection-dpop', 'bound_jwt');
    const unbound = await asking('introspection-dpop.unbound', 'jwt_rs256');
    const measured = grantd(stage, population, workload, { first: workload });
    return [
      measured,
      grantd(stage, population, unbound, { name: UNBOUND, first: unbound }),
      await bareLike(measured),
    ];
  },
};

/** Cached tokens, drawn from all distinct tokens of the run. */
export const introspectionJwt = introspectionWork({
  name: 'introspection-jwt',
  title: 'introspection, JWT, seen before',
  kind: 'jwt_rs256',
  answer: ACTIVE,
  alsoWith: ['--log', 'off'],
  peers: [...OIDC_ON_SQLITE, ...OAUTH2_ON_SQLITE],
  peerKind: 'machine',
});

export const introspectionOpaque = introspectionWork({
  name: 'introspection-opaque',
  title: 'introspection, opaque, seen before',
  kind: 'opaque',
  answer: ACTIVE,
  alsoWith: ['--log', 'off'],
  peers: [...OIDC_ON_SQLITE, BETTER_AUTH_ON_SQLITE],
  peerKind: 'machine',
});

/** Each needs a lookup, and nothing else that a cached one would not need. */
export const introspectionColdOpaque = introspectionWork({
  name: 'introspection-cold-opaque',
  title: 'introspection, opaque, never seen before',
  kind: 'opaque',
  answer: ACTIVE,
  coldAfter: 'opaque',
  peers: [],
  peerKind: 'machine',
});

/** The peers cache no signatures, so each token is new to them. */
export const introspectionColdRs256 = introspectionWork({
  name: 'introspection-cold-rs256',
  title: 'introspection, JWT, never seen before, RS256',
  kind: 'jwt_rs256',
  answer: ACTIVE,
  coldAfter: 'jwt_es256',
  peers: ['@jmondi/oauth2-server'],
  peerKind: 'machine',
});

export const introspectionColdEs256 = introspectionWork({
  name: 'introspection-cold-es256',
  title: 'introspection, JWT, never seen before, ES256',
  kind: 'jwt_es256',
  answer: ACTIVE,
  coldAfter: 'jwt_rs256',
  peers: [],
  peerKind: 'machine',
});

export const introspectionInactive = introspectionWork({
  name: 'introspection-inactive',
  title: 'introspection, revoked JWT, seen before',
  kind: 'revoked_jwt',
  answer: INACTIVE,
  peers: IN_MEMORY,
  peerKind: 'revoked',
});
