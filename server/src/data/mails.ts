import { newIdentifier, type ProgramTables, recorded, type TableCall, type TableRow } from './tables.ts';

/** An email to send, or the request for one, as stored. Links are made when it is sent, so it contains none. */
export interface StoredMail {
  readonly id: string;
  /** The user whose removal deletes it. */
  readonly subject: string | undefined;
  /** The address, or what was typed as one. */
  readonly recipient: string;
  readonly template: string;
  readonly language: string;
  /** The parameters of the template, sealed. */
  readonly sealed: string;
  readonly createdAtMs: number;
  readonly dueAtMs: number;
  readonly attempts: number;
  readonly lastError: string | undefined;
  /** When the server gave up. */
  readonly failedAtMs: number | undefined;
}

export type NewMail = Pick<StoredMail, 'recipient' | 'template' | 'language' | 'sealed' | 'subject'>;

/** An email that tells a user about a change of their account, for the transaction of the change. */
export interface Notice extends NewMail {
  readonly subject: string;
  readonly queuedAtMs: number;
}

/** The queue of emails. Every method rejects with a `StorageFault` if the database does not answer. */
export interface Mails {
  /** @returns the ID */
  add(mail: NewMail, nowMs: number): Promise<string>;
  /**
   * Takes emails that are due. Compare-and-set: each is taken by one process, and is due again after the lease if that
   * process dies.
   */
  take(nowMs: number, leaseMs: number, limit: number): Promise<readonly StoredMail[]>;
  /** Removes an email that was sent or is no longer wanted. */
  remove(id: string): Promise<void>;
  /** Reschedules an email after a temporary failure. */
  postpone(id: string, dueAtMs: number, error: string): Promise<void>;
  /** Gives an email up. An operator can retry it. */
  fail(id: string, nowMs: number, error: string): Promise<void>;
  /** Puts an email into the mailbox of the demo. @param sealed the rendered email */
  putInMailbox(id: string, sealed: string, nowMs: number): Promise<void>;
  /** The demo’s mailbox, newest first. */
  mailbox(limit: number): Promise<readonly StoredMail[]>;
  /** Newest first. @param failed only those that were given up */
  list(failed: boolean, limit: number): Promise<readonly StoredMail[]>;
  /** Makes a given-up email due. @returns `false` if there is none */
  retry(id: string, nowMs: number): Promise<boolean>;
}

/** Milliseconds after which an email is deleted, whatever became of it. */
const KEPT_FOR_MS = 30 * 24 * 60 * 60 * 1000;

const COLUMNS =
  'id, subject, recipient, template, language, sealed, created_at_ms, due_at_ms, attempts, last_error, failed_at_ms';

const WAITING = 'failed_at_ms IS NULL AND boxed_at_ms IS NULL';

const MAILS_SQL = {
  add: `
    INSERT INTO grantd.mails
      (issuer, id, subject, recipient, template, language, sealed, created_at_ms, due_at_ms, attempts, expires_at_ms)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, CAST($8 AS bigint), 0, $9)`,
  isDue: `SELECT id FROM grantd.mails WHERE issuer = $1 AND due_at_ms <= $2 AND ${WAITING} LIMIT 1`,

  // After a concurrent take, the row is no longer due when the condition is checked again.
  take: `
    UPDATE grantd.mails SET attempts = attempts + 1, due_at_ms = $3
    WHERE issuer = $1 AND due_at_ms <= $2 AND ${WAITING} AND id IN (
      SELECT id FROM grantd.mails WHERE issuer = $1 AND due_at_ms <= $2 AND ${WAITING}
      ORDER BY due_at_ms LIMIT $4)
    RETURNING ${COLUMNS}`,
  remove: 'DELETE FROM grantd.mails WHERE issuer = $1 AND id = $2',
  postpone: 'UPDATE grantd.mails SET due_at_ms = $3, last_error = $4 WHERE issuer = $1 AND id = $2',
  fail: 'UPDATE grantd.mails SET failed_at_ms = $3, last_error = $4 WHERE issuer = $1 AND id = $2',
  putInMailbox: 'UPDATE grantd.mails SET boxed_at_ms = $3, sealed = $4 WHERE issuer = $1 AND id = $2',
  mailbox: `
    SELECT ${COLUMNS} FROM grantd.mails WHERE issuer = $1 AND boxed_at_ms IS NOT NULL
    ORDER BY boxed_at_ms DESC, id LIMIT $2`,
  list: `
    SELECT ${COLUMNS} FROM grantd.mails WHERE issuer = $1 AND boxed_at_ms IS NULL
      AND ($2 = 0 OR failed_at_ms IS NOT NULL)
    ORDER BY created_at_ms DESC, id LIMIT $3`,
  retry: `
    UPDATE grantd.mails SET failed_at_ms = NULL, attempts = 0, due_at_ms = $3
    WHERE issuer = $1 AND id = $2 AND failed_at_ms IS NOT NULL RETURNING id`,
};

/**
 * Queues a notice in the transaction of the change that it is about.
 * @param condition SQL that tells whether the change takes place. `$1` is the issuer, `$3` the user, and `$10` and later
 * ones are the further values.
 * @returns no statement if there is no notice
 */
export function noticeCalls(
  issuer: string,
  notice: Notice | undefined,
  condition: string,
  ...values: readonly (string | number)[]
): readonly TableCall[] {
  return notice === undefined ? [] : [newMailCall(issuer, notice, notice.queuedAtMs, condition, ...values)];
}

/** Queues an email about a user in the transaction of a change, as `noticeCalls`. */
export function newMailCall(
  issuer: string,
  { recipient, template, language, sealed, subject }: NewMail,
  nowMs: number,
  condition: string,
  ...values: readonly (string | number)[]
): TableCall {
  const sql = `
    INSERT INTO grantd.mails
      (issuer, id, subject, recipient, template, language, sealed, created_at_ms, due_at_ms, attempts, expires_at_ms)
    SELECT $1, $2, $3, $4, $5, $6, $7, CAST($8 AS bigint), CAST($8 AS bigint), 0, CAST($9 AS bigint) WHERE ${condition}`;
  const mail = [newIdentifier(), subject ?? null, recipient, template, language, sealed, nowMs];
  return [sql, issuer, ...mail, nowMs + KEPT_FOR_MS, ...values];
}

export function mailsTable(tables: ProgramTables, issuer: string): Mails {
  return {
    async add({ recipient, template, language, sealed, subject }, nowMs) {
      const id = newIdentifier();
      const values = [id, subject ?? null, recipient, template, language, sealed, nowMs, nowMs + KEPT_FOR_MS];
      await tables.write([MAILS_SQL.add, issuer, ...values]);
      return id;
    },
    async take(nowMs, leaseMs, limit) {
      // Usually nothing is due, and a read is cheaper than a write.
      if ((await tables.read(MAILS_SQL.isDue, issuer, nowMs)).length === 0) return [];
      const [taken = []] = await tables.write([MAILS_SQL.take, issuer, nowMs, nowMs + leaseMs, limit]);
      return taken.map(mailOf);
    },
    async remove(id) {
      await tables.write([MAILS_SQL.remove, issuer, id]);
    },
    async postpone(id, dueAtMs, error) {
      await tables.write([MAILS_SQL.postpone, issuer, id, dueAtMs, error]);
    },
    async fail(id, nowMs, error) {
      await tables.write([MAILS_SQL.fail, issuer, id, nowMs, error]);
    },
    async putInMailbox(id, sealed, nowMs) {
      await tables.write([MAILS_SQL.putInMailbox, issuer, id, nowMs, sealed]);
    },
    mailbox: async (limit) => (await tables.read(MAILS_SQL.mailbox, issuer, limit)).map(mailOf),
    list: async (failed, limit) =>
      (await tables.read(MAILS_SQL.list, issuer, failed ? 1 : 0, limit)).map(mailOf),
    async retry(id, nowMs) {
      const [retried] = await tables.write(
        recorded([MAILS_SQL.retry, issuer, id, nowMs], { type: 'mail_retried', target: id }),
      );
      return retried?.length === 1;
    },
  };
}

function mailOf(row: TableRow): StoredMail {
  return {
    id: String(row.id),
    subject: row.subject === null ? undefined : String(row.subject),
    recipient: String(row.recipient),
    template: String(row.template),
    language: String(row.language),
    sealed: String(row.sealed),
    createdAtMs: Number(row.created_at_ms),
    dueAtMs: Number(row.due_at_ms),
    attempts: Number(row.attempts),
    lastError: row.last_error === null ? undefined : String(row.last_error),
    failedAtMs: row.failed_at_ms === null ? undefined : Number(row.failed_at_ms),
  };
}

/** What a mailed link is for. */
export type LinkPurpose = 'reset' | 'invite' | 'verify' | 'sign_up';

const PURPOSES: readonly LinkPurpose[] = ['reset', 'invite', 'verify', 'sign_up'];

/** A single-use link that was mailed. The database has a digest of its token. */
export interface MailedLink {
  readonly purpose: LinkPurpose;
  /** `undefined` before the user exists. */
  readonly subject: string | undefined;
  /** The address that received the link. */
  readonly address: string;
  /** Digest of the user’s password hash when the link was made, so that a new password ends the link. */
  readonly passwordDigest: string | undefined;
  /** Digest of the cookie of the browser that asked for the link. */
  readonly browserDigest: string | undefined;
  readonly expiresAtMs: number;
}

/** Mailed links by the digest of their token. Every method rejects with a `StorageFault`. */
export interface MailedLinks {
  add(tokenDigest: string, link: MailedLink): Promise<void>;
  /** @returns `undefined` if it does not exist, was used or has expired */
  find(tokenDigest: string, nowMs: number): Promise<MailedLink | undefined>;
  /** Uses a link up. Atomic: of concurrent uses, one succeeds. @returns as `find` */
  use(tokenDigest: string, nowMs: number): Promise<MailedLink | undefined>;
  /** Ends all links of a user. */
  forget(subject: string): Promise<void>;
}

const LINK_COLUMNS = 'purpose, subject, address, password_digest, browser_digest, expires_at_ms';

const LINKS_SQL = {
  add: `
    INSERT INTO grantd.mailed_links (issuer, token_digest, ${LINK_COLUMNS})
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING token_digest`,
  find: `
    SELECT ${LINK_COLUMNS} FROM grantd.mailed_links
    WHERE issuer = $1 AND token_digest = $2 AND expires_at_ms > $3`,
  use: `
    DELETE FROM grantd.mailed_links
    WHERE issuer = $1 AND token_digest = $2 AND expires_at_ms > $3 RETURNING ${LINK_COLUMNS}`,
  forget: 'DELETE FROM grantd.mailed_links WHERE issuer = $1 AND subject = $2',
};

export function mailedLinksTable(tables: ProgramTables, issuer: string): MailedLinks {
  return {
    async add(tokenDigest, { purpose, subject, address, passwordDigest, browserDigest, expiresAtMs }) {
      const values = [purpose, subject ?? null, address, passwordDigest ?? null, browserDigest ?? null];
      await tables.write(
        recorded([LINKS_SQL.add, issuer, tokenDigest, ...values, expiresAtMs], {
          type: 'mailed_link_made',
          target: tokenDigest,
          subject,
          reason: purpose,
        }),
      );
    },
    async find(tokenDigest, nowMs) {
      const [row] = await tables.read(LINKS_SQL.find, issuer, tokenDigest, nowMs);
      return row && linkOf(row);
    },
    async use(tokenDigest, nowMs) {
      const [[row] = []] = await tables.write(
        recorded([LINKS_SQL.use, issuer, tokenDigest, nowMs], {
          type: 'mailed_link_used',
          target: tokenDigest,
          subject: { column: 'subject' },
          reason: { column: 'purpose' },
          by: 'user',
        }),
      );
      return row && linkOf(row);
    },
    async forget(subject) {
      await tables.write([LINKS_SQL.forget, issuer, subject]);
    },
  };
}

/** @returns `undefined` for a purpose of another version of the program */
function linkOf(row: TableRow): MailedLink | undefined {
  const purpose = PURPOSES.find((one) => one === row.purpose);
  const text = (value: unknown) => (value === null ? undefined : String(value));
  return (
    purpose && {
      purpose,
      subject: text(row.subject),
      address: String(row.address),
      passwordDigest: text(row.password_digest),
      browserDigest: text(row.browser_digest),
      expiresAtMs: Number(row.expires_at_ms),
    }
  );
}
