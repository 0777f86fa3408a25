// The way to a provider, and why it did not end in a sign-in.
import type { AuthorizationServer } from '@grantd/core';
import { html } from 'hono/html';
import type { Provider } from '../../config/providers.ts';
import type { PageReason } from '../../log/page_events.ts';
import type { ConnectedProvider, Upstream } from '../../people/upstream.ts';
import { type Texts, textsIn } from '../../texts/texts.ts';
import type { PendingPages, PendingRequest } from '../browser/pending.ts';
import { type PageContext, PageProblem, requestIdOf, type Visitors } from '../browser/request.ts';
import { named } from '../drawing/application_shown.ts';
import { operatorMark } from '../drawing/brand.ts';
import { COPY_SCRIPT, copyScript, requestNumber } from '../drawing/copying.ts';
import type { Drawing } from '../drawing/drawing.ts';
import { type Page, type PageSetting, renderPage } from '../drawing/layout.ts';
import { providerName } from '../drawing/providers_shown.ts';
import { type ProviderSignIn, RETRY_AFTER_SECONDS, type SignInsUnderWay } from './under_way.ts';

/** What leads to a provider, and says why a user is not signed in there. */
export interface WayNeeds {
  readonly drawing: Drawing;
  readonly pending: PendingPages;
  readonly visitors: Visitors;
  readonly upstream: Upstream;
  readonly underWay: SignInsUnderWay;
  readonly server: Pick<AuthorizationServer, 'issuer'>;
  readonly clock: () => number;
}

/** A provider of the URL, with its client. */
export function connectedIn(
  c: PageContext,
  { upstream }: Pick<WayNeeds, 'upstream'>,
): ConnectedProvider | undefined {
  return upstream.byId(c.req.param('provider') ?? '');
}

const PROBLEMS = {
  provider_unavailable: { problem: 'unavailable', status: 503 },
  provider_denied: { problem: 'denied', status: 403 },
  provider_code_refused: { problem: 'invalid', status: 403 },
  provider_answer_invalid: { problem: 'invalid', status: 403 },
  provider_sign_in_old: { problem: 'invalid', status: 403 },
  provider_answer_foreign: { problem: 'foreign', status: 400 },
  provider_not_linked: { problem: 'not_linked', status: 403 },
  provider_linked_elsewhere: { problem: 'linked_elsewhere', status: 409 },
  person_disabled: { problem: 'disabled', status: 403 },
  directory_entry_missing: { problem: 'disabled', status: 403 },
  person_changed: { problem: 'invalid', status: 403 },
  person_not_expected: { problem: 'another_person', status: 403 },
} as const satisfies Partial<
  Record<PageReason, { readonly problem: ProviderProblem; readonly status: 400 | 403 | 409 | 503 }>
>;

export type ProviderReason = keyof typeof PROBLEMS;

interface Beginning extends Pick<ProviderSignIn, 'pending' | 'sessionId'> {
  readonly again: boolean;
  readonly maxAge?: number | undefined;
  readonly loginHint?: string | undefined;
}

/** Sends the user to a provider. */
export async function begin(
  c: PageContext,
  needs: WayNeeds,
  { provider, client }: ConnectedProvider,
  { pending, sessionId, again, maxAge, loginHint }: Beginning,
): Promise<Response> {
  const redirectUri = `${urlOf(needs, provider)}/callback`;
  const { language } = needs.drawing.setting(c);
  try {
    const { url, request } = await client.begin({
      ...{ redirectUri, language, again, loginHint },
      // No user can sign in within zero seconds. `prompt=login` asks for the same.
      ...(maxAge !== undefined && maxAge > 0 && { maxAge }),
    });
    const begun = { provider: provider.id, request, pending, ...(sessionId !== undefined && { sessionId }) };
    if (!(await needs.underWay.begin(c, begun))) throw new PageProblem('upstream', 'request_too_long');
    return c.redirect(url.href, 303);
  } catch (error) {
    return answerProviderError(c, needs, provider, pending, error);
  }
}

/** @throws {unknown} every error that is not about the provider */
export async function answerProviderError(
  c: PageContext,
  needs: WayNeeds,
  provider: Provider,
  pending: PendingRequest,
  error: unknown,
): Promise<Response> {
  const failure = needs.upstream.failureOf(error);
  if (failure === undefined) throw error;
  return refuse(c, needs, provider, failure.reason, pending, { cause: error });
}

interface RefusalDetails {
  readonly label?: string;
  readonly connect?: string;
  readonly cause?: unknown;
  /** The user and the client, if known. */
  readonly subject?: string;
  readonly clientId?: string | undefined;
}

/** Shows why the user is not signed in, with a way back to where the user came from. */
export async function refuse(
  c: PageContext,
  needs: WayNeeds,
  provider: Provider,
  reason: ProviderReason,
  pending: PendingRequest = securityPage(needs),
  { cause, subject, clientId, ...shown }: RefusalDetails = {},
): Promise<Response> {
  const { problem, status } = PROBLEMS[reason];
  const requestId = requestIdOf(c);
  const about = { page: 'upstream', reason, subject, clientId, provider: provider.id } as const;
  await needs.visitors.recordFailure(c, { ...about, cause, isCounted: false });
  const setting = needs.drawing.setting(c);
  const sealed = await needs.pending.seal(pending);
  const view = {
    ...{ problem, requestId, provider: providerName(provider, setting.language), ...shown },
    back:
      sealed === undefined || pending.kind === 'logout'
        ? `${needs.drawing.basePath}/account`
        : `${needs.drawing.basePath}/login?pending=${sealed}`,
  };
  return renderPage(c, {
    ...providerProblemPage(view, setting),
    status,
    ...(status === 503 && { headers: { 'retry-after': String(RETRY_AFTER_SECONDS) } }),
  });
}

export function urlOf({ server }: WayNeeds, { id }: Provider): string {
  return `${server.issuer.replace(/\/$/, '')}/upstream/${id}`;
}

export function securityPage({ clock }: Pick<WayNeeds, 'clock'>): PendingRequest {
  return { kind: 'account', page: 'security', begunAtMs: clock() };
}

export type ProviderProblem = keyof Texts['providers']['problems'];

export interface ProviderProblemView {
  readonly problem: ProviderProblem;
  /** The provider’s name. */
  readonly provider: string;
  /** How the user knows the identity at the provider. */
  readonly label?: string;
  /** A page to try again, or to sign in in another way. */
  readonly back: string;
  /** Leads to a sign-in here, after which the user can connect the two accounts. */
  readonly connect?: string;
  readonly requestId?: string;
}

/** Why a sign-in with a provider did not succeed. Links: `try-again`, `connect-account`. */
export function providerProblemPage(view: ProviderProblemView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { providers } = texts;
  const { title, text, help } = providers.problems[view.problem];
  const provider = named(view.provider);
  return {
    ...setting,
    title: texts.problemTitle(title),
    scripts: [COPY_SCRIPT],
    body: html`<header>
${operatorMark(setting.operator)}
<h1>${title}</h1>
</header>
${requestNumber(view.requestId, texts)}
<div role="alert" id="problem" tabindex="-1" autofocus>
<p>${text(provider)}${view.label === undefined ? '' : html` ${providers.label(named(view.label))}`}</p>
<p>${help(provider)}</p>
</div>
${copyScript()}
${view.connect === undefined ? '' : html`<a id="connect-account" class="button primary" href="${view.connect}">${providers.connectFirst}</a>`}
<a id="try-again" class="button${view.connect === undefined ? ' primary' : ' quiet'}" href="${view.back}">${providers.back}</a>`,
  };
}
