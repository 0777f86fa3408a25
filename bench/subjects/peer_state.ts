import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { BENCH_CLIENTS, type BenchClient, ISSUER } from '../population/clients.ts';
import type { StorageName } from './databases.ts';
import { type PeerOrder, type PeerTokenKind, STATE_FILE } from './peer_order.ts';
import { LIFETIME_SECONDS, PERSON_CLAIMS } from './peer_person.ts';

/** A library with a program around it. */
interface PeerProgram {
  /** The file that is run comes first, then those that decide what it stores. */
  readonly files: readonly string[];
  /** The client whose tokens for itself are measured. */
  readonly machine: BenchClient;
  /** The client that introspects them. */
  readonly introspector: BenchClient;
}

/** The name of each peer, with its program and its storage (bench/METHOD.md). */
export interface Peer extends PeerProgram {
  readonly storage: StorageName;
}

const here = (...names: readonly string[]) => names.map((name) => join(import.meta.dirname, name));
const { api, machine_opaque, machine_rs256 } = BENCH_CLIENTS;

const OIDC_PROVIDER: PeerProgram = {
  files: here('oidc_provider.ts', 'oidc_records.ts', 'databases.ts'),
  machine: machine_opaque,
  introspector: api,
};
const OAUTH2_SERVER: PeerProgram = {
  files: here('oauth2_server.ts', 'oauth2_tokens.ts', 'databases.ts'),
  machine: machine_rs256,
  introspector: api,
};
const BETTER_AUTH: PeerProgram = {
  files: here('better_auth.ts', 'databases.ts'),
  machine: machine_opaque,
  introspector: machine_opaque,
};

const TABLE = {
  'oidc-provider': { ...OIDC_PROVIDER, storage: 'memory' },
  'oidc-provider, SQLite': { ...OIDC_PROVIDER, storage: 'SQLite' },
  'oidc-provider, PostgreSQL': { ...OIDC_PROVIDER, storage: 'PostgreSQL' },
  '@jmondi/oauth2-server': { ...OAUTH2_SERVER, storage: 'memory' },
  '@jmondi/oauth2-server, SQLite': { ...OAUTH2_SERVER, storage: 'SQLite' },
  '@jmondi/oauth2-server, PostgreSQL': { ...OAUTH2_SERVER, storage: 'PostgreSQL' },
  'better-auth, SQLite': { ...BETTER_AUTH, storage: 'SQLite' },
} as const satisfies Readonly<Record<string, Peer>>;

export type PeerName = keyof typeof TABLE;
export const PEERS: Readonly<Record<PeerName, Peer>> = TABLE;

/** The files that a peer serves. */
export interface PeerState {
  readonly folder: string;
  readonly tokenFile: (kind: PeerTokenKind) => string;
}

/** No run takes that long. */
const LONGEST_RUN_SECONDS = 86_400;

/**
 * Creates the state of a peer, and reuses it as long as its tokens live, because signing takes minutes. Peers with the same
 * program have the same tokens.
 */
export async function peerState(
  name: PeerName,
  order: PeerOrder,
  say: (text: string) => void,
  parent = join(tmpdir(), `grantd-bench-population-${process.getuid?.() ?? 'user'}`),
): Promise<PeerState> {
  const peer = PEERS[name];
  const folder = join(parent, `peer-${keyOf(peer, order)}`);
  if (!isKept(folder)) {
    say(`filling ${name}`);
    rmSync(folder, { recursive: true, force: true });
    const draft = `${folder}.${process.pid}`;
    mkdirSync(draft, { recursive: true, mode: 0o700 });
    try {
      await runPeer(peer, ['populate', draft, JSON.stringify(order)]);
      renameSync(draft, folder);
    } catch (error) {
      rmSync(draft, { recursive: true, force: true });
      throw error;
    }
  }
  if (peer.storage === 'SQLite' && !existsSync(sqliteFileOf({ folder }))) {
    say(`filling the database of ${name}`);
    const draft = `${sqliteFileOf({ folder })}.${process.pid}`;
    await runPeer(peer, ['fill', folder, `sqlite:${draft}`]);
    renameSync(draft, sqliteFileOf({ folder }));
  }
  return { folder, tokenFile: (kind) => join(folder, kind) };
}

/** The stored database of a peer with SQLite. Copy it before you write to it. */
export function sqliteFileOf({ folder }: Pick<PeerState, 'folder'>): string {
  return join(folder, 'records.db');
}

/** Runs the program of a peer until it exits. */
export async function runPeer(
  { files: [program = ''] }: Peer,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  const env = { ...process.env, NODE_ENV: 'production', ...environment };
  await promisify(execFile)(process.execPath, [program, ...args], { env });
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
function keyOf({ files }: PeerProgram, order: PeerOrder): string {
  const hash = createHash('sha256').update(JSON.stringify([order, BENCH_CLIENTS, PERSON_CLAIMS, ISSUER]));
  for (const file of files) hash.update(readFileSync(file));
  return hash.digest('hex').slice(0, 16);
}
