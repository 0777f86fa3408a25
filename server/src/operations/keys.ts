import { type KeyRecord, SIGNING_ALGORITHMS, type SigningAlgorithm } from '@grantd/core';
import { type OperationParts, OperationRefused } from './operation.ts';

/** A signing key without its private part. */
export type ShownKey = Omit<KeyRecord, 'sealedPrivateKey' | 'publicJwk'>;

export async function listKeys({ storage }: Pick<OperationParts, 'storage'>): Promise<readonly ShownKey[]> {
  const keys = await storage.keys.list();
  return keys.map(({ sealedPrivateKey: _, publicJwk: __, ...shown }) => shown);
}

/** A key that signs now. */
interface RotatedKey {
  readonly algorithm: SigningAlgorithm;
  readonly kid: string;
}

/**
 * Starts to sign with the next keys.
 * @param algorithm default: all
 * @param now rotates even if some clients do not know the next key yet
 * @throws {OperationRefused} clients may not know a next key yet; then no key is rotated
 */
export async function rotateKeys(
  parts: Pick<OperationParts, 'server'>,
  algorithm: SigningAlgorithm | undefined,
  now: boolean,
): Promise<readonly RotatedKey[]> {
  const { operator } = await parts.server();
  const algorithms = algorithm === undefined ? SIGNING_ALGORITHMS : [algorithm];
  const waits = await Promise.all(algorithms.map((one) => operator.secondsUntilRotation(one)));
  const wait = Math.max(...waits);
  if (wait > 0 && !now)
    throw new OperationRefused(
      'conflict',
      'clients may not know the next keys yet, because they cache the key set',
      `try again in ${wait} seconds, or use --now.`,
    );
  const rotated: RotatedKey[] = [];
  for (const one of algorithms)
    rotated.push({ algorithm: one, kid: await operator.rotateSigningKey(one, { now }) });
  return rotated;
}
