import { type ClientRecord, GRANT_TYPES, type NewClient } from '@grantd/core';
import { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { Refused } from '../instance/refused.ts';
import { type ClientAddFlags, registrationOf } from './client_registration.ts';
import { collect, databaseFlags } from './database_flags.ts';
import { BadUsage } from './exit.ts';
import { labelled, type Output, printList, printOne, timeOf } from './output.ts';
import { readStandardInput } from './standard_input.ts';
import { type CommandParts, withInstance } from './with_instance.ts';

const LEAST_SECRET_CHARACTERS = 8;

export function clientCommands(): Command {
  const group = new Command('client').description('applications and APIs');
  databaseFlags(
    group.command('add <ID>').description('register a client; a generated secret is printed once'),
  )
    .option('--secret-stdin', 'take the secret from standard input instead of generating one')
    .option('--public', 'a client that cannot keep a secret, such as a single-page or mobile application')
    .option('--name <NAME>', 'what people see')
    .option('--grant <GRANT>', `${GRANT_TYPES.join(', ')}; repeatable`, collect)
    .option('--scope <SCOPE>', 'a scope that it may obtain; repeatable', collect)
    .option('--redirect-uri <URI>', 'where people are sent back to; repeatable', collect)
    .option('--resource <URI>', 'the API that this client is')
    .addHelpText(
      'after',
      `
Without --grant: authorization_code and refresh_token where there is a --redirect-uri, none for an API (--resource),
else client_credentials.

  grantd client add shop --redirect-uri https://shop.example/callback --scope openid --scope email
  grantd client add reports --scope reports:read`,
    )
    .action(async (id: string, flags: ClientAddFlags) => {
      const registration = registrationOf(id, flags);
      const brought = await broughtSecret(flags);
      await withInstance(flags, 'may_make_database', (parts) =>
        addClient(parts, registration, flags.public ? 'none' : (brought ?? 'generate')),
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
      .description('replace a secret; the new one is printed once, the old one is dead'),
  )
    .option('--secret-stdin', 'take the secret from standard input instead of generating one')
    .action(async (id: string, flags: ClientAddFlags) => {
      const brought = await broughtSecret(flags);
      await withInstance(flags, 'needs_database', (parts) => rotateSecret(parts, id, brought ?? 'generate'));
    });
  return group;
}

/** A client's secret: brought along, to be generated, or none where it is public. */
type WantedSecret = { readonly brought: string } | 'generate' | 'none';

async function addClient(parts: CommandParts, registration: NewClient, wanted: WantedSecret): Promise<void> {
  const { id } = registration;
  const secret = wanted === 'none' ? undefined : await secretFor(parts, wanted);
  const isAdded = await parts.storage.clients.add({
    ...registration,
    ...(secret !== undefined && { secretHash: secret.hash }),
  });
  if (!isAdded)
    throw new Refused(`there is a client ${id} already: choose another ID, or see grantd client show ${id}.`);
  if (registration.scopes.length === 0 && registration.grantTypes.length > 0)
    console.error('grantd: this client can obtain no scope, since there was no --scope');
  printSecret(parts, id, secret?.toPrint, `added ${id}`);
}

async function rotateSecret(
  parts: CommandParts,
  id: string,
  wanted: Exclude<WantedSecret, 'none'>,
): Promise<void> {
  const client = await requireClient(parts, id);
  if (client.secretHash === undefined) throw new Refused(`${id} is a public client: it has no secret.`);
  const secret = await secretFor(parts, wanted);
  await parts.storage.clients.replaceSecretHash(id, secret.hash);
  printSecret(parts, id, secret.toPrint, `${id} has a new secret`);
}

/** A secret brought along is not printed: whoever brought it has it. */
async function secretFor(
  parts: CommandParts,
  wanted: Exclude<WantedSecret, 'none'>,
): Promise<{ readonly hash: string; readonly toPrint?: string }> {
  const server = await parts.server();
  if (wanted !== 'generate') return { hash: await server.hashClientSecret(wanted.brought) };
  const secret = server.newClientSecret();
  return { hash: await server.hashClientSecret(secret), toPrint: secret };
}

async function broughtSecret({ secretStdin }: ClientAddFlags): Promise<{ brought: string } | undefined> {
  if (!secretStdin) return undefined;
  const brought = await readStandardInput('the secret');
  if (!/^[\x20-\x7E]+$/.test(brought) || brought.length < LEAST_SECRET_CHARACTERS)
    throw new BadUsage(`--secret-stdin: expected at least ${LEAST_SECRET_CHARACTERS} ASCII characters`);
  return { brought };
}

function printSecret(output: Output, id: string, secret: string | undefined, done: string): void {
  const lines = secret === undefined ? [done] : [`${done}; its secret, which is shown this once:`, secret];
  printOne(output, { id, ...(secret !== undefined && { secret }) }, lines);
}

async function listClients(parts: CommandParts): Promise<void> {
  const clients = (await parts.storage.clients.list()).map(described);
  printList(parts, clients, {
    ID: ({ id }) => id,
    NAME: ({ name }) => name ?? '',
    TYPE: ({ type }) => type,
    GRANTS: ({ grantTypes }) => grantTypes.join(' '),
    DISABLED: ({ disabledAt }) => disabledAt ?? '',
  });
}

function showClient(output: Output, client: ClientRecord): void {
  const { id, name, type, grantTypes, scopes, redirectUris, resource, disabledAt } = described(client);
  printOne(
    output,
    described(client),
    labelled({
      id,
      name,
      type,
      grants: grantTypes.join(' '),
      scopes: scopes.join(' '),
      'redirect URIs': redirectUris.join(' '),
      resource,
      disabled: disabledAt,
    }),
  );
}

async function setDisabled(parts: CommandParts, id: string, disabled: boolean): Promise<void> {
  await requireClient(parts, id);
  await parts.storage.setDisabled('client', id, disabled);
  printOne(parts, { id, disabled }, [
    disabled ? `${id} is disabled; all its tokens are dead` : `${id} is enabled`,
  ]);
}

async function requireClient({ storage }: CommandParts, id: string): Promise<ClientRecord> {
  const client = await storage.clients.get(id);
  if (!client) throw new Refused(`there is no client ${id}: grantd client list shows all.`);
  return client;
}

/** A client as it may be shown: without the hash of its secret. */
function described({ secretHash, generation: _, disabledAtMs, ...client }: ClientRecord) {
  const disabledAt = timeOf(disabledAtMs);
  return {
    ...client,
    type: secretHash === undefined ? 'public' : 'confidential',
    ...(disabledAt !== undefined && { disabledAt }),
  };
}
