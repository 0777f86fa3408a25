import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { prepareAll, type Reads } from './connection.ts';
import { type Corruption, type FileChecks, fileChecks } from './corruption.ts';

const READ_SQL = {
  begin: 'BEGIN',
  // Changes with every commit of another connection; the first read of a transaction, so that it is of its snapshot.
  version: 'PRAGMA data_version',
  end: 'COMMIT',
};

interface QueuedRead {
  readonly answer: () => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * The look-ups of one handle. To take SQLite's read lock and to give it back costs more than to find a row, so those of
 * one turn of the event loop share a transaction. It begins after the turn's requests have arrived, so that each sees
 * whatever was committed before it was sent.
 *
 * A transaction begins and ends within one turn, as those of the `WriteQueue` do.
 */
export class ReadQueue implements Reads {
  readonly #sql: Readonly<Record<keyof typeof READ_SQL, StatementSync>>;
  readonly #database: DatabaseSync;
  readonly #ownCommits: () => number;
  readonly #corruption: Corruption;
  readonly #requireSameSchema: () => void;
  #waiting: QueuedRead[] = [];
  #version = '';
  #stateNumber = 0;

  /**
   * @param ownCommits how many the same connection has made, which its own version does not count
   * @param given what the queue checks
   */
  constructor(database: DatabaseSync, ownCommits: () => number, given: FileChecks = {}) {
    const { corruption, requireSameSchema } = fileChecks(database, given);
    this.#corruption = corruption;
    this.#database = database;
    this.#ownCommits = ownCommits;
    this.#requireSameSchema = requireSameSchema;
    this.#sql = prepareAll(database, READ_SQL);
  }

  read<T>(look: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const answer = () => {
        try {
          resolve(look());
        } catch (error) {
          this.#corruption.learn(error);
          reject(error);
        }
      };
      if (this.#waiting.push({ answer, reject }) === 1) setImmediate(this.#answerAll);
    });
  }

  get stateNumber(): number {
    return this.#stateNumber;
  }

  readonly #answerAll = (): void => {
    const reads = this.#waiting;
    this.#waiting = [];
    try {
      this.#corruption.requireNone();
      this.#sql.begin.run();
      this.#followState();
      for (const { answer } of reads) answer();
      this.#sql.end.run();
    } catch (error) {
      this.#corruption.learn(error);
      for (const { reject } of reads) reject(error);
      if (this.#database.isOpen && this.#database.isTransaction) this.#database.exec('ROLLBACK');
    }
  };

  #followState(): void {
    const version = `${this.#sql.version.get()?.data_version} ${this.#ownCommits()}`;
    if (version === this.#version) return;
    this.#requireSameSchema();
    this.#stateNumber += 1;
    this.#version = version;
  }
}
