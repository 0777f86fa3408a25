import {
  type AdministrableStorage,
  AuthorizationServer,
  type FetchDocument,
  type SecretDependents,
  type ServerEvent,
  ServerSecret,
} from '@grantd/core';
import type { Configuration } from '../config/configuration.ts';
import { userClaims } from '../people/claims.ts';
import { type ActorKind, audited } from './audit.ts';
import type { Database, OpenDatabase } from './database/database.ts';
import { issuerToAdminister } from './issuer.ts';
import { pairwiseSecretOf, sealOfPairwiseSecret } from './pairwise_secret.ts';
import type { ProgramSecret, ProgramSecretUse } from './program_secret.ts';
import { requireMaking } from './require_making.ts';
import {
  documentsFromOutside,
  libraryOptions,
  requireAcceptable,
  rethrowAsWritten,
} from './server_options.ts';

/** Fills an option that nothing asks. */
const UNUSED_SECRET = '-'.repeat(32);

export interface InstanceDependents extends SecretDependents {
  /** The place of the secret that the pairwise secret is sealed under; `undefined` if the database keeps none, -1 if it is lost. */
  readonly keptPairwiseSecret: number | undefined;
}

/** One issuer's database, opened, with the secret that belongs to it. Whoever has the database closes it. */
export interface Instance extends OpenDatabase {
  readonly issuer: string;
  readonly database: Database;
  readonly storage: AdministrableStorage;
  /** What clients name by URL, fetched for all parts of the program. */
  readonly fetchDocument: FetchDocument;
  /** @throws {Refused} nobody said what the secret is */
  secret(): ProgramSecret;
  /** The texts of the secret, read once: a file that `secrets rotate` changes meanwhile is for the next start. */
  secretTexts(): readonly string[];
  /** What depends on each of the server's secrets. Changes nothing. */
  secretDependents(): Promise<InstanceDependents>;
  /** The server over this database, its keys opened. */
  server(onEvent?: (event: ServerEvent) => void): Promise<AuthorizationServer>;
}

/**
 * Opens a database for an issuer, which must be the stored one where there is one. A new database gets its secret
 * first, so that there is never one without the other. Nothing is written for options that the library refuses.
 * @param actor who does what is done through the instance
 * @param secretOfStart what the secret was when processes began to serve that this one serves with; what was added since
 *   is accepted as well, but not used for new values
 * @throws {ConfigurationRefused} it does
 * @throws {Refused} the database has no secret, or may not be made, or was made for another issuer meanwhile
 */
export async function openInstance(
  configuration: Configuration,
  database: Database,
  issuer: string,
  actor: ActorKind,
  secretOfStart: readonly string[] = [],
): Promise<Instance> {
  const { settings } = configuration;
  requireAcceptable(configuration, issuer);
  if ((await database.storedIssuer()) === undefined) {
    await requireMaking(settings, database);
    if (settings.secret === undefined) database.prepareSecret();
  }
  const bare = await database.open(issuer);
  const opened = { ...bare, ...audited(bare, actor) };
  // Somebody else may have made it since the caller looked.
  issuerToAdminister(issuer, (await database.storedIssuer()) ?? issuer);
  const { storage, people } = opened;
  const fetchDocument = documentsFromOutside(settings);
  let read: readonly string[] | undefined;
  const secrets = () => {
    read ??= settings.secret ?? [...new Set([...secretOfStart, ...database.keptSecret()])];
    return read;
  };

  return {
    ...opened,
    issuer,
    database,
    fetchDocument,
    secret: () => new ServerSecret<ProgramSecretUse>(secrets()),
    secretTexts: secrets,
    async secretDependents() {
      const secret = secrets();
      const server = new AuthorizationServer({
        ...libraryOptions(settings, userClaims(people), fetchDocument),
        ...{ issuer, secret, storage, pairwiseSecret: UNUSED_SECRET },
      });
      const keptPairwiseSecret =
        settings.pairwiseSecret === undefined
          ? await sealOfPairwiseSecret(
              opened.pairwiseSecret,
              new ServerSecret<ProgramSecretUse>(secret),
              issuer,
            )
          : undefined;
      return { ...(await server.secretDependents(await storage.clients.list())), keptPairwiseSecret };
    },
    async server(onEvent) {
      const secret = secrets();
      const pairwiseSecret =
        settings.pairwiseSecret ??
        (await pairwiseSecretOf(opened.pairwiseSecret, new ServerSecret<ProgramSecretUse>(secret), issuer));
      try {
        const server = new AuthorizationServer({
          ...libraryOptions(settings, userClaims(people), fetchDocument),
          issuer,
          secret,
          pairwiseSecret,
          storage,
          ...(onEvent !== undefined && { onEvent }),
        });
        await server.prepare();
        return server;
      } catch (error) {
        return rethrowAsWritten(configuration, error);
      }
    },
  };
}
