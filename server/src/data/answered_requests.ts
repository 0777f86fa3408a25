import { createHmac } from 'node:crypto';
import { type ProgramSecret, type ProgramSecretUse, seal, unseal } from './secrets.ts';
import {
  asRow,
  type GatheredWrite,
  type GatheredWrites,
  newIdentifier,
  type ProgramTables,
  table,
} from './tables.ts';

/** What is stored of a request that may be repeated. */
interface StoredRequest {
  readonly requestDigest: string;
  /** The sealed answer; `undefined` while the request is pending. */
  readonly sealed?: string;
}

/**
 * Requests that are performed once, however often they are sent: those of the admin API with an Idempotency-Key, and
 * forms. Every method rejects with a `StorageFault` if the database does not answer.
 */
export interface ApiRequests {
  /**
   * Takes a key for a request. Atomic: of concurrent callers, one gets it. A key that has expired is free.
   * @param expiresAtMs when the request counts as lost, if it is not finished
   * @returns the name of the attempt, or what is stored under the key
   */
  begin(
    keyDigest: string,
    requestDigest: string,
    nowMs: number,
    expiresAtMs: number,
  ): Promise<{ readonly attempt: string } | StoredRequest>;
  /** @returns `undefined` if nothing is stored under the key, or it has expired */
  find(keyDigest: string, nowMs: number): Promise<StoredRequest | undefined>;
  /** Stores the answer of an attempt, unless another one has taken its place. */
  finish(keyDigest: string, attempt: string, sealed: string, expiresAtMs: number): Promise<void>;
  /**
   * As `finish`, in one write with what other requests store within some milliseconds. The same write frees the keys of
   * earlier attempts.
   */
  finishSoon(
    stored: StoredAttempt & { readonly sealed: string; readonly expiresAtMs: number },
    freed: readonly StoredAttempt[],
  ): Promise<void>;
  /** Frees the key of an attempt that has changed nothing. */
  forget(keyDigest: string, attempt: string): Promise<void>;
  /** What is stored under the key and under all keys that are the key, a period and a name, the newest first. */
  ofName(keyDigest: string, nowMs: number): Promise<readonly NamedValue[]>;
  /** Stores a value in place of what is stored under the key. Atomic: of concurrent callers, the last one wins. */
  keep(keyDigest: string, requestDigest: string, sealed: string, expiresAtMs: number): Promise<void>;
  /** Frees the key, whatever is stored under it. */
  drop(keyDigest: string): Promise<void>;
}

/** An attempt with its key. */
export interface StoredAttempt {
  readonly keyDigest: string;
  readonly attempt: string;
}

interface NamedValue {
  readonly keyDigest: string;
  readonly sealed: string;
}

export const REQUESTS = table(
  'api_requests',
  { text: 'request_digest', 'text?': 'sealed' },
  { text: 'key_digest attempt', integer: 'expires_at_ms' },
);

const ONE = 'issuer = :issuer AND key_digest = :keyDigest';

const SQL = REQUESTS.statements({
  begin: `
    ${REQUESTS.insert} WHERE TRUE
    ON CONFLICT (issuer, key_digest) DO UPDATE
    SET request_digest = excluded.request_digest, attempt = excluded.attempt, sealed = NULL,
      expires_at_ms = excluded.expires_at_ms
    WHERE api_requests.expires_at_ms <= :nowMs
    RETURNING key_digest`,
  keep: `
    ${REQUESTS.insert} WHERE TRUE
    ON CONFLICT (issuer, key_digest) DO UPDATE
    SET request_digest = excluded.request_digest, attempt = excluded.attempt, sealed = excluded.sealed,
      expires_at_ms = excluded.expires_at_ms`,
  find: `SELECT ${REQUESTS.list} FROM grantd.api_requests WHERE ${ONE} AND expires_at_ms > :nowMs`,
  ofName: `
    SELECT key_digest, sealed FROM grantd.api_requests
    WHERE issuer = :issuer AND key_digest >= :keyDigest AND key_digest < :keyDigest || '/'
      AND expires_at_ms > :nowMs AND sealed IS NOT NULL
    ORDER BY expires_at_ms DESC`,
  finish: `
    UPDATE grantd.api_requests SET sealed = :sealed, expires_at_ms = :expiresAtMs
    WHERE ${ONE} AND attempt = :attempt`,
  forget: `DELETE FROM grantd.api_requests WHERE ${ONE} AND attempt = :attempt`,
  drop: `DELETE FROM grantd.api_requests WHERE ${ONE}`,
});

function freeing(one: StoredAttempt): GatheredWrite {
  return [one.keyDigest, SQL.forget(one)];
}

export function apiRequestsTable(tables: ProgramTables, gathered: GatheredWrites): ApiRequests {
  const find: ApiRequests['find'] = (keyDigest, nowMs) =>
    tables.first(SQL.find({ keyDigest, nowMs }), REQUESTS.recordOf);
  return {
    find,
    async begin(keyDigest, requestDigest, nowMs, expiresAtMs) {
      const attempt = newIdentifier();
      for (;;) {
        if (await tables.changes(SQL.begin({ keyDigest, requestDigest, attempt, expiresAtMs, nowMs })))
          return { attempt };
        const stored = await find(keyDigest, nowMs);
        // It may have been swept or freed since.
        if (stored !== undefined) return stored;
      }
    },
    finish: (keyDigest, attempt, sealed, expiresAtMs) =>
      tables.run(SQL.finish({ keyDigest, attempt, sealed, expiresAtMs })),
    finishSoon: (stored, freed) =>
      gathered.add([stored.keyDigest, SQL.finish(stored)], ...freed.map(freeing)),
    forget: (keyDigest, attempt) => tables.run(SQL.forget({ keyDigest, attempt })),
    ofName: async (keyDigest, nowMs) =>
      (await tables.list(SQL.ofName({ keyDigest, nowMs }), asRow)).map(({ key_digest: key, sealed }) => ({
        keyDigest: String(key),
        sealed: String(sealed),
      })),
    keep: (keyDigest, requestDigest, sealed, expiresAtMs) =>
      tables.run(SQL.keep({ keyDigest, requestDigest, sealed, expiresAtMs, attempt: newIdentifier() })),
    drop: (keyDigest) => tables.run(SQL.drop({ keyDigest })),
  };
}

interface Parts {
  readonly apiRequests: ApiRequests;
  readonly secret: ProgramSecret;
  /** Keeps the keys and answers of one kind of request apart from all others. */
  readonly use: ProgramSecretUse;
  /** Milliseconds. */
  readonly clock: () => number;
}

/** The only process that performs a request. */
export interface Attempt<Answer> extends StoredAttempt {
  /** Stores the answer for those who repeat the request. */
  finish(answer: Answer, keptMs: number): Promise<void>;
  /** As `finish`, for an answer that need not be stored before it is sent (`ApiRequests.finishSoon`). */
  finishSoon(answer: Answer, keptMs: number, freed?: readonly StoredAttempt[]): Promise<void>;
  /** Frees the key, so that the request can be performed again. */
  forget(): Promise<void>;
}

/** A request that was sent before. */
interface Repeated<Answer> {
  /** Whether the earlier request said the same. */
  readonly isSame: boolean;
  /** `undefined` while the request is pending. */
  readonly answer: Answer | undefined;
}

/** Of one text, under each accepted secret, the newest first. */
export type Digests = readonly string[];

type Begun<Answer> = Attempt<Answer> | Repeated<Answer>;

/**
 * Gives repeated requests the answer of the first one, in every process on the database. Answers are sealed, because they
 * can contain secrets. Keys are digests under the server’s secret, because requests can contain passwords. Every method
 * rejects with a `StorageFault` if the database does not answer.
 */
export class AnsweredRequests<Answer> {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Of a request, under each accepted secret, the newest first: other processes may use another one for new values. */
  async digests(...about: readonly string[]): Promise<Digests> {
    const keys = await this.#parts.secret.keys(this.#parts.use);
    return keys.map((key) => createHmac('sha256', key).update(JSON.stringify(about)).digest('base64url'));
  }

  /**
   * Takes a key for a request. Atomic: of concurrent callers, at most one gets it.
   * @param pendingMs after this time, the request of a process that died may be performed again
   */
  async begin(keys: Digests, requests: Digests, pendingMs: number): Promise<Begun<Answer>> {
    const { apiRequests, secret, use, clock } = this.#parts;
    const [[keyDigest = '', ...older], [requestDigest = '', ...olderRequests]] = [keys, requests];
    const nowMs = clock();
    const begun = await apiRequests.begin(keyDigest, requestDigest, nowMs, nowMs + pendingMs);
    if ('requestDigest' in begun) return this.#repeated(begun, keyDigest, requestDigest);
    // Comes after the key is taken, so that of two processes with other newest secrets, one sees the other.
    const earlier = older.length > 0 ? await this.find(older, olderRequests) : undefined;
    if (earlier !== undefined) {
      await apiRequests.forget(keyDigest, begun.attempt);
      return earlier;
    }
    const sealedOf = async (answer: Answer) => seal(await secret.key(use), JSON.stringify(answer), keyDigest);
    return {
      ...{ keyDigest, ...begun },
      async finish(answer, keptMs) {
        await apiRequests.finish(keyDigest, begun.attempt, await sealedOf(answer), clock() + keptMs);
      },
      async finishSoon(answer, keptMs, freed = []) {
        const stored = { keyDigest, ...begun, sealed: await sealedOf(answer), expiresAtMs: clock() + keptMs };
        await apiRequests.finishSoon(stored, freed);
      },
      forget: () => apiRequests.forget(keyDigest, begun.attempt),
    };
  }

  /** Looks for the answer without taking the key. @returns `undefined` if the key is free */
  async find(keys: Digests, requests: Digests = []): Promise<Repeated<Answer> | undefined> {
    const { apiRequests, clock } = this.#parts;
    for (const [index, keyDigest] of keys.entries()) {
      const stored = await apiRequests.find(keyDigest, clock());
      if (stored !== undefined) return this.#repeated(stored, keyDigest, requests[index] ?? '');
    }
    return undefined;
  }

  /** Stores a value in place of what is stored under the keys. Only for values that are no answers of attempts. */
  async keep([keyDigest = '', ...older]: Digests, answer: Answer, keptMs: number): Promise<void> {
    const { apiRequests, secret, use, clock } = this.#parts;
    const sealed = seal(await secret.key(use), JSON.stringify(answer), keyDigest);
    await apiRequests.keep(keyDigest, '', sealed, clock() + keptMs);
    await this.drop(older);
  }

  /** What `keep` has stored under the key, and under all keys that are the key, a period and a name. The newest first. */
  async ofName(
    keyDigest: string,
  ): Promise<readonly { readonly keyDigest: string; readonly answer: Answer }[]> {
    const { apiRequests, clock } = this.#parts;
    const stored = await apiRequests.ofName(keyDigest, clock());
    const opened = await Promise.all(
      stored.map(async (one) => ({ ...one, answer: await this.#opened(one.sealed, one.keyDigest) })),
    );
    return opened.flatMap(({ answer, ...one }) => (answer === undefined ? [] : [{ ...one, answer }]));
  }

  /** Frees the keys of a request. Only for values that their process has stored. */
  async drop(keys: Digests): Promise<void> {
    for (const key of keys) await this.#parts.apiRequests.drop(key);
  }

  async #repeated(
    stored: { readonly requestDigest: string; readonly sealed?: string },
    keyDigest: string,
    requestDigest: string,
  ): Promise<Repeated<Answer>> {
    const { sealed } = stored;
    const isSame = stored.requestDigest === requestDigest;
    const isOpen = sealed !== undefined && isSame;
    return { isSame, answer: isOpen ? await this.#opened(sealed, keyDigest) : undefined };
  }

  async #opened(sealed: string, keyDigest: string): Promise<Answer | undefined> {
    const { secret, use } = this.#parts;
    for (const key of await secret.keys(use)) {
      const text = unseal(key, sealed, keyDigest);
      if (text !== undefined) return JSON.parse(text);
    }
    return undefined;
  }
}
