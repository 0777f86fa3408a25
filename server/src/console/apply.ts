// Applies a file with groups, clients, APIs and texts of scopes: the same plan and operations as `grantd apply` (ADR 221).
import { html } from 'hono/html';
import { InvalidInput, OperationRefused, type ValueProblem } from '../admin/operation_refused.ts';
import type { PlanView as StatePlan } from '../admin/state.ts';
import {
  type PlacedProblem,
  pathIn,
  type StateFile,
  StateFileRefused,
  stateIn,
} from '../admin/state_file.ts';
import { PartlyApplied } from '../admin/state_plan.ts';
import { type WarningSaid, warningsIn } from '../admin/warning.ts';
import { wholeSentenceIn } from '../config/said.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import { type Html, icon } from '../texts/formats/html.ts';
import { type Texts, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import { consequenceRows } from './clients.ts';
import { FORM_STYLE } from './forms.ts';
import { type ConsoleView, consoleFrame, hiddenFields, problemLine, termList, urlOf } from './frame.ts';
import { fileField } from './import.ts';
import { KEPT_FILE_MS, MAX_STATE_FILE } from './uploads.ts';
import { administratorsShown } from './values.ts';

/** Where the file of an administrator is kept between the plan and the changes. */
const PLACE = 'apply';

interface KeptFile {
  readonly text: string;
  readonly prune: boolean;
  /** By client ID. */
  readonly secrets: Readonly<Record<string, string>>;
}

/** Before the name of a client in the name of a field with its secret. */
const SECRET = 'secret:';

/** `GET /console/apply`: the form. */
export async function showApply({ c, view, setting }: Visit): Promise<Response> {
  return renderPage(c, applyPage(view, setting));
}

/** `POST /console/apply`: plans a file (`do=plan`), also with secrets (`do=secrets`), or applies it (`do=apply`). */
export async function submitApply(visit: Visit): Promise<Response> {
  const { c, console: parts, form, session, setting, view } = visit;
  const owner = session.person.subject;
  if (form.get('do') === 'plan') {
    const file = c.get('file') ?? { problem: 'no_file' };
    const isPruning = form.get('prune') === 'yes';
    const again = (problem: keyof Texts['console']['files']['problems']) =>
      renderPage(c, applyPage({ ...view, problem, isPruning }, setting));
    if ('problem' in file) return again(file.problem);
    if (file.text.length > MAX_STATE_FILE) return again('too_large');
    return plan(visit, { text: file.text, prune: isPruning, secrets: {} });
  }
  const text = await parts.shownOnce.find(owner, PLACE);
  if (text === undefined) return renderPage(c, applyPage({ ...view, problem: 'expired' }, setting));
  const kept: KeptFile = JSON.parse(text);
  if (form.get('do') === 'apply') return apply(visit, kept, form.get('plan') ?? '');
  const typed = [...form].filter(([name, value]) => name.startsWith(SECRET) && value !== '');
  const secrets = Object.fromEntries(typed.map(([name, value]) => [name.slice(SECRET.length), value]));
  return plan(visit, { ...kept, secrets: { ...kept.secrets, ...secrets } });
}

async function plan(visit: Visit, kept: KeptFile, isChanged = false): Promise<Response> {
  const { c, console: parts, session, setting, versioned, view } = visit;
  const refused = (wrong: readonly PlacedProblem[]) =>
    renderPage(c, applyPage({ ...view, wrong, isPruning: kept.prune }, setting));
  return reading(kept, refused, async ({ state, content, problems }) => {
    // Refuses it, with what else does not fit. Secrets are typed later.
    if (problems.length > 0) await versioned('planState', orderOf(kept, content));
    const referring = (state.clients ?? []).filter(({ secret }) => secret !== undefined);
    const missing = referring.map(({ id }) => id).filter((id) => !Object.hasOwn(kept.secrets, id));
    const keep = (file: KeptFile) =>
      parts.shownOnce.keep(session.person.subject, PLACE, JSON.stringify(file), KEPT_FILE_MS);
    await keep(kept);
    if (missing.length > 0) {
      const clients = missing.map((id) => ({ id }));
      return renderPage(c, missingSecretsPage({ ...view, clients }, setting));
    }
    try {
      const { document, version } = await versioned('planState', orderOf(kept, content));
      return renderPage(c, applyPlanPage({ ...view, planned: document, version, isChanged }, setting));
    } catch (error) {
      const problems = problemsOfSecrets(error);
      const wrong = referring.flatMap(({ id }) => {
        const problem = problems.get(id);
        return problem === undefined ? [] : [{ id, problem }];
      });
      if (wrong.length === 0) throw error;
      const good = Object.entries(kept.secrets).filter(([id]) => !problems.has(id));
      await keep({ ...kept, secrets: Object.fromEntries(good) });
      return renderPage(c, missingSecretsPage({ ...view, clients: wrong }, setting));
    }
  });
}

/** What is wrong with secrets, by client ID. @returns nothing if anything else is wrong */
function problemsOfSecrets(error: unknown): ReadonlyMap<string, ValueProblem> {
  if (!(error instanceof InvalidInput)) return new Map();
  const found = error.errors.map((one) => [pathIn(one.in), one] as const);
  const isOfSecrets = error.errors.every((one) => one.in.startsWith('/secrets/'));
  return new Map(isOfSecrets ? found.map(([[, id = ''], one]) => [id, one]) : []);
}

async function apply(visit: Visit, kept: KeptFile, version: string): Promise<Response> {
  const { c, console: parts, session, setting, versioned, view } = visit;
  const owner = session.person.subject;
  const refused = (wrong: readonly PlacedProblem[]) =>
    renderPage(c, applyPage({ ...view, wrong, isPruning: kept.prune }, setting));
  return reading(kept, refused, async ({ content }) => {
    try {
      const { document } = await versioned('applyState', orderOf(kept, content), version);
      await parts.shownOnce.forget(owner, PLACE);
      const warnings = warningsIn(document);
      return renderPage(c, appliedPage({ ...view, applied: document, warnings }, setting));
    } catch (error) {
      if (error instanceof OperationRefused && error.kind === 'outdated') return plan(visit, kept, true);
      if (error instanceof PartlyApplied) return refused([{ path: [], said: { english: error.message } }]);
      throw error;
    }
  });
}

function orderOf({ prune, secrets }: KeptFile, content: unknown) {
  return { state: Object(content ?? {}), secrets, prune };
}

/** Reads the file, and says with its lines what is wrong with it. */
async function reading(
  { text }: KeptFile,
  refused: (problems: readonly PlacedProblem[]) => Promise<Response>,
  work: (file: StateFile) => Promise<Response>,
): Promise<Response> {
  let file: StateFile | undefined;
  try {
    file = stateIn('', text);
    return await work(file);
  } catch (error) {
    if (error instanceof StateFileRefused) return refused(error.problems);
    if (!(error instanceof InvalidInput) || file === undefined) throw error;
    const isTyped = file.problems.length === 0;
    const problems = error.errors.flatMap((one) =>
      isTyped || !one.in.startsWith('/secrets/')
        ? [{ path: pathIn(one.in), said: one.said ?? { english: one.detail } }]
        : [],
    );
    return refused(file.report(problems).problems);
  }
}

// ── Pages ─────────────────────────────────────────────────────────────────────────────────────────────────

export interface ApplyView extends ConsoleView {
  readonly problem?: keyof Texts['console']['files']['problems'];
  /** What is wrong with the file. */
  readonly wrong?: readonly PlacedProblem[];
  readonly isPruning?: boolean;
}

/** `/console/apply`: fields `file` and `prune`, button `apply-plan`. */
export function applyPage(
  { problem, wrong = [], isPruning, ...view }: ApplyView,
  setting: PageSetting,
): Page {
  const texts = textsIn(setting.language);
  const { files: words, pages } = texts.console;
  const isProblem = problem !== undefined || wrong.length > 0;
  return consoleFrame(view, setting, {
    title: pages.apply,
    lead: words.apply.lead,
    style: FORM_STYLE,
    ...(isProblem && { isProblem, status: 400 }),
    body: html`${problem === undefined ? '' : problemLine(words.problems[problem])}${
      wrong.length === 0
        ? ''
        : html`${problemLine(words.apply.refused)}<ul class="bullets">
${wrong.map((one) => html`<li>${placedProblem(one, texts)}</li>\n`)}</ul>`
    }
<form method="post" action="${urlOf(view.base, 'apply')}" enctype="multipart/form-data" class="form">
${hiddenFields(view, {})}<div class="check"><input id="prune" name="prune" type="checkbox" value="yes"${isPruning ? html` checked` : ''}>
<label for="prune">${words.apply.prune} <code class="raw">--prune</code></label></div>
${fileField(texts, MAX_STATE_FILE)}<div class="actions">
<button id="apply-plan" type="submit" class="primary" name="do" value="plan">${words.apply.plan}</button>
</div>
</form>`,
  });
}

/** A problem with its line, column and member. */
function placedProblem({ path, said, at }: PlacedProblem, texts: Texts): Html {
  const { files: words, refusals } = texts.console;
  const sentence =
    'english' in said
      ? html`<span lang="en"><bdi>${said.english}</bdi></span>`
      : html`<bdi>${wholeSentenceIn(refusals, said)}</bdi>`;
  const place = at === undefined ? '' : html`${words.place(String(at.line), String(at.col))} `;
  return html`${place}${path.length === 0 ? '' : html`<code>${path.join('.')}</code> `}${sentence}`;
}

interface SecretsView extends ConsoleView {
  readonly clients: readonly {
    readonly id: string;
    /** What is wrong with the secret that was typed. */
    readonly problem?: ValueProblem;
  }[];
}

/** Asks for the secrets to which a file refers: button `apply-secrets`. */
export function missingSecretsPage({ clients, ...view }: SecretsView, setting: PageSetting): Page {
  const isProblem = clients.some(({ problem }) => problem !== undefined);
  const texts = textsIn(setting.language);
  const { files: words } = texts.console;
  return consoleFrame(view, setting, {
    title: words.apply.secrets,
    style: FORM_STYLE,
    lead: words.apply.secretsText,
    ...(isProblem && { isProblem, status: 400 }),
    body: html`${isProblem ? problemLine(words.apply.secretsWrong) : ''}
<form method="post" action="${urlOf(view.base, 'apply')}" class="form">
${hiddenFields(view, {})}${clients.map(({ id, problem }, at) => secretField(id, at, problem, texts))}<div class="actions">
<button id="apply-secrets" type="submit" class="primary" name="do" value="secrets">${words.apply.plan}</button>
<a id="apply-again" class="button" href="${urlOf(view.base, 'apply')}">${words.again}</a>
</div>
</form>`,
  });
}

function secretField(id: string, at: number, problem: ValueProblem | undefined, texts: Texts): Html {
  const more =
    problem === undefined ? '' : html` aria-describedby="secret-${at}-problem" aria-invalid="true"`;
  return html`<label for="secret-${at}"><bdi>${id}</bdi></label>
<input id="secret-${at}" name="${SECRET}${id}" type="password" autocomplete="new-password" required${more}>
${problem === undefined ? '' : html`<p id="secret-${at}-problem" class="wrong">${icon('alert')}<span>${problem.said === undefined ? html`<bdi lang="en">${problem.detail}</bdi>` : html`<bdi>${wholeSentenceIn(texts.console.refusals, problem.said)}</bdi>`}</span></p>\n`}`;
}

interface PlanView extends ConsoleView {
  readonly planned: StatePlan;
  readonly version: string;
  readonly isChanged?: boolean;
}

/** What a file would change: button `apply-run`, red if something is removed, access ends or administrators change. */
export function applyPlanPage(
  { planned, version, isChanged, ...view }: PlanView,
  setting: PageSetting,
): Page {
  const texts = textsIn(setting.language);
  const { files: words } = texts.console;
  const { changes } = planned;
  const removes = changes.some(({ action }) => action === 'remove');
  const { administrators } = planned;
  const ends = planned.consequences === undefined ? [] : consequenceRows(planned.consequences, texts);
  return consoleFrame(view, setting, {
    title: words.apply.planned,
    body: html`${isChanged ? html`<p class="caution">${icon('alert')}<span>${words.changed}</span></p>\n` : ''}<p>${changes.length === 0 ? words.apply.nothing : removes ? words.apply.removes : ends.length > 0 ? words.apply.ends : words.apply.plannedText}</p>
${changesShown(planned, texts)}
${administratorsShown(administrators, texts)}${ends.length === 0 ? '' : termList(ends)}
<form method="post" action="${urlOf(view.base, 'apply')}">
${hiddenFields(view, { plan: version })}<div class="actions">
${changes.length === 0 ? '' : html`<button id="apply-run" type="submit" class="${removes || ends.length > 0 || administrators !== undefined ? 'final' : 'primary'}" name="do" value="apply">${words.apply.run}</button>\n`}<a id="apply-again" class="button" href="${urlOf(view.base, 'apply')}">${words.again}</a>
</div>
</form>`,
  });
}

interface AppliedView extends ConsoleView {
  readonly applied: StatePlan;
  readonly warnings: readonly WarningSaid[];
}

export function appliedPage({ applied, warnings, ...view }: AppliedView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { files: words } = texts.console;
  return consoleFrame({ ...view, warnings }, setting, {
    title: words.apply.done,
    body: html`<p>${words.apply.doneText}</p>
${changesShown(applied, texts)}
<p class="actions"><a id="apply-again" class="button" href="${urlOf(view.base, 'apply')}">${words.again}</a></p>`,
  });
}

function changesShown({ changes, unchanged }: StatePlan, texts: Texts): Html {
  const { files: words } = texts.console;
  return html`<ul class="rows" role="list">
${changes.map(
  ({
    action,
    kind,
    name,
    members,
  }) => html`<li><p><span class="badge${action === 'remove' ? ' bad' : ''}">${words.apply.actions[action]}</span> ${words.apply.kinds[kind]} <bdi>${name}</bdi></p>
${members.map(({ name: member, before, after }) => html`<p class="detail"><span><code>${member}</code>: ${before === undefined ? '' : html`${valueText(before)} → `}${after === undefined ? html`<em>${texts.console.forms.nothing}</em>` : valueText(after)}</span></p>\n`)}</li>\n`,
)}</ul>
<p class="note">${words.apply.unchanged(texts.formats.number(unchanged))}</p>`;
}

/** Characters of a value that a page shows. */
const MAX_VALUE = 200;

function valueText(value: unknown): Html {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return html`<code>${text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text}</code>`;
}
