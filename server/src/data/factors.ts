import type { ActType } from '@grantd/core';
import { MULTI_FACTOR, PASSWORD, PHISHING_RESISTANT } from '../config/acr.ts';
import { type Notice, noticeCalls } from './mails.ts';
import { personAct } from './people.ts';
import { type ProgramSecret, seal, unseal } from './secrets.ts';
import { asRow, type ProgramTables, recorded, statements, type TableCall, table } from './tables.ts';
import { type ANY_WAY, mayRemove, type WaysToSignIn } from './ways_to_sign_in.ts';

/** A passkey (WebAuthn §4, discoverable credential) of a user, or a security key, which only follows a password (ADR 192). */
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
  /** Whether it need not verify its user, and is only a second step. */
  readonly isSecurityKey: boolean;
  /** The user’s name for it. */
  readonly name: string;
  readonly createdAtMs: number;
  readonly lastUsedAtMs?: number | undefined;
  /** When it begins to count, if it was added with a recovery code; otherwise 0. */
  readonly countsFromMs: number;
}

/** The factors of a user besides the password. */
export interface FactorsOfPerson {
  /** Also security keys. */
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

/** The `reason` of events about a factor. */
export type FactorKind = 'passkey' | 'security_key' | 'authenticator_app' | 'recovery_codes';

/** Maximum passkeys and security keys per user. */
export const MAX_PASSKEYS = 20;

/**
 * The factors of the users of one issuer. Every method rejects with a `StorageFault` if the database does not answer. A
 * `notice` is queued in the transaction of the change, if the change takes place.
 */
export interface Factors {
  of(subject: string): Promise<FactorsOfPerson>;

  /** Whether any user has a passkey that is a sign-in of its own. */
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
   * @param ways which ways count. With `ANY_WAY`, the user need not keep one
   * @returns `false` if it was not removed
   */
  removePasskey(
    subject: string,
    id: string,
    ways: WaysToSignIn | typeof ANY_WAY,
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
  /** @returns `false` if the user has none */
  removeRecoveryCodes(subject: string, notice?: Notice): Promise<boolean>;
  /** Uses up a recovery code. A user who has one has saved them. @returns `false` if it does not exist or was used */
  useRecoveryCode(subject: string, digest: string): Promise<boolean>;

  /** Lets factors count that were added with a recovery code. @returns whether the user had waited for any */
  confirm(subject: string, nowMs: number): Promise<boolean>;

  /** Deletes all factors of a user. @returns whether there were any */
  reset(subject: string, notice?: Notice): Promise<boolean>;
}

export const PASSKEYS = table('passkeys', {
  text: 'id subject public_key name',
  integer: 'counter created_at_ms counts_from_ms',
  words: 'transports',
  bit: 'is_backed_up is_security_key',
  'integer?': 'last_used_at_ms',
});

export const TOTPS = table(
  'totp_secrets',
  { text: 'sealed', integer: 'created_at_ms counts_from_ms' },
  { text: 'subject', integer: 'last_step' },
);

export const CODES = table(
  'recovery_codes',
  { text: 'code_digest', 'text?': 'sealed' },
  { text: 'subject', integer: 'created_at_ms' },
);

const OF_PERSON = 'issuer = :issuer AND subject = :subject';

/** A part of a condition: a row of the user. More of the condition can follow before the bracket. */
const PERSON = `EXISTS (SELECT 1 FROM grantd.people WHERE ${OF_PERSON}` as const;
const PASSKEY = `EXISTS (SELECT 1 FROM grantd.passkeys WHERE ${OF_PERSON}` as const;
const TOTP = `EXISTS (SELECT 1 FROM grantd.totp_secrets WHERE ${OF_PERSON}` as const;
const CODE = `EXISTS (SELECT 1 FROM grantd.recovery_codes WHERE ${OF_PERSON}` as const;

const HAS_OTHER = `(${PASSKEY}) OR ${TOTP}))` as const;
const HAS_ROOM = `(SELECT count(*) FROM grantd.passkeys WHERE ${OF_PERSON}) < ${MAX_PASSKEYS}` as const;

/** Checked before the change, which is safe while `holdPerson` blocks the others. */
const MAY_ADD_PASSKEY =
  `${PERSON}) AND NOT EXISTS (SELECT 1 FROM grantd.passkeys WHERE issuer = :issuer AND id = :passkey) AND ${HAS_ROOM}` as const;

const PEOPLE_SQL = statements({
  // Blocks concurrent changes of the factors and the removal of the user.
  hold: `UPDATE grantd.people SET name = name WHERE ${OF_PERSON}`,
  holdWithFactors: `UPDATE grantd.people SET name = name WHERE ${OF_PERSON} AND ${HAS_OTHER} RETURNING subject`,
  // Returns the user once, however many codes there are.
  holdWithCodes: `UPDATE grantd.people SET name = name WHERE ${OF_PERSON} AND ${CODE}) RETURNING subject`,
  // The highest level of the factors that count, and of an earlier hold.
  holdLevel: `
    UPDATE grantd.people SET held_until_ms = :untilMs, held_level = CASE
      WHEN ${PASSKEY} AND counts_from_ms <= :nowMs) OR (held_until_ms > :nowMs AND held_level = ${PHISHING_RESISTANT})
        THEN ${PHISHING_RESISTANT}
      WHEN ${TOTP} AND counts_from_ms <= :nowMs) OR (held_until_ms > :nowMs AND held_level = ${MULTI_FACTOR})
        THEN ${MULTI_FACTOR}
      ELSE ${PASSWORD} END
    WHERE ${OF_PERSON}`,
  endHold: `UPDATE grantd.people SET held_level = 0, held_until_ms = 0 WHERE ${OF_PERSON}`,
  // Returns the user once, however many factors wait.
  isWaiting: `
    UPDATE grantd.people SET held_level = 0, held_until_ms = 0 WHERE ${OF_PERSON}
      AND (held_until_ms > :nowMs OR ${PASSKEY} AND counts_from_ms > :nowMs) OR ${TOTP} AND counts_from_ms > :nowMs))
    RETURNING subject`,
  factors: `
    SELECT
      (SELECT count(*) FROM grantd.passkeys WHERE ${OF_PERSON}) AS passkeys,
      (SELECT count(*) FROM grantd.totp_secrets WHERE ${OF_PERSON}) AS totps,
      (SELECT count(*) FROM grantd.recovery_codes WHERE ${OF_PERSON}) AS codes,
      (SELECT min(counts_from_ms) FROM grantd.passkeys WHERE ${OF_PERSON}) AS passkeys_count_from_ms,
      (SELECT counts_from_ms FROM grantd.totp_secrets WHERE ${OF_PERSON}) AS totp_counts_from_ms,
      (SELECT held_level FROM grantd.people WHERE ${OF_PERSON}) AS held_level,
      (SELECT held_until_ms FROM grantd.people WHERE ${OF_PERSON}) AS held_until_ms`,
});

const PASSKEYS_SQL = PASSKEYS.statements({
  any: 'SELECT 1 AS found FROM grantd.passkeys WHERE issuer = :issuer AND is_security_key = 0 LIMIT 1',
  ofPerson: `SELECT ${PASSKEYS.list} FROM grantd.passkeys WHERE ${OF_PERSON} ORDER BY created_at_ms, id`,
  get: `SELECT ${PASSKEYS.list} FROM grantd.passkeys WHERE issuer = :issuer AND id = :id`,
  add: `
    ${PASSKEYS.insert} FROM grantd.people WHERE ${OF_PERSON} AND ${HAS_ROOM}
    ON CONFLICT DO NOTHING RETURNING id`,
  use: `
    UPDATE grantd.passkeys SET counter = :counter, is_backed_up = :isBackedUp, last_used_at_ms = :lastUsedAtMs
    WHERE issuer = :issuer AND id = :id AND (counter < :counter OR (counter = 0 AND :counter = 0)) RETURNING id`,
  countAll: `UPDATE grantd.passkeys SET counts_from_ms = 0 WHERE ${OF_PERSON}`,
  removeAll: `DELETE FROM grantd.passkeys WHERE ${OF_PERSON} RETURNING id`,
});

const TOTPS_SQL = TOTPS.statements({
  get: `SELECT ${TOTPS.list} FROM grantd.totp_secrets WHERE ${OF_PERSON}`,
  add: `${TOTPS.insert} FROM grantd.people WHERE ${OF_PERSON} ON CONFLICT DO NOTHING RETURNING subject`,
  use: `
    UPDATE grantd.totp_secrets SET last_step = :lastStep
    WHERE ${OF_PERSON} AND created_at_ms = :createdAtMs AND last_step < :lastStep RETURNING subject`,
  count: `UPDATE grantd.totp_secrets SET counts_from_ms = 0 WHERE ${OF_PERSON}`,
  remove: `DELETE FROM grantd.totp_secrets WHERE ${OF_PERSON} RETURNING subject`,
  sealed: 'SELECT subject, sealed FROM grantd.totp_secrets WHERE issuer = :issuer',
  reseal: `UPDATE grantd.totp_secrets SET sealed = :replacement WHERE ${OF_PERSON} AND sealed = :sealed`,
});

const CODES_SQL = CODES.statements({
  removeAll: `DELETE FROM grantd.recovery_codes WHERE ${OF_PERSON}`,
  removeLone: `DELETE FROM grantd.recovery_codes WHERE ${OF_PERSON} AND NOT ${HAS_OTHER}`,
  add: `${CODES.insert} FROM grantd.people WHERE ${OF_PERSON} AND ${HAS_OTHER} RETURNING subject`,
  unsaved: `
    SELECT sealed FROM grantd.recovery_codes WHERE ${OF_PERSON} AND sealed IS NOT NULL ORDER BY code_digest`,
  saved: `UPDATE grantd.recovery_codes SET sealed = NULL WHERE ${OF_PERSON} AND sealed IS NOT NULL`,
  savedWith: `
    UPDATE grantd.recovery_codes SET sealed = NULL
    WHERE ${OF_PERSON} AND sealed IS NOT NULL AND ${CODE} AND code_digest = :codeDigest)`,
  use: `DELETE FROM grantd.recovery_codes WHERE ${OF_PERSON} AND code_digest = :codeDigest RETURNING subject`,
});

/** Of an addition, so that no time remains between the end of an earlier hold and the new factor. */
function holdUntilItCounts({
  createdAtMs: nowMs,
  countsFromMs: untilMs,
}: Pick<StoredTotp, 'createdAtMs' | 'countsFromMs'>): Hold | undefined {
  return untilMs === 0 ? undefined : { nowMs, untilMs };
}

/** The beginning of the transaction of a change. */
function holdCalls(subject: string, hold?: Hold): readonly TableCall[] {
  const calls = [PEOPLE_SQL.hold({ subject })];
  if (hold !== undefined) calls.push(PEOPLE_SQL.holdLevel({ subject, ...hold }));
  return calls;
}

export function factorsTable(tables: ProgramTables): Factors {
  const factorAct = (type: ActType, subject: string, reason: FactorKind | { readonly column: 'kind' }) => ({
    ...personAct(type, subject),
    reason,
  });
  return {
    async of(subject) {
      const row = await tables.first(PEOPLE_SQL.factors({ subject }), asRow);
      const numberOf = (column: string) => (row?.[column] == null ? undefined : Number(row[column]));
      return {
        passkeys: numberOf('passkeys') ?? 0,
        hasTotp: numberOf('totps') === 1,
        recoveryCodes: numberOf('codes') ?? 0,
        passkeysCountFromMs: numberOf('passkeys_count_from_ms'),
        totpCountsFromMs: numberOf('totp_counts_from_ms'),
        held: { level: numberOf('held_level') ?? 0, untilMs: numberOf('held_until_ms') ?? 0 },
      };
    },
    hasPasskeys: () => tables.has(PASSKEYS_SQL.any()),
    passkeysOf: (subject) => tables.list(PASSKEYS_SQL.ofPerson({ subject }), PASSKEYS.recordOf),
    passkey: (id) => tables.first(PASSKEYS_SQL.get({ id }), PASSKEYS.recordOf),
    addPasskey(passkey, notice) {
      const { id, subject } = passkey;
      const kind = passkey.isSecurityKey ? 'security_key' : 'passkey';
      return tables.changes(
        ...holdCalls(subject, holdUntilItCounts(passkey)),
        ...noticeCalls(notice, MAY_ADD_PASSKEY, { passkey: id }),
        recorded(PASSKEYS_SQL.add(passkey), factorAct('person_factor_added', subject, kind)),
      );
    },
    usePasskey: (id, { nowMs: lastUsedAtMs, ...use }) =>
      tables.changes(PASSKEYS_SQL.use({ id, ...use, lastUsedAtMs })),
    removePasskey(subject, removed, ways, notice, hold) {
      const { condition, values } = mayRemove(removed, ways);
      const remove = `
        DELETE FROM grantd.passkeys WHERE ${OF_PERSON} AND id = :removed AND ${condition}
        RETURNING CASE is_security_key WHEN 1 THEN 'security_key' ELSE 'passkey' END AS kind`;
      return tables.changes(
        ...holdCalls(subject, hold),
        ...noticeCalls(notice, `${PASSKEY} AND id = :removed) AND ${condition}`, values),
        recorded(
          PASSKEYS.dynamic(remove, { subject, ...values }),
          factorAct('person_factor_removed', subject, { column: 'kind' }),
        ),
        CODES_SQL.removeLone({ subject }),
      );
    },
    totpOf: (subject) => tables.first(TOTPS_SQL.get({ subject }), TOTPS.recordOf),
    addTotp: (subject, totp, lastStep, notice) =>
      tables.changes(
        ...holdCalls(subject, holdUntilItCounts(totp)),
        ...noticeCalls(notice, `${PERSON}) AND NOT ${TOTP})`, {}),
        recorded(
          TOTPS_SQL.add({ ...totp, subject, lastStep }),
          factorAct('person_factor_added', subject, 'authenticator_app'),
        ),
      ),
    useTotp: (subject, { createdAtMs }, lastStep) =>
      tables.changes(TOTPS_SQL.use({ subject, createdAtMs, lastStep })),
    removeTotp: (subject, notice, hold) =>
      tables.changes(
        ...holdCalls(subject, hold),
        ...noticeCalls(notice, `${TOTP})`, {}),
        recorded(
          TOTPS_SQL.remove({ subject }),
          factorAct('person_factor_removed', subject, 'authenticator_app'),
        ),
        CODES_SQL.removeLone({ subject }),
      ),
    sealedTotps: () =>
      tables.list(TOTPS_SQL.sealed(), ({ subject, sealed }) => ({
        subject: String(subject),
        sealed: String(sealed),
      })),
    resealTotps: (resealed) => tables.run(...resealed.map((totp) => TOTPS_SQL.reseal(totp))),
    setRecoveryCodes: (subject, codes, createdAtMs, notice) =>
      tables.changes(
        ...holdCalls(subject),
        CODES_SQL.removeAll({ subject }),
        ...codes.map(({ digest: codeDigest, sealed }, index) => {
          const add = CODES_SQL.add({ codeDigest, sealed, subject, createdAtMs });
          return index === 0 ? recorded(add, personAct('person_recovery_codes_made', subject)) : add;
        }),
        ...noticeCalls(notice, `${CODE} AND code_digest = :codeDigest)`, {
          codeDigest: codes[0]?.digest ?? '',
        }),
      ),
    unsavedCodesOf: (subject) => tables.list(CODES_SQL.unsaved({ subject }), ({ sealed }) => String(sealed)),
    codesSaved: (subject) => tables.run(CODES_SQL.saved({ subject })),
    removeRecoveryCodes: (subject, notice) =>
      tables.changes(
        ...holdCalls(subject),
        ...noticeCalls(notice, `${CODE})`, {}),
        recorded(
          PEOPLE_SQL.holdWithCodes({ subject }),
          factorAct('person_factor_removed', subject, 'recovery_codes'),
        ),
        CODES_SQL.removeAll({ subject }),
      ),
    useRecoveryCode: (subject, codeDigest) =>
      tables.changes(
        CODES_SQL.savedWith({ subject, codeDigest }),
        recorded(CODES_SQL.use({ subject, codeDigest }), personAct('person_recovery_code_used', subject)),
      ),
    confirm: (subject, nowMs) =>
      tables.changes(
        ...holdCalls(subject),
        recorded(PEOPLE_SQL.isWaiting({ subject, nowMs }), personAct('person_factors_confirmed', subject)),
        PASSKEYS_SQL.countAll({ subject }),
        TOTPS_SQL.count({ subject }),
      ),
    reset: (subject, notice) =>
      tables.changes(
        PEOPLE_SQL.endHold({ subject }),
        recorded(PEOPLE_SQL.holdWithFactors({ subject }), personAct('person_factors_reset', subject)),
        ...noticeCalls(notice, HAS_OTHER, {}),
        PASSKEYS_SQL.removeAll({ subject }),
        TOTPS_SQL.remove({ subject }),
        CODES_SQL.removeAll({ subject }),
      ),
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
    const opened = older.map((key) => unseal(key, sealed, binding)).find((text) => text !== undefined);
    return opened === undefined ? [] : [{ subject, sealed, replacement: seal(newest, opened, binding) }];
  });
  for (let at = 0; at < resealed.length; at += RESEAL_BATCH)
    await factors.resealTotps(resealed.slice(at, at + RESEAL_BATCH));
}
