import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '@grantd/core';
import { Command, Option } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { Refused } from '../config/refused.ts';
import { type CommandParts, databaseFlags, printList, timeOf, withInstance } from './command.ts';

interface RotateFlags extends GivenFlags {
  readonly algorithm?: SigningAlgorithm;
  readonly now?: true;
}

export function keysCommands(): Command {
  const group = new Command('keys').description('manage signing keys');
  databaseFlags(
    group.command('list').description('list the keys of every algorithm: next, current and retired'),
  ).action((flags: GivenFlags) => withInstance(flags, 'needs_database', listKeys));
  databaseFlags(
    group.command('rotate').description('start signing with the next keys. Retired keys still verify'),
  )
    .addOption(new Option('--algorithm <A>', 'only this algorithm').choices(SIGNING_ALGORITHMS))
    .option('--now', 'rotate even if some clients do not know the next key yet and reject its signatures')
    .addHelpText(
      'after',
      `
Clients cache the key set for up to five minutes, so a younger next key does not sign yet. Use --now if the current key
is no longer safe.`,
    )
    .action((flags: RotateFlags) =>
      withInstance(flags, 'needs_database', (parts) => rotateKeys(parts, flags)),
    );
  return group;
}

async function listKeys(parts: CommandParts): Promise<void> {
  const keys = (await parts.storage.keys.list()).map(
    ({ kid, algorithm, status, createdAtMs, retiredAtMs }) => ({
      kid,
      algorithm,
      status,
      createdAt: timeOf(createdAtMs),
      ...(retiredAtMs !== undefined && { retiredAt: timeOf(retiredAtMs) }),
    }),
  );
  printList(parts, keys, {
    KID: ({ kid }) => kid,
    ALGORITHM: ({ algorithm }) => algorithm,
    STATUS: ({ status }) => status,
    CREATED: ({ createdAt }) => createdAt ?? '',
    RETIRED: ({ retiredAt }) => retiredAt ?? '',
  });
}

/** @throws {Refused} clients may not know a next key yet; then no key is rotated */
async function rotateKeys(parts: CommandParts, { algorithm, now }: RotateFlags): Promise<void> {
  const server = await parts.server();
  const algorithms = algorithm === undefined ? SIGNING_ALGORITHMS : [algorithm];
  const waits = await Promise.all(algorithms.map((one) => server.operator.secondsUntilRotation(one)));
  const wait = Math.max(...waits);
  if (wait > 0 && now !== true)
    throw new Refused(
      `clients may not know the next keys yet, because they cache the key set: try again in ${wait} seconds, or use --now.`,
    );
  const rotated = [];
  for (const one of algorithms) {
    rotated.push({ algorithm: one, kid: await server.operator.rotateSigningKey(one, { now: now === true }) });
  }
  printList(parts, rotated, { ALGORITHM: (key) => key.algorithm, 'SIGNS NOW': (key) => key.kid });
}
