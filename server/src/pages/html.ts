import type { html } from 'hono/html';

/** A piece of a page; what was put into it has been escaped. */
export type Html = ReturnType<typeof html>;
