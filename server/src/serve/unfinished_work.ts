import { setTimeout as pause } from 'node:timers/promises';
import type { AuthorizationServer } from '@grantd/core';
import { ConsentWithdrawal } from '../consents/withdrawal.ts';
import type { Instance } from '../instance/instance.ts';
import { causeOf } from '../log/cause.ts';
import type { Log } from '../log/log.ts';
import { PersonRemoval } from '../people/removal.ts';
import { LogoutDeliverer } from '../sessions/logout_deliverer.ts';
import { SessionEnding, type TellClients } from '../sessions/session_ending.ts';

/** Milliseconds between two looks: of the process that sweeps, and of the others, which would replace it one day. */
const LOOK_EVERY_MS = 2_000;
const OTHERS_LOOK_EVERY_MS = 60_000;

/** Milliseconds that a person waits at most while applications are told that their session has ended. */
const LONGEST_WAIT_MS = 3_000;

export interface UnfinishedWork {
  /** Resolves once every client of these sessions has been told of their end, or after some seconds. */
  readonly tellClients: TellClients;
  /** Looks for work now and then. Resolves when it was told to stop and has. */
  run(signal: AbortSignal): Promise<void>;
  /** Begins to tell nobody any more. Resolves when nothing is under way that needs the database. */
  end(): Promise<void>;
}

/** What goes on after the answer: clients are told of logouts, and what a dead process has left half-done is finished. */
export function unfinishedWork(
  { people, sessions, consents, storage, logoutDeliveries }: Instance,
  server: AuthorizationServer,
  log: Log,
  sweeps: boolean,
): UnfinishedWork {
  const ending = new SessionEnding({ sessions, storage });
  const removal = new PersonRemoval({ people, consents, ending, storage });
  const withdrawal = new ConsentWithdrawal({ consents, storage });
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
  const look = async (): Promise<void> => {
    for (const { clientIds: _, ...session } of await ending.finishHalfEnded())
      log.warn({ event: 'session_end_finished', ...session });
    const withdrawals = await withdrawal.finishHalfWithdrawn();
    if (withdrawals > 0) log.warn({ event: 'withdrawals_finished', withdrawals });
    for (const subject of await removal.finishHalfRemoved())
      log.info({ event: 'person_removal_finished', subject });
    await deliverer.begin();
  };
  const interval = sweeps ? LOOK_EVERY_MS : OTHERS_LOOK_EVERY_MS;

  return {
    async tellClients(ends) {
      const answers = new Map<string, 'delivered' | 'refused'>();
      const told = ends.map((end) =>
        deliverer.tell(end, (clientId, outcome) => {
          if (outcome === 'delivered' || outcome === 'refused') answers.set(clientId, outcome);
        }),
      );
      await Promise.race([Promise.all(told), pause(LONGEST_WAIT_MS, undefined, { ref: false })]);
      return answers;
    },
    async run(signal) {
      while (!signal.aborted) {
        await look().catch(onFault);
        // Rejects only where it is told to stop.
        await pause(interval, undefined, { signal, ref: false }).catch(() => undefined);
      }
    },
    end: () => deliverer.end(),
  };
}
