// Clients in SQLite.
import type { CachedRows } from '../../platform/cache.ts';
import { isSameResource, lowerCaseSpellings } from '../../protocol/client_metadata.ts';
import type { EventOrigin } from '../../protocol/event_records.ts';
import type { ClientRecord } from '../../protocol/records.ts';
import { originOf } from '../../protocol/redirect_uri.ts';
import { requireClientRecord } from '../client_record.ts';
import { CLIENTS, insertedRow, type RowObject } from '../columns.ts';
import type { AdministrableClients, NewClient, RegistrationLimits } from '../contract.ts';
import { aboutClient, ofClientChange, ofNewClient } from '../issuing.ts';
import {
  type ApiRow,
  CLIENT_COLUMNS,
  CLIENT_DESCRIPTION,
  CLIENT_STATEMENTS,
  forSqlite,
  isUnused,
  toApiRecord,
  toClientRecord,
} from '../statements.ts';
import type { Looks, SqliteHandle } from './connection.ts';
import type { Events } from './events.ts';
import type { Take } from './keys.ts';
import { prepareAll, type SqliteRow } from './queues.ts';

const DESCRIPTION = CLIENT_DESCRIPTION.join(', ');
const PARAMETERS = CLIENT_DESCRIPTION.map((column) => `:${column}`).join(', ');

const SET_BY_OPERATOR = "json_extract(metadata, '$.set_by_operator')";

export const CLIENTS_SQL = {
  get: `SELECT ${CLIENT_COLUMNS} FROM clients WHERE issuer_id = :issuerId AND id = :id`,

  ...forSqlite(CLIENT_STATEMENTS),

  apisOfResource: `
    SELECT id, resource, metadata FROM clients
    WHERE issuer_id = :issuerId AND resource IS NOT NULL AND disabled_at_ms IS NULL
      AND lower(resource) IN (SELECT value FROM json_each(:spellings))`,

  apisOfScope: `
    SELECT c.id, c.resource, c.metadata FROM api_scopes s
    JOIN clients c ON c.issuer_id = s.issuer_id AND c.id = s.client_id
    WHERE s.issuer_id = :issuerId AND s.scope = :scope AND c.resource IS NOT NULL AND c.disabled_at_ms IS NULL`,

  add: `
    INSERT INTO clients (issuer_id, id, ${DESCRIPTION}, registered_from, generation)
    SELECT :issuerId, :id, ${PARAMETERS}, :place,
      (SELECT first_client_generation FROM issuers WHERE id = :issuerId)
    WHERE (:mostRegistered IS NULL OR :mostRegistered > (
        SELECT count(*) FROM clients WHERE issuer_id = :issuerId AND registration_token_digest IS NOT NULL))
      AND (:place IS NULL OR :mostFromPlace > (
        SELECT count(*) FROM clients WHERE issuer_id = :issuerId AND registered_from = :place))
    ON CONFLICT (issuer_id, id) DO NOTHING`,

  addRedirectOrigin: `
    INSERT INTO redirect_origins (issuer_id, origin, client_id) VALUES (:issuerId, :origin, :clientId)`,

  addApiScope: `
    INSERT INTO api_scopes (issuer_id, scope, client_id) VALUES (:issuerId, :scope, :clientId)`,

  replace: `
    UPDATE clients SET (${DESCRIPTION}) = (${PARAMETERS}),
      revision = revision + 1, registration_revision = registration_revision + 1
    WHERE issuer_id = :issuerId AND id = :id AND generation = :generation AND revision = :revision`,

  removeRedirectOrigins: `
    DELETE FROM redirect_origins WHERE issuer_id = :issuerId AND client_id = :id`,

  removeApiScopes: 'DELETE FROM api_scopes WHERE issuer_id = :issuerId AND client_id = :id',

  listUnused: `
    SELECT ${CLIENT_COLUMNS} FROM clients WHERE issuer_id = :issuerId AND ${isUnused(':since', SET_BY_OPERATOR)}
    ORDER BY coalesce(used_until, registered_at) LIMIT :limit`,

  findUnused: `
    SELECT 1 FROM clients WHERE issuer_id = :issuerId AND id = :id AND ${isUnused(':since', SET_BY_OPERATOR)}`,

  // Its tokens stay behind. Clients that are added from now on begin at a generation ahead of their copies.
  raiseFirstGeneration: `
    UPDATE issuers SET first_client_generation = max(first_client_generation, c.generation + 1)
    FROM clients c WHERE issuers.id = :issuerId AND c.issuer_id = :issuerId AND c.id = :id`,

  remove: 'DELETE FROM clients WHERE issuer_id = :issuerId AND id = :id',
};

function limitParameters(limits: RegistrationLimits | undefined) {
  const { place = null, most: mostFromPlace = null } = limits?.from ?? {};
  return { mostRegistered: limits?.mostRegistered ?? null, place, mostFromPlace };
}

interface Parts {
  readonly events: Events;
  readonly cache: CachedRows<ClientRecord>;
  readonly take: Take;
}

export function sqliteClients(
  { database, issuerId, transaction, reads }: SqliteHandle,
  { events, cache, take }: Parts,
): AdministrableClients & Looks<ClientRecord> {
  const sql = prepareAll(database, CLIENTS_SQL);
  const addIndexRows = ({ id: clientId, redirectUris, metadata }: NewClient): void => {
    for (const origin of new Set(redirectUris.map(originOf))) {
      if (origin !== undefined) sql.addRedirectOrigin.run({ issuerId, origin, clientId });
    }
    for (const scope of new Set(metadata?.api_scopes)) sql.addApiScope.run({ issuerId, scope, clientId });
  };

  const removeIndexRows = (id: string): void => {
    sql.removeRedirectOrigins.run({ issuerId, id });
    sql.removeApiScopes.run({ issuerId, id });
  };

  const removeOne = (id: string, origin: EventOrigin | undefined): boolean => {
    if (sql.raiseFirstGeneration.run({ issuerId, id }).changes === 0) return false;
    removeIndexRows(id);
    sql.remove.run({ issuerId, id });
    events.add('client_revoked', aboutClient(id), origin && ofClientChange(origin));
    if (origin !== undefined) events.add('client_removed', aboutClient(id), ofClientChange(origin));
    return true;
  };

  const cached = (id: string, row?: SqliteRow) => row && cache.add(id, toClientRecord(row as RowObject));
  const look = (id: string) => cache.get(id) ?? cached(id, sql.get.get({ issuerId, id }));

  const apisOfResource = (resource: string): readonly ApiRow[] => {
    const found = sql.apisOfResource.all({
      issuerId,
      spellings: JSON.stringify(lowerCaseSpellings(resource)),
    });
    return (found as ApiRow[]).filter((api) => isSameResource(api.resource, resource));
  };

  return {
    look,
    get: (id) => reads.read(() => look(id)),
    hasRedirectOrigin: (origin) =>
      reads.read(() => sql.hasRedirectOrigin.get({ issuerId, origin }) !== undefined),
    findApis: ({ resources, scopes }) =>
      reads.read(() => {
        const rows = [
          ...resources.flatMap(apisOfResource),
          ...scopes.flatMap((scope) => sql.apisOfScope.all({ issuerId, scope })),
        ] as ApiRow[];
        return [...new Map(rows.map((row) => [row.id, row])).values()].map(toApiRecord);
      }),
    add(client, limits, once) {
      requireClientRecord(client);
      return transaction((origin) => {
        const columns = { issuerId, ...insertedRow(CLIENTS, client), ...limitParameters(limits) };
        if (sql.add.run(columns).changes === 0) return false;
        if (once !== undefined && !take(once)) {
          sql.remove.run({ issuerId, id: client.id });
          return 'already_used';
        }
        addIndexRows(client);
        if (origin !== undefined)
          events.add('client_added', aboutClient(client.id), ofNewClient(origin, client));
        return true;
      });
    },
    list: () => reads.read(() => (sql.list.all({ issuerId }) as RowObject[]).map(toClientRecord)),
    replaceSecrets(id, secrets, { generation = 0, revision = 0 }) {
      const columns = { issuerId, id, secrets: JSON.stringify(secrets), generation, revision };
      return transaction((origin) => {
        if (sql.replaceSecrets.run(columns).changes === 0) return false;
        // Without an actor, the server records the last use of a secret, or its hash under another server secret.
        if (origin?.actor !== undefined) events.add('client_secret_rotated', aboutClient(id), origin);
        return true;
      });
    },
    replace(client, { generation = 0, revision = 0 }, reason) {
      requireClientRecord(client);
      return transaction((origin) => {
        const columns = { issuerId, ...insertedRow(CLIENTS, client), generation, revision };
        if (sql.replace.run(columns).changes === 0) return false;
        removeIndexRows(client.id);
        addIndexRows(client);
        if (origin !== undefined)
          events.add('client_changed', { ...aboutClient(client.id), reason }, ofClientChange(origin));
        return true;
      });
    },
    listUnused: (since, limit) =>
      reads.read(() => (sql.listUnused.all({ issuerId, since, limit }) as RowObject[]).map(toClientRecord)),
    noteUse: (id, until) => transaction(() => void sql.noteUse.run({ issuerId, id, until })),
    noteDocument: (id, validAt) => transaction(() => void sql.noteDocument.run({ issuerId, id, validAt })),
    remove(id, unusedSince) {
      return transaction((origin) => {
        if (unusedSince !== undefined && !sql.findUnused.get({ issuerId, id, since: unusedSince }))
          return false;
        return removeOne(id, origin);
      });
    },
    removeAll: (ids) => transaction((origin) => ids.filter((id) => removeOne(id, origin)).length),
  };
}
