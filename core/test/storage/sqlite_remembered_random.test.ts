import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import { storedLife } from '../../src/protocol/record_rules.ts';
import type { NewToken, TokenRecord } from '../../src/protocol/records.ts';
import type { RowList } from '../../src/storage/columns.ts';
import type { AnswerMemory } from '../../src/storage/contract.ts';
import { type ListStatement, returningLists } from '../../src/storage/sqlite/queues.ts';
import { openSqliteStorage, type SqliteStorage } from '../../src/storage/sqlite/sqlite_storage.ts';
import { TOKENS_SQL } from '../../src/storage/sqlite/tokens.ts';
import { toTokenRecord } from '../../src/storage/statements.ts';
import { Chance } from '../harness/chance.ts';
import { newClient, newCode, newToken } from './samples.ts';
import { temporaryFolder } from './temporary_folder.ts';

const folder = temporaryFolder();
const issuer = 'https://issuer.example';
const STEPS = 800;
const CLIENTS = ['web', 'spa'];
const PEOPLE = ['alice', 'bob', 'carol'];
const SESSIONS = ['laptop', 'phone'];

/** Two processes on one file, their issued tokens, and a reference that keeps everything and caches nothing. */
class Scene {
  nowMs = 1_800_000_000_000;
  readonly access: string[] = [];
  readonly refresh: string[] = [];
  readonly codes: string[] = [];
  readonly chance: Chance;
  readonly #path: string;
  readonly #file: DatabaseSync;
  readonly #row: ListStatement<RowList>;
  readonly #handles: SqliteStorage[];

  constructor(t: TestContext, seed: number) {
    this.chance = new Chance(seed);
    this.#path = join(folder, `${seed}.db`);
    this.#handles = [this.#open(), this.#open()];
    this.#file = new DatabaseSync(this.#path);
    this.#row = returningLists<RowList>(this.#file.prepare(TOKENS_SQL.getAccessToken));
    t.after(async () => {
      this.#file.close();
      for (const handle of this.#handles) await handle.close();
    });
  }

  #open(): SqliteStorage {
    return openSqliteStorage({
      path: this.#path,
      issuer,
      clock: () => this.nowMs,
      eventRetentionSeconds: 50,
    });
  }

  get handles(): readonly SqliteStorage[] {
    return this.#handles;
  }

  async reopen(): Promise<void> {
    const at = this.chance.below(this.#handles.length);
    await this.#handles[at]?.close();
    this.#handles[at] = this.#open();
  }

  /** The current state of an access token in the file. */
  record(id: string): TokenRecord | undefined {
    const row = this.#row.get(1, id);
    return row && toTokenRecord(row);
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

type Step = (scene: Scene, storage: SqliteStorage) => Promise<unknown>;

async function issue(scene: Scene, { tokens, clients }: SqliteStorage): Promise<void> {
  const clientId = scene.chance.of(CLIENTS);
  const { generation } = (await clients.get(clientId)) ?? {};
  const issued = scene.tokens(clientId);
  const basis = generation === undefined ? {} : { clientGeneration: generation };
  if ((await tokens.issue(issued, basis)) === 'issued') scene.tell(issued);
}

async function redeem(scene: Scene, { authorizationCodes }: SqliteStorage): Promise<void> {
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

async function rotate(scene: Scene, { tokens }: SqliteStorage): Promise<void> {
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

async function revokeAccess(scene: Scene, { tokens }: SqliteStorage): Promise<void> {
  const found = await tokens.getByAccessToken(scene.recently(scene.access));
  if (found) await tokens.revoke(found);
}

async function revokeRefresh(scene: Scene, { tokens }: SqliteStorage): Promise<void> {
  const found = await tokens.getByRefreshToken(scene.recently(scene.refresh));
  if (!found) return;
  if (scene.chance.isOnce(2)) await tokens.revoke(found);
  else await tokens.revokeFamily(found);
}

async function revokeCode(scene: Scene, { authorizationCodes }: SqliteStorage): Promise<void> {
  const found = await authorizationCodes.get(scene.recently(scene.codes));
  if (found) await authorizationCodes.revoke(found);
}

async function revokePrincipal({ chance }: Scene, storage: SqliteStorage): Promise<void> {
  if (chance.isOnce(6)) await storage.revokeAll({ principal: 'client', id: chance.of(CLIENTS) });
  else if (chance.isOnce(2)) await storage.revokeAll({ principal: 'subject', id: chance.of(PEOPLE) });
  else await storage.revokeAll({ principal: 'session', id: chance.of(SESSIONS) });
}

async function disableAndEnable({ chance }: Scene, storage: SqliteStorage): Promise<void> {
  const [principal, id] = chance.isOnce(3)
    ? (['client', chance.of(CLIENTS)] as const)
    : (['subject', chance.of(PEOPLE)] as const);
  await storage.setDisabled(principal, id, true);
  if (!chance.isOnce(4)) await storage.setDisabled(principal, id, false);
}

async function enableAll(_: Scene, storage: SqliteStorage): Promise<void> {
  for (const id of CLIENTS) await storage.setDisabled('client', id, false);
  for (const id of PEOPLE) await storage.setDisabled('subject', id, false);
}

async function registerAgain({ chance }: Scene, { clients }: SqliteStorage): Promise<void> {
  const id = chance.of(CLIENTS);
  await clients.remove(id);
  await clients.add(newClient(id));
}

async function fail(scene: Scene, { tokens }: SqliteStorage): Promise<void> {
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

const memories = new WeakMap<SqliteStorage, AnswerMemory>();

/** The answers of one server of a store. */
function answersOf(storage: SqliteStorage): AnswerMemory | undefined {
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
  storage: SqliteStorage,
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
  const body = JSON.stringify([scene.record(id), caller?.generation, caller?.disabledAtMs]);
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

for (const seed of [1, 22, 333]) {
  test(`whatever two processes do, a cached access token is as alive as its row says (seed ${seed})`, async (t) => {
    const scene = new Scene(t, seed);
    const { chance } = scene;
    for (const id of CLIENTS) await chance.of(scene.handles).clients.add(newClient(id));
    const looks = { alive: 0, dead: 0, answers: 0 };
    for (let step = 0; step < STEPS; step += 1) {
      const hasAll = scene.access.length > 0 && scene.refresh.length > 0 && scene.codes.length > 0;
      await (hasAll ? chance.of(STEPS_TAKEN) : chance.of([issue, redeem]))(scene, chance.of(scene.handles));
      const ids = scene.access.slice(-20);
      for (const handle of scene.handles) {
        const { tokens } = handle;
        const found = await Promise.all(ids.map(async (id) => tokens.getByAccessToken(id)));
        for (const [index, id] of ids.entries()) {
          const [remembered, stored] = [found[index], scene.record(id)];
          const [isAlive, shouldBe] = [remembered, stored].map(
            (record) => record !== undefined && record !== null && storedLife(record, scene.nowMs).alive,
          );
          assert.equal(isAlive, shouldBe, `step ${step}`);
          if (isAlive) assert.deepEqual(withoutVersion(remembered), stored, `step ${step}`);
          looks[isAlive ? 'alive' : 'dead'] += 1;
          looks.answers += await answered(scene, handle, id, remembered ?? undefined);
        }
      }
    }
    assert.ok(looks.alive > 500 && looks.dead > 500 && looks.answers > 500, JSON.stringify(looks));
  });
}
