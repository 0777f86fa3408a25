import type { ErrorCode, InactiveReason, ReasonCode } from './errors.ts';

export type Operation =
  | 'introspection'
  | 'revocation'
  | 'userinfo'
  | 'token'
  | 'authorization'
  | 'logout'
  | 'pushed_authorization_request'
  | 'registration'
  | 'client_configuration'
  | 'metadata'
  | 'jwks';

interface EventOrigin {
  readonly operation: Operation;
  readonly requestId?: string;
  readonly clientId?: string;
}

/** What happened, for logs and audit; never with a token, secret or code. `tokenId` is a `jti` or digest. */
export type ServerEvent = EventOrigin &
  (
    | {
        readonly type: 'refused';
        readonly error: ErrorCode;
        readonly status: number;
        readonly reason: ReasonCode;
        /** The value of the request that was refused: at most 256 characters, escaped, without bearer values. */
        readonly value?: string;
        /** What happened underneath, for the log alone. */
        readonly cause?: unknown;
      }
    | { readonly type: 'inactive'; readonly reason: InactiveReason; readonly tokenId?: string }
    /** A call of an authenticated client, or with a live token, that was answered. */
    | { readonly type: 'answered' }
    | { readonly type: 'token_revoked'; readonly tokenId: string }
    /** Answered with 200 as RFC 7009 §2.2 wants it, but nothing was revoked. */
    | { readonly type: 'revocation_ignored'; readonly reason: ReasonCode }
    | { readonly type: 'refresh_token_reused'; readonly tokenId: string }
    | { readonly type: 'authorization_code_reused'; readonly tokenId: string }
    | { readonly type: 'client_secret_not_decoded' }
    /** The client sent `audience`, which is no parameter here: what a token is for is said by `resource` (RFC 8707). */
    | { readonly type: 'audience_ignored'; readonly value: string }
    /** A client did not learn that a session has ended. */
    | {
        readonly type: 'logout_not_delivered';
        readonly outcome: 'refused' | 'failed';
        /** HTTP status of its answer. */
        readonly answeredStatus?: number;
        /** What happened underneath, for the log alone. */
        readonly cause?: unknown;
      }
  );

/** What becomes known about one request while it is answered. */
export interface Call {
  readonly operation: Operation;
  /** Set once the client is authenticated, or named by a token that is alive. */
  clientId?: string;
  /** The host's identifier of the request. */
  readonly requestId?: string;
}
