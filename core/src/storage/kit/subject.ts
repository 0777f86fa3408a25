import type { Awaitable, NewClient, Storage } from '../contract.ts';

/** The store under test, and what the kit cannot know of it. */
export interface KitSubject<S extends Storage = Storage> {
  /** The clock by which the store goes. The cases set it. */
  readonly clock: { nowMs: number };
  /** Opens a new store without records. */
  open(): Awaitable<S>;
  /**
   * Opens a second handle on the same records, as another process would have it. The cases of concurrency then go
   * through both in turn; a store that synchronizes its calls within one handle alone is found out only so.
   */
  openAnother?(storage: S): Awaitable<S>;
  /** Registers a client; needed only where `clients` has no `add`. */
  registerClient?(storage: S, client: NewClient): Awaitable<void>;
  /** Brings about that the store cannot be asked, like an outage. Needed by the group `faults` alone. */
  breakStorage?(storage: S): Awaitable<void>;
  /** Called for each handle at the end of a case, also after `breakStorage`; needed only where the store has no `close`. */
  close?(storage: S): Awaitable<void>;
}
