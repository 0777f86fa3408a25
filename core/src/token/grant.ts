// The contract of a grant type.
import type { ClientContext } from '../clients/client.ts';
import type { Proofs } from '../confirmation/confirmation.ts';
import type { Call } from '../http/events.ts';
import type { Form } from '../http/form.ts';
import type { ClientRecord } from '../protocol/records.ts';
import type { MintedAccessToken } from '../tokens/mint.ts';

/**
 * A grant type: what it looks up, and how it issues tokens.
 * @template Found what `lookUp` finds
 */
export interface Grant<Found = unknown> {
  /**
   * Looks up what the form presents, such as a code. Runs while the client is authenticated, so that storage over a
   * network looks up both in one round trip.
   */
  lookUp?(context: ClientContext, form: Form): Promise<Found>;
  /**
   * Issues tokens to a client that is authenticated and registered for the grant type.
   * @param proofs what the request proves possession of. `confirmationOfAccessToken` says what to bind tokens to.
   */
  issue(
    context: ClientContext,
    client: ClientRecord,
    form: Form,
    call: Call,
    proofs: Proofs,
    found: Found,
  ): Promise<IssuedTokens>;
}

export interface IssuedTokens {
  readonly access: MintedAccessToken;
  readonly refreshToken?: string | undefined;
  readonly idToken?: string | undefined;
  /** `issued_token_type` (RFC 8693 §2.2.1). */
  readonly type?: string;
}
