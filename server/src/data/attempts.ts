import { MAX_SKEW_MS } from './deletion_limit.ts';
import { personAct } from './people.ts';
import {
  type GatheredWrite,
  type GatheredWrites,
  type ProgramTables,
  recorded,
  statement,
  type TableCall,
  table,
} from './tables.ts';

/**
 * Sign-in attempts per time window, by opaque keys. Every method rejects with a `StorageFault` if the database does not
 * answer.
 */
export interface Attempts {
  /**
   * Counts an attempt under several keys, each in its current window or a new one, up to the first that has reached its
   * limit. Atomic: concurrent attempts all count.
   * @returns for each counted key the number of attempts in the window, and when the window ends
   */
  count(keys: readonly CountedKey[], nowMs: number): Promise<readonly AttemptsOfWindow[]>;
  /** The current windows of all keys that begin with the digest of a name and a period. */
  ofName(nameDigest: string, nowMs: number): Promise<readonly AttemptsOfWindow[]>;
  /**
   * Forgets all keys that begin with one of the digests and a period.
   * @param subject the user whom the event is about, if there was any key
   */
  forgetNames(nameDigests: readonly string[], subject: string): Promise<void>;
  /** Subtracts an attempt from some keys, and forgets others, in one write. */
  end(keys: EndedKeys): Promise<void>;
  /**
   * As `end`, in one write with what other requests store within some milliseconds (ADR 212). What is taken back is counted
   * before what is forgotten. That has at most eight keys, and ends with the one that is counted last.
   */
  endSoon(keys: EndedKeys): Promise<void>;
}

/**
 * The time by which counts of attempts and keys of requests end: that of a process, unless it is wrong (ADR 230). A
 * `ClockWatch` says what it is compared with.
 */
export class SharedTime {
  /** The reference, less the monotonic clock. Nothing was compared yet. */
  #offsetMs = Number.NaN;
  #mostBehindMs = 0;
  readonly #clock: () => number;
  readonly #monotonic: () => number;

  constructor(clock: () => number = Date.now, monotonic: () => number = () => performance.now()) {
    this.#clock = clock;
    this.#monotonic = monotonic;
  }

  /** @param isNow whether the reference also tells that a clock is behind */
  compare(offsetMs: number, isNow: boolean): void {
    this.#offsetMs = offsetMs;
    this.#mostBehindMs = isNow ? MAX_SKEW_MS : Number.POSITIVE_INFINITY;
  }

  readonly now = (nowMs = this.#clock()): number => {
    const aheadMs = nowMs - this.#offsetMs - this.#monotonic();
    return aheadMs > MAX_SKEW_MS || aheadMs < -this.#mostBehindMs ? Math.floor(nowMs - aheadMs) : nowMs;
  };
}

interface EndedKeys {
  readonly takenBack: readonly string[];
  readonly forgotten: readonly string[];
}

/** A key with its limit. */
export interface CountedKey {
  readonly keyDigest: string;
  /** The attempts that a window allows. */
  readonly attempts: number;
  readonly windowMs: number;
  /** The user whom the attempts are for, by which lists find locked users. */
  readonly triedSubject?: string;
}

interface AttemptsOfWindow {
  readonly attempts: number;
  readonly endsAtMs: number;
}

export const ATTEMPTS = table(
  'sign_in_attempts',
  { integer: 'attempts ends_at_ms' },
  { text: 'key_digest subject', integer: 'most' },
);

/**
 * Counts nothing if an earlier key has reached its limit.
 * @param earlier how many keys the same transaction has counted before
 */
export function countSql(earlier: number): string {
  const conditions = Array.from(
    { length: earlier },
    (_, index) => ` AND NOT EXISTS (
        SELECT 1 FROM grantd.sign_in_attempts AS b
        WHERE b.issuer = :issuer AND b.key_digest = :key${index} AND b.attempts > :most${index})`,
  );
  return `
    INSERT INTO grantd.sign_in_attempts AS a (issuer, key_digest, subject, most, attempts, ends_at_ms)
    SELECT :issuer, :keyDigest, CAST(:triedSubject AS text), CAST(:most AS bigint), 1, CAST(:endsAtMs AS bigint)
    WHERE TRUE${conditions.join('')}
    ON CONFLICT (issuer, key_digest) DO UPDATE SET subject = excluded.subject, most = excluded.most,
      attempts = CASE WHEN a.ends_at_ms <= :nowMs THEN 1 ELSE a.attempts + 1 END,
      ends_at_ms = CASE WHEN a.ends_at_ms <= :nowMs THEN excluded.ends_at_ms ELSE a.ends_at_ms END
    RETURNING attempts, ends_at_ms`;
}

/** More than one sign-in counts. */
const MAX_KEYS = 10;

const COUNTS: readonly ((values: Readonly<Record<string, string | number>>) => TableCall)[] = Array.from(
  { length: MAX_KEYS },
  (_, earlier) => statement(countSql(earlier)),
);

function refuseKeys(): never {
  throw new RangeError(`expected at most ${MAX_KEYS} keys`);
}

/** A range of the primary key: `/` is the character after `.`. @param name of the parameter with the digest */
function ofName<const N extends string>(name: N) {
  return `(key_digest >= :${name} || '.' AND key_digest < :${name} || '/')` as const;
}

const SQL = ATTEMPTS.statements({
  takeBack: `
    UPDATE grantd.sign_in_attempts SET attempts = attempts - 1
    WHERE issuer = :issuer AND key_digest = :keyDigest AND attempts > 0`,
  forget: 'DELETE FROM grantd.sign_in_attempts WHERE issuer = :issuer AND key_digest = :keyDigest',
  ofName: `
    SELECT ${ATTEMPTS.list} FROM grantd.sign_in_attempts
    WHERE issuer = :issuer AND ${ofName('nameDigest')} AND ends_at_ms > :nowMs`,
});

function forgetNames(digests: readonly string[]): TableCall {
  const names = digests.map((_, index) => `name${index}`);
  const sql = `
    DELETE FROM grantd.sign_in_attempts WHERE issuer = :issuer AND (${names.map(ofName).join(' OR ')})
    RETURNING key_digest`;
  return ATTEMPTS.dynamic(sql, Object.fromEntries(names.map((name, index) => [name, digests[index]])));
}

export function attemptsTable(tables: ProgramTables, gathered: GatheredWrites): Attempts {
  // As attempts are counted: an address comes first (0), and the user last (8).
  const endOf = ({ takenBack, forgotten: { length }, forgotten }: EndedKeys): readonly GatheredWrite[] => [
    ...takenBack.map((keyDigest): GatheredWrite => [`0${keyDigest}`, SQL.takeBack({ keyDigest })]),
    ...forgotten.map((key, at): GatheredWrite => [9 + at - length + key, SQL.forget({ keyDigest: key })]),
  ];
  return {
    async count(keys, nowMs) {
      const earlier: Record<string, string | number> = {};
      const calls = keys.map(({ keyDigest, triedSubject = '', attempts: most, windowMs }, at): TableCall => {
        const count = COUNTS[at] ?? refuseKeys();
        Object.assign(earlier, { [`key${at}`]: keyDigest, [`most${at}`]: most });
        return count({ ...earlier, keyDigest, triedSubject, most, nowMs, endsAtMs: nowMs + windowMs });
      });
      return (await tables.write(...calls)).flat().map(ATTEMPTS.recordOf);
    },
    ofName: (nameDigest, nowMs) => tables.list(SQL.ofName({ nameDigest, nowMs }), ATTEMPTS.recordOf),
    forgetNames: (nameDigests, subject) =>
      tables.run(recorded(forgetNames(nameDigests), personAct('person_unlocked', subject))),
    end: (keys) => tables.run(...endOf(keys).map(([, call]) => call)),
    endSoon: (keys) => gathered.add(...endOf(keys)),
  };
}
