/** A client that is to be told that a session has ended (OpenID Connect Back-Channel Logout §2.5). */
export interface LogoutDelivery {
  readonly sessionId: string;
  readonly clientId: string;
  readonly subject: string;
  /** As the client was told. */
  readonly sid: string;
  readonly sub?: string;
  /** This one included. */
  readonly attempts: number;
}

/** Which deliveries are wanted, of those that are due. */
export interface DeliveriesToTake {
  /** Of this session alone. */
  readonly sessionId?: string | undefined;
  /** Of none of these, `MOST_CLIENTS_AT_ONCE` of them at most. */
  readonly exceptClients: readonly string[];
  readonly limit: number;
}

/** How many clients are told at the same time by one process. */
export const MOST_CLIENTS_AT_ONCE = 20;

/** Deliveries that wait for their next attempt. Every method rejects with a `StorageFault`. */
export interface LogoutDeliveries {
  /**
   * Takes what is due, the longest due first and one for each client, and keeps it from everyone else until the lease
   * ends. Atomic: of several processes one gets each.
   */
  take(nowMs: number, leaseMs: number, wanted: DeliveriesToTake): Promise<readonly LogoutDelivery[]>;
  /** It was delivered, or never will be. */
  remove(delivery: LogoutDelivery): Promise<void>;
  /** It is due again at another time. */
  postpone(delivery: LogoutDelivery, dueAtMs: number): Promise<void>;
}
