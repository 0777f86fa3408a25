import { isJsonObject } from '@grantd/core/options';
import { html, raw } from 'hono/html';
import { encode } from 'uqr';
import { type Hold, MAX_PASSKEYS, type Passkey } from '../data/factors.ts';
import type { Notice } from '../data/mails.ts';
import type { Person } from '../data/people.ts';
import type { PageReason } from '../log/log.ts';
import { afterStep, byRecovery, levelOf, METHODS, restsOnRecovery } from '../people/acr.ts';
import type { MailParameters } from '../people/mailing.ts';
import { type Challenge, nameOfPasskey, type PasskeyRefusal } from '../people/passkeys.ts';
import type { TotpOffer, TotpRefusal } from '../people/second_factors.ts';
import type { Texts } from '../texts/en.ts';
import { type Html, icon } from '../texts/html.ts';
import { textsIn } from '../texts/texts.ts';
import { accountForm, confirmForm } from './account_form.ts';
import { type AccountView, accountFrame, accountView, buttonValue, openAccount } from './account_frame.ts';
import { browserText, endOtherSessions } from './account_sessions.ts';
import { idOf } from './application_shown.ts';
import type { BrowserSession } from './browser_sessions.ts';
import { type Page, type PageSetting, pageSetting, renderPage } from './layout.ts';
import { missingOfChange } from './missing_step.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import { PASSKEY_SCRIPT, passkeyAnswer, passkeyForm, passkeyScript } from './passkey_form.ts';

/** The scripts of a page that contains the sections. */
export const FACTORS_SCRIPTS: readonly string[] = [PASSKEY_SCRIPT];

/** What the sections for passkeys, the authenticator app and recovery codes show. */
export interface FactorsView {
  /** URL that receives every form. */
  readonly action: string;
  readonly formToken: string;
  /** Absent if the server has no passkeys. */
  readonly passkeys?: {
    readonly list: readonly Passkey[];
    /** Absent if the user may not add one now. */
    readonly challenge?: Challenge;
  };
  readonly totpSinceMs: number | undefined;
  readonly recoveryCodes: number;
  /** When the app begins to count, if the user added it with a recovery code. */
  readonly totpCountsFromMs?: number | undefined;
  /** Whether the user has shown enough, and may change something now. */
  readonly mayChange: boolean;
  /** Whether the user has not yet said that the codes are saved. */
  readonly hasUnsavedCodes: boolean;
  readonly notice?: FactorNotice;
  /** Whether the user comes from an application whose sign-in needs a factor. */
  readonly isNeeded: boolean;
  /** The browser, after which a new passkey is named. */
  readonly userAgent?: string | undefined;
  readonly nowMs: number;
}

export async function factorsView(
  c: PageContext,
  parts: PageParts,
  session: BrowserSession,
): Promise<FactorsView> {
  const { factors, passkeys, formTokens, secondFactors } = parts;
  const { subject } = session.person;
  const [{ recoveryCodes }, unsavedCodes, list, totp, formToken, notice] = await Promise.all([
    factors.of(subject),
    secondFactors.unsavedRecoveryCodes(subject),
    factors.passkeysOf(subject),
    factors.totpOf(subject),
    formTokens.make(c, 'account', session.id),
    noticeIn(c, parts, session),
  ]);
  const mayChange = (await missingOfChange(parts, session, 'factors')) === undefined;
  const challenge =
    mayChange && list.length < MAX_PASSKEYS
      ? await passkeys?.creationChallenge(formToken, session.person)
      : undefined;
  return {
    action: urlOf(parts, '/account/factors', pendingOf(c)),
    formToken,
    ...(passkeys !== undefined && { passkeys: { list, ...(challenge !== undefined && { challenge }) } }),
    totpSinceMs: totp?.createdAtMs,
    totpCountsFromMs: totp?.countsFromMs,
    recoveryCodes,
    mayChange,
    hasUnsavedCodes: unsavedCodes.length > 0,
    isNeeded: pendingOf(c) !== undefined,
    userAgent: c.req.header('user-agent'),
    nowMs: parts.clock(),
    ...(notice !== undefined && { notice }),
  };
}

/** The sealed authorization request that the user interrupted to add a factor. */
function pendingOf(c: PageContext): string | undefined {
  const pending = c.req.query('pending');
  return pending !== undefined && /^[\w-]+$/.test(pending) ? pending : undefined;
}

function urlOf({ basePath }: PageParts, path: string, pending: string | undefined): string {
  return `${basePath}${path}${pending === undefined ? '' : `?pending=${pending}`}`;
}

/**
 * `GET /account/factors`: shows the secret of a new authenticator app until the app is added, and recovery codes until
 * the user has saved them, however often the page is loaded. Otherwise leads to the page with the sections.
 */
export function showFactors(parts: PageParts) {
  return async (c: PageContext): Promise<Response> => {
    const session = await openAccount(c, parts, 'security');
    if (session instanceof Response) return session;
    if ((await missingOfChange(parts, session, 'factors')) !== undefined) return back(c, parts, session);
    const { factors, secondFactors } = parts;
    const { person } = session;
    const sealed = c.req.query('totp_offer');
    if (sealed !== undefined) {
      // Nobody sees the secret of an app that was added.
      if ((await factors.totpOf(person.subject)) !== undefined) return back(c, parts, session, 'totp_exists');
      const offer = await secondFactors.offeredTotp(person, sealed);
      return offer === undefined
        ? back(c, parts, session, 'totp_offer_wrong')
        : renderTotp(c, parts, session, offer);
    }
    const codes = await secondFactors.unsavedRecoveryCodes(person.subject);
    return codes.length === 0 ? back(c, parts, session) : renderCodes(c, parts, session, codes);
  };
}

/** `POST /account/factors`: one change, named by the field `act`; or the answer of a new passkey. */
export function submitFactors(parts: PageParts) {
  const changed = (form: URLSearchParams) =>
    form.get('act') === 'codes_saved' ? undefined : ('factors' as const);
  return accountForm(parts, 'security', changed, async (c, session, form) => {
    if (form.get('act') === 'codes_saved') return codesSaved(c, parts, session);
    if (passkeyAnswer(form) !== undefined) return addPasskey(c, parts, session, form);
    const passkeyId = buttonValue(form, 'remove_passkey');
    if (passkeyId !== null) return removePasskey(c, parts, session, passkeyId);
    const act = ACTS[form.get('act') ?? ''];
    return act === undefined ? back(c, parts, session) : act(c, parts, session, form);
  });
}

/** When a factor begins to count that is added in a session. */
function countsFrom({ recoveryHold, clock }: PageParts, { amr }: BrowserSession): number {
  return restsOnRecovery(amr) ? clock() + recoveryHold * 1000 : 0;
}

/** How a removal in a session holds the level that the factors reach. */
function holdOf(parts: PageParts, session: BrowserSession): Hold | undefined {
  const untilMs = countsFrom(parts, session);
  return untilMs === 0 ? undefined : { nowMs: parts.clock(), untilMs };
}

type ChangeFactors = (
  c: PageContext,
  parts: PageParts,
  session: BrowserSession,
  form: URLSearchParams,
) => Promise<Response>;

const ACTS: Readonly<Record<string, ChangeFactors>> = {
  async offer_totp(c, parts, session) {
    const { sealed } = await parts.secondFactors.offerTotp(session.person);
    const url = urlOf(parts, '/account/factors', pendingOf(c));
    return c.redirect(`${url}${url.includes('?') ? '&' : '?'}totp_offer=${sealed}`, 303);
  },
  async confirm_totp(c, parts, session, form) {
    const { secondFactors } = parts;
    const sealed = form.get('totp_offer') ?? '';
    const code = form.get('code') ?? '';
    const notice = await ownNotice(c, parts, session, { change: 'totp_added' });
    const countsFromMs = countsFrom(parts, session);
    const refusal = await secondFactors.addTotp(session.person, sealed, code, countsFromMs, notice);
    if (refusal !== undefined) {
      refuse(c, parts, session, refusal);
      const offer = await secondFactors.offeredTotp(session.person, sealed);
      return refusal === 'code_wrong' && offer !== undefined
        ? renderTotp(c, parts, session, offer, refusal)
        : back(c, parts, session, refusal === 'code_wrong' ? 'totp_offer_wrong' : refusal);
    }
    return added(c, parts, session, METHODS.code, 'totp_added');
  },
  async remove_totp(c, parts, session) {
    const notice = await ownNotice(c, parts, session, { change: 'totp_removed' });
    const hold = holdOf(parts, session);
    const isRemoved = await parts.factors.removeTotp(session.person.subject, notice, hold);
    return removed(c, parts, session, isRemoved && 'totp_removed');
  },
  async recovery_codes(c, parts, session) {
    const notice = await ownNotice(c, parts, session, { change: 'recovery_codes_made' });
    const isMade = await parts.secondFactors.newRecoveryCodes(session.person.subject, notice);
    if (!isMade) return back(c, parts, session, 'nothing_changed');
    parts.mail?.queue.wake();
    record(c, parts, session, 'recovery_codes_made');
    return toCodes(c, parts);
  },
};

const addPasskey: ChangeFactors = async (c, parts, session, form) => {
  const answer = passkeyAnswer(form);
  const { passkeys } = parts;
  if (answer === undefined || passkeys === undefined) return back(c, parts, session);
  const name = nameOfPasskey(form.get('passkey_name') ?? '') || defaultNameIn(c, parts);
  const notice = await ownNotice(c, parts, session, { change: 'passkey_added', name });
  const countsFromMs = countsFrom(parts, session);
  const outcome = await passkeys.create(answer, session.person, name, countsFromMs, notice);
  if ('refused' in outcome) {
    refuse(c, parts, session, outcome.refused);
    return back(c, parts, session, problemOfPasskey(outcome.refused));
  }
  return added(c, parts, session, METHODS.passkey, 'passkey_added');
};

async function removePasskey(
  c: PageContext,
  parts: PageParts,
  session: BrowserSession,
  id: string,
): Promise<Response> {
  const { subject } = session.person;
  const ways = await parts.waysOf(session.person);
  const notice = await removalNotice(c, parts, session, id);
  if (await parts.factors.removePasskey(subject, id, ways, notice, holdOf(parts, session)))
    return removed(c, parts, session, 'passkey_removed');
  const isThere = (await parts.factors.passkeysOf(subject)).some((one) => one.id === id);
  if (!isThere) return removed(c, parts, session, false);
  refuse(c, parts, session, 'passkey_needed');
  return back(c, parts, session, 'passkey_needed');
}

/** @returns `undefined` if the user has no such passkey, or gets no emails */
async function removalNotice(
  c: PageContext,
  parts: PageParts,
  session: BrowserSession,
  passkeyId: string,
): Promise<Notice | undefined> {
  const passkeys = await parts.factors.passkeysOf(session.person.subject);
  const passkey = passkeys.find(({ id }) => id === passkeyId);
  return passkey && ownNotice(c, parts, session, { change: 'passkey_removed', name: passkey.name });
}

/** The email about a change in a session. It says if the session rests on a recovery code. */
function ownNotice(
  c: PageContext,
  parts: PageParts,
  { person, amr }: BrowserSession,
  parameters: MailParameters['factor_changed'],
): Promise<Notice | undefined> {
  const said = { ...parameters, ...(restsOnRecovery(amr) && { byRecovery: true as const }) };
  return factorNotice(c, parts, person, said);
}

/** The email about a change of factors. @returns `undefined` if the user gets no emails */
export async function factorNotice(
  c: PageContext,
  parts: PageParts,
  person: Person,
  parameters: MailParameters['factor_changed'],
): Promise<Notice | undefined> {
  const { language } = pageSetting(c, parts);
  return parts.mail?.queue.notice(person, { template: 'factor_changed', language, parameters });
}

function defaultNameIn(c: PageContext, parts: PageParts): string {
  return newPasskeyName(c.req.header('user-agent'), textsIn(pageSetting(c, parts).language));
}

function newPasskeyName(userAgent: string | undefined, texts: Texts): string {
  return userAgent === undefined ? texts.passkeys.defaultName : browserText(userAgent, texts);
}

function problemOfPasskey(refused: PasskeyRefusal): FactorNotice {
  if (refused === 'passkeys_too_many') return 'passkeys_too_many';
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
  parts: PageParts,
  session: BrowserSession,
  methods: readonly string[],
  notice: FactorNotice,
): Promise<Response> {
  record(c, parts, session, 'factor_added');
  parts.mail?.queue.wake();
  const { person, signedInAtMs } = session;
  const amr = afterStep(session.amr, restsOnRecovery(session.amr) ? byRecovery(methods) : methods);
  if (levelOf(amr) > levelOf(session.amr))
    await parts.browserSessions.begin(c, person, { amr, signedInAtMs });
  const { subject } = person;
  const has = await parts.factors.of(subject);
  const isMade = has.recoveryCodes === 0 && (await parts.secondFactors.newRecoveryCodes(subject));
  if (!isMade) return back(c, parts, session, notice);
  record(c, parts, session, 'recovery_codes_made');
  return toCodes(c, parts);
}

function toCodes(c: PageContext, parts: PageParts): Response {
  return c.redirect(urlOf(parts, '/account/factors', pendingOf(c)), 303);
}

/** Continues after the recovery codes. Nobody sees them again. */
async function codesSaved(c: PageContext, parts: PageParts, { person }: BrowserSession): Promise<Response> {
  await parts.factors.codesSaved(person.subject);
  const pending = pendingOf(c);
  const path = pending === undefined ? '/account/security' : '/authorize';
  return c.redirect(urlOf(parts, path, pending), 303);
}

/** Signs out all other browsers, because the factor may be in the hands of a thief who has signed in with it. */
async function removed(
  c: PageContext,
  parts: PageParts,
  session: BrowserSession,
  done: FactorNotice | false,
): Promise<Response> {
  if (done !== false) {
    record(c, parts, session, 'factor_removed');
    parts.mail?.queue.wake();
    await endOtherSessions(c, parts, session);
  }
  return back(c, parts, session, done === false ? 'nothing_changed' : done);
}

/** Continues: with the interrupted request after an addition, else with the sections. */
async function back(
  c: PageContext,
  parts: PageParts,
  session: BrowserSession,
  notice?: FactorNotice,
): Promise<Response> {
  const pending = pendingOf(c);
  if (pending !== undefined && (notice === 'passkey_added' || notice === 'totp_added'))
    return c.redirect(urlOf(parts, '/authorize', pending), 303);
  const url = urlOf(parts, '/account/security', pending);
  if (notice === undefined) return c.redirect(url, 303);
  const sealed = await parts.notices.seal({ factorNotice: notice, sessionId: session.id });
  return c.redirect(`${url}${pending === undefined ? '?' : '&'}factor=${sealed}`, 303);
}

async function noticeIn(
  c: PageContext,
  { notices }: PageParts,
  { id }: BrowserSession,
): Promise<FactorNotice | undefined> {
  const sealed = c.req.query('factor');
  const value = sealed === undefined ? undefined : await notices.open(sealed);
  if (!isJsonObject(value) || value.sessionId !== id) return undefined;
  return FACTOR_NOTICES.find((one) => one === value.factorNotice);
}

function record(
  c: PageContext,
  { requestLog }: PageParts,
  { id, person: { subject } }: BrowserSession,
  type: 'factor_added' | 'factor_removed' | 'recovery_codes_made',
): void {
  requestLog.pageEvent({ type, page: 'account', requestId: requestIdOf(c), subject, sessionId: id });
}

function refuse(
  c: PageContext,
  { requestLog }: PageParts,
  { id, person: { subject } }: BrowserSession,
  reason: PageReason,
): void {
  const event = { type: 'refused', page: 'account', requestId: requestIdOf(c), reason } as const;
  requestLog.pageEvent({ ...event, subject, sessionId: id });
}

async function renderTotp(
  c: PageContext,
  parts: PageParts,
  session: BrowserSession,
  offer: TotpOffer,
  problem?: TotpRefusal,
): Promise<Response> {
  const view = {
    ...(await accountView(c, parts, session, 'security')),
    formToken: await parts.formTokens.make(c, 'account', session.id),
    action: urlOf(parts, '/account/factors', pendingOf(c)),
    offer,
    isWrong: problem !== undefined,
  };
  return renderPage(c, {
    ...totpPage(view, pageSetting(c, parts)),
    status: problem === undefined ? 200 : 400,
  });
}

async function renderCodes(
  c: PageContext,
  parts: PageParts,
  session: BrowserSession,
  codes: readonly string[],
): Promise<Response> {
  const view = {
    ...(await accountView(c, parts, session, 'security')),
    action: urlOf(parts, '/account/factors', pendingOf(c)),
    codes,
  };
  return renderPage(c, recoveryCodesPage(view, pageSetting(c, parts)));
}

const DONE = ['passkey_added', 'passkey_removed', 'totp_added', 'totp_removed', 'nothing_changed'] as const;

const FACTOR_NOTICES = [
  ...DONE,
  'passkey_refused',
  'passkey_too_late',
  'passkeys_too_many',
  'passkey_needed',
  'totp_exists',
  'totp_offer_wrong',
] as const;

/** The result of the last change. */
type FactorNotice = (typeof FACTOR_NOTICES)[number];

/** The result of the last change, and why an application has sent the user here. */
export function factorsHead({ notice, isNeeded }: FactorsView, texts: Texts): Html {
  return html`${notice === undefined ? '' : noticeBox(notice, texts)}
${isNeeded ? html`<p id="factor-needed" class="caution">${icon('alert')}<span>${texts.factors.needed}</span></p>` : ''}`;
}

/**
 * Buttons `add-passkey` (field `passkey_name`), `remove-passkey-ID`, `add-totp`, `remove-totp`, `new-recovery-codes`,
 * `confirm-identity`; link `show-recovery-codes`.
 */
export function factorsSections(view: FactorsView, texts: Texts): Html {
  const { factors: words } = texts;
  const { passkeys, recoveryCodes, totpSinceMs } = view;
  const hasFactor = totpSinceMs !== undefined || (passkeys?.list.length ?? 0) > 0;
  return html`${view.mayChange ? '' : confirmForm(view, 'confirm-identity', texts)}
${passkeys === undefined ? '' : passkeySection(view, passkeys, texts)}
<section aria-labelledby="totp">
<h2 id="totp">${words.totp}</h2>
<p class="note">${totpSinceMs === undefined ? words.totpText : texts.account.since(html`${texts.formats.date(totpSinceMs)}`)}</p>
${countsNote(view.totpCountsFromMs, view, texts)}
${totpSinceMs === undefined ? act(view, 'add-totp', 'offer_totp', words.addTotp) : removal(view, 'remove-totp', html`name="act" value="remove_totp"`, words.removeTotp, words)}
</section>
${
  hasFactor
    ? html`<section aria-labelledby="recovery-codes">
<h2 id="recovery-codes">${words.recoveryCodes}</h2>
<p class="note">${words.recoveryText(recoveryCodes)}</p>
${view.hasUnsavedCodes && view.mayChange ? html`<p class="caution">${icon('alert')}<span>${words.unsavedCodes}</span></p>\n<a id="show-recovery-codes" class="button" href="${view.action}">${words.showCodes}</a>` : ''}
${act(view, 'new-recovery-codes', 'recovery_codes', words.newCodes)}
</section>`
    : ''
}
${passkeyScript()}`;
}

function passkeySection(
  view: FactorsView,
  { list, challenge }: NonNullable<FactorsView['passkeys']>,
  texts: Texts,
): Html {
  const { passkeys: words, factors } = texts;
  const name = html`<label for="passkey-name">${words.name}</label>
<input id="passkey-name" name="passkey_name" maxlength="64" autocomplete="off" value="${newPasskeyName(view.userAgent, texts)}">`;
  return html`<section aria-labelledby="passkeys">
<h2 id="passkeys">${words.title}</h2>
<p class="note">${words.text}</p>
${
  list.length === 0
    ? ''
    : html`<ul class="entries" role="list">
${list.map(
  (one) => html`<li><span class="mark device">${icon('key')}</span>
<div class="entry"><h3><bdi>${one.name}</bdi></h3>
<p class="detail">${texts.account.since(html`${texts.formats.date(one.createdAtMs)}`)} · ${one.lastUsedAtMs === undefined ? words.neverUsed : words.lastUsed(texts.formats.past(one.lastUsedAtMs, view.nowMs))}</p>
<p class="detail">${one.isBackedUp ? words.backedUp : words.notBackedUp}</p>
${countsNote(one.countsFromMs, view, texts)}
${removal(view, idOf('remove-passkey', one.id), html`name="remove_passkey" value="${one.id}"`, words.remove(html`<bdi>${one.name}</bdi>`), factors)}</div></li>\n`,
)}</ul>`
}
${
  challenge === undefined
    ? ''
    : html`<div class="fields">${passkeyForm({ ...view, challenge, button: { id: 'add-passkey', text: words.add, isPrimary: view.isNeeded }, fields: name, problem: words.notAdded }, texts)}</div>
<noscript><p class="note">${words.needsScripts}</p></noscript>`
}
</section>`;
}

/** That a factor does not count yet. */
function countsNote(countsFromMs = 0, { nowMs }: FactorsView, { factors, formats }: Texts): Html | '' {
  if (countsFromMs <= nowMs) return '';
  return html`<p class="detail">${factors.countsIn(formats.duration(Math.ceil((countsFromMs - nowMs) / 1000)))}</p>`;
}

/** A removal that asks again. */
function removal(
  view: FactorsView,
  id: string,
  field: Html,
  text: Html | string,
  words: Texts['factors'],
): Html {
  if (!view.mayChange) return html``;
  return html`<details>
<summary>${text}</summary>
${form(view, html`<p class="note">${words.removeText}</p>\n<button id="${id}" type="submit" ${field}>${words.removeYes}</button>`)}
</details>`;
}

function act(view: FactorsView, id: string, name: string, text: string): Html {
  if (!view.mayChange) return html``;
  return form(view, html`<button id="${id}" type="submit" name="act" value="${name}">${text}</button>`);
}

function form({ action, formToken }: Pick<FactorsView, 'action' | 'formToken'>, content: Html): Html {
  return html`<form method="post" action="${action}">
<input type="hidden" name="form_token" value="${formToken}">
${content}
</form>`;
}

function noticeBox(notice: FactorNotice, { factors }: Texts): Html {
  const isDone = DONE.some((one) => one === notice);
  return isDone
    ? html`<p role="status" id="factor-notice" class="notice">${icon('done')}<span>${factors.notices[notice]}</span></p>`
    : html`<p role="alert" id="factor-notice" class="problem">${icon('alert')}<span>${factors.notices[notice]}</span></p>`;
}

export interface TotpView extends AccountView {
  readonly action: string;
  readonly offer: TotpOffer;
  readonly isWrong: boolean;
}

/** The secret of an authenticator app, as QR code and text: field `code`, button `confirm-totp`. */
export function totpPage(view: TotpView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { factors: words } = texts;
  const { offer, isWrong } = view;
  return accountFrame(view, setting, {
    title: isWrong ? texts.problemTitle(words.addTotp) : words.addTotp,
    heading: html`${words.addTotp}`,
    lead: words.scan,
    body: html`${isWrong ? html`<p role="alert" id="problem" class="problem">${icon('alert')}<span>${texts.second.problems.code_wrong}</span></p>` : ''}
<div class="totp">
${qrCode(offer.uri, words.qrCode)}
<p class="note">${words.typeSecret}</p>
<p><code id="totp-secret">${offer.secret.replaceAll(/(.{4})(?=.)/g, '$1 ')}</code></p>
</div>
<div class="fields">
${form(
  view,
  html`<input type="hidden" name="totp_offer" value="${offer.sealed}">
<label for="code">${words.firstCode}</label>
<input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="10" required${isWrong ? html` aria-describedby="problem" aria-invalid="true" autofocus` : ''}>
<button id="confirm-totp" type="submit" name="act" value="confirm_totp" class="primary">${words.confirmTotp}</button>`,
)}
</div>`,
  });
}

/** Black on white in both colour schemes, because some scanners read nothing else. */
function qrCode(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: 'M', border: 4 });
  const cells = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  return html`<svg id="qr-code" class="qr" role="img" aria-label="${label}" viewBox="0 0 ${size} ${size}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path fill="#000" d="${raw(cells.join(''))}"/></svg>`;
}

export interface RecoveryCodesView extends AccountView {
  readonly action: string;
  readonly codes: readonly string[];
}

/** The recovery codes, until they are saved: list `recovery-code-list`, button `codes-saved`. */
export function recoveryCodesPage(view: RecoveryCodesView, setting: PageSetting): Page {
  const { factors: words } = textsIn(setting.language);
  return accountFrame(view, setting, {
    title: words.recoveryCodes,
    lead: words.saveCodes,
    body: html`<ol id="recovery-code-list" class="recovery-codes" role="list">
${view.codes.map((code) => html`<li><code>${code}</code></li>\n`)}</ol>
${form(view, html`<button id="codes-saved" type="submit" name="act" value="codes_saved" class="primary">${words.codesSaved}</button>`)}`,
  });
}
