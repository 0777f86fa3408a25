import { SIGNING_ALGORITHMS, type SigningAlgorithm } from '@grantd/core';
import { Command, Option } from 'commander';
import { call } from '../admin/in_process.ts';
import type { GivenFlags } from '../config/configuration.ts';
import { type AdministrationParts, databaseFlags, printList, withAdministration } from './command.ts';

interface RotateFlags extends GivenFlags {
  readonly algorithm?: SigningAlgorithm;
  readonly now?: true;
}

export function keysCommands(): Command {
  const group = new Command('keys').description('manage signing keys');
  databaseFlags(
    group
      .command('list')
      .description(
        'list the signing keys. Each algorithm that the server or a client has used has a current key, which signs, a next key, which will replace it, and retired keys, which only verify earlier signatures',
      ),
  ).action((flags: GivenFlags) => withAdministration(flags, 'needs_database', listKeys));
  databaseFlags(
    group
      .command('rotate')
      .description('start signing with the next keys. Tokens that the old keys signed stay valid'),
  )
    .addOption(
      new Option('--algorithm <A>', 'rotate only the key of this algorithm').choices(SIGNING_ALGORITHMS),
    )
    .option('--now', 'rotate even if some clients do not know the next key yet and reject its signatures')
    .addHelpText(
      'after',
      `
Clients cache the key set for up to five minutes, so they may not know a next key that is younger. The command then fails
and rotates no key. With --now, it rotates anyway: use it if someone may have copied the current key.`,
    )
    .action((flags: RotateFlags) =>
      withAdministration(flags, 'needs_database', (parts) => rotateKeys(parts, flags)),
    );
  return group;
}

async function listKeys(parts: AdministrationParts): Promise<void> {
  const { items } = await call(parts.admin, 'listKeys', {});
  printList(parts, items, {
    KID: ({ kid }) => kid,
    ALGORITHM: ({ algorithm }) => algorithm,
    STATUS: ({ status }) => status,
    CREATED: ({ created_at: createdAt }) => createdAt,
    RETIRED: ({ retired_at: retiredAt = '' }) => retiredAt,
  });
}

/** @throws {Refused} clients may not know a next key yet; then no key is rotated */
async function rotateKeys(parts: AdministrationParts, { algorithm, now }: RotateFlags): Promise<void> {
  const order = { ...(algorithm !== undefined && { algorithm }), now: now === true };
  const { items } = await call(parts.admin, 'rotateKeys', order);
  printList(parts, items, { ALGORITHM: (key) => key.algorithm, 'SIGNS NOW': (key) => key.kid });
}
