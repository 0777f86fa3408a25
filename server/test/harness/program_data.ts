import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { ClockWatch } from '../../src/data/clock_watch.ts';
import { under, unlessBroken } from '../../src/data/conditions.ts';
import type { Asked, Parties } from '../../src/data/consents.ts';
import type { Database, OpenDatabase } from '../../src/data/database.ts';
import type { DeletionLimitMs } from '../../src/data/deletion_limit.ts';
import type { Person } from '../../src/data/people.ts';
import { postgresDatabase } from '../../src/data/postgres_database.ts';
import type { ClientNames } from '../../src/data/sessions.ts';
import { sqliteDatabase } from '../../src/data/sqlite_database.ts';
import type { Instance } from '../../src/instance/instance.ts';
import type { TestDatabase } from './databases.ts';
import { createEmptyFile, emptyPostgres, POSTGRES_OPTIONS } from './empty_databases.ts';

export const ISSUER = 'https://id.example';

/** All due deliveries. */
export const DUE = { exceptClients: [], limit: 10 };

/** A new database, opened as the program opens it, once per simulated process. */
export async function openDatabases(
  t: TestContext,
  database: TestDatabase,
  howMany = 1,
): Promise<readonly OpenDatabase[]> {
  const make = await newPlace(t, database);
  const databases = Array.from({ length: howMany }, make);
  t.after(() => Promise.all(databases.map((database) => database.close())));
  const [first, ...others] = databases;
  if (first === undefined) throw new TypeError('at least one');
  // One process creates the file, and the others wait for it.
  return [await first.open(ISSUER), ...(await Promise.all(others.map((other) => other.open(ISSUER))))];
}

/** A new database that is not open yet. */
export async function newDatabase(t: TestContext, type: TestDatabase): Promise<Database> {
  const database = (await newPlace(t, type))();
  t.after(() => database.close());
  return database;
}

export async function openDatabase(t: TestContext, database: TestDatabase): Promise<OpenDatabase> {
  const [opened] = await openDatabases(t, database);
  if (opened === undefined) throw new TypeError('one was asked for');
  return opened;
}

/** A user in a database. The password does not matter unless its hash is given. */
export async function addPerson(
  { people }: OpenDatabase,
  name: string,
  passwordHash = `hash of ${name}`,
): Promise<Person> {
  const person = await people.add({ name, passwordHash, claims: {} });
  if (person === undefined) throw new TypeError(`there is ${name} already`);
  return person;
}

/** A session of a user, as after a sign-in with the password. It lasts a minute. */
export async function addSession(
  { people, sessions }: Pick<OpenDatabase, 'people' | 'sessions'>,
  subject: string,
  id: string,
): Promise<void> {
  const person = await people.bySubject(subject);
  if (person === undefined) throw new TypeError(`there is no user ${subject}`);
  const nowMs = Date.now();
  const times = { signedInAtMs: nowMs, lastSeenAtMs: nowMs };
  const session = { id, subject, amr: ['pwd'], userAgent: 'Test', ...times };
  if (!(await sessions.add(session, `digest of ${id}`, nowMs + 60_000, person)))
    throw new TypeError(`there is a session ${id} already`);
}

/** A write that changes nothing but what its conditions write. */
const writeNothing = ({ attempts }: Pick<OpenDatabase, 'attempts'>) =>
  attempts.end({ takenBack: [], forgotten: [] });

/** Stores a consent, also if others change it at the same time. */
export async function giveConsent(
  opened: Pick<OpenDatabase, 'consents' | 'attempts'> & { readonly issuer?: string },
  ...[parties, asked, nowMs]: [parties: Parties, asked: Asked, nowMs: number]
): Promise<void> {
  const { issuer = ISSUER } = opened;
  for (let outcome: unknown = 'broken'; outcome === 'broken'; ) {
    const condition = await opened.consents.giving(issuer, parties, asked, nowMs);
    outcome = condition && (await unlessBroken(() => under(condition, () => writeNothing(opened))));
  }
}

/** Records that a client knows a session. @returns `false` if the session has ended */
export async function noteClient(
  opened: Pick<OpenDatabase, 'sessions' | 'attempts'>,
  ...[id, clientId, names]: [id: string, clientId: string, names: ClientNames]
): Promise<boolean> {
  const condition = opened.sessions.knownTo(ISSUER, id, clientId, names);
  return (await unlessBroken(() => under(condition, () => writeNothing(opened)))) !== 'broken';
}

/** A user’s consent to a client as it is now. */
export async function addConsent(
  opened: Pick<Instance, 'issuer' | 'consents' | 'storage' | 'attempts'>,
  subject: string,
  clientId: string,
): Promise<void> {
  const { generation = 0 } = (await opened.storage.clients.get(clientId)) ?? {};
  const allowed = { scopes: ['openid', 'offline_access'], resources: [], claims: [], details: [] };
  const asked = { ...allowed, clientGeneration: generation, clientRevision: 0 };
  await giveConsent(opened, { subject, clientId }, asked, Date.now());
}

/** A new database, which each call connects another simulated process to. */
export async function newPlace(t: TestContext, { name }: TestDatabase): Promise<() => Database> {
  return name === 'SQLite' ? newFile(t) : newPostgres();
}

/** How far a deletion goes at a time, if every clock agrees. */
export async function deletionLimitAt(nowMs: number): Promise<DeletionLimitMs> {
  const referenceTime = async () => ({ atMs: nowMs, isNow: true });
  const watch = new ClockWatch({ referenceTime }, { clock: () => nowMs });
  await watch.look();
  return watch.deletionLimitMs();
}

async function newFile(t: TestContext): Promise<() => Database> {
  const folder = mkdtempSync(join(tmpdir(), 'grantd-data-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'grantd.db');
  await createEmptyFile(path);
  return () => sqliteDatabase(path);
}

async function newPostgres(): Promise<() => Database> {
  const url = await emptyPostgres();
  return () => postgresDatabase(url, POSTGRES_OPTIONS);
}

/** A new identifier. */
export function newId(): string {
  return randomBytes(16).toString('base64url');
}
