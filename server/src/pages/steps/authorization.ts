// The steps of an authorization request (RFC 6749 §3.1): which page comes next, and the way back to the client.
import type {
  Approval,
  AuthorizationRefusal,
  AuthorizationServer,
  IssuingClientRepository,
} from '@grantd/core';
import { acrOf, amrShown } from '../../access/acr.ts';
import { isAdmitted, under, unlessBroken } from '../../data/conditions.ts';
import { type Consents, covers } from '../../data/consents.ts';
import { admits } from '../../data/groups.ts';
import type { Sessions } from '../../data/sessions.ts';
import type { RequestLog } from '../../log/log.ts';
import { counts, isExempt, isReachedAlone, requiredConsent } from '../../people/consents.ts';
import type { MissingSteps } from '../../people/missing_steps.ts';
import type { SessionValidity } from '../../people/session_validity.ts';
import type { AuthorizationPage, PendingAuthorization, PendingPages } from '../browser/pending.ts';
import { type PageContext, PageProblem, requestIdOf, toResponse } from '../browser/request.ts';
import { type BrowserSession, signInName } from '../browser/sessions.ts';
import type { Drawing } from '../drawing/drawing.ts';

/** The next page before the client gets its answer, or the session that the answer is about. */
export type Step =
  | { readonly page: 'login' | 'select' | 'denied' | 'second' | 'enrol' | 'unmet' | 'consent' }
  | { readonly page: undefined; readonly session: BrowserSession };

/** Errors for clients that allow no page (OpenID Connect Core §3.1.2.6, RFC 6749 §4.1.2.1). */
const WITHOUT_PAGE = {
  login: 'login_required',
  select: 'account_selection_required',
  denied: 'access_denied',
  second: 'login_required',
  enrol: 'interaction_required',
  unmet: 'unmet_authentication_requirements',
  consent: 'consent_required',
} as const satisfies Record<NonNullable<Step['page']>, AuthorizationRefusal>;

const DESCRIPTIONS: Partial<Record<AuthorizationRefusal, string>> = {
  access_denied: 'the user may not use this client',
  unmet_authentication_requirements: 'this server cannot meet the requested authentication context',
};

/** Each further one means that the consent has changed meanwhile, or that no code may be issued. */
const MAX_ATTEMPTS = 3;

interface Needs {
  readonly server: AuthorizationServer;
  readonly clients: Pick<IssuingClientRepository, 'get'>;
  readonly consents: Consents;
  readonly sessions: Pick<Sessions, 'knownTo'>;
  readonly validity: SessionValidity;
  readonly missing: MissingSteps;
  readonly pending: PendingPages;
  readonly drawing: Drawing;
  readonly requestLog: Pick<RequestLog, 'pageEvent'>;
  readonly clock: () => number;
}

export class AuthorizationSteps {
  readonly #needs: Needs;

  constructor(needs: Needs) {
    this.#needs = needs;
  }

  /** Validates a request of a client, and begins its way through the pages. */
  async begin(c: PageContext): Promise<AuthorizationPage> {
    const authorization = await this.#needs.server.authorization.validate(c.get('plain'));
    const { parameters } = authorization;
    return { authorization, pending: { kind: 'authorization', parameters, begunAtMs: this.#needs.clock() } };
  }

  /** OpenID Connect Core §3.1.2.2: never answer about a user other than the requested one. */
  async isExpected({ authorization }: AuthorizationPage, subject: string): Promise<boolean> {
    return this.#needs.server.authorization.isExpectedUser(authorization, subject);
  }

  /** Continues to the next page or back to the client. */
  async proceed(
    c: PageContext,
    page: AuthorizationPage,
    session: BrowserSession | undefined,
  ): Promise<Response> {
    const { pending, authorization } = page;
    const step = await this.nextStep(page, session);
    if (step.page === undefined) {
      return this.answerWithCode(c, page, step.session);
    }
    if (!authorization.prompt.includes('none') && step.page !== 'unmet') {
      if (step.page !== 'enrol') return this.#needs.pending.redirect(c, step.page, pending);
      return this.#toEnrolment(c, pending);
    }
    const isKnown = session !== undefined && (await this.#hasAgreed(page, session));
    const isUnmet = step.page === 'unmet' && !authorization.prompt.includes('none');
    const code = isKnown || isUnmet ? WITHOUT_PAGE[step.page] : 'login_required';
    return this.refuse(c, page, code, DESCRIPTIONS[code] ?? 'a page would have to be shown');
  }

  /** Determines the next page, in the order in which users see them. Each page checks the earlier ones again. */
  async nextStep(page: AuthorizationPage, session: BrowserSession | undefined): Promise<Step> {
    const { authorization, pending } = page;
    const { missing: steps } = this.#needs;
    if (session === undefined || !steps.takes(session) || !this.#isRecentEnough(page, session))
      return { page: 'login' };
    if (!(await this.isExpected(page, session.person.subject))) return { page: 'login' };
    const isChosen = pending.chosenSession === session.id || pending.signIn === signInName(session);
    if (authorization.prompt.includes('select_account') && !isChosen) return { page: 'select' };
    if (!admits(authorization.client, session.person.groups)) return { page: 'denied' };
    // Together, so that they share a read transaction.
    const [missing, hasAgreedToAll] = await Promise.all([
      steps.of(session.person, session.amr, { authorization }),
      this.#isAgreed(page, session),
    ]);
    // Only a user who has just signed in may add a factor.
    if (missing?.step === 'enrol' && !steps.isFresh(session)) return { page: 'login' };
    if (missing !== undefined) return { page: missing.step };
    return hasAgreedToAll ? { page: undefined, session } : { page: 'consent' };
  }

  /** Returns to the client with an error. */
  async refuse(
    c: PageContext,
    { authorization }: AuthorizationPage,
    code: AuthorizationRefusal,
    description: string,
  ): Promise<Response> {
    const { server, drawing } = this.#needs;
    if ('device' in authorization) {
      await server.device?.deny(authorization, requestIdOf(c));
      return this.#toDevicePage(c, 'denied');
    }
    const refusal = await server.authorization.refuse(authorization, code, description, requestIdOf(c));
    return drawing.toClient(c, refusal, authorization.uiLocales);
  }

  /**
   * Returns to the client with a code. A concurrent end of the session or consent either revokes what is issued here, or
   * is detected here afterwards and revokes it at once, before the code leaves the server.
   * @param hasConsented whether the user has just given their consent. It is stored with the code: a refusal stores none
   */
  async answerWithCode(
    c: PageContext,
    { authorization }: AuthorizationPage,
    session: BrowserSession,
    hasConsented = false,
  ): Promise<Response> {
    const { server, sessions, validity, consents, requestLog, clock } = this.#needs;
    const { subject, name } = session.person;
    const parties = { subject, clientId: authorization.client.id };
    const requestId = requestIdOf(c);
    const event = { type: 'refused', page: 'authorization', requestId, ...parties } as const;

    const isStillApproved = async () => {
      const [consent, isOver] = await Promise.all([consents.get(parties), validity.isOver(session)]);
      if (!covers(consent, requiredConsent(authorization)) && !isExempt(authorization.client)) {
        requestLog.pageEvent({ ...event, reason: 'consent_withdrawn' });
        return false;
      }
      if (hasConsented)
        requestLog.pageEvent({ type: 'consent_given', page: 'consent', requestId, ...parties });
      if (!isOver) return true;
      requestLog.pageEvent({ ...event, reason: 'session_over', sessionId: session.id });
      return false;
    };

    // In the same transaction as the code: after a crash in between, the client would never be notified of the end of the
    // session (ADR 217).
    const names = {
      sub: await server.subjectIdentifier(authorization.client, subject),
      sid: await server.sessionIdentifier(authorization.client, session.id),
    };
    const { issuer } = server;
    const known = sessions.knownTo(issuer, session.id, parties.clientId, names);
    const storing: Approval['storing'] = async (store, client) => {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        const admitted = hasConsented ? isAdmitted(issuer, client, subject) : undefined;
        const given = hasConsented
          ? await consents.giving(issuer, parties, requiredConsent(authorization), clock())
          : undefined;
        const all = () => under(admitted, () => under(given, () => under(known, store)));
        const stored = await unlessBroken(all);
        if (stored !== 'broken') return stored;
      }
      return undefined;
    };
    const acr = acrOf(session.amr, authorization.acrValues);
    const approval = {
      subject,
      username: name,
      authTime: Math.floor(session.signedInAtMs / 1000),
      ...(acr !== undefined && { acr }),
      amr: amrShown(session.amr),
      sessionId: session.id,
      isStillApproved,
      storing,
    };
    if ('device' in authorization) {
      await server.device?.approve(authorization, approval, requestId);
      return this.#toDevicePage(c, 'approved');
    }
    return toResponse(c, await server.authorization.complete(authorization, approval, requestId));
  }

  /** A device gets its answer by itself, so the browser only shows that it may go back there. */
  #toDevicePage(c: PageContext, outcome: 'approved' | 'denied'): Response {
    return c.redirect(`${this.#needs.drawing.basePath}/device/${outcome}`, 303);
  }

  /** Leads to the page on which the user adds a factor, and back here. */
  async #toEnrolment(c: PageContext, request: PendingAuthorization): Promise<Response> {
    const { pending, drawing } = this.#needs;
    const sealed = await pending.seal(request);
    if (sealed === undefined) throw new PageProblem('authorization', 'request_too_long');
    return c.redirect(`${drawing.basePath}/account/security?pending=${sealed}`, 303);
  }

  /**
   * Whether a session is recent enough for `prompt` and `max_age` (OpenID Connect Core §3.1.2.1): the user has signed in
   * for this request, or shortly before it started. `max_age` counts from the start of the request, because `max_age=0`
   * could otherwise never succeed. It counts from now if the user has signed in for another request since.
   */
  #isRecentEnough(
    { authorization: { prompt, maxAge }, pending: { begunAtMs, signIn } }: AuthorizationPage,
    session: BrowserSession,
  ): boolean {
    if (signIn === signInName(session)) return true;
    if (prompt.includes('login')) return false;
    const { signedInAtMs } = session;
    const countedFromMs = signedInAtMs <= begunAtMs ? begunAtMs : this.#needs.clock();
    return maxAge === undefined || signedInAtMs >= countedFromMs - maxAge * 1000;
  }

  /**
   * Whether the user has consented to anything with the client, or need not. Before that, the client must not learn who
   * is signed in, since when, or whether anyone is.
   */
  async #hasAgreed(
    { authorization: { client } }: AuthorizationPage,
    { person: { subject } }: BrowserSession,
  ): Promise<boolean> {
    if (isExempt(client)) return true;
    const consent = await this.#needs.consents.get({ subject, clientId: client.id });
    return consent !== undefined && counts(consent, client);
  }

  /**
   * Whether an earlier consent covers the request and no new question is wanted or required. Authorization details
   * always need an answer: the same payment twice is two payments.
   */
  async #isAgreed(
    { authorization }: AuthorizationPage,
    { person: { subject } }: BrowserSession,
  ): Promise<boolean> {
    // Anyone can have sent the code, so the user has to recognize the request (RFC 10027 §6.1).
    if ('device' in authorization) return false;
    if (authorization.prompt.includes('consent')) return false;
    if (isExempt(authorization.client)) return true;
    if (authorization.authorizationDetails !== undefined) return false;
    const { consents, clients } = this.#needs;
    const { id: clientId } = authorization.client;
    if (!covers(await consents.get({ subject, clientId }), requiredConsent(authorization))) return false;
    const client = await clients.get(clientId);
    return !!client && isReachedAlone(client, authorization.redirectUri);
  }
}
