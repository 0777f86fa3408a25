import { html, raw } from 'hono/html';

/** A piece of a page. Everything inserted into it has been escaped. */
export type Html = ReturnType<typeof html>;

/** Line icons on a 20 × 20 grid. They only repeat the text next to them. */
const LINES = {
  check: '<path d="m4.5 10.5 3.5 3.5 7.5-8"/>',
  clock: '<circle cx="10" cy="10" r="7"/><path d="M10 6v4.2l2.8 1.8"/>',
  alert: '<circle cx="10" cy="10" r="7.5"/><path d="M10 6v4.6M10 13.6v.2"/>',
  done: '<circle cx="10" cy="10" r="7.5"/><path d="m6.5 10.3 2.4 2.4 4.6-5"/>',
  computer: '<rect x="2.5" y="4" width="15" height="9.5" rx="1.5"/><path d="M7 16.5h6"/>',
  link: '<path d="M8.3 11.7a3.2 3.2 0 0 0 4.5 0l2.9-2.9a3.2 3.2 0 0 0-4.5-4.5l-1 1M11.7 8.3a3.2 3.2 0 0 0-4.5 0l-2.9 2.9a3.2 3.2 0 0 0 4.5 4.5l1-1"/>',
  key: '<circle cx="7" cy="7" r="4"/><path d="m10 10 6.5 6.5M13.5 13.5l2-2"/>',
  menu: '<path d="M3 5.5h14M3 10h14M3 14.5h14"/>',
  copy: '<rect x="7" y="7" width="9.5" height="9.5" rx="1.5"/><path d="M13 4.5A1 1 0 0 0 12 3.5H4.5a1 1 0 0 0-1 1V12a1 1 0 0 0 1 1"/>',
  search: '<circle cx="8.5" cy="8.5" r="5"/><path d="m12.5 12.5 4.5 4.5"/>',
  phone: '<rect x="5.5" y="2.5" width="9" height="15" rx="2"/><path d="M9.2 14.7h1.6"/>',
};

export function icon(name: keyof typeof LINES): Html {
  return html`<svg class="icon" viewBox="0 0 20 20" aria-hidden="true">${raw(LINES[name])}</svg>`;
}

/** A text for screen readers alone. */
export function unseen(text: Html): Html {
  return html`<span class="unseen">${text}</span>`;
}
