import type { Form } from '../../protocol/form.ts';
import { OAuthError } from '../../protocol/oauth_error.ts';
import { requestedResources } from '../authorization/parameters/resource.ts';
import type { Context } from '../context.ts';

/** `aud` of an access token: a text where there is one, a list where there are several. */
export type Audience = string | readonly string[];

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
  if (!asked.every((resource) => available.includes(resource))) {
    throw new OAuthError('invalid_target', 'a resource is not part of the grant', {
      reason: 'resource_not_granted',
    });
  }
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

/** The values of `resource`, each once; `undefined` where the request has none. */
function askedResources(form: Form): readonly string[] | undefined {
  const parameter = form.get('resource');
  return parameter === undefined ? undefined : [...new Set(parameter.split(' '))];
}

function asAudience(resources: readonly string[]): Audience {
  const [only, ...others] = resources;
  return only !== undefined && others.length === 0 ? only : resources;
}
