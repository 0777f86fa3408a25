import type { LocalizedMember } from '@grantd/core';
import type { Language } from './texts.ts';

/**
 * A client's metadata member in a language (RFC 7591 §2.2): tagged with it, tagged with one of its varieties, or, where
 * there is neither, without a tag.
 */
export function localizedMember(
  metadata: Readonly<Record<string, unknown>>,
  member: LocalizedMember | 'name' | 'description',
  language: Language,
): string | undefined {
  const tags = Object.keys(metadata)
    .filter((name) => name.startsWith(`${member}#`))
    .map((name) => ({ name, tag: name.slice(member.length + 1).toLowerCase() }));
  const best =
    tags.find(({ tag }) => tag === language) ?? tags.find(({ tag }) => tag.startsWith(`${language}-`));
  const value = metadata[best?.name ?? member];
  return typeof value === 'string' ? value : undefined;
}
