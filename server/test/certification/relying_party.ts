import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Browser, type Credentials, isConsent, isLogin, leavingLink, type Page } from '../harness/browser.ts';
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

/** The result of an authorization request, with the pages on the way. */
export interface Arrival {
  readonly pages: readonly ('login' | 'consent')[];
  /** The response to the client; absent if the browser stayed with the provider. */
  readonly parameters?: URLSearchParams;
  /** The last page of the provider. */
  readonly page: Page;
}

/** The result of a code flow. */
export interface Flow {
  readonly request: Parameters;
  readonly pages: Arrival['pages'];
  readonly code: string;
  readonly tokens: Tokens;
  /** Claims of the ID token. */
  readonly identity: JsonObject;
}

/** Changes to a plain run. */
export interface FlowChanges {
  /** Parameters of the authorization request; `undefined` omits one. */
  readonly request?: Readonly<Record<string, string | undefined>>;
  /** Parameters of the token request. */
  readonly redemption?: Parameters;
  /** How the request is sent. Default: in the query. */
  readonly send?: (request: Parameters) => Promise<Page>;
}

/** The client of one module. It checks strictly, and has its own browser and user. */
export class RelyingParty {
  readonly provider: Provider;
  readonly operator: Operator;
  readonly variant: Variant;
  readonly remarks: Remarks;
  readonly browser: Browser;
  /** The clients that registered themselves for this module. */
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

  /** Runs the code flow up to UserInfo, with all checks that apply to every run. */
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

  /**
   * An authorization request that gets an error at the client.
   * @returns its code
   */
  async refusedFlow(client: Client, changes: FlowChanges): Promise<string> {
    const request = this.request(client, changes.request);
    const { pages, parameters } = await this.authorize(request, changes.send);
    assert.deepEqual(pages, []);
    assert.ok(parameters, 'the client has an answer');
    return checkError(this.provider, parameters, request.state);
  }

  /** A plain authorization request with changes. */
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

  /** The user signs in and allows everything. */
  async authorize(
    request: Parameters,
    send = (sent: Parameters) => this.browser.get(this.addressOf(sent)),
  ): Promise<Arrival> {
    const { pages, page } = await approved(this.browser, await send(request), this.operator.person);
    const parameters = this.#answerIn(page, request);
    return { pages, page, ...(parameters !== undefined && { parameters }) };
  }

  /**
   * The response to the client: by redirect, by a form that submits itself, or by the link or button that the user
   * presses. Self-registered clients get errors only that way.
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

/** The user signs in and allows everything, until another page comes. */
export async function approved(browser: Browser, first: Page, person: Credentials) {
  const pages: ('login' | 'consent')[] = [];
  let page = first;
  while (isLogin(page) || isConsent(page)) {
    pages.push(isLogin(page) ? 'login' : 'consent');
    page = await browser.submit(page, isLogin(page) ? { ...person } : { decision: 'allow' });
    assert.ok(pages.length < 4, 'the pages lead somewhere');
  }
  return { pages, page };
}

/** @param bytes of randomness */
export function randomText(bytes: number): string {
  return randomBytes(bytes).toString('base64url');
}
