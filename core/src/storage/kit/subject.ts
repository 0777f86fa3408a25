import type { Awaitable, NewClient, Storage } from '../contract.ts';

/** The store under test, and what the kit cannot know of it. */
export interface KitSubject<S extends Storage = Storage> {
  /** The clock by which the store goes. The cases set it. */
  readonly clock: { nowMs: number };
  /** Opens a new store without records. */
  open(): Awaitable<S>;
  /** Registers a client; needed only where `clients` has no `add`. */
  registerClient?(storage: S, client: NewClient): Awaitable<void>;
  /** Brings about that the store cannot be asked, like an outage. Needed by the group `faults` alone. */
  breakStorage?(storage: S): Awaitable<void>;
  /** Called at the end of a case, also after `breakStorage`; needed only where the store has no `close`. */
  close?(storage: S): Awaitable<void>;
}
