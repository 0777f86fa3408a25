import {
  type Agreed,
  type AgreedWith,
  type Consent,
  type Consents,
  comparedWith,
  covers,
  type KnownClient,
  type Parties,
  union,
} from '../../consents/consents.ts';
import type { ProgramTables, TableRow } from './program_tables.ts';

const COLUMNS =
  'subject, client_id, client_generation, client_revision, scopes, resources, version, given_at_ms, withdrawn_at_ms';

const ONE = 'issuer = $1 AND subject = $2 AND client_id = $3';

const SQL = {
  get: `SELECT ${COLUMNS} FROM grantd.consents WHERE ${ONE}`,

  ofSubject: `
    SELECT ${COLUMNS} FROM grantd.consents WHERE issuer = $1 AND subject = $2 AND withdrawn_at_ms IS NULL
    ORDER BY given_at_ms DESC, client_id`,

  // Versions begin with the time: one that was removed and made again is not taken for what it was.
  add: `
    INSERT INTO grantd.consents (issuer, subject, client_id, scopes, resources, client_generation, client_revision,
      version, given_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $8)
    ON CONFLICT (issuer, subject, client_id) DO NOTHING RETURNING client_id`,

  replace: `
    UPDATE grantd.consents
    SET scopes = $5, resources = $6, client_generation = $7, client_revision = $8, given_at_ms = $9,
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

  /** @returns `false` where somebody else was quicker */
  const tryToGive = async (parties: Parties, agreed: AgreedWith, nowMs: number): Promise<boolean> => {
    const { subject, clientId } = parties;
    const stored = await find(parties);
    if (stored === undefined) {
      const [added] = await tables.write([
        SQL.add,
        ...[issuer, subject, clientId, ...textsOf(agreed)],
        ...[agreed.clientGeneration, agreed.clientRevision, nowMs],
      ]);
      return added?.length === 1;
    }
    const { version, isWithdrawn } = stored;
    const compared = comparedWith(stored, agreed);
    // Of before what was agreed since: it counts no more.
    if (compared > 0) return true;
    if (!isWithdrawn && covers(stored, agreed)) return true;
    const isAnew = isWithdrawn || compared < 0;
    const [together, givenAtMs] = isAnew ? [agreed, nowMs] : [union(stored, agreed), stored.givenAtMs];
    const [replaced] = await tables.write([
      SQL.replace,
      ...[issuer, subject, clientId, version],
      ...[...textsOf(together), agreed.clientGeneration, agreed.clientRevision, givenAtMs],
    ]);
    return replaced?.length === 1;
  };

  return {
    async get(parties) {
      const stored = await find(parties);
      return stored?.isWithdrawn === false ? stored : undefined;
    },
    ofSubject: async (subject) => (await tables.read(SQL.ofSubject, issuer, subject)).map(consentOf),
    async give(parties, agreed, nowMs) {
      for (let attempt = 1; !(await tryToGive(parties, agreed, nowMs)); attempt += 1)
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
    halfWithdrawn: async (beforeMs, limit) =>
      (await tables.read(SQL.halfWithdrawn, issuer, beforeMs, limit)).map((row) => ({
        subject: String(row.subject),
        clientId: String(row.client_id),
      })),
  };
}

interface StoredConsent extends Consent {
  readonly version: number;
  readonly isWithdrawn: boolean;
}

function consentOf(row: TableRow): StoredConsent {
  return {
    ...knownClientOf(row),
    clientRevision: Number(row.client_revision),
    scopes: listOf(row.scopes),
    resources: listOf(row.resources),
    givenAtMs: Number(row.given_at_ms),
    version: Number(row.version),
    isWithdrawn: row.withdrawn_at_ms !== null,
  };
}

function knownClientOf(row: TableRow): KnownClient {
  return { clientId: String(row.client_id), clientGeneration: Number(row.client_generation) };
}

/** Neither a scope nor a URI has spaces. */
function textsOf({ scopes, resources }: Agreed): readonly [string, string] {
  return [scopes.join(' '), resources.join(' ')];
}

function listOf(value: unknown): readonly string[] {
  return value === '' ? [] : String(value).split(' ');
}
