// Signing keys.
import {
  type AuthorizationServer,
  type KeyRecord,
  PUBLIC_CACHE_SECONDS,
  SIGNING_ALGORITHMS,
  type SigningAlgorithm,
} from '@grantd/core';
import { change, type OperationParts, operation } from './operation.ts';
import { OperationRefused } from './operation_refused.ts';
import {
  flag,
  named,
  object,
  oneOf,
  optional,
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
  'known_at?': time(
    'For a next key: when all clients know it, because they have fetched it since it was made. A rotation before this time needs now.',
  ),
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
const ROTATED_KEY = object({ algorithm, kid: text('The ID of the key that signs now.') });
const ROTATED_KEYS = whole('RotatedKeys', ROTATED_KEY, 'The keys that sign now, one object per algorithm.');

function keyView({ kid, algorithm: signsWith, status, createdAtMs, retiredAtMs }: KeyRecord): KeyView {
  return {
    ...{ kid, algorithm: signsWith, status },
    created_at: timeOf(createdAtMs),
    ...(status === 'next' && { known_at: timeOf(createdAtMs + PUBLIC_CACHE_SECONDS * 1000) }),
    ...optionalTime('retired_at', retiredAtMs),
  };
}

const STATUS_ORDER: readonly KeyRecord['status'][] = ['current', 'next', 'retired'];

/** The keys of each algorithm together: the current one, the next one, and then retired ones, newest first. */
async function listKeys({ storage }: Pick<OperationParts, 'storage'>): Promise<readonly KeyView[]> {
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
    ['no_key', algorithm],
    `the algorithms with keys are ${used.join(', ')}.`,
  );
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
    command: {
      line: 'keys list',
      about:
        'list the signing keys. Each algorithm that the server or a client has used has a current key, which signs, a next key, which will replace it, and retired keys, which only verify earlier signatures',
      columns: {
        KID: ({ kid }) => kid,
        ALGORITHM: (key) => key.algorithm,
        STATUS: ({ status }) => status,
        CREATED: ({ created_at: createdAt }) => createdAt,
        RETIRED: ({ retired_at: retiredAt = '' }) => retiredAt,
      },
    },
    perform: async (parts) => ({ document: { items: await listKeys(parts) } }),
  }),
  rotateKeys: change({
    method: 'POST',
    path: '/keys/rotate',
    scope: 'grantd:keys:write',
    summary: 'Start signing with the next keys. Tokens that the old keys signed stay valid',
    body: KEY_ROTATION,
    isBodyOptional: true,
    status: 200,
    output: ROTATED_KEYS,
    command: {
      line: 'keys rotate',
      flags: {
        algorithm: { about: 'rotate only the key of this algorithm', placeholder: 'A' },
        now: {
          about: 'rotate even if some clients do not know the next key yet and reject its signatures',
        },
      },
      notes: `Clients cache the key set for up to five minutes, so they may not know a next key that is younger. The command then fails
and rotates no key. With --now, it rotates anyway: use it if someone may have copied the current key.`,
      columns: { ALGORITHM: (key) => key.algorithm, 'SIGNS NOW': ({ kid }) => kid },
    },
    async prepare(parts, { algorithm: only, from, now = false }) {
      const { operator } = await parts.ownServer();
      const signing = (await listKeys(parts)).filter(({ status }) => status === 'current');
      const replaced = from === undefined ? [] : signing.filter(({ kid }) => from.includes(kid));
      if (from !== undefined && replaced.length < from.length)
        throw new OperationRefused('changed', ['other_keys_sign']);
      const used = await rotatedAlgorithms(operator, only);
      const isWanted = (one: SigningAlgorithm) => replaced.some((key) => key.algorithm === one);
      const algorithms = from === undefined ? used : used.filter(isWanted);
      const waits = await Promise.all(algorithms.map((name) => operator.secondsUntilRotation(name)));
      const wait = Math.max(0, ...waits);
      if (wait > 0 && !now)
        throw new OperationRefused(
          'conflict',
          ['next_keys_unknown'],
          `try again in ${wait} seconds, or use --now.`,
        );
      return algorithms.map((one) => [one, replaced.find((key) => key.algorithm === one)?.kid] as const);
    },
    async write(parts, algorithms, { now = false }) {
      const { operator } = await parts.ownServer();
      const items: ValueOf<typeof ROTATED_KEY>[] = [];
      for (const [one, from] of algorithms)
        items.push({
          algorithm: one,
          kid: await operator.rotateSigningKey(one, { now, ...optional('from', from) }),
        });
      return { document: { items } };
    },
  }),
};
