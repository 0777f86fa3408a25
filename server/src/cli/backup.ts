import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { labelled } from '../admin/command_form.ts';
import {
  type Configuration,
  type GivenFlags,
  readConfiguration,
  typedPath,
} from '../config/configuration.ts';
import { isPassphrase, OPTIONS, PASSPHRASE_FORM } from '../config/options.ts';
import { Refused } from '../config/refused.ts';
import {
  type BackupKey,
  type BackupLock,
  identitiesIn,
  lockOf,
  newIdentity,
  passphraseOf,
  readPassphrase,
  unfinishedIn,
} from '../data/backup_file.ts';
import { type StoredIn, storedIn } from '../data/database_of.ts';
import { readSecretFile, secretFileOf } from '../data/secrets.ts';
import {
  collect,
  databaseFlags,
  endProgress,
  printOne,
  readStandardInput,
  showProgress,
  timeOf,
} from './command.ts';
import { BadUsage } from './exit.ts';

interface BackupFlags extends GivenFlags {
  readonly recipient?: readonly string[];
  readonly passphraseFile?: string;
  readonly secret?: boolean;
}

export interface KeyFlags extends GivenFlags {
  readonly identityFile?: string;
  readonly passphraseFile?: string;
}

/** Options of the server that seal its own backups too. */
const LOCK_OPTIONS = ['backupRecipients', 'backupPassphraseFile'] as const;

const PASSPHRASE_FLAG =
  'a file with the passphrase, or - for standard input. Default: the variable GRANTD_BACKUP_PASSPHRASE';

export function backupCommand(): Command {
  const group = databaseFlags(
    new Command('backup')
      .argument('[file]', 'the new backup')
      .description('back up the database and the server’s secret, while servers run'),
    LOCK_OPTIONS,
  )
    .option('--recipient <KEY>', 'a public key to encrypt the backup for; repeatable', collect)
    .option('--passphrase-file <FILE>', PASSPHRASE_FLAG)
    .option(
      '--no-secret',
      'leave out the server’s secret. To restore this backup, you then need the secret from elsewhere',
    )
    .addHelpText(
      'after',
      `
The backup is one file in the format of age (age-encryption.org), encrypted for public keys or with a passphrase.

  grantd backup new-key backup.key
  grantd backup /var/backups/grantd.age --recipient age1…
  grantd backup verify /var/backups/grantd.age --identity-file backup.key
  grantd restore /var/backups/grantd.age --identity-file backup.key --database sqlite:/var/lib/grantd/grantd.db

A backup of PostgreSQL and a backup of SQLite have the same form. Each can be restored to either database.`,
    )
    .action((file: string | undefined, flags: BackupFlags) => writeBackup(file, flags));
  keyFlags(
    group
      .command('verify <FILE>')
      .description(
        'open a backup as a restore does, check it, and show what is in it. The command writes the restored database to a temporary folder, and removes the folder at the end',
      ),
  )
    .option('--issuer <URL>', 'issuer of the server from which the backup must come')
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      `
  grantd backup verify /var/backups/grantd.age --identity-file backup.key`,
    )
    // The parent command has some of these flags too, and then takes their values.
    .action((file: string, _: KeyFlags, command: Command) => verifyBackup(file, command.optsWithGlobals()));
  group
    .command('new-key <FILE>')
    .description(
      'create a key pair for backups. The command writes the private key (age identity) to FILE and prints the public key',
    )
    .addHelpText(
      'after',
      `
Keep FILE away from the server. Without it, no one can open backups that are encrypted for its key.

  grantd backup new-key backup.key`,
    )
    .action(createKey);
  return group;
}

/** Adds the flags that open a backup. */
export function keyFlags(command: Command): Command {
  return command
    .option('--identity-file <FILE>', 'a file with the private key (age identity) that opens the backup')
    .option('--passphrase-file <FILE>', PASSPHRASE_FLAG);
}

async function writeBackup(file: string | undefined, typed: BackupFlags): Promise<void> {
  // A command with subcommands would otherwise show its help.
  if (file === undefined) throw new BadUsage('expected the path of the new backup: grantd backup FILE');
  const { recipient, passphraseFile, secret: isWithSecret = true, ...flags } = typed;
  const keys = recipient?.join(',');
  const { kind } = OPTIONS.backupRecipients;
  if (keys !== undefined && kind.fromText(keys) === undefined)
    throw new BadUsage(`--recipient: expected ${kind.expected}`);
  const given = readConfiguration(
    { ...flags, ...(keys !== undefined && { backupRecipients: keys }) },
    process.env,
  );
  const isRecipient = (name: string) => keys !== undefined && name === 'backupRecipients';
  const configuration: Configuration = {
    ...given,
    sourceOf: (name) => (isRecipient(name) ? '--recipient' : given.sourceOf(name)),
  };
  const database = storedIn(configuration.settings, process.env);
  const lock = await lockFrom(configuration, recipient !== undefined, passphraseFile);
  const secrets = isWithSecret ? secretsOf(configuration, database) : undefined;
  const { backUp } = await import('../data/backup.ts');
  const written = await backUp({
    ...{ database, lock },
    to: typedPath(process.env, file),
    ...(secrets !== undefined && { secrets }),
    onProgress: showProgress,
  }).finally(endProgress);
  for (const path of unfinishedIn(dirname(typedPath(process.env, file))))
    console.error(`grantd: ${path} is an unfinished backup: delete it, unless another backup is running.`);
  const { bytes, takenAtMs, issuer, lastEvent } = written;
  const shown = { file, issuer, takenAt: timeOf(takenAtMs), lastEvent, bytes, secret: secrets !== undefined };
  printOne({ isJson: flags.json === true }, shown, [
    `wrote ${file} (${bytes} bytes) of the issuer ${issuer}, as of ${shown.takenAt}`,
    ...(secrets === undefined ? ['The server’s secret is not in it.'] : []),
  ]);
}

async function lockFrom(
  configuration: Configuration,
  hasRecipients: boolean,
  passphraseFile: string | undefined,
): Promise<BackupLock> {
  if (passphraseFile === undefined) {
    // A flag wins over a passphrase in the environment.
    const settings = hasRecipients
      ? { ...configuration.settings, backupPassphrase: undefined, backupPassphraseFile: undefined }
      : configuration.settings;
    return lockOf({ ...configuration, settings }, process.env);
  }
  if (hasRecipients) throw new BadUsage('expected only one of --recipient and --passphrase-file');
  return { passphrase: await passphraseFrom(passphraseFile) };
}

async function passphraseFrom(file: string): Promise<string> {
  if (file !== '-') return readPassphrase(typedPath(process.env, file), '--passphrase-file');
  const passphrase = await readStandardInput('a passphrase');
  if (!isPassphrase(passphrase)) throw new BadUsage(`standard input: expected ${PASSPHRASE_FORM}`);
  return passphrase;
}

/** What opens a backup: the flags, else the passphrase of the options. */
export async function keyFrom(configuration: Configuration, flags: KeyFlags): Promise<BackupKey> {
  const { identityFile, passphraseFile } = flags;
  if (identityFile !== undefined && passphraseFile !== undefined)
    throw new BadUsage('expected only one of --identity-file and --passphrase-file');
  if (identityFile !== undefined) return { identities: identitiesIn(typedPath(process.env, identityFile)) };
  if (passphraseFile !== undefined) return { passphrase: await passphraseFrom(passphraseFile) };
  const passphrase = passphraseOf(configuration, process.env);
  if (passphrase !== undefined) return { passphrase };
  throw new BadUsage(
    'a backup is sealed: expected --identity-file FILE, --passphrase-file FILE or GRANTD_BACKUP_PASSPHRASE',
  );
}

function secretsOf({ settings }: Configuration, database: StoredIn): readonly string[] {
  const isFile = 'path' in database;
  const secrets = settings.secret ?? (isFile ? readSecretFile(database.path) : undefined);
  if (secrets !== undefined) return secrets;
  const places = isFile
    ? `is neither in --secret-file, nor in GRANTD_SECRET, nor in ${secretFileOf(database.path)}`
    : 'is neither in --secret-file nor in GRANTD_SECRET';
  throw new Refused(
    `the server’s secret ${places}: set one as for the server, or leave the secret out with --no-secret.`,
  );
}

async function verifyBackup(file: string, { json, issuer, ...given }: KeyFlags): Promise<void> {
  const configuration = readConfiguration({}, process.env);
  const key = await keyFrom(configuration, given);
  const { examine, inScratchFolder } = await import('../data/backup.ts');
  await inScratchFolder(async (folder) => {
    const examined = await examine({
      ...{ file: typedPath(process.env, file), key, to: join(folder, 'grantd.db') },
      ...(typeof issuer === 'string' && { issuer }),
      onStep: showProgress,
    }).finally(endProgress);
    const { manifest, secrets, aliveTokens, clients, people } = examined;
    const { program, takenAtMs, lastEvent, schemas } = manifest;
    const ageSeconds = secondsSince(takenAtMs);
    const shown = {
      ...{
        file,
        issuer: manifest.issuer,
        takenAt: timeOf(takenAtMs),
        ageSeconds,
        program,
        schemas,
        lastEvent,
      },
      ...{
        clients,
        users: people,
        activeTokens: aliveTokens.count,
        ...(aliveTokens.hasMore && { hasMoreTokens: true }),
        secret: secrets !== undefined,
      },
    };
    printOne({ isJson: json === true }, shown, [
      `${file} can be restored.`,
      ...labelled({
        issuer: manifest.issuer,
        taken: `${timeOf(takenAtMs)} (${durationOf(ageSeconds)} ago)`,
        'written by': `grantd ${program}, as an SQLite file with tables ${schemas.library} (library) and ${schemas.program} (program)`,
        'last event': String(lastEvent),
        clients: String(clients),
        users: String(people),
        'active tokens': `${aliveTokens.hasMore ? 'at least ' : ''}${aliveTokens.count}`,
        'server’s secret': secrets === undefined ? 'not in it' : 'in it',
      }),
    ]);
  });
}

export function secondsSince(atMs: number, clock: () => number = Date.now): number {
  return Math.max(0, Math.round((clock() - atMs) / 1000));
}

/** In the largest unit of which there are at least two. */
export function durationOf(seconds: number): string {
  const units = [
    ['days', 86_400],
    ['hours', 3600],
    ['minutes', 60],
  ] as const;
  for (const [unit, length] of units)
    if (seconds >= 2 * length) return `${Math.floor(seconds / length)} ${unit}`;
  return `${seconds} seconds`;
}

async function createKey(file: string): Promise<void> {
  const { identity, recipient } = await newIdentity();
  try {
    writeFileSync(typedPath(process.env, file), `# public key: ${recipient}\n${identity}\n`, {
      mode: 0o600,
      flag: 'wx',
      flush: true,
    });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    throw new Refused(
      code === 'EEXIST' ? `${file} exists: choose another name.` : `${file} cannot be written: ${code}.`,
    );
  }
  console.log(recipient);
}
