// Imports and exports of users, a JSON object per line.
import { withoutOwnClaims } from '../data/people.ts';
import { newIdentifier } from '../data/tables.ts';
import { NO_PASSWORD } from '../data/ways_to_sign_in.ts';
import type { ConvertOptions } from '../people/exports/conversion.ts';
import { convertUser, type ImportFormat, LINE_FORMATS } from '../people/exports/formats.ts';
import { type LineReport, type NumberedLine, type Outcome, PeopleImport } from '../people/import.ts';
import { ImportFault } from '../people/import_faults.ts';
import type { ImportLine } from '../people/import_lines.ts';
import { SessionEnding } from '../people/sessions.ts';
import {
  ADMINISTRATOR_CHANGES,
  type AdministratorChanges,
  AdministratorCounts,
} from './administrator_changes.ts';
import { requireGroup, takingWays } from './groups.ts';
import { type AdminParts, MAX_LINES, type OperationParts, stream } from './operation.ts';
import {
  count,
  flag,
  integer,
  list,
  named,
  object,
  oneOf,
  optional,
  type Schema,
  text,
  texts,
  time,
  timeOf,
  type ValueOf,
} from './schema.ts';
import { type Listed, languageOf, pagesOf } from './user_rules.ts';
import { claims, GROUP_FILTER, groupNames, username } from './users.ts';

// ── Schemas ───────────────────────────────────────────────────────────────────────────────────────────────

/** A line of an import is checked by itself, so that the others are imported. */
const line = object({
  username,
  'password_hash?': text('The hash of the user’s password, in a form that the user import accepts.', {
    maxLength: 1024,
  }),
  'subject?': text('The subject identifier of the user. Default: a new one.', { maxLength: 255 }),
  'claims?': claims,
  'groups?': groupNames('Names of the user’s groups.'),
  'disabled?': flag('Whether the user is disabled, so that the user may not sign in.'),
  'directory_id?': text(
    'For a user of an LDAP directory: the identifier of the user’s entry. The directory then checks the password.',
    { maxLength: 255 },
  ),
  'links?': list(
    object({
      provider: text('The name of the identity provider in the file of the providers.'),
      issuer: text('The issuer of the identity provider.'),
      sub: text('The user’s identifier at the provider.'),
      'label?': text('The user’s name or address at the provider. Default: sub.'),
    }),
    'Accounts at identity providers with which the user can sign in.',
  ),
  'created_at?': time('When a new user was added. Default: now.'),
  'totp_secret?': text(
    'The secret of a new user’s authenticator app in base32 without padding. The app makes codes of 6 digits every 30 seconds with SHA-1 (RFC 6238).',
    { maxLength: 103 },
  ),
  'invite?': flag(
    'Whether a new user without a password gets an email with a link to choose one. The user needs the claim email.',
  ),
});
export type UserLine = ValueOf<typeof line>;
const { required: _, additionalProperties: __, ...lineForm } = line;
const IMPORT_LINE = named<Schema<UserLine>>('ImportLine', {
  ...lineForm,
  description: 'One user. A line has these members if the parameter format is grantd, which is the default.',
});

const OUTCOMES = ['imported', 'updated', 'unchanged', 'skipped', 'exists', 'failed'] as const;
const faults = (description: string): Schema<readonly ImportFault[]> => ({
  ...(texts(description) as object),
});
const lineReport = object(
  {
    line: integer('The number of the line in the request.', { minimum: 1 }),
    'username?': text('The username in the line.'),
    outcome: oneOf(
      OUTCOMES,
      'imported: the server added the user. updated: it changed the existing user. unchanged: the user is already as in the line. skipped: the line is not about a user. exists: the user exists and differs from the line, but the parameter update is not true. failed: the line cannot be imported.',
    ),
    'subject?': text('The subject identifier of the user.'),
    'administrator?': oneOf(
      ['become', 'stop'],
      'become: the line makes the user an administrator. stop: it ends that the user is one. Absent if neither.',
    ),
    'reasons?': faults('Everything for which the line was not imported, in words.'),
    'warnings?': faults(
      'What the line says and the server leaves out, such as claims of a wrong type. Absent if nothing is left out.',
    ),
  },
  { description: 'A line with the result of one line of the request:' },
);
const outcome = (name: Outcome) => count(`Number of lines with the outcome ${name}.`);
const summary = object(
  {
    import: text('The ID of the import. The event people_imported has it as target.'),
    dry_run: flag('Whether the request only checked the lines.'),
    imported: outcome('imported'),
    updated: outcome('updated'),
    unchanged: outcome('unchanged'),
    skipped: outcome('skipped'),
    exists: outcome('exists'),
    failed: outcome('failed'),
    'administrators?': ADMINISTRATOR_CHANGES,
  },
  { description: 'The last line, with the summary:' },
);
const IMPORT_REPORT = named<Schema<ValueOf<typeof lineReport> | ValueOf<typeof summary>>>('ImportReport', {
  description:
    'One line of the response. The last line is the summary of the import. If it is missing, the import has stopped early. Every other line is the result of one line of the request.',
  oneOf: [lineReport, summary],
});
export type ImportReport = ValueOf<typeof IMPORT_REPORT>;

// ── Lines ─────────────────────────────────────────────────────────────────────────────────────────────────
/** Characters. Longer lines are refused. */
export const MAX_LINE = 64 * 1024;

/** Reads a line of an import. */
export function readLine(
  content: string,
  format: ImportFormat,
  options?: ConvertOptions,
): NumberedLine['read'] {
  if (content.length > MAX_LINE) return { reasons: [new ImportFault('long', String(MAX_LINE))] };
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch {
    // The parser’s own message would quote the line.
    return { reasons: [new ImportFault('no_json')] };
  }
  return convertUser(format, value, options);
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
  readonly #administrators = new AdministratorCounts();

  count({ outcome, administrator, username = '' }: LineReport): void {
    this.byOutcome[outcome] += 1;
    if (administrator !== undefined) this.#administrators.add(administrator, [username]);
  }

  get administrators(): AdministratorChanges | undefined {
    return this.#administrators.changes;
  }
}

/** Yields users as lines that an import reads. */
export async function* exportedLines(
  { upstreamIdentities }: Pick<OperationParts, 'upstreamIdentities'>,
  pages: AsyncIterable<readonly Listed[]>,
  withHash: boolean,
): AsyncGenerator<UserLine> {
  const hasLinks = !(await upstreamIdentities.isEmpty());
  for await (const page of pages)
    for (const {
      name,
      subject,
      claims,
      groups,
      disabledAtMs,
      passwordHash,
      directoryId,
      createdAtMs,
    } of page) {
      const links = hasLinks ? await upstreamIdentities.ofSubject(subject) : [];
      yield {
        username: name,
        subject,
        claims: withoutOwnClaims(claims),
        created_at: timeOf(createdAtMs),
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

// ── Operations ────────────────────────────────────────────────────────────────────────────────────────────

interface ImportInput {
  readonly format?: ImportFormat;
  readonly dry_run?: boolean;
  readonly update?: boolean;
  readonly create_groups?: boolean;
  readonly allow_administrators?: boolean;
  readonly first_line?: number;
}

async function* numbered(
  parts: AdminParts,
  { format = 'grantd', first_line: first = 1, update: updates = false }: ImportInput,
  lines: AsyncIterable<string> | Iterable<string>,
): AsyncGenerator<NumberedLine> {
  let line = first - 1;
  for await (const content of lines) {
    line += 1;
    if (!parts.caller.isOnMachine && line === first + MAX_LINES) {
      yield { line, read: { reasons: [new ImportFault('lines', String(MAX_LINES))] } };
      return;
    }
    if (content.trim() === '') continue;
    const read = readLine(content, format);
    if ('reasons' in read) {
      yield { line, read };
      continue;
    }
    const reasons = await refusalsOf(parts, updates, read);
    yield { line, read: reasons.length === 0 ? read : { username: read.username, reasons } };
  }
}

/** Why a caller may not import a line: it would get further than its own rights. */
async function refusalsOf(
  { caller, people }: AdminParts,
  updates: boolean,
  { username: name, claims: given, groups, disabled }: ImportLine,
): Promise<readonly ImportFault[]> {
  if (caller.isOnMachine) return [];
  const isJoining = caller.isAdministrator({ groups: groups ?? [] });
  const person = updates ? await people.byName(name) : undefined;
  const isAdministrator = person !== undefined && caller.isAdministrator(person);
  // An import can change many lines, so it cannot make sure that another administrator stays.
  const endsAdministrator = isAdministrator && (disabled === true || (groups !== undefined && !isJoining));
  const found = {
    claim_groups: Object.hasOwn(given, 'groups'),
    groups_scope: groups !== undefined && !caller.has(['grantd:groups:write']),
    administrator_scopes: (isJoining || isAdministrator) && !caller.hasEveryScope,
    address_scopes: !(await caller.mayHaveAddress(people, given)),
    own_user: person !== undefined && person.subject === caller.subject,
    ends_administrator: endsAdministrator,
  };
  const codes = Object.keys(found) as readonly (keyof typeof found)[];
  return codes.flatMap((code) => (found[code] ? [new ImportFault(code)] : []));
}

async function importUsers(
  parts: AdminParts,
  input: ImportInput,
  lines: AsyncIterable<string> | Iterable<string>,
  write: (report: ImportReport) => Promise<void>,
): Promise<void> {
  const { dry_run: isDryRun = false, create_groups: createsGroups = false, update: updates = false } = input;
  const { allow_administrators: allowsAdministrators = false } = input;
  const { caller } = parts;
  const id = newIdentifier();
  if (createsGroups) caller.requireScopes(['grantd:groups:write']);
  const counts = new ImportCounts();
  const waiting: LineReport[] = [];
  const report = (one: LineReport) => {
    counts.count(one);
    waiting.push(one);
  };
  const flush = async () => {
    for (const one of waiting.splice(0)) await write(one);
  };
  const keepsOldNames = caller.hasEveryScope;
  const wish = { id, isDryRun, createsGroups, allowsAdministrators, keepsOldNames, updates };
  const work = await PeopleImport.open(
    {
      ...parts,
      ...{ languageOf, ending: new SessionEnding(parts) },
      isAdminGroup: (name) => caller.isAdminGroup(name),
      changePerson(person, work, { ways, access = false, group = '' } = {}) {
        const takesAccess = access || caller.isAdminGroup(group);
        const change = () =>
          allowsAdministrators
            ? caller.changePerson(parts.issuer, person, work, takesAccess)
            : caller.changeNoAdministrator(parts.issuer, person, work);
        return ways === undefined ? change() : takingWays(parts, person, ways, change);
      },
    },
    wish,
  );
  let isWarned = allowsAdministrators;
  async function* flushing(): AsyncGenerator<NumberedLine> {
    for await (const one of numbered(parts, input, lines)) {
      await flush();
      if (!isWarned && 'groups' in one.read) {
        caller.warnIfAdminGroupUnknown();
        isWarned = true;
      }
      yield one;
    }
  }
  try {
    await work.run(flushing(), report);
  } finally {
    // What was reported is durable, also if the import stops.
    await flush();
  }
  await write({
    ...{ import: id, dry_run: isDryRun, ...counts.byOutcome },
    ...optional('administrators', counts.administrators),
  });
}

/** The same pages. Asks before each whether the caller may still read. */
async function* askedBefore(
  pages: AsyncIterable<readonly Listed[]>,
  { requireCaller }: Pick<AdminParts, 'requireCaller'>,
): AsyncGenerator<readonly Listed[]> {
  for await (const page of pages) {
    await requireCaller();
    yield page;
  }
}

export const USER_STREAMS = {
  importUsers: stream({
    method: 'POST',
    path: '/imports/users',
    scope: 'grantd:users:write',
    summary: `Import users. The body has one JSON object per line, and at most ${MAX_LINES} lines. If an import is interrupted, send the same lines again: the server skips those that it has imported`,
    query: {
      format: {
        schema: oneOf(LINE_FORMATS),
        about: 'The format of the lines: that of grantd, or that of an Auth0 export. Default: grantd.',
      },
      dry_run: { schema: flag(), about: 'Whether to check every line and change nothing. Default: false.' },
      update: {
        schema: flag(),
        about: 'Whether to change a user of a line who already exists. Default: false.',
      },
      create_groups: {
        schema: flag(),
        about: 'Whether to add the groups in the lines that do not exist yet. Default: false.',
      },
      allow_administrators: {
        schema: flag(),
        about:
          'Whether lines may add users to the group of the administrators, and change its members. The access token needs every scope for this too. Default: false.',
      },
      first_line: {
        schema: integer(undefined, { minimum: 1 }),
        about:
          'The number that the response gives to the first line of the request. Set it if you split a file into several requests. Default: 1.',
      },
    },
    bodyLine: IMPORT_LINE,
    status: 200,
    line: IMPORT_REPORT,
    stream: importUsers,
  }),
  exportUsers: stream({
    method: 'GET',
    path: '/exports/users',
    scope: 'grantd:users:read',
    summary:
      'Export users, as one JSON object per line. Users whose data changes during the export can be missing',
    query: {
      group: GROUP_FILTER,
      with_password_hashes: {
        schema: flag(),
        about:
          'Whether the lines contain password hashes. If true, the access token needs every scope of the admin API. Default: false.',
      },
    },
    status: 200,
    line: IMPORT_LINE,
    async stream(parts, { group: given, with_password_hashes: withHashes = false }, _lines, write) {
      // With a hash, a caller can guess the password of an administrator.
      if (withHashes) parts.caller.requireEveryScope();
      const group = given === undefined ? undefined : (await requireGroup(parts, given)).name;
      const pages = pagesOf(parts, optional('group', group));
      for await (const one of exportedLines(parts, askedBefore(pages, parts), withHashes)) await write(one);
    },
  }),
};
