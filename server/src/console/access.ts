// Who may use the console, and what its pages get.
import { type AuthorizationServer, StorageFault } from '@grantd/core';
import { type AdminCalls, inProcess } from '../admin/in_process.ts';
import type { AdminParts } from '../admin/operation.ts';
import { InvalidInput, OperationRefused } from '../admin/operation_refused.ts';
import type { Document, Input, OperationId } from '../admin/table.ts';
import type { IssuersOfFile } from '../config/trusted_issuers.ts';
import type { ClockWatch } from '../data/clock_watch.ts';
import type { StorageTrouble } from '../data/storage_trouble.ts';
import type { History } from '../monitoring/history.ts';
import type { Cookies, SealedValues } from '../pages/browser/cookies.ts';
import type { FormTokens } from '../pages/browser/forms.ts';
import { bodyOf, type PageContext, PageProblem, type Visitors } from '../pages/browser/request.ts';
import type { BrowserSession } from '../pages/browser/sessions.ts';
import type { Drawing } from '../pages/drawing/drawing.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import type { ProblemView } from '../pages/drawing/problem_page.ts';
import type { AccountVisits, Wanted } from '../pages/steps/account_visits.ts';
import type { MissingSteps } from '../people/missing_steps.ts';
import {
  type ConsoleNotice,
  type ConsolePageName,
  type ConsoleView,
  consoleView,
  type Health,
  isPageName,
  problemFrame,
  refusedPage,
  toConsole,
} from './frame.ts';
import type { ShownOnce } from './kept_secrets.ts';
import { type OpenedForm, type OpenedForms, UNSAVED } from './opened_forms.ts';

/** What the console needs of the other pages. */
export interface PagesOfConsole {
  readonly drawing: Drawing;
  readonly formTokens: FormTokens;
  readonly visitors: Visitors;
  readonly visits: AccountVisits;
  readonly missing: MissingSteps;
  /** Seals notices about the result of a change. */
  readonly notices: SealedValues;
  /** Milliseconds. */
  readonly clock: () => number;
}

/** Why the server answers 503: what is wrong with its storage, or that it shuts down. */
export type NotReady = StorageTrouble | 'ending';

/** What all requests to the console share. */
export interface ConsoleParts {
  readonly pages: PagesOfConsole;
  readonly adminGroup: string;
  readonly issuer: string;
  /** Answers the requests of applications that the console tries. */
  readonly server: AuthorizationServer;
  readonly cookies: Cookies;
  /** The file of trusted issuers; empty without the option. */
  readonly trusted: { readonly path?: string; readonly issuers?: IssuersOfFile['written'] };
  readonly clock: Pick<ClockWatch, 'skewSeconds'>;
  /** Resolves with `undefined` if the server can answer requests. */
  readonly whyNotReady: () => Promise<NotReady | undefined>;
  /** What this server has counted in the last hour; `undefined` if the console was off at its start. */
  readonly history: Pick<History, 'samples'> | undefined;
  /** Seals a token for the next form, so that no page contains it. */
  readonly tokens: SealedValues;
  readonly shownOnce: ShownOnce;
  readonly openedForms: OpenedForms;
  /** The parts of operations, whose changes are recorded with the operator as actor. */
  partsOf(subject: string): Omit<AdminParts, 'requireVersion'>;
}

/** A request of an operator. */
export interface Visit {
  /** Absent if the server can answer requests. */
  readonly notReady?: NotReady;
  readonly c: PageContext;
  readonly console: ConsoleParts;
  /**
   * Performs an operation as the operator, and returns its document.
   * @throws {OperationRefused | InvalidInput} a page says so
   */
  call<Id extends OperationId>(id: Id, input: Input<Id>): Promise<Document<Id>>;
  /** The same with the version. @param version the only version that a change is for. Default: every version */
  versioned: AdminCalls['versioned'];
  /**
   * Asks again whether the operator may still act, for what takes long.
   * @throws {PageProblem} not any more
   */
  requireCaller(): Promise<void>;
  readonly session: BrowserSession;
  readonly setting: PageSetting;
  readonly view: ConsoleView;
  /** The submitted form, whose token is verified; empty for `GET`. */
  readonly form: URLSearchParams;
}

/** Milliseconds. An older sign-in is asked for again. */
const MAX_SIGN_IN_AGE_MS = 12 * 60 * 60 * 1000;

/** A page for operators. Checks each request: session, age of the sign-in, group, and form token. */
export function page(
  consoleParts: ConsoleParts,
  current: ConsolePageName,
  answer: (visit: Visit) => Promise<Response>,
) {
  const { pages } = consoleParts;
  return async (c: PageContext): Promise<Response> => {
    const sent = new URLSearchParams(c.req.method === 'POST' ? bodyOf(c) : '');
    const opened = await consoleParts.openedForms.of(sent);
    const session = await openSession(c, consoleParts, opened);
    if (session instanceof Response) {
      if (opened !== undefined) await consoleParts.openedForms.keep(opened, sent);
      return session;
    }
    if (c.req.method === 'POST') {
      const about = { page: 'console', about: [session.id] } as const;
      try {
        await pages.formTokens.verified(c, about);
      } catch (error) {
        // A form from before a sign-in in another window. It comes back to its administrator, and changes nothing.
        if (!(error instanceof PageProblem) || opened?.subject !== session.person.subject) throw error;
        await consoleParts.openedForms.keep(opened, sent);
        return c.redirect(`${pages.drawing.basePath}/console${unsaved(opened.below)}`, 303);
      }
    }
    const form = sent;
    const setting = pages.drawing.setting(c);
    const { health, notReady } = await healthOf(consoleParts);
    const view = await consoleView(c, pages, session, { current, health, nowMs: pages.clock() });
    const { versioned } = inProcess(consoleParts.partsOf(session.person.subject));
    const call: Visit['call'] = async (...order) => (await versioned(...order)).document;
    try {
      // No stored text has one, and PostgreSQL would refuse the query like an outage.
      const given = [...new URL(c.req.url).searchParams, ...form];
      const [name] = given.find((pair) => pair.some((text) => text.includes('\0'))) ?? [];
      if (name !== undefined) throw new InvalidInput(JSON.stringify(name), ['no_nul']);
      const requireCaller = async () => {
        const current = await openSession(c, consoleParts);
        if (current instanceof Response || current.id !== session.id)
          throw new PageProblem('console', 'not_administrator');
      };
      const asked = { session, setting, view, form, ...(notReady && { notReady }) };
      return await answer({ c, console: consoleParts, call, versioned, requireCaller, ...asked });
    } catch (error) {
      if (error instanceof OperationRefused)
        return renderPage(
          c,
          refusedPage(
            { ...view, kind: error.kind, detail: error.problem, said: error.each[0]?.said },
            setting,
          ),
        );
      if (error instanceof InvalidInput)
        return renderPage(
          c,
          refusedPage(
            {
              ...{ ...view, kind: 'invalid', detail: error.message },
              ...{ said: error.errors[0]?.said, member: error.member },
            },
            setting,
          ),
        );
      throw error;
    }
  };
}

async function healthOf({
  whyNotReady,
  clock,
}: ConsoleParts): Promise<Pick<Visit, 'notReady'> & { health: Health }> {
  const notReady = await whyNotReady();
  if (notReady !== undefined) return { health: 'not_ready', notReady };
  return { health: clock.skewSeconds === 0 ? 'ready' : 'clock_wrong' };
}

/**
 * @returns the session, or a redirect to the pages that complete the sign-in
 * @throws {PageProblem} the user is not an administrator
 */
async function openSession(
  c: PageContext,
  consoleParts: ConsoleParts,
  opened?: OpenedForm,
): Promise<BrowserSession | Response> {
  const { pages } = consoleParts;
  const wanted = wantedPage(c, pages, opened);
  const session = await pages.visits.open(c, wanted);
  if (session instanceof Response) return session;
  if (!isAdministrator(session, consoleParts)) throw new PageProblem('console', 'not_administrator');
  if (isOld(session, pages)) return pages.visits.toNewSignIn(c, wanted);
  // A user who needs a second factor and has none adds it first.
  return (await needsFactor(c, session, pages)) ? pages.visits.toEnrolment(c, wanted) : session;
}

/** Whether the browser has a session of an administrator. The page that it asks for may still need more. */
export async function isSignedIn(consoleParts: ConsoleParts, c: PageContext): Promise<boolean> {
  const session = await consoleParts.pages.visits.current(c);
  return session !== undefined && isAdministrator(session, consoleParts);
}

/** Read from the database with the session, so that leaving the group ends the access at once. */
function isAdministrator({ person }: BrowserSession, { adminGroup }: ConsoleParts): boolean {
  return person.groups?.includes(adminGroup) === true;
}

function isOld({ signedInAtMs }: BrowserSession, { clock }: PagesOfConsole): boolean {
  return signedInAtMs + MAX_SIGN_IN_AGE_MS <= clock();
}

async function needsFactor(
  c: PageContext,
  { person, amr }: BrowserSession,
  pages: PagesOfConsole,
): Promise<boolean> {
  return (await pages.missing.of(person, amr, { pending: wantedPage(c, pages) })) !== undefined;
}

/**
 * A problem in the frame of the console. During an outage that hides who visits, the frame has no navigation.
 * @returns `undefined` for visitors who are not signed in
 */
export async function framedProblem(
  consoleParts: ConsoleParts,
  c: PageContext,
  problem: ProblemView,
  setting: PageSetting,
): Promise<Page | undefined> {
  try {
    return await knownProblem(consoleParts, c, problem, setting);
  } catch (error) {
    if (!(error instanceof StorageFault)) throw error;
    const { basePath } = consoleParts.pages.drawing;
    const unknown = { current: undefined, person: undefined, signOut: `${basePath}/logout` };
    const view = { ...unknown, base: `${basePath}/console`, nowMs: consoleParts.pages.clock() };
    return problemFrame(view, setting, problem);
  }
}

async function knownProblem(
  consoleParts: ConsoleParts,
  c: PageContext,
  problem: ProblemView,
  setting: PageSetting,
): Promise<Page | undefined> {
  const { pages } = consoleParts;
  const session = await pages.visits.current(c);
  if (session === undefined) return undefined;
  const maySee =
    isAdministrator(session, consoleParts) &&
    pages.missing.takes(session) &&
    !isOld(session, pages) &&
    !(await needsFactor(c, session, pages));
  const { health } = await healthOf(consoleParts);
  const view = await consoleView(c, pages, session, { current: 'overview', health, nowMs: pages.clock() });
  const name = c.req.path.slice(`${view.base}/`.length);
  const current = isPageName(name) ? name : undefined;
  return problemFrame({ ...view, current, ...(maySee && { tools: view }) }, setting, problem);
}

/** Longer ones would not fit into the cookie of a sign-in at a provider. */
const MAX_PATH_LENGTH = 500;

/**
 * The page to which a sign-in leads back: this one with its query, or after a form the page that shows the form, which
 * says that nothing was saved.
 */
function wantedPage(
  c: PageContext,
  { drawing }: PagesOfConsole,
  opened?: OpenedForm,
): Wanted & { readonly page: 'console' } {
  const { pathname, search, searchParams } = new URL(c.req.url);
  const first = `${drawing.basePath}/console`;
  const path = pathname.startsWith(first) ? pathname.slice(first.length) : '';
  // Only this browser session has had the notice, or begun the sign-in with an application.
  const isPast = searchParams.has('notice') || searchParams.has('state');
  const below =
    c.req.method === 'POST'
      ? unsaved(opened?.below ?? path)
      : `${path}${path === '' || isPast ? '' : search}`;
  const fitting = below.length <= MAX_PATH_LENGTH ? below : c.req.method === 'POST' ? unsaved(path) : '';
  return { page: 'console', ...(fitting !== '' && { below: fitting }) };
}

function unsaved(below: string): string {
  return `${below}${below.includes('?') ? '&' : '?'}${UNSAVED}=yes`;
}

/** Does what the field `do` names, and shows a page with the result. */
export async function perform(
  { c, console: { pages }, session, form }: Visit,
  changes: Readonly<Record<string, () => Promise<ConsoleNotice>>>,
  url: string,
): Promise<Response> {
  const does = form.get('do') ?? '';
  const notice = Object.hasOwn(changes, does) ? await changes[does]?.() : undefined;
  return toConsole(c, pages, session, url, notice ?? 'nothing_changed');
}
