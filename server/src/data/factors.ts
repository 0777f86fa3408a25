import { MULTI_FACTOR, PASSWORD, PHISHING_RESISTANT } from '../config/acr.ts';
import { type Notice, noticeCalls } from './mails.ts';
import { personAct } from './people.ts';
import { type ProgramSecret, seal, unseal } from './secrets.ts';
import { type ProgramTables, recorded, type TableCall, type TableRow } from './tables.ts';
import { hasWay, type WaysToSignIn } from './ways_to_sign_in.ts';

/** A passkey (WebAuthn §4, discoverable credential) of a user. */
export interface Passkey {
  /** The credential ID, as base64url. */
  readonly id: string;
  readonly subject: string;
  /** The COSE public key, as base64url. */
  readonly publicKey: string;
  /** The last signature counter. Stays 0 for passkeys without a counter. */
  readonly counter: number;
  /** How browsers reach the authenticator, such as `internal` and `hybrid`. */
  readonly transports: readonly string[];
  /** Whether a copy exists on other devices or in the cloud. */
  readonly isBackedUp: boolean;
  /** The user’s name for it. */
  readonly name: string;
  readonly createdAtMs: number;
  readonly lastUsedAtMs: number | undefined;
  /** When it begins to count, if it was added with a recovery code; otherwise 0. */
  readonly countsFromMs: number;
}

/** The factors of a user besides the password. */
export interface FactorsOfPerson {
  readonly passkeys: number;
  readonly hasTotp: boolean;
  readonly recoveryCodes: number;
  /** When the first passkey begins to count; `undefined` without passkeys. */
  readonly passkeysCountFromMs: number | undefined;
  /** When the app begins to count; `undefined` without one. */
  readonly totpCountsFromMs: number | undefined;
  /** The level that the factors reached before a user with a recovery code changed some, and until when it is needed. */
  readonly held: { readonly level: number; readonly untilMs: number };
}

export const NO_FACTORS: FactorsOfPerson = {
  passkeys: 0,
  hasTotp: false,
  recoveryCodes: 0,
  passkeysCountFromMs: undefined,
  totpCountsFromMs: undefined,
  held: { level: 0, untilMs: 0 },
};

/** The secret of an authenticator app, sealed. */
export interface StoredTotp {
  readonly sealed: string;
  readonly createdAtMs: number;
  /** As of a passkey. */
  readonly countsFromMs: number;
}

/** A change by a user who has signed in with a recovery code. */
export interface Hold {
  readonly nowMs: number;
  /** Until then, the user needs the level that their factors reach at the change. */
  readonly untilMs: number;
}

/** A recovery code as it is stored. */
export interface StoredRecoveryCode {
  readonly digest: string;
  /** Only until the user has saved the codes. */
  readonly sealed: string;
}

/** The sealed secret of a user’s authenticator app. */
export interface SealedTotp {
  readonly subject: string;
  readonly sealed: string;
}

/** Maximum passkeys per user. */
export const MAX_PASSKEYS = 20;

/**
 * The factors of the users of one issuer. Every method rejects with a `StorageFault` if the database does not answer. A
 * `notice` is queued in the transaction of the change, if the change takes place.
 */
export interface Factors {
  of(subject: string): Promise<FactorsOfPerson>;

  /** Whether any user has a passkey. */
  hasPasskeys(): Promise<boolean>;
  /** Oldest first. */
  passkeysOf(subject: string): Promise<readonly Passkey[]>;
  passkey(id: string): Promise<Passkey | undefined>;
  /** @returns `false` if the user has too many, was removed, or the credential ID is taken */
  addPasskey(passkey: Passkey, notice?: Notice): Promise<boolean>;
  /**
   * Records a use. Compare-and-set on the counter, which must grow unless the passkey has none (WebAuthn §7.2).
   * @returns `false` if the passkey was removed or the counter did not grow
   */
  usePasskey(
    id: string,
    use: { readonly counter: number; readonly isBackedUp: boolean; readonly nowMs: number },
  ): Promise<boolean>;
  /**
   * Removes a passkey, if the user has another way to sign in. Recovery codes end with the last other factor.
   * @param ways which ways count
   * @returns `false` if it was not removed
   */
  removePasskey(
    subject: string,
    id: string,
    ways: WaysToSignIn,
    notice?: Notice,
    hold?: Hold,
  ): Promise<boolean>;

  totpOf(subject: string): Promise<StoredTotp | undefined>;
  /**
   * @param step the time step of the code that confirmed it
   * @returns `false` if the user has one or was removed
   */
  addTotp(subject: string, totp: StoredTotp, step: number, notice?: Notice): Promise<boolean>;
  /**
   * Accepts the code of a time step. Compare-and-set: each step, and all before it, count once (RFC 6238 §5.2).
   * @returns `false` if the step was used or the app was removed
   */
  useTotp(subject: string, totp: StoredTotp, step: number): Promise<boolean>;
  /** Recovery codes end with the last other factor. @returns `false` if the user has none */
  removeTotp(subject: string, notice?: Notice, hold?: Hold): Promise<boolean>;
  /** The sealed secrets of all users, for the rotation of the server’s secret. */
  sealedTotps(): Promise<readonly SealedTotp[]>;
  /** Replaces sealed secrets, except those that have changed in the meantime. */
  resealTotps(resealed: readonly (SealedTotp & { readonly replacement: string })[]): Promise<void>;

  /** Replaces all recovery codes. @returns `false` if the user has no other factor */
  setRecoveryCodes(
    subject: string,
    codes: readonly StoredRecoveryCode[],
    nowMs: number,
    notice?: Notice,
  ): Promise<boolean>;
  /** The sealed codes, until the user has saved them. */
  unsavedCodesOf(subject: string): Promise<readonly string[]>;
  /** Forgets the sealed codes. */
  codesSaved(subject: string): Promise<void>;
  /** Uses up a recovery code. A user who has one has saved them. @returns `false` if it does not exist or was used */
  useRecoveryCode(subject: string, digest: string): Promise<boolean>;

  /** Lets factors count that were added with a recovery code. @returns whether the user had waited for any */
  confirm(subject: string, nowMs: number): Promise<boolean>;

  /** Deletes all factors of a user. @returns whether there were any */
  reset(subject: string, notice?: Notice): Promise<boolean>;
}

const PASSKEY_COLUMNS =
  'id, subject, public_key, counter, transports, is_backed_up, name, created_at_ms, last_used_at_ms, counts_from_ms';

const HAS_OTHER = `
  (EXISTS (SELECT 1 FROM grantd.passkeys WHERE issuer = $1 AND subject = $2)
    OR EXISTS (SELECT 1 FROM grantd.totp_secrets WHERE issuer = $1 AND subject = $2))`;

const SQL = {
  of: `
    SELECT
      (SELECT count(*) FROM grantd.passkeys WHERE issuer = $1 AND subject = $2) AS passkeys,
      (SELECT count(*) FROM grantd.totp_secrets WHERE issuer = $1 AND subject = $2) AS totps,
      (SELECT count(*) FROM grantd.recovery_codes WHERE issuer = $1 AND subject = $2) AS codes,
      (SELECT min(counts_from_ms) FROM grantd.passkeys WHERE issuer = $1 AND subject = $2) AS passkeys_count_from_ms,
      (SELECT counts_from_ms FROM grantd.totp_secrets WHERE issuer = $1 AND subject = $2) AS totp_counts_from_ms,
      (SELECT held_level FROM grantd.people WHERE issuer = $1 AND subject = $2) AS held_level,
      (SELECT held_until_ms FROM grantd.people WHERE issuer = $1 AND subject = $2) AS held_until_ms`,

  hasPasskeys: 'SELECT 1 AS found FROM grantd.passkeys WHERE issuer = $1 LIMIT 1',
  passkeysOf: `
    SELECT ${PASSKEY_COLUMNS} FROM grantd.passkeys WHERE issuer = $1 AND subject = $2 ORDER BY created_at_ms, id`,
  passkey: `SELECT ${PASSKEY_COLUMNS} FROM grantd.passkeys WHERE issuer = $1 AND id = $2`,
  // Blocks concurrent changes of the factors and the removal of the user.
  holdPerson: 'UPDATE grantd.people SET name = name WHERE issuer = $1 AND subject = $2',
  // The highest level of the factors that count, and of an earlier hold.
  holdLevel: `
    UPDATE grantd.people SET held_until_ms = $4, held_level = CASE
      WHEN ${counts('passkeys')} OR (held_until_ms > $3 AND held_level = ${PHISHING_RESISTANT}) THEN ${PHISHING_RESISTANT}
      WHEN ${counts('totp_secrets')} OR (held_until_ms > $3 AND held_level = ${MULTI_FACTOR}) THEN ${MULTI_FACTOR}
      ELSE ${PASSWORD} END
    WHERE issuer = $1 AND subject = $2`,
  endHold: 'UPDATE grantd.people SET held_level = 0, held_until_ms = 0 WHERE issuer = $1 AND subject = $2',
  // Returns the user once, however many factors wait.
  isWaiting: `
    UPDATE grantd.people SET held_level = 0, held_until_ms = 0 WHERE issuer = $1 AND subject = $2
      AND (held_until_ms > $3
        OR EXISTS (SELECT 1 FROM grantd.passkeys WHERE issuer = $1 AND subject = $2 AND counts_from_ms > $3)
        OR EXISTS (SELECT 1 FROM grantd.totp_secrets WHERE issuer = $1 AND subject = $2 AND counts_from_ms > $3))
    RETURNING subject`,
  countPasskeys: 'UPDATE grantd.passkeys SET counts_from_ms = 0 WHERE issuer = $1 AND subject = $2',
  countTotp: 'UPDATE grantd.totp_secrets SET counts_from_ms = 0 WHERE issuer = $1 AND subject = $2',
  holdWithFactors: `
    UPDATE grantd.people SET name = name WHERE issuer = $1 AND subject = $2 AND ${HAS_OTHER} RETURNING subject`,
  addPasskey: `
    INSERT INTO grantd.passkeys (issuer, ${PASSKEY_COLUMNS})
    SELECT issuer, $3, subject, $4, CAST($5 AS bigint), $6, CAST($7 AS bigint), $8, CAST($9 AS bigint), NULL,
      CAST($10 AS bigint)
    FROM grantd.people WHERE issuer = $1 AND subject = $2
      AND (SELECT count(*) FROM grantd.passkeys WHERE issuer = $1 AND subject = $2) < ${MAX_PASSKEYS}
    ON CONFLICT DO NOTHING RETURNING id`,
  usePasskey: `
    UPDATE grantd.passkeys SET counter = $3, is_backed_up = $4, last_used_at_ms = $5
    WHERE issuer = $1 AND id = $2 AND (counter < $3 OR (counter = 0 AND $3 = 0)) RETURNING id`,
  removePasskey: (condition: string) => `
    DELETE FROM grantd.passkeys WHERE issuer = $1 AND subject = $2 AND id = $3
      AND ${condition} RETURNING id`,

  totpOf:
    'SELECT sealed, created_at_ms, counts_from_ms FROM grantd.totp_secrets WHERE issuer = $1 AND subject = $2',
  addTotp: `
    INSERT INTO grantd.totp_secrets (issuer, subject, sealed, last_step, created_at_ms, counts_from_ms)
    SELECT issuer, subject, $3, CAST($4 AS bigint), CAST($5 AS bigint), CAST($6 AS bigint)
    FROM grantd.people WHERE issuer = $1 AND subject = $2
    ON CONFLICT DO NOTHING RETURNING subject`,
  useTotp: `
    UPDATE grantd.totp_secrets SET last_step = $4
    WHERE issuer = $1 AND subject = $2 AND created_at_ms = $3 AND last_step < $4 RETURNING subject`,
  removeTotp: 'DELETE FROM grantd.totp_secrets WHERE issuer = $1 AND subject = $2 RETURNING subject',
  sealedTotps: 'SELECT subject, sealed FROM grantd.totp_secrets WHERE issuer = $1',
  resealTotp: 'UPDATE grantd.totp_secrets SET sealed = $4 WHERE issuer = $1 AND subject = $2 AND sealed = $3',

  removeCodes: 'DELETE FROM grantd.recovery_codes WHERE issuer = $1 AND subject = $2',
  addCode: `
    INSERT INTO grantd.recovery_codes (issuer, subject, code_digest, created_at_ms, sealed)
    SELECT issuer, subject, $3, CAST($4 AS bigint), $5 FROM grantd.people
    WHERE issuer = $1 AND subject = $2 AND ${HAS_OTHER} RETURNING subject`,
  unsavedCodes: `
    SELECT sealed FROM grantd.recovery_codes WHERE issuer = $1 AND subject = $2 AND sealed IS NOT NULL
    ORDER BY code_digest`,
  codesSaved: `
    UPDATE grantd.recovery_codes SET sealed = NULL WHERE issuer = $1 AND subject = $2 AND sealed IS NOT NULL`,
  codesSavedWith: `
    UPDATE grantd.recovery_codes SET sealed = NULL
    WHERE issuer = $1 AND subject = $2 AND sealed IS NOT NULL AND EXISTS (
      SELECT 1 FROM grantd.recovery_codes WHERE issuer = $1 AND subject = $2 AND code_digest = $3)`,
  useCode: `
    DELETE FROM grantd.recovery_codes WHERE issuer = $1 AND subject = $2 AND code_digest = $3 RETURNING subject`,
  removeLoneCodes: `
    DELETE FROM grantd.recovery_codes WHERE issuer = $1 AND subject = $2 AND NOT ${HAS_OTHER}`,

  removePasskeys: 'DELETE FROM grantd.passkeys WHERE issuer = $1 AND subject = $2 RETURNING id',
};

/**
 * Conditions of notices, with the values of `noticeCalls`. Most are checked before the change, which is safe while
 * `holdPerson` blocks the others.
 */
const IS_PERSON = 'EXISTS (SELECT 1 FROM grantd.people WHERE issuer = $1 AND subject = $3)';
const MAY_ADD_PASSKEY = `${IS_PERSON}
  AND NOT EXISTS (SELECT 1 FROM grantd.passkeys WHERE issuer = $1 AND id = $10)
  AND (SELECT count(*) FROM grantd.passkeys WHERE issuer = $1 AND subject = $3) < ${MAX_PASSKEYS}`;
const HAS_PASSKEY = 'EXISTS (SELECT 1 FROM grantd.passkeys WHERE issuer = $1 AND subject = $3';
const HAS_TOTP = 'EXISTS (SELECT 1 FROM grantd.totp_secrets WHERE issuer = $1 AND subject = $3';
const HAS_CODE = 'EXISTS (SELECT 1 FROM grantd.recovery_codes WHERE issuer = $1 AND subject = $3';

/** The condition that a user has a factor in a table that counts at `$3`. */
function counts(table: 'passkeys' | 'totp_secrets'): string {
  return `EXISTS (SELECT 1 FROM grantd.${table} WHERE issuer = $1 AND subject = $2 AND counts_from_ms <= $3)`;
}

/** Of an addition, so that no time remains between the end of an earlier hold and the new factor. */
function holdUntilItCounts({
  createdAtMs: nowMs,
  countsFromMs: untilMs,
}: Pick<StoredTotp, 'createdAtMs' | 'countsFromMs'>): Hold | undefined {
  return untilMs === 0 ? undefined : { nowMs, untilMs };
}

/** Belongs before the change, in its transaction. */
function holdCalls(issuer: string, subject: string, hold: Hold | undefined): readonly TableCall[] {
  return hold === undefined ? [] : [[SQL.holdLevel, issuer, subject, hold.nowMs, hold.untilMs]];
}

function numberOf(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}

export function factorsTable(tables: ProgramTables, issuer: string): Factors {
  const isOne = (rows: readonly TableRow[] | undefined): boolean => rows?.length === 1;
  return {
    async of(subject) {
      const [row] = await tables.read(SQL.of, issuer, subject);
      return {
        passkeys: Number(row?.passkeys),
        hasTotp: Number(row?.totps) > 0,
        recoveryCodes: Number(row?.codes),
        passkeysCountFromMs: numberOf(row?.passkeys_count_from_ms),
        totpCountsFromMs: numberOf(row?.totp_counts_from_ms),
        held: { level: numberOf(row?.held_level) ?? 0, untilMs: numberOf(row?.held_until_ms) ?? 0 },
      };
    },
    hasPasskeys: async () => (await tables.read(SQL.hasPasskeys, issuer)).length > 0,
    passkeysOf: async (subject) => (await tables.read(SQL.passkeysOf, issuer, subject)).map(passkeyOf),
    async passkey(id) {
      const [row] = await tables.read(SQL.passkey, issuer, id);
      return row && passkeyOf(row);
    },
    async addPasskey(passkey, notice) {
      const { id, subject, publicKey, counter, transports, isBackedUp, name, createdAtMs } = passkey;
      const state = [counter, transports.join(' '), isBackedUp ? 1 : 0];
      const values = [publicKey, ...state, name, createdAtMs, passkey.countsFromMs];
      const additions = await tables.write(
        [SQL.holdPerson, issuer, subject],
        ...holdCalls(issuer, subject, holdUntilItCounts(passkey)),
        ...noticeCalls(issuer, notice, MAY_ADD_PASSKEY, id),
        recorded([SQL.addPasskey, issuer, subject, id, ...values], {
          ...personAct('person_factor_added', subject),
          reason: 'passkey',
        }),
      );
      return isOne(additions.at(-1));
    },
    async usePasskey(id, { counter, isBackedUp, nowMs }) {
      const [used] = await tables.write([SQL.usePasskey, issuer, id, counter, isBackedUp ? 1 : 0, nowMs]);
      return isOne(used);
    },
    async removePasskey(subject, id, ways, notice, hold) {
      const condition = (user: string, removed: string, firstLink: number) =>
        hasWay(ways, { subject: user, removed, firstLink });
      const { links } = ways;
      const removals = await tables.write(
        [SQL.holdPerson, issuer, subject],
        ...holdCalls(issuer, subject, hold),
        ...noticeCalls(
          issuer,
          notice,
          `${HAS_PASSKEY} AND id = $10) AND ${condition('$3', '$10', 11)}`,
          id,
          ...links,
        ),
        recorded([SQL.removePasskey(condition('$2', '$3', 4)), issuer, subject, id, ...links], {
          ...personAct('person_factor_removed', subject),
          reason: 'passkey',
        }),
        [SQL.removeLoneCodes, issuer, subject],
      );
      return isOne(removals.at(-2));
    },
    async totpOf(subject) {
      const [row] = await tables.read(SQL.totpOf, issuer, subject);
      if (row === undefined) return undefined;
      const countsFromMs = Number(row.counts_from_ms);
      return { sealed: String(row.sealed), createdAtMs: Number(row.created_at_ms), countsFromMs };
    },
    async addTotp(subject, { sealed, createdAtMs, countsFromMs }, step, notice) {
      const additions = await tables.write(
        [SQL.holdPerson, issuer, subject],
        ...holdCalls(issuer, subject, holdUntilItCounts({ createdAtMs, countsFromMs })),
        ...noticeCalls(issuer, notice, `${IS_PERSON} AND NOT ${HAS_TOTP})`),
        recorded([SQL.addTotp, issuer, subject, sealed, step, createdAtMs, countsFromMs], {
          ...personAct('person_factor_added', subject),
          reason: 'authenticator_app',
        }),
      );
      return isOne(additions.at(-1));
    },
    async useTotp(subject, { createdAtMs }, step) {
      const [used] = await tables.write([SQL.useTotp, issuer, subject, createdAtMs, step]);
      return isOne(used);
    },
    async removeTotp(subject, notice, hold) {
      const removals = await tables.write(
        [SQL.holdPerson, issuer, subject],
        ...holdCalls(issuer, subject, hold),
        ...noticeCalls(issuer, notice, `${HAS_TOTP})`),
        recorded([SQL.removeTotp, issuer, subject], {
          ...personAct('person_factor_removed', subject),
          reason: 'authenticator_app',
        }),
        [SQL.removeLoneCodes, issuer, subject],
      );
      return isOne(removals.at(-2));
    },
    async sealedTotps() {
      const rows = await tables.read(SQL.sealedTotps, issuer);
      return rows.map(({ subject, sealed }) => ({ subject: String(subject), sealed: String(sealed) }));
    },
    async resealTotps(resealed) {
      await tables.write(
        ...resealed.map(
          ({ subject, sealed, replacement }) =>
            [SQL.resealTotp, issuer, subject, sealed, replacement] as const,
        ),
      );
    },
    async setRecoveryCodes(subject, codes, nowMs, notice) {
      const [, , first] = await tables.write(
        [SQL.holdPerson, issuer, subject],
        [SQL.removeCodes, issuer, subject],
        ...codes.map(({ digest, sealed }, index) => {
          const add = [SQL.addCode, issuer, subject, digest, nowMs, sealed] as const;
          return index === 0 ? recorded(add, personAct('person_recovery_codes_made', subject)) : add;
        }),
        ...noticeCalls(issuer, notice, `${HAS_CODE} AND code_digest = $10)`, codes[0]?.digest ?? ''),
      );
      return isOne(first);
    },
    async unsavedCodesOf(subject) {
      const rows = await tables.read(SQL.unsavedCodes, issuer, subject);
      return rows.map(({ sealed }) => String(sealed));
    },
    async codesSaved(subject) {
      await tables.write([SQL.codesSaved, issuer, subject]);
    },
    async useRecoveryCode(subject, digest) {
      const [, used] = await tables.write(
        [SQL.codesSavedWith, issuer, subject, digest],
        recorded([SQL.useCode, issuer, subject, digest], personAct('person_recovery_code_used', subject)),
      );
      return isOne(used);
    },
    async confirm(subject, nowMs) {
      const [, confirmed] = await tables.write(
        [SQL.holdPerson, issuer, subject],
        recorded([SQL.isWaiting, issuer, subject, nowMs], personAct('person_factors_confirmed', subject)),
        [SQL.countPasskeys, issuer, subject],
        [SQL.countTotp, issuer, subject],
      );
      return isOne(confirmed);
    },
    async reset(subject, notice) {
      const removals = await tables.write(
        [SQL.endHold, issuer, subject],
        recorded([SQL.holdWithFactors, issuer, subject], personAct('person_factors_reset', subject)),
        ...noticeCalls(issuer, notice, `(${HAS_PASSKEY}) OR ${HAS_TOTP}))`),
        [SQL.removePasskeys, issuer, subject],
        [SQL.removeTotp, issuer, subject],
        [SQL.removeCodes, issuer, subject],
      );
      return removals.slice(-3, -1).some((rows) => rows.length > 0);
    },
  };
}

/** What the sealed secrets of a user are bound to, so that they cannot be moved to another user. */
export function factorBinding(issuer: string, subject: string): string {
  return JSON.stringify([issuer, subject]);
}

/**
 * How many secrets of apps are sealed under each server secret, by its index. `-1` stands for secrets that are no longer
 * in the list.
 */
export async function sealsOfTotps(
  factors: Pick<Factors, 'sealedTotps'>,
  secret: ProgramSecret,
  issuer: string,
): Promise<ReadonlyMap<number, number>> {
  const keys = await secret.keys('totp_secret');
  const counts = new Map<number, number>();
  for (const { subject, sealed } of await factors.sealedTotps()) {
    const binding = factorBinding(issuer, subject);
    const index = keys.findIndex((key) => unseal(key, sealed, binding) !== undefined);
    counts.set(index, (counts.get(index) ?? 0) + 1);
  }
  return counts;
}

const RESEAL_BATCH = 200;

/** Seals the secrets of apps under the first server secret, so that the others can be dropped. */
export async function resealTotps(
  factors: Pick<Factors, 'sealedTotps' | 'resealTotps'>,
  secret: ProgramSecret,
  issuer: string,
): Promise<void> {
  const [newest, ...older] = await secret.keys('totp_secret');
  if (newest === undefined || older.length === 0) return;
  const resealed = (await factors.sealedTotps()).flatMap(({ subject, sealed }) => {
    const binding = factorBinding(issuer, subject);
    if (unseal(newest, sealed, binding) !== undefined) return [];
    const opened = older.map((key) => unseal(key, sealed, binding)).find((one) => one !== undefined);
    return opened === undefined ? [] : [{ subject, sealed, replacement: seal(newest, opened, binding) }];
  });
  for (let at = 0; at < resealed.length; at += RESEAL_BATCH)
    await factors.resealTotps(resealed.slice(at, at + RESEAL_BATCH));
}

function passkeyOf(row: TableRow): Passkey {
  const transports = String(row.transports);
  return {
    id: String(row.id),
    subject: String(row.subject),
    publicKey: String(row.public_key),
    counter: Number(row.counter),
    transports: transports === '' ? [] : transports.split(' '),
    isBackedUp: Number(row.is_backed_up) === 1,
    name: String(row.name),
    createdAtMs: Number(row.created_at_ms),
    lastUsedAtMs: numberOf(row.last_used_at_ms),
    countsFromMs: Number(row.counts_from_ms),
  };
}
