import { type Ending, type Issue, isEnding, isRead, type Operation, type Read } from './operation.ts';

/** Two operations on one token that contradict each other. */
export interface Violation {
  readonly rule:
    | 'active after an acknowledged revocation'
    | 'inactive before any revocation began'
    | 'active after it was seen inactive';
  readonly token: string;
  readonly read: Read;
  /** The operation that the read contradicts. */
  readonly against: Operation;
}

/**
 * Violations of linearizability. A history is linearizable if each operation can take effect at one moment between its
 * start and its end, such that a token is active from its issuance to its first effective ending, and never again.
 *
 * Such an ending exists exactly if its moment can be after the start of every active read and of the first ending, and
 * before the end of every inactive read and of every acknowledged ending. The three rules compare these conditions in
 * pairs, so no search is necessary.
 */
export function violationsIn(history: readonly Operation[]): readonly Violation[] {
  return history.filter(isIssue).flatMap((issue) => violationsOf(issue, history));
}

function violationsOf(issue: Issue, history: readonly Operation[]): readonly Violation[] {
  const { token } = issue;
  const reads = history.filter(isRead).filter((read) => read.token === token);
  const endings = history.filter(isEnding).filter(({ tokens }) => tokens.includes(token));
  const active = reads.filter(({ answer }) => answer === 'active');
  const inactive = reads.filter(({ answer }) => answer === 'inactive');

  const acknowledged = earliestEnd(endings.filter(({ answer }) => answer === 'done'));
  const seenInactive = earliestEnd(inactive);
  const firstEnding = earliestStart(endings);
  const found: Violation[] = [];
  for (const read of active) {
    if (acknowledged !== undefined && read.startNs > acknowledged.endNs) {
      found.push({ rule: 'active after an acknowledged revocation', token, read, against: acknowledged });
    }
    if (seenInactive !== undefined && read.startNs > seenInactive.endNs) {
      found.push({ rule: 'active after it was seen inactive', token, read, against: seenInactive });
    }
  }
  for (const read of inactive) {
    if (read.startNs <= issue.endNs || read.endNs >= issue.livesUntilNs) continue;
    if (firstEnding !== undefined && read.endNs >= firstEnding.startNs) continue;
    found.push({ rule: 'inactive before any revocation began', token, read, against: firstEnding ?? issue });
  }
  return found;
}

/** Whether a history could have failed: it has reads before and after the end of its tokens. */
export function isConclusive(history: readonly Operation[]): boolean {
  const endings = history.filter(isEnding).filter(({ answer }) => answer === 'done');
  const reads = history.filter(isRead);
  return endings.some(
    (ending) =>
      reads.some((read) => read.answer === 'active' && isBefore(read, ending) && concerns(ending, read)) &&
      reads.some((read) => read.answer === 'inactive' && isBefore(ending, read) && concerns(ending, read)),
  );
}

function concerns({ tokens }: Ending, { token }: Read): boolean {
  return tokens.includes(token);
}

function isBefore(a: Operation, b: Operation): boolean {
  return a.endNs < b.startNs;
}

function isIssue(operation: Operation): operation is Issue {
  return operation.op === 'issue';
}

function earliestEnd<T extends Operation>(operations: readonly T[]): T | undefined {
  return operations.reduce<T | undefined>(
    (first, operation) => (first === undefined || operation.endNs < first.endNs ? operation : first),
    undefined,
  );
}

function earliestStart<T extends Operation>(operations: readonly T[]): T | undefined {
  return operations.reduce<T | undefined>(
    (first, operation) => (first === undefined || operation.startNs < first.startNs ? operation : first),
    undefined,
  );
}
