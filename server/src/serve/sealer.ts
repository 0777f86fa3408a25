import { setTimeout as pause } from 'node:timers/promises';
import { AuditTrailBroken } from '../data/audit.ts';
import type { ClockWatch } from '../data/clock_watch.ts';
import type { Instance } from '../instance/instance.ts';
import type { Log } from '../log/log.ts';
import { causeOf } from '../log/logged_error.ts';

/** Milliseconds between two passes. Until then, a change to an event in the database goes unnoticed. */
const SEAL_EVERY_MS = 2_000;

/** Milliseconds between two removals of old events. */
const REMOVE_EVERY_MS = 60_000;

/** Milliseconds between two lines about a failure that lasts, such as a full disk. */
const REPORT_EVERY_MS = 60_000;

/** How long a database without a chain is taken for a new one. */
const NEW_FOR_MS = 60_000;

/** Chains new events. Never rejects. */
export async function sealOnce(
  { auditTrail, secret }: Pick<Instance, 'auditTrail' | 'secret'>,
  log: Pick<Log, 'error' | 'warn'>,
  signal?: AbortSignal,
  clock: () => number = Date.now,
): Promise<void> {
  try {
    await auditTrail.seal(secret(), (events, oldestMs) => {
      // Expected after an upgrade, and of a database that only commands have used. Otherwise, someone has removed the chain.
      if (clock() - oldestMs > NEW_FOR_MS) log.warn({ event: 'audit_chain_begun', events });
    });
  } catch (error) {
    // The next pass tries again. After a reload, that of another service, which may have a new secret.
    if (signal?.aborted !== true) report(log, error, 'audit_seal_failed');
  }
}

/**
 * Chains new events until the signal. Removes events that are older than the retention. Several
 * processes can share the work.
 */
export async function sealPeriodically(
  { auditTrail, secret }: Pick<Instance, 'auditTrail' | 'secret'>,
  retentionSeconds: number,
  clock: Pick<ClockWatch, 'deletionLimitMs'>,
  log: Pick<Log, 'info' | 'error' | 'warn'>,
  signal: AbortSignal,
): Promise<void> {
  const key = secret();
  let removesAtMs = 0;
  const rarely = reportingRarely(log);
  while (!signal.aborted) {
    await sealOnce({ auditTrail, secret: () => key }, rarely, signal);
    try {
      if (performance.now() >= removesAtMs) {
        const remove = () => auditTrail.removeOldest(key, retentionSeconds, clock.deletionLimitMs());
        const removed = await removeOld(remove, signal);
        if (removed > 0) log.info({ event: 'audit_events_removed', rows: removed });
        removesAtMs = performance.now() + REMOVE_EVERY_MS;
      }
    } catch (error) {
      if (!signal.aborted) report(rarely, error, 'audit_removal_failed');
      // A chain that was changed stays so for the next pass.
      if (error instanceof AuditTrailBroken) removesAtMs = performance.now() + REMOVE_EVERY_MS;
    }
    // Rejects only when aborted.
    await pause(SEAL_EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

function report(log: Pick<Log, 'error' | 'warn'>, error: unknown, otherwise: string): void {
  if (error instanceof AuditTrailBroken) log.error({ event: 'audit_trail_broken', cause: causeOf(error) });
  else log.warn({ event: otherwise, cause: causeOf(error) });
}

/** Each pass meets a failure that lasts. */
function reportingRarely(log: Pick<Log, 'error' | 'warn'>): Pick<Log, 'error' | 'warn'> {
  const nextMs = new Map<unknown, number>();
  const rarely = (level: 'error' | 'warn') => (line: { readonly event?: unknown }) => {
    const nowMs = performance.now();
    if (nowMs < (nextMs.get(line.event) ?? 0)) return;
    nextMs.set(line.event, nowMs + REPORT_EVERY_MS);
    log[level](line);
  };
  return { error: rarely('error'), warn: rarely('warn') };
}

async function removeOld(remove: () => Promise<number>, signal: AbortSignal): Promise<number> {
  let total = 0;
  while (!signal.aborted) {
    const removed = await remove();
    if (removed === 0) break;
    total += removed;
    // Requests are served in between.
    await pause(20, undefined, { ref: false });
  }
  return total;
}
