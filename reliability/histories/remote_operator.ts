import type { MessagePort, Worker } from 'node:worker_threads';
import type { Span } from './history.ts';
import type { Batch, EndOrder, IssueOrder, Operator } from './operator.ts';

/** Orders of a thread to the operator in the main thread, which has the only handle of the library. */
type Order = { readonly issue: IssueOrder } | { readonly end: EndOrder };
type OperatorCall = Order & { readonly call: number };

interface OperatorReply {
  readonly call: number;
  readonly result: unknown;
}

/** In a thread: forwards orders to the operator of the main thread. */
export function remoteOperator(port: MessagePort): Operator {
  const waiting = new Map<number, (result: unknown) => void>();
  let calls = 0;
  port.on('message', ({ call, result }: OperatorReply) => {
    waiting.get(call)?.(result);
    waiting.delete(call);
  });
  const ask = (order: Order) =>
    new Promise<unknown>((resolve) => {
      const call = calls++;
      waiting.set(call, resolve);
      port.postMessage({ call, ...order });
    });
  return {
    issue: async (issue) => (await ask({ issue })) as Batch,
    end: async (end) => (await ask({ end })) as Span,
  };
}

/**
 * In the main thread: executes the orders of a thread.
 * @param failed receives the errors of the operator
 */
export function serveOperator(worker: Worker, operator: Operator, failed: (error: unknown) => void): void {
  worker.on('message', (message: OperatorCall | object) => {
    if (!('call' in message)) return;
    const done = 'issue' in message ? operator.issue(message.issue) : operator.end(message.end);
    done
      .then((result) => worker.postMessage({ call: message.call, result } satisfies OperatorReply))
      .catch(failed);
  });
}
