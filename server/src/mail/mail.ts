import type { Settings } from '../config/options.ts';
import type { Instance } from '../instance/instance.ts';
import type { Log } from '../log/log.ts';
import { causeOf } from '../log/logged_error.ts';
import type { Operator } from '../pages/drawing/operator.ts';
import { codePolicy, EmailCodes } from '../people/email_codes.ts';
import { LinkBook, MailQueue } from '../people/mailing.ts';
import { OwnPasswords } from '../people/own_passwords.ts';
import { AttemptLimits } from '../people/sign_in.ts';
import { MailDeliverer } from './deliverer.ts';
import { openSmtp } from './smtp.ts';

/** What sends the emails of a server. */
export interface MailService {
  readonly queue: MailQueue;
  readonly links: LinkBook;
  readonly deliverer: MailDeliverer;
  /** `undefined` if the server sends no codes. */
  readonly codes: EmailCodes | undefined;
  /** Closes the connections to the SMTP server. */
  close(): void;
}

interface Surroundings {
  readonly settings: Pick<
    Settings,
    | ('smtpUrl' | 'mailFrom' | 'emailCode' | 'insecureEmailCodeForAdministrators')
    | ('signInWithEmail' | 'adminGroup' | 'emailCodeGroups')
  >;
  readonly operator: Operator;
  readonly log: Log;
}

/** Without an SMTP server, emails go to the mailbox of the demo. */
export async function openMail(
  instance: Instance,
  { settings, operator, log }: Surroundings,
): Promise<MailService> {
  const { openWays, issuer, mails, mailedLinks, people, storage } = instance;
  const { smtpUrl, mailFrom = '' } = settings;
  const { providers } = openWays();
  const secret = instance.secret();
  const passwords = new OwnPasswords({ providers, identities: instance.upstreamIdentities });
  const clock = Date.now;
  const policy = codePolicy(settings, passwords);
  const codes =
    policy &&
    new EmailCodes({
      ...{ ...policy, people, storage, secret, clock, links: mailedLinks },
      limits: new AttemptLimits(instance.attempts, secret, instance.sharedTime.now),
      takesAddresses: settings.signInWithEmail,
    });
  const links = new LinkBook({ links: mailedLinks, issuer });
  const queue = new MailQueue({ mails, secret, onQueued: () => void deliverer.begin() });
  const smtp = smtpUrl === undefined ? undefined : await openSmtp(smtpUrl, mailFrom);
  const deliverer = new MailDeliverer({
    ...{ queue, links, codes, people, storage, passwords },
    operator: {
      name: operator.name ?? new URL(issuer).host,
      ...(operator.color !== undefined && { color: operator.color }),
    },
    smtp,
    report: ({ type, ...known }) => log[type === 'mail_sent' ? 'info' : 'warn']({ event: type, ...known }),
    onFault: (error) => log.error({ event: 'mail_fault', cause: causeOf(error) }),
  });
  return { queue, links, codes, deliverer, close: () => smtp?.close() };
}
