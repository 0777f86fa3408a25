// How events of the audit trail are found.
import type { EventRecord, EventType } from '@grantd/core';

/** Which events to list. Every member must match. */
export interface AuditFilter {
  readonly type?: EventType | undefined;
  /** Only changes: events of types that `isChange` accepts. */
  readonly changes?: boolean | undefined;
  /** Only events that `isByOperator` accepts. */
  readonly operators?: boolean | undefined;
  readonly actor?: string | undefined;
  /** What the event is about. Of an issuance, any of its tokens. */
  readonly target?: string | undefined;
  readonly subject?: string | undefined;
  readonly clientId?: string | undefined;
  readonly address?: string | undefined;
  readonly requestId?: string | undefined;
  /** Milliseconds since 1970, inclusive. */
  readonly sinceMs?: number | undefined;
  /** Milliseconds since 1970, exclusive. */
  readonly untilMs?: number | undefined;
}

/** An event with its actor. */
export type AuditEvent = EventRecord & { readonly actor: string };

/** Events of types that clients cause themselves, and that name the client if no one else acts. */
const OF_CLIENTS: ReadonlySet<EventType> = new Set([
  'token_issued',
  'identity_assertion_issued',
  'code_issued',
  'token_revoked',
  'family_revoked',
  'code_revoked',
]);

/** Events that change nothing of what is managed: people sign in and out, clients get tokens, and emails go out. */
const NO_CHANGES: ReadonlySet<EventType> = new Set([
  ...(['signed_in', 'sign_in_failed', 'session_ended'] as const),
  ...(['code_issued', 'token_issued', 'identity_assertion_issued'] as const),
  ...(['password_link_requested', 'mailed_link_made', 'mailed_link_used', 'mail_retried'] as const),
]);

/** Whether an event of the type changes something. */
export function isChange(type: EventType): boolean {
  return !NO_CHANGES.has(type);
}

/** Events of what the server itself keeps. It causes some of them alone, such as the rotation of a key. */
const OF_SERVER: ReadonlySet<EventType> = new Set([
  ...(['configuration_loaded', 'key_rotated', 'pairwise_secret_made'] as const),
  ...(['server_secret_rotated', 'server_secret_dropped', 'audit_restarted'] as const),
]);

/** Whether an operator has acted, by a command, the console or the admin API, or the server on what it keeps itself. */
export function isByOperator({ type, actor }: Pick<AuditEvent, 'type' | 'actor'>): boolean {
  return actor === 'cli' || /^(?:console|api):/.test(actor) || OF_SERVER.has(type);
}

/** Names the actor of an event whose row leaves it out. */
export function withActor(event: EventRecord): AuditEvent {
  return { ...event, actor: actorOf(event) };
}

/** Who acted. Rows may leave it out. */
export function actorOf({ actor, type, clientId, subject }: EventRecord): string {
  if (actor !== undefined) return actor === 'user' && subject !== undefined ? `user:${subject}` : actor;
  return clientId !== undefined && OF_CLIENTS.has(type) ? `client:${clientId}` : 'server';
}

/** Above every number and time that is stored. */
export const BEYOND = 2 ** 52;

/** Bits of a block's index: about ten for each value. */
const FILTER_BITS = 32_768;
const PROBES = 4;

/** The values by which events are found. @param isEvent whether a target may be several */
export function termsOf(of: AuditFilter, isEvent = false): readonly string[] {
  const { type, actor, target, subject, clientId, address, requestId } = of;
  const targets =
    target === undefined ? [] : isEvent && type === 'token_issued' ? target.split(' ') : [target];
  const terms = targets.map((target) => `t${target}`);
  if (type !== undefined) terms.push(`y${type}`);
  if (actor !== undefined) terms.push(`a${actor}`);
  if (subject !== undefined) terms.push(`s${subject}`);
  if (clientId !== undefined) terms.push(`c${clientId}`);
  if (address !== undefined) terms.push(`i${address}`);
  if (requestId !== undefined) terms.push(`r${requestId}`);
  return terms;
}

export function matcherOf(filter: AuditFilter): (event: AuditEvent) => boolean {
  const { sinceMs = 0, untilMs = BEYOND } = filter;
  const wanted = termsOf(filter);
  return (event) => {
    if (event.atMs < sinceMs || event.atMs >= untilMs) return false;
    if (filter.changes === true && !isChange(event.type)) return false;
    if (filter.operators === true && !isByOperator(event)) return false;
    if (wanted.length === 0) return true;
    const terms = termsOf(event, true);
    return wanted.every((term) => terms.includes(term));
  };
}

/**
 * Which values the events of a block may have. It answers yes for about one value in a hundred that is
 * not there. A tree of the values would change a page for each event.
 */
export class BloomFilter {
  readonly #bits: Buffer;

  constructor(bits: Buffer = Buffer.alloc(FILTER_BITS / 8)) {
    this.#bits = bits;
  }

  static from(text: string): BloomFilter {
    return new BloomFilter(Buffer.from(text, 'base64'));
  }

  get text(): string {
    return this.#bits.toString('base64');
  }

  /** Adds the terms of `termsOf`, without a list and texts for each event. */
  addEvent(event: EventRecord): void {
    const { type, target, subject, clientId, address, requestId } = event;
    this.#add('y', type);
    this.#add('a', actorOf(event));
    if (type === 'token_issued' && target.includes(' '))
      for (const part of target.split(' ')) this.#add('t', part);
    else this.#add('t', target);
    if (subject !== undefined) this.#add('s', subject);
    if (clientId !== undefined) this.#add('c', clientId);
    if (address !== undefined) this.#add('i', address);
    if (requestId !== undefined) this.#add('r', requestId);
  }

  #add(kind: string, value: string): void {
    const hashed = hashOf(kind, value);
    const step = stepOf(hashed);
    for (let probe = 0; probe < PROBES; probe++) {
      const at = (hashed + probe * step) % FILTER_BITS;
      this.#bits[at >> 3] = (this.#bits[at >> 3] ?? 0) | (1 << (at & 7));
    }
  }

  mayHave(terms: readonly string[]): boolean {
    return terms.every((term) => {
      const hashed = hashOf(term.slice(0, 1), term.slice(1));
      const step = stepOf(hashed);
      for (let probe = 0; probe < PROBES; probe++) {
        const at = (hashed + probe * step) % FILTER_BITS;
        if (((this.#bits[at >> 3] ?? 0) & (1 << (at & 7))) === 0) return false;
      }
      return true;
    });
  }
}

/** FNV-1a. Stored indexes depend on it. */
function hashOf(kind: string, value: string): number {
  let hashed = Math.imul(0x811c9dc5 ^ kind.charCodeAt(0), 0x01000193);
  for (let at = 0; at < value.length; at++) hashed = Math.imul(hashed ^ value.charCodeAt(at), 0x01000193);
  return hashed >>> 0;
}

/** Odd, so that the steps reach every bit. */
function stepOf(hashed: number): number {
  return (Math.imul(hashed ^ (hashed >>> 15), 0x85ebca6b) | 1) >>> 0;
}
