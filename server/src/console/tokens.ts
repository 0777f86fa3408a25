import { isJsonObject } from '@grantd/core/options';
import { html } from 'hono/html';
import type { AuditEventView } from '../admin/audit.ts';
import { InvalidInput } from '../admin/operation_refused.ts';
import type { ExplanationView } from '../admin/tokens.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import { type Html, icon } from '../texts/formats/html.ts';
import { EN, reasonIn, type Texts, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { saying } from './audit.ts';
import { causeOf } from './causes.ts';
import {
  type ConsoleView,
  consoleFrame,
  question,
  questionFrame,
  section,
  termList,
  urlOf,
} from './frame.ts';
import { clientCalled } from './names.ts';
import { type SentenceView, sentenceOf } from './sentences.ts';
import { type TokenListView, tokenList, tokenTable } from './token_list.ts';
import { familyPicture } from './token_picture.ts';
import { tokenActs } from './upkeep_acts.ts';
import { ago, codes, copied, fullMoment, termOf } from './values.ts';

/** Identifiers in events have at most so many characters. A whole token belongs into the form, not into a URL. */
const MAX_IDENTIFIER = 64;

/** `GET /console/tokens`: the form, and the tokens that were issued last. With `id`, the token with this identifier. */
export async function showTokens(visit: Visit): Promise<Response> {
  const { c, setting, view } = visit;
  const { id } = c.req.query();
  if (id === undefined) return renderPage(c, tokensPage({ ...view, list: await tokenList(visit) }, setting));
  if (id.length > MAX_IDENTIFIER) throw new InvalidInput('id', ['token_identifier']);
  return renderPage(c, explainedPage(await explain(visit, id), setting));
}

/** Milliseconds for which an explained token can be revoked without pasting it again. */
const SEALED_FOR_MS = 10 * 60 * 1000;

/**
 * `POST /console/tokens`: explains the token in `token`, asks whether to revoke it (`do=ask`), or revokes it
 * (`do=revoke`). After the first form, the browser has the token only sealed.
 */
export async function submitTokens(visit: Visit): Promise<Response> {
  const { c, call, setting, view, form } = visit;
  const does = form.get('do') ?? 'explain';
  const token = does === 'explain' ? (form.get('token') ?? '').trim() : await openToken(visit);
  if (token === undefined || token === '')
    return renderPage(
      c,
      tokensPage({ ...view, problem: does === 'explain' ? 'no_token' : 'expired' }, setting),
    );
  const revoked = does === 'revoke' ? (await call('revokeToken', { token })).revoked : undefined;
  const shown: ExplainedView = {
    ...(await explain(visit, token)),
    ...(revoked !== undefined && { notice: revoked ? 'token_revoked' : 'nothing_changed' }),
  };
  const draw = does === 'ask' && isRevocable(shown.explanation) ? revokeTokenPage : explainedPage;
  return renderPage(c, draw(shown, setting));
}

/** Explains a token, and seals it for the next form. */
export async function explain(visit: Visit, token: string): Promise<ExplainedView> {
  const {
    call,
    console: { tokens, pages },
    session,
    view,
  } = visit;
  const sealed = await tokens.seal({ token, sessionId: session.id, atMs: pages.clock() });
  const explanation = await call('explainToken', { token, find_end: true, find_descendants: true });
  const { ended_by: end } = explanation;
  const named = await saying(visit, end === undefined ? [] : [end]);
  const client = clientOf(explanation);
  const shown = client === undefined ? {} : { clientName: await clientCalled(visit, client) };
  return { ...view, ...named, ...shown, current: 'tokens', explanation, sealed };
}

async function openToken({ console: { tokens, pages }, form, session }: Visit): Promise<string | undefined> {
  const opened = await tokens.open(form.get('sealed') ?? '');
  if (!isJsonObject(opened)) return undefined;
  const { token, sessionId, atMs } = opened;
  const isCurrent = typeof atMs === 'number' && atMs + SEALED_FOR_MS > pages.clock();
  return isCurrent && sessionId === session.id && typeof token === 'string' ? token : undefined;
}

function isRevocable({ active, record, unused_until: unusedUntil }: ExplanationView): boolean {
  return active && (record ?? unusedUntil) !== undefined;
}

function subjectOf({ record, claims }: ExplanationView): string | undefined {
  return record?.sub ?? (record === undefined && typeof claims?.sub === 'string' ? claims.sub : undefined);
}

function clientOf({ record, claims }: ExplanationView): string | undefined {
  return record?.client_id ?? (typeof claims?.aud === 'string' ? claims.aud : undefined);
}

interface TokensView extends ConsoleView {
  readonly problem?: 'no_token' | 'expired';
  /** Absent if the form has a problem. */
  readonly list?: TokenListView;
}

/** `/console/tokens`: fields `token`, button `explain`. */
export function tokensPage(view: TokensView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  return consoleFrame(view, setting, {
    title: words.pages.tokens,
    lead: words.tokensText,
    isProblem: view.problem !== undefined,
    ...(view.problem !== undefined && { status: 400 }),
    body: html`${tokenForm(view, texts)}
${view.list === undefined ? '' : tokenTable(view.list, view, texts)}${tokenActs(view, texts)}`,
  });
}

function tokenForm(view: TokensView, { console: words }: Texts): Html {
  const { problem } = view;
  const invalid = problem === undefined ? '' : html` aria-describedby="problem" aria-invalid="true"`;
  return html`<form method="post" action="${view.base}/tokens">
<input type="hidden" name="form_token" value="${view.formToken}">
${problem === undefined ? '' : html`<p role="alert" id="problem" class="problem">${icon('alert')}<span>${words.tokenProblems[problem]}</span></p>\n`}<label for="token">${words.token}</label>
<textarea id="token" name="token" rows="5" autocomplete="off" autocapitalize="none" spellcheck="false" required${invalid}></textarea>
<button id="explain" type="submit" class="primary" name="do" value="explain">${words.explain}</button>
</form>`;
}

export interface ExplainedView extends ConsoleView, SentenceView {
  readonly base: string;
  readonly explanation: ExplanationView;
  /** What titles call the client. */
  readonly clientName?: string;
  /** The token, sealed for the next form. */
  readonly sealed: string;
}

/** The answer about a token: button `revoke`, and the form for the next token. */
export function explainedPage(view: ExplainedView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { explanation } = view;
  const picture = familyPicture(explanation, texts);
  return consoleFrame(view, setting, {
    title: words.kinds[explanation.kind],
    body: html`${section('answer', words.answer, termList(rowsOf(view, texts)))}${
      picture === undefined ? '' : section('family', words.family, picture)
    }${
      isRevocable(explanation)
        ? html`<form method="post" action="${view.base}/tokens">
<input type="hidden" name="form_token" value="${view.formToken}">
<input type="hidden" name="sealed" value="${view.sealed}">
<button id="revoke" type="submit" class="ending" name="do" value="ask">${words.revokeToken}</button>
</form>`
        : ''
    }
${section('another', words.anotherToken, tokenForm(view, texts))}`,
  });
}

function rowsOf(view: ExplainedView, texts: Texts) {
  const { base, explanation } = view;
  const { console: words } = texts;
  const { active, reason, since, record, claims, user, ended_by: end } = explanation;
  const subject = subjectOf(explanation);
  const client = clientOf(explanation);
  const audience = [claims?.aud ?? record?.resources ?? []].flat().map(String);
  const id = (value: string | undefined) => (value === undefined ? undefined : copied(value, texts));
  return [
    [
      termOf('active', words.state),
      active
        ? html`<span class="badge good">${words.active}</span>`
        : html`<span class="badge bad">${words.inactive}</span>`,
    ],
    [
      termOf('reason', words.because),
      reason === undefined ? undefined : reasonShown(explanation, reason, texts),
    ],
    [termOf('since', words.since), fullMoment(since, view.nowMs, texts)],
    [words.endedBy, end === undefined ? undefined : endRow(end, view, texts)],
    [
      termOf('client_id', words.client),
      client === undefined
        ? undefined
        : html`<a href="${urlOf(base, 'clients', { id: client })}"><bdi>${view.clientName ?? client}</bdi></a>`,
    ],
    [
      termOf('sub', words.user),
      subject === undefined
        ? undefined
        : html`<a href="${urlOf(base, 'users', { sub: subject })}"><bdi>${user ?? subject}</bdi></a>`,
    ],
    [words.kinds.assertion, codes(signerOf(explanation))],
    [termOf('scopes', words.scopes), codes(record?.scopes ?? [])],
    [termOf(claims?.aud === undefined ? 'resources' : 'aud', words.audience), codes(audience)],
    [termOf('issued_at', words.issued), fullMoment(record?.issued_at, view.nowMs, texts)],
    [termOf('expires_at', words.expires), fullMoment(expiryOf(explanation), view.nowMs, texts)],
    [termOf('id', words.identifier), id(record?.id)],
    [termOf('grant_id', words.grant), id(record?.grant_id)],
    [termOf('session_id', words.session), id(record?.session_id)],
    [words.ancestors, relatedRow(explanation.ancestors, base, texts)],
    [words.descendants, relatedRow(explanation.descendants, base, texts)],
  ] as const;
}

/** Tokens before or after this one in a chain of exchanges. */
function relatedRow(tokens: ExplanationView['ancestors'], base: string, { console: words }: Texts) {
  const rows = tokens?.map(({ id, kind, client_id: client, active, reason, ...token }) => {
    const link =
      client && html` (<a href="${urlOf(base, 'clients', { id: client })}"><bdi>${client}</bdi></a>)`;
    const why = reason && html` <code>${reason}</code>`;
    return html`<div>${words.kinds[kind]} ${codes(signerOf(token)) ?? html`<code>${id}</code>`}${link ?? ''}: ${active ? words.active : words.inactive}${why ?? ''}</div>`;
  });
  return rows && html`${rows}`;
}

/** Issuer and subject of an assertion. Empty for tokens. */
function signerOf({ issuer, issuer_sub: sub }: Partial<ExplanationView>): readonly string[] {
  return issuer === undefined || sub === undefined ? [] : [issuer, sub];
}

/** Who ended it, and when. Links `end` to the event, and `end-request` to all events of the request. */
function endRow(event: AuditEventView, view: SentenceView, texts: Texts): Html {
  const { audit } = texts.console;
  const { number, request_id: request } = event;
  const ofRequest =
    request === undefined
      ? ''
      : html`, <a id="end-request" href="${urlOf(view.base, 'audit', { request })}">${audit.sameRequest}</a>`;
  return html`${sentenceOf(event, view, texts)}, ${ago(event.at, view.nowMs, texts)}
(<a id="end" href="${urlOf(view.base, 'audit', { event: String(number) })}">${audit.number(String(number))}</a>${ofRequest})`;
}

/** A reason in words, with its code. If the event that ended the token is known, its cause. */
function reasonShown({ explanation: why, ...token }: ExplanationView, code: string, texts: Texts): Html {
  const { ended_by: end, ended_by_ancestor: ancestor, record } = token;
  const cause = end && ancestor === undefined ? causeOf(end, end.target === record?.id) : undefined;
  const known =
    cause !== undefined
      ? texts.console.causes[cause]
      : code === 'no_record' && why === reasonIn(EN, code)
        ? texts.console.noRecord
        : texts.language === 'en' && why !== undefined
          ? why
          : reasonIn(texts, code);
  return html`${known} <code>${code}</code>`;
}

function expiryOf({ record, claims, unused_until: unusedUntil }: ExplanationView): string | undefined {
  if (record !== undefined) return record.expires_at;
  if (unusedUntil !== undefined) return unusedUntil;
  return typeof claims?.exp === 'number' ? new Date(claims.exp * 1000).toISOString() : undefined;
}

/** The question before a revocation: button `console-yes`, link `console-no`. */
export function revokeTokenPage(view: ExplainedView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { explanation } = view;
  const isRefresh = explanation.kind === 'refresh_token';
  return questionFrame(setting, {
    title: words.revokeTokenTitle(
      view.clientName ?? clientOf(explanation),
      explanation.user ?? subjectOf(explanation),
    ),
    body: html`<p>${isRefresh ? words.revokeRefreshText : words.revokeTokenText}</p>
${question(
  view,
  {
    action: `${view.base}/tokens`,
    does: 'revoke',
    fields: { sealed: view.sealed },
    yes: words.revokeToken,
    back: urlOf(view.base, 'tokens'),
  },
  texts,
)}`,
  });
}
