// § refers to RFC 6750.
import { RecentlyUsed } from '@grantd/core/internal/cache';
import { type Clock, observe } from '@grantd/core/internal/environment';
import {
  bareBearerChallenges,
  bearerChallenges,
  bearerCredentials,
  type ChallengingResource,
  formatChallenges,
} from '@grantd/core/internal/http/bearer';
import { refusalResponse } from '@grantd/core/internal/http/error_response';
import { ConfigurationError, OAuthError } from '@grantd/core/internal/http/errors';
import { isScopeToken } from '@grantd/core/internal/http/form';
import {
  closingHeaders,
  type HttpRequest,
  type HttpResponse,
  headerValue,
  mediaTypeOf,
  type NodeHeaders,
  queryOf,
} from '@grantd/core/internal/http/http';
import {
  anyFunction,
  anyText,
  anyValue,
  type KindsOf,
  oneOf,
  requireKinds,
  textList,
} from '@grantd/core/internal/option_kinds';
import { requireUrl } from './issuer_metadata.ts';
import {
  type AccessTokens,
  AuthorizationServerFault,
  asFault,
  type VerifiedAccessToken,
} from './verified_access_token.ts';

export interface ProtectionOptions {
  /**
   * How tokens are checked: an `AccessTokenVerifier`, an `AccessTokenIntrospector`, `EmbeddedAccessTokens`, or the
   * host's own.
   */
  readonly tokens: AccessTokens;
  /** All of them must have been granted. Default: none, so that any token for this API will do. */
  readonly scopes?: readonly string[];
  /** What a challenge calls the API. Default: `api`. */
  readonly realm?: string;
  /** URL of the API's metadata, for the challenge (RFC 9728 §5.1). Default: none. */
  readonly resourceMetadata?: string;
  /**
   * What becomes of a refusal or an outage: answered at once, or handed to the error handling of the framework, as an
   * error with `status` and `headers`. Default: `render`.
   */
  readonly errors?: 'render' | 'forward';
  /**
   * Called where an outage is answered, with the reason as its `cause`; for one reason at most once a minute. Of one
   * that is forwarded the host hears anyway. Default: the messages of fault and cause go to `console.error`.
   */
  readonly onFault?: (fault: AuthorizationServerFault) => void;
  /** Milliseconds since 1970. Default: the system's clock. */
  readonly clock?: Clock;
}

const PROTECTION_OPTIONS: KindsOf<ProtectionOptions> = {
  tokens: anyValue,
  scopes: textList('SCOPES', 'a list of scopes', isScopeToken),
  realm: anyText,
  resourceMetadata: anyText,
  errors: oneOf('render', 'forward'),
  onFault: anyFunction,
  clock: anyFunction,
};

/** A request as far as its protection looks at it; a body only where the host has parsed it already. */
type ProtectedRequest = Pick<HttpRequest, 'method' | 'url' | 'headers'> & { readonly body?: unknown };

/** What a request may do; or what it is answered. */
export type Verdict = { readonly token: VerifiedAccessToken } | { readonly answer: Answer };

/** A response whose headers are one line each. */
export interface Answer extends HttpResponse {
  readonly headers: Record<string, string>;
}

/** What every framework's `protect` does. */
export class Protection {
  readonly #tokens: AccessTokens;
  readonly #scopes: readonly string[];
  readonly #resource: ChallengingResource;
  readonly #isForwarding: boolean;
  readonly #faults: ToldFaults;

  /** @throws {ConfigurationError} an option does not fit */
  constructor(options: ProtectionOptions) {
    requireKinds(options, PROTECTION_OPTIONS);
    const { tokens, scopes = [], realm = 'api', resourceMetadata, errors = 'render' } = options;
    const { onFault = reportFault, clock = Date.now } = options;
    if (typeof tokens?.verify !== 'function')
      throw new ConfigurationError('tokens', 'what verifies tokens, such as an AccessTokenVerifier');
    if (!/^[\x20-\x7E]+$/.test(realm)) throw new ConfigurationError('realm', 'a name in ASCII');
    this.#tokens = tokens;
    this.#scopes = scopes;
    this.#resource = {
      realm,
      resourceMetadata: resourceMetadata && requireUrl('resourceMetadata', resourceMetadata),
    };
    this.#isForwarding = errors === 'forward';
    this.#faults = new ToldFaults(onFault, clock);
  }

  /**
   * @throws {OAuthError} `errors` is `forward`: a refusal, with its challenge among its headers
   * @throws {AuthorizationServerFault} `errors` is `forward`: nothing could be found out about the token
   * @throws whatever else goes wrong
   */
  async judge(request: ProtectedRequest): Promise<Verdict> {
    try {
      return { token: await this.#admit(request) };
    } catch (thrown) {
      const error = thrown instanceof OAuthError ? this.#challenging(thrown) : asFault(thrown);
      const answer = this.#isForwarding ? undefined : answerTo(error);
      if (answer === undefined) throw error;
      if (error instanceof AuthorizationServerFault) this.#faults.tell(error);
      const headers = Object.fromEntries(
        Object.entries(answer.headers).map(([name, value]) => [name, String(value)]),
      );
      return { answer: { ...answer, headers, body: request.method === 'HEAD' ? '' : answer.body } };
    }
  }

  /** The same of a request as Fetch has it; its body is not looked at. */
  judgeFetched({ method, url, headers }: Request): Promise<Verdict> {
    return this.judge({ method, url, headers: Object.fromEntries(headers) });
  }

  async #admit(request: ProtectedRequest): Promise<VerifiedAccessToken> {
    const token = await this.#tokens.verify(readToken(request));
    if (this.#scopes.every((scope) => token.scopes.includes(scope))) return token;
    throw new OAuthError('insufficient_scope', 'the access token lacks a scope that is needed', {
      reason: 'scope_missing',
      scope: this.#scopes.join(' '),
      clientId: token.clientId,
    });
  }

  /** RFC 6750 §3 */
  #challenging(error: OAuthError): OAuthError {
    const challenges = isBare(error)
      ? bareBearerChallenges(this.#resource)
      : bearerChallenges(error, this.#resource);
    return error.withHeaders({ 'www-authenticate': formatChallenges(challenges) });
  }
}

/**
 * The token in the header (RFC 6750 §2.1), the one place where it is looked for.
 * @throws {OAuthError} `invalid_request`: the header is malformed, or a token came in another way as well
 */
function readToken(request: ProtectedRequest): string {
  const authorization = headerValue(request, 'authorization');
  const isBearer = authorization !== undefined && /^bearer(?: |$)/i.test(authorization);
  const ways = [isBearer, hasTokenInQuery(request), hasTokenInForm(request)];
  if (ways.filter(Boolean).length > 1) {
    throw new OAuthError('invalid_request', 'the access token was sent in more than one way', {
      reason: 'access_token_repeated',
    });
  }
  // Also where it came in a way that is not looked at: the client does not know how to authenticate (§3.1).
  if (!isBearer) {
    throw new OAuthError('invalid_token', 'the access token is missing', { reason: 'access_token_missing' });
  }
  const token = bearerCredentials(authorization);
  if (token !== undefined) return token;
  throw new OAuthError('invalid_request', 'the Authorization header carries no bearer token', {
    reason: 'malformed',
  });
}

function hasTokenInQuery(request: ProtectedRequest): boolean {
  const query = queryOf(request);
  return query !== '' && new URLSearchParams(query).has('access_token');
}

function hasTokenInForm({ headers, body }: ProtectedRequest): boolean {
  if (mediaTypeOf({ headers }) !== 'application/x-www-form-urlencoded') return false;
  return typeof body === 'object' && body !== null && Object.hasOwn(body, 'access_token');
}

function isBare({ reason }: OAuthError): boolean {
  return reason === 'access_token_missing';
}

/** @returns `undefined` for what is neither a refusal nor an outage */
function answerTo(error: unknown): HttpResponse | undefined {
  if (error instanceof OAuthError) return isBare(error) ? bareResponse(error) : refusalResponse(error);
  if (error instanceof AuthorizationServerFault) return refusalResponse(unavailable(error));
  return undefined;
}

function bareResponse({ status, headers }: OAuthError): HttpResponse {
  return { status, headers, body: '' };
}

function unavailable({ headers }: AuthorizationServerFault): OAuthError {
  return new OAuthError('temporarily_unavailable', 'the access token cannot be checked at the moment', {
    headers,
  });
}

/**
 * Milliseconds in which a reason is told once. In an outage every request has a fault, and none says more than the
 * first; once a minute shows how long it lasts, also where each of many routes has a protection of its own.
 */
const TOLD_AGAIN_AFTER = 60 * 1000;

/** Reasons that are remembered as told, within a factor of two; the library itself has a dozen. */
const MOST_REASONS = 50;

/** Tells the host why nothing could be found out about tokens. */
class ToldFaults {
  readonly #onFault: (fault: AuthorizationServerFault) => void;
  readonly #clock: Clock;
  readonly #toldAtMs = new RecentlyUsed<number>(MOST_REASONS);

  constructor(onFault: (fault: AuthorizationServerFault) => void, clock: Clock) {
    this.#onFault = onFault;
    this.#clock = clock;
  }

  tell(fault: AuthorizationServerFault): void {
    const reason = reasonOf(fault);
    const nowMs = this.#clock();
    if (nowMs - (this.#toldAtMs.get(reason) ?? -Infinity) < TOLD_AGAIN_AFTER) return;
    this.#toldAtMs.set(reason, nowMs);
    observe('onFault', this.#onFault, fault);
  }
}

/** A host that listens to nothing still learns why its API answers 503. */
export function reportFault(fault: AuthorizationServerFault): void {
  console.error(`grantd: ${reasonOf(fault)}`);
}

/**
 * Two messages that hold nothing of a request, and the code of the runtime's own failure, such as `ECONNREFUSED`, whose
 * message may quote what it was given.
 */
function reasonOf({ message, cause }: AuthorizationServerFault): string {
  if (!(cause instanceof Error)) return message;
  const code = codeBelow(cause);
  return `${message}: ${cause.message}${code === undefined ? '' : ` (${code})`}`;
}

/** Of the first failure below that has one; a runtime wraps them a few times at most. */
function codeBelow(error: Error, depth = 4): string | undefined {
  const { cause } = error;
  if (!(cause instanceof Error) || depth === 0) return undefined;
  const code: unknown = 'code' in cause ? cause.code : undefined;
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code)) return code;
  return codeBelow(cause, depth - 1);
}

/** What is used of a response of `node:http`, and of the frameworks that hand it on. */
export interface NodeResponse {
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: string): unknown;
}

/** What is used of Fastify's reply. */
export interface FastifyReply {
  code(status: number): unknown;
  headers(headers: Record<string, string>): unknown;
  send(body: Uint8Array | undefined): unknown;
}

export function sendByNode(
  request: NodeHeaders & { readonly method?: string | undefined },
  response: NodeResponse,
  { status, headers, body }: Answer,
): void {
  const bytes = new TextEncoder().encode(body).length;
  response.writeHead(status, {
    ...headers,
    ...closingHeaders(request),
    ...(request.method !== 'HEAD' && { 'content-length': String(bytes) }),
  });
  response.end(body);
}

/** @returns what a hook returns that has answered */
export function sendByFastify(
  request: NodeHeaders,
  reply: FastifyReply,
  { status, headers, body }: Answer,
): unknown {
  reply.code(status);
  reply.headers({ ...headers, ...closingHeaders(request) });
  // Of a text it would write the type anew, and to nothing it would give one.
  return reply.send(body === '' ? undefined : new TextEncoder().encode(body));
}
