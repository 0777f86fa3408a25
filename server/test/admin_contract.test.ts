// The admin API keeps what its description promises, for valid and for generated requests.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Validator } from '@cfworker/json-schema';
import fc from 'fast-check';
import { SMTPServer } from 'smtp-server';
import { ALL_OPERATIONS } from '../src/admin/table.ts';
import { type AdminServer, type Answered, startAdmin } from './harness/admin.ts';
import { addConsent, addSession } from './harness/program_data.ts';

interface Described {
  readonly operationId: string;
  readonly parameters: readonly { readonly $ref?: string; readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> };
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly content?: object }>>;
}

type Document = Readonly<Record<string, unknown>> & {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
};

/** Accepts every email. */
const smtp = new SMTPServer({
  ...{ authOptional: true, disabledCommands: ['STARTTLS', 'AUTH'] },
  onData: (stream, _, done) => void stream.resume().once('end', () => done()),
});

let admin: AdminServer;
let api: Document;

before(async () => {
  await new Promise<void>((listening) => smtp.listen(0, '127.0.0.1', listening));
  const address = smtp.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  admin = await startAdmin({
    GRANTD_ADMIN_REQUEST_LIMIT: '1000000',
    GRANTD_SMTP_URL: `smtp://127.0.0.1:${port}`,
    GRANTD_MAIL_FROM: 'login@example.com',
    // A second one can be dropped.
    GRANTD_SECRET: JSON.stringify(['s'.repeat(32), 't'.repeat(32)]),
  });
  const answered = await admin.send('GET', '/admin/openapi.json', { token: '' });
  assert.equal(answered.status, 200);
  api = answered.body;
});
after(async () => {
  await admin.close();
  await new Promise<void>((closed) => smtp.close(closed));
});

function resolved(described: { readonly $ref?: string }): Readonly<Record<string, unknown>> {
  const { $ref } = described;
  if ($ref === undefined) return described;
  let found: unknown = api;
  for (const name of $ref.split('/').slice(1)) found = Reflect.get(Object(found), name);
  return Object(found);
}

function operationOf(id: string) {
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, described] of Object.entries(methods))
      if (described.operationId === id) return { path, method: method.toUpperCase(), described };
  }
  throw new TypeError(`${id} is not described`);
}

const validators = new Map<unknown, Validator>();

/** Requires that a response is one of those that the description lists, with a body of its form. */
function requireDescribed(
  { described }: ReturnType<typeof operationOf>,
  answered: Answered,
  what: string,
): void {
  const { status, headers, body, text } = answered;
  assert.ok(status < 500, `${what}: ${status} ${text}`);
  const response = described.responses[status];
  assert.ok(response, `${what}: ${status} is not described: ${text}`);
  const content = resolved(response).content as Readonly<Record<string, { schema: object }>> | undefined;
  if (content === undefined) {
    assert.equal(text, '', what);
    return;
  }
  const [[type = '', { schema = {} } = {}] = []] = Object.entries(content);
  assert.equal(headers.get('content-type'), type, what);
  let validator = validators.get(schema);
  if (validator === undefined) {
    const { components } = api;
    validator = new Validator(structuredClone({ components: Object(components), ...schema }), '2020-12');
    validators.set(schema, validator);
  }
  const { valid, errors } = validator.validate(body);
  assert.ok(valid, `${what}: ${text}: ${JSON.stringify(errors.at(-1))}`);
}

interface Valid {
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: string;
  readonly body?: unknown;
}

const IMPORTED = [
  { username: 'contract-imported', claims: { name: 'I' }, groups: ['contract-imported'] },
  { username: 'contract-refused', password_hash: 'none' },
]
  .map((line) => JSON.stringify(line))
  .join('\n');

const STATE = {
  state: {
    groups: { 'contract-state': { description: 'A group' } },
    clients: { 'contract-state': { scope: 'read', secret: { env: 'SECRET' } } },
    scope_texts: { 'contract-state': { name: 'Contract' } },
  },
  secrets: { 'contract-state': 'correct horse' },
};

async function newLink(subject: string): Promise<string> {
  const name = { provider: 'google', upstreamIssuer: 'https://accounts.google.com', upstreamSub: 'x' };
  const link = await admin.instance.upstreamIdentities.link({ ...name, label: 'x' }, subject, Date.now());
  return link?.id ?? '';
}

async function newConsent(subject: string): Promise<string> {
  await addConsent(admin.instance, subject, 'ops');
  return 'ops';
}

async function failedMail(): Promise<string> {
  const { mails } = admin.instance;
  const mail = {
    recipient: 'a@example.com',
    template: 'test',
    language: 'en',
    sealed: '',
    subject: undefined,
  };
  const id = await mails.add(mail, Date.now());
  await mails.fail(id, Date.now(), 'refused');
  return id;
}

/** A valid request of each operation, in an order in which all succeed. */
async function validRequests(): Promise<readonly (readonly [id: string, request: Valid])[]> {
  const person = await admin.addUser('contract-user');
  const removed = await admin.addUser('contract-removed');
  await addSession(admin.instance, person.subject, 'contract');
  const totp = { sealed: 'sealed', createdAtMs: 1, countsFromMs: 0 };
  await admin.instance.factors.addTotp(person.subject, totp, 1);
  const client = { client_id: 'contract' };
  const user = { sub: person.subject };
  const group = { group: 'contract' };
  const scope = { scope: 'contract' };
  const token = await admin.tokenOf(['grantd:keys:read']);
  return [
    ['addClient', { body: { ...client, scope: 'read', grant_types: ['client_credentials'] } }],
    ['listClients', { query: '?search=contract&kind=operator&limit=10' }],
    ['getClient', { path: client }],
    ['updateClient', { path: client, body: { client_name: 'Contract', 'client_name#de': 'Vertrag' } }],
    ['disableClient', { path: client }],
    ['enableClient', { path: client }],
    ['rotateClientSecret', { path: client }],
    ['removeClient', { path: client }],
    ['denyDocuments', { body: { rule: 'Denied.example', note: 'Contract' } }],
    ['listDeniedDocuments', {}],
    ['allowDocuments', { path: { rule: 'denied.example' } }],
    ['listUnusedClients', { query: '?unused_since=2026-01-01T00:00:00Z' }],
    ['removeUnusedClients', { body: { client_ids: ['nobody'], unused_since: '2026-01-01T00:00:00Z' } }],
    ['addUser', { body: { username: 'contract', password: 'correct horse', claims: { name: 'C' } } }],
    ['listUsers', { query: '?state=active' }],
    ['getUser', { path: user }],
    [
      'updateUser',
      {
        path: user,
        body: {
          username: 'contract-renamed',
          claims: { name: 'R', email: 'contract@example.com', email_verified: true },
        },
      },
    ],
    ['sendPasswordLink', { path: user }],
    ['endSession', { path: { ...user, session: 'contract' } }],
    ['disableUser', { path: user }],
    ['enableUser', { path: user }],
    ['setPassword', { path: user, body: { password: 'another horse' } }],
    ['listSessions', { path: user }],
    ['endSessions', { path: user }],
    ['endAccess', { path: user }],
    ['listConsents', { path: user }],
    ['listGrants', { path: user }],
    ['listActing', { path: user }],
    ['listUserTokens', { path: user }],
    ['listPersonalTokens', { query: '?limit=1' }],
    ['endPersonalTokens', { body: { unused_since: '2026-01-01T00:00:00Z', dry_run: true } }],
    ['removeUser', { path: { sub: removed.subject } }],
    ['addGroup', { body: { name: 'contract', description: 'A group' } }],
    ['listGroups', { query: '?limit=1' }],
    ['getGroup', { path: group }],
    ['updateGroup', { path: group, body: { description: 'Another' } }],
    ['addMember', { path: { ...group, ...user } }],
    ['removeMember', { path: { ...group, ...user } }],
    ['removeGroup', { path: group }],
    ['addScopeTexts', { body: { ...scope, texts: { name: 'Contract' } } }],
    ['listScopeTexts', {}],
    ['getScopeTexts', { path: scope }],
    ['updateScopeTexts', { path: scope, body: { description: 'More' } }],
    ['removeScopeTexts', { path: scope }],
    ['listKeys', {}],
    ['rotateKeys', { body: { algorithm: 'RS256', now: true } }],
    ['explainToken', { body: { token } }],
    ['revokeToken', { body: { token } }],
    ['revokeAll', { body: { client_id: 'ops', dry_run: true } }],
    ['listEvents', { query: '?limit=200' }],
    ['listAudit', { query: '?limit=3&actor=cli&since=2026-01-01T00:00:00Z' }],
    ['verifyAudit', { body: { expect: `1:${'x'.repeat(43)}` } }],
    ['restartAudit', { body: { reason: 'a test' } }],
    ['countStored', { query: '?all=true' }],
    ['showConfiguration', {}],
    ['showHealth', {}],
    ['getFactors', { path: user }],
    ['confirmFactors', { path: user }],
    ['removeFactor', { path: { ...user, factor: 'authenticator_app' } }],
    ['resetFactors', { path: user }],
    ['listLocks', { path: user }],
    ['unlockUser', { path: user }],
    ['explainUser', { path: user }],
    ['listLinks', { path: user }],
    ['removeLink', { path: { ...user, link: await newLink(person.subject) } }],
    ['withdrawConsent', { path: { ...user, client: await newConsent(person.subject) } }],
    ['listMails', { query: '?failed=true' }],
    ['retryMail', { path: { mail: await failedMail() } }],
    ['testMail', { body: { address: 'bob@example.com' } }],
    ['listSecrets', {}],
    ['rotateSecrets', { body: { generate: true } }],
    ['dropSecrets', { body: {} }],
    ['newRegistrationToken', { body: { lifetime: 60, once: true } }],
    ['exportState', {}],
    ['planState', { body: STATE }],
    ['applyState', { body: STATE }],
    ['importUsers', { query: '?create_groups=true', body: IMPORTED }],
    ['exportUsers', { query: '?group=contract-imported' }],
    ['exportAudit', { query: '?format=ocsf&type=group_added&after=1' }],
  ];
}

async function send(
  id: string,
  { path = {}, query = '', body }: Valid,
  headers: Record<string, string> = {},
) {
  const operation = operationOf(id);
  const filled = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(path[name] ?? ''));
  const lines = operation.described.requestBody?.content['application/x-ndjson'] !== undefined;
  const needsVersion = operation.described.parameters.some(({ $ref = '' }) => $ref.endsWith('/IfMatch'));
  const answered = await admin.send(operation.method, `/admin${filled}${query}`, {
    ...(body !== undefined && { body }),
    headers: {
      ...(needsVersion && { 'if-match': '*' }),
      ...(lines && { 'content-type': 'application/x-ndjson' }),
      ...headers,
    },
  });
  return { operation, answered };
}

const ALL_IDS = ALL_OPERATIONS.map(([id]) => id);

test('every operation succeeds with a valid request, and its response has the described form', async () => {
  const requests = await validRequests();
  assert.deepEqual(requests.map(([id]) => id).sort(), ALL_IDS.toSorted());
  for (const [id, request] of requests) {
    const { operation, answered } = await send(id, request);
    requireDescribed(operation, answered, id);
    assert.ok(answered.status < 300, `${id}: ${answered.status} ${answered.text}`);
  }
});

/** Texts that break programs. */
const NASTY = [
  '',
  ' ',
  '\0',
  '__proto__',
  'constructor',
  '%00',
  '\u202e',
  '\ud800',
  "' OR 1=1",
  '../..',
  'é'.repeat(300),
];
const nasty = fc.oneof(
  fc.constantFrom(...NASTY),
  fc.string({ maxLength: 20 }),
  fc.string({ unit: 'binary', maxLength: 5 }),
);

/** A value that nearly fits a schema: of its type, of another, or too much. */
function nearly(schema: Readonly<Record<string, unknown>>, depth = 0): fc.Arbitrary<unknown> {
  const form = resolved(schema);
  const anything = fc.oneof(
    nasty,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.constant([]),
    fc.constant({}),
  );
  if (depth > 3) return anything;
  const fitting = fits(form, depth);
  return fc.oneof({ arbitrary: fitting, weight: 4 }, { arbitrary: anything, weight: 1 });
}

function fits(form: Readonly<Record<string, unknown>>, depth: number): fc.Arbitrary<unknown> {
  if (Array.isArray(form.enum)) return fc.constantFrom(...form.enum);
  if (Array.isArray(form.anyOf)) return fc.oneof(...form.anyOf.map((one) => nearly(one, depth + 1)));
  const [type] = [form.type].flat();
  if (type === 'array') return fc.array(nearly(Object(form.items), depth + 1), { maxLength: 3 });
  if (type === 'integer') return fc.oneof(fc.integer(), fc.double());
  if (type === 'boolean') return fc.boolean();
  if (type !== 'object')
    return fc.oneof(nasty, fc.webUrl(), fc.constantFrom('https://a.example/cb', 'read', 'ops'));
  const members = Object.entries(Object(form.properties)) as [string, Readonly<Record<string, unknown>>][];
  if (members.length === 0) return fc.dictionary(nasty, nasty, { maxKeys: 3 });
  const required = Array.isArray(form.required) ? form.required.map(String) : [];
  // A few members at once: most mistakes show one at a time.
  const some = fc.subarray(members, { maxLength: Math.min(4, members.length) });
  return fc.tuple(some, fc.boolean()).chain(([chosen, isComplete]) => {
    const names = new Map([...chosen, ...members.filter(([name]) => isComplete && required.includes(name))]);
    return fc.record(Object.fromEntries([...names].map(([name, one]) => [name, nearly(one, depth + 1)])));
  });
}

/** Lines of JSON, some of them broken. */
function linesOf(line: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  const text = fc.oneof({ arbitrary: line.map((one) => JSON.stringify(one) ?? ''), weight: 4 }, nasty);
  return fc.array(text, { maxLength: 4 }).map((texts) => texts.join('\n').toWellFormed());
}

const RUNS = 25;

for (const id of ALL_IDS) {
  test(`${id}: a generated request gets a described response, never a failure`, async () => {
    const { path, described } = operationOf(id);
    const [[type = '', { schema = {} } = {}] = []] = Object.entries(described.requestBody?.content ?? {});
    const isLines = type === 'application/x-ndjson';
    const known = path.includes('{sub}')
      ? [(await admin.addUser(`generated-${id}`)).subject]
      : ['ops', 'admins'];
    const part = fc.oneof(
      { arbitrary: fc.constantFrom(...known), weight: 3 },
      { arbitrary: nasty, weight: 1 },
    );
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    const query = described.parameters.filter(({ in: place }) => place === 'query');
    const generated = fc.record({
      path: fc.record(Object.fromEntries(names.map((name) => [name, part]))),
      query: fc.record(Object.fromEntries(query.map(({ name }) => [name, nasty])), { requiredKeys: [] }),
      body:
        described.requestBody === undefined
          ? fc.constant(undefined)
          : isLines
            ? linesOf(nearly(Object(Reflect.get(schema, 'x-line'))))
            : nearly(schema as Record<string, unknown>),
    });
    await fc.assert(
      fc.asyncProperty(generated, async (request) => {
        // The client of the test must stay, and a lone surrogate has no encoding.
        const parts = Object.values(request.path);
        fc.pre(parts.every((one) => one !== '' && one.isWellFormed() && !/^\.{1,2}$/.test(one)));
        if (/remove|disable|rotate|update|revokeAll|applyState/i.test(id))
          fc.pre(!JSON.stringify(request).includes('"ops"'));
        const pairs = Object.entries(request.query).map(([name, value]) => [
          name,
          String(value).toWellFormed(),
        ]);
        const search = pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`;
        const sent = { path: request.path, query: search, body: request.body };
        const { operation, answered } = await send(id, sent);
        requireDescribed(operation, answered, `${id} ${JSON.stringify(sent)}`);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
  });
}
