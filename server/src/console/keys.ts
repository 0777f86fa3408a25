import type { SigningAlgorithm } from '@grantd/core';
import { html } from 'hono/html';
import type { KeyView } from '../admin/keys.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import { type Html, icon } from '../texts/formats/html.ts';
import { type Texts, textsIn } from '../texts/texts.ts';
import { perform, type Visit } from './access.ts';
import {
  actionForm,
  askLink,
  type ConsoleView,
  consoleFrame,
  question,
  questionFrame,
  section,
  timeOf,
  urlOf,
} from './frame.ts';

/** `GET /console/keys`: the signing keys. With `ask`, the question before the rotation of an algorithm, or of `all`. */
export async function showKeys({ c, call, console: { pages }, setting, view }: Visit): Promise<Response> {
  const { items: keys } = await call('listKeys', {});
  const { ask } = c.req.query();
  const nowMs = pages.clock();
  const concerned = keys.filter(({ algorithm }) => ask === 'all' || ask === algorithm);
  const signing = concerned.filter(({ status }) => status === 'current');
  if (ask === undefined || signing.length === 0)
    return renderPage(c, keysPage({ ...view, keys, nowMs }, setting));
  const waitsMs = concerned.map(({ known_at: knownAt }) =>
    knownAt === undefined ? 0 : Date.parse(knownAt) - nowMs,
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
  readonly nowMs: number;
}

/** `/console/keys`: links `ask-all` and `ask-ALGORITHM`. */
export function keysPage(view: KeysView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words } = texts;
  const algorithms = [...new Set(view.keys.map(({ algorithm }) => algorithm))].toSorted();
  const ask = (rotated: string) =>
    askLink(
      urlOf(view.base, 'keys', { ask: rotated }),
      rotated,
      rotated === 'all' ? words.rotateAll : words.rotateOne(rotated),
    );
  return consoleFrame(view, setting, {
    title: words.pages.keys,
    lead: words.keysText,
    body: html`${algorithms.map((algorithm) => section(`keys-${algorithm}`, algorithm, keysOf(view, algorithm, texts)))}${section(
      'actions',
      words.actions,
      actionForm(view, {}, [ask('all'), ...algorithms.map(ask)]),
    )}`,
  });
}

function keysOf({ keys, nowMs }: KeysView, algorithm: SigningAlgorithm, texts: Texts): Html {
  const own = keys.filter((key) => key.algorithm === algorithm);
  return html`<ul class="rows" role="list">
${own.map((key) => keyRow(key, nowMs, texts))}</ul>`;
}

function keyRow({ kid, status, ...key }: KeyView, nowMs: number, texts: Texts): Html {
  const { console: words, formats } = texts;
  const createdAtMs = Date.parse(key.created_at);
  const age = html`<time datetime="${new Date(createdAtMs).toISOString()}" title="${formats.instant(createdAtMs)}">${formats.past(createdAtMs, nowMs)}</time>`;
  return html`<li><span class="badge${status === 'current' ? ' good' : ''}">${words.keyStatus[status]}</span>
<p><code>${kid}</code></p>
<p class="detail"><span>${words.created(age)}</span>${key.retired_at === undefined ? '' : html` <span>${words.retired(timeOf(key.retired_at, texts) ?? html``)}</span>`}</p></li>\n`;
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
  },
  texts,
)}`,
  });
}
