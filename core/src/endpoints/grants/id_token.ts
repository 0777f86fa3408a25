import { type Claims, permittedClaims, permittedNames } from '../../protocol/claims.ts';
import type { ClaimsRequest } from '../../protocol/claims_request.ts';
import type { ClientRecord } from '../../protocol/records.ts';
import { permittedRequests, requestedClaims } from '../../protocol/requested_claims.ts';
import { mintIdToken, PROTOCOL_CLAIMS } from '../../tokens/id_token.ts';
import type { MintedAccessToken, Person } from '../../tokens/minting.ts';
import type { Context } from '../context.ts';

/** What an ID token comes along with. */
interface IdTokenOccasion {
  readonly client: ClientRecord;
  /** Absent where the client acts for itself. */
  readonly person: Person | undefined;
  readonly access: MintedAccessToken;
  /** Of the grant. */
  readonly claims: Claims;
  readonly claimsRequest: ClaimsRequest | undefined;
  readonly nonce?: string;
}

/**
 * The ID token beside an access token that was granted `openid` (OpenID Connect Core §3.1.3.3, §12.2), with the claims
 * that the authorization request wants in it, as far as the access token's scopes permit them, and the application's.
 * @returns `undefined` where none is due
 */
export async function idTokenBeside(
  context: Context,
  { client, person, access, claims, claimsRequest, nonce }: IdTokenOccasion,
): Promise<string | undefined> {
  const { scopes } = access.record;
  if (context.oidc === undefined || person === undefined || !scopes.includes('openid')) return undefined;
  const { getUserClaims, claimsByScope } = context.oidc;
  const permitted = permittedNames(scopes, claimsByScope, PROTOCOL_CLAIMS);
  const wanted = permittedRequests(claimsRequest?.id_token, permitted);
  const hasUserClaims = client.metadata?.id_token_user_claims === true;
  const attributes =
    hasUserClaims || Object.keys(wanted).length > 0 ? ((await getUserClaims(person.subject)) ?? {}) : {};
  const byScope = hasUserClaims && permittedClaims(attributes, scopes, claimsByScope, PROTOCOL_CLAIMS);
  const { clientId, subject, grantId, sessionId } = access.record;
  const added = await context.applicationClaims?.ofIdToken({
    ...{ clientId, subject, scopes, audience: [access.audience].flat(), grantId, sessionId },
  });
  return mintIdToken(context, {
    client,
    sub: person.sub,
    accessToken: access.token,
    claims,
    attributes: { ...byScope, ...requestedClaims(attributes, wanted), ...added },
    ...(nonce !== undefined && { nonce }),
  });
}
