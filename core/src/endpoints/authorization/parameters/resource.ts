import type { Form } from '../../../protocol/form.ts';
import { OAuthError } from '../../../protocol/oauth_error.ts';
import type { RefusalReason } from '../../../protocol/reasons.ts';
import type { Context } from '../../context.ts';

/** Each one is looked up. */
const MOST_RESOURCES = 10;

/**
 * What access tokens shall be for: the default audience, or APIs that are registered (RFC 8707 §2). The parameter may
 * have been repeated; its values stand one after another, since a URI has no spaces.
 * @throws {OAuthError} `invalid_target`: no absolute URI without fragment, unknown, or too many
 */
export async function requestedResources(
  context: Context,
  form: Form,
): Promise<readonly string[] | undefined> {
  const parameter = form.get('resource');
  if (parameter === undefined) return undefined;
  const resources = [...new Set(parameter.split(' '))];
  if (resources.length > MOST_RESOURCES)
    throw refused('more than ten resources are asked for', 'parameter_invalid');
  if (!resources.every(isResourceUri))
    throw refused('a resource is no absolute URI without fragment', 'parameter_invalid');
  const known = await Promise.all(resources.map((resource) => isKnown(context, resource)));
  if (!known.every(Boolean)) throw refused('a resource is unknown', 'resource_unknown');
  return resources;
}

function isResourceUri(text: string): boolean {
  return /^[\x21-\x7E]+$/.test(text) && !text.includes('#') && URL.canParse(text);
}

async function isKnown(
  { storage: { clients }, defaultAudience }: Context,
  resource: string,
): Promise<boolean> {
  const isDefault =
    typeof defaultAudience === 'string' ? defaultAudience === resource : defaultAudience.includes(resource);
  return isDefault || ((await clients.hasResource?.(resource)) ?? false);
}

function refused(description: string, reason: RefusalReason): OAuthError {
  return new OAuthError('invalid_target', description, { reason });
}
