import type { AdministrableStorage, MigrationAssumption } from '@grantd/core';

/** Says on stderr what the migration of a database assumed, and what the operator can do about it. */
export async function reportAssumptions(
  { clients }: Pick<AdministrableStorage, 'clients'>,
  assumptions: readonly MigrationAssumption[],
): Promise<void> {
  if (!assumptions.includes('clients_allowed_every_api')) return;
  const all = await clients.list();
  const allowed = all.filter(({ metadata }) => (metadata?.apis ?? []).length > 0);
  const apis = new Set(all.flatMap(({ resource }) => resource ?? []));
  if (apis.size === 0) return;
  const themselves = all.filter(({ registrationTokenDigest }) => registrationTokenDigest !== undefined);
  const lines = [
    `each client that was added here may ask for every API that is registered: ${idsOf(allowed)}`,
    'narrow that with grantd client update ID --api URI, and let APIs declare scopes with grantd client update API --api-scope SCOPE',
    ...(themselves.length === 0
      ? []
      : [
          `clients that registered themselves (${themselves.length}) may ask for no API: ` +
            'grantd client update ID --api URI, and --registration-apis for new ones',
        ]),
  ];
  for (const line of lines) console.error(`grantd: migration: ${line}`);
}

/** Says on stderr which people have names that are too much like another's. */
export function reportSharedNames(names: readonly string[]): void {
  if (names.length === 0) return;
  const shown = idsOf(names.map((name) => ({ id: JSON.stringify(name) })));
  console.error(
    `grantd: people whose name differs from another's only by case, width or look-alike letters: ${shown}. ` +
      'They sign in with exactly this spelling: rename them with grantd user update NAME --username NEW.',
  );
}

/** More are counted. */
const MOST_NAMED = 10;

function idsOf(clients: readonly { readonly id: string }[]): string {
  const named = clients.slice(0, MOST_NAMED).map(({ id }) => id);
  const others = clients.length - named.length;
  return [named.join(', '), ...(others > 0 ? [`and ${others} more`] : [])].join(' ');
}
