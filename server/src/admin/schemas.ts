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
      items: { type: 'array', items },
      'next_cursor?': text('The value of cursor for the next page. Absent on the last page.'),
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
const WARNINGS = list({ type: 'string' }, 'What the operator should look at.');
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
  'created_at?': TIME,
  'ends_at?': TIME,
  'last_used_at?': TIME,
  'server_secret?': text('Fingerprint of the server’s secret that it depends on.'),
});

const clientState = {
  client_id: clientId,
  type: { enum: ['confidential', 'public'] },
  registered_itself: flag('Whether the client registered itself.'),
  'disabled_at?': TIME,
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
  object({ client_id: clientId, 'client_secret?': clientSecret, 'old_secret_ends_at?': TIME }),
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
    groups: { type: 'array', items: { type: 'string' } },
    created_at: TIME,
    'disabled_at?': TIME,
    'directory_id?': text('Identifier of the user’s entry in the directory, which checks the password.'),
    has_password: flag('Whether the user has a password.'),
  }),
);
export const USERS = page('Users', USER);
export const CHANGED_USER = named(
  'ChangedUser',
  object({
    user: USER,
    warnings: WARNINGS,
    'invitation?': object({
      is_new: flag('Whether the user is new.'),
      mail_id: text('The ID of the email that waits.'),
    }),
  }),
);

export const NEW_USER = named('NewUser', {
  ...object({
    username,
    'password?': password,
    'invitation?': object(
      {
        email: text('The address that receives the link.'),
        'language?': text('Of the email: a language of the pages, such as de.', {
          pattern: LANGUAGE_FORM.source,
        }),
      },
      { description: 'Sends a link to choose a password. Its address becomes the claim email.' },
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
export const ENDED_SESSIONS = named('EndedSessions', object({ sessions_ended: count('Ended sessions.') }));

export const SESSIONS = named(
  'Sessions',
  object({
    items: {
      type: 'array',
      items: object({
        id: text('The session ID.'),
        user_agent: text('The browser.'),
        signed_in_at: TIME,
        last_seen_at: TIME,
      }),
    },
  }),
);

export const FACTORS = named(
  'Factors',
  object({
    passkeys: {
      type: 'array',
      items: object({
        name: text('The name that the user chose.'),
        added_at: TIME,
        'last_used_at?': TIME,
        backed_up: flag('Whether the passkey is backed up, as password managers do.'),
      }),
    },
    'authenticator_app_added_at?': TIME,
    recovery_codes: count('Unused recovery codes.'),
  }),
);
export const RESET_FACTORS = named(
  'ResetFactors',
  object({ factors_removed: flag('Whether there were any.'), sessions_ended: count('Ended sessions.') }),
);

const link = {
  id: text('The ID of the link.'),
  provider: text('The identity provider.'),
  issuer: text('Its issuer.'),
  upstream_sub: text('The user’s identifier at the provider.'),
  label: text('The user’s name or address at the provider.'),
  linked_at: TIME,
};
export const LINKS = named('Links', object({ items: { type: 'array', items: object(link) } }));
export const REMOVED_LINK = named(
  'RemovedLink',
  object({ provider: link.provider, label: link.label, sessions_ended: count('Ended sessions.') }),
);

/** A line of an import is checked by itself, so that the others are imported. */
export const IMPORT_LINE = named('ImportLine', {
  type: 'object',
  description: 'A user, in the format of the parameter format. This form is that of grantd.',
  properties: {
    username,
    password_hash: text('A hash of argon2, bcrypt, scrypt or PBKDF2.', { maxLength: 1024 }),
    subject: text('The subject identifier. Default: a new one.', { maxLength: 255 }),
    claims,
    groups: NAME_LIST,
    disabled: flag('Whether the user may not sign in.'),
  },
});
const OUTCOMES = ['imported', 'updated', 'unchanged', 'skipped', 'exists', 'failed'] as const;
export const IMPORT_REPORT = named('ImportReport', {
  description: 'What became of a line. The last line is the summary; without it, the import has stopped.',
  oneOf: [
    object({
      line: { type: 'integer', minimum: 1 },
      'username?': { type: 'string' },
      outcome: { enum: OUTCOMES },
      'subject?': { type: 'string' },
      'reason?': text('Why the line was not imported.'),
    }),
    object({
      import: text('The ID of the import in events.'),
      dry_run: flag('Whether nothing was changed.'),
      ...Object.fromEntries(OUTCOMES.map((name) => [name, count(`Lines with the outcome ${name}.`)])),
    }),
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
      description: 'Seconds. Default: one day.',
    },
    'once?': flag('Whether the token is for one client only.'),
  }),
);
export const REGISTRATION_TOKEN = named(
  'RegistrationToken',
  object({
    token: text('The token, with which clients can register themselves. It is shown only in this response.'),
    expires_at: TIME,
    once: flag('Whether the token is for one client only.'),
    warnings: WARNINGS,
  }),
);

export const MAILS = named(
  'Mails',
  object({
    items: {
      type: 'array',
      items: object({
        id: text('The ID.'),
        template: text('What the email is for.'),
        recipient: text('The address, or what was typed as one.'),
        state: { enum: ['waiting', 'failed'] },
        attempts: count('Attempts to send it.'),
        created_at: TIME,
        'due_at?': TIME,
        'failed_at?': TIME,
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
      items: object({
        secret: text('A fingerprint; unknown if it can be any of the secrets; lost if it is none of them.'),
        use: { enum: ['used for new values', 'accepted', 'not known', 'missing'] },
        clients: list({ type: 'string' }, 'Clients whose secrets depend on it.'),
        signing_keys: list({ type: 'string' }, 'Signing keys that depend on it.'),
        pairwise_secret: flag('Whether pairwise subject identifiers depend on it.'),
        authenticator_apps: count('Authenticator apps whose secrets depend on it.'),
        audit_trail: flag('Whether the seal of the audit trail depends on it.'),
      }),
    },
  }),
);
export const SECRETS_ROTATION = named(
  'SecretsRotation',
  object({ 'generate?': flag('Returns a new secret, if the present one is set by an option.') }),
);
export const ROTATED_SECRETS = named(
  'RotatedSecrets',
  object(
    {
      'file?': text('The file on the server’s machine, which now starts with a new secret.'),
      'fingerprint?': fingerprint,
      'accepted?': list({ type: 'string' }, 'Fingerprints of the secrets that are still accepted.'),
      'source?': text('The option that sets the secret. Nothing was changed.'),
      'secret?': text('A new secret for this option.'),
    },
    { description: 'Restart every process at once after file has changed.' },
  ),
);
export const SECRETS_DROP = named(
  'SecretsDrop',
  object({ 'force?': flag('Drops them even if clients or keys depend on them, which then stop working.') }),
);
export const DROPPED_SECRETS = named(
  'DroppedSecrets',
  object({
    fingerprint,
    'file?': text('The file on the server’s machine, which has only this secret now.'),
    'dropped?': list({ type: 'string' }, 'Fingerprints.'),
    'source?': text('The option that sets the secret. Nothing was changed.'),
    'can_be_dropped?': list({ type: 'string' }, 'Fingerprints.'),
  }),
);

export const CONSENTS = named(
  'Consents',
  object({
    items: {
      type: 'array',
      items: object({
        client_id: text('The client.'),
        entries: {
          type: 'array',
          items: object({
            scopes: { type: 'array', items: { type: 'string' } },
            resources: { type: 'array', items: { type: 'string' } },
            claims: { type: 'array', items: { type: 'string' } },
            authorization_details: { type: 'array', items: { type: 'object' } },
            given_at: TIME,
          }),
        },
      }),
    },
  }),
);

// ── Groups and scopes ─────────────────────────────────────────────────────────────────────────────────────

const groupName = text('The name, which is fixed.', { minLength: 1, maxLength: 128 });
const description = text('What the group is for.', { maxLength: MAX_DESCRIPTION });
const ABOUT_POLICY = 'What a sign-in of a member needs, if the server needs less.';
const policy = { enum: SIGN_IN_POLICIES, description: ABOUT_POLICY };

export const GROUP = named(
  'Group',
  object({
    name: groupName,
    description,
    'sign_in_policy?': policy,
    members: count('Number of members.'),
    created_at: TIME,
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
    changed: flag('Whether the user was not in this state before.'),
    'revoked?': list({ type: 'string' }, 'Clients whose tokens for the user were revoked.'),
    warnings: WARNINGS,
  }),
);

const texts = {
  type: 'object',
  description: 'name and description, also with a language tag, such as name#de.',
  properties: { name: { type: 'string' }, description: { type: 'string' } },
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
  description: 'Texts to set. A text that is null is removed.',
  properties: { name: { type: 'string' }, description: { type: ['string', 'null'] } },
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
      description: 'The secrets to which the state refers, by client ID. They are stored as hashes.',
      additionalProperties: { ...newSecret, description: 'The secret of the client.' },
    },
    'prune?': flag('Removes what the sections of the state omit, and the tokens of removed clients.'),
  }),
);
const plan = {
  changes: {
    type: 'array',
    description: 'In the order in which they are made.',
    items: object({
      action: { enum: ['add', 'change', 'remove'] },
      kind: { enum: ['group', 'client', 'scope'] },
      name: text('The name of the group, the client ID, or the scope.'),
      members: {
        type: 'array',
        items: object({
          name: text('What changes, such as redirect_uris or members added.'),
          'before?': { description: 'Absent if it is new.' },
          'after?': { description: 'Absent if it is removed.' },
        }),
      },
    }),
  },
  unchanged: count('Groups, clients and texts that already are as wanted.'),
};
export const STATE_PLAN = named('StatePlan', object(plan));
export const APPLIED_STATE = named('AppliedState', object({ ...plan, warnings: WARNINGS }));

// ── Keys, tokens, events, configuration ───────────────────────────────────────────────────────────────────

const algorithm = { enum: SIGNING_ALGORITHMS };

export const KEYS = named(
  'Keys',
  object({
    items: {
      type: 'array',
      items: object({
        kid: text('The key ID.'),
        algorithm,
        status: { enum: ['next', 'current', 'retired'] },
        created_at: TIME,
        'retired_at?': TIME,
      }),
    },
  }),
);
export const KEY_ROTATION = named(
  'KeyRotation',
  object({
    'algorithm?': { ...algorithm, description: 'Default: all.' },
    'now?': flag('Rotates even if some clients do not know the next key yet and reject its signatures.'),
  }),
);
export const ROTATED_KEYS = named(
  'RotatedKeys',
  object({
    items: { type: 'array', items: object({ algorithm, kid: text('The key that signs now.') }) },
  }),
);

const token = text('The token.', { minLength: 1, maxLength: 16_384 });

export const TOKEN = named('Token', object({ token }));
export const EXPLANATION = named(
  'Explanation',
  object({
    kind: {
      enum: ['access_token', 'refresh_token', 'authorization_code', 'id_token', 'logout_token', 'unknown'],
    },
    active: flag('Whether the token is active.'),
    'reason?': text('Why it is not: a reason code.'),
    'explanation?': text('The reason in a sentence.'),
    'since?': TIME,
    'record?': object(
      {
        id: text('The jti of a JWT, or the digest of an opaque token.'),
        client_id: text('The client.'),
        'sub?': sub,
        'username?': text('The username.'),
        scopes: { type: 'array', items: { type: 'string' } },
        'resources?': { type: 'array', items: { type: 'string' } },
        'cnf?': { type: 'object', description: 'What the token is bound to.' },
        issued_at: TIME,
        'expires_at?': TIME,
        'grant_id?': { type: 'string' },
        'session_id?': { type: 'string' },
        'family_id?': { type: 'string' },
        'pair_id?': { type: 'string' },
        'superseded_at?': TIME,
        'successor_id?': { type: 'string' },
        'redeemed_at?': TIME,
        'revoked_at?': TIME,
      },
      { description: 'What is stored.' },
    ),
    'claims?': { type: 'object', description: 'Claims of a JWT whose signature is valid.' },
  }),
);

export const REVOCATION = named(
  'Revocation',
  object({ token, 'dry_run?': flag('Only says whether the token is active.') }),
);
export const REVOKED_TOKEN = named(
  'RevokedToken',
  object({
    revoked: flag('Whether something was revoked.'),
    was_active: flag('Whether the token was active before.'),
    'token_id?': text('The ID of the revoked token.'),
    'reason?': text('Why nothing was revoked: a reason code.'),
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
    'dry_run?': flag('Only counts. Use it first.'),
    'count?': flag('Counts before it revokes. Reads all rows.'),
  }),
  description: 'Exactly one of sub, client_id, grant_id and issued_before.',
  oneOf: ['sub', 'client_id', 'grant_id', 'issued_before'].map((name) => ({ required: [name] })),
});
export const REVOKED_TOKENS = named(
  'RevokedTokens',
  object({
    revoked: flag('Whether something was revoked.'),
    'active?': count('Tokens that were active before, if they were counted.'),
  }),
);

export const EVENT_TYPE = { enum: EVENT_TYPES };
export const AUDIT_EVENTS = page(
  'AuditEvents',
  named(
    'AuditEvent',
    object({
      number: { type: 'integer', minimum: 1 },
      at: TIME,
      type: EVENT_TYPE,
      target: text(
        'The client, subject, key, session, grant, token or group. Tokens that were issued together are separated by spaces.',
      ),
      actor: text(
        'Who acted, such as cli, server, user:SUBJECT, client:ID, or api: with the percent-encoded client ID.',
      ),
      'address?': text('The IP address of the request.'),
      'client_id?': text('The client that the event concerns.'),
      'subject?': text('The user that the event concerns.'),
      'reason?': text('Why or how, as a code.'),
      'request_id?': text('The X-Request-Id of the response.'),
    }),
  ),
);

export const EVENTS = page(
  'Events',
  named(
    'Event',
    object({
      number: { type: 'integer', minimum: 1 },
      at: TIME,
      type: EVENT_TYPE,
      target: text('The client, subject, key, session, grant, token or group.'),
      'actor?': text('Who acted, such as cli, user, or api: with the percent-encoded client ID.'),
    }),
  ),
);

export const CONFIGURATION = named(
  'Configuration',
  object({
    items: {
      type: 'array',
      items: object({
        option: text('The name, as in the config file.'),
        value: { description: 'null if it is not set and has no default. A secret is only “set”.' },
      }),
    },
  }),
);
export const HEALTH = named(
  'Health',
  object({
    status: { enum: ['ok', 'unavailable'] },
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
    type: { type: 'string', format: 'uri-reference' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: text('The stable name of the problem.'),
    detail: { type: 'string' },
    advice: text('What to do about it with the command line.'),
    errors: list(
      object({
        in: text('JSON Pointer in the body, or the name of a parameter.'),
        detail: { type: 'string' },
      }),
      'What is wrong with which value.',
    ),
  },
});
