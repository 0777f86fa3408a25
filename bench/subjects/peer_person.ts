/** Whom the peers tell about at UserInfo: as much as grantd tells about its people. */
export const PERSON_SUBJECT = 'krsOL3xY49LzdO_BTAycOg';
export const PERSON_CLAIMS = {
  preferred_username: 'person-1',
  name: 'Person 1',
  email: 'person-1@example.com',
  email_verified: true,
};

/** Every token of the benchmark outlives it. */
export const LIFETIME_SECONDS = 30 * 86_400;
