// The grant type `authorization_code`.

import { sha256 } from '#crypto';
import { refusedUse, remainingAccess } from '../clients/access.ts';
import { mayOmitPkce } from '../clients/authentication.ts';
import type { ClientContext } from '../clients/client.ts';
import {
  confirmationOfAccessToken,
  confirmationOfRefreshToken,
  type Proofs,
  requireSameConfirmation,
} from '../confirmation/confirmation.ts';
import type { OAuthError, ReasonCode } from '../http/errors.ts';
import { grantEnded, invalidGrant } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import { type Form, requireParameter, valuesIn } from '../http/form.ts';
import { equalInConstantTime } from '../platform/environment.ts';
import { AUTHORIZATION_DETAILS } from '../protocol/authorization_details.ts';
import { isUnsafeRedirectUri } from '../protocol/profile.ts';
import type { AuthorizationCodeRecord, ClientRecord } from '../protocol/records.ts';
import { isRegisteredRedirectUri } from '../protocol/redirect_uri.ts';
import type { TokenContext } from '../tokens/context.ts';
import { grantClaimsOf, mintAccessToken, mintRefreshToken, withIdToken } from '../tokens/mint.ts';
import { newTimedIdentifier, opaqueKindOf } from '../tokens/opaque_token.ts';
import { codeLife, confirmationOf } from '../tokens/state.ts';
import type { Grant } from './grant.ts';

/** Redeems an authorization code (RFC 6749 §4.1.3) with PKCE (RFC 7636 §4.5), and issues an ID token for `openid`. */
export const authorizationCode: Grant<AuthorizationCodeRecord | undefined> = {
  lookUp: async (context, form) => findCode(context, requireParameter(form, 'code')),
  async issue(context, client, form, call, proofs, record) {
    if (!record) throw invalidCode('code_unknown');
    await requireMatch(record, client, form);
    await requireUnused(context, record, call, proofs);
    requireUnchanged(record, client);
    return redeem(context, client, form, call, proofs, record);
  },
};

/** Refuses a code without what it is bound to, and one that was redeemed before, which also revokes its tokens. */
export async function requireUnused(
  context: ClientContext,
  record: AuthorizationCodeRecord,
  call: Call,
  { proven, dpop }: Proofs,
): Promise<void> {
  const bound = confirmationOf({ record, claims: record.claims });
  if (bound !== undefined) requireSameConfirmation(bound, proven);
  if (record.redeemedAtMs !== undefined) throw await revokeReused(context, record, call, dpop);
}

/** Issues the tokens of a code that this client may redeem. */
export const redeem: Grant<AuthorizationCodeRecord>['issue'] = async (
  context,
  client,
  form,
  call,
  { proven, dpop },
  record,
) => {
  await requireAlive(context, record);
  const refusal = await refusedUse(context, client, record.subject, record.claims);
  if (refusal !== undefined) throw invalidGrant('the user may not use this client', refusal);

  const remaining = await remainingAccess(context, client, record);
  const selected = remaining.select(valuesIn(form, 'resource'), form.get(AUTHORIZATION_DETAILS));
  const { subject, grantId, sessionId, nonce, claimsRequest } = record;
  const { scopes, resources, authorizationDetails } = remaining;
  const person = { subject, sub: record.claims.sub };
  const claims = grantClaimsOf(client, record.claims);
  const hasRefresh = client.grantTypes.includes('refresh_token');
  const purpose = {
    client,
    scopes,
    confirmation: proven && confirmationOfAccessToken(client, proven),
    person,
    claims,
    grantId,
    // Without a refresh token, nothing else is tied to the access token.
    ...(hasRefresh && { familyId: newTimedIdentifier(context), pairId: newTimedIdentifier(context) }),
    ...{ sessionId, claimsRequest, resources, authorizationDetails },
  };
  const refresh = hasRefresh
    ? await mintRefreshToken(context, {
        ...purpose,
        confirmation: proven && confirmationOfRefreshToken(client, proven),
      })
    : undefined;
  const { access, idToken } = await withIdToken(context, {
    access: await mintAccessToken(context, { ...purpose, ...selected }, refresh?.record.expiresAt),
    ...{ client, person, claims, claimsRequest, ...(nonce !== undefined && { nonce }) },
  });
  const tokens = refresh === undefined ? [access.record] : [access.record, refresh.record];

  // The code is redeemed last. If signing fails, the client can try again.
  const outcome = await context.storage.authorizationCodes.redeem(record, tokens, dpop?.once);
  if (outcome === 'already_redeemed') throw await revokeReused(context, record, call, dpop);
  if (outcome !== 'issued') throw grantEnded();
  return { access, refreshToken: refresh?.token, idToken };
};

async function findCode(
  { storage }: TokenContext,
  code: string,
): Promise<AuthorizationCodeRecord | undefined> {
  return opaqueKindOf(code) === 'authorization_code'
    ? await storage.authorizationCodes.get(await sha256(code))
    : undefined;
}

const NO_CHALLENGE = 'the authorization request had no code_challenge';

/** Checks that the code belongs to this client, redirect URI and verifier. */
async function requireMatch(
  record: AuthorizationCodeRecord,
  client: ClientRecord,
  form: Form,
): Promise<void> {
  if (record.clientId !== client.id) throw invalidCode('code_foreign');

  const redirectUri = form.get('redirect_uri');
  if (redirectUri === undefined && !mayOmitRedirectUri(record, client))
    throw invalidGrant('the redirect_uri is missing', 'redirect_uri_missing', record.redirectUri);
  if (redirectUri !== undefined && redirectUri !== record.redirectUri)
    throw invalidGrant('the redirect_uri does not match', 'redirect_uri_mismatch', redirectUri);

  const verifier = form.get('code_verifier');
  const { codeChallenge } = record;
  if (codeChallenge === undefined) {
    if (verifier === undefined) return;
    // A verifier without a challenge is a downgrade (RFC 9700 §2.1.1).
    throw invalidGrant(NO_CHALLENGE, 'pkce_unexpected');
  }
  if (verifier === undefined) throw invalidGrant('the code_verifier is missing', 'pkce_missing');
  if (!(await verifierFits(verifier, codeChallenge)))
    throw invalidGrant('the code_verifier does not match', 'pkce_mismatch');
}

/**
 * Whether a request may lack `redirect_uri`: the authorization request lacked it too (RFC 6749 §4.1.3), or PKCE protects
 * the code and it could go to no other registered URI, as in OAuth 2.1, which drops the parameter. The port of a loopback
 * URI does not count.
 */
function mayOmitRedirectUri(
  { redirectUriGiven, redirectUri, codeChallenge }: AuthorizationCodeRecord,
  client: ClientRecord,
): boolean {
  const isOnly = client.redirectUris.length === 1 && isRegisteredRedirectUri(client, redirectUri);
  return !redirectUriGiven || (codeChallenge !== undefined && isOnly);
}

/** RFC 7636 §4.1. */
const VERIFIER = /^[A-Za-z0-9\-._~]{43,128}$/;

/** Whether the verifier matches the S256 challenge (RFC 7636 §4.6). */
export async function verifierFits(verifier: string, challenge: string): Promise<boolean> {
  return VERIFIER.test(verifier) && equalInConstantTime(await sha256(verifier), challenge);
}

/** Refuses a code that the client could not get under its present registration. */
function requireUnchanged(record: AuthorizationCodeRecord, client: ClientRecord): void {
  if (!isRegisteredRedirectUri(client, record.redirectUri))
    throw invalidGrant(
      'the redirect_uri is no longer registered',
      'redirect_uri_mismatch',
      record.redirectUri,
    );
  if (isUnsafeRedirectUri(client, record.redirectUri))
    throw invalidGrant('the redirect_uri is not https', 'redirect_uri_exposed', record.redirectUri);
  if (record.codeChallenge === undefined && !mayOmitPkce(client))
    throw invalidGrant(NO_CHALLENGE, 'pkce_missing');
}

async function requireAlive(context: TokenContext, record: AuthorizationCodeRecord): Promise<void> {
  const life = await codeLife(context, record);
  if (life.alive) return;
  throw invalidCode(life.reason === 'expired' ? 'code_expired' : life.reason);
}

function invalidCode(reason: ReasonCode): OAuthError {
  return invalidGrant('the authorization code is not valid', reason);
}

/** Revokes what the code has issued (RFC 6749 §4.1.2). Only a client with the right verifier gets this far. */
async function revokeReused(
  context: ClientContext,
  record: AuthorizationCodeRecord,
  call: Call,
  dpop: Proofs['dpop'],
): Promise<OAuthError> {
  await dpop?.useUp(); // a recorded request that is sent again revokes nothing
  await context.storage.authorizationCodes.revoke(record, 'code_reused');
  context.onEvent({ ...call, type: 'authorization_code_reused', tokenId: record.id });
  return invalidCode('code_reused');
}
