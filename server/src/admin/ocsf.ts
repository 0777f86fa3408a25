// Events of the audit trail in the Open Cybersecurity Schema Framework (OCSF), https://schema.ocsf.io

import type { EventType } from '@grantd/core';
import type { AuditEvent } from '../data/audit_search.ts';
import { changesIn } from '../data/changes.ts';

/** The last version in which Account Change is not deprecated. Later versions of 1.x accept the same events. */
const VERSION = '1.8.0';

const IAM = { uid: 3, name: 'Identity & Access Management' };

const CLASSES = {
  account: { uid: 3001, name: 'Account Change' },
  authentication: { uid: 3002, name: 'Authentication' },
  entity: { uid: 3004, name: 'Entity Management' },
  group: { uid: 3006, name: 'Group Management' },
} as const;

type Activity = readonly [id: number, name: string];

const CREATE: Activity = [1, 'Create'];
const UPDATE: Activity = [3, 'Update'];
const DELETE: Activity = [4, 'Delete'];

type Mapping =
  | { readonly of: 'account' | 'authentication' | 'group'; readonly activity: Activity }
  /** @param entity the type of the entity */
  | { readonly of: 'entity'; readonly activity: Activity; readonly entity: string };

const account = (id: number, name: string): Mapping => ({ of: 'account', activity: [id, name] });
const authentication = (id: number, name: string): Mapping => ({
  of: 'authentication',
  activity: [id, name],
});
const group = (id: number, name: string): Mapping => ({ of: 'group', activity: [id, name] });
const entity = (activity: Activity, type: string): Mapping => ({ of: 'entity', activity, entity: type });

const MAPPINGS: Readonly<Record<EventType, Mapping>> = {
  signed_in: authentication(1, 'Logon'),
  sign_in_failed: authentication(1, 'Logon'),
  session_ended: authentication(2, 'Logoff'),
  session_revoked: entity(DELETE, 'Tokens of a session'),

  person_added: account(1, 'Create'),
  people_imported: account(1, 'Create'),
  subject_enabled: account(2, 'Enable'),
  person_password_set: account(3, 'Password Change'),
  subject_disabled: account(5, 'Disable'),
  person_removed: account(6, 'Delete'),
  person_factor_added: account(10, 'MFA Factor Enable'),
  person_factor_removed: account(11, 'MFA Factor Disable'),
  person_factors_reset: account(11, 'MFA Factor Disable'),
  person_factors_confirmed: account(10, 'MFA Factor Enable'),
  person_unlocked: account(9, 'Unlock'),
  password_link_requested: account(4, 'Password Reset'),
  person_changed: account(99, 'Update'),
  person_linked: account(99, 'Link'),
  person_unlinked: account(99, 'Unlink'),
  person_recovery_codes_made: account(99, 'Recovery Codes Made'),
  person_recovery_code_used: account(99, 'Recovery Code Used'),
  personal_token_made: account(99, 'Personal Access Token Made'),

  group_added: group(6, 'Create'),
  group_changed: group(99, 'Update'),
  group_removed: group(5, 'Delete'),
  group_member_added: group(3, 'Add User'),
  group_member_removed: group(4, 'Remove User'),

  client_added: entity(CREATE, 'Client'),
  client_changed: entity(UPDATE, 'Client'),
  client_secret_rotated: entity(UPDATE, 'Client secret'),
  client_removed: entity(DELETE, 'Client'),
  client_disabled: entity([9, 'Disable'], 'Client'),
  client_enabled: entity([8, 'Enable'], 'Client'),
  client_revoked: entity(DELETE, 'Tokens of a client'),
  subject_revoked: entity(DELETE, 'Tokens of a user'),
  grant_revoked: entity(DELETE, 'Grant'),
  token_issued: entity(CREATE, 'Token'),
  identity_assertion_issued: entity(CREATE, 'Identity assertion'),
  token_revoked: entity(DELETE, 'Token'),
  family_revoked: entity(DELETE, 'Token family'),
  exchanges_revoked: entity(DELETE, 'Exchanged tokens of a client'),
  code_issued: entity(CREATE, 'Authorization code'),
  code_revoked: entity(DELETE, 'Authorization code'),
  issued_before_revoked: entity(DELETE, 'Tokens issued before a time'),
  consent_given: entity(CREATE, 'Consent'),
  consent_withdrawn: entity(DELETE, 'Consent'),
  mailed_link_made: entity(CREATE, 'Mailed link'),
  mailed_link_used: entity(UPDATE, 'Mailed link'),
  mail_retried: entity(UPDATE, 'Email'),
  server_secret_rotated: entity(CREATE, 'Server secret'),
  server_secret_dropped: entity(DELETE, 'Server secret'),
  pairwise_secret_made: entity(CREATE, 'Pairwise secret'),
  key_rotated: entity(UPDATE, 'Signing key'),
  scope_texts_changed: entity(UPDATE, 'Scope'),
  documents_denied: entity(CREATE, 'Denial of metadata documents'),
  documents_allowed: entity(DELETE, 'Denial of metadata documents'),
  configuration_loaded: entity([10, 'Activate'], 'Configuration'),
  audit_restarted: entity(UPDATE, 'Audit trail'),
};

/** OCSF: 1 is informational, 2 low, 3 medium. */
const SEVERITIES: Partial<Record<EventType, number>> = { sign_in_failed: 2, audit_restarted: 3 };

/** Converts an event. @param issuer names the server */
export function ocsfOf(event: AuditEvent, issuer: string): object {
  const { sequence, atMs, type, target, actor, address, clientId, subject, reason, requestId } = event;
  const changes = changesIn(type, reason);
  const mapping = MAPPINGS[type];
  const { uid: classUid, name: className } = CLASSES[mapping.of];
  const [activityId, activityName] = mapping.activity;
  const isFailure = type === 'sign_in_failed';
  const user = { uid: subject ?? (isFailure ? 'unknown' : target) };
  const isMembership = type === 'group_member_added' || type === 'group_member_removed';
  // The target of a membership ends in the subject. Both parts may have slashes.
  const member = `/${subject}`;
  const groupName = isMembership && target.endsWith(member) ? target.slice(0, -member.length) : target;
  const about = {
    account: { user },
    authentication: {
      user,
      service: { name: issuer },
      ...(!isFailure && { session: { uid: target } }),
    },
    group: { group: { name: groupName }, ...(isMembership && subject !== undefined && { user }) },
    entity: { entity: { uid: target, type: mapping.of === 'entity' ? mapping.entity : '' } },
  }[mapping.of];
  return {
    activity_id: activityId,
    activity_name: activityName,
    category_uid: IAM.uid,
    category_name: IAM.name,
    class_uid: classUid,
    class_name: className,
    type_uid: classUid * 100 + activityId,
    type_name: `${className}: ${activityName}`,
    time: atMs,
    severity_id: SEVERITIES[type] ?? 1,
    status_id: isFailure ? 2 : 1,
    status: isFailure ? 'Failure' : 'Success',
    ...(reason !== undefined && changes === undefined && { status_detail: reason }),
    message: `${type} ${target}`.trim(),
    metadata: {
      version: VERSION,
      uid: String(sequence),
      event_code: type,
      log_name: 'audit',
      product: { name: 'grantd', vendor_name: 'grantd', uid: issuer },
      ...(requestId !== undefined && { correlation_uid: requestId }),
    },
    actor: actorIn(actor),
    ...(address !== undefined && { src_endpoint: { ip: address } }),
    ...(requestId !== undefined && { http_request: { uid: requestId } }),
    ...about,
    unmapped: {
      target,
      actor,
      ...(clientId !== undefined && { client_id: clientId }),
      ...(subject !== undefined && { subject }),
      ...(changes !== undefined && {
        changes: Object.fromEntries(changes.map(({ member, values = [] }) => [member, values])),
      }),
    },
  };
}

function actorIn(actor: string): object {
  const [, kind = '', name = ''] = /^(user|console|client|api):(.*)$/s.exec(actor) ?? [];
  if (kind === 'user' || kind === 'console') return { user: { uid: name } };
  return { app_name: kind === '' ? actor : name };
}
