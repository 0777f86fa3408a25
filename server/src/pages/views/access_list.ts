import { html } from 'hono/html';
import type { Html } from '../html.ts';
import type { AccessShown } from '../page.ts';
import type { Texts } from '../texts/en.ts';

/** What an application may do, as a list; `undefined` where no scope has a meaning that everyone knows. */
export function knownScopes(scopes: readonly string[], texts: Texts): Html | undefined {
  const known = scopes.filter((scope) => isKnown(scope, texts));
  if (known.length === 0) return undefined;
  return html`<ul class="scopes">
${known.map((scope) => knownScope(scope as keyof Texts['scopes'], texts))}</ul>`;
}

function knownScope(scope: keyof Texts['scopes'], texts: Texts): Html {
  const { title, detail } = texts.scopes[scope];
  return html`<li${scope === 'offline_access' ? html` class="offline"` : ''}><span>${title}</span>${detail === undefined ? '' : html` <span class="detail">${detail}</span>`}</li>
`;
}

/** The scopes that only the application and its API know. */
export function unknownScopes({ scopes }: AccessShown, texts: Texts): readonly string[] {
  return scopes.filter((scope) => !isKnown(scope, texts));
}

/** A claim in words, or as it is called on the wire. */
export function claimText(claim: string, texts: Texts): Html {
  return Object.hasOwn(texts.claims, claim)
    ? html`${texts.claims[claim as keyof Texts['claims']]}`
    : html`<code>${claim}</code>`;
}

function isKnown(scope: string, texts: Texts): scope is keyof Texts['scopes'] {
  return Object.hasOwn(texts.scopes, scope);
}
