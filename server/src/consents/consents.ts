/**
 * What a person can agree to, by the names that the protocol has for it. Claims that are asked for one by one are not
 * among it: they are told within what the scopes permit, and so agreed to with those.
 */
export interface Agreed {
  readonly scopes: readonly string[];
  /** RFC 8707 §2. */
  readonly resources: readonly string[];
}

/** What a person has agreed to let a client have. */
export interface Consent extends Agreed {
  readonly clientId: string;
  /** When it was given first. */
  readonly givenAtMs: number;
}

/** Whom a consent is between. */
export interface Parties {
  readonly subject: string;
  readonly clientId: string;
}

/** The consents of one issuer. Every method rejects with a `StorageFault` where the database cannot be asked. */
export interface Consents {
  /** @returns `undefined` where there is none, or it was withdrawn */
  get(parties: Parties): Promise<Consent | undefined>;
  /** What a person agreed to and did not withdraw, the newest first. */
  ofSubject(subject: string): Promise<readonly Consent[]>;
  /** Adds to what was agreed. Atomic: of several at once all count. */
  give(parties: Parties, agreed: Agreed, nowMs: number): Promise<void>;
  /** First step of a withdrawal: from now on it does not count. Idempotent. */
  beginWithdrawal(parties: Parties, nowMs: number): Promise<void>;
  /** Last step of a withdrawal: it goes, unless it was given again meanwhile. */
  finishWithdrawal(parties: Parties): Promise<void>;
  /** Removes whatever people agreed to with a client that is no more. Reads all rows. */
  forgetClient(clientId: string): Promise<void>;
  /** Whose withdrawal was begun before a time and not finished: a process died in between. */
  halfWithdrawn(beforeMs: number, limit: number): Promise<readonly Parties[]>;
}

/** Whether what is asked for was all agreed to. */
export function covers(agreed: Agreed | undefined, asked: Agreed): boolean {
  if (agreed === undefined) return false;
  return MEMBERS.every((member) => asked[member].every((one) => agreed[member].includes(one)));
}

/** What was agreed together, each name once. */
export function union(one: Agreed, other: Agreed): Agreed {
  const of = (member: keyof Agreed) => [...new Set([...one[member], ...other[member]])];
  return { scopes: of('scopes'), resources: of('resources') };
}

const MEMBERS = ['scopes', 'resources'] as const satisfies readonly (keyof Agreed)[];
