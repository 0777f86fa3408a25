import type { Cluster } from '../deployments/cluster.ts';
import { openLibrary, registerClients } from '../deployments/library.ts';
import { CLIENTS } from '../load/registrations.ts';

/**
 * Registers the clients of the load.
 * @returns refresh tokens, each of its own family
 */
export async function refreshTokens(cluster: Cluster, count: number): Promise<readonly string[]> {
  const library = await openLibrary(cluster);
  try {
    await registerClients(library);
    const half = { clientId: CLIENTS.web.id, subject: 'somebody', refresh: true };
    const issued = [
      ...(await library.opaque.operator.issueTokens(half, Math.ceil(count / 2))),
      ...(await library.jwt.operator.issueTokens(half, Math.floor(count / 2))),
    ];
    return issued.flatMap(({ refreshToken }) => refreshToken ?? []);
  } finally {
    await library.close();
  }
}
