// The chain of the audit trail: its links, its blocks and its signed head.
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { EventRecord } from '@grantd/core';
import { BloomFilter, termsOf, withActor } from './audit_search.ts';
import { type TableRow, table } from './tables.ts';

/** The number of an event with the hash of the chain up to it. */
export interface ChainLink {
  readonly sequence: number;
  readonly hash: string;
}

/** Maximum events of a block. */
export const BLOCK_ROWS = 512;

/** A block is not continued after this time, so that its events can be removed together. */
const BLOCK_MS = 24 * 60 * 60 * 1000;

/** Blocks that are read at once. */
export const BLOCKS_AT_ONCE = 50;

/** The signed state of the chain. */
export interface Head {
  /** The link after which the kept events begin. */
  readonly beginning: ChainLink;
  readonly last: ChainLink;
  readonly sealedAtMs: number;
  readonly mac: string;
}

export const HEADS = table('audit_heads', {
  integer: 'beginning_sequence last_sequence sealed_at_ms',
  text: 'beginning_hash last_hash mac',
});

export const HEADS_SQL = HEADS.statements({
  get: `SELECT ${HEADS.list} FROM grantd.audit_heads WHERE issuer = :issuer`,
  add: `${HEADS.insert} WHERE TRUE ON CONFLICT (issuer) DO NOTHING RETURNING issuer`,
  replace: `
    UPDATE grantd.audit_heads
    SET beginning_sequence = :beginningSequence, beginning_hash = :beginningHash, last_sequence = :lastSequence,
      last_hash = :lastHash, sealed_at_ms = :sealedAtMs, mac = :mac
    WHERE issuer = :issuer AND mac = :before RETURNING issuer`,
  drop: 'DELETE FROM grantd.audit_heads WHERE issuer = :issuer',
});

export const BLOCKS = table('audit_blocks', {
  integer: 'number first_sequence last_sequence row_count earliest_ms latest_ms',
  text: 'hash terms runs',
});

const IN_TIME = 'latest_ms >= :sinceMs AND earliest_ms < :untilMs';

export const BLOCKS_SQL = BLOCKS.statements({
  // Only if this process has just written the head.
  write: `
    ${BLOCKS.insert} FROM grantd.audit_heads WHERE issuer = :issuer AND mac = :mac
    ON CONFLICT (issuer, number) DO UPDATE
    SET last_sequence = excluded.last_sequence, row_count = excluded.row_count, earliest_ms = excluded.earliest_ms,
      latest_ms = excluded.latest_ms, hash = excluded.hash, terms = excluded.terms, runs = excluded.runs`,
  drop: 'DELETE FROM grantd.audit_blocks WHERE issuer = :issuer',
  last: `SELECT ${BLOCKS.list} FROM grantd.audit_blocks WHERE issuer = :issuer ORDER BY number DESC LIMIT 1`,
  first: `SELECT ${BLOCKS.list} FROM grantd.audit_blocks WHERE issuer = :issuer ORDER BY number LIMIT 1`,
  after: `
    SELECT ${BLOCKS.list} FROM grantd.audit_blocks
    WHERE issuer = :issuer AND number > :start AND last_sequence > :boundary AND ${IN_TIME}
    ORDER BY number LIMIT ${BLOCKS_AT_ONCE}`,
  before: `
    SELECT ${BLOCKS.list} FROM grantd.audit_blocks
    WHERE issuer = :issuer AND number < :start AND first_sequence < :boundary AND ${IN_TIME}
    ORDER BY number DESC LIMIT ${BLOCKS_AT_ONCE}`,
  remove: `
    DELETE FROM grantd.audit_blocks WHERE issuer = :issuer AND number = :number
      AND EXISTS (SELECT 1 FROM grantd.audit_heads WHERE issuer = :issuer AND mac = :mac)`,
});

/** A part of the chain with the texts of a `BloomFilter` and of the `Runs` of its events. */
export type Block = ReturnType<typeof BLOCKS.recordOf>;

export function headOf(row: TableRow): Head {
  const { beginningSequence, beginningHash, lastSequence, lastHash, ...others } = HEADS.recordOf(row);
  return {
    ...others,
    beginning: { sequence: beginningSequence, hash: beginningHash },
    last: { sequence: lastSequence, hash: lastHash },
  };
}

/** The link before the first event. */
export function genesis(issuer: string): ChainLink {
  return { sequence: 0, hash: hash('sha256', JSON.stringify(['grantd audit trail', issuer]), 'base64url') };
}

/** Adds events to a chain: each hash covers the previous hash and every column. */
export function continued(link: ChainLink, events: readonly EventRecord[], index?: BloomFilter): ChainLink {
  let { sequence, hash: value } = link;
  for (const event of events) {
    const { atMs, type, target, actor, address, clientId, subject, reason, requestId } = event;
    sequence = event.sequence;
    const row = [value, sequence, atMs, type, target, actor, address, clientId, subject, reason, requestId];
    value = hash('sha256', JSON.stringify(row), 'base64url');
    index?.addEvent(event);
  }
  return { sequence, hash: value };
}

export function isSame(one: ChainLink, other: ChainLink): boolean {
  return one.sequence === other.sequence && one.hash === other.hash;
}

/** Whether a search finds the events of a block. Nothing signs what it uses. */
export function isIndexOf(block: Block, events: readonly EventRecord[], index: BloomFilter): boolean {
  const times = events.map(({ atMs }) => atMs);
  return (
    block.firstSequence === events[0]?.sequence &&
    block.earliestMs === Math.min(...times) &&
    block.latestMs === Math.max(...times) &&
    block.terms === index.text
  );
}

/** Whether a search finds the first events of a block that was continued. */
export function covers(block: Block, events: readonly EventRecord[]): boolean {
  const index = BloomFilter.from(block.terms);
  return (
    block.firstSequence === events[0]?.sequence &&
    events.every(
      (event) =>
        block.earliestMs <= event.atMs &&
        block.latestMs >= event.atMs &&
        index.mayHave(termsOf(withActor(event), true)),
    )
  );
}

export function linkOf({ lastSequence, hash: value }: Block): ChainLink {
  return { sequence: lastSequence, hash: value };
}

/** Whether a block can be continued: it is neither full nor too old, and is the end of the chain. */
export function isOpen(block: Block, last: ChainLink, nowMs: number): boolean {
  if (block.rowCount >= BLOCK_ROWS || nowMs - block.earliestMs >= BLOCK_MS) return false;
  return block.lastSequence === last.sequence;
}

/** @param nonce makes each attempt to write a head unique, so that its block is written only if it succeeds */
export function macOf(
  issuer: string,
  { beginning, last, sealedAtMs }: Omit<Head, 'mac'>,
  nonce: string,
  key: Uint8Array,
): string {
  const content = [nonce, issuer, beginning.sequence, beginning.hash, last.sequence, last.hash, sealedAtMs];
  return `${nonce}.${createHmac('sha256', key).update(JSON.stringify(content)).digest('base64url')}`;
}

export function isAuthentic(head: Head, issuer: string, keys: readonly Uint8Array[]): boolean {
  const given = Buffer.from(head.mac);
  return keys.some((key) => {
    const expected = Buffer.from(macOf(issuer, head, head.mac.replace(/\..*$/s, ''), key));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
