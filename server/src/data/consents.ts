import { hasResource, type IssuingClientRepository } from '@grantd/core';
import {
  type ActOfChange,
  askStorage,
  type ProgramTables,
  recorded,
  type TableCall,
  type TableRow,
} from './tables.ts';

/** What a consent page asks for, in protocol terms. A user agrees to all of it or none of it. */
export interface Agreed {
  readonly scopes: readonly string[];
  /** RFC 8707 §2. */
  readonly resources: readonly string[];
  /** Claims that the request names individually (OpenID Connect Core §5.5). */
  readonly claims: readonly string[];
  /** Authorization details, each as JSON (RFC 9396 §2). */
  readonly details: readonly string[];
}

/** The client at the time of consent. */
interface ClientAgreedWith {
  /** The client’s generation. It changes when the client is removed or all its tokens are revoked. */
  readonly clientGeneration: number;
  /** The registration revision of a self-registered client, otherwise 0. */
  readonly clientRevision: number;
}

/** What a request asks for, and the client that asks. */
export interface Asked extends Agreed, ClientAgreedWith {}

/** One decision. A single entry must cover a request; several entries do not add up. */
export interface ConsentEntry extends Agreed {
  readonly givenAtMs: number;
}

/** A user’s decisions about a client. They are valid only while the client stays the same. */
export interface Consent extends ClientAgreedWith {
  readonly clientId: string;
  /** Newest last. */
  readonly entries: readonly ConsentEntry[];
}

/** The parties to a consent. */
export interface Parties {
  readonly subject: string;
  readonly clientId: string;
}

interface KnownClient {
  readonly clientId: string;
  readonly clientGeneration: number;
}

/** The consents of one issuer. Every method rejects with a `StorageFault` if the database does not answer. */
export interface Consents {
  /** @returns `undefined` if there is no consent or it was withdrawn */
  get(parties: Parties): Promise<Consent | undefined>;
  /** A user’s consents that were not withdrawn, newest first, valid or not. */
  ofSubject(subject: string): Promise<readonly Consent[]>;
  /** Adds an entry and removes the entries that it covers. Atomic: concurrent calls all take effect. */
  give(parties: Parties, asked: Asked, nowMs: number): Promise<void>;
  /** First step of a withdrawal: invalidates the consent. Idempotent. */
  beginWithdrawal(parties: Parties, nowMs: number): Promise<void>;
  /** Last step of a withdrawal: deletes the consent, unless the user has given it again. */
  finishWithdrawal(parties: Parties): Promise<void>;
  /** Whether a user has agreed to anything with a client. One indexed read. */
  isGivenTo(clientId: string): Promise<boolean>;
  /** The next client by identifier that has consents, with its lowest generation. */
  clientAfter(clientId: string): Promise<KnownClient | undefined>;
  /** Deletes the consents with a client of this generation. @returns the number of deleted consents, at most `limit` */
  forget(client: KnownClient, limit: number): Promise<number>;
  /** Deletes all consents of a user. Grants are unaffected. */
  forgetPerson(subject: string): Promise<void>;
  /** Withdrawals that started before a time and were not finished, because a process died. */
  halfWithdrawn(beforeMs: number, limit: number): Promise<readonly Parties[]>;
}

/** Whether one decision covers everything that a request asks for. */
export function covers(consent: Consent | undefined, asked: Asked): boolean {
  if (consent === undefined || compareClients(consent, asked) !== 0) return false;
  return consent.entries.some((entry) => contains(entry, asked));
}

/** More than any application needs. Beyond it, users are asked again for the oldest entry. */
const MAX_ENTRIES = 50;

/** Adds a decision and removes the entries that it covers. */
export function withEntry(entries: readonly ConsentEntry[], added: ConsentEntry): readonly ConsentEntry[] {
  return [...entries.filter((entry) => !contains(added, entry)), added].slice(-MAX_ENTRIES);
}

function contains(agreed: Agreed, asked: Agreed): boolean {
  const hasAll = MEMBERS.every((member) => asked[member].every((one) => agreed[member].includes(one)));
  return hasAll && asked.resources.every((one) => hasResource(agreed.resources, one));
}

/** Compares consents by the client’s age: negative if the first one is for an older client, 0 for the same client. */
export function compareClients(one: ClientAgreedWith, other: ClientAgreedWith): number {
  return one.clientGeneration - other.clientGeneration || one.clientRevision - other.clientRevision;
}

const MEMBERS = ['scopes', 'claims', 'details'] as const satisfies readonly (keyof Agreed)[];

const COLUMNS =
  'subject, client_id, client_generation, client_revision, entries, version, given_at_ms, withdrawn_at_ms';

const ONE_CONSENT = 'issuer = $1 AND subject = $2 AND client_id = $3';

const CONSENTS_SQL = {
  get: `SELECT ${COLUMNS} FROM grantd.consents WHERE ${ONE_CONSENT}`,

  ofSubject: `
    SELECT ${COLUMNS} FROM grantd.consents WHERE issuer = $1 AND subject = $2 AND withdrawn_at_ms IS NULL
    ORDER BY given_at_ms DESC, client_id`,

  // Versions start at the current time, so that a deleted and recreated row never matches an old version.
  add: `
    INSERT INTO grantd.consents (issuer, subject, client_id, entries, client_generation, client_revision,
      version, given_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $7)
    ON CONFLICT (issuer, subject, client_id) DO NOTHING RETURNING client_id`,

  replace: `
    UPDATE grantd.consents
    SET entries = $5, client_generation = $6, client_revision = $7, given_at_ms = $8,
      version = version + 1, withdrawn_at_ms = NULL
    WHERE ${ONE_CONSENT} AND version = $4 RETURNING client_id`,

  beginWithdrawal: `
    UPDATE grantd.consents SET withdrawn_at_ms = $4, version = version + 1
    WHERE ${ONE_CONSENT} AND withdrawn_at_ms IS NULL RETURNING client_id`,

  finishWithdrawal: `DELETE FROM grantd.consents WHERE ${ONE_CONSENT} AND withdrawn_at_ms IS NOT NULL`,

  isGivenTo: `
    SELECT client_id FROM grantd.consents WHERE issuer = $1 AND client_id = $2 AND withdrawn_at_ms IS NULL LIMIT 1`,

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

function consentAct(
  type: 'consent_given' | 'consent_withdrawn',
  { subject, clientId }: Parties,
): ActOfChange {
  return { type, target: clientId, clientId, subject, by: 'user' };
}

/** Each failure means that another process has changed the consent. */
const MAX_ATTEMPTS = 10;

export function consentsTable(tables: ProgramTables, issuer: string): Consents {
  const find = async ({ subject, clientId }: Parties): Promise<StoredConsent | undefined> => {
    const [row] = await tables.read(CONSENTS_SQL.get, issuer, subject, clientId);
    return row && consentOf(row);
  };

  /** @returns `false` if another process has changed the consent */
  const tryToGive = async (parties: Parties, asked: Asked, nowMs: number): Promise<boolean> => {
    const { subject, clientId } = parties;
    const { clientGeneration, clientRevision, scopes, resources, claims, details } = asked;
    const entry = { scopes, resources, claims, details, givenAtMs: nowMs };
    const stored = await find(parties);
    if (stored === undefined) {
      const values = [JSON.stringify([entry]), clientGeneration, clientRevision, nowMs];
      const [added] = await tables.write(
        recorded(
          [CONSENTS_SQL.add, issuer, subject, clientId, ...values],
          consentAct('consent_given', parties),
        ),
      );
      return added?.length === 1;
    }
    const { version, isWithdrawn } = stored;
    const compared = compareClients(stored, asked);
    // The client has changed since the user was asked, so the answer is void.
    if (compared > 0) return true;
    if (!isWithdrawn && covers(stored, asked)) return true;
    const replacesAll = isWithdrawn || compared < 0;
    const [entries, givenAtMs] = replacesAll
      ? [[entry], nowMs]
      : [withEntry(stored.entries, entry), stored.givenAtMs];
    const values = [version, JSON.stringify(entries), clientGeneration, clientRevision, givenAtMs];
    const [replaced] = await tables.write(
      recorded(
        [CONSENTS_SQL.replace, issuer, subject, clientId, ...values],
        consentAct('consent_given', parties),
      ),
    );
    return replaced?.length === 1;
  };

  return {
    async get(parties) {
      const stored = await find(parties);
      return stored?.isWithdrawn === false ? stored : undefined;
    },
    ofSubject: async (subject) => (await tables.read(CONSENTS_SQL.ofSubject, issuer, subject)).map(consentOf),
    async give(parties, asked, nowMs) {
      for (let attempt = 1; !(await tryToGive(parties, asked, nowMs)); attempt += 1)
        if (attempt === MAX_ATTEMPTS) throw new Error('a consent is changed faster than it can be written');
    },
    async beginWithdrawal(parties, nowMs) {
      const { subject, clientId } = parties;
      await tables.write(
        recorded(
          [CONSENTS_SQL.beginWithdrawal, issuer, subject, clientId, nowMs],
          consentAct('consent_withdrawn', parties),
        ),
      );
    },
    async finishWithdrawal({ subject, clientId }) {
      await tables.write([CONSENTS_SQL.finishWithdrawal, issuer, subject, clientId]);
    },
    isGivenTo: async (clientId) => (await tables.read(CONSENTS_SQL.isGivenTo, issuer, clientId)).length > 0,
    async clientAfter(clientId) {
      const [row] = await tables.read(CONSENTS_SQL.clientAfter, issuer, clientId);
      return row && knownClientOf(row);
    },
    async forget({ clientId, clientGeneration }, limit) {
      const [forgotten] = await tables.write([
        CONSENTS_SQL.forget,
        issuer,
        clientId,
        clientGeneration,
        limit,
      ]);
      return forgotten?.length ?? 0;
    },
    async forgetPerson(subject) {
      await tables.write([CONSENTS_SQL.forgetPerson, issuer, subject]);
    },
    halfWithdrawn: async (beforeMs, limit) =>
      (await tables.read(CONSENTS_SQL.halfWithdrawn, issuer, beforeMs, limit)).map((row) => ({
        subject: String(row.subject),
        clientId: String(row.client_id),
      })),
  };
}

interface StoredConsent extends Consent {
  /** When the user first agreed to anything with this client. */
  readonly givenAtMs: number;
  readonly version: number;
  readonly isWithdrawn: boolean;
}

function consentOf(row: TableRow): StoredConsent {
  const entries: readonly (Omit<ConsentEntry, 'details'> & Partial<ConsentEntry>)[] = JSON.parse(
    String(row.entries),
  );
  return {
    ...knownClientOf(row),
    clientRevision: Number(row.client_revision),
    // Entries of earlier versions have no details.
    entries: entries.map((entry) => ({ details: [], ...entry })),
    givenAtMs: Number(row.given_at_ms),
    version: Number(row.version),
    isWithdrawn: row.withdrawn_at_ms !== null,
  };
}

function knownClientOf(row: TableRow): KnownClient {
  return { clientId: String(row.client_id), clientGeneration: Number(row.client_generation) };
}

/** Leftover consents are invalid and cheap, and the search reads a row for every client. */
const SWEEP_EVERY_MS = 60 * 60 * 1000;

/** Deletes consents with removed clients and with clients whose tokens were all revoked. */
export class ConsentSweep {
  readonly #consents: Pick<Consents, 'clientAfter' | 'forget'>;
  readonly #clients: Pick<IssuingClientRepository, 'get'>;
  readonly #clock: () => number;
  #nextSweepAtMs = 0;
  /** The client at which the current pass stopped. */
  #after = '';

  constructor(parts: {
    readonly consents: Pick<Consents, 'clientAfter' | 'forget'>;
    readonly clients: Pick<IssuingClientRepository, 'get'>;
    readonly clock?: () => number;
  }) {
    this.#consents = parts.consents;
    this.#clients = parts.clients;
    this.#clock = parts.clock ?? Date.now;
  }

  /**
   * Checks all clients, or continues where the limit stopped the last call. After a full pass, it pauses for an hour.
   * @returns the number of deleted consents, at most `limit`
   */
  async sweep(limit: number): Promise<number> {
    if (this.#clock() < this.#nextSweepAtMs) return 0;
    let swept = 0;
    while (swept < limit) {
      const client = await this.#consents.clientAfter(this.#after);
      if (client === undefined) {
        this.#after = '';
        this.#nextSweepAtMs = this.#clock() + SWEEP_EVERY_MS;
        break;
      }
      if (await this.#isCurrent(client)) this.#after = client.clientId;
      else swept += await this.#consents.forget(client, limit - swept);
    }
    return swept;
  }

  /** A client that is added again has a greater generation than its predecessor’s consents. */
  async #isCurrent({ clientId, clientGeneration }: KnownClient): Promise<boolean> {
    const client = await askStorage(() => this.#clients.get(clientId));
    return !!client && (client.generation ?? 0) <= clientGeneration;
  }
}

/** The operator’s description of a scope. */
export interface ScopeText {
  readonly scope: string;
  /** Client ID of the API that owns the scope; `undefined` for the server’s own scopes. */
  readonly api: string | undefined;
  /** Texts by member and language: `name`, `description`, `name#de` (as in RFC 7591 §2.2). `name` is always present. */
  readonly texts: Readonly<Record<string, string>>;
}

/** The scope texts of one issuer. Every method rejects with a `StorageFault` if the database does not answer. */
export interface ScopeTexts {
  list(): Promise<readonly ScopeText[]>;
  /** @returns `false` if the scope already has texts */
  add(text: ScopeText): Promise<boolean>;
  /** Compare-and-set. @returns `false` if the stored texts differ from `before` */
  replace(before: ScopeText, texts: ScopeText['texts']): Promise<boolean>;
  /** @returns `false` if the scope had no texts */
  remove(text: Pick<ScopeText, 'scope' | 'api'>): Promise<boolean>;
}

const ONE_SCOPE_TEXT = 'issuer = $1 AND api = $2 AND scope = $3';

const SCOPE_TEXTS_SQL = {
  list: 'SELECT api, scope, texts FROM grantd.scope_texts WHERE issuer = $1 ORDER BY api, scope',

  add: `
    INSERT INTO grantd.scope_texts (issuer, api, scope, texts) VALUES ($1, $2, $3, $4)
    ON CONFLICT (issuer, api, scope) DO NOTHING RETURNING scope`,

  replace: `UPDATE grantd.scope_texts SET texts = $5 WHERE ${ONE_SCOPE_TEXT} AND texts = $4 RETURNING scope`,

  remove: `DELETE FROM grantd.scope_texts WHERE ${ONE_SCOPE_TEXT} RETURNING scope`,
};

export function scopeTextsTable(tables: ProgramTables, issuer: string): ScopeTexts {
  const nameOf = ({ api = '', scope }: Pick<ScopeText, 'api' | 'scope'>) => [issuer, api, scope] as const;
  const hasWritten = async (scope: string, ...call: TableCall): Promise<boolean> => {
    const [rows] = await tables.write(recorded(call, { type: 'scope_texts_changed', target: scope }));
    return rows?.length === 1;
  };
  return {
    list: async () =>
      (await tables.read(SCOPE_TEXTS_SQL.list, issuer)).map(({ api, scope, texts }) => ({
        scope: String(scope),
        api: api === '' ? undefined : String(api),
        texts: JSON.parse(String(texts)),
      })),
    add: (text) => hasWritten(text.scope, SCOPE_TEXTS_SQL.add, ...nameOf(text), JSON.stringify(text.texts)),
    replace: (before, texts) =>
      hasWritten(
        before.scope,
        SCOPE_TEXTS_SQL.replace,
        ...nameOf(before),
        JSON.stringify(before.texts),
        JSON.stringify(texts),
      ),
    remove: (text) => hasWritten(text.scope, SCOPE_TEXTS_SQL.remove, ...nameOf(text)),
  };
}
