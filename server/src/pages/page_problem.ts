import type { PageName, PageReason } from '../log/page_events.ts';
import type { Problem } from './views/problem.ts';

/** Why a page cannot be shown, or a form not be taken: rendered as a page in the one place where errors are. */
export class PageProblem extends Error {
  override readonly name = 'PageProblem';
  readonly problem: Problem;
  readonly status: 400 | 403 | 414;
  readonly page: PageName;
  readonly reason: PageReason;
  readonly clientId: string | undefined;

  constructor(page: PageName, reason: keyof typeof SHOWN, clientId?: string) {
    super(reason);
    const { problem, status } = SHOWN[reason];
    this.page = page;
    this.reason = reason;
    this.problem = problem;
    this.status = status;
    this.clientId = clientId;
  }
}

const SHOWN = {
  request_expired: { problem: 'request_expired', status: 400 },
  request_too_long: { problem: 'too_large', status: 414 },
  form_foreign: { problem: 'form_foreign', status: 403 },
} as const satisfies Partial<
  Record<PageReason, { readonly problem: Problem; readonly status: PageProblem['status'] }>
>;
