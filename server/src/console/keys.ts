import type { SigningAlgorithm } from '@grantd/core';
import { html } from 'hono/html';
import { type KeyView, listKeys, secondsUntilRotation } from '../admin/keys.ts';
import { OperationRefused } from '../admin/operation_refused.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import type { Texts } from '../texts/en.ts';
import { type Html, icon } from '../texts/html.ts';
import { textsIn } from '../texts/texts.ts';
import { perform, type Visit } from './access.ts';
import {
  actionForm,
  askLink,
  type ConsoleView,
  consoleFrame,
  question,
  section,
  timeOf,
  urlOf,
} from './frame.ts';

/** `GET /console/keys`: the signing keys. With `ask`, the question before the rotation of an algorithm, or of `all`. */
export async function showKeys({ c, parts, setting, view }: Visit): Promise<Response> {
  const keys = await listKeys(parts);
  const { ask } = c.req.query();
  const asked = current(keys).filter(({ algorithm }) => ask === 'all' || ask === algorithm);
  if (ask === undefined || asked.length === 0)
    return renderPage(c, keysPage({ ...view, keys, nowMs: parts.clock() }, setting));
  const waitSeconds = await secondsUntilRotation(parts, ask === 'all' ? undefined : asked[0]?.algorithm);
  return renderPage(c, rotatePage({ ...view, rotated: ask, keys: asked, waitSeconds }, setting));
}

function current(keys: readonly KeyView[]): readonly KeyView[] {
  return keys.filter(({ status }) => status === 'current');
}

/**
 * `POST /console/keys`: rotates the keys in `keys`, which the question has shown. So a form that is sent twice, or after
 * someone else’s rotation, rotates nothing.
 */
export async function submitKeys(visit: Visit): Promise<Response> {
  const { call, parts, form, view } = visit;
  return perform(
    visit,
    {
      async rotate() {
        const all = current(await listKeys(parts));
        const rotated = form.get('rotated');
        const wanted = all.filter(({ algorithm }) => rotated === 'all' || rotated === algorithm);
        if (wanted.length === 0 || form.get('keys') !== idsOf(wanted))
          throw new OperationRefused('changed', 'other keys sign now');
        const algorithm = rotated === 'all' ? undefined : wanted[0]?.algorithm;
        const from = wanted.map(({ kid }) => kid);
        const order = { ...(algorithm !== undefined && { algorithm }), from, now: form.get('now') === 'yes' };
        await call('rotateKeys', order);
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
  /** In the order of `listKeys`. */
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
  const retiredAtMs = key.retired_at === undefined ? undefined : Date.parse(key.retired_at);
  const age = html`<time datetime="${new Date(createdAtMs).toISOString()}" title="${formats.instant(createdAtMs)}">${formats.past(createdAtMs, nowMs)}</time>`;
  return html`<li><span class="badge${status === 'current' ? ' good' : ''}">${words.keyStatus[status]}</span>
<p><code>${kid}</code></p>
<p class="detail"><span>${words.created(age)}</span>${retiredAtMs === undefined ? '' : html` <span>${words.retired(timeOf(retiredAtMs, texts) ?? html``)}</span>`}</p></li>\n`;
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
  return consoleFrame(view, setting, {
    title: rotated === 'all' ? words.rotateAllTitle : words.rotateOneTitle(rotated),
    body: html`<p>${words.rotateText}</p>
<ul class="rows" role="list">
${keys.map(({ kid, algorithm }) => html`<li>${algorithm}<p class="detail"><code>${kid}</code></p></li>\n`)}</ul>
${isEarly ? html`<p class="caution" id="early">${icon('alert')}<span>${words.rotateEarly(texts.formats.duration(waitSeconds))}</span></p>\n` : ''}${question(
  view,
  {
    ...{ action: urlOf(base, 'keys'), does: 'rotate', back: urlOf(base, 'keys') },
    fields: { rotated, keys: idsOf(keys), ...(isEarly && { now: 'yes' }) },
    yes: isEarly ? words.rotateNow : words.rotate,
  },
  texts,
)}`,
  });
}
