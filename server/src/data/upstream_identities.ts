import { type Notice, noticeCalls } from './mails.ts';
import { type NewPerson, newPersonCall, type Person, personAct, personToKeep } from './people.ts';
import type { EndedSession } from './sessions.ts';
import {
  type ActOfChange,
  newIdentifier,
  type ProgramTables,
  type RecordedCall,
  recorded,
  type TableRow,
} from './tables.ts';
import { hasWay, type WaysToSignIn } from './ways_to_sign_in.ts';

/** A user as an identity provider names them. */
export interface UpstreamName {
  /** The provider’s name in the configuration. */
  readonly provider: string;
  /** Part of the key, so that a name that is configured for another issuer later finds no link of the first one. */
  readonly upstreamIssuer: string;
  readonly upstreamSub: string;
}

/** A link between a user and an identity at a provider. */
export interface UpstreamIdentity extends UpstreamName {
  readonly id: string;
  readonly subject: string;
  /** How the user knows the identity: an email address or a name. */
  readonly label: string;
  readonly linkedAtMs: number;
}

export type NewIdentity = UpstreamName & Pick<UpstreamIdentity, 'label'>;

/** Sessions that a logout token is about: one of a user at the provider, or all. */
export type UpstreamSessions = Pick<UpstreamName, 'provider' | 'upstreamIssuer'> & {
  readonly upstreamSub?: string | undefined;
  readonly upstreamSid?: string | undefined;
  /** Milliseconds. Later sessions are another matter. */
  readonly signedInBeforeMs: number;
};

/** The links of one issuer. Every method rejects with a `StorageFault` if the database does not answer. */
export interface UpstreamIdentities {
  find(name: UpstreamName): Promise<UpstreamIdentity | undefined>;
  /** Oldest first. */
  ofSubject(subject: string): Promise<readonly UpstreamIdentity[]>;
  /** Whether any user has a link. One indexed read. */
  isEmpty(): Promise<boolean>;
  /**
   * @param notice queued in the same transaction, if the link is made
   * @returns `undefined` if the identity is linked already, or the user does not exist
   */
  link(
    identity: NewIdentity,
    subject: string,
    nowMs: number,
    notice?: Notice,
  ): Promise<UpstreamIdentity | undefined>;
  /**
   * Adds a user with a link, or neither.
   * @returns `undefined` if the name is taken or the identity is linked already
   */
  addPerson(
    identity: NewIdentity,
    person: NewPerson,
    nowMs: number,
  ): Promise<{ readonly person: Person; readonly identity: UpstreamIdentity } | undefined>;
  /**
   * Removes a link, if the user has another way to sign in.
   * @param ways which ways count; `any_link` removes the link even if the user has no other way
   * @param notice queued in the same transaction, if the link is removed
   * @returns `undefined` if it was not removed
   */
  unlink(
    id: string,
    subject: string,
    ways: WaysToSignIn | 'any_link',
    notice?: Notice,
  ): Promise<UpstreamIdentity | undefined>;
  /** Records that a session depends on an identity. @param upstreamSid the session at the provider, if known */
  noteSession(sessionId: string, identityId: string, upstreamSid: string | undefined): Promise<void>;
  /** The identities that a session depends on. */
  ofSession(sessionId: string): Promise<readonly UpstreamIdentity[]>;
  /** The open sessions that depend on an identity. */
  sessionsOf(of: UpstreamSessions | Pick<UpstreamIdentity, 'id'>): Promise<readonly EndedSession[]>;
}

const COLUMNS = 'id, subject, provider, upstream_issuer, upstream_sub, label, linked_at_ms';

const COLUMNS_OF_I = COLUMNS.split(', ')
  .map((column) => `i.${column}`)
  .join(', ');

const OPEN_SESSIONS = `
    SELECT DISTINCT s.id, s.subject FROM grantd.upstream_identities AS i
    JOIN grantd.upstream_sessions AS n ON n.issuer = i.issuer AND n.identity_id = i.id
    JOIN grantd.sessions AS s ON s.issuer = n.issuer AND s.id = n.session_id AND s.ended_at_ms IS NULL
    WHERE i.issuer = $1`;

const SQL = {
  any: 'SELECT id FROM grantd.upstream_identities WHERE issuer = $1 LIMIT 1',
  find: `
    SELECT ${COLUMNS} FROM grantd.upstream_identities
    WHERE issuer = $1 AND provider = $2 AND upstream_issuer = $3 AND upstream_sub = $4`,
  ofSubject: `
    SELECT ${COLUMNS} FROM grantd.upstream_identities WHERE issuer = $1 AND subject = $2
    ORDER BY linked_at_ms, id`,
  link: `
    INSERT INTO grantd.upstream_identities (issuer, ${COLUMNS})
    SELECT issuer, $3, subject, $4, $5, $6, $7, CAST($8 AS bigint) FROM grantd.people
    WHERE issuer = $1 AND subject = $2
    ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`,
  // Of a user whom an import has added in the same transaction.
  linkImported: `
    INSERT INTO grantd.upstream_identities (issuer, ${COLUMNS})
    SELECT issuer, $3, subject, $4, $5, $6, $7, CAST($8 AS bigint) FROM grantd.people
    WHERE issuer = $1 AND subject = $2 AND created_at_ms = CAST($9 AS bigint) AND import_digest = $10
    ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`,
  // Of a new user whose identity another request has linked in the meantime.
  dropUnlinked: `
    DELETE FROM grantd.people WHERE issuer = $1 AND subject = $2
      AND NOT EXISTS (SELECT 1 FROM grantd.upstream_identities WHERE issuer = $1 AND subject = $2)`,
  // Concurrent removals of two links, or of a link and a passkey, must not leave the user without any.
  holdPerson: 'UPDATE grantd.people SET revision = revision WHERE issuer = $1 AND subject = $2',
  unlink: (condition: string) => `
    DELETE FROM grantd.upstream_identities WHERE issuer = $1 AND id = $2 AND subject = $3
      AND ${condition}
    RETURNING ${COLUMNS}, provider || '/' || subject AS link`,
  noteSession: `
    INSERT INTO grantd.upstream_sessions (issuer, session_id, identity_id, upstream_sid)
    SELECT issuer, id, $3, CAST($4 AS text) FROM grantd.sessions WHERE issuer = $1 AND id = $2 AND ended_at_ms IS NULL
    ON CONFLICT (issuer, session_id, identity_id) DO UPDATE SET upstream_sid = excluded.upstream_sid`,
  ofSession: `
    SELECT ${COLUMNS_OF_I} FROM grantd.upstream_sessions AS n
    JOIN grantd.upstream_identities AS i ON i.issuer = n.issuer AND i.id = n.identity_id
    WHERE n.issuer = $1 AND n.session_id = $2 ORDER BY i.id`,
  sessionsOfIdentity: `${OPEN_SESSIONS} AND i.id = $2`,
  sessionsOf: `${OPEN_SESSIONS} AND i.provider = $2 AND i.upstream_issuer = $3
      AND (CAST($4 AS text) IS NULL OR i.upstream_sub = $4) AND (CAST($5 AS text) IS NULL OR n.upstream_sid = $5)
      AND s.signed_in_at_ms <= $6`,
};

/** A condition of notices. */
const HAS_LINK =
  'EXISTS (SELECT 1 FROM grantd.upstream_identities WHERE issuer = $1 AND subject = $3 AND id = $10';

/** The target is `PROVIDER/SUBJECT`. Neither contains a slash. */
function linkAct(type: 'person_linked', { provider }: NewIdentity, subject: string): ActOfChange {
  return { type, target: `${provider}/${subject}`, subject, by: 'user' };
}

/**
 * Links a user whom an import adds in the same transaction. Returns no row if the identity is linked already.
 * @param newRow when the row of the user was created, and the digest of the import in it
 */
export function newLinkCall(
  issuer: string,
  identity: NewIdentity,
  subject: string,
  nowMs: number,
  newRow: readonly [createdAtMs: number, importDigest: string],
): RecordedCall {
  const { provider, upstreamIssuer, upstreamSub, label } = identity;
  const values = [newIdentifier(), provider, upstreamIssuer, upstreamSub, label, nowMs];
  return recorded(
    [SQL.linkImported, issuer, subject, ...values, ...newRow],
    linkAct('person_linked', identity, subject),
  );
}

export function upstreamIdentitiesTable(tables: ProgramTables, issuer: string): UpstreamIdentities {
  const linkCall = (identity: NewIdentity, subject: string, nowMs: number, id = newIdentifier()) => {
    const { provider, upstreamIssuer, upstreamSub, label } = identity;
    const values = [id, provider, upstreamIssuer, upstreamSub, label, nowMs];
    return [SQL.link, issuer, subject, ...values] as const;
  };
  return {
    async find({ provider, upstreamIssuer, upstreamSub }) {
      const [row] = await tables.read(SQL.find, issuer, provider, upstreamIssuer, upstreamSub);
      return row && identityOf(row);
    },
    ofSubject: async (subject) => (await tables.read(SQL.ofSubject, issuer, subject)).map(identityOf),
    isEmpty: async () => (await tables.read(SQL.any, issuer)).length === 0,
    async link(identity, subject, nowMs, notice) {
      const id = newIdentifier();
      const [[row] = []] = await tables.write(
        recorded(linkCall(identity, subject, nowMs, id), linkAct('person_linked', identity, subject)),
        ...noticeCalls(issuer, notice, `${HAS_LINK})`, id),
      );
      return row && identityOf(row);
    },
    async addPerson(identity, newPerson, nowMs) {
      const person = personToKeep(newPerson);
      const { subject } = person;
      const [added, [row] = []] = await tables.write(
        newPersonCall(issuer, person, newPerson),
        // Without a link, the user is dropped.
        recorded(
          linkCall(identity, subject, nowMs),
          { ...personAct('person_added', subject), by: 'user' },
          linkAct('person_linked', identity, subject),
        ),
        [SQL.dropUnlinked, issuer, subject],
      );
      return added?.length === 1 && row !== undefined ? { person, identity: identityOf(row) } : undefined;
    },
    async unlink(id, subject, ways, notice) {
      const condition = (removed: string, firstLink: number) =>
        ways === 'any_link' ? '1 = 1' : hasWay(ways, { subject: '$3', removed, firstLink });
      const links = ways === 'any_link' ? [] : ways.links;
      const removals = await tables.write(
        [SQL.holdPerson, issuer, subject],
        ...noticeCalls(issuer, notice, `${HAS_LINK}) AND ${condition('$10', 11)}`, id, ...links),
        recorded([SQL.unlink(condition('$2', 4)), issuer, id, subject, ...links], {
          type: 'person_unlinked',
          target: { column: 'link' },
          subject,
          by: 'user',
        }),
      );
      const row = removals.at(-1)?.[0];
      return row && identityOf(row);
    },
    async noteSession(sessionId, identityId, upstreamSid) {
      await tables.write([SQL.noteSession, issuer, sessionId, identityId, upstreamSid ?? null]);
    },
    ofSession: async (sessionId) => (await tables.read(SQL.ofSession, issuer, sessionId)).map(identityOf),
    async sessionsOf(of) {
      const rows = await ('id' in of
        ? tables.read(SQL.sessionsOfIdentity, issuer, of.id)
        : tables.read(
            ...[SQL.sessionsOf, issuer, of.provider, of.upstreamIssuer],
            of.upstreamSub ?? null,
            of.upstreamSid ?? null,
            of.signedInBeforeMs,
          ));
      return rows.map(({ id, subject }) => ({ id: String(id), subject: String(subject) }));
    },
  };
}

function identityOf(row: TableRow): UpstreamIdentity {
  return {
    id: String(row.id),
    subject: String(row.subject),
    provider: String(row.provider),
    upstreamIssuer: String(row.upstream_issuer),
    upstreamSub: String(row.upstream_sub),
    label: String(row.label),
    linkedAtMs: Number(row.linked_at_ms),
  };
}
