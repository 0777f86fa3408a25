// A server never takes the last administrator who can sign in, by the ways to sign in that its configuration opens.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { Caller } from '../src/admin/caller.ts';
import { administratorsOf } from '../src/admin/groups.ts';
import { call, inProcess } from '../src/admin/in_process.ts';
import { InvalidInput, OperationRefused } from '../src/admin/operation_refused.ts';
import { ALL_OPERATIONS, OPERATIONS, type OperationId } from '../src/admin/table.ts';
import { localParts } from '../src/cli/local_calls.ts';
import { readConfiguration } from '../src/config/configuration.ts';
import type { Person } from '../src/data/people.ts';
import type { OpenWays } from '../src/data/ways_to_sign_in.ts';
import { type Instance, openInstance } from '../src/instance/instance.ts';
import { NoAdministratorLeft } from '../src/people/administrators.ts';
import { AccessEnding } from '../src/people/groups.ts';
import { DATABASES, type TestDatabase } from './harness/databases.ts';
import { newDatabase } from './harness/program_data.ts';

const ISSUER = 'https://id.example';
const GROUP = 'admins';

/** Two providers that are always configured: one whose users enter no password, and that of the one who is taken. */
const CORP = { id: 'corp', issuer: 'https://corp.example', domains: ['corp.example'] };
const OWN = { id: 'own', issuer: 'https://own.example', domains: [] };
const GOOGLE = { id: 'google', issuer: 'https://google.example', domains: [] };

interface Configured {
  /** Another provider. */
  readonly provider?: OpenWays['providers'][number];
  readonly hasDirectory?: boolean;
  readonly hasPasskeys?: boolean;
}

async function open(
  t: TestContext,
  database: TestDatabase,
  { provider, hasDirectory, hasPasskeys = true }: Configured,
) {
  const configuration = readConfiguration(
    {},
    {
      ...{ GRANTD_ISSUER: ISSUER, GRANTD_ADMIN_GROUP: GROUP, GRANTD_SECRET: 's'.repeat(32) },
      ...{ GRANTD_CREATE: 'true', GRANTD_PASSKEYS: String(hasPasskeys) },
    },
  );
  const providers = [CORP, OWN, ...(provider ? [provider] : [])];
  const opened = await newDatabase(t, database);
  const instance = await openInstance(configuration, opened, ISSUER, 'server', { providers, hasDirectory });
  await instance.groups.add({ name: GROUP, description: '' }, Date.now());
  return { ...instance, configuration };
}

type Opened = Awaited<ReturnType<typeof open>>;

/** The only way in of a user. */
interface Way {
  readonly passwordHash?: string;
  readonly directoryId?: string;
  readonly passkey?: true;
  readonly link?: Pick<OpenWays['providers'][number], 'id' | 'issuer'>;
}

const PASSWORD: Way = { passwordHash: 'hash' };
const DIRECTORY: Way = { directoryId: 'entry' };
const PASSKEY: Way = { passkey: true };
const LINK: Way = { link: GOOGLE };

async function addAdministrator(
  { people, groups, factors, upstreamIdentities }: Instance,
  { passwordHash = '', directoryId, passkey, link }: Way,
  name: string,
): Promise<Person> {
  const entry = directoryId === undefined ? {} : { directoryId };
  const person = await people.add({ name, passwordHash, claims: {}, ...entry });
  assert.ok(person);
  const { subject } = person;
  const times = { createdAtMs: 1, countsFromMs: 0, lastUsedAtMs: undefined };
  const key = { publicKey: 'key', counter: 0, transports: [], isBackedUp: false, name: 'Key', ...times };
  if (passkey) assert.ok(await factors.addPasskey({ id: `passkey-${name}`, subject, ...key }));
  if (link !== undefined) {
    const identity = { provider: link.id, upstreamIssuer: link.issuer, upstreamSub: name, label: name };
    assert.ok(await upstreamIdentities.link(identity, subject, 1));
  }
  assert.ok(await groups.addMember({ subject, group: GROUP }, 1));
  return { ...person, groups: [GROUP] };
}

/** What the other administrator has, and whether the configuration opens it. */
const OTHERS: readonly (readonly [
  title: string,
  canSignIn: boolean,
  way: Way,
  configured: Configured,
  domain?: string,
])[] = [
  ['no way, as an invited user', false, {}, { provider: GOOGLE }],
  ['a password', true, PASSWORD, {}],
  ['a password that is never asked for', false, PASSWORD, {}, 'corp.example'],
  ['an entry of the directory', true, DIRECTORY, { hasDirectory: true }],
  ['an entry of a directory that is not configured', false, DIRECTORY, {}],
  [
    'an entry, and a password that is never asked for',
    false,
    DIRECTORY,
    { hasDirectory: true },
    'corp.example',
  ],
  ['a passkey', true, PASSKEY, {}],
  ['a passkey for a server without passkeys', false, PASSKEY, { hasPasskeys: false }],
  ['a link', true, LINK, { provider: GOOGLE }, 'corp.example'],
  ['a link to a provider that is not configured', false, LINK, {}],
  ['a link to a provider with another issuer', false, LINK, { provider: { ...GOOGLE, issuer: ISSUER } }],
];

interface Act {
  /** The only way in of the administrator whom it takes. */
  readonly own: Way;
  /** Whether this configuration opens it, and the operation can take it. */
  readonly needs?: (configured: Configured) => boolean;
  perform(opened: Opened, taken: Person, other: Person): Promise<unknown>;
}

const ALL_SCOPES = Object.values(OPERATIONS).map(({ scope }) => scope);

function callsOf(opened: Opened, caller = Caller.ofApi('ops', undefined, ALL_SCOPES, GROUP)) {
  return inProcess({ ...localParts(opened), caller });
}

/** Every operation that can take an administrator. */
const ACTS = {
  removeMember: {
    own: PASSWORD,
    perform: (opened, { subject: sub }) => call(callsOf(opened), 'removeMember', { group: GROUP, sub }),
  },
  'removeMember, by the other one': {
    own: PASSWORD,
    perform: (opened, { subject: sub }, other) =>
      call(callsOf(opened, Caller.ofConsole(other.subject, GROUP)), 'removeMember', { group: GROUP, sub }),
  },
  removeUser: {
    own: PASSWORD,
    perform: (opened, { subject: sub }) => call(callsOf(opened), 'removeUser', { sub }),
  },
  'the removal of the own account': {
    own: PASSWORD,
    async perform(opened, taken) {
      try {
        await administratorsOf(opened).leave(new AccessEnding(opened), taken);
      } catch (error) {
        if (!(error instanceof NoAdministratorLeft)) throw error;
        throw new OperationRefused('conflict', 'last');
      }
    },
  },
  applyState: {
    own: PASSWORD,
    perform: (opened, _, other) =>
      call(callsOf(opened), 'applyState', {
        state: { groups: { [GROUP]: { members: [other.name] } } },
        prune: true,
      }),
  },
  resetFactors: {
    own: PASSKEY,
    needs: ({ hasPasskeys = true }) => hasPasskeys,
    perform: (opened, { subject: sub }) => call(callsOf(opened), 'resetFactors', { sub }),
  },
  removeLink: {
    own: { link: OWN },
    async perform(opened, { subject: sub }) {
      const [link] = await opened.upstreamIdentities.ofSubject(sub);
      return call(callsOf(opened), 'removeLink', { sub, link: link?.id ?? '' });
    },
  },
  updateUser: {
    own: PASSWORD,
    perform: (opened, { subject: sub }) =>
      call(callsOf(opened), 'updateUser', { sub, username: 'taken@corp.example' }),
  },
  importUsers: {
    own: PASSWORD,
    needs: ({ hasDirectory = false }) => !hasDirectory,
    async perform(opened, { name }) {
      const line = { username: name, directory_id: 'another entry' };
      const reports = callsOf(opened).lines('importUsers', { update: true }, [JSON.stringify(line)]);
      for await (const one of reports)
        if ('reason' in one && one.reason !== undefined) throw new OperationRefused('conflict', one.reason);
    },
  },
} satisfies Record<string, Act>;

/** Changes of users and groups that take no administrator, and those that refuse administrators altogether. */
const TAKE_NOTHING: readonly OperationId[] = [
  ...([
    'addUser',
    'addGroup',
    'updateGroup',
    'addMember',
    'enableUser',
    'setPassword',
    'unlockUser',
  ] as const),
  ...(['endSessions', 'endAccess', 'confirmFactors'] as const),
];
const REFUSE_ALWAYS: readonly OperationId[] = ['disableUser', 'removeGroup'];

test('every operation that changes users or groups is known to take an administrator or not', () => {
  const known = new Set<string>([...Object.keys(ACTS), ...TAKE_NOTHING, ...REFUSE_ALWAYS]);
  const changing = ALL_OPERATIONS.filter(
    ([, { method, path }]) => method !== 'GET' && /^\/(?:users|groups|imports|state\/apply)/.test(path),
  );
  for (const [id] of changing) assert.ok(known.has(id), id);
  const ids = changing.map(([id]) => id);
  for (const id of [...TAKE_NOTHING, ...REFUSE_ALWAYS]) assert.ok(ids.includes(id), id);
});

/** Refused by an operation, or in the problems of a file. */
const isRefused = (error: unknown) =>
  error instanceof OperationRefused
    ? error.kind === 'conflict'
    : error instanceof InvalidInput && /administrator who can sign in/.test(JSON.stringify(error));

for (const database of DATABASES)
  describe(`the last administrator on ${database.name}`, { skip: database.absence }, () => {
    for (const [title, canSignIn, way, configured, domain = 'example.org'] of OTHERS)
      test(`${canSignIn ? 'may go' : 'stays'} if the other administrator has ${title}`, async (t) => {
        const opened = await open(t, database, configured);
        for (const [id, { own, needs, perform }] of Object.entries<Act>(ACTS)) {
          if (needs?.(configured) === false) continue;
          const taken = await addAdministrator(opened, own, `taken by ${id}`);
          const other = await addAdministrator(opened, way, `other-${id.replaceAll(/\W/g, '')}@${domain}`);
          const act = () => perform(opened, taken, other);
          if (canSignIn) await act();
          else await assert.rejects(act, isRefused, id);
          assert.equal(await administratorsOf(opened).canSignIn(), true, id);
          for (const { subject } of [taken, other]) {
            await opened.people.beginRemoval(subject, 1);
            await opened.people.erase(subject);
          }
        }
      });
  });
