// Work that continues after responses.
import { setTimeout as pause } from 'node:timers/promises';
import type { AuthorizationServer } from '@grantd/core';
import { finishDenials } from '../data/document_denials.ts';
import { actingAs } from '../data/tables.ts';
import type { Instance } from '../instance/instance.ts';
import type { Log } from '../log/log.ts';
import { causeOf } from '../log/logged_error.ts';
import type { MailService } from '../mail/mail.ts';
import { ConsentWithdrawal } from '../people/consents.ts';
import { AccessEnding } from '../people/groups.ts';
import { PersonRemoval } from '../people/removal.ts';
import { LogoutDeliverer, type NotifyClients, SessionEnding } from '../people/sessions.ts';

/**
 * Milliseconds between two checks for unfinished work: in the process that sweeps, and in the others, which are only a
 * fallback.
 */
const CHECK_EVERY_MS = 2_000;
const FALLBACK_CHECK_EVERY_MS = 60_000;

/** Maximum milliseconds that a user waits while the server notifies applications of the logout. */
const MAX_WAIT_MS = 3_000;

interface UnfinishedWork {
  /** Notifies the clients of ended sessions. Resolves when all have answered, or after a few seconds. */
  readonly notifyClients: NotifyClients;
  /** Checks for work periodically. Resolves after the signal, when the current work is done. */
  run(signal: AbortSignal): Promise<void>;
  /** Starts no more notifications. Resolves when no pending one needs the database. */
  end(): Promise<void>;
}

/**
 * Work that continues after the response: notifying clients of logouts, and finishing what a crashed process left
 * half-done.
 */
export function unfinishedWork(
  { people, groups, sessions, consents, storage, logoutDeliveries, deniedDocuments }: Instance,
  server: AuthorizationServer,
  log: Log,
  sweeps: boolean,
  mail: MailService | undefined,
): UnfinishedWork {
  const ending = new SessionEnding({ sessions, storage });
  const removal = new PersonRemoval({ people, consents, ending, storage });
  const withdrawal = new ConsentWithdrawal({ consents, storage });
  const access = new AccessEnding({ groups, people, storage });
  const onFault = (error: unknown) => log.error({ event: 'unfinished_work_failed', cause: causeOf(error) });
  const deliverer = new LogoutDeliverer({
    deliveries: logoutDeliveries,
    server,
    onFault,
    report: ({ type, cause, ...known }) =>
      log[type === 'logout_delivered' ? 'info' : 'warn']({
        event: type,
        ...known,
        ...(cause !== undefined && { cause: causeOf(cause) }),
      }),
  });
  const look = async (signal: AbortSignal): Promise<void> => {
    for (const { clientIds: _, ...session } of await ending.finishHalfEnded())
      log.warn({ event: 'session_end_finished', ...session });
    const withdrawals = await withdrawal.finishHalfWithdrawn();
    if (withdrawals > 0) log.warn({ event: 'withdrawals_finished', withdrawals });
    for (const subject of await removal.finishHalfRemoved())
      log.info({ event: 'person_removal_finished', subject });
    for (const { subject, group } of await access.finishHalfEnded())
      log.info({ event: 'group_end_finished', subject, group });
    await deliverer.begin();
    await mail?.deliverer.begin();
    // Last, because a denial can have many clients.
    const clients = await finishDenials({ deniedDocuments, storage: actingAs('server', storage) }, signal);
    if (clients > 0) log.info({ event: 'document_denial_finished', clients });
  };
  const interval = sweeps ? CHECK_EVERY_MS : FALLBACK_CHECK_EVERY_MS;

  return {
    async notifyClients(ends) {
      const answers = new Map<string, 'delivered' | 'refused'>();
      const attempts = ends.map((end) =>
        deliverer.tell(end, (clientId, outcome) => {
          if (outcome === 'delivered' || outcome === 'refused') answers.set(clientId, outcome);
        }),
      );
      await Promise.race([Promise.all(attempts), pause(MAX_WAIT_MS, undefined, { ref: false })]);
      return answers;
    },
    async run(signal) {
      while (!signal.aborted) {
        await look(signal).catch(onFault);
        // Rejects only when aborted.
        await pause(interval, undefined, { signal, ref: false }).catch(() => undefined);
      }
    },
    async end() {
      await Promise.all([deliverer.end(), mail?.deliverer.end()]);
    },
  };
}
