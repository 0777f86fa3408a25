import type { IncomingMessage, ServerResponse } from 'node:http';

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Not much later, since an update of the program may replace its files while it runs. */
const LOAD_AFTER_MS = 1_000;

/** A listener whose code is loaded for its first request, or a moment after the start, which it would make longer. */
export function lateListener(load: () => Promise<Listener>): Listener {
  let listener: Promise<Listener> | undefined;
  const loaded = (): Promise<Listener> => {
    // A failure is not kept: it may have been a moment without free file descriptors.
    listener ??= load().catch((error: unknown) => {
      listener = undefined;
      throw error;
    });
    return listener;
  };
  // If loading fails, each request tries again and reports the error.
  setTimeout(() => void loaded().catch(() => undefined), LOAD_AFTER_MS).unref();
  return async (request, response) => (await loaded())(request, response);
}
