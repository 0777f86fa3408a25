// Security profiles: what each requires of the server's options, of its clients and of their requests.
// § refers to FAPI 2.0 Security Profile.

import { RESPONSE_MODES } from './authorization_parameters.ts';
import { type ClientMetadata, type MemberName, memberOf } from './client_members.ts';
import {
  type AssertionAlgorithm,
  type ClientAlgorithm,
  PROFILE_NAMES,
  type ProfileName,
  type SigningAlgorithm,
} from './client_metadata.ts';
import type { Narrowing, Rule } from './option_kinds.ts';
import type { ClientRecord } from './records.ts';
import { isExposedRedirectUri, isOwnMachine } from './redirect_uri.ts';

type Rules<Name extends string = string> = { readonly [One in Name]?: Rule };

/** What a profile requires. Start-up, registration, requests and documentation follow from it. */
export interface Profile {
  /** Options of the server. The start fails if one has another value. */
  readonly options: Rules;
  /** Members of the option `registration`. */
  readonly registration: Rules;
  /** Client metadata. Registration refuses another value. In a stored record, the default takes its place. */
  readonly members: Rules<MemberName>;
  /** Maximum lifetimes in seconds. A client's own profile shortens those of the server. */
  readonly lifetimes: ProfiledLifetimes;
  /** Algorithms of everything that the server and its clients sign. */
  readonly algorithms: readonly SigningAlgorithm[];
  /** Whether client assertions name the issuer as a text, not in a list. */
  readonly assertionAudienceIsText: boolean;
  /** Maximum lifetime of client assertions in seconds. */
  readonly assertionLifetime: number;
  /** Whether authorization requests name a `redirect_uri`, which no network can read. */
  readonly requiresSafeRedirectUri: boolean;
  /** Whether request objects need `aud`, `nbf` and `exp`. */
  readonly strictRequestObjects: boolean;
}

/** Lifetimes that depend on a client's profile, in seconds. */
interface ProfiledLifetimes {
  readonly authorizationCode: number;
  readonly pushedRequest: number;
}

function only(value: unknown): Rule {
  return { byDefault: value, allows: (item) => item === value, expected: String(value) };
}

function oneOf(...values: readonly [unknown, ...unknown[]]): Rule {
  return {
    byDefault: values[0],
    allows: (item) => values.includes(item),
    expected: `one of ${values.join(', ')}`,
  };
}

function listOf(...values: readonly unknown[]): Rule {
  const allows = (list: unknown) => Array.isArray(list) && list.every((item) => values.includes(item));
  return { byDefault: values, allows, expected: `a list of ${values.join(', ')}` };
}

/** As another rule, but a list must have a value. */
function notEmpty({ allows, ...rule }: Rule): Rule {
  return { ...rule, allows: (list) => allows(list) && Array.isArray(list) && list.length > 0 };
}

function atMost(most: number): Rule {
  return { byDefault: undefined, allows: (item) => Number(item) <= most, expected: `at most ${most}` };
}

/** As another rule, but the value may be missing. */
function optional({ allows, ...rule }: Rule): Rule {
  return { ...rule, allows: (value) => value === undefined || allows(value) };
}

/** Whether no network can read requests to this URL. */
function isEncrypted(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || isOwnMachine(hostname);
}

/** §5.3.2.1 (11), §5.3.2.2 (12). */
const LIFETIMES: ProfiledLifetimes = { authorizationCode: 60, pushedRequest: 599 };

/** §5.4.1. */
const CLIENT = ['PS256', 'ES256', 'EdDSA'] as const satisfies readonly ClientAlgorithm[];
/** The same ones, each by all of its names. */
const ALGORITHMS = [...CLIENT, 'Ed25519'] as const satisfies readonly SigningAlgorithm[];

const SECURITY: Profile = {
  options: {
    // §5.2.1 (1)
    issuer: {
      byDefault: undefined,
      allows: (issuer) => isEncrypted(String(issuer)),
      expected: 'an https URL, or http on loopback for development',
    },
    // §5.3.2.1 (6)
    authenticateIntrospect: only(true),
    authenticateRevoke: only(true),
    // §5.3.2.1 (11)
    authorizationCodeLifetime: atMost(LIFETIMES.authorizationCode),
    // §5.3.2.2 (3, 12)
    requirePushedAuthorizationRequests: only(true),
    pushedRequestLifetime: atMost(LIFETIMES.pushedRequest),
    // §5.4.1 (1). Refresh tokens that are JWTs are signed with RS256.
    requestObjectAlgorithms: listOf(...CLIENT),
    clientAssertionAlgorithms: listOf(...CLIENT),
    dpopAlgorithms: listOf(...CLIENT),
    accessTokenAlgorithm: oneOf(...ALGORITHMS),
    idTokenAlgorithm: oneOf(...ALGORITHMS),
    useOpaqueRefreshTokens: only(true),
  },
  registration: {
    allowInsecureUris: only(false),
    assertionAudience: only('issuer'),
    insecureAllowMissingPkce: only(false),
  },
  members: {
    // §5.3.2.1 (3, 6, 8)
    token_endpoint_auth_method: oneOf('private_key_jwt', 'tls_client_auth', 'self_signed_tls_client_auth'),
    assertion_audience: optional(only('issuer')),
    // §5.3.2.1 (9)
    rotate_refresh_tokens: only(false),
    // §5.3.2.2 (3, 5, 8)
    require_pushed_authorization_requests: only(true),
    insecure_allow_missing_pkce: optional(only(false)),
    insecure_redirect_uris: optional(only(false)),
    // §5.4.1 (1)
    token_endpoint_auth_signing_alg: optional(oneOf(...CLIENT)),
    request_object_signing_alg: optional(oneOf(...CLIENT)),
    access_token_signed_response_alg: optional(oneOf(...ALGORITHMS)),
    id_token_signed_response_alg: optional(oneOf(...ALGORITHMS)),
    userinfo_signed_response_alg: optional(oneOf(...ALGORITHMS)),
    authorization_signed_response_alg: optional(oneOf(...ALGORITHMS)),
    introspection_signed_response_alg: optional(oneOf(...ALGORITHMS)),
  },
  lifetimes: LIFETIMES,
  algorithms: ALGORITHMS,
  assertionAudienceIsText: true, // §5.3.2.1 (8)
  assertionLifetime: 5 * 60,
  requiresSafeRedirectUri: true, // §5.3.2.2 (6, 8)
  strictRequestObjects: false,
};

/** FAPI 2.0 Message Signing §5.4.1: the response modes of JARM. */
const JWT_MODES = Object.entries(RESPONSE_MODES).flatMap(([mode, { isJwt }]) => (isJwt ? [mode] : []));

const MESSAGE_SIGNING: Profile = {
  ...SECURITY,
  options: {
    ...SECURITY.options,
    // FAPI 2.0 Message Signing §5.3.1
    strictRequestObjects: only(true),
    // FAPI 2.0 Message Signing §6.2
    introspectionPolicy: {
      byDefault: 'audience',
      allows: (policy) => policy !== 'any_client',
      expected: 'audience or a function',
    },
  },
  members: {
    ...SECURITY.members,
    // FAPI 2.0 Message Signing §5.3.1, §5.4.1
    require_signed_request_object: only(true),
    response_modes: notEmpty(listOf(...JWT_MODES)), // without one, refusals would leave by `query`
  },
  strictRequestObjects: true,
};

/** All profiles by name (ADR 77). */
export const PROFILES: Readonly<Record<ProfileName, Profile>> = {
  'fapi2-security': SECURITY,
  'fapi2-message-signing': MESSAGE_SIGNING,
};

/** Returns the profile that a client's record has, which `underProfile` completes with that of the server. */
export function profileOf({ metadata }: Pick<ClientRecord, 'metadata'>): Profile | undefined {
  return metadata?.profile && PROFILES[metadata.profile];
}

/** Returns what a profile requires of the server's options, or of those of registration. */
export function narrowingBy(
  profile: ProfileName | undefined,
  block: 'options' | 'registration' = 'options',
): Narrowing | undefined {
  return profile && { rules: PROFILES[profile][block], source: `the profile ${profile}` };
}

/** Returns the stricter of two profiles. */
export function stricterProfile(
  a: ProfileName | undefined,
  b: ProfileName | undefined,
): ProfileName | undefined {
  return PROFILE_NAMES.findLast((name) => name === a || name === b);
}

/** The server's options that its clients follow. */
interface ServerDefaults {
  readonly profile: ProfileName | undefined;
  readonly accessTokenAlgorithm: SigningAlgorithm;
  readonly idTokenAlgorithm: SigningAlgorithm;
}

/**
 * Returns the client as its profile, or the server's if that is stricter, lets it act. A value that the profile does not
 * allow is replaced by the profile's default, so that an unchecked record gives no right: a client that is
 * registered for a secret cannot authenticate, and one that rotates refresh tokens keeps them.
 */
export function underProfile(
  { profile, accessTokenAlgorithm, idTokenAlgorithm }: ServerDefaults,
  client: ClientRecord,
): ClientRecord {
  const name = stricterProfile(profile, client.metadata?.profile);
  if (name === undefined) return client;
  const record: Record<string, unknown> = { accessTokenAlgorithm, idTokenAlgorithm, ...client };
  const metadata: Record<string, unknown> = { ...client.metadata, profile: name };
  for (const [member, { allows, byDefault }] of memberRulesOf(name)) {
    const { field } = memberOf(member);
    const [owner, key] = field === undefined ? [metadata, member] : [record, field];
    if (!allows(owner[key])) owner[key] = byDefault;
  }
  if (bindsTokensToKey(metadata)) metadata.dpop_bound_access_tokens = true;
  return { ...record, metadata } as unknown as ClientRecord;
}

/** Returns the rules for the members of client metadata. */
export function memberRulesOf(name: ProfileName): readonly (readonly [MemberName, Rule])[] {
  return Object.entries(PROFILES[name].members) as unknown as readonly (readonly [MemberName, Rule])[];
}

/** Whether tokens are bound to a key, because the client is not registered for those of a certificate (§5.3.2.1 (4, 5)). */
export function bindsTokensToKey(
  metadata: Pick<ClientMetadata, 'tls_client_certificate_bound_access_tokens'>,
) {
  return metadata.tls_client_certificate_bound_access_tokens !== true;
}

/** Returns one of the server's lifetimes, or that of the client's profile if it is shorter (§5.3.2.1 (11), §5.3.2.2 (12)). */
export function lifetimeFor(
  client: Pick<ClientRecord, 'metadata'>,
  lifetimes: ProfiledLifetimes,
  kind: keyof ProfiledLifetimes,
): number {
  return Math.min(lifetimes[kind], profileOf(client)?.lifetimes[kind] ?? Infinity);
}

/** Whether the client's profile refuses a redirect URI, because a network can read requests to it (§5.3.2.2 (8)). */
export function isUnsafeRedirectUri(client: Pick<ClientRecord, 'metadata'>, redirectUri: string): boolean {
  return profileOf(client)?.requiresSafeRedirectUri === true && isExposedRedirectUri(redirectUri);
}

/** Returns those of the server's algorithms with which the client may sign (§5.4.1). */
export function algorithmsOf<Algorithm extends AssertionAlgorithm>(
  client: Pick<ClientRecord, 'metadata'>,
  listed: readonly Algorithm[],
): readonly Algorithm[] {
  const allowed: readonly string[] | undefined = profileOf(client)?.algorithms;
  return allowed === undefined ? listed : listed.filter((item) => allowed.includes(item));
}

/** Returns the algorithm of a response to a client that is registered for none: RS256, or as its ID tokens (§5.4.1). */
export function usualAlgorithm({
  metadata,
  idTokenAlgorithm = 'PS256',
}: Pick<ClientRecord, 'metadata' | 'idTokenAlgorithm'>): SigningAlgorithm {
  return metadata?.profile === undefined ? 'RS256' : idTokenAlgorithm;
}
