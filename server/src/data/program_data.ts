import { type AdministrableStorage, type ClientRecord, sweepRegistrations } from '@grantd/core';
import { type ActingUses, actingUsesTable } from './acting_uses.ts';
import { type ApiRequests, apiRequestsTable } from './answered_requests.ts';
import { type Attempts, attemptsTable, SharedTime } from './attempts.ts';
import { AuditTrail } from './audit.ts';
import { ConsentSweep, type Consents, consentsTable, type ScopeTexts, scopeTextsTable } from './consents.ts';
import type { DeletionLimitMs } from './deletion_limit.ts';
import { type DeniedDocuments, deniedDocumentsTable } from './document_denials.ts';
import { type Factors, factorsTable } from './factors.ts';
import { type Groups, groupsTable } from './groups.ts';
import { type ImportedPeople, importedPeopleTable } from './imported_people.ts';
import { type MailedLinks, type Mails, mailedLinksTable, mailsTable } from './mails.ts';
import { type People, peopleTable } from './people.ts';
import { type PersonalTokens, personalTokensTable } from './personal_tokens.ts';
import { pairwiseSecretTable, type StoredPairwiseSecret } from './secrets.ts';
import { type LogoutDeliveries, logoutDeliveriesTable, type Sessions, sessionsTable } from './sessions.ts';
import {
  askStorage,
  type FullDisk,
  GatheredWrites,
  type ProgramTables,
  statement,
  statements,
  writeCheck,
} from './tables.ts';
import { type UpstreamIdentities, upstreamIdentitiesTable } from './upstream_identities.ts';

/** The program’s own data of one issuer, in addition to the library’s store. */
export interface ProgramData {
  readonly people: People;
  readonly importedPeople: ImportedPeople;
  readonly groups: Groups;
  readonly demoMark: DemoMark;
  readonly sessions: Sessions;
  readonly consents: Consents;
  readonly actingUses: ActingUses;
  readonly personalTokens: PersonalTokens;
  readonly scopeTexts: ScopeTexts;
  readonly deniedDocuments: DeniedDocuments;
  readonly attempts: Attempts;
  /** By which `attempts` and `apiRequests` are used. */
  readonly sharedTime: SharedTime;
  readonly factors: Factors;
  readonly logoutDeliveries: LogoutDeliveries;
  readonly mails: Mails;
  readonly mailedLinks: MailedLinks;
  /** Also the writes that `finishSoon` and `endSoon` gather. */
  readonly gatheredWrites: GatheredWrites;
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
   * @returns the number of deleted rows; zero if none are left
   */
  sweepProgram(limit: number, bounds: SweepingBounds): Promise<number>;
}

export interface SweepingBounds {
  /** Seconds after which a registration is unused; 0 keeps all. */
  readonly unusedFor: number;
  /** Rows that expire later stay, even if this process's clock is ahead. */
  readonly untilMs: DeletionLimitMs;
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
): ProgramData {
  const gatheredWrites = new GatheredWrites(tables);
  const consents = consentsTable(tables);
  const consentSweep = new ConsentSweep({ consents, clients: storage.clients });
  const sweepUnused = (limit: number, unusedFor: number, nowMs: number): Promise<number> | number => {
    if (unusedFor === 0) return 0;
    const unusedSince = nowMs / 1000 - Math.max(unusedFor, SHORTEST_UNUSED_TIME);
    const isUsed = ({ id }: ClientRecord) => consents.isGivenTo(id);
    return askStorage(() => sweepRegistrations(storage, { unusedSince, limit, isUsed }));
  };
  return {
    people: peopleTable(tables),
    importedPeople: importedPeopleTable(tables),
    groups: groupsTable(tables),
    demoMark: { isSet: () => tables.has(DEMO_MARK.find()), set: () => tables.run(DEMO_MARK.add()) },
    sessions: sessionsTable(tables),
    consents,
    actingUses: actingUsesTable(tables),
    personalTokens: personalTokensTable(tables),
    scopeTexts: scopeTextsTable(tables),
    deniedDocuments: deniedDocumentsTable(tables),
    attempts: attemptsTable(tables, gatheredWrites),
    sharedTime: new SharedTime(),
    factors: factorsTable(tables),
    logoutDeliveries: logoutDeliveriesTable(tables),
    mails: mailsTable(tables),
    mailedLinks: mailedLinksTable(tables),
    gatheredWrites,
    apiRequests: apiRequestsTable(tables, gatheredWrites),
    upstreamIdentities: upstreamIdentitiesTable(tables),
    pairwiseSecret: pairwiseSecretTable(tables),
    auditTrail: new AuditTrail(tables, issuer, storage),
    requireWritable: writeCheck(tables, disk),
    async sweepProgram(limit, { unusedFor, untilMs: nowMs }) {
      const swept = (await tables.write(...SWEEPS.map((expired) => expired({ nowMs, limit })))).flat();
      return swept.length + (await consentSweep.sweep(limit)) + (await sweepUnused(limit, unusedFor, nowMs));
    },
  };
}

/** Each statement finds the oldest rows through an index. Ended sessions are deleted by their own last step. */
const SWEEPS = [
  sweep('sessions', 'id', 'expires_at_ms', 'AND ended_at_ms IS NULL'),
  sweep('sign_in_attempts', 'key_digest', 'ends_at_ms'),
  sweep('mails', 'id'),
  sweep('mailed_links', 'token_digest'),
  sweep('api_requests', 'key_digest'),
  sweep('sign_ins', 'id'),
  sweep('acting_uses', 'subject'),
  sweep('personal_tokens', 'id'),
];

function sweep(table: string, key: string, end = 'expires_at_ms', others = '') {
  const expired = `issuer = :issuer AND ${end} <= :nowMs ${others}` as const;
  return statement(`
    DELETE FROM grantd.${table} WHERE ${expired} AND ${key} IN (
      SELECT ${key} FROM grantd.${table} WHERE ${expired} ORDER BY ${end} LIMIT :limit)
    RETURNING ${key}`);
}

/** Marks an issuer with demo data, whose passwords are public. Rejects with a `StorageFault`. */
interface DemoMark {
  isSet(): Promise<boolean>;
  set(): Promise<void>;
}

const DEMO_MARK = statements({
  find: 'SELECT issuer FROM grantd.demo_issuers WHERE issuer = :issuer',
  add: 'INSERT INTO grantd.demo_issuers (issuer) VALUES (:issuer) ON CONFLICT DO NOTHING',
});
