// Groups, clients, APIs and scope texts as a whole, as in the file of `grantd apply`.
import type { AdminScope } from '../instance/admin_access.ts';
import { ADMINISTRATOR_CHANGES, AdministratorCounts } from './administrator_changes.ts';
import { consequencesOfAll, STATE_CONSEQUENCES } from './client_consequences.ts';
import { newSecret } from './client_documents.ts';
import { type DesiredState, type FilePath, type FileProblem, readDesiredState } from './desired_state.ts';
import { type AdminParts, operation } from './operation.ts';
import { englishOf, InvalidInput, type Said } from './operation_refused.ts';
import {
  anyObject,
  count,
  flag,
  list,
  named,
  object,
  oneOf,
  optional,
  type Schema,
  text,
  texts,
  type ValueOf,
  WARNINGS,
} from './schema.ts';
import { type ExportedState, exportedState, type Plan, performPlan, planFor } from './state_plan.ts';
import type { Warning } from './warning.ts';

// ── Schemas ───────────────────────────────────────────────────────────────────────────────────────────────

const state = anyObject(
  'An object with the sections groups, clients and scope_texts, as in the file that the command grantd apply reads. grantd apply --schema prints its JSON Schema.',
);

const exportedForm: Schema<ExportedState> = { ...(state as object) };
const EXPORTED_STATE = named(
  'ExportedState',
  object({
    state: exportedForm,
    with_secret: texts('IDs of the clients that have a secret. The state contains no secrets.'),
  }),
);
const secrets: Schema<Readonly<Record<string, string>>> = {
  type: 'object',
  description:
    'The secrets of clients, by client ID, because the state itself contains no secrets. The server stores only their hashes.',
  additionalProperties: { ...newSecret, description: 'The secret of the client.' },
};
const STATE_ORDER = named(
  'StateOrder',
  object({
    state,
    'secrets?': secrets,
    'prune?': flag(
      'Whether to also remove stored groups, group members, clients and scope texts that are missing from their list in the state. If the state lacks a whole list, such as the section groups or the members of a group, everything stored of this kind stays. Clients that registered themselves or have a document stay too. The tokens of removed clients are revoked.',
    ),
  }),
);
const CHANGE = object({
  action: oneOf(['add', 'change', 'remove'], 'What the server does.'),
  kind: oneOf(['group', 'client', 'scope'], 'The kind of object.'),
  name: text('The name of the group, the client ID, or the scope.'),
  members: list(
    object({
      name: text(
        'The name of the member, such as "redirect_uris". For users who join a group, it is "members added", and for users who leave it, "members removed".',
      ),
      'before?': { description: 'The value before the change. Absent if the member is new.' } as Schema,
      'after?': {
        description:
          'The value after the change. Absent if the member is removed. With "members added" and "members removed", it is a list of the names of these users.',
      } as Schema,
    }),
    'The members of the object that change.',
  ),
});
const plan = {
  changes: list(CHANGE, 'The changes, in the order in which the server makes them.'),
  unchanged: count('Number of groups, clients and scope texts that need no change.'),
  'administrators?': ADMINISTRATOR_CHANGES,
} as const;
const STATE_PLAN = named('StatePlan', object({ ...plan, 'consequences?': STATE_CONSEQUENCES }));
export type PlanView = ValueOf<typeof STATE_PLAN>;
const APPLIED_STATE = named('AppliedState', object({ ...plan, warnings: WARNINGS }));

// ── Rules ─────────────────────────────────────────────────────────────────────────────────────────────────

/** Enough for about 2000 clients. */
const MAX_STATE_BYTES = 1024 * 1024;

/** More would keep the server from other requests for seconds. */
const MAX_NAMES = 5000;

/** @throws {InvalidInput} the document names too much */
function requireFewNames({ groups = [], clients = [], scopeTexts }: DesiredState): void {
  const some = [scopeTexts, ...clients.map((client) => client.scopeTexts)];
  const names = some.reduce((sum, one) => sum + (one?.size ?? 0), groups.length + clients.length);
  if (names <= MAX_NAMES) return;
  throw invalid('state', [{ path: [], said: ['too_many_names', String(MAX_NAMES), String(names)] }]);
}

/** A document names what it changes, so its caller needs the scopes of its sections. */
function requireSectionScopes(
  { caller }: Pick<AdminParts, 'caller'>,
  { groups, clients, scopeTexts }: DesiredState,
): void {
  const hasTexts = scopeTexts !== undefined || clients?.some((client) => client.scopeTexts !== undefined);
  // Whether a user exists is a secret of the users.
  const hasMembers = groups?.some(({ members }) => members !== undefined);
  const needed: readonly (readonly [boolean | undefined, AdminScope])[] = [
    [clients !== undefined, 'grantd:clients:write'],
    [groups !== undefined, 'grantd:groups:write'],
    [hasMembers, 'grantd:users:read'],
    [hasTexts, 'grantd:scopes:write'],
  ];
  caller.requireScopes(needed.filter(([isNeeded]) => isNeeded).map(([, scope]) => scope));
}

function invalid(member: 'state' | 'secrets', problems: readonly FileProblem[]): InvalidInput {
  const pointer = (path: FileProblem['path']) =>
    [member, ...path].map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  return InvalidInput.of(
    problems.map(({ path, said }) => ({
      ...{ in: pointer(path), detail: englishOf(said) },
      ...('english' in said ? {} : { said }),
    })),
  );
}

/** The server never follows a reference to a secret, because it would read its own files for its callers. */
function problemsOfSecrets(
  { clients = [] }: DesiredState,
  known: ReadonlyMap<string, string>,
): readonly FileProblem[] {
  const referring = new Set(clients.filter(({ secret }) => secret !== undefined).map(({ id }) => id));
  const missing = [...referring].filter((id) => !known.has(id));
  const unknown = [...known.keys()].filter((id) => !referring.has(id));
  return [
    ...missing.map((id) => ({ path: [id], said: ['secret_missing'] as const })),
    ...unknown.map((id) => ({ path: [id], said: ['secret_unreferred'] as const })),
  ];
}

/** What is said of a section, or of something in it, that has no members. */
const UNREAD: ReadonlySet<string | undefined> = new Set<Said[0]>(['names_needed', 'names_or_none']);

/** @throws {InvalidInput | OperationRefused} the document is invalid, or the caller may not make its changes */
async function planOf(
  parts: AdminParts,
  { state: document, secrets: given = {}, prune = false }: ValueOf<typeof STATE_ORDER>,
): Promise<Plan> {
  const { state: desired, problems } = readDesiredState(document);
  // No other request waits for a command on the server’s machine.
  if (!parts.caller.isOnMachine) requireFewNames(desired);
  requireSectionScopes(parts, desired);
  const secrets = new Map(Object.entries(given));
  const isWhole = problems.length === 0;
  // What could be read is compared too, so that one answer names everything (ADR 227). Then nothing counts as left out.
  const planned = await planFor(parts, desired, { prune: prune && isWhole, secrets });
  const unfit = 'problems' in planned ? planned.problems.filter((one) => !isKnown(one, problems)) : [];
  const ofSecrets = problemsOfSecrets(desired, secrets);
  const found = [
    ...(isWhole && unfit.length === 0 ? [] : [invalid('state', [...problems, ...unfit])]),
    ...(ofSecrets.length === 0 ? [] : [invalid('secrets', ofSecrets)]),
  ];
  if (found.length > 0 || 'problems' in planned) throw InvalidInput.together(found);
  return planned;
}

/**
 * Whether what is wrong with a form explains what does not fit: it is at the same place, or around it and could not be read,
 * or it can be why a client has no secret.
 */
function isKnown({ path, said }: FileProblem, problems: readonly FileProblem[]): boolean {
  const isIn = (some: FilePath, other: FilePath) => some.every((name, at) => other[at] === name);
  const codeOf = (said: FileProblem['said']) => ('english' in said ? undefined : said[0]);
  return problems.some(
    (one) =>
      (isIn(one.path, path) && (one.path.length === path.length || UNREAD.has(codeOf(one.said)))) ||
      (isIn(path, one.path) && codeOf(said) === 'secret_needed'),
  );
}

function planView({ changes, unchanged }: Plan): PlanView {
  const counts = new AdministratorCounts();
  for (const { become, stop } of changes.flatMap((change) => change.administrators ?? [])) {
    counts.add('become', become);
    counts.add('stop', stop);
  }
  return {
    changes: changes.map(({ perform: _, client: __, administrators: ___, covers: ____, ...shown }) => shown),
    unchanged,
    ...optional('administrators', counts.changes),
  };
}

/**
 * Two plans have the same version only if they perform the same. Consequences are left out, because they change with each
 * token.
 */
function versionOf({ changes }: Plan, shown: PlanView): object {
  return { ...shown, covers: changes.map(({ covers = '' }) => covers) };
}

// ── Operations ────────────────────────────────────────────────────────────────────────────────────────────

export const STATE_OPERATIONS = {
  exportState: operation({
    method: 'GET',
    path: '/state',
    scope: 'grantd:clients:read',
    summary:
      'Export groups, clients, APIs and scope texts. Secrets, and clients that registered themselves or have a document, are left out',
    status: 200,
    output: EXPORTED_STATE,
    async perform(parts) {
      parts.caller.requireScopes(['grantd:groups:read', 'grantd:scopes:read']);
      const { state: exported, withSecret } = await exportedState(parts);
      return { document: { state: exported, with_secret: withSecret } };
    },
  }),
  planState: operation({
    method: 'POST',
    path: '/state/plan',
    scope: 'grantd:clients:write',
    otherScopes: ['grantd:groups:write', 'grantd:scopes:write'],
    summary:
      'Show which groups, clients, APIs and scope texts a request to /state/apply with the same body would change. This request changes nothing',
    body: STATE_ORDER,
    maxBodyBytes: MAX_STATE_BYTES,
    status: 200,
    hasVersion: true,
    output: STATE_PLAN,
    async perform(parts, order) {
      const planned = await planOf(parts, order);
      const shown = planView(planned);
      const clients = planned.changes.flatMap(({ client }) => client ?? []);
      const consequences = await consequencesOfAll(parts, clients);
      return { document: { ...shown, consequences }, version: versionOf(planned, shown) };
    },
  }),
  applyState: operation({
    method: 'POST',
    path: '/state/apply',
    scope: 'grantd:clients:write',
    otherScopes: ['grantd:groups:write', 'grantd:scopes:write'],
    summary:
      'Add, change and (with prune) remove groups, clients, APIs and scope texts, so that they are as in the body. First get a plan for the same body from /state/plan, and send the ETag of its response as If-Match',
    body: STATE_ORDER,
    maxBodyBytes: MAX_STATE_BYTES,
    status: 200,
    hasVersion: true,
    needsVersion: true,
    output: APPLIED_STATE,
    async perform(parts, order) {
      const planned = await planOf(parts, order);
      const shown = planView(planned);
      const version = versionOf(planned, shown);
      parts.requireVersion(version, [['state_changed'], 'run grantd apply again.']);
      const warnings: Warning[] = [];
      await performPlan(
        planned,
        (warning) => warnings.push(warning),
        async ({ kind, name }, index, total) => {
          parts.progress?.(`${index + 1} of ${total}: ${kind} ${name}`);
          await parts.requireCaller();
        },
      );
      return { document: { ...shown, warnings }, version };
    },
  }),
};
