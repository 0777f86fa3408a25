import type { ProgramTables } from './program_tables.ts';

/** Whether an issuer holds demo data, whose passwords everyone knows. Rejects with a `StorageFault`. */
export interface DemoMark {
  isSet(): Promise<boolean>;
  set(): Promise<void>;
}

const SQL = {
  find: 'SELECT issuer FROM grantd.demo_issuers WHERE issuer = $1',
  add: 'INSERT INTO grantd.demo_issuers (issuer) VALUES ($1) ON CONFLICT DO NOTHING',
};

export function demoMark(tables: ProgramTables, issuer: string): DemoMark {
  return {
    isSet: async () => (await tables.read(SQL.find, issuer)).length > 0,
    set: async () => {
      await tables.write([SQL.add, issuer]);
    },
  };
}
