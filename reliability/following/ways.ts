import { setTimeout as pause } from 'node:timers/promises';
import { EXCHANGE_GRANT, type IssuedByOperator, type NewClient, StorageFault } from '@grantd/core';
import type { Cluster } from '../deployments/cluster.ts';
import type { Library } from '../deployments/library.ts';
import { oneOf } from '../load/choice.ts';
import { Connection } from '../load/connection.ts';
import { type Done, exchange, requestTokens, revoke, type Tokens } from '../load/protocol.ts';
import { machine, register } from '../load/registrations.ts';

const RESOURCE = 'https://followed.example';

/** The API of all followers. It exchanges tokens for other ones. */
export const API = {
  ...{ id: 'followed-api', grantTypes: [EXCHANGE_GRANT], scopes: ['read'], redirectUris: [] },
  ...{ resource: RESOURCE, metadata: { api_scopes: ['read'], apis: [RESOURCE] } },
} as const satisfies NewClient;

/** Tokens of a client for a user of its own. */
export interface Kin {
  readonly clientId: string;
  readonly subject: string;
  readonly tokens: readonly Token[];
}

export interface Token extends Tokens, Pick<IssuedByOperator, 'grantId'> {
  /** The place of the token that it was exchanged for, with which it ends. */
  readonly ancestor?: number;
}

export interface Place {
  readonly library: Library;
  readonly cluster: Cluster;
}

type EndsOne = (place: Place, kin: Kin, token: Token) => unknown;
type EndsAll = (place: Place, kin: Kin) => unknown;

/** How tokens end: each by itself, or all of them by one change. */
export type Way = { readonly name: string; readonly isFamily?: true } & (
  | { readonly one: EndsOne }
  | { readonly all: EndsAll }
);

const WAYS: readonly Way[] = [
  {
    name: 'its revocation',
    one: ({ cluster }, { clientId }, { accessToken }) =>
      untilDone(cluster, (connection) => revoke(connection, accessToken, clientId)),
  },
  {
    name: 'its grant',
    one: ({ library }, _, { grantId = '' }) => library.storage.revokeAll({ principal: 'grant', id: grantId }),
  },
  {
    name: 'a second use of a refresh token of its family',
    isFamily: true,
    async all({ cluster, library }, { clientId, tokens: [first] }) {
      const refreshToken = first?.refreshToken ?? '';
      await untilDone(cluster, async (connection) => {
        const outcome = await refresh(connection, refreshToken, clientId);
        return outcome === 'refused' ? 'done' : 'unknown';
      });
      // A cutoff has ended this refresh token, but perhaps not what came of a refresh at that moment.
      const { reason } = await library.opaque.operator.explainToken(refreshToken);
      if (reason === 'issued_before_cutoff')
        await library.storage.revokeAll({ principal: 'client', id: clientId });
    },
  },
  {
    name: 'all of its user',
    all: ({ library }, { subject }) => library.storage.revokeAll({ principal: 'subject', id: subject }),
  },
  {
    name: 'all of its client',
    all: ({ library }, { clientId }) => library.storage.revokeAll({ principal: 'client', id: clientId }),
  },
  {
    name: 'a disabled user',
    all: ({ library }, { subject }) => library.storage.setDisabled('subject', subject, true),
  },
  {
    name: 'a disabled client',
    all: ({ library }, { clientId }) => library.storage.setDisabled('client', clientId, true),
  },
  {
    name: 'a removed client',
    all: ({ library }, { clientId }) => library.storage.clients.remove(clientId),
  },
];

/** Rare, because it ends the tokens of other histories too, before their time. */
const CUTOFF: Way = {
  name: 'a cutoff in time',
  all: ({ library }) => library.storage.revokeAll({ issuedBeforeMs: Date.now() + 1 }),
};

const CUTOFFS = 0.002;

const RETRY_MS = 50;
const LONGEST_OUTAGE_MS = 300_000;

export function anyWay(): Way {
  return Math.random() < CUTOFFS ? CUTOFF : oneOf(WAYS);
}

/** A cutoff has ended a refresh token at once. */
export class NotIssued extends Error {
  override readonly name = 'NotIssued';
}

/**
 * @throws {StorageFault} storage is away
 * @throws {NotIssued}
 */
export async function issue(name: string, count: number, way: Way, place: Place): Promise<Kin> {
  const { opaque: server, storage } = place.library;
  const [clientId, subject] = [`client-${name}`, `subject-${name}`];
  const format = Math.random() < 0.8 ? 'jwt' : 'opaque';
  const grantTypes = ['client_credentials', 'authorization_code', 'refresh_token'] as const;
  await register(server, storage.clients, {
    ...{ ...machine(clientId, format), grantTypes, redirectUris: ['https://app.example/callback'] },
    metadata: { apis: [API.resource] },
  });
  const order = { clientId, subject, resources: [API.resource], scopes: ['read'], refresh: true };
  const tokens: Token[] = [...(await server.operator.issueTokens(order, way.isFamily ? 1 : count))];
  // The predecessor of the present refresh token may be used again, so there must be at least two refreshes.
  while (way.isFamily && tokens.length < Math.max(3, count)) {
    const { refreshToken = '' } = tokens.at(-1) ?? {};
    await untilDone(place.cluster, async (connection) => {
      const outcome = await refresh(connection, refreshToken, clientId);
      if (outcome === 'refused') throw new NotIssued('a refresh token was refused');
      if (outcome !== 'unknown') tokens.push(outcome);
      return outcome === 'unknown' ? outcome : 'done';
    });
  }
  const ancestor = Math.floor(Math.random() * tokens.length);
  await untilDone(place.cluster, async (connection) => {
    const subjectToken = tokens[ancestor]?.accessToken ?? '';
    const outcome = await exchange(connection, subjectToken, API.id);
    if (outcome === 'refused') throw new NotIssued('an access token was refused');
    if (outcome !== 'unknown') tokens.push({ ...outcome, ancestor });
    return outcome === 'unknown' ? outcome : 'done';
  });
  return { clientId, subject, tokens };
}

/**
 * Ends all of them.
 * @returns for each, when its end was answered
 */
export async function end(way: Way, kin: Kin, place: Place): Promise<readonly number[]> {
  if ('one' in way) {
    const ends: Promise<number>[] = [];
    for (const token of kin.tokens) {
      const ended = () => untilStored(() => way.one(place, kin, token)).then(() => performance.now());
      ends.push((token.ancestor === undefined ? undefined : ends[token.ancestor]) ?? ended());
    }
    return Promise.all(ends);
  }
  await untilStored(() => way.all(place, kin));
  const endedAtMs = performance.now();
  return kin.tokens.map(() => endedAtMs);
}

function refresh(connection: Connection, refresh_token: string, clientId: string) {
  return requestTokens(connection, { grant_type: 'refresh_token', refresh_token }, clientId);
}

/** Repeats a request that had no answer, because its server may have been killed. */
async function untilDone({ servers }: Cluster, ask: (connection: Connection) => Promise<Done>) {
  const startedAtMs = performance.now();
  for (;;) {
    const connection = new Connection(oneOf(servers).address);
    if ((await ask(connection).finally(() => connection.close())) === 'done') return;
    if (performance.now() - startedAtMs > LONGEST_OUTAGE_MS) throw new Error('no server answers any more');
    await pause(RETRY_MS);
  }
}

async function untilStored(change: () => unknown): Promise<void> {
  const startedAtMs = performance.now();
  for (;;) {
    try {
      await change();
      return;
    } catch (error) {
      const isOver = performance.now() - startedAtMs > LONGEST_OUTAGE_MS;
      if (isOver || !(error instanceof StorageFault)) throw error;
      await pause(RETRY_MS);
    }
  }
}
