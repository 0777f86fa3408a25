import { setTimeout as pause } from 'node:timers/promises';
import type { IssuedByOperator, OperatorIssue, Principal } from '@grantd/core';
import type { Cluster } from '../deployments/cluster.ts';
import type { Library } from '../deployments/library.ts';
import { monotonicNs } from '../load/monotonic_clock.ts';
import { CLIENTS, machine, register } from '../load/registrations.ts';
import type { Span } from './history.ts';

/** An order for `count` issuances in one transaction. */
export type IssueOrder =
  | { readonly what: 'opaque' | 'jwt' | 'pair_opaque' | 'pair_jwt'; readonly count: number }
  /** Whether the tokens have their own client, subject or grant. */
  | { readonly what: Exclude<Principal, 'session'>; readonly count: number };

export interface Batch extends Span {
  readonly clientId: string;
  readonly livesUntilNs: number;
  /** Whether UserInfo accepts their access tokens. */
  readonly isPersonal: boolean;
  readonly issued: readonly IssuedByOperator[];
  /** Present if all of them share a principal that no other token has. */
  readonly principal?: { readonly principal: Principal; readonly id: string };
}

export interface EndOrder {
  readonly principal: Principal;
  readonly id: string;
  readonly by: 'revoke_all' | 'disable' | 'revoke_command' | 'disable_command';
}

/** Issues and ends many tokens at once. Times are measured outside the database. */
export interface Operator {
  issue(order: IssueOrder): Promise<Batch>;
  end(order: EndOrder): Promise<Span>;
}

/** An operator that uses the library in this process, and the program's command line. */
export function operatorOf(cluster: Cluster, library: Library, subject: string): Operator {
  const { storage } = library;
  let clients = 0;
  let subjects = 0;

  return {
    async issue({ what, count }) {
      const { order, id: ownId } = await orderFor(what);
      const startNs = monotonicNs();
      const server = what === 'pair_jwt' ? library.jwt : library.opaque;
      const issued = await server.operator.issueTokens(order, what === 'grant' ? 1 : count);
      const endNs = monotonicNs();
      const id = what === 'grant' ? issued[0]?.grantId : ownId;
      return {
        clientId: order.clientId,
        startNs,
        endNs,
        livesUntilNs: startNs + LIFETIME_NS,
        isPersonal: order.subject === subject,
        issued,
        ...(isPrincipal(what) && id !== undefined && { principal: { principal: what, id } }),
      };
    },

    async end({ principal, id, by }) {
      const startNs = monotonicNs();
      if (by === 'revoke_all') await storage.revokeAll({ principal, id });
      else if (principal !== 'client') throw new Error(`no ${by} of a ${principal}`);
      else if (by === 'disable') await storage.setDisabled('client', id, true);
      else if (by === 'disable_command') await cluster.command(['client', 'disable', id]);
      else await cluster.command(['token', 'revoke', '--client', id]);
      return { startNs, endNs: monotonicNs() };
    },
  };

  async function orderFor(what: IssueOrder['what']): Promise<{ order: OperatorIssue; id?: string }> {
    const pair = { clientId: CLIENTS.web.id, subject, refresh: true };
    if (what === 'opaque' || what === 'jwt') return { order: { clientId: CLIENTS[what].id } };
    if (what === 'subject') {
      const id = `subject-${subjects++}`;
      return { order: { ...pair, subject: id }, id };
    }
    if (what === 'client') {
      const id = `client-${clients++}`;
      await register(library.jwt, storage.clients, machine(id, 'opaque'));
      return { order: { clientId: id }, id };
    }
    return { order: pair };
  }
}

const RETRY_MS = 500;

/**
 * An operator for loads during outages: repeats what failed. An ending takes from its first attempt to its last.
 * @param longestMs after which an error is final
 */
export function patient(operator: Operator, longestMs: number): Operator {
  const untilDone = async <T>(attempt: () => Promise<T>): Promise<T> => {
    const startedAtMs = performance.now();
    for (;;) {
      try {
        return await attempt();
      } catch (error) {
        if (performance.now() - startedAtMs > longestMs) throw error;
        await pause(RETRY_MS);
      }
    }
  };
  return {
    issue: (order) => untilDone(() => operator.issue(order)),
    async end(order) {
      const startNs = monotonicNs();
      return { ...(await untilDone(() => operator.end(order))), startNs };
    },
  };
}

/** Tokens live for at least an hour. The rest of that hour is a margin for clocks. */
const LIFETIME_NS = 3500 * 1e9;

function isPrincipal(what: IssueOrder['what']): what is Exclude<Principal, 'session'> {
  return what === 'client' || what === 'subject' || what === 'grant';
}
