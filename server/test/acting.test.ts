// Clients that act for users: all are found, and lose their tokens with the group that admits the user.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { beforeEach, test } from 'node:test';
import {
  type AdministrableStorage,
  EXCHANGE_GRANT,
  JWT_BEARER_GRANT,
  type NewClient,
  type NewToken,
} from '@grantd/core';
import { memoryStorage } from '@grantd/core/memory';
import { MAX_TOKENS } from '../src/people/acting.ts';
import { AccessEnding } from '../src/people/groups.ts';

const SUBJECT = 'user';
let storage: AdministrableStorage;
let applicationToken: NewToken;

beforeEach(async () => {
  storage = memoryStorage();
  const metadata = { allowed_groups: ['staff'] };
  await addClient('application', ['authorization_code']);
  await addClient('busy', [EXCHANGE_GRANT]);
  await addClient('service', [EXCHANGE_GRANT], metadata);
  await addClient('workload', [JWT_BEARER_GRANT], metadata);
  applicationToken = await issued('application', { grantId: 'grant' });
});

async function addClient(id: string, grantTypes: NewClient['grantTypes'], metadata = {}): Promise<void> {
  await storage.clients.add({ id, grantTypes, redirectUris: [], scopes: ['read'], metadata });
}

function tokenOf(clientId: string, more: Partial<NewToken> = {}): NewToken {
  const issuedAtMs = Date.now();
  const expiresAt = Math.floor(issuedAtMs / 1000) + 3600;
  const common = {
    kind: 'access_token',
    digest: 'd',
    tokenType: 'Bearer',
    claims: { sub: SUBJECT },
  } as const;
  const times = { issuedAtMs, expiresAt, keepUntil: expiresAt };
  return { ...common, ...times, id: randomUUID(), clientId, subject: SUBJECT, scopes: ['read'], ...more };
}

async function issued(clientId: string, more: Partial<NewToken> = {}): Promise<NewToken> {
  const token = tokenOf(clientId, more);
  assert.equal(await storage.tokens.issue([token], {}), 'issued');
  return token;
}

const ofApplication = () => {
  const { kind, id, clientId } = applicationToken;
  return { ancestors: [{ kind, id, clientId }], grantId: 'grant' };
};

async function leave(clientId: string): Promise<number> {
  const client = await storage.clients.get(clientId);
  assert.ok(client);
  const person = { subject: SUBJECT, name: 'ann', groups: [] };
  const people = { list: async () => [person], bySubject: async () => person } as never;
  return new AccessEnding({ people, groups: {} as never, storage }).leaveClient(client, () => {});
}

const isRevoked = async ({ id }: NewToken) =>
  (await storage.tokens.getByAccessToken(id))?.revokedAtMs !== undefined;

test('a service loses its tokens with the group, however many tokens another one has', async () => {
  const token = await issued('service', ofApplication());
  const later = Math.floor(Date.now() / 1000) + 7200;
  const many = Array.from({ length: MAX_TOKENS }, () =>
    tokenOf('busy', { ...ofApplication(), expiresAt: later, keepUntil: later }),
  );
  assert.equal(await storage.tokens.issue(many, {}), 'issued');
  assert.equal(await leave('service'), 1);
  assert.ok(await isRevoked(token));
});

test('an exchange that is under way when the user leaves the group is refused', async () => {
  const underWay = tokenOf('service', ofApplication());
  await leave('service');
  assert.equal(await storage.tokens.issue([underWay], {}), 'refused');
});

test('a client that acts by a JWT of a trusted issuer loses its tokens with the group', async () => {
  const { kind, id } = await issued('workload', { scopes: [], tokenType: 'N_A' });
  const token = await issued('workload', { ancestors: [{ kind, id }] });
  assert.equal(await leave('workload'), 1);
  assert.ok(await isRevoked(token));
});
