// Operations of the admin API on groups, clients, APIs and scope texts as a whole, as in the file of `grantd apply`.
import type { AdminScope } from '../instance/admin_access.ts';
import {
  type DesiredState,
  exportedState,
  type FileProblem,
  type Plan,
  performPlan,
  planFor,
  readDesiredState,
} from '../operations/desired_state.ts';
import { type ApiCall, type ApiOperation, requireIfAdministrator, requireScopesOf } from './api_operation.ts';
import { Problem } from './problems.ts';
import * as schemas from './schemas.ts';

interface StateBody {
  readonly state: unknown;
  readonly secrets?: Readonly<Record<string, string>>;
  readonly prune?: boolean;
}

/** Enough for about 2000 clients. */
const MAX_STATE_BYTES = 1024 * 1024;

/** More would keep the server from other requests for seconds. */
const MAX_NAMES = 5000;

/** @throws {Problem} the document names too much */
function requireFewNames({ groups = [], clients = [], scopeTexts }: DesiredState): void {
  const texts = [scopeTexts, ...clients.map((client) => client.scopeTexts)];
  const names = texts.reduce((sum, some) => sum + (some?.size ?? 0), groups.length + clients.length);
  if (names <= MAX_NAMES) return;
  const problem = `expected at most ${MAX_NAMES} groups, clients and scope texts, got ${names}`;
  throw invalid('state', [{ path: [], problem }]);
}

/** A document names what it changes, so its caller needs the scopes of its sections. */
function requireSectionScopes(
  { requireScopes }: ApiCall,
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
  requireScopes(needed.filter(([isNeeded]) => isNeeded).map(([, scope]) => scope));
}

function invalid(member: 'state' | 'secrets', problems: readonly FileProblem[]): Problem {
  const pointer = (path: FileProblem['path']) =>
    [member, ...path].map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  return new Problem('invalid_input', {
    errors: problems.map(({ path, problem }) => ({ in: pointer(path), detail: problem })),
  });
}

/** The server never follows a reference to a secret, because it would read its own files for its callers. */
function secretsFor(
  { clients = [] }: DesiredState,
  given: Readonly<Record<string, string>>,
): ReadonlyMap<string, string> {
  const secrets = new Map(Object.entries(given));
  const referring = new Set(clients.filter(({ secret }) => secret !== undefined).map(({ id }) => id));
  const missing = [...referring].filter((id) => !secrets.has(id));
  const unknown = [...secrets.keys()].filter((id) => !referring.has(id));
  const problems = [
    ...missing.map((id) => ({ path: [id], problem: 'expected the secret to which the state refers' })),
    ...unknown.map((id) => ({ path: [id], problem: 'the client refers to no secret in the state' })),
  ];
  if (problems.length > 0) throw invalid('secrets', problems);
  return secrets;
}

/** @throws {Problem} the document is invalid, or the caller may not make its changes */
async function planOf(call: ApiCall): Promise<Plan> {
  const { parts, body, clientId } = call;
  const { state: document, secrets = {}, prune = false } = body as StateBody;
  const read = readDesiredState(document);
  if ('problems' in read) throw invalid('state', read.problems);
  const { state } = read;
  requireFewNames(state);
  requireSectionScopes(call, state);
  const planned = await planFor(parts, state, {
    prune,
    secrets: secretsFor(state, secrets),
    permission: {
      requireClient: (client) => requireScopesOf(call, client),
      requireGroup: (name) => requireIfAdministrator(call, [name]),
      sender: clientId,
      keepsAdministrator: true,
    },
  });
  if ('problems' in planned) throw invalid('state', planned.problems);
  return planned;
}

function shownPlan({ changes, unchanged }: Plan): { readonly changes: readonly object[]; unchanged: number } {
  return { changes: changes.map(({ perform: _, ...shown }) => shown), unchanged };
}

const STATE = {
  method: 'POST',
  scope: 'grantd:clients:write',
  otherScopes: ['grantd:groups:write', 'grantd:scopes:write'],
  body: schemas.STATE_ORDER,
  maxBodyBytes: MAX_STATE_BYTES,
  status: 200,
  hasVersion: true,
} as const;

export const STATE_OPERATIONS: readonly ApiOperation[] = [
  {
    id: 'exportState',
    method: 'GET',
    path: '/state',
    scope: 'grantd:clients:read',
    summary: 'Export groups, clients, APIs and scope texts. Secrets and self-registered clients are left out',
    status: 200,
    response: schemas.EXPORTED_STATE,
    async perform({ parts, requireScopes }) {
      requireScopes(['grantd:groups:read', 'grantd:scopes:read']);
      const { withSecret, ...state } = await exportedState(parts);
      return { body: { state, with_secret: [...withSecret] } };
    },
  },
  {
    ...STATE,
    id: 'planState',
    path: '/state/plan',
    summary:
      'Show which groups, clients, APIs and scope texts a request to /state/apply with the same body would change. This request changes nothing',
    response: schemas.STATE_PLAN,
    async perform(call) {
      const plan = shownPlan(await planOf(call));
      return { body: plan, version: plan };
    },
  },
  {
    ...STATE,
    id: 'applyState',
    path: '/state/apply',
    summary:
      'Add, change and (with prune) remove groups, clients, APIs and scope texts, so that they are as in the body. First get a plan for the same body from /state/plan, and send the ETag of its response as If-Match',
    response: schemas.APPLIED_STATE,
    needsVersion: true,
    async perform(call) {
      const plan = await planOf(call);
      const shown = shownPlan(plan);
      call.requireVersion(shown, {
        detail: 'what is stored has changed since the plan, and nothing was applied',
        advice: 'run grantd apply again.',
      });
      const warnings: string[] = [];
      await performPlan(plan, (warning) => warnings.push(warning));
      return { body: { ...shown, warnings }, version: shown };
    },
  },
];
