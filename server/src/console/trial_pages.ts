// The pages of a sign-in with an application from the console: what it gets, why it gets nothing, and what is left of
// revoked tokens. The sign-in is in try_here.ts.
import { html } from 'hono/html';
import type { ClientView as Client } from '../admin/client_documents.ts';
import type { ScopeConcern } from '../admin/client_rules.ts';
import type { SignInExplanation } from '../admin/sign_in_explanation.ts';
import { named } from '../pages/drawing/application_shown.ts';
import type { Page, PageSetting } from '../pages/drawing/layout.ts';
import type { Html } from '../texts/formats/html.ts';
import { reasonIn, type Texts, textsIn } from '../texts/texts.ts';
import { type ConsoleView, consoleFrame, hiddenFields, section, termList, urlOf } from './frame.ts';
import { thingLinks } from './lists.ts';
import { called } from './names.ts';
import { policiesShown } from './support.ts';
import { codes, copied, fullMoment, reasonLine } from './values.ts';

/** @param more further buttons and links */
export function trialForm(
  view: ConsoleView,
  fields: Readonly<Record<string, string>>,
  [button, text]: readonly [id: string, text: string],
  more: Html,
): Html {
  return html`<form method="post" action="${view.base}/try">
${hiddenFields(view, fields)}<div class="actions">
<button id="${button}" type="submit" class="primary" name="do" value="begin">${text}</button>
${more}</div>
</form>\n`;
}

export type Claims = Readonly<Record<string, unknown>>;

export interface Result {
  readonly scopes: readonly string[];
  /** Requested, but not granted. */
  readonly missing: readonly string[];
  readonly concerns: readonly ScopeConcern[];
  /** APIs of the client of whose scopes it has none. */
  readonly unusedApis: readonly { readonly resource: string; readonly scopes: readonly string[] }[];
  readonly idToken: Claims | 'encrypted' | undefined;
  readonly userInfo: Claims | Failure;
  readonly introspection: Claims;
  readonly hasRefreshToken: boolean;
  readonly sealed: string;
}

/** Why the application gets nothing. */
export interface Failure {
  /** As the application gets it (RFC 6749 §4.1.2.1, §5.2). */
  readonly code: string;
  /** In English. */
  readonly description: string;
  /** A reason code, which the help explains. */
  readonly reason?: string | undefined;
  /** The rules for a sign-in of the administrator with the application. */
  readonly rules?: SignInExplanation;
}

function trailTo(client: Client, { base }: ConsoleView) {
  const { client_id: id, client_name: name } = client;
  return [[called(id, name), urlOf(base, 'clients', { id })]] as const;
}

/** In every language. */
const USERINFO = 'UserInfo';

interface ResultView extends ConsoleView {
  readonly client: Client;
  readonly result: Result;
}

/** What the application gets: buttons `revoke-trial` and `try-again`. */
export function resultPage({ client, result, ...view }: ResultView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { trial: words } = texts.console;
  const { client_id: id } = client;
  const { idToken, userInfo, introspection, sealed } = result;
  const scopes = scopesShown(result, texts);
  const user = section('userinfo', USERINFO, userInfoShown(userInfo, view, texts));
  const isWhole = result.missing.length === 0 && result.unusedApis.length === 0;
  const ofUser = isWhole ? [user, scopes] : [scopes, user];
  const tokens = [
    section('id-token', words.idToken, idTokenShown(idToken, view, texts)),
    section(
      'access-token',
      words.accessToken,
      html`${claimList(introspection, view, texts)}<p class="note">${words.accessTokenText}</p>`,
    ),
  ];
  return consoleFrame(view, setting, {
    title: words.title,
    trail: trailTo(client, view),
    primary: trialForm(
      view,
      { id, sealed },
      ['try-again', words.again],
      html`<button id="revoke-trial" type="submit" class="ending" name="do" value="revoke">${words.revoke}</button>\n`,
    ),
    body: html`<div class="columns">${(isFailure(userInfo) ? [tokens, ofUser] : [ofUser, tokens]).map((column) => html`<div>${column}</div>\n`)}</div>`,
  });
}

/** What was granted, and why the rest was not. */
function scopesShown({ scopes, missing, concerns, unusedApis, hasRefreshToken }: Result, texts: Texts): Html {
  const { trial: words } = texts.console;
  return section(
    'granted',
    words.scopes,
    html`${termList([
      [words.granted, codes(scopes.filter((scope) => scope !== ''))],
      ...missing.map((scope) => [html`<code>${scope}</code>`, missingText(scope, concerns, texts)] as const),
      ...unusedApis.map(
        (api) => [html`<code>${api.resource}</code>`, words.unusedApi(codes(api.scopes) ?? html``)] as const,
      ),
    ])}<p class="note">${hasRefreshToken ? words.refreshable : words.notRefreshable}</p>`,
  );
}

function idTokenShown(idToken: Result['idToken'], view: ConsoleView, texts: Texts): Html {
  const { trial: words } = texts.console;
  if (idToken === undefined) return html`<p class="note">${words.noIdToken}</p>`;
  if (idToken === 'encrypted') return html`<p class="note">${words.encrypted}</p>`;
  return html`${claimList(idToken, view, texts)}<p class="note">${words.idTokenText}</p>`;
}

function missingText(scope: string, concerns: readonly ScopeConcern[], { console: { trial } }: Texts): Html {
  const { owners = [] } = concerns.find((concern) => concern.scope === scope) ?? {};
  return owners.length > 0 ? trial.ofOtherApi(codes(owners) ?? html``) : html`${trial.leftOut}`;
}

function userInfoShown(userInfo: Claims | Failure, view: ConsoleView, texts: Texts): Html {
  const { trial: words } = texts.console;
  return isFailure(userInfo)
    ? failureShown(userInfo, view, texts)
    : html`${claimList(userInfo, view, texts)}<p class="note">${words.userInfoText}</p>`;
}

function isFailure(value: Claims | Failure): value is Failure {
  return typeof value.code === 'string' && typeof value.description === 'string' && !('sub' in value);
}

/** Claims that are times, in seconds. */
const TIMES: readonly string[] = ['exp', 'iat', 'nbf', 'auth_time', 'updated_at'];

/** Claims by their names, as the application reads them. */
function claimList(claims: Claims, { nowMs }: ConsoleView, texts: Texts): Html {
  return termList(
    Object.entries(claims).map(([name, value]) => [
      html`<code>${name}</code>`,
      TIMES.includes(name) && typeof value === 'number'
        ? html`${fullMoment(value * 1000, nowMs, texts)} <code>${value}</code>`
        : typeof value === 'string'
          ? copied(value, texts, html`<bdi>${value}</bdi>`)
          : html`<code>${JSON.stringify(value)}</code>`,
    ]),
  );
}

function failureShown({ code, description, reason }: Failure, { base }: ConsoleView, texts: Texts): Html {
  const { trial: words } = texts.console;
  const known: Readonly<Record<string, string>> = words.errors;
  const help =
    reason !== undefined && reasonIn(texts, reason) !== undefined
      ? html`${reasonLine(reason, texts)}<p><a id="explain-failure" href="${urlOf(base, 'help', { about: reason })}">${words.explain}</a></p>\n`
      : '';
  return html`<p>${known[code] ?? words.refused}</p>
${help}${termList([
  [html`<code>error</code>`, html`<code>${code}</code>`],
  [
    html`<code>error_description</code>`,
    description === '' ? undefined : html`<span lang="en"><bdi>${description}</bdi></span>`,
  ],
])}`;
}

/** Errors that the settings of the application itself cause. */
const OF_CLIENT: readonly string[] = ['invalid_scope', 'invalid_target', 'unauthorized_client'];

/** Which groups or policies refuse, with links to where they can be changed: `change-client`, and the groups. */
function refusingRules({ code, rules }: Failure, client: Client, { base }: ConsoleView, texts: Texts): Html {
  const { labels, console: words } = texts;
  const { obstacles, advice, policy } = words.support;
  const isOfGroups = rules?.client?.may_use === false;
  const policies = code === 'unmet_authentication_requirements' ? (rules?.policies ?? []) : [];
  if (!isOfGroups && policies.length === 0 && !OF_CLIENT.includes(code)) return html``;
  const groups = isOfGroups ? thingLinks(base, 'groups', rules.client?.allowed_groups ?? []) : undefined;
  return html`${isOfGroups ? html`<p>${obstacles.not_in_groups} ${advice.not_in_groups}</p>\n` : ''}${termList(
    [
      [labels.allowed_groups, groups],
      [policy, policies.length === 0 ? undefined : policiesShown(policies, base, texts)],
    ],
  )}
<p class="actions"><a id="change-client" class="button" href="${urlOf(base, 'clients', { id: client.client_id, ask: 'edit' })}">${words.acts.clients.edit.yes}</a></p>\n`;
}

/** The application gets nothing: button `try-again`, and links to what explains it. */
export function failedPage(
  { client, failure, ...view }: ConsoleView & { readonly client: Client; readonly failure: Failure },
  setting: PageSetting,
): Page {
  const texts = textsIn(setting.language);
  const { trial: words, overview } = texts.console;
  const { client_id: id, client_name: name = id } = client;
  return consoleFrame(view, setting, {
    ...{ title: words.failed, isProblem: true, trail: trailTo(client, view) },
    primary: trialForm(view, { id }, ['try-again', words.again], clientLink(view, id, texts)),
    body: html`<p>${words.failedText(name)}</p>
${failureShown(failure, view, texts)}
${refusingRules(failure, client, view, texts)}<p class="note"><a id="to-refusals" href="${urlOf(view.base, 'clients', { id })}#refusals">${overview.refusalsOfClient}</a></p>`,
  });
}

export interface Ended extends Pick<Result, 'introspection' | 'userInfo'> {
  readonly reason: string | undefined;
  readonly refresh?: Claims;
}

/** What is left of revoked tokens. */
export function endedPage(
  { client, ended, ...view }: ConsoleView & { readonly client: Client; readonly ended: Ended },
  setting: PageSetting,
): Page {
  const texts = textsIn(setting.language);
  const { trial: words } = texts.console;
  const { client_id: id } = client;
  const { introspection, userInfo, refresh, reason } = ended;
  const answer = (claims: Claims) => html`<code>${JSON.stringify(claims)}</code>`;
  return consoleFrame(view, setting, {
    title: words.ended,
    trail: trailTo(client, view),
    primary: trialForm(view, { id }, ['try-again', words.again], clientLink(view, id, texts)),
    body: html`<p>${words.endedText}</p>
${termList([
  [words.accessToken, answer(introspection)],
  [words.refreshToken, refresh && answer(refresh)],
  [USERINFO, isFailure(userInfo) ? html`<code>${userInfo.code}</code>` : answer(userInfo)],
])}${reason === undefined ? '' : reasonLine(reason, texts)}`,
  });
}

function clientLink({ base }: ConsoleView, id: string, { console: { trial } }: Texts): Html {
  return html`<a id="to-client" class="button" href="${urlOf(base, 'clients', { id })}">${trial.toClient}</a>\n`;
}

/** An answer that this browser has not asked for. */
export function foreignPage(
  { issuer, ...view }: ConsoleView & { readonly issuer: string },
  setting: PageSetting,
): Page {
  const { trial: words } = textsIn(setting.language).console;
  return consoleFrame(view, setting, {
    ...{ title: words.foreign, isProblem: true, status: 400 },
    body: html`<p>${words.foreignText(named(issuer))}</p>`,
  });
}
