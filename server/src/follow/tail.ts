// Reads new events, once for all followers of a process.
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { type AdministrableStorage, type EventRecord, StorageFault } from '@grantd/core';
import { type EndingReader, type Endings, MAX_KEYS } from './endings.ts';

/** Events that one read returns. */
const PAGE = 1000;

/** So many events before the present, a follower can still join without a gap. */
const MAX_REPLAYED = 10_000;

/** Milliseconds without a read after which it is faster to look for the last event than to read all since. */
const IDLE_MS = 60_000;

/** Milliseconds between two reads while storage does not answer. */
const RETRY_AFTER_MS = 200;

/** Seconds by which the clocks of servers may differ. */
const CLOCK_LEEWAY = 600;

/** A position among the events: the number of the last one, with a digest that tells it from another with this number. */
export type Mark = string;

/** The mark before the first event. */
const BEGINNING = '0.';

function markOf({ sequence, atMs, type, target }: EventRecord): Mark {
  const hash = createHash('sha256').update(`${atMs} ${type} ${target}`).digest('base64url');
  return `${sequence}.${hash.slice(0, 8)}`;
}

/** @returns `undefined` if it is none */
function numberOf(mark: Mark): number | undefined {
  const [, digits] = /^(\d{1,15})\.[\w-]{0,8}$/.exec(mark) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

export interface TailListener {
  /** Milliseconds between two reads. */
  restMs(): number;
  /**
   * Called after each read that has found endings.
   * @param since nothing else has ended after this mark
   * @param last the mark of the last event read
   */
  endings(endings: Endings, since: Mark, last: Mark): void;
  /** The events that were read are no longer those of the database: it was restored, or another one took its place. */
  broken(): void;
}

/** What a follower missed. */
export interface Missed {
  readonly keys: readonly string[];
  /** Whether these are all endings that can concern tokens that have not expired. */
  readonly isComplete: boolean;
  readonly last: Mark;
}

/** Follows the events of one database, while there is a listener or a caller that waits. */
export class EventTail {
  readonly #storage: Pick<AdministrableStorage, 'eventsAfter'>;
  readonly #reader: EndingReader;
  readonly #keptForSeconds: number;
  readonly #clock: () => number;
  #listener: TailListener | undefined;
  /** For all who wait for the next read. */
  #next: PromiseWithResolvers<Mark> | undefined;
  /** `undefined` while unknown. */
  #last: Mark | undefined;
  #lastEnding: Mark = BEGINNING;
  /** What followers that know nothing yet have missed, while it is read: many of them may start at once. */
  #beginning: { readonly last: Mark; readonly missed: Promise<Missed> } | undefined;
  #isRunning = false;
  #readAtMs = 0;
  #wake: (() => void) | undefined;
  #isClosed = false;

  /** @param keptForSeconds the longest lifetime of an access token */
  constructor(
    storage: Pick<AdministrableStorage, 'eventsAfter'>,
    reader: EndingReader,
    { keptForSeconds, clock = Date.now }: { readonly keptForSeconds: number; readonly clock?: () => number },
  ) {
    this.#storage = storage;
    this.#reader = reader;
    this.#keptForSeconds = keptForSeconds;
    this.#clock = clock;
  }

  /**
   * Resolves with a mark after a read that begins after this call: every ending that was committed before is up to it.
   * @throws {StorageFault} storage is unavailable
   */
  current(): Promise<Mark> {
    this.#next ??= Promise.withResolvers<Mark>();
    const { promise } = this.#next;
    this.#run();
    return promise;
  }

  /** The mark of the last event that was read; `undefined` before the first read. */
  get last(): Mark | undefined {
    return this.#last;
  }

  /** Nothing has ended between this mark and the last one. */
  get lastEnding(): Mark {
    return this.#lastEnding;
  }

  /** Milliseconds since the last successful read began. */
  get ageMs(): number {
    return performance.now() - this.#readAtMs;
  }

  /** Calls the listener for everything that is read from now on. */
  listen(listener: TailListener): void {
    this.#listener = listener;
    this.#run();
  }

  /** Calls it no more. */
  leave(): void {
    this.#listener = undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#wake?.();
  }

  /**
   * Reads what was ended since a mark.
   * @param after where the follower was; `undefined` if it knows nothing yet
   * @throws {StorageFault} storage is unavailable
   */
  async missedSince(after: Mark | undefined): Promise<Missed> {
    await this.current();
    const last = this.#last ?? BEGINNING;
    if (after !== undefined) return this.#readMissed(after, last);
    if (this.#beginning?.last === last) return this.#beginning.missed;
    const missed = this.#readMissed(undefined, last).finally(() => {
      if (this.#beginning?.missed === missed) this.#beginning = undefined;
    });
    this.#beginning = { last, missed };
    return missed;
  }

  async #readMissed(after: Mark | undefined, last: Mark): Promise<Missed> {
    const nothing = { keys: [], isComplete: false, last };
    const end = numberOf(last) ?? 0;
    const begin = after === undefined ? Math.max(0, end - MAX_REPLAYED) : numberOf(after);
    if (begin === undefined || begin > end || end - begin > MAX_REPLAYED) return nothing;
    const keys = new Set<string>();
    let position = Math.max(0, begin - 1);
    // Of the earlier events, a follower that knows nothing yet has missed all.
    let previous = after === undefined ? 0 : position;
    while (position < end) {
      const page = await this.#storage.eventsAfter(position, PAGE);
      const events = page.filter(({ sequence }) => sequence <= end);
      const [first] = events;
      const isOther = after !== undefined && position === begin - 1 && (!first || markOf(first) !== after);
      if (isOther || !this.#isGapless(events, previous)) return nothing;
      for (const key of (await this.#reader.read(events)).keys) keys.add(key);
      if (keys.size > MAX_KEYS) return nothing;
      const reached = events.at(-1)?.sequence;
      if (reached === undefined) return nothing; // swept meanwhile
      position = reached;
      previous = reached;
    }
    // Without any event, they may all have been swept.
    return { keys: [...keys], isComplete: end > 0, last };
  }

  /** Whether no event is missing, or only such as concern tokens that have expired. */
  #isGapless(events: readonly EventRecord[], previous: number): boolean {
    const oldestMs = this.#clock() - (this.#keptForSeconds + CLOCK_LEEWAY) * 1000;
    return events.every(({ sequence, atMs }, at) => {
      const before = events[at - 1]?.sequence ?? previous;
      return sequence === before + 1 || atMs < oldestMs;
    });
  }

  #run(): void {
    if (this.#isRunning) return;
    this.#isRunning = true;
    if (this.ageMs > IDLE_MS) this.#last = undefined;
    void this.#loop().finally(() => {
      this.#isRunning = false;
      if (this.#next !== undefined) this.#run();
    });
  }

  async #loop(): Promise<void> {
    while (!this.#isClosed && (this.#listener ?? this.#next) !== undefined) {
      const next = this.#next;
      this.#next = undefined;
      try {
        const beganAtMs = performance.now();
        const last = await this.#readOn();
        this.#readAtMs = beganAtMs;
        next?.resolve(last);
        await this.#rest();
      } catch (error) {
        // Followers learn it from their next beat.
        next?.reject(error);
        await pause(RETRY_AFTER_MS);
      }
    }
    this.#next?.reject(new StorageFault(new Error('the feed is closed')));
    this.#next = undefined;
  }

  async #rest(): Promise<void> {
    // Without a listener, someone waits for the next read.
    const milliseconds = this.#listener?.restMs() ?? 0;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }

  /** Reads all events since the last read, and tells the listener. */
  async #readOn(): Promise<Mark> {
    if (this.#last === undefined) await this.#begin();
    for (;;) {
      const known: Mark = this.#last ?? BEGINNING;
      const number = numberOf(known) ?? 0;
      const page = await this.#storage.eventsAfter(Math.max(0, number - 1), PAGE);
      const [first] = page;
      if (number > 0 && (first === undefined || markOf(first) !== known)) {
        await this.#begin();
        this.#listener?.broken();
        return this.#lastEnding;
      }
      const events = number > 0 ? page.slice(1) : page;
      const latest = events.at(-1);
      if (latest === undefined) return this.#lastEnding;
      const endings = await this.#reader.read(events);
      const since = this.#lastEnding;
      this.#last = markOf(latest);
      if (endings.keys.length > 0) this.#lastEnding = this.#last;
      if (endings.keys.length > 0 || endings.changedClients.length > 0)
        this.#listener?.endings(endings, since, this.#last);
      if (page.length < PAGE) return this.#lastEnding;
    }
  }

  /** Begins to read at the present. Something may have ended just before. */
  async #begin(): Promise<void> {
    this.#last = await this.#lastMark();
    this.#lastEnding = this.#last;
  }

  /** Finds the last event by its number, which only grows. */
  async #lastMark(): Promise<Mark> {
    let found: EventRecord | undefined;
    const isAfter = async (number: number) => {
      const [event] = await this.#storage.eventsAfter(number, 1);
      if (event !== undefined) found = event;
      return event !== undefined;
    };
    let least = 0;
    let step = 1;
    while (await isAfter(least + step - 1)) {
      least = found?.sequence ?? least;
      step *= 2;
    }
    // There is an event `least`, or none at all, and none after the end of the last step.
    let most = least + step - 1;
    while (least < most) {
      const middle = least + Math.ceil((most - least) / 2);
      if (await isAfter(middle - 1)) least = found?.sequence ?? middle;
      else most = middle - 1;
    }
    return found === undefined ? BEGINNING : markOf(found);
  }
}
