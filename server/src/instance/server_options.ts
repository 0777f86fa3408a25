import {
  AuthorizationServer,
  type AuthorizationServerOptions,
  ConfigurationError,
  type FetchDocument,
  type GetUserClaims,
} from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { documentFetcher } from '@grantd/core/node';
import { SHARED_OPTIONS } from '@grantd/core/options';
import type { Configuration } from '../config/configuration.ts';
import { ConfigurationRefused } from '../config/configuration_refused.ts';
import type { Settings } from '../config/options.ts';
import { applicationClaims } from '../people/claims.ts';

/** Of which a process has one: its limits are those of the process. */
export function documentsFromOutside({ insecureDevelopment }: Settings): FetchDocument {
  return documentFetcher({ allowPrivateAddresses: insecureDevelopment });
}

/** What the library is told: its own options have the same names here. */
export function libraryOptions(
  settings: Settings,
  getUserClaims: GetUserClaims,
  fetchDocument: FetchDocument,
): Omit<AuthorizationServerOptions, 'issuer' | 'secret' | 'storage'> {
  const { oidc, applicationClaims: stored } = settings;
  return {
    ...sharedOptions(settings),
    fetchDocument,
    ...registrationOptions(settings),
    ...(stored !== undefined && { applicationClaims: applicationClaims(stored, getUserClaims) }),
    ...(oidc !== false && { oidc: { getUserClaims, ...(oidc === true ? undefined : oidc) } }),
  };
}

/**
 * Asks the library what it thinks of the options, over a store that is thrown away, so that a database is opened, and
 * its issuer written down, only after it has accepted them.
 * @throws {ConfigurationRefused} it does not
 */
export function requireAcceptable(configuration: Configuration, issuer: string): void {
  serverOverNothing(configuration, issuer);
}

/**
 * A server with the options of the configuration that remembers nothing, for what can be answered without a database.
 * @throws {ConfigurationRefused} the library does not accept them
 */
export function serverOverNothing(
  configuration: Configuration,
  issuer = configuration.settings.issuer ?? 'http://localhost',
): AuthorizationServer {
  const { settings } = configuration;
  try {
    return new AuthorizationServer({
      ...libraryOptions(settings, () => undefined, documentsFromOutside(settings)),
      issuer,
      // What keeps them otherwise may not be there yet.
      secret: settings.secret ?? '-'.repeat(32),
      pairwiseSecret: settings.pairwiseSecret ?? '-'.repeat(32),
      storage: memoryStorage(),
    });
  } catch (error) {
    return rethrowAsWritten(configuration, error);
  }
}

/**
 * What the library finds wrong with the options, in the words in which they were written.
 * @throws {ConfigurationRefused}
 */
export function rethrowAsWritten({ sourceOf }: Configuration, error: unknown): never {
  if (!(error instanceof ConfigurationError)) throw error;
  const [name = '', ...within] = error.option.split('.');
  // The file has the declarations of claims one level higher.
  const place = within.filter((member, at) => at > 0 || name !== 'applicationClaims' || member !== 'claims');
  const source = [sourceOf(name), ...(place.length > 0 ? [place.join('.')] : [])].join(': ');
  throw new ConfigurationRefused(error.message.replace(error.option, source));
}

/** Who may register, in the words of the library. */
function registrationOptions({
  registration,
  registrationScopes,
  registrationApis,
  registrationLimit,
  registrationAssertionAudience,
  registrationInsecureAllowMissingPkce,
  insecureDevelopment,
}: Settings): Pick<AuthorizationServerOptions, 'registration'> {
  if (registration === 'off') return {};
  return {
    registration: {
      openTo: registration === 'open' ? 'anyone' : 'initial_access_token',
      allowInsecureUris: insecureDevelopment,
      assertionAudience: registrationAssertionAudience,
      insecureAllowMissingPkce: registrationInsecureAllowMissingPkce,
      apis: registrationApis,
      mostClients: registrationLimit,
      ...(registrationScopes !== undefined && { scopes: registrationScopes }),
    },
  };
}

/** Options that have the same name and meaning in the library. */
function sharedOptions(settings: Settings): Partial<AuthorizationServerOptions> {
  const names = Object.keys(SHARED_OPTIONS) as readonly (keyof typeof SHARED_OPTIONS)[];
  const given = names.filter((name) => settings[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, settings[name]]));
}
