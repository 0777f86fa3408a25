import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BENCH_CLIENTS, ISSUER } from '../population/clients.ts';
import { type PeerOrder, type PeerTokenKind, STATE_FILE } from './peer_order.ts';
import { LIFETIME_SECONDS, PERSON_CLAIMS } from './peer_person.ts';

/** The name of each peer, and its program. */
export const PEERS = {
  'oidc-provider': join(import.meta.dirname, 'oidc_provider.ts'),
  '@jmondi/oauth2-server': join(import.meta.dirname, 'oauth2_server.ts'),
} as const;
export type PeerName = keyof typeof PEERS;

/** The files that a peer serves. */
export interface PeerState {
  readonly program: string;
  readonly folder: string;
  readonly tokenFile: (kind: PeerTokenKind) => string;
}

/** No run takes that long. */
const LONGEST_RUN_SECONDS = 86_400;

/** Creates the state of a peer, and reuses it as long as its tokens live, because signing takes minutes. */
export async function peerState(
  name: PeerName,
  order: PeerOrder,
  say: (text: string) => void,
): Promise<PeerState> {
  const program = PEERS[name];
  const folder = join(
    tmpdir(),
    `grantd-bench-population-${process.getuid?.() ?? 'user'}`,
    `peer-${keyOf(name, order)}`,
  );
  if (!isKept(folder)) {
    say(`filling ${name}`);
    rmSync(folder, { recursive: true, force: true });
    const draft = `${folder}.${process.pid}`;
    mkdirSync(draft, { recursive: true, mode: 0o700 });
    try {
      const args = [program, 'populate', draft, JSON.stringify(order)];
      await promisify(execFile)(process.execPath, args, { env: { ...process.env, NODE_ENV: 'production' } });
      renameSync(draft, folder);
    } catch (error) {
      rmSync(draft, { recursive: true, force: true });
      throw error;
    }
  }
  return { program, folder, tokenFile: (kind) => join(folder, kind) };
}

function isKept(folder: string): boolean {
  const state = statSync(join(folder, STATE_FILE), { throwIfNoEntry: false });
  return state !== undefined && outlivesRun(state.mtimeMs);
}

/**
 * Whether tokens from that time stay alive until a run that starts now has ended.
 * @param madeAtMs issue time of the last one
 */
export function outlivesRun(madeAtMs: number, nowMs = Date.now()): boolean {
  // The first token is older than the last, by less than the length of a run.
  return nowMs - madeAtMs < (LIFETIME_SECONDS - 2 * LONGEST_RUN_SECONDS) * 1000;
}

/** Another program or order needs another state. */
function keyOf(name: PeerName, order: PeerOrder): string {
  const hash = createHash('sha256').update(
    JSON.stringify([name, order, BENCH_CLIENTS, PERSON_CLAIMS, ISSUER]),
  );
  return hash.update(readFileSync(PEERS[name])).digest('hex').slice(0, 16);
}
