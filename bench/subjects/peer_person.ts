/** The user whose claims the peers return at UserInfo, as many as grantd returns. */
export const PERSON_SUBJECT = 'krsOL3xY49LzdO_BTAycOg';
export const PERSON_CLAIMS = {
  preferred_username: 'person-1',
  name: 'Person 1',
  email: 'person-1@example.com',
  email_verified: true,
};

/** Outlives every benchmark. */
export const LIFETIME_SECONDS = 30 * 86_400;
