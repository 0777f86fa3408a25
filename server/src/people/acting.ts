// Services and agents that act for users, with tokens that they obtained by exchange or by JWTs of trusted issuers.
import { setTimeout as pause } from 'node:timers/promises';
import {
  type AdministrableStorage,
  ASSERTED_SESSION,
  PERSONAL,
  StorageFault,
  type TokenRecord,
} from '@grantd/core';
import type { ActingUse, ActingUses } from '../data/acting_uses.ts';
import type { PersonalTokens, TokenUse } from '../data/personal_tokens.ts';
import type { ActingNow, Log } from '../log/log.ts';
import { causeOf } from '../log/logged_error.ts';

/** A client that has obtained tokens for a user from tokens of applications or JWTs of trusted issuers. */
export interface ActingClient {
  readonly clientId: string;
  /** The applications through which it acts: itself, if it has a JWT of a trusted issuer. */
  readonly applications: readonly string[];
  /** What its live tokens allow; nothing if it has none. */
  readonly scopes: readonly string[];
  /** The APIs that its tokens are for. */
  readonly resources: readonly string[];
  /** Whether it has live tokens. */
  readonly isActive: boolean;
  readonly sinceMs: number;
  /** To the hour. */
  readonly lastUsedMs: number;
}

const HOUR_MS = 60 * 60 * 1000;

/** An application can call a service very often. */
export const MAX_TOKENS = 1000;

/**
 * The clients that act for a user, or have done so in the last 30 days, the latest first. An application that exchanges
 * its own tokens is none of them.
 */
export async function actingFor(
  { tokens }: Pick<AdministrableStorage, 'tokens'>,
  actingUses: Pick<ActingUses, 'ofSubject'>,
  subject: string,
): Promise<readonly ActingClient[]> {
  const [live, uses] = await Promise.all([
    tokens.exchangedFor?.(subject, MAX_TOKENS) ?? [],
    actingUses.ofSubject(subject),
  ]);
  const held = live
    .filter(isActing)
    .map(({ clientId, ancestors = [], scopes, resources = [], issuedAtMs }) => ({
      ...{ clientId, scopes, resources },
      ...{
        application: applicationOf({ clientId, ancestors }),
        sinceMs: issuedAtMs,
        lastUsedMs: hourOf(issuedAtMs),
        isActive: true,
      },
    }));
  // Further tokens may be live then.
  const mayHaveMore = live.length === MAX_TOKENS;
  const used = uses.map(({ applicationId, ...use }) => ({
    ...{ ...use, application: applicationId },
    ...{ scopes: [], resources: [], isActive: mayHaveMore },
  }));
  const clients = new Map<string, ActingClient>();
  for (const { clientId, application, scopes, resources, isActive, ...times } of [...held, ...used]) {
    const { sinceMs, lastUsedMs } = times;
    const known = clients.get(clientId);
    const all = (one: readonly string[] = [], more: readonly string[]) => [...new Set([...one, ...more])];
    clients.set(clientId, {
      clientId,
      applications: all(known?.applications, [application]),
      scopes: all(known?.scopes, scopes),
      resources: all(known?.resources, resources),
      isActive: known?.isActive === true || isActive,
      sinceMs: Math.min(known?.sinceMs ?? sinceMs, sinceMs),
      lastUsedMs: Math.max(known?.lastUsedMs ?? 0, lastUsedMs),
    });
  }
  return [...clients.values()].sort((one, other) => other.lastUsedMs - one.lastUsedMs);
}

type Obtained = Pick<TokenRecord, 'clientId' | 'ancestors'>;

/** The client that obtained the first of the tokens. A JWT of a trusted issuer is before all of them. */
function applicationOf({ clientId, ancestors = [] }: Obtained): string {
  return ancestors.find((one) => one.clientId !== undefined)?.clientId ?? clientId;
}

function isActing({ sessionId = '', ...token }: TokenRecord): boolean {
  return applicationOf(token) !== token.clientId || sessionId.startsWith(ASSERTED_SESSION);
}

/** Who acts with a token that was obtained by exchange, or a personal one. @returns `undefined` for others */
export function actingWith(token: TokenRecord): ActingNow | undefined {
  const { subject, clientId, claims, grantId, ancestors } = token;
  const personal = claims?.[PERSONAL] ? grantId : undefined;
  if (subject === undefined || (personal === undefined && ancestors === undefined)) return undefined;
  return { clientId, subject, application: applicationOf(token), personal };
}

function hourOf(atMs: number): number {
  return atMs - (atMs % HOUR_MS);
}

/** The uses that wait for their write, and those of this hour that are known. */
const MAX_USES = 1000;

const WRITE_EVERY_MS = 60_000;

/**
 * Records who acts for users, and which personal access tokens are used, to the hour. No response waits for it: uses are
 * counted in memory and written together. What cannot be written is lost, and the log says how much.
 */
export class UseRecorder {
  readonly #uses: Pick<ActingUses, 'note'>;
  readonly #tokens: Pick<PersonalTokens, 'note'>;
  readonly #clock: () => number;
  readonly #log: Pick<Log, 'error'>;
  #hourMs = 0;
  /** Those that are written in this hour, or wait for it. */
  readonly #known = new Set<string>();
  #waiting: ActingUse[] = [];
  #waitingTokens: TokenUse[] = [];

  constructor(parts: {
    readonly actingUses: Pick<ActingUses, 'note'>;
    readonly personalTokens: Pick<PersonalTokens, 'note'>;
    readonly clock: () => number;
    readonly log: Pick<Log, 'error'>;
  }) {
    this.#uses = parts.actingUses;
    this.#tokens = parts.personalTokens;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /** Not a use: an application that exchanges its own token. */
  note({ subject, clientId, application: applicationId, personal: id }: ActingNow): void {
    if (clientId === applicationId && id === undefined) return;
    const nowMs = this.#clock();
    const hourMs = hourOf(nowMs);
    // In another hour, and if there are too many, known ones are written again.
    if (hourMs !== this.#hourMs || this.#known.size === MAX_USES) this.#known.clear();
    this.#hourMs = hourMs;
    const key = id ?? JSON.stringify([subject, clientId, applicationId]);
    if (this.#known.has(key)) return;
    this.#known.add(key);
    if (id !== undefined) this.#waitingTokens.push({ id, lastUsedMs: hourMs });
    else this.#waiting.push({ subject, clientId, applicationId, sinceMs: nowMs, lastUsedMs: hourMs });
    if (this.#waiting.length + this.#waitingTokens.length === MAX_USES) void this.write();
  }

  async write(): Promise<void> {
    const [uses, tokens] = [this.#waiting, this.#waitingTokens];
    [this.#waiting, this.#waitingTokens] = [[], []];
    const lost = (count: number) => (error: unknown) => {
      if (!(error instanceof StorageFault)) throw error;
      this.#log.error({ event: 'uses_not_recorded', uses: count, cause: causeOf(error) });
    };
    await Promise.all([
      this.#uses.note(uses).catch(lost(uses.length)),
      this.#tokens.note(tokens).catch(lost(tokens.length)),
    ]);
  }

  /** Writes periodically, and a last time after the signal. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Rejects only when aborted.
      await pause(WRITE_EVERY_MS, undefined, { signal, ref: false }).catch(() => undefined);
      await this.write();
    }
  }
}
