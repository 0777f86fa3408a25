// Options of personal access tokens (docs/personal_tokens.md).
import {
  oneOf,
  option,
  optionWithoutDefault,
  REGISTRATION_OPTIONS,
  seconds,
  textList,
  trueOrFalse,
  type ValuesOf,
  wholeNumber,
} from '@grantd/core/options';

const DAY = 24 * 60 * 60;

/** A token that a user keeps in a file must not sign in, last for ever, or administer the server. */
/** Scopes of the server itself. */
export const OWN_SCOPE = /^(?:openid|profile|email|phone|address|offline_access|grantd:.*)$/;

function isForTokens(scope: string): boolean {
  return /^[\x21\x23-\x5B\x5D-\x7E]+$/.test(scope) && !OWN_SCOPE.test(scope);
}

/** What a personal access token is bound to. */
export const TOKEN_BINDINGS = ['none', 'dpop', 'certificate'] as const;

export type TokenBinding = (typeof TOKEN_BINDINGS)[number];

export const PERSONAL_TOKEN_OPTIONS = {
  personalTokens: option(
    'Users',
    trueOrFalse,
    'Whether users can make personal access tokens on the pages of their account (docs/personal_tokens.md).',
    false,
  ),
  personalTokenApis: optionWithoutDefault(
    'Users',
    {
      ...REGISTRATION_OPTIONS.apis.kind,
      expected: 'absolute URIs of APIs, separated by commas, or a list of them',
    },
    'APIs for which users can make personal access tokens. Each token is for one of them.',
    'none; required with personalTokens',
  ),
  personalTokenScopes: optionWithoutDefault(
    'Users',
    textList(
      'SCOPES',
      'scopes of APIs, separated by commas, or a list of them; not openid, offline_access and other scopes of the server itself',
      isForTokens,
      1,
    ),
    'Scopes that personal access tokens can have.',
    'all that the API declares',
  ),
  personalTokenGroups: optionWithoutDefault(
    'Users',
    textList(
      'GROUPS',
      'names of groups, separated by commas, or a list of them',
      (name) => name.trim() !== '',
      1,
    ),
    'Groups whose members can make personal access tokens. The tokens of a user who leaves all of them end at once.',
    'none, so every user can',
  ),
  personalTokenLifetime: option(
    'Users',
    seconds(60, 10 * 366 * DAY),
    'Longest lifetime of a personal access token, in seconds.',
    366 * DAY,
  ),
  personalTokenLimit: option('Users', wholeNumber(1, 1000), 'Maximum personal access tokens of a user.', 20),
  personalTokenBinding: option(
    'Users',
    oneOf(...TOKEN_BINDINGS),
    'What personal access tokens are bound to: a key of the user, with which a program proves each request (RFC 9449), or a client certificate (RFC 8705).',
    'none',
  ),
};

/** What personal access tokens can be at most. */
export interface TokenPolicy {
  readonly apis: readonly string[];
  /** `undefined` for all that the APIs declare. */
  readonly scopes: readonly string[] | undefined;
  /** `undefined` for all users. */
  readonly groups: readonly string[] | undefined;
  /** Seconds. */
  readonly lifetime: number;
  readonly limit: number;
  readonly binding: TokenBinding;
}

/** @returns `undefined` if there are no personal access tokens */
export function tokenPolicy({
  personalTokens,
  personalTokenApis: apis = [],
  personalTokenScopes: scopes,
  personalTokenGroups: groups,
  personalTokenLifetime: lifetime,
  personalTokenLimit: limit,
  personalTokenBinding: binding,
}: ValuesOf<typeof PERSONAL_TOKEN_OPTIONS>): TokenPolicy | undefined {
  return personalTokens ? { apis, scopes, groups, lifetime, limit, binding } : undefined;
}
