import {
  authenticationMethodsOf,
  type ClientRecord,
  type ClientSecretRecord,
  documentOf,
  hasSecret,
  isConfidential,
  isLiveSecret,
  type NewClient,
  rotatedSecrets,
} from '@grantd/core';
import { seconds } from '@grantd/core/options';
import { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { Refused } from '../config/refused.ts';
import { addClientFlags, withoutMembers } from './client_flags.ts';
import {
  type ClientAddFlags,
  type ClientUpdateFlags,
  changeOf,
  overlapOf,
  printSecret,
  type RotationFlags,
  registrationOf,
  requireKnownApis,
  secretFor,
  updateClient,
  type WantedSecret,
  wantedSecret,
  warnOfForeignScopes,
  warnOfMissingPkce,
  warnOfUnreadableName,
} from './client_registration.ts';
import {
  type CommandParts,
  collect,
  databaseFlags,
  labelled,
  type Output,
  printList,
  printOne,
  requireClient,
  timeOf,
  withInstance,
} from './command.ts';
import { BadUsage } from './exit.ts';

export function clientCommands(): Command {
  const group = new Command('client').description('applications and APIs');
  addClientFlags(
    databaseFlags(
      group.command('add <ID>').description('register a client; a generated secret is printed once'),
      ['create'],
    ),
  )
    .option('--secret-stdin', 'take the secret from standard input instead of generating one')
    .option('--public', 'a client that cannot keep a secret, such as a single-page or mobile application')
    .addHelpText(
      'after',
      `
Without --grant: authorization_code and refresh_token where there is a --redirect-uri, none for an API (--resource),
else client_credentials.

  grantd client add shop --redirect-uri https://shop.example/callback --scope openid --scope email
  grantd client add orders-api --resource https://orders.example --api-scope orders:read --api-scope orders:write
  grantd client add reports --scope orders:read --api https://orders.example`,
    )
    .action(async (id: string, flags: ClientAddFlags) => {
      const registration = await registrationOf(id, flags);
      const wanted = await wantedSecret(flags);
      await withInstance(withoutMembers(flags), 'may_make_database', (parts) =>
        addClient(parts, registration, wanted),
      );
    });
  addClientFlags(
    databaseFlags(
      group.command('update <ID>').description('change settings of a client; its tokens live on'),
    ),
  )
    .option(
      '--unset <SETTING>',
      'a setting that is to be the default again, as logo-uri; repeatable',
      collect,
    )
    .addHelpText(
      'after',
      `
A repeatable setting is replaced as a whole. A client that shall authenticate with a secret, and has none, gets one,
which is printed once.

  grantd client update shop --logo-uri https://shop.example/logo.png --localized 'client_name#de=Laden'
  grantd client update reports --auth-method private_key_jwt --jwks-uri https://reports.example/jwks`,
    )
    .action(async (id: string, flags: ClientUpdateFlags) => {
      const change = changeOf(flags);
      await withInstance(withoutMembers(flags), 'needs_database', (parts) => updateClient(parts, id, change));
    });
  databaseFlags(
    group.command('remove <ID>').description('remove a client; all its tokens are dead, at once'),
  ).action((id: string, flags: GivenFlags) =>
    withInstance(flags, 'needs_database', (parts) => removeClient(parts, id)),
  );
  databaseFlags(
    group
      .command('registration-token')
      .description('print a token with which clients can register themselves (--registration token)'),
  )
    .option('--lifetime <SECONDS>', 'how long it is valid; default: one day, at most 90 days')
    .option('--once', 'for one client only')
    .action(async (flags: RegistrationTokenFlags) => {
      const lifetime = lifetimeOf(flags);
      await withInstance(flags, 'needs_database', (parts) =>
        makeRegistrationToken(parts, lifetime, flags.once === true),
      );
    });
  databaseFlags(group.command('list').description('all clients')).action((flags: GivenFlags) =>
    withInstance(flags, 'needs_database', listClients),
  );
  databaseFlags(group.command('show <ID>').description('one client')).action(
    (id: string, flags: GivenFlags) =>
      withInstance(flags, 'needs_database', async (parts) =>
        showClient(parts, await requireClient(parts, id)),
      ),
  );
  databaseFlags(
    group.command('disable <ID>').description('refuse a client and end all its tokens, at once'),
  ).action((id: string, flags: GivenFlags) =>
    withInstance(flags, 'needs_database', (parts) => setDisabled(parts, id, true)),
  );
  databaseFlags(
    group.command('enable <ID>').description('let a client in again; its former tokens stay dead'),
  ).action((id: string, flags: GivenFlags) =>
    withInstance(flags, 'needs_database', (parts) => setDisabled(parts, id, false)),
  );
  databaseFlags(
    group
      .command('rotate-secret <ID>')
      .description('add a new secret, which is printed once, and let the old one expire'),
  )
    .option('--secret-stdin', 'take the secret from standard input instead of generating one')
    .option('--overlap <SECONDS>', 'how long the old secret still works; a day by default, 90 days at most')
    .option('--now', 'the old secret stops working at once')
    .addHelpText(
      'after',
      `
A client has at most two secrets that work: a further rotation ends the oldest one.

  grantd client rotate-secret shop --overlap 3600`,
    )
    .action(async (id: string, flags: RotationFlags) => {
      const overlap = overlapOf(flags);
      const wanted = await wantedSecret(flags);
      await withInstance(flags, 'needs_database', (parts) => rotateSecret(parts, id, wanted, overlap));
    });
  return group;
}

async function addClient(parts: CommandParts, registration: NewClient, wanted: WantedSecret): Promise<void> {
  const { id } = registration;
  await requireKnownApis(parts, registration.metadata?.apis);
  const secret = hasSecret(registration.metadata) ? await secretFor(parts, wanted) : undefined;
  const isAdded = await parts.storage.clients.add({
    ...registration,
    ...(secret !== undefined && { secrets: [secret.stored] }),
  });
  if (!isAdded)
    throw new Refused(`there is a client ${id} already: choose another ID, or see grantd client show ${id}.`);
  if (registration.scopes.length === 0 && registration.grantTypes.length > 0)
    console.error('grantd: this client can obtain no scope, since there was no --scope');
  await warnOfForeignScopes(parts, registration);
  const { jwks, jwks_uri: keysUri, token_endpoint_auth_method: method } = registration.metadata ?? {};
  if (secret !== undefined && method === undefined && (jwks ?? keysUri) !== undefined)
    console.error(
      `grantd: ${id} authenticates with a secret; for its keys to do so: grantd client update ${id} --auth-method private_key_jwt`,
    );
  warnOfUnreadableName(registration);
  warnOfMissingPkce(registration);
  printSecret(parts, id, secret?.toPrint, `added ${id}`);
}

async function listClients(parts: CommandParts): Promise<void> {
  const clients = (await parts.storage.clients.list()).map(described);
  printList(parts, clients, {
    ID: ({ id }) => id,
    NAME: ({ name }) => name ?? '',
    TYPE: ({ type }) => type,
    GRANTS: ({ grantTypes }) => grantTypes.join(' '),
    REGISTERED: ({ registeredItself }) => (registeredItself ? 'by itself' : ''),
    DISABLED: ({ disabledAt }) => disabledAt ?? '',
  });
}

/** Somebody else can change the client between the lookup and the write. */
const MOST_ATTEMPTS = 5;

/**
 * Adds a secret and gives the one before it an end.
 * @param overlap seconds for which the one before still authenticates
 * @throws {Refused} the client has no secret, or others change it again and again; no new one was stored or printed
 */
export async function rotateSecret(
  parts: CommandParts,
  id: string,
  wanted: WantedSecret,
  overlap: number,
): Promise<void> {
  const secret = await secretFor(parts, wanted);
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const client = await requireClient(parts, id);
    if (client.secrets === undefined)
      throw new Refused(`${id} is a public client, or authenticates with keys: it has no secret.`);
    const secrets = rotatedSecrets(client.secrets, secret.stored, { nowMs: Date.now(), overlap });
    if (!(await parts.storage.clients.replaceSecrets(id, secrets, client))) continue;
    const endsAt = secrets[1]?.expiresAt;
    const end = endsAt === undefined ? 'at once' : `at ${timeOf(endsAt * 1000)}`;
    return printSecret(parts, id, secret.toPrint, `${id} has a new secret; the old one ends ${end}`);
  }
  throw new Refused(`${id} is being changed by others; its secrets were not changed: try again.`);
}

/** @throws {Refused} there is no such client */
export async function removeClient(parts: CommandParts, id: string): Promise<void> {
  await requireClient(parts, id);
  if (!(await parts.storage.clients.remove(id)))
    throw new Refused(`somebody else has removed ${id} just now.`);
  printOne(parts, { id, removed: true }, [`${id} is removed; all its tokens are dead`]);
}

/** @throws {Refused} there is no such client */
export async function setDisabled(parts: CommandParts, id: string, disabled: boolean): Promise<void> {
  await requireClient(parts, id);
  await parts.storage.setDisabled('client', id, disabled);
  // Removed just now, it was neither disabled nor enabled.
  await requireClient(parts, id);
  printOne(parts, { id, disabled }, [
    disabled ? `${id} is disabled; all its tokens are dead` : `${id} is enabled`,
  ]);
}

/** A client as it may be shown: without the digests of what it holds. */
export function described(client: ClientRecord) {
  const {
    secrets,
    registrationTokenDigest,
    generation: _,
    revision: __,
    registrationRevision: ___,
    disabledAtMs,
    ...rest
  } = client;
  const disabledAt = timeOf(disabledAtMs);
  return {
    ...rest,
    type: isConfidential(client) ? 'confidential' : 'public',
    ...(secrets !== undefined && { secrets: secrets.map(describedSecret) }),
    ...(registrationTokenDigest !== undefined && { registeredItself: true }),
    ...(disabledAt !== undefined && { disabledAt }),
  };
}

/** A secret as it may be shown: without its hash. */
function describedSecret({ serverSecret, createdAtMs, expiresAt, lastUsedAtMs }: ClientSecretRecord) {
  return {
    ...(createdAtMs !== undefined && { createdAt: timeOf(createdAtMs) }),
    ...(expiresAt !== undefined && { endsAt: timeOf(expiresAt * 1000) }),
    ...(lastUsedAtMs !== undefined && { lastUsedAt: timeOf(lastUsedAtMs) }),
    ...(serverSecret !== undefined && { serverSecret }),
  };
}

/** `made 2026-…, last used 2026-…, ends 2026-…` */
function secretInWords(secret: ClientSecretRecord): string {
  const { createdAt, endsAt, lastUsedAt } = describedSecret(secret);
  const isOver = !isLiveSecret(secret, Date.now());
  return [
    createdAt === undefined ? 'made at an unknown time' : `made ${createdAt}`,
    lastUsedAt === undefined ? 'no use recorded' : `last used ${lastUsedAt}`,
    endsAt === undefined ? 'no end' : `${isOver ? 'ended' : 'ends'} ${endsAt}`,
  ].join(', ');
}

function showClient(output: Output, client: ClientRecord): void {
  const { id, type, registeredItself, disabledAt } = described(client);
  const {
    redirect_uris: redirectUris,
    grant_types: grants,
    client_name: name,
    ...others
  } = documentOf(client);
  const { response_types: _, scope, resource, ...settings } = others;
  const rows = Object.entries(settings).map(([setting, value]) => [
    setting.replaceAll('_', ' ').replace(/ uri(s?)$/, ' URI$1'),
    setting === 'jwks' ? client.metadata?.jwks?.keys.map(keyInWords).join(', ') : textOf(value),
  ]);
  printOne(
    output,
    described(client),
    labelled({
      id,
      name,
      type,
      grants: grants?.join(' '),
      scopes: scope ?? '',
      'redirect URIs': redirectUris?.join(' ') || undefined,
      resource,
      // What nobody said is no setting.
      'token endpoint auth method': authenticationMethodsOf(client).join(', '),
      ...Object.fromEntries(
        (client.secrets ?? []).map((one, index) => [
          index === 0 ? 'secret' : `secret ${index + 1}`,
          secretInWords(one),
        ]),
      ),
      ...Object.fromEntries(rows),
      registered: registeredItself && 'by itself',
      disabled: disabledAt,
    }),
  );
}

interface Shown {
  readonly kty?: string | undefined;
  readonly alg?: string | undefined;
  readonly kid?: string | undefined;
}

/** `ES256 first`; `--json` tells the rest. */
function keyInWords({ kty, alg, kid }: Shown): string {
  return [alg ?? kty, kid].filter((word) => word !== undefined).join(' ');
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(' ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

interface RegistrationTokenFlags extends GivenFlags {
  readonly lifetime?: string;
  readonly once?: true;
}

/** Seconds: a day. */
const USUAL_LIFETIME = 24 * 60 * 60;

/** Seconds: ninety days, since what was given away cannot be taken back earlier. */
const LONGEST_LIFETIME = 90 * 24 * 60 * 60;

/** @throws {BadUsage} no such lifetime */
function lifetimeOf({ lifetime }: RegistrationTokenFlags): number {
  if (lifetime === undefined) return USUAL_LIFETIME;
  const kind = seconds(1, LONGEST_LIFETIME);
  const read = kind.fromText(lifetime);
  if (read === undefined) throw new BadUsage(`--lifetime: expected ${kind.expected}`);
  return read;
}

/** Prints a new initial access token, by which a client may register itself (RFC 7591 §3). */
async function makeRegistrationToken(
  parts: CommandParts,
  lifetime: number,
  isForOne: boolean,
): Promise<void> {
  const server = await parts.server();
  const token = await server.newInitialAccessToken({ lifetime, isForOne });
  const expiresAt = timeOf(Date.now() + lifetime * 1000);
  if (parts.configuration.settings.registration !== 'token')
    console.error('grantd: the server takes it while it runs with --registration token');
  printOne(parts, { token, expiresAt, isForOne }, [token]);
}
