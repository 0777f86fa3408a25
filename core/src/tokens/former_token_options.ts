import type { Claims } from '../protocol/claims.ts';
import { requireOptions } from '../protocol/known_names.ts';
import { ConfigurationError } from '../protocol/oauth_error.ts';
import type { Storage } from '../storage/contract.ts';
import type { FormerParts, FormerTokenRepository } from '../storage/former_tokens.ts';
import type { FormerJwtParts, FormerTokenName } from './former_jwts.ts';
import { type FormerKey, formerVerifiers } from './former_keys.ts';

/**
 * The tokens of a server that was here before: JWTs that it signed, and its own rows of them. Introspection, UserInfo,
 * revocation and refresh take them like tokens of this server. What a refresh token is exchanged for is this server's;
 * the former one is revoked with it, by `revoke`.
 */
export interface FormerTokens extends FormerTokenRepository {
  /** What the JWTs were signed with: 16 at most. */
  readonly keys: readonly FormerKey[];
  /** `iss` of those that have one. Default: this server's own issuer. */
  readonly issuer?: string;
  /**
   * Which token a JWT is, from its claims, whose signature has verified. Each kind has another claim for its `id`, or
   * says what it is: otherwise one could be taken for the other.
   * @returns `undefined` for what is neither an access token nor a refresh token, such as a code
   */
  identify(claims: Claims): FormerTokenName | undefined;
}

/** The option as it is used: copied, and bound to the host's object. */
export type ResolvedFormerTokens = FormerJwtParts & FormerParts['former'];

/**
 * @param issuer this server's own
 * @throws {ConfigurationError} names the option and what was expected
 */
export function resolveFormerTokens(
  options: FormerTokens | undefined,
  issuer: string,
  storage: Storage,
): ResolvedFormerTokens | undefined {
  if (options === undefined) return undefined;
  requireOptions(options, FORMER_TOKEN_OPTIONS, 'formerTokens');
  const { keys, issuer: formerIssuer = issuer }: Partial<FormerTokens> = options;
  const verifiers = formerVerifiers(keys, 'formerTokens.keys');
  if (typeof formerIssuer !== 'string' || formerIssuer === '')
    throw new ConfigurationError('formerTokens.issuer', 'a text that is not empty');
  const { getPrincipalState } = storage;
  if (typeof getPrincipalState !== 'function')
    throw new ConfigurationError('storage.getPrincipalState', 'a function, since there are formerTokens');
  return Object.freeze({
    verifiers,
    issuer: formerIssuer,
    identify: method(options, 'identify'),
    find: method(options, 'find'),
    revoke: method(options, 'revoke'),
    getPrincipalState: getPrincipalState.bind(storage),
  });
}

const FORMER_TOKEN_OPTIONS: Readonly<Record<keyof FormerTokens, true>> = {
  keys: true,
  issuer: true,
  identify: true,
  find: true,
  revoke: true,
};

function method<M extends 'identify' | 'find' | 'revoke'>(options: FormerTokens, name: M): FormerTokens[M] {
  const value = options[name];
  if (typeof value === 'function') return value.bind(options) as FormerTokens[M];
  throw new ConfigurationError(`formerTokens.${name}`, 'a function');
}
