// What a user decides on the way to a client: whether to continue as they are, and whether to consent.
import { createHash } from 'node:crypto';
import type { IssuingClientRepository } from '@grantd/core';
import type { DetailsType } from '../../config/details_types.ts';
import { isLoopback } from '../../config/networks.ts';
import type { ScopeTexts } from '../../data/consents.ts';
import type { RequestLog } from '../../log/log.ts';
import { requiredConsent } from '../../people/consents.ts';
import type { FormTokens } from '../browser/forms.ts';
import type { AuthorizationPage, PendingPages } from '../browser/pending.ts';
import { type PageContext, requestIdOf } from '../browser/request.ts';
import type { BrowserSession, BrowserSessions } from '../browser/sessions.ts';
import { personShown, ScopeGlossary } from '../drawing/application_shown.ts';
import { detailsShown } from '../drawing/details_shown.ts';
import type { Drawing } from '../drawing/drawing.ts';
import { renderPage } from '../drawing/layout.ts';
import type { AuthorizationSteps } from '../steps/authorization.ts';
import type { Flow } from '../steps/routes.ts';
import { chooseAccountPage } from './choose_account_page.ts';
import { consentPage } from './consent_page.ts';
import { deniedPage } from './denied_page.ts';

/** What each page on the way to a client needs. */
interface StepNeeds {
  readonly drawing: Drawing;
  readonly formTokens: FormTokens;
  readonly pending: PendingPages;
  readonly browserSessions: BrowserSessions;
  readonly authorization: AuthorizationSteps;
  readonly requestLog: RequestLog;
}

export interface ConsentNeeds extends StepNeeds {
  readonly scopeTexts: Pick<ScopeTexts, 'list'>;
  readonly clients: Pick<IssuingClientRepository, 'get'>;
  /** Types of authorization details by name. */
  readonly detailsTypes: ReadonlyMap<string, DetailsType>;
  readonly clock: () => number;
}

/** The pages of a signed-in user on the way back to the client: `/select`, `/denied` and `/consent`. */
export function consentFlow(needs: ConsentNeeds): Flow {
  return {
    mount(routes) {
      routes.form('/select', showChoice(needs), submitChoice(needs));
      routes.form('/denied', showDenied(needs), submitDenied(needs));
      routes.form('/consent', showConsent(needs), submitConsent(needs));
    },
  };
}

/** An authorization request with the session of the user whom it is about. */
type Opened = AuthorizationPage & { readonly sealed: string; readonly session: BrowserSession };

type NextPage = Awaited<ReturnType<AuthorizationSteps['nextStep']>>['page'];

/** The next pages of a request at which each page is shown. */
const IS_DUE = {
  select: (next: NextPage) => next !== 'login',
  denied: (next: NextPage) => next === 'denied',
  consent: (next: NextPage) => next === 'consent' || next === undefined,
};

/** The request of a page with the session of the user whom it is about, or the response if another page is due. */
async function openStep(
  c: PageContext,
  { pending, browserSessions, authorization }: StepNeeds,
  name: keyof typeof IS_DUE,
): Promise<Opened | Response> {
  // Together, so that they share a read transaction.
  const [page, session] = await Promise.all([pending.openAuthorization(c, name), browserSessions.current(c)]);
  const { page: next } = await authorization.nextStep(page, session);
  const isDue = session !== undefined && IS_DUE[name](next);
  return isDue ? { ...page, session } : authorization.proceed(c, page, session);
}

/** `GET /select`: asks whether to continue as the signed-in user (OpenID Connect Core §3.1.2.1, `select_account`). */
function showChoice(needs: StepNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const opened = await openStep(c, needs, 'select');
    if (opened instanceof Response) return opened;
    const { sealed, authorization, session } = opened;
    const setting = needs.drawing.setting(c, authorization.uiLocales);
    const view = {
      action: `${needs.drawing.basePath}/select?pending=${sealed}`,
      formToken: await needs.formTokens.make(c, 'select', sealed, session.id),
      application: needs.drawing.application(authorization.client, setting.language),
      person: personShown(session.person),
      otherAccount: `${needs.drawing.basePath}/login?pending=${sealed}&other`,
    };
    return renderPage(c, { ...chooseAccountPage(view, setting), formMayLeave: true });
  };
}

/** `POST /select`: continues with the session that was shown. */
function submitChoice(needs: StepNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const opened = await openStep(c, needs, 'select');
    if (opened instanceof Response) return opened;
    const { sealed, authorization, pending, session } = opened;
    const about = [sealed, session.id];
    await needs.formTokens.verified(c, { page: 'select', about, clientId: authorization.client.id });
    const chosen = { ...pending, chosenSession: session.id };
    return needs.authorization.proceed(c, { authorization, pending: chosen }, session);
  };
}

/** `GET /denied`: says that the signed-in user may not use the application, and offers ways on. */
function showDenied(needs: StepNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const opened = await openStep(c, needs, 'denied');
    if (opened instanceof Response) return opened;
    const { sealed, authorization, session } = opened;
    const { subject } = session.person;
    const clientId = authorization.client.id;
    const event = { type: 'refused', page: 'denied', reason: 'client_not_allowed' } as const;
    needs.requestLog.pageEvent({ ...event, requestId: requestIdOf(c), clientId, subject });
    const setting = needs.drawing.setting(c, authorization.uiLocales);
    const view = {
      action: `${needs.drawing.basePath}/denied?pending=${sealed}`,
      formToken: await needs.formTokens.make(c, 'denied', sealed, session.id),
      application: needs.drawing.application(authorization.client, setting.language),
      person: personShown(session.person),
      otherAccount: `${needs.drawing.basePath}/login?pending=${sealed}&other`,
    };
    return renderPage(c, { ...deniedPage(view, setting), status: 403, formMayLeave: true });
  };
}

/** `POST /denied`: returns to the client with `access_denied`. */
function submitDenied(needs: StepNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const opened = await openStep(c, needs, 'denied');
    if (opened instanceof Response) return opened;
    const { sealed, authorization, session } = opened;
    const about = [sealed, session.id];
    await needs.formTokens.verified(c, { page: 'denied', about, clientId: authorization.client.id });
    return needs.authorization.refuse(c, opened, 'access_denied', 'the user may not use this client');
  };
}

/** `GET /consent`: asks for consent. */
function showConsent(needs: ConsentNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const [opened, texts] = await Promise.all([openStep(c, needs, 'consent'), needs.scopeTexts.list()]);
    if (opened instanceof Response) return opened;
    const { sealed, authorization, session } = opened;
    const requested = requiredConsent(authorization);
    const setting = needs.drawing.setting(c, authorization.uiLocales);
    const redirectUri = redirectUriOf(opened);
    const host = redirectUri === undefined ? undefined : hostOf(redirectUri);
    const question = questionOf(authorization);
    const glossary = await ScopeGlossary.open(
      { ...needs, scopeTexts: { list: async () => texts }, basePath: needs.drawing.basePath },
      new Set(requested.scopes),
      setting.language,
    );
    const view = {
      action: `${needs.drawing.basePath}/consent?pending=${sealed}&question=${question}`,
      formToken: await needs.formTokens.make(c, 'consent', sealed, session.id, question),
      application: needs.drawing.application(authorization.client, setting.language),
      person: personShown(session.person),
      access: {
        ...glossary.shown(requested),
        details: detailsShown(requested.details, needs.detailsTypes, setting.language),
      },
      changePerson: `${needs.drawing.basePath}/login?pending=${sealed}&other`,
      account: `${needs.drawing.basePath}/account`,
      ...(host !== undefined && { returnsTo: host }),
      ...('device' in authorization
        ? { device: { ...authorization.device, nowMs: needs.clock() } }
        : { isOnThisDevice: authorization.client.redirectUris.every(isOnThisDevice) }),
    };
    return renderPage(c, { ...consentPage(view, setting), formMayLeave: true });
  };
}

/**
 * `POST /consent`: returns to the client with a code or an error. Of several answers to one request, the first one counts.
 * The others change nothing: a browser without scripts can go back and press another button.
 */
function submitConsent(needs: ConsentNeeds) {
  const { requestLog, drawing } = needs;
  return async (c: PageContext): Promise<Response> => {
    const opened = await openStep(c, needs, 'consent');
    if (opened instanceof Response) return opened;
    const { sealed, authorization, session } = opened;
    const clientId = authorization.client.id;
    const answered = c.req.query('question') ?? '';
    const form = await needs.formTokens.verified(c, {
      page: 'consent',
      about: [sealed, session.id, answered],
      clientId,
    });

    const decision = form.get('decision') === 'allow' ? 'allowed' : 'denied';
    if (decision === 'allowed' && answered !== questionOf(authorization))
      return c.redirect(`${drawing.basePath}/consent?pending=${sealed}`, 303);

    const earlier = c.get('earlier');
    if (earlier !== undefined) {
      const event = { type: 'refused', page: 'consent', reason: 'request_decided' } as const;
      const { subject } = session.person;
      requestLog.pageEvent({ ...event, requestId: requestIdOf(c), clientId, subject });
      return drawing.problem(c, { problem: `request_${earlier}` }, 400, clientId, redirectUriOf(opened));
    }
    const response =
      decision === 'allowed'
        ? await needs.authorization.answerWithCode(c, opened, session, true)
        : await needs.authorization.refuse(c, opened, 'access_denied', 'the user denied access');
    c.set('decision', decision);
    return response;
  };
}

/**
 * A digest of the question: who requests what, and where the answer goes. If the client has changed since, the page
 * asks again.
 */
function questionOf(authorization: AuthorizationPage['authorization']): string {
  // The use and rotation of a secret, and a document that is still valid, change nothing that users see.
  const { revision: _, documentValidAt: __, registeredAt: ___, ...client } = authorization.client;
  const leadsTo = redirectUriOf({ authorization });
  const question = JSON.stringify([client, leadsTo, requiredConsent(authorization)]);
  return createHash('sha256').update(question).digest('base64url');
}

/** Where the answer goes; `undefined` for a device, which asks for it. */
function redirectUriOf({ authorization }: Pick<AuthorizationPage, 'authorization'>): string | undefined {
  return 'device' in authorization ? undefined : authorization.redirectUri;
}

/** Whether a redirect URI leads to a program on the user's device, which any other program there can pretend to be. */
function isOnThisDevice(redirectUri: string): boolean {
  const { protocol, hostname } = new URL(redirectUri);
  return (protocol !== 'https:' && protocol !== 'http:') || isLoopback(hostname);
}

/** The host that users see before they return; `undefined` for custom schemes, which say nothing. */
function hostOf(redirectUri: string): string | undefined {
  const { protocol, host } = new URL(redirectUri);
  return protocol === 'https:' || protocol === 'http:' ? host : undefined;
}
