import { Refused } from '../instance/refused.ts';
import { printSecret, secretFor, type WantedSecret } from './client_secrets.ts';
import { printOne } from './output.ts';
import { requireClient } from './require_client.ts';
import type { CommandParts } from './with_instance.ts';

/** @throws {Refused} the client has no secret; what would be one was not stored, and is not printed */
export async function rotateSecret(parts: CommandParts, id: string, wanted: WantedSecret): Promise<void> {
  const { secretHash } = await requireClient(parts, id);
  if (secretHash === undefined)
    throw new Refused(`${id} is a public client, or authenticates with keys: it has no secret.`);
  const secret = await secretFor(parts, wanted);
  if (!(await parts.storage.clients.replaceSecretHash(id, secret.hash)))
    throw new Refused(`${id} was removed, or has no secret any more: somebody else changed it just now.`);
  printSecret(parts, id, secret.toPrint, `${id} has a new secret`);
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
