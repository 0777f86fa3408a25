import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { listenOnLoopback } from './listening.ts';

type Claims = Readonly<Record<string, unknown>>;

/** What the provider remembers of an authorization request. */
interface Issued {
  readonly challenge: string;
  readonly redirectUri: string;
  readonly claims: Claims;
}

/**
 * An identity provider on loopback whose users sign in at once, as the test says. It also gives wrong answers,
 * which no real provider does on request.
 */
export class IdentityProvider {
  #keys: CryptoKeyPair;
  #keyId: string | undefined = 'one';
  readonly #foreign: CryptoKeyPair;
  readonly #codes = new Map<string, Issued>();
  readonly #tokens = new Map<string, Claims>();
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  url = '';
  /** Status of every response, until it is `undefined` again. */
  outage: number | undefined;
  /** The user of every browser that comes here. */
  user: Claims = {};
  /** Further fields of answers as forms. */
  posted: Readonly<Record<string, string>> = {};
  /** Members that replace those of the metadata. */
  metadata: Claims = {};
  /** Paths of all requests, oldest first. */
  readonly paths: string[] = [];
  /** Requests at the token endpoint: header and form. */
  readonly tokenRequests: { readonly authorization: string | undefined; readonly form: URLSearchParams }[] =
    [];

  private constructor(keys: CryptoKeyPair, foreign: CryptoKeyPair) {
    this.#keys = keys;
    this.#foreign = foreign;
  }

  static async open(): Promise<IdentityProvider> {
    const provider = new IdentityProvider(await generateKeyPair('ES256'), await generateKeyPair('ES256'));
    provider.url = `http://127.0.0.1:${await listenOnLoopback(provider.#server)}`;
    return provider;
  }

  /**
   * Replaces the key at once, without publishing the next one first.
   * @param keyId without one, neither the key nor what it signs has a `kid`
   */
  async replaceKey(keyId?: string): Promise<void> {
    this.#keys = await generateKeyPair('ES256');
    this.#keyId = keyId;
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  /**
   * Answers an authorization request with a code.
   * @param claims of the user; they replace those of the ID token
   */
  answer(request: string | URL, claims: Claims): URL {
    const { searchParams } = new URL(request);
    const code = randomBytes(16).toString('hex');
    const redirectUri = searchParams.get('redirect_uri') ?? '';
    this.#codes.set(code, {
      challenge: searchParams.get('code_challenge') ?? '',
      redirectUri,
      claims: {
        nonce: searchParams.get('nonce') ?? undefined,
        aud: searchParams.get('client_id'),
        // Core §2: required if the request has max_age.
        ...(searchParams.get('max_age') !== null && { auth_time: seconds() }),
        ...claims,
      },
    });
    const callback = new URL(redirectUri);
    callback.search = String(
      new URLSearchParams({ code, state: searchParams.get('state') ?? '', iss: this.url }),
    );
    return callback;
  }

  /** A logout token (Back-Channel Logout §2.4) with other members. `undefined` removes a member. */
  logoutToken(members: Claims, header: Claims = {}, isForeign = false): Promise<string> {
    return this.#sign(
      {
        iss: this.url,
        iat: seconds(),
        exp: seconds() + 120,
        jti: randomBytes(8).toString('hex'),
        events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
        ...members,
      },
      { typ: 'logout+jwt', ...header },
      isForeign,
    );
  }

  #sign(claims: Claims, header: Claims = {}, isForeign = false): Promise<string> {
    const { privateKey } = isForeign ? this.#foreign : this.#keys;
    const payload = JSON.parse(JSON.stringify(claims)) as JWTPayload;
    return new SignJWT(payload)
      .setProtectedHeader({ alg: 'ES256', ...(this.#keyId !== undefined && { kid: this.#keyId }), ...header })
      .sign(privateKey);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const json = (value: unknown, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (this.outage !== undefined) return void json({}, this.outage);
    const bearer = this.#tokens.get((request.headers.authorization ?? '').replace(/^Bearer /, ''));
    const asked = new URL(request.url ?? '/', this.url);
    this.paths.push(asked.pathname);
    const redirect = (to: URL) => response.writeHead(302, { location: to.href }).end();
    switch (asked.pathname) {
      case '/authorize': {
        const answer = this.answer(asked, this.user);
        return void (asked.searchParams.get('response_mode') === 'form_post'
          ? response.writeHead(200, { 'content-type': 'text/html' }).end(formOf(answer, this.posted))
          : redirect(answer));
      }
      case '/logout': {
        const back = new URL(asked.searchParams.get('post_logout_redirect_uri') ?? '');
        back.search = String(new URLSearchParams({ state: asked.searchParams.get('state') ?? '' }));
        return void redirect(back);
      }
      case '/.well-known/openid-configuration':
        return void json({ ...this.#metadata(), ...this.metadata });
      case '/keys':
        return void json({
          keys: [{ ...(await exportJWK(this.#keys.publicKey)), kid: this.#keyId, alg: 'ES256' }],
        });
      case '/token':
      case '/login/oauth/access_token': {
        const form = new URLSearchParams(body);
        this.tokenRequests.push({ authorization: request.headers.authorization, form });
        return void json(...(await this.#redeem(form)));
      }
      case '/userinfo':
        if (bearer?.userInfo === 'refused') return void json({ error: 'insufficient_scope' }, 403);
        if (bearer?.userInfo === 'page')
          return void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Sign in</p>');
        if (bearer?.userInfo === 'outage') return void json({}, 500);
        return void (bearer ? json({ sub: bearer.sub, ...(bearer.userInfo as object) }) : json({}, 401));
      case '/api/v3/user':
        return void (bearer ? json(bearer.user) : json({}, 401));
      case '/api/v3/user/emails':
        return void (bearer?.emails ? json(bearer.emails) : json({}, bearer ? 403 : 401));
      default:
        return void json({}, 404);
    }
  }

  #metadata(): Claims {
    return {
      issuer: this.url,
      authorization_endpoint: `${this.url}/authorize`,
      token_endpoint: `${this.url}/token`,
      userinfo_endpoint: `${this.url}/userinfo`,
      jwks_uri: `${this.url}/keys`,
      end_session_endpoint: `${this.url}/logout`,
      response_types_supported: ['code'],
      id_token_signing_alg_values_supported: ['ES256'],
      authorization_response_iss_parameter_supported: true,
    };
  }

  async #redeem(form: URLSearchParams): Promise<[unknown, number]> {
    const code = form.get('code') ?? '';
    const issued = this.#codes.get(code);
    this.#codes.delete(code);
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (issued?.challenge !== challenge || issued.redirectUri !== form.get('redirect_uri'))
      return [{ error: 'invalid_grant' }, 400];
    const { isForeign, ...claims } = issued.claims;
    const token = randomBytes(16).toString('hex');
    this.#tokens.set(token, claims);
    const answer = { access_token: token, token_type: 'bearer', refresh_token: 'not-kept' };
    if (claims.sub === undefined && claims.user !== undefined) return [answer, 200];
    const idToken = await this.#sign(
      { iss: this.url, iat: seconds(), exp: seconds() + 300, ...claims },
      {},
      isForeign === true,
    );
    return [{ ...answer, id_token: idToken }, 200];
  }
}

/** A page that sends an answer as a form at once (OAuth 2.0 Form Post Response Mode). */
function formOf(answer: URL, further: Readonly<Record<string, string>>): string {
  const fields = [...answer.searchParams, ...Object.entries(further)].map(
    ([name, value]) => `<input type="hidden" name="${name}" value='${value}'>`,
  );
  return `<form method="post" action="${answer.origin}${answer.pathname}">${fields.join('')}</form><script>document.forms[0].submit()</script>`;
}

function seconds(): number {
  return Math.floor(Date.now() / 1000);
}
