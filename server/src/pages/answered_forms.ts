// A form that is sent twice is performed once: both requests get the same answer. So is the answer of a provider.
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';
import { StorageFault } from '@grantd/core';
import type { MiddlewareHandler } from 'hono';
import type { AnsweredRequests, Attempt } from '../data/answered_requests.ts';
import { SESSION_COOKIE } from './browser_sessions.ts';
import { bodyOf, type PageContext, type PageEnvironment, type PageParts, requestIdOf } from './page_parts.ts';

/** An answer, as the browser that has sent the form may get it again. */
export interface FormAnswer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Deflated, as base64. */
  readonly body: string;
  /** The session cookie before the answer, and the one that the answer leaves. Empty if there is none. */
  readonly sessions: readonly string[];
}

/** How long after an answer the same form gets it again. Also on a slow line, a second press comes sooner. */
const KEPT_MS = 10_000;

/** After this time, a form whose process died may be sent again. */
const PENDING_MS = 30_000;

/** Characters. Only downloads are longer, and they can be made again. */
const MAX_BODY = 256 * 1024;

/** How often a process looks for the answer of another one. */
const LOOK_MS = 50;

const pack = promisify(deflateRaw);
const unpack = promisify(inflateRaw);

type AnswerParts = Pick<PageParts, 'formTokens' | 'cookies' | 'requestLog'> & {
  readonly formAnswers: AnsweredRequests<FormAnswer>;
};

/**
 * What a browser has sent, if this server may perform it only once. `undefined` for everything else, such as a form that
 * this server did not make for this browser, which is refused later.
 */
type Sent = (c: PageContext) => Promise<readonly string[] | undefined>;

/** A form that this server made for this browser, with what the user has typed. */
export function sentForm({ formTokens }: Pick<AnswerParts, 'formTokens'>): Sent {
  return async (c) => {
    if (c.req.method !== 'POST') return undefined;
    const body = bodyOf(c);
    const token = new URLSearchParams(body).get('form_token') ?? undefined;
    if (!(await formTokens.isOfBrowser(c, token))) return undefined;
    return [formTokens.browserOf(c) ?? '', c.get('plain').url, body];
  };
}

/**
 * Performs what is sent once. A second press, in whichever process, waits for the first one and gets its answer, for some
 * seconds and in the same session only. Comes before everything that the first press may have used up.
 */
export function answerOnce(parts: AnswerParts, sent: Sent): MiddlewareHandler<PageEnvironment> {
  const { formAnswers } = parts;
  /** What this process is performing, or whose answer it is waiting for. */
  const pending = new Map<string, Promise<FormAnswer | undefined>>();
  return async (c, next) => {
    const about = await sent(c);
    if (about === undefined) return next();
    const key = await formAnswers.digest(...about);
    for (let other = pending.get(key); other !== undefined; other = pending.get(key)) {
      const answer = await other;
      if (answer !== undefined) return repeat(c, parts, answer) ?? next();
    }
    const { promise, resolve } = Promise.withResolvers<FormAnswer | undefined>();
    pending.set(key, promise);
    let answer: FormAnswer | undefined;
    try {
      const begun = await beginOrWait(formAnswers, key);
      if ('sessions' in begun) {
        answer = begun;
      } else {
        const before = parts.cookies.get(c, SESSION_COOKIE) ?? '';
        await next();
        answer = await remember(c, parts, begun, before);
        return;
      }
    } finally {
      pending.delete(key);
      resolve(answer);
    }
    return repeat(c, parts, answer) ?? next();
  };
}

/** @returns the right to perform what the key stands for, or the answer of the process that has performed it */
export async function beginOrWait<Answer>(
  answers: AnsweredRequests<Answer>,
  key: string,
): Promise<Attempt<Answer> | Answer> {
  for (;;) {
    const begun = await answers.begin(key, '', PENDING_MS);
    if (!('isSame' in begun)) return begun;
    for (
      let found: typeof begun | undefined = begun;
      found !== undefined;
      found = await answers.find(key, '')
    ) {
      if (found.answer !== undefined) return found.answer;
      await pause(LOOK_MS);
    }
  }
}

/**
 * Stores the answer. A failure of the server is not stored, so that the form can be sent again.
 * @returns `undefined` if it is not stored
 */
async function remember(
  c: PageContext,
  { cookies, requestLog }: AnswerParts,
  attempt: Attempt<FormAnswer>,
  before: string,
): Promise<FormAnswer | undefined> {
  const { status, headers } = c.res;
  try {
    const body = await c.res.clone().text();
    if (status >= 500 || body.length > MAX_BODY) {
      await attempt.forget();
      return undefined;
    }
    const answer: FormAnswer = {
      ...{ status, headers: [...headers] },
      body: (await pack(body)).toString('base64'),
      sessions: [before, cookies.setBy(headers, SESSION_COOKIE) ?? before],
    };
    await attempt.finish(answer, KEPT_MS);
    return answer;
  } catch (error) {
    if (!(error instanceof StorageFault)) throw error;
    // The form has been performed, and its answer is true.
    requestLog.failure(requestIdOf(c), 'storage_unavailable', error);
    return undefined;
  }
}

/** @returns `undefined` if the browser has another session by now */
function repeat(
  c: PageContext,
  { cookies }: Pick<AnswerParts, 'cookies'>,
  { status, headers, body, sessions }: FormAnswer,
): Promise<Response> | undefined {
  if (!sessions.includes(cookies.get(c, SESSION_COOKIE) ?? '')) return undefined;
  return unpack(Buffer.from(body, 'base64')).then(
    (content) => new Response(content, { status, headers: headers.map(([name, value]) => [name, value]) }),
  );
}
