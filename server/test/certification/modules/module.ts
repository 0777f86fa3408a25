import type { RelyingParty } from '../relying_party.ts';

/** A test module of the suite. It passes, adds a remark, or throws. */
export type Module = (party: RelyingParty) => Promise<void>;

export type Modules = Readonly<Record<string, Module>>;
