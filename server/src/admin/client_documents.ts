// Documents of clients and their schemas.

import {
  type ClientDocument,
  type ClientRecord,
  documentOf,
  isConfidential,
  MEMBER_NAMES,
  type MemberName,
  memberOf,
} from '@grantd/core';
import { MEMBER_TEXTS } from '@grantd/core/options';
import { CLIENT_PLAN } from './client_consequences.ts';
import { isSettable, type Members, schemaOfKind } from './client_metadata.ts';
import { MAX_OVERLAP, MAX_REGISTRATION_TOKEN_LIFETIME } from './client_rules.ts';
import {
  flag,
  integer,
  list,
  named,
  object,
  oneOf,
  optional,
  optionalTime,
  page,
  type Schema,
  text,
  texts,
  time,
  type ValueOf,
  WARNINGS,
  whole,
} from './schema.ts';

// ── Schemas ───────────────────────────────────────────────────────────────────────────────────────────────

/** The members of client metadata, as properties of a schema. */
function metadataProperties(names: readonly MemberName[], isNullable = false): object {
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
function translations(isNullable = false): object {
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
  type: oneOf(['confidential', 'public'], 'confidential: the client authenticates. public: it does not.'),
  registered_itself: flag('Whether the client registered itself.'),
  'document_valid_at?': time(
    'When the metadata document of the client was last found valid. Absent if the client ID is not the URL of one.',
  ),
  'disabled_at?': time('When the client was disabled.'),
  'secrets?': list(
    secretState,
    'Data about each secret of the client, the newest first. The secrets themselves are never shown.',
  ),
} as const;

/** The state of a client and its metadata, in one object. */
function withMetadata<S extends object>(state: Schema<S>): Schema<S & ClientDocument> {
  const form: Readonly<Record<string, unknown>> = state;
  return {
    ...form,
    properties: { ...Object(form.properties), ...metadataProperties(MEMBER_NAMES) },
    patternProperties: translations(),
  };
}

export const CLIENT = named('Client', withMetadata(object(clientState)));
export type ClientView = ValueOf<typeof CLIENT>;
export const CLIENTS = page('Clients', CLIENT);
export const CHANGED_CLIENT = named(
  'ChangedClient',
  withMetadata(
    object({
      ...clientState,
      'client_secret?': clientSecret,
      'plan?': CLIENT_PLAN,
      warnings: WARNINGS,
    }),
  ),
);

/** A secret that an operator chooses. */
export const newSecret = text(
  'The client’s secret, if you choose it yourself. Default: the server generates one.',
  { pattern: '^[ -~]+$', minLength: 8, maxLength: 1000 },
);

export const NEW_CLIENT = named<
  Schema<Members & { readonly client_id: string; readonly client_secret?: string }>
>('NewClient', {
  type: 'object',
  required: ['client_id'],
  properties: { client_id: clientId, client_secret: newSecret, ...metadataProperties(SETTABLE) },
  patternProperties: translations(),
  additionalProperties: false,
});

export const CLIENT_CHANGE = named<Schema<Members>>('ClientChange', {
  type: 'object',
  description:
    'The members of the client’s metadata to change. A member that is null is reset to its default (RFC 7396).',
  minProperties: 1,
  properties: {
    ...metadataProperties(SETTABLE, true),
    set_by_operator: {
      type: 'null',
      description: 'Lets a client that registered itself change again what an operator has set.',
    },
  },
  patternProperties: translations(true),
  additionalProperties: false,
});

export const SECRET_ROTATION = named(
  'SecretRotation',
  object({
    'client_secret?': newSecret,
    'overlap?': integer(
      'Number of seconds for which the old secret still works. Default: one day. With 0, it stops working at once.',
      { minimum: 0, maximum: MAX_OVERLAP },
    ),
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

export const REGISTRATION_TOKEN_ORDER = named(
  'RegistrationTokenOrder',
  object({
    'lifetime?': integer('Lifetime of the token in seconds. Default: one day.', {
      minimum: 1,
      maximum: MAX_REGISTRATION_TOKEN_LIFETIME,
    }),
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

const UNUSED_CLIENT = object({
  client_id: text('Identifier of the client.'),
  'client_name?': text('Name of the client.'),
  unused_since: time('When the client was last in use.'),
});
export type UnusedClientView = ValueOf<typeof UNUSED_CLIENT>;
export const UNUSED_CLIENTS = whole(
  'UnusedClients',
  UNUSED_CLIENT,
  'The unused clients, those unused for longest first.',
);
export const UNUSED_CLIENTS_ORDER = named(
  'UnusedClientsOrder',
  object({
    client_ids: texts('Identifiers of the clients to remove.', {
      items: { type: 'string', minLength: 1, maxLength: 200 },
      ...{ minItems: 1, maxItems: 500 },
    }),
    unused_since: time('Clients that were in use after this time stay.'),
  }),
);
export const REMOVED_CLIENTS = named(
  'RemovedClients',
  object({ removed: texts('Identifiers of the clients that were removed.') }),
);

// ── Documents ─────────────────────────────────────────────────────────────────────────────────────────────

export function clientView(client: ClientRecord): ClientView {
  const { registrationTokenDigest, documentValidAt, disabledAtMs, secrets } = client;
  const shown = secrets?.map(({ createdAtMs, expiresAt, lastUsedAtMs, serverSecret }) => ({
    ...optionalTime('created_at', createdAtMs),
    ...optionalTime('ends_at', expiresAt === undefined ? undefined : expiresAt * 1000),
    ...optionalTime('last_used_at', lastUsedAtMs),
    ...optional('server_secret', serverSecret),
  }));
  return {
    client_id: client.id,
    ...documentOf(client),
    type: isConfidential(client) ? 'confidential' : 'public',
    registered_itself: registrationTokenDigest !== undefined,
    ...optionalTime('document_valid_at', documentValidAt === undefined ? undefined : documentValidAt * 1000),
    ...optionalTime('disabled_at', disabledAtMs),
    ...optional('secrets', shown),
  };
}

/** The version of a client. The use of a secret and a document that is still valid make no other version. */
export function clientVersion({ documentValidAt: _, ...client }: ClientRecord): object {
  const secrets = client.secrets?.map(({ lastUsedAtMs: _, ...secret }) => secret);
  return clientView({ ...client, ...optional('secrets', secrets) });
}
