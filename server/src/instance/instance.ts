import type { DatabaseSync } from 'node:sqlite';
import { AuthorizationServer, type ServerEvent, ServerSecret } from '@grantd/core';
import { openSqliteStorage, readStoredIssuer, type SqliteStorage } from '@grantd/core/sqlite';
import type { Configuration } from '../config/configuration.ts';
import { userClaims } from '../people/claims.ts';
import { type People, peopleOf } from '../people/people.ts';
import { type DemoMark, demoMark } from './demo_mark.ts';
import { openProgramTables } from './program_tables.ts';
import { Refused } from './refused.ts';
import { createSecretFile, readSecretFile, secretFileOf } from './secret_file.ts';
import { libraryOptions, requireAcceptable, rethrowAsWritten } from './server_options.ts';
import { StoredFile } from './stored_file.ts';

/** One issuer's database, opened, with the secret that belongs to it. */
export interface Instance {
  readonly issuer: string;
  /** The database file. */
  readonly path: string;
  readonly storage: SqliteStorage;
  readonly people: People;
  readonly demoMark: DemoMark;
  /** @throws {Refused} nobody said what the secret is */
  secret(): ServerSecret;
  /** The server over this database, its keys opened. */
  server(onEvent?: (event: ServerEvent) => void): Promise<AuthorizationServer>;
  /** Whether the path still leads to the file that was opened: what is written to another one is lost. */
  isInPlace(): boolean;
  /** Idempotent. */
  close(): void;
}

/**
 * Opens a database for an issuer, which must be the stored one where there is one. A new database gets its secret
 * first, so that there is never one without the other. Nothing is written for options that the library refuses.
 * @throws {ConfigurationRefused} it does
 */
export function openInstance(configuration: Configuration, path: string, issuer: string): Instance {
  const { settings } = configuration;
  requireAcceptable(configuration, issuer);
  if (readStoredIssuer(path) === undefined && settings.secret === undefined) {
    if (readSecretFile(path) === undefined) createSecretFile(path);
  }
  const storage = openSqliteStorage({ path, issuer });
  const tables = openTablesBeside(storage);
  const file = new StoredFile(path);
  const people = peopleOf(tables, issuer);
  const secrets = () => settings.secret ?? requireSecretFile(path);

  return {
    issuer,
    path,
    storage,
    people,
    demoMark: demoMark(tables, issuer),
    secret: () => new ServerSecret(secrets()),
    async server(onEvent) {
      const secret = secrets();
      try {
        const server = new AuthorizationServer({
          ...libraryOptions(settings, userClaims(people)),
          issuer,
          secret,
          storage,
          ...(onEvent !== undefined && { onEvent }),
        });
        await server.prepare();
        return server;
      } catch (error) {
        return rethrowAsWritten(configuration, error);
      }
    },
    isInPlace: () => file.isInPlace(),
    close() {
      if (tables.isOpen) tables.close();
      storage.close();
    },
  };
}

function openTablesBeside(storage: SqliteStorage): DatabaseSync {
  try {
    return openProgramTables(storage.path);
  } catch (error) {
    storage.close();
    throw error;
  }
}

/** A secret made for a database that exists already would not open its keys, and spoil what is hashed under it. */
function requireSecretFile(path: string): string {
  const secret = readSecretFile(path);
  if (secret !== undefined) return secret;
  throw new Refused(
    `the secret of the database ${path} is missing: set GRANTD_SECRET as it was when the database was made, ` +
      `or put ${secretFileOf(path)} back.`,
  );
}
