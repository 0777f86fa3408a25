import type { SQLInputValue } from 'node:sqlite';
import type { NewToken } from '../../../protocol/records.ts';
import type { Issuing } from '../../issuing.ts';
import { keyNeededUntil } from '../../retention.ts';
import { requireGrantsBehindTies } from '../../ties.ts';
import { toTokenColumns } from '../token_rows.ts';
import { prepareAll, type SqliteHandle } from './connection.ts';
import type { Principals } from './principals.ts';

const INSERTED = [
  'id',
  'kind',
  'digest',
  'client_id',
  'scopes',
  'token_type',
  'subject',
  'claims',
  'claims_request',
  'resources',
  'issued_at_ms',
  'expires_at',
  'keep_until',
  'key_id',
  'pair_id',
  'family_id',
  'grant_id',
  'session_id',
] as const satisfies (keyof ReturnType<typeof toTokenColumns>)[];

/** Whose generations are copied, in the order of the look-ups below. */
const GENERATIONS_OF = [
  'client_id',
  'subject',
  'session_id',
  'grant_id',
] as const satisfies (typeof INSERTED)[number][];

export const ISSUING_SQL = {
  // Answers with a row only where something may be issued; the client's generation is what it rests upon.
  admit: `
    SELECT c.generation
    FROM issuers i
    JOIN clients c ON c.issuer_id = i.id AND c.id = :clientId
    LEFT JOIN principals s ON s.issuer_id = i.id AND s.kind = 'subject' AND s.id = :subject
    WHERE i.id = :issuerId AND coalesce(i.not_before_ms, 0) <= :issuedAtMs
      AND c.disabled_at_ms IS NULL AND s.disabled_at_ms IS NULL`,

  // Generations are copied by the statement that stores the row. By position, since to find so many parameters by their
  // names takes as long as to store the row; and unnumbered: Node 22.18 takes `?1` for a name.
  insert: `
    INSERT INTO tokens (issuer_id, ${INSERTED.join(', ')},
      client_generation, subject_generation, session_generation, grant_generation)
    VALUES (?, ${INSERTED.map(() => '?').join(', ')},
      (SELECT generation FROM clients WHERE issuer_id = ? AND id = ?),
      (SELECT generation FROM principals WHERE issuer_id = ? AND kind = 'subject' AND id = ?),
      (SELECT generation FROM principals WHERE issuer_id = ? AND kind = 'session' AND id = ?),
      (SELECT generation FROM principals WHERE issuer_id = ? AND kind = 'grant' AND id = ?))`,

  // Whatever the key's status: it may have been retired while the token was being signed.
  extendKey: `
    UPDATE signing_keys SET needed_until = :neededUntil
    WHERE issuer_id = :issuerId AND kid = :keyId AND needed_until < :keepUntil`,
};

/** The one way in which tokens come into the store. Everything here runs inside a caller's transaction. */
export function sqliteIssuing({ database, issuerId }: SqliteHandle, principals: Principals): Issuing {
  const sql = prepareAll(database, ISSUING_SQL);
  return {
    admits({ clientId, subject, issuedAtMs }, clientGeneration) {
      const client = sql.admit.get({ issuerId, clientId, subject: subject ?? null, issuedAtMs });
      return (
        client !== undefined && (clientGeneration === undefined || client.generation === clientGeneration)
      );
    },
    insert(tokens) {
      requireGrantsBehindTies(tokens);
      for (const token of tokens) {
        principals.keep(token, token.keepUntil);
        sql.insert.run(...insertedValues(issuerId, token));
        const { keyId, keepUntil } = token;
        if (keyId === undefined) continue;
        sql.extendKey.run({ issuerId, keyId, keepUntil, neededUntil: keyNeededUntil(keepUntil) });
      }
    },
  };
}

/** The values of the parameters of the statement that stores a token. */
export function insertedValues(issuerId: number, token: NewToken): readonly SQLInputValue[] {
  const columns = toTokenColumns(token);
  return [
    issuerId,
    ...INSERTED.map((column) => columns[column]),
    ...GENERATIONS_OF.flatMap((column) => [issuerId, columns[column]]),
  ];
}
