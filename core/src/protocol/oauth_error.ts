// Every entry point loads this file, so it also checks the version of Node.
import './supported_node.ts';
import type { BrowserDelivery } from './http.ts';
import type { ReasonCode } from './reasons.ts';

/** Every error code that goes over the wire, grouped by the document that defines it, with its status. */
export const ERROR_STATUS = {
  // RFC 6749 §5.2
  invalid_request: 400,
  invalid_client: 401,
  invalid_grant: 400,
  unauthorized_client: 400,
  unsupported_grant_type: 400,
  invalid_scope: 400,
  // RFC 6749 §4.1.2.1
  access_denied: 403,
  unsupported_response_type: 400,
  server_error: 500,
  temporarily_unavailable: 503,
  // RFC 7009 §2.2.1
  unsupported_token_type: 400,
  // RFC 6750 §3.1
  invalid_token: 401,
  insufficient_scope: 403,
  // RFC 8707 §2
  invalid_target: 400,
  // RFC 9101 §7
  invalid_request_object: 400,
  invalid_request_uri: 400,
  // OpenID Connect Core Error Code unmet_authentication_requirements §2
  unmet_authentication_requirements: 400,
  // OpenID Connect Core §3.1.2.6
  login_required: 400,
  consent_required: 400,
  interaction_required: 400,
  account_selection_required: 400,
  request_not_supported: 400,
  request_uri_not_supported: 400,
  registration_not_supported: 400,
  // RFC 7591 §3.2.2
  invalid_redirect_uri: 400,
  invalid_client_metadata: 400,
  unapproved_software_statement: 400,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

export interface OAuthErrorDetails {
  /** HTTP status, where it is not the code's own. */
  readonly status?: number | undefined;
  /** Stable reason for events and logs; never on the wire. */
  readonly reason?: ReasonCode | undefined;
  /** Scope that would have sufficed (RFC 6750 §3). */
  readonly scope?: string | undefined;
  /** Headers that the response carries besides the usual ones. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** The client concerned, once it is known; for events. */
  readonly clientId?: string | undefined;
  /**
   * The value of the request that was refused, such as an unregistered redirect URI; for events and logs, never on the
   * wire. Never a token, code, secret or password.
   */
  readonly value?: string | undefined;
  /** Where the browser takes the refusal (RFC 6749 §4.1.2.1). */
  readonly redirectTo?: string | undefined;
  /** What the browser posts there (OAuth 2.0 Form Post Response Mode §2); without it, `redirectTo` holds it all. */
  readonly formPost?: BrowserDelivery['formPost'];
  /** Whether a page asks the person before the browser goes there: nobody checked the client (RFC 9700 §4.11.2). */
  readonly asksBeforeLeaving?: boolean | undefined;
  /** What happened underneath; logged, never on the wire. */
  readonly cause?: unknown;
}

/**
 * A refusal, as it goes over the wire. `description` is a literal without request data,
 * within the characters that RFC 6749 §5.2 allows.
 */
export class OAuthError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly description: string;
  readonly reason: ReasonCode | undefined;
  readonly scope: string | undefined;
  /**
   * Those of the answer but its media type, for whoever renders it: that no cache keeps it (RFC 6749 §5.1), and at an
   * endpoint its challenge and CORS.
   */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly clientId: string | undefined;
  readonly value: string | undefined;
  readonly redirectTo: string | undefined;
  readonly formPost: BrowserDelivery['formPost'];
  readonly asksBeforeLeaving: boolean;

  constructor(code: ErrorCode, description: string, details: OAuthErrorDetails = {}) {
    super(`${code}: ${description}`, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'OAuthError';
    this.code = code;
    this.description = description;
    this.status = details.status ?? ERROR_STATUS[code];
    this.reason = details.reason;
    this.scope = details.scope;
    this.headers = { 'cache-control': 'no-store', ...details.headers };
    this.clientId = details.clientId;
    this.value = details.value;
    this.redirectTo = details.redirectTo;
    this.formPost = details.formPost;
    this.asksBeforeLeaving = details.asksBeforeLeaving ?? false;
  }

  /** The same refusal with more headers. */
  withHeaders(headers: Readonly<Record<string, string | readonly string[]>>): OAuthError {
    return new OAuthError(this.code, this.description, {
      ...this,
      cause: this.cause,
      headers: { ...this.headers, ...headers },
    });
  }
}

/**
 * Storage could not be asked, or the outcome of a write is unknown. It is never an answer. Status and headers are those
 * of one, for frameworks that answer errors by them.
 */
export class StorageFault extends Error {
  readonly status = 503;
  readonly headers: Readonly<Record<string, string>> = retryAfter(1);

  constructor(cause: unknown) {
    super('storage is unavailable', { cause });
    this.name = 'StorageFault';
  }
}

/** Headers of an answer that another attempt may better. */
export function retryAfter(seconds: number): Readonly<Record<string, string>> {
  return { 'cache-control': 'no-store', 'retry-after': String(seconds) };
}

/** An option does not fit; the message names the option and what was expected. */
export class ConfigurationError extends Error {
  readonly option: string;

  constructor(option: string, expected: string, message = `${option}: expected ${expected}`) {
    super(message);
    this.name = 'ConfigurationError';
    this.option = option;
  }
}
