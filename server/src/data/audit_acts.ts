// Acts in the audit trail: events that follow each other, of one request or command, by one actor (ADR 226).
import type { EventRecord } from '@grantd/core';
import type { Block } from './audit_chain.ts';
import {
  type AuditEvent,
  type AuditFilter,
  actorOf,
  BEYOND,
  isByOperator,
  isChange,
} from './audit_search.ts';

/** Events of an act that are alike. */
export interface OfKind {
  readonly count: number;
  /** The number of the newest. */
  readonly newest: number;
  /** The newest, if it was read. */
  readonly event?: AuditEvent;
}

/** What one request or command did, without a break by other events. An event without a request is alone. */
export interface Act {
  readonly requestId: string | undefined;
  readonly actor: string;
  readonly address: string | undefined;
  /** The numbers of the oldest and of the newest event. */
  readonly first: number;
  readonly last: number;
  /** By `kindOf`. */
  readonly kinds: ReadonlyMap<string, OfKind>;
}

/** A page of acts, the newest first. */
export interface Acts {
  readonly acts: readonly Act[];
  /** Whether there are more in the direction in which the page was read. */
  readonly hasMore: boolean;
  /** Where the search stopped, perhaps within the last act, if it read too much before the page was full. */
  readonly stoppedAt?: number;
}

/** Its type, and of a membership also its group: `TYPE` or `TYPE GROUP`. */
function kindOf({ type, target, subject = '' }: EventRecord): string {
  if (type !== 'group_member_added' && type !== 'group_member_removed') return type;
  const end = `/${subject}`;
  return target.endsWith(end) ? `${type} ${target.slice(0, -end.length)}` : type;
}

/** The type of a kind, and the group of a membership. */
export function partsOfKind(kind: string): readonly [type: EventRecord['type'], group: string | undefined] {
  const space = kind.indexOf(' ');
  const [type, group] = space < 0 ? [kind] : [kind.slice(0, space), kind.slice(space + 1)];
  return [type as EventRecord['type'], group];
}

export function actOf(event: AuditEvent): Act {
  const { sequence, requestId, actor, address } = event;
  const kinds = new Map([[kindOf(event), { count: 1, newest: sequence, event }]]);
  return { requestId, actor, address, first: sequence, last: sequence, kinds };
}

/** Whether events that follow each other belong together. The server makes the IDs of requests, never a client. */
export function isSameAct(one: Act, other: Act): boolean {
  return (
    one.requestId !== undefined &&
    one.requestId === other.requestId &&
    one.actor === other.actor &&
    one.address === other.address
  );
}

export function joined(one: Act, other: Act): Act {
  const kinds = new Map(one.kinds);
  for (const [kind, found] of other.kinds) {
    const before = kinds.get(kind);
    const newer = before !== undefined && before.newest > found.newest ? before : found;
    kinds.set(kind, { ...newer, count: (before?.count ?? 0) + found.count });
  }
  return { ...one, first: Math.min(one.first, other.first), last: Math.max(one.last, other.last), kinds };
}

export function countOf({ kinds }: Pick<Act, 'kinds'>): number {
  return [...kinds.values()].reduce((sum, { count }) => sum + count, 0);
}

// ── What a block keeps ────────────────────────────────────────────────────────────────────────────────────

/** Acts of a block that are kept, at most. */
const MAX_RUNS = 32;

/** Characters that a block keeps of them, at most. */
const MAX_TEXT = 4096;

/** A block is read by its acts if they have so many events each, on average. */
const EVENTS_PER_RUN = 16;

/** An act in a block, as it is kept. */
type Run = [
  requestId: string | null,
  actor: string,
  address: string | null,
  first: number,
  last: number,
  kinds: Record<string, [count: number, newest: number]>,
];

/** The acts of a block, while it is written. They are given up once they are too many. */
export class Runs {
  #runs: Run[] | undefined;

  /** @param block one to continue */
  constructor(block?: Pick<Block, 'runs' | 'rowCount'>) {
    this.#runs = block === undefined ? [] : runsIn(block);
  }

  add(event: EventRecord): void {
    const runs = this.#runs;
    if (runs === undefined) return;
    const { sequence, requestId = null, address = null } = event;
    const actor = actorOf(event);
    let run = runs.at(-1);
    const isOfRun = requestId !== null && run?.[0] === requestId && run[1] === actor && run[2] === address;
    if (run === undefined || !isOfRun) {
      run = [requestId, actor, address, sequence, sequence, {}];
      runs.push(run);
    }
    const [, , , , , kinds] = run;
    const kind = kindOf(event);
    run[4] = sequence;
    kinds[kind] = [(kinds[kind]?.[0] ?? 0) + 1, sequence];
    if (runs.length > MAX_RUNS) this.#runs = undefined;
  }

  /** Empty if the acts are too many. */
  get text(): string {
    const text = this.#runs === undefined ? '' : JSON.stringify(this.#runs);
    return text.length > MAX_TEXT ? '' : text;
  }
}

/** @returns `undefined` if a block does not say it, or an earlier version has continued the block */
function runsIn({ runs: text, rowCount }: Pick<Block, 'runs' | 'rowCount'>): Run[] | undefined {
  if (text === '') return undefined;
  const runs = JSON.parse(text) as Run[];
  const counts = runs.flatMap(([, , , , , kinds]) => Object.values(kinds).map(([count]) => count));
  return counts.reduce((sum, count) => sum + count, 0) === rowCount ? runs : undefined;
}

/** Whether a block keeps the acts of its events, or none. */
export function areRunsOf(block: Block, events: readonly EventRecord[]): boolean {
  if (runsIn(block) === undefined) return true;
  const runs = new Runs();
  for (const event of events) runs.add(event);
  return runs.text === block.runs;
}

/**
 * The acts of a block with the events that fit a filter, the oldest first.
 * @returns `undefined` if only the events themselves say it
 */
export function actsIn(block: Block, filter: AuditFilter): readonly Act[] | undefined {
  const { target, subject, clientId, sinceMs = 0, untilMs = BEYOND } = filter;
  if (target !== undefined || subject !== undefined || clientId !== undefined) return undefined;
  if (block.earliestMs < sinceMs || block.latestMs >= untilMs) return undefined;
  const runs = runsIn(block);
  if (runs === undefined || runs.length * EVENTS_PER_RUN > block.rowCount) return undefined;
  return runs.map((run) => actOfRun(run, filter)).filter(({ kinds }) => kinds.size > 0);
}

function actOfRun([requestId, actor, address, first, last, kinds]: Run, filter: AuditFilter): Act {
  const { actor: by = actor, address: from = address, requestId: of = requestId } = filter;
  const isWanted = by === actor && from === address && of === requestId;
  const wanted = Object.entries(kinds).filter(([kind]) => {
    const [type] = partsOfKind(kind);
    return (
      isWanted &&
      (filter.type ?? type) === type &&
      (filter.changes !== true || isChange(type)) &&
      (filter.operators !== true || isByOperator({ type, actor }))
    );
  });
  return {
    ...{ requestId: requestId ?? undefined, actor, address: address ?? undefined, first, last },
    kinds: new Map(wanted.map(([kind, [count, newest]]) => [kind, { count, newest }])),
  };
}
