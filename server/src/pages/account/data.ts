import type { AdministrableStorage, IssuingClientRepository } from '@grantd/core';
import { html } from 'hono/html';
import type { ActingUses } from '../../data/acting_uses.ts';
import type { Consents } from '../../data/consents.ts';
import type { Factors } from '../../data/factors.ts';
import { claimsOf } from '../../data/people.ts';
import { actingFor } from '../../people/acting.ts';
import { type Administrators, NoAdministratorLeft } from '../../people/administrators.ts';
import { counts } from '../../people/consents.ts';
import type { AccessEnding } from '../../people/groups.ts';
import { type MailQueue, verifiedAddressOf } from '../../people/mailing.ts';
import type { MissingSteps } from '../../people/missing_steps.ts';
import type { OwnPasswords } from '../../people/own_passwords.ts';
import type { PersonRemoval } from '../../people/removal.ts';
import type { Html } from '../../texts/formats/html.ts';
import { type Texts, textsIn } from '../../texts/texts.ts';
import { type PageContext, requestIdOf } from '../browser/request.ts';
import type { BrowserSession, BrowserSessions } from '../browser/sessions.ts';
import { operatorMark } from '../drawing/brand.ts';
import { problemBox, REVEAL_SCRIPT, revealScript } from '../drawing/fields.ts';
import { type Page, type PageSetting, renderPage } from '../drawing/layout.ts';
import {
  type CurrentPasswordProblem,
  checkPassword,
  currentPasswordField,
  currentPasswordText,
  isAboutCurrent,
  type PasswordCheckNeeds,
} from './current_password.ts';
import {
  type AccountView,
  accountFrame,
  accountView,
  confirmForm,
  type FrameNeeds,
  type LinkedProviders,
} from './frame.ts';
import type { EndingNeeds, HistoryNeeds } from './sessions.ts';

export interface DataNeeds extends FrameNeeds, EndingNeeds, PasswordCheckNeeds, HistoryNeeds {
  readonly issuer: string;
  readonly browserSessions: BrowserSessions;
  readonly missing: MissingSteps;
  readonly passwords: OwnPasswords;
  readonly consents: Consents;
  readonly grants: Pick<AdministrableStorage, 'grantsOf' | 'tokens'>;
  readonly actingUses: Pick<ActingUses, 'ofSubject'>;
  readonly clients: Pick<IssuingClientRepository, 'get'>;
  readonly factors: Factors;
  /** `undefined` if none is configured. */
  readonly providers: LinkedProviders | undefined;
  readonly removal: PersonRemoval;
  /** `undefined` if the server has no group of administrators. */
  readonly administrators: { readonly of: Administrators; readonly access: AccessEnding } | undefined;
  /** `undefined` if the server sends no emails. */
  readonly mail: { readonly queue: MailQueue } | undefined;
}

/** `GET /account/data`. */
export function showData(needs: DataNeeds) {
  return async (c: PageContext): Promise<Response> => {
    const session = await needs.visits.open(c, 'data');
    if (session instanceof Response) return session;
    return renderPage(c, await dataOf(c, needs, session));
  };
}

/** `POST /account/data`: sends the user’s data as a file, or deletes the account. */
export function submitData(needs: DataNeeds) {
  const changed = (form: URLSearchParams) => (form.has('export_data') ? 'export' : 'removal');
  return needs.visits.form('data', changed, async (c, session, form) => {
    if (form.get('export_data') !== null) return exportData(c, needs, session);

    const refuse = async (
      problem: NonNullable<DataView['problem']>,
      status: 400 | 403 | 429 | 503,
      secondsToWait?: number,
    ) => renderPage(c, { ...(await dataOf(c, needs, session, problem, secondsToWait)), status });
    if (isKeptElsewhere(needs, session))
      return renderPage(c, { ...(await dataOf(c, needs, session)), status: 403 });
    if (form.get('confirm') !== 'yes') return refuse('not_confirmed', 400);
    // Without a password, the recent sign-in proves who the user is.
    if (!needs.passwords.has(session.person)) return remove(c, needs, session);
    const checked = await checkPassword(c, needs, session, form.get('current_password') ?? '');
    if ('refusal' in checked) {
      const { problem, status, secondsToWait } = checked.refusal;
      return refuse(problem, status, secondsToWait);
    }
    return remove(c, needs, session);
  });
}

/** Whether the account can only be deleted in the application that has its users. */
function isKeptElsewhere({ signInParts }: DataNeeds, { person }: BrowserSession): boolean {
  return signInParts.directory?.ownsAccount(person) === true;
}

async function remove(c: PageContext, needs: DataNeeds, session: BrowserSession): Promise<Response> {
  const { person } = session;
  const setting = needs.drawing.setting(c);
  const { administrators } = needs;
  try {
    await administrators?.of.leave(administrators.access, person);
    // Notifies the applications, which the removal does not.
    void needs.notifyClients(await needs.sessionEnding.end({ subject: person.subject }));
    await needs.removal.remove(
      person.subject,
      administrators && ((work) => administrators.of.take(administrators.access, person, work)),
    );
  } catch (error) {
    if (!(error instanceof NoAdministratorLeft)) throw error;
    return renderPage(c, { ...(await dataOf(c, needs, session, 'last_administrator')), status: 409 });
  }
  await needs.browserSessions.end(c, session);
  const { subject } = person;
  needs.requestLog.pageEvent({
    type: 'account_removed',
    page: 'account',
    requestId: requestIdOf(c),
    subject,
  });
  const to = verifiedAddressOf(person);
  // Names no user, so that the removal does not remove it.
  if (to !== undefined)
    await needs.mail?.queue.add({
      ...{ template: 'account_removed', to, language: setting.language },
      parameters: { username: person.name },
    });
  return renderPage(c, accountRemovedPage({ home: `${needs.drawing.basePath}/` }, setting));
}

/** Everything that the server stores about the user, as JSON. Secrets are left out. */
async function exportData(c: PageContext, needs: DataNeeds, session: BrowserSession): Promise<Response> {
  const { person } = session;
  const { subject } = person;
  const [sessions, signIns, consents, grants, acting, links, passkeys, totp, tokens] = await Promise.all([
    needs.validity.ofSubject(subject),
    needs.sessions.signInsOf(subject, needs.clock()),
    needs.consents.ofSubject(subject),
    needs.grants.grantsOf(subject),
    actingFor(needs.grants, needs.actingUses, subject),
    needs.providers?.identitiesOf(subject),
    needs.factors.passkeysOf(subject),
    needs.factors.totpOf(subject),
    needs.ownTokens?.of(subject) ?? [],
  ]);
  const clients = await Promise.all(consents.map(({ clientId }) => needs.clients.get(clientId)));
  const time = (ms: number) => new Date(ms).toISOString();
  const data = {
    issuer: needs.issuer,
    sub: subject,
    createdAt: time(person.createdAtMs),
    claims: claimsOf(person),
    ...(links !== undefined && {
      providers: links.map(({ provider, upstreamIssuer, upstreamSub, label, linkedAtMs }) => ({
        ...{ provider, issuer: upstreamIssuer, sub: upstreamSub, label },
        connectedAt: time(linkedAtMs),
      })),
    }),
    ...(passkeys.length > 0 && {
      passkeys: passkeys.map(({ name, isBackedUp, isSecurityKey, createdAtMs, lastUsedAtMs }) => ({
        ...{ name, isSecurityKey, isBackedUp, createdAt: time(createdAtMs) },
        ...(lastUsedAtMs !== undefined && { lastUsedAt: time(lastUsedAtMs) }),
      })),
    }),
    ...(totp !== undefined && { authenticatorAppSince: time(totp.createdAtMs) }),
    sessions: sessions.map(({ userAgent, network, signedInAtMs, lastSeenAtMs }) => ({
      userAgent,
      ...(network !== undefined && { network }),
      signedInAt: time(signedInAtMs),
      lastSeenAt: time(lastSeenAtMs),
    })),
    signIns: signIns.map(({ atMs, userAgent, network, session, reason }) => ({
      at: time(atMs),
      userAgent,
      ...(network !== undefined && { network }),
      ...(session === undefined ? { failed: reason } : { methods: session.amr }),
    })),
    consents: consents
      .filter((consent, index) => counts(consent, clients[index]))
      .map(({ clientId, entries }) => ({
        clientId,
        entries: entries.map(({ scopes, resources, claims, details, givenAtMs }) => ({
          ...{ scopes, resources, claims },
          authorizationDetails: details.map((detail): unknown => JSON.parse(detail)),
          givenAt: time(givenAtMs),
        })),
      })),
    ...(tokens.length > 0 && {
      personalTokens: tokens.map(({ name, resource, scopes, createdAtMs, expiresAtMs, lastUsedMs }) => ({
        ...{ name, resource, scopes, createdAt: time(createdAtMs), expiresAt: time(expiresAtMs) },
        ...(lastUsedMs !== undefined && { lastUsed: time(lastUsedMs) }),
      })),
    }),
    grants: grants.map(({ clientId, scopes, createdAtMs }) => ({
      clientId,
      scopes,
      createdAt: time(createdAtMs),
    })),
    acting: acting.map(({ sinceMs, lastUsedMs, ...client }) => ({
      ...client,
      since: time(sinceMs),
      lastUsed: time(lastUsedMs),
    })),
  };
  needs.requestLog.pageEvent({ type: 'data_exported', page: 'account', requestId: requestIdOf(c), subject });
  return c.body(`${JSON.stringify(data, null, 2)}\n`, 200, {
    'content-type': 'application/json; charset=utf-8',
    'content-disposition': 'attachment; filename="account.json"',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  });
}

async function dataOf(
  c: PageContext,
  needs: DataNeeds,
  session: BrowserSession,
  problem?: DataView['problem'],
  secondsToWait?: number,
): Promise<Page> {
  const view = {
    ...(await accountView(c, needs, session, 'data')),
    ...(!needs.passwords.has(session.person) && { hasNoPassword: true }),
    ...(isKeptElsewhere(needs, session) && { isKeptElsewhere: true }),
    // Without a password, nothing is typed in vain.
    mayDelete:
      !needs.passwords.has(session.person) ||
      (await needs.missing.ofChange(session, 'removal')) === undefined,
    ...(problem !== undefined && { problem }),
    ...(secondsToWait !== undefined && { secondsToWait }),
  };
  return dataPage(view, needs.drawing.setting(c));
}

export interface DataView extends AccountView {
  /** Whether the user signs in without a password here. */
  readonly hasNoPassword?: boolean;
  /** Whether the account cannot be deleted here. */
  readonly isKeptElsewhere?: boolean;
  /** Whether the form to delete the account is shown: the user has shown enough, or has no password to type. */
  readonly mayDelete: boolean;
  readonly problem?: CurrentPasswordProblem | 'not_confirmed' | 'last_administrator';
  readonly secondsToWait?: number;
}

/** `/account/data`: button `export-data`; fields `current_password`, if there is one, and `confirm`, button `delete-account`. */
export function dataPage(view: DataView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { account } = texts;
  const { problem } = view;
  return {
    ...accountFrame(view, setting, {
      title: account.pages.data,
      isProblem: problem !== undefined,
      body: html`<section aria-labelledby="export">
<h2 id="export">${account.exportData}</h2>
<p class="lead">${account.exportText}</p>
<div class="fields">
<form method="post" action="${view.base}/data">
<input type="hidden" name="form_token" value="${view.formToken}">
<button id="export-data" type="submit" name="export_data" value="yes">${account.exportYes}</button>
</form>
</div>
</section>
${deletion(view, texts)}
${revealScript()}`,
    }),
    scripts: [REVEAL_SCRIPT],
  };
}

function deletion(view: DataView, texts: Texts): Html {
  const { account } = texts;
  const { problem, isKeptElsewhere = false } = view;
  const text = isAboutCurrent(problem)
    ? currentPasswordText(problem, view.secondsToWait, texts)
    : problem === 'last_administrator'
      ? account.lastAdministrator
      : account.notConfirmed;
  const isUnconfirmed =
    problem === 'not_confirmed' ? html` aria-invalid="true" aria-describedby="problem" autofocus` : '';
  if (isKeptElsewhere)
    return html`<section aria-labelledby="delete">
<h2 id="delete">${account.deleteAccount}</h2>
<p id="delete-elsewhere">${account.deleteElsewhere}</p>
</section>`;
  if (!view.mayDelete)
    return html`<section aria-labelledby="delete">
<h2 id="delete">${account.deleteAccount}</h2>
<p class="lead">${account.deleteText}</p>
${confirmForm({ ...view, action: `${view.base}/data` }, 'confirm-to-delete', texts)}
</section>`;
  return html`<section aria-labelledby="delete">
<h2 id="delete">${account.deleteAccount}</h2>
<p class="lead">${account.deleteText}</p>
${problem === undefined ? '' : problemBox(text)}
<div class="fields">
<form method="post" action="${view.base}/data">
<input type="hidden" name="form_token" value="${view.formToken}">
${view.hasNoPassword === true ? '' : currentPasswordField(problem, texts)}
<div class="check">
<input id="confirm" name="confirm" type="checkbox" value="yes" required${isUnconfirmed}>
<label for="confirm">${account.deleteConfirm}</label>
</div>
<button id="delete-account" type="submit" class="primary danger">${account.deleteYes}</button>
</form>
</div>
</section>`;
}

/** After the removal of an account: link `to-home`. */
export function accountRemovedPage({ home }: { readonly home: string }, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  return {
    ...setting,
    title: texts.account.deletedTitle,
    body: html`<header>
${operatorMark(setting.operator)}
<h1>${texts.account.deletedTitle}</h1>
<p class="lead">${texts.account.deletedText}</p>
</header>
<a id="to-home" class="button primary" href="${home}">${texts.problemWays.home}</a>`,
  };
}
