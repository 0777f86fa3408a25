// Records of events: changes of state, and acts of administration.

/** Where a change comes from, for the audit trail. */
export interface EventOrigin {
  /** Who acts: a name from the host. If it is absent, the client or the host itself acts. */
  readonly actor?: string;
  /** The IP address that the request came from. */
  readonly address?: string;
  readonly requestId?: string;
}

/** A change of state, written in the same transaction; or an act that was recorded by itself. */
export interface EventRecord extends EventOrigin {
  /** Increases with every event of an issuer. */
  readonly sequence: number;
  readonly atMs: number;
  readonly type: EventType;
  /** `id` of the token, code or principal. `token_issued` has the ids of all its tokens, separated by spaces. */
  readonly target: string;
  /** The client that the change is about or that asked for it. */
  readonly clientId?: string;
  /** The user that the change is about. */
  readonly subject?: string;
  /** Why or how, as a code. */
  readonly reason?: string;
}

/** What an event is about. */
export interface EventFacts extends Pick<EventRecord, 'target'> {
  readonly clientId?: string | undefined;
  readonly subject?: string | undefined;
  readonly reason?: string | undefined;
}

/** An administrative act, for the audit trail. Tokens do not depend on it. */
export interface Act extends EventFacts {
  readonly type: ActType;
  readonly actor: string;
}

/** What a store records in addition to revocations. */
export interface AuditOptions {
  /** Called when a write begins, in the context of its caller. What it returns is recorded with the change. */
  originOf(): EventOrigin;
  /** Whether each issuance of tokens or codes is recorded. Default: true. */
  readonly issuance?: boolean;
}

const ACT_TYPES = [
  'client_added',
  'client_changed',
  'client_secret_rotated',
  'client_removed',
  'server_secret_rotated',
  'server_secret_dropped',
  'key_rotated',
  'person_added',
  'person_changed',
  'person_password_set',
  'person_removed',
  'person_linked',
  'person_unlinked',
  'people_imported',
  'group_added',
  'group_changed',
  'group_removed',
  'group_member_added',
  'group_member_removed',
  'person_factor_added',
  'person_factor_removed',
  'person_factors_reset',
  'person_factors_confirmed',
  'person_unlocked',
  'person_recovery_codes_made',
  'person_recovery_code_used',
  'personal_token_made',
  'scope_texts_changed',
  'documents_denied',
  'documents_allowed',
  'signed_in',
  'sign_in_failed',
  'session_ended',
  'consent_given',
  'consent_withdrawn',
  'password_link_requested',
  'mailed_link_made',
  'mailed_link_used',
  'mail_retried',
  'pairwise_secret_made',
  'configuration_loaded',
  'audit_restarted',
] as const;

export type ActType = (typeof ACT_TYPES)[number];

export const EVENT_TYPES = [
  ...ACT_TYPES,
  'client_disabled',
  'client_enabled',
  'client_revoked',
  'subject_disabled',
  'subject_enabled',
  'subject_revoked',
  'session_revoked',
  'grant_revoked',
  'token_revoked',
  'family_revoked',
  'exchanges_revoked',
  'code_revoked',
  'issued_before_revoked',
  'token_issued',
  'identity_assertion_issued',
  'code_issued',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];
