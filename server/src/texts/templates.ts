// Texts in files of the operator: whole languages, and single texts of a theme. Functions are templates there.
import { isJsonObject, similarName } from '@grantd/core/options';
import { html } from 'hono/html';
import { Formats, isCounted } from './formats/formats.ts';
import { type Html, unseen } from './formats/html.ts';
import { EN, type Texts } from './texts.ts';

/** Texts by name, as a file has them. */
export type TextTree = { readonly [name: string]: string | TextTree };

/** What is wrong with a text, by its names from the top, joined by dots. */
export interface TextProblem {
  readonly path: string;
  /** Follows the path and a colon. */
  readonly problem: string;
}

const MAX_LENGTH = 2000;

/** Sections that a language need not have. They stay English. */
const OPTIONAL: readonly string[] = ['console'];

/** Members that a file sets in another way, or not at all. */
const OWN_MEMBERS: readonly string[] = ['formats', 'language'];

/** Texts that in English only pass an English part on. Another language says the same without it. */
const WITH_ENGLISH: ReadonlySet<string> = new Set([
  ...[
    ...['schema_rule', 'name_form', 'claim_form', 'policy_unreachable', 'not_configured'],
    ...['not_for_admin_api', 'wrong', 'profile', 'lacks', 'must_keep', 'not_fetched', 'document_unfetched'],
    ...['secrets_in_use', 'uri_rule', 'mail_not_sent', 'file_syntax'],
  ].map((name) => `console.refusals.${name}`),
  ...[
    ...['username', 'password_hash', 'group_name', 'not_changed'],
    ...['claim_left_out', 'unusual_name', 'hash_left_out'],
  ].map((name) => `console.files.faults.${name}`),
  // These give an order of the command line.
  ...['name_unreadable', 'scope_of_others'].map((name) => `console.warnings.${name}`),
]);

type Node = Readonly<Record<string, unknown>>;
type TextFunction = (...values: readonly never[]) => unknown;

/**
 * The catalogue of a language, from a file that has every text.
 * @param language tag (BCP 47) that `Intl` knows
 */
export function languageFrom(
  tree: unknown,
  language: string,
): { readonly texts: Texts } | { readonly problems: readonly TextProblem[] } {
  const reader = new Reader(language, true);
  if (!isJsonObject(tree)) return { problems: [{ path: '', problem: 'expected an object of texts' }] };
  const { formats: time, ...texts } = tree;
  const words = isJsonObject(time) ? time : {};
  const justNow = reader.text(words.justNow, 'formats.justNow');
  const on = reader.template(words.on, ON, 'formats.on');
  reader.refuseOthers(words, { justNow, on }, 'formats');
  const formats = new Formats(language, {
    justNow: justNow ?? '',
    on: (date) => String(on && call(on, date)),
  });
  const read = reader.read(texts, EN, EN, '');
  if (reader.problems.length > 0) return { problems: reader.problems };
  return { texts: { ...(read as Texts), formats, language } };
}

/** A catalogue with some other texts. @param tree the other texts */
export function textsWith(
  texts: Texts,
  tree: unknown,
): { readonly texts: Texts } | { readonly problems: readonly TextProblem[] } {
  const reader = new Reader(texts.language, false);
  if (!isJsonObject(tree)) return { problems: [{ path: '', problem: 'expected an object of texts' }] };
  const read = reader.read(tree, EN, texts, '');
  return reader.problems.length > 0 ? { problems: reader.problems } : { texts: read as Texts };
}

const ON = (date: string) => `on ${date}`;

function call(text: TextFunction, ...values: readonly unknown[]): unknown {
  return text(...(values as readonly never[]));
}

class Reader {
  readonly problems: TextProblem[] = [];
  readonly #plurals: Intl.PluralRules;
  readonly #numbers: Intl.NumberFormat;
  readonly #isWhole: boolean;

  /** @param isWhole whether no text may be missing */
  constructor(language: string, isWhole: boolean) {
    this.#plurals = new Intl.PluralRules(language);
    this.#numbers = new Intl.NumberFormat(language);
    this.#isWhole = isWhole;
  }

  /** @param form the English texts, which say what each text is. @param rest where missing texts come from */
  read(node: Node, form: Node, rest: Node, path: string): Node {
    const read: Record<string, unknown> = { ...rest };
    for (const [name, model] of Object.entries(form)) {
      const here = path === '' ? name : `${path}.${name}`;
      if (model === undefined || OWN_MEMBERS.includes(here)) continue;
      const value = node[name];
      if (value === undefined && (!this.#isWhole || OPTIONAL.includes(here))) continue;
      if (typeof model === 'string') read[name] = this.text(value, here);
      else if (typeof model === 'function') read[name] = this.template(value, model as TextFunction, here);
      else if (isJsonObject(model)) {
        if (value === undefined || isJsonObject(value))
          read[name] = this.read(value ?? {}, model, rest[name] as Node, here);
        else this.#refuse(here, 'expected an object of texts');
      }
    }
    const known = Object.entries(form).filter(
      ([name, model]) => model !== undefined && (path !== '' || !OWN_MEMBERS.includes(name)),
    );
    this.refuseOthers(node, Object.fromEntries(known), path);
    return read;
  }

  refuseOthers(node: Node, known: Node, path: string): void {
    for (const name of Object.keys(node)) {
      if (Object.hasOwn(known, name)) continue;
      const similar = similarName(name, Object.keys(known));
      const advice = similar === undefined ? '' : `. Did you mean ${similar}?`;
      this.#refuse(path === '' ? name : `${path}.${name}`, `there is no such text${advice}`);
    }
  }

  text(value: unknown, path: string): string | undefined {
    const text = this.#string(value, path);
    if (text !== undefined && placeholdersIn(text).length > 0) this.#refuse(path, 'expected no placeholder');
    return text;
  }

  /** A function like the model. Placeholders `{1}`, `{2}` … stand for its values. */
  template(value: unknown, model: TextFunction, path: string): TextFunction | undefined {
    if (isCounted(model) && isJsonObject(value)) return this.#plural(value, model, path);
    const text = this.#string(value, path);
    if (text === undefined) return undefined;
    this.#requirePlaceholders(text, model, path);
    const isHtml = typeof call(model, ...sentinels(model)) !== 'string';
    if (isHtml) return (...values) => htmlOf(text, values);
    return (...values) => this.#filled(text, values);
  }

  #plural(value: Node, model: TextFunction, path: string): TextFunction | undefined {
    const categories = this.#plurals.resolvedOptions().pluralCategories;
    // French, for example, has a category for millions.
    const usual = new Set(Array.from({ length: 200 }, (_, count) => this.#plurals.select(count)));
    const forms: Record<string, string> = {};
    for (const category of categories) {
      if (value[category] === undefined && !usual.has(category) && category !== 'other') continue;
      const text = this.#string(value[category], `${path}.${category}`);
      if (text !== undefined) forms[category] = text;
    }
    this.refuseOthers(value, Object.fromEntries(categories.map((one) => [one, true])), path);
    if (forms.other !== undefined) this.#requirePlaceholders(forms.other, model, `${path}.other`);
    for (const [category, text] of Object.entries(forms))
      if (placeholdersIn(text).some((one) => one !== 1))
        this.#refuse(`${path}.${category}`, 'expected {1} as the only placeholder');
    return (count) => this.#filled(forms[this.#plurals.select(Number(count))] ?? forms.other ?? '', [count]);
  }

  #filled(text: string, values: readonly unknown[]): string {
    return text.replaceAll(PLACEHOLDER, (_, index: string) => {
      const value = values[Number(index) - 1];
      return typeof value === 'number' ? this.#numbers.format(value) : String(value);
    });
  }

  /** Each placeholder of the English text has to be there, because a sentence without its name says something else. */
  #requirePlaceholders(text: string, model: TextFunction, path: string): void {
    const needed = new Set(placeholdersIn(templateOf(model).other));
    const found = new Set(placeholdersIn(text));
    const missing = WITH_ENGLISH.has(path) ? undefined : [...needed].find((one) => !found.has(one));
    const other = [...found].find((one) => one < 1 || one > model.length);
    if (missing !== undefined) this.#refuse(path, `expected the placeholder {${missing}}`);
    if (other !== undefined) this.#refuse(path, `unknown placeholder {${other}}`);
  }

  #string(value: unknown, path: string): string | undefined {
    if (typeof value === 'string' && value.trim() !== '' && value.length <= MAX_LENGTH) {
      if (!/[^\P{C}\p{Cf}]/u.test(value)) return value;
      this.#refuse(path, 'expected a text without control characters and line breaks');
    } else if (value === undefined) this.#refuse(path, 'is missing');
    else this.#refuse(path, `expected a text of at most ${MAX_LENGTH} characters`);
    return undefined;
  }

  #refuse(path: string, problem: string): void {
    this.problems.push({ path, problem });
  }
}

const PLACEHOLDER = /\{(\d+)\}/g;

function placeholdersIn(text: string): readonly number[] {
  return [...text.matchAll(PLACEHOLDER)].map(([, index]) => Number(index));
}

/** Escapes everything. `[[…]]` is for screen readers alone. */
function htmlOf(text: string, values: readonly unknown[]): Html {
  const pieces = text.split(/(\[\[.*?\]\])/).map((piece) => {
    const hidden = /^\[\[(.*)\]\]$/.exec(piece)?.[1];
    return hidden === undefined ? filledHtml(piece, values) : unseen(filledHtml(hidden, values));
  });
  return html`${pieces}`;
}

function filledHtml(text: string, values: readonly unknown[]): Html {
  const pieces = text
    .split(PLACEHOLDER)
    .map((piece, at) => (at % 2 === 0 ? piece : values[Number(piece) - 1]));
  return html`${pieces}`;
}

function sentinels(model: TextFunction): readonly string[] {
  return Array.from({ length: model.length }, (_, at) => `{${at + 1}}`);
}

/** Numbers that a catalogue puts into words. The second has a group separator in most languages. */
const ONE = 1;
const MANY = 7777;

/** A text function as a template; `one` is set if it counts. */
function templateOf(model: TextFunction): { readonly one?: string; readonly other: string } {
  if (!isCounted(model)) {
    const text = String(call(model, ...sentinels(model)));
    return { other: text.replaceAll(/<span class="unseen">(.*?)<\/span>/g, '[[$1]]') };
  }
  const said = (count: number, shown: RegExp) => String(call(model, count)).replace(shown, '{1}');
  return { one: said(ONE, /(?<![\d,.])1(?![\d,.])/), other: said(MANY, /7\D?777/) };
}

/** The texts as a file has them, to start a translation from. */
export function treeOf(texts: Texts): TextTree {
  const { formats, language: _, ...others } = texts;
  const tree = { justNow: formats.words.justNow, on: formats.words.on('{1}') };
  return { formats: tree, ...branchOf(others) };
}

function branchOf(node: Node): TextTree {
  const tree: Record<string, string | TextTree> = {};
  for (const [name, value] of Object.entries(node)) {
    if (typeof value === 'string') tree[name] = value;
    else if (typeof value === 'function') {
      const { one, other } = templateOf(value as TextFunction);
      tree[name] = one === undefined || one === other ? other : { one, other };
    } else if (isJsonObject(value)) tree[name] = branchOf(value);
  }
  return tree;
}
