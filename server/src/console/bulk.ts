import { setImmediate as nextTurn } from 'node:timers/promises';
import { html } from 'hono/html';
import { MAX_LIMIT } from '../admin/operation.ts';
import { InvalidInput, OperationRefused } from '../admin/operation_refused.ts';
import { optional } from '../admin/schema.ts';
import { type WarningSaid, warningsIn } from '../admin/warning.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import type { Html } from '../texts/formats/html.ts';
import { type Texts, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { actNamed, type BulkList, type Change, performOrder, requirePossibleOrder } from './bulk_acts.ts';
import {
  type ConsoleView,
  consoleFrame,
  hiddenFields,
  questionFrame,
  termList,
  UNPICKED,
  urlOf,
  warningsShown,
} from './frame.ts';
import { isAdminGroup } from './groups.ts';
import { dataTable, thingUrl } from './lists.ts';
import { clientCalled, namesOf } from './names.ts';
import { atLeastShown, firstNames, identifier, type RefusalShown, refusalText } from './values.ts';

/** Plans that are made together. Between them, other requests get their turn: the plan of a group reads all clients. */
const AT_ONCE = 10;

type ActName = keyof Texts['console']['bulk']['acts'];

interface Picked {
  readonly key: string;
  readonly name: string;
}

/** The question before a change of everything in `picked`. */
export async function askBulk(visit: Visit, list: BulkList): Promise<Response> {
  const { c, setting, view } = visit;
  const { do: does, group = '' } = c.req.query();
  const keys = [...new Set(c.req.queries('picked') ?? [])].slice(0, MAX_LIMIT);
  const act = actNamed(list, does);
  if (act === undefined) return c.redirect(urlOf(view.base, list), 303);
  if (keys.length === 0) {
    const wish = Object.fromEntries(new URLSearchParams(c.req.query('wish')));
    return c.redirect(urlOf(view.base, list, { ...wish, [UNPICKED]: 'yes' }), 303);
  }
  const choice = group === '' ? await act.groups?.(visit, keys) : undefined;
  const planOne = async (key: string): Promise<Plan> => {
    const picked = { key, name: await nameOf(visit, list, key) };
    if (choice !== undefined) return picked;
    const planned: { -readonly [Member in keyof Plan]?: Plan[Member] } = {};
    const problem = await problemOf(async () => {
      await requirePossibleOrder(visit, act.order(key, group));
      planned.change = await act.plan(visit, key, group);
    });
    return { ...picked, ...planned, ...optional('problem', problem) };
  };
  const plans: Plan[] = [];
  for (let at = 0; at < keys.length; at += AT_ONCE) {
    plans.push(...(await Promise.all(keys.slice(at, at + AT_ONCE).map(planOne))));
    await nextTurn();
  }
  const shown = { list, does: does as ActName, plans, ...optional('groups', choice) };
  const isOfAdministrators = group !== '' && isAdminGroup(visit, group);
  const chosen = group !== '' && { group, isOfAdministrators };
  return renderPage(c, askBulkPage({ ...view, ...shown, ...chosen }, setting));
}

/** Does it to one after another, and says what became of each. */
export async function performBulk(visit: Visit, list: BulkList): Promise<Response> {
  const { c, form, setting, versioned, view } = visit;
  const does = form.get('act') ?? '';
  const act = actNamed(list, does);
  if (act === undefined) return c.redirect(urlOf(view.base, list), 303);
  const outcomes: Outcome[] = [];
  for (const key of [...new Set(form.getAll('picked'))].slice(0, MAX_LIMIT)) {
    const name = await nameOf(visit, list, key);
    const order = act.order(key, form.get('group') ?? '');
    await visit.requireCaller();
    let warnings: readonly WarningSaid[] = [];
    const problem = await problemOf(async () => {
      const { document } = await performOrder(versioned, order);
      warnings = warningsIn(document);
    });
    outcomes.push({ key, name, warnings, ...optional('problem', problem) });
  }
  return renderPage(c, bulkPage({ ...view, list, does: does as ActName, outcomes }, setting));
}

async function nameOf(visit: Visit, list: BulkList, key: string): Promise<string> {
  if (list === 'clients') return clientCalled(visit, key);
  if (list !== 'users') return key;
  const { partsOf } = visit.console;
  const names = await namesOf(partsOf(visit.session.person.subject), { subjects: [key] });
  return names.user(key) ?? key;
}

/** @returns why the operation was refused, if it was */
async function problemOf(work: () => Promise<unknown>): Promise<RefusalShown | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof OperationRefused) return { detail: error.problem, said: error.each[0]?.said };
    if (error instanceof InvalidInput) return { detail: error.message, said: error.errors[0]?.said };
    throw error;
  }
}

/** What would happen to one of them. */
interface Plan extends Picked {
  readonly change?: Change;
  /** Why it would be refused, in English, as the command line says it. */
  readonly problem?: RefusalShown;
}

export interface AskBulkView extends ConsoleView {
  readonly list: BulkList;
  readonly does: ActName;
  readonly plans: readonly Plan[];
  /** To choose from, before there is a plan. */
  readonly groups?: readonly string[];
  /** The chosen group. */
  readonly group?: string;
  readonly isOfAdministrators?: boolean;
}

/** What the question says about one act. */
function sayingsOf(
  { does, isOfAdministrators = false }: Pick<AskBulkView, 'does' | 'isOfAdministrators'>,
  { console: { acts: ofActs, bulk } }: Texts,
) {
  if (isOfAdministrators && (does === 'join' || does === 'leave'))
    return { ...ofActs.users[`${does}_several`], change: bulk.administrators[does] };
  const { titles, texts, acts, changes } = bulk;
  return { title: titles[does], text: texts[does], yes: acts[does], change: changes[does] };
}

/**
 * The question before a change of several, with what happens to each: button `console-yes` if something changes, link
 * `console-no`. Before that, field `group` with button `choose-group`, if the change needs a group.
 */
export function askBulkPage(view: AskBulkView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { console: words, formats } = texts;
  const { list, plans, group, groups } = view;
  const said = sayingsOf(view, texts);
  const changed = plans.filter(({ change }) => change?.changes === true);
  const counted = groups === undefined ? changed : plans;
  const [only, ...others] = counted;
  const what =
    only !== undefined && others.length === 0 && list !== 'tokens'
      ? only.name
      : words.countOf[list](counted.length, formats.number(counted.length));
  return questionFrame(setting, {
    title: counted.length === 0 ? words.bulk.nothing : said.title(what),
    body: html`${counted.length === 0 ? '' : html`<p>${said.text}</p>\n`}${
      group === undefined ? '' : termList([[words.group, html`<bdi>${group}</bdi>`]])
    }
${groups === undefined ? planOf(view, changed, texts) : groupChoice(view, groups, texts)}`,
  });
}

/** Identifiers of tokens are long. */
function pickedShown({ name }: Picked, list: BulkList): Html {
  return list === 'tokens' ? identifier(name) : html`<bdi>${name}</bdi>`;
}

function groupChoice(
  { base, list, does, plans }: AskBulkView,
  groups: readonly string[],
  { console: words }: Texts,
): Html {
  return html`<ul class="bullets">
${plans.map(({ name }) => html`<li><bdi>${name}</bdi></li>\n`)}</ul>
<form method="get" action="${urlOf(base, list)}">
<input type="hidden" name="ask" value="bulk">
<input type="hidden" name="do" value="${does}">
${plans.map(({ key }) => html`<input type="hidden" name="picked" value="${key}">\n`)}<label for="group">${words.group}</label>
<select id="group" name="group" required><option value="">${words.bulk.chooseGroup}</option>
${groups.map((name) => html`<option value="${name}">${name}</option>\n`)}</select>
<div class="answers">
<button id="choose-group" type="submit" class="primary">${words.bulk.goOn}</button>
<a id="console-no" href="${urlOf(base, list)}">${words.no}</a>
</div>
</form>`;
}

function planOf(view: AskBulkView, changed: readonly Plan[], texts: Texts): Html {
  const { base, list, does, plans, group } = view;
  const { console: words } = texts;
  const { yes, change } = sayingsOf(view, texts);
  const table = dataTable(
    {
      name: words.bulk.plan,
      heads: [{ title: words.pages[list] }, { title: words.bulk.plan }],
      rows: plans.map((plan) => ({
        cells: [pickedShown(plan, list), planText(plan, does, change, texts)],
      })),
    },
    texts,
  );
  const answers = html`<div class="answers">
${changed.length === 0 ? '' : html`<button id="console-yes" type="submit" class="${actNamed(list, does)?.isFinal ? 'final' : 'primary'}" name="do" value="bulk">${yes}</button>\n`}<a id="console-no" href="${urlOf(base, list)}">${words.no}</a>
</div>`;
  if (changed.length === 0) return html`${table}\n${answers}`;
  return html`${table}
<form method="post" action="${urlOf(base, list)}">
${hiddenFields(view, { act: does, ...optional('group', group) })}${changed.map(({ key }) => html`<input type="hidden" name="picked" value="${key}">\n`)}${answers}
</form>`;
}

function planText({ change, problem }: Plan, does: ActName, said: string, texts: Texts): Html {
  const { bulk } = texts.console;
  if (problem !== undefined) return refusal(problem, texts);
  if (change?.changes !== true) return html`${bulk.changesNothing[does]}`;
  const { sessions, tokens, members, policy, clients = [] } = change;
  const { console: words, formats } = texts;
  const ends = [
    sessions === undefined ? undefined : bulk.endsSessions(sessions, formats.number(sessions)),
    tokens && html`${words.activeTokens}: ${atLeastShown(tokens.active, tokens.isLeast, texts)}`,
  ];
  const of = [
    members &&
      html`${bulk.losesMembers(members.count, formats.number(members.count))}${firstNames(members.names, members.count, texts)}`,
    policy && `${words.signInPolicy}: ${words.policies[policy]}`,
    clients.length === 0 ? undefined : html`${words.clientsFor}: <bdi>${formats.list(clients)}</bdi>`,
  ];
  return html`<b>${said}</b>${ends.filter((fact) => fact !== undefined).map((fact) => html` ${fact}`)}${of
    .filter((fact) => fact !== undefined)
    .map((fact) => html` <p class="detail">${fact}</p>`)}`;
}

function refusal(problem: RefusalShown, texts: Texts): Html {
  return html`<span class="badge bad">${texts.console.bulk.refused}</span> ${refusalText(problem, texts)}`;
}

interface Outcome extends Picked {
  readonly warnings?: readonly WarningSaid[];
  /** Why it was refused, in English, as the command line says it. */
  readonly problem?: RefusalShown;
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
        rows: outcomes.map(({ key, name, warnings, problem }) => ({
          cells: [
            problem === undefined && actNamed(list, does)?.removes
              ? pickedShown({ key, name }, list)
              : html`<a href="${list === 'tokens' ? urlOf(base, list, { id: key }) : thingUrl(base, list, key)}">${pickedShown({ key, name }, list)}</a>`,
            problem === undefined
              ? html`<span class="badge good">${words.bulk.succeeded}</span>${warningsShown(warnings, texts)}`
              : refusal(problem, texts),
          ],
        })),
      },
      texts,
    )}
<p class="actions"><a href="${urlOf(base, list)}">${words.pages[list]}</a></p>`,
  });
}
