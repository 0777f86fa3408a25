import type { DatabaseSync } from 'node:sqlite';
import type { Adapter, AdapterPayload } from 'oidc-provider';

const SCHEMA = `CREATE TABLE IF NOT EXISTS oidc (
  model TEXT NOT NULL, id TEXT NOT NULL, payload TEXT NOT NULL, grant_id TEXT, uid TEXT, consumed INTEGER,
  PRIMARY KEY (model, id)) STRICT`;

/** Makes the adapters of oidc-provider for one database. */
export function sqliteAdapter(database: DatabaseSync): (model: string) => Adapter {
  database.exec(SCHEMA);
  return (model) => {
    const findBy = async (column: 'id' | 'uid', value: string): Promise<AdapterPayload | undefined> => {
      const row = database
        .prepare(`SELECT payload, consumed FROM oidc WHERE model = ? AND ${column} = ?`)
        .get(model, value);
      if (row === undefined) return undefined;
      const payload: AdapterPayload = JSON.parse(String(row.payload));
      return row.consumed === null ? payload : { ...payload, consumed: row.consumed };
    };
    return {
      async upsert(id, payload) {
        database
          .prepare('INSERT OR REPLACE INTO oidc VALUES (?, ?, ?, ?, ?, NULL)')
          .run(model, id, JSON.stringify(payload), payload.grantId ?? null, payload.uid ?? null);
      },
      find: (id) => findBy('id', id),
      findByUid: (uid) => findBy('uid', uid),
      findByUserCode: async () => undefined, // no device codes here
      async consume(id) {
        database.prepare('UPDATE oidc SET consumed = unixepoch() WHERE model = ? AND id = ?').run(model, id);
      },
      async destroy(id) {
        database.prepare('DELETE FROM oidc WHERE model = ? AND id = ?').run(model, id);
      },
      async revokeByGrantId(grantId) {
        database.prepare('DELETE FROM oidc WHERE model = ? AND grant_id = ?').run(model, grantId);
      },
    };
  };
}
