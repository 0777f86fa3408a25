import type { StoredMail } from '../data/mails.ts';
import { isAddress } from '../people/mailing.ts';
import { InvalidInput, type OperationParts, OperationRefused } from './operation.ts';

/** Emails of a list. */
export const MAX_LISTED_MAILS = 1000;

/** An email that waits, without its content. */
export interface ListedMail {
  readonly id: string;
  readonly template: string;
  readonly recipient: string;
  readonly state: 'waiting' | 'failed';
  readonly attempts: number;
  readonly createdAtMs: number;
  readonly dueAtMs: number;
  readonly failedAtMs: number | undefined;
  readonly lastError: string | undefined;
}

/** Newest first. @param failed only those that the server has given up */
export async function listMails(
  { mails }: Pick<OperationParts, 'mails'>,
  failed: boolean,
): Promise<readonly ListedMail[]> {
  return (await mails.list(failed, MAX_LISTED_MAILS)).map(listed);
}

function listed({ subject: _, language: __, sealed: ___, ...mail }: StoredMail): ListedMail {
  return {
    ...mail,
    // Visitors type it, so it may contain anything.
    recipient: mail.recipient.replaceAll(/\p{C}/gu, '?'),
    state: mail.failedAtMs === undefined ? 'waiting' : 'failed',
  };
}

/** Makes an email due that the server has given up. @throws {OperationRefused} there is none */
export async function retryMail(
  { mails, clock }: Pick<OperationParts, 'mails' | 'clock'>,
  id: string,
): Promise<void> {
  if (!(await mails.retry(id, clock())))
    throw new OperationRefused(
      'not_found',
      `there is no failed email ${id}`,
      'grantd mail list --failed shows them.',
    );
}

/** @throws {InvalidInput} the text is no address */
export function requireAddress(address: string): void {
  if (!isAddress(address))
    throw new InvalidInput(
      'address',
      `expected an address such as bob@example.com, got ${JSON.stringify(address)}`,
    );
}

/** How a test email was sent. */
export interface SentTest {
  /** Host and port. */
  readonly server: string;
  readonly tls: string;
  readonly answer: string;
}
