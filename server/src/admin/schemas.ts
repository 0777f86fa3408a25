// The forms of what the admin API reads and writes, as JSON Schema 2020-12.
import {
  EVENT_TYPES,
  MEMBER_NAMES,
  type MemberName,
  memberOf,
  SIGN_IN_POLICIES,
  SIGNING_ALGORITHMS,
} from '@grantd/core';
import { MEMBER_TEXTS } from '@grantd/core/options';
import {
  isSettable,
  MAX_OVERLAP,
  MAX_REGISTRATION_TOKEN_LIFETIME,
  schemaOfKind,
} from '../operations/clients.ts';
import { MAX_DESCRIPTION } from '../operations/groups.ts';
import { LOCKED_STEPS } from '../people/locks.ts';
import { LANGUAGE_FORM } from '../texts/texts.ts';

export type Schema = Readonly<Record<string, unknown>>;

/** Schemas that the description of the API names once and refers to. */
const NAMES = new Map<Schema, string>();

export function nameOf(schema: Schema): string | undefined {
  return NAMES.get(schema);
}

function named(name: string, schema: Schema): Schema {
  NAMES.set(schema, name);
  return schema;
}

/** An object without other members than these. Members whose name ends in `?` are optional. */
function object(members: Readonly<Record<string, Schema>>, more: Schema = {}): Schema {
  const names = Object.keys(members);
  const required = names.filter((name) => !name.endsWith('?'));
  return {
    type: 'object',
    properties: Object.fromEntries(
      Object.entries(members).map(([name, one]) => [name.replace(/\?$/, ''), one]),
    ),
    ...(required.length > 0 && { required }),
    additionalProperties: false,
    ...more,
  };
}

function text(description: string, more: Schema = {}): Schema {
  return { type: 'string', description, ...more };
}

function list(items: Schema, description: string): Schema {
  return { type: 'array', items, description };
}

/** One page of a list. */
function page(name: string, items: Schema): Schema {
  return named(
    name,
    object({
      items: list(items, 'The items on this page of the list.'),
      'next_cursor?': text(
        'To get the next page, send this value as the parameter cursor. Absent on the last page.',
      ),
    }),
  );
}

function flag(description: string): Schema {
  return { type: 'boolean', description };
}

function count(description: string): Schema {
  return { type: 'integer', minimum: 0, description };
}

export const TIME = { type: 'string', format: 'date-time' };

function time(description: string): Schema {
  return { ...TIME, description };
}

const WARNINGS = list({ type: 'string' }, 'Warnings for the operator.');
const NAME_LIST = { type: 'array', items: { type: 'string' }, maxItems: 100 };

// ── Clients ───────────────────────────────────────────────────────────────────────────────────────────────

/** The members of client metadata, as properties of a schema. */
function metadataProperties(names: readonly MemberName[], isNullable = false): Schema {
  const form = (name: MemberName): Schema => {
    const schema = schemaOfKind(memberOf(name).kind);
    return {
      description: MEMBER_TEXTS[name].about,
      ...(isNullable ? { anyOf: [schema, { type: 'null' }] } : schema),
    };
  };
  return Object.fromEntries(names.map((name) => [name, form(name)]));
}

/** Translated members, such as `client_name#de`. */
function translations(isNullable = false): Schema {
  const localizable = MEMBER_NAMES.filter((name) => memberOf(name).isLocalizable);
  const type = isNullable ? ['string', 'null'] : 'string';
  return { [`^(${localizable.join('|')})#[A-Za-z0-9-]{1,35}$`]: { type } };
}

const SETTABLE = MEMBER_NAMES.filter(isSettable);

const clientId = text('The client ID: visible ASCII characters.', { pattern: '^[!-~]{1,200}$' });

const clientSecret = text(
  'The new secret of the client, if the server generated one. It is shown only in this response.',
);

const secretState = object({
  'created_at?': time('When the secret was added.'),
  'ends_at?': time('When the secret stops working.'),
  'last_used_at?': time('When the client last authenticated with it.'),
  'server_secret?': text(
    'Fingerprint of the server secret (GET /secrets) on which the stored hash of this client secret depends. If the server no longer has that server secret, it cannot check the client secret.',
  ),
});

const clientState = {
  client_id: clientId,
  type: {
    enum: ['confidential', 'public'],
    description: 'confidential: the client authenticates. public: it does not.',
  },
  registered_itself: flag('Whether the client registered itself.'),
  'disabled_at?': time('When the client was disabled.'),
  'secrets?': list(
    secretState,
    'Data about each secret of the client, the newest first. The secrets themselves are never shown.',
  ),
};

function clientForm(further: Readonly<Record<string, Schema>>): Schema {
  const { properties, ...rest } = object({ ...clientState, ...further });
  return {
    ...rest,
    properties: { ...Object(properties), ...metadataProperties(MEMBER_NAMES) },
    patternProperties: translations(),
  };
}

export const CLIENT = named('Client', clientForm({}));
export const CLIENTS = page('Clients', CLIENT);
export const CHANGED_CLIENT = named(
  'ChangedClient',
  clientForm({ 'client_secret?': clientSecret, warnings: WARNINGS }),
);

const newSecret = text('The client’s secret, if you choose it yourself. Default: the server generates one.', {
  pattern: '^[ -~]+$',
  minLength: 8,
  maxLength: 1000,
});

export const NEW_CLIENT = named('NewClient', {
  type: 'object',
  required: ['client_id'],
  properties: { client_id: clientId, client_secret: newSecret, ...metadataProperties(SETTABLE) },
  patternProperties: translations(),
  additionalProperties: false,
});

export const CLIENT_CHANGE = named('ClientChange', {
  type: 'object',
  description:
    'The members of the client’s metadata to change. A member that is null is reset to its default (RFC 7396).',
  minProperties: 1,
  properties: metadataProperties(SETTABLE, true),
  patternProperties: translations(true),
  additionalProperties: false,
});

export const SECRET_ROTATION = named(
  'SecretRotation',
  object({
    'client_secret?': newSecret,
    'overlap?': {
      type: 'integer',
      minimum: 0,
      maximum: MAX_OVERLAP,
      description:
        'Number of seconds for which the old secret still works. Default: one day. With 0, it stops working at once.',
    },
  }),
);

export const ROTATED_SECRET = named(
  'RotatedSecret',
  object({
    client_id: clientId,
    'client_secret?': clientSecret,
    'old_secret_ends_at?': time('When the old secret stops working.'),
  }),
);

// ── Users ─────────────────────────────────────────────────────────────────────────────────────────────────

const sub = text('The subject identifier of the user.');
const username = text('The username.', { minLength: 1, maxLength: 128 });
const claims = { type: 'object', description: 'The user’s claims, such as name and email.' };
const password = text('The password, at least 8 characters.', { minLength: 8, maxLength: 1024 });

export const USER = named(
  'User',
  object({
    sub,
    username,
    claims,
    groups: list({ type: 'string' }, 'Names of the user’s groups.'),
    created_at: time('When the user was added.'),
    'disabled_at?': time('When the user was disabled.'),
    'directory_id?': text('For a user of an LDAP directory: the identifier of the user’s entry.'),
    has_password: flag('Whether the user has a password.'),
  }),
);
export const USERS = page('Users', USER);
export const CHANGED_USER = named(
  'ChangedUser',
  object({
    user: USER,
    warnings: WARNINGS,
    'invitation?': object(
      {
        is_new: flag('Whether the request added the user.'),
        mail_id: text('The ID of the email with the invitation, which waits to be sent.'),
      },
      { description: 'Present if the request invited the user by email.' },
    ),
  }),
);

export const NEW_USER = named('NewUser', {
  ...object({
    username,
    'password?': password,
    'invitation?': object(
      {
        email: text('The address that receives the link.'),
        'language?': text('The language of the email, such as de. It must be a language of the pages.', {
          pattern: LANGUAGE_FORM.source,
        }),
      },
      {
        description:
          'Sends the user a link to choose a password. The address becomes the user’s claim email.',
      },
    ),
    'claims?': claims,
    'groups?': { ...NAME_LIST, description: 'Names of groups to join.' },
  }),
  description:
    'A new user. Set either password or invitation. With an invitation, the user chooses the password.',
  oneOf: [{ required: ['password'] }, { required: ['invitation'] }],
});

export const USER_CHANGE = named(
  'UserChange',
  object(
    {
      'username?': username,
      'claims?': {
        type: 'object',
        description: 'Claims of the user to set. A claim that is null is removed.',
      },
    },
    { minProperties: 1 },
  ),
);

export const PASSWORD = named('Password', object({ password }));
const endedSessions = count('Number of sessions that the request ended.');
export const ENDED_SESSIONS = named('EndedSessions', object({ sessions_ended: endedSessions }));
export const SESSIONS_END = named(
  'SessionsEnd',
  object({
    sessions_ended: endedSessions,
    remaining_grants: list(
      object({
        id: text('The ID of the grant. POST /tokens/revoke-all takes it.'),
        client_id: text('The client that has the grant.'),
      }),
      'Grants that no session ends, such as those with offline_access. Their tokens stay active.',
    ),
  }),
);

export const LOCKS = named(
  'Locks',
  object({
    items: list(
      object({
        step: {
          enum: LOCKED_STEPS,
          description:
            'The step that is refused: the password, a code (of an authenticator app, or a recovery code), or a mailed link that is opened in another browser.',
        },
        places: count('Number of IP addresses, /64 networks and known browsers from which it is refused.'),
        ends_at: time('When the last of them is let in again.'),
      }),
      'What is refused after too many attempts. Empty if nothing is.',
    ),
  }),
);

export const SESSIONS = named(
  'Sessions',
  object({
    items: {
      type: 'array',
      description: 'The user’s sessions in browsers.',
      items: object({
        id: text('The ID of the session.'),
        user_agent: text('The browser, as its header User-Agent names it.'),
        signed_in_at: time('When the user signed in.'),
        last_seen_at: time('When the browser last used the session.'),
      }),
    },
  }),
);

export const FACTORS = named(
  'Factors',
  object({
    passkeys: {
      type: 'array',
      description: 'The passkeys of the user.',
      items: object({
        name: text('The name that the user chose.'),
        added_at: time('When the user added the passkey.'),
        'last_used_at?': time('When the user last signed in with it.'),
        backed_up: flag('Whether the passkey is backed up, for example by a password manager.'),
      }),
    },
    'authenticator_app_added_at?': time('When the user set up an authenticator app.'),
    recovery_codes: count('Number of unused recovery codes.'),
    'count_from?': time(
      'When all changes of these factors count, if the user has made some with a recovery code. `POST /users/{sub}/factors/confirm` lets them count at once.',
    ),
  }),
);

export const CONFIRMED_FACTORS = named(
  'ConfirmedFactors',
  object({ factors_confirmed: flag('Whether the user had factors that did not count yet.') }),
);

export const RESET_FACTORS = named(
  'ResetFactors',
  object({ factors_removed: flag('Whether the user had any factors.'), sessions_ended: endedSessions }),
);

const link = {
  id: text('The ID of the link. DELETE /users/{sub}/links/{link} takes it.'),
  provider: text('The identity provider.'),
  issuer: text('The issuer of the identity provider.'),
  upstream_sub: text('The user’s identifier at the provider.'),
  label: text('The user’s name or address at the provider.'),
  linked_at: time('When the link was added.'),
};
export const LINKS = named(
  'Links',
  object({
    items: {
      type: 'array',
      description: 'The user’s links to accounts at identity providers.',
      items: object(link),
    },
  }),
);
export const REMOVED_LINK = named(
  'RemovedLink',
  object({ provider: link.provider, label: link.label, sessions_ended: endedSessions }),
);

/** A line of an import is checked by itself, so that the others are imported. */
export const IMPORT_LINE = named('ImportLine', {
  type: 'object',
  description: 'One user. A line has these members if the parameter format is grantd, which is the default.',
  properties: {
    username,
    password_hash: text('The hash of the user’s password, by argon2, bcrypt, scrypt or PBKDF2.', {
      maxLength: 1024,
    }),
    subject: text('The subject identifier of the user. Default: a new one.', { maxLength: 255 }),
    claims,
    groups: { ...NAME_LIST, description: 'Names of the user’s groups.' },
    disabled: flag('Whether the user is disabled, so that the user may not sign in.'),
    directory_id: text(
      'For a user of an LDAP directory: the identifier of the user’s entry. The directory then checks the password.',
      { maxLength: 255 },
    ),
    links: list(
      object({
        provider: text('The name of the identity provider in the file of the providers.'),
        issuer: text('The issuer of the identity provider.'),
        sub: text('The user’s identifier at the provider.'),
        'label?': text('The user’s name or address at the provider. Default: sub.'),
      }),
      'Accounts at identity providers with which the user can sign in.',
    ),
    invite: flag(
      'Whether a new user without a password gets an email with a link to choose one. The user needs the claim email.',
    ),
  },
});
const OUTCOMES = ['imported', 'updated', 'unchanged', 'skipped', 'exists', 'failed'] as const;
export const IMPORT_REPORT = named('ImportReport', {
  description:
    'One line of the response. The last line is the summary of the import. If it is missing, the import has stopped early. Every other line is the result of one line of the request.',
  oneOf: [
    object(
      {
        line: { type: 'integer', minimum: 1, description: 'The number of the line in the request.' },
        'username?': text('The username in the line.'),
        outcome: {
          enum: OUTCOMES,
          description:
            'imported: the server added the user. updated: it changed the existing user. unchanged: the user is already as in the line. skipped: the line is not about a user. exists: the user exists and differs from the line, but the parameter update is not true. failed: the line cannot be imported.',
        },
        'subject?': text('The subject identifier of the user.'),
        'reason?': text('Why the line was not imported, in words.'),
        'warnings?': list(
          { type: 'string' },
          'What the line says and the server leaves out, such as claims of a wrong type. Absent if nothing is left out.',
        ),
      },
      { description: 'A line with the result of one line of the request:' },
    ),
    object(
      {
        import: text('The ID of the import. The event people_imported has it as target.'),
        dry_run: flag('Whether the request only checked the lines.'),
        ...Object.fromEntries(
          OUTCOMES.map((name) => [name, count(`Number of lines with the outcome ${name}.`)]),
        ),
      },
      { description: 'The last line, with the summary:' },
    ),
  ],
});
export const EXPORT_LINE = IMPORT_LINE;

export const REGISTRATION_TOKEN_ORDER = named(
  'RegistrationTokenOrder',
  object({
    'lifetime?': {
      type: 'integer',
      minimum: 1,
      maximum: MAX_REGISTRATION_TOKEN_LIFETIME,
      description: 'Lifetime of the token in seconds. Default: one day.',
    },
    'once?': flag('Whether only one client can register with the token. Default: false.'),
  }),
);
export const REGISTRATION_TOKEN = named(
  'RegistrationToken',
  object({
    token: text('The token, with which clients can register themselves. It is shown only in this response.'),
    expires_at: time('When the token expires.'),
    once: flag('Whether only one client can register with the token.'),
    warnings: WARNINGS,
  }),
);

export const UNUSED_CLIENTS = named(
  'UnusedClients',
  object({
    items: {
      type: 'array',
      description: 'The unused clients, those unused for longest first.',
      items: object({
        client_id: text('Identifier of the client.'),
        'client_name?': text('Name of the client.'),
        unused_since: time('When the client was last in use.'),
      }),
    },
  }),
);
export const UNUSED_CLIENTS_ORDER = named(
  'UnusedClientsOrder',
  object({
    client_ids: {
      type: 'array',
      description: 'Identifiers of the clients to remove.',
      items: { type: 'string', minLength: 1, maxLength: 200 },
      minItems: 1,
      maxItems: 500,
    },
    unused_since: time('Clients that were in use after this time stay.'),
  }),
);
export const REMOVED_CLIENTS = named(
  'RemovedClients',
  object({ removed: list({ type: 'string' }, 'Identifiers of the clients that were removed.') }),
);

export const MAILS = named(
  'Mails',
  object({
    items: {
      type: 'array',
      description: 'The emails that wait to be sent or have failed.',
      items: object({
        id: text('The ID of the email. POST /mails/{mail}/retry takes it.'),
        template: text('The name of the email’s template, such as reset.'),
        recipient: text('The address, or the text that a visitor typed as an address.'),
        state: {
          enum: ['waiting', 'failed'],
          description: 'Whether the server still tries to send the email, or has given up.',
        },
        attempts: count('Number of attempts to send the email.'),
        created_at: time('When the email was added to the queue.'),
        'due_at?': time('When the server next tries to send the email.'),
        'failed_at?': time('When the server gave up.'),
        'last_error?': text('Why the last attempt failed.'),
      }),
    },
  }),
);
export const TEST_MAIL = named(
  'TestMail',
  object({ address: text('Where the test email goes.', { minLength: 3, maxLength: 320 }) }),
);
export const SENT_TEST = named(
  'SentTest',
  object({
    server: text('Host and port of the SMTP server.'),
    tls: text('How the connection is encrypted.'),
    answer: text('What the SMTP server answered.'),
  }),
);

const fingerprint = text('The fingerprint of the new secret.');
export const SECRETS = named(
  'Secrets',
  object({
    items: {
      type: 'array',
      description:
        'One object for each secret of the server. If it is unknown on which secret some data depend, or if this secret is lost, these data have an object of their own.',
      items: object({
        secret: text(
          'The fingerprint of the secret. The value is unknown if the server cannot tell on which of its secrets the data in this object depend, and lost if they depend on a secret that the server no longer has.',
        ),
        use: {
          enum: ['used for new values', 'accepted', 'not known', 'missing'],
          description:
            'used for new values: the first secret. accepted: a further secret, which old values still need. not known and missing: the objects for unknown and lost.',
        },
        clients: list({ type: 'string' }, 'IDs of the clients whose secrets depend on this secret.'),
        signing_keys: list({ type: 'string' }, 'IDs of the signing keys that depend on this secret.'),
        pairwise_secret: flag('Whether pairwise subject identifiers depend on this secret.'),
        authenticator_apps: count('Number of users’ authenticator apps that depend on this secret.'),
        audit_trail: flag(
          'Whether the seal that protects the audit trail against changes depends on this secret.',
        ),
      }),
    },
  }),
);
export const SECRETS_ROTATION = named(
  'SecretsRotation',
  object({
    'generate?': flag(
      'Whether the response contains a new secret. Allowed only if an option sets the server’s secret, because the server cannot change an option itself. The access token then needs every scope of the admin API.',
    ),
  }),
);
export const ROTATED_SECRETS = named(
  'RotatedSecrets',
  object(
    {
      'file?': text(
        'The file on the server’s machine that the request changed. Absent if an option sets the secrets.',
      ),
      'fingerprint?': fingerprint,
      'accepted?': list(
        { type: 'string' },
        'Fingerprints of the older secrets, which the server still accepts.',
      ),
      'source?': text('The option that sets the secret. Absent if the secret is in a file.'),
      'secret?': text('A new secret for the option in source, if the request has generate.'),
    },
    {
      description:
        'If the server’s secret is in a file, the file now starts with a new secret: restart or reload the server to use it. If an option sets the secret, the request changed nothing: the member source names the option, which you must change yourself.',
    },
  ),
);
export const SECRETS_DROP = named(
  'SecretsDrop',
  object({
    'force?': flag(
      'Whether to drop the secrets even if clients or keys depend on them. These clients and keys then stop working. With false, which is the default, the server rejects the request in this case.',
    ),
  }),
);
export const DROPPED_SECRETS = named(
  'DroppedSecrets',
  object(
    {
      fingerprint: text('The fingerprint of the first secret, which stays.'),
      'file?': text(
        'The file on the server’s machine that the request changed. Absent if an option sets the secrets.',
      ),
      'dropped?': list({ type: 'string' }, 'Fingerprints of the dropped secrets.'),
      'source?': text('The option that sets the secrets. Absent if the secrets are in a file.'),
      'can_be_dropped?': list(
        { type: 'string' },
        'Fingerprints of the secrets that you can remove from the option in source.',
      ),
    },
    {
      description:
        'If the server’s secrets are in a file, the file now contains only the first. If an option sets the secrets, the request changed nothing: the member source names the option, and can_be_dropped names the secrets that you can remove from it.',
    },
  ),
);

export const CONSENTS = named(
  'Consents',
  object({
    items: {
      type: 'array',
      description: 'What the user has allowed clients, one object per client.',
      items: object({
        client_id: text('The ID of the client.'),
        entries: {
          type: 'array',
          description: 'What the user has allowed this client, one object per decision.',
          items: object({
            scopes: list({ type: 'string' }, 'The scopes that the user allowed.'),
            resources: list({ type: 'string' }, 'URIs of the APIs that the user allowed.'),
            claims: list(
              { type: 'string' },
              'The claims that the client requested by name, and that the user allowed.',
            ),
            authorization_details: list(
              { type: 'object' },
              'The authorization details that the user allowed.',
            ),
            given_at: time('When the user decided.'),
          }),
        },
      }),
    },
  }),
);

// ── Groups and scopes ─────────────────────────────────────────────────────────────────────────────────────

const groupName = text('The name of the group. It cannot be changed later.', {
  minLength: 1,
  maxLength: 128,
});
const description = text('What the group is for.', { maxLength: MAX_DESCRIPTION });
const ABOUT_POLICY =
  'What a sign-in of a member needs, if that is stricter than the server’s option signInPolicy: a second factor if the user has added one, a second factor from everyone, or a passkey.';
const policy = { enum: SIGN_IN_POLICIES, description: ABOUT_POLICY };

export const GROUP = named(
  'Group',
  object({
    name: groupName,
    description,
    'sign_in_policy?': policy,
    members: count('Number of members.'),
    created_at: time('When the group was added.'),
  }),
);
export const GROUPS = page('Groups', GROUP);
export const NEW_GROUP = named(
  'NewGroup',
  object({ name: groupName, 'description?': description, 'sign_in_policy?': policy }),
);
export const GROUP_CHANGE = named(
  'GroupChange',
  object({
    'description?': description,
    'sign_in_policy?': {
      enum: [...SIGN_IN_POLICIES, null],
      description: `${ABOUT_POLICY} With null, the option alone decides.`,
    },
  }),
);
export const MEMBERSHIP = named(
  'Membership',
  object({
    changed: flag(
      'Whether the request changed anything. False if the user already was a member (PUT), or was none (DELETE).',
    ),
    'revoked?': list(
      { type: 'string' },
      'IDs of the clients that the user may no longer use. The server has revoked the user’s tokens for them.',
    ),
    warnings: WARNINGS,
  }),
);

const texts = {
  type: 'object',
  description:
    'The texts with which pages describe the scope to users. A member with a language tag, such as name#de, is a translation.',
  properties: {
    name: text('A short name for the scope.'),
    description: text('A sentence that explains the scope.'),
  },
  patternProperties: { '^(name|description)#': { type: 'string' } },
  additionalProperties: false,
};
const scope = text('The scope.', { minLength: 1, maxLength: 200 });
const api = text(
  'For a scope that an API declares: the client ID of the API. Absent for the scopes of this server, such as email.',
);

export const SCOPE_TEXTS = named('ScopeTexts', object({ scope, 'api?': api, texts }));
export const ALL_SCOPE_TEXTS = page('AllScopeTexts', SCOPE_TEXTS);
export const NEW_SCOPE_TEXTS = named('NewScopeTexts', object({ scope, 'api?': api, texts }));
export const SCOPE_TEXTS_CHANGE = named('ScopeTextsChange', {
  ...texts,
  description:
    'The texts of the scope to change. A text that is null is removed. A member with a language tag, such as name#de, is a translation.',
  properties: {
    name: text('A short name for the scope.'),
    description: { type: ['string', 'null'], description: 'A sentence that explains the scope.' },
  },
  patternProperties: { '^(name|description)#': { type: ['string', 'null'] } },
  minProperties: 1,
});

const state = {
  type: 'object',
  description:
    'An object with the sections groups, clients and scope_texts, as in the file that the command grantd apply reads. grantd apply --schema prints its JSON Schema.',
};

export const EXPORTED_STATE = named(
  'ExportedState',
  object({
    state,
    with_secret: list(
      { type: 'string' },
      'IDs of the clients that have a secret. The state contains no secrets.',
    ),
  }),
);
export const STATE_ORDER = named(
  'StateOrder',
  object({
    state,
    'secrets?': {
      type: 'object',
      description:
        'The secrets of clients, by client ID, because the state itself contains no secrets. The server stores only their hashes.',
      additionalProperties: { ...newSecret, description: 'The secret of the client.' },
    },
    'prune?': flag(
      'Whether to also remove stored groups, group members, clients and scope texts that are missing from their list in the state. If the state lacks a whole list, such as the section groups or the members of a group, everything stored of this kind stays. Clients that registered themselves stay too. The tokens of removed clients are revoked.',
    ),
  }),
);
const plan = {
  changes: {
    type: 'array',
    description: 'The changes, in the order in which the server makes them.',
    items: object({
      action: { enum: ['add', 'change', 'remove'], description: 'What the server does.' },
      kind: { enum: ['group', 'client', 'scope'], description: 'The kind of object.' },
      name: text('The name of the group, the client ID, or the scope.'),
      members: {
        type: 'array',
        description: 'The members of the object that change.',
        items: object({
          name: text(
            'The name of the member, such as "redirect_uris". For users who join a group, it is "members added", and for users who leave it, "members removed".',
          ),
          'before?': { description: 'The value before the change. Absent if the member is new.' },
          'after?': {
            description:
              'The value after the change. Absent if the member is removed. With "members added" and "members removed", it is a list of the names of these users.',
          },
        }),
      },
    }),
  },
  unchanged: count('Number of groups, clients and scope texts that need no change.'),
};
export const STATE_PLAN = named('StatePlan', object(plan));
export const APPLIED_STATE = named('AppliedState', object({ ...plan, warnings: WARNINGS }));

// ── Keys, tokens, events, configuration ───────────────────────────────────────────────────────────────────

const algorithm = { enum: SIGNING_ALGORITHMS, description: 'The algorithm of the key.' };

export const KEYS = named(
  'Keys',
  object({
    items: {
      type: 'array',
      description: 'The signing keys of the server.',
      items: object({
        kid: text('The key ID.'),
        algorithm,
        status: {
          enum: ['next', 'current', 'retired'],
          description: 'Whether the key will sign, signs now, or only verifies earlier signatures.',
        },
        created_at: time('When the key was made.'),
        'retired_at?': time('When the key stopped signing.'),
      }),
    },
  }),
);
export const KEY_ROTATION = named(
  'KeyRotation',
  object({
    'algorithm?': {
      ...algorithm,
      description: 'The algorithm whose keys to rotate. Default: all algorithms that have keys.',
    },
    'now?': flag(
      'Whether to rotate even if some clients may not have fetched the next key yet. These clients then reject tokens that the key signs. Default: false.',
    ),
  }),
);
export const ROTATED_KEYS = named(
  'RotatedKeys',
  object({
    items: {
      type: 'array',
      description: 'The keys that sign now, one object per algorithm.',
      items: object({ algorithm, kid: text('The ID of the key that signs now.') }),
    },
  }),
);

const token = text('The token.', { minLength: 1, maxLength: 16_384 });

export const TOKEN = named('Token', object({ token }));
export const EXPLANATION = named(
  'Explanation',
  object({
    kind: {
      enum: ['access_token', 'refresh_token', 'authorization_code', 'id_token', 'logout_token', 'unknown'],
      description: 'The kind of token.',
    },
    active: flag('Whether the token is active.'),
    'reason?': text('Why the token is inactive, as a reason code (grantd help reason-codes).'),
    'explanation?': text('The reason in a sentence.'),
    'since?': time('Since when the token has been inactive.'),
    'record?': object(
      {
        id: text('The jti of a JWT, or the digest of an opaque token.'),
        client_id: text('The ID of the client.'),
        'sub?': sub,
        'username?': text('The username.'),
        scopes: list({ type: 'string' }, 'The scopes of the token.'),
        'resources?': list({ type: 'string' }, 'URIs of the APIs that the token is for.'),
        'cnf?': { type: 'object', description: 'The key or certificate to which the token is bound.' },
        issued_at: time('When the token was issued.'),
        'expires_at?': time('When the token expires.'),
        'grant_id?': text('The ID of the grant that the token belongs to.'),
        'session_id?': text('The ID of the session in which the token was issued.'),
        'family_id?': text(
          'The ID that a refresh token shares with all its successors and their access tokens.',
        ),
        'pair_id?': text('The ID that a refresh token shares with the access tokens issued with it.'),
        'superseded_at?': time('When a successor replaced the refresh token.'),
        'successor_id?': text('The ID of the refresh token that replaced this one.'),
        'redeemed_at?': time('When the client redeemed the code.'),
        'revoked_at?': time('When the token was revoked.'),
      },
      { description: 'The stored data about the token.' },
    ),
    'claims?': { type: 'object', description: 'Claims of a JWT whose signature is valid.' },
  }),
);

export const REVOCATION = named(
  'Revocation',
  object({
    token,
    'dry_run?': flag('Whether to revoke nothing, and only say whether the token is active. Default: false.'),
  }),
);
export const REVOKED_TOKEN = named(
  'RevokedToken',
  object({
    revoked: flag('Whether the request revoked anything.'),
    was_active: flag('Whether the token was active before the request.'),
    'token_id?': text('The ID of the revoked token.'),
    'reason?': text('Why nothing was revoked, as a reason code (grantd help reason-codes).'),
  }),
);

export const MASS_REVOCATION = named('MassRevocation', {
  ...object({
    'sub?': text('Revokes all tokens of a user and ends their sessions.'),
    'client_id?': text('Revokes all tokens of a client.'),
    'grant_id?': text('Revokes all tokens of a grant.'),
    'issued_before?': {
      ...TIME,
      maxLength: 40,
      description: 'Revokes all tokens that were issued before this time, which may not be in the future.',
    },
    'dry_run?': flag(
      'Whether to revoke nothing, and only count the active tokens that a request without dry_run would revoke. Default: false.',
    ),
    'count?': flag(
      'Whether to count the active tokens before revoking them. The count reads the rows of all these tokens, so it takes longer. Default: false.',
    ),
  }),
  description: 'Set exactly one of sub, client_id, grant_id and issued_before.',
  oneOf: ['sub', 'client_id', 'grant_id', 'issued_before'].map((name) => ({ required: [name] })),
});
export const REVOKED_TOKENS = named(
  'RevokedTokens',
  object({
    revoked: flag('Whether the request revoked anything.'),
    'active?': count(
      'Number of the tokens that were active before the request. Present if the request has count or dry_run.',
    ),
  }),
);

export const EVENT_TYPE = { enum: EVENT_TYPES };
export const AUDIT_EVENTS = page(
  'AuditEvents',
  named(
    'AuditEvent',
    object({
      number: { type: 'integer', minimum: 1, description: 'The number of the event.' },
      at: time('When the change happened.'),
      type: { ...EVENT_TYPE, description: 'What happened.' },
      target: text(
        'The ID of what changed: a client, subject (user), key, session, grant, token or group. If several tokens were issued together, it is all their IDs, separated by spaces.',
      ),
      actor: text(
        'Who made the change, such as cli, server, user:SUBJECT or client:ID. For a client of the admin API, it is api: and the percent-encoded client ID.',
      ),
      'address?': text('The IP address of the request.'),
      'client_id?': text('The client that the event concerns.'),
      'subject?': text('The user that the event concerns.'),
      'reason?': text('A code that says why or how the change happened.'),
      'request_id?': text('The ID of the request, which its response has in the header X-Request-Id.'),
    }),
  ),
);

export const EVENTS = page(
  'Events',
  named(
    'Event',
    object({
      number: { type: 'integer', minimum: 1, description: 'The number of the event.' },
      at: time('When the change happened.'),
      type: { ...EVENT_TYPE, description: 'What happened.' },
      target: text('The ID of what changed: a client, subject (user), key, session, grant, token or group.'),
      'actor?': text(
        'Who made the change, such as cli or user. For a client of the admin API, it is api: and the percent-encoded client ID.',
      ),
      'subject?': text('The user that the event concerns.'),
    }),
  ),
);

export const CONFIGURATION = named(
  'Configuration',
  object({
    items: {
      type: 'array',
      description: 'The options of the server.',
      items: object({
        option: text('The name of the option, as in the config file.'),
        value: {
          description:
            'The value of the option, or null if the option is not set and has no default. If the value is secret, the response has “set” in its place.',
        },
      }),
    },
  }),
);
export const HEALTH = named(
  'Health',
  object({
    status: { enum: ['ok', 'unavailable'], description: 'Whether the server can answer requests.' },
    issuer: text('The issuer.'),
    database: text('The database, without its password.'),
    version: text('The version of grantd.'),
  }),
);

/** RFC 9457. */
export const PROBLEM = named('Problem', {
  type: 'object',
  required: ['type', 'title', 'status', 'code'],
  properties: {
    type: text('A URI that identifies the problem. It leads to the problem in the OpenAPI description.', {
      format: 'uri-reference',
    }),
    title: text('The meaning of the code.'),
    status: { type: 'integer', description: 'The status of the response.' },
    code: text('The stable name of the problem.'),
    detail: text('What is wrong with this request.'),
    advice: text('A command that solves the problem.'),
    errors: list(
      object({
        in: text('The place of the value: a JSON Pointer in the body, or the name of a parameter.'),
        detail: text('What is wrong with the value.'),
      }),
      'The invalid values.',
    ),
  },
});
