import { setImmediate as nextTurn } from 'node:timers/promises';
import { countUnlike } from '../chaos/ledger.ts';
import type { Cluster } from '../deployments/cluster.ts';
import { openLibrary, registerClients } from '../deployments/library.ts';
import { Connection } from '../load/connection.ts';
import { introspect } from '../load/protocol.ts';
import { CLIENTS } from '../load/registrations.ts';

interface MassRevocationOrder {
  readonly tokens: number;
  /** How many random tokens are introspected before and after. */
  readonly looks: number;
  readonly onProgress: (issued: number) => void;
}

interface MassRevocationReport {
  readonly issuedPerSecond: number;
  /** Milliseconds until `revokeAll` returned. */
  readonly revocationMs: number;
  readonly looks: number;
  readonly activeBefore: number;
  readonly activeAfter: number;
  /** Milliseconds from the return of `revokeAll` to the first response about one of the tokens. */
  readonly firstLookMs: number;
}

/** Tokens per transaction. */
const BATCH = 5000;
const CONNECTIONS_EACH = 8;

/** Issues tokens through the library, and ends them with one call. */
export async function measureMassRevocation(
  cluster: Cluster,
  { tokens, looks, onProgress }: MassRevocationOrder,
): Promise<MassRevocationReport> {
  const library = await openLibrary(cluster);
  const connections = cluster.servers.flatMap(({ address }) =>
    Array.from({ length: CONNECTIONS_EACH }, () => new Connection(address)),
  );
  try {
    await registerClients(library);
    const clientId = CLIENTS.opaque.id;
    const sample: string[] = [];
    const startedAtMs = performance.now();
    for (let issued = 0; issued < tokens; ) {
      const batch = await library.opaque.operator.issueTokens({ clientId }, Math.min(BATCH, tokens - issued));
      // Each token has the same chance to be read, at every position.
      const wanted = Math.ceil(((issued + batch.length) * looks) / tokens) - sample.length;
      sample.push(...shuffle(batch.map(({ accessToken }) => accessToken)).slice(0, wanted));
      issued += batch.length;
      onProgress(issued);
      // SQLite works synchronously. Without this pause, even Ctrl-C has no effect.
      await nextTurn();
    }
    const issuedPerSecond = tokens / ((performance.now() - startedAtMs) / 1000);
    const activeBefore = sample.length - (await countUnlike(connections, sample, 'active'));

    const [first] = connections;
    if (first === undefined) throw new Error('no server was started');
    const beganAtMs = performance.now();
    await library.storage.revokeAll({ principal: 'client', id: clientId });
    const returnedAtMs = performance.now();
    await introspect(first, sample[0] ?? '');
    const firstLookMs = performance.now() - returnedAtMs;
    const activeAfter = await countUnlike(connections, sample, 'inactive');
    return {
      issuedPerSecond,
      revocationMs: returnedAtMs - beganAtMs,
      looks: sample.length,
      activeBefore,
      activeAfter,
      firstLookMs,
    };
  } finally {
    for (const connection of connections) connection.close();
    await library.close();
  }
}

function shuffle<T>(values: readonly T[]): readonly T[] {
  const order = values.map((value) => ({ value, rank: Math.random() }));
  return order.sort((a, b) => a.rank - b.rank).map(({ value }) => value);
}
