// What the pages report, and why they refuse.
import type { ServerEvent } from '@grantd/core';

/** Stable reason codes of the pages, in addition to the library’s. They appear only in the log, never on a page. */
export const PAGE_REASONS = {
  person_unknown:
    'No user has the username or email address that was entered, or several users have the address.',
  password_wrong: 'The password is wrong.',
  password_cut_off:
    'The user’s password hash comes from another server, whose algorithm ignores a part of the password that was entered, such as everything after 72 bytes with bcrypt. The rest of the password is right. The user must choose a new password.',
  person_disabled: 'The user is disabled.',
  password_expired:
    'The user’s password has expired in the LDAP directory, or the user must change it there before signing in.',
  directory_account_locked:
    'The LDAP directory has locked the user’s account after wrong passwords. It does not say whether the password that was entered is right.',
  directory_sign_in_restricted:
    'The password is right, but the LDAP directory does not allow the user to sign in at this time or from this server.',
  directory_entry_ambiguous:
    'The option ldapFilter matches several entries of the LDAP directory for the username that was entered. It must match one.',
  directory_entry_limited:
    'There were too many wrong passwords from one IP address for one entry of the LDAP directory. The server counts the attempts of all usernames that lead to the entry.',
  directory_entry_missing:
    'The user comes from the LDAP directory, but the directory no longer has the user’s entry, or the option ldapFilter no longer matches it.',
  directory_name_taken:
    'A user of the LDAP directory signed in for the first time, but another user of this server already has the username. If both are the same person, for example because the entry was deleted and made again, run grantd directory link.',
  directory_name_refused:
    'A user of the LDAP directory signed in for the first time, but this server does not allow the username in the directory entry.',
  directory_unavailable:
    'The LDAP directory did not respond, or it rejected the account with which the server signs in to it.',
  person_changed:
    'During the sign-in, the user’s password, data or state (disabled) changed, so the server stopped the sign-in.',
  person_not_expected:
    'The client requires a certain user, by id_token_hint or by the claim sub, but a different user signed in.',
  too_many_attempts:
    'There were too many wrong passwords for this username or email address from one IP address.',
  person_limited:
    'There were too many wrong passwords for this user from one IP address, some with the username and others with the email address. The server did not check the password, and the page says that it is wrong.',
  too_many_failures: 'There were too many failed sign-ins from one IP address, counted over all usernames.',
  too_many_sign_ins:
    'Too many sign-ins are waiting for the check of their password, so the server did not check this one.',
  form_foreign:
    'The server did not create the submitted form for this browser, session and request, or the form has expired.',
  passkey_challenge_wrong:
    'The passkey signed a challenge that has expired, or that the server made for another browser or request.',
  passkey_challenge_used: 'The passkey signed a challenge that was already used.',
  passkey_unknown: 'No user has this passkey, or it was removed.',
  passkey_foreign: 'The passkey belongs to a different user than the one who is signing in.',
  passkey_wrong: 'The passkey’s response is not valid: its origin, RP ID or signature is wrong.',
  passkey_unverified:
    'The authenticator did not verify its user, as a passkey needs. A security key without PIN cannot: it is only a second step.',
  security_key_alone: 'A security key was used without a password before it.',
  passkey_counter_wrong:
    'The signature counter of the passkey is not higher than at its last use, so the passkey may be a copy.',
  passkeys_too_many: 'The user tried to add a passkey, but already has the maximum number.',
  passkey_needed: 'The user tried to remove a passkey, but they have no other way to sign in.',
  code_wrong: 'The code of the authenticator app is wrong.',
  email_code_wrong:
    'The code by email is wrong, has expired, was used or replaced, or belongs to another browser, or there is no such user.',
  email_code_guessed: 'There were five wrong codes for one code by email, so it no longer counts.',
  code_used: 'The code of the authenticator app was already used.',
  totp_exists: 'The user tried to add an authenticator app, but already has one.',
  totp_offer_wrong:
    'The user tried to add an authenticator app, but the secret in the form was not made for this user.',
  recovery_code_wrong: 'The recovery code is wrong or was already used.',
  too_many_device_codes:
    'Too many codes of devices were entered by this user, from one IP address, or for this code.',
  device_code_wrong: 'No device waits with the code that was entered: it was mistyped, used, or has expired.',
  too_many_codes: 'There were too many wrong authenticator-app or recovery codes for this user.',
  sign_in_not_recent:
    'The user tried to change how they sign in, or to export their data, but signed in more than ten minutes ago. They must sign in again first.',
  password_not_asked:
    'The username is an address of a domain whose users sign in at an identity provider, so the server checked no password.',
  sign_in_too_weak:
    'The user tried to change how they sign in, or to export their data, but has not used the strongest factor that they have. They must use it first.',
  factors_wait:
    'The user tried to change their account, but their factors were added or removed with a recovery code and do not count yet. They must wait, or ask the operator to confirm the factors.',
  passkey_waits:
    'The passkey was added with a recovery code and does not count yet, but the sign-in needs a passkey that counts.',
  request_expired:
    'The page belongs to no authorization or sign-out request that this server has started. Its URL may be incomplete, or the server secret has changed.',
  device_code_of_other_browser:
    'The code of the device was entered in another browser. Perhaps someone sent the user the address of their own page.',
  request_too_long:
    'The authorization or sign-out request has too many characters to be kept while the user is on the server’s pages.',
  client_not_allowed:
    'The client is restricted to the members of certain groups, and the user is not in any of them.',
  consent_withdrawn:
    'While the server handled the authorization request, the user ended the client’s access. The server has revoked the new grant.',
  link_invalid:
    'The link from an email is unknown, used or expired, or the user’s password or email address has changed since the email was sent.',
  link_foreign:
    'The user opened a link for a new password in another browser than the one that requested it. The page then asks for the username, and the username that was entered is wrong.',
  password_short: 'The chosen password is too short.',
  password_long: 'The chosen password is too long.',
  password_common: 'The chosen password is in the server’s list of common passwords.',
  password_is_name: 'The chosen password is the username or the email address.',
  name_refused: 'The chosen username is not allowed.',
  name_taken: 'Another user has the chosen username or a similar one.',
  address_invalid: 'The entered email address is invalid.',
  domain_refused:
    'The email address that was entered for a sign-up has a domain that may not sign up, or whose users sign in at an identity provider.',
  too_many_mails:
    'Too many emails were requested for this name or address, or from one IP address. If it was for this name, the page answers as usual, but the server sends nothing.',
  provider_unavailable: 'The identity provider did not respond, or reported that it is not available.',
  provider_denied:
    'The identity provider reported that it did not sign the user in, or that the user did not consent there.',
  provider_code_refused:
    'The identity provider rejected the authorization code, for example because it was used before.',
  provider_answer_invalid:
    'The response of the identity provider is not valid: its issuer, nonce or signature is wrong, for example.',
  provider_sign_in_old:
    'The server asked the identity provider to make the user sign in again, but the ID token does not show that this happened: its auth_time is missing or too old.',
  provider_answer_foreign:
    'The response of an identity provider does not belong to a sign-in that this browser started, or was already used.',
  provider_not_linked:
    'No user is linked with the user at the identity provider, and the option create_users of the provider does not allow a new user.',
  provider_linked_elsewhere:
    'The user tried to link their account at an identity provider, but it is already linked with another user.',
  provider_needed:
    'The user tried to remove the link to an identity provider, but they have no other way to sign in.',
  too_many_requests:
    'One address has reached the limit of requests that strangers may send in a minute (option addressRequestLimit). Behind a proxy, set trustedProxies.',
  too_many_wrong_secrets:
    'One address has sent as many different wrong client secrets in a minute as the option addressRequestLimit allows. Until the minute ends, clients at this address can use secrets that have worked before. Behind a proxy, set trustedProxies.',
  too_many_unknown_tokens:
    'A client, or the address of a public client, has sent as many different unknown tokens in a minute as the option unknownTokenLimit, or addressRequestLimit, allows. The client guesses, or an API gets them from its callers.',
  token_refused:
    'The user tried to make a personal access token that the policy of the server does not allow, or has too many.',
  not_administrator: 'The user is not in the group of administrators, who may use the console.',
  request_decided:
    'The user went back in the browser and answered an authorization request again. The first answer counts.',
  session_over:
    'While the server handled the authorization request, the user’s session ended. The server has revoked the new grant.',
} as const;

export type PageReason = keyof typeof PAGE_REASONS;

/** The library’s name if the library also reports the page, otherwise the path. */
export type PageName =
  | Extract<ServerEvent['operation'], 'authorization' | 'logout'>
  | 'login'
  | 'code'
  | 'second'
  | 'select'
  | 'denied'
  | 'consent'
  | 'device'
  | 'account'
  | 'console'
  | 'forgot'
  | 'sign-up'
  | 'link'
  | 'upstream';

/** An event of a page. It never contains a password, a cookie or a code. */
export interface PageEvent {
  readonly type:
    | 'refused'
    | 'sign_in_failed'
    | 'signed_in'
    | 'second_step_begun'
    | 'signed_out'
    | 'session_ended'
    | 'consent_given'
    | 'consent_withdrawn'
    | 'code_requested'
    | 'reset_requested'
    | 'password_reset'
    | 'password_changed'
    | 'email_change_requested'
    | 'email_changed'
    | 'sign_up_requested'
    | 'signed_up'
    | 'data_exported'
    | 'account_removed'
    | 'provider_linked'
    | 'provider_unlinked'
    | 'upstream_logout'
    | 'factor_added'
    | 'factor_removed'
    | 'recovery_codes_made'
    | 'recovery_code_used'
    | 'personal_token_made'
    | 'personal_token_ended';
  readonly page: PageName;
  readonly requestId: string;
  readonly reason?: PageReason;
  readonly clientId?: string;
  /** The user’s internal identifier. Of a refused sign-in, the user whose name was entered. */
  readonly subject?: string;
  readonly sessionId?: string;
  /** The identity provider that the event is about. */
  readonly provider?: string;
  /** Why a provider did not sign the user in. */
  readonly cause?: unknown;
}
