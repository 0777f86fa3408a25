import { Command } from 'commander';
import { call } from '../admin/in_process.ts';
import * as mails from '../admin/mails.ts';
import type { GivenFlags } from '../config/configuration.ts';
import {
  type AdministrationParts,
  databaseFlags,
  namingFlags,
  printList,
  printOne,
  withAdministration,
} from './command.ts';

export function mailCommands(): Command {
  const group = new Command('mail').description(
    'list emails to users, send failed ones again, and test the SMTP server',
  );
  databaseFlags(
    group
      .command('list')
      .description(
        `list the emails that wait to be sent or have failed, newest first, at most ${mails.MAX_LISTED_MAILS}`,
      ),
  )
    .option('--failed', 'only emails that the server no longer tries to send')
    .addHelpText('after', '\n  grantd mail list --failed')
    .action(({ failed, ...flags }: GivenFlags) =>
      withAdministration(flags, 'needs_database', (parts) => listMails(parts, failed === true)),
    );
  databaseFlags(
    group
      .command('retry <ID>')
      .description('let a running server try again to send an email that has failed'),
  )
    .addHelpText('after', '\n  grantd mail retry 5ZbYzQW2lC9m1zVbT0xJ0w')
    .action((id: string, flags: GivenFlags) =>
      withAdministration(flags, 'needs_database', (parts) => retry(parts, id)),
    );
  databaseFlags(
    group
      .command('test <ADDRESS>')
      .description(
        'send a test email directly to the SMTP server, past the queue of other emails, and print the answer of the SMTP server',
      ),
    ['smtpUrl', 'mailFrom', 'operatorName', 'operatorColor'],
  )
    .addHelpText(
      'after',
      '\n  GRANTD_SMTP_URL=smtp://login@mail.example.com grantd mail test bob@example.com',
    )
    .action(async (typed: string, flags: GivenFlags) => {
      const address = typed.trim();
      namingFlags({ address: 'ADDRESS' }, () => mails.requireAddress(address));
      await withAdministration(flags, 'needs_database', (parts) => test(parts, address));
    });
  return group;
}

async function listMails(parts: AdministrationParts, failed: boolean): Promise<void> {
  const { items } = await call(parts.admin, 'listMails', { failed });
  printList(parts, items, {
    ID: ({ id }) => id,
    TEMPLATE: ({ template }) => template,
    RECIPIENT: ({ recipient }) => recipient,
    STATE: ({ state }) => state,
    ATTEMPTS: ({ attempts }) => String(attempts),
    'LAST ERROR': ({ last_error: lastError = '' }) => lastError,
  });
}

async function retry(parts: AdministrationParts, id: string): Promise<void> {
  await call(parts.admin, 'retryMail', { mail: id });
  printOne(parts, { id, retried: true }, [`email ${id} is due again; a running server sends it`]);
}

async function test(parts: AdministrationParts, address: string): Promise<void> {
  const sent = await namingFlags({}, () => call(parts.admin, 'testMail', { address }));
  printOne(parts, sent, [
    `connected to ${sent.server} with ${sent.tls}`,
    `the server accepted the email to ${address}: ${sent.answer}`,
  ]);
}
