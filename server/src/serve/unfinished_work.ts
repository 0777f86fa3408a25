import type { AuthorizationServer } from '@grantd/core';
import { ConsentWithdrawal } from '../consents/withdrawal.ts';
import type { Instance } from '../instance/instance.ts';
import { causeOf } from '../log/cause.ts';
import type { Log } from '../log/log.ts';
import { LogoutDeliverer } from '../sessions/logout_deliverer.ts';
import { SessionEnding } from '../sessions/session_ending.ts';
import { Repeated } from './repeated.ts';

/** Milliseconds between two looks: of the process that sweeps, and of the others, which would replace it one day. */
const LOOK_EVERY_MS = 2_000;
const OTHERS_LOOK_EVERY_MS = 60_000;

export interface UnfinishedWork {
  /** There is something to do now. */
  wake(): void;
  /** Resolves when it was told to stop and has. */
  run(signal: AbortSignal): Promise<void>;
}

/** What goes on after the answer: clients are told of logouts, and what a dead process has left half-done is finished. */
export function unfinishedWork(
  { sessions, consents, storage, logoutDeliveries }: Instance,
  server: AuthorizationServer,
  log: Log,
  sweeps: boolean,
): UnfinishedWork {
  const ending = new SessionEnding({ sessions, storage });
  const withdrawal = new ConsentWithdrawal({ consents, storage });
  const deliverer = new LogoutDeliverer({
    deliveries: logoutDeliveries,
    server,
    report: ({ type, ...known }) =>
      log[type === 'logout_delivered' ? 'info' : 'warn']({ event: type, ...known }),
  });
  const repeated = new Repeated(sweeps ? LOOK_EVERY_MS : OTHERS_LOOK_EVERY_MS);

  const look = async (signal: AbortSignal): Promise<void> => {
    try {
      for (const { clientIds: _, ...session } of await ending.finishHalfEnded())
        log.warn({ event: 'session_end_finished', ...session });
      const withdrawals = await withdrawal.finishHalfWithdrawn();
      if (withdrawals > 0) log.warn({ event: 'withdrawals_finished', withdrawals });
      await deliverer.deliverDue(signal);
    } catch (error) {
      log.error({ event: 'unfinished_work_failed', cause: causeOf(error) });
    }
  };

  return {
    wake: () => repeated.wake(),
    run: (signal) => repeated.run(() => look(signal), signal),
  };
}
