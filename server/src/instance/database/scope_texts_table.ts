import type { ScopeText, ScopeTexts } from '../../consents/scope_texts.ts';
import type { ProgramTables } from './program_tables.ts';

const ONE = 'issuer = $1 AND api = $2 AND scope = $3';

const SQL = {
  list: 'SELECT api, scope, texts FROM grantd.scope_texts WHERE issuer = $1 ORDER BY api, scope',

  add: `
    INSERT INTO grantd.scope_texts (issuer, api, scope, texts) VALUES ($1, $2, $3, $4)
    ON CONFLICT (issuer, api, scope) DO NOTHING RETURNING scope`,

  replace: `UPDATE grantd.scope_texts SET texts = $5 WHERE ${ONE} AND texts = $4 RETURNING scope`,

  remove: `DELETE FROM grantd.scope_texts WHERE ${ONE} RETURNING scope`,
};

export function scopeTextsTable(tables: ProgramTables, issuer: string): ScopeTexts {
  const nameOf = ({ api = '', scope }: Pick<ScopeText, 'api' | 'scope'>) => [issuer, api, scope] as const;
  const hasWritten = async (...call: Parameters<ProgramTables['read']>): Promise<boolean> => {
    const [rows] = await tables.write(call);
    return rows?.length === 1;
  };
  return {
    list: async () =>
      (await tables.read(SQL.list, issuer)).map(({ api, scope, texts }) => ({
        scope: String(scope),
        api: api === '' ? undefined : String(api),
        texts: JSON.parse(String(texts)),
      })),
    add: (text) => hasWritten(SQL.add, ...nameOf(text), JSON.stringify(text.texts)),
    replace: (before, texts) =>
      hasWritten(SQL.replace, ...nameOf(before), JSON.stringify(before.texts), JSON.stringify(texts)),
    remove: (text) => hasWritten(SQL.remove, ...nameOf(text)),
  };
}
