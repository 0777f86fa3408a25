import type { DatabaseSync } from 'node:sqlite';
import { askStorage } from './ask_storage.ts';
import type { DemoMark } from './demo_mark.ts';

export function sqliteDemoMark(database: DatabaseSync, issuer: string): DemoMark {
  const find = database.prepare('SELECT 1 FROM demo_issuers WHERE issuer = ?');
  const add = database.prepare('INSERT INTO demo_issuers (issuer) VALUES (?) ON CONFLICT DO NOTHING');
  return {
    isSet: () => askStorage(() => find.get(issuer) !== undefined),
    set: async () => {
      await askStorage(() => add.run(issuer));
    },
  };
}
