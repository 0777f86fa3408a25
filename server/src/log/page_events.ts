/** Stable reason codes of the pages, beside the library's own; in the log alone, never on a page. */
export const PAGE_REASONS = {
  person_unknown: 'Nobody signs in with this name.',
  password_wrong: 'The password is wrong.',
  person_disabled: 'The person is disabled.',
  person_changed: 'The person got another password, or was disabled, while the former one was checked.',
  person_not_expected: 'The client asked for another person, by an ID token or a claim.',
  too_many_attempts: 'Too many wrong passwords for this name from the same place.',
  too_many_sign_ins: 'Too many passwords wait to be checked.',
  form_foreign: 'The form was not made for this browser, sign-in and request, or is too old.',
  request_expired: 'The request was begun too long ago, or not by this server.',
  request_too_long: 'The request is too long for the address of a page.',
  consent_withdrawn: 'The person ended the client’s access while it was granted; nothing of it stays alive.',
  session_over: 'The session ended while something was granted in it; nothing of it stays alive.',
} as const;

export type PageReason = keyof typeof PAGE_REASONS;

export type PageName = 'authorize' | 'login' | 'select' | 'consent' | 'logout' | 'account';

/** What happened on a page; never with a password, a cookie or a code. */
export interface PageEvent {
  readonly type:
    | 'refused'
    | 'signed_in'
    | 'signed_out'
    | 'session_ended'
    | 'consent_given'
    | 'consent_withdrawn';
  readonly page: PageName;
  readonly requestId: string;
  readonly reason?: PageReason;
  readonly clientId?: string;
  /** The server's own identifier of the person, where it is certain. */
  readonly subject?: string;
  readonly sessionId?: string;
}
