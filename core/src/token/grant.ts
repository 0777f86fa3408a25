// The contract of a grant type, and its errors.
import type { ClientContext } from '../clients/client.ts';
import type { Proofs } from '../confirmation/confirmation.ts';
import { OAuthError, type ReasonCode } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import type { Form } from '../http/form.ts';
import type { AuthorizationCodeRecord, ClientRecord } from '../protocol/records.ts';
import type { FoundToken, NoToken } from '../tokens/context.ts';
import type { MintedAccessToken } from '../tokens/mint.ts';

/**
 * Issues tokens to a client that is authenticated and registered for the grant type.
 * @param proofs what the request proves possession of. `confirmationOfAccessToken` says what to bind tokens to.
 * @param presented the result of looking up the refresh token or code in the form, if the grant type needs one
 */
export type Grant = (
  context: ClientContext,
  client: ClientRecord,
  form: Form,
  call: Call,
  proofs: Proofs,
  presented: Presented,
) => Promise<IssuedTokens>;

export interface Presented {
  readonly refreshToken?: FoundToken | NoToken;
  readonly code?: AuthorizationCodeRecord | undefined;
}

export interface IssuedTokens {
  readonly access: MintedAccessToken;
  readonly refreshToken?: string | undefined;
  readonly idToken?: string | undefined;
}

/** The code or refresh token is not acceptable (RFC 6749 §5.2). */
export function invalidGrant(description: string, reason: ReasonCode, value?: string): OAuthError {
  return new OAuthError('invalid_grant', description, { reason, value });
}

/** A revocation or disabling happened between check and write, so nothing was issued. */
export function overtaken(): OAuthError {
  return invalidGrant('the grant is no longer valid', 'issuance_overtaken');
}
