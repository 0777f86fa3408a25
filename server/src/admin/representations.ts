// How the admin API shows what is stored.
import {
  type AuthorizationCodeRecord,
  type ClientRecord,
  documentOf,
  type EventRecord,
  type Explanation,
  type TokenRecord,
} from '@grantd/core';
import type { AuditEvent } from '../data/audit.ts';
import type { Consent, ScopeText } from '../data/consents.ts';
import type { Group } from '../data/groups.ts';
import { NO_PASSWORD } from '../data/people.ts';
import type { StoredSession } from '../data/sessions.ts';
import type { UpstreamIdentity } from '../data/upstream_identities.ts';
import { stateOf } from '../operations/clients.ts';
import type { ListedFactors } from '../operations/factors.ts';
import type { ShownKey } from '../operations/keys.ts';
import type { ListedMail } from '../operations/mails.ts';
import type { Listed } from '../operations/people.ts';
import type { SecretStatus } from '../operations/secrets.ts';
import type { Lock } from '../people/locks.ts';

type Shown = Readonly<Record<string, unknown>>;

function time(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** A member, unless it has no value. */
function optional(name: string, value: unknown): Shown {
  return value === undefined ? {} : { [name]: value };
}

function optionalTime(name: string, milliseconds: number | undefined): Shown {
  return optional(name, milliseconds === undefined ? undefined : time(milliseconds));
}

export function shownClient(client: ClientRecord): Shown {
  const { type, isSelfRegistered, disabledAtMs, secrets } = stateOf(client);
  return {
    client_id: client.id,
    ...documentOf(client),
    type,
    registered_itself: isSelfRegistered,
    ...optionalTime('disabled_at', disabledAtMs),
    ...optional(
      'secrets',
      secrets?.map(({ createdAtMs, endsAtMs, lastUsedAtMs, serverSecret }) => ({
        ...optionalTime('created_at', createdAtMs),
        ...optionalTime('ends_at', endsAtMs),
        ...optionalTime('last_used_at', lastUsedAtMs),
        ...optional('server_secret', serverSecret),
      })),
    ),
  };
}

/** The version of a client. The use of a secret makes no other version. */
export function clientVersion(client: ClientRecord): Shown {
  const secrets = client.secrets?.map(({ lastUsedAtMs: _, ...secret }) => secret);
  return shownClient({ ...client, ...(secrets !== undefined && { secrets }) });
}

export function shownUser({ subject, name, claims, groups = [], ...person }: Listed): Shown {
  return {
    sub: subject,
    username: name,
    claims,
    groups,
    created_at: time(person.createdAtMs),
    ...optionalTime('disabled_at', person.disabledAtMs),
    ...optional('directory_id', person.directoryId),
    has_password: person.passwordHash !== NO_PASSWORD,
  };
}

export function shownSession({ id, userAgent, signedInAtMs, lastSeenAtMs }: StoredSession): Shown {
  return { id, user_agent: userAgent, signed_in_at: time(signedInAtMs), last_seen_at: time(lastSeenAtMs) };
}

export function shownFactors(factors: ListedFactors): Shown {
  const { passkeys, authenticatorAppAddedAtMs, recoveryCodes, countFromMs } = factors;
  return {
    passkeys: passkeys.map(({ name, createdAtMs, lastUsedAtMs, isBackedUp }) => ({
      name,
      added_at: time(createdAtMs),
      ...optionalTime('last_used_at', lastUsedAtMs),
      backed_up: isBackedUp,
    })),
    ...optionalTime('authenticator_app_added_at', authenticatorAppAddedAtMs),
    recovery_codes: recoveryCodes,
    ...optionalTime('count_from', countFromMs),
  };
}

export function shownLink({
  id,
  provider,
  upstreamIssuer,
  upstreamSub,
  label,
  linkedAtMs,
}: UpstreamIdentity): Shown {
  return {
    id,
    provider,
    issuer: upstreamIssuer,
    upstream_sub: upstreamSub,
    label,
    linked_at: time(linkedAtMs),
  };
}

export function shownLock({ step, places, endsAtMs }: Lock): Shown {
  return { step, places, ends_at: time(endsAtMs) };
}

export function shownMail({ createdAtMs, dueAtMs, failedAtMs, lastError, ...mail }: ListedMail): Shown {
  return {
    ...{ id: mail.id, template: mail.template, recipient: mail.recipient },
    ...{ state: mail.state, attempts: mail.attempts, created_at: time(createdAtMs) },
    ...(failedAtMs === undefined ? { due_at: time(dueAtMs) } : { failed_at: time(failedAtMs) }),
    ...optional('last_error', lastError),
  };
}

export function shownSecret({
  signingKeys,
  pairwiseSecret,
  authenticatorApps,
  auditTrail,
  ...status
}: SecretStatus): Shown {
  return {
    ...{ secret: status.secret, use: status.use, clients: status.clients },
    ...{ signing_keys: signingKeys, pairwise_secret: pairwiseSecret, authenticator_apps: authenticatorApps },
    audit_trail: auditTrail,
  };
}

export function shownConsent({ clientId, entries }: Consent): Shown {
  return {
    client_id: clientId,
    entries: entries.map(({ scopes, resources, claims, details, givenAtMs }) => ({
      ...{ scopes, resources, claims },
      authorization_details: details.map((detail): unknown => JSON.parse(detail)),
      given_at: time(givenAtMs),
    })),
  };
}

export function shownGroup({ name, description, signInPolicy, members, createdAtMs }: Group): Shown {
  const policy = optional('sign_in_policy', signInPolicy);
  return { name, description, ...policy, members, created_at: time(createdAtMs) };
}

export function shownScopeTexts({ scope, api, texts }: ScopeText): Shown {
  return { scope, ...optional('api', api), texts };
}

export function shownKey({ kid, algorithm, status, createdAtMs, retiredAtMs }: ShownKey): Shown {
  return {
    ...{ kid, algorithm, status },
    created_at: time(createdAtMs),
    ...optionalTime('retired_at', retiredAtMs),
  };
}

export function shownExplanation({
  kind,
  alive,
  reason,
  explanation,
  sinceMs,
  record,
  claims,
}: Explanation): Shown {
  return {
    kind,
    active: alive,
    ...optional('reason', reason),
    ...optional('explanation', explanation),
    ...optionalTime('since', sinceMs),
    ...optional('record', record && shownRecord(record)),
    ...optional('claims', claims),
  };
}

function shownRecord(stored: NonNullable<Explanation['record']>): Shown {
  const record: Partial<TokenRecord & Pick<AuthorizationCodeRecord, 'redeemedAtMs'>> = stored;
  const { expiresAt, claims } = record;
  return {
    id: stored.id,
    client_id: stored.clientId,
    scopes: stored.scopes,
    ...optional('sub', record.subject),
    ...optional('username', typeof claims?.username === 'string' ? claims.username : undefined),
    ...optional('resources', record.resources),
    ...optional('cnf', record.confirmation),
    ...optionalTime('issued_at', stored.issuedAtMs),
    ...optionalTime('expires_at', expiresAt === undefined ? undefined : expiresAt * 1000),
    ...optional('grant_id', record.grantId),
    ...optional('session_id', record.sessionId),
    ...optional('family_id', record.familyId),
    ...optional('pair_id', record.pairId),
    ...optionalTime('superseded_at', record.supersededAtMs),
    ...optional('successor_id', record.successorId),
    ...optionalTime('redeemed_at', record.redeemedAtMs),
    ...optionalTime('revoked_at', record.revokedAtMs),
  };
}

/** An event of the audit trail. */
export function shownAuditEvent({ address, clientId, reason, requestId, ...event }: AuditEvent): Shown {
  return {
    ...shownEvent(event),
    ...optional('address', address),
    ...optional('client_id', clientId),
    ...optional('reason', reason),
    ...optional('request_id', requestId),
  };
}

export function shownEvent({ sequence, atMs, type, target, actor, subject }: EventRecord): Shown {
  return {
    ...{ number: sequence, at: time(atMs), type, target },
    ...optional('actor', actor),
    ...optional('subject', subject),
  };
}
