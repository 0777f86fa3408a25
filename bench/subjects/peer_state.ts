import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BENCH_CLIENTS, ISSUER } from '../population/clients.ts';
import type { PeerOrder, PeerTokenKind } from './peer_order.ts';
import { PERSON_CLAIMS } from './peer_person.ts';

/** What each peer is called, and its program. */
export const PEERS = {
  'oidc-provider': join(import.meta.dirname, 'oidc_provider.ts'),
  '@jmondi/oauth2-server': join(import.meta.dirname, 'oauth2_server.ts'),
} as const;
export type PeerName = keyof typeof PEERS;

/** What a peer serves, as files. */
export interface PeerState {
  readonly program: string;
  readonly folder: string;
  readonly tokenFile: (kind: PeerTokenKind) => string;
}

/** Makes what a peer is to serve, once for all runs: the signing takes minutes. */
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
  if (!existsSync(folder)) {
    say(`filling ${name}`);
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

/** Another program or another order is another state. */
function keyOf(name: PeerName, order: PeerOrder): string {
  const hash = createHash('sha256').update(
    JSON.stringify([name, order, BENCH_CLIENTS, PERSON_CLAIMS, ISSUER]),
  );
  return hash.update(readFileSync(PEERS[name])).digest('hex').slice(0, 16);
}
