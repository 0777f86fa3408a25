import { hasSecret } from '@grantd/core';
import { type Members, registrationFrom } from '../admin/client_metadata.ts';
import { InvalidInput } from '../admin/operation_refused.ts';
import { type GivenFlags, readConfiguration } from '../config/configuration.ts';
import { serverWithoutDatabase } from '../instance/instance.ts';
import { clientInWords, memberNamed, membersOf, withoutMembers } from './client_flags.ts';
import { BadUsage, usageOf } from './exit.ts';

/**
 * Client metadata from flags. Checks it without a database, so that an invalid client never creates one. With `--url`, the
 * server checks it, by its own options.
 * @throws {BadUsage} the client would not work or would not be safe
 */
export async function membersOfNew(id: string, flags: GivenFlags): Promise<Members> {
  const given = membersOf(flags);
  const method = given.token_endpoint_auth_method;
  if (flags.public && method !== undefined && method !== 'none')
    throw new BadUsage('a --public client does not authenticate: omit --auth-method');
  const members = { ...(flags.public === true && { token_endpoint_auth_method: 'none' }), ...given };
  if (flags.url !== undefined) return members;
  const configuration = readConfiguration(withoutMembers(flags), process.env);
  const server = await serverWithoutDatabase(configuration, 'cli');
  const client = await registrationFrom(server, configuration, id, members).catch((error: unknown) => {
    throw error instanceof InvalidInput ? usageOf(error, clientInWords) : error;
  });
  if (flags.secretStdin && !hasSecret(client.metadata))
    throw new BadUsage('a client with this authentication method has no secret: omit --secret-stdin');
  return members;
}

/** Members to set, and `null` for those to unset. @throws {BadUsage} there is no change, or an unknown setting */
export function changeOf(flags: GivenFlags): Members {
  const members = membersOf(flags);
  if (flags.allowEveryone && members.allowed_groups !== undefined)
    throw new BadUsage('--allow-everyone and --allow-group exclude each other');
  const named = [
    ...(Array.isArray(flags.unset) ? flags.unset.map(String) : []),
    ...(flags.allowEveryone ? ['allowed_groups'] : []),
  ];
  const unset = named.map((text) => {
    const name = memberNamed(text);
    if (name === undefined)
      throw new BadUsage('--unset: expected the name of a setting, as in --unset logo-uri');
    if (Object.hasOwn(members, name)) throw new BadUsage(`--unset: ${text} is set by another flag`);
    return name;
  });
  if (Object.keys(members).length + unset.length === 0)
    throw new BadUsage('nothing to update: grantd client update --help lists the settings');
  return { ...members, ...Object.fromEntries(unset.map((name) => [name, null])) };
}
