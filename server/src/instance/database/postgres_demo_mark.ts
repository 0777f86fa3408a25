import { namedStatements, type PostgresConnections } from '@grantd/core/postgres';
import { askStorage } from './ask_storage.ts';
import type { DemoMark } from './demo_mark.ts';

const SQL = {
  find: 'SELECT 1 FROM grantd.demo_issuers WHERE issuer = $1',
  add: 'INSERT INTO grantd.demo_issuers (issuer) VALUES ($1) ON CONFLICT DO NOTHING',
};

export async function postgresDemoMark(connections: PostgresConnections, issuer: string): Promise<DemoMark> {
  const sql = await namedStatements(SQL);
  return {
    isSet: async () => (await askStorage(() => connections.read([sql.find, issuer]))).rows.length > 0,
    set: async () => {
      await askStorage(() => connections.write([[sql.add, issuer]]));
    },
  };
}
