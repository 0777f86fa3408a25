// Services and agents that act for users, with tokens that they obtained by exchange or by JWTs of trusted issuers.
import { type AdministrableStorage, ASSERTED_SESSION } from '@grantd/core';

/** A client that holds tokens for a user, which it obtained from tokens of applications or JWTs of trusted issuers. */
export interface ActingClient {
  readonly clientId: string;
  /** The applications through which it acts: itself, if it has a JWT of a trusted issuer. */
  readonly applications: readonly string[];
  readonly scopes: readonly string[];
  /** The APIs that its tokens are for. */
  readonly resources: readonly string[];
  readonly sinceMs: number;
  /** To the hour. */
  readonly lastUsedMs: number;
}

const HOUR_MS = 60 * 60 * 1000;

/** An application can call a service very often. */
const MAX_TOKENS = 1000;

/** The clients that act for a user, the latest first. An application that exchanges its own tokens is none of them. */
export async function actingFor(
  { tokens }: Pick<AdministrableStorage, 'tokens'>,
  subject: string,
): Promise<readonly ActingClient[]> {
  const clients = new Map<string, ActingClient>();
  for (const token of (await tokens.exchangedFor?.(subject, MAX_TOKENS)) ?? []) {
    const { clientId, ancestors = [], scopes, resources = [], issuedAtMs, sessionId = '' } = token;
    const application = ancestors[0]?.clientId ?? clientId;
    if (application === clientId && !sessionId.startsWith(ASSERTED_SESSION)) continue;
    const known = clients.get(clientId);
    const all = (one: readonly string[] = [], more: readonly string[]) => [...new Set([...one, ...more])];
    clients.set(clientId, {
      clientId,
      applications: all(known?.applications, [application]),
      scopes: all(known?.scopes, scopes),
      resources: all(known?.resources, resources),
      sinceMs: Math.min(known?.sinceMs ?? issuedAtMs, issuedAtMs),
      lastUsedMs: Math.max(known?.lastUsedMs ?? 0, issuedAtMs - (issuedAtMs % HOUR_MS)),
    });
  }
  return [...clients.values()].sort((one, other) => other.lastUsedMs - one.lastUsedMs);
}
