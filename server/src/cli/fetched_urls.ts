import { documentRefusal } from '@grantd/core/node';
import type { Configuration } from '../config/configuration.ts';
import { flagOf } from '../config/options.ts';
import { flagOfMember } from './client_flags.ts';
import { BadUsage } from './exit.ts';

/** Of a client's metadata what the server itself asks for. */
const FETCHED = ['jwks_uri', 'logo_uri', 'request_uris', 'sector_identifier_uri', 'backchannel_logout_uri'];

/**
 * Refuses a URL that the server would store and then never ask for.
 * @param members of the client that are being set
 * @throws {BadUsage}
 */
export function requireFetchable(
  members: Readonly<Record<string, unknown>>,
  { settings: { insecureDevelopment } }: Configuration,
): void {
  for (const [name, value] of Object.entries(members)) {
    const [member = ''] = name.split('#');
    if (!FETCHED.includes(member)) continue;
    for (const url of [value].flat()) {
      const refusal = documentRefusal(String(url), { allowPrivateAddresses: insecureDevelopment });
      if (refusal === undefined) continue;
      const way = insecureDevelopment
        ? ''
        : `; where the server runs with ${flagOf('insecureDevelopment')}, add that flag here too`;
      throw new BadUsage(`${flagOfMember(member)}: the server would never ask for ${url}: ${refusal}${way}`);
    }
  }
}
