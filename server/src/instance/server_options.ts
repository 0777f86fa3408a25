import { type AuthorizationServerOptions, ConfigurationError } from '@grantd/core';
import type { Configuration } from '../config/configuration.ts';
import { ConfigurationRefused } from '../config/configuration_refused.ts';
import type { Settings } from '../config/options.ts';

/** What the library is told: its own options have the same names here. */
export function libraryOptions(
  settings: Settings,
): Omit<AuthorizationServerOptions, 'issuer' | 'secret' | 'storage' | 'oidc'> {
  const { defaultAudience } = settings;
  return {
    authenticateIntrospect: settings.authenticateIntrospect,
    authenticateRevoke: settings.authenticateRevoke,
    introspectionRequiresConfidentialClient: settings.introspectionRequiresConfidentialClient,
    introspectionPolicy: settings.introspectionPolicy,
    allowConfidentialClientsWithoutPkce: settings.allowConfidentialClientsWithoutPkce,
    useOpaqueRefreshTokens: settings.useOpaqueRefreshTokens,
    accessTokenFormat: settings.accessTokenFormat,
    accessTokenAlgorithm: settings.accessTokenAlgorithm,
    idTokenAlgorithm: settings.idTokenAlgorithm,
    accessTokenLifetime: settings.accessTokenLifetime,
    refreshTokenLifetime: settings.refreshTokenLifetime,
    idTokenLifetime: settings.idTokenLifetime,
    authorizationCodeLifetime: settings.authorizationCodeLifetime,
    refreshGrace: settings.refreshGrace,
    ...(defaultAudience !== undefined && { defaultAudience: onlyOne(defaultAudience) }),
  };
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

/** One audience is a text in the token, several are a list. */
function onlyOne(audience: readonly string[]): string | readonly string[] {
  const [first, ...others] = audience;
  return first !== undefined && others.length === 0 ? first : audience;
}
