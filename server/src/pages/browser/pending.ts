// The request that brought a user here, on its way through the pages.
import type {
  AuthorizationRequest,
  AuthorizationServer,
  DeviceOperations,
  DeviceRequest,
} from '@grantd/core';
import { isJsonObject } from '@grantd/core/options';
import type { ProgramSecret } from '../../data/secrets.ts';
import type { PageName } from '../../log/page_events.ts';
import { ACCOUNT_CHANGES, type AccountChange } from '../../people/account_changes.ts';
import { SealedValues } from './cookies.ts';
import type { FormTokens } from './forms.ts';
import { type PageContext, PageProblem, requestIdOf } from './request.ts';

/** For how long a sign-in or choice counts for the request for which it was made. */
const MAX_AGE_MS = 60 * 60 * 1000;

/** Longer values would exceed Node’s limit for URL and headers together. */
const MAX_SEALED_LENGTH = 12_000;

/** The request that brought the user here, on its way through the pages. */
export type PendingRequest = PendingAuthorization | PendingLogout | PendingAccount;

export interface PendingAuthorization {
  readonly kind: 'authorization';
  /** Parameters from which the library rebuilds the request. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly begunAtMs: number;
  /** The session that the user chose to continue with. */
  readonly chosenSession?: string;
  /** The sign-in that was made for this request (`signInName`). */
  readonly signIn?: string;
  /**
   * The browser in which the code of a device was entered. Attackers enter their own code, and send their victim the
   * address of the page that follows (ADR 174).
   */
  readonly browser?: string;
}

export interface PendingLogout {
  readonly kind: 'logout';
  readonly parameters: Readonly<Record<string, string>>;
  readonly begunAtMs: number;
}

/** The account pages, in the order of their navigation. */
export const ACCOUNT_PAGES = ['overview', 'security', 'sessions', 'applications', 'tokens', 'data'] as const;

/** A page that only other pages link to, the console, and the page for codes of devices. */
const FURTHER_PAGES = ['email', 'console', 'device'] as const;

export type AccountPageName = (typeof ACCOUNT_PAGES | typeof FURTHER_PAGES)[number];

/** The path of an account page below the issuer. */
export function pathOfAccountPage(page: AccountPageName): string {
  if (page === 'console' || page === 'device') return `/${page}`;
  return page === 'overview' ? '/account' : `/account/${page}`;
}

/** A visit to an account page. */
export interface PendingAccount {
  readonly kind: 'account';
  readonly page: AccountPageName;
  /** Path and query of a page of the console or of devices, below its first page. */
  readonly below?: string;
  readonly begunAtMs: number;
  /** Whether the user must have signed in recently. */
  readonly isFresh?: true;
  /** What the user wants to change there, and signs in for. */
  readonly change?: AccountChange;
}

/**
 * Carries requests in page URLs, sealed. Pushed parameters must stay hidden from the browser and its history, and a
 * start time must not be forged (ADR 122).
 */
export class PendingRequests {
  readonly #values: SealedValues;
  readonly #clock: () => number;

  constructor(secret: ProgramSecret, clock: () => number) {
    this.#values = new SealedValues(secret, 'pending_request');
    this.#clock = clock;
  }

  /** @returns `undefined` if it is too long for a URL */
  async seal(pending: PendingRequest): Promise<string | undefined> {
    const sealed = await this.#values.seal(pending);
    return sealed.length <= MAX_SEALED_LENGTH ? sealed : undefined;
  }

  /**
   * Opens a request. One on a page that was open for too long begins again, so the user signs in again if the
   * application asks for a new sign-in. The library limits how old an authorization request can become.
   * @returns `undefined` if the request did not start here
   */
  async open(sealed: string): Promise<PendingRequest | undefined> {
    const value = await this.#values.open(sealed);
    const pending = isJsonObject(value) ? pendingOf(value) : undefined;
    const nowMs = this.#clock();
    if (pending === undefined || pending.begunAtMs + MAX_AGE_MS > nowMs) return pending;
    if (pending.kind !== 'authorization') return { ...pending, begunAtMs: nowMs };
    return { kind: pending.kind, parameters: pending.parameters, begunAtMs: nowMs };
  }
}

/** @returns `undefined` for a value of another version of the program */
export function pendingOf(value: Readonly<Record<string, unknown>>): PendingRequest | undefined {
  const { kind, parameters, begunAtMs, chosenSession, signIn, browser } = value;
  if (typeof begunAtMs !== 'number') return undefined;
  if (kind === 'account') {
    const page = [...ACCOUNT_PAGES, ...FURTHER_PAGES].find((item) => item === value.page) ?? 'overview';
    const { below, isFresh } = value;
    const change = (Object.keys(ACCOUNT_CHANGES) as AccountChange[]).find((key) => key === value.change);
    return {
      ...{ kind, page, begunAtMs },
      ...(typeof below === 'string' && { below }),
      ...(isFresh === true && { isFresh: true as const }),
      ...(change !== undefined && { change }),
    };
  }
  if (!isParameters(parameters)) return undefined;
  if (kind === 'logout') return { kind, parameters, begunAtMs };
  if (kind !== 'authorization') return undefined;
  return {
    ...{ kind, parameters, begunAtMs },
    ...(typeof chosenSession === 'string' && { chosenSession }),
    ...(typeof signIn === 'string' && { signIn }),
    ...(typeof browser === 'string' && { browser }),
  };
}

function isParameters(value: unknown): value is Readonly<Record<string, string>> {
  return isJsonObject(value) && Object.values(value).every((item) => typeof item === 'string');
}

/** An authorization request on its way through the pages. */
export interface AuthorizationPage {
  readonly pending: PendingAuthorization;
  /** Validated again on each page, because the client may have been disabled. */
  readonly authorization: AuthorizationRequest | DeviceRequest;
}

/** A page with a pending request. */
export type PendingPage = (AuthorizationPage | { readonly pending: PendingAccount }) & {
  /** The sealed value in the page’s URL. */
  readonly sealed: string;
};

export function clientIdOf(page: PendingPage): string | undefined {
  return 'authorization' in page ? page.authorization.client.id : undefined;
}

/** Whether the user must prove again who they are, for an application or for a change of the account. */
export function isAgain(page: PendingPage): boolean {
  if (!('authorization' in page)) return page.pending.isFresh === true || page.pending.change !== undefined;
  const { prompt, maxAge } = page.authorization;
  return prompt.includes('login') || maxAge === 0;
}

/** The names of the texts that say where a sign-in leads. */
const LEADS = { device: 'toDevice', console: 'toConsole' } as const;

/** Where a sign-in without an application leads. */
export type Lead = 'toAccount' | (typeof LEADS)[keyof typeof LEADS];

export function leadOf({ pending }: PendingPage): Lead {
  return 'page' in pending && pending.page in LEADS ? LEADS[pending.page as keyof typeof LEADS] : 'toAccount';
}

interface Needs {
  readonly requests: PendingRequests;
  readonly formTokens: Pick<FormTokens, 'browserOf'>;
  readonly server: {
    readonly authorization: Pick<AuthorizationServer['authorization'], 'resume'>;
    readonly device: Pick<DeviceOperations, 'resume' | 'isOfDevice'> | undefined;
  };
  /** Path of the issuer, without a trailing slash. */
  readonly basePath: string;
}

/** Takes pending requests from page to page. */
export class PendingPages {
  readonly #needs: Needs;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /** The request that a sealed value carries; `undefined` if it did not start here. */
  request(sealed: string): Promise<PendingRequest | undefined> {
    return this.#needs.requests.open(sealed);
  }

  /** @returns `undefined` if it is too long for a URL */
  seal(pending: PendingRequest): Promise<string | undefined> {
    return this.#needs.requests.seal(pending);
  }

  /**
   * Opens a page’s pending request.
   * @throws {PageProblem} there is none that started here
   * @throws {OAuthError} the client may no longer make this request
   */
  async open(c: PageContext, page: PageName): Promise<PendingPage> {
    const sealed = c.req.query('pending') ?? '';
    return this.resume(c, page, await this.request(sealed), sealed);
  }

  /** The request that the consent page decides about, as text; `undefined` for other pages. */
  async decided(c: PageContext): Promise<string | undefined> {
    if (c.req.path !== `${this.#needs.basePath}/consent`) return undefined;
    const pending = await this.request(c.req.query('pending') ?? '');
    return pending?.kind === 'authorization' ? `decision\n${JSON.stringify(pending.parameters)}` : undefined;
  }

  /** As `open`, for a request that comes from somewhere else than the page’s URL. */
  async resume(
    c: PageContext,
    page: PageName,
    pending: PendingRequest | undefined,
    sealed: string,
  ): Promise<PendingPage> {
    if (pending === undefined || pending.kind === 'logout') throw new PageProblem(page, 'request_expired');
    if (pending.kind === 'account') return { pending, sealed };
    const { formTokens, server } = this.#needs;
    const { parameters } = pending;
    const isOfDevice = server.device?.isOfDevice(parameters) === true;
    if (isOfDevice && pending.browser !== formTokens.browserOf(c))
      throw new PageProblem(page, 'device_code_of_other_browser');
    const authorization = isOfDevice
      ? await server.device.resume(parameters, requestIdOf(c))
      : await server.authorization.resume(parameters, requestIdOf(c));
    return { pending, authorization, sealed };
  }

  /** Like `open`, for pages that only serve authorization requests. */
  async openAuthorization(
    c: PageContext,
    page: PageName,
  ): Promise<AuthorizationPage & { readonly sealed: string }> {
    const opened = await this.open(c, page);
    if (!('authorization' in opened)) throw new PageProblem(page, 'request_expired');
    return opened;
  }

  /** Redirects the browser to a page with a pending request. */
  async redirect(c: PageContext, page: PageName, pending: PendingRequest): Promise<Response> {
    const sealed = await this.seal(pending);
    if (sealed === undefined) throw new PageProblem(page, 'request_too_long');
    const path = page === 'authorization' ? 'authorize' : page === 'second' ? 'login/second' : page;
    return c.redirect(`${this.#needs.basePath}/${path}?pending=${sealed}`, 303);
  }

  /** Continues to the account page that the user wanted to see. */
  continue(c: PageContext, { page, below = '' }: Pick<PendingAccount, 'page' | 'below'>): Response {
    return c.redirect(`${this.#needs.basePath}${pathOfAccountPage(page)}${below}`, 303);
  }
}
