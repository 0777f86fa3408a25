import type { Person } from '../people/people.ts';

/** One sign-in of a person in one browser, as it is stored. */
export interface StoredSession {
  /** From it comes `sid` in ID tokens, and tokens end with it; no secret. */
  readonly id: string;
  readonly subject: string;
  /** How the person signed in (RFC 8176). */
  readonly amr: readonly string[];
  /** What the browser calls itself, shortened. */
  readonly userAgent: string;
  readonly signedInAtMs: number;
  /** As of about a minute ago. */
  readonly lastSeenAtMs: number;
}

/** What changes when the person signs in again. */
export type SignInOfSession = Pick<StoredSession, 'amr' | 'userAgent' | 'signedInAtMs'>;

/** By whose password a session begins. */
export type ShownPassword = Pick<Person, 'subject' | 'passwordHash'>;

/** The sessions of one issuer. Every method rejects with a `StorageFault` where the database cannot be asked. */
export interface Sessions {
  /**
   * Atomic with a change of the password: that one ends the session, or there is none.
   * @param secretDigest SHA-256 of what the browser's cookie says
   * @param expiresAtMs when nobody needs it any more, unless it is used meanwhile
   * @param shown the hash of the password that the person has shown
   * @returns `false` where the person has another one by now, or is gone
   */
  add(
    session: StoredSession,
    secretDigest: string,
    expiresAtMs: number,
    shown: ShownPassword,
  ): Promise<boolean>;

  /** @returns `undefined` where there is none, or it has ended; time is the caller's to judge */
  bySecret(secretDigest: string): Promise<StoredSession | undefined>;

  /** Those of a person that have not ended, the last used first; time is the caller's to judge. */
  ofSubject(subject: string): Promise<readonly StoredSession[]>;

  /**
   * The same session with another secret and a new sign-in. Compare-and-set on the secret, and on the password as `add`.
   * @returns `false` where it has ended, has another secret already, or is another person's, or they another password
   */
  renew(
    id: string,
    secrets: { readonly from: string; readonly to: string },
    signIn: SignInOfSession,
    expiresAtMs: number,
    shown: ShownPassword,
  ): Promise<boolean>;

  /** Remembers that it was used. */
  touch(id: string, lastSeenAtMs: number, expiresAtMs: number): Promise<void>;

  /**
   * Remembers that a client learns of the session, by which names, and is to be told of its end by the same.
   * @returns `false` where it has ended
   */
  addClient(id: string, clientId: string, told: ToldNames): Promise<boolean>;

  /** Whether it is there and has not ended. */
  isOpen(id: string): Promise<boolean>;

  /**
   * First step of ending: from now on no browser is signed in by it, and nothing is issued for it.
   * @returns which sessions are to be ended by the caller
   */
  beginEnd(of: SessionsToEnd, nowMs: number): Promise<readonly EndedSession[]>;

  /**
   * Last step of ending: the session goes, and the clients that know of it are to be told. One transaction.
   * @returns those clients
   */
  finishEnd(id: string, nowMs: number): Promise<readonly string[]>;

  /** Whose end was begun before a time and not finished: a process died in between. */
  halfEnded(beforeMs: number, limit: number): Promise<readonly EndedSession[]>;
}

/** What a client's ID tokens call a session and its person (`sid`, `sub`). */
export interface ToldNames {
  readonly sid: string;
  readonly sub: string;
}

export type EndedSession = Pick<StoredSession, 'id' | 'subject'>;

export type SessionsToEnd = { readonly id: string; readonly subject: string } | SessionsOfPerson;

/** All sessions of a person, or all but one. */
export interface SessionsOfPerson {
  readonly subject: string;
  readonly except?: string;
}
