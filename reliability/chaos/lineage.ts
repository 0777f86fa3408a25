import { setTimeout as pause } from 'node:timers/promises';
import type { Connection } from '../load/connection.ts';
import { refresh } from '../load/protocol.ts';
import type { Ledger } from './ledger.ts';

const PAUSE_MS = 20;
const MOST_AT_ONCE = 3;
/** The longest time in which no server may respond. */
const LONGEST_OUTAGE_MS = 120_000;

/**
 * An honest client with one refresh token. It refreshes again and again, sometimes with several concurrent requests. If
 * it gets no response, it sends the same token again.
 */
export class Lineage {
  readonly #name: string;
  readonly #ledger: Ledger;
  readonly #graceMs: number;
  readonly #spent: string[] = [];
  #current: string;
  #isLockedOut = false;
  /** How often a token was sent again because the response was lost. */
  retries = 0;
  /** How often the server was away for longer than the grace period. */
  overdue = 0;

  constructor(name: string, refreshToken: string, ledger: Ledger, graceMs: number) {
    this.#name = name;
    this.#current = refreshToken;
    this.#ledger = ledger;
    this.#graceMs = graceMs;
  }

  get current(): string {
    return this.#current;
  }

  get spent(): readonly string[] {
    return this.#spent;
  }

  get isLockedOut(): boolean {
    return this.#isLockedOut;
  }

  get refreshes(): number {
    return this.#spent.length;
  }

  /**
   * Retries until a refresh succeeds. Does nothing once it is locked out.
   * @throws Error if that took too long
   */
  async advance(anywhere: () => Connection): Promise<void> {
    if (this.#isLockedOut) return pause(PAUSE_MS);
    const firstSentMs = performance.now();
    while (performance.now() - firstSentMs < LONGEST_OUTAGE_MS) {
      const outcomes = await Promise.all(this.#requests().map(() => refresh(anywhere(), this.#current)));
      this.#ledger.unanswered += outcomes.filter((outcome) => outcome === 'unknown').length;
      const successors = new Set(
        outcomes.flatMap((outcome) => (typeof outcome === 'string' ? [] : [outcome.refreshToken])),
      );
      if (successors.size > 1) this.#ledger.fault(`${this.#name}: one refresh token had two successors`);
      const [successor] = successors;
      if (successor !== undefined) {
        this.#spent.push(this.#current);
        this.#current = successor;
      }
      if (outcomes.includes('refused')) this.#refused(performance.now() - firstSentMs);
      if (successor !== undefined || this.#isLockedOut) return;
      this.retries += 1;
      await pause(PAUSE_MS);
    }
    throw new Error(`${this.#name}: no server answered a refresh`);
  }

  #refused(afterMs: number): void {
    this.#isLockedOut = true;
    if (afterMs >= this.#graceMs) this.overdue += 1;
    else
      this.#ledger.fault(
        `${this.#name}: an honest client was locked out ${Math.round(afterMs)} ms into the grace`,
      );
  }

  #requests(): readonly number[] {
    return Array.from({ length: 1 + Math.floor(Math.random() * MOST_AT_ONCE) }, (_, index) => index);
  }
}
