import type { ClaimsRequest } from '../../../protocol/claims_request.ts';
import type { Form } from '../../../protocol/form.ts';
import { OAuthError } from '../../../protocol/oauth_error.ts';
import type { ClientRecord } from '../../../protocol/records.ts';
import type { Context } from '../../context.ts';

/**
 * The authentication context classes that are wanted, the most wanted first: as the claim `acr`, as `acr_values`, or as
 * the client registered (OpenID Connect Core §3.1.2.1, §5.5.1.1).
 * @throws {OAuthError} `unmet_authentication_requirements`: one must be met, and the server has none of them
 */
export function acrValuesOf(
  { acrValues }: Context,
  client: ClientRecord,
  form: Form,
  claims: ClaimsRequest | undefined,
): readonly string[] {
  const required = requiredAcrOf(claims);
  if (required !== undefined && !required.some((acr) => acrValues.includes(acr))) throw unmetAcr();
  const asked = acrOf(claims);
  if (asked.length > 0) return asked;
  const parameter = form
    .get('acr_values')
    ?.split(' ')
    .filter((acr) => acr !== '');
  return parameter ?? client.metadata?.default_acr_values ?? [];
}

/** The classes of which the sign-in must have been one; `undefined` where any will do (OpenID Connect Core §5.5.1.1). */
export function requiredAcrOf(claims: ClaimsRequest | undefined): readonly string[] | undefined {
  const asked = acrOf(claims);
  return claims?.id_token?.acr?.essential === true && asked.length > 0 ? asked : undefined;
}

function acrOf(claims: ClaimsRequest | undefined): readonly string[] {
  const { value, values = [] } = claims?.id_token?.acr ?? {};
  return [value, ...values].filter((acr) => typeof acr === 'string');
}

/** OpenID Connect Core Error Code unmet_authentication_requirements. */
export function unmetAcr(): OAuthError {
  return new OAuthError(
    'unmet_authentication_requirements',
    'the authentication context that is asked for cannot be met',
    { reason: 'acr_unmet' },
  );
}
