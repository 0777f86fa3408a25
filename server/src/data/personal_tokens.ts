import { OF_HOST } from '@grantd/core/internal/storage/statements';
import { currentCause } from '../log/log.ts';
import type { WriteCondition } from './conditions.ts';
import { type Notice, noticeCalls } from './mails.ts';
import { asRow, dynamicCall, type ProgramTables, recorded, statement, table } from './tables.ts';

/** What a user sees of a personal access token. The token itself is the library's, with this grant. */
export interface PersonalToken {
  /** Its grant. */
  readonly id: string;
  /** The identifier of the token itself: its digest. */
  readonly tokenId: string;
  readonly subject: string;
  /** The user's name for it. */
  readonly name: string;
  /** The API that it is for. */
  readonly resource: string;
  readonly scopes: readonly string[];
  /** The thumbprint of its key or certificate; `undefined` for a bearer token. */
  readonly binding?: string | undefined;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
  /** To the hour. */
  readonly lastUsedMs?: number | undefined;
}

/** A token, sealed until its user has copied it. */
export interface UnsavedToken {
  readonly id: string;
  readonly sealed: string;
}

/** What the transaction that stores a token depends on. */
export interface TokenCondition {
  /** Maximum tokens of the user. */
  readonly limit: number;
  /** The user must be in one of them. `undefined` for all users. */
  readonly groups: readonly string[] | undefined;
}

/** A use of a token. */
export interface TokenUse {
  readonly id: string;
  /** To the hour. */
  readonly lastUsedMs: number;
}

/**
 * The personal access tokens of one issuer, also some that were ended, which the library knows. Every method rejects with
 * a `StorageFault` if the database does not answer.
 */
export interface PersonalTokens {
  /** The condition under which the library stores a token. Its transaction also stores this one. */
  storing(
    issuer: string,
    token: PersonalToken,
    sealed: string,
    condition: TokenCondition,
    notice?: Notice,
  ): WriteCondition;
  /** Those that have not expired, the oldest first. */
  ofSubject(subject: string, nowMs: number): Promise<readonly PersonalToken[]>;
  /** Those of all users that have not expired, sorted by their identifiers, which begin with the time. */
  list(after: string, limit: number, nowMs: number): Promise<readonly PersonalToken[]>;
  get(id: string): Promise<PersonalToken | undefined>;
  /** Those that the user has not copied yet. */
  unsavedOf(subject: string): Promise<readonly UnsavedToken[]>;
  /** Deletes the sealed value: the user has copied it. */
  saved(subject: string, id: string): Promise<void>;
  /** Records uses, in one write. A used token was copied. */
  note(uses: readonly TokenUse[]): Promise<void>;
  /** Deletes what is known about tokens that have ended. */
  forget(ids: readonly string[]): Promise<void>;
}

export const PERSONAL_TOKENS = table(
  'personal_tokens',
  {
    text: 'id token_id subject name resource',
    words: 'scopes',
    'text?': 'binding',
    integer: 'created_at_ms expires_at_ms',
    'integer?': 'last_used_ms',
  },
  { 'text?': 'sealed' },
);

const OF_SUBJECT = 'issuer = :issuer AND subject = :subject';
const ONE = 'issuer = :issuer AND id = :id';

const SQL = PERSONAL_TOKENS.statements({
  add: `${PERSONAL_TOKENS.insert} WHERE TRUE RETURNING id`,
  ofSubject: `
    SELECT ${PERSONAL_TOKENS.list} FROM grantd.personal_tokens WHERE ${OF_SUBJECT} AND expires_at_ms > :nowMs
    ORDER BY created_at_ms, id`,
  list: `
    SELECT ${PERSONAL_TOKENS.list} FROM grantd.personal_tokens
    WHERE issuer = :issuer AND id > :after AND expires_at_ms > :nowMs ORDER BY id LIMIT :limit`,
  get: `SELECT ${PERSONAL_TOKENS.list} FROM grantd.personal_tokens WHERE ${ONE}`,
  unsavedOf: `
    SELECT id, sealed FROM grantd.personal_tokens WHERE ${OF_SUBJECT} AND sealed IS NOT NULL
    ORDER BY created_at_ms, id`,
  saved: `UPDATE grantd.personal_tokens SET sealed = NULL WHERE ${OF_SUBJECT} AND id = :id`,
  note: `
    UPDATE grantd.personal_tokens SET last_used_ms = :lastUsedMs, sealed = NULL
    WHERE ${ONE} AND coalesce(last_used_ms, 0) < :lastUsedMs`,
  forget: `DELETE FROM grantd.personal_tokens WHERE ${ONE}`,
});

const lockPerson = statement(
  'UPDATE grantd.people SET name = name WHERE issuer = :issuer AND subject = :subject',
);
const lockMemberships = statement(
  'UPDATE grantd.group_members SET added_at_ms = added_at_ms WHERE issuer = :issuer AND subject = :subject',
);

/** Returns a row if the user may have no further token: disabled, removed, in none of the groups, or with too many. */
function breach(subject: string, nowMs: number, { limit, groups }: TokenCondition) {
  const values = Object.fromEntries((groups ?? []).map((name, index) => [`group${index}`, name]));
  const isMember = `EXISTS (
      SELECT 1 FROM grantd.group_members
      WHERE ${OF_SUBJECT} AND ended_at_ms IS NULL AND group_name IN (${Object.keys(values).map((name) => `:${name}`)}))`;
  const sql = `
    SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM grantd.people WHERE ${OF_SUBJECT})
      OR EXISTS (SELECT 1 FROM grantd.removed_people WHERE ${OF_SUBJECT})
      OR ${OF_HOST.isDisabled(':subject')}
      OR (SELECT count(*) FROM grantd.personal_tokens WHERE ${OF_SUBJECT} AND expires_at_ms > :nowMs) >= :limit
      ${groups === undefined ? '' : `OR NOT ${isMember}`}`;
  return dynamicCall(sql, { subject, nowMs, limit, ...values });
}

export function personalTokensTable(tables: ProgramTables): PersonalTokens {
  return {
    storing(issuer, token, sealed, condition, notice) {
      const { id, subject, createdAtMs } = token;
      return {
        issuer,
        // Another token, the removal of the user and the end of a membership wait for it, and it for them.
        lock: condition.groups === undefined ? lockPerson({ subject }) : lockMemberships({ subject }),
        breach: breach(subject, createdAtMs, condition),
        writes: [
          recorded(SQL.add({ ...token, sealed }), {
            ...{ type: 'personal_token_made', target: id, subject, by: 'user' },
          }),
          ...noticeCalls(notice, 'TRUE', {}).map((call) => recorded(call)),
        ].map((change) => ({ change, cause: currentCause() })),
      };
    },
    ofSubject: (subject, nowMs) => tables.list(SQL.ofSubject({ subject, nowMs }), PERSONAL_TOKENS.recordOf),
    list: (after, limit, nowMs) => tables.list(SQL.list({ after, limit, nowMs }), PERSONAL_TOKENS.recordOf),
    get: (id) => tables.first(SQL.get({ id }), PERSONAL_TOKENS.recordOf),
    unsavedOf: async (subject) =>
      (await tables.list(SQL.unsavedOf({ subject }), asRow)).map(({ id, sealed }) => ({
        id: String(id),
        sealed: String(sealed),
      })),
    saved: (subject, id) => tables.run(SQL.saved({ subject, id })),
    async note(uses) {
      if (uses.length > 0) await tables.run(...uses.map((use) => SQL.note({ ...use })));
    },
    async forget(ids) {
      if (ids.length > 0) await tables.run(...ids.map((id) => SQL.forget({ id })));
    },
  };
}
