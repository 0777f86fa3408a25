// Imports users in as many calls as they need, for the command and the console.
import { Refused } from '../config/refused.ts';
import type { LineReport, NumberedLine } from '../people/import.ts';
import type { ImportLine } from '../people/import_lines.ts';
import type { AdminCalls } from './in_process.ts';
import { timeOf } from './schema.ts';
import type { UserLine } from './user_lines.ts';

/** What an import does with the users of a file. */
export interface ImportOrder {
  readonly isDryRun: boolean;
  readonly updates: boolean;
  readonly createsGroups: boolean;
  readonly allowsAdministrators: boolean;
}

/** Lines that are read, and not reported yet: where they are in the file, and what they say. */
type SentLines = Map<number, { readonly line: number; readonly read: ImportLine }>;

/**
 * Sends the lines of a file in as many imports as they need.
 * @param onLine receives what became of each line, with what it says if that could be read
 * @returns the identifiers of the imports in events, with a space between them
 */
export async function importLines(
  admin: AdminCalls,
  { isDryRun, updates, createsGroups, allowsAdministrators }: ImportOrder,
  lines: AsyncIterable<NumberedLine> | Iterable<NumberedLine>,
  onLine: (report: LineReport, read?: ImportLine) => void,
): Promise<string> {
  const wish = {
    ...{ dry_run: isDryRun, update: updates, create_groups: createsGroups },
    allow_administrators: allowsAdministrators,
  };
  const ids: string[] = [];
  const reading = asynchronous(lines);
  for (let isMore = true; isMore; ) {
    const sent: SentLines = new Map();
    const readable = async function* (): AsyncGenerator<string> {
      for (let count = 1; count <= admin.maxLines; count++) {
        const read = await nextReadable(reading, onLine);
        if (read === undefined) {
          isMore = false;
          return;
        }
        sent.set(count, read);
        yield JSON.stringify(sentLine(read.read));
      }
    };
    let isWhole = false;
    for await (const report of admin.lines('importUsers', wish, readable())) {
      if ('import' in report) {
        isWhole = true;
        ids.push(report.import);
        continue;
      }
      const { line = 0, read } = sent.get(report.line) ?? {};
      sent.delete(report.line);
      onLine({ ...report, line, ...withWarnings(report, read) }, read);
    }
    if (!isWhole) throw new Refused('the server stopped during the import.');
  }
  return ids.join(' ');
}

/** The next line that can be sent. Reports those before it that cannot. */
async function nextReadable(
  reading: AsyncIterator<NumberedLine>,
  onLine: (report: LineReport) => void,
): Promise<{ readonly line: number; readonly read: ImportLine } | undefined> {
  for (;;) {
    const next = await reading.next();
    if (next.done === true) return undefined;
    const { line, read } = next.value;
    if (!('reasons' in read)) return { line, read };
    const { isSkipped, ...problem } = read;
    onLine({ line, outcome: isSkipped ? 'skipped' : 'failed', ...problem });
  }
}

/** A user of a plan whom an import would add. */
export interface AddedUser {
  readonly username: string;
  readonly email?: string;
  readonly groups: readonly string[];
}

/** Users of a plan that it shows. */
const MAX_ADDED = 10;

/** The first users whom an import adds. */
export class AddedUsers {
  readonly first: AddedUser[] = [];

  count({ outcome }: Pick<LineReport, 'outcome'>, read: ImportLine | undefined): void {
    if (outcome !== 'imported' || read === undefined || this.first.length === MAX_ADDED) return;
    const { username, claims, groups = [] } = read;
    const { email } = claims;
    this.first.push({ username, groups, ...(typeof email === 'string' && { email }) });
  }
}

async function* asynchronous<T>(items: AsyncIterable<T> | Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

function sentLine({
  digest: _,
  warnings: __,
  passwordHash,
  directoryId,
  links,
  createdAtMs,
  totpSecret,
  ...line
}: ImportLine): UserLine {
  return {
    ...line,
    ...(passwordHash !== undefined && { password_hash: passwordHash }),
    ...(directoryId !== undefined && { directory_id: directoryId }),
    ...(createdAtMs !== undefined && { created_at: timeOf(createdAtMs) }),
    ...(totpSecret !== undefined && { totp_secret: totpSecret }),
    ...(links !== undefined && {
      links: links.map(({ provider, upstreamIssuer, upstreamSub, label }) => ({
        ...{ provider, issuer: upstreamIssuer, sub: upstreamSub, label },
      })),
    }),
  };
}

/** The server sees the converted line, and does not know what the command has left out. */
function withWarnings({ outcome, warnings = [] }: Omit<LineReport, 'line'>, read: ImportLine | undefined) {
  const own = ['failed', 'unchanged'].includes(outcome) ? [] : (read?.warnings ?? []);
  const both = [...new Map([...own, ...warnings].map((one) => [String(one), one])).values()];
  return both.length > 0 ? { warnings: both } : {};
}
