import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { AdministrableStorage, EventRecord, EventType } from '@grantd/core';
import type { ProgramSecret } from './secrets.ts';
import { askStorage, newIdentifier, type ProgramTables, type TableRow } from './tables.ts';

/** Which events to list. Every member must match. */
export interface AuditFilter {
  readonly type?: EventType | undefined;
  readonly actor?: string | undefined;
  /** What the event is about. Of an issuance, any of its tokens. */
  readonly target?: string | undefined;
  readonly subject?: string | undefined;
  readonly clientId?: string | undefined;
  readonly address?: string | undefined;
  readonly requestId?: string | undefined;
  /** Milliseconds since 1970, inclusive. */
  readonly sinceMs?: number | undefined;
  /** Milliseconds since 1970, exclusive. */
  readonly untilMs?: number | undefined;
}

/** An event with its actor. */
export type AuditEvent = EventRecord & { readonly actor: string };

/** The number of an event with the hash of the chain up to it. */
export interface ChainLink {
  readonly sequence: number;
  readonly hash: string;
}

export type AuditProblem =
  /** There are events, but no chain: no server has run yet, or the chain was removed. */
  | { readonly problem: 'head_missing' }
  /** The head of the chain was not written by this server. */
  | { readonly problem: 'head_not_authentic' }
  /** Rows of this range were changed, removed, added or moved. */
  | { readonly problem: 'rows_changed'; readonly from: number; readonly to: number }
  /** What a search knows about the events of this range was changed, so it may not find them. */
  | { readonly problem: 'index_changed'; readonly from: number; readonly to: number }
  /** Rows were put before the beginning of the chain. */
  | { readonly problem: 'rows_before_beginning'; readonly rows: number }
  /** The event of the expected link was removed for its age, so nothing shows whether the chain continues it. */
  | { readonly problem: 'expected_removed'; readonly sequence: number; readonly beginning: number }
  /** The chain is not a continuation of the expected link. */
  | { readonly problem: 'not_as_expected'; readonly sequence: number };

export interface AuditVerification {
  /** Number of events that were checked. */
  readonly events: number;
  /** The last link. Keep it elsewhere to detect a later return to an earlier state. */
  readonly head: ChainLink | undefined;
  readonly problems: readonly AuditProblem[];
}

/** Events of types that clients cause themselves, and that name the client if nobody else acts. */
const OF_CLIENTS: ReadonlySet<EventType> = new Set([
  'token_issued',
  'code_issued',
  'token_revoked',
  'family_revoked',
  'code_revoked',
]);

/** Names the actor of an event whose row leaves it out. */
export function withActor(event: EventRecord): AuditEvent {
  return { ...event, actor: actorOf(event) };
}

function actorOf({ actor, type, clientId, subject }: EventRecord): string {
  if (actor !== undefined) return actor === 'user' && subject !== undefined ? `user:${subject}` : actor;
  return clientId !== undefined && OF_CLIENTS.has(type) ? `client:${clientId}` : 'server';
}

/** A part of the chain with an index of its events. */
interface Block {
  readonly number: number;
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly rows: number;
  readonly earliestMs: number;
  readonly latestMs: number;
  readonly hash: string;
}

/** A block with the text of its `TermIndex`. */
type IndexedBlock = Block & { readonly terms: string };

/** A block for a search. */
interface SearchedBlock extends IndexedBlock {
  /** `false` if its index says that no event fits the filter. */
  readonly mayMatch: boolean;
}

interface Head {
  /** The link after which the kept events begin. */
  readonly beginning: ChainLink;
  readonly last: ChainLink;
  readonly sealedAtMs: number;
  readonly mac: string;
}

/** Maximum events of a block. */
const BLOCK_ROWS = 512;

/** A block is not continued after this time, so that its events can be removed together. */
const BLOCK_MS = 24 * 60 * 60 * 1000;

/** Bits of a block's index: about ten for each value. */
const INDEX_BITS = 32_768;
const PROBES = 4;

const BLOCKS_AT_ONCE = 50;

/** To read the index of a block costs about as much as to read so many events. */
const EVENTS_PER_INDEX = 16;

const BLOCK_COLUMNS = 'number, first_sequence, last_sequence, row_count, earliest_ms, latest_ms, hash';

const EVENT_COLUMNS = 'sequence, at_ms, type, target, actor, address, client_id, subject, reason, request_id';

const OF_ISSUER = 'issuer_id = (SELECT id FROM grantd.issuers WHERE issuer = $1)';

const SQL = {
  head: `
    SELECT beginning_sequence, beginning_hash, last_sequence, last_hash, sealed_at_ms, mac
    FROM grantd.audit_heads WHERE issuer = $1`,
  addHead: `
    INSERT INTO grantd.audit_heads (issuer, beginning_sequence, beginning_hash, last_sequence, last_hash, sealed_at_ms, mac)
    VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (issuer) DO NOTHING RETURNING issuer`,
  replaceHead: `
    UPDATE grantd.audit_heads
    SET beginning_sequence = $2, beginning_hash = $3, last_sequence = $4, last_hash = $5, sealed_at_ms = $6, mac = $7
    WHERE issuer = $1 AND mac = $8 RETURNING issuer`,
  dropHead: 'DELETE FROM grantd.audit_heads WHERE issuer = $1',
  dropBlocks: 'DELETE FROM grantd.audit_blocks WHERE issuer = $1',

  // Only if this process has just written the head.
  writeBlock: `
    INSERT INTO grantd.audit_blocks (issuer, ${BLOCK_COLUMNS}, terms)
    SELECT issuer, CAST($3 AS bigint), CAST($4 AS bigint), CAST($5 AS bigint), CAST($6 AS bigint), CAST($7 AS bigint),
      CAST($8 AS bigint), CAST($9 AS text), CAST($10 AS text)
    FROM grantd.audit_heads WHERE issuer = $1 AND mac = $2
    ON CONFLICT (issuer, number) DO UPDATE
    SET last_sequence = excluded.last_sequence, row_count = excluded.row_count, earliest_ms = excluded.earliest_ms,
      latest_ms = excluded.latest_ms, hash = excluded.hash, terms = excluded.terms`,

  lastBlock: `
    SELECT ${BLOCK_COLUMNS}, terms FROM grantd.audit_blocks WHERE issuer = $1 ORDER BY number DESC LIMIT 1`,
  firstBlock: `
    SELECT ${BLOCK_COLUMNS} FROM grantd.audit_blocks WHERE issuer = $1 ORDER BY number LIMIT 1`,
  blocksAfter: `
    SELECT ${BLOCK_COLUMNS}, terms FROM grantd.audit_blocks
    WHERE issuer = $1 AND number > $2 AND last_sequence > $3 AND latest_ms >= $4 AND earliest_ms < $5
    ORDER BY number LIMIT ${BLOCKS_AT_ONCE}`,
  blocksBefore: `
    SELECT ${BLOCK_COLUMNS}, terms FROM grantd.audit_blocks
    WHERE issuer = $1 AND number < $2 AND first_sequence < $3 AND latest_ms >= $4 AND earliest_ms < $5
    ORDER BY number DESC LIMIT ${BLOCKS_AT_ONCE}`,

  events: `
    SELECT ${EVENT_COLUMNS} FROM grantd.events
    WHERE ${OF_ISSUER} AND sequence > $2 AND sequence <= $3 ORDER BY sequence LIMIT $4`,
  eventsBefore: `
    SELECT ${EVENT_COLUMNS} FROM grantd.events
    WHERE ${OF_ISSUER} AND sequence > $2 AND sequence < $3 ORDER BY sequence DESC LIMIT $4`,
  countUpTo: `SELECT count(*) AS events FROM grantd.events WHERE ${OF_ISSUER} AND sequence <= $2`,

  // Numbers continue after the removed ones.
  keepLastNumber: `
    UPDATE grantd.issuers SET last_event_sequence = $2 WHERE issuer = $1 AND last_event_sequence < $2`,
  removeEvents: `
    DELETE FROM grantd.events WHERE ${OF_ISSUER} AND sequence <= $2
      AND EXISTS (SELECT 1 FROM grantd.audit_heads WHERE issuer = $1 AND mac = $3)`,
  removeBlock: `
    DELETE FROM grantd.audit_blocks WHERE issuer = $1 AND number = $2
      AND EXISTS (SELECT 1 FROM grantd.audit_heads WHERE issuer = $1 AND mac = $3)`,
};

/** Above every number and time that is stored. */
const BEYOND = 2 ** 52;

type OnBegun = (events: number, oldestMs: number) => void;

/**
 * The sealed head does not fit the server’s secret, or is older than the one that this process has seen, or the oldest
 * events do not fit the chain.
 */
export class AuditTrailBroken extends Error {
  override readonly name = 'AuditTrailBroken';
}

/**
 * The audit trail: the events of the library’s store in the order of their numbers, chained by hashes. A change and its
 * event are one transaction. The chain follows later, so that changes do not wait for each other. Every method rejects
 * with a `StorageFault` if the database does not answer (ADR 55, ADR 93).
 */
export class AuditTrail {
  readonly #tables: ProgramTables;
  readonly #issuer: string;
  readonly #storage: Pick<AdministrableStorage, 'eventsAfter'>;
  readonly #clock: () => number;
  /** The end of the chain that this process has seen, and when it was sealed. */
  #seen = { sequence: 0, sealedAtMs: 0 };

  constructor(
    tables: ProgramTables,
    issuer: string,
    storage: Pick<AdministrableStorage, 'eventsAfter'>,
    clock: () => number = Date.now,
  ) {
    this.#tables = tables;
    this.#issuer = issuer;
    this.#storage = storage;
    this.#clock = clock;
  }

  /**
   * Chains and indexes the events that are new. Begins a chain if there is none.
   * @param onBegun called when a chain was begun, with the number of events that were there before and the time of the
   * oldest, in milliseconds
   * @returns how many events were added
   * @throws {AuditTrailBroken} the chain was changed; nothing is added to it
   */
  async seal(secret: ProgramSecret, onBegun: OnBegun = () => {}): Promise<number> {
    return this.#seal(secret, onBegun);
  }

  /** @param onBegun `undefined` to begin no chain */
  async #seal(secret: ProgramSecret, onBegun: OnBegun | undefined): Promise<number> {
    const [key, ...older] = await secret.keys('audit_seal');
    if (key === undefined) throw new TypeError('a server secret is never empty');
    for (let sealed = 0; ; ) {
      const head = await this.#head();
      if (head !== undefined && !isAuthentic(head, this.#issuer, [key, ...older]))
        throw new AuditTrailBroken('the head of the audit trail does not fit the server secret');
      if (this.#isEarlier(head))
        throw new AuditTrailBroken('the audit trail has lost events that were sealed before');
      if (head === undefined && onBegun === undefined) return sealed;
      const beginning = head?.beginning ?? genesis(this.#issuer);
      const last = head?.last ?? beginning;
      this.#seen = { sequence: last.sequence, sealedAtMs: head?.sealedAtMs ?? 0 };
      const [lastBlock] = await this.#tables.read(SQL.lastBlock, this.#issuer);
      const open = lastBlock === undefined ? undefined : openBlock(lastBlock, last, this.#clock());
      const limit = BLOCK_ROWS - (open?.block.rows ?? 0);
      const events = await askStorage(() => this.#storage.eventsAfter(last.sequence, limit));
      if (events.length === 0) {
        // So that older server secrets can be dropped.
        if (head !== undefined && !isAuthentic(head, this.#issuer, [key]))
          await this.#tables.write(this.#replacing(head, beginning, last, key).call);
        return sealed;
      }
      const unchained = head === undefined ? await this.#countUpTo(BEYOND) : 0;
      const index = open?.index ?? new TermIndex();
      const next = continued(last, events, index);
      const number = open?.block.number ?? (lastBlock === undefined ? 1 : Number(lastBlock.number) + 1);
      const written = this.#replacing(head, beginning, next, key);
      const times = events.map(({ atMs }) => atMs);
      const first = events[0]?.sequence ?? 0;
      const values = [
        ...[
          number,
          open?.block.firstSequence ?? first,
          next.sequence,
          (open?.block.rows ?? 0) + events.length,
        ],
        ...[
          Math.min(open?.block.earliestMs ?? BEYOND, ...times),
          Math.max(open?.block.latestMs ?? 0, ...times),
        ],
        ...[next.hash, index.text],
      ];
      const [replaced] = await this.#tables.write(written.call, [
        SQL.writeBlock,
        this.#issuer,
        written.mac,
        ...values,
      ]);
      // If another process was faster, its head is read next.
      if (replaced?.length === 1) {
        sealed += events.length;
        this.#seen = { sequence: next.sequence, sealedAtMs: written.sealedAtMs };
        if (head === undefined) onBegun?.(unchained, Math.min(...times));
      }
    }
  }

  /** As `seal`, but leaves a chain that was changed as it is, and begins none. */
  async sealIfSound(secret: ProgramSecret): Promise<void> {
    try {
      await this.#seal(secret, undefined);
    } catch (error) {
      if (!(error instanceof AuditTrailBroken)) throw error;
    }
  }

  /** The index of the server secret that signed the head; `undefined` without a head, -1 if it is none of them. */
  async sealedBy(secret: ProgramSecret): Promise<number | undefined> {
    const head = await this.#head();
    if (head === undefined) return undefined;
    const keys = await secret.keys('audit_seal');
    return keys.findIndex((key) => isAuthentic(head, this.#issuer, [key]));
  }

  /**
   * Checks every kept event against the chain.
   * @param expected a link that an earlier verification has returned
   */
  async verify(secret: ProgramSecret, expected?: ChainLink): Promise<AuditVerification> {
    const head = await this.#head();
    if (head === undefined) {
      const [event] = await askStorage(() => this.#storage.eventsAfter(0, 1));
      const problems: AuditProblem[] = [];
      if (event !== undefined) problems.push({ problem: 'head_missing' });
      if (expected !== undefined) problems.push({ problem: 'not_as_expected', sequence: expected.sequence });
      return { events: 0, head: undefined, problems };
    }
    const keys = await secret.keys('audit_seal');
    const problems: AuditProblem[] = [];
    if (!isAuthentic(head, this.#issuer, keys)) problems.push({ problem: 'head_not_authentic' });
    const { beginning, last } = head;
    const before = await this.#countUpTo(beginning.sequence);
    if (before > 0) problems.push({ problem: 'rows_before_beginning', rows: before });

    let newest = last;
    let link = beginning;
    let isExpected = expected === undefined || isSame(expected, beginning);
    let events = 0;
    for await (const block of this.#blocks({}, { after: 0 })) {
      if (block.lastSequence > newest.sequence) {
        newest = (await this.#authenticHead(keys))?.last ?? newest;
        if (block.lastSequence > newest.sequence)
          problems.push({ problem: 'rows_changed', from: newest.sequence + 1, to: block.lastSequence });
      }
      const end = block.lastSequence > last.sequence ? last : linkOf(block);
      // Ends at the head. Once events were removed meanwhile, begins again after them.
      while (link.sequence < end.sequence) {
        const from = link;
        const { problem, passed } = await this.#checkBlock(block, from, end);
        const moved = problem === 'rows_changed' ? await this.#movedBeginning(from, keys) : undefined;
        if (problem !== undefined && moved === undefined)
          problems.push({ problem, from: from.sequence + 1, to: end.sequence });
        // Every later hash depends on this one.
        link = moved ?? end;
        if (moved === undefined) events += passed.length;
        const authentic = moved === undefined ? passed : [...passed, moved];
        isExpected ||= authentic.some((one) => expected !== undefined && isSame(expected, one));
      }
    }
    if (link.sequence < last.sequence) link = (await this.#movedBeginning(link, keys)) ?? link;
    if (link.sequence < last.sequence || (link.sequence === last.sequence && link.hash !== last.hash))
      problems.push({
        problem: 'rows_changed',
        from: Math.min(link.sequence + 1, last.sequence),
        to: last.sequence,
      });
    if (expected !== undefined && !isExpected) {
      const { sequence } = expected;
      const removed = (await this.#movedBeginning(expected, keys))?.sequence;
      problems.push(
        removed === undefined
          ? { problem: 'not_as_expected', sequence }
          : { problem: 'expected_removed', sequence, beginning: removed },
      );
    }
    return { events, head: last, problems };
  }

  /**
   * Checks the events of a block from one link to another, which may be within the block if it was continued.
   * @returns the links of its events
   */
  async #checkBlock(block: IndexedBlock, from: ChainLink, end: ChainLink) {
    const rows = await this.#events(from.sequence, end.sequence, BLOCK_ROWS + 1);
    const index = new TermIndex();
    const passed: ChainLink[] = [];
    for (const row of rows) passed.push(continued(passed.at(-1) ?? from, [row], index));
    const isWhole = end.sequence === block.lastSequence;
    if (!isSame(passed.at(-1) ?? from, end) || (isWhole && rows.length !== block.rows))
      return { problem: 'rows_changed', passed } as const;
    const isIndexed = isWhole ? isIndexOf(block, rows, index) : covers(block, rows);
    return { problem: isIndexed ? undefined : 'index_changed', passed } as const;
  }

  async #authenticHead(keys: readonly Uint8Array[]): Promise<Head | undefined> {
    const head = await this.#head();
    return head !== undefined && isAuthentic(head, this.#issuer, keys) ? head : undefined;
  }

  /** Where the trail begins now, if events after a link were removed since it was read. */
  async #movedBeginning(link: ChainLink, keys: readonly Uint8Array[]): Promise<ChainLink | undefined> {
    const beginning = (await this.#authenticHead(keys))?.beginning;
    return beginning !== undefined && beginning.sequence > link.sequence ? beginning : undefined;
  }

  /** Begins a new chain over all kept events, as they are. */
  async restart(secret: ProgramSecret): Promise<void> {
    const keys = await secret.keys('audit_seal');
    const [key] = keys;
    if (key === undefined) throw new TypeError('a server secret is never empty');
    const beginning = genesis(this.#issuer);
    const replaced = await this.#authenticHead(keys);
    const begun = this.#replacing(undefined, beginning, beginning, key, replaced?.sealedAtMs);
    // Other processes never see a chain without a head.
    await this.#tables.write([SQL.dropBlocks, this.#issuer], [SQL.dropHead, this.#issuer], begun.call);
    this.#seen = { sequence: 0, sealedAtMs: begun.sealedAtMs };
    await this.seal(secret);
  }

  /**
   * Removes the oldest events, and signs where the rest begins. Only whole blocks go, so an event may stay for a day
   * longer.
   * @param beforeMs events from before this time
   * @returns how many events were removed; 0 if none is left
   * @throws {AuditTrailBroken} the oldest events were changed; none is removed
   */
  async removeOldest(secret: ProgramSecret, beforeMs: number): Promise<number> {
    const keys = await secret.keys('audit_seal');
    const [key] = keys;
    const head = await this.#head();
    const [row] = await this.#tables.read(SQL.firstBlock, this.#issuer);
    if (key === undefined || head === undefined || row === undefined) return 0;
    const block = blockOf(row);
    if (block.latestMs >= beforeMs || !isAuthentic(head, this.#issuer, keys)) return 0;
    // Nothing signs the block, so only its events count.
    const events = await this.#events(head.beginning.sequence, block.lastSequence, BLOCK_ROWS + 1);
    const beginning = linkOf(block);
    if (!isSame(continued(head.beginning, events), beginning) || events.length !== block.rows) {
      // Another process may have removed the block in between.
      if ((await this.#head())?.beginning.sequence !== head.beginning.sequence) return 0;
      throw new AuditTrailBroken('the oldest events of the audit trail do not fit the chain');
    }
    if (events.some(({ atMs }) => atMs >= beforeMs)) return 0;
    const written = this.#replacing(head, beginning, head.last, key);
    const [replaced] = await this.#tables.write(
      written.call,
      [SQL.keepLastNumber, this.#issuer, block.lastSequence],
      [SQL.removeEvents, this.#issuer, block.lastSequence, written.mac],
      [SQL.removeBlock, this.#issuer, block.number, written.mac],
    );
    return replaced?.length === 1 ? block.rows : 0;
  }

  /** Events in order, after a number. */
  async *after(number: number, filter: AuditFilter = {}): AsyncGenerator<AuditEvent, void, void> {
    const matches = matcherOf(filter);
    const sealed = (await this.#head())?.last.sequence ?? 0;
    let last = number;
    for await (const block of this.#blocks(filter, { after: number })) {
      if (!block.mayMatch) continue;
      const to = Math.min(block.lastSequence, sealed);
      const events = await this.#events(Math.max(last, block.firstSequence - 1), to, BLOCK_ROWS + 1);
      for (const event of events.map(withActor)) if (matches(event)) yield event;
      last = to;
      if (to === sealed) break;
    }
    // Events that are sealed meanwhile are read here.
    for (last = Math.max(number, sealed); ; ) {
      const events = await askStorage(() => this.#storage.eventsAfter(last, BLOCK_ROWS));
      for (const event of events.map(withActor)) if (matches(event)) yield event;
      if (events.length < BLOCK_ROWS) return;
      last = events.at(-1)?.sequence ?? last;
    }
  }

  /**
   * Events before a number, the newest first.
   * @param mostRead stops after about so many events, whether or not they fit the filter. The index of a block whose
   * events are not read also counts (`EVENTS_PER_INDEX`). Default: reads all
   * @returns the number before which to go on; `undefined` if all were read
   */
  async *before(
    number: number | undefined,
    filter: AuditFilter = {},
    mostRead = Number.POSITIVE_INFINITY,
  ): AsyncGenerator<AuditEvent, number | undefined, void> {
    const matches = matcherOf(filter);
    const end = number ?? BEYOND;
    const sealed = (await this.#head())?.last.sequence ?? 0;
    await this.#numberNew(mostRead);
    let read = 0;
    for (let below = end; ; ) {
      const rows = await this.#tables.read(SQL.eventsBefore, this.#issuer, sealed, below, BLOCK_ROWS);
      const events = rows.map(eventOf);
      for (const event of events.map(withActor)) if (matches(event)) yield event;
      read += events.length;
      if (events.length < BLOCK_ROWS) break;
      below = events.at(-1)?.sequence ?? below;
      if (read >= mostRead) return below;
    }
    // Events that are sealed meanwhile were read above.
    let first = Math.min(end, sealed + 1);
    for await (const block of this.#blocks(filter, { before: first })) {
      if (read >= mostRead) return first;
      first = block.firstSequence;
      const to = Math.min(block.lastSequence, end - 1, sealed);
      const events = block.mayMatch
        ? await this.#events(block.firstSequence - 1, to, BLOCK_ROWS + 1)
        : undefined;
      for (const event of events?.reverse().map(withActor) ?? []) if (matches(event)) yield event;
      read += events?.length ?? EVENTS_PER_INDEX;
    }
    return undefined;
  }

  /** Gives numbers to events that have none yet, to at most about `most`: the store does so when it lists them. */
  async #numberNew(most: number): Promise<void> {
    const [row] = await this.#tables.read(SQL.eventsBefore, this.#issuer, 0, BEYOND, 1);
    let last = Number(row?.sequence ?? 0);
    for (let numbered = 0; numbered < most; numbered += BLOCK_ROWS) {
      const events = await askStorage(() => this.#storage.eventsAfter(last, BLOCK_ROWS));
      if (events.length < BLOCK_ROWS) return;
      last = events.at(-1)?.sequence ?? last;
    }
  }

  /** The blocks of the times of a filter. */
  async *#blocks(
    filter: AuditFilter,
    place: { readonly after: number } | { readonly before: number },
  ): AsyncGenerator<SearchedBlock, void, void> {
    const wanted = termsOf(filter);
    const { sinceMs = 0, untilMs = BEYOND } = filter;
    const [sql, boundary, start] =
      'after' in place ? [SQL.blocksAfter, place.after, 0] : [SQL.blocksBefore, place.before, BEYOND];
    for (let number = start; ; ) {
      const rows = await this.#tables.read(sql, this.#issuer, number, boundary, sinceMs, untilMs);
      for (const row of rows) {
        const mayMatch = wanted.length === 0 || TermIndex.from(row.terms).mayHave(wanted);
        yield { ...blockOf(row), terms: String(row.terms), mayMatch };
        number = Number(row.number);
      }
      if (rows.length < BLOCKS_AT_ONCE) return;
    }
  }

  async #head(): Promise<Head | undefined> {
    const [row] = await this.#tables.read(SQL.head, this.#issuer);
    return row && headOf(row);
  }

  async #events(after: number, to: number, limit: number): Promise<EventRecord[]> {
    return (await this.#tables.read(SQL.events, this.#issuer, after, to, limit)).map(eventOf);
  }

  async #countUpTo(sequence: number): Promise<number> {
    const [row] = await this.#tables.read(SQL.countUpTo, this.#issuer, sequence);
    return Number(row?.events ?? 0);
  }

  /** The statement that replaces the head if it is still `before`. */
  #replacing(
    before: Head | undefined,
    beginning: ChainLink,
    last: ChainLink,
    key: Uint8Array,
    afterMs = before?.sealedAtMs ?? 0,
  ) {
    // Grows with each head, also if clocks differ.
    const sealedAtMs = Math.max(this.#clock(), afterMs + 1);
    const mac = macOf(this.#issuer, { beginning, last, sealedAtMs }, newIdentifier(), key);
    const values = [beginning.sequence, beginning.hash, last.sequence, last.hash, sealedAtMs, mac] as const;
    const call =
      before === undefined
        ? ([SQL.addHead, this.#issuer, ...values] as const)
        : ([SQL.replaceHead, this.#issuer, ...values, before.mac] as const);
    return { mac, sealedAtMs, call };
  }

  /** Whether sealed events are gone. A shorter chain that was sealed later is one that an operator has begun. */
  #isEarlier(head: Head | undefined): boolean {
    const { sequence, sealedAtMs } = this.#seen;
    if (head === undefined) return sequence > 0;
    return head.last.sequence < sequence && head.sealedAtMs <= sealedAtMs;
  }
}

/** The link before the first event. */
function genesis(issuer: string): ChainLink {
  return { sequence: 0, hash: hash('sha256', JSON.stringify(['grantd audit trail', issuer]), 'base64url') };
}

/** Adds events to a chain: each hash covers the previous hash and every column. */
function continued(link: ChainLink, events: readonly EventRecord[], index?: TermIndex): ChainLink {
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

function isSame(one: ChainLink, other: ChainLink): boolean {
  return one.sequence === other.sequence && one.hash === other.hash;
}

/** Whether a search finds the events of a block. Nothing signs what it uses. */
function isIndexOf(block: IndexedBlock, events: readonly EventRecord[], index: TermIndex): boolean {
  const times = events.map(({ atMs }) => atMs);
  return (
    block.firstSequence === events[0]?.sequence &&
    block.earliestMs === Math.min(...times) &&
    block.latestMs === Math.max(...times) &&
    block.terms === index.text
  );
}

/** Whether a search finds the first events of a block that was continued. */
function covers(block: IndexedBlock, events: readonly EventRecord[]): boolean {
  const index = TermIndex.from(block.terms);
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

function linkOf({ lastSequence, hash: value }: Block): ChainLink {
  return { sequence: lastSequence, hash: value };
}

/** @returns `undefined` if the block is full or too old, or is not the end of the chain */
function openBlock(row: TableRow, last: ChainLink, nowMs: number) {
  const block = blockOf(row);
  if (block.rows >= BLOCK_ROWS || nowMs - block.earliestMs >= BLOCK_MS) return undefined;
  if (block.lastSequence !== last.sequence) return undefined;
  return { block, index: TermIndex.from(row.terms) };
}

/** @param nonce makes each attempt to write a head unique, so that its block is written only if it succeeds */
function macOf(
  issuer: string,
  { beginning, last, sealedAtMs }: Omit<Head, 'mac'>,
  nonce: string,
  key: Uint8Array,
): string {
  const content = [nonce, issuer, beginning.sequence, beginning.hash, last.sequence, last.hash, sealedAtMs];
  return `${nonce}.${createHmac('sha256', key).update(JSON.stringify(content)).digest('base64url')}`;
}

function isAuthentic(head: Head, issuer: string, keys: readonly Uint8Array[]): boolean {
  const given = Buffer.from(head.mac);
  return keys.some((key) => {
    const expected = Buffer.from(macOf(issuer, head, head.mac.replace(/\..*$/s, ''), key));
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

/** The values by which events are found. @param isEvent whether a target may be several */
function termsOf(of: AuditFilter, isEvent = false): readonly string[] {
  const { type, actor, target, subject, clientId, address, requestId } = of;
  const targets =
    target === undefined ? [] : isEvent && type === 'token_issued' ? target.split(' ') : [target];
  const terms = targets.map((one) => `t${one}`);
  if (type !== undefined) terms.push(`y${type}`);
  if (actor !== undefined) terms.push(`a${actor}`);
  if (subject !== undefined) terms.push(`s${subject}`);
  if (clientId !== undefined) terms.push(`c${clientId}`);
  if (address !== undefined) terms.push(`i${address}`);
  if (requestId !== undefined) terms.push(`r${requestId}`);
  return terms;
}

function matcherOf(filter: AuditFilter): (event: AuditEvent) => boolean {
  const { sinceMs = 0, untilMs = BEYOND } = filter;
  const wanted = termsOf(filter);
  return (event) => {
    if (event.atMs < sinceMs || event.atMs >= untilMs) return false;
    if (wanted.length === 0) return true;
    const terms = termsOf(event, true);
    return wanted.every((term) => terms.includes(term));
  };
}

/**
 * Which values the events of a block may have: a Bloom filter. It answers yes for about one value in a hundred that is
 * not there. A tree of the values would change a page for each event.
 */
class TermIndex {
  readonly #bits: Buffer;

  constructor(bits: Buffer = Buffer.alloc(INDEX_BITS / 8)) {
    this.#bits = bits;
  }

  static from(text: unknown): TermIndex {
    return new TermIndex(Buffer.from(String(text), 'base64'));
  }

  get text(): string {
    return this.#bits.toString('base64');
  }

  /** Adds the terms of `termsOf`, without a list and texts for each event. */
  addEvent(event: EventRecord): void {
    const { type, target, subject, clientId, address, requestId } = event;
    this.#add('y', type);
    this.#add('a', actorOf(event));
    if (type === 'token_issued' && target.includes(' '))
      for (const one of target.split(' ')) this.#add('t', one);
    else this.#add('t', target);
    if (subject !== undefined) this.#add('s', subject);
    if (clientId !== undefined) this.#add('c', clientId);
    if (address !== undefined) this.#add('i', address);
    if (requestId !== undefined) this.#add('r', requestId);
  }

  #add(kind: string, value: string): void {
    const hashed = hashOf(kind, value);
    const step = stepOf(hashed);
    for (let probe = 0; probe < PROBES; probe++) {
      const at = (hashed + probe * step) % INDEX_BITS;
      this.#bits[at >> 3] = (this.#bits[at >> 3] ?? 0) | (1 << (at & 7));
    }
  }

  mayHave(terms: readonly string[]): boolean {
    return terms.every((term) => {
      const hashed = hashOf(term.slice(0, 1), term.slice(1));
      const step = stepOf(hashed);
      for (let probe = 0; probe < PROBES; probe++) {
        const at = (hashed + probe * step) % INDEX_BITS;
        if (((this.#bits[at >> 3] ?? 0) & (1 << (at & 7))) === 0) return false;
      }
      return true;
    });
  }
}

/** FNV-1a. Stored indexes depend on it. */
function hashOf(kind: string, value: string): number {
  let hashed = Math.imul(0x811c9dc5 ^ kind.charCodeAt(0), 0x01000193);
  for (let at = 0; at < value.length; at++) hashed = Math.imul(hashed ^ value.charCodeAt(at), 0x01000193);
  return hashed >>> 0;
}

/** Odd, so that the steps reach every bit. */
function stepOf(hashed: number): number {
  return (Math.imul(hashed ^ (hashed >>> 15), 0x85ebca6b) | 1) >>> 0;
}

function blockOf(row: TableRow): Block {
  return {
    number: Number(row.number),
    firstSequence: Number(row.first_sequence),
    lastSequence: Number(row.last_sequence),
    rows: Number(row.row_count),
    earliestMs: Number(row.earliest_ms),
    latestMs: Number(row.latest_ms),
    hash: String(row.hash),
  };
}

function headOf(row: TableRow): Head {
  return {
    beginning: { sequence: Number(row.beginning_sequence), hash: String(row.beginning_hash) },
    last: { sequence: Number(row.last_sequence), hash: String(row.last_hash) },
    sealedAtMs: Number(row.sealed_at_ms),
    mac: String(row.mac),
  };
}

function eventOf(row: TableRow): EventRecord {
  const text = (value: unknown): string | undefined => (value === null ? undefined : String(value));
  const optional = {
    actor: text(row.actor),
    address: text(row.address),
    clientId: text(row.client_id),
    subject: text(row.subject),
    reason: text(row.reason),
    requestId: text(row.request_id),
  };
  return {
    ...{ sequence: Number(row.sequence), atMs: Number(row.at_ms), target: String(row.target) },
    type: String(row.type) as EventType,
    ...(Object.fromEntries(
      Object.entries(optional).filter(([, value]) => value !== undefined),
    ) as Partial<EventRecord>),
  };
}
