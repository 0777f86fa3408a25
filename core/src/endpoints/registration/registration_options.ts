import { ASSERTION_AUDIENCES } from '../../protocol/client_metadata.ts';
import { ConfigurationError } from '../../protocol/oauth_error.ts';
import type { GrantType } from '../../protocol/records.ts';
import { isScopeToken } from '../../protocol/scope.ts';
import type { ClientRepository, Storage } from '../../storage/contract.ts';
import { GRANT_TYPES } from '../grants/grants.ts';
import type {
  RegistrableClients,
  RegistrationOptions,
  ResolvedRegistration,
} from './registration_settings.ts';

const WITHOUT_OPERATOR: readonly GrantType[] = ['authorization_code', 'refresh_token'];

const MOST_CLIENTS = 10_000;

/**
 * @param personalScopes what OpenID Connect knows; empty where it is off
 * @throws {ConfigurationError} names the option and what was expected
 */
export function resolveRegistration(
  options: RegistrationOptions | undefined,
  { clients }: Storage,
  personalScopes: readonly string[],
): ResolvedRegistration | undefined {
  if (options === undefined) return undefined;
  const { openTo, allowInsecureUris = false }: Partial<RegistrationOptions> = options ?? {};
  const { scopes = personalScopes, grantTypes = WITHOUT_OPERATOR, assertionAudience = 'issuer' } = options;
  const { mostClients = MOST_CLIENTS } = options;
  if (openTo !== 'anyone' && openTo !== 'initial_access_token' && typeof openTo !== 'function')
    throw new ConfigurationError('registration.openTo', 'anyone, initial_access_token or a function');
  if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === 'string' && isScopeToken(scope)))
    throw new ConfigurationError('registration.scopes', 'a list of scopes');
  if (!Array.isArray(grantTypes) || !grantTypes.every((grant) => GRANT_TYPES.includes(grant)))
    throw new ConfigurationError('registration.grantTypes', `a list of ${GRANT_TYPES.join(', ')}`);
  if (typeof allowInsecureUris !== 'boolean')
    throw new ConfigurationError('registration.allowInsecureUris', 'true or false');
  if (!ASSERTION_AUDIENCES.includes(assertionAudience))
    throw new ConfigurationError('registration.assertionAudience', ASSERTION_AUDIENCES.join(' or '));
  if (!Number.isSafeInteger(mostClients) || mostClients < 1)
    throw new ConfigurationError('registration.mostClients', 'a whole number from 1');
  return Object.freeze({
    openTo,
    scopes: Object.freeze([...scopes]),
    grantTypes: Object.freeze([...grantTypes]),
    allowInsecureUris,
    assertionAudience,
    mostClients,
    clients: requireRegistry(clients),
  });
}

function requireRegistry(clients: ClientRepository): RegistrableClients {
  if (isRegistry(clients)) return clients;
  throw new ConfigurationError('storage.clients', 'add, replace and remove, since registration is on');
}

function isRegistry(clients: ClientRepository): clients is ClientRepository & RegistrableClients {
  return ['add', 'replace', 'remove'].every((method) => typeof Reflect.get(clients, method) === 'function');
}
