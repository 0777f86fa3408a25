// Every operation of administration does, records and refuses the same for all of its callers (ADR 94).
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Caller } from '../src/admin/caller.ts';
import { inProcess } from '../src/admin/in_process.ts';
import { InvalidInput, OperationRefused, type RefusalKind } from '../src/admin/operation_refused.ts';
import { type AnyOperation, type Input, OPERATIONS, type OperationId } from '../src/admin/table.ts';
import { localParts } from '../src/cli/local_calls.ts';
import type { ProblemCode } from '../src/http/problems.ts';
import { type AdminServer, startAdmin } from './harness/admin.ts';
import { addConsent, addSession } from './harness/program_data.ts';

/** What the steps before have made. */
interface Made {
  readonly server: AdminServer;
  readonly sub: string;
  readonly link: string;
  readonly token: string;
}

type Inputs = { readonly [Id in OperationId]: (made: Made) => Input<Id> };

const LONG_AGO = '2026-01-01T00:00:00Z';
const STATE = { groups: { declared: {} } };
const SESSION = 'the-session';
/** A client with a consent of the user. */
const CONSENTED = 'photos';

/** An input of each operation with which it succeeds, in an order in which they all do. */
const INPUTS: Inputs = {
  showHealth: () => ({}),
  countStored: () => ({ all: true }),
  showConfiguration: () => ({}),
  addGroup: () => ({ name: 'staff', description: 'Everyone' }),
  getGroup: () => ({ group: 'staff' }),
  updateGroup: () => ({ group: 'staff', description: 'All' }),
  listGroups: () => ({}),
  addUser: () => ({ username: 'bob', password: 'correct horse', claims: { name: 'Bob' } }),
  listUsers: () => ({ search: 'bob' }),
  getUser: ({ sub }) => ({ sub }),
  updateUser: ({ sub }) => ({
    sub,
    claims: { nickname: 'B', email: 'bob@shop.example', email_verified: true },
  }),
  sendPasswordLink: ({ sub }) => ({ sub }),
  endSession: ({ sub }) => ({ sub, session: SESSION }),
  setPassword: ({ sub }) => ({ sub, password: 'battery staple' }),
  addMember: ({ sub }) => ({ group: 'staff', sub }),
  removeMember: ({ sub }) => ({ group: 'staff', sub }),
  disableUser: ({ sub }) => ({ sub }),
  enableUser: ({ sub }) => ({ sub }),
  listSessions: ({ sub }) => ({ sub }),
  endSessions: ({ sub }) => ({ sub }),
  endAccess: ({ sub }) => ({ sub }),
  listConsents: ({ sub }) => ({ sub }),
  withdrawConsent: ({ sub }) => ({ sub, client: CONSENTED }),
  listGrants: ({ sub }) => ({ sub }),
  listActing: ({ sub }) => ({ sub }),
  getFactors: ({ sub }) => ({ sub }),
  confirmFactors: ({ sub }) => ({ sub }),
  removeFactor: ({ sub }) => ({ sub, factor: 'authenticator_app' }),
  resetFactors: ({ sub }) => ({ sub }),
  listLinks: ({ sub }) => ({ sub }),
  removeLink: ({ sub, link }) => ({ sub, link }),
  listLocks: ({ sub }) => ({ sub }),
  unlockUser: ({ sub }) => ({ sub }),
  explainUser: ({ sub }) => ({ sub }),
  addClient: () => ({
    client_id: 'shop',
    redirect_uris: ['https://shop.example/back'],
    scope: 'openid email',
  }),
  getClient: () => ({ client_id: 'shop' }),
  listClients: () => ({}),
  updateClient: () => ({ client_id: 'shop', client_name: 'Shop' }),
  rotateClientSecret: () => ({ client_id: 'shop', overlap: 60 }),
  disableClient: () => ({ client_id: 'shop' }),
  enableClient: () => ({ client_id: 'shop' }),
  explainToken: ({ token }) => ({ token }),
  revokeToken: ({ token }) => ({ token }),
  revokeAll: () => ({ client_id: 'shop', count: true }),
  listUserTokens: ({ sub }) => ({ sub }),
  listPersonalTokens: () => ({}),
  endPersonalTokens: ({ sub }) => ({ sub }),
  listUnusedClients: () => ({ unused_since: LONG_AGO }),
  removeUnusedClients: () => ({ client_ids: ['shop'], unused_since: LONG_AGO }),
  removeClient: () => ({ client_id: 'shop' }),
  listDeniedDocuments: () => ({}),
  denyDocuments: () => ({ rule: 'denied.example', note: 'Denied' }),
  allowDocuments: () => ({ rule: 'denied.example' }),
  newRegistrationToken: () => ({ lifetime: 60 }),
  addScopeTexts: () => ({ scope: 'read', texts: { name: 'Read' } }),
  getScopeTexts: () => ({ scope: 'read' }),
  updateScopeTexts: () => ({ scope: 'read', description: 'All of it' }),
  listScopeTexts: () => ({}),
  removeScopeTexts: () => ({ scope: 'read' }),
  listKeys: () => ({}),
  rotateKeys: () => ({ now: true }),
  listMails: () => ({}),
  retryMail: () => ({ mail: 'none' }),
  testMail: () => ({ address: 'bob@shop.example' }),
  listSecrets: () => ({}),
  rotateSecrets: () => ({ generate: false }),
  dropSecrets: () => ({}),
  exportState: () => ({}),
  planState: () => ({ state: STATE }),
  applyState: () => ({ state: STATE }),
  removeGroup: () => ({ group: 'declared' }),
  removeUser: ({ sub }) => ({ sub }),
  verifyAudit: () => ({}),
  restartAudit: () => ({ reason: 'a test' }),
  listAudit: () => ({ limit: 200 }),
  listEvents: () => ({ limit: 200 }),
};

/** Cannot succeed here: there is no email that failed, no server for emails, and one secret, in a variable. */
const REFUSED_HERE: ReadonlySet<string> = new Set(['retryMail', 'testMail', 'dropSecrets']);

interface Outcome {
  readonly document?: unknown;
  readonly refusal?: ProblemCode;
  readonly detail?: unknown;
}

type Perform = (
  id: OperationId,
  input: Readonly<Record<string, unknown>>,
  version?: string,
) => Promise<Outcome>;

const CODES: Readonly<Record<RefusalKind, ProblemCode>> = {
  not_found: 'not_found',
  conflict: 'conflict',
  changed: 'conflict',
  outdated: 'version_mismatch',
  forbidden: 'insufficient_scope',
};

function caught(error: unknown): Outcome {
  // Only the console says a refusal in other words.
  if (error instanceof InvalidInput)
    return { refusal: 'invalid_input', detail: error.errors.map(({ said, ...problem }) => problem) };
  if (error instanceof OperationRefused) return { refusal: CODES[error.kind], detail: error.problem };
  throw error;
}

function inProcessAs(server: AdminServer, caller: Caller): Perform {
  const { configuration, instance } = server;
  const acting = { ...instance.actingAs(caller.actor), configuration };
  const calls = inProcess({ ...localParts(acting), caller });
  return async (id, input, version) => {
    try {
      // The inputs are those of the operation, or of the wrong form on purpose.
      return { document: (await calls.versioned(id, input as never, version)).document };
    } catch (error) {
      return caught(error);
    }
  };
}

function overHttp({ send }: AdminServer): Perform {
  return async (id, input, version = '*') => {
    const { method, path, query = {}, body: schema, needsVersion }: AnyOperation = OPERATIONS[id];
    const rest = { ...input };
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, name) => {
      delete rest[name];
      return encodeURIComponent(String(input[name]));
    });
    const parameters = new URLSearchParams();
    for (const name of Object.keys(query))
      if (name in rest) {
        parameters.set(name, String(rest[name]));
        delete rest[name];
      }
    const { status, body } = await send(method, `/admin${filled}?${parameters}`, {
      ...(needsVersion && { headers: { 'if-match': version } }),
      ...(schema !== undefined && { body: rest }),
    });
    if (status < 400) return body === undefined ? {} : { document: body };
    return { refusal: body.code, detail: body.errors ?? body.detail };
  };
}

/** The same outcome for all: without identifiers, times, and who acted. */
function alike(value: unknown): unknown {
  const text = JSON.stringify(value ?? null)
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/"(?:cli|api:ops|console:[\w-]+)"/g, '"ACTOR"')
    .replaceAll(/\b1\d{9}\b/g, '1')
    .replaceAll(/"[^"]*grantd\.db"/g, '"PATH"')
    .replaceAll(/[\w-]{20,}/g, 'RANDOM')
    .replaceAll(/"(?:address|request_id)":"[^"]*",|,"(?:address|request_id)":"[^"]*"/g, '');
  return JSON.parse(text);
}

const CALLERS: Readonly<Record<string, (server: AdminServer) => Promise<Perform>>> = {
  'the command line': async (server) =>
    inProcessAs(
      server,
      Caller.ofCommandLine('admins', () => {}),
    ),
  'the API': async (server) => overHttp(server),
  'the console': async (server) => inProcessAs(server, Caller.ofConsole('o'.repeat(22), 'admins')),
};

/** Performs everything, and what has to be refused. */
async function traceOf(t: TestContext, callerOf: (server: AdminServer) => Promise<Perform>) {
  const server = await startAdmin({ GRANTD_ADMIN_GROUP: 'admins' });
  t.after(() => server.close());
  const perform = await callerOf(server);
  let made: Made = { server, sub: '', link: '', token: '' };
  let last = 0;
  const happened = async () => {
    const events = await server.instance.storage.eventsAfter(last, 1000);
    last = events.at(-1)?.sequence ?? last;
    return events.map(({ atMs: _, address: __, requestId: ___, ...event }) => event);
  };
  await happened();
  const trace: Record<string, unknown> = {};
  const note = async (name: string, outcome: Outcome) => {
    trace[name] = alike({ ...outcome, events: await happened() });
    return outcome;
  };
  for (const [id, inputOf] of Object.entries(INPUTS) as [OperationId, (made: Made) => object][]) {
    const { path, body, needsVersion }: AnyOperation = OPERATIONS[id];
    const input = { ...inputOf(made) };
    if (path.includes('{')) {
      const unknown = Object.fromEntries(
        [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, 'nobody']),
      );
      await note(`${id} of nothing`, await perform(id, { ...input, ...unknown }));
    }
    if (body !== undefined)
      await note(`${id} with an unknown member`, await perform(id, { ...input, unknown: true }));
    if (needsVersion) await note(`${id} of another version`, await perform(id, input, '"other"'));
    const { document, refusal, detail } = await note(id, await perform(id, input));
    assert.equal(refusal !== undefined, REFUSED_HERE.has(id), `${id}: ${JSON.stringify(detail)}`);
    if (id === 'addUser') {
      const { user } = document as { readonly user: { readonly sub: string } };
      const google = { provider: 'google', upstreamIssuer: 'https://google.example', upstreamSub: 'b' };
      const linked = await server.instance.upstreamIdentities.link({ ...google, label: 'b' }, user.sub, 1);
      await addSession(server.instance, user.sub, SESSION);
      await addConsent(server.instance, user.sub, CONSENTED);
      const totp = { sealed: 'sealed', createdAtMs: 1, countsFromMs: 0 };
      await server.instance.factors.addTotp(user.sub, totp, 1);
      made = { ...made, sub: user.sub, link: linked?.id ?? '' };
    }
    if (id === 'enableClient') made = { ...made, token: await server.tokenOf() };
    if (id === 'enableClient') await happened();
  }
  return trace;
}

test('each operation has the same outcome, audit event and refusal for the command line, the API and the console', async (t) => {
  assert.deepEqual(Object.keys(INPUTS).toSorted(), Object.keys(OPERATIONS).toSorted());
  const traces = await Promise.all(
    Object.entries(CALLERS).map(async ([name, callerOf]) => [name, await traceOf(t, callerOf)] as const),
  );
  const [, first] = traces[0] ?? [];
  for (const [name, trace] of traces.slice(1))
    for (const [step, outcome] of Object.entries(trace))
      assert.deepEqual(outcome, first?.[step], `${step} by ${name}`);
});
