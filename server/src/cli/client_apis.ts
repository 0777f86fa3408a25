import type { NewClient } from '@grantd/core';
import { Refused } from '../instance/refused.ts';
import type { CommandParts } from './with_instance.ts';

type Parts = Pick<CommandParts, 'storage'>;

/**
 * A URI with a typing mistake would be an API that no request ever gets.
 * @throws {Refused} one of the URIs is no API that is enabled
 */
export async function requireKnownApis({ storage }: Parts, resources: readonly string[] = []): Promise<void> {
  const apis = (await storage.clients.findApis?.({ resources, scopes: [] })) ?? [];
  const unknown = resources.find((resource) => !apis.some((api) => api.resource === resource));
  if (unknown !== undefined)
    throw new Refused(
      `no client is the API ${unknown}: add it first, as in grantd client add my-api --resource ${unknown} --api-scope read`,
    );
}

/** Says on stderr which scopes of a client it cannot get, since only APIs that it may not ask for declare them. */
export async function warnOfForeignScopes(
  { storage }: Parts,
  { id, scopes, metadata }: NewClient,
): Promise<void> {
  const { apis: allowed = [] } = metadata ?? {};
  const apis = (await storage.clients.findApis?.({ resources: [], scopes })) ?? [];
  for (const scope of scopes) {
    const owners = apis.filter((api) => api.scopes.includes(scope)).map(({ resource }) => resource);
    if (owners.length > 0 && !owners.some((owner) => allowed.includes(owner)))
      console.error(
        `grantd: ${id} cannot get the scope ${scope}, which belongs to ${owners.join(' and ')}: ` +
          `grantd client update ${id} ${[...allowed, owners[0]].map((uri) => `--api ${uri}`).join(' ')}`,
      );
  }
}
