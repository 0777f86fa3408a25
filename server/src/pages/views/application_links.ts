import { html } from 'hono/html';
import type { Html } from '../html.ts';
import type { ApplicationShown } from '../page.ts';
import type { Texts } from '../texts/en.ts';
import { webAddress } from './name.ts';

/** What an application tells of itself elsewhere (OpenID Connect Dynamic Client Registration §2); empty where nothing. */
export function applicationLinks(
  { policyUri, tosUri, clientUri }: ApplicationShown,
  texts: Texts,
): Html | '' {
  const links = [
    { href: webAddress(policyUri), text: texts.consent.policy },
    { href: webAddress(tosUri), text: texts.consent.terms },
    { href: webAddress(clientUri), text: texts.consent.website },
  ].filter(({ href }) => href !== undefined);
  if (links.length === 0) return '';
  return html`<ul class="links" role="list">
${links.map(({ href, text }) => html`<li><a href="${href}" target="_blank" rel="noopener noreferrer">${text}<span class="unseen"> ${texts.newTab}</span></a></li>\n`)}</ul>`;
}
