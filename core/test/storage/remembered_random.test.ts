import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import type { AdministrableStorage, Awaitable } from '@grantd/core';
import { storedLife } from '../../src/protocol/record_rules.ts';
import type { NewToken, TokenRecord } from '../../src/protocol/records.ts';
import type { RowList } from '../../src/storage/columns.ts';
import type { AnswerMemory } from '../../src/storage/contract.ts';
import { returningLists } from '../../src/storage/sqlite/queues.ts';
import { openSqliteStorage } from '../../src/storage/sqlite/sqlite_storage.ts';
import { TOKENS_SQL } from '../../src/storage/sqlite/tokens.ts';
import { toTokenRecord } from '../../src/storage/statements.ts';
import { Chance } from '../harness/chance.ts';
import { disposableDatabase, sharedPostgres } from '../harness/postgres_databases.ts';
import { POSTGRES_ABSENCE } from '../harness/postgres_installation.ts';
import { PostgresStores } from '../harness/postgres_store.ts';
import { newClient, newCode, newToken } from './samples.ts';
import { temporaryFolder } from './temporary_folder.ts';

const folder = temporaryFolder();
const issuer = 'https://issuer.example';
const CLIENTS = ['web', 'spa'];
const PEOPLE = ['alice', 'bob', 'carol'];
const SESSIONS = ['laptop', 'phone'];

type Opened = Awaitable<AdministrableStorage>;

/** A database, which several processes open. */
interface Shared {
  open(clock: () => number): Opened;
  /** The current state of an access token, without any cache. */
  record(id: string): Awaitable<TokenRecord | undefined>;
  close(): Awaitable<void>;
}

/** Two processes on one database, their issued tokens, and a reference that keeps everything and caches nothing. */
class Scene {
  nowMs = 1_800_000_000_000;
  readonly access: string[] = [];
  readonly refresh: string[] = [];
  readonly codes: string[] = [];
  readonly chance: Chance;
  readonly handles: AdministrableStorage[] = [];
  readonly #shared: Shared;

  private constructor(shared: Shared, seed: number) {
    this.chance = new Chance(seed);
    this.#shared = shared;
  }

  static async open(t: TestContext, shared: Shared, seed: number): Promise<Scene> {
    const scene = new Scene(shared, seed);
    for (const at of [0, 1]) scene.handles[at] = await scene.#open();
    t.after(async () => {
      for (const handle of scene.handles) await handle.close();
      await shared.close();
    });
    return scene;
  }

  #open(): Opened {
    return this.#shared.open(() => this.nowMs);
  }

  async reopen(): Promise<void> {
    const at = this.chance.below(this.handles.length);
    await this.handles[at]?.close();
    this.handles[at] = await this.#open();
  }

  async record(id: string): Promise<TokenRecord | undefined> {
    return this.#shared.record(id);
  }

  recently(list: readonly string[]): string {
    return this.chance.of(list.slice(-40));
  }

  /** Tokens with some or all of the records that they can depend on. */
  tokens(clientId: string): readonly NewToken[] {
    const { chance } = this;
    const isOfPerson = !chance.isOnce(4);
    const tied = isOfPerson && !chance.isOnce(3);
    const fields = {
      ...(isOfPerson && { subject: chance.of(PEOPLE) }),
      ...(isOfPerson && chance.isOnce(2) && { sessionId: chance.of(SESSIONS) }),
      ...(isOfPerson && { grantId: randomUUID() }),
      ...(tied && { pairId: randomUUID() }),
      ...(tied && !chance.isOnce(3) && { familyId: randomUUID() }),
    };
    const access = this.token(clientId, fields);
    return tied ? [access, this.token(clientId, { ...fields, kind: 'refresh_token' })] : [access];
  }

  token(clientId: string, fields: Partial<NewToken>): NewToken {
    const issuedAtMs = this.nowMs;
    const expiresAt = Math.floor(issuedAtMs / 1000) + this.chance.of([5, 60, 3600]);
    const keepUntil = expiresAt + this.chance.of([0, 100]);
    const claims = { sub: 'x', long: 'x'.repeat(this.chance.below(700)) };
    return newToken(clientId, { issuedAtMs, expiresAt, keepUntil, claims, ...fields });
  }

  tell(tokens: readonly NewToken[]): void {
    for (const { id, kind } of tokens) (kind === 'access_token' ? this.access : this.refresh).push(id);
  }
}

type Step = (scene: Scene, storage: AdministrableStorage) => Promise<unknown>;

async function issue(scene: Scene, { tokens, clients }: AdministrableStorage): Promise<void> {
  const clientId = scene.chance.of(CLIENTS);
  const { generation } = (await clients.get(clientId)) ?? {};
  const issued = scene.tokens(clientId);
  const basis = generation === undefined ? {} : { clientGeneration: generation };
  if ((await tokens.issue(issued, basis)) === 'issued') scene.tell(issued);
}

async function redeem(scene: Scene, { authorizationCodes }: AdministrableStorage): Promise<void> {
  const clientId = scene.chance.of(CLIENTS);
  const subject = scene.chance.of(PEOPLE);
  const code = { ...newCode(clientId, randomUUID()), subject, issuedAtMs: scene.nowMs };
  const expiresAt = Math.floor(scene.nowMs / 1000) + 60;
  if ((await authorizationCodes.issue({ ...code, expiresAt }, {})) !== 'issued') return;
  const stored = await authorizationCodes.get(code.id);
  if (!stored) return;
  const tied = { subject, grantId: code.grantId, pairId: randomUUID(), familyId: randomUUID() };
  const tokens = [scene.token(clientId, tied), scene.token(clientId, { ...tied, kind: 'refresh_token' })];
  if ((await authorizationCodes.redeem(stored, tokens)) !== 'issued') return;
  scene.tell(tokens);
  scene.codes.push(code.id);
}

async function rotate(scene: Scene, { tokens }: AdministrableStorage): Promise<void> {
  const found = await tokens.getByRefreshToken(scene.recently(scene.refresh));
  if (found?.grantId == null) return;
  const { clientId, subject, sessionId, grantId, familyId } = found;
  const tied = {
    ...{ grantId, pairId: randomUUID() },
    ...(subject !== undefined && { subject }),
    ...(sessionId !== undefined && { sessionId }),
    ...(familyId !== undefined && { familyId }),
  };
  const successor = scene.token(clientId, { ...tied, kind: 'refresh_token' });
  const issued = [successor, scene.token(clientId, tied)];
  if ((await tokens.rotate(found, successor, issued)) === 'issued') scene.tell(issued);
}

async function revokeAccess(scene: Scene, { tokens }: AdministrableStorage): Promise<void> {
  const found = await tokens.getByAccessToken(scene.recently(scene.access));
  if (found) await tokens.revoke(found);
}

async function revokeRefresh(scene: Scene, { tokens }: AdministrableStorage): Promise<void> {
  const found = await tokens.getByRefreshToken(scene.recently(scene.refresh));
  if (!found) return;
  if (scene.chance.isOnce(2)) await tokens.revoke(found);
  else await tokens.revokeFamily(found);
}

async function revokeCode(scene: Scene, { authorizationCodes }: AdministrableStorage): Promise<void> {
  const found = await authorizationCodes.get(scene.recently(scene.codes));
  if (found) await authorizationCodes.revoke(found);
}

async function revokePrincipal({ chance }: Scene, storage: AdministrableStorage): Promise<void> {
  if (chance.isOnce(6)) await storage.revokeAll({ principal: 'client', id: chance.of(CLIENTS) });
  else if (chance.isOnce(2)) await storage.revokeAll({ principal: 'subject', id: chance.of(PEOPLE) });
  else await storage.revokeAll({ principal: 'session', id: chance.of(SESSIONS) });
}

async function disableAndEnable({ chance }: Scene, storage: AdministrableStorage): Promise<void> {
  const [principal, id] = chance.isOnce(3)
    ? (['client', chance.of(CLIENTS)] as const)
    : (['subject', chance.of(PEOPLE)] as const);
  await storage.setDisabled(principal, id, true);
  if (!chance.isOnce(4)) await storage.setDisabled(principal, id, false);
}

async function enableAll(_: Scene, storage: AdministrableStorage): Promise<void> {
  for (const id of CLIENTS) await storage.setDisabled('client', id, false);
  for (const id of PEOPLE) await storage.setDisabled('subject', id, false);
}

async function registerAgain({ chance }: Scene, { clients }: AdministrableStorage): Promise<void> {
  const id = chance.of(CLIENTS);
  await clients.remove(id);
  await clients.add(newClient(id));
}

async function fail(scene: Scene, { tokens }: AdministrableStorage): Promise<void> {
  const taken = scene.token('web', { id: scene.recently(scene.access) });
  const found = await tokens.getByAccessToken(scene.recently(scene.access));
  // Both in one commit: the refused one is rolled back, and the other is not.
  await Promise.all([
    Promise.resolve(tokens.issue([scene.token('web', {}), taken], {})).catch(() => undefined),
    found && tokens.revoke(found),
  ]);
}

async function passTime(scene: Scene): Promise<void> {
  scene.nowMs += scene.chance.of([1, 1000, 5000, 20_000]);
}

/** Steps with equal chances, except those that are listed more than once. */
const STEPS_TAKEN: readonly Step[] = [
  ...[issue, issue, issue, issue, redeem, redeem, rotate, rotate],
  ...[revokeAccess, revokeAccess, revokeRefresh, revokeCode, revokePrincipal],
  ...[disableAndEnable, enableAll, fail, passTime, passTime],
  async (_, storage) => storage.revokeGrants('alice', 'web'),
  async ({ chance }, storage) => storage.sweep(chance.of([1, 3, 100])),
  async (scene, storage) => (scene.chance.isOnce(4) ? registerAgain(scene, storage) : undefined),
  async (scene, storage) =>
    scene.chance.isOnce(10) ? storage.revokeAll({ issuedBeforeMs: scene.nowMs - 10_000 }) : undefined,
  async (scene) => (scene.chance.isOnce(5) ? scene.reopen() : undefined),
];

function withoutVersion(record: TokenRecord | null | undefined): Partial<TokenRecord> {
  const { version: _, ...stored } = record ?? {};
  return stored;
}

const memories = new WeakMap<AdministrableStorage, AnswerMemory>();

/** The answers of one server of a store. */
function answersOf(storage: AdministrableStorage): AnswerMemory | undefined {
  const options = { getSubjectState: undefined, applicationClaims: undefined, jwtService: undefined };
  const known = memories.get(storage);
  const answers = known ?? storage.cache?.answers?.for({ ...options, previousServer: undefined, storage });
  if (answers !== undefined) memories.set(storage, answers);
  return answers;
}

/**
 * Asks for the remembered answer of a client about a token, which tells both records. Otherwise it makes one.
 * @returns how many remembered answers were given, all of them true
 */
async function answered(
  scene: Scene,
  storage: AdministrableStorage,
  id: string,
  record: TokenRecord | undefined,
): Promise<number> {
  const caller = (await storage.clients.get(scene.chance.of(CLIENTS))) ?? undefined;
  const url = `/${caller?.id}`;
  const request = { method: 'POST', url, headers: {}, body: id };
  const answers = answersOf(storage);
  const place = await answers?.find(request, () => scene.nowMs);
  assert.ok(place);
  const isAlive = record !== undefined && storedLife(record, scene.nowMs).alive;
  const body = JSON.stringify([await scene.record(id), caller?.generation, caller?.disabledAtMs]);
  if (place.response !== undefined) {
    assert.equal(isAlive, true);
    assert.equal(place.response.body, body);
    return 1;
  }
  const [untilMs, response] = [Number.POSITIVE_INFINITY, { status: 200, headers: {}, body }];
  if (isAlive && caller?.disabledAtMs === undefined)
    answers?.remember(place.key, { response, caller, found: { record, claims: {} }, untilMs }, scene.nowMs);
  return 0;
}

/** @returns how often a token was found alive and dead, and how many remembered answers were given */
async function play(scene: Scene, steps: number) {
  const { chance } = scene;
  for (const id of CLIENTS) await chance.of(scene.handles).clients.add(newClient(id));
  const looks = { alive: 0, dead: 0, answers: 0 };
  for (let step = 0; step < steps; step += 1) {
    const hasAll = scene.access.length > 0 && scene.refresh.length > 0 && scene.codes.length > 0;
    await (hasAll ? chance.of(STEPS_TAKEN) : chance.of([issue, redeem]))(scene, chance.of(scene.handles));
    const ids = scene.access.slice(-20);
    for (const handle of scene.handles) {
      const { tokens } = handle;
      const found = await Promise.all(ids.map(async (id) => tokens.getByAccessToken(id)));
      const rows = await Promise.all(ids.map(async (id) => scene.record(id)));
      for (const [index, remembered] of found.entries()) {
        const stored = rows[index];
        const [isAlive, shouldBe] = [remembered, stored].map(
          (record) => record !== undefined && record !== null && storedLife(record, scene.nowMs).alive,
        );
        assert.equal(isAlive, shouldBe, `step ${step}`);
        if (isAlive) assert.deepEqual(withoutVersion(remembered), stored, `step ${step}`);
        looks[isAlive ? 'alive' : 'dead'] += 1;
      }
      const answers = ids.map((id, index) => answered(scene, handle, id, found[index] ?? undefined));
      for (const count of await Promise.all(answers)) looks.answers += count;
    }
  }
  return looks;
}

function sqliteFile(seed: number): Shared {
  const path = join(folder, `${seed}.db`);
  const open = (clock: () => number) => openSqliteStorage({ path, issuer, clock, eventRetentionSeconds: 50 });
  open(Date.now).close();
  const file = new DatabaseSync(path);
  const rows = returningLists<RowList>(file.prepare(TOKENS_SQL.getAccessToken));
  return {
    open,
    record(id) {
      const row = rows.get(1, id);
      return row && toTokenRecord(row);
    },
    close: () => file.close(),
  };
}

async function postgresDatabase(): Promise<Shared> {
  const stores = new PostgresStores(await disposableDatabase(await sharedPostgres()), {
    checksTablesOnce: true,
  });
  const another = await stores.open({ issuer });
  return {
    open: (clock) => stores.open({ issuer, clock, eventRetentionSeconds: 50 }),
    async record(id) {
      const record = await another.tokens.getByAccessToken(id);
      return record ? (withoutVersion(record) as TokenRecord) : undefined;
    },
    async close() {
      await another.close();
      await stores.end();
    },
  };
}

for (const seed of [1, 22, 333])
  test(`whatever two processes do, a cached access token is as alive as its row says (seed ${seed})`, async (t) => {
    const looks = await play(await Scene.open(t, sqliteFile(seed), seed), 800);
    assert.ok(looks.alive > 500 && looks.dead > 500 && looks.answers > 500, JSON.stringify(looks));
  });

test('whatever two processes do on PostgreSQL, a remembered answer is true', {
  skip: POSTGRES_ABSENCE,
  timeout: 120_000,
}, async (t) => {
  const looks = await play(await Scene.open(t, await postgresDatabase(), 4444), 200);
  assert.ok(looks.alive > 500 && looks.dead > 500 && looks.answers > 500, JSON.stringify(looks));
});
