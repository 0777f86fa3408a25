import {
  type Asked,
  type Consent,
  type ConsentEntry,
  type Consents,
  comparedWith,
  covers,
  type KnownClient,
  type Parties,
  withEntry,
} from '../../consents/consents.ts';
import type { ProgramTables, TableRow } from './program_tables.ts';

const COLUMNS =
  'subject, client_id, client_generation, client_revision, entries, version, given_at_ms, withdrawn_at_ms';

const ONE = 'issuer = $1 AND subject = $2 AND client_id = $3';

const SQL = {
  get: `SELECT ${COLUMNS} FROM grantd.consents WHERE ${ONE}`,

  ofSubject: `
    SELECT ${COLUMNS} FROM grantd.consents WHERE issuer = $1 AND subject = $2 AND withdrawn_at_ms IS NULL
    ORDER BY given_at_ms DESC, client_id`,

  // Versions begin with the time: one that was removed and made again is not taken for what it was.
  add: `
    INSERT INTO grantd.consents (issuer, subject, client_id, entries, client_generation, client_revision,
      version, given_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
    ON CONFLICT (issuer, subject, client_id) DO NOTHING RETURNING client_id`,

  replace: `
    UPDATE grantd.consents
    SET entries = $5, client_generation = $6, client_revision = $7, given_at_ms = $8,
      version = version + 1, withdrawn_at_ms = NULL
    WHERE ${ONE} AND version = $4 RETURNING client_id`,

  beginWithdrawal: `
    UPDATE grantd.consents SET withdrawn_at_ms = $4, version = version + 1
    WHERE ${ONE} AND withdrawn_at_ms IS NULL`,

  finishWithdrawal: `DELETE FROM grantd.consents WHERE ${ONE} AND withdrawn_at_ms IS NOT NULL`,

  clientAfter: `
    SELECT client_id, client_generation FROM grantd.consents WHERE issuer = $1 AND client_id > $2
    ORDER BY client_id, client_generation LIMIT 1`,

  forget: `
    DELETE FROM grantd.consents
    WHERE issuer = $1 AND client_id = $2 AND client_generation = $3 AND subject IN (
      SELECT subject FROM grantd.consents
      WHERE issuer = $1 AND client_id = $2 AND client_generation = $3 LIMIT $4)
    RETURNING subject`,

  forgetPerson: 'DELETE FROM grantd.consents WHERE issuer = $1 AND subject = $2',

  halfWithdrawn: `
    SELECT subject, client_id FROM grantd.consents WHERE issuer = $1 AND withdrawn_at_ms < $2
    ORDER BY withdrawn_at_ms LIMIT $3`,
};

/** Each failure means that somebody else has changed the same consent meanwhile. */
const MOST_ATTEMPTS = 10;

export function consentsTable(tables: ProgramTables, issuer: string): Consents {
  const find = async ({ subject, clientId }: Parties): Promise<StoredConsent | undefined> => {
    const [row] = await tables.read(SQL.get, issuer, subject, clientId);
    return row && consentOf(row);
  };

  /** @returns `false` if another process changed the consent meanwhile */
  const tryToGive = async (parties: Parties, asked: Asked, nowMs: number): Promise<boolean> => {
    const { subject, clientId } = parties;
    const { clientGeneration, clientRevision, scopes, resources, claims } = asked;
    const entry = { scopes, resources, claims, givenAtMs: nowMs };
    const stored = await find(parties);
    if (stored === undefined) {
      const [added] = await tables.write([
        SQL.add,
        ...[issuer, subject, clientId, JSON.stringify([entry]), clientGeneration, clientRevision, nowMs],
      ]);
      return added?.length === 1;
    }
    const { version, isWithdrawn } = stored;
    const compared = comparedWith(stored, asked);
    // The client has changed since the person was asked, so the answer no longer counts.
    if (compared > 0) return true;
    if (!isWithdrawn && covers(stored, asked)) return true;
    const isAnew = isWithdrawn || compared < 0;
    const [entries, givenAtMs] = isAnew
      ? [[entry], nowMs]
      : [withEntry(stored.entries, entry), stored.givenAtMs];
    const [replaced] = await tables.write([
      SQL.replace,
      ...[issuer, subject, clientId, version],
      ...[JSON.stringify(entries), clientGeneration, clientRevision, givenAtMs],
    ]);
    return replaced?.length === 1;
  };

  return {
    async get(parties) {
      const stored = await find(parties);
      return stored?.isWithdrawn === false ? stored : undefined;
    },
    ofSubject: async (subject) => (await tables.read(SQL.ofSubject, issuer, subject)).map(consentOf),
    async give(parties, asked, nowMs) {
      for (let attempt = 1; !(await tryToGive(parties, asked, nowMs)); attempt += 1)
        if (attempt === MOST_ATTEMPTS) throw new Error('a consent is changed faster than it can be written');
    },
    async beginWithdrawal({ subject, clientId }, nowMs) {
      await tables.write([SQL.beginWithdrawal, issuer, subject, clientId, nowMs]);
    },
    async finishWithdrawal({ subject, clientId }) {
      await tables.write([SQL.finishWithdrawal, issuer, subject, clientId]);
    },
    async clientAfter(clientId) {
      const [row] = await tables.read(SQL.clientAfter, issuer, clientId);
      return row && knownClientOf(row);
    },
    async forget({ clientId, clientGeneration }, limit) {
      const [forgotten] = await tables.write([SQL.forget, issuer, clientId, clientGeneration, limit]);
      return forgotten?.length ?? 0;
    },
    async forgetPerson(subject) {
      await tables.write([SQL.forgetPerson, issuer, subject]);
    },
    halfWithdrawn: async (beforeMs, limit) =>
      (await tables.read(SQL.halfWithdrawn, issuer, beforeMs, limit)).map((row) => ({
        subject: String(row.subject),
        clientId: String(row.client_id),
      })),
  };
}

interface StoredConsent extends Consent {
  /** When the person agreed to anything with this client first. */
  readonly givenAtMs: number;
  readonly version: number;
  readonly isWithdrawn: boolean;
}

function consentOf(row: TableRow): StoredConsent {
  const entries: readonly ConsentEntry[] = JSON.parse(String(row.entries));
  return {
    ...knownClientOf(row),
    clientRevision: Number(row.client_revision),
    entries,
    givenAtMs: Number(row.given_at_ms),
    version: Number(row.version),
    isWithdrawn: row.withdrawn_at_ms !== null,
  };
}

function knownClientOf(row: TableRow): KnownClient {
  return { clientId: String(row.client_id), clientGeneration: Number(row.client_generation) };
}
