// Sign-ins at providers that a browser has under way, sealed in its cookies.
import { queryOf } from '@grantd/core';
import { isJsonObject } from '@grantd/core/options';
import type { NewIdentity } from '../../data/upstream_identities.ts';
import type { Upstream } from '../../people/upstream.ts';
import type { UpstreamRequest } from '../../people/upstream_client.ts';
import type { Cookies, SealedValues } from '../browser/cookies.ts';
import { type PendingRequest, pendingOf } from '../browser/pending.ts';
import type { PageContext } from '../browser/request.ts';

/** Seconds until a provider is asked again. */
export const RETRY_AFTER_SECONDS = 10;

/** Time to sign in at the provider, in milliseconds. */
const MAX_FLOW_MS = 15 * 60 * 1000;

/** The parameter with a sealed answer. */
export const ANSWER = 'answer';

/** Time for a redirect, in milliseconds. */
const MAX_REDIRECT_MS = 2 * 60 * 1000;

/** For how long an answer that comes too late still leads back to what the user wanted to do, in seconds. */
const FLOW_KEPT = 4 * 60 * 60;

const FLOW_COOKIE = 'grantd_upstream_';
const LINK_COOKIE = 'grantd_connect';

/** Sign-ins that a browser has under way at the same time. */
const MAX_FLOWS = 3;

/** Browsers drop cookies of more than 4096 bytes. */
const MAX_COOKIE_LENGTH = 3900;

/** A sign-in at a provider that is under way. The browser has it, sealed. */
export interface ProviderSignIn {
  readonly provider: string;
  readonly request: UpstreamRequest;
  readonly pending: PendingRequest;
  /** The session whose user connects an account. Absent for a sign-in. */
  readonly sessionId?: string;
  readonly begunAtMs: number;
}

/** An identity that waits for its user to sign in here. */
export interface WaitingIdentity {
  readonly identity: NewIdentity;
  readonly pending: PendingRequest;
  readonly atMs: number;
}

interface Needs {
  readonly cookies: Cookies;
  /** Seals what the browser keeps on the way to a provider. */
  readonly values: SealedValues;
  /** Marks a state as used. @returns whether it was not used before */
  readonly takeState: Upstream['takeState'];
  readonly clock: () => number;
}

/** What a browser holds on the way to a provider and back. */
export class SignInsUnderWay {
  readonly #needs: Needs;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /** @returns `false` if it is too long for a cookie */
  async begin(c: PageContext, begun: Omit<ProviderSignIn, 'begunAtMs'>): Promise<boolean> {
    const { cookies, values, clock } = this.#needs;
    const sealed = await values.seal({ ...begun, begunAtMs: clock() });
    if (sealed.length > MAX_COOKIE_LENGTH) return false;
    for (const name of cookies.named(c, FLOW_COOKIE).slice(0, -(MAX_FLOWS - 1))) cookies.remove(c, name);
    cookies.set(c, cookieOf(begun.request.state), sealed, FLOW_KEPT);
    return true;
  }

  /**
   * Seals an answer that comes by a form of another site, because a browser does not send its cookies with it. The same
   * browser brings it back by a redirect (ADR 193).
   */
  sealAnswer(provider: string, parameters: URLSearchParams): Promise<string> {
    const { values, clock } = this.#needs;
    return values.seal({ answerOf: provider, parameters: String(parameters), atMs: clock() });
  }

  /** The parameters of an answer: those of the URL, or what a form has sent a moment ago. */
  async answerIn(c: PageContext): Promise<URLSearchParams> {
    const sealed = c.req.query(ANSWER);
    if (sealed === undefined) return new URLSearchParams(queryOf(c.get('plain')));
    const { values, clock } = this.#needs;
    const answer = await values.open(sealed);
    if (!isJsonObject(answer) || answer.answerOf !== c.req.param('provider')) return new URLSearchParams();
    const { parameters, atMs } = answer;
    const isRecent = typeof atMs === 'number' && atMs + MAX_REDIRECT_MS > clock();
    return new URLSearchParams(isRecent && typeof parameters === 'string' ? parameters : '');
  }

  /** The sign-in that this browser began, and that the request answers. */
  async find(
    c: PageContext,
  ): Promise<{ readonly begun: ProviderSignIn; readonly sealed: string } | undefined> {
    const { cookies, values } = this.#needs;
    const state = (await this.answerIn(c)).get('state') ?? '';
    if (!/^[\w-]{16,128}$/.test(state)) return undefined;
    const sealed = cookies.get(c, cookieOf(state));
    const begun = sealed === undefined ? undefined : signInOf(await values.open(sealed));
    if (sealed === undefined || begun?.request.state !== state) return undefined;
    return begun.provider === c.req.param('provider') ? { begun, sealed } : undefined;
  }

  /**
   * Takes a sign-in. Each can be used once, also by concurrent requests.
   * @returns what the user wanted to do, if the answer comes too late
   */
  async take(c: PageContext): Promise<ProviderSignIn | { readonly late: PendingRequest } | undefined> {
    const { begun } = (await this.find(c)) ?? {};
    if (begun === undefined) return undefined;
    const { state } = begun.request;
    this.#needs.cookies.remove(c, cookieOf(state));
    const endsAtMs = begun.begunAtMs + MAX_FLOW_MS;
    if (endsAtMs <= this.#needs.clock()) return { late: begun.pending };
    return (await this.#needs.takeState(state, Math.ceil(endsAtMs / 1000))) ? begun : undefined;
  }

  /** Keeps an identity until its user has signed in here. @returns `false` if it is too long for a cookie */
  async wait(c: PageContext, identity: NewIdentity, pending: PendingRequest): Promise<boolean> {
    const { cookies, values, clock } = this.#needs;
    const waiting: WaitingIdentity = { identity, pending, atMs: clock() };
    const sealed = await values.seal(waiting);
    if (sealed.length > MAX_COOKIE_LENGTH) return false;
    cookies.set(c, LINK_COOKIE, sealed, MAX_FLOW_MS / 1000);
    return true;
  }

  async waiting(c: PageContext): Promise<WaitingIdentity | undefined> {
    const { cookies, values, clock } = this.#needs;
    const sealed = cookies.get(c, LINK_COOKIE);
    const waiting = sealed === undefined ? undefined : waitingOf(await values.open(sealed));
    return waiting !== undefined && waiting.atMs + MAX_FLOW_MS > clock() ? waiting : undefined;
  }

  forgetWaiting(c: PageContext): void {
    this.#needs.cookies.remove(c, LINK_COOKIE);
  }
}

/** Part of the state is enough to tell the flows of a browser apart. */
function cookieOf(state: string): string {
  return `${FLOW_COOKIE}${state.slice(0, 16)}`;
}

/** @returns `undefined` for a value of another version of the program */
function signInOf(value: unknown): ProviderSignIn | undefined {
  if (!isJsonObject(value) || !isJsonObject(value.request) || !isJsonObject(value.pending)) return undefined;
  const { provider, sessionId, begunAtMs } = value;
  const { state, nonce, verifier, maxAge, againSinceMs } = value.request;
  const pending = pendingOf(value.pending);
  const isSignIn =
    typeof provider === 'string' &&
    typeof begunAtMs === 'number' &&
    typeof state === 'string' &&
    typeof nonce === 'string' &&
    typeof verifier === 'string';
  if (!isSignIn || pending === undefined) return undefined;
  const request = {
    ...{ state, nonce, verifier },
    ...(typeof maxAge === 'number' && { maxAge }),
    ...(typeof againSinceMs === 'number' && { againSinceMs }),
  };
  return { provider, request, pending, begunAtMs, ...(typeof sessionId === 'string' && { sessionId }) };
}

function waitingOf(value: unknown): WaitingIdentity | undefined {
  if (!isJsonObject(value) || !isJsonObject(value.identity) || !isJsonObject(value.pending)) return undefined;
  const pending = pendingOf(value.pending);
  const { provider, upstreamIssuer, upstreamSub, label } = value.identity;
  const isIdentity =
    typeof provider === 'string' &&
    typeof upstreamIssuer === 'string' &&
    typeof upstreamSub === 'string' &&
    typeof label === 'string';
  if (!isIdentity || pending === undefined || typeof value.atMs !== 'number') return undefined;
  return { identity: { provider, upstreamIssuer, upstreamSub, label }, pending, atMs: value.atMs };
}
