// What a program may do with the tables of another version, the same for SQLite and PostgreSQL.

/**
 * One step from a version of tables to the next.
 *
 * - SQL alone: programs of earlier versions can no longer use the tables. This is the safe choice. It is necessary if an
 *   earlier program would read or write something wrong, for example because it ignores a column that restricts a token.
 * - `expand`: adds something that earlier programs may ignore. They continue to serve. `down` takes it away again.
 * - `contract`: removes what earlier programs need and this one does not. It waits for the operator, so that a return to
 *   an earlier program stays possible until then.
 */
export type Migration =
  | string
  | { readonly expand: string; readonly down: string }
  | { readonly contract: string };

/** The state of tables, as stored in their database. */
export interface SchemaState {
  /** The number of migrations that were applied; 0 if there are no tables yet. */
  readonly version: number;
  /** The lowest number of migrations that a program must know to use the tables. */
  readonly floor: number;
}

/** The state of a database without tables. */
export const NO_TABLES: SchemaState = { version: 0, floor: 0 };

/** What brings tables to another state. */
export interface MigrationPlan {
  /** Scripts, in order. Empty if the tables are there already. */
  readonly scripts: readonly string[];
  readonly state: SchemaState;
  /** Whether servers that use the tables now can continue meanwhile. */
  readonly isExpansion: boolean;
}

/** The version that a program needs. Contractions at the end of its list are not among it. */
export function neededVersion(migrations: readonly Migration[]): number {
  return migrations.findLastIndex((migration) => !isContraction(migration)) + 1;
}

/** Whether a newer program has changed tables so that this one can no longer use them. */
export function isTooNew({ floor }: SchemaState, migrations: readonly Migration[]): boolean {
  return floor > migrations.length;
}

/** Whether a program can use tables as they are. */
export function canUse(state: SchemaState, migrations: readonly Migration[]): boolean {
  return state.version >= neededVersion(migrations) && !isTooNew(state, migrations);
}

/** What a start does. No earlier program needs anything of tables that are not there yet. */
function planUp(state: SchemaState, migrations: readonly Migration[]): MigrationPlan {
  if (state.version === NO_TABLES.version) return planContraction(state, migrations);
  return planTo(Math.max(state.version, neededVersion(migrations)), state, migrations);
}

/** What `migrate contract` does: everything that is left. */
function planContraction(state: SchemaState, migrations: readonly Migration[]): MigrationPlan {
  return planTo(Math.max(state.version, migrations.length), state, migrations);
}

/** Undoes expansions, the last one first, until the version is reached or the next one cannot be undone. */
function planDown(version: number, state: SchemaState, migrations: readonly Migration[]): MigrationPlan {
  // Of the expansions of a newer program, this one does not know how to undo them.
  const isKnown = state.version <= migrations.length;
  const applied = isKnown ? migrations.slice(Math.max(state.floor, version), state.version) : [];
  const scripts = applied.map((migration) => (isExpansion(migration) ? migration.down : undefined)).reverse();
  const end = scripts.indexOf(undefined);
  const undone = (end === -1 ? scripts : scripts.slice(0, end)).filter((script) => script !== undefined);
  return {
    scripts: undone,
    state: { ...state, version: state.version - undone.length },
    isExpansion: false,
  };
}

function planTo(version: number, state: SchemaState, migrations: readonly Migration[]): MigrationPlan {
  const missing = migrations.slice(state.version, version);
  const last = missing.findLastIndex((migration) => !isExpansion(migration));
  return {
    scripts: missing.map(scriptOf),
    state: { version, floor: last === -1 ? state.floor : state.version + last + 1 },
    isExpansion: missing.every(isExpansion),
  };
}

/** The SQL that applies a migration. */
export function scriptOf(migration: Migration): string {
  if (typeof migration === 'string') return migration;
  return isExpansion(migration) ? migration.expand : migration.contract;
}

function isExpansion(migration: Migration): migration is Extract<Migration, { readonly expand: string }> {
  return typeof migration === 'object' && 'expand' in migration;
}

function isContraction(migration: Migration): boolean {
  return typeof migration === 'object' && 'contract' in migration;
}

/** `up`: what a start does. `downTo`: undoes expansions back to this version. */
export type MigrationDirection = 'up' | 'contract' | { readonly downTo: number };

/** What a migration would do (ADR 78). */
export function migrationPlan(
  direction: MigrationDirection,
  state: SchemaState,
  migrations: readonly Migration[],
): MigrationPlan {
  if (direction === 'up') return planUp(state, migrations);
  if (direction === 'contract') return planContraction(state, migrations);
  return planDown(direction.downTo, state, migrations);
}
