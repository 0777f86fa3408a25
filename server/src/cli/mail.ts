import { Command } from 'commander';
import type { GivenFlags } from '../config/configuration.ts';
import { Refused } from '../config/refused.ts';
import type { StoredMail } from '../data/mails.ts';
import { isAddress } from '../people/mailing.ts';
import { DEFAULT_LANGUAGE } from '../texts/texts.ts';
import { type CommandParts, databaseFlags, printList, printOne, timeOf, withInstance } from './command.ts';
import { BadUsage } from './exit.ts';

const MAX_LISTED = 1000;

export function mailCommands(): Command {
  const group = new Command('mail').description('look after the emails to users');
  databaseFlags(
    group.command('list').description(`list the emails that wait, newest first, at most ${MAX_LISTED}`),
  )
    .option('--failed', 'only emails that the server has given up')
    .addHelpText('after', '\n  grantd mail list --failed')
    .action(({ failed, ...flags }: GivenFlags) =>
      withInstance(flags, 'needs_database', (parts) => listMails(parts, failed === true)),
    );
  databaseFlags(
    group
      .command('retry <ID>')
      .description('send an email again that the server has given up. A running server does it'),
  )
    .addHelpText('after', '\n  grantd mail retry 5ZbYzQW2lC9m1zVbT0xJ0w')
    .action((id: string, flags: GivenFlags) =>
      withInstance(flags, 'needs_database', (parts) => retry(parts, id)),
    );
  databaseFlags(
    group
      .command('test <ADDRESS>')
      .description('send a test email now, without the queue, and print what the SMTP server answered'),
    ['smtpUrl', 'mailFrom', 'operatorName', 'operatorColor'],
  )
    .addHelpText(
      'after',
      '\n  GRANTD_SMTP_URL=smtp://login@mail.example.com grantd mail test bob@example.com',
    )
    .action(async (address: string, flags: GivenFlags) => {
      if (!isAddress(address))
        throw new BadUsage(
          `ADDRESS: expected an address such as bob@example.com, got ${JSON.stringify(address)}`,
        );
      await withInstance(flags, 'needs_database', (parts) => test(parts, address));
    });
  return group;
}

async function listMails(parts: CommandParts, failed: boolean): Promise<void> {
  const rows = (await parts.mails.list(failed, MAX_LISTED)).map(rowOf);
  printList(parts, rows, {
    ID: ({ id }) => id,
    TEMPLATE: ({ template }) => template,
    RECIPIENT: ({ recipient }) => recipient,
    STATE: ({ state }) => state,
    ATTEMPTS: ({ attempts }) => String(attempts),
    'LAST ERROR': ({ lastError = '' }) => lastError,
  });
}

function rowOf({ id, template, recipient, attempts, lastError, ...times }: StoredMail) {
  const { createdAtMs, dueAtMs, failedAtMs } = times;
  return {
    id,
    template,
    // Visitors type it, so it may contain anything.
    recipient: recipient.replaceAll(/\p{C}/gu, '?'),
    state: failedAtMs === undefined ? 'waiting' : 'failed',
    attempts,
    createdAt: timeOf(createdAtMs),
    ...(failedAtMs === undefined ? { dueAt: timeOf(dueAtMs) } : { failedAt: timeOf(failedAtMs) }),
    ...(lastError !== undefined && { lastError }),
  };
}

async function retry(parts: CommandParts, id: string): Promise<void> {
  if (!(await parts.mails.retry(id, Date.now())))
    throw new Refused(`there is no failed email ${id}: grantd mail list --failed shows them.`);
  printOne(parts, { id, retried: true }, [`email ${id} is due again; a running server sends it`]);
}

async function test({ configuration, issuer, ...parts }: CommandParts, address: string): Promise<void> {
  const { smtpUrl, mailFrom, operatorName, operatorColor } = configuration.settings;
  const missing = smtpUrl === undefined ? 'smtpUrl' : mailFrom === undefined ? 'mailFrom' : undefined;
  if (smtpUrl === undefined || mailFrom === undefined)
    throw new BadUsage(
      `${configuration.sourceOf(missing ?? '')}: required to send an email, as for the server itself`,
    );
  const [{ MailFailure, openSmtp, transportOptions }, { renderMail }] = await Promise.all([
    import('../mail/smtp.ts'),
    import('../mail/message.ts'),
  ]);
  const operator = {
    name: operatorName ?? new URL(issuer).host,
    ...(operatorColor !== undefined && { color: operatorColor }),
  };
  const { host, port, secure, requireTLS } = transportOptions(smtpUrl);
  const smtp = await openSmtp(smtpUrl, mailFrom);
  try {
    const mail = await renderMail({ template: 'test' }, DEFAULT_LANGUAGE, operator);
    const answer = await smtp.send(address, mail, `test-${Date.now()}`);
    const tls = secure ? 'TLS from the start' : requireTLS ? 'STARTTLS' : 'STARTTLS if offered';
    printOne(parts, { sent: true, server: `${host}:${port}`, tls, answer }, [
      `connected to ${host}:${port} with ${tls}`,
      `the server accepted the email to ${address}: ${answer}`,
    ]);
  } catch (error) {
    if (error instanceof MailFailure) throw new Refused(`no email was sent. ${error.message}`);
    throw error;
  } finally {
    smtp.close();
  }
}
