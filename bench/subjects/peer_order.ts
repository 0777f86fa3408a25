import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The content of a peer: tokens of clients, of users for UserInfo, tokens to refresh, codes, and revoked tokens. */
export const PEER_TOKEN_KINDS = ['machine', 'person', 'refresh', 'code', 'revoked'] as const;
export type PeerTokenKind = (typeof PEER_TOKEN_KINDS)[number];
export type PeerOrder = Readonly<Partial<Record<PeerTokenKind, number>>>;

export const STATE_FILE = 'state.jsonl';

/** Writes what a peer has stored, one record per line. */
export function writeState(folder: string, records: readonly unknown[]): void {
  const lines = records.map((record) => `${JSON.stringify(record)}\n`);
  writeFileSync(join(folder, STATE_FILE), lines.join(''));
}

export function readState(folder: string): readonly unknown[] {
  const lines = readFileSync(join(folder, STATE_FILE), 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
}
