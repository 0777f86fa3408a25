import type { InactiveReason, RefusalReason } from '@grantd/core';
import { INACTIVE_REASONS, REFUSAL_REASONS } from '@grantd/core/internal/http/errors';
import { PAGE_REASONS, type PageReason } from '../../log/page_events.ts';

/** What each reason code means. Codes of several lists mean the same in each. */
export const REASONS: Readonly<Record<RefusalReason | InactiveReason | PageReason, string>> = {
  ...REFUSAL_REASONS,
  ...INACTIVE_REASONS,
  ...PAGE_REASONS,
};
