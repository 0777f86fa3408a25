import { authenticationMethodsOf } from '@grantd/core';
import { seconds } from '@grantd/core/options';
import { Command, Option } from 'commander';
import * as clients from '../admin/client_rules.ts';
import type { ClientView } from '../admin/clients.ts';
import { all, call } from '../admin/in_process.ts';
import type { Document } from '../admin/table.ts';
import type { GivenFlags } from '../config/configuration.ts';
import { addClientFlags, namingFlags, withoutMembers } from './client_flags.ts';
import { addPruneCommand } from './client_prune.ts';
import {
  type ClientAddFlags,
  type ClientUpdateFlags,
  changeOf,
  membersOfNew,
  overlapOf,
  type RotationFlags,
  wantedSecret,
} from './client_registration.ts';
import {
  type AdministrationParts,
  collect,
  databaseFlags,
  endProgress,
  labelled,
  type Output,
  printList,
  printOne,
  warn,
  withAdministration,
} from './command.ts';
import { BadUsage } from './exit.ts';

export function clientCommands(): Command {
  const group = new Command('client').description('manage clients: applications and APIs');
  addClientFlags(
    databaseFlags(
      group.command('add <ID>').description('register a client. A generated secret is printed only once'),
      ['create'],
    ),
  )
    .option('--secret-stdin', 'read the secret from standard input instead of generating one')
    .option(
      '--public',
      'register a public client, which cannot keep a secret, such as a single-page or mobile application',
    )
    .addHelpText(
      'after',
      `
Without --grant, a client with --redirect-uri may use the grants authorization_code and refresh_token. Without a redirect
URI, an API (--resource) and a public client may use no grant, and any other client may use client_credentials.

  grantd client add shop --redirect-uri https://shop.example/callback --scope openid --scope email
  grantd client add orders-api --resource https://orders.example --api-scope orders:read --api-scope orders:write
  grantd client add reports --scope orders:read --api https://orders.example`,
    )
    .action(async (id: string, flags: ClientAddFlags) => {
      const members = await membersOfNew(id, flags);
      const wanted = await wantedSecret(flags);
      await withAdministration(withoutMembers(flags), 'may_create_database', (parts) =>
        addClient(parts, id, members, wanted),
      );
    });
  addClientFlags(
    databaseFlags(
      group
        .command('update <ID>')
        .description(
          'change settings of a client. Its tokens stay valid, except those of users who may no longer use it',
        ),
    ),
  )
    .addOption(
      new Option(
        '--allow-everyone',
        'let all users use the client again, as with --unset allow-group',
      ).helpGroup('The client:'),
    )
    .option('--unset <SETTING>', 'reset this setting, such as logo-uri, to its default; repeatable', collect)
    .addHelpText(
      'after',
      `
A repeatable flag replaces the whole list, so also pass the values that you want to keep. If the client must authenticate
with a secret after the change, and has none, the command generates one and prints it only once.

  grantd client update shop --logo-uri https://shop.example/logo.png --localized 'client_name#de=Laden'
  grantd client update reports --auth-method private_key_jwt --jwks-uri https://reports.example/jwks`,
    )
    .action(async (id: string, flags: ClientUpdateFlags) => {
      const change = changeOf(flags);
      await withAdministration(withoutMembers(flags), 'needs_database', (parts) =>
        updateClient(parts, id, change),
      );
    });
  databaseFlags(group.command('remove <ID>').description('remove a client and revoke all its tokens at once'))
    .option('--yes', 'required, because this cannot be undone')
    .action((id: string, { yes, ...flags }: ClientRemoveFlags) => {
      if (!yes)
        throw new BadUsage('--yes: required, because a removal cannot be undone (grantd client disable can)');
      return withAdministration(flags, 'needs_database', (parts) => removeClient(parts, id));
    });
  addPruneCommand(group);
  databaseFlags(
    group
      .command('registration-token')
      .description(
        'print a token with which clients can register themselves at a server with --registration token',
      ),
  )
    .option('--lifetime <SECONDS>', 'lifetime of the token. Default: one day; at most 90 days')
    .option('--once', 'let only one client register with the token')
    .action(async (flags: RegistrationTokenFlags) => {
      const lifetime = lifetimeOf(flags);
      await withAdministration(flags, 'needs_database', (parts) =>
        makeRegistrationToken(parts, lifetime, flags.once === true),
      );
    });
  databaseFlags(group.command('list').description('list all clients')).action((flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', listClients),
  );
  databaseFlags(group.command('show <ID>').description('show a client')).action(
    (id: string, flags: GivenFlags) =>
      withAdministration(flags, 'needs_database', async (parts) =>
        showClient(parts, await call(parts.admin, 'getClient', { client_id: id })),
      ),
  );
  databaseFlags(
    group.command('disable <ID>').description('disable a client and revoke all its tokens at once'),
  ).action((id: string, flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', (parts) => setDisabled(parts, id, true)),
  );
  databaseFlags(
    group.command('enable <ID>').description('enable a client again. Its old tokens stay revoked'),
  ).action((id: string, flags: GivenFlags) =>
    withAdministration(flags, 'needs_database', (parts) => setDisabled(parts, id, false)),
  );
  databaseFlags(
    group
      .command('rotate-secret <ID>')
      .description('add a new secret and let the old one expire. The new secret is printed only once'),
  )
    .option('--secret-stdin', 'read the secret from standard input instead of generating one')
    .option('--overlap <SECONDS>', 'how long the old secret still works. Default: one day; at most 90 days')
    .option('--now', 'end the old secret at once')
    .addHelpText(
      'after',
      `
A client has at most two working secrets. If both still work, a further rotation ends the older one at once.

  grantd client rotate-secret shop --overlap 3600`,
    )
    .action(async (id: string, flags: RotationFlags) => {
      const overlap = overlapOf(flags);
      const wanted = await wantedSecret(flags);
      await withAdministration(flags, 'needs_database', (parts) => rotateSecret(parts, id, wanted, overlap));
    });
  return group;
}

async function addClient(
  parts: AdministrationParts,
  id: string,
  members: clients.Members,
  wanted: clients.WantedSecret,
): Promise<void> {
  const given = { ...members, client_id: id, ...suppliedIn(wanted) };
  const added = await namingFlags(() => call(parts.admin, 'addClient', given));
  warn(added.warnings);
  printSecret(parts, added, `added ${id}`);
}

function suppliedIn(wanted: clients.WantedSecret): { readonly client_secret?: string } {
  return wanted === 'generate' ? {} : { client_secret: wanted.supplied };
}

/** @throws {Refused} the client does not exist, or concurrent changes won every attempt */
export async function updateClient(
  parts: AdministrationParts,
  id: string,
  { members, unset }: clients.ClientChange,
): Promise<void> {
  const changes = { ...members, ...Object.fromEntries(unset.map((name) => [name, null])) };
  const updated = await namingFlags(() =>
    call(parts.admin, 'updateClient', { ...changes, client_id: id }),
  ).finally(endProgress);
  warn(updated.warnings);
  printSecret(parts, updated, `updated ${id}`);
}

function printSecret(output: Output, shown: { readonly client_secret?: string }, done: string): void {
  const { client_secret: secret } = shown;
  const lines = secret === undefined ? [done] : [`${done}. Its secret is shown only once:`, secret];
  printOne(output, shown, lines);
}

async function listClients(parts: AdministrationParts): Promise<void> {
  printList(parts, await all(parts.admin, 'listClients', {}), {
    ID: ({ client_id: id }) => id,
    NAME: ({ client_name: name = '' }) => name,
    TYPE: ({ type }) => type,
    GRANTS: ({ grant_types: grants = [] }) => grants.join(' '),
    REGISTERED: ({ registered_itself: isSelfRegistered }) => (isSelfRegistered ? 'by itself' : ''),
    DISABLED: ({ disabled_at: disabledAt = '' }) => disabledAt,
  });
}

/** @throws {Refused} the client has no secret, or concurrent changes won every attempt */
export async function rotateSecret(
  parts: AdministrationParts,
  id: string,
  wanted: clients.WantedSecret,
  overlap: number,
): Promise<void> {
  const order = { client_id: id, overlap, ...suppliedIn(wanted) };
  const rotated = await namingFlags(() => call(parts.admin, 'rotateClientSecret', order));
  const { old_secret_ends_at: endsAt } = rotated;
  const end = endsAt === undefined ? 'at once' : `at ${endsAt}`;
  printSecret(parts, rotated, `${id} has a new secret; the old one ends ${end}`);
}

/** @throws {Refused} there is no such client */
export async function removeClient(parts: AdministrationParts, id: string): Promise<void> {
  await call(parts.admin, 'removeClient', { client_id: id });
  printOne(parts, { client_id: id, removed: true }, [`removed ${id} and revoked all its tokens`]);
}

/** @throws {Refused} there is no such client */
export async function setDisabled(parts: AdministrationParts, id: string, disabled: boolean): Promise<void> {
  const client = await call(parts.admin, disabled ? 'disableClient' : 'enableClient', { client_id: id });
  printOne(parts, client, [disabled ? `disabled ${id} and revoked all its tokens` : `enabled ${id}`]);
}

type SecretState = NonNullable<ClientView['secrets']>[number];

/** `created 2026-…, last used 2026-…, ends 2026-…` */
function secretInWords(
  { created_at: createdAt, last_used_at: lastUsedAt, ends_at: endsAt }: SecretState,
  clock: () => number = Date.now,
): string {
  const isOver = endsAt !== undefined && Date.parse(endsAt) <= clock();
  return [
    createdAt === undefined ? 'created at an unknown time' : `created ${createdAt}`,
    lastUsedAt === undefined ? 'no recorded use' : `last used ${lastUsedAt}`,
    endsAt === undefined ? 'no end' : `${isOver ? 'ended' : 'ends'} ${endsAt}`,
  ].join(', ');
}

function showClient(output: Output, client: Document<'getClient'>): void {
  const { client_id: id, client_name: name, type, secrets = [], ...others } = client;
  const { registered_itself: isSelfRegistered, disabled_at: disabledAt, jwks, ...document } = others;
  const { redirect_uris: redirectUris, grant_types: grants, scope = '', resource, ...rest } = document;
  const { response_types: _, token_endpoint_auth_method: method, ...settings } = rest;
  const rows = Object.entries(settings).map(([setting, value]) => [labelOf(setting), textOf(value)]);
  printOne(
    output,
    client,
    labelled({
      id,
      name,
      type,
      grants: grants?.join(' '),
      scopes: scope,
      'redirect URIs': redirectUris?.join(' ') || undefined,
      resource,
      // Derived, because a default is not stored.
      'token endpoint auth method': method ?? authenticationMethodsOf({}).join(', '),
      ...Object.fromEntries(
        secrets.map((one, index) => [index === 0 ? 'secret' : `secret ${index + 1}`, secretInWords(one)]),
      ),
      ...(jwks !== undefined && { jwks: jwks.keys.map(keyInWords).join(', ') }),
      ...Object.fromEntries(rows),
      registered: isSelfRegistered ? 'by itself' : undefined,
      disabled: disabledAt,
    }),
  );
}

/** The label of a setting, such as `logo URI`. */
function labelOf(setting: string): string {
  return setting === 'sign_in_policy'
    ? 'sign-in policy'
    : setting.replaceAll('_', ' ').replace(/ uri(s?)$/, ' URI$1');
}

interface Shown {
  readonly kty?: string | undefined;
  readonly alg?: string | undefined;
  readonly kid?: string | undefined;
}

/** `ES256 first`. `--json` shows the rest. */
function keyInWords({ kty, alg, kid }: Shown): string {
  return [alg ?? kty, kid].filter((word) => word !== undefined).join(' ');
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(' ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

interface ClientRemoveFlags extends GivenFlags {
  readonly yes?: true;
}

interface RegistrationTokenFlags extends GivenFlags {
  readonly lifetime?: string;
  readonly once?: true;
}

/** @throws {BadUsage} the lifetime is invalid */
function lifetimeOf({ lifetime }: RegistrationTokenFlags): number {
  if (lifetime === undefined) return clients.DEFAULT_REGISTRATION_TOKEN_LIFETIME;
  const kind = seconds(1, clients.MAX_REGISTRATION_TOKEN_LIFETIME);
  const read = kind.fromText(lifetime);
  if (read === undefined) throw new BadUsage(`--lifetime: expected ${kind.expected}`);
  return read;
}

/** Prints a new initial access token, with which a client can register itself (RFC 7591 §3). */
async function makeRegistrationToken(
  parts: AdministrationParts,
  lifetime: number,
  isForOne: boolean,
): Promise<void> {
  const made = await call(parts.admin, 'newRegistrationToken', { lifetime, once: isForOne });
  warn(made.warnings);
  printOne(parts, made, [made.token]);
}
