// The tokens that were issued last. The audit trail finds them by its indexes, however many there are.
import { html } from 'hono/html';
import type { AuditEventView } from '../admin/audit.ts';
import type { ExplanationView } from '../admin/tokens.ts';
import type { Html } from '../texts/formats/html.ts';
import type { Texts } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { clientNamed } from './audit.ts';
import { type ConsoleView, section, urlOf } from './frame.ts';
import { bulkForm, type Cell, dataTable, type PageUrls, pageLinks, pagesAround, pickOf } from './lists.ts';
import { namesOf } from './names.ts';
import {
  clientLink,
  codes,
  copied,
  identifier,
  moment,
  type NamingView,
  reasonLine,
  userLink,
} from './values.ts';

/** Each has one or two tokens, and each token is a lookup. */
const ISSUANCES_PER_PAGE = 20;

interface ListedToken {
  readonly id: string;
  readonly issued: AuditEventView;
  readonly found: ExplanationView;
}

export interface TokenListView extends NamingView {
  readonly tokens: readonly ListedToken[];
  readonly wish: { readonly client: string; readonly user: string };
  readonly pages: PageUrls;
}

/** The newest tokens first, of the client and user that the URL names. */
export async function tokenList(visit: Visit): Promise<TokenListView> {
  const { c, call, console: parts, session, view } = visit;
  const { client = '', user = '', cursor = '' } = c.req.query();
  const page = await call('listAudit', {
    ...{ type: 'token_issued', limit: ISSUANCES_PER_PAGE, ...(cursor !== '' && { cursor }) },
    ...(client !== '' && { client_id: await clientNamed(visit, client) }),
    ...(user !== '' && { subject: user }),
  });
  const tokens = await Promise.all(
    page.items.flatMap((issued) =>
      issued.target
        .split(' ')
        .map(async (id) => ({ id, issued, found: await call('explainToken', { token: id }) })),
    ),
  );
  const names = await namesOf(parts.partsOf(session.person.subject), {
    subjects: page.items.flatMap(({ subject = [] }) => subject),
    clientIds: page.items.flatMap(({ client_id: id = [] }) => id),
  });
  return {
    ...{ base: view.base, names, tokens, wish: { client, user } },
    pages: pagesAround(page, (to) => urlOf(view.base, 'tokens', { client, user, cursor: to })),
  };
}

/** Fields `client` and `user`, the table, and links `first`, `previous` and `next`. */
export function tokenTable(list: TokenListView, view: ConsoleView, texts: Texts): Html {
  const { console: words } = texts;
  const { base, tokens, wish, pages } = list;
  const { kind: _, ...columns } = words.tokenColumns;
  const isWhole = wish.client === '' && wish.user === '';
  const field = (name: 'client' | 'user') =>
    html`<div><label for="${name}">${words.audit.filters[name]}</label>
<input id="${name}" name="${name}" value="${wish[name]}" maxlength="300" autocomplete="off" autocapitalize="none" spellcheck="false"></div>\n`;
  const empty = isWhole
    ? html`<p role="status">${words.firstToken}</p><p><a href="${urlOf(base, 'clients')}">${words.pages.clients}</a></p>`
    : html`<p role="status">${pages.next === undefined ? words.nothingFound : words.nothingYet}</p><p><a id="all" href="${urlOf(base, 'tokens')}">${words.showAll}</a></p>`;
  return section(
    'issued',
    words.issuedTokens,
    html`<form method="get" action="${urlOf(base, 'tokens')}" role="search" class="filter" aria-label="${words.issuedTokens}">
${field('client')}${field('user')}<button id="search-submit" type="submit">${words.search}</button>
</form>
${
  tokens.length === 0
    ? html`<div class="empty">${empty}</div>`
    : bulkForm(
        view,
        'tokens',
        wish,
        dataTable(
          {
            name: words.issuedTokens,
            heads: Object.entries(columns).map(([name, title]) => ({
              title,
              ...(['issued', 'expires'].includes(name) && { size: 'small' }),
              ...(name === 'id' && { size: 'large' }),
            })),
            rows: tokens.map((token) => ({
              pick: pickOf({ key: token.id, name: token.id }, texts),
              cells: cellsOf(token, list, view.nowMs, texts),
            })),
          },
          texts,
        ),
        texts,
      )
}
${pageLinks(pages, texts)}`,
  );
}

const MAX_SCOPES_SHOWN = 4;

/** One for each of `tokenColumns`. The kind is below the identifier. */
function cellsOf({ id, issued, found }: ListedToken, list: TokenListView, nowMs: number, texts: Texts) {
  const { console: words } = texts;
  const { subject, client_id: clientId } = issued;
  const { active, kind, reason, record } = found;
  const { scopes = [] } = record ?? {};
  const link = html`<a href="${urlOf(list.base, 'tokens', { id })}">${identifier(id)}</a>`;
  return [
    html`${copied(id, texts, link)}${record && html`<p class="detail">${words.kinds[kind]}</p>`}`,
    clientId && clientLink(list, clientId),
    subject && userLink(list, subject),
    html`${codes(scopes.slice(0, MAX_SCOPES_SHOWN))}${scopes.length > MAX_SCOPES_SHOWN ? '…' : ''}`,
    moment(issued.at, nowMs, texts),
    moment(record?.expires_at, nowMs, texts),
    active
      ? html`<span class="badge good">${words.active}</span>`
      : html`<span class="badge bad">${words.inactive}</span>${reasonLine(reason ?? '', texts)}`,
  ] satisfies readonly Cell[];
}
