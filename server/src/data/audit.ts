import type { AdministrableStorage, EventRecord } from '@grantd/core';
import { type EventRow, TRAIL, toEventRecord } from '@grantd/core/internal/storage/statements';
import { type Act, type Acts, actOf, actsIn, areRunsOf, isSameAct, joined, Runs } from './audit_acts.ts';
import {
  BLOCK_ROWS,
  BLOCKS,
  BLOCKS_AT_ONCE,
  BLOCKS_SQL,
  type Block,
  type ChainLink,
  continued,
  covers,
  genesis,
  HEADS_SQL,
  type Head,
  headOf,
  isAuthentic,
  isIndexOf,
  isOpen,
  isSame,
  linkOf,
  macOf,
} from './audit_chain.ts';
import {
  type AuditEvent,
  type AuditFilter,
  BEYOND,
  BloomFilter,
  matcherOf,
  termsOf,
  withActor,
} from './audit_search.ts';
import type { DeletionLimitMs } from './deletion_limit.ts';
import type { ProgramSecret } from './secrets.ts';
import {
  askStorage,
  newIdentifier,
  type ProgramTables,
  statement,
  statements,
  type TableRow,
} from './tables.ts';

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

/** A block for a search. */
interface SearchedBlock extends Block {
  /** `false` if its index says that no event fits the filter. */
  readonly mayMatch: boolean;
}

/** To read the index of a block costs about as much as to read so many events. */
const EVENTS_PER_INDEX = 16;

const EVENTS = {
  ...statements(TRAIL),
  remove: statement(
    `${TRAIL.remove} AND EXISTS (SELECT 1 FROM grantd.audit_heads WHERE issuer = :issuer AND mac = :mac)`,
  ),
};

/** What a search finds. It returns where to go on if it has not read all. */
type Found<T> = AsyncGenerator<T, number | undefined, void>;

const READ_ALL = (): undefined => undefined;

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
 * with a `StorageFault` if the database does not answer (ADR 93).
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
      const lastBlock = await this.#tables.first(BLOCKS_SQL.last(), BLOCKS.recordOf);
      const open = lastBlock && isOpen(lastBlock, last, this.#clock()) ? lastBlock : undefined;
      const limit = BLOCK_ROWS - (open?.rowCount ?? 0);
      const events = await askStorage(() => this.#storage.eventsAfter(last.sequence, limit));
      if (events.length === 0) {
        // Older server secrets can then be dropped.
        if (head !== undefined && !isAuthentic(head, this.#issuer, [key]))
          await this.#tables.run(this.#replacing(head, beginning, last, key).call);
        return sealed;
      }
      const unchained = head === undefined ? await this.#countUpTo(BEYOND) : 0;
      const index = open === undefined ? new BloomFilter() : BloomFilter.from(open.terms);
      const runs = new Runs(open);
      for (const event of events) runs.add(event);
      const next = continued(last, events, index);
      const written = this.#replacing(head, beginning, next, key);
      const times = events.map(({ atMs }) => atMs);
      const isWritten = await this.#tables.changes(
        written.call,
        BLOCKS_SQL.write({
          mac: written.mac,
          number: open?.number ?? (lastBlock?.number ?? 0) + 1,
          firstSequence: open?.firstSequence ?? events[0]?.sequence ?? 0,
          lastSequence: next.sequence,
          rowCount: (open?.rowCount ?? 0) + events.length,
          earliestMs: Math.min(open?.earliestMs ?? BEYOND, ...times),
          latestMs: Math.max(open?.latestMs ?? 0, ...times),
          hash: next.hash,
          terms: index.text,
          runs: runs.text,
        }),
      );
      // If another process was faster, its head is read next.
      if (isWritten) {
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
        isExpected ||= authentic.some((hash) => expected !== undefined && isSame(expected, hash));
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
  async #checkBlock(block: Block, from: ChainLink, end: ChainLink) {
    const rows = await this.#events(from.sequence, end.sequence, BLOCK_ROWS + 1);
    const index = new BloomFilter();
    const passed: ChainLink[] = [];
    for (const row of rows) passed.push(continued(passed.at(-1) ?? from, [row], index));
    const isWhole = end.sequence === block.lastSequence;
    if (!isSame(passed.at(-1) ?? from, end) || (isWhole && rows.length !== block.rowCount))
      return { problem: 'rows_changed', passed } as const;
    const isIndexed = isWhole ? isIndexOf(block, rows, index) && areRunsOf(block, rows) : covers(block, rows);
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
    await this.#tables.run(BLOCKS_SQL.drop(), HEADS_SQL.drop(), begun.call);
    this.#seen = { sequence: 0, sealedAtMs: begun.sealedAtMs };
    await this.seal(secret);
  }

  /**
   * Removes the oldest events, and signs where the rest begins. Only whole blocks go, so an event may stay for a day
   * longer.
   * @param retentionSeconds the age at which events are removed
   * @returns how many events were removed; 0 if none is left
   * @throws {AuditTrailBroken} the oldest events were changed; none is removed
   */
  async removeOldest(
    secret: ProgramSecret,
    retentionSeconds: number,
    untilMs: DeletionLimitMs,
  ): Promise<number> {
    const beforeMs = untilMs - retentionSeconds * 1000;
    const keys = await secret.keys('audit_seal');
    const [key] = keys;
    const head = await this.#head();
    const block = await this.#tables.first(BLOCKS_SQL.first(), BLOCKS.recordOf);
    if (key === undefined || head === undefined || block === undefined) return 0;
    if (block.latestMs >= beforeMs || !isAuthentic(head, this.#issuer, keys)) return 0;
    // Nothing signs the block, so only its events count.
    const events = await this.#events(head.beginning.sequence, block.lastSequence, BLOCK_ROWS + 1);
    const beginning = linkOf(block);
    if (!isSame(continued(head.beginning, events), beginning) || events.length !== block.rowCount) {
      // Another process may have removed the block in between.
      if ((await this.#head())?.beginning.sequence !== head.beginning.sequence) return 0;
      throw new AuditTrailBroken('the oldest events of the audit trail do not fit the chain');
    }
    if (events.some(({ atMs }) => atMs >= beforeMs)) return 0;
    const written = this.#replacing(head, beginning, head.last, key);
    const { mac } = written;
    const isReplaced = await this.#tables.changes(
      written.call,
      EVENTS.keepLastNumber({ to: block.lastSequence }),
      EVENTS.remove({ to: block.lastSequence, mac }),
      BLOCKS_SQL.remove({ number: block.number, mac }),
    );
    return isReplaced ? block.rowCount : 0;
  }

  /**
   * Events in order, after a number.
   * @param mostRead stops after about so many events, whether or not they fit the filter. The index of a block whose
   * events are not read also counts (`EVENTS_PER_INDEX`). Default: reads all
   * @returns the number after which to go on; `undefined` if all were read
   */
  after(number: number, filter: AuditFilter = {}, mostRead = Number.POSITIVE_INFINITY): Found<AuditEvent> {
    return this.#after(number, filter, mostRead, READ_ALL);
  }

  /**
   * Events before a number, the newest first.
   * @param mostRead as for `after`
   * @returns the number before which to go on; `undefined` if all were read
   */
  before(
    number: number | undefined,
    filter: AuditFilter = {},
    mostRead = Number.POSITIVE_INFINITY,
  ): Found<AuditEvent> {
    return this.#before(number, filter, mostRead, READ_ALL);
  }

  /**
   * A page of acts with the events that fit a filter. Reads no events of blocks whose acts are known.
   * @param place before or after the event with this number. Default: the newest
   * @param most acts to find
   * @param mostRead as for `after`
   */
  async acts(
    place: { readonly at: number; readonly isBefore: boolean } | undefined,
    filter: AuditFilter,
    { most, mostRead }: { readonly most: number; readonly mostRead: number },
  ): Promise<Acts> {
    const knownIn = (block: Block) => actsIn(block, filter);
    const found: Found<AuditEvent | Act> = place?.isBefore
      ? this.#after(place.at, filter, mostRead, knownIn)
      : this.#before(place?.at, filter, mostRead, knownIn);
    const acts: Act[] = [];
    const inOrder = () => (place?.isBefore ? acts.toReversed() : acts);
    for (;;) {
      const { done, value } = await found.next();
      if (done === true)
        return {
          acts: inOrder(),
          hasMore: value !== undefined,
          ...(value !== undefined && { stoppedAt: value }),
        };
      const act = 'kinds' in value ? value : actOf(value);
      const last = acts.at(-1);
      if (last !== undefined && isSameAct(last, act)) acts[acts.length - 1] = joined(last, act);
      else if (acts.length < most) acts.push(act);
      else {
        await found.return(undefined);
        return { acts: inOrder(), hasMore: true };
      }
    }
  }

  /** One event. @returns `undefined` if there is none with this number */
  async byNumber(number: number): Promise<AuditEvent | undefined> {
    const [event] = await this.#events(number - 1, number, 1);
    return event && withActor(event);
  }

  /** @param knownIn what takes the place of the events of a block; `undefined` to read them */
  async *#after<T>(
    number: number,
    filter: AuditFilter,
    mostRead: number,
    knownIn: (block: Block) => readonly T[] | undefined,
  ): Found<AuditEvent | T> {
    const matches = matcherOf(filter);
    const sealed = (await this.#head())?.last.sequence ?? 0;
    let [last, read] = [number, 0];
    for await (const block of this.#blocks(filter, { after: number })) {
      if (read >= mostRead) return last;
      const to = Math.min(block.lastSequence, sealed);
      const isWhole = block.firstSequence > number && block.lastSequence <= sealed;
      const known = block.mayMatch && isWhole ? knownIn(block) : undefined;
      const events =
        block.mayMatch && known === undefined
          ? await this.#events(Math.max(last, block.firstSequence - 1), to, BLOCK_ROWS + 1)
          : undefined;
      if (known !== undefined) yield* known;
      for (const event of events?.map(withActor) ?? []) if (matches(event)) yield event;
      read += events?.length ?? EVENTS_PER_INDEX;
      last = to;
      if (to === sealed) break;
    }
    // Events that are sealed meanwhile are read here.
    for (last = Math.max(number, sealed); ; ) {
      if (read >= mostRead) return last;
      const events = await askStorage(() => this.#storage.eventsAfter(last, BLOCK_ROWS));
      for (const event of events.map(withActor)) if (matches(event)) yield event;
      if (events.length < BLOCK_ROWS) return undefined;
      read += events.length;
      last = events.at(-1)?.sequence ?? last;
    }
  }

  /** @param knownIn as for `#after` */
  async *#before<T>(
    number: number | undefined,
    filter: AuditFilter,
    mostRead: number,
    knownIn: (block: Block) => readonly T[] | undefined,
  ): Found<AuditEvent | T> {
    const matches = matcherOf(filter);
    const end = number ?? BEYOND;
    const sealed = (await this.#head())?.last.sequence ?? 0;
    await this.#numberNew(mostRead);
    let read = 0;
    for (let below = end; ; ) {
      const page = EVENTS.before({ after: sealed, before: below, limit: BLOCK_ROWS });
      const events = await this.#tables.list(page, eventOf);
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
      const known = block.mayMatch && to === block.lastSequence ? knownIn(block) : undefined;
      const events =
        block.mayMatch && known === undefined
          ? await this.#events(block.firstSequence - 1, to, BLOCK_ROWS + 1)
          : undefined;
      if (known !== undefined) yield* known.toReversed();
      for (const event of events?.toReversed().map(withActor) ?? []) if (matches(event)) yield event;
      read += events?.length ?? EVENTS_PER_INDEX;
    }
    return undefined;
  }

  /** Gives numbers to events that have none yet, to at most about `most`: the store does so when it lists them. */
  async #numberNew(most: number): Promise<void> {
    const newest = EVENTS.before({ after: 0, before: BEYOND, limit: 1 });
    let last = (await this.#tables.first(newest, eventOf))?.sequence ?? 0;
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
    const [page, boundary, beginning] =
      'after' in place ? [BLOCKS_SQL.after, place.after, 0] : [BLOCKS_SQL.before, place.before, BEYOND];
    for (let start = beginning; ; ) {
      const blocks = await this.#tables.list(page({ start, boundary, sinceMs, untilMs }), BLOCKS.recordOf);
      for (const block of blocks) {
        const mayMatch = wanted.length === 0 || BloomFilter.from(block.terms).mayHave(wanted);
        yield { ...block, mayMatch };
        start = block.number;
      }
      if (blocks.length < BLOCKS_AT_ONCE) return;
    }
  }

  #head(): Promise<Head | undefined> {
    return this.#tables.first(HEADS_SQL.get(), headOf);
  }

  #events(after: number, to: number, limit: number): Promise<readonly EventRecord[]> {
    return this.#tables.list(EVENTS.between({ after, to, limit }), eventOf);
  }

  async #countUpTo(to: number): Promise<number> {
    return (await this.#tables.first(EVENTS.count({ to }), ({ events }) => Number(events))) ?? 0;
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
    const row = {
      ...{ beginningSequence: beginning.sequence, beginningHash: beginning.hash },
      ...{ lastSequence: last.sequence, lastHash: last.hash, sealedAtMs, mac },
    };
    const call =
      before === undefined ? HEADS_SQL.add(row) : HEADS_SQL.replace({ ...row, before: before.mac });
    return { mac, sealedAtMs, call };
  }

  /** Whether sealed events are gone. A shorter chain that was sealed later is one that an operator has begun. */
  #isEarlier(head: Head | undefined): boolean {
    const { sequence, sealedAtMs } = this.#seen;
    if (head === undefined) return sequence > 0;
    return head.last.sequence < sequence && head.sealedAtMs <= sealedAtMs;
  }
}

function eventOf(row: TableRow): EventRecord {
  return toEventRecord(row as EventRow);
}
