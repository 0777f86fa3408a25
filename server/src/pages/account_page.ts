import type { ClientRecord, GrantRecord } from '@grantd/core';
import { counts } from '../consents/asked_consent.ts';
import { type ConsentEntry, withEntry } from '../consents/consents.ts';
import { ScopeGlossary } from './access_shown.ts';
import { openNotice, sealNotice } from './account_notices.ts';
import { applicationShown, personShown } from './application_shown.ts';
import type { BrowserSession } from './browser_sessions.ts';
import { renderPage } from './layout.ts';
import { type PageContext, type PageParts, requestIdOf } from './page_parts.ts';
import { pageSetting } from './page_setting.ts';
import { ownForm, sendOn } from './pending_page.ts';
import type { Language } from './texts/texts.ts';
import {
  type AccountNotice,
  type ApplicationWithAccess,
  accountPage,
  type SessionShown,
} from './views/account.ts';

/** `GET /account`: what has access, and where the person is signed in. */
export function showAccount(parts: PageParts) {
  const { browserSessions, formTokens, notices, basePath, clock } = parts;
  return async (c: PageContext): Promise<Response> => {
    const session = await browserSessions.current(c);
    if (session === undefined) return toSignIn(c, parts);
    const setting = pageSetting(c, parts);
    const notice = await openNotice(notices, c.req.query('notice'), session.id);
    const view = {
      action: `${basePath}/account`,
      formToken: await formTokens.make(c, 'account', session.id),
      person: personShown(session.person),
      applications: await applicationsOf(parts, session, setting.language),
      sessions: await sessionsOf(parts, session),
      signOut: `${basePath}/logout`,
      nowMs: clock(),
      ...(notice !== undefined && { notice }),
    };
    return renderPage(c, accountPage(view, setting));
  };
}

/** `POST /account`: ends what a button stands for, and back to the page. */
export function submitAccount(parts: PageParts) {
  const { browserSessions, notices, basePath } = parts;
  return async (c: PageContext): Promise<Response> => {
    const session = await browserSessions.current(c);
    if (session === undefined) return toSignIn(c, parts);
    const form = await ownForm(c, parts, { page: 'account', about: [session.id] });
    const notice = await perform(c, parts, session, form);
    if (notice === 'signed_out') return c.redirect(`${basePath}/logout`, 303); // where nobody is left to ask
    const sealed = await sealNotice(notices, notice, session.id);
    return c.redirect(`${basePath}/account?notice=${sealed}`, 303);
  };
}

function toSignIn(c: PageContext, parts: PageParts): Promise<Response> {
  return sendOn(c, parts, 'login', { kind: 'account', begunAtMs: parts.clock() });
}

async function perform(
  c: PageContext,
  parts: PageParts,
  session: BrowserSession,
  form: URLSearchParams,
): Promise<AccountNotice | 'signed_out'> {
  const [clientId, sessionId] = [namedBy(form, 'end_access'), namedBy(form, 'end_session')];
  if (clientId !== null) return endAccess(c, parts, session, clientId);
  if (sessionId === session.id) {
    void parts.tellClients(await parts.browserSessions.end(c, session));
    reportEnd(c, parts, session, session.id);
    return 'signed_out';
  }
  if (sessionId === null && form.get('end_other_sessions') === null) return { done: 'nothing_to_end' };
  const { subject } = session.person;
  const ends = await parts.sessionEnding.end(
    sessionId === null ? { subject, except: session.id } : { subject, id: sessionId },
  );
  void parts.tellClients(ends);
  for (const { id } of ends) reportEnd(c, parts, session, id);
  if (ends.length === 0) return { done: 'nothing_to_end' };
  return sessionId === null
    ? { done: 'other_sessions_ended', count: ends.length }
    : { done: 'session_ended' };
}

/** What a button names. Of other characters nothing here is called, and there are databases that cannot look for them. */
function namedBy(form: URLSearchParams, field: string): string | null {
  const name = form.get(field);
  return name !== null && /^[\x20-\x7E]+$/.test(name) ? name : null;
}

async function endAccess(
  c: PageContext,
  parts: PageParts,
  { person: { subject } }: BrowserSession,
  clientId: string,
): Promise<AccountNotice> {
  const hadConsent = (await parts.consents.get({ subject, clientId })) !== undefined;
  const grants = await parts.withdrawal.withdraw({ subject, clientId });
  if (!hadConsent && grants === 0) return { done: 'nothing_to_end' };
  const requestId = requestIdOf(c);
  parts.requestLog.pageEvent({ type: 'consent_withdrawn', page: 'account', requestId, clientId, subject });
  const client = (await parts.clients.get(clientId)) ?? { id: clientId };
  return {
    done: 'access_ended',
    application: applicationShown(client, pageSetting(c, parts).language, parts.basePath).name,
  };
}

function reportEnd(c: PageContext, parts: PageParts, { person }: BrowserSession, sessionId: string): void {
  const { subject } = person;
  parts.requestLog.pageEvent({
    type: 'session_ended',
    page: 'account',
    requestId: requestIdOf(c),
    subject,
    sessionId,
  });
}

/** What was agreed to, and what was granted and is alive, whether or not it was agreed to here. */
async function applicationsOf(
  parts: PageParts,
  { person: { subject } }: BrowserSession,
  language: Language,
): Promise<readonly ApplicationWithAccess[]> {
  const { consents, grants, clients, basePath } = parts;
  const [agreed, granted] = await Promise.all([consents.ofSubject(subject), grants.grantsOf(subject)]);
  const ids = new Set([...agreed, ...granted].map(({ clientId }) => clientId));
  const found = await Promise.all([...ids].map((id) => clients.get(id)));
  const scopes = [...agreed.flatMap(({ entries }) => entries), ...granted].flatMap((one) => one.scopes);
  const glossary = await ScopeGlossary.open(parts, new Set(scopes), language);
  return found
    .flatMap((client) => {
      if (!client) return [];
      const entries = agreed
        .filter((consent) => consent.clientId === client.id && counts(consent, client))
        .flatMap((consent) => consent.entries);
      const own = granted.filter(({ clientId }) => clientId === client.id).map(asEntry);
      const all = [...own.sort((one, other) => one.scopes.length - other.scopes.length), ...entries];
      return all.length === 0 ? [] : [shownOf(client, all, glossary, language, basePath)];
    })
    .sort((a, b) => b.sinceMs - a.sinceMs);
}
/** A grant says nothing of the API that it is for. */
function asEntry({ scopes, createdAtMs }: GrantRecord): ConsentEntry {
  return { scopes, resources: [], claims: [], givenAtMs: createdAtMs };
}

function shownOf(
  client: ClientRecord,
  entries: readonly ConsentEntry[],
  glossary: ScopeGlossary,
  language: Language,
  basePath: string,
): ApplicationWithAccess {
  return {
    clientId: client.id,
    application: applicationShown(client, language, basePath),
    access: entries
      .reduce<readonly ConsentEntry[]>((shown, entry) => withEntry(shown, entry), [])
      .map((entry) => glossary.shown(entry)),
    sinceMs: Math.min(...entries.map(({ givenAtMs }) => givenAtMs)),
  };
}

async function sessionsOf(
  { browserSessions }: PageParts,
  { id, person }: BrowserSession,
): Promise<readonly SessionShown[]> {
  const sessions = await browserSessions.ofPerson(person);
  return sessions
    .map(({ userAgent, signedInAtMs, lastSeenAtMs, ...session }) => ({
      id: session.id,
      isCurrent: session.id === id,
      userAgent,
      signedInAtMs,
      lastSeenAtMs,
    }))
    .sort((one, other) => Number(other.isCurrent) - Number(one.isCurrent));
}
