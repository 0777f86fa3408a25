// Protects an API's routes: reads and checks the access token. § refers to RFC 6750.

import {
  bareChallenges,
  bearerChallenges,
  type Challenge,
  type ChallengingResource,
  dpopChallenges,
  formatChallenges,
  schemeOf,
  type TokenCredentials,
  tokenCredentials,
} from '@grantd/core/internal/http/bearer';
import { refusalResponse } from '@grantd/core/internal/http/error_response';
import { ConfigurationError, OAuthError } from '@grantd/core/internal/http/errors';
import { isScopeToken } from '@grantd/core/internal/http/form';
import {
  type ClientCertificate,
  closingHeaders,
  type HttpRequest,
  type HttpResponse,
  headerValue,
  mediaTypeOf,
  type NodeHeaders,
  queryOf,
} from '@grantd/core/internal/http/http';
import { RecentlyUsed } from '@grantd/core/internal/platform/cache';
import { type Clock, observe } from '@grantd/core/internal/platform/environment';
import {
  anyFunction,
  anyText,
  anyValue,
  type KindsOf,
  oneOf,
  requireKinds,
  seconds,
  textList,
} from '@grantd/core/internal/protocol/option_kinds';
import { sha256 } from '#crypto';
import { type DpopOptions, DpopProofs } from './dpop.ts';
import { requireUrl } from './issuer_metadata.ts';
import { ResourceMetadata } from './resource_metadata.ts';
import { isContextClass, SignInRequirements, type StepUpOptions } from './step_up.ts';
import {
  type AccessTokens,
  AuthorizationServerFault,
  asFault,
  requireBinding,
  type VerifiedAccessToken,
} from './verified_access_token.ts';

export interface ProtectionOptions extends StepUpOptions {
  /** Checks tokens: an `AccessTokenVerifier`, an `AccessTokenIntrospector`, `EmbeddedAccessTokens`, or your own. */
  readonly tokens: AccessTokens;
  /** Required scopes; a token needs all of them. Default: none. */
  readonly scopes?: readonly string[];
  /**
   * Accepts tokens that are bound to a key, with their proof (RFC 9449). Default: refuses them. A bound token is never
   * accepted without its proof.
   */
  readonly dpop?: DpopOptions;
  /** Name of the API in challenges, in ASCII. Default: `api`. */
  readonly realm?: string;
  /**
   * Names the API's metadata in challenges (RFC 9728 §5.1): their URL, or `true` for those that `metadata` serves. Their
   * URL then follows from the audience of `tokens`. Default: none.
   */
  readonly resourceMetadata?: string | boolean;
  /**
   * `render` answers refusals and outages. `forward` passes them to the framework's error handler, as errors with
   * `status` and `headers`. Default: `render`.
   */
  readonly errors?: 'render' | 'forward';
  /**
   * Receives each rendered outage, with the reason as its `cause`, at most once a minute per reason. Forwarded outages
   * are not reported. Default: prints the messages with `console.error`.
   */
  readonly onFault?: (fault: AuthorizationServerFault) => void;
  /** Returns milliseconds since 1970. Default: the system clock. */
  readonly clock?: Clock;
}

const PROTECTION_OPTIONS: KindsOf<ProtectionOptions> = {
  tokens: anyValue,
  scopes: textList('SCOPES', 'a list of scopes', isScopeToken),
  acr: textList('ACR', 'a list of at least one text of visible ASCII characters', isContextClass, 1),
  maxAge: seconds(1),
  dpop: anyValue,
  realm: anyText,
  resourceMetadata: anyValue,
  errors: oneOf('render', 'forward'),
  onFault: anyFunction,
  clock: anyFunction,
};

/** The parts of a request that are checked. `body` is only the form that the host has parsed, if any. */
type ProtectedRequest = Pick<HttpRequest, 'method' | 'url' | 'headers'> & {
  readonly body?: unknown;
  readonly clientCertificate?: PresentedCertificate | undefined;
};

/** A certificate that the client presented in the TLS handshake. */
export type PresentedCertificate = Pick<ClientCertificate, 'der'>;

/**
 * Options of `protect` in a framework.
 * @typeParam Host what the framework passes to its handlers
 */
export interface HostProtectionOptions<Host> extends ProtectionOptions {
  /**
   * Accepts tokens that are bound to a certificate, if the client presented the same one in the TLS handshake (RFC 8705
   * §3). Returns this certificate in DER. Default: refuses these tokens.
   */
  readonly clientCertificate?: (request: Host) => PresentedCertificate | undefined;
}

/** For frameworks that are built on `node:http`. `clientCertificate` receives Node's request, as `tlsCertificateOf` does. */
export interface NodeProtectionOptions extends HostProtectionOptions<NodeHeaders> {}

/**
 * Separates what depends on the framework.
 * @throws {ConfigurationError} an option is wrong; the message names it
 */
export function hostProtection<Host>(options: HostProtectionOptions<Host>): {
  readonly protection: Protection;
  certificateOf(request: Host): PresentedCertificate | undefined;
} {
  if (typeof options !== 'object' || options === null) throw new ConfigurationError('options', 'an object');
  const { clientCertificate, ...others } = options;
  requireKinds({ clientCertificate }, { clientCertificate: anyFunction });
  return {
    protection: new Protection(others),
    certificateOf: (request) => clientCertificate?.(request),
  };
}

/** The metadata of an API, for hosts that serve them apart from the routes that need a token. */
export function hostMetadata<Host>(options: HostProtectionOptions<Host>): Pick<Protection, 'metadata'> {
  return hostProtection({ ...options, resourceMetadata: true }).protection;
}

/**
 * The verified token, or the response to a refused request. With a token come the headers that the host's own response
 * needs, unless it has others of the same name.
 */
export type Verdict =
  | { readonly token: VerifiedAccessToken; readonly headers: Readonly<Record<string, string>> }
  | { readonly answer: Answer };

/** A response whose headers have one line each. */
export interface Answer extends HttpResponse {
  readonly headers: Record<string, string>;
}

/** The checks behind `protect` of every framework. */
export class Protection {
  readonly #tokens: AccessTokens;
  readonly #scopes: readonly string[];
  readonly #signIn: SignInRequirements;
  readonly #resource: ChallengingResource;
  readonly #metadata: ResourceMetadata | undefined;
  readonly #dpop: DpopProofs | undefined;
  readonly #isForwarding: boolean;
  readonly #faults: FaultReporter;

  /** @throws {ConfigurationError} an option is wrong; the message names it */
  constructor(options: ProtectionOptions) {
    requireKinds(options, PROTECTION_OPTIONS);
    const { tokens, scopes = [], realm = 'api', resourceMetadata, errors = 'render' } = options;
    const { onFault = reportFault, clock = Date.now } = options;
    if (typeof tokens?.verify !== 'function')
      throw new ConfigurationError(
        'tokens',
        'an object with the method verify, such as an AccessTokenVerifier',
      );
    if (!/^[\x20-\x7E]+$/.test(realm)) throw new ConfigurationError('realm', 'printable ASCII characters');
    this.#tokens = tokens;
    this.#scopes = scopes;
    this.#signIn = new SignInRequirements(options, clock);
    this.#dpop = options.dpop && new DpopProofs(options.dpop, clock);
    const proofAlgorithms = this.#dpop?.algorithms ?? [];
    this.#metadata =
      resourceMetadata === true
        ? new ResourceMetadata({ tokens, scopes, proofAlgorithms, name: options.realm })
        : undefined;
    this.#resource = {
      realm,
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      resourceMetadata: this.#metadata?.url ?? urlOfMetadata(resourceMetadata),
    };
    this.#isForwarding = errors === 'forward';
    this.#faults = new FaultReporter(onFault, clock);
  }

  /**
   * Checks a request. Refusals and outages become a response, unless `errors` is `forward`.
   * @throws {OAuthError} with `forward`: a refusal, with the challenge in its headers
   * @throws {AuthorizationServerFault} with `forward`: the token could not be checked
   * @throws any other error, unchanged
   */
  async judge(request: ProtectedRequest): Promise<Verdict> {
    const metadata = this.metadata(request);
    if (metadata !== undefined) return { answer: metadata };
    const nonce = (await this.#dpop?.nonceHeaders(request)) ?? {};
    try {
      return { token: await this.#admit(request), headers: nonce };
    } catch (thrown) {
      const error =
        thrown instanceof OAuthError
          ? this.#challenging(thrown, request).withHeaders(nonce)
          : asFault(thrown);
      const answer = this.#isForwarding ? undefined : answerTo(error);
      if (answer === undefined) throw error;
      if (error instanceof AuthorizationServerFault) this.#faults.report(error);
      const headers = Object.fromEntries(
        Object.entries({ ...answer.headers, ...nonce }).map(([name, value]) => [name, String(value)]),
      );
      return { answer: { ...answer, headers, body: request.method === 'HEAD' ? '' : answer.body } };
    }
  }

  /** The API's metadata, if they are served here. @returns `undefined` if the request is not for them */
  metadata(request: Pick<ProtectedRequest, 'method' | 'url'>): Answer | undefined {
    return this.#metadata?.answer(request);
  }

  /** Checks a Fetch request. Does not read its body. */
  judgeFetched(
    { method, url, headers }: Request,
    clientCertificate: PresentedCertificate | undefined,
  ): Promise<Verdict> {
    return this.judge({ method, url, headers: Object.fromEntries(headers), clientCertificate });
  }

  async #admit(request: ProtectedRequest): Promise<VerifiedAccessToken> {
    const credentials = readToken(request, this.#dpop !== undefined);
    const { scheme } = credentials;
    const certificate = request.clientCertificate && (await sha256(request.clientCertificate.der));
    const verified = await this.#tokens.verify(credentials.token, scheme, certificate);
    const token = requireBinding(verified, scheme, certificate);
    if (scheme === 'DPoP') await this.#dpop?.requireProof(request, credentials.token, token);
    const isPermitted = this.#scopes.every((scope) => token.scopes.includes(scope));
    const missingScope = isPermitted ? undefined : this.#scopes.join(' ');
    this.#signIn.check(token, missingScope);
    if (isPermitted) return token;
    throw new OAuthError('insufficient_scope', 'the access token lacks a required scope', {
      reason: 'scope_missing',
      scope: missingScope,
      clientId: token.clientId,
    });
  }

  /** Adds the challenges (RFC 6750 §3, RFC 9449 §7.1). */
  #challenging(error: OAuthError, request: ProtectedRequest): OAuthError {
    return error.withHeaders({ 'www-authenticate': formatChallenges(this.#challengesOf(error, request)) });
  }

  #challengesOf(error: OAuthError, request: ProtectedRequest): readonly Challenge[] {
    const algorithms = this.#dpop?.algorithms ?? [];
    if (isBare(error)) return bareChallenges(this.#resource, algorithms);
    if (this.#dpop === undefined) return bearerChallenges(error, this.#resource);
    const used = schemeOf(headerValue(request, 'authorization')) ?? 'Bearer';
    return dpopChallenges(error, used, algorithms, this.#resource);
  }
}

function urlOfMetadata(given: unknown): string | undefined {
  if (given === undefined || given === false) return undefined;
  if (typeof given === 'string') return requireUrl('resourceMetadata', given);
  throw new ConfigurationError('resourceMetadata', 'an http or https URL, or true');
}

/**
 * Reads the token from the header (RFC 6750 §2.1, RFC 9449 §7.1). Tokens in the query or a form are not accepted.
 * @throws {OAuthError} `invalid_request`: the header is malformed, or there is another token in the query or form
 */
function readToken(request: ProtectedRequest, acceptsDpop: boolean): TokenCredentials {
  const authorization = headerValue(request, 'authorization');
  const scheme = schemeOf(authorization);
  const isInHeader = scheme === 'Bearer' || (acceptsDpop && scheme === 'DPoP');
  const places = [isInHeader, hasTokenInQuery(request), hasTokenInForm(request)];
  if (places.filter(Boolean).length > 1) {
    throw new OAuthError('invalid_request', 'the access token was sent in more than one way', {
      reason: 'access_token_repeated',
    });
  }
  // A token in the query or form alone counts as missing, so the challenge tells the client how to send it (§3.1).
  if (!isInHeader || authorization === undefined) {
    throw new OAuthError('invalid_token', 'the access token is missing', { reason: 'access_token_missing' });
  }
  const credentials = tokenCredentials(authorization);
  if (credentials !== undefined) return credentials;
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

/** @returns `undefined` if the error is neither a refusal nor an outage */
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
 * Milliseconds in which a reason is reported once. During an outage every request fails for the same reason. One report
 * a minute shows how long it lasts, even if an API protects many routes separately.
 */
const REPORT_INTERVAL_MS = 60 * 1000;

/** Limit for remembered reasons. The library itself has about a dozen. */
const MAX_REASONS = 100;

/** Reports outages to the host, at a limited rate. */
class FaultReporter {
  readonly #onFault: (fault: AuthorizationServerFault) => void;
  readonly #clock: Clock;
  readonly #reportedAtMs = new RecentlyUsed<number>(MAX_REASONS);

  constructor(onFault: (fault: AuthorizationServerFault) => void, clock: Clock) {
    this.#onFault = onFault;
    this.#clock = clock;
  }

  report(fault: AuthorizationServerFault): void {
    const reason = reasonOf(fault);
    const nowMs = this.#clock();
    if (nowMs - (this.#reportedAtMs.get(reason) ?? -Infinity) < REPORT_INTERVAL_MS) return;
    this.#reportedAtMs.set(reason, nowMs);
    observe('onFault', this.#onFault, fault);
  }
}

/** The default of `onFault`, so that a 503 is never without an explanation. */
export function reportFault(fault: AuthorizationServerFault): void {
  console.error(`grantd: ${reasonOf(fault)}`);
}

/**
 * Combines the messages of fault and cause, which contain no request data, with the code of the runtime's error, such
 * as `ECONNREFUSED`. Its message is left out, because it may contain request data.
 */
function reasonOf({ message, cause }: AuthorizationServerFault): string {
  if (!(cause instanceof Error)) return message;
  const code = codeBelow(cause);
  return `${message}: ${cause.message}${code === undefined ? '' : ` (${code})`}`;
}

/** Returns the first error code among the causes. Runtimes wrap errors only a few times. */
function codeBelow(error: Error, depth = 4): string | undefined {
  const { cause } = error;
  if (!(cause instanceof Error) || depth === 0) return undefined;
  const code: unknown = 'code' in cause ? cause.code : undefined;
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code)) return code;
  return codeBelow(cause, depth - 1);
}

/** The members of a `node:http` response that are used. */
export interface NodeResponse {
  setHeader(name: string, value: string): unknown;
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: string): unknown;
}

/** The members of Fastify's reply that are used. */
export interface FastifyReply {
  code(status: number): unknown;
  headers(headers: Record<string, string>): unknown;
  send(body: Uint8Array | undefined): unknown;
}

/** Sets headers of the response that the host will send. */
export function setByNode(response: NodeResponse, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
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

/** @returns the value that a hook returns after it has answered */
export function sendByFastify(
  request: NodeHeaders,
  reply: FastifyReply,
  { status, headers, body }: Answer,
): unknown {
  reply.code(status);
  reply.headers({ ...headers, ...closingHeaders(request) });
  // Fastify would add a charset to the media type of a string, and a media type to an empty body.
  return reply.send(body === '' ? undefined : new TextEncoder().encode(body));
}
