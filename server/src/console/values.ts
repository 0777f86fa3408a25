// How the console shows times, identifiers, users and clients.
import { html } from 'hono/html';
import type { Html } from '../texts/formats/html.ts';
import { reasonIn, type Texts } from '../texts/texts.ts';
import { thingUrl } from './lists.ts';
import type { Names } from './names.ts';

/** A time as its distance from now, with the exact one as its title. @param at of a document, or milliseconds */
export function ago(at: string | number, nowMs: number, { formats }: Texts): Html {
  const atMs = typeof at === 'number' ? at : Date.parse(at);
  const exact = new Date(atMs).toISOString();
  return html`<time class="ago" datetime="${exact}" title="${formats.instant(atMs)}">${formats.past(atMs, nowMs)}</time>`;
}

/** An identifier. The style shortens a long one. The page still has all of it, so that it can be copied. */
export function identifier(value: string): Html {
  return html`<code class="identifier" title="${value}">${value}</code>`;
}

/** What pages need to name users and clients. */
export interface NamingView {
  readonly base: string;
  readonly names: Names;
}

/** A link to a user. One who does not exist any more keeps the subject. */
export function userLink({ base, names }: NamingView, subject: string): Html {
  const name = names.user(subject);
  return name === undefined
    ? html`<span class="gone">${identifier(subject)}</span>`
    : html`<a href="${thingUrl(base, 'users', subject)}"><bdi>${name}</bdi></a>`;
}

/** A link to a client: its name, and its identifier if that says something else. */
export function clientLink({ base, names }: NamingView, id: string): Html {
  const name = names.client(id);
  const shown =
    name === undefined || name === id ? html`<bdi>${id}</bdi>` : html`<bdi>${name}</bdi> (<bdi>${id}</bdi>)`;
  return html`<a href="${thingUrl(base, 'clients', id)}">${shown}</a>`;
}

export function groupLink({ base }: Pick<NamingView, 'base'>, name: string): Html {
  return html`<a href="${thingUrl(base, 'groups', name)}"><bdi>${name}</bdi></a>`;
}

/** A reason code in words, with the code beside it. Another text stands for itself. */
export function reasonLine(code: string, texts: Texts): Html | '' {
  if (code === '') return '';
  const known = reasonIn(texts, code);
  return known === undefined
    ? html`<p class="reason"><bdi>${code}</bdi></p>`
    : html`<p class="reason">${known} <code>${code}</code></p>`;
}
