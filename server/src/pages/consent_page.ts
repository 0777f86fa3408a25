import { createHash } from 'node:crypto';
import { type AuthorizationRequest, StorageFault } from '@grantd/core';
import { html } from 'hono/html';
import { requiredConsent } from '../people/consents.ts';
import type { Texts } from '../texts/en.ts';
import type { Html } from '../texts/html.ts';
import { textsIn } from '../texts/texts.ts';
import { beginOrWait } from './answered_forms.ts';
import {
  applicationLinks,
  applicationShown,
  codeList,
  describedList,
  named,
  personLine,
  personShown,
  ScopeGlossary,
  scopeList,
  sortScopes,
  uncheckedNote,
} from './application_shown.ts';
import { answerWithCode, nextStep, proceed } from './authorization.ts';
import { applicationMark } from './brand.ts';
import type { BrowserSession } from './browser_sessions.ts';
import { detailsList, detailsShown } from './details_shown.ts';
import { renderProblem } from './error_page.ts';
import {
  type AccessShown,
  type ApplicationShown,
  type FormShown,
  type Page,
  type PageSetting,
  type PersonShown,
  pageSetting,
  renderPage,
} from './layout.ts';
import { toClient } from './leaving_page.ts';
import { type Decision, type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import { type AuthorizationPage, openAuthorizationPage, verifiedForm } from './pending_page.ts';

type Consenting = AuthorizationPage & { readonly sealed: string; readonly session: BrowserSession };

/** `GET /consent`: asks for consent. */
export function showConsent(parts: PageParts) {
  const { formTokens, basePath } = parts;
  return async (c: PageContext): Promise<Response> => {
    const opened = await openConsenting(c, parts);
    if (opened instanceof Response) return opened;
    const { sealed, authorization, session } = opened;
    const requested = requiredConsent(authorization);
    const setting = pageSetting(c, parts, authorization.uiLocales);
    const host = hostOf(authorization.redirectUri);
    const question = questionOf(authorization);
    const glossary = await ScopeGlossary.open(parts, new Set(requested.scopes), setting.language);
    const view = {
      action: `${basePath}/consent?pending=${sealed}&question=${question}`,
      formToken: await formTokens.make(c, 'consent', sealed, session.id, question),
      application: applicationShown(authorization.client, setting.language, parts.basePath),
      person: personShown(session.person),
      access: {
        ...glossary.shown(requested),
        details: detailsShown(requested.details, parts.detailsTypes, setting.language),
      },
      changePerson: `${basePath}/login?pending=${sealed}&other`,
      account: `${basePath}/account`,
      ...(host !== undefined && { returnsTo: host }),
    };
    return renderPage(c, { ...consentPage(view, setting), formMayLeave: true });
  };
}

/** Milliseconds in which another answer to the same request gets the first decision. */
const DECISION_KEPT_MS = 60 * 60 * 1000;

/**
 * `POST /consent`: returns to the client with a code or an error. Of several answers to one request, the first one counts.
 * The others change nothing: a browser without scripts can go back and press another button.
 */
export function submitConsent(parts: PageParts) {
  const { decisions, formTokens, requestLog, basePath } = parts;
  return async (c: PageContext): Promise<Response> => {
    const opened = await openConsenting(c, parts);
    if (opened instanceof Response) return opened;
    const { sealed, authorization, pending, session } = opened;
    const { subject } = session.person;
    const clientId = authorization.client.id;
    const answered = c.req.query('question') ?? '';
    const form = await verifiedForm(c, parts, {
      page: 'consent',
      about: [sealed, session.id, answered],
      clientId,
    });

    const decision = form.get('decision') === 'allow' ? 'allowed' : 'denied';
    if (decision === 'allowed' && answered !== questionOf(authorization))
      return c.redirect(`${basePath}/consent?pending=${sealed}`, 303);

    const requestId = requestIdOf(c);
    const browser = formTokens.browserOf(c) ?? '';
    const key = await decisions.digest('consent', browser, JSON.stringify(pending.parameters));
    const begun = await beginOrWait(decisions, key);
    if (typeof begun === 'string') {
      const event = { type: 'refused', page: 'consent', reason: 'request_decided' } as const;
      requestLog.pageEvent({ ...event, requestId, clientId, subject });
      return renderProblem(
        c,
        parts,
        { problem: `request_${begun}` },
        400,
        clientId,
        authorization.redirectUri,
      );
    }
    let response: Response | undefined;
    try {
      response = await performed(c, parts, opened, decision);
    } finally {
      if (response === undefined) await begun.forget();
    }
    if (response === undefined) return proceed(c, parts, opened, undefined);
    try {
      await begun.finish(decision, DECISION_KEPT_MS);
    } catch (error) {
      if (!(error instanceof StorageFault)) throw error;
      // The client may have its answer by now, so the user gets it too.
      requestLog.failure(requestId, 'storage_unavailable', error);
    }
    return response;
  };
}

/** @returns the way back to the client; `undefined` if the session has already ended */
async function performed(
  c: PageContext,
  parts: PageParts,
  page: Consenting,
  decision: Decision,
): Promise<Response | undefined> {
  const { server, consents, requestLog, clock } = parts;
  const { authorization, session } = page;
  const requestId = requestIdOf(c);
  if (decision === 'denied') {
    const description = 'the user denied access';
    const refusal = await server.authorization.refuse(authorization, 'access_denied', description, requestId);
    return toClient(c, parts, refusal, authorization.uiLocales);
  }
  const { subject } = session.person;
  const clientId = authorization.client.id;
  await consents.give({ subject, clientId }, requiredConsent(authorization), clock());
  requestLog.pageEvent({ type: 'consent_given', page: 'consent', requestId, clientId, subject });
  return answerWithCode(c, parts, page, session);
}

/** The request with the session of the user who answers it, or the response if an earlier page is not done. */
async function openConsenting(c: PageContext, parts: PageParts): Promise<Consenting | Response> {
  const page = await openAuthorizationPage(c, parts, 'consent');
  const session = await parts.browserSessions.current(c);
  if (session === undefined) return proceed(c, parts, page, undefined);
  const { page: next } = await nextStep(parts, page, session);
  return next === 'consent' || next === undefined ? { ...page, session } : proceed(c, parts, page, session);
}

/**
 * A digest of the question: who requests what, and where the answer goes. If the client has changed since, the page
 * asks again.
 */
function questionOf(authorization: AuthorizationRequest): string {
  // The use and rotation of a secret raise `revision` alone, and change nothing that users see.
  const { revision: _, ...client } = authorization.client;
  const question = JSON.stringify([client, authorization.redirectUri, requiredConsent(authorization)]);
  return createHash('sha256').update(question).digest('base64url');
}

/** The host that users see before they return; `undefined` for custom schemes, which say nothing. */
function hostOf(redirectUri: string): string | undefined {
  const { protocol, host } = new URL(redirectUri);
  return protocol === 'https:' || protocol === 'http:' ? host : undefined;
}

export interface ConsentView extends FormShown {
  readonly application: ApplicationShown;
  readonly person: PersonShown;
  /** URL at which another user can sign in. */
  readonly changePerson: string;
  readonly access: AccessShown;
  /** Host of the redirect URI, if it means something to users. */
  readonly returnsTo?: string;
  /** URL of the page on which users end access. */
  readonly account?: string;
}

/** Characters from which a name gets a smaller heading. */
const LONG_NAME = 40;

/** `/consent`: buttons `consent-allow` and `consent-deny`, which send the field `decision`. */
export function consentPage(view: ConsentView, setting: PageSetting): Page {
  const { application, person } = view;
  const texts = textsIn(setting.language);
  const { consent } = texts;
  return {
    ...setting,
    title: consent.title(application.name),
    ...(application.color !== undefined && { color: application.color }),
    body: html`<header>
${applicationMark(application, setting.operator)}
<h1${application.name.length > LONG_NAME ? html` class="long"` : ''}>${consent.title(named(application.name))}</h1>
</header>
${personLine(consent.signedInAs, person, html`<a id="change-person" href="${view.changePerson}">${consent.notYou}</a>`)}
${uncheckedNote(application, setting, texts)}
${accessOf(view.access, texts)}
<form method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
<div class="choices">
<button id="consent-allow" type="submit" name="decision" value="allow" class="primary">${consent.allow}</button>
<button id="consent-deny" type="submit" name="decision" value="deny">${consent.deny}</button>
</div>
</form>
<p class="note">${view.returnsTo === undefined ? '' : (application.isUnchecked === true ? consent.leadsTo : consent.returnsTo)(named(view.returnsTo))} ${view.account === undefined ? consent.endIt : consent.endItIn(html`<a href="${view.account}">${consent.yourAccount}</a>`)}</p>
${applicationLinks(application, texts)}`,
  };
}

function accessOf(
  { groups = [], scopes, resources = [], claims = [], details = [] }: AccessShown,
  texts: Texts,
): Html {
  const { consent } = texts;
  const hasOwn = groups.some(({ api }) => api === undefined);
  const first = details.length > 0 ? consent.also : consent.allowed;
  const { known, own } = sortScopes(scopes, texts);
  return html`<div id="scopes" class="access">
${under(consent.allowed, detailsList(details, 'full'))}
${groups.map(({ api, scopes: described }) => under(api === undefined ? first : consent.at(named(api.name)), describedList(described, 'full')))}
${under(hasOwn ? consent.also : first, scopeList(known, 'full', texts))}
${under(consent.ownScopes, codeList(own))}
${under(consent.claims, codeList(claims))}
${under(consent.services, resourceList(resources))}
</div>`;
}

function under(heading: Html | string, list: Html | ''): Html | '' {
  return list === '' ? '' : html`<section><h2>${heading}</h2>${list}</section>`;
}

function resourceList(resources: readonly string[]): Html | '' {
  if (resources.length === 0) return '';
  return html`<ul id="resources" class="bullets">
${resources.map((uri) => html`<li><code>${uri}</code></li>\n`)}</ul>`;
}
