// What the pages of factors show: passkeys, the authenticator app, recovery codes.
import { html, raw } from 'hono/html';
import { encode } from 'uqr';
import type { Passkey } from '../../data/factors.ts';
import type { Challenge } from '../../people/passkeys.ts';
import type { TotpOffer } from '../../people/second_factors.ts';
import { type Html, icon } from '../../texts/formats/html.ts';
import { type Texts, textsIn } from '../../texts/texts.ts';
import { idOf } from '../drawing/application_shown.ts';
import { browserText } from '../drawing/browser_names.ts';
import { COPY_SCRIPT, copyButton, copyScript } from '../drawing/copying.ts';
import type { Page, PageSetting } from '../drawing/layout.ts';
import { PASSKEY_SCRIPT, passkeyForm, passkeyScript } from '../drawing/passkey_form.ts';
import { type AccountView, accountFrame, confirmForm } from './frame.ts';

/** The scripts of a page that contains the sections. */
export const FACTORS_SCRIPTS: readonly string[] = [PASSKEY_SCRIPT];

/** What the sections for passkeys, the authenticator app and recovery codes show. */
export interface FactorsView {
  /** URL that receives every form. */
  readonly action: string;
  readonly formToken: string;
  /** Absent if the server has no passkeys. */
  readonly passkeys?: PasskeysShown;
  readonly securityKeys?: PasskeysShown;
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

interface PasskeysShown {
  readonly list: readonly Passkey[];
  /** Absent if the user may not add one now. */
  readonly challenge?: Challenge;
}

const DONE = [
  'passkey_added',
  'passkey_removed',
  'security_key_added',
  'security_key_removed',
  'totp_added',
  'totp_removed',
  'nothing_changed',
] as const;

export const FACTOR_NOTICES = [
  ...DONE,
  'passkey_refused',
  'passkey_unverified',
  'passkey_too_late',
  'passkeys_too_many',
  'passkey_needed',
  'totp_exists',
  'totp_offer_wrong',
] as const;

/** The result of the last change. */
export type FactorNotice = (typeof FACTOR_NOTICES)[number];

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
  const { passkeys, securityKeys, recoveryCodes, totpSinceMs } = view;
  const keys = (passkeys?.list.length ?? 0) + (securityKeys?.list.length ?? 0);
  const hasFactor = totpSinceMs !== undefined || keys > 0;
  return html`${view.mayChange ? '' : confirmForm(view, 'confirm-identity', texts)}
${passkeys === undefined ? '' : passkeySection(view, passkeys, texts)}
${securityKeys === undefined ? '' : securityKeySection(view, securityKeys, texts)}
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
${showsUnsavedCodes(view) ? html`<p class="caution">${icon('alert')}<span>${words.unsavedCodes}</span></p>\n<a id="show-recovery-codes" class="button primary" href="${view.action}">${words.showCodes}</a>` : ''}
${act(view, 'new-recovery-codes', 'recovery_codes', words.newCodes)}
</section>`
    : ''
}
${passkeyScript()}`;
}

/** Whether the page leads to codes that the user has not saved, which is then its main act. */
export function showsUnsavedCodes({ hasUnsavedCodes, mayChange, isNeeded }: FactorsView): boolean {
  return hasUnsavedCodes && mayChange && !isNeeded;
}

function passkeySection(view: FactorsView, { list, challenge }: PasskeysShown, texts: Texts): Html {
  const { passkeys: words } = texts;
  const name = html`<label for="passkey-name">${words.name}</label>
<input id="passkey-name" name="passkey_name" maxlength="64" autocomplete="off" value="${newPasskeyName(view.userAgent, texts)}">`;
  return html`<section aria-labelledby="passkeys">
<h2 id="passkeys">${words.title}</h2>
<p class="note">${words.text}</p>
${keyList(view, list, texts)}
${
  challenge === undefined
    ? ''
    : html`<div class="fields">${passkeyForm({ ...view, challenge, button: { id: 'add-passkey', text: words.add, isPrimary: view.isNeeded }, fields: name, problem: html`${words.notAdded} <a href="#security-keys">${words.asSecurityKey}</a>` }, texts)}</div>
<noscript><p class="note">${words.needsScripts}</p></noscript>`
}
</section>`;
}

/** Keys that the browser asks for after the password, and that need not verify their user: button `add-security-key`. */
function securityKeySection(view: FactorsView, { list, challenge }: PasskeysShown, texts: Texts): Html {
  const { securityKeys: words } = texts;
  const name = html`<label for="security-key-name">${words.name}</label>
<input id="security-key-name" name="passkey_name" maxlength="64" autocomplete="off" value="${words.defaultName}">`;
  return html`<section aria-labelledby="security-keys">
<h2 id="security-keys">${words.title}</h2>
<p class="note">${words.text}</p>
${keyList(view, list, texts)}
${challenge === undefined ? '' : html`<div class="fields">${passkeyForm({ ...view, challenge, button: { id: 'add-security-key', text: words.add }, fields: name, problem: words.notAdded }, texts)}</div>`}
</section>`;
}

function keyList(view: FactorsView, list: readonly Passkey[], texts: Texts): Html | '' {
  if (list.length === 0) return '';
  const { passkeys: words, factors } = texts;
  return html`<ul class="entries" role="list">
${list.map(
  (item) => html`<li><span class="mark device">${icon('key')}</span>
<div class="entry"><h3><bdi>${item.name}</bdi></h3>
<p class="detail">${texts.account.since(html`${texts.formats.date(item.createdAtMs)}`)} · ${item.lastUsedAtMs === undefined ? words.neverUsed : words.lastUsed(texts.formats.past(item.lastUsedAtMs, view.nowMs))}</p>
<p class="detail">${item.isSecurityKey ? texts.securityKeys.onlyOne : item.isBackedUp ? words.backedUp : words.notBackedUp}</p>
${countsNote(item.countsFromMs, view, texts)}
${removal(view, idOf('remove-passkey', item.id), html`name="remove_passkey" value="${item.id}"`, words.remove(html`<bdi>${item.name}</bdi>`), factors)}</div></li>\n`,
)}</ul>`;
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
  const isDone = DONE.some((item) => item === notice);
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

/**
 * The recovery codes, until they are saved: list `recovery-code-list`, buttons `copy-codes`, `download-codes`,
 * `print-codes` and `codes-saved` (ADR 121).
 */
export function recoveryCodesPage(view: RecoveryCodesView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { factors: words } = texts;
  return {
    ...accountFrame(view, setting, {
      title: words.recoveryCodes,
      lead: words.saveCodes,
      body: html`<h2 class="printed">${words.codesFor(setting.operator.name)}</h2>
<ol id="recovery-code-list" class="recovery-codes" role="list">
${view.codes.map((code) => html`<li><code>${code}</code></li>\n`)}</ol>
<div class="keeping">
${copyButton('copy-codes', '#recovery-code-list code', texts)}
${form(view, html`<button id="download-codes" type="submit" name="act" value="download_codes">${words.downloadCodes}</button>`)}
<button id="print-codes" type="button" hidden>${words.printCodes}</button>
</div>
${form(view, html`<button id="codes-saved" type="submit" name="act" value="codes_saved" class="primary">${words.codesSaved}</button>`)}
${copyScript()}
<script>${raw(PRINT_SCRIPT)}</script>`,
    }),
    scripts: [COPY_SCRIPT, PRINT_SCRIPT],
    style: PRINT_STYLE,
  };
}

/** Its hash is in the policy of the page of recovery codes. */
export const PRINT_SCRIPT = `{
  const button = document.getElementById('print-codes');
  button.hidden = false;
  button.addEventListener('click', () => print());
}`;

/** On paper, only the codes and the server’s name. */
const PRINT_STYLE = `
.printed { display: none; }
@media print {
  main > :not(.printed, .recovery-codes), footer { display: none; }
  main { border: 0; box-shadow: none; }
  .printed { display: block; }
}
`;

/** After the browser, which helps users to tell passkeys apart. */
export function newPasskeyName(userAgent: string | undefined, texts: Texts): string {
  return userAgent === undefined ? texts.passkeys.defaultName : browserText(userAgent, texts);
}
