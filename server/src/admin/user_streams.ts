// Imports and exports of users through the admin API, a JSON object per line.

import { nameKey } from '../data/people.ts';
import { newIdentifier } from '../data/tables.ts';
import { ADMIN_SCOPES, type AdminScope } from '../instance/admin_access.ts';
import { requireGroup } from '../operations/groups.ts';
import { pagesOf } from '../operations/people.ts';
import { exportedLine, ImportCounts, readLine } from '../operations/people_lines.ts';
import { type LineReport, type NumberedLine, PeopleImport } from '../people/import.ts';
import { IMPORT_FORMATS, type ImportFormat, isOneDocument } from '../people/import_lines.ts';
import { SessionEnding } from '../people/sessions.ts';
import { type ApiCall, type ApiStream, MAX_LINES, requireEveryScope } from './api_operation.ts';
import * as schemas from './schemas.ts';

const FLAG = { enum: ['true', 'false'] };

/** Formats with a document per line. The others are one document, which does not come in lines. */
const FORMATS = IMPORT_FORMATS.filter((format) => !isOneDocument(format));

async function* numbered(
  call: ApiCall,
  lines: AsyncIterable<string>,
  format: ImportFormat,
): AsyncGenerator<NumberedLine> {
  const { first_line: first = 1 } = call.query;
  let line = first - 1;
  for await (const content of lines) {
    line += 1;
    if (line === first + MAX_LINES) {
      yield {
        line,
        read: { reason: `expected at most ${MAX_LINES} lines: send the rest in another request` },
      };
      return;
    }
    if (content.trim() === '') continue;
    const read = readLine(content, format);
    const reason = 'reason' in read ? undefined : await refusalOf(call, read);
    yield {
      line,
      read: reason === undefined || 'reason' in read ? read : { username: read.username, reason },
    };
  }
}

/** Why a caller may not import a line: it would get further than its own token. */
async function refusalOf(
  { parts, query, hasScopes, callerSubject }: ApiCall,
  { username, claims, groups, disabled }: Extract<NumberedLine['read'], { claims: unknown }>,
): Promise<string | undefined> {
  if (Object.hasOwn(claims, 'groups'))
    return 'claims: groups: applications would see it instead of the user’s groups';
  if (groups !== undefined && !hasScopes(['grantd:groups:write']))
    return 'groups: the token needs the scope grantd:groups:write';
  const { adminGroup } = parts.configuration.settings;
  if (adminGroup === undefined) return undefined;
  const isAdministrators = (name: string) => nameKey(name) === nameKey(adminGroup);
  const isJoining = groups?.some(isAdministrators) === true;
  const person = query.update === 'true' ? await parts.people.byName(username) : undefined;
  const isAdministrator = person?.groups?.some(isAdministrators) === true;
  if ((isJoining || isAdministrator) && !hasScopes(Object.keys(ADMIN_SCOPES) as readonly AdminScope[]))
    return 'the token needs every scope to change an administrator';
  if (person !== undefined && person.subject === callerSubject)
    return 'an import does not change the user whose token it is';
  // An import can change many lines, so it cannot make sure that another administrator stays.
  if (isAdministrator && (disabled === true || (groups !== undefined && !isJoining)))
    return 'an import does not disable administrators or remove them from their group';
  return undefined;
}

async function importUsers(
  call: ApiCall,
  lines: AsyncIterable<string>,
  write: (line: object) => Promise<void>,
): Promise<void> {
  const { parts, query } = call;
  const id = newIdentifier();
  const isDryRun = query.dry_run === 'true';
  const createsGroups = query.create_groups === 'true';
  if (createsGroups) call.requireScopes(['grantd:groups:write']);
  const counts = new ImportCounts();
  const waiting: LineReport[] = [];
  const report = (one: LineReport) => {
    counts.count(one);
    waiting.push(one);
  };
  const flush = async () => {
    for (const one of waiting.splice(0)) await write(one);
  };
  const wish = { id, isDryRun, createsGroups, updates: query.update === 'true' };
  const work = await PeopleImport.open({ ...parts, ending: new SessionEnding(parts) }, wish);
  async function* flushing(): AsyncGenerator<NumberedLine> {
    for await (const one of numbered(call, lines, query.format ?? 'grantd')) {
      await flush();
      yield one;
    }
  }
  try {
    await work.run(flushing(), report);
  } finally {
    // What was reported is durable, also if the import stops.
    await flush();
  }
  await write({ import: id, dry_run: isDryRun, ...counts.byOutcome });
}

async function exportUsers(call: ApiCall, write: (line: object) => Promise<void>): Promise<void> {
  const { parts, query } = call;
  const withHashes = query.with_password_hashes === 'true';
  // With a hash, a caller can guess the password of an administrator.
  if (withHashes) requireEveryScope(call);
  const group = query.group === undefined ? undefined : (await requireGroup(parts, query.group)).name;
  for await (const page of pagesOf(parts, group === undefined ? {} : { group }))
    for (const person of page) await write(exportedLine(person, withHashes));
}

export const USER_STREAMS: readonly ApiStream[] = [
  {
    id: 'importUsers',
    method: 'POST',
    path: '/imports/users',
    scope: 'grantd:users:write',
    summary: `Import users. The body has one JSON object per line, and at most ${MAX_LINES} lines. If an import is interrupted, send the same lines again: the server skips those that it has imported`,
    query: {
      format: {
        schema: { enum: FORMATS },
        about: 'The format of the lines: that of grantd, or that of an Auth0 export. Default: grantd.',
      },
      dry_run: { schema: FLAG, about: 'Whether to check every line and change nothing. Default: false.' },
      update: {
        schema: FLAG,
        about: 'Whether to change a user of a line who already exists. Default: false.',
      },
      create_groups: {
        schema: FLAG,
        about: 'Whether to add the groups in the lines that do not exist yet. Default: false.',
      },
      first_line: {
        schema: { type: 'integer', minimum: 1 },
        about:
          'The number that the response gives to the first line of the request. Set it if you split a file into several requests. Default: 1.',
      },
    },
    bodyLine: schemas.IMPORT_LINE,
    status: 200,
    line: schemas.IMPORT_REPORT,
    stream: importUsers,
  },
  {
    id: 'exportUsers',
    method: 'GET',
    path: '/exports/users',
    scope: 'grantd:users:read',
    summary:
      'Export users, as one JSON object per line. Users whose data changes during the export can be missing',
    query: {
      group: {
        schema: { type: 'string', minLength: 1, maxLength: 128 },
        about: 'Only members of this group.',
      },
      with_password_hashes: {
        schema: FLAG,
        about:
          'Whether the lines contain password hashes. If true, the access token needs every scope of the admin API. Default: false.',
      },
    },
    status: 200,
    line: schemas.EXPORT_LINE,
    stream: (call, _, write) => exportUsers(call, write),
  },
];
