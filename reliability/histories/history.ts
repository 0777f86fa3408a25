import { setTimeout as pause } from 'node:timers/promises';
import type { Connection } from '../load/connection.ts';
import { monotonicNs } from '../load/monotonic_clock.ts';
import { type Done, exchange, introspect, refresh, revoke, type Tokens, userInfo } from '../load/protocol.ts';
import type { Ending, Operation, Read } from './operation.ts';

/** A token that the load uses. */
export interface Token {
  /** Unique in its history, and not secret: violations are reported with it. */
  readonly name: string;
  readonly text: string;
  readonly kind: 'access_token' | 'refresh_token';
  readonly clientId: string;
  /** Whether UserInfo accepts it. */
  readonly isPersonal: boolean;
}

export interface Span {
  readonly startNs: number;
  readonly endNs: number;
}

type RecordedEnding = Omit<Ending, 'tokens'> & { readonly ended: readonly Token[] };

/** How often a write with an unknown outcome is retried. */
const MOST_ATTEMPTS = 40;
const PAUSE_MS = 50;

/** Sends requests about some tokens, and records each with its result. */
export class History {
  readonly #operations: Operation[] = [];
  readonly #endings: RecordedEnding[] = [];

  /** Everything so far. The list of tokens of an ending may still grow. */
  operations(): readonly Operation[] {
    const endings = this.#endings.map(({ ended, ...ending }) => ({
      ...ending,
      tokens: ended.flatMap((token) => (ending.op === 'rotate' ? [token.name] : namesOf(token))),
    }));
    return [...this.#operations, ...endings];
  }

  issued(token: Token, { startNs, endNs }: Span, process: string, livesUntilNs: number): Token {
    for (const name of namesOf(token)) {
      this.#operations.push({ op: 'issue', token: name, process, startNs, endNs, livesUntilNs });
    }
    return token;
  }

  /** Introspects the token, or calls UserInfo if that accepts it. */
  async look(token: Token, connection: Connection): Promise<void> {
    const usesUserInfo = token.isPersonal && Math.random() < 0.5;
    const [ask, op] = usesUserInfo
      ? ([userInfo, 'userinfo'] as const)
      : ([introspect, 'introspect'] as const);
    const startNs = monotonicNs();
    const answer = await ask(connection, token.text);
    this.#read({ op, token: token.name, process: connection.address, startNs, endNs: monotonicNs(), answer });
  }

  /**
   * One attempt. A refusal counts as a read that found the token inactive, and new tokens as one that found it active.
   */
  async refresh(
    token: Token,
    connection: Connection,
  ): Promise<(Span & { readonly tokens: Tokens }) | undefined> {
    const startNs = monotonicNs();
    const outcome = await refresh(connection, token.text);
    const timed = { process: connection.address, startNs, endNs: monotonicNs() };
    const answer = outcome === 'unknown' ? outcome : outcome === 'refused' ? 'inactive' : 'active';
    this.#read({ op: 'refresh', token: refreshing(token), ...timed, answer });
    if (outcome === 'refused') return undefined;
    this.ended('rotate', [token], timed, outcome === 'unknown' ? outcome : 'done', connection.address);
    return outcome === 'unknown' ? undefined : { ...timed, tokens: outcome };
  }

  /** One attempt, which counts as a read of the token. */
  async exchange(
    token: Token,
    connection: Connection,
    clientId: string,
  ): Promise<(Span & { readonly tokens: Tokens }) | undefined> {
    const startNs = monotonicNs();
    const outcome = await exchange(connection, token.text, clientId);
    const timed = { process: connection.address, startNs, endNs: monotonicNs() };
    const answer = outcome === 'unknown' ? outcome : outcome === 'refused' ? 'inactive' : 'active';
    this.#read({ op: 'exchange', token: token.name, ...timed, answer });
    return typeof outcome === 'string' ? undefined : { ...timed, tokens: outcome };
  }

  /**
   * Revokes until it is acknowledged.
   * @param ended the tokens that end with it; may grow later
   */
  revoke(token: Token, connection: Connection, ended: readonly Token[]): Promise<Done> {
    return this.#untilDone('revoke', connection, ended, () => revoke(connection, token.text, token.clientId));
  }

  /** Presents a superseded refresh token until the refusal is acknowledged, which ends its family. */
  reuse(token: Token, connection: Connection, ended: readonly Token[]): Promise<Done> {
    return this.#untilDone('reuse', connection, ended, async () => {
      const outcome = await refresh(connection, token.text);
      if (outcome === 'refused') return 'done';
      if (outcome === 'unknown') return outcome;
      throw new Error('a refresh token that was spent long ago brought tokens');
    });
  }

  ended(op: Ending['op'], ended: readonly Token[], span: Span, answer: Done, process: string): void {
    const { startNs, endNs } = span;
    this.#endings.push({ op, ended, process, startNs, endNs, answer });
  }

  /** An attempt with an unknown outcome may have succeeded, and is repeated. */
  async #untilDone(
    op: Ending['op'],
    connection: Connection,
    ended: readonly Token[],
    attempt: () => Promise<Done>,
  ): Promise<Done> {
    for (let attempts = 0; attempts < MOST_ATTEMPTS; attempts++) {
      const startNs = monotonicNs();
      const answer = await attempt();
      this.ended(op, ended, { startNs, endNs: monotonicNs() }, answer, connection.address);
      if (answer === 'done') return answer;
      await pause(PAUSE_MS);
    }
    return 'unknown';
  }

  #read(read: Read): void {
    this.#operations.push(read);
  }
}

/** A rotated refresh token can be used until the grace period ends: a second state to check. */
function namesOf(token: Token): readonly string[] {
  return token.kind === 'refresh_token' ? [token.name, refreshing(token)] : [token.name];
}

function refreshing({ name }: Token): string {
  return `refreshing ${name}`;
}
