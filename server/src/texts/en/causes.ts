/** Why a token has ended. */
export const CAUSES = {
  refresh_token_reused:
    'An old refresh token of the same family was used again after a new one had replaced it. Its client may have lost the new one, or a thief may have a copy. The server therefore ended all tokens of the family.',
  code_reused:
    'The authorization code was redeemed a second time, perhaps by a thief. The server therefore ended its tokens.',
  revoked_by_client: 'Its client has revoked this token.',
  tied_revoked_by_client:
    'Its client has revoked another token of the same grant, and this one ended with it.',
  revoked_by_operator: 'An operator has revoked this token.',
  tied_revoked_by_operator:
    'An operator has revoked another token of the same grant, and this one ended with it.',
  family_revoked: 'Its refresh token was revoked, with all successors and their access tokens.',
  code_revoked: 'The authorization code with which it was obtained was revoked.',
  exchanges_revoked: 'All that its client had obtained for the user by exchange was revoked.',
  ended_by_user: 'The user has ended this access.',
  ended_by_operator: 'An operator has ended this access.',
  consent_withdrawn: 'The consent of the user for this client was withdrawn.',
  left_group: 'The user has left the group for which the client is.',
  groups_changed: 'The client is for other groups now, and the user is in none of them.',
  beyond_policy:
    'The options of the server no longer allow this personal access token. The server therefore ended it after a start.',
  signed_out: 'The user has signed out.',
  session_ended_by_operator: 'An operator has ended the session of the user.',
  access_ended_by_user: 'The user has ended all their access.',
  access_ended_by_operator: 'An operator has ended all access of the user.',
  password_set: 'The user has changed their password.',
  password_set_by_operator: 'An operator has set a new password for the user.',
  factors_reset: 'All factors of the user were removed.',
  factor_removed: 'A factor of the user was removed.',
  provider_unlinked: 'The user’s account at an identity provider was disconnected.',
  provider_logout: 'The user has signed out at the identity provider.',
  person_disabled: 'The user was disabled, and all sessions ended.',
  subject_disabled: 'The user was disabled or removed.',
  person_removed: 'The user was removed, and all sessions ended.',
  person_imported: 'An import has changed the user’s password, or disabled the user.',
  directory_linked: 'The user now signs in with the password of the directory.',
  client_revoked: 'All tokens of the client were revoked.',
  client_disabled: 'The client was disabled.',
  issued_before_revoked: 'All tokens that were issued before a time were revoked.',
};
