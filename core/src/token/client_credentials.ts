// The grant type `client_credentials`.
import { accessFor, audienceOf, resourcesWithDetails } from '../clients/access.ts';
import { confirmationOfAccessToken } from '../confirmation/confirmation.ts';
import { grantEnded } from '../http/errors.ts';
import { formatScope, refusedScope, selectScopes, valuesIn } from '../http/form.ts';
import { defined } from '../platform/environment.ts';
import { AUTHORIZATION_DETAILS } from '../protocol/authorization_details.ts';
import { isPersonalScope } from '../protocol/client_metadata.ts';
import { mintAccessToken } from '../tokens/mint.ts';
import type { Grant } from './grant.ts';

/** The client acts for itself (RFC 6749 §4.4), so there is no user and no refresh token. */
export const clientCredentials: Grant = {
  async issue(context, client, form, _call, { proven }) {
    const ownScopes = client.scopes.filter((scope) => !isPersonalScope(scope));
    // RFC 9396 §6
    const types = context.authorizationDetails;
    const details = types?.read(client, form.get(AUTHORIZATION_DETAILS), true);
    const wanted = selectScopes(form.get('scope'), client.scopes, details === undefined ? ownScopes : []);
    const personal = wanted.filter(isPersonalScope);
    if (personal.length > 0) throw refusedScope('a scope requires a user', formatScope(personal));

    const { scopes, resources } = await accessFor(context, client, {
      scopes: wanted,
      mustFit: form.has('scope'),
      ...defined({ resources: valuesIn(form, 'resource'), authorizationDetails: details }),
    });
    const authorizationDetails = details && (await types?.granted({ details, clientId: client.id, scopes }));
    const audiences = authorizationDetails
      ? await resourcesWithDetails(context, client, resources, authorizationDetails)
      : resources;
    const audience = audienceOf(context, audiences);
    const confirmation = proven && confirmationOfAccessToken(client, proven);
    const purpose = { client, scopes, audience, confirmation, authorizationDetails };
    const access = await mintAccessToken(context, purpose);
    const basis = { clientGeneration: client.generation ?? 0 };
    if ((await context.storage.tokens.issue([access.record], basis)) !== 'issued') throw grantEnded();
    return { access };
  },
};
