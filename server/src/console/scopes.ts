import { html } from 'hono/html';
import { optional } from '../admin/schema.ts';
import type { ScopeView } from '../admin/scopes.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import { DEFAULT_LANGUAGE, languages, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { type Acts, actLink } from './acts.ts';
import { type ConsoleView, consoleFrame, rowsOr, termList, urlOf } from './frame.ts';
import { type PageUrls, pageLinks, pagesAround, thingUrl, wishOf } from './lists.ts';
import { called, clientCalled } from './names.ts';
import { copied, memberRow } from './values.ts';

const OF_SCOPE = { scope: 'scope', api: 'api' };

const MAX_APIS = 200;

const otherLanguages = () => languages().filter((one) => one !== DEFAULT_LANGUAGE);

export const SCOPES: Acts = {
  page: 'scopes',
  async nameOf({ call }, { scope, api }) {
    if (scope === undefined) return '';
    const { texts } = await call('getScopeTexts', { scope, ...optional('api', api) });
    return called(scope, texts.name);
  },
  acts: {
    add: {
      operation: 'addScopeTexts',
      async form({ call }) {
        const { items, next_cursor: next } = await call('listClients', { limit: MAX_APIS, kind: 'operator' });
        const api = items.flatMap(({ client_id: id, resource }) => (resource === undefined ? [] : [id]));
        return {
          spec: {
            first: ['scope', 'api', 'texts.name', 'texts.description'],
            ...{ tags: otherLanguages(), labels: { scope: 'scope_name' }, required: ['texts.name'] },
            ...(next === undefined && { choices: { api } }),
          },
        };
      },
      done: 'scope_added',
      next: () => ({}),
    },
    edit: {
      operation: 'updateScopeTexts',
      of: OF_SCOPE,
      stored: 'getScopeTexts',
      shows: ({ texts }: ScopeView) => texts,
      form: async () => ({ spec: { first: ['name', 'description'], tags: otherLanguages() } }),
      done: 'scope_changed',
      next: () => ({}),
    },
    remove: {
      operation: 'removeScopeTexts',
      of: OF_SCOPE,
      asks: true,
      names: async (visit, { api }) => (api === undefined ? '' : clientCalled(visit, api)),
      facts: async (visit, { api }, { labels }) => [
        [labels.api, api && html`<bdi>${await clientCalled(visit, api)}</bdi>`],
      ],
      done: 'scope_removed',
      next: () => ({}),
    },
  },
};

/** `GET /console/scopes`: the scopes with texts; with `ask` a form or question. */
export async function showScopes(visit: Visit): Promise<Response> {
  const { c, call, setting, view } = visit;
  const { search: _, ...wish } = wishOf(visit);
  const page = await call('listScopeTexts', wish);
  const pages = pagesAround(page, (cursor) => urlOf(view.base, 'scopes', { cursor }));
  return renderPage(c, scopesPage({ ...view, scopes: page.items, pages }, setting));
}

export interface ScopesView extends ConsoleView {
  readonly scopes: readonly ScopeView[];
  readonly pages: PageUrls;
}

/** `/console/scopes`: links `ask-add`, and for each scope `ask-edit-SCOPE` and `ask-remove-SCOPE`. */
export function scopesPage({ scopes, pages, ...view }: ScopesView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base } = view;
  return consoleFrame(view, setting, {
    title: words.pages.scopes,
    lead: words.scopesText,
    primary: actLink(SCOPES, 'add', base, {}, texts),
    body: html`${rowsOr(
      scopes.map(({ scope, api, texts: own }) => {
        const given = { scope, ...(api !== undefined && { api }) };
        const act = (name: string) =>
          actLink(SCOPES, name, base, given, texts, { id: `${scope} ${api ?? ''}`, unseen: scope });
        const rows = Object.entries(own).map(([name, text]) => memberRow(name, text, texts));
        return html`<li>${copied(scope, texts, html`<code>${scope}</code>`)}${api === undefined ? '' : html` <a href="${thingUrl(base, 'clients', api)}"><bdi>${api}</bdi></a>`}
${termList(rows)}
<p class="actions">${act('edit')}${act('remove')}</p></li>\n`;
      }),
      words.firstScope,
    )}
${pageLinks(pages, texts)}`,
  });
}
