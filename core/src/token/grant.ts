import type { Context } from '../context.ts';
import { OAuthError, type ReasonCode } from '../http/errors.ts';
import type { Call } from '../http/events.ts';
import type { Form } from '../http/form.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { MintedToken } from '../tokens/mint.ts';

/** What a grant type issues to a client that is authenticated and registered for it. */
export type Grant = (context: Context, client: ClientRecord, form: Form, call: Call) => Promise<IssuedTokens>;

/** What was issued together. */
export interface IssuedTokens {
  readonly access: MintedToken;
  readonly refreshToken?: string | undefined;
  readonly idToken?: string | undefined;
}

/** A refusal of what the client presented (RFC 6749 §5.2). */
export function invalidGrant(description: string, reason: ReasonCode, value?: string): OAuthError {
  return new OAuthError('invalid_grant', description, { reason, value });
}

/** Between the check and the write something was revoked or disabled; nothing was issued. */
export function overtaken(): OAuthError {
  return invalidGrant('the grant is no longer valid', 'issuance_overtaken');
}
