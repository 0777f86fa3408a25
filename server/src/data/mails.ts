import {
  type NamesIn,
  newIdentifier,
  type ProgramTables,
  recorded,
  type TableCall,
  type TableRow,
  table,
} from './tables.ts';

/** Why an email could not be sent, as `lastError` keeps it. The console translates it. */
export const MAIL_FAILURES = {
  auth: 'the server refused the username or password',
  tls: 'no TLS connection could be made, and grantd sends without TLS to loopback only',
  envelope: 'the server refused the sender or the recipient',
  message: 'the server refused the message',
  dns: 'the host name could not be resolved',
  connection: 'no connection could be made',
  timeout: 'the server did not answer in time',
  protocol: 'the server did not speak SMTP',
  other: 'the email could not be sent',
  other_secret: 'it was encrypted with a server secret that this process does not have',
  no_password: 'the user signs in through an identity provider, so there is no password to choose',
} as const;

/** An email to send, or the request for one, as stored. Links are made when it is sent, so it contains none. */
export interface StoredMail {
  readonly id: string;
  /** The user whose removal deletes it. */
  readonly subject?: string | undefined;
  /** The address, or what was typed as one. */
  readonly recipient: string;
  readonly template: string;
  readonly language: string;
  /** The parameters of the template, sealed. */
  readonly sealed: string;
  readonly createdAtMs: number;
  readonly dueAtMs: number;
  readonly attempts: number;
  readonly lastError?: string;
  /** When the server gave up. */
  readonly failedAtMs?: number;
}

export type NewMail = Pick<StoredMail, 'recipient' | 'template' | 'language' | 'sealed' | 'subject'> & {
  /** Default: a new one. */
  readonly id?: string;
};

/** An email that tells a user about a change of their account, for the transaction of the change. */
export interface Notice extends NewMail {
  readonly id: string;
  readonly subject: string;
  readonly queuedAtMs: number;
}

/** The queue of emails. Every method rejects with a `StorageFault` if the database does not answer. */
export interface Mails {
  /** @returns the ID */
  add(mail: NewMail, nowMs: number): Promise<string>;
  /**
   * Queues an email with a link to set a password, and ends the earlier links of the user that do the same.
   * @returns the ID; `undefined` if the user has another password or other claims than `user` says, or was removed
   */
  addPasswordLink(
    mail: NewMail,
    user: { readonly subject: string; readonly passwordHash: string; readonly revision: number },
    nowMs: number,
  ): Promise<string | undefined>;
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
  /** Makes an email due that was given up, or whose next attempt is further away than a lease. @returns `false` if there is none */
  retry(id: string, nowMs: number): Promise<boolean>;
}

/** Longer than any attempt takes, in milliseconds. A process that holds an email for longer counts as dead. */
export const MAIL_LEASE_MS = 120_000;

/** Milliseconds after which an email is deleted, sent or not. */
const KEPT_FOR_MS = 30 * 24 * 60 * 60 * 1000;

export const MAILS = table(
  'mails',
  {
    text: 'id recipient template language sealed',
    'text?': 'subject last_error',
    integer: 'created_at_ms due_at_ms attempts',
    'integer?': 'failed_at_ms',
  },
  { 'integer?': 'boxed_at_ms', integer: 'expires_at_ms' },
);

const WAITING = 'failed_at_ms IS NULL AND boxed_at_ms IS NULL';
const DUE = `issuer = :issuer AND due_at_ms <= :nowMs AND ${WAITING}` as const;
const ONE = 'issuer = :issuer AND id = :id';

const MAILS_SQL = MAILS.statements({
  add: MAILS.insert,
  isDue: `SELECT id FROM grantd.mails WHERE ${DUE} LIMIT 1`,

  // After a concurrent take, the row is no longer due when the condition is checked again.
  take: `
    UPDATE grantd.mails SET attempts = attempts + 1, due_at_ms = :dueAtMs
    WHERE ${DUE} AND id IN (SELECT id FROM grantd.mails WHERE ${DUE} ORDER BY due_at_ms LIMIT :limit)
    RETURNING ${MAILS.list}`,
  remove: `DELETE FROM grantd.mails WHERE ${ONE}`,
  postpone: `UPDATE grantd.mails SET due_at_ms = :dueAtMs, last_error = :lastError WHERE ${ONE}`,
  fail: `UPDATE grantd.mails SET failed_at_ms = :failedAtMs, last_error = :lastError WHERE ${ONE}`,
  putInMailbox: `UPDATE grantd.mails SET boxed_at_ms = :boxedAtMs, sealed = :sealed WHERE ${ONE}`,
  mailbox: `
    SELECT ${MAILS.list} FROM grantd.mails WHERE issuer = :issuer AND boxed_at_ms IS NOT NULL
    ORDER BY boxed_at_ms DESC, id DESC LIMIT :limit`,
  list: `
    SELECT ${MAILS.list} FROM grantd.mails WHERE issuer = :issuer AND boxed_at_ms IS NULL
    ORDER BY created_at_ms DESC, id DESC LIMIT :limit`,
  listFailed: `
    SELECT ${MAILS.list} FROM grantd.mails WHERE issuer = :issuer AND failed_at_ms IS NOT NULL
    ORDER BY created_at_ms DESC, id DESC LIMIT :limit`,
  removeWaiting: `
    DELETE FROM grantd.mails
    WHERE issuer = :issuer AND subject = :subject AND template = :template AND boxed_at_ms IS NULL`,
  retry: `
    UPDATE grantd.mails SET failed_at_ms = NULL, due_at_ms = :dueAtMs,
      attempts = CASE WHEN failed_at_ms IS NULL THEN attempts ELSE 0 END
    WHERE ${ONE} AND boxed_at_ms IS NULL AND (failed_at_ms IS NOT NULL OR due_at_ms > :leasedUntilMs) RETURNING id`,
});

/** A new row, which is due at once. */
function newRow(mail: NewMail, nowMs: number) {
  const { id = newIdentifier(), recipient, template, language, sealed, subject } = mail;
  const times = { createdAtMs: nowMs, dueAtMs: nowMs, expiresAtMs: nowMs + KEPT_FOR_MS };
  return { id, recipient, template, language, sealed, subject, attempts: 0, ...times };
}

/**
 * Queues a notice in the transaction of the change that it is about.
 * @param condition SQL that tells whether the change takes place. `:subject` is the user
 * @param values of the other parameters of the condition
 * @returns no statement if there is no notice
 */
export function noticeCalls<const S extends string>(
  notice: Notice | undefined,
  condition: S,
  values: ConditionValues<S>,
): readonly TableCall[] {
  return notice === undefined ? [] : [newMailCall(notice, notice.queuedAtMs, condition, values)];
}

type ConditionValues<S extends string> = Readonly<
  Record<Exclude<NamesIn<S>, 'issuer' | 'subject'>, string | number>
>;

/** Queues an email about a user in the transaction of a change, as `noticeCalls`. */
export function newMailCall<const S extends string>(
  mail: NewMail,
  nowMs: number,
  condition: S,
  values: ConditionValues<S>,
): TableCall {
  const row: Readonly<Record<string, unknown>> = newRow(mail, nowMs);
  return MAILS.dynamic(`${MAILS.insert} WHERE ${condition}`, { ...row, ...values });
}

export function mailsTable(tables: ProgramTables): Mails {
  const mailOf = MAILS.recordOf;
  return {
    async add(mail, nowMs) {
      const row = newRow(mail, nowMs);
      await tables.run(MAILS_SQL.add(row));
      return row.id;
    },
    async take(nowMs, leaseMs, limit) {
      // Usually nothing is due, and a read is cheaper than a write.
      if (!(await tables.has(MAILS_SQL.isDue({ nowMs })))) return [];
      const taken = await tables.change(MAILS_SQL.take({ nowMs, dueAtMs: nowMs + leaseMs, limit }));
      return taken.map(mailOf);
    },
    remove: (id) => tables.run(MAILS_SQL.remove({ id })),
    postpone: (id, dueAtMs, lastError) => tables.run(MAILS_SQL.postpone({ id, dueAtMs, lastError })),
    fail: (id, failedAtMs, lastError) => tables.run(MAILS_SQL.fail({ id, failedAtMs, lastError })),
    putInMailbox: (id, sealed, boxedAtMs) => tables.run(MAILS_SQL.putInMailbox({ id, sealed, boxedAtMs })),
    mailbox: (limit) => tables.list(MAILS_SQL.mailbox({ limit }), mailOf),
    list: (failed, limit) =>
      tables.list(failed ? MAILS_SQL.listFailed({ limit }) : MAILS_SQL.list({ limit }), mailOf),
    async addPasswordLink(mail, { subject, passwordHash, revision }, nowMs) {
      const row: Readonly<Record<string, unknown>> = { ...newRow({ ...mail, subject }, nowMs) };
      const isSame = `EXISTS (
        SELECT 1 FROM grantd.people WHERE issuer = :issuer AND subject = :subject
          AND password_hash = :passwordHash AND revision = :revision)`;
      const add = MAILS.dynamic(`${MAILS.insert} WHERE ${isSame} RETURNING id`, {
        ...row,
        ...{ passwordHash, revision },
      });
      const [added] = await tables.change(
        MAILS_SQL.removeWaiting({ subject, template: 'password_link' }),
        LINKS_SQL.forgetPasswordLinks({ subject }),
        recorded(add, { type: 'password_link_requested', target: subject, subject }),
      );
      return added && String(added.id);
    },
    retry: (id, dueAtMs) =>
      tables.changes(
        // One that is due earlier may be in an attempt at this moment.
        recorded(MAILS_SQL.retry({ id, dueAtMs, leasedUntilMs: dueAtMs + MAIL_LEASE_MS }), {
          type: 'mail_retried',
          target: id,
        }),
      ),
  };
}

/**
 * What a mailed link is for. `reset` is asked for by a visitor, and `password` by an operator. `code` is no link, but six
 * digits that sign a user in.
 */
export type LinkPurpose = 'reset' | 'password' | 'invite' | 'verify' | 'sign_up' | 'code';

const PURPOSES: readonly LinkPurpose[] = ['reset', 'password', 'invite', 'verify', 'sign_up', 'code'];

/** A single-use link that was mailed. The database has a digest of its token. */
export interface MailedLink {
  readonly purpose: LinkPurpose;
  /** Absent before the user exists. */
  readonly subject?: string | undefined;
  /** The address that received the link. */
  readonly address: string;
  /** Digest of the user’s password hash when the link was made, so that a new password ends the link. */
  readonly passwordDigest?: string | undefined;
  /** Digest of the cookie of the browser that asked for the link. */
  readonly browserDigest?: string | undefined;
  readonly expiresAtMs: number;
}

/** Mailed links by the digest of their token. Every method rejects with a `StorageFault`. */
export interface MailedLinks {
  /**
   * A link of the purpose `password` ends the earlier one of its user. A link with the same digest gets another end.
   * @param retried the ID of its email, if this is not the first attempt to send it
   */
  add(tokenDigest: string, link: MailedLink, retried?: string): Promise<void>;
  /** @returns `undefined` if it does not exist, was used or has expired */
  find(tokenDigest: string, nowMs: number): Promise<MailedLink | undefined>;
  /** Gives a link another end, if it still works. @returns as `find` */
  renew(tokenDigest: string, nowMs: number, expiresAtMs: number): Promise<MailedLink | undefined>;
  /** Uses a link up. Atomic: of concurrent uses, one succeeds. @returns as `find` */
  use(tokenDigest: string, nowMs: number): Promise<MailedLink | undefined>;
  /** Ends all links of a user. */
  forget(subject: string): Promise<void>;
}

export const LINKS = table(
  'mailed_links',
  { text: 'purpose address', 'text?': 'subject password_digest browser_digest', integer: 'expires_at_ms' },
  { text: 'token_digest' },
);

const ONE_LINK = 'issuer = :issuer AND token_digest = :tokenDigest AND expires_at_ms > :nowMs';

const LINKS_SQL = LINKS.statements({
  add: `
    ${LINKS.insert} WHERE TRUE
    ON CONFLICT (issuer, token_digest) DO UPDATE SET expires_at_ms = excluded.expires_at_ms
    RETURNING token_digest`,
  find: `SELECT ${LINKS.list} FROM grantd.mailed_links WHERE ${ONE_LINK}`,
  renew: `
    UPDATE grantd.mailed_links SET expires_at_ms = :expiresAtMs WHERE ${ONE_LINK} RETURNING ${LINKS.list}`,
  use: `DELETE FROM grantd.mailed_links WHERE ${ONE_LINK} RETURNING ${LINKS.list}`,
  forget: 'DELETE FROM grantd.mailed_links WHERE issuer = :issuer AND subject = :subject',
  forgetPasswordLinks: `
    DELETE FROM grantd.mailed_links
    WHERE issuer = :issuer AND subject = :subject AND purpose IN ('reset', 'password', 'invite')`,
  forgetPurpose:
    'DELETE FROM grantd.mailed_links WHERE issuer = :issuer AND subject = :subject AND purpose = :purpose',
});

export function mailedLinksTable(tables: ProgramTables): MailedLinks {
  return {
    add: (tokenDigest, link, retried) =>
      tables.run(
        ...(link.purpose === 'password' && link.subject !== undefined
          ? [LINKS_SQL.forgetPurpose({ subject: link.subject, purpose: link.purpose })]
          : []),
        recorded(LINKS_SQL.add({ tokenDigest, ...link }), {
          type: retried === undefined ? 'mailed_link_made' : 'mail_retried',
          target: retried ?? tokenDigest,
          subject: link.subject,
          reason: link.purpose,
        }),
      ),
    find: (tokenDigest, nowMs) => tables.first(LINKS_SQL.find({ tokenDigest, nowMs }), linkOf),
    async renew(tokenDigest, nowMs, expiresAtMs) {
      const [row] = await tables.change(LINKS_SQL.renew({ tokenDigest, nowMs, expiresAtMs }));
      return row && linkOf(row);
    },
    async use(tokenDigest, nowMs) {
      const [row] = await tables.change(
        recorded(LINKS_SQL.use({ tokenDigest, nowMs }), {
          type: 'mailed_link_used',
          target: tokenDigest,
          subject: { column: 'subject' },
          reason: { column: 'purpose' },
          by: 'user',
        }),
      );
      return row && linkOf(row);
    },
    forget: (subject) => tables.run(LINKS_SQL.forget({ subject })),
  };
}

/** @returns `undefined` for a purpose of another version of the program */
function linkOf(row: TableRow): MailedLink | undefined {
  const link = LINKS.recordOf(row);
  const purpose = PURPOSES.find((one) => one === link.purpose);
  return purpose && { ...link, purpose };
}
