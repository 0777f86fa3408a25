// Metadata documents that operators have denied. Rules at run time only take away: what the options do not accept stays out.
import {
  type AdministrableStorage,
  type ClientRecord,
  type DocumentDenials,
  type DocumentPlace,
  documentPlace,
} from '@grantd/core';
import { type ActorKind, currentCause } from '../log/log.ts';
import { ConditionBroken, nothing, under, type WriteCondition } from './conditions.ts';
import { dynamicCall, newIdentifier, type ProgramTables, recorded, statement, table } from './tables.ts';

/** A denied document or host. */
export interface DocumentDenial {
  /** The URL of a document, a host such as `a.example`, or all names below one, such as `*.a.example`. */
  readonly rule: string;
  readonly deniedAtMs: number;
  /** Who denied it, as in the audit trail. */
  readonly deniedBy: string;
  readonly note?: string | undefined;
}

type NewDenial = Omit<DocumentDenial, 'deniedBy'> & { readonly deniedBy: ActorKind };

/** The denied documents of one issuer. Every method rejects with a `StorageFault` if the database does not answer. */
export interface DeniedDocuments {
  /** Sorted by rule. */
  list(): Promise<readonly DocumentDenial[]>;
  find(rule: string): Promise<DocumentDenial | undefined>;
  isDenied(place: DocumentPlace): Promise<boolean>;
  /** That a document is not denied. Denials wait for the transaction. */
  isNotDenied(issuer: string, place: DocumentPlace): WriteCondition;
  /**
   * Adds a rule, in the transaction in which `end` removes clients. If the rule is there, it stays as it is. The denials are
   * unfinished from then on.
   * @param end one write of the library's store. `undefined` if there is nothing to end
   */
  deny(issuer: string, denial: NewDenial, end?: () => Promise<void>): Promise<void>;
  /** @returns `false` if there is no such rule */
  allow(rule: string): Promise<boolean>;
  /** Names the last denial, after which clients of denied documents may be left; `undefined` if none are. */
  unfinished(): Promise<string | undefined>;
  /** Says that no clients are left, unless there was another denial after this one. */
  finish(denial: string): Promise<void>;
}

/**
 * Reads a rule in any spelling, in the form in which it is compared.
 * @returns `undefined` if it is no https URL of a document and no host. Hosts have no port: a rule is for all of them
 */
export function denialRule(text: string): string | undefined {
  if (text.includes('/')) {
    const place = documentPlace(URL.parse(text)?.href ?? '', true);
    return place?.host.includes('*') ? undefined : place?.url;
  }
  const [, below = '', name] = /^(\*\.)?([^*:?#@\\\s%]+|\[[\da-f:.]+\])$/i.exec(text) ?? [];
  if (name === undefined) return undefined;
  const host = documentPlace(URL.parse(`https://${name}/-`)?.href ?? '', false)?.host;
  if (host === undefined || host.split('.').includes('')) return undefined;
  return below !== '' && host.startsWith('[') ? undefined : below + host;
}

/** The rules that would deny a document. */
export function rulesFor({ url, host }: DocumentPlace): readonly string[] {
  const labels = host.split('.');
  return [url, host, ...labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`)];
}

/** Whether one of the rules denies the document of a client. */
export function isDeniedBy(rules: ReadonlySet<string>, clientId: string): boolean {
  const place = documentPlace(clientId, true);
  return place !== undefined && rulesFor(place).some((rule) => rules.has(rule));
}

/** Clients that one transaction removes. More would keep other writes waiting. */
export const REMOVED_AT_ONCE = 1000;

/** The enabled clients whose documents one of the rules denies. Disabled ones have no tokens, and stay disabled. */
export async function clientsDeniedBy(
  rules: readonly string[],
  { clients }: Pick<AdministrableStorage, 'clients'>,
): Promise<readonly ClientRecord[]> {
  const denied = new Set(rules);
  return (await clients.list()).filter(
    ({ id, documentValidAt, disabledAtMs }) =>
      documentValidAt !== undefined && disabledAtMs === undefined && isDeniedBy(denied, id),
  );
}

/**
 * Removes the clients of denied documents that are left: those that were too many for the transaction of their denial, or
 * were added before it and after they had been listed. Also those that a process has left that was killed.
 * @param signal stops between two transactions
 * @returns their number
 */
export async function finishDenials(
  {
    deniedDocuments,
    storage,
  }: {
    readonly deniedDocuments: DeniedDocuments;
    readonly storage: Pick<AdministrableStorage, 'clients'>;
  },
  signal?: AbortSignal,
): Promise<number> {
  let removed = 0;
  while (signal?.aborted !== true) {
    const denial = await deniedDocuments.unfinished();
    if (denial === undefined) break;
    const rules = (await deniedDocuments.list()).map(({ rule }) => rule);
    const left = await clientsDeniedBy(rules, storage);
    if (left.length === 0) await deniedDocuments.finish(denial);
    else removed += await storage.clients.removeAll(left.slice(0, REMOVED_AT_ONCE).map(({ id }) => id));
  }
  return removed;
}

/** The rules that an operator has written decide together with the store, in its transactions. */
export function denialsOf(denied: DeniedDocuments, issuer: string): DocumentDenials {
  return {
    isDenied: (place) => denied.isDenied(place),
    async unlessDenied(place, write) {
      try {
        await under(denied.isNotDenied(issuer, place), write);
        return true;
      } catch (error) {
        if (error instanceof ConditionBroken) return false;
        throw error;
      }
    },
  };
}

export const DOCUMENT_DENIALS = table('document_denials', {
  text: 'rule denied_by',
  integer: 'denied_at_ms',
  'text?': 'note',
});

const ONE = 'issuer = :issuer AND rule = :rule';

const SQL = DOCUMENT_DENIALS.statements({
  list: `SELECT ${DOCUMENT_DENIALS.list} FROM grantd.document_denials WHERE issuer = :issuer AND rule <> '' ORDER BY rule`,
  find: `SELECT ${DOCUMENT_DENIALS.list} FROM grantd.document_denials WHERE ${ONE}`,
  add: `${DOCUMENT_DENIALS.insert} WHERE TRUE ON CONFLICT (issuer, rule) DO NOTHING RETURNING rule`,
  remove: `DELETE FROM grantd.document_denials WHERE ${ONE} RETURNING rule`,
  finish: `UPDATE grantd.document_denials SET note = NULL WHERE ${ONE} AND note = :note`,
});

// The row with the empty rule denies nothing. Who adds a client of a document, and who denies one, lock it first, so that
// one of both sees what the other has done. Its note is there as long as denials are unfinished.
const lock = statement(`
  INSERT INTO grantd.document_denials (issuer, rule, denied_by, denied_at_ms) VALUES (:issuer, '', '', 0)
  ON CONFLICT (issuer, rule) DO UPDATE SET denied_at_ms = 0`);
const mark = statement(`
  INSERT INTO grantd.document_denials (issuer, rule, denied_by, denied_at_ms, note) VALUES (:issuer, '', '', 0, :note)
  ON CONFLICT (issuer, rule) DO UPDATE SET note = excluded.note`);

function anyOf(rules: readonly string[]) {
  const names = rules.map((_, index) => `:rule${index}`);
  return dynamicCall(
    `SELECT 1 FROM grantd.document_denials WHERE issuer = :issuer AND rule IN (${names.join(', ')})`,
    Object.fromEntries(rules.map((rule, index) => [`rule${index}`, rule])),
  );
}

export function deniedDocumentsTable(tables: ProgramTables): DeniedDocuments {
  return {
    list: () => tables.list(SQL.list(), DOCUMENT_DENIALS.recordOf),
    find: (rule) => tables.first(SQL.find({ rule }), DOCUMENT_DENIALS.recordOf),
    isDenied: (place) => tables.has(anyOf(rulesFor(place))),
    isNotDenied: (issuer, place) => ({ issuer, lock: lock(), breach: anyOf(rulesFor(place)) }),
    async deny(issuer, denial, end) {
      const change = recorded(SQL.add(denial), { type: 'documents_denied', target: denial.rule });
      const unfinished = { call: mark({ note: newIdentifier() }), acts: [] };
      if (end === undefined) return tables.run(unfinished.call, change);
      const cause = { ...currentCause(), actor: denial.deniedBy };
      const writes = [unfinished, change].map((one) => ({ change: one, cause }));
      await under({ issuer, lock: lock(), breach: nothing(), writes }, end);
    },
    allow: (rule) =>
      tables.changes(recorded(SQL.remove({ rule }), { type: 'documents_allowed', target: rule })),
    unfinished: async () => (await tables.first(SQL.find({ rule: '' }), DOCUMENT_DENIALS.recordOf))?.note,
    finish: (note) => tables.run(SQL.finish({ rule: '', note })),
  };
}
