import type { BrowserContext } from 'playwright-core';

/** What a browser does and says besides showing pages. */
export interface Watch {
  /** Origins that were asked for anything, blocked requests among them. */
  readonly origins: Set<string>;
  /** Errors and warnings on the console: among them every breach of a Content-Security-Policy. */
  readonly complaints: string[];
}

/** Sees whatever is done from now on. */
export function watch(person: BrowserContext): Watch {
  const seen: Watch = { origins: new Set(), complaints: [] };
  person.on('request', (request) => void seen.origins.add(new URL(request.url()).origin));
  person.on('console', (message) => {
    if (
      ['error', 'warning'].includes(message.type()) &&
      !isStatusOfPage(message.text(), message.page()?.url() === message.location().url)
    )
      seen.complaints.push(message.text());
  });
  person.on('weberror', (error) => void seen.complaints.push(String(error.error())));
  return seen;
}

/** A page that refuses has the status of a refusal; Chromium tells the console of it. */
function isStatusOfPage(text: string, isPage: boolean): boolean {
  return isPage && text.startsWith('Failed to load resource: the server responded with a status of 4');
}
