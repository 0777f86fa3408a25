// Changes of the factors of a user.
import { isJsonObject } from '@grantd/core/options';
import { afterStep, byRecovery, levelOf, METHODS, restsOnRecovery } from '../../access/acr.ts';
import { type Factors, type Hold, MAX_PASSKEYS } from '../../data/factors.ts';
import type { Notice } from '../../data/mails.ts';
import type { Person } from '../../data/people.ts';
import type { WaysToSignIn } from '../../data/ways_to_sign_in.ts';
import type { PageReason } from '../../log/page_events.ts';
import type { MailParameters, MailQueue } from '../../people/mailing.ts';
import type { MissingSteps } from '../../people/missing_steps.ts';
import { nameOfPasskey, type PasskeyRefusal, type Passkeys } from '../../people/passkeys.ts';
import type { SecondFactors, TotpOffer, TotpRefusal } from '../../people/second_factors.ts';
import { textsIn } from '../../texts/texts.ts';
import type { SealedValues } from '../browser/cookies.ts';
import { passkeyAnswer } from '../browser/forms.ts';
import { type PageContext, requestIdOf } from '../browser/request.ts';
import type { BrowserSession, BrowserSessions } from '../browser/sessions.ts';
import { renderPage } from '../drawing/layout.ts';
import {
  FACTOR_NOTICES,
  type FactorNotice,
  type FactorsView,
  newPasskeyName,
  recoveryCodesPage,
  totpPage,
} from './factors_page.ts';
import { accountView, buttonValue, type FrameNeeds } from './frame.ts';
import { type EndingNeeds, endOtherSessions } from './sessions.ts';

export interface FactorsNeeds extends FrameNeeds, EndingNeeds {
  readonly browserSessions: BrowserSessions;
  readonly missing: MissingSteps;
  readonly factors: Factors;
  /** `undefined` if passkeys are off, or browsers offer none at this issuer. */
  readonly passkeys: Passkeys | undefined;
  readonly secondFactors: SecondFactors;
  /** Which ways to sign in count for a user. */
  readonly waysOf: (person: Person) => Promise<WaysToSignIn>;
  /** Seconds until factors count that were added with a recovery code. */
  readonly recoveryHold: number;
  /** Seals notices about the result of a change. */
  readonly notices: SealedValues;
  /** `undefined` if the server sends no emails. */
  readonly mail: { readonly queue: MailQueue } | undefined;
  readonly clock: () => number;
}

export async function factorsView(
  c: PageContext,
  needs: FactorsNeeds,
  session: BrowserSession,
): Promise<FactorsView> {
  const { factors, passkeys, formTokens, secondFactors } = needs;
  const { subject } = session.person;
  const [{ recoveryCodes }, unsavedCodes, list, totp, formToken, notice] = await Promise.all([
    factors.of(subject),
    secondFactors.unsavedRecoveryCodes(subject),
    factors.passkeysOf(subject),
    factors.totpOf(subject),
    formTokens.make(c, 'account', session.id),
    noticeIn(c, needs, session),
  ]);
  const mayChange = (await needs.missing.ofChange(session, 'factors')) === undefined;
  const challengeFor = async (kind: 'passkey' | 'security_key') =>
    mayChange && list.length < MAX_PASSKEYS
      ? passkeys?.creationChallenge(formToken, session.person, kind)
      : undefined;
  const challenge = await challengeFor('passkey');
  const securityKeyChallenge = await challengeFor('security_key');
  return {
    action: urlOf(needs, '/account/factors', pendingOf(c)),
    formToken,
    ...(passkeys !== undefined && {
      passkeys: {
        list: list.filter(({ isSecurityKey }) => !isSecurityKey),
        ...(challenge !== undefined && { challenge }),
      },
      securityKeys: {
        list: list.filter(({ isSecurityKey }) => isSecurityKey),
        ...(securityKeyChallenge !== undefined && { challenge: securityKeyChallenge }),
      },
    }),
    totpSinceMs: totp?.createdAtMs,
    totpCountsFromMs: totp?.countsFromMs,
    recoveryCodes,
    mayChange,
    hasUnsavedCodes: unsavedCodes.length > 0,
    isNeeded: pendingOf(c) !== undefined,
    userAgent: c.req.header('user-agent'),
    nowMs: needs.clock(),
    ...(notice !== undefined && { notice }),
  };
}

/** The sealed authorization request that the user interrupted to add a factor. */
function pendingOf(c: PageContext): string | undefined {
  const pending = c.req.query('pending');
  return pending !== undefined && /^[\w-]+$/.test(pending) ? pending : undefined;
}

function urlOf(
  { drawing }: Pick<FactorsNeeds, 'drawing'>,
  path: string,
  pending: string | undefined,
): string {
  return `${drawing.basePath}${path}${pending === undefined ? '' : `?pending=${pending}`}`;
}

/**
 * `GET /account/factors`: shows the secret of a new authenticator app until the app is added, and recovery codes until
 * the user has saved them, however often the page is loaded. Otherwise leads to the page with the sections.
 */
export function showFactors(needs: FactorsNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const session = await needs.visits.open(c, 'security');
    if (session instanceof Response) return session;
    if ((await needs.missing.ofChange(session, 'factors')) !== undefined) return back(c, needs, session);
    const { factors, secondFactors } = needs;
    const { person } = session;
    const sealed = c.req.query('totp_offer');
    if (sealed !== undefined) {
      // The secret of an app that was added stays hidden.
      if ((await factors.totpOf(person.subject)) !== undefined) return back(c, needs, session, 'totp_exists');
      const offer = await secondFactors.offeredTotp(person, sealed);
      return offer === undefined
        ? back(c, needs, session, 'totp_offer_wrong')
        : renderTotp(c, needs, session, offer);
    }
    const codes = await secondFactors.unsavedRecoveryCodes(person.subject);
    return codes.length === 0 ? back(c, needs, session) : renderCodes(c, needs, session, codes);
  };
}

/** `POST /account/factors`: one change, named by the field `act`; or the answer of a new passkey. */
export function submitFactors(needs: FactorsNeeds) {
  const changed = (form: URLSearchParams) =>
    form.get('act') === 'codes_saved' ? undefined : ('factors' as const);
  return needs.visits.form('security', changed, async (c, session, form) => {
    if (form.get('act') === 'codes_saved') return codesSaved(c, needs, session);
    if (passkeyAnswer(form) !== undefined) return addPasskey(c, needs, session, form);
    const passkeyId = buttonValue(form, 'remove_passkey');
    if (passkeyId !== null) return removePasskey(c, needs, session, passkeyId);
    const name = form.get('act') ?? '';
    const act = Object.hasOwn(ACTS, name) ? ACTS[name] : undefined;
    return act === undefined ? back(c, needs, session) : act(c, needs, session, form);
  });
}

/** When a factor begins to count that is added in a session. */
function countsFrom({ recoveryHold, clock }: FactorsNeeds, { amr }: BrowserSession): number {
  return restsOnRecovery(amr) ? clock() + recoveryHold * 1000 : 0;
}

/** How a removal in a session holds the level that the factors reach. */
function holdOf(needs: FactorsNeeds, session: BrowserSession): Hold | undefined {
  const untilMs = countsFrom(needs, session);
  return untilMs === 0 ? undefined : { nowMs: needs.clock(), untilMs };
}

type ChangeFactors = (
  c: PageContext,
  needs: FactorsNeeds,
  session: BrowserSession,
  form: URLSearchParams,
) => Promise<Response>;

const ACTS: Readonly<Record<string, ChangeFactors>> = {
  async offer_totp(c, needs, session) {
    const { sealed } = await needs.secondFactors.offerTotp(session.person);
    const url = urlOf(needs, '/account/factors', pendingOf(c));
    return c.redirect(`${url}${url.includes('?') ? '&' : '?'}totp_offer=${sealed}`, 303);
  },
  async confirm_totp(c, needs, session, form) {
    const { secondFactors } = needs;
    const sealed = form.get('totp_offer') ?? '';
    const code = form.get('code') ?? '';
    const notice = await ownNotice(c, needs, session, { change: 'totp_added' });
    const countsFromMs = countsFrom(needs, session);
    const refusal = await secondFactors.addTotp(session.person, sealed, code, countsFromMs, notice);
    if (refusal !== undefined) {
      refuse(c, needs, session, refusal);
      const offer = await secondFactors.offeredTotp(session.person, sealed);
      return refusal === 'code_wrong' && offer !== undefined
        ? renderTotp(c, needs, session, offer, refusal)
        : back(c, needs, session, refusal === 'code_wrong' ? 'totp_offer_wrong' : refusal);
    }
    return added(c, needs, session, METHODS.code, 'totp_added');
  },
  async remove_totp(c, needs, session) {
    const notice = await ownNotice(c, needs, session, { change: 'totp_removed' });
    const hold = holdOf(needs, session);
    const isRemoved = await needs.factors.removeTotp(session.person.subject, notice, hold);
    return removed(c, needs, session, isRemoved && 'totp_removed');
  },
  async recovery_codes(c, needs, session) {
    const notice = await ownNotice(c, needs, session, { change: 'recovery_codes_made' });
    const isMade = await needs.secondFactors.newRecoveryCodes(session.person.subject, notice);
    if (!isMade) return back(c, needs, session, 'nothing_changed');
    needs.mail?.queue.wake();
    record(c, needs, session, 'recovery_codes_made');
    return toCodes(c, needs);
  },
  download_codes: (...given) => downloadCodes(...given),
};

/** Sends the unsaved codes as a file, as often as the user likes. */
const downloadCodes: ChangeFactors = async (c, needs, session) => {
  const codes = await needs.secondFactors.unsavedRecoveryCodes(session.person.subject);
  if (codes.length === 0) return back(c, needs, session);
  const { language, operator } = needs.drawing.setting(c);
  const lines = [textsIn(language).factors.codesFor(operator.name), '', ...codes, ''];
  return c.body(lines.join('\r\n'), 200, {
    'content-type': 'text/plain; charset=utf-8',
    'content-disposition': 'attachment; filename="recovery-codes.txt"',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  });
};

const addPasskey: ChangeFactors = async (c, needs, session, form) => {
  const answer = passkeyAnswer(form);
  const { passkeys } = needs;
  if (answer === undefined || passkeys === undefined) return back(c, needs, session);
  const name = nameOfPasskey(form.get('passkey_name') ?? '') || defaultNameIn(c, needs);
  const countsFromMs = countsFrom(needs, session);
  const outcome = await passkeys.create(answer, session.person, name, countsFromMs, (isSecurityKey) =>
    ownNotice(c, needs, session, { change: isSecurityKey ? 'security_key_added' : 'passkey_added', name }),
  );
  if ('refused' in outcome) {
    refuse(c, needs, session, outcome.refused);
    return back(c, needs, session, problemOfPasskey(outcome.refused));
  }
  return outcome.passkey.isSecurityKey
    ? added(c, needs, session, METHODS.securityKey, 'security_key_added')
    : added(c, needs, session, METHODS.passkey, 'passkey_added');
};

async function removePasskey(
  c: PageContext,
  needs: FactorsNeeds,
  session: BrowserSession,
  id: string,
): Promise<Response> {
  const { subject } = session.person;
  const ways = await needs.waysOf(session.person);
  const passkey = (await needs.factors.passkeysOf(subject)).find((item) => item.id === id);
  if (passkey === undefined) return removed(c, needs, session, false);
  const { name, isSecurityKey } = passkey;
  const change = isSecurityKey ? 'security_key_removed' : 'passkey_removed';
  const notice = await ownNotice(c, needs, session, { change, name });
  if (await needs.factors.removePasskey(subject, id, ways, notice, holdOf(needs, session)))
    return removed(c, needs, session, change);
  const isThere = (await needs.factors.passkeysOf(subject)).some((item) => item.id === id);
  if (!isThere) return removed(c, needs, session, false);
  refuse(c, needs, session, 'passkey_needed');
  return back(c, needs, session, 'passkey_needed');
}

/**
 * The email about a change in a session. It says if the session rests on a recovery code.
 * @returns `undefined` if the user gets no emails
 */
async function ownNotice(
  c: PageContext,
  needs: FactorsNeeds,
  { person, amr }: BrowserSession,
  parameters: MailParameters['factor_changed'],
): Promise<Notice | undefined> {
  const said = { ...parameters, ...(restsOnRecovery(amr) && { byRecovery: true as const }) };
  const { language } = needs.drawing.setting(c);
  return needs.mail?.queue.notice(person, { template: 'factor_changed', language, parameters: said });
}

function defaultNameIn(c: PageContext, needs: FactorsNeeds): string {
  return newPasskeyName(c.req.header('user-agent'), textsIn(needs.drawing.setting(c).language));
}

function problemOfPasskey(refused: PasskeyRefusal): FactorNotice {
  if (refused === 'passkeys_too_many' || refused === 'passkey_unverified') return refused;
  return refused === 'passkey_challenge_wrong' || refused === 'passkey_challenge_used'
    ? 'passkey_too_late'
    : 'passkey_refused';
}

/**
 * The user has just used the new factor, so it counts for this session, which gets a new secret. After the first factor,
 * shows recovery codes, so that its loss is not the end of the account.
 */
async function added(
  c: PageContext,
  needs: FactorsNeeds,
  session: BrowserSession,
  methods: readonly string[],
  notice: FactorNotice,
): Promise<Response> {
  record(c, needs, session, 'factor_added');
  needs.mail?.queue.wake();
  const { person, signedInAtMs } = session;
  const amr = afterStep(session.amr, restsOnRecovery(session.amr) ? byRecovery(methods) : methods);
  if (levelOf(amr) > levelOf(session.amr))
    await needs.browserSessions.begin(c, person, { amr, signedInAtMs });
  const { subject } = person;
  const has = await needs.factors.of(subject);
  const isMade = has.recoveryCodes === 0 && (await needs.secondFactors.newRecoveryCodes(subject));
  if (!isMade) return back(c, needs, session, notice);
  record(c, needs, session, 'recovery_codes_made');
  return toCodes(c, needs);
}

function toCodes(c: PageContext, needs: FactorsNeeds): Response {
  return c.redirect(urlOf(needs, '/account/factors', pendingOf(c)), 303);
}

/** Continues after the recovery codes, which are never shown again. */
async function codesSaved(
  c: PageContext,
  needs: FactorsNeeds,
  { person }: BrowserSession,
): Promise<Response> {
  await needs.factors.codesSaved(person.subject);
  const pending = pendingOf(c);
  const path = pending === undefined ? '/account/security' : '/authorize';
  return c.redirect(urlOf(needs, path, pending), 303);
}

/** Signs out all other browsers, because the factor may be in the hands of a thief who has signed in with it. */
async function removed(
  c: PageContext,
  needs: FactorsNeeds,
  session: BrowserSession,
  done: FactorNotice | false,
): Promise<Response> {
  if (done !== false) {
    record(c, needs, session, 'factor_removed');
    needs.mail?.queue.wake();
    await endOtherSessions(c, needs, session, 'factor_removed');
  }
  return back(c, needs, session, done === false ? 'nothing_changed' : done);
}

/** Continues: with the interrupted request after an addition, else with the sections. */
async function back(
  c: PageContext,
  needs: FactorsNeeds,
  session: BrowserSession,
  notice?: FactorNotice,
): Promise<Response> {
  const pending = pendingOf(c);
  if (
    pending !== undefined &&
    (notice === 'passkey_added' || notice === 'security_key_added' || notice === 'totp_added')
  )
    return c.redirect(urlOf(needs, '/authorize', pending), 303);
  const url = urlOf(needs, '/account/security', pending);
  if (notice === undefined) return c.redirect(url, 303);
  const sealed = await needs.notices.seal({ factorNotice: notice, sessionId: session.id });
  return c.redirect(`${url}${pending === undefined ? '?' : '&'}factor=${sealed}`, 303);
}

async function noticeIn(
  c: PageContext,
  { notices }: FactorsNeeds,
  { id }: BrowserSession,
): Promise<FactorNotice | undefined> {
  const sealed = c.req.query('factor');
  const value = sealed === undefined ? undefined : await notices.open(sealed);
  if (!isJsonObject(value) || value.sessionId !== id) return undefined;
  return FACTOR_NOTICES.find((notice) => notice === value.factorNotice);
}

function record(
  c: PageContext,
  { requestLog }: FactorsNeeds,
  { id, person: { subject } }: BrowserSession,
  type: 'factor_added' | 'factor_removed' | 'recovery_codes_made',
): void {
  requestLog.pageEvent({ type, page: 'account', requestId: requestIdOf(c), subject, sessionId: id });
}

function refuse(
  c: PageContext,
  { requestLog }: FactorsNeeds,
  { id, person: { subject } }: BrowserSession,
  reason: PageReason,
): void {
  const event = { type: 'refused', page: 'account', requestId: requestIdOf(c), reason } as const;
  requestLog.pageEvent({ ...event, subject, sessionId: id });
}

async function renderTotp(
  c: PageContext,
  needs: FactorsNeeds,
  session: BrowserSession,
  offer: TotpOffer,
  problem?: TotpRefusal,
): Promise<Response> {
  const view = {
    ...(await accountView(c, needs, session, 'security')),
    formToken: await needs.formTokens.make(c, 'account', session.id),
    action: urlOf(needs, '/account/factors', pendingOf(c)),
    offer,
    isWrong: problem !== undefined,
  };
  return renderPage(c, {
    ...totpPage(view, needs.drawing.setting(c)),
    status: problem === undefined ? 200 : 400,
  });
}

async function renderCodes(
  c: PageContext,
  needs: FactorsNeeds,
  session: BrowserSession,
  codes: readonly string[],
): Promise<Response> {
  const view = {
    ...(await accountView(c, needs, session, 'security')),
    action: urlOf(needs, '/account/factors', pendingOf(c)),
    codes,
  };
  return renderPage(c, recoveryCodesPage(view, needs.drawing.setting(c)));
}
