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
  table,
} from './tables.ts';
import { type ANY_WAY, mayRemove, type WaysToSignIn } from './ways_to_sign_in.ts';

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
    ways: WaysToSignIn | typeof ANY_WAY,
    notice?: Notice,
  ): Promise<UpstreamIdentity | undefined>;
  /** Records that a session depends on an identity. @param upstreamSid the session at the provider, if known */
  noteSession(sessionId: string, identityId: string, upstreamSid: string | undefined): Promise<void>;
  /** The identities that a session depends on. */
  ofSession(sessionId: string): Promise<readonly UpstreamIdentity[]>;
  /** The open sessions that depend on an identity. */
  sessionsOf(of: UpstreamSessions | Pick<UpstreamIdentity, 'id'>): Promise<readonly EndedSession[]>;
}

export const IDENTITIES = table('upstream_identities', {
  text: 'id subject provider upstream_issuer upstream_sub label',
  integer: 'linked_at_ms',
});

const OPEN_SESSIONS = `
    SELECT DISTINCT s.id, s.subject FROM grantd.upstream_identities AS i
    JOIN grantd.upstream_sessions AS n ON n.issuer = i.issuer AND n.identity_id = i.id
    JOIN grantd.sessions AS s ON s.issuer = n.issuer AND s.id = n.session_id AND s.ended_at_ms IS NULL
    WHERE i.issuer = :issuer` as const;

const OF_PERSON = 'issuer = :issuer AND subject = :subject';

const SQL = IDENTITIES.statements({
  any: 'SELECT id FROM grantd.upstream_identities WHERE issuer = :issuer LIMIT 1',
  find: `
    SELECT ${IDENTITIES.list} FROM grantd.upstream_identities WHERE issuer = :issuer
      AND provider = :provider AND upstream_issuer = :upstreamIssuer AND upstream_sub = :upstreamSub`,
  ofPerson: `
    SELECT ${IDENTITIES.list} FROM grantd.upstream_identities WHERE ${OF_PERSON} ORDER BY linked_at_ms, id`,
  link: `
    ${IDENTITIES.insert} FROM grantd.people WHERE ${OF_PERSON}
    ON CONFLICT DO NOTHING RETURNING ${IDENTITIES.list}`,
  // Of a user whom an import has added in the same transaction.
  linkImported: `
    ${IDENTITIES.insert} FROM grantd.people
    WHERE ${OF_PERSON} AND created_at_ms = :addedAtMs AND import_digest = :importDigest
    ON CONFLICT DO NOTHING RETURNING ${IDENTITIES.list}`,
  // Of a new user whose identity another request has linked in the meantime.
  dropUnlinked: `
    DELETE FROM grantd.people WHERE ${OF_PERSON}
      AND NOT EXISTS (SELECT 1 FROM grantd.upstream_identities WHERE ${OF_PERSON})`,
  // Concurrent removals of two links, or of a link and a passkey, must not leave the user without any.
  holdPerson: `UPDATE grantd.people SET revision = revision WHERE ${OF_PERSON}`,
  noteSession: `
    INSERT INTO grantd.upstream_sessions (issuer, session_id, identity_id, upstream_sid)
    SELECT issuer, id, :identityId, CAST(:upstreamSid AS text) FROM grantd.sessions
    WHERE issuer = :issuer AND id = :sessionId AND ended_at_ms IS NULL
    ON CONFLICT (issuer, session_id, identity_id) DO UPDATE SET upstream_sid = excluded.upstream_sid`,
  ofSession: `
    SELECT ${IDENTITIES.list} FROM grantd.upstream_identities WHERE issuer = :issuer AND id IN (
      SELECT identity_id FROM grantd.upstream_sessions WHERE issuer = :issuer AND session_id = :sessionId)
    ORDER BY id`,
  sessionsOfIdentity: `${OPEN_SESSIONS} AND i.id = :id`,
  sessionsOf: `${OPEN_SESSIONS} AND i.provider = :provider AND i.upstream_issuer = :upstreamIssuer
      AND (CAST(:sub AS text) IS NULL OR i.upstream_sub = :sub)
      AND (CAST(:sid AS text) IS NULL OR n.upstream_sid = :sid) AND s.signed_in_at_ms <= :signedInBeforeMs`,
});

/** A condition of notices. */
const HAS_LINK = `EXISTS (
  SELECT 1 FROM grantd.upstream_identities WHERE ${OF_PERSON} AND id = :removed)` as const;

/** The target is `PROVIDER/SUBJECT`. Neither contains a slash. */
function linkAct(type: 'person_linked', { provider }: NewIdentity, subject: string): ActOfChange {
  return { type, target: `${provider}/${subject}`, subject, by: 'user' };
}

/** Links a user whom an import adds in the same transaction. Returns no row if the identity is linked already. */
export function newLinkCall(
  identity: NewIdentity,
  {
    subject,
    addedAtMs,
    importDigest,
  }: Readonly<{ subject: string; addedAtMs: number; importDigest: string }>,
): RecordedCall {
  const row = linkRow(identity, subject, addedAtMs);
  return recorded(
    SQL.linkImported({ ...row, addedAtMs, importDigest }),
    linkAct('person_linked', identity, subject),
  );
}

function linkRow(
  { provider, upstreamIssuer, upstreamSub, label }: NewIdentity,
  subject: string,
  linkedAtMs: number,
): UpstreamIdentity {
  return { id: newIdentifier(), subject, provider, upstreamIssuer, upstreamSub, label, linkedAtMs };
}

export function upstreamIdentitiesTable(tables: ProgramTables): UpstreamIdentities {
  const { recordOf: identityOf } = IDENTITIES;
  return {
    find: ({ provider, upstreamIssuer, upstreamSub }) =>
      tables.first(SQL.find({ provider, upstreamIssuer, upstreamSub }), identityOf),
    ofSubject: (subject) => tables.list(SQL.ofPerson({ subject }), identityOf),
    isEmpty: async () => !(await tables.has(SQL.any())),
    async link(identity, subject, nowMs, notice) {
      const link = linkRow(identity, subject, nowMs);
      const isLinked = await tables.changes(
        recorded(SQL.link(link), linkAct('person_linked', identity, subject)),
        ...noticeCalls(notice, HAS_LINK, { removed: link.id }),
      );
      return isLinked ? link : undefined;
    },
    async addPerson(newIdentity, newPerson, nowMs) {
      const person = personToKeep(newPerson);
      const { subject } = person;
      const identity = linkRow(newIdentity, subject, nowMs);
      const [added, linked] = await tables.write(
        newPersonCall(person, newPerson),
        // Without a link, the user is dropped.
        recorded(
          SQL.link(identity),
          { ...personAct('person_added', subject), by: 'user' },
          linkAct('person_linked', identity, subject),
        ),
        SQL.dropUnlinked({ subject }),
      );
      return added?.length === 1 && linked?.length === 1 ? { person, identity } : undefined;
    },
    async unlink(removed, subject, ways, notice) {
      const { condition, values } = mayRemove(removed, ways);
      const unlink = `
        DELETE FROM grantd.upstream_identities WHERE ${OF_PERSON} AND id = :removed AND ${condition}
        RETURNING ${IDENTITIES.list}, provider || '/' || subject AS link`;
      const [row] = await tables.change(
        SQL.holdPerson({ subject }),
        ...noticeCalls(notice, `${HAS_LINK} AND ${condition}`, values),
        recorded(IDENTITIES.dynamic(unlink, { subject, ...values }), {
          type: 'person_unlinked',
          target: { column: 'link' },
          subject,
          by: 'user',
        }),
      );
      return row && identityOf(row);
    },
    noteSession: (sessionId, identityId, upstreamSid) =>
      tables.run(SQL.noteSession({ sessionId, identityId, upstreamSid: upstreamSid ?? null })),
    ofSession: (sessionId) => tables.list(SQL.ofSession({ sessionId }), identityOf),
    sessionsOf(of) {
      const sessionOf = ({ id, subject }: TableRow) => ({ id: String(id), subject: String(subject) });
      if ('id' in of) return tables.list(SQL.sessionsOfIdentity({ id: of.id }), sessionOf);
      const { provider, upstreamIssuer, upstreamSub, upstreamSid, signedInBeforeMs } = of;
      const names = { provider, upstreamIssuer, sub: upstreamSub ?? null, sid: upstreamSid ?? null };
      return tables.list(SQL.sessionsOf({ ...names, signedInBeforeMs }), sessionOf);
    },
  };
}
