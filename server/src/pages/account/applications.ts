import type { AdministrableStorage, ClientRecord, GrantRecord, IssuingClientRepository } from '@grantd/core';
import { html } from 'hono/html';
import type { DetailsType } from '../../config/details_types.ts';
import type { ActingUses } from '../../data/acting_uses.ts';
import { type ConsentEntry, type Consents, type ScopeTexts, withEntry } from '../../data/consents.ts';
import { PERSONAL_TOKENS_CLIENT } from '../../instance/personal_tokens_client.ts';
import type { RequestLog } from '../../log/log.ts';
import { actingFor } from '../../people/acting.ts';
import { type ConsentWithdrawal, counts } from '../../people/consents.ts';
import { type Html, icon } from '../../texts/formats/html.ts';
import { type Language, type Texts, textsIn } from '../../texts/texts.ts';
import { type PageContext, requestIdOf } from '../browser/request.ts';
import type { BrowserSession } from '../browser/sessions.ts';
import {
  applicationName,
  codeList,
  describedList,
  hourOfUse,
  idOf,
  named,
  ScopeGlossary,
  scopeList,
  sortScopes,
  uncheckedNote,
} from '../drawing/application_shown.ts';
import { applicationMark } from '../drawing/brand.ts';
import { detailsList, detailsShown } from '../drawing/details_shown.ts';
import {
  type AccessShown,
  type ApplicationShown,
  type Page,
  type PageSetting,
  renderPage,
} from '../drawing/layout.ts';
import type { AccountNotice } from '../steps/account_visits.ts';
import { type AccountView, accountFrame, accountView, buttonValue, type FrameNeeds } from './frame.ts';

export interface ApplicationsNeeds extends FrameNeeds {
  readonly consents: Consents;
  readonly grants: Pick<AdministrableStorage, 'grantsOf' | 'tokens'>;
  readonly actingUses: Pick<ActingUses, 'ofSubject'>;
  readonly clients: Pick<IssuingClientRepository, 'get'>;
  readonly scopeTexts: Pick<ScopeTexts, 'list'>;
  /** Types of authorization details by name. */
  readonly detailsTypes: ReadonlyMap<string, DetailsType>;
  readonly withdrawal: ConsentWithdrawal;
  readonly requestLog: RequestLog;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** `GET /account/applications`. With `end`, asks whether to end the access of that client. */
export function showApplications(needs: ApplicationsNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const session = await needs.visits.open(c, 'applications');
    if (session instanceof Response) return session;
    const setting = needs.drawing.setting(c);
    const frame = await accountView(c, needs, session, 'applications');
    const applications = await applicationsOf(needs, session, setting.language);
    const ending = applications.find(({ clientId }) => clientId === c.req.query('end'));
    return renderPage(
      c,
      ending === undefined
        ? applicationsPage({ ...frame, applications, nowMs: needs.clock() }, setting)
        : endAccessPage({ ...frame, application: ending }, setting),
    );
  };
}

/** `POST /account/applications`: ends the access of the client in `end_access`. */
export function submitApplications(needs: ApplicationsNeeds) {
  return needs.visits.form('applications', undefined, async (c, session, form) => {
    const clientId = buttonValue(form, 'end_access');
    const notice: AccountNotice =
      clientId === null ? { done: 'nothing_to_end' } : await endAccess(c, needs, session, clientId);
    return needs.visits.show(c, session, 'applications', notice);
  });
}

export async function endAccess(
  c: PageContext,
  needs: ApplicationsNeeds,
  { person: { subject } }: BrowserSession,
  clientId: string,
): Promise<AccountNotice> {
  const hadConsent = (await needs.consents.get({ subject, clientId })) !== undefined;
  const hasActed = (await needs.actingUses.ofSubject(subject)).some((use) => use.clientId === clientId);
  const grants = await needs.withdrawal.withdraw({ subject, clientId });
  if (!hadConsent && !hasActed && grants === 0) return { done: 'nothing_to_end' };
  const requestId = requestIdOf(c);
  needs.requestLog.pageEvent({ type: 'consent_withdrawn', page: 'account', requestId, clientId, subject });
  const client = (await needs.clients.get(clientId)) ?? { id: clientId };
  const { language } = needs.drawing.setting(c);
  const { name, isUnchecked } = needs.drawing.application(client, language);
  return { done: 'access_ended', application: name, ...(isUnchecked === true && { isUnchecked }) };
}

/** Applications with consents or active grants, and clients that act. A grant may exist without consent on this server. */
export async function applicationsOf(
  needs: ApplicationsNeeds,
  { person: { subject } }: BrowserSession,
  language: Language,
): Promise<readonly ApplicationWithAccess[]> {
  const { consents, grants, actingUses, clients, drawing, detailsTypes } = needs;
  const [agreed, allGrants, acting] = await Promise.all([
    consents.ofSubject(subject),
    grants.grantsOf(subject),
    actingFor(grants, actingUses, subject),
  ]);
  // Tokens that the user has made have a page of their own.
  const granted = allGrants.filter(
    ({ clientId }) => needs.ownTokens === undefined || clientId !== PERSONAL_TOKENS_CLIENT,
  );
  const ids = new Set([...agreed, ...granted, ...acting].map(({ clientId }) => clientId));
  // A client with a JWT of a trusted issuer is its own application.
  const own = acting.filter(({ clientId, applications }) => applications.includes(clientId));
  const withAccess = new Set(
    [...agreed, ...granted, ...own, ...acting.filter(({ isActive }) => isActive)].map(
      ({ clientId }) => clientId,
    ),
  );
  const all = [...ids, ...acting.flatMap(({ applications }) => applications)];
  const found = new Map(
    await Promise.all([...new Set(all)].map(async (id) => [id, await clients.get(id)] as const)),
  );
  const nameOf = (id: string) => drawing.application(found.get(id) ?? { id }, language);
  const scopes = [...agreed.flatMap(({ entries }) => entries), ...granted, ...acting].flatMap(
    (item) => item.scopes,
  );
  const glossary = await ScopeGlossary.open(
    { ...needs, basePath: drawing.basePath },
    new Set(scopes),
    language,
  );
  const show = (entry: ConsentEntry) => ({
    ...glossary.shown(entry),
    details: detailsShown(entry.details, detailsTypes, language),
  });
  return [...ids]
    .flatMap((id) => {
      const client = found.get(id);
      if (!client) return [];
      const acts = acting.find(({ clientId }) => clientId === id);
      const entries = agreed
        .filter((consent) => consent.clientId === client.id && counts(consent, client))
        .flatMap((consent) => consent.entries);
      const own = granted.filter(({ clientId }) => clientId === client.id).map(asEntry);
      const obtained = acts === undefined ? [] : [asEntry({ ...acts, createdAtMs: acts.sinceMs })];
      const all = [...own.sort((a, b) => a.scopes.length - b.scopes.length), ...entries, ...obtained];
      if (all.length === 0) return [];
      const lasts = own.some(({ scopes }) => scopes.includes('offline_access'));
      const access = own.length > 0 ? (lasts ? 'always' : 'present') : 'remembered';
      const shown = { ...shownOf(client, all, show, nameOf(id)), lasting: access } as const;
      if (acts === undefined) return [shown];
      const hasEnded = !withAccess.has(id) && !acts.applications.some((one) => withAccess.has(one));
      const through = acts.applications.map(nameOf);
      return [{ ...shown, acts: { through, lastUsedMs: acts.lastUsedMs, ...(hasEnded && { hasEnded }) } }];
    })
    .sort((a, b) => b.sinceMs - a.sinceMs);
}

/** Converts a grant, which does not name its API, or what a client has obtained. */
function asEntry({
  scopes,
  resources = [],
  createdAtMs,
}: Pick<GrantRecord, 'scopes' | 'createdAtMs'> & { readonly resources?: readonly string[] }): ConsentEntry {
  return { scopes, resources, claims: [], details: [], givenAtMs: createdAtMs };
}

function shownOf(
  client: ClientRecord,
  entries: readonly ConsentEntry[],
  show: (entry: ConsentEntry) => AccessShown,
  application: ApplicationShown,
): Omit<ApplicationWithAccess, 'lasting'> {
  return {
    clientId: client.id,
    application,
    access: entries.reduce<readonly ConsentEntry[]>((shown, entry) => withEntry(shown, entry), []).map(show),
    sinceMs: Math.min(...entries.map(({ givenAtMs }) => givenAtMs)),
    ...(client.metadata?.kind === 'agent' && { isAgent: true }),
  };
}

/** Maximum visible custom scopes. Further ones are collapsed. */
const MAX_VISIBLE = 6;

export interface ApplicationsView extends AccountView {
  /** Applications with access, newest first. */
  readonly applications: readonly ApplicationWithAccess[];
  readonly nowMs: number;
}

export interface ApplicationWithAccess {
  readonly clientId: string;
  readonly application: ApplicationShown;
  /** One entry per decision. */
  readonly access: readonly AccessShown[];
  readonly sinceMs: number;
  /** When it has access. `remembered`: it has none now, but a consent, with which it gets access without asking. */
  readonly lasting: 'always' | 'present' | 'remembered';
  /** Whether the operator says that it is an agent. */
  readonly isAgent?: true;
  /** Of a service or agent. */
  readonly acts?: {
    /** The applications through which it acts. */
    readonly through: readonly ApplicationShown[];
    /** The hour in which it last acted. */
    readonly lastUsedMs: number;
    /** Whether it has no access any more, because that of these applications has ended. */
    readonly hasEnded?: true;
  };
}

/** `/account/applications`: links `end-access-CLIENTID`. */
export function applicationsPage(view: ApplicationsView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { account } = texts;
  const groups = [
    { id: 'always', heading: account.whileAway },
    { id: 'present', heading: account.whileSignedIn },
    { id: 'acting', heading: account.acting },
    { id: 'remembered', heading: account.remembered },
  ].map((group) => ({
    ...group,
    members: view.applications.filter((application) => groupOf(application) === group.id),
  }));
  return accountFrame(view, setting, {
    title: account.applications,
    lead: account.applicationsText,
    body: html`${view.applications.length === 0 ? html`<p class="empty">${account.noApplications}</p>` : ''}
${groups
  .filter(({ members }) => members.length > 0)
  .map(
    ({ id, heading, members }) => html`<section aria-labelledby="${id}">
<h2 id="${id}">${heading}</h2>
<ul class="entries" role="list">
${members.map((member) => applicationEntry(member, view.nowMs, setting, endLink(member, view, texts)))}</ul>
</section>
`,
  )}`,
  });
}

/** Services and agents are apart from the applications, some of which keep their access while the user is signed out. */
function groupOf({ lasting, acts }: ApplicationWithAccess): ApplicationWithAccess['lasting'] | 'acting' {
  return acts === undefined ? lasting : 'acting';
}

function endLink(member: ApplicationWithAccess, { base }: AccountView, { account }: Texts): Html {
  const { clientId, application } = member;
  const href = `${base}/applications?${new URLSearchParams({ end: clientId })}`;
  const label = groupOf(member) === 'remembered' ? account.withdraw : account.endAccess;
  return html`<a id="${idOf('end-access', clientId)}" class="button" href="${href}">${label(named(application.name))}</a>`;
}

interface EndAccessView extends AccountView {
  readonly application: ApplicationWithAccess;
}

/** The question before the end of an access: button `end-access-yes`, link `end-access-no`. */
export function endAccessPage(view: EndAccessView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { account } = texts;
  const { clientId, application, acts } = view.application;
  const isRemembered = groupOf(view.application) === 'remembered';
  const title = isRemembered ? account.withdrawTitle : account.endAccessTitle;
  const text = isRemembered ? account.withdrawText : account.endAccessText;
  return accountFrame(view, setting, {
    title: title(application.name),
    heading: title(named(application.name)),
    body: html`${uncheckedNote(application, setting, texts)}
<p>${acts === undefined ? text : account.endActingText(namesOf(acts.through, texts))}</p>
<form method="post" action="${view.base}/applications">
<input type="hidden" name="form_token" value="${view.formToken}">
<div class="choices">
<button id="end-access-yes" type="submit" class="primary" name="end_access" value="${clientId}">${isRemembered ? account.withdrawYes : account.endAccessYes}</button>
<a id="end-access-no" class="button" href="${view.base}/applications">${isRemembered ? account.keepConsent : account.keepAccess}</a>
</div>
</form>`,
  });
}

/** @param end the button or link that ends the access, if there still is any */
export function applicationEntry(
  { application, access, sinceMs, acts, isAgent }: ApplicationWithAccess,
  nowMs: number,
  { operator, language }: PageSetting,
  end: Html,
): Html {
  const texts = textsIn(language);
  const { account, formats } = texts;
  const through =
    acts &&
    html`\n<p class="detail">${account.through(namesOf(acts.through, texts))} · ${hourOfUse(acts.lastUsedMs, nowMs, texts)}</p>`;
  const hasEnded = acts?.hasEnded === true;
  const since = html`<time datetime="${new Date(sinceMs).toISOString()}">${formats.date(sinceMs)}</time>`;
  return html`<li>
${application.isUnchecked === true ? html`<span class="mark device">${icon('alert')}</span>` : applicationMark(application, operator)}
<div class="entry">
<h3>${applicationName(application, texts)}${isAgent === true ? html` <span class="badge">${account.agent}</span>` : ''}</h3>
<p class="detail">${account.since(since)}</p>${through ?? ''}
${hasEnded ? html`<p class="detail">${account.noAccess}</p>` : access.map((item) => accessOf(item, texts))}
</div>
${hasEnded ? '' : end}
</li>
`;
}

function accessOf(
  { groups = [], scopes, resources = [], claims = [], details = [] }: AccessShown,
  texts: Texts,
): Html {
  const { known, own } = sortScopes(scopes, texts);
  return html`<div class="agreed">
${detailsList(details, 'brief')}
${groups.map(({ api, scopes: described }) => html`${api === undefined ? '' : html`<p class="detail">${texts.account.at(named(api.name))}</p>`}${describedList(described, 'brief')}`)}
${scopeList(known, 'brief', texts)}
${own.length > MAX_VISIBLE ? html`<details><summary>${texts.account.more(own.length)}</summary>${codeList(own)}</details>` : codeList(own)}
${claims.length === 0 ? '' : html`<p class="detail">${texts.account.claims(codes(claims))}</p>`}
${resources.length === 0 ? '' : html`<p class="detail">${texts.account.usedAt(codes(resources))}</p>`}
</div>
`;
}

function codes(names: readonly string[]): Html {
  return inOneLine(names.map((name) => html`<code>${name}</code>`));
}

function namesOf(applications: readonly ApplicationShown[], texts: Texts): Html {
  return inOneLine(applications.map((application) => applicationName(application, texts)));
}

function inOneLine(items: readonly Html[]): Html {
  return html`${items.map((item, at) => html`${at === 0 ? '' : ', '}${item}`)}`;
}
