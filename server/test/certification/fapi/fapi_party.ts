// The client of the FAPI 2.0 modules. It pushes its requests, proves that it holds its tokens, and checks strictly.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { Browser, type Page } from '../../harness/browser.ts';
import { fetchOverTls } from '../../harness/tls.ts';
import { checkCode, checkError } from '../checks/authorization_response.ts';
import { checkIdToken } from '../checks/id_token.ts';
import { checkTokens, type Tokens } from '../checks/token_response.ts';
import { checkUserInfo } from '../checks/user_info.ts';
import { isObject, type JsonObject, verified } from '../jws.ts';
import { jsonOf, type Provider } from '../provider.ts';
import { approved, type Parameters, randomText } from '../relying_party.ts';
import { present, type Remarks } from '../verdict.ts';
import type { Bank, FapiOperator } from './operator.ts';
import type { FapiVariant } from './plans.ts';

/** Members of a JWT that differ from the usual ones; `undefined` omits one. */
export interface JwtChanges {
  readonly header?: JsonObject;
  readonly claims?: JsonObject;
  /** Signs instead of the usual key. */
  readonly key?: JWK;
}

/** How a request differs from the usual one; `null` omits a part. */
export interface Sent {
  /** Default: the first client. */
  readonly bank?: Bank;
  readonly assertion?: JwtChanges | null;
  readonly proof?: JwtChanges | null;
  /** Whose certificate the connection has. Default: the client's. */
  readonly certificate?: Bank | null;
  readonly method?: string;
  readonly headers?: Parameters;
  /** More parameters; `undefined` omits a usual one. */
  readonly form?: Readonly<Record<string, string | undefined>>;
}

/** How a flow differs from the usual one. */
export interface FapiChanges {
  /** Default: the first client. */
  readonly bank?: Bank;
  /** Parameters of the authorization request; `undefined` omits one. */
  readonly request?: Readonly<Record<string, string | undefined>>;
  /** The request object, if the variant has one. */
  readonly object?: JwtChanges;
  readonly push?: Sent;
  /** Parameters beside `client_id` and `request_uri`. */
  readonly beside?: Parameters;
  readonly redeem?: Sent;
}

/** An authorization request that the server keeps. */
interface Pushed {
  readonly bank: Bank;
  readonly request: Parameters;
  readonly requestUri: string;
  readonly expiresIn: number;
}

/** A code with its request. */
interface Granted extends Pushed {
  readonly code: string;
}

const SCOPE = 'openid profile email address phone';
const NAME_OF_ASSERTIONS = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

export class FapiParty {
  readonly provider: Provider;
  readonly operator: FapiOperator;
  readonly variant: FapiVariant;
  readonly remarks: Remarks;
  readonly first: Bank;
  readonly second: Bank;
  /** The DPoP key of this module. */
  readonly proofKey: JWK;
  readonly #verifier = randomText(48);

  private constructor(parts: Omit<Parts, 'banks'>, [first, second]: readonly [Bank, Bank], proofKey: JWK) {
    this.provider = parts.provider;
    this.operator = parts.operator;
    this.variant = parts.variant;
    this.remarks = parts.remarks;
    this.first = first;
    this.second = second;
    this.proofKey = proofKey;
  }

  static async create(parts: Parts): Promise<FapiParty> {
    return new FapiParty(parts, parts.operator.banks(parts.variant), await newProofKey());
  }

  /** Runs the code flow up to UserInfo, with all checks that apply to every run. */
  async flow(changes: FapiChanges = {}) {
    const granted = await this.grant(changes);
    const tokens = await this.tokensIn(await this.redeem(granted, changes.redeem));
    const identity = await this.identityIn(granted, tokens);
    await checkUserInfo(await this.userInfo(tokens, { bank: granted.bank }), identity.sub);
    return { ...granted, tokens, identity };
  }

  /** Runs the flow up to the code. */
  async grant(changes: FapiChanges = {}): Promise<Granted> {
    const pushed = await this.pushed(changes);
    return { ...pushed, code: await this.codeOf(pushed, changes.beside) };
  }

  /** The code that a user gives for a pushed request. */
  async codeOf(pushed: Pushed, beside: Parameters = {}): Promise<string> {
    const { parameters } = await this.visit(pushed, beside);
    return checkCode(this.provider, present(parameters, 'the answer'), pushed.request.state);
  }

  /** Pushes a request that the server accepts (RFC 9126 §2.2). */
  async pushed(changes: FapiChanges = {}): Promise<Pushed> {
    const { bank = this.first } = changes;
    const request = this.request(bank, changes.request);
    const response = await this.push(request, changes);
    const { request_uri: requestUri, expires_in: expiresIn, error } = await jsonOf(response);
    assert.equal(response.status, 201, String(error));
    assert.ok(typeof requestUri === 'string' && requestUri.startsWith('urn:ietf:params:oauth:request_uri:'));
    assert.ok(Number.isInteger(expiresIn) && Number(expiresIn) > 0, 'expires_in');
    return { bank, request, requestUri, expiresIn: Number(expiresIn) };
  }

  /** A usual authorization request with changes. */
  request({ id, redirectUri }: Bank, changes: FapiChanges['request'] = {}): Parameters {
    return withoutAbsent({
      client_id: id,
      redirect_uri: redirectUri,
      scope: SCOPE,
      response_type: 'code',
      state: randomText(10),
      nonce: randomText(10),
      code_challenge: createHash('sha256').update(this.#verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...(this.variant.isSigned && { response_mode: 'jwt' }),
      ...changes,
    });
  }

  async push(request: Parameters, { bank = this.first, object, push = {} }: FapiChanges = {}) {
    const parameters = this.variant.isSigned
      ? { client_id: bank.id, request: await this.requestObject(bank, request, object) }
      : request;
    return this.post('pushed_authorization_request_endpoint', parameters, { bank, proof: null, ...push });
  }

  /** A signed request object (RFC 9101 §4). */
  requestObject(bank: Bank, request: Parameters, changes: JwtChanges = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const claims = { ...request, iss: bank.id, aud: this.provider.issuer, nbf: now, exp: now + 300 };
    const header = { alg: 'PS256', typ: 'oauth-authz-req+jwt', kid: bank.key.kid };
    return jwt(bank.key, header, claims, changes);
  }

  /** The user opens a pushed request, and by default signs in and allows everything. */
  visit(
    { bank, requestUri }: Pick<Pushed, 'bank' | 'requestUri'>,
    beside: Parameters = {},
    decide?: Decision,
  ) {
    return this.open(bank, { client_id: bank.id, request_uri: requestUri, ...beside }, decide);
  }

  /** The user opens the authorization endpoint with any parameters. */
  async open(
    bank: Bank,
    parameters: Parameters,
    decide: Decision = (browser, page) => this.#approve(browser, page),
  ) {
    const browser = new Browser(this.provider.issuer);
    const address = `${this.provider.at('authorization_endpoint')}?${new URLSearchParams(parameters)}`;
    const page = await decide(browser, await browser.get(address));
    return { page, ...(await this.#answerIn(page, bank)) };
  }

  async #approve(browser: Browser, first: Page): Promise<Page> {
    return (await approved(browser, first, this.operator.person)).page;
  }

  /** The response to the client, which JARM wraps in a signed JWT. */
  async #answerIn({ url }: Page, { id, redirectUri }: Bank): Promise<{ parameters?: URLSearchParams }> {
    const { origin, pathname, searchParams: parameters, hash } = new URL(url);
    if (origin === new URL(this.provider.issuer).origin) return {};
    const expected = new URL(redirectUri);
    assert.equal(`${origin}${pathname}${hash}`, `${expected.origin}${expected.pathname}`);
    for (const [name, value] of expected.searchParams) {
      assert.equal(parameters.get(name), value, 'the redirect URI keeps its query');
      parameters.delete(name);
    }
    if (!this.variant.isSigned) return { parameters };
    assert.deepEqual([...parameters.keys()], ['response']);
    const { claims } = await verified(parameters.get('response') ?? '', await this.provider.keys(), 'PS256');
    const { aud, exp, ...members } = claims;
    assert.equal(aud, id);
    assert.ok(Number(exp) > Date.now() / 1000, 'exp is later');
    return {
      parameters: new URLSearchParams(Object.entries(members).map(([name, value]) => [name, String(value)])),
    };
  }

  /** Whether the server shows an error page, or the client gets one of the errors. */
  async checkRefused(
    pushed: Pick<Pushed, 'bank' | 'requestUri'>,
    errors: readonly string[],
    beside: Parameters = {},
  ) {
    const { page, parameters } = await this.visit(pushed, beside, async (_, page) => page);
    if (parameters === undefined) return assert.equal(page.status, 400);
    const error = checkError(this.provider, parameters, parameters.get('state') ?? undefined);
    assert.ok(errors.includes(error), error);
  }

  /** Exchanges a code. */
  redeem({ bank, code }: Pick<Granted, 'bank' | 'code'>, sent: Sent = {}): Promise<Response> {
    const parameters = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: bank.redirectUri,
      code_verifier: this.#verifier,
    };
    return this.post('token_endpoint', parameters, { bank, ...sent });
  }

  refresh(refreshToken: string | undefined, sent: Sent = {}): Promise<Response> {
    const parameters = {
      grant_type: 'refresh_token',
      refresh_token: present(refreshToken, 'the refresh token'),
    };
    return this.post('token_endpoint', parameters, sent);
  }

  tokensIn(response: Response): Promise<Tokens> {
    return checkTokens(response, this.variant.binding === 'dpop' ? 'DPoP' : 'Bearer');
  }

  identityIn({ bank, request }: Pick<Granted, 'bank' | 'request'>, { idToken, accessToken }: Tokens) {
    return checkIdToken(this.provider, idToken, {
      clientId: bank.id,
      nonce: request.nonce,
      accessToken,
      algorithm: 'PS256',
      hasUserClaims: request.claims !== undefined,
    });
  }

  /** Posts a form with the client's authentication and a proof. */
  async post(
    endpoint: string,
    parameters: Parameters,
    {
      bank = this.first,
      assertion = {},
      proof = {},
      certificate = bank,
      method = 'POST',
      headers = {},
      form,
    }: Sent,
  ): Promise<Response> {
    const url = this.at(endpoint);
    const authentication =
      this.variant.authentication === 'mtls' || assertion === null
        ? { client_id: bank.id }
        : {
            client_assertion_type: NAME_OF_ASSERTIONS,
            client_assertion: await this.assertion(bank, assertion),
          };
    const fields = withoutAbsent({ ...parameters, ...authentication, ...form });
    const dpop = await this.#proofHeader(proof, { htm: method, htu: url });
    return this.#fetch(certificate)(url, {
      method,
      headers: { ...FORM, ...dpop, ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  }

  /** A client assertion (RFC 7523 §3), whose audience is the issuer. */
  assertion({ id, key }: Bank, changes: JwtChanges = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: id,
      sub: id,
      aud: this.provider.issuer,
      jti: randomText(16),
      iat: now,
      nbf: now,
      exp: now + 60,
    };
    return jwt(key, { alg: 'PS256', kid: key.kid }, claims, changes);
  }

  /** Asks UserInfo, which is the API of these tokens. */
  async userInfo(
    { accessToken }: Pick<Tokens, 'accessToken'>,
    { bank = this.first, certificate = bank, proof = {}, headers = {} }: Sent = {},
  ) {
    const url = this.at('userinfo_endpoint');
    const scheme = this.variant.binding === 'dpop' ? 'DPoP' : 'Bearer';
    const ath = createHash('sha256').update(accessToken).digest('base64url');
    const dpop = await this.#proofHeader(proof, { htm: 'GET', htu: url, ath });
    return this.#fetch(certificate)(url, {
      method: 'GET',
      headers: { authorization: `${scheme} ${accessToken}`, ...dpop, ...headers },
    });
  }

  async #proofHeader(changes: JwtChanges | null, claims: JsonObject): Promise<Parameters> {
    if (this.variant.binding !== 'dpop' || changes === null) return {};
    return { dpop: await this.proof(claims, changes) };
  }

  /** A DPoP proof (RFC 9449 §4.2). */
  async proof(claims: JsonObject, changes: JwtChanges = {}): Promise<string> {
    const key = changes.key ?? this.proofKey;
    const header = { alg: 'ES256', typ: 'dpop+jwt', jwk: publicPart(key) };
    const usual = { jti: randomText(16), iat: Math.floor(Date.now() / 1000) };
    return jwt(key, header, { ...usual, ...claims }, changes);
  }

  thumbprint(): Promise<string> {
    return calculateJwkThumbprint(this.proofKey);
  }

  /** The URL of an endpoint: at the port for certificates if the variant needs one. */
  at(endpoint: string): string {
    if (!this.#usesCertificates) return this.provider.at(endpoint);
    const aliases = this.provider.metadata.mtls_endpoint_aliases;
    assert.ok(isObject(aliases) && typeof aliases[endpoint] === 'string', `${endpoint} has an alias`);
    return aliases[endpoint];
  }

  get #usesCertificates(): boolean {
    return this.variant.authentication === 'mtls' || this.variant.binding === 'mtls';
  }

  #fetch(bank: Bank | null) {
    return this.#usesCertificates ? fetchOverTls(this.operator.certificate, bank?.certificate) : fetch;
  }
}

/** What the user does at the first page. */
type Decision = (browser: Browser, page: Page) => Promise<Page>;

interface Parts {
  readonly provider: Provider;
  readonly operator: FapiOperator;
  readonly variant: FapiVariant;
  readonly remarks: Remarks;
}

/** A private key for DPoP. */
export async function newProofKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return exportJWK(privateKey);
}

export function publicPart({ kty, crv, x, y }: JWK): JWK {
  return { kty, crv, x, y } as JWK;
}

function jwt(key: JWK, header: JsonObject, claims: JsonObject, changes: JwtChanges): Promise<string> {
  const { alg, ...others } = { ...header, ...changes.header };
  return new SignJWT(withoutAbsent({ ...claims, ...changes.claims }))
    .setProtectedHeader({ alg: String(alg), ...withoutAbsent(others) })
    .sign(changes.key ?? key);
}

function withoutAbsent<Value>(members: Readonly<Record<string, Value | undefined>>): Record<string, Value> {
  const present = Object.entries(members).filter((pair): pair is [string, Value] => pair[1] !== undefined);
  return Object.fromEntries(present);
}
