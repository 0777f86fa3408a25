import type { RefusalReason } from '@grantd/core';
import { html } from 'hono/html';
import { Formats } from './formats.ts';
import type { Html } from './html.ts';

const formats = new Formats('en-GB', { justNow: 'just now', on: (date) => `on ${date}` });

/** A name from outside, kept from turning the text around it the other way. */
type Name = Html;

/** English, and the shape of every other catalogue. */
export const EN = {
  formats,
  language: 'en',

  problemTitle: (title: string) => `Problem: ${title}`,
  newTab: '(opens in a new tab)',

  signIn: {
    title: 'Sign in',
    toContinueTo: (application: Name) => html`to continue to ${application}`,
    toAccount: 'to see your applications and sessions',
    titleAgain: 'Confirm that it is you',
    again: {
      asked: (application: Name) => html`${application} asks that you enter your password again.`,
      tooLongAgo: (application: Name) =>
        html`${application} asks that you enter your password again, because you signed in a while ago.`,
      forAccount: 'Enter your password again to go on.',
    },
    signedInAs: 'Signed in as',
    notYou: 'Not you?',
    username: 'Username',
    password: 'Password',
    submit: 'Sign in',
    submitAgain: 'Continue',
    cancel: 'Cancel',
    problems: {
      credentials_wrong: 'The name or the password is wrong.',
      account_disabled: 'This account is disabled. The people who run this service can enable it again.',
      too_many_attempts: 'Too many attempts.',
      too_many_sign_ins: 'Too many people are signing in at the moment.',
      another_person: 'The application asked for another account. Sign in with that one.',
    },
    tryAgainIn: (wait: string) => `Try again in ${wait}.`,
  },

  choose: {
    title: 'Choose an account',
    toContinueTo: (application: Name) => html`to continue to ${application}`,
    continueAs: (person: Name) => html`Continue as ${person}`,
    other: 'Use another account',
  },

  consent: {
    title: (application: string) => `${application} asks for access`,
    heading: (application: Name) => html`${application} asks for access`,
    signedInAs: 'Signed in as',
    notYou: 'Not you?',
    asksTo: 'What you would allow',
    also: 'And',
    at: (api: Name) => html`What you would allow at ${api}`,
    ownScopes: 'Permissions, as the application calls them',
    claims: 'Details that it asks for by name',
    services: 'Where it can use this access',
    returnsTo: (host: Name) => html`Either way, you go back to ${host}.`,
    leadsTo: (host: Name) => html`If you allow it, you go to ${host}.`,
    endIt: (account: string | undefined) =>
      account === undefined
        ? html`You can end this access at any time.`
        : html`You can end this access at any time in <a href="${account}">your account</a>.`,
    allow: 'Allow',
    deny: 'Deny',
    policy: 'Privacy policy',
    terms: 'Terms of service',
    website: 'Website',
  },

  unchecked: {
    badge: 'unchecked',
    title: 'Unchecked application.',
    note: (application: Name, operator: Name) =>
      html`${application} registered itself here. ${operator} has not checked who is behind it.`,
  },

  leaving: {
    title: 'Leave this site?',
    leadsTo: (host: Name) => html`The application wants you to go to ${host}.`,
    note: (operator: Name) =>
      html`The application registered itself here. ${operator} has not checked who is behind it.`,
    go: (host: Name) => html`Continue to ${host}`,
    stay: 'Stay here',
  },

  /** What scopes mean (OpenID Connect Core §5.4, §11). */
  scopes: {
    openid: { title: 'Know who you are', detail: 'An identifier of your account' },
    profile: { title: 'See your profile', detail: 'Such as name, picture, date of birth and language' },
    email: { title: 'See your email address', detail: 'And whether it is confirmed' },
    address: { title: 'See your postal address', detail: undefined },
    phone: { title: 'See your phone number', detail: 'And whether it is confirmed' },
    offline_access: {
      title: 'Keep this access while you are away',
      detail: 'Also after you have signed out, until you end it',
    },
  },

  logout: {
    title: 'Sign out?',
    question: (person: Name) => html`You are signed in as ${person}.`,
    askedBy: (application: Name) => html`${application} asks to sign you out.`,
    consequence:
      'You will be signed out here. Applications that can be told are asked to sign you out as well. The others keep their own session until you sign out there.',
    staysHere:
      'The application named an address to return to that is not registered for it. You will stay here.',
    yes: 'Sign out',
    no: 'Stay signed in',
    doneTitle: 'You are signed out',
    done: 'On a shared computer, close the browser now.',
    told: 'These applications know that you signed out',
    telling: 'These applications are being told',
    tellingNote: 'That can take a moment.',
    notTold: 'These applications keep their own session',
    notToldNote: 'They were not told. Sign out there, too.',
    signInAgain: 'Sign in again',
    stillTitle: 'You are still signed in',
    still: 'Nothing has changed.',
    toAccount: 'To your account',
  },

  account: {
    title: 'Your account',
    signedInAs: 'Signed in as',
    signOut: 'Sign out',
    applications: 'Applications with access',
    noApplications: 'No application has access to your account.',
    since: (date: Html) => html`Since ${date}`,
    at: (api: Name) => html`At ${api}`,
    claims: (names: Html) => html`Asked for by name: ${names}`,
    usedAt: (services: Html) => html`For use at ${services}`,
    more: (count: number) =>
      `${formats.number(count)} ${formats.plural(count, { one: 'permission', other: 'permissions' })}, as the application calls them`,
    endAccess: (application: Name) => html`End access<span class="unseen"> of ${application}</span>`,
    sessions: 'Where you are signed in',
    noSessions: 'You are not signed in anywhere.',
    thisBrowser: 'This browser',
    signedIn: (when: Html) => html`Signed in ${when}`,
    lastSeen: (when: Html) => html`last active ${when}`,
    endSession: (session: Name) => html`Sign out<span class="unseen"> ${session}</span>`,
    endOthers: 'Sign out everywhere else',
    notices: {
      access_ended: (application: string) => `The access of ${application} has ended.`,
      session_ended: 'That browser is signed out.',
      other_sessions_ended: (count: number) =>
        `${formats.number(count)} ${formats.plural(count, { one: 'other browser is', other: 'other browsers are' })} signed out.`,
      nothing_to_end: 'That had ended already.',
    },
  },

  /** A browser on a system, as its `User-Agent` tells. */
  browsers: {
    onSystem: (browser: string, system: string) => `${browser} on ${system}`,
    unknown: 'Unknown browser',
    unknownOn: (system: string) => `Unknown browser on ${system}`,
  },

  problems: {
    request_invalid: {
      title: 'This request cannot be answered',
      text: 'The application sent a request that is not in order, so nothing was done.',
      help: 'Go back to the application and try again. If this comes again, tell the people who run the application.',
    },
    request_expired: {
      title: 'Please start again',
      text: 'This took too long, or did not begin at an application.',
      help: 'Go back to the application and sign in from there.',
    },
    request_answered: {
      title: 'You have answered this already',
      text: 'The application has had its answer, so nothing more was sent. You may have gone back in your browser, or pressed a button twice.',
      help: 'Go back to the application. If you are not signed in there, sign in again from there.',
    },
    form_foreign: {
      title: 'Please start again',
      text: 'This form was not made for this browser, or is out of date.',
      help: 'Go back to the application and try again. Cookies have to be allowed here.',
    },
    not_found: {
      title: 'Page not found',
      text: 'The address may be mistyped or out of date.',
      help: 'Check the address, or begin at the application that you want to use.',
    },
    method_not_allowed: {
      title: 'This page cannot be used in that way',
      text: 'The request was of a kind that this page does not answer.',
      help: 'Go back to the application and try again.',
    },
    too_large: {
      title: 'The request is too large',
      text: 'More was sent than this page takes.',
      help: 'Go back to the application and try again.',
    },
    unavailable: {
      title: 'Not available at the moment',
      text: 'The server cannot answer just now.',
      help: 'Wait a moment, then reload this page.',
    },
    unexpected: {
      title: 'Something went wrong',
      text: 'The server made a mistake.',
      help: 'Try again. If this comes again, tell the people who run this service.',
    },
  },
  /** Why a request cannot be answered, by the library’s reason code. */
  reasons: {
    parameter_missing: 'Something that every such request needs is missing.',
    parameter_repeated: 'Something is in the request more than once.',
    parameter_invalid: 'Something in the request has a value that is not allowed.',
    parameters_too_long: 'The request is too long.',
    wrong_media_type: 'The request is not a form.',
    client_unknown: 'The application is not registered here.',
    client_disabled: 'The application is disabled here.',
    client_keys_refused: 'The keys of the application cannot be read.',
    redirect_uri_mismatch: 'The address to return to is not registered for the application.',
    id_token_hint_wrong:
      'The proof of who is signed in is not from this server, or is for another application.',
    pushed_request_unknown: 'The request was used before, or has expired.',
    pushed_request_foreign: 'The request belongs to another application.',
    pushed_request_missing: 'The application has to send its requests to the server in advance.',
    request_object_malformed: 'The signed request cannot be read.',
    request_object_wrong_key: 'The signature of the request does not fit the application.',
    request_object_wrong_claims: 'The signed request is for another server or application, or out of date.',
    request_object_missing: 'The application has to sign its requests.',
    request_uri_not_allowed: 'The request refers to an address that is not registered for the application.',
    request_uri_unreachable: 'The request refers to a document that could not be fetched.',
  } satisfies Partial<Record<RefusalReason, string>>,
  problemWays: {
    again: 'Try again',
    application: (application: Name) => html`To ${application}`,
    home: 'Start page',
    account: 'Your account',
  },
  problemDetail: {
    heading: 'For developers',
    code: 'Error',
    description: 'Description',
    requestId: 'Request',
    waitFor: (wait: string) => `Try again in ${wait}.`,
  },

  home: {
    title: (operator: string) => operator,
    text: 'Applications send you here to sign in. There is nothing to do on this page.',
    account: 'Your account',
    running: (issuer: Name) => html`grantd is running as ${issuer}.`,
    metadata: 'Metadata',
    forDevelopers: 'For developers',
  },
};

/** What a page says; a catalogue that lacks a text does not compile. */
export type Texts = typeof EN;
