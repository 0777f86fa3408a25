import type { DatabaseSync } from 'node:sqlite';

/** Whether an issuer holds demo data, whose passwords everyone knows. */
export interface DemoMark {
  isSet(): boolean;
  set(): void;
}

export function demoMark(database: DatabaseSync, issuer: string): DemoMark {
  const find = database.prepare('SELECT 1 FROM demo_issuers WHERE issuer = ?');
  const add = database.prepare('INSERT INTO demo_issuers (issuer) VALUES (?) ON CONFLICT DO NOTHING');
  return {
    isSet: () => find.get(issuer) !== undefined,
    set: () => {
      add.run(issuer);
    },
  };
}
