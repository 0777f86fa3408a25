import { html } from 'hono/html';
import type { Html } from '../html.ts';
import { icon } from '../icons.ts';
import type { ScopeShown } from '../page.ts';
import type { Texts } from '../texts/en.ts';

type KnownScope = keyof Texts['scopes'];

/** Scopes that everyone knows, told apart from those that only the application and its API know. */
export interface SortedScopes {
  /** `offline_access` last: it says for how long the others are. */
  readonly known: readonly KnownScope[];
  readonly own: readonly string[];
}

export function sortScopes(scopes: readonly string[], texts: Texts): SortedScopes {
  const asked = new Set(scopes);
  return {
    known: (Object.keys(texts.scopes) as KnownScope[]).filter((scope) => asked.has(scope)),
    own: [...asked].filter((scope) => !Object.hasOwn(texts.scopes, scope)),
  };
}

/** @param as in full with what each means, or in brief */
export function scopeList(scopes: readonly KnownScope[], as: 'full' | 'brief', texts: Texts): Html | '' {
  if (scopes.length === 0) return '';
  return html`<ul class="scopes ${as}" role="list">
${scopes.map((scope) => scopeEntry(scope, as === 'full', texts))}</ul>`;
}

/** Scopes in the operator's words. */
export function describedList(scopes: readonly ScopeShown[], as: 'full' | 'brief'): Html | '' {
  if (scopes.length === 0) return '';
  return html`<ul class="scopes ${as}" role="list">
${scopes.map(({ title, detail }) => html`<li>${icon('check')}<span>${title}</span>${as === 'full' && detail !== undefined ? html` <span class="detail">${detail}</span>` : ''}</li>\n`)}</ul>`;
}

function scopeEntry(scope: KnownScope, inFull: boolean, texts: Texts): Html {
  const { title, detail } = texts.scopes[scope];
  const isOffline = scope === 'offline_access';
  return html`<li${isOffline ? html` class="offline"` : ''}>${icon(isOffline ? 'clock' : 'check')}<span>${title}</span>${inFull && detail !== undefined ? html` <span class="detail">${detail}</span>` : ''}</li>
`;
}

/** Scopes as they are called on the wire: their words are the application's own. */
export function codeList(codes: readonly string[]): Html | '' {
  if (codes.length === 0) return '';
  return html`<ul class="codes" role="list">
${codes.map((code) => html`<li><code>${code}</code></li>\n`)}</ul>`;
}
