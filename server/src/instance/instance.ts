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
import { libraryOptions, rethrowAsWritten } from './server_options.ts';

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
  close(): void;
}

/**
 * Opens a database for an issuer, which must be the stored one where there is one. A new database gets its secret
 * first, so that there is never one without the other.
 */
export function openInstance(configuration: Configuration, path: string, issuer: string): Instance {
  const { settings } = configuration;
  if (readStoredIssuer(path) === undefined && settings.secret === undefined) {
    if (readSecretFile(path) === undefined) createSecretFile(path);
  }
  const storage = openSqliteStorage({ path, issuer });
  const tables = openTablesBeside(storage);
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
          ...libraryOptions(settings),
          issuer,
          secret,
          storage,
          ...oidcOption(settings.oidc, people),
          ...(onEvent !== undefined && { onEvent }),
        });
        await server.prepare();
        return server;
      } catch (error) {
        return rethrowAsWritten(configuration, error);
      }
    },
    close() {
      tables.close();
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

function oidcOption(oidc: Configuration['settings']['oidc'], people: People) {
  if (oidc === false) return undefined;
  return { oidc: { getUserClaims: userClaims(people), ...(oidc === true ? undefined : oidc) } };
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
