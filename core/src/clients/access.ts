// § refers to RFC 6749.
import { loggable, OAuthError } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import type { Form } from '../http/form.ts';
import { isPersonalScope, isResourceUri } from '../protocol/client_metadata.ts';
import {
  type ApiRecord,
  type ClientRecord,
  formatScope,
  refusedScope,
  selectScopes,
} from '../protocol/records.ts';
import type { ClientContext } from './client.ts';

/** `resource` parameters of one request. */
const MOST_RESOURCES = 10;

/** `aud` of an access token: a text where there is one, a list where there are several. */
export type Audience = string | readonly string[];

/** What tokens may be for. */
export interface Access {
  readonly scopes: readonly string[];
  /** The default audience where it is absent. */
  readonly resources?: readonly string[];
}

/** What a request asks for. */
export interface WantedAccess extends Access {
  /** Whether the request names the scopes. Otherwise they are the client's, and those that do not fit are left out. */
  readonly areScopesNamed: boolean;
}

/** The values of `resource`, each once, or `undefined`. A repeated parameter is one text: a URI has no spaces. */
export function resourcesIn(form: Form): readonly string[] | undefined {
  const parameter = form.get('resource');
  return parameter === undefined ? undefined : [...new Set(parameter.split(' '))];
}

/** Tells the operator of `audience`, which other servers know and this one ignores (RFC 6749 §3.1). */
export function reportAudience({ onEvent }: ClientContext, form: Form, call: Call): void {
  const value = form.get('audience');
  if (value !== undefined) onEvent({ ...call, type: 'audience_ignored', value: loggable(value) });
}

/**
 * What a client gets of what it wants: APIs that it is allowed, with scopes that they declare (RFC 8707 §2, RFC 9700
 * §2.3). Without a `resource`, scopes that point to one of its APIs choose that API.
 * @throws {OAuthError} `invalid_target`, `invalid_scope`
 */
export async function accessFor(
  context: ClientContext,
  client: ClientRecord,
  { scopes, areScopesNamed, resources }: WantedAccess,
): Promise<Access> {
  if (resources !== undefined) requireWellFormed(resources);
  const audiences = await findAudiences(context, { scopes, ...(resources !== undefined && { resources }) });
  if (resources !== undefined) audiences.requireAllowed(client, resources);
  const chosen = resources ?? audiences.choose(client, scopes, areScopesNamed);
  const fitting = areScopesNamed
    ? audiences.requireUnderstood(scopes, chosen)
    : audiences.understood(scopes, chosen);
  if (scopes.length > 0 && fitting.length === 0)
    throw refusedScope('no scope of the client belongs to the resource', formatScope(scopes));
  return { scopes: fitting, ...(chosen !== undefined && { resources: chosen }) };
}

/** What is left of a grant by the registrations of today, for tokens that are issued now. */
export interface RemainingAccess extends Access {
  /**
   * Whom the next access token is for, and its scopes: what the request names of them, or all.
   * @param asked resources (RFC 8707 §2.2)
   * @param scope of a refresh (RFC 6749 §6); a code is redeemed without one (§4.1.3)
   * @throws {OAuthError} `invalid_target`, `invalid_scope`: something else, or nothing is left of it
   */
  select(
    asked: readonly string[] | undefined,
    scope?: string,
  ): { readonly audience: Audience; readonly scopes: readonly string[] };
}

/**
 * What a client still gets of what was granted: never more than it is registered for now, nor for an API that is gone.
 * @throws {OAuthError} `invalid_target`, `invalid_scope`: nothing is left
 */
export async function remainingAccess(
  context: ClientContext,
  client: ClientRecord,
  granted: Access,
): Promise<RemainingAccess> {
  const registered = granted.scopes.filter((scope) => client.scopes.includes(scope));
  const audiences = await findAudiences(context, { ...granted, scopes: registered });
  const resources = granted.resources?.filter((resource) => audiences.isAllowed(client, resource));
  if (granted.resources !== undefined && resources?.length === 0)
    throw refusedTarget('no resource of the grant is left', 'resource_withdrawn', granted.resources);
  const scopes = audiences.understood(registered, resources);
  if (granted.scopes.length > 0 && scopes.length === 0)
    throw new OAuthError('invalid_scope', 'no scope of the grant is left', {
      reason: 'scope_withdrawn',
      value: formatScope(granted.scopes),
    });

  return {
    scopes,
    ...(resources !== undefined && { resources }),
    select(asked, scope) {
      const available = resources ?? [context.defaultAudience].flat();
      const foreign = asked?.filter((resource) => !available.includes(resource)) ?? [];
      if (foreign.length > 0)
        throw refusedTarget('a resource is not part of the grant', 'resource_not_granted', foreign);
      const chosen = asked ?? resources;
      const named = selectScopes(scope, scopes);
      const fitting =
        scope === undefined
          ? audiences.understood(named, chosen)
          : audiences.requireUnderstood(named, chosen);
      if (named.length > 0 && fitting.length === 0)
        throw refusedScope('no scope of the grant belongs to the resource', formatScope(named));
      return { audience: audienceOf(context, chosen), scopes: fitting };
    },
  };
}

/** `aud` of an access token for these resources. */
export function audienceOf(
  { defaultAudience }: ClientContext,
  resources: readonly string[] | undefined,
): Audience {
  if (resources === undefined) return defaultAudience;
  const [only, ...others] = resources;
  return only !== undefined && others.length === 0 ? only : resources;
}

/** The APIs that a request concerns. */
async function findAudiences(context: ClientContext, { scopes, resources = [] }: Access): Promise<Audiences> {
  const { storage, oidc } = context;
  const defaults = [context.defaultAudience].flat();
  const ownScopes = Object.keys(oidc?.claimsByScope ?? {});
  const isOwn = (scope: string) => isPersonalScope(scope) || ownScopes.includes(scope);
  const named = { resources, scopes: scopes.filter((scope) => !isOwn(scope)) };
  const isNeeded = named.scopes.length > 0 || resources.some((resource) => !defaults.includes(resource));
  const apis = isNeeded ? await storage.clients.findApis?.(named) : [];
  return new Audiences(apis ?? [], defaults, isOwn);
}

/**
 * Which audience understands which scope. An API understands the scopes that it declares. Scopes that no API declares
 * are understood by the default audience, and by APIs that declare none. This server's own are understood with each.
 */
class Audiences {
  readonly #declared = new Map<string, readonly string[]>();
  readonly #defaults: readonly string[];
  readonly #isOwn: (scope: string) => boolean;

  constructor(apis: readonly ApiRecord[], defaults: readonly string[], isOwn: (scope: string) => boolean) {
    for (const { resource, scopes } of apis)
      this.#declared.set(resource, [...(this.#declared.get(resource) ?? []), ...scopes]);
    this.#defaults = defaults;
    this.#isOwn = isOwn;
  }

  isAllowed(client: ClientRecord, resource: string): boolean {
    if (this.#defaults.includes(resource)) return true;
    return this.#declared.has(resource) && (client.metadata?.apis?.includes(resource) ?? false);
  }

  requireAllowed(client: ClientRecord, resources: readonly string[]): void {
    const refused = resources.filter((resource) => !this.isAllowed(client, resource));
    if (refused.length === 0) return;
    const unknown = refused.filter((resource) => !this.#declared.has(resource));
    const [reason, value] =
      unknown.length > 0
        ? (['resource_unknown', unknown] as const)
        : (['resource_not_allowed', refused] as const);
    throw refusedTarget('a resource is not registered, or not for this client', reason, value);
  }

  understood(scopes: readonly string[], resources: readonly string[] | undefined): readonly string[] {
    const audiences = resources ?? this.#defaults;
    return scopes.filter((scope) => audiences.some((audience) => this.#understands(audience, scope)));
  }

  requireUnderstood(scopes: readonly string[], resources: readonly string[] | undefined): readonly string[] {
    const understood = this.understood(scopes, resources);
    const others = scopes.filter((scope) => !understood.includes(scope));
    if (others.length > 0) throw notOfAudience(others);
    return scopes;
  }

  /**
   * The API that scopes point to where a request names none; `undefined` is the default audience.
   * @throws {OAuthError} there are several, or the client may ask for none of them
   */
  choose(
    client: ClientRecord,
    scopes: readonly string[],
    areScopesNamed: boolean,
  ): readonly string[] | undefined {
    const understood = this.understood(scopes, undefined);
    const others = scopes.filter((scope) => !understood.includes(scope));
    const homes = others.map((scope) => this.#homesOf(client, scope));
    const homeless = others.filter((_, index) => homes[index]?.length === 0);
    if (areScopesNamed && homeless.length > 0) throw notOfAudience(homeless);
    const candidates = homes.filter((ofOne) => ofOne.length > 0);
    if (candidates.length === 0) return undefined;
    const [first = [], ...rest] = candidates;
    const shared = first.filter((resource) => rest.every((ofOne) => ofOne.includes(resource)));
    if (shared.length === 1) return shared;
    throw refusedTarget('the scopes belong to several resources: send resource', 'resource_needed', others);
  }

  /** The APIs that a client may ask for a scope at. */
  #homesOf(client: ClientRecord, scope: string): readonly string[] {
    return [...this.#declared.keys()].filter(
      (resource) => this.isAllowed(client, resource) && this.#declares(resource, scope),
    );
  }

  #understands(audience: string, scope: string): boolean {
    if (this.#isOwn(scope) || this.#declares(audience, scope)) return true;
    const isOfOthers = [...this.#declared.values()].some((scopes) => scopes.includes(scope));
    return !isOfOthers && (this.#defaults.includes(audience) || !this.#declared.get(audience)?.length);
  }

  #declares(resource: string, scope: string): boolean {
    return this.#declared.get(resource)?.includes(scope) ?? false;
  }
}

function requireWellFormed(resources: readonly string[]): void {
  if (resources.length > MOST_RESOURCES)
    throw refusedTarget('more than ten resources are asked for', 'parameter_invalid', resources);
  const malformed = resources.filter((resource) => !isResourceUri(resource));
  if (malformed.length > 0)
    throw refusedTarget('a resource is no absolute URI without fragment', 'parameter_invalid', malformed);
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
  return new OAuthError('invalid_scope', 'a scope does not belong to the resource', {
    reason: 'scope_outside_audience',
    value: formatScope(scopes),
  });
}
