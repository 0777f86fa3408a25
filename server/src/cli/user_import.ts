import { once } from 'node:events';
import { createWriteStream, rmSync, type WriteStream } from 'node:fs';
import type { Command } from 'commander';
import { administratorsInWords } from '../admin/administrator_changes.ts';
import { LeftOut } from '../admin/left_out.ts';
import { optional } from '../admin/schema.ts';
import { type AddedUser, AddedUsers, type ImportOrder, importLines } from '../admin/user_import.ts';
import { ImportCounts } from '../admin/user_lines.ts';
import { type GivenFlags, typedPath } from '../config/configuration.ts';
import { readPrivateText } from '../config/private_file.ts';
import { Refused } from '../config/refused.ts';
import type { ConvertOptions } from '../people/exports/conversion.ts';
import { readFirebaseHash } from '../people/exports/firebase.ts';
import { IMPORT_FORMATS, type ImportFormat } from '../people/exports/formats.ts';
import type { LineReport } from '../people/import.ts';
import type { ImportLine } from '../people/import_lines.ts';
import {
  type AdministrationParts,
  administrationFlags,
  endProgress,
  printOne,
  showProgress,
  withAdministration,
} from './command.ts';
import { BadUsage } from './exit.ts';
import { usersOf } from './user_files.ts';

interface ImportFlags extends GivenFlags {
  readonly format?: string;
  readonly fromLine?: string;
  readonly dryRun?: true;
  readonly update?: true;
  readonly createGroups?: true;
  readonly allowAdministrators?: true;
  readonly report?: string;
  readonly rolesAsGroups?: true;
  readonly emailsVerified?: true;
  readonly dropUnusableHashes?: true;
  readonly firebaseHashConfig?: string;
}

interface ExportFlags extends GivenFlags {
  readonly withPasswordHashes?: true;
  readonly group?: string;
}

/** Adds the commands `import` and `export`. */
export function addImportCommands(group: Command): void {
  administrationFlags(
    group
      .command('import <FILE>')
      .description('add users from an export of grantd or another program; - reads standard input'),
    ['create', 'adminGroup'],
  )
    .option(
      '--format <FORMAT>',
      `format of the file: one of ${IMPORT_FORMATS.join(', ')}. Default: ${IMPORT_FORMATS[0]}`,
    )
    .option('--dry-run', 'check every line and change nothing')
    .option('--update', 'also change users who exist, if their line has changed since its last import')
    .option(
      '--create-groups',
      'create groups that a line names and that do not exist. By default, such a line is an error',
    )
    .option(
      '--allow-administrators',
      'add users to the group of the administrators, and change its members. By default, such a line is an error',
    )
    .option(
      '--roles-as-groups',
      'make groups of the roles of another program. By default, roles are left out',
    )
    .option(
      '--emails-verified',
      'the other program has verified all email addresses of which the file does not say whether they are',
    )
    .option(
      '--drop-unusable-hashes',
      'import users whose password hash cannot be used without a password. By default, such a line is an error',
    )
    .option(
      '--firebase-hash-config <FILE>',
      'file with the hash parameters of a Firebase project, as its console shows them',
    )
    .option('--from-line <N>', 'start at the line with this number')
    .option('--report <FILE>', 'write the result of each line to a new file, as a JSON object per line')
    .addHelpText(
      'after',
      `
A line of the file looks like this:

  {"username":"carol","password_hash":"$2b$12$…","claims":{"name":"Carol","email":"carol@example.com"},"groups":["staff"]}

It can also have the members subject (the claim sub), disabled, links, directory_id, created_at, totp_secret and invite. If the import stops, run it again: it skips the lines
that it has imported. If a line cannot be imported, the exit code is 1.

  grantd user import people.jsonl --dry-run
  grantd user import people.jsonl --report report.jsonl
  grantd user import realm-export.json --format keycloak --create-groups
  grantd user import users.csv --format csv --dry-run`,
    )
    .action(async (file: string, flags: ImportFlags) => {
      const wish = importWishOf(file, flags);
      await withAdministration(flags, 'may_create_database', (parts) => importPeople(parts, wish));
    });
  administrationFlags(
    group
      .command('export [FILE]')
      .description('write all users, a JSON object per line, to a new file that only you can read'),
  )
    .option(
      '--with-password-hashes',
      'include the password hashes. Anyone who has them can try to guess the passwords',
    )
    .option('--group <NAME>', 'only members of this group')
    .addHelpText(
      'after',
      `
Without FILE, it writes to standard output. Users who change during the export can be missing.

  grantd user export people.jsonl --with-password-hashes`,
    )
    .action((file: string | undefined, flags: ExportFlags) =>
      withAdministration(flags, 'needs_database', (parts) => exportPeople(parts, file, flags)),
    );
}

interface ImportWish extends ImportOrder {
  readonly file: string;
  readonly format: ImportFormat;
  readonly fromLine: number;
  readonly report?: string;
  readonly options: ConvertOptions;
}

/** @throws {BadUsage} a value is invalid */
function importWishOf(file: string, flags: ImportFlags): ImportWish {
  const format = IMPORT_FORMATS.find((known) => known === (flags.format ?? IMPORT_FORMATS[0]));
  if (format === undefined)
    throw new BadUsage(
      `--format: expected ${IMPORT_FORMATS.join(', ')}, got ${JSON.stringify(flags.format)}`,
    );
  const fromLine = Number(flags.fromLine ?? 1);
  if (!(Number.isSafeInteger(fromLine) && fromLine >= 1))
    throw new BadUsage(`--from-line: expected a whole number from 1, got ${JSON.stringify(flags.fromLine)}`);
  return {
    file,
    format,
    fromLine,
    isDryRun: flags.dryRun === true,
    updates: flags.update === true,
    createsGroups: flags.createGroups === true,
    allowsAdministrators: flags.allowAdministrators === true,
    options: {
      rolesAreGroups: flags.rolesAsGroups === true,
      emailsAreVerified: flags.emailsVerified === true,
      dropsUnusableHashes: flags.dropUnusableHashes === true,
      firebaseHash: firebaseHashOf(format, flags.firebaseHashConfig),
    },
    ...(flags.report !== undefined && { report: flags.report }),
  };
}

/** The file contains the signer key, with which anyone can check passwords against the hashes. */
function firebaseHashOf(format: ImportFormat, path: string | undefined): ConvertOptions['firebaseHash'] {
  const flag = '--firebase-hash-config';
  if (path === undefined) return undefined;
  if (format !== 'firebase') throw new BadUsage(`${flag}: expected it with --format firebase`);
  const hash = readFirebaseHash(readPrivateText(typedPath(process.env, path), flag));
  if (hash === undefined)
    throw new Refused(
      `${flag}: ${path}: expected base64_signer_key, base64_salt_separator, rounds and mem_cost, as the Firebase console shows them.`,
    );
  return hash;
}

/** Problems that a command without a report prints. */
const MAX_PRINTED = 10;

async function importPeople(parts: AdministrationParts, wish: ImportWish): Promise<void> {
  let id = '';
  const counts = new ImportCounts();
  const report = wish.report === undefined ? undefined : await newFile('--report', wish.report);
  const leftOut = new LeftOut();
  let [lines, lastLine, printed] = [0, 0, 0];
  const added = new AddedUsers();
  const onLine = (one: LineReport, read?: ImportLine) => {
    counts.count(one);
    added.count(one, read);
    [lines, lastLine] = [lines + 1, Math.max(lastLine, one.line)];
    report?.write(`${JSON.stringify(one)}\n`);
    leftOut.count(one.warnings);
    if (one.reasons !== undefined && report === undefined && printed++ < MAX_PRINTED) {
      endProgress();
      console.error(
        `grantd: line ${one.line}: ${[one.username, one.reasons.join('; ')].filter(Boolean).join(': ')}`,
      );
    }
    if (lines % 500 === 0) showProgress(`${lines} users`);
  };
  try {
    id = await importLines(parts.admin, wish, usersOf(wish), onLine);
  } catch (error) {
    endProgress();
    if (lastLine > 0)
      console.error(
        `grantd: stopped after line ${lastLine}. Run the command again: it skips the lines that are imported.`,
      );
    throw error;
  } finally {
    if (report !== undefined) await closed(report);
  }
  endProgress();
  const { imported, updated, unchanged, skipped, exists, failed } = counts.byOutcome;
  const would = wish.isDryRun ? 'would be ' : '';
  const { administrators } = counts;
  const found = { ...counts.byOutcome, ...optional('administrators', administrators) };
  printOne(parts, { import: id, dryRun: wish.isDryRun, ...found }, [
    `${imported} ${would}imported, ${updated} ${would}updated, ${unchanged + skipped} skipped, ${exists + failed} refused`,
    ...(wish.isDryRun ? added.first.map(addedInWords) : []),
    ...administratorsInWords(administrators, wish.isDryRun ? 'planned' : 'done'),
    ...(imported > 0 && !wish.isDryRun ? [`identifier of the import: ${id}`] : []),
  ]);
  for (const text of leftOut.lines()) console.error(`grantd: ${text}`);
  if (leftOut.users > 0)
    console.error(
      `grantd: ${leftOut.users} of ${lines} lines have something that was left out: ${wish.report === undefined ? 'use --report FILE to see of whom' : `${wish.report} says of whom`}.`,
    );
  if (exists + failed > 0)
    throw new Refused(
      `${exists + failed} of ${lines} lines were not imported: ${wish.report === undefined ? 'use --report FILE to see all of them' : `${wish.report} says why`}.`,
    );
}

function addedInWords({ username, email, groups }: AddedUser): string {
  const more = [email, groups.length === 0 ? undefined : `groups: ${groups.join(', ')}`];
  return [`    + ${username}`, ...more.filter((one) => one !== undefined)].join('  ');
}

/**
 * Creates a file that only this user can read.
 * @throws {Refused} it exists or cannot be created
 */
async function newFile(what: string, path: string): Promise<WriteStream> {
  const stream = createWriteStream(typedPath(process.env, path), { flags: 'wx', mode: 0o600 });
  try {
    await once(stream, 'open');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'EEXIST' ? 'exists' : `cannot be created (${message})`;
    throw new Refused(`${what}: ${path} ${reason}: choose another file.`);
  }
  return stream;
}

/** Resolves when everything is written. */
async function closed(stream: WriteStream): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  stream.once('error', reject);
  stream.end(() => resolve());
  return promise;
}

async function exportPeople(
  parts: AdministrationParts,
  path: string | undefined,
  { withPasswordHashes, group: groupName }: ExportFlags,
): Promise<void> {
  const reading = parts.admin.lines('exportUsers', {
    ...(groupName !== undefined && { group: groupName }),
    with_password_hashes: withPasswordHashes === true,
  });
  // The group is looked up before a file is created.
  let next = await reading.next();
  const file = path === undefined ? undefined : await newFile('FILE', path);
  let users = 0;
  try {
    for (; !next.done; next = await reading.next()) {
      await written(file ?? process.stdout, `${JSON.stringify(next.value)}\n`);
      users += 1;
      if (file !== undefined && users % 500 === 0) showProgress(`${users} users`);
    }
    if (file !== undefined) await closed(file);
  } catch (error) {
    // A part of an export could be taken for the whole.
    if (path !== undefined) rmSync(typedPath(process.env, path), { force: true });
    throw error;
  } finally {
    endProgress();
  }
  if (path !== undefined)
    printOne(parts, { file: path, users }, [`wrote ${users} ${users === 1 ? 'user' : 'users'} to ${path}`]);
}

function written(stream: NodeJS.WritableStream, content: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  if (content === '') resolve();
  else stream.write(content, (error) => (error ? reject(error) : resolve()));
  return promise;
}
