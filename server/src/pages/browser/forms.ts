// Forms: tokens that bind them to a browser, and answers. A form, or the answer of a provider, that is sent twice is
// performed once: both requests get the same answer.
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { StorageFault } from '@grantd/core';
import type { Context, MiddlewareHandler } from 'hono';
import { siteOf } from '../../config/client_address.ts';
import type { AnsweredRequests, Attempt, Digests, StoredAttempt } from '../../data/answered_requests.ts';
import type { LinkPurpose } from '../../data/mails.ts';
import type { ProgramSecret } from '../../data/secrets.ts';
import type { RequestLog } from '../../log/log.ts';
import type { PageName } from '../../log/page_events.ts';
import type { PasskeyAnswer } from '../../people/passkeys.ts';
import type { Cookies } from './cookies.ts';
import {
  bodyOf,
  type Decision,
  type PageContext,
  type PageEnvironment,
  PageProblem,
  requestIdOf,
  type SentForm,
  type Visitors,
} from './request.ts';
import { SESSION_COOKIE } from './sessions.ts';

const FORM_COOKIE = 'grantd_browser';
const FORM_COOKIE_SECONDS = 90 * 24 * 60 * 60;

const SERIAL_BYTES = 12;

/** What a page expects of a form. */
interface ExpectedForm {
  readonly page: PageName;
  /** The purpose for which the form token was made, without the page. */
  readonly about: readonly string[];
  readonly clientId?: string | undefined;
}

/**
 * Tokens against forged forms, `SERIAL.PURPOSE.MAC`. The serial number tells this form from every other one of the browser,
 * so that an answer that is sent twice is recognised. The purpose is a digest, so that the token of one form does not fit
 * another. The MAC is over both and the browser, so that strangers have no tokens without a form.
 */
export class FormTokens {
  readonly #cookies: Cookies;
  readonly #secret: ProgramSecret;

  constructor(cookies: Cookies, secret: ProgramSecret) {
    this.#cookies = cookies;
    this.#secret = secret;
  }

  async make(c: Context, ...about: readonly string[]): Promise<string> {
    let browser = this.#cookies.get(c, FORM_COOKIE);
    if (browser === undefined) {
      browser = randomBytes(16).toString('base64url');
      this.#cookies.set(c, FORM_COOKIE, browser, FORM_COOKIE_SECONDS);
    }
    const key = await this.#secret.key('form_token');
    const serial = randomBytes(SERIAL_BYTES).toString('base64url');
    return tokenOf(key, browser, serial, purposeOf(about));
  }

  /** The cookie that identifies this browser to forms; `undefined` before its first form. */
  browserOf(c: Context): string | undefined {
    return this.#cookies.get(c, FORM_COOKIE);
  }

  /** The form of a request; `undefined` if this server did not make it for this browser, for any purpose. */
  async sent(c: PageContext): Promise<SentForm | undefined> {
    const [browser = '', form] = [this.browserOf(c), new URLSearchParams(bodyOf(c))];
    const token = form.get('form_token') ?? '';
    const [serial = '', purpose = ''] = token.split('.');
    const keys = browser === '' ? [] : await this.#secret.keys('form_token');
    const key = keys.find((item) => isEqual(tokenOf(item, browser, serial, purpose), token));
    return key && { browser, form, purpose, all: `${c.get('plain').url}\n${bodyOf(c)}` };
  }

  /**
   * Reads a form and verifies that this server made it for this browser.
   * @throws {PageProblem} the token does not match
   */
  async verified(c: PageContext, { page, about, clientId }: ExpectedForm): Promise<URLSearchParams> {
    const sent = c.get('sent') ?? (await this.sent(c));
    if (sent === undefined || sent.purpose !== purposeOf([page, ...about]))
      throw new PageProblem(page, 'form_foreign', clientId);
    return sent.form;
  }
}

function tokenOf(key: Uint8Array, browser: string, serial: string, purpose: string): string {
  const mac = createHmac('sha256', key).update(JSON.stringify([browser, serial, purpose]));
  return `${serial}.${purpose}.${mac.digest('base64url')}`;
}

function purposeOf(about: readonly string[]): string {
  return hash('sha256', JSON.stringify(about), 'base64url');
}

function isEqual(expected: string, given: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(given)];
  return one.length === other.length && timingSafeEqual(one, other);
}

/**
 * The answer of a passkey in a form; `undefined` if another form of the page was sent.
 * @param form a verified form. Its token ties the challenge to the browser and the request.
 */
export function passkeyAnswer(form: URLSearchParams): PasskeyAnswer | undefined {
  const response = form.get('passkey') ?? '';
  if (response === '') return undefined;
  return {
    response,
    sealed: form.get('passkey_challenge') ?? '',
    boundTo: form.get('form_token') ?? '',
  };
}

/** An answer, as the browser that has sent the form may get it again. */
export interface FormAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Deflated, as base64. */
  readonly body: string;
  /** The session cookie before the answer, and the one that the answer leaves. Empty if there is none. */
  readonly sessions: readonly string[];
  /** Of a form that decides something. */
  readonly decided?:
    | {
        readonly decision: Decision;
        /** Digest of all that was sent. Other forms do not get the answer, and neither does this one after that time. */
        readonly all: string;
        readonly untilMs: number;
      }
    | undefined;
}

/** How long after an answer the same form gets it again. Also on a slow line, a second press comes sooner. */
const KEPT_MS = 10_000;

/** Characters. A decision with a longer answer is kept without it, since it is kept for long. */
const MAX_DECISION_ANSWER = 2000;

/** How long after a decision no other form decides. Milliseconds */
const DECISION_KEPT_MS = 60 * 60 * 1000;

/** After this time, a form whose process died may be sent again. */
const PENDING_MS = 30_000;

/** Characters of an answer, deflated. Only downloads are longer, and they can be made again. */
const MAX_ANSWER = 64 * 1024;

/** How often a process looks for the answer of another one. */
const LOOK_MS = 50;

const pack = promisify(deflateRaw);
const unpack = promisify(inflateRaw);

interface AnswerNeeds {
  readonly cookies: Cookies;
  readonly visitors: Pick<Visitors, 'unitOf'>;
  readonly requestLog: Pick<RequestLog, 'failure'>;
  readonly formAnswers: AnsweredRequests<FormAnswer>;
  readonly countAnswer: CountAnswer;
  readonly clock: () => number;
}

/** What a browser has sent, if this server may perform it only once. */
export interface OnceSent {
  readonly browser: string;
  /** What is performed once. It is less than everything if a form decides something that other forms can decide too. */
  readonly about: string;
  /** Everything that was sent. */
  readonly all: string;
}

/** `undefined` for everything else, such as a form that this server did not make for this browser, which is refused later. */
type Sent = (c: PageContext) => Promise<OnceSent | undefined>;

interface SentNeeds {
  readonly formTokens: FormTokens;
  /** What a form decides about; `undefined` if it decides nothing. */
  readonly pending: { decided(c: PageContext): Promise<string | undefined> };
}

/**
 * A form that this server made for this browser, with what the user has typed. Of the forms that decide about a request,
 * only the first one counts (ADR 225).
 */
export function sentForm({ formTokens, pending }: SentNeeds): Sent {
  return async (c) => {
    if (c.req.method !== 'POST') return undefined;
    const sent = await formTokens.sent(c);
    c.set('sent', sent);
    return sent && { ...sent, about: (await pending.decided(c)) ?? sent.all };
  };
}

/**
 * Performs what is sent once. A second press, in whichever process, waits for the first one and gets its answer, for some
 * seconds and in the same session only. Comes before everything that the first press may have used up.
 * See ADR 120, ADR 139.
 */
export function answerOnce(needs: AnswerNeeds, sent: Sent): MiddlewareHandler<PageEnvironment> {
  const { formAnswers } = needs;
  /** What this process is performing, or whose answer it is waiting for. */
  const pending = new Map<string | undefined, Promise<FormAnswer | undefined>>();
  return async (c, next) => {
    const once = await sent(c);
    if (once === undefined) return next();
    const keys = await formAnswers.digests(once.browser, once.about);
    for (let other = pending.get(keys[0]); other !== undefined; other = pending.get(keys[0])) {
      const answer = await other;
      if (answer !== undefined) return repeat(c, needs, answer, once) ?? next();
    }
    const { promise, resolve } = Promise.withResolvers<FormAnswer | undefined>();
    pending.set(keys[0], promise);
    let answer: FormAnswer | undefined;
    try {
      const begun = await beginOrWait(formAnswers, keys);
      if ('sessions' in begun) {
        answer = begun;
      } else {
        const before = needs.cookies.get(c, SESSION_COOKIE) ?? '';
        await next();
        answer = await remember(c, needs, begun, { ...once, before });
        return;
      }
    } finally {
      pending.delete(keys[0]);
      resolve(answer);
    }
    return repeat(c, needs, answer, once) ?? next();
  };
}

/** @returns the right to perform what the key stands for, or the answer of the process that has performed it */
async function beginOrWait<A>(answers: AnsweredRequests<A>, keys: Digests): Promise<Attempt<A> | A> {
  for (;;) {
    const begun = await answers.begin(keys, [], PENDING_MS);
    if (!('isSame' in begun)) return begun;
    for (let found: typeof begun | undefined = begun; found !== undefined; found = await answers.find(keys)) {
      if (found.answer !== undefined) return found.answer;
      await pause(LOOK_MS);
    }
  }
}

/**
 * Stores the answer, while it is on its way to the browser. A failure of the server is not stored, so that the form can
 * be sent again.
 * @returns `undefined` if the form is performed again. Those who wait get an answer that is too long to store
 */
async function remember(
  c: PageContext,
  { cookies, visitors, requestLog, countAnswer, clock }: AnswerNeeds,
  attempt: Attempt<FormAnswer>,
  { browser, about, all, before }: OnceSent & { readonly before: string },
): Promise<FormAnswer | undefined> {
  const { status, headers } = c.res;
  const decision = c.get('decision');
  // A redirect has none, and asking for one takes as long as the rest.
  const body = headers.has('location') ? '' : await c.res.clone().text();
  const free = () => attempt.forget().catch((error: unknown) => logFailure(c, requestLog, error));
  if (status >= 500 || (decision === undefined && about !== all)) return free().then(() => undefined);
  const session = cookies.setBy(headers, SESSION_COOKIE) ?? before;
  const answer: FormAnswer = {
    ...{ status, headers: [...headers], sessions: [before, session] },
    body: body === '' ? '' : (await pack(body)).toString('base64'),
    decided: decision && { decision, all: digestOfAll(all), untilMs: clock() + KEPT_MS },
  };
  const length = answer.body.length + (headers.get('location')?.length ?? 0);
  if (!decision && length > MAX_ANSWER) return free().then(() => answer);
  const kept = decision && length > MAX_DECISION_ANSWER ? decidedAlone(answer, decision) : answer;
  const dropped = decision ? [] : countAnswer(attempt, c.get('user'), browser, visitors.unitOf(c));
  const keptMs = decision ? DECISION_KEPT_MS : KEPT_MS;
  attempt.finishSoon(kept, keptMs, dropped).catch((error: unknown) => logFailure(c, requestLog, error));
  return answer;
}

/** A form can be long, and a decision is kept for long. */
function digestOfAll(all: string): string {
  return hash('sha256', all, 'base64url');
}

/** Other processes know the decision then, and show it instead of the answer. */
function decidedAlone(answer: FormAnswer, decision: Decision): FormAnswer {
  return { ...answer, headers: [], body: '', decided: { decision, all: '', untilMs: 0 } };
}

/** Logs a failure to store an answer, which is no less true. */
function logFailure(c: PageContext, requestLog: Pick<RequestLog, 'failure'>, error: unknown): void {
  const reason = error instanceof StorageFault ? 'storage_unavailable' : 'unexpected';
  requestLog.failure(requestIdOf(c), reason, error);
}

/** @returns `undefined` if the browser has another session by now, or if the answer is that of another form */
function repeat(
  c: PageContext,
  { cookies, clock }: Pick<AnswerNeeds, 'cookies' | 'clock'>,
  { status, headers, body, sessions, decided }: FormAnswer,
  { all }: OnceSent,
): Promise<Response> | undefined {
  const isOther = decided !== undefined && (decided.all !== digestOfAll(all) || decided.untilMs <= clock());
  if (isOther || !sessions.includes(cookies.get(c, SESSION_COOKIE) ?? '')) {
    c.set('earlier', decided?.decision);
    return undefined;
  }
  const headersOf = () => headers.map(([name, value]): [string, string] => [name, value]);
  return (body === '' ? Promise.resolve(null) : unpack(Buffer.from(body, 'base64'))).then(
    (content) => new Response(content, { status, headers: headersOf() }),
  );
}

/** What a form can have done that it cannot do again. */
export type PerformedForm = 'password_changed' | LinkPurpose;

/** For how long a form is known that has done something. Milliseconds */
const PERFORMED_KEPT_MS = 24 * 60 * 60 * 1000;

interface PerformedNeeds {
  readonly formTokens: FormTokens;
  readonly requestLog: Pick<RequestLog, 'failure'>;
  readonly answers: AnsweredRequests<PerformedForm>;
}

/**
 * What forms have done, by their tokens and without anything that was typed. A form that is sent much later than
 * `answerOnce` knows it finds its work done (ADR 173).
 */
export class PerformedForms {
  readonly #needs: PerformedNeeds;

  constructor(needs: PerformedNeeds) {
    this.#needs = needs;
  }

  /** Which of these the form of a request has done before; `undefined` if none. */
  async find<D extends PerformedForm>(c: PageContext, ...done: readonly D[]): Promise<D | undefined> {
    const found = await this.#needs.answers.find(await this.#keys(c));
    return done.find((item) => item === found?.answer);
  }

  async remember(c: PageContext, done: PerformedForm): Promise<void> {
    const { answers, requestLog } = this.#needs;
    try {
      const attempt = await answers.begin(await this.#keys(c), [], PENDING_MS);
      if ('finish' in attempt) await attempt.finish(done, PERFORMED_KEPT_MS);
    } catch (error) {
      if (!(error instanceof StorageFault)) throw error;
      // What the form does is not less done.
      requestLog.failure(requestIdOf(c), 'storage_unavailable', error);
    }
  }

  #keys(c: PageContext): Promise<Digests> {
    const { formTokens, answers } = this.#needs;
    const token = new URLSearchParams(bodyOf(c)).get('form_token') ?? '';
    return answers.digests('performed_form', formTokens.browserOf(c) ?? '', token);
  }
}

/** Stored answers to one user, or to one browser without a user (ADR 167). */
const MOST_OWN = 32;

/** Answers to users, and likewise answers to strangers. In each process. */
const MOST = 1000;

/** Milliseconds after which an answer has been swept. */
const SWEPT_MS = 2 * 60 * 1000;

/**
 * Counts an answer that is stored.
 * @param user of a session that is valid
 * @param address as limits count it
 * @returns those to forget
 */
type CountAnswer = (
  stored: StoredAttempt,
  user: string | undefined,
  browser: string,
  address: string,
) => readonly StoredAttempt[];

/** With the names of its places, from the largest to the smallest, and of its owner. */
type Entry = StoredAttempt & { readonly names: readonly string[]; readonly storedAtMs: number };

/**
 * Counts the answers that a process has stored, and finds those beyond a limit. Answers without a user have a limit of
 * their own, so that strangers cannot drop those of users.
 */
export function countAnswers(clock: () => number): CountAnswer {
  const [ofUsers, ofStrangers] = [new CountedAnswers(), new CountedAnswers()];
  return (stored, user, browser, address) =>
    (user === undefined ? ofStrangers : ofUsers).add(stored, `of ${user ?? browser}`, address, clock());
}

class CountedAnswers {
  /** In the order of their times. */
  readonly #entries = new Set<Entry>();
  /** How many answers each name has. */
  readonly #counts = new Map<string, number>();

  add(stored: StoredAttempt, owner: string, address: string, storedAtMs: number): readonly StoredAttempt[] {
    const names = [siteOf(address), `at ${address}`, `at ${address} ${owner}`, owner];
    for (const name of names) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    this.#entries.add({ ...stored, names, storedAtMs });
    const isFull = this.#entries.size > MOST || (this.#counts.get(owner) ?? 0) > MOST_OWN;
    return isFull ? this.#dropOne(owner, storedAtMs) : [];
  }

  #countOf(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  /** Each answer is one more, so one goes, unless some have been swept. */
  #dropOne(owner: string, nowMs: number): readonly StoredAttempt[] {
    for (const entry of this.#entries) {
      if (entry.storedAtMs + SWEPT_MS > nowMs) break;
      this.#remove(entry);
    }
    const isBeyondOwn = this.#countOf(owner) > MOST_OWN;
    if (this.#entries.size <= MOST && !isBeyondOwn) return [];
    const dropped = isBeyondOwn ? this.#oldestOf(owner) : this.#oldestOfFullest();
    if (dropped !== undefined) this.#remove(dropped);
    return dropped === undefined ? [] : [dropped];
  }

  #remove(entry: Entry): void {
    this.#entries.delete(entry);
    for (const name of entry.names) {
      const left = this.#countOf(name) - 1;
      if (left > 0) this.#counts.set(name, left);
      else this.#counts.delete(name);
    }
  }

  #oldestOf(name: string): Entry | undefined {
    return [...this.#entries].find(({ names }) => names.includes(name));
  }

  /** Of the site with the most answers, there of the address with the most, and there of the owner with the most. */
  #oldestOfFullest(): Entry | undefined {
    let fullest: { readonly entry: Entry; readonly counts: readonly number[] } | undefined;
    for (const entry of this.#entries) {
      const counts = entry.names.slice(0, -1).map((name) => this.#countOf(name));
      const at = counts.findIndex((count, index) => count !== fullest?.counts[index]);
      if (at !== -1 && (counts[at] ?? 0) > (fullest?.counts[at] ?? 0)) fullest = { entry, counts };
    }
    return fullest?.entry;
  }
}
