// A code by email instead of the password: sends it, and checks what the user types (ADR 159).

import { METHODS } from '../../access/acr.ts';
import { isName, trimmed } from '../../data/names.ts';
import type { PageEvent } from '../../log/page_events.ts';
import {
  type CodeRequest,
  type EmailCodeRefusal,
  type EmailCodes,
  newCodeRequest,
} from '../../people/email_codes.ts';
import type { MailQueue } from '../../people/mailing.ts';
import type { RequestedCode, RequestedCodes } from '../browser/cookies.ts';
import { clientIdOf, leadOf, type PendingPage } from '../browser/pending.ts';
import { bodyOf, type PageContext, requestIdOf, userAgentOf } from '../browser/request.ts';
import { renderPage } from '../drawing/layout.ts';
import { admitMail } from '../steps/requested_mails.ts';
import { type EmailCodeProblem, emailCodePage } from './email_code_page.ts';
import { cancelSignIn, finishSignIn, type LoginNeeds, renderForm, toSecondStep } from './login.ts';

/** Which way the sign-in page shows first, if the server sends codes. */
export type EmailCodeWay = 'also' | 'first';

export interface EmailCodeNeeds extends LoginNeeds {
  readonly emailCodes: EmailCodes;
  readonly requestedCodes: RequestedCodes;
  /** Whether a sign-in for this purpose can be with a code. */
  readonly isFor: (page: PendingPage) => boolean;
  readonly queue: MailQueue;
}

/** `GET /login/code`: asks for the code that was sent. */
export function showEmailCode(needs: EmailCodeNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const page = await needs.pending.open(c, 'code');
    const asked = await needs.requestedCodes.get(c);
    if (asked === undefined || !needs.isFor(page)) return needs.pending.redirect(c, 'login', page.pending);
    return renderCode(c, needs, page, asked.typed);
  };
}

/** `POST /login/code`: field `username` of the sign-in page sends a code; field `code`, and the buttons of this page. */
export function submitEmailCode(needs: EmailCodeNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const page = await needs.pending.open(c, 'code');
    const clientId = clientIdOf(page);
    const from = new URLSearchParams(bodyOf(c)).has('username') ? 'login' : 'code';
    const form = await needs.formTokens.verified(c, { page: from, about: [page.sealed], clientId });
    if (!needs.isFor(page)) return needs.pending.redirect(c, 'login', page.pending);
    if (from === 'login') return send(c, needs, page, trimmed(form.get('username') ?? ''));
    const decision = form.get('decision');
    if (decision === 'cancel' && 'authorization' in page) {
      needs.requestedCodes.forget(c);
      return cancelSignIn(c, needs, page);
    }
    const asked = await needs.requestedCodes.get(c);
    if (asked === undefined) return needs.pending.redirect(c, 'login', page.pending);
    if (decision === 'again') return send(c, needs, page, asked.typed);
    return redeem(c, needs, page, asked, form.get('code') ?? '');
  };
}

/**
 * Queues the email and continues to the page for the code, for every name alike. Whether there is such a user is looked up
 * when the email is due.
 */
async function send(
  c: PageContext,
  needs: EmailCodeNeeds,
  page: PendingPage,
  typed: string,
): Promise<Response> {
  if (!isName(typed))
    return renderForm(c, needs, page, { username: typed, refusal: { refused: 'name_missing' } });
  if (!needs.signInParts.passwords.areAskedOf(typed))
    return (
      (await needs.providers?.beginAtHome(c, page, typed)) ?? needs.pending.redirect(c, 'login', page.pending)
    );
  const clientId = clientIdOf(page);
  const event: Pick<PageEvent, 'page' | 'requestId' | 'clientId'> = {
    ...{ page: 'code', requestId: requestIdOf(c) },
    ...(clientId !== undefined && { clientId }),
  };
  const admitted = await admitMail(c, needs, 'code', typed);
  if ('secondsToWait' in admitted) {
    needs.requestLog.pageEvent({ ...event, type: 'refused', reason: 'too_many_mails' });
    return renderCode(c, needs, page, typed, { refused: 'too_many_mails', ...admitted });
  }
  const { isSent, knownBrowser } = admitted;
  const request = newCodeRequest(needs.formTokens.browserOf(c) ?? '', knownBrowser);
  const earlier = await needs.requestedCodes.get(c);
  // If nothing is sent, the code of the last email still counts.
  if (isSent || earlier?.typed !== typed) await needs.requestedCodes.set(c, { ...request, typed });
  if (isSent) await queueCode(c, needs, page, typed, request);
  needs.requestLog.pageEvent({
    ...event,
    ...(isSent ? { type: 'code_requested' } : { type: 'refused', reason: 'too_many_mails' }),
  });
  return c.redirect(`${needs.drawing.basePath}/login/code?pending=${page.sealed}`, 303);
}

async function queueCode(
  c: PageContext,
  needs: EmailCodeNeeds,
  page: PendingPage,
  typed: string,
  request: CodeRequest,
): Promise<void> {
  const authorization = 'authorization' in page ? page.authorization : undefined;
  const { language } = needs.drawing.setting(c, authorization?.uiLocales);
  const application = authorization && needs.drawing.application(authorization.client, language);
  const network = needs.visitors.networkOf(c);
  await needs.queue.add({
    template: 'code',
    to: typed,
    language,
    parameters: {
      ...{ ...request, place: needs.visitors.unitOf(c), userAgent: userAgentOf(c) },
      ...(network !== undefined && { network }),
      // Anyone can register a client under any name.
      ...(application !== undefined && application.isUnchecked !== true && { application: application.name }),
    },
  });
}

async function redeem(
  c: PageContext,
  needs: EmailCodeNeeds,
  page: PendingPage,
  asked: RequestedCode,
  code: string,
): Promise<Response> {
  const clientId = clientIdOf(page);
  const refuse = async (refusal: Refusal) => {
    await needs.visitors.recordFailure(c, {
      ...{ page: 'code', reason: refusal.refused, clientId, isCounted: true },
      ...('subject' in refusal && { subject: refusal.subject }),
    });
    return renderCode(c, needs, page, asked.typed, refusal);
  };
  // The browser may have another cookie by now.
  const request = { ...asked, browser: needs.formTokens.browserOf(c) ?? '' };
  const isKnown = asked.knownBrowser !== undefined;
  const place = isKnown ? `browser ${asked.knownBrowser}` : needs.visitors.unitOf(c);
  const provedAtMs = needs.clock();
  const outcome = await needs.emailCodes.redeem(request, code, { name: place, isKnown });
  if ('refused' in outcome) return refuse(outcome);
  const { person, isStillThere } = outcome;
  const { subject } = person;
  if ('authorization' in page && !(await needs.authorization.isExpected(page, subject)))
    return refuse({ refused: 'person_not_expected', subject });
  needs.requestedCodes.forget(c);
  if ((await needs.missing.of(person, METHODS.emailCode, page))?.step === 'second')
    return toSecondStep(c, needs, page, person, { page: 'code', amr: METHODS.emailCode });
  const how = { page: 'code', amr: METHODS.emailCode, provedAtMs, isStillThere } as const;
  return (await finishSignIn(c, needs, page, person, how)) ?? refuse({ refused: 'person_changed', subject });
}

type Refusal =
  | EmailCodeRefusal
  | { readonly refused: 'person_not_expected'; readonly subject: string }
  | { readonly refused: 'too_many_mails'; readonly secondsToWait: number };

/** What users may learn. Whether there is a user with this name is not part of it. */
const PROBLEMS = {
  email_code_wrong: { problem: 'code_wrong', status: 403 },
  person_changed: { problem: 'code_wrong', status: 403 },
  person_not_expected: { problem: 'another_person', status: 403 },
  email_code_guessed: { problem: 'code_guessed', status: 403 },
  too_many_failures: { problem: 'too_many_attempts', status: 429 },
  too_many_mails: { problem: 'too_many_attempts', status: 429 },
} as const satisfies Record<
  Refusal['refused'],
  { readonly problem: EmailCodeProblem; readonly status: number }
>;

async function renderCode(
  c: PageContext,
  needs: EmailCodeNeeds,
  page: PendingPage,
  typed: string,
  refusal?: Refusal,
): Promise<Response> {
  const { drawing } = needs;
  const authorization = 'authorization' in page ? page.authorization : undefined;
  const setting = drawing.setting(c, authorization?.uiLocales);
  const shown = refusal && PROBLEMS[refusal.refused];
  const wait =
    refusal !== undefined && 'secondsToWait' in refusal && shown?.status === 429
      ? refusal.secondsToWait
      : undefined;
  const view = {
    action: `${drawing.basePath}/login/code?pending=${page.sealed}`,
    formToken: await needs.formTokens.make(c, 'code', page.sealed),
    typed,
    back: `${drawing.basePath}/login?pending=${page.sealed}&password`,
    lead: leadOf(page),
    ...(authorization !== undefined && {
      application: drawing.application(authorization.client, setting.language),
    }),
    ...(shown !== undefined && { problem: shown.problem }),
    ...(wait !== undefined && { secondsToWait: wait }),
  };
  return renderPage(c, {
    ...emailCodePage(view, setting),
    status: shown?.status ?? 200,
    formMayLeave: authorization !== undefined,
    ...(wait !== undefined && { headers: { 'retry-after': String(wait) } }),
  });
}
