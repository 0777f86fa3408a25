// Decides which scopes and APIs a client gets. § refers to RFC 6749.

import { loggable, OAuthError, unexpectedError } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import { type Form, formatScope, refusedScope, repeated, selectScopes, valuesIn } from '../http/form.ts';
import { defined } from '../platform/environment.ts';
import {
  type AuthorizationDetails,
  audienceOfDetails,
  detailsFor,
  locationsOf,
  refusedDetails,
} from '../protocol/authorization_details.ts';
import type { Claims } from '../protocol/claims.ts';
import {
  EXCHANGE_GRANT,
  hasResource,
  isPersonalScope,
  isResourceUri,
  isSameResource,
  normalResource,
} from '../protocol/client_metadata.ts';
import type { ApiRecord, ClientRecord } from '../protocol/records.ts';
import { type AuthorizationClient, type ClientContext, withoutSecrets } from './client.ts';

/** Maximum `resource` parameters of one request. */
export const MAX_RESOURCES = 10;

/** `aud` of an access token: a string for one audience, an array for several. */
export type Audience = string | readonly string[];

/** Scopes, APIs and authorization details of a grant or a token. */
export interface Access {
  readonly scopes: readonly string[];
  /** Absent for the default audience. */
  readonly resources?: readonly string[];
  /** Absent if there are none. */
  readonly authorizationDetails?: AuthorizationDetails;
}

/** Requested scopes and APIs. */
export interface WantedAccess extends Access {
  /** Whether every scope must fit the resources. Otherwise those that do not are omitted. */
  readonly mustFit: boolean;
}

/**
 * Why a user may not use a client now. Every user may use a client without `allowed_groups`. Without the option
 * `mayUseClient`, no user may use a client that has them. The option is also asked about sign-ins that may no longer be
 * enough: for clients with a policy, and by methods that the host can take from users (ADR 201).
 * @param claims of the grant, if a sign-in has led to it
 * @returns `undefined` if the user may
 * @throws {StorageFault} the host could not tell
 */
export async function refusedUse(
  { mayUseClient, recheckedAmr }: ClientContext,
  client: AuthorizationClient,
  subject: string,
  { amr }: Claims | { readonly amr?: readonly string[] } = {},
): Promise<'person_not_allowed' | 'acr_unmet' | undefined> {
  const { allowed_groups: groups, sign_in_policy: policy } = client.metadata ?? {};
  const methods = Array.isArray(amr) ? amr : [];
  const isAsked = mayUseClient && methods.some((method) => policy || recheckedAmr.includes(method));
  if (!groups && !isAsked) return undefined;
  const answer = await mayUseClient?.(subject, withoutSecrets(client), methods);
  if (answer === true) return undefined;
  return answer === 'acr_unmet' ? answer : 'person_not_allowed';
}

/**
 * Reports `audience` to the operator, because this server ignores it, unlike some others (RFC 6749 §3.1), except of a token
 * exchange.
 * @throws {OAuthError} `invalid_request`: it is repeated
 */
export function reportAudience({ onEvent }: ClientContext, form: Form, call: Call): void {
  const values = valuesIn(form, 'audience');
  if (values === undefined || form.get('grant_type') === EXCHANGE_GRANT) return;
  if (values.length > 1) throw repeated();
  onEvent({ ...call, type: 'audience_ignored', value: loggable(String(values)) });
}

/**
 * Returns what a client gets of its request: APIs that it may use, with scopes that these declare (RFC 8707 §2, RFC
 * 9700 §2.3). Without `resource`, the scopes select the API. The locations of authorization details join it, and are the
 * whole audience if no scope needs another one (RFC 9396 §3.2, §9; ADR 40).
 * @throws {OAuthError} `invalid_target`, `invalid_scope`, `invalid_authorization_details`
 */
export async function accessFor(
  context: ClientContext,
  client: ClientRecord,
  { scopes, mustFit, resources, authorizationDetails }: WantedAccess,
): Promise<Access> {
  if (resources !== undefined) requireWellFormed(resources);
  const locations = authorizationDetails && locationsOf(authorizationDetails);
  const wanted = [...(resources ?? []), ...(locations ?? [])];
  const audiences = await findAudiences(context, { scopes, resources: wanted });
  if (resources !== undefined) audiences.requireAllowed(client, resources);
  if (locations !== undefined) audiences.requireAllowedLocations(client, locations);
  const named = resources
    ? audiences.registered(resources)
    : locations?.length && audiences.areOwn(scopes)
      ? []
      : audiences.choose(client, scopes, mustFit);
  const chosen = locations ? withLocations(context, named, audiences.registered(locations)) : named;
  const fitting = mustFit
    ? audiences.requireUnderstood(scopes, chosen)
    : audiences.understood(scopes, chosen);
  if (scopes.length > 0 && fitting.length === 0)
    throw refusedScope('the client has no scope for the resource', formatScope(scopes));
  return { scopes: fitting, ...defined({ resources: chosen, authorizationDetails }) };
}

/**
 * Returns the resources of a grant with those of its details. The approval or the host may have added locations (RFC 9396
 * §7.1), which must be APIs that the client may use, like all others.
 * @throws {OAuthError} `server_error`: they are not, which is a mistake of the host
 */
export async function resourcesWithDetails(
  context: ClientContext,
  client: ClientRecord,
  resources: readonly string[] | undefined,
  details: AuthorizationDetails,
): Promise<readonly string[] | undefined> {
  const added = locationsOf(details).filter((location) => !hasResource(resources ?? [], location));
  if (added.length > 0) {
    const audiences = await findAudiences(context, { scopes: [], resources: added });
    const refused = added.filter((location) => !audiences.isAllowed(client, location));
    if (refused.length > 0)
      throw unexpectedError({
        reason: 'authorization_details_enrichment_unfit',
        value: refused.join(' '),
        cause: new TypeError('approved authorization details must be for APIs that the client may use'),
      });
    return withLocations(context, resources, audiences.registered(added));
  }
  return resources;
}

/** Adds the locations of details to the resources of a grant. The default audience stays part of it. */
function withLocations(
  { defaultAudience }: Pick<ClientContext, 'defaultAudience'>,
  resources: readonly string[] | undefined,
  locations: readonly string[],
): readonly string[] | undefined {
  if (locations.length === 0) return resources;
  return [...new Set([...(resources ?? [defaultAudience].flat()), ...locations])];
}

/** What remains of a grant under today's registrations. */
export interface RemainingAccess extends Access {
  /**
   * Selects audience and scopes of the next access token. The request may narrow both.
   * @param asked requested resources (RFC 8707 §2.2)
   * @param wanted the parameter `authorization_details` (RFC 9396 §6)
   * @param scope of a refresh (RFC 6749 §6). A code is redeemed without one (§4.1.3).
   * @throws {OAuthError} `invalid_target`, `invalid_scope`, `invalid_authorization_details`: not part of the grant, or
   *   nothing remains
   */
  select(asked: readonly string[] | undefined, wanted: string | undefined, scope?: string): SelectedAccess;
}

/** Audience, scopes and details of an access token. */
interface SelectedAccess {
  readonly audience: Audience;
  readonly scopes: readonly string[];
  readonly authorizationDetails: AuthorizationDetails | undefined;
}

/**
 * Reduces a grant to what the client is registered for now, and to APIs that still exist.
 * @throws {OAuthError} `invalid_target`, `invalid_scope`, `invalid_authorization_details`: nothing remains
 */
export async function remainingAccess(
  context: ClientContext,
  client: ClientRecord,
  granted: Access,
): Promise<RemainingAccess> {
  const registered = granted.scopes.filter((scope) => client.scopes.includes(scope));
  const audiences = await findAudiences(context, { ...granted, scopes: registered });
  const allowed = granted.resources?.filter((resource) => audiences.isAllowed(client, resource));
  const resources = allowed && audiences.registered(allowed);
  if (granted.resources !== undefined && resources?.length === 0)
    throw refusedTarget('no resource of the grant is left', 'resource_withdrawn', granted.resources);
  const scopes = audiences.understood(registered, resources);
  if (granted.scopes.length > 0 && scopes.length === 0)
    throw new OAuthError('invalid_scope', 'no scope of the grant is left', {
      reason: 'scope_withdrawn',
      value: formatScope(granted.scopes),
    });

  const details = granted.authorizationDetails && remainingDetails(context, client, audiences, granted);
  return {
    ...{ scopes, ...(resources && { resources }), ...(details && { authorizationDetails: details }) },
    select(asked, wanted, scope) {
      const available = resources ?? [context.defaultAudience].flat();
      const foreign = asked?.filter((resource) => !hasResource(available, resource)) ?? [];
      if (foreign.length > 0)
        throw refusedTarget('a resource is not part of the grant', 'resource_not_granted', foreign);
      const selected =
        details || wanted ? selectDetails(context, details, wanted, asked ?? available) : undefined;
      const named = asked ?? (wanted && selected ? audienceOfDetails(selected) : undefined);
      const chosen = named ? audiences.registered(named) : resources;
      const requested = selectScopes(scope, scopes);
      const fitting =
        scope === undefined
          ? audiences.understood(requested, chosen)
          : audiences.requireUnderstood(requested, chosen);
      if (requested.length > 0 && fitting.length === 0 && !selected)
        throw refusedScope('the grant has no scope for the resource', formatScope(requested));
      return { audience: audienceOf(context, chosen), scopes: fitting, authorizationDetails: selected };
    },
  };
}

/** Keeps the details whose types and locations the client may still have. */
function remainingDetails(
  { authorizationDetails: types }: ClientContext,
  client: ClientRecord,
  audiences: Audiences,
  { authorizationDetails: granted = [] }: Access,
): AuthorizationDetails {
  const allowed = locationsOf(granted).filter((location) => audiences.isAllowed(client, location));
  const remaining = detailsFor(types?.remaining(client, granted) ?? [], allowed);
  if (remaining !== undefined) return remaining;
  throw refusedDetails(
    'no authorization_details of the grant are left',
    'authorization_details_withdrawn',
    granted.map(({ type }) => type).join(' '),
  );
}

/**
 * Returns the details of an access token (RFC 9396 §6, §9.1).
 * @param wanted the parameter of the request. Without one, the token gets all details for its audience.
 */
function selectDetails(
  { authorizationDetails: types }: ClientContext,
  details: AuthorizationDetails | undefined,
  wanted: string | undefined,
  audience: readonly string[],
): AuthorizationDetails | undefined {
  const selected = wanted === undefined ? details : types?.select(details, wanted);
  if (selected === undefined) return undefined;
  const left = detailsFor(selected, audience);
  if (left !== undefined || wanted === undefined) return left;
  throw refusedDetails(
    'the authorization_details are for another resource',
    'authorization_details_not_granted',
    locationsOf(selected).join(' '),
  );
}

/** Returns `aud` of an access token for these resources. */
export function audienceOf(context: ClientContext, resources: readonly string[] | undefined): Audience {
  if (resources === undefined) return context.defaultAudience;
  const [only, ...others] = resources;
  return only !== undefined && others.length === 0 ? only : resources;
}

/** Looks up the APIs of the requested resources and scopes. */
async function findAudiences(context: ClientContext, { scopes, resources = [] }: Access): Promise<Audiences> {
  const defaults = [context.defaultAudience].flat();
  const ownScopes = Object.keys(context.oidc?.claimsByScope ?? {});
  const isOwn = (scope: string) => isPersonalScope(scope) || ownScopes.includes(scope);
  const named = { resources, scopes: scopes.filter((scope) => !isOwn(scope)) };
  const isNeeded = named.scopes.length > 0 || resources.some((resource) => !hasResource(defaults, resource));
  const apis = isNeeded ? await context.storage.clients.findApis?.(named) : [];
  return new Audiences(apis ?? [], defaults, isOwn);
}

/**
 * Knows which audiences understand which scopes. An API understands the scopes that it declares. Scopes that no API
 * declares are understood by the default audience and by APIs that declare none. Every audience understands the
 * server's own scopes.
 */
class Audiences {
  /** Spellings and scopes of each API, by its normal form. */
  readonly #declared = new Map<
    string,
    { readonly spellings: readonly string[]; readonly scopes: readonly string[] }
  >();
  readonly #defaults: readonly string[];
  readonly #isOwn: (scope: string) => boolean;

  constructor(apis: readonly ApiRecord[], defaults: readonly string[], isOwn: (scope: string) => boolean) {
    for (const { resource, scopes: added } of apis) {
      const { spellings = [], scopes = [] } = this.#declared.get(normalResource(resource)) ?? {};
      const api = { spellings: [...spellings, resource].toSorted(), scopes: [...scopes, ...added] };
      this.#declared.set(normalResource(resource), api);
    }
    this.#defaults = defaults;
    this.#isOwn = isOwn;
  }

  isAllowed(client: ClientRecord, resource: string): boolean {
    if (hasResource(this.#defaults, resource)) return true;
    return this.#isDeclared(resource) && hasResource(client.metadata?.apis ?? [], resource);
  }

  #isDeclared(resource: string): boolean {
    return this.#declared.has(normalResource(resource));
  }

  /** Returns resources as they are registered, each once. Clients may send them in other spellings. */
  registered(resources: readonly string[]): readonly string[] {
    return [...new Set(resources.map((resource) => this.#registered(resource)))];
  }

  /** Several clients can be the same API in several spellings; then the spelling of the request counts. */
  #registered(resource: string): string {
    const spellings = this.#declared.get(normalResource(resource))?.spellings ?? [];
    if (spellings.includes(resource)) return resource;
    return spellings[0] ?? this.#defaults.find((item) => isSameResource(item, resource)) ?? resource;
  }

  requireAllowed(client: ClientRecord, resources: readonly string[]): void {
    const refused = resources.filter((resource) => !this.isAllowed(client, resource));
    if (refused.length === 0) return;
    const unknown = refused.filter((resource) => !this.#isDeclared(resource));
    const [reason, value] =
      unknown.length > 0
        ? (['resource_unknown', unknown] as const)
        : (['resource_not_allowed', refused] as const);
    throw refusedTarget('a resource is not registered, or not for this client', reason, value);
  }

  /** Whether every audience understands the scopes. */
  areOwn(scopes: readonly string[]): boolean {
    return scopes.every(this.#isOwn);
  }

  understood(scopes: readonly string[], resources: readonly string[] | undefined): readonly string[] {
    const audiences = resources ?? this.#defaults;
    return scopes.filter((scope) => audiences.some((audience) => this.#understands(audience, scope)));
  }

  requireAllowedLocations(client: ClientRecord, locations: readonly string[]): void {
    const refused = locations.filter((location) => !this.isAllowed(client, location));
    if (refused.length === 0 && locations.length <= MAX_RESOURCES) return;
    throw refusedDetails(
      'a location of authorization_details is not registered, or not for this client',
      'authorization_details_location_refused',
      refused.join(' '),
    );
  }

  requireUnderstood(scopes: readonly string[], resources: readonly string[] | undefined): readonly string[] {
    const understood = this.understood(scopes, resources);
    const others = scopes.filter((scope) => !understood.includes(scope));
    if (others.length > 0) throw notOfAudience(others);
    return scopes;
  }

  /**
   * Selects the API that the scopes belong to, for a request without `resource`.
   * @returns `undefined` for the default audience
   * @throws {OAuthError} the scopes belong to several APIs, or to none that the client may use
   */
  choose(client: ClientRecord, scopes: readonly string[], mustFit: boolean): readonly string[] | undefined {
    const understood = this.understood(scopes, undefined);
    const others = scopes.filter((scope) => !understood.includes(scope));
    if (others.length === 0) return undefined;
    const apisByScope = others.map((scope) => this.#apisFor(client, scope));
    const unclaimed = others.filter((_, index) => apisByScope[index]?.length === 0);
    if (mustFit && unclaimed.length > 0) throw notOfAudience(unclaimed);
    const candidates = apisByScope.filter((ofOne) => ofOne.length > 0);
    if (candidates.length === 0) return undefined;
    const [first = [], ...rest] = candidates;
    const shared = first.filter((resource) => rest.every((ofOne) => ofOne.includes(resource)));
    if (shared.length === 1) return shared;
    throw refusedTarget('several resources declare the scopes: send resource', 'resource_needed', others);
  }

  /** Returns the APIs that declare the scope and that the client may use. */
  #apisFor(client: ClientRecord, scope: string): readonly string[] {
    return [...this.#declared.values()]
      .flatMap(({ spellings }) => spellings.slice(0, 1))
      .filter((resource) => this.isAllowed(client, resource) && this.#scopesOf(resource).includes(scope));
  }

  #understands(audience: string, scope: string): boolean {
    if (this.#isOwn(scope) || this.#scopesOf(audience).includes(scope)) return true;
    const isOfOthers = [...this.#declared.values()].some(({ scopes }) => scopes.includes(scope));
    return !isOfOthers && (hasResource(this.#defaults, audience) || this.#scopesOf(audience).length === 0);
  }

  /** The scopes that an API declares. */
  #scopesOf(resource: string): readonly string[] {
    return this.#declared.get(normalResource(resource))?.scopes ?? [];
  }
}

function requireWellFormed(resources: readonly string[]): void {
  if (resources.length > MAX_RESOURCES)
    throw refusedTarget('the request names more than ten resources', 'parameter_invalid', resources);
  const malformed = resources.filter((resource) => !isResourceUri(resource));
  if (malformed.length > 0)
    throw refusedTarget('a resource is not an absolute URI without fragment', 'parameter_invalid', malformed);
}

type TargetReason =
  | 'parameter_invalid'
  | 'resource_unknown'
  | 'resource_not_allowed'
  | 'resource_needed'
  | 'resource_not_granted'
  | 'resource_withdrawn';

function refusedTarget(description: string, reason: TargetReason, values: readonly string[]): OAuthError {
  return new OAuthError('invalid_target', description, { reason, value: values.join(' ') });
}

function notOfAudience(scopes: readonly string[]): OAuthError {
  return new OAuthError('invalid_scope', 'a scope is for another resource', {
    reason: 'scope_outside_audience',
    value: formatScope(scopes),
  });
}
