import type { Claims } from '@grantd/core';

/** The directory gave no answer, or refused the server’s own account. Never a decision about a user. */
export class DirectoryFault extends Error {
  override readonly name = 'DirectoryFault';
}

/** A user as the directory describes them. */
export interface DirectoryUser {
  /** The stable identifier of the entry. */
  readonly id: string;
  /** The user’s subject identifier here. Default: a new one. */
  readonly subject?: string;
  /** The usernames of the entry. It has at least one. */
  readonly names: readonly [string, ...string[]];
  /** Values of the claims about which the directory decides. A claim without a value is absent. */
  readonly claims: Claims;
  /** Groups of grantd whose member the user is. */
  readonly groups: readonly string[];
  readonly isDisabled: boolean;
}

/** An entry of an LDAP directory. */
export interface DirectoryEntry extends DirectoryUser {
  readonly dn: string;
  /** All groups in the directory, as distinguished names. */
  readonly directoryGroups: readonly string[];
}

/** Why the directory lets a user not in. */
export type DirectoryRefusal =
  | 'person_unknown'
  | 'password_wrong'
  | 'person_disabled'
  | 'password_expired'
  | 'directory_account_locked'
  | 'directory_sign_in_restricted'
  | 'directory_entry_ambiguous'
  | 'directory_entry_limited';

/**
 * Where users come from that are not local: an LDAP directory, or the application that embeds the program. Methods
 * reject with a `DirectoryFault` if it does not answer.
 */
export interface Directory {
  /** Groups of grantd about which the directory decides. */
  readonly groups: readonly string[];
  /** Claims about which the directory decides. */
  readonly claims: readonly string[] | 'all';
  /** Whether every email address of the directory counts as verified. */
  readonly areEmailsVerified: boolean;
  /** Whether only the directory ends accounts. It chooses subject identifiers, which a removal here would use up. */
  readonly ownsAccounts?: boolean;
  /**
   * Checks a password. An unknown name costs as many requests as a wrong password.
   * @param admits asked with a key of the entry before the password is sent. An unknown name has a new key each time
   */
  authenticate(
    username: string | undefined,
    password: string,
    admits?: (entry: string) => Promise<boolean>,
  ): Promise<{ readonly user: DirectoryUser } | { readonly refused: DirectoryRefusal }>;
  /** Looks up the entry with this identifier. @returns `undefined` if there is none that the filter accepts */
  byId(id: string): Promise<DirectoryUser | undefined>;
  /** Whether a user of the directory has a username. Absent if the directory cannot be searched by username. */
  hasName?(username: string): Promise<boolean>;
  close(): void;
}

/** A directory that finds entries by username, for commands. */
export interface SearchableDirectory extends Directory {
  /** Looks a user up. @returns each entry that the filter finds, at most two */
  find(username: string): Promise<readonly DirectoryEntry[]>;
}
