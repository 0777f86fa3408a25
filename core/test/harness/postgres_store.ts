import { randomUUID } from 'node:crypto';
import type { AdministrableStorage } from '@grantd/core';
import { openPostgresStorage, type PostgresStorageOptions } from '@grantd/core/postgres';
import { Client, Pool, type PoolConfig } from 'pg';

interface StoresOptions extends PoolConfig {
  /**
   * Every store lets PostgreSQL parse all its statements when it opens, which takes longer than most tests. With this
   * option, only the first store does so.
   */
  readonly checksTablesOnce?: boolean;
}

/** The first statement of that check. */
const CHECK = /^PREPARE grantd_reading_/;

/** @returns a client for pools, whose connections send the check of the tables only once */
function onceCheckedClient(): typeof Client {
  let isChecked = false;
  return class extends Client {
    override query(...given: readonly unknown[]) {
      const [query] = given;
      const isCheck =
        typeof query === 'object' && query !== null && 'text' in query && CHECK.test(String(query.text));
      if (isCheck && isChecked) return Promise.resolve({ rows: [], rowCount: 0 });
      isChecked ||= isCheck;
      return Reflect.apply(super.query, this, given);
    }
  };
}

/** Stores over one database, with separate records per issuer. */
export class PostgresStores {
  readonly pool: Pool;
  readonly #issuers = new Map<AdministrableStorage, string>();

  constructor(url: string, { checksTablesOnce, ...options }: StoresOptions = {}) {
    const client = checksTablesOnce === true ? { Client: onceCheckedClient() } : {};
    this.pool = new Pool({ connectionString: url, pipeline: true, ...client, ...options });
    // A broken idle connection is reported here and replaced.
    this.pool.on('error', () => {});
  }

  /** A store without records, unless the issuer has some. */
  async open(options: Partial<PostgresStorageOptions> = {}): Promise<AdministrableStorage> {
    const issuer = options.issuer ?? `https://${randomUUID()}.example`;
    // Generous limits, because a machine that runs many tests at once is slow. Tests of deadlines set their own.
    const patience = { connectionTimeoutMs: 30_000, statementTimeoutMs: 30_000 };
    const storage = await openPostgresStorage({ pool: this.pool, issuer, ...patience, ...options });
    this.#issuers.set(storage, issuer);
    return storage;
  }

  /** A second handle on a store's records. */
  openAnother(storage: AdministrableStorage, options: Partial<PostgresStorageOptions> = {}) {
    return this.open({ ...options, issuer: this.issuerOf(storage) });
  }

  issuerOf(storage: AdministrableStorage): string {
    const issuer = this.#issuers.get(storage);
    if (issuer === undefined) throw new Error('that store was opened elsewhere');
    return issuer;
  }

  async end(): Promise<void> {
    await this.pool.end();
  }
}
