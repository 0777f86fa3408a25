// Draws the fields of forms. What they are is in fields.ts.

import type { EventType } from '@grantd/core';
import { html } from 'hono/html';
import { wholeSentenceIn } from '../config/said.ts';
import { type Html, icon } from '../texts/formats/html.ts';
import type { Texts } from '../texts/texts.ts';
import {
  type Field,
  type FormSpec,
  isTranslation,
  type Problems,
  type ShownProblem,
  shownOf,
} from './fields.ts';

export interface FormShown {
  readonly fields: readonly Field[];
  readonly spec: FormSpec;
  /** What the fields contain, by their names. */
  readonly typed: URLSearchParams;
  readonly problems: Problems;
  /** What is stored now, by the names of fields that show something else. */
  readonly stored?: ReadonlyMap<string, unknown>;
  /** The names of fields that contain what someone else has stored meanwhile. */
  readonly adopted?: ReadonlySet<string>;
}

/** All fields: those that the form names first, and the others in parts that can be opened. */
export function formFields(form: FormShown, texts: Texts): Html {
  const { fields, spec, problems, stored, adopted } = form;
  const { parts = {} } = spec;
  const named = [spec.first, ...Object.values(parts)].flat();
  const isOf = (names: readonly string[]) => (field: Field) => names.includes(baseOf(field));
  const others = fields.filter((field) => !isOf(named)(field));
  const words: Readonly<Record<string, string>> = texts.console.forms.parts;
  const part = (heading: string, own: readonly Field[]) => {
    if (own.length === 0) return '';
    const isOpen = own.some(({ name }) => problems.has(name) || stored?.has(name) || adopted?.has(name));
    return html`<details class="part"${isOpen ? html` open` : ''}>
<summary>${heading}</summary>
${own.map((field) => fieldShown(field, form, texts))}</details>\n`;
  };
  const inOrder = (names: readonly string[]) =>
    names.flatMap((name) => fields.filter((field) => baseOf(field) === name));
  return html`${inOrder(spec.first).map((field) => fieldShown(field, form, texts))}${Object.entries(
    parts,
  ).map(([name, names]) => part(words[name] ?? name, inOrder(names)))}${part(words.more ?? '', others)}`;
}

/** `client_name#de` stands beside `client_name`. */
function baseOf({ name }: Field): string {
  return isTranslation(name) ? name.slice(0, name.indexOf('#')) : name;
}

/** The field that has the focus at first: the first one that is wrong, or else the first one. */
function focusedIn({ fields, spec, problems }: FormShown): string | undefined {
  if (problems.size > 0) return [...problems.keys()].find((name) => name !== '');
  const [first = fields[0]?.name] = spec.first.filter((name) => fields.some((field) => field.name === name));
  return first;
}

/** The `id` of a field. */
export function idOf({ name }: Pick<Field, 'name'>): string {
  return `field-${name.replaceAll(/[^\w-]/g, '-')}`;
}

/** What a field is called. */
export function labelOf(name: string, texts: Texts, spec: Partial<FormSpec> = {}): string {
  const labels: Readonly<Record<string, string>> = texts.labels;
  const [base, tag] = [textNameOf(name, spec), name.split('#')[1]];
  const label = labels[base] ?? base;
  return tag === undefined ? label : `${label} (${texts.formats.languageName(tag)})`;
}

/** What the claims of users are called if others have the same name. */
export const PERSON_LABELS = { 'claims.name': 'full_name', 'claims.profile': 'profile_page' } as const;

/** What a member is called that an event says has changed. */
export function labelOfChange(type: EventType, member: string, texts: Texts): string {
  const isClaim = type === 'person_changed' && member !== 'username';
  return isClaim ? labelOf(`claims.${member}`, texts, { labels: PERSON_LABELS }) : labelOf(member, texts);
}

function fieldShown(field: Field, form: FormShown, texts: Texts): Html {
  const { console: words } = texts;
  const { typed, problems, stored, adopted } = form;
  const { name, kind, isRequired } = field;
  const id = idOf(field);
  const problem = problems.get(name);
  const hint = hintOf(field, form, texts);
  const notes = [
    ...(problem === undefined
      ? []
      : [
          html`<p id="${id}-problem" class="wrong">${icon('alert')}<span>${problemText(problem, texts)}</span></p>\n`,
        ]),
    ...(stored?.has(name)
      ? [
          html`<p id="${id}-stored" class="stored">${words.forms.storedNow} ${storedShown(field, stored.get(name), texts)}</p>\n`,
        ]
      : []),
    ...(adopted?.has(name) ? [html`<p id="${id}-stored" class="stored">${words.forms.adopted}</p>\n`] : []),
    ...(hint === undefined ? [] : [html`<p id="${id}-hint" class="note hint">${hint}</p>\n`]),
  ];
  const described = [
    ...(problem === undefined ? [] : [`${id}-problem`]),
    ...(stored?.has(name) || adopted?.has(name) ? [`${id}-stored`] : []),
    ...(hint === undefined ? [] : [`${id}-hint`]),
  ].join(' ');
  const more = html`${described === '' ? '' : html` aria-describedby="${described}"`}${problem === undefined ? '' : html` aria-invalid="true"`}${focusedIn(form) === name ? html` autofocus` : ''}`;
  const isOfConsole = form.spec.ofConsole?.includes(name) === true;
  const label = html`${labelOf(name, texts, form.spec)}${isOfConsole ? '' : html` ${rawName(name)}`}`;
  const values = typed.getAll(name);
  const [value = ''] = values;
  if (kind === 'check' || kind === 'reset')
    return html`<div class="check"><input id="${id}" name="${name}" type="checkbox" value="yes"${value === 'yes' ? html` checked` : ''}${more}>
<label for="${id}">${label}</label></div>
${notes}`;
  if (kind === 'checks')
    return html`<fieldset class="checks"${described === '' ? '' : html` aria-describedby="${described}"`}>
<legend>${label}</legend>
${field.values.map(
  (
    one,
  ) => html`<div class="check"><input id="${id}-${one.replaceAll(/[^\w-]/g, '-')}" name="${name}" type="checkbox" value="${one}"${values.includes(one) ? html` checked` : ''}>
<label for="${id}-${one.replaceAll(/[^\w-]/g, '-')}">${checkText(name, one, texts)}</label></div>\n`,
)}</fieldset>
${notes}`;
  const required = isRequired ? html` required` : '';
  return html`<label for="${id}">${label}</label>
${controlOf(field, id, value, html`${required}${more}`, texts)}
${notes}`;
}

function controlOf(field: Field, id: string, value: string, more: Html, texts: Texts): Html {
  const { name, kind, isRequired, minimum, maximum, maxLength } = field;
  const { forms: words } = texts.console;
  const absent: Readonly<Record<string, string>> = words.absent;
  switch (kind) {
    case 'choice':
      return html`<select id="${id}" name="${name}"${more}>
${isRequired && value !== '' ? '' : html`<option value="">${isRequired ? words.choose : (absent[name] ?? words.byDefault)}</option>\n`}${field.values.map(
  (one) =>
    html`<option value="${one}"${one === value ? html` selected` : ''}>${valueText(name, one, texts)}</option>\n`,
)}</select>`;
    case 'yes_no':
      return html`<select id="${id}" name="${name}"${more}>
<option value="">${words.byDefault}</option>
${(['yes', 'no'] as const).map((one) => html`<option value="${one}"${one === value ? html` selected` : ''}>${words[one]}</option>\n`)}</select>`;
    case 'lines':
    case 'json':
      return html`<textarea id="${id}" name="${name}" rows="${kind === 'json' ? 6 : 3}" autocapitalize="none" spellcheck="false"${more}>
${value}</textarea>`;
    case 'secret':
      return html`<input id="${id}" name="${name}" type="password" autocomplete="new-password"${more}>`;
    case 'integer':
      return html`<input id="${id}" name="${name}" type="number" step="1" inputmode="numeric" value="${value}"${minimum === undefined ? '' : html` min="${minimum}"`}${maximum === undefined ? '' : html` max="${maximum}"`}${more}>`;
    default:
      return html`<input id="${id}" name="${name}" value="${value}" autocomplete="off" autocapitalize="none" spellcheck="false"${maxLength === undefined ? '' : html` maxlength="${maxLength}"`}${more}>`;
  }
}

/** A value of a choice as pages say it, such as a policy. */
function valueText(name: string, value: string, { console: words }: Texts): string {
  const known: Readonly<Record<string, string>> =
    name === 'sign_in_policy' ? words.policies : (words.forms.values as Readonly<Record<string, string>>);
  return known[value] ?? value;
}

/** A value to check: what it means, and as the API calls it. */
function checkText(name: string, value: string, texts: Texts): Html {
  const said = valueText(name, value, texts);
  return said === value ? html`<code>${value}</code>` : html`${said} ${rawName(value)}`;
}

/** More characters do not fit beside a label on every screen. */
const LONG_NAME = 20;

/** A name as commands and the API have it. @param whole characters up to which it does not break after `_` or `:` */
export function rawName(name: string, whole = LONG_NAME): Html {
  const parts = name.length > whole ? name.split(/(?<=[_:])/) : [name];
  return html`<code class="raw">${parts.map((part, index) => html`${index === 0 ? '' : html`<wbr>`}${part}`)}</code>`;
}

/** The name by which texts know a field, without the tag of its language. */
function textNameOf(name: string, { labels: own = {} }: Partial<FormSpec>): string {
  const [base = ''] = (name.split('.').at(-1) ?? '').split('#');
  return own[name] ?? base;
}

/** In words of the page, or in English as the API describes it. */
function hintOf({ name, about, kind }: Field, { spec }: FormShown, texts: Texts): Html | undefined {
  const own: Readonly<Record<string, string>> = texts.console.forms.hints;
  const form = kind === 'lines' ? texts.console.forms.onePerLine : undefined;
  const text = own[textNameOf(name, spec)];
  if (text !== undefined) return html`${sentence(text)}${form === undefined ? '' : ` ${form}`}`;
  if (about === undefined) return form === undefined ? undefined : html`${form}`;
  return html`<span lang="en">${sentence(about)}</span>${form === undefined ? '' : ` ${form}`}`;
}

/** `the grants of a client` as a sentence. A name at the beginning stays as it is. */
function sentence(text: string): string {
  const first = text.replace(/^[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase());
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

export function problemText(problem: ShownProblem, texts: Texts): Html {
  const { reason, at, detail, said, pattern, line, others = [] } = problem;
  const { forms, refusals } = texts.console;
  const text = pattern === undefined ? forms.problems[reason] : forms.patterns[pattern];
  const place = at === undefined ? '' : ` ${forms.place(String(at[0]), String(at[1]))}`;
  const more = detail === undefined ? '' : html` <span lang="en"><bdi>${sentence(detail)}</bdi></span>`;
  const where = line === undefined ? '' : `${forms.line(String(line))} `;
  const what =
    said === undefined ? html`${text}${place}${more}` : html`<bdi>${wholeSentenceIn(refusals, said)}</bdi>`;
  return html`${where}${what}${others.map((other) => html`<br>${problemText(other, texts)}`)}`;
}

function storedShown(field: Field, value: unknown, texts: Texts): Html {
  const shown = shownOf(field, value).map((text) => valueText(field.name, text, texts));
  return shown.length === 0
    ? html`<em>${texts.console.forms.nothing}</em>`
    : html`<code>${shown.join('\n')}</code>`;
}

/** What is wrong with a form, with links to its fields. */
export function problemSummary(
  heading: string,
  { fields, problems, spec }: FormShown,
  texts: Texts,
  id = 'problem',
): Html {
  const known = fields.filter(({ name }) => problems.has(name));
  const general = problems.get('');
  return html`<div role="alert" id="${id}" class="problem"${known.length === 0 ? html` tabindex="-1" autofocus` : ''}>${icon('alert')}<div><p>${heading}</p>
${general === undefined ? '' : html`<p>${problemText(general, texts)}</p>\n`}${
  known.length === 0
    ? ''
    : html`<ul class="bullets">
${known.map((field) => html`<li><a href="#${field.kind === 'checks' ? `${idOf(field)}-${field.values[0]?.replaceAll(/[^\w-]/g, '-')}` : idOf(field)}">${labelOf(field.name, texts, spec)}</a></li>\n`)}</ul>`
}</div></div>`;
}

/** Rules of forms, after those of the console. */
export const FORM_STYLE = `
.form { max-width: 40rem; margin-top: 1rem; }
.form textarea { min-height: 5rem; margin-bottom: 1.25rem; }
.form .part { margin-bottom: 1rem; border-top: 1px solid var(--line); }
.form .part summary { font-weight: 600; }
.checks { margin: 0 0 1.25rem; padding: 0; border: 0; min-width: 0; }
.checks legend { margin-bottom: .375rem; padding: 0; font-size: .875rem; font-weight: 600; }
.checks .check { margin-bottom: .5rem; }
.check + .note.hint { margin-top: -.75rem; }
:is(select, textarea)[aria-invalid] { border-color: var(--danger); }
.wrong { display: flex; gap: .5rem; margin: -.875rem 0 1.25rem; font-size: .875rem; color: var(--danger); }
.wrong + .hint, .stored + .hint { margin-top: -.875rem; }
.stored { margin: -.875rem 0 1.25rem; font-size: .875rem; }
.stored code { white-space: pre-wrap; }
.problem a { color: inherit; }
`;
