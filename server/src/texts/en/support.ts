// What the console says about the sign-in of a user, and about the state of the server, in English.
import { html } from 'hono/html';
import type { Html } from '../formats/html.ts';

export const SUPPORT = {
  title: (name: string) => `How ${name} signs in`,
  link: 'How this user signs in',
  lead: 'What the user would see now. You are not signed in as the user.',
  can: (name: Html) => html`${name} can sign in.`,
  cannot: (name: Html) => html`${name} cannot sign in.`,
  forClient: 'For a client (name or ID)',
  show: 'Show',
  obstacles: {
    disabled: 'The user is disabled.',
    locked: 'There were too many wrong attempts, so the server refuses some steps for a while.',
    no_way: 'The user has no way to sign in that this server accepts.',
    client_disabled: 'The client is disabled.',
    not_in_groups: 'The client is for certain groups, and the user is in none of them.',
    factor_needed: 'The user must first add a factor. The server offers it during the sign-in.',
  },
  /** What an operator can do about it. */
  advice: {
    disabled: 'Enable the user.',
    locked: 'Unlock the user, or wait.',
    no_way: 'Set a password, invite the user again, or let them use a link from an email.',
    client_disabled: 'Enable the client.',
    not_in_groups: 'Add the user to one of the groups.',
    factor_needed: 'You need not do anything. The pages lead the user through it.',
  },
  /** Of a user who can sign in from elsewhere. */
  lockedFrom: (places: string, end: Html) => html`Locked from ${places} until ${end}`,
  locks: 'Locked',
  lock: (step: string, places: string, end: Html) =>
    html`${step}: from ${places}, until ${end}, after too many wrong attempts. Other places are not affected.`,
  places: (count: number, shown: string) => (count === 1 ? 'one place' : `${shown} places`),
  lockedSteps: { password: 'Password', code: 'Codes', mailed_link: 'Links from emails' },
  ways: 'Ways to sign in',
  wayNames: {
    password: 'Password',
    email_code: 'Code by email',
    directory: 'Password of the directory',
    passkey: 'Passkey',
    provider: 'Provider',
  },
  closed: {
    no_password: 'The user has none.',
    no_verified_address: 'The user has no verified email address.',
    address_of_provider:
      'Not asked for, because the username is an address whose users sign in at a provider.',
    not_configured: 'Not in the configuration of this server.',
    not_linked: 'The user has no account there yet.',
  },
  next: {
    nothing: 'Enough to sign in.',
    second_factor: 'A second factor follows.',
    new_factor: 'The user then has to add a factor.',
    refused: 'The server then refuses, because no factor of the user meets the policy now.',
  },
  factors: 'Second factors',
  noFactors: 'None.',
  passkeys: (count: number, shown: string) => (count === 1 ? 'one passkey' : `${shown} passkeys`),
  securityKeys: (count: number, shown: string) =>
    count === 1 ? 'one security key' : `${shown} security keys`,
  app: 'an authenticator app',
  codes: (count: number, shown: string) => (count === 1 ? 'one recovery code' : `${shown} recovery codes`),
  countFrom: (when: Html) => html`They count in full ${when}.`,
  policy: 'What a sign-in needs',
  policyOf: {
    server: 'server',
    group: (name: string) => `group ${name}`,
    client: (name: string) => `client ${name}`,
  },
  policyNames: {
    password: 'A password is enough',
    second_factor_if_enrolled: 'Second factor, if the user has one',
    second_factor: 'Second factor',
    phishing_resistant: 'A passkey',
  },
  email: 'Email address',
  verified: 'verified',
  unverified: 'not verified, so the user gets no emails about the account',
  attempts: 'Last sign-ins and attempts',
  attemptsText:
    'Refusals without a check, such as those after too many attempts, and refusals of an application are only in the log.',
  noAttempts: 'None in the last 30 days.',
  signedInWith: (ways: string) => `Signed in with ${ways}`,
  signedIn: 'Signed in',
  refusedAt: {
    password: 'Refused at the password',
    email_code: 'Refused at the code by email',
    directory: 'Refused by the directory',
    passkey: 'Refused at the passkey',
    security_key: 'Refused at the security key',
    code: 'Refused at the code',
    provider: 'Refused after the provider',
    other: 'Refused',
  },
  request: 'events of the request',
};
