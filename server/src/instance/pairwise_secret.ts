import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { ProgramSecret } from './program_secret.ts';
import { Refused } from './refused.ts';

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
 * once a server has started with both.
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
  const opened = open(newest, sealed, issuer);
  if (opened !== undefined) return opened;
  for (const key of older) {
    const openedByOlder = open(key, sealed, issuer);
    if (openedByOlder === undefined) continue;
    await kept.replace(sealed, seal(newest, openedByOlder, issuer));
    return openedByOlder;
  }
  throw new Refused(
    'the secret of pairwise subject identifiers was sealed under another server secret: start with that one in the ' +
      'array of GRANTD_SECRET, behind the new one. Without it every such identifier would be another.',
  );
}

async function makeOne(kept: KeptPairwiseSecret, key: Uint8Array, issuer: string): Promise<string> {
  await kept.add(seal(key, randomBytes(32).toString('base64url'), issuer));
  const sealed = await kept.get();
  if (sealed === undefined) throw new Error('the secret of pairwise subject identifiers is not kept');
  return sealed;
}

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The issuer is authenticated along, so that no other one's can be put in its place. */
function seal(key: Uint8Array, text: string, issuer: string): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(issuer));
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, encrypted, cipher.getAuthTag()]).toString('base64url');
}

/** @returns `undefined` where it was sealed under another key */
function open(key: Uint8Array, sealed: string, issuer: string): string | undefined {
  const bytes = Buffer.from(sealed, 'base64url');
  const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(issuer)).setAuthTag(bytes.subarray(-TAG_BYTES));
  const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
  try {
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch {
    return undefined; // the tag does not fit, and nothing else can go wrong here
  }
}
