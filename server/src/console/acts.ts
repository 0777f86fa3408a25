// What administrators can do on a page of the console: each act performs one operation, by a button, after a question or
// with a form. A page declares its acts; everything else follows from the operations (ADR 189).
import { html } from 'hono/html';
import { requireInputOf, type Versioned } from '../admin/in_process.ts';
import { InvalidInput, OperationRefused, type ValueProblem } from '../admin/operation_refused.ts';
import { optional, type Schema } from '../admin/schema.ts';
import { type AnyOperation, OPERATIONS, type OperationId } from '../admin/table.ts';
import { type WarningCode, type WarningSaid, warningsIn } from '../admin/warning.ts';
import { FileRefused, Refused } from '../config/refused.ts';
import { type Page, type PageSetting, renderPage } from '../pages/drawing/layout.ts';
import { type Html, icon } from '../texts/formats/html.ts';
import { type Texts, textsIn } from '../texts/texts.ts';
import type { Visit } from './access.ts';
import {
  type FormSpec,
  fieldsOf,
  ownValue,
  type Problems,
  problemsAt,
  readChange,
  readNew,
  shownOf,
  typedOf,
} from './fields.ts';
import { FORM_STYLE, type FormShown, formFields, labelOf, problemSummary } from './forms.ts';
import {
  type ConsoleNotice,
  type ConsolePageName,
  type ConsoleView,
  consoleFrame,
  hiddenFields,
  problemLine,
  question,
  questionFrame,
  type Row,
  termList,
  toConsole,
  urlOf,
} from './frame.ts';
import { namesOf } from './names.ts';
import { digestsOf, mergedWith, OPENED_FIELD, type OpenedForm } from './opened_forms.ts';
import { identifiersIn, sentenceOf } from './sentences.ts';
import { openSecrets, sealSecrets } from './typed_secrets.ts';

/** Parameters of a URL, which name the thing that an act is about. */
export type Given = Readonly<Record<string, string>>;

type Values = Readonly<Record<string, unknown>>;

/** A form that is not the body of its operation. */
export interface OwnForm {
  /** Default: the body of the operation. */
  readonly schema?: Schema;
  readonly spec: FormSpec;
  /** What the fields contain at first. */
  readonly values?: object;
}

export interface Act {
  readonly operation: OperationId;
  /** Parameters of the operation, by the parameter of the URL that has their value. */
  readonly of?: Readonly<Record<string, string>>;
  /** Further parameters of the URL. */
  readonly also?: readonly string[];
  /** The form. Without it, the act is a question or a button. */
  readonly form?: FormSpec | ((visit: Visit, given: Given) => Promise<OwnForm>);
  /** The operation that shows what the form changes, with its version. */
  readonly stored?: OperationId;
  /** The part of its document that the form changes. Default: all of it. */
  readonly shows?: (document: never) => object;
  /** Whether the user or another act can undo it, or nothing is lost. Otherwise it is red. */
  readonly canUndo?: true;
  /** Whether a question comes first; for a form, which changes are asked about. */
  readonly asks?: boolean | ((values: Values) => boolean);
  /** Whether it can end access, which the question before a form says. An addition never does. */
  readonly mayEnd?: true;
  /** What the title names besides the thing. */
  readonly names?: (visit: Visit, given: Given, values: Values) => Promise<string>;
  /** The question if the act makes or ends administrators, also before a form that else is saved directly. */
  readonly changesAdministrators?: (
    visit: Visit,
    given: Given,
    values: Values,
  ) => Promise<AdministratorQuestion | undefined>;
  /** What the question shows. If it is nothing, a form is saved without a question. */
  readonly facts?: (visit: Visit, given: Given, texts: Texts, values: Values) => Promise<readonly Row[]>;
  /** Makes the input, from the parameters and what was typed. Default: both together. */
  readonly input?: (values: Values, given: Given, visit: Visit) => object | Promise<object>;
  readonly done: ConsoleNotice | ((document: never) => ConsoleNotice);
  /** Parameters of the page that follows. Default: those of the act. */
  readonly next?: (document: never, given: Given) => Given;
  /** What the next page says besides. Default: the warnings of the document. */
  readonly warns?: (document: never) => readonly WarningSaid[];
  /** Warnings of which the next page tells by itself, as long as they are true. */
  readonly tells?: readonly WarningCode[];
  /** The acts whose buttons the form has, the main one first (ADR 220). Default: only its own. */
  readonly buttons?: (visit: Visit) => readonly string[];
  /** Answers instead of the page that follows. */
  readonly leads?: (visit: Visit, document: never) => Promise<Response>;
  /** Does something with the response before the next page. */
  readonly after?: (visit: Visit, document: never, given: Given) => Promise<void>;
}

/** Texts of questions that are not those of an act: what makes administrators, and what ends that they are some. */
export type AdministratorQuestion = 'add_administrator' | 'join_administrators' | 'leave_administrators';

/** The acts of a page. */
export interface Acts {
  readonly page: ConsolePageName;
  /** What a title calls the thing. */
  readonly nameOf: (visit: Visit, given: Given) => Promise<string>;
  readonly acts: Readonly<Record<string, Act>>;
}

/** What the texts say about an act. */
interface ActText {
  readonly title: (name: string, other: string) => string;
  readonly text?: string;
  readonly yes: string;
}

export function actText(page: ConsolePageName, name: string, { console: { acts } }: Texts): ActText {
  const all: Readonly<Record<string, Readonly<Record<string, ActText>>>> = acts;
  const text = all[page]?.[name];
  if (text === undefined) throw new Error(`no text for the act ${name} of ${page}`);
  return text;
}

/** A link or button that begins an act: link `ask-ACT`, or button `ACT`. */
export function actLink(
  { page, acts }: Acts,
  name: string,
  base: string,
  given: Given,
  texts: Texts,
  more: { readonly id?: string; readonly unseen?: string; readonly isPrimary?: boolean } = {},
): Html {
  const { asks, form, canUndo = false } = acts[name] ?? {};
  const label = html`${actText(page, name, texts).yes}${more.unseen === undefined ? '' : html`<span class="unseen"> ${more.unseen}</span>`}`;
  const id = more.id === undefined ? name : `${name}-${encodeURIComponent(more.id)}`;
  const isPrimary = more.isPrimary === true;
  if (asks !== true && form === undefined)
    return html`<button id="${id}" type="submit"${isPrimary ? html` class="primary"` : ''} name="do" value="${name}">${label}</button>\n`;
  const kind = isPrimary ? ' primary' : asks === true && !canUndo ? ' ending' : '';
  const url = urlOf(base, page, { ...given, ask: name });
  return html`<a id="ask-${id}" class="button${kind}" href="${url}">${label}</a>\n`;
}

// ── Requests ──────────────────────────────────────────────────────────────────────────────────────────────

/** `GET` with `ask`: the form of an act, or the question before it. @returns `undefined` if there is no such act */
export async function showAct(visit: Visit, own: Acts): Promise<Response | undefined> {
  const query = visit.c.req.query();
  const found = actIn(own, query.ask);
  if (found === undefined) return undefined;
  const [name, act] = found;
  const given = givenIn(act, new URLSearchParams(query));
  if (act.form === undefined) return act.asks === true ? renderQuestion(visit, own, name, given) : undefined;
  const opened = await open(visit, act, given);
  const { view, console: parts, session } = visit;
  const kept = view.isUnsaved
    ? await parts.openedForms.find(session.person.subject, belowOf(own, name, given))
    : undefined;
  if (kept === undefined)
    return renderForm(visit, own, name, given, opened, { typed: opened.typed, problems: new Map() });
  const again = { typed: kept.typed, problems: new Map(), isKept: true };
  const { stored } = opened;
  if (stored === undefined || kept.typed.get('shown') === stored.version)
    return renderForm(visit, own, name, given, opened, again);
  return renderForm(visit, own, name, given, opened, {
    ...again,
    ...(await outdated(visit, act, given, opened, kept)),
  });
}

/** The path and query of an act, below the console. */
function belowOf({ page }: Acts, name: string, given: Given): string {
  return urlOf('', page, { ...given, ask: name });
}

/** `POST`: does what the field `do` names. */
export async function submitAct(visit: Visit, own: Acts): Promise<Response> {
  const {
    c,
    console: { pages },
    session,
    form,
    view,
  } = visit;
  const [name = '', act] = actIn(own, form.get('do')) ?? [];
  const isBack = form.get('back') === 'yes';
  if (act === undefined) return toConsole(c, pages, session, urlOf(view.base, own.page), 'nothing_changed');
  const given = givenIn(act, form);
  if (act.form === undefined) return perform(visit, own, act, given, {});
  const opened = await open(visit, act, given);
  const { fields, spec, stored } = opened;
  const isConfirmed = form.get('confirmed') === 'yes';
  const lost = isConfirmed ? await openSecrets(visit, fields) : [];
  form.delete('confirmed');
  const sent =
    stored === undefined ? readNew(fields, form, spec) : readChange(fields, form, stored.document, spec);
  const again = (problems: Problems, more: Partial<Again> = {}) =>
    renderForm(visit, own, name, given, opened, { typed: form, problems, ...more });
  const nothingChanged = () =>
    toConsole(c, pages, session, urlOf(view.base, own.page, given), 'nothing_changed');
  if (lost.length > 0)
    return again(new Map(lost.map((field) => [field, { reason: 'typed_again' }])), { status: 400 });
  // Before everything else, so that no question is about changes of others.
  if (stored !== undefined && form.get('shown') !== stored.version) {
    const digests = (await visit.console.openedForms.of(form))?.digests ?? {};
    const merged = await outdated(visit, act, given, opened, { typed: form, digests });
    return merged.hasOwn || isBack ? again(merged.problems, merged) : nothingChanged();
  }
  if (isBack) return again(new Map());
  if (sent.problems.size > 0)
    return again(await withOthers(visit, act, given, fields, form, sent), { status: 400 });
  if (stored !== undefined && Object.keys(sent.input).length === 0) return nothingChanged();
  const { asks } = act;
  try {
    const rights = isConfirmed ? undefined : await act.changesAdministrators?.(visit, given, sent.input);
    if (rights !== undefined || (typeof asks === 'function' && asks(sent.input) && !isConfirmed)) {
      const texts = textsIn(visit.setting.language);
      const facts = await act.facts?.(visit, given, texts, sent.input);
      if (facts?.length !== 0) {
        const other = await act.names?.(visit, given, sent.input);
        const more = { ...optional('rights', rights), ...optional('other', other), facts: facts ?? [] };
        return await renderConfirmation(visit, own, name, given, opened, more);
      }
    }
    return await perform(visit, own, act, given, sent.input);
  } catch (error) {
    if (error instanceof InvalidInput) return again(problemsAt(fields, error.errors, form), { status: 400 });
    // Changed since this request has begun.
    if (error instanceof OperationRefused && error.kind === 'outdated' && stored !== undefined)
      return submitAct(visit, own);
    if (error instanceof OperationRefused && error.kind !== 'not_found') {
      const { kind, errors } = error;
      return again(problemsAt(fields, errors, form), { status: kind === 'forbidden' ? 403 : 409 });
    }
    if (error instanceof Refused && !(error instanceof OperationRefused)) {
      const said = error instanceof FileRefused ? error.said : undefined;
      return again(new Map([['', { reason: 'refused', detail: error.message, said }]]), { status: 409 });
    }
    throw error;
  }
}

function actIn({ acts }: Acts, name: string | null | undefined): readonly [string, Act] | undefined {
  const act = name != null && Object.hasOwn(acts, name) ? acts[name] : undefined;
  return act && [name ?? '', act];
}

/** What is wrong with fields: what could not be read, and what the operation refuses of the rest. */
async function withOthers(
  visit: Visit,
  act: Act,
  given: Given,
  fields: Opened['fields'],
  typed: URLSearchParams,
  { input, problems }: { readonly input: Values; readonly problems: Problems },
): Promise<Problems> {
  const others = problemsAt(fields, await otherErrors(visit, act, given, input), typed);
  return new Map([...others, ...problems].filter(([name]) => name !== ''));
}

/** What the operation refuses of the fields that could be read. */
async function otherErrors(
  visit: Visit,
  act: Act,
  given: Given,
  values: Values,
): Promise<readonly ValueProblem[]> {
  const { console: parts, session } = visit;
  try {
    await requireInputOf(parts.partsOf(session.person.subject), act.operation, {
      ...parametersOf(act, given),
      ...(act.input ? await act.input(values, given, visit) : values),
    });
    return [];
  } catch (error) {
    if (error instanceof InvalidInput) return error.errors;
    if (error instanceof OperationRefused) return [];
    throw error;
  }
}

/** The parameters of an act that have a value. */
function givenIn({ of = {}, also = [] }: Act, parameters: URLSearchParams): Given {
  const names = [...new Set([...Object.values(of), ...also])];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = parameters.get(name) ?? '';
      return value === '' ? [] : [[name, value]];
    }),
  );
}

function parametersOf({ of = {} }: Act, given: Given): Values {
  const entries = Object.entries(of).map(([member, name]) => [member, given[name]] as const);
  const missing = entries.find(([member, value]) => value === undefined && member !== 'api');
  if (missing !== undefined) throw new InvalidInput(missing[0], ['required']);
  return Object.fromEntries(entries);
}

interface Opened extends Omit<FormShown, 'problems' | 'stored'> {
  readonly stored?: Versioned<object>;
}

/** Reads what the form of an act needs. */
async function open(visit: Visit, act: Act, given: Given): Promise<Opened> {
  const { form, operation, stored: read } = act;
  const found = read && (await visit.versioned(read, parametersOf(act, given) as never));
  const stored = found && {
    version: found.version,
    document: act.shows?.(found.document as never) ?? Object(found.document ?? {}),
  };
  const { document } = stored ?? {};
  const own = typeof form === 'function' ? await form(visit, given) : undefined;
  const table: Readonly<Record<string, AnyOperation>> = OPERATIONS;
  const spec = own?.spec ?? (typeof form === 'object' ? form : { first: [] });
  const schema = own?.schema ?? table[operation]?.body ?? {};
  const fields = fieldsOf(schema, spec, document);
  const typed = typedOf(fields, own?.values ?? document ?? {}, spec);
  return { fields, spec, typed, ...(stored !== undefined && { stored }) };
}

async function perform(
  visit: Visit,
  { page }: Acts,
  act: Act,
  given: Given,
  values: Values,
): Promise<Response> {
  const {
    c,
    versioned,
    console: { pages },
    session,
    form,
    view,
  } = visit;
  const parameters = parametersOf(act, given);
  const input = act.input ? await act.input(values, given, visit) : values;
  const version = act.stored === undefined ? '*' : (form.get('shown') ?? '');
  const { document } = await versioned(act.operation, { ...parameters, ...input } as never, version);
  await act.after?.(visit, document as never, given);
  if (act.leads !== undefined) return act.leads(visit, document as never);
  const next = act.next?.(document as never, given) ?? given;
  const notice = typeof act.done === 'function' ? act.done(document as never) : act.done;
  const warnings = (act.warns ?? warningsIn)(document as never).filter(
    ([code]) => act.tells?.includes(code) !== true,
  );
  return toConsole(c, pages, session, urlOf(view.base, page, next), notice, warnings);
}

// ── Pages ─────────────────────────────────────────────────────────────────────────────────────────────────

interface Again {
  readonly typed: URLSearchParams;
  readonly problems: Problems;
  readonly status?: 400 | 403 | 409;
  /** Whether the form waited for a sign-in. */
  readonly isKept?: boolean;
  /** What someone else has changed since the form was opened. */
  readonly others?: OthersChanges;
}

/** What someone else has changed since a form was opened, by the names of the fields. */
interface OthersChanges {
  /** What is stored now, if the administrator has changed it too. */
  readonly stored: ReadonlyMap<string, unknown>;
  /** Fields that contain what is stored now, because the administrator has not changed them. */
  readonly adopted: ReadonlySet<string>;
  /** The latest event of the audit trail about it, as a sentence. */
  readonly latest?: Html;
}

/** Tells the changes of a form that is out of date from those of others, and what is wrong with them. */
async function outdated(
  visit: Visit,
  act: Act,
  given: Given,
  { fields, spec, stored }: Opened,
  { typed, digests }: Pick<OpenedForm, 'digests'> & { readonly typed: URLSearchParams },
): Promise<Pick<Again, 'typed' | 'problems' | 'status' | 'others'> & { readonly hasOwn: boolean }> {
  const document = stored?.document ?? {};
  const { hasOwn, ...merged } = mergedWith(fields, typed, digests, (field) =>
    ownValue(field, document, spec),
  );
  const sent = readChange(fields, merged.typed, document, spec);
  const problems = await withOthers(visit, act, given, fields, merged.typed, sent);
  const [target] = Object.values(act.of ?? {}).flatMap((name) => given[name] ?? []);
  const { items } = await visit.call('listAudit', { limit: 1, ...(target !== undefined && { target }) });
  const { console: parts, session, setting, view } = visit;
  const names = await namesOf(parts.partsOf(session.person.subject), identifiersIn(items));
  const saying = { ...view, names, adminGroup: parts.adminGroup };
  const latest = items.map((event) => sentenceOf(event, saying, textsIn(setting.language)))[0];
  const others = { ...merged.others, ...(latest !== undefined && { latest }) };
  return { typed: merged.typed, problems, status: 409, others, hasOwn };
}

async function renderForm(
  visit: Visit,
  own: Acts,
  name: string,
  given: Given,
  { fields, spec, stored }: Opened,
  { others, isKept, status, ...shown }: Again,
): Promise<Response> {
  const { c, setting, view } = visit;
  const secret = fields.flatMap((field) => (field.kind === 'secret' ? [field.name] : []));
  const digests = stored && digestsOf(fields, (field) => ownValue(field, stored.document, spec));
  const sealed = await sealOpened(visit, own, name, given, { secret, digests: digests ?? {} });
  const page: ActFormView = {
    ...view,
    ...{ page: own.page, given, fields, spec, ...shown, opened: sealed },
    name: await own.nameOf(visit, given),
    buttons: own.acts[name]?.buttons?.(visit) ?? [name],
    ...(status !== undefined && { status }),
    ...(stored !== undefined && { version: stored.version }),
    ...(isKept === true && { isKept }),
    ...(others !== undefined && { others, ...others }),
  };
  return renderPage(c, actFormPage(page, setting));
}

function sealOpened(
  { console: { openedForms }, session }: Visit,
  own: Acts,
  name: string,
  given: Given,
  rest: Pick<OpenedForm, 'secret' | 'digests'> = { secret: [], digests: {} },
): Promise<string> {
  return openedForms.seal({ subject: session.person.subject, below: belowOf(own, name, given), ...rest });
}

export interface ActFormView extends ConsoleView, FormShown {
  readonly page: ConsolePageName;
  /** The acts of the buttons, the main one first. */
  readonly buttons: readonly string[];
  readonly given: Given;
  /** What the title calls the thing. */
  readonly name: string;
  readonly status?: 400 | 403 | 409;
  /** Of what is stored. A change is for this version only. */
  readonly version?: string;
  /** Sealed (`OpenedForm`). */
  readonly opened: string;
  readonly isKept?: boolean;
  readonly others?: OthersChanges;
}

/** The form of an act: a button `save-ACT` for each of its acts, link `form-cancel`. */
export function actFormPage(view: ActFormView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { forms: words } = texts.console;
  const {
    base,
    page,
    buttons,
    given,
    name,
    status,
    version,
    opened,
    isKept = false,
    others,
    problems,
  } = view;
  const [main = ''] = buttons;
  const { title, text } = actText(page, main, texts);
  const hidden = { ...given, ...(version !== undefined && { shown: version }), [OPENED_FIELD]: opened };
  const isConflict = others !== undefined && others.stored.size > 0;
  return consoleFrame(view, setting, {
    title: title(name, ''),
    ...(Object.keys(given).length > 0 && { trail: [[name, urlOf(base, page, given)]] as const }),
    ...(text !== undefined && { lead: text }),
    ...(status !== undefined && { status, isProblem: true }),
    style: FORM_STYLE,
    body: html`${isKept ? html`<p class="caution">${icon('alert')}<span>${words.kept}</span></p>\n` : ''}${
      others
        ? html`<div role="alert" id="problem" class="problem">${icon('alert')}<div><p>${isConflict ? words.conflict : words.outdated}</p>
${others.latest === undefined ? '' : html`<p>${others.latest}</p>\n`}</div></div>\n`
        : ''
    }${problems.size > 0 ? problemSummary(words.wrong, view, texts, others && 'wrong') : ''}<form method="post" action="${urlOf(base, page)}" class="form" novalidate>
${hiddenFields(view, hidden)}${formFields(view, texts)}<div class="actions">
${buttons.map((act) => html`<button id="save-${act}" type="submit"${act === main ? html` class="primary"` : ''} name="do" value="${act}">${isConflict ? words.saveOver : actText(page, act, texts).yes}</button>\n`)}<a id="form-cancel" class="button" href="${urlOf(base, page, given)}">${texts.console.no}</a>
</div>
</form>`,
  });
}

async function renderQuestion(visit: Visit, own: Acts, name: string, given: Given): Promise<Response> {
  const { c, setting, view } = visit;
  const act = own.acts[name];
  const facts = (await act?.facts?.(visit, given, textsIn(setting.language), {})) ?? [];
  const rights = await act?.changesAdministrators?.(visit, given, {});
  const opened = await sealOpened(visit, own, name, given);
  const shown = {
    ...{ page: own.page, act: name, given, facts, opened },
    name: await own.nameOf(visit, given),
    ...optional('other', await act?.names?.(visit, given, {})),
    ...optional('rights', rights),
  };
  return renderPage(c, questionPage({ ...view, ...shown, canUndo: act?.canUndo === true }, setting));
}

/** The question before a change that a form makes, with what it changes. */
async function renderConfirmation(
  visit: Visit,
  own: Acts,
  name: string,
  given: Given,
  { fields, spec, stored }: Opened,
  { facts, ...more }: Pick<QuestionView, 'facts' | 'other' | 'rights'>,
): Promise<Response> {
  const { c, setting, view, form } = visit;
  const texts = textsIn(setting.language);
  const { forms: words } = texts.console;
  const changes = fields.flatMap((field): readonly Row[] => {
    const before = stored === undefined ? [] : shownOf(field, ownValue(field, stored.document, spec));
    const after = form.getAll(field.name);
    if (field.kind === 'secret' || before.join('\n').trim() === after.join('\n').replaceAll('\r', '').trim())
      return [];
    const said = (values: readonly string[]) =>
      values.join('') === '' ? html`<em>${words.nothing}</em>` : html`<code>${values.join(', ')}</code>`;
    return [
      [
        labelOf(field.name, texts, spec),
        stored === undefined ? said(after) : html`${said(before)} → ${said(after)}`,
      ],
    ];
  });
  await sealSecrets(visit, fields);
  const typed = [...form].filter(([field]) => !['form_token', 'do', 'confirmed'].includes(field));
  const shown: QuestionView = {
    ...view,
    ...{
      page: own.page,
      act: name,
      given,
      name: await own.nameOf(visit, given),
      facts: [...changes, ...facts],
      ...more,
    },
    canUndo: true,
    mayEnd: own.acts[name]?.mayEnd === true,
    typed: [...typed, ['do', name], ['confirmed', 'yes']],
  };
  return renderPage(c, questionPage(shown, setting));
}

export interface QuestionView extends ConsoleView {
  readonly page: ConsolePageName;
  readonly act: string;
  readonly given: Given;
  readonly name: string;
  /** What the title names besides. */
  readonly other?: string;
  /** What it says instead of the text of the act. */
  readonly rights?: AdministratorQuestion;
  readonly facts: readonly Row[];
  readonly canUndo?: boolean;
  readonly mayEnd?: boolean;
  /** Sealed (`OpenedForm`). Of a question before a form, it is in what was typed. */
  readonly opened?: string;
  /** What a form has sent before the question. */
  readonly typed?: readonly (readonly [string, string])[];
}

/** The question before an act: button `console-yes`, and `console-no`: a link, or a button back to the form. */
export function questionPage(view: QuestionView, setting: PageSetting): Page {
  const texts = textsIn(setting.language);
  const { base, page, act, given, name, facts, typed, opened = '', canUndo = false, mayEnd = false } = view;
  const { title, text, yes } = actText(page, view.rights ?? act, texts);
  const { check, checkEnd } = texts.console.forms;
  const lead = typed === undefined || view.rights !== undefined ? text : mayEnd ? checkEnd : check;
  return questionFrame(setting, {
    title: title(name, view.other ?? ''),
    body: html`${view.isUnsaved ? html`${problemLine(texts.console.forms.unsaved, 'unsaved')}\n` : ''}${lead === undefined ? '' : html`<p>${lead}</p>\n`}${facts.length === 0 ? '' : termList(facts)}
${question(
  view,
  {
    ...{
      action: urlOf(base, page),
      does: act,
      yes,
      fields: typed ?? [...Object.entries(given), [OPENED_FIELD, opened] as const],
    },
    canUndo,
    ...(typed === undefined && { back: urlOf(base, page, given) }),
  },
  texts,
)}`,
  });
}
