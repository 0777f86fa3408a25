// Clients in PostgreSQL.

import { hasResource, lowerCaseSpellings } from '../../protocol/client_metadata.ts';
import { originOf } from '../../protocol/redirect_uri.ts';
import { requireClientRecord } from '../client_record.ts';
import { CLIENTS, insertedNames, insertedRow, postgresDefinitions, type RowObject } from '../columns.ts';
import type { AdministrableClients, NewClient } from '../contract.ts';
import { aboutClient, ofClientChange, ofNewClient } from '../issuing.ts';
import {
  type ApiRow,
  CLIENT_COLUMNS,
  CLIENT_DESCRIPTION,
  CLIENT_STATEMENTS,
  forPostgres,
  isUnused,
  takeIdentifier,
  toApiRecord,
  toClientRecord,
} from '../statements.ts';
import { changesOf, isStorable, namedStatements, rowsOf } from './connections.ts';
import { auditedEventOf, eventOf, insertEvent } from './events.ts';
import { IS_FIRST_USE } from './keys.ts';
import type { PostgresHandle } from './lookups.ts';
import { type Found, underLease } from './primary.ts';

const COLUMNS = CLIENT_DESCRIPTION.join(', ');

/** The client to be stored, `$2`. */
const GIVEN = `json_to_record($2) AS n (${postgresDefinitions(CLIENTS)})`;

const SET_BY_OPERATOR = "metadata::json -> 'set_by_operator'";

export const CLIENTS_SQL = {
  list: forPostgres(CLIENT_STATEMENTS.list, 'issuerId'),

  hasRedirectOrigin: forPostgres(CLIENT_STATEMENTS.hasRedirectOrigin, 'issuerId', 'origin'),

  // All APIs in one row, so that the epoch is read even if there are none.
  findApis: underLease(`
    SELECT coalesce(json_agg(a), '[]')::text AS apis FROM (
      SELECT id, resource, metadata FROM grantd.clients
      WHERE issuer_id = $1 AND disabled_at_ms IS NULL
        AND resource IS NOT NULL
        AND lower(resource COLLATE "C") = ANY (ARRAY(SELECT json_array_elements_text($2::json)))
      UNION
      SELECT c.id, c.resource, c.metadata FROM grantd.api_scopes s
      JOIN grantd.clients c ON c.issuer_id = s.issuer_id AND c.id = s.client_id
      WHERE s.issuer_id = $1 AND s.scope = ANY (ARRAY(SELECT json_array_elements_text($3::json)))
        AND c.resource IS NOT NULL AND c.disabled_at_ms IS NULL) a`),

  // Locks the issuer's row: a removal of the same identifier comes before or after. The snapshot is older than the lock,
  // and so it looks for the identifier only with a token, when that is random.
  add: `
    WITH first AS (SELECT first_client_generation FROM grantd.issuers WHERE id = $1 FOR SHARE),
    room AS (
      SELECT first.* FROM first
      WHERE ($5::bigint IS NULL OR $5 > (
          SELECT count(*) FROM grantd.clients WHERE issuer_id = $1 AND registration_token_digest IS NOT NULL))
        AND ($7::text IS NULL OR $8::bigint > (
          SELECT count(*) FROM grantd.clients WHERE issuer_id = $1 AND registered_from = $7))
        AND ($9::text IS NULL OR NOT EXISTS (
          SELECT 1 FROM ${GIVEN} JOIN grantd.clients c ON c.issuer_id = $1 AND c.id = n.id))),
    taken AS (
      ${takeIdentifier('SELECT $1, $9::text, $10::bigint FROM room WHERE $9 IS NOT NULL', '$11::bigint')}
      RETURNING ${IS_FIRST_USE}),
    added AS (
      INSERT INTO grantd.clients (issuer_id, ${insertedNames(CLIENTS).join(', ')}, generation, registered_from)
      SELECT $1, n.*, room.first_client_generation, $7::text FROM ${GIVEN}, room
      WHERE $9 IS NULL OR EXISTS (SELECT 1 FROM taken WHERE is_first)
      ON CONFLICT (issuer_id, id) DO NOTHING
      RETURNING id),
    origins AS (
      INSERT INTO grantd.redirect_origins (issuer_id, origin, client_id)
      SELECT $1, o.origin, added.id FROM added, json_array_elements_text($3) AS o (origin)),
    api_scopes AS (
      INSERT INTO grantd.api_scopes (issuer_id, scope, client_id)
      SELECT $1, s.scope, added.id FROM added, json_array_elements_text($4) AS s (scope)),
    recorded AS (${insertEvent('$6', { each: 'added' })})
    SELECT EXISTS (SELECT 1 FROM added) AS is_added, EXISTS (SELECT 1 FROM room) AS has_room`,

  replaceSecrets: `
    WITH replaced AS (
      ${forPostgres(CLIENT_STATEMENTS.replaceSecrets, 'issuerId', 'id', 'secrets', 'generation', 'revision')}
      RETURNING 1),
    recorded AS (${insertEvent('$6', { each: 'replaced' })})
    SELECT 1 FROM replaced`,

  lock: 'SELECT 1 FROM grantd.clients WHERE issuer_id = $1 AND id = $2 FOR UPDATE',

  replace: `
    WITH replaced AS (
      UPDATE grantd.clients c SET (${COLUMNS}) = (
        SELECT ${COLUMNS} FROM ${GIVEN}),
        revision = c.revision + 1, registration_revision = c.registration_revision + 1
      WHERE c.issuer_id = $1 AND c.id = $5 AND c.generation = $6 AND c.revision = $7
      RETURNING c.id),
    left_behind AS (
      DELETE FROM grantd.redirect_origins o USING replaced
      WHERE o.issuer_id = $1 AND o.client_id = replaced.id
        AND o.origin <> ALL (ARRAY(SELECT json_array_elements_text($3)))),
    origins AS (
      INSERT INTO grantd.redirect_origins (issuer_id, origin, client_id)
      SELECT $1, o.origin, replaced.id FROM replaced, json_array_elements_text($3) AS o (origin)
      ON CONFLICT DO NOTHING),
    scopes_left_behind AS (
      DELETE FROM grantd.api_scopes s USING replaced
      WHERE s.issuer_id = $1 AND s.client_id = replaced.id
        AND s.scope <> ALL (ARRAY(SELECT json_array_elements_text($4)))),
    api_scopes AS (
      INSERT INTO grantd.api_scopes (issuer_id, scope, client_id)
      SELECT $1, s.scope, replaced.id FROM replaced, json_array_elements_text($4) AS s (scope)
      ON CONFLICT DO NOTHING),
    recorded AS (${insertEvent('$8', { each: 'replaced' })})
    SELECT 1 FROM replaced`,

  noteUse: forPostgres(CLIENT_STATEMENTS.noteUse, 'issuerId', 'id', 'until'),

  noteDocument: forPostgres(CLIENT_STATEMENTS.noteDocument, 'issuerId', 'id', 'validAt'),

  listUnused: `
    SELECT ${CLIENT_COLUMNS} FROM grantd.clients WHERE issuer_id = $1 AND ${isUnused('$2', SET_BY_OPERATOR)}
    ORDER BY coalesce(used_until, registered_at) LIMIT $3`,

  lockIssuer: 'SELECT 1 FROM grantd.issuers WHERE id = $1 FOR NO KEY UPDATE',

  // Its tokens stay behind: later clients begin at a generation ahead of their copies.
  remove: `
    WITH removed AS (
      DELETE FROM grantd.clients WHERE issuer_id = $1 AND id = $2
        AND ($5::bigint IS NULL OR (${isUnused('$5', SET_BY_OPERATOR)}))
      RETURNING id, generation),
    origins AS (
      DELETE FROM grantd.redirect_origins o USING removed r WHERE o.issuer_id = $1 AND o.client_id = r.id),
    api_scopes AS (DELETE FROM grantd.api_scopes s USING removed r WHERE s.issuer_id = $1 AND s.client_id = r.id),
    raised AS (
      UPDATE grantd.issuers i SET first_client_generation = greatest(first_client_generation, r.generation + 1)
      FROM removed r WHERE i.id = $1),
    revoked AS (${insertEvent('$3', { each: 'removed' })} RETURNING 1),
    recorded AS (${insertEvent('$4', { each: 'revoked' })})
    SELECT 1 FROM removed`,
};

type ApisRow = { readonly apis: string };

/** `$2` to `$4` of what stores a client. */
function asParameters(client: NewClient): readonly [client: string, origins: string, apiScopes: string] {
  const origins = new Set(client.redirectUris.map(originOf).filter((origin) => origin !== undefined));
  const apiScopes = new Set(client.metadata?.api_scopes);
  return [
    JSON.stringify(insertedRow(CLIENTS, client)),
    JSON.stringify([...origins]),
    JSON.stringify([...apiScopes]),
  ];
}

export async function postgresClients(handle: PostgresHandle): Promise<AdministrableClients> {
  const { primary, lookUps, issuerId, originOf, clock } = handle;
  const sql = await namedStatements(CLIENTS_SQL);
  /** What removes a client, after the issuer is locked. The last one has a row if there was one. */
  const removal = (id: string, unusedSince?: number) => {
    const origin = originOf();
    const about = aboutClient(id);
    const revoked = eventOf(handle, 'client_revoked', about, origin && ofClientChange(origin));
    const recorded = auditedEventOf(handle, 'client_removed', about, origin && ofClientChange(origin));
    return [
      [sql.lock, issuerId, id],
      [sql.remove, issuerId, id, revoked, recorded, unusedSince ?? null],
    ] as const;
  };
  return {
    get: (id) => lookUps.client(id),
    async hasRedirectOrigin(origin) {
      if (!isStorable(origin)) return false;
      return primary.read([sql.hasRedirectOrigin, issuerId, origin], (found) => changesOf(found) > 0);
    },
    async findApis({ resources, scopes }) {
      const spellings = resources.flatMap(lowerCaseSpellings);
      const named = [spellings, scopes].map((names) => JSON.stringify(names.filter(isStorable)));
      return primary.readUnderLease([sql.findApis, issuerId, ...named], ({ apis }: Found<ApisRow, 'apis'>) =>
        (apis === null ? [] : (JSON.parse(apis) as ApiRow[]).map(toApiRecord)).filter(
          // Paths may differ in the case that the index ignores.
          (api) => hasResource(resources, api.resource) || api.scopes.some((scope) => scopes.includes(scope)),
        ),
      );
    },
    async add(client, limits, once) {
      requireClientRecord(client);
      const origin = originOf();
      const added = auditedEventOf(
        handle,
        'client_added',
        aboutClient(client.id),
        origin && ofNewClient(origin, client),
      );
      // Counted registrations run one after another: each counts those before it.
      const alone = limits === undefined ? [] : [[sql.lockIssuer, issuerId] as const];
      const { mostRegistered = null, from } = limits ?? {};
      const place = [from?.place ?? null, from?.most ?? null] as const;
      const use = [once?.id ?? null, once?.expiresAt ?? null, Math.floor(clock() / 1000)] as const;
      return primary.write(
        [...alone, [sql.add, issuerId, ...asParameters(client), mostRegistered, added, ...place, ...use]],
        (results) => {
          const [row] = rowsOf<{ is_added: boolean; has_room: boolean }>(results.at(-1));
          return row?.is_added !== true && row?.has_room === true && once !== undefined
            ? 'already_used'
            : row?.is_added === true;
        },
      );
    },
    async list() {
      return primary.read([sql.list, issuerId], (found) => rowsOf<RowObject>(found).map(toClientRecord));
    },
    async replaceSecrets(id, secrets, { generation = 0, revision = 0 }) {
      if (!isStorable(id)) return false;
      // Without an actor, the server records the last use of a secret, or its hash under another server secret.
      const origin = originOf();
      const rotator = origin?.actor === undefined ? undefined : origin;
      const rotated = auditedEventOf(handle, 'client_secret_rotated', aboutClient(id), rotator);
      return primary.write(
        [[sql.replaceSecrets, issuerId, id, JSON.stringify(secrets), generation, revision, rotated]],
        ([replaced]) => rowsOf(replaced).length === 1,
      );
    },
    async replace(client, { generation = 0, revision = 0 }, reason) {
      requireClientRecord(client);
      if (!isStorable(client.id)) return false;
      const origin = originOf();
      const changed = auditedEventOf(
        handle,
        'client_changed',
        { ...aboutClient(client.id), reason },
        origin && ofClientChange(origin),
      );
      return primary.write(
        [
          [sql.lock, issuerId, client.id],
          [sql.replace, issuerId, ...asParameters(client), client.id, generation, revision, changed],
        ],
        ([, replaced]) => rowsOf(replaced).length === 1,
      );
    },
    async noteUse(id, until) {
      if (isStorable(id)) await primary.write([[sql.noteUse, issuerId, id, until]], () => undefined);
    },
    async noteDocument(id, validAt) {
      if (isStorable(id)) await primary.write([[sql.noteDocument, issuerId, id, validAt]], () => undefined);
    },
    async listUnused(since, limit) {
      return primary.read([sql.listUnused, issuerId, since, limit], (found) =>
        rowsOf<RowObject>(found).map(toClientRecord),
      );
    },
    async remove(id, unusedSince) {
      if (!isStorable(id)) return false;
      return primary.write(
        [[sql.lockIssuer, issuerId], ...removal(id, unusedSince)],
        ([, , removed]) => rowsOf(removed).length === 1,
      );
    },
    async removeAll(ids) {
      const removals = [...new Set(ids)].filter(isStorable).flatMap((id) => removal(id));
      return primary.write([[sql.lockIssuer, issuerId], ...removals], (results) =>
        results.reduce((sum, result, at) => sum + (at > 0 && at % 2 === 0 ? rowsOf(result).length : 0), 0),
      );
    },
  };
}
