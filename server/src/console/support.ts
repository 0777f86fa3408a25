// How a user signs in: what the next sign-in would be like, and why the last ones were refused (ADR 190).
import { html } from 'hono/html';
import type { LockView } from '../admin/factors.ts';
import type { AttemptView, SignInExplanation, WayView } from '../admin/sign_in_explanation.ts';
import { named } from '../pages/drawing/application_shown.ts';
import { browserText } from '../pages/drawing/browser_names.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import type { Html } from '../texts/formats/html.ts';
import { type Texts, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { clientNamed } from './audit.ts';
import {
  actionForm,
  type ConsoleView,
  consoleFrame,
  type Row,
  rowsOr,
  section,
  termList,
  urlOf,
} from './frame.ts';
import { thingUrl } from './lists.ts';
import { type Names, namesOf } from './names.ts';
import { waysIn } from './sentences.ts';
import { clientLink, instant, moment, reasonLine } from './values.ts';

/** `GET /console/users?sub=SUBJECT&show=sign_in`. With `client`, as if the user came from this client. */
export async function showSupport(
  visit: Visit,
  sub: string,
  unlock: SupportView['unlock'],
): Promise<Response> {
  const { c, call, setting, view, console: parts, session } = visit;
  const typed = (c.req.query('client') ?? '').trim();
  const client = typed === '' ? {} : { client_id: await clientNamed(visit, typed) };
  const said = await call('explainUser', { sub, ...client });
  const clientIds = [said.client?.client_id, ...said.attempts.map((one) => one.client_id)];
  const names = await namesOf(parts.partsOf(session.person.subject), {
    clientIds: clientIds.filter((id) => id !== undefined),
  });
  const shown = { ...view, said, names, typed, unlock, nowMs: parts.pages.clock() };
  return renderPage(c, supportPage(shown, setting));
}

export interface SupportView extends ConsoleView {
  readonly said: SignInExplanation;
  readonly names: Names;
  /** The client that was asked about. */
  readonly typed: string;
  /** The button that unlocks the user. */
  readonly unlock: (texts: Texts) => Html;
  readonly nowMs: number;
}

/** Field `client`. */
export function supportPage(view: SupportView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { support: words } = texts.console;
  const { base, said, typed } = view;
  const { username, sub, obstacles } = said;
  return consoleFrame(view, setting, {
    title: words.title(username),
    trail: [[username, thingUrl(base, 'users', sub)]],
    lead: words.lead,
    body: html`<form method="get" action="${urlOf(base, 'users')}" class="filters">
<input type="hidden" name="sub" value="${sub}"><input type="hidden" name="show" value="sign_in">
<div><label for="client">${words.forClient}</label>
<input id="client" name="client" value="${typed}" maxlength="300" autocomplete="off" autocapitalize="none" spellcheck="false"></div>
<div class="actions"><button id="show" type="submit">${words.show}</button></div>
</form>
<p class="sentence" id="verdict">${verdictOf(said, texts)}</p>
${said.locks.length === 0 ? '' : actionForm(view, { sub }, [view.unlock(texts)])}
${
  obstacles.length === 0
    ? ''
    : html`<ul class="rows" role="list">
${obstacles.map((one) => html`<li>${words.obstacles[one]} ${words.advice[one]}</li>\n`)}</ul>`
}
${section('how', words.policy, termList(rowsOf(view, texts)))}
${section(
  'ways',
  words.ways,
  html`<ul class="rows" role="list">
${said.ways.map((way) => wayRow(way, said.locks, texts))}</ul>`,
)}
${section(
  'attempts',
  words.attempts,
  html`${rowsOr(
    said.attempts.map((one) => attemptRow(one, view, texts)),
    words.noAttempts,
  )}
${said.attempts.length === 0 ? '' : html`<p class="note">${words.attemptsText}</p>`}`,
)}`,
  });
}

/** Whether the user can sign in. Of a user who is locked somewhere, where and until when. */
function verdictOf({ username, can_sign_in: can, locks }: SignInExplanation, texts: Texts): Html {
  const { support: words } = texts.console;
  if (!can) return html`<span class="badge bad">${words.cannot(named(username))}</span>`;
  if (locks.length === 0) return html`<span class="badge good">${words.can(named(username))}</span>`;
  const most = Math.max(...locks.map(({ places }) => places));
  const [last = ''] = locks
    .map(({ ends_at: end }) => end)
    .toSorted()
    .reverse();
  return html`<span class="badge wait">${words.lockedFrom(placesOf(most, texts), instant(last, texts))}</span>`;
}

function rowsOf(view: SupportView, texts: Texts): readonly Row[] {
  const { support: words } = texts.console;
  const { formats } = texts;
  const { locks, factors, policy, policies, email, email_verified: isVerified } = view.said;
  const {
    passkeys,
    security_keys: keys,
    authenticator_app: hasApp,
    recovery_codes: codes,
    count_from: from,
  } = factors;
  const has = [
    ...(passkeys === 0 ? [] : [words.passkeys(passkeys, formats.number(passkeys))]),
    ...(keys === 0 ? [] : [words.securityKeys(keys, formats.number(keys))]),
    ...(hasApp ? [words.app] : []),
    ...(codes === 0 ? [] : [words.codes(codes, formats.number(codes))]),
  ];
  return [
    [words.locks, locks.length === 0 ? undefined : locksShown(locks, texts)],
    [
      words.policy,
      html`${words.policyNames[policy]} <span class="detail">(${policiesShown(policies, view.base, texts)})</span>`,
    ],
    [
      words.factors,
      html`${has.length === 0 ? words.noFactors : formats.list(has)}${from === undefined ? '' : html` ${words.countFrom(instant(from, texts))}`}`,
    ],
    [
      words.email,
      email === undefined
        ? undefined
        : html`<bdi>${email}</bdi> (${isVerified ? words.verified : words.unverified})`,
    ],
  ];
}

/** What too many wrong attempts have locked: from how many places, and until when. */
export function locksShown(locks: readonly LockView[], texts: Texts): Html {
  const { support: words } = texts.console;
  return html`${locks.map(({ step, places, ends_at: end }) => html`<div>${words.lock(words.lockedSteps[step], placesOf(places, texts), instant(end, texts))}</div>`)}`;
}

function placesOf(places: number, { console: { support }, formats }: Texts): string {
  return support.places(places, formats.number(places));
}

/** What each part demands of a sign-in, with links to the groups and the client. */
export function policiesShown(
  policies: SignInExplanation['policies'],
  base: string,
  { console: { support } }: Texts,
): Html {
  const of = (part: (typeof policies)[number]['of'], name: string) =>
    part === 'server'
      ? support.policyOf.server
      : html`<a href="${thingUrl(base, `${part}s`, name)}">${support.policyOf[part](name)}</a>`;
  return html`${policies.map(({ of: part, name = '', policy }, at) => html`${at === 0 ? '' : ', '}${of(part, name)}: ${support.policyNames[policy]}`)}`;
}

function wayRow(
  { way, name, label, closed_by: closedBy, followed_by: next }: WayView,
  locks: readonly LockView[],
  texts: Texts,
): Html {
  const { support: words } = texts.console;
  const isPassword = way === 'password' || way === 'directory';
  const lock = isPassword ? locks.find(({ step }) => step === 'password') : undefined;
  const which = [name, label].filter((one) => one !== undefined);
  return html`<li>${words.wayNames[way]}${which.map((one) => html` <bdi>${one}</bdi>`)}
<p class="detail">${closedBy === undefined ? words.next[next ?? 'nothing'] : words.closed[closedBy]}</p>${
    lock === undefined
      ? ''
      : html`
<p class="detail">${words.lockedFrom(placesOf(lock.places, texts), instant(lock.ends_at, texts))}</p>`
  }</li>
`;
}

function attemptRow(one: AttemptView, view: SupportView, texts: Texts): Html {
  const { support: words } = texts.console;
  const { at, reason, methods, step, request_id: request, client_id: clientId } = one;
  const ways = waysIn(methods.join(' '), texts);
  const place = one.address ?? one.network;
  const what =
    reason !== undefined
      ? words.refusedAt[step]
      : ways === undefined
        ? words.signedIn
        : words.signedInWith(ways);
  return html`<li>${what}${reason === undefined ? '' : reasonLine(reason, texts)}
<p class="detail">${moment(at, view.nowMs, texts)} <span>${browserText(one.user_agent, texts)}</span>${place === undefined ? '' : html` <bdi>${place}</bdi>`}${
    clientId === undefined ? '' : html` <span>${clientLink(view, clientId)}</span>`
  }${request === undefined ? '' : html` <a href="${urlOf(view.base, 'audit', { request })}">${words.request}</a>`}</p></li>
`;
}
