// A server never takes the last administrator who can sign in, by the ways to sign in that its configuration opens.
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, type TestContext, test } from 'node:test';
import { Caller } from '../src/admin/caller.ts';
import { administratorsOf } from '../src/admin/groups.ts';
import { call, inProcess } from '../src/admin/in_process.ts';
import { InvalidInput, OperationRefused } from '../src/admin/operation_refused.ts';
import { ALL_OPERATIONS, OPERATIONS, type OperationId } from '../src/admin/table.ts';
import { localParts } from '../src/cli/local_calls.ts';
import { readConfiguration } from '../src/config/configuration.ts';
import { ConditionBroken, isNoMember, under } from '../src/data/conditions.ts';
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
  const times = { createdAtMs: 1, countsFromMs: 0 };
  const key = {
    publicKey: 'key',
    counter: 0,
    transports: [],
    isBackedUp: false,
    isSecurityKey: false,
    name: 'Key',
    ...times,
  };
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

async function importLine(opened: Opened, line: object): Promise<void> {
  const reports = callsOf(opened).lines('importUsers', { update: true, allow_administrators: true }, [
    JSON.stringify(line),
  ]);
  for await (const one of reports)
    if ('reasons' in one && one.reasons !== undefined)
      throw new OperationRefused('conflict', { english: one.reasons.join() });
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
        throw new OperationRefused('conflict', { english: 'last' });
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
  removeFactor: {
    own: PASSKEY,
    needs: ({ hasPasskeys = true }) => hasPasskeys,
    perform: (opened, { subject: sub, name }) =>
      call(callsOf(opened), 'removeFactor', { sub, factor: `passkey-${name}` }),
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
    perform: (opened, { name }) => importLine(opened, { username: name, directory_id: 'another entry' }),
  },
} satisfies Record<string, Act>;

/** Every operation that can take a user who is no administrator yet, and can take one. */
const TAKES = {
  ...ACTS,
  disableUser: {
    own: PASSWORD,
    perform: (opened, { subject: sub }) => call(callsOf(opened), 'disableUser', { sub }),
  },
  'importUsers, which disables': {
    own: PASSWORD,
    perform: (opened, { name, subject }) => importLine(opened, { username: name, subject, disabled: true }),
  },
  'importUsers, which names no group': {
    own: PASSWORD,
    perform: (opened, { name, subject }) => importLine(opened, { username: name, subject, groups: [] }),
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
    'sendPasswordLink',
    'unlockUser',
  ] as const),
  ...(['endSession', 'endSessions', 'endAccess', 'confirmFactors', 'withdrawConsent'] as const),
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

/** At least as many as any operation makes. */
const MOST_WRITES = 6;

/**
 * Runs something before one of the writes, between what was read for it and its transaction.
 * @param at how many writes precede it
 */
function swapAt(opened: Opened, at: number, swap: () => Promise<unknown>): Opened {
  let before = at;
  const intercept = <T extends object>(table: T, names: readonly (keyof T)[]): T => ({
    ...table,
    ...Object.fromEntries(
      names.map((name) => [
        name,
        async (...values: unknown[]) => {
          // Not under the condition of the write.
          if (before-- === 0) await outside(swap);
          return (table[name] as (...values: unknown[]) => unknown)(...values);
        },
      ]),
    ),
  });
  const outside = AsyncLocalStorage.snapshot();
  return {
    ...opened,
    people: intercept(opened.people, ['update', 'beginRemoval', 'erase', 'setDirectoryId']),
    groups: intercept(opened.groups, ['beginEnd', 'finishEnd', 'change']),
    factors: intercept(opened.factors, ['reset', 'removePasskey']),
    upstreamIdentities: intercept(opened.upstreamIdentities, ['unlink']),
    mailedLinks: intercept(opened.mailedLinks, ['forget']),
    storage: intercept(opened.storage, ['setDisabled']),
  };
}

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

    for (let writes = 0; writes <= MOST_WRITES; writes++)
      test(`stays if the one before leaves ${writes} writes after an operation began`, async (t) => {
        for (const [id, { own, perform }] of Object.entries<Act>(TAKES)) {
          const opened = await open(t, database, {});
          const other = await addAdministrator(opened, PASSWORD, 'other');
          const taken = await addAdministrator(opened, own, 'taken');
          await new AccessEnding(opened).leaveGroup({ subject: taken.subject, group: GROUP });
          const swapping = swapAt(opened, writes, async () => {
            await opened.groups.addMember({ subject: taken.subject, group: GROUP }, 2);
            await administratorsOf(opened)
              .leave(new AccessEnding(opened), other)
              .catch((error: unknown) => assert.ok(error instanceof NoAdministratorLeft, String(error)));
          });
          await perform(swapping, taken, other).catch((error: unknown) => assert.ok(isRefused(error), id));
          assert.equal(await administratorsOf(opened).canSignIn(), true, id);
        }
      });

    test('stays if an administrator is enabled, and the other one leaves, before ways to sign in are taken', async (t) => {
      const opened = await open(t, database, {});
      const other = await addAdministrator(opened, PASSWORD, 'other');
      const taken = await addAdministrator(opened, PASSKEY, 'taken');
      await opened.storage.setDisabled('subject', taken.subject, true);
      const swapping = swapAt(opened, 0, async () => {
        await opened.storage.setDisabled('subject', taken.subject, false);
        await administratorsOf(opened).leave(new AccessEnding(opened), other);
      });
      const reset = call(callsOf(swapping), 'resetFactors', { sub: taken.subject });
      await assert.rejects(reset, isRefused);
      assert.equal(await administratorsOf(opened).canSignIn(), true);
    });

    test('is not one who was disabled after the read', async (t) => {
      const opened = await open(t, database, {});
      const [one, two] = [
        await addAdministrator(opened, PASSWORD, 'one'),
        await addAdministrator(opened, PASSWORD, 'two'),
      ];
      const swapping = swapAt(opened, 0, async () =>
        opened.storage.setDisabled('subject', one.subject, true),
      );
      await assert.rejects(
        administratorsOf(swapping).leave(new AccessEnding(swapping), two),
        NoAdministratorLeft,
      );
      assert.deepEqual((await opened.people.bySubject(two.subject))?.groups, [GROUP]);
    });

    test('conditions around a change add up', async (t) => {
      const opened = await open(t, database, {});
      const { subject } = await addAdministrator(opened, PASSWORD, 'member');
      const broken = isNoMember(ISSUER, subject, GROUP);
      const kept = isNoMember(ISSUER, subject, 'another group');
      const disable = () => opened.storage.setDisabled('subject', subject, true);
      const rename = () => opened.people.setPasswordHash(subject, 'changed');
      for (const [outer, inner] of [
        [broken, kept],
        [kept, broken],
      ])
        for (const work of [disable, rename])
          await assert.rejects(
            under(outer, async () => under(inner, async () => void (await work()))),
            ConditionBroken,
          );
      assert.equal((await opened.people.bySubject(subject))?.passwordHash, 'hash');
      assert.equal((await opened.storage.disabledSubjects([subject])).size, 0);
    });
  });
