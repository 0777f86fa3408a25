import { randomBytes } from 'node:crypto';
import type { ProgramSecret } from './program_secret.ts';
import { Refused } from './refused.ts';
import { seal, unseal } from './sealing.ts';

/**
 * Where an issuer's secret of pairwise subject identifiers is kept, sealed: in its database, since it must be the same
 * in every process and for ever. Every method rejects with a `StorageFault` where the database cannot be asked.
 */
export interface KeptPairwiseSecret {
  get(): Promise<string | undefined>;
  /** Keeps one where there is none; of several processes that try, the first one's stays. */
  add(sealed: string): Promise<void>;
  /** Keeps it in another form, unless somebody else has done so meanwhile. */
  replace(sealed: string, replacement: string): Promise<void>;
}

/**
 * The secret of an issuer's pairwise subject identifiers, made the first time. It is sealed under the first of the
 * server's secrets, and sealed anew where that is another one by now: a secret of the server can be taken from the list
 * once a server has started with both. It is bound to the issuer, so that no other one's can be put in its place.
 * @throws {Refused} it was sealed under a secret that is not in the list any more
 */
export async function pairwiseSecretOf(
  kept: KeptPairwiseSecret,
  secret: ProgramSecret,
  issuer: string,
): Promise<string> {
  const [newest, ...older] = await secret.keys('pairwise_secret');
  if (newest === undefined) throw new TypeError('a server secret is never empty');
  const sealed = (await kept.get()) ?? (await makeOne(kept, newest, issuer));
  const opened = unseal(newest, sealed, issuer);
  if (opened !== undefined) return opened;
  for (const key of older) {
    const openedByOlder = unseal(key, sealed, issuer);
    if (openedByOlder === undefined) continue;
    await kept.replace(sealed, seal(newest, openedByOlder, issuer));
    return openedByOlder;
  }
  throw new Refused(
    'the secret of pairwise subject identifiers was sealed under another server secret: start with that one in the ' +
      'array of GRANTD_SECRET, behind the new one. Without it every such identifier would be another.',
  );
}

/**
 * The place in the list of the server secret that the pairwise secret is sealed under; `undefined` if none is kept, `-1`
 * if it is not in the list.
 */
export async function sealOfPairwiseSecret(
  kept: KeptPairwiseSecret,
  secret: ProgramSecret,
  issuer: string,
): Promise<number | undefined> {
  const sealed = await kept.get();
  if (sealed === undefined) return undefined;
  const keys = await secret.keys('pairwise_secret');
  return keys.findIndex((key) => unseal(key, sealed, issuer) !== undefined);
}

async function makeOne(kept: KeptPairwiseSecret, key: Uint8Array, issuer: string): Promise<string> {
  await kept.add(seal(key, randomBytes(32).toString('base64url'), issuer));
  const sealed = await kept.get();
  if (sealed === undefined) throw new Error('the secret of pairwise subject identifiers is not kept');
  return sealed;
}
