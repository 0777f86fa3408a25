import { createHash } from 'node:crypto';
import type { AuthorizationRequest } from '@grantd/core';
import { askedBy } from '../consents/asked_consent.ts';
import { ScopeGlossary } from './access_shown.ts';
import { applicationShown, personShown } from './application_shown.ts';
import { answerWithCode } from './authorization_answer.ts';
import { goOn, nextStep } from './authorization_steps.ts';
import type { BrowserSession } from './browser_sessions.ts';
import { renderPage } from './layout.ts';
import { toClient } from './leaving_page.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import { pageSetting } from './page_setting.ts';
import { type AuthorizationPage, openAuthorizationPage, ownForm } from './pending_page.ts';
import { consentPage } from './views/consent.ts';

type Consenting = AuthorizationPage & { readonly sealed: string; readonly session: BrowserSession };

/** `GET /consent`: the question. */
export function showConsent(parts: PageParts) {
  const { formTokens, basePath } = parts;
  return async (c: PageContext): Promise<Response> => {
    const opened = await openConsenting(c, parts);
    if (opened instanceof Response) return opened;
    const { sealed, authorization, session } = opened;
    const asked = askedBy(authorization);
    const setting = pageSetting(c, parts, authorization.uiLocales);
    const host = hostOf(authorization.redirectUri);
    const question = questionOf(authorization);
    const glossary = await ScopeGlossary.open(parts, new Set(asked.scopes), setting.language);
    const view = {
      action: `${basePath}/consent?pending=${sealed}&question=${question}`,
      formToken: await formTokens.make(c, 'consent', sealed, session.id, question),
      application: applicationShown(authorization.client, setting.language, parts.basePath),
      person: personShown(session.person),
      access: glossary.shown(asked),
      changePerson: `${basePath}/login?pending=${sealed}&other`,
      account: `${basePath}/account`,
      ...(host !== undefined && { returnsTo: host }),
    };
    return renderPage(c, { ...consentPage(view, setting), formMayLeave: true });
  };
}

/** `POST /consent`: back to the client, with a code or without. */
export function submitConsent(parts: PageParts) {
  const { server, consents, requestLog, basePath, clock } = parts;
  return async (c: PageContext): Promise<Response> => {
    const opened = await openConsenting(c, parts);
    if (opened instanceof Response) return opened;
    const { sealed, authorization, session } = opened;
    const { subject } = session.person;
    const clientId = authorization.client.id;
    const answered = c.req.query('question') ?? '';
    const form = await ownForm(c, parts, {
      page: 'consent',
      about: [sealed, session.id, answered],
      clientId,
    });

    const requestId = requestIdOf(c);
    if (form.get('decision') !== 'allow') {
      const description = 'the person denied access';
      const refusal = await server.refuseAuthorization(
        authorization,
        'access_denied',
        description,
        requestId,
      );
      return toClient(c, parts, refusal, authorization.uiLocales);
    }
    if (answered !== questionOf(authorization))
      return c.redirect(`${basePath}/consent?pending=${sealed}`, 303);
    await consents.give({ subject, clientId }, askedBy(authorization), clock());
    requestLog.pageEvent({ type: 'consent_given', page: 'consent', requestId, clientId, subject });
    return (await answerWithCode(c, parts, opened, session)) ?? goOn(c, parts, opened, undefined);
  };
}

/** The request with the session of the person who answers it; the way to an earlier page where that is not done. */
async function openConsenting(c: PageContext, parts: PageParts): Promise<Consenting | Response> {
  const page = await openAuthorizationPage(c, parts, 'consent');
  const session = await parts.browserSessions.current(c);
  if (session === undefined) return goOn(c, parts, page, undefined);
  const { page: left } = await nextStep(parts, page, session);
  return left === 'login' || left === 'select' ? goOn(c, parts, page, session) : { ...page, session };
}

/**
 * What a page asked, as a digest: who wants what, and where the answer goes. Where the client has been registered anew
 * since, the answer is to another question, which is put then.
 */
function questionOf(authorization: AuthorizationRequest): string {
  const { client, redirectUri } = authorization;
  const question = JSON.stringify([client, redirectUri, askedBy(authorization)]);
  return createHash('sha256').update(question).digest('base64url');
}

/** What people may know the place by that they go back to; a scheme of an app's own says nothing. */
function hostOf(redirectUri: string): string | undefined {
  const { protocol, host } = new URL(redirectUri);
  return protocol === 'https:' || protocol === 'http:' ? host : undefined;
}
