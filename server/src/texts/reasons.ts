// Sentences about reason codes, which are the ones of `grantd help reason-codes`.
import { INACTIVE_REASONS, REFUSAL_REASONS } from '@grantd/core/internal/http/errors';
import { PAGE_REASONS } from '../log/page_events.ts';
import { REASONS_DE } from './de/reasons.ts';

/** Every reason code with its sentence. Codes of two lists mean the same in both. */
const REASONS: ReadonlyMap<string, string> = new Map(
  Object.entries({ ...REFUSAL_REASONS, ...INACTIVE_REASONS, ...PAGE_REASONS }),
);

/** A text in a language that need not be that of the page. */
export interface ReasonText {
  readonly text: string;
  readonly language: string;
}

/** Every reason code. */
export function reasonCodes(): readonly string[] {
  return [...REASONS.keys()];
}

/** @returns `undefined` if the text is no reason code */
export function reasonIn(language: string, code: string): ReasonText | undefined {
  const german = language.startsWith('de') ? REASONS_DE.get(code) : undefined;
  if (german !== undefined) return { text: german, language: 'de' };
  const text = REASONS.get(code);
  return text === undefined ? undefined : { text, language: 'en' };
}
