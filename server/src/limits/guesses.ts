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
  /** What the client wants. Each kind has a limit of its own. */
  readonly kind: string;
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

/** A request that is looked at. */
interface Trial extends Presented {
  readonly operation: Operation;
  readonly sender: string;
  readonly hasCertificate: boolean;
  /** Why it would be refused, if what it names did not exist. */
  refusal?: Refusal | undefined;
  outcome?: Outcome;
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
  /** Whether a limit was nearly reached, so that it matters who sends a request. */
  isAlert = false;
  /** Their secret is known, or they have none. */
  readonly clients = new Set<string>();
  readonly trials = new WeakMap<HttpRequest, Trial>();
  readonly #parts: GuessesParts;
  readonly #clock: () => number;
  /** By address. */
  readonly #secrets: GuessLimit;
  /** By address, of callers that prove no identity. */
  readonly #tokensOfAddress: GuessLimit;
  /** By kind and client. */
  readonly #tokensOfClient: GuessLimit;
  /** Requests that are judged at the limit of secrets, by address and what they name. */
  readonly #exceptions: RequestRate;
  #alertUntilMs = 0;
  /** Until when each request is read, because a client has nearly reached its limit. */
  #readsAllUntilMs = 0;

  constructor(parts: GuessesParts) {
    const { addressRequestLimit, unknownTokenLimit, workers } = parts.settings;
    this.#parts = parts;
    this.#clock = parts.clock ?? Date.now;
    const share = (limit: number) => Math.ceil(limit / workers);
    this.#secrets = new GuessLimit(share(addressRequestLimit), this.#clock);
    this.#tokensOfAddress = new GuessLimit(share(addressRequestLimit), this.#clock);
    this.#tokensOfClient = new GuessLimit(share(unknownTokenLimit), this.#clock);
    this.#exceptions = new RequestRate(share(addressRequestLimit), this.#clock);
  }

  /** The endpoints of a server that answer by `judge` during an alert. */
  endpoints(server: Pick<AuthorizationServer, 'issuer' | 'operationAt'>) {
    const base = new URL(server.issuer).pathname.replace(/\/$/, '');
    return ENDPOINTS.flatMap((endpoint) => {
      const path = base + DEFAULT_PATHS[endpoint];
      const answer = server.operationAt(path);
      if (answer === undefined) return [];
      const judge: Answer = (request) => this.#judge(endpoint, request, answer);
      return [{ path, answer, judge }];
    });
  }

  learn(request: HttpRequest, event: ServerEvent): void {
    const endpoint = ENDPOINTS.find((endpoint) => endpoint === event.operation);
    // What was reported before the answer says more.
    if (endpoint !== undefined && (event.type !== 'answered' || !this.trials.get(request)?.outcome))
      this.#learn(this.#trialOf(endpoint, request), event);
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
    return this.#judge(operation, request, async () => {
      try {
        const client = await authenticate(request);
        if (!this.clients.has(client.id) || this.trials.has(request))
          this.#learn(this.#trialOf(operation, request), { type: 'answered', clientId: client.id });
        return client;
      } catch (error) {
        if (error instanceof OAuthError)
          this.#learn(this.#trialOf(operation, request), { type: 'refused', reason: error.reason });
        throw error;
      }
    });
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
  ): Promise<T> {
    const nowMs = this.#clock();
    this.isAlert = nowMs < this.#alertUntilMs;
    const sender = senderOfRequest();
    const isNear = () => this.#secrets.isNear(sender) || this.#tokensOfAddress.isNear(sender);
    if (!this.isAlert)
      for (const limit of [this.#secrets, this.#tokensOfAddress, this.#tokensOfClient]) limit.calm();
    if (nowMs >= this.#readsAllUntilMs && !isNear()) return work(request);
    const trial = this.#trialOf(operation, request);
    const refusal = await this.#refusalOf(trial);
    if (refusal !== undefined && !this.#isException(trial, refusal))
      throw this.#refused(operation, request.id, refusal);
    trial.refusal = refusal;
    const finish = await work(request).then(
      (result) => () => result,
      (error: unknown) => () => {
        throw error;
      },
    );
    if (refusal !== undefined && !isAboutExisting(trial)) throw this.#refused(operation, request.id, refusal);
    return finish();
  }

  /** Does not read whether the secret or the token is right, so the answer does not tell. */
  async #refusalOf(trial: Trial): Promise<Refusal | undefined> {
    const { kind, sender, secret, token, clientIds } = trial;
    const ofSecret = secret === undefined ? 0 : this.#secrets.secondsToWait(sender, secret);
    if (ofSecret > 0) return { reason: 'too_many_wrong_secrets', secondsToWait: ofSecret };
    if (token === undefined) return undefined;
    const waits = clientIds.map((id) => {
      const key = `${kind} ${id}`;
      return this.#tokensOfClient.secondsToWait(key, `${key} ${token}`);
    });
    if (!(await this.#provesIdentity(trial, clientIds[0])))
      waits.push(this.#tokensOfAddress.secondsToWait(sender, `${sender} ${token}`));
    const secondsToWait = Math.max(0, ...waits);
    return secondsToWait > 0 ? { reason: 'too_many_unknown_tokens', secondsToWait } : undefined;
  }

  /**
   * Whether the request may still be answered if what it names exists. For each such thing, an address can try as many
   * secrets in a minute as without one.
   */
  #isException({ sender, named }: Trial, { reason }: Refusal): boolean {
    if (named === undefined) return false;
    return reason === 'too_many_unknown_tokens' || this.#exceptions.take(`${sender} ${named}`) === 0;
  }

  /** Learns from an answer what is right, and counts what is wrong. */
  #learn(trial: Trial, outcome: Outcome): void {
    trial.outcome = outcome;
    const { type, reason, error, clientId } = outcome;
    const { kind, sender, secret, token } = trial;
    const isAuthenticated = type !== 'refused' || error === 'invalid_grant' || POLL_ERRORS.has(error);
    // What is right must not become known by the next request, if this one is refused.
    if (isAuthenticated && (trial.refusal === undefined || isAboutExisting(trial))) {
      if (this.clients.size > REMEMBERED) this.clients.clear();
      this.clients.add(clientId ?? '');
      if (secret !== undefined && clientId !== undefined) this.#secrets.remember(undefined, secret);
    }
    if (type === 'refused' && WRONG_SECRETS.has(reason) && secret !== undefined)
      this.#count(this.#secrets, sender, secret);
    if (token === undefined) return;
    const key = `${kind} ${clientId}`;
    if (type === 'answered' || type === 'token_revoked')
      this.#tokensOfClient.remember(key, `${key} ${token}`);
    else if (reason === 'no_record')
      this.#countToken(trial, token, key, this.#provesIdentity(trial, clientId)).catch(() => {});
  }

  async #countToken(
    { sender }: Trial,
    token: string,
    key: string,
    provesIdentity: boolean | Promise<boolean>,
  ): Promise<void> {
    const isOfClient = provesIdentity === true || (provesIdentity !== false && (await provesIdentity));
    if (isOfClient) this.#count(this.#tokensOfClient, key, token);
    else this.#count(this.#tokensOfAddress, sender, token);
  }

  /** Whether the client is the one that is named, once it is authenticated. Anyone can send what a public client sends. */
  #provesIdentity(
    { secret, hasAssertion, hasCertificate }: Trial,
    clientId = '',
  ): boolean | Promise<boolean> {
    if (secret !== undefined || hasAssertion) return true;
    return hasCertificate && this.#isConfidential(clientId);
  }

  async #isConfidential(clientId: string): Promise<boolean> {
    const client = await this.#parts.clients.get(clientId);
    return client !== undefined && client !== null && isConfidential(client);
  }

  #trialOf(operation: Operation, request: HttpRequest): Trial {
    const known = this.trials.get(request);
    if (known !== undefined) return known;
    const { authenticateIntrospect, authenticateRevoke } = this.#parts.settings;
    const isAuthenticated =
      (operation !== 'introspection' || authenticateIntrospect) &&
      (operation !== 'revocation' || authenticateRevoke);
    const trial = {
      ...{ operation, sender: senderOfRequest() },
      hasCertificate: request.clientCertificate !== undefined,
      ...presentedIn(operation, request),
      // Credentials that are not checked prove nothing.
      ...(!isAuthenticated && { clientIds: [], secret: undefined, hasAssertion: false }),
    };
    this.trials.set(request, trial);
    return trial;
  }

  #count(limit: GuessLimit, key: string, text: string): void {
    if (!limit.count(key, text)) return;
    this.isAlert = true;
    this.#alertUntilMs = this.#clock() + ALERT_MS;
    if (limit === this.#tokensOfClient) this.#readsAllUntilMs = this.#alertUntilMs;
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

function isAboutExisting({ operation, outcome: { type, error } = { type: 'refused' } }: Trial): boolean {
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
    // Strangers send tokens to introspect and to exchange, but none to refresh.
    kind: operation === 'token' ? grant : operation,
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
export class GuessLimit {
  readonly #clock: () => number;
  readonly #guesses: RequestRate;
  /** Reached at an eighth of the limit. */
  readonly #early: RequestRate;
  /** When the alert ends for keys that have reached it. */
  readonly #near = new Map<string, number>();
  readonly #wrong = new Recent<number>();
  readonly #right = new Recent<number>();
  /** Only digests are remembered. */
  readonly #salt = randomBytes(16).toString('base64');

  constructor(most: number, clock: () => number = Date.now) {
    this.#clock = clock;
    this.#guesses = new RequestRate(most, clock);
    this.#early = new RequestRate(Math.ceil(most / 8), clock);
  }

  /** @returns seconds to wait; 0 to go on */
  secondsToWait(key: string, text: string): number {
    const wait = this.#guesses.secondsToWait(key);
    return wait > 0 && this.#right.has(this.#digest(text)) ? 0 : wait;
  }

  /** Whether the limit was near in the time of an alert. */
  isNear(key: string): boolean {
    return this.#near.size > REMEMBERED || (this.#near.get(key) ?? 0) > this.#clock();
  }

  /** Counts a wrong text. @returns whether the limit is near */
  count(key: string, text: string): boolean {
    if (this.#wrong.add(this.#digest(`${key} ${text}`))) {
      this.#guesses.take(key);
      this.#early.take(key);
    }
    if (this.#early.secondsToWait(key) === 0) return false;
    this.#near.set(key, this.#clock() + ALERT_MS);
    return true;
  }

  /** Forgets which limits were near. */
  calm(): void {
    this.#near.clear();
  }

  /** @param key remembers the text only if the limit is near for this key. Default: always */
  remember(key: string | undefined, text: string): void {
    if (key === undefined || this.isNear(key)) this.#right.add(this.#digest(text));
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
