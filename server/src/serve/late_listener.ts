import type { IncomingMessage, ServerResponse } from 'node:http';

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Not much later, since an update of the program may replace its files while it runs. */
const LOAD_AFTER_MS = 1_000;

/** A listener whose code is loaded for its first request, or a moment after the start, which it would make longer. */
export function lateListener(load: () => Promise<Listener>): Listener {
  let listener: Promise<Listener> | undefined;
  const loaded = (): Promise<Listener> => {
    listener ??= load();
    return listener;
  };
  // Where it cannot be loaded, each of its requests says so.
  setTimeout(() => void loaded().catch(() => undefined), LOAD_AFTER_MS).unref();
  return async (request, response) => (await loaded())(request, response);
}
