// The option `applicationClaims`: claims that the host adds to tokens and responses.

import { ConfigurationError, type OAuthError, unexpectedError } from '../http/errors.ts';
import { isJsonObject, jsonCopy } from '../http/http.ts';
import { type Claims, ENDING_KEYS } from '../protocol/claims.ts';
import { hasResource } from '../protocol/client_metadata.ts';
import { requireOptions } from '../protocol/option_kinds.ts';
import { RECORD_ONLY, recordOnlyClaims } from '../protocol/record_rules.ts';
import type { TokenRecord } from '../protocol/records.ts';
import type { Awaitable } from '../storage/contract.ts';
import { guardedCall } from '../storage/faults.ts';

/** The tokens and responses that a claim can appear in. */
const CLAIM_PLACES = ['access_token', 'id_token', 'userinfo', 'introspection'] as const;
export type ClaimPlace = (typeof CLAIM_PLACES)[number];

/** A claim of the host, such as roles or a tenant. */
export interface ApplicationClaim {
  /** Tokens and responses that contain the claim. For an ID token, the access token issued with it decides. */
  readonly in: readonly ClaimPlace[];
  /** The access token must have one of these scopes. Default: any. */
  readonly scopes?: readonly string[];
  /** The token must be issued to one of these clients. Default: any. */
  readonly clients?: readonly string[];
  /** The token must be for one of these APIs (`aud`). Default: any. */
  readonly apis?: readonly string[];
  /**
   * Whether the value is read at each introspection or UserInfo request. Otherwise it is fixed at issuance and read
   * again at each refresh. Tokens cannot contain live claims. Default: `false`.
   */
  readonly live?: boolean;
}

/**
 * Claims that the host adds.
 * @example
 * applicationClaims: {
 *   claims: { roles: { in: ['access_token', 'userinfo'] } },
 *   valuesOf: async ({ subject }) => ({ roles: await rolesOf(subject) }),
 * }
 */
export interface ApplicationClaims {
  /** By name. Names of `PROTECTED_CLAIMS` are not allowed. */
  readonly claims: Readonly<Record<string, ApplicationClaim>>;
  /**
   * Returns the values, 4096 characters of JSON at most. Omit claims without a value. A rejection is an outage
   * (503). An undeclared name, or a value that is not JSON, is an error of the host (500).
   */
  readonly valuesOf: (occasion: ClaimsOccasion) => Awaitable<Claims | undefined>;
}

/** What the values are needed for. */
export interface ClaimsOccasion {
  /** Names of the claims that are needed. Other values are ignored. */
  readonly names: readonly string[];
  /** The operation that needs them. `issuance` fixes the values. */
  readonly at: 'issuance' | 'introspection' | 'userinfo';
  readonly clientId: string;
  /** The server's identifier of the user. Absent if the client acts for itself. */
  readonly subject?: string | undefined;
  readonly scopes: readonly string[];
  /** `aud` of the access token. */
  readonly audience: readonly string[];
  readonly grantId?: string | undefined;
  readonly sessionId?: string | undefined;
}

/** Names that the specifications define. */
export const PROTECTED_CLAIMS: ReadonlySet<string> = new Set([
  ...['iss', 'sub', 'aud', 'exp', 'nbf', 'iat', 'jti'], // RFC 7519 §4.1
  ...['client_id', 'scope', 'auth_time', 'acr', 'amr'], // RFC 9068 §2.2
  ...['active', 'username', 'token_type'], // RFC 7662 §2.2
  ...['nonce', 'azp', 'at_hash', 'c_hash', 's_hash', 'sub_jwk', '_claim_names', '_claim_sources'], // OpenID Connect Core
  ...['sid', 'events'], // OpenID Connect Back-Channel Logout §2.4
  ...['cnf', 'act', 'authorization_details', ENDING_KEYS], // RFC 7800, RFC 8693 §4.1, RFC 9396 §9; ADR 182
  ...['token_introspection', 'id_token_digest'], // RFC 9701 §5; ADR 186
]);

/** Visible ASCII without quotes and backslash, so that URIs are possible. */
const CLAIM_NAME = /^[\x21\x23-\x5B\x5D-\x7E]{1,128}$/;

/** Maximum characters of all values together, as JSON. */
const MAX_CHARACTERS = 4096;

interface LiveToken {
  readonly record: TokenRecord;
  readonly claims: Claims;
}

interface DeclaredClaim extends ApplicationClaim {
  readonly name: string;
}

/** The checked claims of the host. */
export class DeclaredClaims {
  readonly #declared: readonly DeclaredClaim[];
  readonly #names: ReadonlySet<string>;
  readonly #valuesOf: ApplicationClaims['valuesOf'];

  constructor({ claims, valuesOf }: ApplicationClaims) {
    this.#declared = Object.entries(claims).map(([name, claim]) => ({ ...claim, name }));
    this.#names = new Set(Object.keys(claims));
    this.#valuesOf = guardedCall(valuesOf, 'applicationClaims.valuesOf');
  }

  /** Names of the claims that can appear at UserInfo or in ID tokens, for metadata. */
  get personal(): readonly string[] {
    const isPersonal = (place: ClaimPlace) => place === 'userinfo' || place === 'id_token';
    return this.#declared.filter((claim) => claim.in.some(isPersonal)).map(({ name }) => name);
  }

  /** Returns the claims of an access token, and those that its record keeps for UserInfo and introspection. */
  async ofAccessToken(
    token: TokenAtIssuance,
  ): Promise<{ readonly inToken: Claims; readonly recordOnly: Claims }> {
    const due = this.#fixed(token, ['access_token', 'userinfo', 'introspection']);
    const values = await this.#resolve(due, 'issuance', token);
    const isInToken = new Set(
      due.filter((claim) => claim.in.includes('access_token')).map(({ name }) => name),
    );
    const entries = Object.entries(values);
    return {
      inToken: Object.fromEntries(entries.filter(([name]) => isInToken.has(name))),
      recordOnly: Object.fromEntries(entries.filter(([name]) => !isInToken.has(name))),
    };
  }

  ofIdToken(token: TokenAtIssuance): Promise<Claims> {
    return this.#resolve(this.#fixed(token, ['id_token']), 'issuance', token);
  }

  /** Returns the claims of a response about a live access token: fixed ones as issued, live ones as of now. */
  async ofResponse(place: 'userinfo' | 'introspection', { record, claims }: LiveToken): Promise<Claims> {
    const token = { ...record, audience: [claims.aud].flat().map(String) };
    const due = this.#declared.filter((claim) => claim.in.includes(place) && isFor(claim, token));
    const fixed = due
      .filter((claim) => claim.live !== true)
      .flatMap(({ name }) => {
        const value = Object.hasOwn(claims, name) ? claims[name] : recordOnlyClaims(record)[name];
        return value === undefined || value === null ? [] : [[name, value] as const];
      });
    const live = due.filter((claim) => claim.live === true);
    return { ...Object.fromEntries(fixed), ...(await this.#resolve(live, place, token)) };
  }

  #fixed(token: TokenAtIssuance, places: readonly ClaimPlace[]): readonly DeclaredClaim[] {
    return this.#declared.filter(
      (claim) => claim.live !== true && claim.in.some((item) => places.includes(item)) && isFor(claim, token),
    );
  }

  async #resolve(
    due: readonly DeclaredClaim[],
    at: ClaimsOccasion['at'],
    { clientId, subject, scopes, audience, grantId, sessionId }: TokenAtIssuance,
  ): Promise<Claims> {
    if (due.length === 0) return {};
    const names = due.map(({ name }) => name);
    const token = { clientId, subject, scopes, audience, grantId, sessionId };
    const returned: unknown = (await this.#valuesOf({ names, at, ...token })) ?? {};
    if (!isJsonObject(returned)) throw unfit(names.join(' '), 'valuesOf must return an object');
    const undeclared = Object.keys(returned).find((name) => !this.#names.has(name));
    if (undeclared !== undefined) throw unfit(undeclared, whyUndeclared(undeclared));

    const values: Record<string, unknown> = {};
    for (const name of names) {
      const value = returned[name];
      if (value === undefined || value === null) continue;
      const copy = jsonCopy(value);
      if (copy === undefined) throw unfit(name, 'its value is not JSON');
      values[name] = copy;
    }
    if (JSON.stringify(values).length > MAX_CHARACTERS)
      throw unfit(names.join(' '), `the values are longer than ${MAX_CHARACTERS} characters`);
    return values;
  }
}

/** The facts about a token for which claims are resolved. */
type TokenAtIssuance = Omit<ClaimsOccasion, 'names' | 'at'>;

function isFor({ scopes, clients, apis }: ApplicationClaim, token: TokenAtIssuance): boolean {
  const isOneOf = (allowed: readonly string[] | undefined, values: readonly string[]) =>
    allowed === undefined || values.some((value) => allowed.includes(value));
  const isForApi = apis === undefined || token.audience.some((item) => hasResource(apis, item));
  return isOneOf(scopes, token.scopes) && isOneOf(clients, [token.clientId]) && isForApi;
}

function whyUndeclared(name: string): string {
  return PROTECTED_CLAIMS.has(name) ? 'the name is protected' : 'the claim is not declared';
}

/** A mistake of the host: 500, and the log names the claim. */
function unfit(name: string, why: string): OAuthError {
  const cause = new TypeError(`application claim ${name}: ${why}`);
  return unexpectedError({
    reason: 'application_claim_unfit',
    value: name,
    cause,
  });
}

/**
 * Checks the option (ADR 44).
 * @param scopeClaims claims that scopes permit; `undefined` if OpenID Connect is off
 * @throws {ConfigurationError} names the claim and says what was expected
 */
export function resolveApplicationClaims(
  option: ApplicationClaims | undefined,
  scopeClaims: ReadonlySet<string> | undefined,
): DeclaredClaims | undefined {
  if (option === undefined) return undefined;
  requireOptions(option, { claims: true, valuesOf: true }, 'applicationClaims');
  const { claims, valuesOf }: Partial<ApplicationClaims> = option;
  if (!isJsonObject(claims)) throw new ConfigurationError('applicationClaims.claims', 'an object');
  if (typeof valuesOf !== 'function')
    throw new ConfigurationError('applicationClaims.valuesOf', 'a function');
  for (const [name, claim] of Object.entries(claims)) requireClaim(name, claim, scopeClaims);
  return new DeclaredClaims({ claims: structuredClone(claims), valuesOf: valuesOf.bind(option) });
}

const CLAIM_MEMBERS = { in: true, scopes: true, clients: true, apis: true, live: true } satisfies Record<
  keyof ApplicationClaim,
  true
>;

function requireClaim(name: string, claim: unknown, scopeClaims: ReadonlySet<string> | undefined): void {
  const at = `applicationClaims.claims.${name}`;
  if (PROTECTED_CLAIMS.has(name) || name === RECORD_ONLY)
    throw new ConfigurationError(at, 'a name that OAuth and OpenID Connect do not use themselves');
  if (name in Object.prototype)
    throw new ConfigurationError(at, 'a name that JavaScript objects do not have by default');
  if (!CLAIM_NAME.test(name))
    throw new ConfigurationError(at, 'a name of at most 128 visible ASCII characters without quotes');
  requireOptions(claim, CLAIM_MEMBERS, at);
  const { in: places, scopes, clients, apis, live = false }: Partial<ApplicationClaim> = Object(claim);
  const isPlace = (place: unknown) => CLAIM_PLACES.some((item) => item === place);
  if (!Array.isArray(places) || places.length === 0 || !places.every(isPlace))
    throw new ConfigurationError(`${at}.in`, `a list of ${CLAIM_PLACES.join(', ')}`);
  for (const [member, list] of Object.entries({ scopes, clients, apis })) {
    const isText = (item: unknown) => typeof item === 'string' && item !== '';
    if (list !== undefined && !(Array.isArray(list) && list.length > 0 && list.every(isText)))
      throw new ConfigurationError(`${at}.${member}`, 'a list of texts, none empty');
  }
  if (typeof live !== 'boolean') throw new ConfigurationError(`${at}.live`, 'true or false');
  if (live && places.some((place) => place === 'access_token' || place === 'id_token'))
    throw new ConfigurationError(
      `${at}.live`,
      'false for a claim in access_token or id_token, because tokens do not change',
    );
  if (!places.some((place) => place === 'userinfo' || place === 'id_token')) return;
  if (scopeClaims === undefined)
    throw new ConfigurationError(`${at}.in`, 'neither userinfo nor id_token while OpenID Connect is off');
  if (scopeClaims.has(name))
    throw new ConfigurationError(at, 'a name that no scope permits: getUserClaims supplies those');
}
