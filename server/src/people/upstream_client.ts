// The client of one identity provider: OpenID Connect Core by openid-client, or GitHub.
// Long: each exchange with a provider, and what each of its failures means.
import type { KeyObject, webcrypto } from 'node:crypto';
import { isJsonObject } from '@grantd/core/options';
import { JWKSNoMatchingKey, JWSSignatureVerificationFailed } from 'jose/errors';
import { createRemoteJWKSet, customFetch as joseFetch } from 'jose/jwks/remote';
import { compactVerify } from 'jose/jws/compact/verify';
import { jwtVerify } from 'jose/jwt/verify';
import * as openid from 'openid-client';
import type { Provider } from '../config/providers.ts';
import { appleName, appleSecret } from './apple.ts';

/** The provider did not answer, or says that it cannot. Never means that it refused the user. */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable';
}

/** Why an answer of a provider is not a sign-in. */
export type ProviderRefusalReason =
  | 'provider_denied'
  | 'provider_code_refused'
  | 'provider_answer_invalid'
  | 'provider_sign_in_old';

export class ProviderRefusal extends Error {
  override readonly name = 'ProviderRefusal';
  readonly reason: ProviderRefusalReason;

  constructor(reason: ProviderRefusalReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

type Claims = Readonly<Record<string, unknown>>;

/** A user as the provider describes them. */
export interface UpstreamUser {
  readonly issuer: string;
  readonly sub: string;
  /** The session at the provider, for logout tokens. */
  readonly sid: string | undefined;
  /** When the user proved to the provider who they are; `undefined` if it does not say. */
  readonly provedAtMs: number | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
  /** Why claims are missing, if the provider refused to give some of them. */
  readonly missing?: Error;
}

/** What the answer to an authorization request must fit. Known only to the browser that asked, sealed. */
export interface UpstreamRequest {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** Seconds since the last sign-in at the provider that the application allows. */
  readonly maxAge?: number;
  /** Present if the user must prove again who they are: since when. */
  readonly againSinceMs?: number;
}

interface RequestOptions {
  readonly redirectUri: string;
  readonly loginHint?: string | undefined;
  readonly language: string;
  /** Whether the user must prove to the provider again who they are. */
  readonly again: boolean;
  readonly maxAge?: number | undefined;
}

/** A logout token that was verified (Back-Channel Logout §2.6), except that it may be a replay. */
export interface LogoutToken {
  readonly issuer: string;
  readonly jti: string;
  /** Seconds since 1970. */
  readonly issuedAt: number;
  /** Seconds since 1970 after which it is refused. */
  readonly expiresAt: number;
  readonly sub: string | undefined;
  readonly sid: string | undefined;
}

/** Seconds for any answer of a provider. */
const TIMEOUT_SECONDS = 5;

/** Keys of providers with many tenants are long. */
const MAX_BYTES = 512 * 1024;

/** Milliseconds after which metadata are read again. */
const METADATA_LIFETIME_MS = 60 * 60 * 1000;

/** Difference of clocks in seconds. */
export const CLOCK_TOLERANCE = 30;

/** Seconds for which a logout token is accepted after it was issued. */
const MAX_LOGOUT_TOKEN_AGE = 5 * 60;

const BACKCHANNEL_LOGOUT = 'http://schemas.openid.net/event/backchannel-logout';

/** Milliseconds between two requests for keys or metadata, if those that were read do not fit. */
const RETRY_AFTER_MS = 10 * 1000;

interface Discovered {
  readonly metadata: openid.ServerMetadata;
  readonly configure: () => openid.Configuration;
  readonly keys: ProviderKeys | undefined;
  readonly readAtMs: number;
  untilMs: number;
}

/** Talks to one provider. Throws `ProviderUnavailable` and `ProviderRefusal`. Keeps no token. */
export class UpstreamClient {
  readonly #provider: Provider;
  readonly #clock: () => number;
  readonly #fetch: typeof providerFetch;
  #discovered: Promise<Discovered> | undefined;

  /** @param onAnswer hears of each request whether the provider has answered it */
  constructor(
    provider: Provider,
    clock: () => number = Date.now,
    onAnswer: (isAnswered: boolean) => void = () => {},
  ) {
    this.#provider = provider;
    this.#clock = clock;
    this.#fetch = async (...request) => {
      try {
        const response = await providerFetch(...request);
        onAnswer(true);
        return response;
      } catch (error) {
        if (error instanceof ProviderUnavailable) onAnswer(false);
        throw error;
      }
    };
  }

  /** Makes an authorization request with PKCE and, for OpenID Connect, a nonce. Pushes it if the provider takes that. */
  async begin({ redirectUri, loginHint, language, again, maxAge }: RequestOptions): Promise<{
    readonly url: URL;
    readonly request: UpstreamRequest;
  }> {
    const { configure, metadata } = await this.#ready();
    const request = {
      state: openid.randomState(),
      nonce: openid.randomNonce(),
      verifier: openid.randomPKCECodeVerifier(),
      ...(maxAge !== undefined && { maxAge }),
      ...(again && { againSinceMs: this.#clock() }),
    };
    const isOpenid = this.#provider.protocol === 'openid';
    const parameters = {
      ...this.#provider.parameters,
      redirect_uri: redirectUri,
      scope: this.#provider.scopes.join(' '),
      state: request.state,
      code_challenge: await openid.calculatePKCECodeChallenge(request.verifier),
      code_challenge_method: 'S256',
      ...(isOpenid && { nonce: request.nonce, ui_locales: language }),
      // Apple gives names and addresses only with this mode.
      ...(this.#provider.kind === 'apple' && { response_mode: 'form_post' }),
      ...(isOpenid && maxAge !== undefined && { max_age: String(maxAge) }),
      // With `max_age`, the provider must say when the user signed in (OpenID Connect Core §2).
      ...(isOpenid && again && { prompt: 'login', max_age: '0' }),
      ...(loginHint && { [isOpenid ? 'login_hint' : 'login']: loginHint }),
    };
    const isPushed = metadata.pushed_authorization_request_endpoint !== undefined;
    const url = await this.#ask(() =>
      isPushed
        ? openid.buildAuthorizationUrlWithPAR(configure(), parameters)
        : openid.buildAuthorizationUrl(configure(), parameters),
    ).catch((error: unknown) => {
      // The provider refused this server, not the user, who has not been asked yet.
      throw error instanceof ProviderRefusal
        ? new ProviderUnavailable('the provider refused the pushed request', { cause: error })
        : error;
    });
    return { url, request };
  }

  /**
   * Checks an authorization response and exchanges its code for the identity of the user.
   * @param callback the redirect URI with the parameters of the response
   */
  async finish(callback: URL, request: UpstreamRequest): Promise<UpstreamUser> {
    const { state, nonce, verifier, maxAge, againSinceMs } = request;
    const discovered = await this.#ready();
    const { configure, keys, metadata } = discovered;
    const isOpenid = this.#provider.protocol === 'openid';
    const suggested = this.#provider.kind === 'apple' ? appleName(callback) : {};
    const finished = this.#ask(async () => {
      const configuration = configure();
      const tokens = await openid.authorizationCodeGrant(configuration, callback, {
        expectedState: state,
        pkceCodeVerifier: verifier,
        ...(isOpenid && { expectedNonce: nonce, idTokenExpected: true }),
        ...(isOpenid && maxAge !== undefined && { maxAge }),
      });
      if (!isOpenid) return this.#githubUser(configuration, tokens.access_token);
      const claims = tokens.claims();
      if (claims === undefined || tokens.id_token === undefined)
        throw new ProviderRefusal('provider_answer_invalid', 'no ID token');
      const { id_token: idToken } = tokens;
      await requireKeys(keys).verify('provider', (find) =>
        compactVerify(idToken, find, { algorithms: algorithmsOf(metadata) }),
      );
      const provedAtMs = provedAt(claims.auth_time, againSinceMs);
      const { userInfo, missing } = await this.#userInfo(tokens.access_token, claims);
      return {
        issuer: claims.iss,
        sub: claims.sub,
        sid: typeof claims.sid === 'string' ? claims.sid : undefined,
        provedAtMs: provedAtMs === undefined ? undefined : Math.min(provedAtMs, this.#clock()),
        claims: { ...suggested, ...this.#merged(userInfo, claims) },
        ...(missing && { missing }),
      };
    });
    return finished.catch((error: unknown) => {
      // The provider may have moved, or sign with another algorithm. The next sign-in reads the metadata again.
      discovered.untilMs = Math.min(discovered.untilMs, discovered.readAtMs + RETRY_AFTER_MS);
      throw error;
    });
  }

  /** Asks for the claims that the ID token may lack. */
  async #userInfo(
    accessToken: string,
    idToken: openid.IDToken,
  ): Promise<{ readonly userInfo: Claims; readonly missing?: Error }> {
    const { metadata, configure, keys } = await this.#ready();
    if (metadata.userinfo_endpoint === undefined) return { userInfo: {} };
    const configuration = configure();
    // A signed answer is checked with the keys that have verified the ID token.
    openid.enableNonRepudiationChecks(configuration);
    openid.setJwksCache(configuration, { jwks: requireKeys(keys).all(), uat: this.#clock() / 1000 });
    try {
      return { userInfo: await openid.fetchUserInfo(configuration, accessToken, idToken.sub) };
    } catch (error) {
      return { userInfo: {}, missing: refusedClaims(error) };
    }
  }

  /** The ID token is signed, so it takes precedence. One answer must not verify the address of the other. */
  #merged(userInfo: Claims, idToken: Claims): Claims {
    const { email = '', email_verified: verified = '' } = this.#provider.claims;
    const { [email]: _, [verified]: __, ...others } = idToken[email] === undefined ? idToken : userInfo;
    return idToken[email] === undefined ? { ...userInfo, ...others } : { ...others, ...idToken };
  }

  /** The URL at which users sign out of the provider (RP-Initiated Logout §2). `undefined` if it has none. */
  async logoutUrl(parameters: Readonly<Record<string, string>>): Promise<URL | undefined> {
    const { configure, metadata } = await this.#ready();
    if (metadata.end_session_endpoint === undefined) return undefined;
    return openid.buildEndSessionUrl(configure(), parameters);
  }

  /** Verifies a logout token (Back-Channel Logout §2.6). */
  async logoutToken(token: string): Promise<LogoutToken> {
    const { metadata, keys } = await this.#ready();
    const { issuer } = metadata;
    const { payload, protectedHeader } = await this.#ask(() =>
      requireKeys(keys).verify('anyone', (find) =>
        jwtVerify(token, find, {
          issuer,
          audience: this.#provider.clientId,
          algorithms: algorithmsOf(metadata),
          requiredClaims: ['iat', 'jti', 'events'],
          maxTokenAge: MAX_LOGOUT_TOKEN_AGE,
          clockTolerance: CLOCK_TOLERANCE,
          currentDate: new Date(this.#clock()),
        }),
      ),
    );
    const { iat = 0, exp = iat + MAX_LOGOUT_TOKEN_AGE, jti, sub, sid, events } = payload;
    const type = protectedHeader.typ?.toLowerCase().replace(/^application\//, '') ?? 'jwt';
    const event = isJsonObject(events) ? events[BACKCHANNEL_LOGOUT] : undefined;
    const isValid =
      (type === 'logout+jwt' || type === 'jwt') &&
      isJsonObject(event) &&
      !('nonce' in payload) &&
      typeof jti === 'string' &&
      jti !== '' &&
      (sub === undefined || typeof sub === 'string') &&
      (sid === undefined || typeof sid === 'string') &&
      (sub !== undefined || sid !== undefined);
    if (!isValid) throw new ProviderRefusal('provider_answer_invalid', 'the JWT is not a logout token');
    const until = Math.max(exp, iat + MAX_LOGOUT_TOKEN_AGE) + CLOCK_TOLERANCE;
    return { issuer, jti, issuedAt: iat, expiresAt: until, sub, sid: sid as string | undefined };
  }

  /** Concurrent callers share a request. A failure is not remembered. */
  #ready(): Promise<Discovered> {
    this.#discovered ??= this.#discover();
    const discovered = this.#discovered;
    return discovered.then(
      (found) => {
        if (found.untilMs > this.#clock()) return found;
        if (this.#discovered === discovered) this.#discovered = undefined;
        return this.#ready();
      },
      (error: unknown) => {
        if (this.#discovered === discovered) this.#discovered = undefined;
        throw error;
      },
    );
  }

  async #discover(): Promise<Discovered> {
    const { protocol, issuer, clientId, credential } = this.#provider;
    try {
      const metadata =
        protocol === 'github' ? githubMetadata(issuer) : (await this.#metadata()).serverMetadata();
      const authentication =
        'secret' in credential
          ? secretMethod(metadata)(credential.secret)
          : credential.teamId !== undefined
            ? appleSecret(this.#provider, { ...credential, teamId: credential.teamId }, this.#clock)
            : openid.PrivateKeyJwt(privateKeyOf(credential, metadata));
      const configure = () => {
        const tolerance = { [openid.clockTolerance]: CLOCK_TOLERANCE };
        const configuration = new openid.Configuration(metadata, clientId, tolerance, authentication);
        configuration.timeout = TIMEOUT_SECONDS;
        configuration[openid.customFetch] = this.#fetch;
        if (issuer.startsWith('http:')) openid.allowInsecureRequests(configuration);
        return configuration;
      };
      return {
        metadata,
        configure,
        keys:
          metadata.jwks_uri === undefined
            ? undefined
            : providerKeys(metadata.jwks_uri, this.#fetch, this.#clock),
        readAtMs: this.#clock(),
        untilMs: this.#clock() + METADATA_LIFETIME_MS,
      };
    } catch (error) {
      throw new ProviderUnavailable('the metadata of the provider cannot be read', { cause: summary(error) });
    }
  }

  #metadata(): Promise<openid.Configuration> {
    const { issuer, clientId } = this.#provider;
    return openid.discovery(new URL(issuer), clientId, undefined, undefined, {
      timeout: TIMEOUT_SECONDS,
      [openid.customFetch]: this.#fetch,
      ...(issuer.startsWith('http:') && { execute: [openid.allowInsecureRequests] }),
    });
  }

  /** GitHub has no ID tokens. Its API says who the token belongs to. */
  async #githubUser(configuration: openid.Configuration, accessToken: string): Promise<UpstreamUser> {
    const { issuer } = this.#provider;
    const ask = async (path: string): Promise<unknown> => {
      const url = new URL(`${githubApi(issuer)}${path}`);
      const headers = new Headers({ accept: 'application/vnd.github+json', 'user-agent': 'grantd' });
      const response = await openid.fetchProtectedResource(
        configuration,
        accessToken,
        url,
        'GET',
        null,
        headers,
      );
      if (!response.ok)
        throw new ProviderRefusal('provider_answer_invalid', `GitHub answered ${response.status}`);
      return response.json();
    };
    const user = await ask('/user');
    if (!isJsonObject(user) || typeof user.id !== 'number')
      throw new ProviderRefusal('provider_answer_invalid', 'GitHub named no user');
    // The address of the profile is public, and need not be verified.
    const { email: _, ...claims } = user;
    const isWanted = this.#provider.scopes.includes('user:email');
    const addresses = isWanted ? await ask('/user/emails').catch(refusedClaims) : [];
    const primary = Array.isArray(addresses)
      ? addresses.find((address) => isJsonObject(address) && address.primary === true)
      : undefined;
    return {
      issuer,
      sub: String(user.id),
      ...{ sid: undefined, provedAtMs: undefined },
      claims: {
        ...claims,
        ...(isJsonObject(primary) && { email: primary.email, email_verified: primary.verified === true }),
      },
      ...(addresses instanceof Error && { missing: addresses }),
    };
  }

  /** @throws {ProviderUnavailable | ProviderRefusal} for every error of the libraries */
  async #ask<T>(ask: () => T | Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      throw failureOf(error);
    }
  }
}

/**
 * When a user proved to the provider who they are.
 * @param againSinceMs since when they must have done so
 * @throws {ProviderRefusal} they have not, or the provider does not say so
 */
function provedAt(authTime: number | undefined, againSinceMs: number | undefined): number | undefined {
  const provedAtMs = authTime === undefined ? undefined : authTime * 1000;
  if (againSinceMs === undefined) return provedAtMs;
  if (provedAtMs === undefined)
    throw new ProviderRefusal('provider_sign_in_old', 'the ID token has no auth_time');
  if (provedAtMs < againSinceMs - CLOCK_TOLERANCE * 1000)
    throw new ProviderRefusal(
      'provider_sign_in_old',
      'the user has not signed in again: auth_time is too early',
    );
  // The clock of the provider may be behind, and counts whole seconds.
  return Math.max(provedAtMs, againSinceMs);
}

/** Errors with which a provider says that it cannot answer now (RFC 6749 §4.1.2.1). */
const OUTAGES: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable']);

/** Errors of providers at which the user did not sign in, or did not agree. */
const DENIALS: ReadonlySet<string> = new Set([
  'access_denied',
  'user_cancelled_authorize',
  'account_selection_required',
  'consent_required',
  'interaction_required',
  'login_required',
]);

function failureOf(error: unknown): ProviderUnavailable | ProviderRefusal {
  if (error instanceof ProviderRefusal) return error;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof ProviderUnavailable) return cause;
    if (cause.name === 'TimeoutError') return new ProviderUnavailable('the provider did not answer in time');
  }
  const message = summary(error).message;
  if (error instanceof openid.AuthorizationResponseError) {
    if (OUTAGES.has(error.error)) return new ProviderUnavailable(message);
    return new ProviderRefusal(
      DENIALS.has(error.error) ? 'provider_denied' : 'provider_answer_invalid',
      message,
    );
  }
  if (error instanceof openid.ResponseBodyError) {
    if (OUTAGES.has(error.error)) return new ProviderUnavailable(message);
    return new ProviderRefusal(
      error.error === 'invalid_grant' ? 'provider_code_refused' : 'provider_answer_invalid',
      message,
    );
  }
  return new ProviderRefusal('provider_answer_invalid', message);
}

/**
 * Why a provider refused claims of a user. It has still signed the user in.
 * @throws {ProviderUnavailable | ProviderRefusal} an outage, or claims of another user (OpenID Connect Core §5.3.2)
 */
function refusedClaims(error: unknown): Error {
  const failure = failureOf(error);
  const areForeign = hasCode(error, 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED');
  if (failure instanceof ProviderUnavailable || areForeign) throw failure;
  return failure;
}

/** Whether an error of the libraries, or one of its causes, has a code. */
function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && (('code' in error && error.code === code) || hasCode(error.cause, code));
}

/** An error for the log. Those of the libraries carry requests and responses with codes and tokens. */
function summary(error: unknown): Error {
  const texts: string[] = [];
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = 'error' in cause ? cause.error : 'code' in cause ? cause.code : undefined;
    texts.push(code === undefined ? cause.message : `${cause.message} (${String(code)})`);
  }
  return new Error(texts.join(': ') || 'unknown error');
}

/** A `fetch` with limits. Tells outages from answers. */
async function providerFetch(url: string, init: openid.CustomFetchOptions): Promise<Response> {
  let response: Response;
  let body: Buffer;
  try {
    const timeout = AbortSignal.timeout(TIMEOUT_SECONDS * 1000);
    const signal = init.signal ? AbortSignal.any([init.signal, timeout]) : timeout;
    response = await fetch(url, { ...init, signal } as RequestInit);
    body = await bodyOf(response);
  } catch (error) {
    throw new ProviderUnavailable(`${new URL(url).origin} is not reachable`, { cause: summary(error) });
  }
  const { status } = response;
  if (status >= 500 || status === 408 || status === 429)
    throw new ProviderUnavailable(`${new URL(url).origin} answered ${status}`);
  const headers = new Headers();
  for (const name of ['content-type', 'dpop-nonce', 'location', 'www-authenticate']) {
    const value = response.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  const hasBody = status !== 204 && status !== 205 && status !== 304;
  return new Response(hasBody ? new Uint8Array(body) : null, { status, headers });
}

async function bodyOf(response: Response): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Error(`the answer is longer than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The keys with which a provider signs. */
interface ProviderKeys {
  /**
   * Checks a signature.
   * @param sender who has sent what is signed
   * @param check receives the keys. It is called again if they may have been replaced
   */
  verify<T>(sender: 'provider' | 'anyone', check: (find: RemoteKeys) => Promise<T>): Promise<T>;
  /** The keys as they were last found. */
  readonly all: () => openid.ExportedJWKSCache['jwks'];
}

type RemoteKeys = ReturnType<typeof createRemoteJWKSet>;

/**
 * Fetches the keys again at once if none of them fits a signature, because the provider may have replaced them. Keys
 * without `kid` look the same afterwards, and only the signature is wrong. The next such signature waits a while, because
 * anyone can send logout tokens with unknown keys. These do not make the answers of the provider itself wait.
 */
function providerKeys(uri: string, fetchKeys: typeof providerFetch, clock: () => number): ProviderKeys {
  const keys = createRemoteJWKSet(new URL(uri), {
    timeoutDuration: TIMEOUT_SECONDS * 1000,
    cooldownDuration: Infinity,
    [joseFetch]: (url, options) =>
      fetchKeys(url, {
        body: undefined,
        headers: Object.fromEntries(options.headers),
        method: 'GET',
        redirect: 'manual',
        signal: options.signal,
      }),
  });
  const askedAgainAtMs = { provider: -Infinity, anyone: -Infinity };
  return {
    async verify(sender, check) {
      try {
        return await check(keys);
      } catch (error) {
        const isReplaced =
          error instanceof JWKSNoMatchingKey || error instanceof JWSSignatureVerificationFailed;
        if (!isReplaced || clock() - askedAgainAtMs[sender] < RETRY_AFTER_MS) throw error;
        askedAgainAtMs.anyone = clock();
        if (sender === 'provider') askedAgainAtMs.provider = clock();
        await keys.reload();
        return check(keys);
      }
    },
    all: () => keys.jwks() ?? { keys: [] },
  };
}

/** @throws {ProviderRefusal} the metadata name no keys */
function requireKeys(keys: ProviderKeys | undefined): ProviderKeys {
  if (keys === undefined) throw new ProviderRefusal('provider_answer_invalid', 'the provider has no keys');
  return keys;
}

/** The algorithms of the provider with keys that only it has. */
function algorithmsOf({
  id_token_signing_alg_values_supported: algorithms = ['RS256'],
}: openid.ServerMetadata): string[] {
  return algorithms.filter((algorithm) => algorithm !== 'none' && !algorithm.startsWith('HS'));
}

/** OpenID Connect Discovery §3: without a list, `client_secret_basic`. */
function secretMethod({ token_endpoint_auth_methods_supported: methods }: openid.ServerMetadata) {
  const isBasic = methods === undefined || methods.includes('client_secret_basic');
  return isBasic ? openid.ClientSecretBasic : openid.ClientSecretPost;
}

function privateKeyOf(
  { privateKey, keyId }: { readonly privateKey: KeyObject; readonly keyId: string | undefined },
  { token_endpoint_auth_signing_alg_values_supported: supported = ['RS256'] }: openid.ServerMetadata,
): openid.PrivateKey {
  const algorithm = keyAlgorithm(privateKey, supported);
  const key = privateKey.toCryptoKey(algorithm, false, ['sign']) as openid.CryptoKey;
  return { key, ...(keyId !== undefined && { kid: keyId }) };
}

function keyAlgorithm(key: KeyObject, supported: readonly string[]): webcrypto.AlgorithmIdentifier {
  if (key.asymmetricKeyType === 'ed25519') return { name: 'Ed25519' };
  if (key.asymmetricKeyType === 'ec')
    return { name: 'ECDSA', namedCurve: 'P-256' } as webcrypto.EcKeyImportParams;
  const isPss = supported.includes('PS256') && !supported.includes('RS256');
  const name = isPss ? 'RSA-PSS' : 'RSASSA-PKCS1-v1_5';
  return { name, hash: 'SHA-256' } as webcrypto.RsaHashedImportParams;
}

/** GitHub has no metadata. GitHub Enterprise Server has the same paths. */
function githubMetadata(issuer: string): openid.ServerMetadata {
  return {
    issuer,
    authorization_endpoint: `${issuer}/login/oauth/authorize`,
    token_endpoint: `${issuer}/login/oauth/access_token`,
    token_endpoint_auth_methods_supported: ['client_secret_post'],
  };
}

function githubApi(issuer: string): string {
  return issuer === 'https://github.com' ? 'https://api.github.com' : `${issuer}/api/v3`;
}
