import { html } from 'hono/html';
import type { KeyView } from '../admin/keys.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import { icon } from '../texts/formats/html.ts';
import { type Texts, textsIn } from '../texts/texts.ts';
import { perform, type Visit } from './access.ts';
import {
  actionForm,
  type ConsoleView,
  consoleFrame,
  partLinks,
  question,
  questionFrame,
  section,
  urlOf,
} from './frame.ts';
import { type Cell, chosen, dataTable } from './lists.ts';
import { copied, moment } from './values.ts';

/** `GET /console/keys`: the signing keys. With `ask`, the question before the rotation of an algorithm, or of `all`. */
export async function showKeys(visit: Visit): Promise<Response> {
  const { c, call, setting, view } = visit;
  const { items: keys } = await call('listKeys', {});
  const { ask } = c.req.query();
  const state = chosen(visit, 'state', ['current', 'next', 'retired']);
  const concerned = keys.filter(({ algorithm }) => ask === 'all' || ask === algorithm);
  const signing = concerned.filter(({ status }) => status === 'current');
  if (ask === undefined || signing.length === 0)
    return renderPage(c, keysPage({ ...view, keys, ...state }, setting));
  const waitsMs = concerned.map(({ known_at: knownAt }) =>
    knownAt === undefined ? 0 : Date.parse(knownAt) - view.nowMs,
  );
  const waitSeconds = Math.ceil(Math.max(0, ...waitsMs) / 1000);
  return renderPage(c, rotatePage({ ...view, rotated: ask, keys: signing, waitSeconds }, setting));
}

/**
 * `POST /console/keys`: rotates the keys in `keys`, which the question has shown. A form that is sent twice, or after
 * another rotation, rotates nothing.
 */
export async function submitKeys(visit: Visit): Promise<Response> {
  const { call, form, view } = visit;
  return perform(
    visit,
    {
      async rotate() {
        await call('rotateKeys', {
          from: (form.get('keys') ?? '').split(' '),
          now: form.get('now') === 'yes',
        });
        return 'keys_rotated';
      },
    },
    urlOf(view.base, 'keys'),
  );
}

function idsOf(keys: readonly KeyView[]): string {
  return keys.map(({ kid }) => kid).join(' ');
}

export interface KeysView extends ConsoleView {
  /** In the order of the operation. */
  readonly keys: readonly KeyView[];
  /** Shows only keys in this state. */
  readonly state?: KeyView['status'];
}

/** `/console/keys`: the table, links that filter it by `state`, and links `ask-all` and `ask-ALGORITHM`. */
export function keysPage(view: KeysView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, keys, state: chosen } = view;
  const algorithms = [...new Set(keys.map(({ algorithm }) => algorithm))].toSorted();
  const ask = (rotated: string) =>
    html`<a id="ask-${rotated}" class="button" href="${urlOf(base, 'keys', { ask: rotated })}">${rotated === 'all' ? words.rotateAll : words.rotateOne(rotated)}</a>\n`;
  const shown = keys.filter(({ status }) => chosen === undefined || status === chosen);
  const states = [[undefined, words.filters.all], ...Object.entries(words.keyStatus)] as const;
  return consoleFrame(view, setting, {
    title: words.pages.keys,
    lead: words.keysText,
    body: html`${partLinks(
      words.shortcuts,
      states.map(([state, title]) => ({
        ...{ title, url: urlOf(base, 'keys', { state }) },
        isCurrent: state === chosen,
      })),
    )}
${
  keys.length === 0
    ? html`<p class="empty">${words.firstKey}</p>`
    : shown.length === 0
      ? html`<p class="empty">${words.none}</p>`
      : dataTable(
          {
            name: words.pages.keys,
            heads: Object.entries(words.keyColumns).map(([name, title]) => ({
              title,
              ...(['algorithm', 'created'].includes(name) && { size: 'small' }),
            })),
            rows: shown.map((key) => ({ cells: cellsOf(key, view, texts) })),
          },
          texts,
        )
}
${section('actions', words.actions, actionForm(view, {}, [ask('all'), ...algorithms.map(ask)]))}`,
  });
}

/** One for each of `keyColumns`. */
function cellsOf(key: KeyView, { keys, nowMs }: KeysView, texts: Texts): readonly Cell[] {
  const { keyStatus, keyHealths, keyChanges } = texts.console;
  const { kid, algorithm, status, created_at: createdAt, known_at: knownAt = createdAt } = key;
  const isKnown = Date.parse(knownAt) <= nowMs;
  const hasNext = keys.some((one) => one.algorithm === algorithm && one.status === 'next');
  const health = status === 'current' && !hasNext ? 'no_next' : isKnown ? 'good' : 'unknown';
  return [
    copied(kid, texts),
    algorithm,
    html`<span class="badge${status === 'current' ? ' good' : ''}">${keyStatus[status]}</span>`,
    moment(createdAt, nowMs, texts),
    status === 'next' && !isKnown ? keyChanges.known(moment(knownAt, nowMs, texts)) : keyChanges[status],
    html`<span class="badge${{ good: ' good', no_next: ' bad', unknown: '' }[health]}">${keyHealths[health]}</span>`,
  ];
}

interface RotateView extends ConsoleView {
  /** An algorithm, or `all`. */
  readonly rotated: string;
  /** The keys that stop to sign. */
  readonly keys: readonly KeyView[];
  /** Seconds until all clients know the next keys. */
  readonly waitSeconds: number;
}

/** The question before a rotation: button `console-yes`, link `console-no`. */
export function rotatePage(view: RotateView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const { base, rotated, keys, waitSeconds } = view;
  const isEarly = waitSeconds > 0;
  return questionFrame(setting, {
    title: rotated === 'all' ? words.rotateAllTitle : words.rotateOneTitle(rotated),
    body: html`<p>${words.rotateText}</p>
<ul class="rows" role="list">
${keys.map(({ kid, algorithm }) => html`<li>${algorithm}<p class="detail"><code>${kid}</code></p></li>\n`)}</ul>
${isEarly ? html`<p class="caution" id="early">${icon('alert')}<span>${words.rotateEarly(texts.formats.duration(waitSeconds))}</span></p>\n` : ''}${question(
  view,
  {
    ...{ action: urlOf(base, 'keys'), does: 'rotate', back: urlOf(base, 'keys') },
    fields: { keys: idsOf(keys), ...(isEarly && { now: 'yes' }) },
    yes: isEarly ? words.rotateNow : words.rotate,
    canUndo: true,
  },
  texts,
)}`,
  });
}
