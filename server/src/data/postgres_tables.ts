import type { EventOrigin } from '@grantd/core';
import {
  namedStatements,
  type PostgresConnections,
  type PostgresStatement,
  rowsOf,
} from '@grantd/core/internal/storage/postgres/connections';
import type { PostgresTables } from '@grantd/core/internal/storage/postgres/migrate';
import { forPostgres } from '@grantd/core/internal/storage/statements';
import { eventOf, insertEvent } from '@grantd/core/postgres';
import { originOf } from '../log/log.ts';
import { POSTGRES_MIGRATIONS } from './program_migrations.ts';
import {
  type ActOfChange,
  actorOf,
  askStorage,
  columnOf,
  factsOf,
  isRecorded,
  originOfAct,
  ProgramTables,
  type RecordedCall,
  type Statement,
  type TableCall,
  type TableRow,
} from './tables.ts';

export const PROGRAM_TABLES: PostgresTables = {
  versions: 'grantd.program_schema',
  migrations: POSTGRES_MIGRATIONS,
};

/**
 * The program’s tables, next to the library’s in the schema `grantd`.
 * @param requireUsable rejects once the tables can no longer be used
 * @param origin where changes come from
 */
export function postgresProgramTables(
  connections: PostgresConnections,
  issuer: string,
  requireUsable: () => Promise<void>,
  origin = originOf(undefined),
): ProgramTables {
  const numbered = new Map<string, string>();
  const named = new Map<string, Promise<PostgresStatement>>();

  const textOf = ({ sql, parameters, isOfIssuer }: Statement): string => {
    const text = numbered.get(sql) ?? forPostgres(sql, ...(isOfIssuer ? ['issuer'] : []), ...parameters);
    numbered.set(sql, text);
    return text;
  };
  const statementOf = (text: string): Promise<PostgresStatement> => {
    const statement = named.get(text) ?? namedStatements({ text }).then((statements) => statements.text);
    named.set(text, statement);
    return statement;
  };
  /** A call as PostgreSQL takes it. A recorded one also inserts the events of its change. */
  const prepared = async (call: TableCall, acts: readonly ActOfChange[], cause: EventOrigin) => {
    const values: unknown[] = call.isOfIssuer ? [issuer, ...call.values] : [...call.values];
    const text = acts.length === 0 ? textOf(call) : recordingText(textOf(call), values, acts, cause);
    return [await statementOf(text), ...values] as const;
  };

  return new ProgramTables({
    list: async (call, recordOf) => {
      const statement = await prepared(call, [], {});
      await askStorage(requireUsable);
      return rowsOf<TableRow>(await askStorage(() => connections.read(statement))).map(recordOf);
    },
    write: async (...calls) => {
      const cause = origin();
      const statements = await Promise.all(
        calls.map((call) =>
          isRecorded(call) ? prepared(call.call, call.acts, cause) : prepared(call, [], cause),
        ),
      );
      await askStorage(requireUsable);
      return (await askStorage(() => connections.write(statements))).map((result) =>
        rowsOf<TableRow>(result),
      );
    },
  });
}

/** A recorded change as one text, without parameters. @param literal a text as a literal of SQL */
export function recordedText(
  { call, acts }: RecordedCall,
  issuer: string,
  cause: EventOrigin,
  literal: (text: string) => string,
): string {
  const values: unknown[] = [issuer, ...call.values];
  const change = forPostgres(call.sql, 'issuer', ...call.parameters);
  const text = acts.length === 0 ? change : recordingText(change, values, acts, cause);
  return text.replaceAll(/\$(\d+)/g, (_, number) => {
    const value = values[Number(number) - 1];
    return typeof value === 'string' ? literal(value) : String(value);
  });
}

/**
 * A statement that also inserts the events of its change.
 * @param values of its parameters, the issuer first; gets those of the events
 */
function recordingText(
  text: string,
  values: unknown[],
  acts: readonly ActOfChange[],
  cause: EventOrigin,
): string {
  const parts = acts.map((act, index) => {
    const column = (name: string) => `changed.${name}`;
    const [target, subject, reason] = [act.target, act.subject, act.reason].map(columnOf);
    const isOfEach = (target ?? subject ?? reason) !== undefined;
    const { actor, ...others } = originOfAct(act, cause);
    const facts = factsOf(act);
    const origin = { ...others, actor: actorOf(actor, facts.subject) };
    values.push(eventOf({ clock: Date.now }, act.type, facts, origin));
    return `recorded_${index} AS (${insertEvent(`$${values.length}`, {
      issuer: '$1',
      each: isOfEach ? 'changed' : '(SELECT 1 FROM changed LIMIT 1) AS one',
      ...(target !== undefined && { target: column(target) }),
      ...(reason !== undefined && { reason: column(reason) }),
      ...(subject !== undefined && {
        subject: column(subject),
        actor: `CASE WHEN e.actor = 'user' AND ${column(subject)} IS NOT NULL THEN 'user:' || ${column(subject)} ELSE e.actor END`,
      }),
    })})`;
  });
  return `WITH changed AS (${text}), ${parts.join(', ')} SELECT * FROM changed`;
}
