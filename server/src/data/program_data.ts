import { type AdministrableStorage, type ClientRecord, sweepRegistrations } from '@grantd/core';
import { type ApiRequests, apiRequestsTable } from './api_requests.ts';
import { AuditTrail } from './audit.ts';
import { ConsentSweep, type Consents, consentsTable, type ScopeTexts, scopeTextsTable } from './consents.ts';
import { type Factors, factorsTable } from './factors.ts';
import { type Groups, groupsTable } from './groups.ts';
import { type ImportedPeople, importedPeopleTable } from './imported_people.ts';
import { type MailedLinks, type Mails, mailedLinksTable, mailsTable } from './mails.ts';
import { type Attempts, attemptsTable, type People, peopleTable } from './people.ts';
import { pairwiseSecretTable, type StoredPairwiseSecret } from './secrets.ts';
import { type LogoutDeliveries, logoutDeliveriesTable, type Sessions, sessionsTable } from './sessions.ts';
import { askStorage, type FullDisk, type ProgramTables, writeCheck } from './tables.ts';
import { type UpstreamIdentities, upstreamIdentitiesTable } from './upstream_identities.ts';

/** The program’s own data of one issuer, in addition to the library’s store. */
export interface ProgramData {
  readonly people: People;
  readonly importedPeople: ImportedPeople;
  readonly groups: Groups;
  readonly demoMark: DemoMark;
  readonly sessions: Sessions;
  readonly consents: Consents;
  readonly scopeTexts: ScopeTexts;
  readonly attempts: Attempts;
  readonly factors: Factors;
  readonly logoutDeliveries: LogoutDeliveries;
  readonly mails: Mails;
  readonly mailedLinks: MailedLinks;
  readonly apiRequests: ApiRequests;
  readonly upstreamIdentities: UpstreamIdentities;
  readonly pairwiseSecret: StoredPairwiseSecret;
  /** All changes, chained. */
  readonly auditTrail: AuditTrail;
  /** Rejects with a `StorageFault` if the database accepts no writes, for example on a full disk. */
  requireWritable(): Promise<void>;
  /**
   * Deletes expired rows, and unused registrations of clients.
   * @param limit maximum rows of each kind
   * @param order.unusedFor seconds after which a registration is unused. Default: 0, which keeps all.
   * @param order.untilMs leaves rows that expire later, even if this process's clock is ahead
   * @returns the number of deleted rows; zero if none are left
   */
  sweepProgram(limit: number, order?: SweepingBounds): Promise<number>;
}

export interface SweepingBounds {
  readonly unusedFor?: number;
  /** Milliseconds since 1970. Default: now. */
  readonly untilMs?: number;
}

/** Seconds: a day, because a client may be in the middle of an authorization. */
const SHORTEST_UNUSED_TIME = 24 * 60 * 60;

/**
 * @param storage the library’s store in the same database
 * @param disk as for `writeCheck`
 */
export function programData(
  tables: ProgramTables,
  issuer: string,
  storage: Pick<AdministrableStorage, 'clients' | 'eventsAfter'>,
  disk?: FullDisk,
  clock: () => number = Date.now,
): ProgramData {
  const consents = consentsTable(tables, issuer);
  const consentSweep = new ConsentSweep({ consents, clients: storage.clients });
  const sweepUnused = (limit: number, unusedFor: number, nowMs: number): Promise<number> | number => {
    if (unusedFor === 0) return 0;
    const unusedSince = nowMs / 1000 - Math.max(unusedFor, SHORTEST_UNUSED_TIME);
    const isUsed = ({ id }: ClientRecord) => consents.isGivenTo(id);
    return askStorage(() => sweepRegistrations(storage, { unusedSince, limit, isUsed }));
  };
  return {
    people: peopleTable(tables, issuer),
    importedPeople: importedPeopleTable(tables, issuer),
    groups: groupsTable(tables, issuer),
    demoMark: demoMark(tables, issuer),
    sessions: sessionsTable(tables, issuer),
    consents,
    scopeTexts: scopeTextsTable(tables, issuer),
    attempts: attemptsTable(tables, issuer),
    factors: factorsTable(tables, issuer),
    logoutDeliveries: logoutDeliveriesTable(tables, issuer),
    mails: mailsTable(tables, issuer),
    mailedLinks: mailedLinksTable(tables, issuer),
    apiRequests: apiRequestsTable(tables, issuer),
    upstreamIdentities: upstreamIdentitiesTable(tables, issuer),
    pairwiseSecret: pairwiseSecretTable(tables, issuer),
    auditTrail: new AuditTrail(tables, issuer, storage),
    requireWritable: writeCheck(tables, issuer, disk),
    async sweepProgram(limit, { unusedFor = 0, untilMs = Infinity } = {}) {
      const nowMs = Math.min(clock(), untilMs);
      const rows = await sweepProgram(tables, issuer, nowMs, limit);
      return rows + (await consentSweep.sweep(limit)) + (await sweepUnused(limit, unusedFor, nowMs));
    },
  };
}

/** Each statement finds the oldest rows through an index. Ended sessions are deleted by their own last step. */
const SWEEP_SQL = [
  `
  DELETE FROM grantd.sessions WHERE issuer = $1 AND expires_at_ms <= $2 AND ended_at_ms IS NULL AND id IN (
    SELECT id FROM grantd.sessions WHERE issuer = $1 AND expires_at_ms <= $2 AND ended_at_ms IS NULL
    ORDER BY expires_at_ms LIMIT $3)
  RETURNING id`,
  `
  DELETE FROM grantd.sign_in_attempts WHERE issuer = $1 AND ends_at_ms <= $2 AND key_digest IN (
    SELECT key_digest FROM grantd.sign_in_attempts WHERE issuer = $1 AND ends_at_ms <= $2
    ORDER BY ends_at_ms LIMIT $3)
  RETURNING key_digest`,
  `
  DELETE FROM grantd.mails WHERE issuer = $1 AND expires_at_ms <= $2 AND id IN (
    SELECT id FROM grantd.mails WHERE issuer = $1 AND expires_at_ms <= $2 ORDER BY expires_at_ms LIMIT $3)
  RETURNING id`,
  `
  DELETE FROM grantd.mailed_links WHERE issuer = $1 AND expires_at_ms <= $2 AND token_digest IN (
    SELECT token_digest FROM grantd.mailed_links WHERE issuer = $1 AND expires_at_ms <= $2
    ORDER BY expires_at_ms LIMIT $3)
  RETURNING token_digest`,
  `
  DELETE FROM grantd.api_requests WHERE issuer = $1 AND expires_at_ms <= $2 AND key_digest IN (
    SELECT key_digest FROM grantd.api_requests WHERE issuer = $1 AND expires_at_ms <= $2
    ORDER BY expires_at_ms LIMIT $3)
  RETURNING key_digest`,
  `
  DELETE FROM grantd.sign_ins WHERE issuer = $1 AND expires_at_ms <= $2 AND id IN (
    SELECT id FROM grantd.sign_ins WHERE issuer = $1 AND expires_at_ms <= $2 ORDER BY expires_at_ms LIMIT $3)
  RETURNING id`,
];

/**
 * Deletes expired rows of the program’s tables.
 * @param limit maximum rows of each kind
 * @returns the number of deleted rows
 */
export async function sweepProgram(
  tables: ProgramTables,
  issuer: string,
  nowMs: number,
  limit: number,
): Promise<number> {
  const swept = await tables.write(...SWEEP_SQL.map((sql) => [sql, issuer, nowMs, limit] as const));
  return swept.reduce((sum, rows) => sum + rows.length, 0);
}

/** Marks an issuer with demo data, whose passwords are public. Rejects with a `StorageFault`. */
interface DemoMark {
  isSet(): Promise<boolean>;
  set(): Promise<void>;
}

const DEMO_MARK_SQL = {
  find: 'SELECT issuer FROM grantd.demo_issuers WHERE issuer = $1',
  add: 'INSERT INTO grantd.demo_issuers (issuer) VALUES ($1) ON CONFLICT DO NOTHING',
};

export function demoMark(tables: ProgramTables, issuer: string): DemoMark {
  return {
    isSet: async () => (await tables.read(DEMO_MARK_SQL.find, issuer)).length > 0,
    set: async () => {
      await tables.write([DEMO_MARK_SQL.add, issuer]);
    },
  };
}
