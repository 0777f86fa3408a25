import type { DemoMark } from './demo_mark.ts';
import type { AskPostgres } from './postgres_statements.ts';

const SQL = {
  find: 'SELECT 1 FROM grantd.demo_issuers WHERE issuer = $1',
  add: 'INSERT INTO grantd.demo_issuers (issuer) VALUES ($1) ON CONFLICT DO NOTHING',
};

export function postgresDemoMark(ask: AskPostgres, issuer: string): DemoMark {
  return {
    isSet: async () => (await ask(SQL.find, issuer)).rows.length > 0,
    set: async () => {
      await ask(SQL.add, issuer);
    },
  };
}
