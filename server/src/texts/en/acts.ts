import { html } from 'hono/html';
import type { Html } from '../formats/html.ts';

const DENIAL =
  'Clients that are identified by such a document are removed, all their tokens end, and the server accepts the document no more.';

const MAKES_ADMINISTRATORS =
  'Administrators can do everything in this console, from now on: change users, clients and keys, and make other users administrators.';
const ENDS_ADMINISTRATORS =
  'The user can no longer open this console, and loses the clients that they may use only as a member. Their tokens for these clients stop working at once.';

/** What administrators can do in the console: the title of its form or question, what it means, and its button. */
export const ACTS = {
  groups: {
    add: { title: (_: string) => 'Add a group', yes: 'Add group' },
    edit: { title: (name: string) => `Change ${name}`, yes: 'Change group' },
    remove: {
      title: (name: string) => `Remove the group ${name}?`,
      text: 'All memberships end. This cannot be undone. It is not possible while a client is for the group.',
      yes: 'Remove group',
    },
    join: { title: (name: string) => `Add a member to ${name}`, yes: 'Add member' },
    join_administrators: {
      title: (_: string, user: string) => `Make ${user} an administrator?`,
      text: MAKES_ADMINISTRATORS,
      yes: 'Make administrator',
    },
    leave_administrators: {
      title: (_: string, user: string) => `Remove ${user} from the administrators?`,
      text: ENDS_ADMINISTRATORS,
      yes: 'Remove administrator',
    },
    leave: {
      title: (name: string, user: string) => `Remove ${user} from the group ${name}?`,
      text: 'The user loses the clients that they may use only as a member. Their tokens for these clients stop working at once.',
      yes: 'Remove',
    },
  },
  users: {
    join_several: {
      title: (what: string) => `Give ${what} administrator rights?`,
      text: 'As members of this group, they become administrators: from now on, they can do everything in this console.',
      yes: 'Give administrator rights',
    },
    leave_several: {
      title: (what: string) => `Take administrator rights from ${what}?`,
      text: 'They are no longer administrators and cannot open this console. They also lose the clients that they may use only as members.',
      yes: 'Take administrator rights',
    },
    add: { title: (_: string) => 'Add a user', yes: 'Add user' },
    add_administrator: {
      title: (_: string, user: string) => `Add ${user} as an administrator?`,
      text: MAKES_ADMINISTRATORS,
      yes: 'Add administrator',
    },
    invite: {
      title: (_: string) => 'Invite a user',
      text: 'The user gets an email with a link to choose a password.',
      yes: 'Invite user',
    },
    edit: {
      title: (name: string) => `Change ${name}`,
      text: 'Applications see the change with their next request to UserInfo.',
      yes: 'Change user',
    },
    password_link: {
      title: (name: string) => `Email ${name} a link to choose a new password?`,
      text: 'The link works once, for 24 hours. Earlier links for a password stop working. The password stays until the user chooses a new one. Then all sessions end, and all tokens stop working.',
      yes: 'Email a link for a password',
    },
    set_password: {
      title: (name: string) => `Set the password of ${name}`,
      text: 'All sessions of the user end, and all tokens stop working at once.',
      yes: 'Set password',
    },
    disable: {
      title: (name: string) => `Disable ${name}?`,
      text: 'The user can no longer sign in. All sessions end, and all tokens stop working at once.',
      yes: 'Disable',
    },
    enable: { title: (name: string) => `Enable ${name}`, yes: 'Enable' },
    end_sessions: {
      title: (name: string) => `End all sessions of ${name}?`,
      text: 'The user is signed out of every browser. Tokens of these sessions stop working at once. Tokens for use while away stay active.',
      yes: 'End sessions',
    },
    end_session: {
      title: (name: string, browser: string) => `End the session of ${name} (${browser})?`,
      text: 'The user is signed out of this browser. Tokens of this session stop working at once. Tokens for use while away stay active.',
      yes: 'End session',
    },
    end_access: {
      title: (name: string) => `End all access of ${name}?`,
      text: 'All sessions end, and all tokens stop working at once, also those for use while away. The user can sign in again.',
      yes: 'End all access',
    },
    end_grant: {
      title: (name: string, application: string) => `End the grant of ${name} to ${application}?`,
      text: 'All tokens of the grant stop working at once. The user can grant access again.',
      yes: 'End',
    },
    end_client: {
      title: (name: string, application: string) =>
        `End the access of ${application} to the data of ${name}?`,
      text: 'All tokens that the application has for the user stop working at once. Its tokens for other users stay active.',
      yes: 'End access',
    },
    end_application: {
      title: (name: string, application: string) =>
        `End the access of ${application} to the data of ${name}?`,
      text: 'All tokens that the application has for the user stop working at once, and the consent is withdrawn. The application has to ask the user again. Its tokens for other users stay active.',
      yes: 'End access',
    },
    withdraw_consent: {
      title: (name: string, application: string) => `Withdraw the consent of ${name} for ${application}?`,
      text: 'The application has to ask the user again before it gets access.',
      yes: 'Withdraw consent',
    },
    reset_factors: {
      title: (name: string) => `Remove all second factors of ${name}?`,
      text: 'Passkeys, the authenticator app and recovery codes are removed. All sessions end, and all tokens stop working at once. The user then needs only the password to sign in, and to add new factors.',
      yes: 'Remove second factors',
    },
    remove_factor: {
      title: (name: string, factor: string) => `Remove a factor of ${name} (${factor})?`,
      text: 'All sessions end, and all tokens stop working at once. Recovery codes go with the last other factor. Without any factor, the user needs only the password to sign in.',
      yes: 'Remove factor',
    },
    confirm_factors: {
      title: (name: string) => `Let the new factors of ${name} count at once?`,
      text: 'The user has changed factors with a recovery code, so the change waits. Make sure first that it was the user.',
      yes: 'Let them count',
    },
    unlink: {
      title: (name: string, provider: string) => `Remove the link of ${name} to ${provider}?`,
      text: 'The user can no longer sign in with this account. The sessions that came through it end.',
      yes: 'Remove link',
    },
    unlock: { title: (name: string) => `Unlock ${name}`, yes: 'Unlock' },
    join: { title: (name: string) => `Add ${name} to a group`, yes: 'Add to a group' },
    join_administrators: {
      title: (name: string) => `Make ${name} an administrator?`,
      text: MAKES_ADMINISTRATORS,
      yes: 'Make administrator',
    },
    leave_administrators: {
      title: (name: string) => `Remove ${name} from the administrators?`,
      text: ENDS_ADMINISTRATORS,
      yes: 'Remove administrator',
    },
    leave: {
      title: (name: string, group: string) => `Remove ${name} from the group ${group}?`,
      text: 'The user loses the clients that they may use only as a member. Their tokens for these clients stop working at once.',
      yes: 'Remove from the group',
    },
    remove: {
      title: (name: string) => `Remove ${name}?`,
      text: 'The data of the user is deleted for ever. All sessions end, and all tokens stop working at once.',
      yes: 'Remove user',
    },
  },
  clients: {
    add_web: {
      title: (_: string) => 'Add a web application',
      text: 'It runs on a server, which can keep a secret.',
      yes: 'Add web application',
    },
    add_spa: {
      title: (_: string) => 'Add a single-page application',
      text: 'It runs in the browser, so it has no secret.',
      yes: 'Add',
    },
    try_spa: {
      title: (_: string) => 'Add a single-page application',
      text: 'Trying it adds this console to its redirect URIs.',
      yes: 'Add and try',
    },
    add_native: {
      title: (_: string) => 'Add a native application',
      text: 'It runs on the user’s device, so it has no secret.',
      yes: 'Add native application',
    },
    add_machine: {
      title: (_: string) => 'Add a service',
      text: 'It calls APIs for itself, without a user.',
      yes: 'Add service',
    },
    add_api: {
      title: (_: string) => 'Add an API',
      text: 'It accepts access tokens, and asks this server whether they are active.',
      yes: 'Add API',
    },
    add_agent: {
      title: (_: string) => 'Add an agent',
      text: 'It acts for users with tokens that it exchanges. Users see that it is an agent. The server needs the option tokenExchange.',
      yes: 'Add agent',
    },
    edit: {
      title: (name: string) => `Change ${name}`,
      text: 'Tokens of the client stay valid, except those of users who may no longer use it.',
      yes: 'Change client',
    },
    allow_trial: {
      title: (name: string) => `Allow the console to sign in with ${name}`,
      text: 'A page of the console becomes a redirect URI of the application. The page is only for administrators, and accepts only sign-ins that they have begun there.',
      yes: 'Allow the console to sign in',
    },
    end_trial: {
      title: (name: string) => `Allow the console no more sign-ins with ${name}`,
      text: 'The page of the console is no redirect URI of the application any more.',
      yes: 'Stop sign-ins by the console',
    },
    rotate_secret: {
      title: (name: string) => `Give ${name} a new secret`,
      text: 'The next page shows the new secret once. The old one still works for a day. If it has leaked, type 0, and then choose Revoke all tokens on the page of the client: its tokens stay valid otherwise. A client has two working secrets at most, so an even older one ends at once.',
      yes: 'Rotate secret',
    },
    disable: {
      title: (name: string) => `Disable ${name}?`,
      text: 'The client gets no more tokens, and all its tokens stop working at once.',
      yes: 'Disable',
    },
    enable: { title: (name: string) => `Enable ${name}`, yes: 'Enable' },
    revoke: {
      title: (name: string) => `Revoke all tokens of ${name}?`,
      text: 'All tokens of the client stop working at once. The client can get new ones.',
      yes: 'Revoke all tokens',
    },
    remove: {
      title: (name: string) => `Remove ${name}?`,
      text: 'The client is deleted for ever, and all its tokens stop working at once.',
      yes: 'Remove client',
    },
    registration_token: {
      title: (_: string) => 'Make a registration token',
      text: 'Clients register themselves with it, if the server has the option registration: token. The next page shows it once.',
      yes: 'Make a registration token',
    },
    remove_unused: {
      title: (_: string) => 'Remove clients that are not used',
      text: 'These clients registered themselves and have not been used for 30 days. Those that are used in the meantime stay.',
      yes: 'Remove unused clients',
    },
    deny: {
      title: (_: string) => 'Deny a metadata document or host',
      text: DENIAL,
      yes: 'Deny a document or host',
    },
    deny_document: {
      title: (name: string) => `Deny the document ${name}`,
      text: DENIAL,
      yes: 'Deny this document',
    },
    deny_host: {
      title: (name: string) => `Deny all documents of the host of ${name}`,
      text: DENIAL,
      yes: 'Deny this host',
    },
    allow: {
      title: (name: string) => `Allow ${name} again`,
      text: 'Documents that the options of the server do not accept stay out. What the denial has ended stays ended.',
      yes: 'Allow again',
    },
  },
  scopes: {
    add: {
      title: (_: string) => 'Describe a scope',
      text: 'The consent page then shows these texts to users instead of the name of the scope.',
      yes: 'Describe a scope',
    },
    edit: { title: (name: string) => `Change the texts of ${name}`, yes: 'Change texts' },
    remove: {
      title: (name: string, api: string) => `Remove the texts of ${name}${api && ` of ${api}`}?`,
      text: 'Users then see only the name of the scope. Clients can still use it.',
      yes: 'Remove texts',
    },
  },
  tokens: {
    revoke_before: {
      title: (_: string) => 'Revoke all tokens from before a time',
      text: 'Every token of every client that was issued before this time stops working at once.',
      yes: 'Revoke old tokens',
    },
    revoke_trusted: {
      title: (_: string) => 'End a subject of a trusted issuer',
      text: 'Everything that clients obtained with JWTs of the issuer about this subject ends. JWTs that were made before are refused.',
      yes: 'End a subject of an issuer',
    },
    end_personal: {
      title: (_: string) => 'End personal access tokens',
      text: 'Tokens that fit everything that you enter stop working at once. The next page shows which ones.',
      yes: 'End personal access tokens',
    },
  },
  mails: {
    retry: { title: (_: string) => 'Try now', yes: 'Try now' },
    test: {
      title: (_: string) => 'Send a test email',
      text: 'The email goes to the SMTP server at once. The result shows what that server answers.',
      yes: 'Send a test email',
    },
  },
  secrets: {
    rotate: {
      title: (_: string) => 'Add a new server secret',
      text: 'The new secret protects all new data. The older ones stay valid for the data that they protect. Reload or restart every server at once afterwards.',
      yes: 'Add a new secret',
    },
    drop: {
      title: (_: string) => 'Drop all server secrets except the newest',
      text: 'What depends on the dropped secrets stops working.',
      yes: 'Drop old secrets',
    },
  },
  audit: {
    verify: { title: (_: string) => 'Verify', yes: 'Verify the audit trail' },
    restart: {
      title: (_: string) => 'Begin a new chain of the audit trail',
      text: 'All events are accepted as they are now. Do this only after a check has failed and you know why.',
      yes: 'Begin a new chain',
    },
  },
};

/** Texts of all forms of the console. */
export const FORMS = {
  wrong: 'Nothing was changed. Please correct this:',
  outdated:
    'Someone else has changed this since you opened the form. You have saved nothing yet. The form has their changes and yours. Check it, and save.',
  conflict:
    'Someone else has changed this since you opened the form. You have saved nothing yet. Fields that you both have changed contain your value, and show what is stored now.',
  adopted: 'Someone else has changed this. It is stored already.',
  unsaved: 'Your sign-in had ended. What you sent was not saved.',
  foreignScope: (scope: Html, apis: Html) =>
    html`The client cannot get the scope ${scope}, because it may not request the API ${apis}. Select the API in the form:`,
  unknownScope: (scope: Html) =>
    html`No API of this server has the scope ${scope}, and no text describes it. Check its spelling, or add the scope to an API:`,
  scopesInOne: (scope: Html) =>
    html`No API of this server has the scope ${scope}. Separate scopes with spaces:`,
  kept: 'The form has what you typed. Enter passwords and secrets again, check it, and save.',
  check: 'Check what changes:',
  checkEnd: 'This can end access. Check what changes:',
  back: 'Back',
  storedNow: 'Stored now:',
  nothing: 'nothing',
  saveOver: 'Save over it',
  choose: 'Choose …',
  byDefault: 'As the server decides',
  /** Fields whose absence is a value of its own. */
  absent: { api: 'None: a scope of this server' },
  yes: 'Yes',
  no: 'No',
  onePerLine: 'One per line.',
  line: (line: string) => `Line ${line}:`,
  place: (line: string, column: string) => `Line ${line}, column ${column}.`,
  parts: {
    profile: 'Profile',
    users: 'Users and sign-in',
    about: 'About the client',
    apis: 'APIs and scopes',
    tokens: 'Tokens',
    exchange: 'Token exchange',
    authentication: 'Keys and certificates of the client',
    requests: 'Authorization requests',
    cryptography: 'Signatures and encryption',
    more: 'More settings',
  },
  discovery: 'Discovery URL',
  tryTitle: 'Try it',
  tryUses: {
    web: 'On the server of the application',
    spa: 'In the code of the page',
    native: 'In the application on the device',
    machine: 'Get an access token',
    api: 'Ask whether an access token is active',
    agent: 'Exchange the token of a user',
  },
  secretTitle: 'Store this secret now',
  secretOnce:
    'It is never shown again later. It stays on this page, for you alone, until you say that you have stored it, and for a day at most.',
  newestFirst: 'The newest one comes first.',
  secretSaved: 'I have stored it',
  values: {
    none: 'None: a public client',
    client_secret_basic: 'Secret, in the header (client_secret_basic)',
    client_secret_post: 'Secret, in the form (client_secret_post)',
    public: 'The same for all clients',
    pairwise: 'Different for each sector (pairwise)',
    agent: 'Agent',
    web: 'Web application',
    native: 'Application on the user’s device',
    authorization_code: 'Sign-in of a user',
    refresh_token: 'Renew access without a new sign-in',
    client_credentials: 'Tokens for the client itself',
    'urn:ietf:params:oauth:grant-type:device_code': 'Sign-in on a device without a browser',
    'urn:ietf:params:oauth:grant-type:token-exchange': 'Token exchange',
    'urn:ietf:params:oauth:grant-type:jwt-bearer': 'Assertion of a trusted issuer',
  },
  problems: {
    missing: 'A value is needed here.',
    typed_again: 'This took too long. Type it again.',
    no_integer: 'Enter a whole number.',
    no_time: 'Enter a time such as 2026-01-31 12:00 (UTC).',
    no_json: 'This is not JSON.',
    no_object: 'This must be a JSON object such as {"key": "value"}.',
    pattern: 'This has another form.',
    refused: 'The server refuses this:',
  },
  /** What the patterns of the operations demand. */
  patterns: {
    visible: 'Use up to 200 letters, digits and signs, without spaces.',
    printable: 'Use letters, digits, signs and spaces, without accents.',
    language: 'Use the tag of a language, such as de or pt-BR.',
    audit_head: 'Use a number, a colon and 43 letters, digits, hyphens or underscores.',
    uri_absolute: 'Begin with https://, or with http:// for this machine.',
    uri_characters: 'Use no spaces and no characters outside ASCII.',
    uri_exact: 'Remove the fragment (#) or wildcard (*). The server compares the whole URI exactly.',
    uri_credentials: 'Remove the username and password.',
    uri_web:
      'A web application needs https:// or http://. Only native applications have schemes of their own.',
    uri_private:
      'A scheme of your own needs a period, such as com.example.app:/callback, except in native applications.',
  },
};
