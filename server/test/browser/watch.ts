import type { BrowserContext } from 'playwright-core';

/** Requests and console messages of a browser. */
interface Watch {
  /** Origins of all requests, including blocked ones. */
  readonly origins: Set<string>;
  /** Errors and warnings on the console, including every violation of a Content-Security-Policy. */
  readonly complaints: string[];
}

/** Watches from now on. */
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

/** A page with an error has an error status, which Chromium reports on the console. */
function isStatusOfPage(text: string, isPage: boolean): boolean {
  return isPage && /^Failed to load resource: the server responded with a status of (?:4\d\d|503)/.test(text);
}
