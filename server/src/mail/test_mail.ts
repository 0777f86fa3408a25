import type { OperationParts, SentTest } from '../admin/operation.ts';
import { InvalidInput, OperationRefused } from '../admin/operation_refused.ts';
import { newIdentifier } from '../data/tables.ts';
import { DEFAULT_LANGUAGE } from '../texts/texts.ts';

/**
 * Sends a test email now, without the queue.
 * @throws {InvalidInput} an option for emails is missing
 * @throws {OperationRefused} the SMTP server did not accept it
 */
export async function testMail(
  { configuration, issuer }: Pick<OperationParts, 'configuration' | 'issuer'>,
  address: string,
): Promise<SentTest> {
  const { smtpUrl, mailFrom, operatorName, operatorColor } = configuration.settings;
  if (smtpUrl === undefined || mailFrom === undefined)
    throw new InvalidInput(configuration.sourceOf(smtpUrl === undefined ? 'smtpUrl' : 'mailFrom'), [
      'mail_unconfigured',
    ]);
  const [{ MailFailure, openSmtp, transportOptions }, { renderMail }] = await Promise.all([
    import('./smtp.ts'),
    import('./message.ts'),
  ]);
  const operator = {
    name: operatorName ?? new URL(issuer).host,
    ...(operatorColor !== undefined && { color: operatorColor }),
  };
  const { host, port, secure, requireTLS } = transportOptions(smtpUrl);
  const smtp = await openSmtp(smtpUrl, mailFrom);
  try {
    const mail = await renderMail({ template: 'test' }, DEFAULT_LANGUAGE, operator);
    const answer = await smtp.send(address, mail, `test-${newIdentifier()}`);
    const tls = secure ? 'TLS from the start' : requireTLS ? 'STARTTLS' : 'STARTTLS if offered';
    return { server: `${host}:${port}`, tls, answer };
  } catch (error) {
    if (!(error instanceof MailFailure)) throw error;
    const { message, kind, said } = error;
    throw new OperationRefused('conflict', [
      'mail_not_sent',
      message.replace(/\.$/, ''),
      `${host}:${port}`,
      kind,
      said,
    ]);
  } finally {
    smtp.close();
  }
}
