// Slows down callers that guess secrets or tokens (RFC 6749 §2.3.1, RFC 7662 §4; ADR 177).
import { hash, randomBytes } from 'node:crypto';
import {
  type AdministrableStorage,
  type AuthorizationServer,
  type ClientRecord,
  DEFAULT_PATHS,
  DEVICE_GRANT,
  EXCHANGE_GRANT,
  type HttpRequest,
  type HttpResponse,
  isConfidential,
  OAuthError,
  type ServerEvent,
} from '@grantd/core';
import { RequestRate, senderOf } from '@grantd/core/node';
import type { Settings } from '../config/options.ts';
import { currentCause, type GuessObserver, type RequestLog } from '../log/log.ts';

/** Endpoints of the library that tell whether a secret or a token is right. */
const ENDPOINTS = ['introspection', 'revocation', 'token'] as const;

type Operation = (typeof ENDPOINTS)[number] | 'follow' | 'token_check';

/**
 * What this server issues as an opaque token. No other text can be one, and no signature of a JWT can be guessed, so the
 * usual garbage that strangers send to an API does not count.
 */
const OPAQUE_TOKEN = /^grantd_(?:at|rt)_[\w-]{43}$/;

const WRONG_SECRETS: ReadonlySet<string | undefined> = new Set(['client_secret_wrong', 'client_unknown']);

/** Refusals of a poll whose device code exists (RFC 8628 §3.5). */
const POLL_ERRORS: ReadonlySet<string | undefined> = new Set([
  'authorization_pending',
  'slow_down',
  'access_denied',
  'expired_token',
]);

/** How long an alert lasts after a limit was nearly reached. */
const ALERT_MS = 10 * 60_000;

/** How many secrets, tokens or clients are remembered at least. */
const REMEMBERED = 32_768;

type Answer = (request: HttpRequest) => Promise<HttpResponse>;

/** How a request ended. */
interface Outcome {
  readonly type: ServerEvent['type'];
  readonly clientId?: string | undefined;
  readonly reason?: string | undefined;
  readonly error?: string | undefined;
}

/** What a request presents, right or wrong. */
interface Presented {
  /** All clients that it names. */
  readonly clientIds: readonly string[];
  /** With its client. */
  readonly secret: string | undefined;
  readonly hasAssertion: boolean;
  /** An opaque token. */
  readonly token: string | undefined;
  /** The token to revoke, or the code of a device that polls. */
  readonly named: string | undefined;
}

interface Refusal {
  readonly reason: 'too_many_wrong_secrets' | 'too_many_unknown_tokens';
  readonly secondsToWait: number;
}

interface GuessesParts {
  readonly settings: Pick<
    Settings,
    'addressRequestLimit' | 'unknownTokenLimit' | 'workers' | 'authenticateIntrospect' | 'authenticateRevoke'
  >;
  readonly clients: Pick<AdministrableStorage['clients'], 'get'>;
  readonly requestLog: Pick<RequestLog, 'about'>;
  readonly clock?: () => number;
}

/**
 * Counts the wrong secrets of an address and the unknown tokens of a client, and refuses further guesses for the rest of
 * the minute, right or wrong. What has been right is no guess, so others at the same address, or callers of the same API,
 * cannot stop what works.
 */
export class Guesses implements GuessObserver {
  /** Whether a limit was nearly reached, so that each request is read before it is answered. */
  isAlert = false;
  /** Their secret is known, or they have none. Empty during an alert, when every event counts. */
  readonly clients = new Set<string>();
  readonly #parts: GuessesParts;
  readonly #clock: () => number;
  /** By address. */
  readonly #secrets: GuessLimit;
  /** By address, of callers that prove no identity. */
  readonly #tokensOfAddress: GuessLimit;
  /** By endpoint and client. */
  readonly #tokensOfClient: GuessLimit;
  readonly #outcomes = new WeakMap<HttpRequest, Outcome>();
  /** Judged although there is a limit. What is right must not become known by a second request. */
  readonly #suspects = new WeakSet<HttpRequest>();
  #alertUntilMs = 0;

  constructor(parts: GuessesParts) {
    const { addressRequestLimit, unknownTokenLimit, workers } = parts.settings;
    this.#parts = parts;
    this.#clock = parts.clock ?? Date.now;
    const limit = (most: number) => new GuessLimit(Math.ceil(most / workers), this.#clock);
    this.#secrets = limit(addressRequestLimit);
    this.#tokensOfAddress = limit(addressRequestLimit);
    this.#tokensOfClient = limit(unknownTokenLimit);
  }

  /** The endpoints of a server that answer by `judge` during an alert. */
  endpoints(server: Pick<AuthorizationServer, 'issuer' | 'operationAt'>) {
    const base = new URL(server.issuer).pathname.replace(/\/$/, '');
    return ENDPOINTS.flatMap((endpoint) => {
      const path = base + DEFAULT_PATHS[endpoint];
      const answer = server.operationAt(path);
      if (answer === undefined) return [];
      const judge: Answer = (request) =>
        this.#judge(endpoint, request, answer, () => this.#outcomes.get(request));
      return [{ path, answer, judge }];
    });
  }

  learn(request: HttpRequest, event: ServerEvent): void {
    const endpoint = ENDPOINTS.find((endpoint) => endpoint === event.operation);
    // What was reported before the answer says more.
    if (endpoint === undefined || (event.type === 'answered' && this.#outcomes.has(request))) return;
    this.#outcomes.set(request, event);
    this.#learn(endpoint, request, event);
  }

  /**
   * Authenticates the client at an endpoint of the program.
   * @throws {OAuthError} 429; otherwise what `authenticate` throws
   */
  authenticate(
    operation: 'follow' | 'token_check',
    request: HttpRequest,
    authenticate: (request: HttpRequest) => Promise<ClientRecord>,
  ): Promise<ClientRecord> {
    let outcome: Outcome | undefined;
    const work = async () => {
      try {
        const client = await authenticate(request);
        outcome = { type: 'answered', clientId: client.id };
        return client;
      } catch (error) {
        if (error instanceof OAuthError) outcome = { type: 'refused', reason: error.reason };
        throw error;
      } finally {
        if (outcome !== undefined) this.#learn(operation, request, outcome);
      }
    };
    return this.#judge(operation, request, work, () => outcome);
  }

  /**
   * Verifies the token that a gateway has received.
   * @param gateway its client, or its address
   * @throws {OAuthError} 429; otherwise what `verify` throws
   */
  async ofGateway<T>(
    gateway: string,
    authorization: string | undefined,
    requestId: string,
    verify: () => Promise<T>,
  ): Promise<T> {
    const token = authorization?.split(' ').find((part) => OPAQUE_TOKEN.test(part));
    if (token === undefined) return verify();
    const key = `token_check ${gateway}`;
    const secondsToWait = this.#tokensOfClient.secondsToWait(key, `${key} ${token}`);
    if (secondsToWait > 0)
      throw this.#refused('token_check', requestId, { reason: 'too_many_unknown_tokens', secondsToWait });
    try {
      const verified = await verify();
      this.#tokensOfClient.remember(key, `${key} ${token}`);
      return verified;
    } catch (error) {
      if (error instanceof OAuthError && error.reason === 'no_record')
        this.#count(this.#tokensOfClient, key, token);
      throw error;
    }
  }

  async #judge<T>(
    operation: Operation,
    request: HttpRequest,
    work: (request: HttpRequest) => Promise<T>,
    outcomeOf: () => Outcome | undefined,
  ): Promise<T> {
    this.isAlert = this.#clock() < this.#alertUntilMs;
    if (!this.isAlert) return work(request);
    const presented = this.#presentedIn(operation, request);
    const refusal = await this.#refusalOf(operation, request, presented);
    if (refusal === undefined) return work(request);
    if (!this.#isJudgedAnyway(refusal, presented)) throw this.#refused(operation, request.id, refusal);
    this.#suspects.add(request);
    const finish = await work(request).then(
      (result) => () => result,
      (error: unknown) => () => {
        throw error;
      },
    );
    if (!isAboutExisting(operation, outcomeOf())) throw this.#refused(operation, request.id, refusal);
    return finish();
  }

  /** Does not read whether the secret or the token is right, so the answer does not tell. */
  async #refusalOf(
    operation: Operation,
    request: HttpRequest,
    presented: Presented,
  ): Promise<Refusal | undefined> {
    const { secret, token, clientIds } = presented;
    const sender = senderOfRequest();
    const ofSecret = secret === undefined ? 0 : this.#secrets.secondsToWait(sender, secret);
    if (ofSecret > 0) return { reason: 'too_many_wrong_secrets', secondsToWait: ofSecret };
    if (token === undefined) return undefined;
    const waits = clientIds.map((id) => {
      const key = `${operation} ${id}`;
      return this.#tokensOfClient.secondsToWait(key, `${key} ${token}`);
    });
    if (!(await this.#provesIdentity(request, presented, clientIds[0])))
      waits.push(this.#tokensOfAddress.secondsToWait(sender, `${sender} ${token}`));
    const secondsToWait = Math.max(0, ...waits);
    return secondsToWait > 0 ? { reason: 'too_many_unknown_tokens', secondsToWait } : undefined;
  }

  /**
   * Whether the request may still be answered if what it names exists. For each such thing, an address can try as many
   * secrets in a minute as without one.
   */
  #isJudgedAnyway({ reason }: Refusal, { named }: Presented): boolean {
    if (named === undefined) return false;
    return reason === 'too_many_unknown_tokens' || this.#secrets.try(`${senderOfRequest()} ${named}`);
  }

  /** Learns from an answer what is right, and counts what is wrong. */
  #learn(operation: Operation, request: HttpRequest, outcome: Outcome): void {
    const { type, reason, error, clientId } = outcome;
    if (type === 'answered' && this.clients.has(clientId ?? '')) return;
    const presented = this.#presentedIn(operation, request);
    const { secret, token } = presented;
    const isAuthenticated = type !== 'refused' || error === 'invalid_grant' || POLL_ERRORS.has(error);
    const isSuspect = this.#suspects.has(request) && !isAboutExisting(operation, outcome);
    if (isAuthenticated && !isSuspect) {
      if (this.clients.size > REMEMBERED) this.clients.clear();
      if (!this.isAlert) this.clients.add(clientId ?? '');
      if (secret !== undefined && clientId !== undefined) this.#secrets.remember(undefined, secret);
    }
    if (type === 'refused' && WRONG_SECRETS.has(reason) && secret !== undefined)
      this.#count(this.#secrets, senderOfRequest(), secret);
    if (token === undefined) return;
    const key = `${operation} ${clientId}`;
    if (type === 'answered' || type === 'token_revoked')
      this.#tokensOfClient.remember(key, `${key} ${token}`);
    else if (reason === 'no_record')
      this.#countToken(token, key, this.#provesIdentity(request, presented, clientId)).catch(() => {});
  }

  async #countToken(token: string, key: string, provesIdentity: boolean | Promise<boolean>): Promise<void> {
    const sender = senderOfRequest();
    const isOfClient = provesIdentity === true || (provesIdentity !== false && (await provesIdentity));
    if (isOfClient) this.#count(this.#tokensOfClient, key, token);
    else this.#count(this.#tokensOfAddress, sender, token);
  }

  /** Whether the client is the one that is named, once it is authenticated. Anyone can send what a public client sends. */
  #provesIdentity(
    { clientCertificate }: HttpRequest,
    { secret, hasAssertion }: Presented,
    clientId = '',
  ): boolean | Promise<boolean> {
    if (secret !== undefined || hasAssertion) return true;
    return clientCertificate !== undefined && this.#isConfidential(clientId);
  }

  async #isConfidential(clientId: string): Promise<boolean> {
    const client = await this.#parts.clients.get(clientId);
    return client !== undefined && client !== null && isConfidential(client);
  }

  #presentedIn(operation: Operation, request: HttpRequest): Presented {
    const { authenticateIntrospect, authenticateRevoke } = this.#parts.settings;
    const presented = presentedIn(operation, request);
    const isAuthenticated =
      (operation !== 'introspection' || authenticateIntrospect) &&
      (operation !== 'revocation' || authenticateRevoke);
    // Credentials that are not checked prove nothing.
    return isAuthenticated
      ? presented
      : { ...presented, clientIds: [], secret: undefined, hasAssertion: false };
  }

  #count(limit: GuessLimit, key: string, text: string): void {
    if (!limit.count(key, text)) return;
    this.isAlert = true;
    this.#alertUntilMs = this.#clock() + ALERT_MS;
    this.clients.clear();
  }

  #refused(
    operation: Operation,
    requestId: string | undefined,
    { reason, secondsToWait }: Refusal,
  ): OAuthError {
    this.#parts.requestLog.about({ operation, reason, ...(requestId !== undefined && { requestId }) });
    const guesses = reason === 'too_many_wrong_secrets' ? 'wrong secrets' : 'unknown tokens';
    const text = `there were too many ${guesses}: try again in ${secondsToWait} seconds`;
    // A client in a browser may know how long to wait. No client in a browser introspects.
    const crossOrigin = (operation === 'token' || operation === 'revocation') && {
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'Retry-After',
    };
    return new OAuthError('temporarily_unavailable', text, {
      status: 429,
      headers: { 'retry-after': String(secondsToWait), ...crossOrigin },
    });
  }
}

function senderOfRequest(): string {
  return senderOf(currentCause().address ?? '');
}

function isAboutExisting(operation: Operation, { type, error }: Outcome = { type: 'refused' }): boolean {
  if (operation === 'revocation') return type === 'token_revoked';
  return type === 'answered' || POLL_ERRORS.has(error);
}

/** The parameters with tokens that the server has issued. */
const TOKENS_OF_GRANT: ReadonlyMap<string, readonly string[]> = new Map([
  ['refresh_token', ['refresh_token']],
  [EXCHANGE_GRANT, ['subject_token', 'actor_token']],
]);

/** Reads a request like the library, which refuses what is ambiguous. */
function presentedIn(operation: Operation, { headers, body }: HttpRequest): Presented {
  const form = new URLSearchParams(typeof body === 'string' ? body : '');
  // An empty value counts as absent (RFC 6749 §3.2).
  const assertion = form.get('client_assertion') || undefined;
  const [id = form.get('client_id') ?? '', secret = form.get('client_secret') ?? ''] = basicIn(headers);
  const grant = form.get('grant_type') ?? '';
  const names = operation === 'token' ? (TOKENS_OF_GRANT.get(grant) ?? []) : ['token'];
  const tokens = names.map((name) => form.get(name) ?? '').filter((token) => OPAQUE_TOKEN.test(token));
  const token = tokens.length > 0 ? tokens.join(' ') : undefined;
  const isPoll = operation === 'token' && grant === DEVICE_GRANT;
  return {
    clientIds: assertion === undefined ? [id] : [id, subjectOf(assertion)],
    secret: secret === '' ? undefined : `${id} ${secret}`,
    hasAssertion: assertion !== undefined,
    token,
    named: (isPoll ? form.get('device_code') : operation === 'revocation' && form.get('token')) || undefined,
  };
}

/** RFC 6749 §2.3.1 */
function basicIn({ authorization }: HttpRequest['headers']): readonly [id?: string, secret?: string] {
  const [, encoded] = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(String(authorization ?? '')) ?? [];
  if (encoded === undefined) return [];
  // Like the library, it drops a byte order mark.
  const pair = new TextDecoder().decode(Buffer.from(encoded, 'base64'));
  const colon = pair.indexOf(':');
  return [formDecoded(pair.slice(0, colon)), formDecoded(pair.slice(colon + 1))];
}

function formDecoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** The client that an assertion names (RFC 7523 §3). */
function subjectOf(assertion: string): string {
  try {
    return String(JSON.parse(Buffer.from(assertion.split('.')[1] ?? '', 'base64url').toString()).sub);
  } catch {
    return '';
  }
}

/** Different wrong texts in a minute, for each key. The same one again is no guess: its sender is only wrong. */
class GuessLimit {
  readonly #guesses: RequestRate;
  /** Reached at an eighth of the limit. */
  readonly #early: RequestRate;
  readonly #wrong = new Recent<number>();
  readonly #right = new Recent<number>();
  /** Only digests are remembered. */
  readonly #salt = randomBytes(16).toString('base64');

  constructor(most: number, clock: () => number) {
    this.#guesses = new RequestRate(most, clock);
    this.#early = new RequestRate(Math.ceil(most / 8), clock);
  }

  /** @returns seconds to wait; 0 to go on */
  secondsToWait(key: string, text: string): number {
    const wait = this.#guesses.secondsToWait(key);
    return wait > 0 && this.#right.has(this.#digest(text)) ? 0 : wait;
  }

  /** Counts something else with the same limit. @returns whether it may go on */
  try(key: string): boolean {
    return this.#guesses.take(key) === 0;
  }

  /** Counts a wrong text. @returns whether the limit is near */
  count(key: string, text: string): boolean {
    if (this.#wrong.add(this.#digest(`${key} ${text}`))) {
      this.#guesses.take(key);
      this.#early.take(key);
    }
    return this.#early.secondsToWait(key) > 0;
  }

  /** @param key remembers the text only if the limit is near for this key. Default: always */
  remember(key: string | undefined, text: string): void {
    if (key === undefined || this.#early.secondsToWait(key) > 0) this.#right.add(this.#digest(text));
  }

  /** 48 bits. */
  #digest(text: string): number {
    return Number.parseInt(hash('sha256', this.#salt + text).slice(0, 12), 16);
  }
}

/** Remembers values. When it is full, it forgets the older half. */
class Recent<T> {
  #values = new Set<T>();
  #older = new Set<T>();

  has(value: T): boolean {
    return this.#values.has(value) || this.#older.has(value);
  }

  /** @returns whether it is new */
  add(value: T): boolean {
    if (this.#values.has(value)) return false;
    if (this.#values.size >= REMEMBERED) {
      this.#older = this.#values;
      this.#values = new Set();
    }
    this.#values.add(value);
    return !this.#older.has(value);
  }
}
