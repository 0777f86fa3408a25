import type { ClientRepository } from '@grantd/core';
import { ConsentSweep } from '../../consents/consent_sweep.ts';
import type { Consents } from '../../consents/consents.ts';
import type { ScopeTexts } from '../../consents/scope_texts.ts';
import type { Attempts } from '../../people/attempts.ts';
import type { People } from '../../people/people.ts';
import type { LogoutDeliveries } from '../../sessions/logout_deliveries.ts';
import type { Sessions } from '../../sessions/sessions.ts';
import type { KeptPairwiseSecret } from '../pairwise_secret.ts';
import { attemptsTable } from './attempts_table.ts';
import { consentsTable } from './consents_table.ts';
import { type DemoMark, demoMark } from './demo_mark.ts';
import { logoutDeliveriesTable } from './logout_deliveries_table.ts';
import { pairwiseSecretTable } from './pairwise_secret_table.ts';
import { peopleTable } from './people_table.ts';
import { sweepProgram } from './program_sweep.ts';
import type { ProgramTables } from './program_tables.ts';
import { scopeTextsTable } from './scope_texts_table.ts';
import { sessionsTable } from './sessions_table.ts';
import { writeCheck } from './write_check.ts';

/** What the program itself remembers of one issuer, beside what the library's store does. */
export interface ProgramData {
  readonly people: People;
  readonly demoMark: DemoMark;
  readonly sessions: Sessions;
  readonly consents: Consents;
  readonly scopeTexts: ScopeTexts;
  readonly attempts: Attempts;
  readonly logoutDeliveries: LogoutDeliveries;
  readonly pairwiseSecret: KeptPairwiseSecret;
  /** Rejects with a `StorageFault` if nothing can be written at the moment, as on a full disk. */
  requireWritable(): Promise<void>;
  /**
   * Deletes rows whose time is over.
   * @param limit rows of each kind at most
   * @returns how many rows were deleted; zero once there is nothing left to sweep
   */
  sweepProgram(limit: number): Promise<number>;
}

/** @param clients of the library's store in the same database */
export function programData(
  tables: ProgramTables,
  issuer: string,
  clients: Pick<ClientRepository, 'get'>,
): ProgramData {
  const consents = consentsTable(tables, issuer);
  const consentSweep = new ConsentSweep({ consents, clients });
  return {
    people: peopleTable(tables, issuer),
    demoMark: demoMark(tables, issuer),
    sessions: sessionsTable(tables, issuer),
    consents,
    scopeTexts: scopeTextsTable(tables, issuer),
    attempts: attemptsTable(tables, issuer),
    logoutDeliveries: logoutDeliveriesTable(tables, issuer),
    pairwiseSecret: pairwiseSecretTable(tables, issuer),
    requireWritable: writeCheck(tables, issuer),
    sweepProgram: async (limit) =>
      (await sweepProgram(tables, issuer, Date.now(), limit)) + (await consentSweep.sweep(limit)),
  };
}
