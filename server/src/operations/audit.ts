import type { AuditEvent, AuditFilter, AuditVerification, ChainLink } from '../data/audit.ts';
import type { OperationParts } from './operation.ts';

type AuditParts = Pick<OperationParts, 'auditTrail'>;

/** A page of the audit trail. */
export interface AuditPage {
  readonly events: readonly AuditEvent[];
  /** The number to go on with; `undefined` if all were read. */
  readonly next: number | undefined;
}

interface AuditLimits {
  /** Maximum events of the page. */
  readonly most: number;
  /** About how many events to read at most, whether or not they fit the filter. Default: all. */
  readonly mostRead?: number;
}

/**
 * Lists events, the newest first.
 * @param before only events before this number: `next` of the page before
 */
export async function auditBefore(
  { auditTrail }: AuditParts,
  before: number | undefined,
  filter: AuditFilter,
  { most, mostRead }: AuditLimits,
): Promise<AuditPage> {
  const found = auditTrail.before(before, filter, mostRead);
  const events: AuditEvent[] = [];
  for (;;) {
    const { done, value } = await found.next();
    if (done === true) return { events, next: value };
    if (events.length === most) {
      await found.return(undefined);
      return { events, next: events.at(-1)?.sequence };
    }
    events.push(value);
  }
}

/** An event as commands and downloads print it. */
export function exportedEvent({ sequence, atMs, ...event }: AuditEvent) {
  return { number: sequence, at: new Date(atMs).toISOString(), ...event };
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
