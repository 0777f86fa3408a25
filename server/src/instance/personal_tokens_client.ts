// The client that all personal access tokens belong to. It is stored, because tokens depend on the state of their client,
// but only the options of the server say what it is (ADR 194).
import type { AdministrableStorage, ClientRecord, NewClient } from '@grantd/core';
import type { Configuration } from '../config/configuration.ts';
import { type TokenPolicy, tokenPolicy } from '../config/personal_token_options.ts';
import { ConfigurationRefused, Refused } from '../config/refused.ts';
import { askStorage } from '../data/tables.ts';

/** @throws {ConfigurationRefused} there would be no API for a token */
export function refuseTokensWithoutApi({ settings, sourceOf }: Configuration): void {
  if (tokenPolicy(settings)?.apis.length !== 0) return;
  throw new ConfigurationRefused(
    `${sourceOf('personalTokens')}: expected personalTokenApis with it, the APIs that the tokens are for`,
  );
}

/** No other client can be registered with it. */
export const PERSONAL_TOKENS_CLIENT = 'personal-tokens';

/** Tells the client from one that an operator added with the same identifier before this version. */
const MARK = 'grantd:personal-tokens';

export function isOfPersonalTokens({ id, metadata }: Pick<ClientRecord, 'id' | 'metadata'>): boolean {
  return id === PERSONAL_TOKENS_CLIENT && metadata?.software_id === MARK;
}

/**
 * Public, without any grant: it can only revoke its tokens, so who finds one can end it. Its groups let a user who leaves
 * them lose the tokens, as with every client.
 */
function clientFor({ apis, scopes, groups }: TokenPolicy): NewClient {
  return {
    id: PERSONAL_TOKENS_CLIENT,
    name: 'Personal access tokens',
    ...{ grantTypes: [], redirectUris: [], scopes: scopes ?? [] },
    metadata: {
      token_endpoint_auth_method: 'none',
      software_id: MARK,
      apis,
      ...(groups !== undefined && { allowed_groups: groups }),
    },
  };
}

const MAX_ATTEMPTS = 5;

/**
 * Stores the client, or changes it to what the options say. Call it at each start.
 * @returns the client as it was before, if it has changed
 * @throws {Refused} an operator has added a client with this identifier
 */
export async function prepareClient(
  { clients }: Pick<AdministrableStorage, 'clients'>,
  policy: TokenPolicy,
): Promise<void> {
  const wanted = clientFor(policy);
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const found = await askStorage(() => clients.get(PERSONAL_TOKENS_CLIENT));
    if (!found) {
      if ((await askStorage(() => clients.add(wanted))) === true) return;
      continue;
    }
    if (!isOfPersonalTokens(found))
      throw new Refused(
        `the database has a client ${PERSONAL_TOKENS_CLIENT}, which is now the ID of the personal access tokens: ` +
          'serve without personalTokens (--personal-tokens), or add the client under another ID and remove this one.',
      );
    if (isAs(found, wanted)) return;
    if (await askStorage(() => clients.replace(wanted, found))) return;
  }
  throw new Refused(`the client ${PERSONAL_TOKENS_CLIENT} is being changed by others. Start again.`);
}

function isAs({ scopes, metadata }: ClientRecord, wanted: NewClient): boolean {
  const facts = (client: Pick<NewClient, 'scopes' | 'metadata'>) =>
    JSON.stringify([client.scopes, client.metadata?.apis, client.metadata?.allowed_groups]);
  return facts({ scopes, ...(metadata && { metadata }) }) === facts(wanted);
}
