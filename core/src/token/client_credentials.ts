// The grant type `client_credentials`.
import { accessFor, audienceOf, resourcesIn } from '../clients/access.ts';
import { isPersonalScope } from '../protocol/client_metadata.ts';
import { formatScope, refusedScope, selectScopes } from '../protocol/records.ts';
import { mintAccessToken } from '../tokens/mint.ts';
import { type Grant, overtaken } from './grant.ts';

/** The client acts for itself (RFC 6749 §4.4), so there is no user and no refresh token. */
export const clientCredentials: Grant = async (context, client, form, _call, confirmation) => {
  const ownScopes = client.scopes.filter((scope) => !isPersonalScope(scope));
  const wanted = selectScopes(form.get('scope'), client.scopes, ownScopes);
  const personal = wanted.filter(isPersonalScope);
  if (personal.length > 0) throw refusedScope('a scope requires a user', formatScope(personal));

  const asked = resourcesIn(form);
  const { scopes, resources } = await accessFor(context, client, {
    scopes: wanted,
    areScopesNamed: form.has('scope'),
    ...(asked !== undefined && { resources: asked }),
  });
  const audience = audienceOf(context, resources);
  const access = await mintAccessToken(context, { client, scopes, audience, confirmation });
  const basis = { clientGeneration: client.generation ?? 0 };
  if ((await context.storage.tokens.issue([access.record], basis)) !== 'issued') throw overtaken();
  return { access };
};
