import { EVENT_TYPES, type EventRecord } from '@grantd/core';
import { isJsonObject, oneOf } from '@grantd/core/options';
import { Command } from 'commander';
import { labelled } from '../admin/command_form.ts';
import { readConfiguration, typedPath } from '../config/configuration.ts';
import { withoutPassword } from '../config/options.ts';
import { Refused } from '../config/refused.ts';
import { readTextFile } from '../config/text_file.ts';
import type { OpenDatabase } from '../data/database.ts';
import { storedIn } from '../data/database_of.ts';
import { secretFileOf } from '../data/secrets.ts';
import { actingAs } from '../data/tables.ts';
import { type ReplayOutcome, replay } from '../people/replay.ts';
import { durationOf, type KeyFlags, keyFlags, keyFrom, secondsSince } from './backup.ts';
import { databaseFlags, endProgress, printOne, showProgress, timeOf } from './command.ts';
import { BadUsage } from './exit.ts';

interface RestoreFlags extends KeyFlags {
  readonly replayEvents?: string;
  readonly revokeTokens?: true;
  readonly writeSecret?: string;
}

export function restoreCommand(): Command {
  return keyFlags(
    databaseFlags(
      new Command('restore')
        .argument('<file>', 'the backup')
        .description('create a database and the server’s secret from a backup'),
    ),
  )
    .option(
      '--replay-events <FILE>',
      'a file with the output of grantd events list --json. The command repeats the revocations, ends of sessions, withdrawals of consents, disablings and removals that happened after the backup',
    )
    .option('--revoke-tokens', 'revoke every token in the backup and end every session')
    .option(
      '--write-secret <FILE>',
      'with PostgreSQL, a new file to which the command writes the server’s secret. Omit it with --secret-file or GRANTD_SECRET',
    )
    .addHelpText(
      'after',
      `
Stop the server first. Move an old SQLite database away, together with its -wal and -shm files. A PostgreSQL database must be
empty. The command restores the whole database or nothing.

  grantd restore grantd.age --identity-file backup.key --database sqlite:/var/lib/grantd/grantd.db --revoke-tokens
  GRANTD_SECRET=… grantd restore grantd.age --identity-file backup.key --database postgres://grantd@db.example/grantd`,
    )
    .action(restoreBackup);
}

/** What was done to the database before any server uses it. */
interface Afterwork {
  replayed?: ReplayOutcome;
  /** Numbers of events after the backup that are not in the file. */
  missing?: readonly (readonly [number, number])[];
  sessionsEnded?: number;
}

async function restoreBackup(file: string, given: RestoreFlags): Promise<void> {
  const { identityFile, passphraseFile, replayEvents, revokeTokens = false, writeSecret, ...flags } = given;
  const configuration = readConfiguration(flags, process.env);
  const { settings } = configuration;
  const database = storedIn(settings, process.env);
  const isFile = 'path' in database;
  const [name, url] = isFile
    ? [database.path, `sqlite:${database.path}`]
    : [withoutPassword(database.url), withoutPassword(database.url)];
  if (isFile && writeSecret !== undefined)
    throw new BadUsage(`--write-secret: the secret of an SQLite database is in ${secretFileOf(name)}`);
  if (!isFile && (settings.secret === undefined) === (writeSecret === undefined))
    throw new BadUsage(
      'a PostgreSQL database does not contain the server’s secret: expected either --secret-file or GRANTD_SECRET, as of the ' +
        'server that was backed up, or --write-secret FILE, into which the secret of the backup is written',
    );
  const events = replayEvents === undefined ? undefined : readEvents(replayEvents);
  const key = await keyFrom(configuration, {
    ...(identityFile !== undefined && { identityFile }),
    ...(passphraseFile !== undefined && { passphraseFile }),
  });
  const { restore } = await import('../data/backup.ts');
  const done: Afterwork = {};
  const restored = await restore({
    ...{ file: typedPath(process.env, file), key, database, secrets: settings.secret },
    ...(writeSecret !== undefined && { secretFile: typedPath(process.env, writeSecret) }),
    ...(settings.issuer !== undefined && { issuer: settings.issuer }),
    onStep: showProgress,
    async work(opened, { lastEvent }) {
      const draft = actingAs('cli', opened);
      if (events !== undefined) {
        await requireSameHistory(replayEvents ?? '', draft, events);
        const later = events.filter(({ sequence }) => sequence > lastEvent);
        done.missing = gaps(lastEvent, later);
        done.replayed = await replay(draft, later);
      }
      if (revokeTokens) done.sessionsEnded = await endEverything(draft);
    },
  }).finally(endProgress);

  const { manifest, aliveTokens, secretFile: keptIn } = restored;
  const takenAt = timeOf(manifest.takenAtMs);
  const shown = {
    ...{ database: name, issuer: manifest.issuer, takenAt, lastEvent: manifest.lastEvent },
    ...{
      activeTokens: aliveTokens.count,
      ...(aliveTokens.hasMore && { hasMoreTokens: true }),
      secretFile: keptIn,
      ...done,
    },
  };
  printOne({ isJson: flags.json === true }, shown, [
    `restored ${name} from ${file}`,
    ...labelled({
      issuer: manifest.issuer,
      'backup taken': `${takenAt} (${durationOf(secondsSince(manifest.takenAtMs))} ago)`,
      'active tokens': `${aliveTokens.hasMore ? 'at least ' : ''}${aliveTokens.count}`,
      'server’s secret': keptIn ?? (settings.secret === undefined ? 'missing' : 'of the options'),
      'events applied': done.replayed && String(done.replayed.applied),
      'sessions ended': done.sessionsEnded === undefined ? undefined : String(done.sessionsEnded),
    }),
  ]);
  const warnings = warningsOf({ takenAt, done, url, lastEvent: manifest.lastEvent });
  if (keptIn === undefined && settings.secret === undefined)
    warnings.push(
      `The backup does not contain the server’s secret: ${isFile ? `put it into ${secretFileOf(name)} (mode 600), or ` : ''}set --secret-file or GRANTD_SECRET.`,
    );
  if (keptIn !== undefined && !isFile) warnings.push(`Start every process with --secret-file ${keptIn}.`);
  console.error(`\n${warnings.join('\n')}`);
}

/** Ends what the backup holds, and what it could bring back. @returns the number of sessions */
async function endEverything(
  { storage, sessions }: OpenDatabase,
  clock: () => number = Date.now,
): Promise<number> {
  const nowMs = clock();
  await storage.revokeAll({ issuedBeforeMs: nowMs });
  return sessions.beginEndOfEveryone(nowMs);
}

interface Situation {
  readonly takenAt: string | undefined;
  readonly done: Afterwork;
  /** The database, without its password. */
  readonly url: string;
  readonly lastEvent: number;
}

/** What may be active again, and how to end it. */
function warningsOf(
  { takenAt, done: { replayed, missing = [], sessionsEnded }, url, lastEvent }: Situation,
  clock: () => number = Date.now,
): string[] {
  const nowMs = clock();
  const lines = [
    `Tokens, users and clients from after ${takenAt} are unknown now. Passwords and registrations are those of the backup.`,
  ];
  if (sessionsEnded === undefined) {
    const revoked =
      replayed === undefined
        ? 'Tokens that were revoked, sessions that ended and refresh tokens'
        : 'Refresh tokens';
    lines.push(
      `${revoked} that were used after ${takenAt} may be active again. To end every token of the backup, run`,
      '',
      `  grantd token revoke --issued-before ${timeOf(nowMs)} --database ${url}`,
      '',
    );
    if (replayed === undefined)
      lines.push(
        `This command ends no browser sessions. To end them too, restore again with --revoke-tokens. To apply only what happened after the backup, restore again with --replay-events FILE (events after ${lastEvent}).`,
      );
  }
  for (const [first, last] of missing)
    lines.push(`The file lacks the events ${first} to ${last}: what they ended may be active again.`);
  if (replayed !== undefined && replayed.unknown > 0 && sessionsEnded === undefined)
    lines.push(
      `${replayed.unknown} revoked tokens, codes or clients are not in the backup, because they are from later. ` +
        'If such a token came from a refresh token of the backup, that one is active again.',
    );
  const lost = consentsLast(replayed?.lost ?? []);
  if (lost.length > 0) {
    lines.push('These changes are lost. Repeat them:');
    for (const event of lost.slice(0, MAX_LISTED))
      lines.push(
        `  ${timeOf(event.atMs)}  ${event.type} ${event.target}${userOf(event)}${ADVICE[event.type] ?? ''}`,
      );
    if (lost.length > MAX_LISTED) lines.push(`  and ${lost.length - MAX_LISTED} more (--json prints all)`);
  }
  return lines;
}

const MAX_LISTED = 50;

/** Consents of many users must not push other changes off the list. If a consent is lost, the user is asked again. */
function consentsLast(events: readonly EventRecord[]): readonly EventRecord[] {
  const others = events.filter(({ type }) => type !== 'consent_given');
  return [...others, ...events.filter(({ type }) => type === 'consent_given')];
}

/** The user of a consent, whose target is the client. */
function userOf({ type, subject }: EventRecord): string {
  return type === 'consent_given' && subject !== undefined ? ` (user ${subject})` : '';
}

/** What the lost change leaves open. */
const ADVICE: Readonly<Partial<Record<EventRecord['type'], string>>> = {
  client_secret_rotated: ': the earlier secret is accepted again (grantd client rotate-secret)',
  person_password_set: ': the earlier password is accepted again (grantd user set-password)',
  person_factor_removed: ': the factor is accepted again (grantd user remove-factor)',
  person_recovery_codes_made: ': the earlier recovery codes are accepted again (grantd user reset-factors)',
  person_recovery_code_used: ': the code is accepted again',
  key_rotated: ': this key signs again (grantd keys rotate)',
  consent_withdrawn: ': these consents are valid again, because the file does not name their users',
  server_secret_dropped: ': the secret of the backup may contain it (grantd secrets status)',
};

const EVENT_TYPE = oneOf(...EVENT_TYPES);

/**
 * Reads the output of `grantd events list --json`.
 * @returns the events in order
 * @throws {Refused} the file is something else
 */
function readEvents(file: string): readonly EventRecord[] {
  let content: unknown;
  try {
    content = JSON.parse(readTextFile(typedPath(process.env, file)));
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error;
    throw new Refused(
      `--replay-events: ${file}: ${isMissing ? `cannot be read (${error.code})` : 'expected JSON'}.`,
    );
  }
  if (!Array.isArray(content))
    throw new Refused(
      `--replay-events: ${file}: expected the output of grantd events list --json, an array.`,
    );
  const events = content.map((event: unknown, index): EventRecord => {
    const { number, at, type, target, subject } = isJsonObject(event) ? event : {};
    const knownType = EVENT_TYPE.read(type);
    const atMs = typeof at === 'string' ? Date.parse(at) : Number.NaN;
    if (
      typeof number !== 'number' ||
      !Number.isSafeInteger(number) ||
      typeof target !== 'string' ||
      Number.isNaN(atMs)
    )
      throw new Refused(
        `--replay-events: ${file}: element ${index + 1}: expected number, at, type and target of an event.`,
      );
    if (knownType === undefined)
      throw new Refused(
        `--replay-events: ${file}: event ${number}: this version of grantd does not know the type ${JSON.stringify(type)}.`,
      );
    return {
      sequence: number,
      atMs,
      type: knownType,
      target,
      ...(typeof subject === 'string' && { subject }),
    };
  });
  return events.sort((one, other) => one.sequence - other.sequence);
}

/** Events of both must agree. @throws {Refused} the file is of another database */
async function requireSameHistory(
  file: string,
  { storage }: OpenDatabase,
  events: readonly EventRecord[],
): Promise<void> {
  const before = Math.max(0, (events[0]?.sequence ?? 1) - 1);
  const stored = new Map(
    (await storage.eventsAfter(before, MAX_COMPARED)).map((event) => [event.sequence, event]),
  );
  const other = events.find(({ sequence, type, target, atMs }) => {
    const same = stored.get(sequence);
    return same !== undefined && (same.type !== type || same.target !== target || same.atMs !== atMs);
  });
  if (other !== undefined)
    throw new Refused(
      `--replay-events: ${file} is of another database: event ${other.sequence} differs from the one in the backup.`,
    );
}

const MAX_COMPARED = 1000;

/** The ranges of numbers that are missing between the backup’s last event and the last one in the file. */
function gaps(lastEvent: number, later: readonly EventRecord[]): readonly (readonly [number, number])[] {
  const found: [number, number][] = [];
  let before = lastEvent;
  for (const { sequence } of later) {
    if (sequence > before + 1) found.push([before + 1, sequence - 1]);
    before = sequence;
  }
  return found;
}
