import assert from 'node:assert/strict';
import { CLIENT_ALGORITHMS, type ClientCertificate, type ClientMetadata, type NewClient } from '@grantd/core';
import { SignJWT } from 'jose';
import { codeIn, exactly, formOf, type Parameters, USUAL } from './authorization_endpoint.ts';
import { type AssertionChanges, asParameters, assertionOf, clientKey } from './client_keys.ts';
import { type ProofChanges, proofOf, USERINFO_URL } from './dpop_proofs.ts';
import type { TestResponse } from './transports/transport.ts';
import { CLIENTS, type GrantedTokens, ISSUER, VERIFIER, type World } from './world.ts';

/** How a client signs, and changes to what it sends. */
export interface Sent {
  readonly assertion?: AssertionChanges;
  /** `null`: the client sends no proof. */
  readonly proof?: ProofChanges | null;
  /** Of the TLS connection. */
  readonly certificate?: ClientCertificate;
  readonly headers?: Readonly<Record<string, string>>;
  readonly algorithm?: string;
}

/** A client that keeps FAPI 2.0: it authenticates by assertions, pushes its requests, and sends DPoP proofs. */
export class FapiClient {
  readonly #world: World;
  readonly id: string;

  constructor(world: World, id: string) {
    this.#world = world;
    this.id = id;
  }

  /** Posts a form with an assertion, and with a proof at the token endpoint. */
  async post(
    path: string,
    form: Parameters,
    {
      assertion,
      certificate,
      headers,
      proof = path === '/token' ? {} : null,
      algorithm = 'ES256',
    }: Sent = {},
  ): Promise<TestResponse> {
    const credentials = asParameters(await assertionOf(this.#world, this.id, algorithm, assertion));
    const dpop = proof && (await proofOf(this.#world, proof));
    return this.#world.send({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...(dpop && { dpop }), ...headers },
      body: formOf({ ...form, ...credentials }).toString(),
      ...(certificate && { clientCertificate: certificate }),
    });
  }

  push(parameters: Parameters = {}, sent: Sent = {}): Promise<TestResponse> {
    return this.post('/par', { ...USUAL, client_id: this.id, ...parameters }, sent);
  }

  /** The `request_uri` of a pushed request. */
  async pushed(parameters: Parameters = {}, sent: Sent = {}): Promise<string> {
    return requestUriIn(await this.push(parameters, sent));
  }

  /** The response to the browser, after the user has approved a pushed request. */
  async answer(requestUri: string) {
    const { authorization } = this.#world.server;
    const request = await authorization.validate(exactly({ client_id: this.id, request_uri: requestUri }));
    return authorization.complete(request, { subject: 'alice', authTime: this.#world.clock.seconds });
  }

  async code(parameters: Parameters = {}, sent: Sent = {}): Promise<string> {
    return codeIn(await this.answer(await this.pushed(parameters, sent)));
  }

  redeem(code: string, sent: Sent = {}): Promise<TestResponse> {
    const { redirect_uri } = USUAL;
    const form = { grant_type: 'authorization_code', code, redirect_uri, code_verifier: VERIFIER };
    return this.post('/token', form, sent);
  }

  async grant(): Promise<GrantedTokens & { readonly token_type: string }> {
    return tokensIn(await this.redeem(await this.code()));
  }

  refresh(refresh_token: string, sent: Sent = {}): Promise<TestResponse> {
    return this.post('/token', { grant_type: 'refresh_token', refresh_token }, sent);
  }

  async userInfo(token: string): Promise<TestResponse> {
    const dpop = await proofOf(this.#world, { htm: 'GET', htu: USERINFO_URL, token });
    return this.#world.send({
      method: 'GET',
      path: '/userinfo',
      headers: { authorization: `DPoP ${token}`, dpop },
    });
  }

  /** The parameters of a request with a signed request object (RFC 9101). Missing claims get their usual values. */
  async requestObject(
    claims: Readonly<Record<string, unknown>> = {},
    header: Readonly<Record<string, unknown>> = {},
    alg: string = 'ES256',
  ): Promise<Readonly<Record<string, string>>> {
    const { privateKey, publicJwk } = await clientKey(alg);
    const now = this.#world.clock.seconds;
    const times = { iss: this.id, aud: ISSUER, nbf: now, exp: now + 60 };
    const usual = { ...USUAL, response_mode: 'jwt', client_id: this.id };
    const request = await new SignJWT({ ...times, ...usual, ...claims })
      .setProtectedHeader({ alg, kid: String(publicJwk.kid), typ: 'oauth-authz-req+jwt', ...header })
      .sign(privateKey);
    return { client_id: this.id, request };
  }

  /** The body of an introspection response in JWT format (RFC 9701). */
  async introspectAsJwt(token: string): Promise<string> {
    const accept = 'application/token-introspection+jwt';
    const { headers, body } = await this.post('/token/introspect', { token }, { headers: { accept } });
    assert.equal(headers['content-type'], accept, body);
    return body;
  }

  pushSigned(
    claims: Readonly<Record<string, unknown>> = {},
    header: Readonly<Record<string, unknown>> = {},
  ): Promise<TestResponse> {
    return this.requestObject(claims, header).then((form) => this.post('/par', form));
  }
}

/** Adds a client with keys of every algorithm. Its record has what an operator sets, and nothing of a profile. */
export async function addFapiClient(
  world: World,
  metadata: ClientMetadata = {},
  client: Partial<NewClient> = {},
): Promise<FapiClient> {
  const algorithms = [...CLIENT_ALGORITHMS, 'Ed25519'];
  const keys = await Promise.all(algorithms.map(async (one) => (await clientKey(one)).publicJwk));
  const own = { jwks: { keys }, token_endpoint_auth_method: 'private_key_jwt', ...metadata } as const;
  const id = client.id ?? 'bank';
  await world.storage.clients.add({ ...CLIENTS.web, ...client, id, metadata: own });
  return new FapiClient(world, id);
}

export function requestUriIn({ status, body }: TestResponse): string {
  assert.equal(status, 201, body);
  return JSON.parse(body).request_uri;
}

export function tokensIn({ status, body }: TestResponse): GrantedTokens & { readonly token_type: string } {
  assert.equal(status, 200, body);
  return JSON.parse(body);
}
