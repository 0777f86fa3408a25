/**
 * What a person can agree to, by the names that the protocol has for it. Claims that are asked for one by one are not
 * among it: they are told within what the scopes permit, and so agreed to with those.
 */
export interface Agreed {
  readonly scopes: readonly string[];
  /** RFC 8707 §2. */
  readonly resources: readonly string[];
}

/** With whom it is agreed. */
export interface AgreedWith extends Agreed {
  /** The client's, which is another one once it was removed, or all its tokens ended. */
  readonly clientGeneration: number;
  /** Which registration it is, of a client that registered itself and may be quite another at its next one; otherwise 0. */
  readonly clientRevision: number;
}

/** What a person has agreed to let a client have. Where the client is another one now, it counts no more. */
export interface Consent extends AgreedWith {
  readonly clientId: string;
  /** When it was given first. */
  readonly givenAtMs: number;
}

/** Whom a consent is between. */
export interface Parties {
  readonly subject: string;
  readonly clientId: string;
}

export interface KnownClient {
  readonly clientId: string;
  readonly clientGeneration: number;
}

/** The consents of one issuer. Every method rejects with a `StorageFault` where the database cannot be asked. */
export interface Consents {
  /** @returns `undefined` where there is none, or it was withdrawn */
  get(parties: Parties): Promise<Consent | undefined>;
  /** What a person agreed to and did not withdraw, the newest first, whether or not it counts. */
  ofSubject(subject: string): Promise<readonly Consent[]>;
  /** Adds to what was agreed with the client as it is. Atomic: of several at once all count. */
  give(parties: Parties, agreed: AgreedWith, nowMs: number): Promise<void>;
  /** First step of a withdrawal: from now on it does not count. Idempotent. */
  beginWithdrawal(parties: Parties, nowMs: number): Promise<void>;
  /** Last step of a withdrawal: it goes, unless it was given again meanwhile. */
  finishWithdrawal(parties: Parties): Promise<void>;
  /** The client after this one, by identifier, that people have agreed anything with, at its lowest generation. */
  clientAfter(clientId: string): Promise<KnownClient | undefined>;
  /** Removes what people agreed to with a client of this generation. @returns how much: at most `limit` */
  forget(client: KnownClient, limit: number): Promise<number>;
  /** Whose withdrawal was begun before a time and not finished: a process died in between. */
  halfWithdrawn(beforeMs: number, limit: number): Promise<readonly Parties[]>;
}

/** Whether what is asked for was all agreed to. */
export function covers(agreed: AgreedWith | undefined, asked: AgreedWith): boolean {
  if (agreed === undefined || comparedWith(agreed, asked) !== 0) return false;
  return MEMBERS.every((member) => asked[member].every((one) => agreed[member].includes(one)));
}

/** Whether something was agreed with the client as it was before (negative), at the same time (0), or since. */
export function comparedWith(one: WithWhom, other: WithWhom): number {
  return one.clientGeneration - other.clientGeneration || one.clientRevision - other.clientRevision;
}

type WithWhom = Pick<AgreedWith, 'clientGeneration' | 'clientRevision'>;

/** What was agreed together, each name once. */
export function union(one: Agreed, other: Agreed): Agreed {
  const of = (member: keyof Agreed) => [...new Set([...one[member], ...other[member]])];
  return { scopes: of('scopes'), resources: of('resources') };
}

const MEMBERS = ['scopes', 'resources'] as const satisfies readonly (keyof Agreed)[];
