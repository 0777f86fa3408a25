import type { Settings } from '../config/options.ts';
import type { Instance } from '../instance/instance.ts';
import type { Log } from '../log/log.ts';
import { causeOf } from '../log/logged_error.ts';
import type { Operator } from '../pages/drawing/operator.ts';
import { LinkBook, MailQueue } from '../people/mailing.ts';
import { OwnPasswords } from '../people/own_passwords.ts';
import { MailDeliverer } from './deliverer.ts';
import { openSmtp } from './smtp.ts';

/** What sends the emails of a server. */
export interface MailService {
  readonly queue: MailQueue;
  readonly links: LinkBook;
  readonly deliverer: MailDeliverer;
  /** Closes the connections to the SMTP server. */
  close(): void;
}

interface Surroundings {
  readonly settings: Pick<Settings, 'smtpUrl' | 'mailFrom'>;
  readonly operator: Operator;
  readonly log: Log;
}

/** Without an SMTP server, emails go to the mailbox of the demo. */
export async function openMail(
  { openWays, issuer, mails, mailedLinks, people, storage, secret, upstreamIdentities: identities }: Instance,
  { settings: { smtpUrl, mailFrom = '' }, operator, log }: Surroundings,
): Promise<MailService> {
  const { providers } = openWays();
  const links = new LinkBook({ links: mailedLinks, issuer });
  const queue = new MailQueue({ mails, secret: secret(), onQueued: () => void deliverer.begin() });
  const smtp = smtpUrl === undefined ? undefined : await openSmtp(smtpUrl, mailFrom);
  const deliverer = new MailDeliverer({
    ...{ queue, links, people, storage },
    passwords: new OwnPasswords({ providers, identities }),
    operator: {
      name: operator.name ?? new URL(issuer).host,
      ...(operator.color !== undefined && { color: operator.color }),
    },
    smtp,
    report: ({ type, ...known }) => log[type === 'mail_sent' ? 'info' : 'warn']({ event: type, ...known }),
    onFault: (error) => log.error({ event: 'mail_fault', cause: causeOf(error) }),
  });
  return { queue, links, deliverer, close: () => smtp?.close() };
}
