// The forms of what the admin API reads and writes, as JSON Schema 2020-12.
import {
  EVENT_TYPES,
  MEMBER_NAMES,
  type MemberName,
  memberOf,
  SIGN_IN_POLICIES,
  SIGNING_ALGORITHMS,
} from '@grantd/core';
import {
  isSettable,
  MAX_OVERLAP,
  MAX_REGISTRATION_TOKEN_LIFETIME,
  schemaOfKind,
} from '../operations/clients.ts';
import { MAX_DESCRIPTION } from '../operations/groups.ts';
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
      items: list(items, 'The items of this page of the list.'),
      'next_cursor?': text('The value of the parameter cursor for the next page. Absent on the last page.'),
    }),
  );
}

function flag(description: string): Schema {
  return { type: 'boolean', description };
}

function count(description: string): Schema {
  return { type: 'integer', minimum: 0, description };
}

const TIME = { type: 'string', format: 'date-time' };

function time(description: string): Schema {
  return { ...TIME, description };
}

const WARNINGS = list({ type: 'string' }, 'Warnings for the operator.');
const NAME_LIST = { type: 'array', items: { type: 'string' }, maxItems: 100 };

// ── Clients ───────────────────────────────────────────────────────────────────────────────────────────────

/** The members of client metadata, as properties of a schema. */
function metadataProperties(names: readonly MemberName[], isNullable = false): Schema {
  const form = (name: MemberName): Schema => {
    const { kind, about } = memberOf(name);
    const schema = schemaOfKind(kind);
    return { description: about, ...(isNullable ? { anyOf: [schema, { type: 'null' }] } : schema) };
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

const clientSecret = text('A client secret. It is shown only in this response.');

const secretState = object({
  'created_at?': time('When the secret was added.'),
  'ends_at?': time('When the secret stops working.'),
  'last_used_at?': time('When the client last authenticated with it.'),
  'server_secret?': text('Fingerprint of the server secret on which the stored client secret depends.'),
});

const clientState = {
  client_id: clientId,
  type: { enum: ['confidential', 'public'], description: 'Whether the client authenticates.' },
  registered_itself: flag('Whether the client registered itself.'),
  'disabled_at?': time('When the client was disabled.'),
  'secrets?': list(
    secretState,
    'The client’s secrets, newest first. The secrets themselves are never shown.',
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

const newSecret = text('A secret of your own. Default: the server generates one.', {
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
  description: 'Members to set. A member that is null is reset to its default (RFC 7396).',
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
      description: 'Seconds for which the old secret still works. Default: one day. 0 ends it at once.',
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
const claims = { type: 'object', description: 'Claims for UserInfo.' };
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
        'language?': text('The language of the email, which the pages must have, such as de.', {
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
  description: 'A user with a password, or with an invitation to choose one.',
  oneOf: [{ required: ['password'] }, { required: ['invitation'] }],
});

export const USER_CHANGE = named(
  'UserChange',
  object(
    {
      'username?': username,
      'claims?': { type: 'object', description: 'Claims to set. A claim that is null is removed.' },
    },
    { minProperties: 1 },
  ),
);

export const PASSWORD = named('Password', object({ password }));
const endedSessions = count('Number of sessions that the request ended.');
export const ENDED_SESSIONS = named('EndedSessions', object({ sessions_ended: endedSessions }));

export const SESSIONS = named(
  'Sessions',
  object({
    items: {
      type: 'array',
      description: 'The sessions.',
      items: object({
        id: text('The session ID.'),
        user_agent: text('The browser.'),
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
  }),
);
export const RESET_FACTORS = named(
  'ResetFactors',
  object({ factors_removed: flag('Whether the user had any factors.'), sessions_ended: endedSessions }),
);

const link = {
  id: text('The ID of the link.'),
  provider: text('The identity provider.'),
  issuer: text('The issuer of the identity provider.'),
  upstream_sub: text('The user’s identifier at the provider.'),
  label: text('The user’s name or address at the provider.'),
  linked_at: time('When the link was added.'),
};
export const LINKS = named(
  'Links',
  object({ items: { type: 'array', description: 'The links.', items: object(link) } }),
);
export const REMOVED_LINK = named(
  'RemovedLink',
  object({ provider: link.provider, label: link.label, sessions_ended: endedSessions }),
);

/** A line of an import is checked by itself, so that the others are imported. */
export const IMPORT_LINE = named('ImportLine', {
  type: 'object',
  description: 'One user, in the format grantd. Other values of the parameter format have other members.',
  properties: {
    username,
    password_hash: text('A hash of argon2, bcrypt, scrypt or PBKDF2.', { maxLength: 1024 }),
    subject: text('The subject identifier. Default: a new one.', { maxLength: 255 }),
    claims,
    groups: { ...NAME_LIST, description: 'Names of the user’s groups.' },
    disabled: flag('Whether the user is disabled, so that the user may not sign in.'),
  },
});
const OUTCOMES = ['imported', 'updated', 'unchanged', 'skipped', 'exists', 'failed'] as const;
export const IMPORT_REPORT = named('ImportReport', {
  description:
    'One line of the response: the result of one line of the request, or the summary. The summary is the last line. If it is missing, the import has stopped early.',
  oneOf: [
    object(
      {
        line: { type: 'integer', minimum: 1, description: 'The number of the line in the request.' },
        'username?': text('The username in the line.'),
        outcome: { enum: OUTCOMES, description: 'What the import did with the line.' },
        'subject?': text('The subject identifier of the user.'),
        'reason?': text('Why the line was not imported.'),
      },
      { description: 'The result of one line of the request.' },
    ),
    object(
      {
        import: text('The ID of the import, which is the target of its event.'),
        dry_run: flag('Whether the request only checked the lines.'),
        ...Object.fromEntries(
          OUTCOMES.map((name) => [name, count(`Number of lines with the outcome ${name}.`)]),
        ),
      },
      { description: 'The summary, as the last line.' },
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
    'once?': flag('Whether only one client can register with the token.'),
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

export const MAILS = named(
  'Mails',
  object({
    items: {
      type: 'array',
      description: 'The emails.',
      items: object({
        id: text('The ID of the email.'),
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

const fingerprint = text('A fingerprint of the secret.');
export const SECRETS = named(
  'Secrets',
  object({
    items: {
      type: 'array',
      description: 'One object for each server secret, and one for values whose secret is unknown or lost.',
      items: object({
        secret: text(
          'The fingerprint of a server secret. Or unknown: the server cannot tell on which secret the values in this item depend. Or lost: they depend on a secret that the server no longer has.',
        ),
        use: {
          enum: ['used for new values', 'accepted', 'not known', 'missing'],
          description: 'How the server uses this secret.',
        },
        clients: list({ type: 'string' }, 'IDs of the clients whose secrets depend on this secret.'),
        signing_keys: list({ type: 'string' }, 'IDs of the signing keys that depend on this secret.'),
        pairwise_secret: flag('Whether pairwise subject identifiers depend on this secret.'),
        authenticator_apps: count('Number of authenticator apps that depend on this secret.'),
        audit_trail: flag('Whether the seal of the audit trail depends on this secret.'),
      }),
    },
  }),
);
export const SECRETS_ROTATION = named(
  'SecretsRotation',
  object({
    'generate?': flag(
      'Whether the response contains a new secret, if an option sets the secret instead of a file. The token then needs every scope.',
    ),
  }),
);
export const ROTATED_SECRETS = named(
  'RotatedSecrets',
  object(
    {
      'file?': text('The file on the server’s machine that the request changed.'),
      'fingerprint?': fingerprint,
      'accepted?': list({ type: 'string' }, 'Fingerprints of the secrets that are still accepted.'),
      'source?': text('The option that sets the secret.'),
      'secret?': text('A new secret for this option, if the request asked for one.'),
    },
    {
      description:
        'If the secret is in a file, the file now starts with a new secret. Then restart every process at once. If an option sets the secret, the request changed nothing, and the response has source.',
    },
  ),
);
export const SECRETS_DROP = named(
  'SecretsDrop',
  object({
    'force?': flag(
      'Whether to drop the secrets even if clients or keys depend on them. Those clients and keys then stop working.',
    ),
  }),
);
export const DROPPED_SECRETS = named(
  'DroppedSecrets',
  object(
    {
      fingerprint: text('The fingerprint of the first secret.'),
      'file?': text('The file on the server’s machine that the request changed.'),
      'dropped?': list({ type: 'string' }, 'Fingerprints of the dropped secrets.'),
      'source?': text('The option that sets the secrets.'),
      'can_be_dropped?': list({ type: 'string' }, 'Fingerprints of the secrets that you can remove from it.'),
    },
    {
      description:
        'If the secrets are in a file, it now has only the first. If an option sets the secrets, the request changed nothing, and the response has source and can_be_dropped.',
    },
  ),
);

export const CONSENTS = named(
  'Consents',
  object({
    items: {
      type: 'array',
      description: 'The consents, one object per client.',
      items: object({
        client_id: text('The ID of the client.'),
        entries: {
          type: 'array',
          description: 'The decisions of the user for this client.',
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
const ABOUT_POLICY = 'The sign-in policy for members, if it is stricter than that of the server.';
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
    'sign_in_policy?': { enum: [...SIGN_IN_POLICIES, null], description: `${ABOUT_POLICY} null removes it.` },
  }),
);
export const MEMBERSHIP = named(
  'Membership',
  object({
    changed: flag('Whether the request changed the membership.'),
    'revoked?': list({ type: 'string' }, 'IDs of the clients whose tokens for the user were revoked.'),
    warnings: WARNINGS,
  }),
);

const texts = {
  type: 'object',
  description:
    'Texts that describe the scope on pages. A name with a language tag, such as name#de, is a translation.',
  properties: { name: text('A short name.'), description: text('A description.') },
  patternProperties: { '^(name|description)#': { type: 'string' } },
  additionalProperties: false,
};
const scope = text('The scope.', { minLength: 1, maxLength: 200 });
const api = text('Client ID of the API that the scope belongs to. Absent for scopes of this server.');

export const SCOPE_TEXTS = named('ScopeTexts', object({ scope, 'api?': api, texts }));
export const ALL_SCOPE_TEXTS = page('AllScopeTexts', SCOPE_TEXTS);
export const NEW_SCOPE_TEXTS = named('NewScopeTexts', object({ scope, 'api?': api, texts }));
export const SCOPE_TEXTS_CHANGE = named('ScopeTextsChange', {
  ...texts,
  description:
    'Texts to set. A text that is null is removed. A member with a language tag, such as name#de, is a translation.',
  properties: {
    name: text('A short name.'),
    description: { type: ['string', 'null'], description: 'A description.' },
  },
  patternProperties: { '^(name|description)#': { type: ['string', 'null'] } },
  minProperties: 1,
});

const state = {
  type: 'object',
  description:
    'The content of a file of grantd apply: the sections groups, clients and scope_texts. grantd apply --schema prints its JSON Schema.',
};

export const EXPORTED_STATE = named(
  'ExportedState',
  object({ state, with_secret: list({ type: 'string' }, 'IDs of the clients that have a secret.') }),
);
export const STATE_ORDER = named(
  'StateOrder',
  object({
    state,
    'secrets?': {
      type: 'object',
      description:
        'An object with client IDs as names, and as values the secrets that the state does not contain. The server stores their hashes.',
      additionalProperties: { ...newSecret, description: 'The secret of the client.' },
    },
    'prune?': flag(
      'Whether to remove groups, clients and texts that the sections of the state omit. The tokens of removed clients are revoked.',
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
          name: text('The member, such as redirect_uris. For users of a group: members added or removed.'),
          'before?': { description: 'The value now. Absent if the member is new.' },
          'after?': { description: 'The new value. Absent if the member is removed.' },
        }),
      },
    }),
  },
  unchanged: count('Number of groups, clients and texts that need no change.'),
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
      description: 'The signing keys.',
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
      description: 'The algorithm whose keys to rotate. Default: all algorithms.',
    },
    'now?': flag(
      'Whether to rotate even if some clients may not know the next key yet. Such clients reject its signatures.',
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
    'reason?': text('Why the token is inactive, as a reason code.'),
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
        'grant_id?': text('The ID of the grant.'),
        'session_id?': text('The ID of the session.'),
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
  object({ token, 'dry_run?': flag('Whether to revoke nothing, and only say whether the token is active.') }),
);
export const REVOKED_TOKEN = named(
  'RevokedToken',
  object({
    revoked: flag('Whether something was revoked.'),
    was_active: flag('Whether the token was active before.'),
    'token_id?': text('The ID of the revoked token.'),
    'reason?': text('Why nothing was revoked, as a reason code.'),
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
      description: 'Revokes all tokens that were issued before a time that is not in the future.',
    },
    'dry_run?': flag('Whether to revoke nothing, and only count the active tokens. Use it first.'),
    'count?': flag('Whether to count the active tokens before revoking them. This reads all rows.'),
  }),
  description: 'Set exactly one of sub, client_id, grant_id and issued_before.',
  oneOf: ['sub', 'client_id', 'grant_id', 'issued_before'].map((name) => ({ required: [name] })),
});
export const REVOKED_TOKENS = named(
  'RevokedTokens',
  object({
    revoked: flag('Whether something was revoked.'),
    'active?': count('Number of tokens that were active before. Present if the request asked for a count.'),
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
        'What changed: the client, subject, key, session, grant, token or group. The IDs of tokens that were issued together are separated by spaces.',
      ),
      actor: text(
        'Who acted, such as cli, server, user:SUBJECT, client:ID, or api: with the percent-encoded client ID.',
      ),
      'address?': text('The IP address of the request.'),
      'client_id?': text('The client that the event concerns.'),
      'subject?': text('The user that the event concerns.'),
      'reason?': text('Why or how it happened, as a code.'),
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
      target: text('What changed: the client, subject, key, session, grant, token or group.'),
      'actor?': text('Who acted, such as cli, user, or api: with the percent-encoded client ID.'),
    }),
  ),
);

export const CONFIGURATION = named(
  'Configuration',
  object({
    items: {
      type: 'array',
      description: 'The options.',
      items: object({
        option: text('The name of the option, as in the config file.'),
        value: {
          description:
            'The value, or null if the option is not set and has no default. Instead of a secret, it is “set”.',
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
    type: text('The URI of the problem in the OpenAPI description.', { format: 'uri-reference' }),
    title: text('The meaning of the code.'),
    status: { type: 'integer', description: 'The status of the response.' },
    code: text('The stable name of the problem.'),
    detail: text('What is wrong with this request.'),
    advice: text('Which command to run.'),
    errors: list(
      object({
        in: text('JSON Pointer in the body, or the name of a parameter.'),
        detail: text('What is wrong with the value.'),
      }),
      'The invalid values.',
    ),
  },
});
