// What a form was opened with: by whom, where, and what its fields contained. It travels in the form, sealed. If the
// sign-in has ended before the form is sent, the form comes back with what was typed. If someone else has changed the
// same thing, the form tells the changes apart.
import { createHash } from 'node:crypto';
import { isJsonObject } from '@grantd/core/options';
import type { SealedValues } from '../pages/browser/cookies.ts';
import { type Field, shownOf } from './fields.ts';
import type { ShownOnce } from './kept_secrets.ts';

export interface OpenedForm {
  /** The subject of the administrator. */
  readonly subject: string;
  /** The path and query of the form, below the console. */
  readonly below: string;
  /** The names of fields that are never shown again. */
  readonly secret: readonly string[];
  /** A digest of what each field contained. */
  readonly digests: Readonly<Record<string, string>>;
}

/** The hidden field. */
export const OPENED_FIELD = 'opened';

/** Of the page after a sign-in: what was sent before it changed nothing. */
export const UNSAVED = 'unsaved';

/** Milliseconds for which a form waits for a sign-in. */
const KEPT_MS = 60 * 60 * 1000;

/** Where the form of an administrator is kept. The next one takes its place, so each has at most one. */
const PLACE = 'form';

export class OpenedForms {
  readonly #seals: SealedValues;
  readonly #kept: ShownOnce;

  constructor(seals: SealedValues, kept: ShownOnce) {
    this.#seals = seals;
    this.#kept = kept;
  }

  seal(opened: OpenedForm): Promise<string> {
    return this.#seals.seal(opened);
  }

  /** @returns `undefined` if this server did not make the form for an administrator */
  async of(form: URLSearchParams): Promise<OpenedForm | undefined> {
    const value = await this.#seals.open(form.get(OPENED_FIELD) ?? '');
    if (!isJsonObject(value)) return undefined;
    const { subject, below, secret, digests } = value;
    if (typeof subject !== 'string' || typeof below !== 'string') return undefined;
    if (!Array.isArray(secret) || !isJsonObject(digests)) return undefined;
    return { subject, below, secret: secret.map(String), digests: digests as OpenedForm['digests'] };
  }

  /**
   * Keeps what was typed until the administrator has signed in again. Only forms that this server made for an
   * administrator are kept, so strangers can store nothing.
   */
  async keep({ subject, below, secret, digests }: OpenedForm, form: URLSearchParams): Promise<void> {
    const left = ['form_token', 'do', 'confirmed', OPENED_FIELD, ...secret];
    const typed = [...form].filter(([name]) => !left.includes(name));
    await this.#kept.keep(subject, PLACE, JSON.stringify({ below, typed, digests }), KEPT_MS);
  }

  /** What the administrator typed into a form, without secrets. @returns `undefined` if it is not kept */
  async find(
    subject: string,
    below: string,
  ): Promise<(Pick<OpenedForm, 'digests'> & { readonly typed: URLSearchParams }) | undefined> {
    const kept = await this.#kept.find(subject, PLACE);
    const form = kept === undefined ? undefined : JSON.parse(kept);
    if (form?.below !== below) return undefined;
    return { typed: new URLSearchParams(form.typed), digests: form.digests };
  }
}

/** What a field contains, in so few characters that a form can carry it for each field. */
function contentDigest({ kind }: Field, texts: readonly string[]): string {
  const ordered = kind === 'checks' ? texts.toSorted() : texts;
  const text = ordered.join('\n').replaceAll('\r\n', '\n').trim();
  return createHash('sha256').update(text).digest('base64url').slice(0, 11);
}

/** The digest of each field of a form. */
export function digestsOf(
  fields: readonly Field[],
  storedValue: (field: Field) => unknown,
): OpenedForm['digests'] {
  return Object.fromEntries(
    fields.map((field) => [field.name, contentDigest(field, shownOf(field, storedValue(field)))]),
  );
}

/**
 * Tells the changes of a form from those that were stored since it was opened.
 * @param storedValue what is stored now
 * @returns what was typed, with the values that only others have changed; what is stored now in fields that both have
 *   changed; the names of the other changed fields; and whether the form changes anything
 */
export function mergedWith(
  fields: readonly Field[],
  sent: URLSearchParams,
  digests: OpenedForm['digests'],
  storedValue: (field: Field) => unknown,
) {
  const typed = new URLSearchParams(sent);
  const stored = new Map<string, unknown>();
  const adopted = new Set<string>();
  let hasOwn = false;
  for (const field of fields) {
    const { name } = field;
    const value = storedValue(field);
    const texts = shownOf(field, value);
    const [before, own, now] = [
      digests[name],
      contentDigest(field, sent.getAll(name)),
      contentDigest(field, texts),
    ];
    if (own === now) continue;
    if (own !== before) hasOwn = true;
    if (now === before) continue;
    if (own !== before) stored.set(name, value);
    else {
      adopted.add(name);
      typed.delete(name);
      for (const text of texts) typed.append(name, text);
    }
  }
  return { typed, others: { stored, adopted }, hasOwn };
}
