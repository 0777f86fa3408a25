import { hasSecret } from '@grantd/core';
import { seconds } from '@grantd/core/options';
import {
  type ClientChange,
  DEFAULT_OVERLAP,
  isUsableSecret,
  MAX_OVERLAP,
  type Members,
  registrationFrom,
  SECRET_FORM,
  type WantedSecret,
} from '../admin/client_rules.ts';
import { type GivenFlags, readConfiguration } from '../config/configuration.ts';
import { serverWithoutDatabase } from '../instance/instance.ts';
import { memberNamed, membersOf, namingFlags, withoutMembers } from './client_flags.ts';
import { readStandardInput } from './command.ts';
import { BadUsage } from './exit.ts';

export interface ClientAddFlags extends GivenFlags {
  readonly secretStdin?: true;
  readonly public?: true;
}

/**
 * Client metadata from flags. Checks it without a database, so that an invalid client never creates one. With `--url`, the
 * server checks it, by its own options.
 * @throws {BadUsage} the client would not work or would not be safe
 */
export async function membersOfNew(id: string, flags: ClientAddFlags): Promise<Members> {
  const given = membersOf(flags);
  const method = given.token_endpoint_auth_method;
  if (flags.public && method !== undefined && method !== 'none')
    throw new BadUsage('a --public client does not authenticate: omit --auth-method');
  const members = { ...(flags.public && { token_endpoint_auth_method: 'none' }), ...given };
  if (flags.url !== undefined) return members;
  const configuration = readConfiguration(withoutMembers(flags), process.env);
  const server = await serverWithoutDatabase(configuration, 'cli');
  const client = await namingFlags(() => registrationFrom(server, configuration, id, members));
  if (flags.secretStdin && !hasSecret(client.metadata))
    throw new BadUsage('a client with this authentication method has no secret: omit --secret-stdin');
  return members;
}

export interface ClientUpdateFlags extends GivenFlags {
  readonly unset?: readonly string[];
  readonly allowEveryone?: true;
}

/** @throws {BadUsage} there is no change, or an unknown setting */
export function changeOf(flags: ClientUpdateFlags): ClientChange {
  const members = membersOf(flags);
  if (flags.allowEveryone && members.allowed_groups !== undefined)
    throw new BadUsage('--allow-everyone and --allow-group exclude each other');
  const named = [...(flags.unset ?? []), ...(flags.allowEveryone ? ['allowed_groups'] : [])];
  const unset = named.map((text) => {
    const name = memberNamed(text);
    if (name === undefined)
      throw new BadUsage('--unset: expected the name of a setting, as in --unset logo-uri');
    if (Object.hasOwn(members, name)) throw new BadUsage(`--unset: ${text} is set by another flag`);
    return name;
  });
  if (Object.keys(members).length + unset.length === 0)
    throw new BadUsage('nothing to update: grantd client update --help lists the settings');
  return { members, unset };
}

export async function wantedSecret({ secretStdin }: { readonly secretStdin?: true }): Promise<WantedSecret> {
  if (!secretStdin) return 'generate';
  const supplied = await readStandardInput('the secret');
  if (!isUsableSecret(supplied)) throw new BadUsage(`--secret-stdin: expected ${SECRET_FORM}`);
  return { supplied };
}

export interface RotationFlags extends GivenFlags {
  readonly secretStdin?: true;
  readonly overlap?: string;
  readonly now?: true;
}

/**
 * Seconds for which the replaced secret still works.
 * @throws {BadUsage} the time is invalid, or both flags are present
 */
export function overlapOf({ overlap, now }: RotationFlags): number {
  if (now && overlap !== undefined) throw new BadUsage('--now means no overlap: omit --overlap');
  if (now) return 0;
  if (overlap === undefined) return DEFAULT_OVERLAP;
  const kind = seconds(1, MAX_OVERLAP);
  const read = kind.fromText(overlap);
  if (read === undefined) throw new BadUsage(`--overlap: expected ${kind.expected}`);
  return read;
}
