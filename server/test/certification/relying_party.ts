import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Browser, isConsent, isLogin, leavingLink, type Page } from '../harness/browser.ts';
import { checkCode, checkError } from './checks/authorization_response.ts';
import { checkIdToken } from './checks/id_token.ts';
import { checkTokens, type Tokens } from './checks/token_response.ts';
import { checkUserInfo } from './checks/user_info.ts';
import type { Client } from './client.ts';
import { authenticated } from './client_authentication.ts';
import type { JsonObject } from './jws.ts';
import type { Operator } from './operator.ts';
import type { Variant } from './plans.ts';
import { postedForm } from './posted_form.ts';
import type { Provider } from './provider.ts';
import type { Remarks } from './verdict.ts';

export type Parameters = Readonly<Record<string, string>>;

/** Where an authorization request has led, and over which pages. */
export interface Arrival {
  readonly pages: readonly ('login' | 'consent')[];
  /** What the client was answered; absent where the browser stayed with the provider. */
  readonly parameters?: URLSearchParams;
  /** The last page of the provider's that was shown. */
  readonly page: Page;
}

/** What one run of the code flow has brought. */
export interface Flow {
  readonly request: Parameters;
  readonly pages: Arrival['pages'];
  readonly code: string;
  readonly tokens: Tokens;
  /** Claims of the ID token. */
  readonly identity: JsonObject;
}

/** How one run differs from the plain one. */
export interface FlowChanges {
  /** Parameters of the authorization request; `undefined` leaves one out. */
  readonly request?: Readonly<Record<string, string | undefined>>;
  /** Parameters of the token request. */
  readonly redemption?: Parameters;
  /** How the request reaches the provider. Default: in the address. */
  readonly send?: (request: Parameters) => Promise<Page>;
}

/** The client's side of one module: strict, with a browser and a person of its own. */
export class RelyingParty {
  readonly provider: Provider;
  readonly operator: Operator;
  readonly variant: Variant;
  readonly remarks: Remarks;
  readonly browser: Browser;
  /** Those that registered themselves for this module. */
  readonly clients: Client[] = [];

  constructor(parts: {
    readonly provider: Provider;
    readonly operator: Operator;
    readonly variant: Variant;
    readonly remarks: Remarks;
  }) {
    this.provider = parts.provider;
    this.operator = parts.operator;
    this.variant = parts.variant;
    this.remarks = parts.remarks;
    this.browser = new Browser(parts.provider.issuer);
  }

  /** The code flow to its tokens and UserInfo, with everything checked that always holds. */
  async codeFlow(client: Client, changes: FlowChanges = {}): Promise<Flow> {
    const flow = await this.tokenFlow(client, changes);
    await checkUserInfo(await this.userInfo(flow.tokens), flow.identity.sub);
    return flow;
  }

  /** The same without UserInfo. */
  async tokenFlow(client: Client, changes: FlowChanges = {}): Promise<Flow> {
    const request = this.request(client, changes.request);
    const { pages, parameters } = await this.authorize(request, changes.send);
    assert.ok(parameters, 'the client has an answer');
    const code = checkCode(this.provider, parameters, request.state);
    const tokens = await checkTokens(await this.redeem(client, code, changes.redemption));
    const identity = await this.identityIn(client, tokens, request.nonce);
    return { request, pages, code, tokens, identity };
  }

  /** An authorization request that ends with an error to the client. @returns its code */
  async refusedFlow(client: Client, changes: FlowChanges): Promise<string> {
    const request = this.request(client, changes.request);
    const { pages, parameters } = await this.authorize(request, changes.send);
    assert.deepEqual(pages, []);
    assert.ok(parameters, 'the client has an answer');
    return checkError(this.provider, parameters, request.state);
  }

  /** A plain authorization request, with changes. */
  request({ id, redirectUri }: Client, changes: FlowChanges['request'] = {}): Parameters {
    const request = {
      client_id: id,
      redirect_uri: redirectUri,
      scope: 'openid',
      response_type: 'code',
      state: randomText(10),
      nonce: randomText(10),
      ...(this.variant.responseMode === 'form_post' && { response_mode: 'form_post' }),
      ...changes,
    };
    return Object.fromEntries(
      Object.entries(request).filter((pair): pair is [string, string] => pair[1] !== undefined),
    );
  }

  addressOf(request: Parameters): string {
    return `${this.provider.at('authorization_endpoint')}?${new URLSearchParams(request)}`;
  }

  /** The person signs in and allows wherever they are asked. */
  async authorize(
    request: Parameters,
    send = (sent: Parameters) => this.browser.get(this.addressOf(sent)),
  ): Promise<Arrival> {
    const pages: ('login' | 'consent')[] = [];
    let page = await send(request);
    while (isLogin(page) || isConsent(page)) {
      pages.push(isLogin(page) ? 'login' : 'consent');
      page = await this.browser.submit(
        page,
        isLogin(page) ? { ...this.operator.person } : { decision: 'allow' },
      );
      assert.ok(pages.length < 4, 'the pages lead somewhere');
    }
    const parameters = this.#answerIn(page, request);
    return { pages, page, ...(parameters !== undefined && { parameters }) };
  }

  /**
   * What the client is told: by the address that the browser is sent to, or by a form that it posts there; or by the link
   * or button that a person uses, since clients that registered themselves get no error without one.
   */
  #answerIn(
    page: Page,
    { redirect_uri: redirectUri = '', response_mode: mode }: Parameters,
  ): URLSearchParams | undefined {
    if (mode === 'form_post') {
      const form = postedForm(page);
      if (form === undefined) return undefined;
      assert.equal(form.action, redirectUri);
      assert.equal(page.status, 200);
      assert.match(page.headers.get('cache-control') ?? '', /no-store/);
      return form.fields;
    }
    const arrivedAt = new URL(leavingLink(page) ?? page.url);
    if (arrivedAt.origin === new URL(this.provider.issuer).origin) return undefined;
    const expected = new URL(redirectUri);
    const { origin, pathname, hash, searchParams } = arrivedAt;
    assert.equal(`${origin}${pathname}`, `${expected.origin}${expected.pathname}`);
    assert.equal(hash, '');
    const parameters = new URLSearchParams(searchParams);
    for (const [name, value] of expected.searchParams) {
      assert.equal(parameters.get(name), value, 'the redirect URI keeps its query');
      parameters.delete(name);
    }
    return parameters;
  }

  redeem(client: Client, code: string, more: Parameters = {}): Promise<Response> {
    return this.tokenRequest(client, {
      grant_type: 'authorization_code',
      code,
      redirect_uri: client.redirectUri,
      ...more,
    });
  }

  async tokenRequest(client: Client, fields: Parameters): Promise<Response> {
    const { headers, parameters } = await authenticated(this.provider, client);
    return fetch(this.provider.at('token_endpoint'), {
      method: 'POST',
      headers,
      body: new URLSearchParams({ ...fields, ...parameters }),
    });
  }

  identityIn(client: Client, { idToken, accessToken }: Tokens, nonce?: string): Promise<JsonObject> {
    return checkIdToken(this.provider, idToken, { clientId: client.id, nonce, accessToken });
  }

  userInfo({ accessToken }: Tokens, init: RequestInit = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${accessToken}` };
    return fetch(this.provider.at('userinfo_endpoint'), { headers, ...init });
  }
}

/** @param bytes how hard it is to guess */
export function randomText(bytes: number): string {
  return randomBytes(bytes).toString('base64url');
}
