// What events tell followers (ADR 175).
import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { before, test } from 'node:test';
import {
  AuthorizationServer,
  EVENT_TYPES,
  type EventRecord,
  type EventType,
  ServerSecret,
} from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { keysOf } from '../../protect/src/ending_feed.ts';
import { keyNumber } from '../../protect/src/ending_table.ts';
import { EndingReader } from '../src/follow/endings.ts';

const SECRETS = [
  'a new secret of the server, in more than 32 characters',
  'the secret before, which has them too',
];
const storage = memoryStorage();
const server = new AuthorizationServer({
  issuer: 'https://id.example',
  secret: SECRETS,
  pairwiseSecret: 'the secret of pairwise subjects, which never changes',
  storage,
});
const reader = new EndingReader(storage, server, new ServerSecret<'ending_key'>(SECRETS));

/** The tokens that an API has seen, by the keys that it computes. */
const seen = new Map<string, readonly number[]>();

before(async () => {
  const common = {
    grantTypes: ['authorization_code'],
    scopes: [],
    redirectUris: ['https://app.example/'],
  } as const;
  await storage.clients.add({ id: 'web', ...common });
  await storage.clients.add({ id: 'paired', ...common, metadata: { subject_type: 'pairwise' } });
  const paired = (await storage.clients.get('paired')) ?? assert.fail();
  const pairwise = await server.subjectIdentifier(paired, 'alice');
  assert.notEqual(pairwise, 'alice');
  seen.set('alice at web', (await keysOf('web', 'alice')) ?? []);
  seen.set('bob at web', (await keysOf('web', 'bob')) ?? []);
  seen.set('alice at paired', (await keysOf('paired', pairwise)) ?? []);
  seen.set('alice at paired, when it was public', (await keysOf('paired', 'alice')) ?? []);
  seen.set('web itself', (await keysOf('web', 'web')) ?? []);
});

/** The tokens about which an API asks again after an event. */
async function concerned(type: EventType, facts: Partial<EventRecord>): Promise<readonly string[]> {
  const { keys } = await reader.read([{ sequence: 1, atMs: 1, type, target: '', ...facts }]);
  const numbers = new Set(keys.map((key) => keyNumber(key) ?? assert.fail(key)));
  return [...seen].filter(([, own]) => own.some((key) => numbers.has(key))).map(([name]) => name);
}

const OF_PAIRED = ['alice at paired', 'alice at paired, when it was public'];
const ALL = ['alice at web', 'bob at web', ...OF_PAIRED, 'web itself'];
const OF_GRANT = [
  [{ clientId: 'web', subject: 'alice' }, ['alice at web']],
  [{ clientId: 'paired', subject: 'alice' }, OF_PAIRED],
  [{ clientId: 'web' }, ['web itself']],
  [{ clientId: 'removed', subject: 'alice' }, []],
  [{}, ALL],
] as const;
const OF_SUBJECT = [
  [{ target: 'alice' }, ['alice at web', ...OF_PAIRED]],
  [{ target: 'bob' }, ['bob at web']],
] as const;
const OF_CLIENT = [
  [{ target: 'web' }, ['alice at web', 'bob at web', 'web itself']],
  [{ target: 'paired' }, OF_PAIRED],
] as const;

/** All other events concern no token. */
const EXPECTED: Partial<Record<EventType, readonly (readonly [Partial<EventRecord>, readonly string[]])[]>> =
  {
    token_revoked: OF_GRANT,
    family_revoked: OF_GRANT,
    code_revoked: OF_GRANT,
    grant_revoked: OF_GRANT,
    exchanges_revoked: OF_GRANT,
    session_revoked: [
      [{ target: 'a session', subject: 'alice' }, ['alice at web', ...OF_PAIRED]],
      [{ target: 'a session' }, ALL],
    ],
    subject_revoked: OF_SUBJECT,
    subject_disabled: OF_SUBJECT,
    subject_enabled: OF_SUBJECT,
    client_revoked: OF_CLIENT,
    client_disabled: OF_CLIENT,
    client_enabled: OF_CLIENT,
    issued_before_revoked: [[{ target: '1000' }, ALL]],
  };

test('each event concerns the tokens that it can have ended, and no others', async () => {
  for (const type of EVENT_TYPES) {
    const cases = EXPECTED[type] ?? [[{ target: 'alice', clientId: 'web', subject: 'alice' }, []]];
    for (const [facts, names] of cases)
      assert.deepEqual(await concerned(type, facts), names, `${type} ${JSON.stringify(facts)}`);
  }
});

test('a client whose subjects become pairwise is known from its event on', async () => {
  await storage.clients.add({
    ...{ id: 'later', grantTypes: ['authorization_code'], scopes: [] },
    ...{ redirectUris: ['https://later.example/'], metadata: { subject_type: 'pairwise' } },
  });
  const client = (await storage.clients.get('later')) ?? assert.fail();
  seen.set('alice later', (await keysOf('later', await server.subjectIdentifier(client, 'alice'))) ?? []);
  await concerned('client_added', { target: 'later' });
  assert.deepEqual(await concerned('subject_disabled', { target: 'alice' }), [
    ...['alice at web', ...OF_PAIRED, 'alice later'],
  ]);
});

test('an ending has the keys of exchanged tokens, which need a secret of the server', async () => {
  const { keys } = await reader.read([
    { sequence: 1, atMs: 1, type: 'token_revoked', target: '', clientId: 'web', subject: 'bob' },
  ]);
  const text = 'grant\nweb\nbob';
  const digests = await Promise.all(
    (await new ServerSecret<'ending_key'>(SECRETS).keys('ending_key')).map((key) =>
      createHmac('sha256', key).update(text).digest('base64url'),
    ),
  );
  const own = createHash('sha256').update(text).digest('base64url');
  assert.deepEqual(keys, [own, ...digests].map((digest) => digest.slice(0, 8)).sort());
});
