// Signing keys.
import {
  type AuthorizationServer,
  type KeyRecord,
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
} from '@grantd/core';
import { type OperationParts, operation } from './operation.ts';
import { OperationRefused } from './operation_refused.ts';
import {
  flag,
  named,
  object,
  oneOf,
  optionalTime,
  text,
  texts,
  time,
  timeOf,
  type ValueOf,
  whole,
} from './schema.ts';

const algorithm = oneOf(SIGNING_ALGORITHMS, 'The algorithm of the key.');

const KEY = object({
  kid: text('The key ID.'),
  algorithm,
  status: oneOf(
    ['next', 'current', 'retired'],
    'Whether the key will sign, signs now, or only verifies earlier signatures.',
  ),
  created_at: time('When the key was made.'),
  'retired_at?': time('When the key stopped signing.'),
});
export type KeyView = ValueOf<typeof KEY>;
const KEYS = whole('Keys', KEY, 'The signing keys of the server.');
const KEY_ROTATION = named(
  'KeyRotation',
  object({
    'algorithm?': oneOf(
      SIGNING_ALGORITHMS,
      'The algorithm whose keys to rotate. Default: all algorithms that have keys.',
    ),
    'from?': texts(
      'IDs of the keys that sign now, as far as they are to be replaced. An algorithm whose current key is another one is left as it is. Default: all current keys.',
    ),
    'now?': flag(
      'Whether to rotate even if some clients may not have fetched the next key yet. These clients then reject tokens that the key signs. Default: false.',
    ),
  }),
);
const ROTATED_KEYS = whole(
  'RotatedKeys',
  object({ algorithm, kid: text('The ID of the key that signs now.') }),
  'The keys that sign now, one object per algorithm.',
);

function keyView({ kid, algorithm: signsWith, status, createdAtMs, retiredAtMs }: KeyRecord): KeyView {
  return {
    ...{ kid, algorithm: signsWith, status },
    created_at: timeOf(createdAtMs),
    ...optionalTime('retired_at', retiredAtMs),
  };
}

const STATUS_ORDER: readonly KeyRecord['status'][] = ['current', 'next', 'retired'];

/** The keys of each algorithm together: the current one, the next one, and then retired ones, newest first. */
export async function listKeys({ storage }: Pick<OperationParts, 'storage'>): Promise<readonly KeyView[]> {
  const keys = await storage.keys.list();
  return keys
    .toSorted(
      (one, other) =>
        SIGNING_ALGORITHMS.indexOf(one.algorithm) - SIGNING_ALGORITHMS.indexOf(other.algorithm) ||
        STATUS_ORDER.indexOf(one.status) - STATUS_ORDER.indexOf(other.status) ||
        other.createdAtMs - one.createdAtMs,
    )
    .map(keyView);
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

export const KEY_OPERATIONS = {
  listKeys: operation({
    method: 'GET',
    path: '/keys',
    scope: 'grantd:keys:read',
    summary:
      'List the signing keys. Each algorithm has a current key, which signs, a next key, which will replace it, and retired keys, which only verify earlier signatures',
    status: 200,
    output: KEYS,
    perform: async (parts) => ({ document: { items: await listKeys(parts) } }),
  }),
  rotateKeys: operation({
    method: 'POST',
    path: '/keys/rotate',
    scope: 'grantd:keys:write',
    summary: 'Start signing with the next keys. Tokens that the old keys signed stay valid',
    body: KEY_ROTATION,
    isBodyOptional: true,
    status: 200,
    output: ROTATED_KEYS,
    async perform(parts, { algorithm: only, from, now = false }) {
      const signing =
        from === undefined
          ? []
          : (await listKeys(parts)).filter(({ kid, status }) => status === 'current' && from.includes(kid));
      const replaced = Object.fromEntries(signing.map((key) => [key.algorithm, key.kid]));
      if (from !== undefined && signing.length < from.length)
        throw new OperationRefused('changed', 'other keys sign now');
      return { document: { items: await rotateKeys({ server: parts.ownServer }, only, now, replaced) } };
    },
  }),
};
