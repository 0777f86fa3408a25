import { isJsonObject } from '../protocol/json.ts';
import { ConfigurationError } from '../protocol/oauth_error.ts';
import type {
  AuthorizationCodeRepository,
  ClientRegistry,
  ClientRepository,
  KeyRepository,
  OneTimeIdentifiers,
  PushedRequestRepository,
  Storage,
  TokenRepository,
} from './contract.ts';

/** Names of a repository's methods; the type requires each one that is not optional. */
type MethodsOf<R> = Readonly<Record<RequiredKeys<R>, true>>;

type RequiredKeys<R> = { [K in keyof R]-?: undefined extends R[K] ? never : K }[keyof R];

const REPOSITORIES: {
  readonly clients: MethodsOf<ClientRepository>;
  readonly tokens: MethodsOf<TokenRepository>;
  readonly authorizationCodes: MethodsOf<AuthorizationCodeRepository>;
  readonly keys: MethodsOf<KeyRepository>;
  readonly oneTimeIdentifiers: MethodsOf<OneTimeIdentifiers>;
  readonly pushedRequests: MethodsOf<PushedRequestRepository>;
} = {
  clients: { get: true, hasRedirectOrigin: true },
  tokens: {
    getByAccessToken: true,
    getByRefreshToken: true,
    isRefreshTokenRevoked: true,
    revoke: true,
    issue: true,
    rotate: true,
    issueBeside: true,
    revokeFamily: true,
  },
  authorizationCodes: { issue: true, get: true, redeem: true, revoke: true },
  keys: { get: true, list: true, currentKeyId: true, initialize: true, rotate: true },
  oneTimeIdentifiers: { take: true },
  pushedRequests: { add: true, get: true, remove: true },
};

type RepositoryName = keyof typeof REPOSITORIES;

/** What registration needs of storage. */
export type RegistrableClients = Pick<ClientRegistry, 'add' | 'replace' | 'remove'>;

const REGISTRATION: Readonly<Record<keyof RegistrableClients, true>> = {
  add: true,
  replace: true,
  remove: true,
};

/** What other options need of storage. */
export interface StorageNeeds {
  /** Whether the host has no `JwtService` of its own. */
  readonly keys: boolean;
  readonly pushedRequests: boolean;
  readonly registration: boolean;
}

/**
 * Checks that storage has every method that requests will call, so that a missing one is an error at the start.
 * @throws {ConfigurationError} names the repository or the method, such as `storage.tokens.revoke`
 */
export function requireMethods(storage: Storage, needs: StorageNeeds): void {
  for (const [name, methods] of Object.entries(REPOSITORIES)) {
    const reason = reasonFor(name as RepositoryName, needs);
    const repository: unknown = Reflect.get(storage, name);
    if (repository === undefined && reason === undefined) continue;
    if (!isJsonObject(repository))
      throw new ConfigurationError(`storage.${name}`, `a repository${reason ?? ''}`);
    requireEach(repository, `storage.${name}`, methods, '');
  }
}

/**
 * A registry that clients can register themselves at.
 * @throws {ConfigurationError} names the missing method
 */
export function requireRegistrable(clients: ClientRepository): RegistrableClients {
  requireEach(clients, 'storage.clients', REGISTRATION, ', since registration is on');
  return clients as ClientRepository & RegistrableClients;
}

/** Why a repository must be there; `undefined` if it may be absent. */
function reasonFor(name: RepositoryName, needs: StorageNeeds): string | undefined {
  switch (name) {
    case 'keys':
      return needs.keys ? ' of signing keys, unless jwtService is given' : undefined;
    case 'pushedRequests':
      return needs.pushedRequests ? PUSHED : undefined;
    case 'oneTimeIdentifiers':
      if (needs.pushedRequests) return PUSHED;
      return needs.registration
        ? ', since registered clients can authenticate with private_key_jwt'
        : undefined;
    default:
      return '';
  }
}

const PUSHED = ', since authorization requests must be pushed';

function requireEach(owner: object, path: string, methods: object, reason: string): void {
  for (const method of Object.keys(methods)) {
    if (typeof Reflect.get(owner, method) !== 'function')
      throw new ConfigurationError(`${path}.${method}`, `a method${reason}`);
  }
}
