import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '@grantd/core';
import { Command, Option } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { databaseFlags } from './database_flags.ts';
import { printList, timeOf } from './output.ts';
import { type CommandParts, withInstance } from './with_instance.ts';

interface RotateFlags extends GivenFlags {
  readonly algorithm?: SigningAlgorithm;
}

export function keysCommands(): Command {
  const group = new Command('keys').description('signing keys');
  databaseFlags(
    group.command('list').description('the keys of every algorithm: next, current and retired'),
  ).action((flags: GivenFlags) => withInstance(flags, 'needs_database', listKeys));
  databaseFlags(
    group.command('rotate').description('let the next keys sign from now on; retired ones still verify'),
  )
    .addOption(new Option('--algorithm <A>', 'only this algorithm').choices(SIGNING_ALGORITHMS))
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
    MADE: ({ createdAt }) => createdAt ?? '',
    RETIRED: ({ retiredAt }) => retiredAt ?? '',
  });
}

async function rotateKeys(parts: CommandParts, { algorithm }: RotateFlags): Promise<void> {
  const server = await parts.server();
  const inUse = new Set((await parts.storage.keys.list()).map((key) => key.algorithm));
  const rotated = [];
  for (const one of algorithm === undefined ? inUse : [algorithm]) {
    rotated.push({ algorithm: one, kid: await server.rotateSigningKey(one) });
  }
  printList(parts, rotated, { ALGORITHM: (key) => key.algorithm, 'SIGNS NOW': (key) => key.kid });
}
