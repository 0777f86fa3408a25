// A request of a browser, in the form in which all pages get it.
import { type HttpRequest, type HttpResponse, MAX_BODY_BYTES, pathOf, queryOf } from '@grantd/core';
import { addressUnit, senderOf, toHttpRequest } from '@grantd/core/node';
import type { HttpBindings } from '@hono/node-server';
import type { Context, MiddlewareHandler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { networkOf } from '../../config/client_address.ts';
import type { Person } from '../../data/people.ts';
import type { RequestLog } from '../../log/log.ts';
import type { PageEvent, PageName, PageReason } from '../../log/page_events.ts';
import type { Place } from '../../people/password_hasher.ts';
import type { FailedSignIn } from '../../people/sign_in.ts';
import { languageOf, type Texts } from '../../texts/texts.ts';
import type { KnownBrowsers, LanguageChoice } from './cookies.ts';

/** A form that this server has made for the browser that sends it. */
export interface SentForm {
  readonly browser: string;
  readonly form: URLSearchParams;
  /** The digest of its purpose. */
  readonly purpose: string;
  /** Everything that was sent. */
  readonly all: string;
}

/** What a user has answered about a request of a client. */
export type Decision = 'allowed' | 'denied';

export interface PageEnvironment {
  /** The sender's IP address; `secondsToWait` is present if the server refuses the request for now. */
  Bindings: HttpBindings & { incoming: { id?: string; address?: string; secondsToWait?: number } };
  Variables: {
    /** The request in the library’s form, with its body. */
    plain: HttpRequest;
    /** The form that it sends, once its token has been verified. */
    sent?: SentForm | undefined;
    /** What an earlier form has decided about the same. */
    earlier?: Decision | undefined;
    /** What this form has decided. */
    decision?: Decision;
    /** The user of its session, once that is known to be valid. */
    user?: string;
    /** The file that it sends, as text; or why there is none. */
    file?: { readonly text: string; readonly name: string } | { readonly problem: 'too_large' | 'no_file' };
    /** Path and query of the page that it gets, if it was not for that page (ADR 211). */
    ownAddress?: string;
  };
}

export type PageContext = Context<PageEnvironment>;

/** The path exactly as in the request, as in the library: `/public/../account` is not `/account`. */
export function exactPath(_: Request, { env }: { env?: PageEnvironment['Bindings'] } = {}): string {
  return pathOf({ url: env?.incoming.url ?? '' });
}

export function requestIdOf(c: PageContext): string {
  return c.env.incoming.id ?? '';
}

/** Long enough to tell browsers apart. */
const MAX_USER_AGENT = 300;

/** The `User-Agent` header, shortened. */
export function userAgentOf(c: Context): string {
  return (c.req.header('user-agent') ?? '').slice(0, MAX_USER_AGENT);
}

/**
 * Reads each request with the library’s adapter, which stops just past the body limit.
 * @param refuse answers requests with too long a body, and those that have to wait
 */
export function readRequest(
  refuse: (c: PageContext) => Promise<Response>,
): MiddlewareHandler<PageEnvironment> {
  return async (c, next) => {
    const { incoming } = c.env;
    try {
      c.set('plain', await toHttpRequest(incoming));
    } catch (error) {
      // The browser disconnected during its request.
      if (incoming.destroyed) return c.body(null);
      throw error;
    }
    if (incoming.secondsToWait === undefined && Buffer.byteLength(bodyOf(c)) <= MAX_BODY_BYTES) return next();
    // No further request can follow an unread body.
    c.header('connection', 'close');
    return refuse(c);
  };
}

/** The parameter with which a user chooses a language, on any page. */
export const LANGUAGE_PARAMETER = 'ui_language';

/** Remembers the language that a user has chosen, and shows the page again. */
export function rememberLanguage(choice: LanguageChoice): MiddlewareHandler<PageEnvironment> {
  return async (c, next) => {
    if (c.req.method !== 'GET') return next();
    const query = new URLSearchParams(queryOf({ url: c.get('plain').url }));
    const wanted = languageOf(query.get(LANGUAGE_PARAMETER) ?? '');
    if (wanted === undefined) return next();
    choice.set(c, wanted);
    query.delete(LANGUAGE_PARAMETER);
    c.header('cache-control', 'no-store');
    // A query alone cannot lead to another site.
    return c.redirect(`?${query}`, 303);
  };
}

/** Parameters of the page’s own address. */
export function parametersOf(c: PageContext): URLSearchParams {
  return new URLSearchParams(queryOf({ url: c.get('ownAddress') ?? c.get('plain').url }));
}

/** The request body; empty if there is none. */
export function bodyOf(c: PageContext): string {
  const { body } = c.get('plain');
  return typeof body === 'string' ? body : '';
}

/** Converts a library response and adds the cookies set so far. */
export function toResponse(c: PageContext, { status, headers, body }: HttpResponse): Response {
  for (const [name, value] of Object.entries(headers)) {
    for (const line of typeof value === 'string' ? [value] : value) c.header(name, line, { append: true });
  }
  return c.body(body, status as ContentfulStatusCode);
}

/** The IP address that a request comes from. */
function addressOf(c: Context<PageEnvironment>): string {
  return c.env.incoming.address ?? '';
}

interface VisitorsNeeds {
  readonly knownBrowsers: KnownBrowsers;
  readonly requestLog: Pick<RequestLog, 'pageEvent'>;
  /** Records a refused sign-in in the audit trail, and in the user’s history. */
  readonly recordFailure: (failure: FailedSignIn) => Promise<void>;
}

/** A refused sign-in on a page, with what the log says in addition. */
type FailureOnPage = Omit<FailedSignIn, 'reason' | 'userAgent' | 'network' | 'address'> &
  Pick<PageEvent, 'page' | 'provider' | 'sessionId' | 'cause'> & { readonly reason: PageReason };

/** Where requests come from: a browser that a user is known to use, an address, a network. */
export class Visitors {
  readonly #needs: VisitorsNeeds;

  constructor(needs: VisitorsNeeds) {
    this.#needs = needs;
  }

  /** What limits count as one address. */
  unitOf(c: PageContext): string {
    return addressUnit(addressOf(c));
  }

  /** What limits count as one sender: an IPv4 address, or a part of an IPv6 /48. */
  senderOf(c: PageContext): string {
    return senderOf(addressOf(c));
  }

  /** The network that a request comes from; `undefined` if that is unknown. */
  networkOf(c: Context): string | undefined {
    return networkOf(addressOf(c));
  }

  /** Finds out where a password attempt comes from: a browser that the user is known to use, or an address. */
  placeOf(c: PageContext): (person: Person | undefined) => Promise<Place> {
    return async (person) => {
      const browser = person && (await this.#needs.knownBrowsers.nameOf(c, person.subject));
      return browser === undefined
        ? { name: this.unitOf(c), isKnown: false }
        : { name: `browser ${browser}`, isKnown: true, address: this.unitOf(c) };
    };
  }

  /** Records a refused sign-in in the log, in the audit trail, and in the user’s history. */
  async recordFailure(
    c: PageContext,
    { page, provider, sessionId, cause, ...failure }: FailureOnPage,
  ): Promise<void> {
    const { reason, subject, clientId } = failure;
    this.#needs.requestLog.pageEvent({
      ...{ type: 'sign_in_failed', page, requestId: requestIdOf(c), reason },
      ...(subject !== undefined && { subject }),
      ...(clientId !== undefined && { clientId }),
      ...(sessionId !== undefined && { sessionId }),
      ...(provider !== undefined && { provider }),
      ...(cause !== undefined && { cause }),
    });
    await this.#needs.recordFailure({
      ...{ ...failure, userAgent: userAgentOf(c), network: this.networkOf(c) },
      address: this.unitOf(c),
    });
  }
}

/** Names the text of an error page. */
export type Problem = keyof Texts['problems'];

/** Why a page cannot be shown or a form cannot be accepted. `Drawing.error` renders it. */
export class PageProblem extends Error {
  override readonly name = 'PageProblem';
  readonly problem: Problem;
  readonly status: 400 | 403 | 414;
  readonly page: PageName;
  readonly reason: PageReason;
  readonly clientId: string | undefined;

  constructor(page: PageName, reason: keyof typeof SHOWN, clientId?: string) {
    super(reason);
    const { problem, status } = SHOWN[reason];
    this.page = page;
    this.reason = reason;
    this.problem = problem;
    this.status = status;
    this.clientId = clientId;
  }
}

const SHOWN = {
  request_expired: { problem: 'request_expired', status: 400 },
  device_code_of_other_browser: { problem: 'device_over', status: 400 },
  request_too_long: { problem: 'too_large', status: 414 },
  form_foreign: { problem: 'form_foreign', status: 403 },
  link_invalid: { problem: 'link_invalid', status: 400 },
  not_administrator: { problem: 'not_administrator', status: 403 },
  factors_wait: { problem: 'factors_wait', status: 403 },
} as const satisfies Partial<
  Record<PageReason, { readonly problem: Problem; readonly status: PageProblem['status'] }>
>;
