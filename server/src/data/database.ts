import type { AdministrableStorage, MigrationAssumption } from '@grantd/core';
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

/** Says on stderr what the migration of a database assumed, and what the operator can do about it. */
export async function reportAssumptions(
  { clients }: Pick<AdministrableStorage, 'clients'>,
  assumptions: readonly MigrationAssumption[],
): Promise<void> {
  if (!assumptions.includes('clients_allowed_every_api')) return;
  const all = await clients.list();
  const allowed = all.filter(({ metadata }) => (metadata?.apis ?? []).length > 0);
  const apis = new Set(all.flatMap(({ resource }) => resource ?? []));
  if (apis.size === 0) return;
  const themselves = all.filter(({ registrationTokenDigest }) => registrationTokenDigest !== undefined);
  const lines = [
    `each client that was added here may ask for every API that is registered: ${idsOf(allowed)}`,
    'narrow that with grantd client update ID --api URI, and let APIs declare scopes with grantd client update API --api-scope SCOPE',
    ...(themselves.length === 0
      ? []
      : [
          `clients that registered themselves (${themselves.length}) may ask for no API: ` +
            'grantd client update ID --api URI, and --registration-apis for new ones',
        ]),
  ];
  for (const line of lines) console.error(`grantd: migration: ${line}`);
}

/** Says on stderr which people have names that are too much like another's. */
export function reportSharedNames(names: readonly string[]): void {
  if (names.length === 0) return;
  const shown = idsOf(names.map((name) => ({ id: JSON.stringify(name) })));
  console.error(
    `grantd: people whose name differs from another's only by case, width or look-alike letters: ${shown}. ` +
      'They sign in with exactly this spelling: rename them with grantd user update NAME --username NEW.',
  );
}

/** More are counted. */
const MOST_NAMED = 10;

function idsOf(clients: readonly { readonly id: string }[]): string {
  const named = clients.slice(0, MOST_NAMED).map(({ id }) => id);
  const others = clients.length - named.length;
  return [named.join(', '), ...(others > 0 ? [`and ${others} more`] : [])].join(' ');
}
