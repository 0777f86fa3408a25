import type { Hono, MiddlewareHandler } from 'hono';
import type { PageContext, PageEnvironment } from '../browser/request.ts';
import type { Drawing } from '../drawing/drawing.ts';

/** Pages that belong together, with their routes. */
export interface Flow {
  /** Adds what comes before the body of a request is read. */
  mountFirst?(routes: PageRoutes): void;
  mount(routes: PageRoutes): void;
}

type Answer = (c: PageContext) => Response | Promise<Response>;

/** Adds the routes of flows, below the path of the issuer. Other methods than those of a route get 405 (RFC 9110 §15.5.6). */
export class PageRoutes {
  readonly #app: Hono<PageEnvironment>;
  readonly #drawing: Drawing;

  constructor(app: Hono<PageEnvironment>, drawing: Drawing) {
    this.#app = app;
    this.#drawing = drawing;
  }

  /** Comes before the routes of a path that are added later. */
  before(path: string, middleware: MiddlewareHandler<PageEnvironment>): void {
    this.#app.use(this.#at(path), middleware);
  }

  /** A page that is only read. */
  page(path: string, first: Answer | MiddlewareHandler<PageEnvironment>, ...later: readonly Answer[]): void {
    this.#app.get(this.#at(path), first, ...later).all(this.#refuse('GET, HEAD'));
  }

  /** A page with forms. */
  form(path: string, show: Answer, submit: Answer): void {
    this.#app.get(this.#at(path), show).post(submit).all(this.#refuse('GET, HEAD, POST'));
  }

  /** What forms of other pages, or other servers, send. */
  post(path: string, submit: Answer): void {
    this.#app.post(this.#at(path), submit).all(this.#refuse('POST'));
  }

  /** Every method. */
  all(path: string, answer: Answer): void {
    this.#app.all(this.#at(path), answer);
  }

  #at(path: string): string {
    return `${this.#drawing.basePath}${path}`;
  }

  #refuse(allowed: string): Answer {
    return (c) => {
      c.header('allow', allowed);
      return this.#drawing.problem(c, { problem: 'method_not_allowed' }, 405);
    };
  }
}
