/** Stable reason codes of the pages, beside the library's own; in the log alone, never on a page. */
export const PAGE_REASONS = {
  person_unknown: 'Nobody signs in with this name.',
  password_wrong: 'The password is wrong.',
  person_disabled: 'The person is disabled.',
  too_many_attempts: 'Too many wrong passwords for this name from the same place.',
  too_many_sign_ins: 'Too many passwords wait to be checked.',
  form_foreign: 'The form was not made for this browser, sign-in and request, or is too old.',
  request_expired: 'The authorization request was begun too long ago, or not by this server.',
} as const;

export type PageReason = keyof typeof PAGE_REASONS;

/** What happened on a page; never with a password or a code. */
export interface PageEvent {
  readonly type: 'refused' | 'signed_in' | 'consent_given';
  readonly page: 'login' | 'consent';
  readonly requestId: string;
  readonly reason?: PageReason;
  readonly clientId?: string;
  /** The server's own identifier of the person, where it is certain. */
  readonly subject?: string;
}
