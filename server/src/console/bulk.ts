import { html } from 'hono/html';
import { MAX_LIMIT } from '../admin/operation.ts';
import { InvalidInput, OperationRefused } from '../admin/operation_refused.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import { type Texts, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { actNamed, type BulkList } from './bulk_acts.ts';
import { type ConsoleView, consoleFrame, hiddenFields, questionFrame, urlOf } from './frame.ts';
import { dataTable, thingUrl } from './lists.ts';

type ActName = keyof Texts['console']['bulk']['acts'];

interface Picked {
  readonly key: string;
  readonly name: string;
}

/** The question before a change of everything in `picked`. */
export async function askBulk(visit: Visit, list: BulkList): Promise<Response> {
  const { c, call, setting, view } = visit;
  const { do: does } = c.req.query();
  const keys = (c.req.queries('picked') ?? []).slice(0, MAX_LIMIT);
  if (actNamed(list, does) === undefined || keys.length === 0) return c.redirect(urlOf(view.base, list), 303);
  const picked = await Promise.all(keys.map(async (key) => ({ key, name: await nameOf(visit, list, key) })));
  const groups = does === 'join' ? (await call('listGroups', { limit: MAX_LIMIT })).items : [];
  const shown = { list, does: does as ActName, picked, groups: groups.map(({ name }) => name) };
  return renderPage(c, askBulkPage({ ...view, ...shown }, setting));
}

/** Does it to one after another, and says what became of each. */
export async function performBulk(visit: Visit, list: BulkList): Promise<Response> {
  const { c, form, setting, view } = visit;
  const does = form.get('act') ?? '';
  const act = actNamed(list, does);
  if (act === undefined) return c.redirect(urlOf(view.base, list), 303);
  const outcomes: Outcome[] = [];
  for (const key of form.getAll('picked').slice(0, MAX_LIMIT)) {
    const name = await nameOf(visit, list, key);
    const problem = await problemOf(() => act(visit, key));
    outcomes.push({ key, name, ...(problem !== undefined && { problem }) });
  }
  return renderPage(c, bulkPage({ ...view, list, does: does as ActName, outcomes }, setting));
}

async function nameOf({ call }: Visit, list: BulkList, key: string): Promise<string> {
  if (list === 'clients') return key;
  let name = key;
  await problemOf(async () => {
    name = (await call('getUser', { sub: key })).username;
  });
  return name;
}

/** @returns why the operation was refused, if it was */
async function problemOf(work: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof OperationRefused) return error.problem;
    if (error instanceof InvalidInput) return error.message;
    throw error;
  }
}

export interface AskBulkView extends ConsoleView {
  readonly list: BulkList;
  readonly does: ActName;
  readonly picked: readonly Picked[];
  /** To choose from, if the change needs one. */
  readonly groups: readonly string[];
}

/** The question before a change of several: field `group`, button `console-yes`, link `console-no`. */
export function askBulkPage(view: AskBulkView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words, formats } = texts;
  const { base, list, does, picked, groups } = view;
  const what = words.countOf[list](picked.length, formats.number(picked.length));
  return questionFrame(setting, {
    title: words.bulk.titles[does](what),
    body: html`<p>${words.bulk.texts[does]}</p>
<ul class="bullets">
${picked.map(({ name }) => html`<li><bdi>${name}</bdi></li>\n`)}</ul>
<form method="post" action="${urlOf(base, list)}">
${hiddenFields(view, { act: does })}${picked.map(({ key }) => html`<input type="hidden" name="picked" value="${key}">\n`)}${
  does === 'join'
    ? html`<label for="group">${words.group}</label>
<select id="group" name="group">${groups.map((name) => html`<option value="${name}">${name}</option>\n`)}</select>
`
    : ''
}<div class="answers">
<button id="console-yes" type="submit" class="primary" name="do" value="bulk">${words.bulk.acts[does]}</button>
<a id="console-no" href="${urlOf(base, list)}">${words.no}</a>
</div>
</form>`,
  });
}

interface Outcome extends Picked {
  /** Why it was refused, in English, as the command line says it. */
  readonly problem?: string;
}

export interface BulkView extends ConsoleView {
  readonly list: BulkList;
  readonly does: ActName;
  readonly outcomes: readonly Outcome[];
}

/** What became of each. */
export function bulkPage(view: BulkView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words, formats } = texts;
  const { base, list, does, outcomes } = view;
  const done = outcomes.filter(({ problem }) => problem === undefined).length;
  return consoleFrame(view, setting, {
    title: words.bulk.acts[does],
    lead: words.bulk.done(formats.number(done), formats.number(outcomes.length)),
    body: html`${dataTable(
      {
        name: words.bulk.outcome,
        heads: [{ title: words.pages[list] }, { title: words.bulk.outcome }],
        rows: outcomes.map(({ key, name, problem }) => ({
          cells: [
            html`<a href="${thingUrl(base, list, key)}"><bdi>${name}</bdi></a>`,
            problem === undefined
              ? html`<span class="badge good">${words.bulk.succeeded}</span>`
              : html`<span class="badge bad">${words.bulk.refused}</span> <span lang="en"><bdi>${problem}</bdi></span>`,
          ],
        })),
      },
      texts,
    )}
<p class="actions"><a href="${urlOf(base, list)}">${words.pages[list]}</a></p>`,
  });
}
