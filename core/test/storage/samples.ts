import { randomUUID } from 'node:crypto';
import type { NewAuthorizationCode, NewToken } from '../../src/protocol/records.ts';
import type { NewClient } from '../../src/storage/contract.ts';

export function newClient(id: string): NewClient {
  return {
    id,
    grantTypes: ['client_credentials'],
    scopes: ['openid'],
    redirectUris: ['https://app.example/callback'],
  };
}

/** An access token that lives for an hour by the system's clock. */
export function newToken(clientId: string, fields: Partial<NewToken> = {}): NewToken {
  const issuedAtMs = Date.now();
  const expiresAt = Math.floor(issuedAtMs / 1000) + 3600;
  return {
    id: randomUUID(),
    kind: 'access_token',
    digest: 'digest',
    clientId,
    scopes: ['openid'],
    issuedAtMs,
    expiresAt,
    keepUntil: expiresAt,
    ...fields,
  };
}

/** A code with its own grant that lives for an hour by the system's clock. */
export function newCode(clientId: string, id: string): NewAuthorizationCode {
  const issuedAtMs = Date.now();
  return {
    id,
    clientId,
    redirectUri: 'https://app.example/callback',
    redirectUriGiven: true,
    scopes: ['openid'],
    subject: 'subject',
    grantId: `grant of ${id}`,
    claims: { sub: 'subject' },
    issuedAtMs,
    expiresAt: Math.floor(issuedAtMs / 1000) + 3600,
  };
}
