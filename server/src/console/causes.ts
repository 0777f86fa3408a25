// Why a token has ended, by the event that ended it.
import type { AuditEventView } from '../admin/audit.ts';
import { LEFT_GROUP } from '../people/groups.ts';
import type { CAUSES } from '../texts/en/causes.ts';
import { actorIn, endingReasonOf } from './sentences.ts';

export type Cause = keyof typeof CAUSES;

/**
 * @param isItself whether the event is about this token, and not about one that it is tied to
 * @returns `undefined` if neither the event nor its actor says why
 */
export function causeOf(event: AuditEventView, isItself: boolean): Cause | undefined {
  const { type } = event;
  const reason = endingReasonOf(event);
  const { by } = actorIn(event.actor);
  const who =
    by === 'user' && event.actor.startsWith('user:') ? 'user' : by === 'client' ? 'client' : 'operator';
  const isServer = by === 'server' || by === 'anonymous' || by === 'registration';
  if (reason?.startsWith(LEFT_GROUP)) return 'left_group';
  switch (reason) {
    case 'password_set':
      return who === 'user' ? 'password_set' : 'password_set_by_operator';
    case 'refresh_token_reused':
    case 'code_reused':
    case 'consent_withdrawn':
    case 'groups_changed':
    case 'beyond_policy':
    case 'factors_reset':
    case 'factor_removed':
    case 'provider_unlinked':
    case 'provider_logout':
    case 'person_disabled':
    case 'person_removed':
    case 'person_imported':
    case 'directory_linked':
      return reason;
  }
  switch (type) {
    case 'token_revoked':
      if (who === 'client') return isItself ? 'revoked_by_client' : 'tied_revoked_by_client';
      return isItself ? 'revoked_by_operator' : 'tied_revoked_by_operator';
    case 'grant_revoked':
      return isServer ? undefined : who === 'user' ? 'ended_by_user' : 'ended_by_operator';
    case 'session_revoked':
    case 'session_ended':
      // That of a trusted issuer has no user.
      return isServer || event.subject === undefined
        ? undefined
        : who === 'user'
          ? 'signed_out'
          : 'session_ended_by_operator';
    case 'subject_revoked':
      return isServer ? undefined : who === 'user' ? 'access_ended_by_user' : 'access_ended_by_operator';
    case 'family_revoked':
    case 'exchanges_revoked':
    case 'code_revoked':
    case 'client_revoked':
    case 'client_disabled':
    case 'subject_disabled':
    case 'issued_before_revoked':
      return type;
    default:
      return undefined;
  }
}
