// Emails that wait to be sent or have failed.
import type { StoredMail } from '../data/mails.ts';
import { trimmed } from '../data/names.ts';
import { isAddress } from '../people/mailing.ts';
import { change, operation } from './operation.ts';
import { InvalidInput, ifGiven, OperationRefused } from './operation_refused.ts';
import {
  count,
  flag,
  named,
  object,
  oneOf,
  optional,
  text,
  time,
  timeOf,
  type ValueOf,
  whole,
} from './schema.ts';

/** Emails of a list. */
const MAX_LISTED_MAILS = 1000;

const MAIL = object({
  id: text('The ID of the email. POST /mails/{mail}/retry takes it.'),
  template: text('The name of the email’s template, such as reset.'),
  recipient: text('The address, or the text that a visitor typed as an address.'),
  state: oneOf(['waiting', 'failed'], 'Whether the server still tries to send the email, or has given up.'),
  attempts: count('Number of attempts to send the email.'),
  created_at: time('When the email was added to the queue.'),
  'due_at?': time('When the server next tries to send the email.'),
  'failed_at?': time('When the server gave up.'),
  'last_error?': text('Why the last attempt failed.'),
});
export type MailView = ValueOf<typeof MAIL>;
const MAILS = whole('Mails', MAIL, 'The emails that wait to be sent or have failed.');
const TEST_MAIL = named(
  'TestMail',
  object({ address: text('Where the test email goes.', { minLength: 3, maxLength: 320 }) }),
);
const SENT_TEST = named(
  'SentTest',
  object({
    server: text('Host and port of the SMTP server.'),
    tls: text('How the connection is encrypted.'),
    answer: text('What the SMTP server answered.'),
  }),
);

function mailView({ createdAtMs, dueAtMs, failedAtMs, lastError, ...mail }: StoredMail): MailView {
  return {
    ...{ id: mail.id, template: mail.template },
    // Visitors type it, so it may contain anything.
    recipient: mail.recipient.replaceAll(/\p{C}/gu, '?'),
    state: failedAtMs === undefined ? 'waiting' : 'failed',
    ...{ attempts: mail.attempts, created_at: timeOf(createdAtMs) },
    ...(failedAtMs === undefined ? { due_at: timeOf(dueAtMs) } : { failed_at: timeOf(failedAtMs) }),
    ...optional('last_error', lastError),
  };
}

/** @throws {InvalidInput} the text is no address */
function requireAddress(address: string): void {
  if (!isAddress(address)) throw new InvalidInput('address', ['email_form', JSON.stringify(address)]);
}

export const MAIL_OPERATIONS = {
  listMails: operation({
    method: 'GET',
    path: '/mails',
    scope: 'grantd:mail:read',
    summary: `List the emails that wait to be sent or have failed, newest first, at most ${MAX_LISTED_MAILS}`,
    query: {
      failed: {
        schema: flag(),
        about: 'Whether to list only emails that the server no longer tries to send.',
      },
    },
    status: 200,
    output: MAILS,
    command: {
      line: 'mail list',
      flags: { failed: { about: 'only emails that the server no longer tries to send' } },
      notes: '  grantd mail list --failed',
      columns: {
        ID: ({ id }) => id,
        TEMPLATE: ({ template }) => template,
        RECIPIENT: ({ recipient }) => recipient,
        STATE: ({ state }) => state,
        ATTEMPTS: ({ attempts }) => String(attempts),
        'LAST ERROR': ({ last_error: lastError = '' }) => lastError,
      },
    },
    perform: async ({ mails }, { failed = false }) => ({
      document: { items: (await mails.list(failed, MAX_LISTED_MAILS)).map(mailView) },
    }),
  }),
  retryMail: change({
    method: 'POST',
    path: '/mails/{mail}/retry',
    scope: 'grantd:mail:write',
    summary: 'Try now to send an email that has failed, or that waits for its next attempt',
    status: 204,
    command: {
      line: 'mail retry <mail>',
      about:
        'let a running server try now to send an email that has failed, or that waits for its next attempt',
      notes: '  grantd mail retry 5ZbYzQW2lC9m1zVbT0xJ0w',
      lines: (_, { mail }) => `email ${mail} is due again; a running server sends it`,
    },
    async prepare() {},
    async write({ mails, clock }, _, { mail: id }) {
      if (!(await mails.retry(id, clock())))
        throw new OperationRefused('not_found', ['no_mail', id], 'grantd mail list shows all emails.');
      return { document: undefined };
    },
  }),
  testMail: operation({
    method: 'POST',
    path: '/mails/test',
    scope: 'grantd:mail:write',
    summary:
      'Send a test email at once, without the queue of emails. The response shows what the SMTP server answered',
    body: TEST_MAIL,
    status: 200,
    output: SENT_TEST,
    command: {
      line: 'mail test <address>',
      about:
        'send a test email directly to the SMTP server, past the queue of other emails, and print the answer of the SMTP server',
      options: ['smtpUrl', 'mailFrom', 'operatorName', 'operatorColor'],
      notes: '  GRANTD_SMTP_URL=smtp://login@mail.example.com grantd mail test bob@example.com',
      lines: ({ server, tls, answer }, { address }) => [
        `connected to ${server} with ${tls}`,
        `the server accepted the email to ${trimmed(address)}: ${answer}`,
      ],
    },
    checks: ({ address }) => [ifGiven(address && trimmed(address), requireAddress)],
    perform: async ({ testMail }, { address }) => ({ document: await testMail(trimmed(address)) }),
  }),
};
