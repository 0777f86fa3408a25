import { rotatedSecrets } from '@grantd/core';
import { Refused } from '../instance/refused.ts';
import { printSecret, secretFor, type WantedSecret } from './client_secrets.ts';
import { printOne, timeOf } from './output.ts';
import { requireClient } from './require_client.ts';
import type { CommandParts } from './with_instance.ts';

/** Somebody else can change the client between the lookup and the write. */
const MOST_ATTEMPTS = 5;

/**
 * Adds a secret and gives the one before it an end.
 * @param overlap seconds for which the one before still authenticates
 * @throws {Refused} the client has no secret, or others change it again and again; no new one was stored or printed
 */
export async function rotateSecret(
  parts: CommandParts,
  id: string,
  wanted: WantedSecret,
  overlap: number,
): Promise<void> {
  const secret = await secretFor(parts, wanted);
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const client = await requireClient(parts, id);
    if (client.secrets === undefined)
      throw new Refused(`${id} is a public client, or authenticates with keys: it has no secret.`);
    const secrets = rotatedSecrets(client.secrets, secret.stored, { nowMs: Date.now(), overlap });
    if (!(await parts.storage.clients.replaceSecrets(id, secrets, client))) continue;
    const endsAt = secrets[1]?.expiresAt;
    const end = endsAt === undefined ? 'at once' : `at ${timeOf(endsAt * 1000)}`;
    return printSecret(parts, id, secret.toPrint, `${id} has a new secret; the old one ends ${end}`);
  }
  throw new Refused(`${id} is being changed by others; its secrets were not changed: try again.`);
}

/** @throws {Refused} there is no such client */
export async function removeClient(parts: CommandParts, id: string): Promise<void> {
  await requireClient(parts, id);
  if (!(await parts.storage.clients.remove(id)))
    throw new Refused(`somebody else has removed ${id} just now.`);
  printOne(parts, { id, removed: true }, [`${id} is removed; all its tokens are dead`]);
}

/** @throws {Refused} there is no such client */
export async function setDisabled(parts: CommandParts, id: string, disabled: boolean): Promise<void> {
  await requireClient(parts, id);
  await parts.storage.setDisabled('client', id, disabled);
  // Removed just now, it was neither disabled nor enabled.
  await requireClient(parts, id);
  printOne(parts, { id, disabled }, [
    disabled ? `${id} is disabled; all its tokens are dead` : `${id} is enabled`,
  ]);
}
