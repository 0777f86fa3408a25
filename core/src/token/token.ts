// The token endpoint. § refers to RFC 6749.
import { reportAudience } from '../clients/access.ts';
import { authenticateClient, isConfidential } from '../clients/authentication.ts';
import { type ClientContext, noteUse } from '../clients/client.ts';
import { type Proofs, proofsOf } from '../confirmation/confirmation.ts';
import { checkProof } from '../confirmation/dpop.ts';
import { OAuthError } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import { formatScope, readForm, requireParameter } from '../http/form.ts';
import { type HttpRequest, type HttpResponse, jsonResponse } from '../http/http.ts';
import { secondsOf } from '../platform/environment.ts';
import {
  type DEVICE_GRANT,
  type EXCHANGE_GRANT,
  type FurtherGrants,
  type GrantType,
  type JWT_BEARER_GRANT,
  requirementsOf,
} from '../protocol/client_metadata.ts';
import { authorizationCode } from './authorization_code.ts';
import { clientCredentials } from './client_credentials.ts';
import type { Grant, IssuedTokens } from './grant.ts';
import { refreshToken } from './refresh_token.ts';

/** The functions of each grant type. `GRANTS` says what a client needs for it. */
const GRANT_FUNCTIONS: Readonly<
  Record<Exclude<GrantType, typeof DEVICE_GRANT | typeof EXCHANGE_GRANT | typeof JWT_BEARER_GRANT>, Grant>
> = {
  authorization_code: authorizationCode,
  refresh_token: refreshToken,
  client_credentials: clientCredentials,
};

/** `audience` of a token exchange (RFC 8693 §2.1). */
const REPEATABLE = ['resource', 'audience'];

type Grants = Partial<Readonly<Record<GrantType, Grant>>>;

/** The endpoint with further grants, such as that of devices (RFC 8628 §3.4). A grant that is missing is not supported. */
export function tokenWith(further: FurtherGrants) {
  const grants = { ...GRANT_FUNCTIONS, ...further } as Grants;
  return (context: ClientContext, request: HttpRequest, call: Call): Promise<HttpResponse> =>
    answer(context, request, call, grants);
}

/** `POST /token` (RFC 6749 §3.2). */
export const token = tokenWith({});

async function answer(context: ClientContext, request: HttpRequest, call: Call, grants: Grants) {
  // §3.2 read the request and authenticate the client
  const form = readForm(request, REPEATABLE);
  const lookUp = grantOf(grants, form.get('grant_type') ?? '')?.lookUp?.(context, form);
  lookUp?.catch(() => undefined); // awaited below, unless the client is refused
  const client = await authenticateClient(context, request, form, call, checkProof);
  reportAudience(context, form, call);
  const grantType = requireParameter(form, 'grant_type') as GrantType;

  // §5.2 check the grant type
  const grant = grantOf(grants, grantType);
  if (grant === undefined) {
    throw new OAuthError(
      'unsupported_grant_type',
      grantOf(grants, grantType.trim())
        ? 'the grant_type has white space around it'
        : 'the grant_type is not supported',
      { reason: 'grant_unknown', value: grantType },
    );
  }
  if (!client.grantTypes.includes(grantType)) {
    throw new OAuthError('unauthorized_client', 'the client may not use this grant_type', {
      reason: 'grant_not_allowed',
      value: grantType,
    });
  }
  if (requirementsOf(grantType).isForConfidentialClients && !isConfidential(client)) {
    throw new OAuthError('unauthorized_client', 'only confidential clients may use this grant', {
      reason: 'grant_not_allowed',
    });
  }

  // RFC 8705 §3, RFC 9449 §5 read the proofs of possession
  const { metadata = {} } = client;
  const needsProof = metadata.dpop_bound_access_tokens || metadata.tls_client_certificate_bound_access_tokens;
  const hasProof = request.headers.dpop !== undefined || request.clientCertificate !== undefined;
  const proofs: Proofs = needsProof || hasProof ? await proofsOf(context, request, client, grantType) : {};

  // §5.1 issue the tokens
  const issuance = grant.issue(context, client, form, call, proofs, await lookUp);
  const issued = await (proofs.dpop?.during(issuance) ?? issuance);
  const hasRefreshToken = ![undefined, form.get('refresh_token')].includes(issued.refreshToken);
  if (client.registeredAt !== undefined) await noteUse(context, client, endOf(context, issued));
  call.issued = { grantType, hasRefreshToken, hasIdToken: issued.idToken !== undefined };
  return tokenResponse(context, issued);
}

function grantOf(grants: Grants, grantType: string): Grant | undefined {
  return Object.hasOwn(grants, grantType) ? grants[grantType as GrantType] : undefined;
}

/** Until when the tokens can be used at most, in seconds. */
function endOf({ clock, lifetimes }: ClientContext, { access, refreshToken }: IssuedTokens): number {
  const refreshEnd = refreshToken === undefined ? 0 : secondsOf(clock()) + lifetimes.refreshToken;
  return Math.max(access.record.expiresAt, refreshEnd);
}

/** RFC 6749 §5.1. */
function tokenResponse({ clock }: ClientContext, { access, refreshToken, idToken, type }: IssuedTokens) {
  return jsonResponse({
    access_token: access.token,
    token_type: access.record.tokenType,
    expires_in: access.record.expiresAt - secondsOf(clock()),
    ...{ issued_token_type: type, refresh_token: refreshToken }, // JSON leaves out what is absent
    ...(access.record.scopes.length > 0 && { scope: formatScope(access.record.scopes) }),
    ...(access.authorizationDetails && { authorization_details: access.authorizationDetails }), // RFC 9396 §7
    ...(idToken !== undefined && { id_token: idToken }), // OpenID Connect Core §3.1.3.3
  });
}
