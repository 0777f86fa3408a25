import type { NewClient } from '@grantd/core';
import { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { Refused } from '../instance/refused.ts';
import { removeClient, rotateSecret, setDisabled } from './client_access.ts';
import { requireKnownApis, warnOfForeignScopes } from './client_apis.ts';
import { addClientFlags, withoutMembers } from './client_flags.ts';
import {
  type ClientAddFlags,
  hasSecret,
  registrationOf,
  warnOfMissingPkce,
  warnOfUnreadableName,
} from './client_registration.ts';
import {
  lifetimeOf,
  makeRegistrationToken,
  type RegistrationTokenFlags,
} from './client_registration_token.ts';
import {
  overlapOf,
  printSecret,
  type RotationFlags,
  secretFor,
  type WantedSecret,
  wantedSecret,
} from './client_secrets.ts';
import { described, showClient } from './client_show.ts';
import { type ClientUpdateFlags, changeOf, updateClient } from './client_update.ts';
import { collect, databaseFlags } from './database_flags.ts';
import { printList } from './output.ts';
import { requireClient } from './require_client.ts';
import { type CommandParts, withInstance } from './with_instance.ts';

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
  const secret = hasSecret(registration) ? await secretFor(parts, wanted) : undefined;
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
