import {
  type AdministrableStorage,
  type AuthorizationServer,
  type HttpRequest,
  type HttpResponse,
  type IssuingClientRepository,
  MAX_BODY_BYTES,
  type MayUseClient,
} from '@grantd/core';
import { addressUnit, toHttpRequest } from '@grantd/core/node';
import type { HttpBindings } from '@hono/node-server';
import type { Context, MiddlewareHandler } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { SignInPolicy } from '../config/acr.ts';
import type { ClientAddress } from '../config/client_address.ts';
import type { DetailsType } from '../config/details_types.ts';
import type { Picture } from '../config/picture.ts';
import type { AnsweredRequests } from '../data/answered_requests.ts';
import type { Consents, ScopeTexts } from '../data/consents.ts';
import type { Factors } from '../data/factors.ts';
import type { Groups } from '../data/groups.ts';
import type { People, Person } from '../data/people.ts';
import type { Sessions } from '../data/sessions.ts';
import type { WaysToSignIn } from '../data/ways_to_sign_in.ts';
import type { PageEvent, PageReason, RequestLog } from '../log/log.ts';
import type { Administrators } from '../people/administrators.ts';
import type { ConsentWithdrawal } from '../people/consents.ts';
import type { AccessEnding } from '../people/groups.ts';
import type { LinkBook, MailQueue } from '../people/mailing.ts';
import type { OwnPasswords } from '../people/own_passwords.ts';
import type { Passkeys } from '../people/passkeys.ts';
import type { Place } from '../people/password_hasher.ts';
import type { PasswordRules } from '../people/passwords.ts';
import type { PersonRemoval } from '../people/removal.ts';
import type { SecondFactors } from '../people/second_factors.ts';
import type { SelfService } from '../people/self_service.ts';
import type { NotifyClients, SessionEnding } from '../people/sessions.ts';
import type { FailedSignIn, SignInParts } from '../people/sign_in.ts';
import type { Upstream } from '../people/upstream.ts';
import type { OperatorShown } from './brand.ts';
import type { BrowserSessions } from './browser_sessions.ts';
import type {
  Cookies,
  FormTokens,
  HalfSignIns,
  KnownBrowsers,
  OpenedLink,
  PendingRequests,
  SealedValues,
} from './browser_state.ts';
import type { Logos } from './logos.ts';
import type { Font } from './theme.ts';

/** What a user has answered on the consent page. */
export type Decision = 'allowed' | 'denied';

/** The parts that pages use. */
export interface PageParts {
  readonly server: AuthorizationServer;
  readonly clients: Pick<IssuingClientRepository, 'get'>;
  readonly mayUse: MayUseClient;
  readonly grants: Pick<AdministrableStorage, 'grantsOf'>;
  readonly browserSessions: BrowserSessions;
  readonly sessions: Sessions;
  readonly sessionEnding: SessionEnding;
  readonly consents: Consents;
  readonly scopeTexts: Pick<ScopeTexts, 'list'>;
  /** Types of authorization details by name. */
  readonly detailsTypes: ReadonlyMap<string, DetailsType>;
  readonly withdrawal: ConsentWithdrawal;
  readonly formTokens: FormTokens;
  readonly decisions: AnsweredRequests<Decision>;
  readonly knownBrowsers: KnownBrowsers;
  readonly pendingRequests: PendingRequests;
  /** Seals notices about the result of an action. */
  readonly notices: SealedValues;
  readonly signInParts: SignInParts;
  /** The users, for changes that they make to themselves. */
  readonly ownPeople: People;
  /** Records a refused sign-in in the log, in the audit trail, and in the user’s history. */
  readonly recordFailure: (
    c: PageContext,
    failure: Omit<FailedSignIn, 'reason' | 'userAgent' | 'network' | 'address'> & LoggedFailure,
  ) => Promise<void>;
  readonly selfService: SelfService;
  readonly removal: PersonRemoval;
  /** `undefined` if the server has no group of administrators. */
  readonly administrators: { readonly of: Administrators; readonly access: AccessEnding } | undefined;
  /** Which ways to sign in count for a user. */
  readonly waysOf: (person: Person) => Promise<WaysToSignIn>;
  readonly passwords: OwnPasswords;
  readonly passwordRules: PasswordRules;
  /** `undefined` if the server sends no emails. */
  readonly mail: { readonly queue: MailQueue; readonly links: LinkBook } | undefined;
  readonly openedLink: OpenedLink;
  readonly isSignUpOpen: boolean;
  /** Domains whose addresses may sign up; `undefined` for all. */
  readonly signUpDomains: readonly string[] | undefined;
  /** `undefined` if no identity provider is configured. */
  readonly upstream: UpstreamParts | undefined;
  readonly factors: Factors;
  /** `undefined` if passkeys are off, or browsers offer none at this issuer. */
  readonly passkeys: Passkeys | undefined;
  readonly secondFactors: SecondFactors;
  readonly halfSignIns: HalfSignIns;
  /** The policy of the server. Clients and groups can need more. */
  readonly signInPolicy: SignInPolicy;
  /** Applies to the console together with `signInPolicy`. */
  readonly consoleSignInPolicy: SignInPolicy;
  /** Seconds until factors count that were added with a recovery code. */
  readonly recoveryHold: number;
  readonly groups: Pick<Groups, 'policiesOf'>;
  readonly clientAddress: ClientAddress;
  readonly requestLog: RequestLog;
  readonly notifyClients: NotifyClients;
  /** The operator of this server. */
  readonly operator: OperatorShown;
  readonly operatorLogo: Picture | undefined;
  readonly operatorFont: Font | undefined;
  readonly cookies: Cookies;
  readonly logos: Logos;
  /** Path of the issuer, without a trailing slash. */
  readonly basePath: string;
  /** Milliseconds. */
  readonly clock: () => number;
}

/** What the log says about a refused sign-in in addition. */
interface LoggedFailure extends Pick<PageEvent, 'page' | 'provider' | 'sessionId' | 'cause'> {
  readonly reason: PageReason;
}

/** What sign-in through identity providers needs. */
export interface UpstreamParts {
  readonly upstream: Upstream;
  readonly cookies: Cookies;
  /** Seals what the browser keeps on the way to a provider. */
  readonly values: SealedValues;
}

export interface PageEnvironment {
  Bindings: HttpBindings & { incoming: { id?: string } };
  Variables: {
    /** The request in the library’s form, with its body. */
    plain: HttpRequest;
  };
}

export type PageContext = Context<PageEnvironment>;

export function requestIdOf(c: PageContext): string {
  return c.env.incoming.id ?? '';
}

/**
 * Reads each request with the library’s adapter, which stops just past the body limit.
 * @param refuse answers requests with too long a body
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
    if (Buffer.byteLength(bodyOf(c)) <= MAX_BODY_BYTES) return next();
    // No further request can follow an unread body.
    c.header('connection', 'close');
    return refuse(c);
  };
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

/** Finds out where a password attempt comes from: a browser that the user is known to use, or an address. */
export function placeFinder(c: PageContext, { knownBrowsers, clientAddress }: PageParts) {
  return async (person: Person | undefined): Promise<Place> => {
    const browser = person && (await knownBrowsers.nameOf(c, person.subject));
    return browser === undefined
      ? { name: addressUnit(clientAddress(c.env.incoming)), isKnown: false }
      : { name: `browser ${browser}`, isKnown: true };
  };
}
