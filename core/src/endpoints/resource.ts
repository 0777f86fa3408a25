import type { Form } from '../protocol/form.ts';
import { OAuthError } from '../protocol/oauth_error.ts';
import type { RefusalReason } from '../protocol/reasons.ts';
import { isResourceUri } from '../protocol/resource_uri.ts';
import type { Context } from './context.ts';

/** Each one is looked up. */
const MOST_RESOURCES = 10;

/** `aud` of an access token: a text where there is one, a list where there are several. */
export type Audience = string | readonly string[];

/**
 * What access tokens shall be for: the default audience, or APIs that are registered (RFC 8707 §2).
 * @throws {OAuthError} `invalid_target`: no absolute URI without fragment, unknown, or too many
 */
export async function requestedResources(
  context: Context,
  form: Form,
): Promise<readonly string[] | undefined> {
  const resources = askedResources(form);
  if (resources === undefined) return undefined;
  if (resources.length > MOST_RESOURCES)
    throw refused('more than ten resources are asked for', 'parameter_invalid');
  if (!resources.every(isResourceUri))
    throw refused('a resource is no absolute URI without fragment', 'parameter_invalid');
  const known = await Promise.all(resources.map((resource) => isKnown(context, resource)));
  if (!known.every(Boolean)) throw refused('a resource is unknown', 'resource_unknown');
  return resources;
}

/**
 * Whom an access token of a grant is for: what the request names of the granted resources, or all of them (RFC 8707
 * §2.2); the default audience where no resource was granted.
 * @throws {OAuthError} `invalid_target`: a resource is not part of the grant
 */
export function selectAudience(
  { defaultAudience }: Context,
  form: Form,
  granted: readonly string[] = [],
): Audience {
  const asked = askedResources(form);
  if (asked === undefined) return granted.length > 0 ? asAudience(granted) : defaultAudience;
  const available = granted.length > 0 ? granted : [defaultAudience].flat();
  if (!asked.every((resource) => available.includes(resource)))
    throw refused('a resource is not part of the grant', 'resource_not_granted');
  return asAudience(asked);
}

/**
 * Whom an access token is for that a client wants for itself: any API that the server knows.
 * @throws {OAuthError} `invalid_target`: a resource is malformed or unknown
 */
export async function selectOwnAudience(context: Context, form: Form): Promise<Audience> {
  const asked = await requestedResources(context, form);
  return asked === undefined ? context.defaultAudience : asAudience(asked);
}

/**
 * The values of `resource`, each once; `undefined` where the request has none. The parameter may have been repeated: its
 * values stand one after another, since a URI has no spaces.
 */
function askedResources(form: Form): readonly string[] | undefined {
  const parameter = form.get('resource');
  return parameter === undefined ? undefined : [...new Set(parameter.split(' '))];
}

async function isKnown(
  { storage: { clients }, defaultAudience }: Context,
  resource: string,
): Promise<boolean> {
  const isDefault = [defaultAudience].flat().includes(resource);
  return isDefault || ((await clients.hasResource?.(resource)) ?? false);
}

function asAudience(resources: readonly string[]): Audience {
  const [only, ...others] = resources;
  return only !== undefined && others.length === 0 ? only : resources;
}

function refused(description: string, reason: RefusalReason): OAuthError {
  return new OAuthError('invalid_target', description, { reason });
}
