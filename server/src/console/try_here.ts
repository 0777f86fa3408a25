// Tries an application that runs in the browser: a real authorization request as its client, whose answer comes back to
// this page of the console. The page redeems the code as the application would, and shows what it gets (ADR 220).
import { createHash, generateKeyPairSync, randomBytes, randomUUID, sign } from 'node:crypto';
import { type HttpResponse, OAuthError } from '@grantd/core';
import { isJsonObject } from '@grantd/core/options';
import { html } from 'hono/html';
import type { ClientView as Client } from '../admin/client_documents.ts';
import { type ScopeConcern, scopeConcerns } from '../admin/client_rules.ts';
import { askStorage } from '../data/tables.ts';
import { renderPage } from '../pages/drawing/layout.ts';
import type { Html } from '../texts/formats/html.ts';
import type { Texts } from '../texts/texts.ts';
import type { ConsoleParts, Visit } from './access.ts';
import { type ConsoleView, urlOf } from './frame.ts';
import {
  type Claims,
  type Ended,
  endedPage,
  type Failure,
  failedPage,
  foreignPage,
  type Result,
  resultPage,
  trialForm,
} from './trial_pages.ts';
import { trialUri, usesOf } from './try_it.ts';

const COOKIE = 'grantd_trial';

/** How long a sign-in with an application may take. Seconds */
const TRIAL_SECONDS = 10 * 60;

type Obstacle = keyof Texts['console']['trial']['obstacles'];

/** What the console cannot do for a client; `undefined` if it can sign in as the client. */
function obstacleOf(client: Client): Obstacle | undefined {
  const { disabled_at: disabledAt, response_modes: modes } = client;
  if (disabledAt !== undefined) return 'disabled';
  if (client.require_signed_request_object === true) return 'signed_request';
  if (client.tls_client_certificate_bound_access_tokens === true) return 'certificate';
  return modes?.includes('query') === false ? 'response_mode' : undefined;
}

/** Whether the console can try clients of this kind. Secrets of others are not known here. */
export function isTriable(client: Client): boolean {
  return usesOf(client).includes('spa');
}

// ── On the page of the client ─────────────────────────────────────────────────────────────────────────────

/** Whether the browser has opened the console at the address of the issuer. Behind a proxy, the host says nothing. */
function isAtIssuer({ c, console: { issuer } }: Visit): boolean {
  const { headers } = c.env.incoming;
  const isProxied = ['forwarded', 'x-forwarded-for', 'x-forwarded-host'].some((name) => name in headers);
  return isProxied || headers.host === new URL(issuer).host;
}

/** What is wrong with the scopes of a client now. */
export async function concernsOf(
  { console: { partsOf }, session }: Visit,
  { scope = '', apis = [] }: Pick<Client, 'scope' | 'apis'>,
): Promise<readonly ScopeConcern[]> {
  const scopes = scope.split(' ').filter((one) => one !== '');
  return scopeConcerns(partsOf(session.person.subject), { scopes, apis });
}

/** The scopes of APIs that a client may request while its `scope` has none of them, by API. */
async function unusedApis(
  { console: { partsOf }, session }: Visit,
  { scope = '', apis: resources = [] }: Pick<Client, 'scope' | 'apis'>,
): Promise<Result['unusedApis']> {
  if (resources.length === 0) return [];
  const { storage } = partsOf(session.person.subject);
  const found = (await askStorage(() => storage.clients.findApis?.({ resources, scopes: [] }))) ?? [];
  const own = scope.split(' ');
  return found.filter(
    ({ resource, scopes }) =>
      resources.includes(resource) && scopes.length > 0 && !scopes.some((one) => own.includes(one)),
  );
}

export interface TrialNeeds {
  readonly issuer: string;
  readonly isAtIssuer: boolean;
}

export function trialNeeds(visit: Visit): TrialNeeds {
  return { issuer: visit.console.issuer, isAtIssuer: isAtIssuer(visit) };
}

/**
 * Button `try-here`, and what the console needs for it.
 * @param act draws a link to an act of the client
 */
export function trialOffer(
  view: ConsoleView,
  client: Client,
  { issuer, isAtIssuer: fits }: TrialNeeds,
  act: (name: string) => Html,
  texts: Texts,
): Html | '' {
  if (!isTriable(client)) return '';
  const { trial: words } = texts.console;
  const obstacle = obstacleOf(client);
  if (obstacle !== undefined) return html`<p class="note">${words.obstacles[obstacle]}</p>\n`;
  const uri = trialUri(issuer);
  if (client.redirect_uris?.includes(uri) !== true)
    return html`<p>${words.notAllowed}</p>
<p class="actions">${act('allow_trial')}</p>\n`;
  if (!fits) {
    const url = `${uri.slice(0, -'/try'.length)}/clients?${new URLSearchParams({ id: client.client_id })}`;
    return html`<p class="note">${words.elsewhere(html`<a href="${url}">${url}</a>`)}</p>\n`;
  }
  return html`<p>${words.offer}</p>
${trialForm(view, { id: client.client_id }, ['try-here', words.begin], act('end_trial'))}`;
}

// ── Requests ──────────────────────────────────────────────────────────────────────────────────────────────

/** A sign-in that this browser has begun. */
interface Trial {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  readonly clientId: string;
  /** The administrator. */
  readonly subject: string;
}

/** The tokens of a trial, sealed for the button that revokes them. */
interface TrialTokens {
  readonly clientId: string;
  readonly access: string;
  readonly refresh?: string;
}

/** `POST /console/try`: begins a sign-in (`do=begin`), or revokes its tokens (`do=revoke`). */
export async function submitTrial(visit: Visit): Promise<Response> {
  return visit.form.get('do') === 'revoke' ? revoke(visit) : beginTrial(visit, visit.form.get('id') ?? '');
}

/** Sends the browser to the authorization endpoint as a client, if the console can try it. */
export async function beginTrial(visit: Visit, id: string): Promise<Response> {
  const { c, call, console: parts, session, view } = visit;
  const client = await call('getClient', { client_id: id });
  const { scope = '' } = client;
  const uri = trialUri(parts.issuer);
  if (!isTriable(client) || obstacleOf(client) !== undefined || client.redirect_uris?.includes(uri) !== true)
    return c.redirect(urlOf(view.base, 'clients', { id }), 303);
  const [state = '', nonce = '', verifier = ''] = Array.from({ length: 3 }, () =>
    randomBytes(32).toString('base64url'),
  );
  const trial: Trial = { state, nonce, verifier, clientId: id, subject: session.person.subject };
  const endsAtMs = parts.pages.clock() + TRIAL_SECONDS * 1000;
  parts.cookies.set(c, COOKIE, await parts.tokens.seal({ trial, endsAtMs }), TRIAL_SECONDS);
  const parameters = {
    ...{ client_id: id, redirect_uri: uri, response_type: 'code', state },
    ...(scope !== '' && { scope }),
    ...(isOfUser(scope) && { nonce }),
    ...{ code_challenge: challengeOf(verifier), code_challenge_method: 'S256' },
  };
  const { serverMetadata } = parts.server;
  const endpoint = String(serverMetadata.authorization_endpoint);
  const isPushed =
    client.require_pushed_authorization_requests === true ||
    serverMetadata.require_pushed_authorization_requests === true;
  try {
    const sent = isPushed ? { client_id: id, request_uri: await pushed(parts, parameters) } : parameters;
    return c.redirect(`${endpoint}?${new URLSearchParams(sent)}`, 303);
  } catch (error) {
    return renderFailure(visit, client, failureOf(error));
  }
}

function isOfUser(scope: string): boolean {
  return scope.split(' ').includes('openid');
}

function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}

/** RFC 9126 §2 */
async function pushed({ server }: ConsoleParts, parameters: Record<string, string>): Promise<string> {
  const { pushed_authorization_request_endpoint: endpoint } = server.serverMetadata;
  const answer = await server.pushAuthorizationRequest(formRequest(String(endpoint), parameters));
  return String(documentIn(answer).request_uri);
}

function formRequest(url: string, parameters: Record<string, string>, headers: Record<string, string> = {}) {
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  return {
    ...{ method: 'POST', url, headers: { ...type, ...headers } },
    body: new URLSearchParams(parameters).toString(),
  };
}

function documentIn({ body }: HttpResponse): Readonly<Record<string, unknown>> {
  const document: unknown = JSON.parse(body);
  return isJsonObject(document) ? document : {};
}

/**
 * `GET /console/try`: the answer to the authorization request. It is only accepted in the browser, and for the
 * administrator, that began the sign-in, and once. A code of anyone else is not redeemed.
 */
export async function showTrial(visit: Visit): Promise<Response> {
  const { c, call, console: parts, session, view } = visit;
  const { id, state, code, error, error_description: description = '', iss } = c.req.query();
  if (state === undefined)
    return c.redirect(urlOf(view.base, 'clients', id === undefined ? {} : { id }), 303);
  const trial = await openTrial(visit);
  const isOwn =
    trial?.state === state && trial.subject === session.person.subject && iss === parts.server.issuer;
  if (trial === undefined || !isOwn) {
    c.set('ownAddress', `${view.base}/try`);
    return renderPage(c, foreignPage({ ...view, issuer: parts.issuer }, visit.setting));
  }
  parts.cookies.remove(c, COOKIE);
  // Without the code. A reload, and the history of the browser, lead to the client.
  c.set('ownAddress', `${view.base}/try?${new URLSearchParams({ id: trial.clientId })}`);
  const client = await call('getClient', { client_id: trial.clientId });
  if (code === undefined) return renderFailure(visit, client, { code: error ?? '', description });
  try {
    return await showResult(visit, client, trial, await redeem(parts, client, trial, code));
  } catch (failure) {
    return renderFailure(visit, client, failureOf(failure));
  }
}

async function openTrial({ c, console: { cookies, tokens, pages } }: Visit): Promise<Trial | undefined> {
  const opened = await tokens.open(cookies.get(c, COOKIE) ?? '');
  if (!isJsonObject(opened) || !isJsonObject(opened.trial)) return undefined;
  return Number(opened.endsAtMs) > pages.clock() ? (opened.trial as unknown as Trial) : undefined;
}

/** The token request of the application (RFC 6749 §4.1.3), with a proof of possession if its tokens are bound. */
async function redeem(
  { server, issuer, pages }: ConsoleParts,
  client: Client,
  { verifier }: Trial,
  code: string,
): Promise<Readonly<Record<string, unknown>>> {
  const endpoint = String(server.serverMetadata.token_endpoint);
  const parameters = {
    ...{ grant_type: 'authorization_code', code, redirect_uri: trialUri(issuer) },
    ...{ client_id: client.client_id, code_verifier: verifier },
  };
  if (client.dpop_bound_access_tokens !== true)
    return documentIn(await server.token(formRequest(endpoint, parameters)));
  const proof = proofMaker(endpoint, pages.clock);
  const send = async (nonce?: string) =>
    documentIn(await server.token(formRequest(endpoint, parameters, { dpop: proof(nonce) })));
  try {
    return await send();
  } catch (error) {
    // RFC 9449 §8
    if (!(error instanceof OAuthError) || error.code !== 'use_dpop_nonce') throw error;
    return send(String(error.headers['dpop-nonce']));
  }
}

/** Makes proofs for one endpoint with a new key (RFC 9449 §4.2). */
function proofMaker(htu: string, clock: () => number): (nonce?: string) => string {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const header = part({ alg: 'ES256', typ: 'dpop+jwt', jwk: publicKey.export({ format: 'jwk' }) });
  return (nonce) => {
    const claims = { htm: 'POST', htu, jti: randomUUID(), iat: Math.floor(clock() / 1000) };
    const input = `${header}.${part({ ...claims, ...(nonce !== undefined && { nonce }) })}`;
    const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${input}.${signature.toString('base64url')}`;
  };
}

async function showResult(visit: Visit, client: Client, trial: Trial, tokens: Claims): Promise<Response> {
  const { c, console: parts, setting, view } = visit;
  const { access_token: access, id_token: idToken, refresh_token: refresh } = tokens;
  const claims = typeof idToken === 'string' ? claimsIn(idToken) : undefined;
  if (isJsonObject(claims) && claims.nonce !== trial.nonce)
    return renderFailure(visit, client, { code: 'invalid_token', description: 'nonce' });
  const scopes = String(tokens.scope ?? client.scope ?? '').split(' ');
  const wanted = (client.scope ?? '').split(' ');
  const held: TrialTokens = {
    ...{ clientId: client.client_id, access: String(access) },
    ...(typeof refresh === 'string' && { refresh }),
  };
  const result: Result = {
    ...{ scopes, missing: wanted.filter((scope) => scope !== '' && !scopes.includes(scope)) },
    concerns: await concernsOf(visit, client),
    unusedApis: await unusedApis(visit, client),
    idToken: claims,
    ...(await seen(parts, held)),
    hasRefreshToken: held.refresh !== undefined,
    sealed: await parts.tokens.seal({
      ...{ tokens: held, sessionId: visit.session.id },
      endsAtMs: parts.pages.clock() + TRIAL_SECONDS * 1000,
    }),
  };
  return renderPage(c, resultPage({ ...view, client, result }, setting));
}

/** An ID token of this server, straight from its token endpoint (OpenID Connect Core §3.1.3.7, 6). */
function claimsIn(token: string): Claims | 'encrypted' {
  const parts = token.split('.');
  if (parts.length !== 3) return 'encrypted';
  const claims: unknown = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString());
  return isJsonObject(claims) ? claims : {};
}

/** What an API and UserInfo say about an access token now. */
async function seen(
  { server }: ConsoleParts,
  { access }: TrialTokens,
): Promise<Pick<Result, 'introspection' | 'userInfo'>> {
  const introspection = { ...(await server.introspectToken(access)) };
  try {
    return { introspection, userInfo: await server.userInfoOf(access) };
  } catch (error) {
    return { introspection, userInfo: failureOf(error) };
  }
}

async function revoke(visit: Visit): Promise<Response> {
  const { c, call, console: parts, session, form, setting, view } = visit;
  const opened = await parts.tokens.open(form.get('sealed') ?? '');
  const isOwn = isJsonObject(opened) && isJsonObject(opened.tokens) && opened.sessionId === session.id;
  if (!isOwn || Number(opened.endsAtMs) <= parts.pages.clock())
    return c.redirect(urlOf(view.base, 'tokens'), 303);
  const tokens = opened.tokens as unknown as TrialTokens;
  await call('revokeToken', { token: tokens.access });
  const client = await call('getClient', { client_id: tokens.clientId });
  const { refresh } = tokens;
  const ended: Ended = {
    ...(await seen(parts, tokens)),
    reason: (await call('explainToken', { token: tokens.access })).reason,
    ...(refresh !== undefined && { refresh: { ...(await parts.server.introspectToken(refresh)) } }),
  };
  return renderPage(c, endedPage({ ...view, client, ended }, setting));
}

/** @throws what is not a refusal */
function failureOf(error: unknown): Failure {
  if (!(error instanceof OAuthError) || error.status >= 500) throw error;
  const { code, description, reason } = error;
  return { code, description, reason };
}

/** Errors whose cause can be a group or a policy. */
const OF_RULES: readonly string[] = ['access_denied', 'unmet_authentication_requirements'];

async function renderFailure(visit: Visit, client: Client, failure: Failure): Promise<Response> {
  const { c, call, session, view, setting } = visit;
  const who = { sub: session.person.subject, client_id: client.client_id };
  const shown = OF_RULES.includes(failure.code)
    ? { ...failure, rules: await call('explainUser', who) }
    : failure;
  return renderPage(c, failedPage({ ...view, client, failure: shown }, setting));
}
