import { type ExchangeForUser, hasResource, type IssuingClientRepository } from '@grantd/core';
import { currentCause } from '../log/log.ts';
import { ACTING_USES_SQL } from './acting_uses.ts';
import { changesOf } from './changes.ts';
import { lockPerson, type WriteCondition } from './conditions.ts';
import {
  type ActOfChange,
  askStorage,
  type ProgramTables,
  recorded,
  type TableCall,
  type TableRow,
  table,
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
  /**
   * Adds an entry and removes the entries that it covers, in the transactions that run under the condition. It does not
   * hold if the consent has changed since the call.
   * @returns `undefined` if there is nothing to add
   */
  giving(issuer: string, parties: Parties, asked: Asked, nowMs: number): Promise<WriteCondition | undefined>;
  /** First step of a withdrawal: invalidates the consent. Idempotent. */
  beginWithdrawal(parties: Parties, nowMs: number): Promise<void>;
  /** Last step of a withdrawal: deletes the consent, unless the user has given it again, and that the client has acted. */
  finishWithdrawal(parties: Parties): Promise<void>;
  /** Whether a user has agreed to anything with a client. One indexed read. */
  isGivenTo(clientId: string): Promise<boolean>;
  /** The next client by identifier that has consents, with its lowest generation. */
  clientAfter(clientId: string): Promise<KnownClient | undefined>;
  /** Deletes the consents with a client of this generation. @returns the number of deleted consents, at most `limit` */
  forget(client: KnownClient, limit: number): Promise<number>;
  /** Deletes all consents of a user, and who has acted for them. Grants are unaffected. */
  forgetPerson(subject: string): Promise<void>;
  /** Withdrawals that started before a time and were not finished, because a process died. */
  halfWithdrawn(beforeMs: number, limit: number): Promise<readonly Parties[]>;
}

/** Whether one decision covers everything that a request asks for. */
export function covers(consent: Consent | undefined, asked: Asked): boolean {
  if (consent === undefined || compareClients(consent, asked) !== 0) return false;
  return consent.entries.some((entry) => contains(entry, asked));
}

/** Whether a user has consented to what a client obtains for them by an exchange. No such client registered itself. */
export async function hasConsented(
  consents: Pick<Consents, 'get'>,
  { client, subject, scopes, resources }: ExchangeForUser,
): Promise<boolean> {
  const { id: clientId, generation: clientGeneration = 0 } = client;
  const asked = { scopes, resources, claims: [], details: [], clientGeneration, clientRevision: 0 };
  return covers(await consents.get({ subject, clientId }), asked);
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

/** Entries of earlier versions have no details. */
type StoredEntry = Omit<ConsentEntry, 'details'> & Partial<Pick<ConsentEntry, 'details'>>;

export const CONSENTS = table('consents', {
  text: 'subject client_id',
  integer: 'client_generation client_revision version given_at_ms',
  json: 'entries',
  'integer?': 'withdrawn_at_ms',
});

const ONE_CONSENT = 'issuer = :issuer AND subject = :subject AND client_id = :clientId';
const OF_CLIENT = 'issuer = :issuer AND client_id = :clientId AND client_generation = :clientGeneration';

const CONSENTS_SQL = CONSENTS.statements({
  get: `SELECT ${CONSENTS.list} FROM grantd.consents WHERE ${ONE_CONSENT}`,

  ofSubject: `
    SELECT ${CONSENTS.list} FROM grantd.consents
    WHERE issuer = :issuer AND subject = :subject AND withdrawn_at_ms IS NULL
    ORDER BY given_at_ms DESC, client_id`,

  add: `${CONSENTS.insert} WHERE TRUE ON CONFLICT (issuer, subject, client_id) DO NOTHING RETURNING client_id`,

  replace: `
    UPDATE grantd.consents
    SET entries = :entries, client_generation = :clientGeneration, client_revision = :clientRevision,
      given_at_ms = :givenAtMs, version = version + 1, withdrawn_at_ms = NULL
    WHERE ${ONE_CONSENT} AND version = :version RETURNING client_id`,

  isThere: `SELECT 1 FROM grantd.consents WHERE ${ONE_CONSENT}`,
  isOther: `
    SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM grantd.consents WHERE ${ONE_CONSENT} AND version = :version)`,

  beginWithdrawal: `
    UPDATE grantd.consents SET withdrawn_at_ms = :nowMs, version = version + 1
    WHERE ${ONE_CONSENT} AND withdrawn_at_ms IS NULL RETURNING client_id`,

  finishWithdrawal: `DELETE FROM grantd.consents WHERE ${ONE_CONSENT} AND withdrawn_at_ms IS NOT NULL`,

  isGivenTo: `
    SELECT client_id FROM grantd.consents
    WHERE issuer = :issuer AND client_id = :clientId AND withdrawn_at_ms IS NULL LIMIT 1`,

  clientAfter: `
    SELECT client_id, client_generation FROM grantd.consents WHERE issuer = :issuer AND client_id > :clientId
    ORDER BY client_id, client_generation LIMIT 1`,

  forget: `
    DELETE FROM grantd.consents
    WHERE ${OF_CLIENT} AND subject IN (SELECT subject FROM grantd.consents WHERE ${OF_CLIENT} LIMIT :limit)
    RETURNING subject`,

  forgetPerson: 'DELETE FROM grantd.consents WHERE issuer = :issuer AND subject = :subject',

  halfWithdrawn: `
    SELECT subject, client_id FROM grantd.consents WHERE issuer = :issuer AND withdrawn_at_ms < :beforeMs
    ORDER BY withdrawn_at_ms LIMIT :limit`,
});

function consentAct(
  type: 'consent_given' | 'consent_withdrawn',
  { subject, clientId }: Parties,
): ActOfChange {
  return { type, target: clientId, clientId, subject, by: 'user' };
}

export function consentsTable(tables: ProgramTables): Consents {
  const find = ({ subject, clientId }: Parties) =>
    tables.first(CONSENTS_SQL.get({ subject, clientId }), consentOf);

  return {
    async get(parties) {
      const stored = await find(parties);
      return stored?.isWithdrawn === false ? stored : undefined;
    },
    ofSubject: (subject) => tables.list(CONSENTS_SQL.ofSubject({ subject }), consentOf),
    async giving(issuer, { subject, clientId }, given, nowMs) {
      const { clientGeneration, clientRevision, scopes, resources, claims, details } = given;
      const entry = { scopes, resources, claims, details, givenAtMs: nowMs };
      const row = { subject, clientId, clientGeneration, clientRevision };
      const under = (breach: TableCall, call: TableCall): WriteCondition => {
        const change = recorded(call, consentAct('consent_given', { subject, clientId }));
        return { issuer, lock: lockPerson({ subject }), breach, writes: [{ change, cause: currentCause() }] };
      };
      const stored = await find({ subject, clientId });
      // Versions start at the current time, so that a deleted and recreated row never matches an old version.
      if (stored === undefined)
        return under(
          CONSENTS_SQL.isThere({ subject, clientId }),
          CONSENTS_SQL.add({ ...row, entries: [entry], version: nowMs, givenAtMs: nowMs }),
        );
      const { version, isWithdrawn } = stored;
      const compared = compareClients(stored, given);
      // The client has changed since the user was asked, so the answer is void.
      if (compared > 0) return undefined;
      if (!isWithdrawn && covers(stored, given)) return undefined;
      const replacesAll = isWithdrawn || compared < 0;
      const [entries, givenAtMs] = replacesAll
        ? [[entry], nowMs]
        : [withEntry(stored.entries, entry), stored.givenAtMs];
      return under(
        CONSENTS_SQL.isOther({ subject, clientId, version }),
        CONSENTS_SQL.replace({ ...row, entries, version, givenAtMs }),
      );
    },
    beginWithdrawal: ({ subject, clientId }, nowMs) =>
      tables.run(
        recorded(
          CONSENTS_SQL.beginWithdrawal({ subject, clientId, nowMs }),
          consentAct('consent_withdrawn', { subject, clientId }),
        ),
      ),
    finishWithdrawal: ({ subject, clientId }) =>
      tables.run(
        CONSENTS_SQL.finishWithdrawal({ subject, clientId }),
        ACTING_USES_SQL.forget({ subject, clientId }),
      ),
    isGivenTo: (clientId) => tables.has(CONSENTS_SQL.isGivenTo({ clientId })),
    clientAfter: (clientId) =>
      tables.first(CONSENTS_SQL.clientAfter({ clientId }), (row) => ({
        clientId: String(row.client_id),
        clientGeneration: Number(row.client_generation),
      })),
    forget: async ({ clientId, clientGeneration }, limit) =>
      (await tables.change(CONSENTS_SQL.forget({ clientId, clientGeneration, limit }))).length,
    forgetPerson: (subject) =>
      tables.run(CONSENTS_SQL.forgetPerson({ subject }), ACTING_USES_SQL.forgetPerson({ subject })),
    halfWithdrawn: (beforeMs, limit) =>
      tables.list(CONSENTS_SQL.halfWithdrawn({ beforeMs, limit }), (row) => ({
        subject: String(row.subject),
        clientId: String(row.client_id),
      })),
  };
}

interface StoredConsent extends Consent {
  readonly givenAtMs: number;
  readonly version: number;
  readonly isWithdrawn: boolean;
}

function consentOf(row: TableRow): StoredConsent {
  const { subject: _, entries, withdrawnAtMs, ...consent } = CONSENTS.recordOf(row);
  return {
    ...consent,
    entries: (entries as readonly StoredEntry[]).map((entry) => ({ details: [], ...entry })),
    isWithdrawn: withdrawnAtMs !== undefined,
  };
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

export const SCOPE_TEXTS = table('scope_texts', { text: 'api scope', json: 'texts' });

const ONE_SCOPE_TEXT = 'issuer = :issuer AND api = :api AND scope = :scope';

const SCOPE_TEXTS_SQL = SCOPE_TEXTS.statements({
  list: `SELECT ${SCOPE_TEXTS.list} FROM grantd.scope_texts WHERE issuer = :issuer ORDER BY api, scope`,
  add: `${SCOPE_TEXTS.insert} WHERE TRUE ON CONFLICT (issuer, api, scope) DO NOTHING RETURNING scope`,
  replace: `
    UPDATE grantd.scope_texts SET texts = :texts WHERE ${ONE_SCOPE_TEXT} AND texts = :before RETURNING scope`,
  remove: `DELETE FROM grantd.scope_texts WHERE ${ONE_SCOPE_TEXT} RETURNING scope`,
});

export function scopeTextsTable(tables: ProgramTables): ScopeTexts {
  const nameOf = ({ api = '', scope }: Pick<ScopeText, 'api' | 'scope'>) => ({ api, scope });
  const change = (scope: string, call: TableCall, before: object, after: object) =>
    tables.changes(
      recorded(call, { type: 'scope_texts_changed', target: scope, reason: changesOf(before, after) }),
    );
  return {
    list: () =>
      tables.list(SCOPE_TEXTS_SQL.list(), (row) => {
        const { scope, api, texts } = SCOPE_TEXTS.recordOf(row);
        return { scope, api: api === '' ? undefined : api, texts: texts as ScopeText['texts'] };
      }),
    add: (text) =>
      change(text.scope, SCOPE_TEXTS_SQL.add({ ...nameOf(text), texts: text.texts }), {}, text.texts),
    replace: (before, texts) =>
      change(
        before.scope,
        SCOPE_TEXTS_SQL.replace({ ...nameOf(before), texts, before: JSON.stringify(before.texts) }),
        before.texts,
        texts,
      ),
    remove: (text) => change(text.scope, SCOPE_TEXTS_SQL.remove(nameOf(text)), {}, {}),
  };
}
