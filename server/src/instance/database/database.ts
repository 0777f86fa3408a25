import type { AdministrableStorage } from '@grantd/core';
import type { ProgramData } from './program_data.ts';

/** What the program needs of a database besides what the library's store does for it. */
export interface Database {
  /** For messages and logs: a path, or an address without its password. */
  readonly name: string;
  /** The file that it is in; absent where it is in none, and answers without holding up the thread that asks. */
  readonly file?: string;
  /**
   * The issuer that it belongs to, read anew each time; `undefined` where nobody has made it yet. Changes nothing.
   * @throws {Refused} it cannot be reached
   */
  storedIssuer(): Promise<string | undefined>;
  /**
   * Why a database that is missing should not be made without being asked for, and what to do instead: words for a
   * message. `undefined` if nothing hints at an earlier one.
   */
  doubtAboutMaking(): Promise<string | undefined>;
  /**
   * Sees to it, before the database is made, that there will be a server's secret although no option says one.
   * @throws {Refused} an option has to
   */
  prepareSecret(): void;
  /**
   * The server's secret that is kept with the database.
   * @throws {Refused} there is none
   */
  keptSecret(): readonly string[];
  /**
   * Changes the secret that is kept with the database, in one step.
   * @param change what the secrets are to be, from what they are
   * @returns the file
   * @throws {Refused} there is none, or it cannot be changed
   */
  changeKeptSecret(change: (secrets: readonly string[]) => readonly string[]): string;
  /** Opens it for an issuer, made where it is missing. Once. */
  open(issuer: string): Promise<OpenDatabase>;
  /** Closes whatever was opened. Idempotent. */
  close(): Promise<void>;
}

/** One issuer's part of a database. */
export interface OpenDatabase extends ProgramData {
  readonly storage: AdministrableStorage;
  /**
   * Whether the name still leads to what was opened: what is written elsewhere is lost. Absent where that cannot change.
   * @throws {Error} nobody can tell at the moment
   */
  isInPlace?(): boolean;
  /** Whether its file was found corrupt, by whichever process. Absent if it is in no file. */
  isDamaged?(): boolean;
  /** Whether a process that was killed has left its file open; absent if it is in no file. */
  readonly isAfterCrash?: boolean;
}
