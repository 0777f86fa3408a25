import { sha256 } from '#hashing';

/** A statement as it is written, under the name by which a connection keeps it prepared. */
export interface PostgresStatement {
  readonly name: string;
  readonly text: string;
}

/** A statement with the values of its parameters, `$1` first. */
export type PostgresCall = readonly [PostgresStatement, ...values: unknown[]];

/** A statement that is not prepared: one that runs once, or several in one text. */
export function unnamed(text: string): PostgresStatement {
  return { name: '', text };
}

/**
 * Gives each statement a name that follows from its text: connections that a pooler hands from one process to
 * another, of another version perhaps, never mean something else by it.
 */
export async function namedStatements<Key extends string>(
  statements: Readonly<Record<Key, string>>,
): Promise<Readonly<Record<Key, PostgresStatement>>> {
  const entries = Object.entries<string>(statements).map(
    async ([key, text]) => [key, { name: `grantd_${(await sha256(text)).slice(0, 22)}`, text }] as const,
  );
  return Object.fromEntries(await Promise.all(entries)) as Record<Key, PostgresStatement>;
}
