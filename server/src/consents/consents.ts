/** What one page asks a person to agree to, by the protocol's names. Nothing in it is agreed to without the rest. */
export interface Agreed {
  readonly scopes: readonly string[];
  /** RFC 8707 §2. */
  readonly resources: readonly string[];
  /** Names of claims that the request asks for one by one (OpenID Connect Core §5.5). */
  readonly claims: readonly string[];
}

/** The client that it is agreed with. */
export interface ClientAgreedWith {
  /** The client's generation; it changes when the client is removed or all its tokens are ended. */
  readonly clientGeneration: number;
  /** Which registration it is, of a client that registered itself; otherwise 0. */
  readonly clientRevision: number;
}

/** What a request asks for, and the client that asks. */
export interface Asked extends Agreed, ClientAgreedWith {}

/** One decision. A request is covered only by one entry, never by several together. */
export interface ConsentEntry extends Agreed {
  readonly givenAtMs: number;
}

/** The decisions of a person about a client. They count only while the client is the same. */
export interface Consent extends ClientAgreedWith {
  readonly clientId: string;
  /** The newest last. */
  readonly entries: readonly ConsentEntry[];
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
  /** Adds an entry, in place of those that it covers. Atomic: of several at once all count. */
  give(parties: Parties, asked: Asked, nowMs: number): Promise<void>;
  /** First step of a withdrawal: from now on it does not count. Idempotent. */
  beginWithdrawal(parties: Parties, nowMs: number): Promise<void>;
  /** Last step of a withdrawal: it goes, unless it was given again meanwhile. */
  finishWithdrawal(parties: Parties): Promise<void>;
  /** The client after this one, by identifier, that people have agreed anything with, at its lowest generation. */
  clientAfter(clientId: string): Promise<KnownClient | undefined>;
  /** Removes what people agreed to with a client of this generation. @returns how much: at most `limit` */
  forget(client: KnownClient, limit: number): Promise<number>;
  /** Removes all that a person agreed to; grants are another matter. */
  forgetPerson(subject: string): Promise<void>;
  /** Whose withdrawal was begun before a time and not finished: a process died in between. */
  halfWithdrawn(beforeMs: number, limit: number): Promise<readonly Parties[]>;
}

/** Whether one decision covers all that is asked for. */
export function covers(consent: Consent | undefined, asked: Asked): boolean {
  if (consent === undefined || comparedWith(consent, asked) !== 0) return false;
  return consent.entries.some((entry) => contains(entry, asked));
}

/** Far more than an application has uses for; beyond that, a person is asked again for the oldest. */
const MOST_ENTRIES = 50;

/** The entries after a decision: without those that the new one covers. */
export function withEntry(entries: readonly ConsentEntry[], added: ConsentEntry): readonly ConsentEntry[] {
  return [...entries.filter((entry) => !contains(added, entry)), added].slice(-MOST_ENTRIES);
}

function contains(agreed: Agreed, asked: Agreed): boolean {
  return MEMBERS.every((member) => asked[member].every((one) => agreed[member].includes(one)));
}

/** Whether something was agreed with the client as it was before (negative), at the same time (0), or since. */
export function comparedWith(one: ClientAgreedWith, other: ClientAgreedWith): number {
  return one.clientGeneration - other.clientGeneration || one.clientRevision - other.clientRevision;
}

const MEMBERS = ['scopes', 'resources', 'claims'] as const satisfies readonly (keyof Agreed)[];
