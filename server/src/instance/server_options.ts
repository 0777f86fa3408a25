import {
  AuthorizationServer,
  type AuthorizationServerOptions,
  ConfigurationError,
  type FetchDocument,
  type GetUserClaims,
} from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { documentFetcher } from '@grantd/core/node';
import type { Configuration } from '../config/configuration.ts';
import { ConfigurationRefused } from '../config/configuration_refused.ts';
import type { Settings } from '../config/options.ts';

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
  const { defaultAudience, oidc, userInfoAudiences } = settings;
  return {
    authenticateIntrospect: settings.authenticateIntrospect,
    authenticateRevoke: settings.authenticateRevoke,
    introspectionRequiresConfidentialClient: settings.introspectionRequiresConfidentialClient,
    introspectionPolicy: settings.introspectionPolicy,
    ignoreUnknownTokenTypeHints: settings.ignoreUnknownTokenTypeHints,
    allowConfidentialClientsWithoutPkce: settings.allowConfidentialClientsWithoutPkce,
    useOpaqueRefreshTokens: settings.useOpaqueRefreshTokens,
    accessTokenFormat: settings.accessTokenFormat,
    accessTokenAlgorithm: settings.accessTokenAlgorithm,
    idTokenAlgorithm: settings.idTokenAlgorithm,
    accessTokenLifetime: settings.accessTokenLifetime,
    refreshTokenLifetime: settings.refreshTokenLifetime,
    idTokenLifetime: settings.idTokenLifetime,
    authorizationCodeLifetime: settings.authorizationCodeLifetime,
    pushedRequestLifetime: settings.pushedRequestLifetime,
    refreshGrace: settings.refreshGrace,
    requirePushedAuthorizationRequests: settings.requirePushedAuthorizationRequests,
    requestUriHosts: settings.requestUriHosts ?? [],
    fetchDocument,
    ...registrationOptions(settings),
    ...(userInfoAudiences !== undefined && { userInfoAudiences }),
    ...(defaultAudience !== undefined && { defaultAudience: onlyOne(defaultAudience) }),
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
  const [name = ''] = error.option.split('.');
  throw new ConfigurationRefused(error.message.replace(name, sourceOf(name)));
}

/** Who may register, in the words of the library. */
function registrationOptions({
  registration,
  registrationScopes,
  registrationLimit,
  registrationAssertionAudience,
  insecureDevelopment,
}: Settings): Pick<AuthorizationServerOptions, 'registration'> {
  if (registration === 'off') return {};
  return {
    registration: {
      openTo: registration === 'open' ? 'anyone' : 'initial_access_token',
      allowInsecureUris: insecureDevelopment,
      assertionAudience: registrationAssertionAudience,
      mostClients: registrationLimit,
      ...(registrationScopes !== undefined && { scopes: registrationScopes }),
    },
  };
}

/** One audience is a text in the token, several are a list. */
function onlyOne(audience: readonly string[]): string | readonly string[] {
  const [first, ...others] = audience;
  return first !== undefined && others.length === 0 ? first : audience;
}
