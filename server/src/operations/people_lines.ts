// Users as lines of JSON, as imports read and exports write them.
import { NO_PASSWORD } from '../data/people.ts';
import type { LineReport, NumberedLine, Outcome } from '../people/import.ts';
import { convertUser, type ImportFormat } from '../people/import_formats.ts';
import type { OperationParts } from './operation.ts';
import type { Listed } from './people.ts';

/** Characters. Longer lines are refused. */
const MAX_LINE = 64 * 1024;

/** Reads a line of an import. */
export function readLine(content: string, format: ImportFormat): NumberedLine['read'] {
  if (content.length > MAX_LINE) return { reason: `expected at most ${MAX_LINE} characters` };
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    // The parser’s own message would quote the line.
    return { reason: 'expected JSON' };
  }
  return convertUser(format, value);
}

/** How many lines of an import had which outcome. */
export class ImportCounts {
  readonly byOutcome: Record<Outcome, number> = {
    imported: 0,
    updated: 0,
    unchanged: 0,
    skipped: 0,
    exists: 0,
    failed: 0,
  };

  count({ outcome }: Pick<LineReport, 'outcome'>): void {
    this.byOutcome[outcome] += 1;
  }
}

/** Yields users as lines that an import reads. */
export async function* exportedLines(
  { upstreamIdentities }: Pick<OperationParts, 'upstreamIdentities'>,
  pages: AsyncIterable<readonly Listed[]>,
  withHash: boolean,
): AsyncGenerator<object> {
  const hasLinks = !(await upstreamIdentities.isEmpty());
  for await (const page of pages)
    for (const { name, subject, claims, groups, disabledAtMs, passwordHash, directoryId } of page) {
      const links = hasLinks ? await upstreamIdentities.ofSubject(subject) : [];
      yield {
        username: name,
        subject,
        claims,
        ...(groups !== undefined && { groups }),
        ...(disabledAtMs !== undefined && { disabled: true }),
        ...(withHash && passwordHash !== NO_PASSWORD && { password_hash: passwordHash }),
        ...(directoryId !== undefined && passwordHash === NO_PASSWORD && { directory_id: directoryId }),
        ...(links.length > 0 && {
          links: links.map(({ provider, upstreamIssuer, upstreamSub, label }) => ({
            ...{ provider, issuer: upstreamIssuer, sub: upstreamSub, label },
          })),
        }),
      };
    }
}
