import type { KeptPairwiseSecret } from '../pairwise_secret.ts';
import type { ProgramTables, TableRow } from './program_tables.ts';

const SQL = {
  get: 'SELECT sealed FROM grantd.pairwise_secrets WHERE issuer = $1',
  add: 'INSERT INTO grantd.pairwise_secrets (issuer, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING',
  replace: 'UPDATE grantd.pairwise_secrets SET sealed = $3 WHERE issuer = $1 AND sealed = $2',
};

export function pairwiseSecretTable(tables: ProgramTables, issuer: string): KeptPairwiseSecret {
  const sealedOf = ([row]: readonly TableRow[]) => (row === undefined ? undefined : String(row.sealed));
  return {
    get: async () => sealedOf(await tables.read(SQL.get, issuer)),
    async add(sealed) {
      await tables.write([SQL.add, issuer, sealed]);
    },
    async replace(sealed, replacement) {
      await tables.write([SQL.replace, issuer, sealed, replacement]);
    },
  };
}
