// Events for logs and audits.
import type { Operation } from './endpoint_names.ts';
import type { ErrorCode, InactiveReason, ReasonCode } from './errors.ts';

interface EventOrigin {
  readonly operation: Operation;
  readonly requestId?: string;
  readonly clientId?: string;
}

/** An event for logs and audits. Never contains a token, secret or code. `tokenId` is a `jti` or a digest. */
export type ServerEvent = EventOrigin &
  (
    | {
        readonly type: 'refused';
        readonly error: ErrorCode;
        readonly status: number;
        readonly reason: ReasonCode;
        /** The refused value: at most 256 characters, escaped, without bearer values. */
        readonly value?: string;
        /** What happened underneath, for the log alone. */
        readonly cause?: unknown;
      }
    | {
        readonly type: 'inactive';
        readonly reason: InactiveReason;
        readonly tokenId?: string;
        /** What happened underneath, for the log alone. */
        readonly cause?: unknown;
      }
    /**
     * A request that was not refused. Every request at an endpoint, except a CORS preflight, ends with this event or with
     * `refused`. If the response cannot be sent, `refused` follows.
     */
    | {
        readonly type: 'answered';
        readonly issued?: IssuedKinds;
        readonly acting?: ActingClient | undefined;
      }
    | { readonly type: 'token_revoked'; readonly tokenId: string }
    /** The response is 200 (RFC 7009 §2.2), but nothing was revoked. */
    | {
        readonly type: 'revocation_ignored';
        readonly reason: ReasonCode;
        /** What happened underneath, for the log alone. */
        readonly cause?: unknown;
      }
    | { readonly type: 'refresh_token_reused'; readonly tokenId: string }
    | { readonly type: 'authorization_code_reused'; readonly tokenId: string }
    | { readonly type: 'client_secret_not_decoded' }
    /** The client sent `audience`, which this server ignores. Clients request resources with `resource` (RFC 8707). */
    | { readonly type: 'audience_ignored'; readonly value: string }
    /** A client was not notified that a session has ended. */
    | {
        readonly type: 'logout_not_delivered';
        readonly outcome: 'refused' | 'failed';
        /** HTTP status of the client’s answer. */
        readonly answeredStatus?: number;
        /** What happened underneath, for the log alone. */
        readonly cause?: unknown;
      }
  );

/** What a response of the token endpoint contains besides an access token. */
export interface IssuedKinds {
  readonly grantType: string;
  /** Whether there is a refresh token other than the one in the request. */
  readonly hasRefreshToken: boolean;
  readonly hasIdToken: boolean;
}

/** A client that has obtained a token for a user by exchange, or one whose token was used. Also personal access tokens. */
export interface ActingClient {
  readonly clientId: string;
  readonly subject: string;
  /** The client from whose token the first one was obtained. */
  readonly application: string;
  /** Of a personal access token: the grant that it belongs to. */
  readonly personal?: string | undefined;
}

/** Facts about a request that become known while it is processed. */
export interface Call {
  readonly operation: Operation;
  /** Set when the client has authenticated or an active token names it. */
  clientId?: string;
  /** The host’s request ID. */
  readonly requestId?: string;
  /** Set when the token endpoint has issued tokens. */
  issued?: IssuedKinds;
  /** Set when an exchanged token was issued or used. */
  acting?: ActingClient | undefined;
}
