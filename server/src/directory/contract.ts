/** The directory gave no answer, or refused the server’s own account. Never a decision about a user. */
export class DirectoryFault extends Error {
  override readonly name = 'DirectoryFault';
}

/** A user as the directory describes them. */
export interface DirectoryUser {
  readonly dn: string;
  /** The stable identifier of the entry. */
  readonly id: string;
  /** The usernames of the entry. It has at least one. */
  readonly names: readonly [string, ...string[]];
  /** Values of the mapped claims. A claim without a value is absent. */
  readonly claims: Readonly<Record<string, string>>;
  /** Groups of grantd whose member the user is. */
  readonly groups: readonly string[];
  /** All groups in the directory, as distinguished names. */
  readonly directoryGroups: readonly string[];
  readonly isDisabled: boolean;
}

/** Why the directory lets a user not in. */
export type DirectoryRefusal =
  | 'person_unknown'
  | 'password_wrong'
  | 'person_disabled'
  | 'password_expired'
  | 'directory_entry_ambiguous'
  | 'directory_entry_limited';

/** A directory of users. Methods reject with a `DirectoryFault` if it does not answer. */
export interface Directory {
  /** Groups of grantd about which the directory decides. */
  readonly groups: readonly string[];
  /** Claims about which the directory decides. */
  readonly claims: readonly string[];
  readonly areEmailsVerified: boolean;
  /**
   * Checks a password. An unknown name costs as many requests as a wrong password.
   * @param admits asked with a key of the entry before the password is sent. An unknown name has a new key each time
   */
  authenticate(
    username: string | undefined,
    password: string,
    admits?: (entry: string) => Promise<boolean>,
  ): Promise<{ readonly user: DirectoryUser } | { readonly refused: DirectoryRefusal }>;
  /** Looks a user up. @returns each entry that the filter finds, at most two */
  find(username: string): Promise<readonly DirectoryUser[]>;
  /** Looks up the entry with this identifier. @returns `undefined` if there is none that the filter accepts */
  byId(id: string): Promise<DirectoryUser | undefined>;
  close(): void;
}
