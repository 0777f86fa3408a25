import { authenticationMethodsOf } from '@grantd/core';
import { type Command, Option } from 'commander';
import type { ClientView } from '../admin/client_documents.ts';
import { labelled } from '../admin/command_form.ts';
import type { Document } from '../admin/table.ts';
import { addClientFlags, clientInWords } from './client_flags.ts';
import { addPruneCommand } from './client_prune.ts';
import { changeOf, membersOfNew } from './client_registration.ts';
import { collect } from './command.ts';
import { BadUsage } from './exit.ts';
import { operationCommands } from './operation_commands.ts';

export function clientCommands(): Command {
  const group = operationCommands('client', 'manage clients: applications and APIs', {
    addClient: {
      flags: (command) =>
        addClientFlags(command).option(
          '--public',
          'register a public client, which cannot keep a secret, such as a single-page or mobile application',
        ),
      input: (flags, { client_id: id = '' }) => membersOfNew(id, flags),
      inWords: clientInWords,
    },
    updateClient: {
      flags: (command) =>
        addClientFlags(command)
          .addOption(
            new Option(
              '--allow-everyone',
              'let all users use the client again, as with --unset allow-group',
            ).helpGroup('The client:'),
          )
          .option(
            '--unset <SETTING>',
            'reset this setting, such as logo-uri, to its default; repeatable',
            collect,
          ),
      input: changeOf,
      inWords: clientInWords,
    },
    getClient: { lines: linesOf },
    rotateClientSecret: {
      flags: (command) => command.option('--now', 'end the old secret at once'),
      input({ now }, { overlap }) {
        if (now && overlap !== undefined) throw new BadUsage('--now means no overlap: omit --overlap');
        return now ? { overlap: 0 } : {};
      },
      inWords: clientInWords,
    },
  });
  addPruneCommand(group);
  return group;
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

/** What is printed of a client. `--json` prints all of it. */
function linesOf(client: Document<'getClient'>): readonly string[] {
  const { client_id: id, client_name: name, type, secrets = [], ...others } = client;
  const { registered_itself: isSelfRegistered, disabled_at: disabledAt, jwks, ...document } = others;
  const { redirect_uris: redirectUris, grant_types: grants, scope = '', resource, ...rest } = document;
  const { response_types: _, token_endpoint_auth_method: method, ...settings } = rest;
  const rows = Object.entries(settings).map(([setting, value]) => [labelOf(setting), textOf(value)]);
  return labelled({
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
      secrets.map((secret, index) => [index === 0 ? 'secret' : `secret ${index + 1}`, secretInWords(secret)]),
    ),
    ...(jwks !== undefined && { jwks: jwks.keys.map(keyInWords).join(', ') }),
    ...Object.fromEntries(rows),
    registered: isSelfRegistered ? 'by itself' : undefined,
    disabled: disabledAt,
  });
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
