import { isJsonObject } from '@grantd/core/options';
import { html } from 'hono/html';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import type { Html } from '../texts/formats/html.ts';
import { type Texts, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { type ConsoleView, consoleFrame, type Row, section, termList, urlOf } from './frame.ts';
import { thingUrl } from './lists.ts';
import { copied, memberRow, termOf } from './values.ts';

/** `GET /console/issuers`: the trusted issuers of the server’s file, as this server has loaded them. */
export async function showIssuers({ c, console: { trusted }, setting, view }: Visit): Promise<Response> {
  return renderPage(c, issuersPage({ ...view, ...trusted }, setting));
}

export interface IssuersView extends ConsoleView {
  /** Absent without the option. */
  readonly issuers?: readonly (readonly [name: string, entry: Readonly<Record<string, unknown>>])[];
  readonly path?: string;
}

/** `/console/issuers`: link `end-subject`. */
export function issuersPage({ issuers, path, ...view }: IssuersView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const end = urlOf(view.base, 'tokens', { ask: 'revoke_trusted' });
  return consoleFrame(view, setting, {
    title: words.pages.issuers,
    lead: words.issuersText,
    ...(issuers !== undefined && {
      primary: html`<a id="end-subject" class="button ending" href="${end}">${words.acts.tokens.revoke_trusted.yes}</a>`,
    }),
    body:
      issuers === undefined
        ? html`<p class="empty">${words.noIssuers}</p>`
        : html`<p class="note">${words.issuersFile(html`<code>${path ?? ''}</code>`)}</p>
${issuers.map(([name, entry], at) => section(`issuer-${at + 1}`, name, issuerShown(entry, view.base, texts)))}`,
  });
}

function issuerShown(entry: Readonly<Record<string, unknown>>, base: string, texts: Texts): Html {
  const { console: words } = texts;
  const { issuer, kind, links, grants, clients, algorithms, reuse, max_lifetime: maxLifetime } = entry;
  const rows: readonly Row[] = [
    [
      termOf('issuer', words.issuer),
      typeof issuer === 'string' ? copied(issuer, texts, html`<code>${issuer}</code>`) : undefined,
    ],
    memberRow('kind', kind, texts, words.issuerKind),
    [words.keySource, keySourceOf(entry, words)],
    memberRow('links', links, texts, words.linkedProvider),
    memberRow('algorithms', algorithms, texts, words.algorithms),
    memberRow('reuse', reuse, texts, words.reuse),
    memberRow('max_lifetime', maxLifetime, texts, words.longestLifetime),
  ];
  return html`${termList(rows)}${mapping(words.authenticates, clients, base)}${mapping(words.grantsFor, grants, base)}`;
}

function keySourceOf(entry: Readonly<Record<string, unknown>>, { keySources }: Texts['console']): Html {
  const { jwks_file: file, jwks_uri: uri, jwks } = entry;
  if (typeof file === 'string') return html`${keySources.file} <code>${file}</code>`;
  if (typeof uri === 'string') return html`${keySources.uri} <code>${uri}</code>`;
  return html`${jwks === undefined ? keySources.discovery : keySources.here}`;
}

/** What a member says, with a link for each client that it names. */
function mapping(heading: string, value: unknown, base: string): Html | '' {
  if (value === undefined) return '';
  const entries = [value].flat().map((one): readonly [id: string, rest: unknown] => {
    if (!isJsonObject(one)) return ['', one];
    const { client, ...rest } = one;
    return [typeof client === 'string' ? client : '', rest];
  });
  return html`<h3 class="try">${heading}</h3>
<ul class="rows" role="list">
${entries.map(
  ([id, one]) =>
    html`<li>${id === '' ? '' : html`<a href="${thingUrl(base, 'clients', id)}"><bdi>${id}</bdi></a> `}<code>${JSON.stringify(one)}</code></li>\n`,
)}</ul>`;
}
