import {
  type AuthorizationServer,
  type KeyRecord,
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
} from '@grantd/core';
import { type OperationParts, OperationRefused } from './operation.ts';

/** A signing key without its private part. */
export type ShownKey = Omit<KeyRecord, 'sealedPrivateKey' | 'publicJwk'>;

const STATUS_ORDER: readonly KeyRecord['status'][] = ['current', 'next', 'retired'];

/** The keys of each algorithm together: the current one, the next one, and then retired ones, newest first. */
export async function listKeys({ storage }: Pick<OperationParts, 'storage'>): Promise<readonly ShownKey[]> {
  const keys = await storage.keys.list();
  return keys
    .map(({ sealedPrivateKey: _, publicJwk: __, ...shown }) => shown)
    .toSorted(
      (one, other) =>
        SIGNING_ALGORITHMS.indexOf(one.algorithm) - SIGNING_ALGORITHMS.indexOf(other.algorithm) ||
        STATUS_ORDER.indexOf(one.status) - STATUS_ORDER.indexOf(other.status) ||
        other.createdAtMs - one.createdAtMs,
    );
}

/** A key that signs now. */
interface RotatedKey {
  readonly algorithm: SigningAlgorithm;
  readonly kid: string;
}

/** Seconds until all clients know the next keys; 0 if they do now. @param algorithm default: all with keys */
export async function secondsUntilRotation(
  parts: Pick<OperationParts, 'server'>,
  algorithm: SigningAlgorithm | undefined,
): Promise<number> {
  const { operator } = await parts.server();
  const algorithms = await rotatedAlgorithms(operator, algorithm);
  const waits = await Promise.all(algorithms.map((one) => operator.secondsUntilRotation(one)));
  return Math.max(...waits);
}

/** @throws {OperationRefused} the algorithm has no keys */
async function rotatedAlgorithms(
  operator: AuthorizationServer['operator'],
  algorithm: SigningAlgorithm | undefined,
): Promise<readonly SigningAlgorithm[]> {
  const used = await operator.signingAlgorithms();
  if (algorithm === undefined) return used;
  if (used.includes(algorithm)) return [algorithm];
  throw new OperationRefused(
    'not_found',
    `there is no ${algorithm} key, because neither the server nor a client has used this algorithm`,
    `the algorithms with keys are ${used.join(', ')}.`,
  );
}

/**
 * Starts to sign with the next keys.
 * @param algorithm default: all with keys
 * @param now rotates even if some clients do not know the next key yet
 * @param from the keys that are to be replaced; algorithms whose current key is another one are left as they are.
 * Default: the current ones
 * @throws {OperationRefused} the algorithm has no keys, or clients may not know a next key yet; then no key is rotated
 */
export async function rotateKeys(
  parts: Pick<OperationParts, 'server'>,
  algorithm: SigningAlgorithm | undefined,
  now: boolean,
  from: Readonly<Partial<Record<SigningAlgorithm, string>>> = {},
): Promise<readonly RotatedKey[]> {
  const { operator } = await parts.server();
  const wait = await secondsUntilRotation(parts, algorithm);
  if (wait > 0 && !now)
    throw new OperationRefused(
      'conflict',
      'clients may not know the next keys yet, because they cache the key set',
      `try again in ${wait} seconds, or use --now.`,
    );
  const rotated: RotatedKey[] = [];
  for (const one of await rotatedAlgorithms(operator, algorithm)) {
    const replaced = from[one];
    const how = { now, ...(replaced !== undefined && { from: replaced }) };
    rotated.push({ algorithm: one, kid: await operator.rotateSigningKey(one, how) });
  }
  return rotated;
}
