import type { Claims } from '@grantd/core';

export const DEMO_PERSON = {
  name: 'alice',
  password: 'wonderland',
  /** A claim for every standard scope (OpenID Connect Core §5.1). */
  claims: {
    name: 'Alice Liddell',
    given_name: 'Alice',
    family_name: 'Liddell',
    middle_name: 'Pleasance',
    nickname: 'Al',
    preferred_username: 'alice',
    profile: 'https://alice.example/',
    picture: 'https://alice.example/portrait.png',
    website: 'https://alice.example/',
    gender: 'female',
    birthdate: '1852-05-04',
    zoneinfo: 'Europe/London',
    locale: 'en-GB',
    updated_at: 1_700_000_000,
    email: 'alice@example.com',
    email_verified: true,
    address: {
      formatted: 'The Deanery\nOxford OX1 1DP\nUnited Kingdom',
      street_address: 'The Deanery',
      locality: 'Oxford',
      postal_code: 'OX1 1DP',
      country: 'United Kingdom',
    },
    phone_number: '+441865000000',
    phone_number_verified: true,
  } satisfies Claims,
} as const;
