import type { AuditEvent, AuditFilter, AuditVerification, ChainLink } from '../data/audit.ts';
import type { OperationParts } from './operation.ts';

type AuditParts = Pick<OperationParts, 'auditTrail'>;

/** A page of the audit trail. */
export interface AuditPage {
  readonly events: readonly AuditEvent[];
  /** The number to go on with; `undefined` if no event is left. */
  readonly next: number | undefined;
}

/**
 * Lists events, the newest first.
 * @param before only events before this number: `next` of the page before
 * @param most maximum events of the page
 */
export async function auditBefore(
  { auditTrail }: AuditParts,
  before: number | undefined,
  filter: AuditFilter,
  most: number,
): Promise<AuditPage> {
  return pageOf(auditTrail.before(before, filter), most);
}

/** Lists events in order. @param after only events after this number: `next` of the page before */
export async function auditAfter(
  { auditTrail }: AuditParts,
  after: number,
  filter: AuditFilter,
  most: number,
): Promise<AuditPage> {
  return pageOf(auditTrail.after(after, filter), most);
}

async function pageOf(found: AsyncIterable<AuditEvent>, most: number): Promise<AuditPage> {
  const events: AuditEvent[] = [];
  for await (const event of found) {
    if (events.length === most) return { events, next: events.at(-1)?.sequence };
    events.push(event);
  }
  return { events, next: undefined };
}

/**
 * Chains the latest events and checks all of them. Begins no chain: a missing one is a problem.
 * @param expected a link that an earlier verification has returned
 */
export async function verifyAudit(
  { auditTrail, secret }: Pick<OperationParts, 'auditTrail' | 'secret'>,
  expected?: ChainLink,
): Promise<AuditVerification> {
  const key = secret();
  await auditTrail.sealIfSound(key);
  return auditTrail.verify(key, expected);
}
