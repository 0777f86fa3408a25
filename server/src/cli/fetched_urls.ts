import { FETCHED_MEMBERS } from '@grantd/core';
import { documentRefusal } from '@grantd/core/node';
import type { Configuration } from '../config/configuration.ts';
import { flagOf } from '../config/options.ts';
import { flagOfMember } from './client_flags.ts';
import { BadUsage } from './exit.ts';

/**
 * Refuses a URL that the server would never ask for, in the words of the command line.
 * @param members of the client that are being set
 * @throws {BadUsage}
 */
export function requireFetchable(
  members: Readonly<Record<string, unknown>>,
  { settings: { insecureDevelopment } }: Configuration,
): void {
  for (const [name, value] of Object.entries(members)) {
    const [member = ''] = name.split('#');
    if (!FETCHED_MEMBERS.has(member)) continue;
    for (const url of [value].flat()) {
      if (!URL.canParse(String(url))) continue; // the library says what is wrong with it
      const refusal = documentRefusal(String(url), { allowPrivateAddresses: insecureDevelopment });
      if (refusal === undefined) continue;
      const way = insecureDevelopment
        ? ''
        : `; where the server runs with ${flagOf('insecureDevelopment')}, add that flag here too`;
      throw new BadUsage(`${flagOfMember(member)}: the server would never ask for ${url}: ${refusal}${way}`);
    }
  }
}
