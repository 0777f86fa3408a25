/** What the store needs of a pool: `Pool` of `pg` fits, and whatever is made in its likeness. */
export interface PostgresPool {
  /**
   * Calls back in the moment in which the pool lets go of a connection: one that is lost says so to whoever listens, and
   * a promise would be heard too late.
   */
  connect(callback: (error: Error | undefined, client: PostgresClient | undefined) => void): void;
}

/** A connection that is ours until it is released. */
export interface PostgresClient {
  /** Set where statements may be sent before the former ones are answered (`pg`: `new Pool({ pipeline: true })`). */
  readonly pipeline?: boolean;
  query(query: PostgresQuery): Promise<PostgresResult>;
  /** @param destroy closes the connection instead of keeping it for others */
  release(destroy?: boolean): void;
  on(event: 'notice', listener: (notice: PostgresNotice) => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'notice', listener: (notice: PostgresNotice) => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
}

export interface PostgresQuery {
  /** Prepared once for each connection under this name; absent where it is not prepared. */
  name?: string;
  text: string;
  values?: unknown[];
  types?: PostgresTypes;
}

/** How values come out of their text; asked for each column by the object identifier of its type. */
export interface PostgresTypes {
  getTypeParser(oid: number): (text: string) => unknown;
}

export interface PostgresResult {
  readonly rows: readonly unknown[];
  readonly rowCount: number | null;
  readonly command: string;
}

export interface PostgresNotice {
  /** SQLSTATE. */
  readonly code?: string | undefined;
  readonly message?: string | undefined;
}

const BOOLEAN = 16;
const INTEGERS: ReadonlySet<number> = new Set([20, 21, 23]);

/** The types of our own columns, whatever else the pool has been taught for them. */
export const TYPES: PostgresTypes = {
  getTypeParser(oid) {
    if (INTEGERS.has(oid)) return Number;
    return oid === BOOLEAN ? (text) => text === 't' : String;
  },
};
