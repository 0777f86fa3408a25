// Long: every text of the pages for users, in English.
import type { RefusalReason } from '@grantd/core';
import { html } from 'hono/html';
import { counted } from '../formats/formats.ts';
import type { Html } from '../formats/html.ts';
import { FORMATS as formats } from './formats.ts';

/**
 * An application, person or host name from outside, isolated so that it cannot change the direction of the text around
 * it.
 */
type Name = Html;

export const PAGES = {
  problemTitle: (title: string) => `Problem: ${title}`,
  newTab: '(opens in a new tab)',

  /** Below every page. */
  footer: { label: 'Help and language', help: 'Help', privacy: 'Privacy' },

  signIn: {
    title: 'Sign in',
    toContinueTo: (application: Name) => html`to continue to ${application}`,
    toAccount: 'to see your applications and sessions',
    toDevice: 'to connect a device',
    toConsole: 'to manage this server',
    titleAgain: 'Confirm it’s you',
    again: {
      requested: (application: Name) => html`${application} asks you to enter your password again.`,
      tooLongAgo: (application: Name) =>
        html`${application} asks you to enter your password again because you signed in a while ago.`,
      forAccount: 'Enter your password again to continue.',
    },
    signedInAs: 'Signed in as',
    notYou: 'Not you?',
    username: 'Username',
    password: 'Password',
    submit: 'Sign in',
    submitAgain: 'Continue',
    cancel: 'Cancel',
    forgot: 'Forgot your password?',
    signUp: 'Create an account',
    problems: {
      name_missing: 'Enter your username first.',
      credentials_wrong: 'Wrong username or password.',
      password_not_asked:
        'Users with this address sign in at their organisation. Continue without a password.',
      account_disabled: 'This account is disabled. The people who run this service can enable it.',
      sign_in_restricted:
        'Your work account does not allow you to sign in now. The people who manage it can change this.',
      password_expired:
        'Your password has expired. Change it where you manage your work account, then sign in here.',
      password_cut_off:
        'The previous sign-in system did not store all of this password, so it cannot be checked here. Choose a new password with “Forgot your password?”, or ask the people who run this service to set one.',
      too_many_attempts: 'Too many attempts.',
      too_many_sign_ins: 'Too many people are signing in right now.',
      another_person: 'The application requires a different account. Sign in with that account.',
      passkey_refused: 'This passkey cannot be used here. Sign in another way.',
      passkey_unverified:
        'This key did not check that it is you, for example by a PIN. Enter your username and password first.',
      security_key_alone: 'This security key is a second step. Enter your username and password first.',
      passkey_too_late: 'That took too long, or was done before. Try your passkey again.',
    },
    tryAgainIn: (wait: string) => `Try again in ${wait}.`,
  },

  /** Sign-in through identity providers. */
  providers: {
    or: 'Or use another account',
    divider: 'or',
    continueWith: (provider: Name) => html`Continue with ${provider}`,
    label: (label: Name) => html`It is ${label}.`,
    back: 'Back to sign-in',
    connectFirst: 'Sign in here and connect it',
    problems: {
      unavailable: {
        title: 'The provider does not answer',
        text: (provider: Name) => html`${provider} cannot be reached right now.`,
        help: (_: Name) => 'Your account is fine. Try again in a moment, or sign in in another way.',
      },
      denied: {
        title: 'You are not signed in',
        text: (provider: Name) => html`${provider} did not sign you in, or you did not agree there.`,
        help: (_: Name) => 'Go back to try again, or to sign in in another way.',
      },
      invalid: {
        title: 'The sign-in did not succeed',
        text: (provider: Name) => html`The answer of ${provider} cannot be accepted.`,
        help: (_: Name) =>
          'Go back and try again. If it happens again, tell the people who run this service.',
      },
      foreign: {
        title: 'The sign-in was not started here',
        text: (provider: Name) =>
          html`The answer of ${provider} belongs to another browser, was used already, or came too late.`,
        help: (_: Name) => 'Start again in this browser.',
      },
      not_linked: {
        title: 'No account is connected',
        text: (provider: Name) => html`No account here is connected with your account at ${provider}.`,
        help: (_: Name) => 'If you have an account here, sign in with it, and you can connect the two.',
      },
      linked_elsewhere: {
        title: 'This account is connected already',
        text: (provider: Name) => html`Your account at ${provider} is connected with another account here.`,
        help: (provider: Name) =>
          html`Use another account at ${provider}, or remove the other connection first.`,
      },
      disabled: {
        title: 'This account is disabled',
        text: (provider: Name) => html`${provider} signed you in, but your account here is disabled.`,
        help: (_: Name) => 'The people who run this service can enable it.',
      },
      another_person: {
        title: 'The application requires a different account',
        text: (provider: Name) => html`Your account at ${provider} belongs to another account here.`,
        help: (_: Name) => 'Go back and sign in with the account that the application requires.',
      },
    },
    account: {
      title: 'Other ways to sign in',
      text: 'Connect accounts that you have elsewhere, to sign in with them.',
      since: (when: Html) => html`connected ${when}`,
      connect: (provider: Name) => html`Connect ${provider}`,
      unlink: (provider: Name) => html`Disconnect ${provider}`,
      question: (provider: Name, label: Name) =>
        html`Connect ${label} at ${provider} with this account? You can then sign in with either.`,
      yes: 'Connect',
      no: 'Do not connect',
      needed:
        'You have no other way to sign in. Set a password, add a passkey or connect another account first.',
    },
  },

  passkeys: {
    signIn: 'Sign in with a passkey',
    notUsed: 'No passkey was used. Try again, or sign in another way.',
    title: 'Passkeys',
    text: 'Sign in with your fingerprint, face, screen lock or a security key with PIN, without a password.',
    name: 'Name of the passkey',
    defaultName: 'Passkey',
    add: 'Add a passkey',
    notAdded:
      'No passkey was added. This device may already have one for this account, or it is a security key without PIN.',
    asSecurityKey: 'Add it as a security key instead',
    needsScripts: 'Passkeys need JavaScript.',
    lastUsed: (when: string) => `last used ${when}`,
    neverUsed: 'never used',
    backedUp: 'Backed up: it works on your other devices, too.',
    notBackedUp: 'On one device only. Add another passkey in case you lose it.',
    remove: (passkey: Name) => html`Remove<span class="unseen"> ${passkey}</span>`,
  },

  /** Keys that need not verify their user. */
  securityKeys: {
    title: 'Security keys',
    text: 'You plug in such a key, or hold it to your device, after you have entered your password. It needs no PIN.',
    name: 'Name of the security key',
    defaultName: 'Security key',
    add: 'Add a security key',
    notAdded: 'No security key was added. It may already be there for this account.',
    onlyOne: 'Only with your password. Add another one in case you lose it.',
  },

  /** The page that asks for a code by email, and the button that sends one. */
  emailCode: {
    send: 'Email me a code',
    title: 'Enter the code',
    sent: (name: Name) =>
      html`If ${name} belongs to an account with a verified email address, a code is on its way there. It works for 10 minutes, in this browser.`,
    code: 'Code from the email',
    submit: 'Sign in',
    help: 'Nothing there after a few minutes? Look into the spam folder, or send another code.',
    again: 'Send another code',
    usePassword: 'Use a password',
    problems: {
      code_wrong: 'This code is wrong, or no longer valid. Only the code of the newest email works.',
      code_guessed: 'Too many wrong codes. Send another code.',
      another_person: 'The application requires a different account. Sign in with that account.',
      too_many_attempts: 'Too many attempts.',
    },
  },

  /** The page that asks for a second factor. */
  second: {
    title: 'Confirm it’s you',
    signingInAs: 'Signing in as',
    use: {
      passkey: 'Use a passkey',
      securityKey: 'Use your security key',
      both: 'Use a passkey or security key',
    },
    code: 'Code from your authenticator app',
    submit: 'Continue',
    useRecovery: 'Use a recovery code',
    recoveryCode: 'Recovery code',
    submitRecovery: 'Continue',
    lost: 'Lost everything? The people who run this service can reset how you sign in.',
    problems: {
      code_wrong:
        'This code is wrong. Codes change every 30 seconds: check that the clock of your phone is right.',
      code_used: 'This code was already used. Wait for the next one.',
      recovery_code_wrong: 'This recovery code is wrong, or it was already used.',
      too_many_codes: 'Too many wrong codes.',
      passkey_refused: 'This passkey or security key cannot be used for this account.',
      passkey_unverified: 'This key did not check that it is you, for example by a PIN. Use another way.',
      passkey_too_late: 'That took too long, or was done before. Try it again.',
      passkey_waits: 'This passkey was added with a recovery code and does not count yet. Use another one.',
    },
  },

  /** Passkeys, the authenticator app and recovery codes on the account pages. */
  factors: {
    neededTitle: 'Add a second factor',
    needed: 'What you want to open needs more than a password. Add one of these, then you continue there.',
    confirm: 'Confirm it’s you',
    confirmText: 'To change this, first confirm that it’s you.',
    totp: 'Authenticator app',
    totpText: 'An app on your phone shows a new code every 30 seconds. You enter it after your password.',
    addTotp: 'Add an authenticator app',
    removeTotp: 'Remove the authenticator app',
    scan: 'Scan this code with your authenticator app.',
    qrCode: 'QR code for authenticator apps',
    typeSecret: 'Or type this key into the app:',
    firstCode: 'Code that the app shows',
    confirmTotp: 'Add the app',
    recoveryCodes: 'Recovery codes',
    recoveryText: counted(
      (count: number) =>
        `For the day on which you lose your device: each code replaces the second step once. You have ${formats.number(count)} ${formats.plural(count, { one: 'unused code', other: 'unused codes' })}.`,
    ),
    newCodes: 'Make new recovery codes',
    saveCodes:
      'Print these codes, or keep them in a password manager. They replace all earlier ones, and are not shown again once you have saved them.',
    downloadCodes: 'Download',
    printCodes: 'Print',
    /** First line of the downloaded file, and of the print. */
    codesFor: (operator: string) => `Recovery codes for ${operator}`,
    codesSaved: 'I have saved them',
    countsIn: (duration: string) => `Added with a recovery code. Counts in full in ${duration}.`,
    unsavedCodes: 'You have not confirmed that you saved your codes.',
    showCodes: 'Show the codes',
    removeText: 'You can no longer sign in with it.',
    removeYes: 'Remove',
    notices: {
      passkey_added: 'The passkey is added.',
      passkey_removed:
        'The passkey is removed, and all other browsers are signed out. Delete it on your device, too.',
      security_key_added: 'The security key is added.',
      security_key_removed: 'The security key is removed, and all other browsers are signed out.',
      totp_added: 'The authenticator app is added.',
      totp_removed: 'The authenticator app is removed, and all other browsers are signed out.',
      nothing_changed: 'Nothing has changed.',
      passkey_refused: 'The passkey or security key could not be added.',
      passkey_unverified:
        'The key did not check that it is you, for example by a PIN, so it cannot be a passkey. Add it as a security key instead.',
      passkey_too_late: 'That took too long, or was done before. Try again.',
      passkeys_too_many: 'You have the maximum number of passkeys and security keys. Remove one first.',
      passkey_needed: 'You have no other way to sign in. Set a password or add another passkey first.',
      totp_exists: 'You already have an authenticator app. Remove it first.',
      totp_offer_wrong: 'That took too long. Add the authenticator app again.',
    },
  },

  /** Passwords that users choose. */
  passwords: {
    currentPassword: 'Current password',
    newPassword: 'New password',
    reveal: 'Show',
    hint: counted(
      (minLength: number) =>
        `At least ${formats.number(minLength)} characters. Several words are easy to remember.`,
    ),
    currentWrong: 'The current password is wrong.',
    problems: {
      password_short: counted(
        (minLength: number) =>
          `The new password is too short. Use at least ${formats.number(minLength)} characters.`,
      ),
      password_long: (_: number) => 'The new password is too long. Use at most 1,024 characters.',
      password_common: (_: number) =>
        'Many people use this password, so it is among the first that an attacker tries. Choose another one.',
      password_is_name: (_: number) => 'The new password must not be your username or email address.',
    },
  },

  forgot: {
    title: 'Reset your password',
    lead: 'We send a link to the verified email address of your account.',
    usernameOrEmail: 'Username or email address',
    submit: 'Send the link',
    back: 'Back to sign-in',
    sentTitle: 'Check your email',
    sent: 'If there is an account with a verified email address, a link is on its way to it. It works for 30 minutes, in this browser.',
    sentHelp: 'Nothing there after a few minutes? Look into the spam folder, or try again.',
  },

  signUp: {
    title: 'Create an account',
    lead: 'We send a link to your email address first.',
    email: 'Email address',
    domains: (domains: string) => `Addresses at ${domains} can sign up.`,
    submit: 'Send the link',
    sent: 'An email is on its way to this address. Open its link within an hour to create your account.',
    problems: {
      address_invalid: 'This is not an email address. Expected an address such as alice@example.com.',
      domain_refused: 'Addresses of this domain cannot sign up here.',
    },
  },

  /** Pages that links in emails lead to. */
  links: {
    elsewhere:
      'This link was asked for in another browser. If that was you, type the username of your account, which protects you if another person has this link.',
    problems: {
      link_foreign: 'This link is for another username.',
      name_refused:
        'This username is not allowed. Use visible characters of one script, without space around them. An email address must be your own.',
      name_taken: 'This username, or one that looks like it, is taken. Choose another one.',
    },
    reset: {
      title: 'Choose a new password',
      lead: (account: Name) => html`for the account ${account}`,
      submit: 'Change the password',
      doneTitle: 'Your password has changed',
      done: 'You are signed out everywhere, and no application has access any more. Sign in with the new password.',
    },
    invite: {
      title: 'Choose a password',
      lead: (account: Name) => html`for your new account ${account}`,
      submit: 'Save the password',
      doneTitle: 'Your account is ready',
      done: 'Sign in with your username and password.',
    },
    sign_up: {
      title: 'Create an account',
      lead: (address: Name) => html`with the email address ${address}`,
      submit: 'Create the account',
      doneTitle: 'Your account is ready',
      done: 'Sign in with your username and password.',
    },
  },

  mailbox: {
    title: 'Mailbox of the demo',
    lead: 'Emails that a real server would send. Only the demo has this page.',
    reload: 'Reload',
    empty: 'There are no emails yet.',
    to: (address: Name) => html`To ${address}`,
  },

  choose: {
    title: 'Choose an account',
    toContinueTo: (application: Name) => html`to continue to ${application}`,
    continueAs: (person: Name) => html`Continue as ${person}`,
    other: 'Use another account',
  },

  denied: {
    /** @param application in the document title, which has no markup, a text */
    title: (application: Name | string) => html`You cannot use ${application}`,
    text: 'Your account is not among those for which this application is meant.',
    signedInAs: 'Signed in as',
    other: 'Use another account',
    back: (application: Name) => html`Back to ${application}`,
    help: 'If you need the application, ask the people who run this service for access.',
  },

  consent: {
    /** @param application in the document title, which has no markup, a text */
    title: (application: Name | string) => html`${application} requests access`,
    signedInAs: 'Signed in as',
    notYou: 'Not you?',
    allowed: 'What you allow',
    also: 'And',
    at: (api: Name) => html`What you allow at ${api}`,
    ownScopes: 'Permissions named by the application',
    claims: 'Individual details it requests',
    services: 'Where it can use this access',
    returnsTo: (host: Name) => html`Either way, you return to ${host}.`,
    leadsTo: (host: Name) => html`If you allow this, you continue to ${host}.`,
    endIt: 'You can end this access at any time.',
    endItIn: (account: Html) => html`You can end this access at any time in ${account}.`,
    /** The link in `endItIn`. */
    yourAccount: 'your account',
    allow: 'Allow',
    deny: 'Deny',
    policy: 'Privacy policy',
    terms: 'Terms of service',
    website: 'Website',
  },

  /** Codes of devices without a browser. */
  devices: {
    title: 'Connect a device',
    lead: 'Enter the code that your device shows.',
    compare: 'Compare this code with the one that your device shows.',
    code: 'Code',
    check: 'Continue only if you have just started this yourself, and your own device shows the same code.',
    submit: 'Continue',
    wrong: 'No device waits with this code. Check the code, or start again on the device.',
    warning:
      'Allow this only if you started it yourself on your own device. If someone sent you the code or the link, deny it.',
    requested: (when: string) => `Requested ${when}.`,
    requestedFrom: (when: string, address: Name) => html`Requested ${when}, from the address ${address}.`,
    approved: { title: 'Your device is connected', text: 'Return to your device. You can close this page.' },
    denied: { title: 'Access was denied', text: 'The device gets no access. You can close this page.' },
  },

  unchecked: {
    badge: 'unchecked',
    title: 'Unchecked application.',
    note: (application: Name, operator: Name) =>
      html`${application} registered itself here. ${operator} has not checked who is behind it.`,
    byDocument: (host: Name, operator: Name) =>
      html`It describes itself on ${host}. ${operator} has not checked who is behind it.`,
    ownName: (name: Name) => html`It calls itself ${name}.`,
    onThisDevice:
      'It runs on a device. Continue only if you have just started it yourself on this one: other programs can use its name.',
  },

  leaving: {
    title: 'Leave this site?',
    leadsTo: (host: Name) => html`The application wants to send you to ${host}.`,
    note: (operator: Name) =>
      html`The application registered itself here. ${operator} has not checked who is behind it.`,
    go: (host: Name) => html`Continue to ${host}`,
    stay: 'Stay here',
  },

  /** Standard scopes in words (OpenID Connect Core §5.4, §11). */
  scopes: {
    openid: { title: 'Know who you are', detail: 'An identifier for your account' },
    profile: {
      title: 'See your profile',
      detail: 'For example, your name, picture, date of birth and language',
    },
    email: { title: 'See your email address', detail: 'And whether it is verified' },
    address: { title: 'See your postal address', detail: undefined },
    phone: { title: 'See your phone number', detail: 'And whether it is verified' },
    offline_access: {
      title: 'Keep this access while you are away',
      detail: 'Even after you sign out, until you end it',
    },
  },

  logout: {
    title: 'Sign out?',
    question: (person: Name) => html`You are signed in as ${person}.`,
    askedBy: (application: Name) => html`${application} wants to sign you out.`,
    consequence:
      'You will be signed out here. Applications that can be notified are asked to sign you out as well. The others keep their own session until you sign out there.',
    staysHere: 'The application gave a return address that is not registered for it. You will stay here.',
    yes: 'Sign out',
    no: 'Stay signed in',
    doneTitle: 'You are signed out',
    done: 'On a shared computer, close the browser now.',
    notified: 'These applications know that you signed out',
    pending: 'These applications are being notified',
    pendingNote: 'This can take a moment.',
    notNotified: 'These applications keep their own session',
    notNotifiedNote: 'They were not notified. Sign out there, too.',
    signInAgain: 'Sign in again',
    stillTitle: 'You are still signed in',
    still: 'Nothing has changed.',
    toAccount: 'Go to your account',
  },

  account: {
    title: 'Your account',
    /** The entries of the navigation. */
    pages: {
      overview: 'Overview',
      security: 'Security',
      sessions: 'Sessions',
      applications: 'Applications',
      tokens: 'Access tokens',
      data: 'Your data',
    },
    profile: 'Profile',
    username: 'Username',
    fullName: 'Name',
    email: 'Email address',
    verified: 'Verified',
    notVerified: 'Not verified',
    addEmail: 'Add an email address',
    changeEmail: 'Change email address',
    changeEmailText: 'We send a link to the new address. It counts once you have opened the link.',
    sendLink: 'Send the link',
    confirmEmail: 'Confirm your email address',
    confirmEmailText: (address: Name) => html`Your account will use ${address}.`,
    confirmEmailYes: 'Use this address',
    securityText: 'How you sign in.',
    password: 'Password',
    changePassword: 'Change password',
    passwordOfDirectory:
      'Your password belongs to your work account. Change it where you manage that account.',
    exportData: 'Download your data',
    exportText: 'Everything that this server stores about you, as a JSON file.',
    exportYes: 'Download',
    deleteAccount: 'Delete your account',
    deleteText:
      'Your data is deleted, you are signed out everywhere, and applications lose their access. This cannot be undone.',
    deleteElsewhere: 'Your account belongs to the application in which you manage it. Delete it there.',
    deleteConfirm: 'I want to delete my account permanently.',
    deleteYes: 'Delete account',
    lastAdministrator: 'You are the last administrator. First add another one.',
    notConfirmed: 'Check the box to confirm that you want to delete your account.',
    deletedTitle: 'Your account is deleted',
    deletedText: 'You are signed out, and your data is deleted.',
    signedInAs: 'Signed in as',
    signOut: 'Sign out',
    applications: 'Applications with access',
    applicationsText: 'What each application may do in your name.',
    whileAway: 'Even while you are away',
    whileSignedIn: 'While you are signed in',
    remembered: 'No access now, but the application will not ask again',
    acting: 'Services and agents that act for you',
    agent: 'Agent',
    through: (applications: Html) => html`Through ${applications}`,
    usedThisHour: 'used this hour',
    usedInHour: (date: string, from: string, to: string) =>
      `last used on ${date} between ${from} and ${to} UTC`,
    noAccess: 'Has no access any more.',
    noApplications: 'No application has access to your account.',
    since: (date: Html) => html`Since ${date}`,
    at: (api: Name) => html`At ${api}`,
    claims: (names: Html) => html`Individual details: ${names}`,
    usedAt: (services: Html) => html`For use at ${services}`,
    more: counted(
      (count: number) =>
        `${formats.number(count)} ${formats.plural(count, { one: 'permission', other: 'permissions' })} named by the application`,
    ),
    endAccess: (application: Name) => html`End access<span class="unseen"> of ${application}</span>`,
    /** @param application in the document title, which has no markup, a text */
    endAccessTitle: (application: Name | string) => html`End the access of ${application}?`,
    endAccessText:
      'It loses access to your account at once. If you use it later, it asks for your permission again.',
    endActingText: (applications: Html) =>
      html`It loses access at once, and so does every service that it has called for you. It can act for you again when it gets new access through ${applications}. To prevent this, end that access, too.`,
    endAccessYes: 'End access',
    keepAccess: 'Keep access',
    withdraw: (application: Name) => html`Withdraw consent<span class="unseen"> to ${application}</span>`,
    withdrawTitle: (application: Name | string) => html`Withdraw your consent to ${application}?`,
    withdrawText: 'It has no access now. If you use it later, it asks for your permission again.',
    withdrawYes: 'Withdraw consent',
    keepConsent: 'Keep consent',
    sessions: 'Where you are signed in',
    sessionsText: 'Sign out a browser that you do not use or do not recognise.',
    computers: 'Computers',
    phones: 'Phones',
    noSessions: 'You are not signed in anywhere.',
    thisBrowser: 'This browser',
    signedIn: (when: Html) => html`Signed in ${when}`,
    lastSeen: (when: Html) => html`last active ${when}`,
    fromNetwork: (network: Html) => html`from the network ${network}`,
    recentSignIns: 'Recent sign-ins',
    recentSignInsText:
      'Sign-ins and failed attempts of the last 30 days. If you do not know one, change your password. This also signs out all other browsers.',
    noSignIns: 'No sign-ins are recorded yet.',
    earlierSignIns: counted(
      (count: number) =>
        `${formats.number(count)} earlier ${formats.plural(count, { one: 'entry', other: 'entries' })}`,
    ),
    signedInBy: (ways: string, when: Html) => html`With ${ways}, ${when}`,
    ways: {
      fed: 'another provider',
      pwd: 'password',
      email: 'code by email',
      otp: 'code',
      pop: 'passkey',
      securityKey: 'security key',
    },
    signInStatuses: { current: 'This browser', open: 'Signed in', ended: 'Ended', failed: 'Failed' },
    signInFailures: {
      password: 'Wrong password',
      code: 'Wrong code in the second step',
      passkey: 'Passkey not accepted',
      other: 'Not allowed',
    },
    allSessions: 'Show all sessions',
    endSession: (session: Name) => html`Sign out<span class="unseen"> ${session}</span>`,
    endOthers: 'Sign out everywhere else',
    notices: {
      access_ended: (application: Name) => html`${application} no longer has access.`,
      session_ended: 'That browser is signed out.',
      other_sessions_ended: counted(
        (count: number) =>
          `${formats.number(count)} ${formats.plural(count, { one: 'other browser is', other: 'other browsers are' })} signed out.`,
      ),
      nothing_to_end: 'That had already ended.',
      password_changed: 'Your password has changed. All other browsers are signed out.',
      link_sent: 'A link is on its way. Open it in this browser to use the address.',
      link_used: 'The link was used or has expired. Ask for a new one.',
      provider_linked: 'The account is connected.',
      provider_unlinked: 'The account is disconnected. Browsers that signed in with it are signed out.',
      email_confirmed: 'Your email address is confirmed.',
      token_saved: 'The token is ready to use. It is not shown again.',
      token_ended: 'The token has ended. Programs that use it have no access any more.',
    },
  },

  /** Personal access tokens on the account pages. */
  personalTokens: {
    title: 'Personal access tokens',
    text: 'A token lets a script or a program of yours use an API in your name, without your password.',
    copyNow: (name: Name) =>
      html`Copy the token ${name} now, and keep it where only the program can read it. It is not shown again once you have copied it. Who has it can act as you.`,
    waiting: 'A new token waits until you have copied it.',
    value: 'The token',
    saved: (name: Name) => html`I have copied it<span class="unseen">: ${name}</span>`,
    none: 'You have no tokens.',
    made: (date: Html) => html`made ${date}`,
    expires: (date: Html) => html`expires ${date}`,
    neverUsed: 'not used yet',
    bound: 'Bound to your key or certificate',
    end: (name: Name) => html`End<span class="unseen"> the token ${name}</span>`,
    /** @param name in the document title, which has no markup, a text */
    endTitle: (name: Name | string) => html`End the token ${name}?`,
    endText: 'Programs that use it lose their access at once. You cannot undo this.',
    endYes: 'End the token',
    endNo: 'Keep the token',
    make: 'Make a token',
    forApi: (api: Name) => html`For ${api}`,
    chooseApi: 'Choose what the token is for.',
    otherApi: 'Choose another API',
    name: 'Name of the token',
    nameHint: 'So that you know it again, such as the program and the machine.',
    scopes: 'What it may do',
    noScopes: 'It may do everything that you may do there.',
    lifetime: 'How long it works',
    key: 'Public key (JWK), or its thumbprint',
    keyHint:
      'The program proves with the private key that the token is its own. Never enter the private key.',
    certificate: 'Client certificate (PEM), or its SHA-256 fingerprint',
    certificateHint: 'The token works only over connections with this certificate.',
    makeYes: 'Make the token',
    noApi: 'At the moment, there is no API for which you can make a token.',
    problems: {
      name_missing: 'Enter a name.',
      api_not_allowed: 'Tokens for this API are not allowed.',
      scope_not_allowed: 'A token may not have one of these permissions.',
      scope_missing: 'Choose at least one permission.',
      lifetime_wrong: 'Choose how long the token works.',
      binding_wrong: 'Enter a public key or certificate, or its thumbprint. A private key is not accepted.',
      too_many_tokens: 'You have the maximum number of tokens. End one first.',
      not_allowed: 'Your account cannot make tokens. Ask the people who run this service.',
    },
  },

  /** The browser and operating system that a `User-Agent` header names. */
  browsers: {
    onSystem: (browser: string, system: string) => `${browser} on ${system}`,
    unknown: 'Unknown browser',
    unknownOn: (system: string) => `Unknown browser on ${system}`,
  },

  problems: {
    request_invalid: {
      title: 'This request cannot be processed',
      text: 'The application sent an invalid request, so nothing was done.',
      help: 'Go back to the application and try again. If this happens again, tell the people who run the application.',
    },
    request_expired: {
      title: 'Please start again',
      text: 'This took too long, or it did not start from an application.',
      help: 'Go back to the application and sign in from there.',
    },
    device_over: {
      title: 'Please start again',
      text: 'No device waits for this answer: it was given before, this took too long, or the code was entered in another browser.',
      help: 'Start again on the device, and enter its code in this browser.',
    },
    too_many_applications: {
      title: 'Too many applications',
      text: 'You have added as many applications as one user can.',
      help: 'End the access of those that you do not need. They are removed some time later.',
    },
    request_answered: {
      title: 'You have already answered this',
      text: 'The application already has its answer, so nothing more was sent. You may have gone back in your browser or pressed a button twice.',
      help: 'Go back to the application. If you are not signed in there, sign in again from there.',
    },
    request_allowed: {
      title: 'You have already allowed this',
      text: 'The application has access, and already has its answer. What you have pressed now changes nothing.',
      help: 'Go back to the application. To end its access, open your account.',
    },
    request_denied: {
      title: 'You have already denied this',
      text: 'The application knows that it has no access. What you have pressed now changes nothing.',
      help: 'To allow access after all, go back to the application and sign in again from there.',
    },
    form_foreign: {
      title: 'Please start again',
      text: 'This form was not created for this browser, or it has expired.',
      help: 'Go back to the application and try again. Your browser must allow cookies for this site.',
    },
    link_invalid: {
      title: 'This link no longer works',
      text: 'It was used, it has expired, or your account has changed since.',
      help: 'Ask for a new link. Links work once, and only for a while.',
    },
    factors_wait: {
      title: 'You cannot change this yet',
      text: 'You recently used a recovery code to change your passkeys or your authenticator app. This protects your account if another person has your recovery codes.',
      help: 'Try again later. If you cannot wait, ask the people who run this service to confirm your account.',
    },
    not_administrator: {
      title: 'This page is for administrators',
      text: 'You are signed in, but you are not in the group of administrators.',
      help: 'Ask an administrator to add you to the group, or sign in with another account: sign out on the page of your account first.',
    },
    not_found: {
      title: 'Page not found',
      text: 'The address may be mistyped or out of date.',
      help: 'Check the address, or start from the application that you want to use.',
    },
    method_not_allowed: {
      title: 'This page cannot be used that way',
      text: 'This page does not accept this kind of request.',
      help: 'Go back to the application and try again.',
    },
    too_large: {
      title: 'The request is too large',
      text: 'The request is larger than this page accepts.',
      help: 'Go back to the application and try again.',
    },
    too_many_requests: {
      title: 'Too many requests',
      text: 'Too many requests have come from your network in a short time.',
      help: 'Wait a moment, then reload this page.',
    },
    unavailable: {
      title: 'Temporarily unavailable',
      text: 'The server cannot answer right now.',
      help: 'Wait a moment, then reload this page.',
    },
    unexpected: {
      title: 'Something went wrong',
      text: 'The server ran into an error.',
      help: 'Try again. If this happens again, tell the people who run this service.',
    },
  },
  /** Explains why a request cannot be processed, by the library’s reason code. */
  reasons: {
    parameter_missing: 'The request lacks something that is required.',
    parameter_repeated: 'The request contains something more than once.',
    parameter_invalid: 'The request contains a value that is not allowed.',
    parameters_too_long: 'The request is too long.',
    wrong_media_type: 'The request is not a form.',
    client_unknown: 'The application is not registered here.',
    client_disabled: 'The application is disabled here.',
    client_keys_refused: 'The application’s keys cannot be read.',
    redirect_uri_mismatch: 'The return address is not registered for the application.',
    id_token_hint_wrong:
      'The proof of who is signed in is not from this server, or it is for another application.',
    pushed_request_unknown: 'The request has already been used or has expired.',
    pushed_request_foreign: 'The request belongs to another application.',
    pushed_request_missing: 'The application must send its requests to the server in advance.',
    request_object_malformed: 'The signed request cannot be read.',
    request_object_wrong_key: 'The request’s signature does not match the application.',
    request_object_wrong_claims:
      'The signed request is for another server or application, or it has expired.',
    request_object_missing: 'The application must sign its requests.',
    request_uri_not_allowed: 'The request refers to an address that is not registered for the application.',
    request_uri_unreachable: 'The request refers to a document that could not be fetched.',
  } satisfies Partial<Record<RefusalReason, string>>,
  problemWays: {
    again: 'Try again',
    newLink: 'Get a new link',
    application: (application: Name) => html`Go to ${application}`,
    home: 'Home',
    account: 'Your account',
  },
  problemDetail: {
    heading: 'For developers',
    code: 'Error',
    description: 'Description',
    waitFor: (wait: string) => `Try again in ${wait}.`,
  },

  copying: {
    copy: 'Copy',
    copied: 'Copied',
    requestNumber: 'Request number',
  },

  /** Emails. The text names the operator, and sometimes a further value. */
  mails: {
    greeting: (username: string) => `Hello ${username},`,
    actionFor: (action: string, account: string) => `${action} for ${account}`,
    linkValid: (duration: string) => `The link works once, for ${duration}.`,
    codeValid: (duration: string) =>
      `The code works once, for ${duration}, and only in the browser in which you asked for it.`,
    sharedCodeValid: (duration: string) =>
      `Many codes were requested for your account, perhaps by others. That is why this code is longer: it works once, for ${duration}, in any browser in which you ask for a code.`,
    /** What asked for a code: a browser and the time, and perhaps a network. */
    codeRequest: (browser: string, time: string) => `Asked for with: ${browser}, ${time}.`,
    codeRequestFrom: (browser: string, network: string, time: string) =>
      `Asked for with: ${browser}, from the network ${network}, ${time}.`,
    linkHint: 'Or open this address:',
    automatic: (operator: string) => `${operator} sent this email automatically.`,
    byRecovery: 'This was done after a sign-in with a recovery code.',
    /** What has changed. The value is the name of a passkey or of a provider. */
    changes: {
      passkey_added: (name: string) => `The passkey “${name}” was added.`,
      passkey_removed: (name: string) => `The passkey “${name}” was removed.`,
      security_key_added: (name: string) => `The security key “${name}” was added.`,
      security_key_removed: (name: string) => `The security key “${name}” was removed.`,
      totp_added: (_: string) => 'An authenticator app was added.',
      totp_removed: (_: string) => 'The authenticator app was removed.',
      recovery_codes_made: (_: string) => 'New recovery codes were made. The old ones no longer work.',
      recovery_codes_removed: (_: string) => 'The recovery codes were removed.',
      factors_reset: (_: string) =>
        'All passkeys, security keys, the authenticator app and the recovery codes were removed.',
      provider_linked: (name: string) => `The sign-in through ${name} was added.`,
      provider_unlinked: (name: string) => `The sign-in through ${name} was removed.`,
    },
    templates: {
      reset: {
        subject: (operator: string) => `Reset your password for ${operator}`,
        text: (operator: string, _: string) =>
          `Someone asked to reset your password for ${operator}. If this was you, choose a new one.`,
        action: 'Choose a new password',
        note: 'If this was not you, ignore this email. Your password has not changed.',
      },
      code: {
        subject: (operator: string) => `Your code for ${operator}`,
        text: (operator: string, application: string) =>
          `Someone wants to sign in to ${application === '' ? operator : `${application} with ${operator}`}. If this is you, type this code on the page where you asked for it.`,
        action: undefined,
        note: 'Anyone who has this code can sign in as you. Do not share it, and do not type it on any other page. If you did not ask for it, ignore this email.',
      },
      sign_up: {
        subject: (operator: string) => `Create your account for ${operator}`,
        text: (operator: string, _: string) =>
          `Someone asked to create an account for ${operator} with this email address. If this was you, continue here.`,
        action: 'Create the account',
        note: 'If this was not you, ignore this email. No account is created without this link.',
      },
      sign_up_exists: {
        subject: (operator: string) => `You already have an account for ${operator}`,
        text: (operator: string, _: string) =>
          `Someone asked to create an account for ${operator} with this email address, which already has one. Sign in with it, or reset its password on the sign-in page.`,
        action: undefined,
        note: 'If this was not you, ignore this email.',
      },
      verify: {
        subject: (operator: string) => `Confirm your email address for ${operator}`,
        text: (operator: string, _: string) =>
          `Confirm that your account for ${operator} may use this email address.`,
        action: 'Confirm the address',
        note: 'If you did not ask for this, ignore this email. The address is not used then.',
      },
      invite: {
        subject: (operator: string) => `Your account for ${operator}`,
        text: (operator: string, _: string) =>
          `${operator} has created an account for you. Choose a password to use it.`,
        action: 'Choose a password',
        note: undefined,
      },
      password_link: {
        subject: (operator: string) => `Choose a new password for ${operator}`,
        text: (operator: string, _: string) =>
          `An administrator of ${operator} asks you to choose a new password. When you have chosen it, all browsers are signed out.`,
        action: 'Choose a new password',
        note: 'If you did not expect this email, ask the people who run the service before you use the link. Your password has not changed.',
      },
      password_changed: {
        subject: (operator: string) => `Your password for ${operator} has changed`,
        text: (operator: string, _: string) =>
          `The password of your account for ${operator} has just changed. All other browsers are signed out.`,
        action: undefined,
        note: 'If this was not you, reset your password on the sign-in page now, and tell the people who run the service.',
      },
      factor_changed: {
        subject: (operator: string) => `How you sign in to ${operator} has changed`,
        text: (operator: string, change: string) => `${change} This is about your account for ${operator}.`,
        action: undefined,
        note: 'If this was not you, change your password now, remove everything that you do not know on the security page of your account, and tell the people who run the service.',
      },
      token_made: {
        subject: (operator: string) => `New personal access token for ${operator}`,
        text: (operator: string, name: string) =>
          `The personal access token “${name}” was made on the pages of your account for ${operator}. Programs that have it can act in your name.`,
        action: undefined,
        note: 'If this was not you, end the token on the page of your tokens, change your password now, and tell the people who run the service.',
      },
      email_changed: {
        subject: (operator: string) => `Your email address for ${operator} has changed`,
        text: (operator: string, address: string) =>
          `Your account for ${operator} now uses the email address ${address}. This address receives no more emails about it.`,
        action: undefined,
        note: 'If this was not you, tell the people who run the service now.',
      },
      account_removed: {
        subject: (operator: string) => `Your account for ${operator} is deleted`,
        text: (operator: string, _: string) =>
          `Your account for ${operator} and its data are deleted, as you asked.`,
        action: undefined,
        note: 'If this was not you, tell the people who run the service.',
      },
      test: {
        subject: (operator: string) => `Test email from ${operator}`,
        text: (operator: string, _: string) => `This is a test. ${operator} can send emails.`,
        action: undefined,
        note: undefined,
      },
    },
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
