// `/account/tokens`: users make, see and end their personal access tokens (ADR 194).
import type { IssuingClientRepository } from '@grantd/core';
import type { ScopeTexts } from '../../data/consents.ts';
import type { RequestLog } from '../../log/log.ts';
import type { MissingSteps } from '../../people/missing_steps.ts';
import type { OfferedApi, OwnTokens, TokenRefusal } from '../../people/personal_tokens.ts';
import { type PageContext, requestIdOf } from '../browser/request.ts';
import type { BrowserSession } from '../browser/sessions.ts';
import { ScopeGlossary } from '../drawing/application_shown.ts';
import { renderPage } from '../drawing/layout.ts';
import { accountView, buttonValue, type FrameNeeds } from './frame.ts';
import {
  endTokenPage,
  type ScopeOffered,
  type TokenFormShown,
  type TokenShown,
  type TokensView,
  tokensPage,
} from './tokens_page.ts';

export interface TokensNeeds extends FrameNeeds {
  readonly missing: MissingSteps;
  readonly clients: Pick<IssuingClientRepository, 'get'>;
  readonly scopeTexts: Pick<ScopeTexts, 'list'>;
  readonly requestLog: RequestLog;
  readonly clock: () => number;
}

interface Needs extends TokensNeeds {
  readonly ownTokens: OwnTokens;
}

/** What a user has typed into the form, and why it was refused. */
interface Refused {
  readonly problem: TokenRefusal;
  readonly form: URLSearchParams;
}

/** `GET /account/tokens`. With `end`, asks whether to end that token; `api` chooses the API of a new one. */
export function showTokens(needs: Needs) {
  return async (c: PageContext): Promise<Response> => {
    const session = await needs.visits.open(c, 'tokens');
    if (session instanceof Response) return session;
    const view = await viewOf(c, needs, session);
    const ending = view.tokens.find(({ id }) => id === c.req.query('end'));
    const setting = needs.drawing.setting(c);
    return renderPage(
      c,
      ending === undefined ? tokensPage(view, setting) : endTokenPage({ ...view, ending }, setting),
    );
  };
}

/** `POST /account/tokens`: makes a token, or what the button says. */
export function submitTokens(needs: Needs) {
  // Ending one is as free as signing a browser out.
  const changed = (form: URLSearchParams) =>
    buttonValue(form, 'end_token') === null ? ('personal_token' as const) : undefined;
  return needs.visits.form('tokens', changed, async (c, session, form) => {
    const { ownTokens, visits } = needs;
    const { subject } = session.person;
    const ended = buttonValue(form, 'end_token');
    if (ended !== null) {
      const token = await ownTokens.end(subject, ended);
      if (token !== undefined) report(c, needs, session, 'personal_token_ended');
      return visits.show(c, session, 'tokens', {
        done: token === undefined ? 'nothing_to_end' : 'token_ended',
      });
    }
    const saved = buttonValue(form, 'saved');
    if (saved !== null) {
      await ownTokens.saved(subject, saved);
      return visits.show(c, session, 'tokens', { done: 'token_saved' });
    }
    const outcome = await ownTokens.make(session.person, {
      name: form.get('name') ?? '',
      resource: form.get('api') ?? '',
      scopes: form.getAll('scope'),
      lifetime: wholeNumberIn(form.get('lifetime')),
      binding: form.get('binding') ?? '',
      language: needs.drawing.setting(c).language,
    });
    if ('refused' in outcome) {
      const { refused: problem } = outcome;
      const event = { type: 'refused', page: 'account', requestId: requestIdOf(c) } as const;
      needs.requestLog.pageEvent({ ...event, reason: 'token_refused', subject, sessionId: session.id });
      const view = await viewOf(c, needs, session, { problem, form });
      return renderPage(c, { ...tokensPage(view, needs.drawing.setting(c)), status: STATUS[problem] ?? 400 });
    }
    report(c, needs, session, 'personal_token_made');
    // The value is never in an answer to a form, which could be lost.
    return c.redirect(`${needs.drawing.basePath}/account/tokens`, 303);
  });
}

const STATUS: Readonly<Partial<Record<TokenRefusal, 403 | 409>>> = {
  not_allowed: 403,
  too_many_tokens: 409,
};

function wholeNumberIn(text: string | null): number {
  return text !== null && /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
}

function report(
  c: PageContext,
  { requestLog }: Needs,
  { id: sessionId, person: { subject } }: BrowserSession,
  type: 'personal_token_made' | 'personal_token_ended',
): void {
  requestLog.pageEvent({ type, page: 'account', requestId: requestIdOf(c), subject, sessionId });
}

async function viewOf(
  c: PageContext,
  needs: Needs,
  session: BrowserSession,
  refused?: Refused,
): Promise<TokensView> {
  const { ownTokens, clients, drawing, missing } = needs;
  const { person } = session;
  const { language } = drawing.setting(c);
  const [frame, tokens, offered, owed] = await Promise.all([
    accountView(c, needs, session, 'tokens'),
    ownTokens.of(person.subject),
    ownTokens.offered(),
    missing.ofChange(session, 'personal_token'),
  ]);
  const mayMake = owed === undefined;
  const unsaved = await ownTokens.unsaved(person.subject);
  const scopes = [...tokens, ...offered].flatMap((item) => item.scopes);
  const glossary = await ScopeGlossary.open(
    { ...needs, basePath: drawing.basePath },
    new Set(scopes),
    language,
  );
  const scopesOf = ({ resource, scopes: names }: Pick<OfferedApi, 'resource' | 'scopes'>) =>
    names.map((scope): ScopeOffered => {
      const { groups = [] } = glossary.shown({
        scopes: [scope],
        resources: [resource],
        claims: [],
        details: [],
      });
      return groups.flatMap((group) => group.scopes)[0] ?? { scope, title: scope };
    });
  const names = new Map(
    await Promise.all(
      offered.map(async ({ resource, clientId }) => {
        const { name } = drawing.application((await clients.get(clientId)) ?? { id: clientId }, language);
        return [resource, name === clientId ? resource : name] as const;
      }),
    ),
  );
  const apis = offered.map((api) => ({
    resource: api.resource,
    name: names.get(api.resource) ?? api.resource,
  }));
  const shown = tokens.map(
    ({ id, name, resource, createdAtMs, expiresAtMs, lastUsedMs, binding, ...token }): TokenShown => {
      const value = mayMake ? unsaved.get(id) : undefined;
      return {
        ...{ id, name, createdAtMs, expiresAtMs, lastUsedMs, isBound: binding !== undefined },
        ...{ api: names.get(resource) ?? resource, scopes: scopesOf({ resource, ...token }) },
        ...(value !== undefined && { value }),
      };
    },
  );
  const wanted = refused?.form.get('api') ?? c.req.query('api');
  const api = offered.length === 1 ? offered[0] : offered.find(({ resource }) => resource === wanted);
  const { policy } = ownTokens;
  const form: TokenFormShown | undefined = api && {
    resource: api.resource,
    api: names.get(api.resource) ?? api.resource,
    scopes: scopesOf(api),
    lifetimes: lifetimesUpTo(policy.lifetime),
    binding: policy.binding,
    typed: {
      name: refused?.form.get('name') ?? '',
      scopes: refused?.form.getAll('scope') ?? [],
      lifetime: wholeNumberIn(refused?.form.get('lifetime') ?? null),
      binding: refused?.form.get('binding') ?? '',
    },
  };
  return {
    ...frame,
    ...{ tokens: shown, apis, mayMake, hasUnsaved: tokens.some(({ id }) => unsaved.has(id)) },
    isAdmitted: ownTokens.admits(person),
    isFull: tokens.length >= policy.limit,
    ...(form !== undefined && { form }),
    ...(refused !== undefined && { problem: refused.problem }),
    nowMs: needs.clock(),
  };
}

const DAY = 24 * 60 * 60;

/** Seconds. The longest is that of the policy, unless one of the others is nearly as long. */
function lifetimesUpTo(longest: number): readonly number[] {
  const usual = [7, 30, 90, 180, 365].map((days) => days * DAY).filter((seconds) => seconds <= longest);
  return longest - (usual.at(-1) ?? 0) > 2 * DAY || usual.length === 0 ? [...usual, longest] : usual;
}
