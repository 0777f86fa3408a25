const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** From this age on, a date says more than a number of days. */
const RELATIVE_MS = 7 * DAY_MS;

/** Phrases that `Intl` does not provide. */
interface TimeWords {
  readonly justNow: string;
  /** Puts a date into a sentence. */
  readonly on: (date: string) => string;
}

const COUNTED = new WeakSet<object>();

/** Marks a text that depends on a number, so that a language can have words for each plural category. */
export function counted(text: (count: number) => string): (count: number) => string {
  COUNTED.add(text);
  return text;
}

export function isCounted(text: object): boolean {
  return COUNTED.has(text);
}

/**
 * Formats numbers, times and plurals in one language. Dates are in UTC, because the server does not know the user’s
 * time zone.
 */
export class Formats {
  readonly words: TimeWords;
  readonly #language: string;

  constructor(language: string, words: TimeWords) {
    this.words = words;
    this.#language = language;
  }

  /** Picks the word for a number (CLDR plural categories). */
  plural(count: number, words: { readonly one: string; readonly other: string }): string {
    return new Intl.PluralRules(this.#language).select(count) === 'one' ? words.one : words.other;
  }

  /** A text with a number. @param one the text for 1 @param other the text for another number, which replaces `#` */
  counted(one: string, other: string): (count: number) => string {
    return counted((count) => (count === 1 ? one : other.replace('#', this.number(count))));
  }

  /** @param digits after the decimal point, at most. Default: 3 */
  number(count: number, digits = 3): string {
    return new Intl.NumberFormat(this.#language, { maximumFractionDigits: digits }).format(count);
  }

  /** `photos, mail and music`. */
  list(items: readonly string[]): string {
    return new Intl.ListFormat(this.#language, { type: 'conjunction' }).format(items);
  }

  /** `German` for `de`. */
  languageName(tag: string): string {
    return new Intl.DisplayNames([this.#language], { type: 'language' }).of(tag) ?? tag;
  }

  /** `12 March 2026`. */
  date(atMs: number): string {
    return new Intl.DateTimeFormat(this.#language, { dateStyle: 'long', timeZone: 'UTC' }).format(atMs);
  }

  /** `12 Mar 2026`, for columns. */
  shortDate(atMs: number): string {
    return new Intl.DateTimeFormat(this.#language, { dateStyle: 'medium', timeZone: 'UTC' }).format(atMs);
  }

  /** `12 March 2026 at 14:05 UTC`. */
  instant(atMs: number): string {
    const time = new Intl.DateTimeFormat(this.#language, {
      dateStyle: 'long',
      timeStyle: 'short',
      timeZone: 'UTC',
    });
    return `${time.format(atMs)} UTC`;
  }

  /** The hour of a time, such as `12 March 2026` from `14:00` to `15:00`. */
  hourOf(atMs: number): readonly [date: string, from: string, to: string] {
    const time = new Intl.DateTimeFormat(this.#language, { timeStyle: 'short', timeZone: 'UTC' });
    const startMs = atMs - (atMs % HOUR_MS);
    return [this.date(atMs), time.format(startMs), time.format(startMs + HOUR_MS)];
  }

  /** `2 hours ago` during the first week, then `on 12 March 2026`. */
  past(atMs: number, nowMs: number): string {
    return this.distance(Math.min(atMs, nowMs), nowMs) ?? this.words.on(this.date(atMs));
  }

  /** `2 hours ago` or `in 2 hours`. @returns `undefined` for a week and more */
  distance(atMs: number, nowMs: number): string | undefined {
    const leftMs = atMs - nowMs;
    if (Math.abs(leftMs) >= RELATIVE_MS) return undefined;
    if (leftMs <= 0 && leftMs > -MINUTE_MS) return this.words.justNow;
    const words = new Intl.RelativeTimeFormat(this.#language, { numeric: 'auto' });
    if (Math.abs(leftMs) >= DAY_MS) return words.format(Math.trunc(leftMs / DAY_MS), 'day');
    if (Math.abs(leftMs) >= HOUR_MS) return words.format(Math.trunc(leftMs / HOUR_MS), 'hour');
    const minutes = leftMs / MINUTE_MS;
    return words.format(leftMs > 0 ? Math.ceil(minutes) : Math.trunc(minutes), 'minute');
  }

  /** `5 minutes`. Rounds up, so that the user never returns too early. */
  duration(seconds: number): string {
    if (seconds <= 59) return this.#unit(Math.max(1, Math.ceil(seconds)), 'second');
    const minutes = Math.ceil(seconds / 60);
    if (minutes < 60) return this.#unit(minutes, 'minute');
    const hours = Math.ceil(minutes / 60);
    return hours < 48 ? this.#unit(hours, 'hour') : this.#unit(Math.ceil(hours / 24), 'day');
  }

  #unit(count: number, unit: 'second' | 'minute' | 'hour' | 'day'): string {
    return new Intl.NumberFormat(this.#language, { style: 'unit', unit, unitDisplay: 'long' }).format(count);
  }
}
