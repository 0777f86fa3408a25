import type { Form } from '../../protocol/form.ts';
import type { ClientRecord } from '../../protocol/records.ts';
import type { Call, Context } from '../context.ts';

/** RFC 6749 §5.1. */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: string;
  /** Seconds. */
  readonly expires_in: number;
  readonly refresh_token?: string;
  readonly scope?: string;
  /** OpenID Connect Core §3.1.3.3. */
  readonly id_token?: string;
}

/** What a grant type does for a client that is authenticated and registered for it. */
export type Grant = (
  context: Context,
  client: ClientRecord,
  form: Form,
  call: Call,
) => Promise<TokenResponse>;
