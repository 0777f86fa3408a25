// Invitations of users by email, and links with which users choose a new password.
import type { Claims } from '@grantd/core';
import { nameAsKept } from '../data/names.ts';
import type { Person } from '../data/people.ts';
import { NO_PASSWORD } from '../data/ways_to_sign_in.ts';
import { MailQueue, verifiedAddressOf } from '../people/mailing.ts';
import { OwnPasswords } from '../people/own_passwords.ts';
import { AttemptLimits } from '../people/sign_in.ts';
import { languages } from '../texts/texts.ts';
import { change, type OperationParts } from './operation.ts';
import { InvalidInput, OperationRefused } from './operation_refused.ts';
import { named, object, text, WARNINGS } from './schema.ts';
import { asPermitted, changeable, languageOf, nameTaken, withState } from './user_rules.ts';
import { Warning } from './warning.ts';

interface Invitation {
  readonly name: string;
  readonly claims: Claims;
  readonly email: string;
  readonly language: string;
}

interface Invited {
  readonly person: Person;
  readonly warnings: readonly Warning[];
  /** Whether the user is new. */
  readonly isAdded: boolean;
  readonly mailId: string;
}

/** @throws {InvalidInput} no page and no email has the language */
export function requireLanguage(language: string): void {
  if (!languages().some((known) => known === language))
    throw new InvalidInput('invitation.language', [
      'language_unknown',
      languages().join(' or '),
      JSON.stringify(language),
    ]);
}

/**
 * Adds a user without a password, or takes one who has none yet, and queues an email with a link to choose one.
 * @throws {OperationRefused} the user exists and has a password or another address, or signs in through a provider
 */
export async function invitePerson(
  parts: OperationParts,
  { name, claims, email, language }: Invitation,
): Promise<Invited> {
  const passwords = passwordsIn(parts);
  if (!passwords.areAskedOf(name)) throw signsInElsewhere(name, 'signs_in_at_provider');
  const added = await parts.people.add({ name, claims, passwordHash: NO_PASSWORD });
  const person = added ?? (await parts.people.byName(name));
  if (person === undefined) throw nameTaken(name);
  if (added === undefined && (person.name !== nameAsKept(name) || person.passwordHash !== NO_PASSWORD))
    throw nameTaken(name);
  if (person.directoryId !== undefined) throw signsInElsewhere(name, 'signs_in_at_directory');
  if (!(await passwords.mayReset(person))) throw signsInElsewhere(name, 'signs_in_at_provider');
  if (person.claims.email !== email)
    throw new OperationRefused(
      'conflict',
      ['invited_elsewhere', name],
      `To change it, run grantd user update ${name} --email ${email}, then invite them again.`,
    );
  const { subject } = person;
  const queue = new MailQueue({ mails: parts.mails, secret: parts.secret() });
  const mailId = await queue.add({ template: 'invite', to: email, subject, language, parameters: {} });
  return { person, isAdded: added !== undefined, mailId, warnings: warningsOfMail(parts) };
}

function passwordsIn(parts: Pick<OperationParts, 'openWays' | 'upstreamIdentities'>): OwnPasswords {
  const { providers } = parts.openWays();
  return new OwnPasswords({ providers, identities: parts.upstreamIdentities });
}

function warningsOfMail({ configuration }: Pick<OperationParts, 'configuration'>): readonly Warning[] {
  const { smtpUrl, demo } = configuration.settings;
  return smtpUrl === undefined && !demo ? [new Warning('mail_waits')] : [];
}

function signsInElsewhere(
  name: string,
  where: 'signs_in_at_provider' | 'signs_in_at_directory',
): OperationRefused {
  return new OperationRefused('conflict', [where, name]);
}

/** Emails with links that operators may send to one user in an hour, so that no client of the admin API floods a mailbox. */
const LINKS_OF_USER = { attempts: 5, windowMs: 60 * 60 * 1000 };

const PASSWORD_LINK = named(
  'PasswordLink',
  object({
    address: text('Where the email goes: the verified address of the user.'),
    mail_id: text('The ID of the email, which waits to be sent.'),
    warnings: WARNINGS,
  }),
);

export const INVITATION_OPERATIONS = {
  sendPasswordLink: change({
    method: 'POST',
    path: '/users/{sub}/password-link',
    scope: 'grantd:users:write',
    summary:
      'Send a user an email with a link to choose a new password. It goes to the verified address only. The link works once, for 24 hours, and ends the earlier links of the user for a password. Nothing else ends until the user has chosen one',
    status: 200,
    output: PASSWORD_LINK,
    command: {
      line: 'user send-password-link <sub>',
      about:
        'send a user an email with a link to choose a new password. Earlier links of the user for a password stop working',
      notes: `The link goes to the verified email address of the user, works once, and for 24 hours. Until the user has chosen a password, the current one stays.

  grantd user send-password-link bob   # bob has forgotten his password`,
      lines: ({ address }, { username }) => `${username} gets an email with a link at ${address}`,
    },
    async prepare(parts, input) {
      await parts.requireSecretOfServers();
      const person = await changeable(parts, input);
      const { name } = person;
      if (person.directoryId !== undefined) throw signsInElsewhere(name, 'signs_in_at_directory');
      if (!(await passwordsIn(parts).mayReset(person))) throw signsInElsewhere(name, 'signs_in_at_provider');
      if ((await withState(parts, person)).disabledAtMs !== undefined)
        throw new OperationRefused(
          'conflict',
          ['user_disabled', name],
          `grantd user enable ${name} comes first.`,
        );
      const address = verifiedAddressOf(person);
      if (address === undefined)
        throw new OperationRefused(
          'conflict',
          ['no_verified_address', name],
          `If you know the address, run grantd user update ${name} --email ADDRESS --email-verified.`,
        );
      return { person, address };
    },
    async write(parts, { person, address }) {
      const { subject, name } = person;
      const limits = new AttemptLimits(parts.attempts, parts.secret(), parts.clock);
      const count = { name: `mail password to ${subject}`, place: '', most: LINKS_OF_USER };
      const reached = await limits.begin(count);
      if (reached !== undefined)
        throw new OperationRefused(
          'conflict',
          ['too_many_links', name, String(LINKS_OF_USER.attempts)],
          `try again in ${Math.ceil(reached.secondsToWait / 60)} minutes.`,
        );
      const { mails, clock } = parts;
      const queue = new MailQueue({ mails, secret: parts.secret(), clock });
      const language = languageOf(person.claims.locale);
      const mailId = await asPermitted(parts, person, () => queue.addPasswordLink(person, address, language));
      if (mailId !== undefined)
        return { document: { address, mail_id: mailId, warnings: warningsOfMail(parts) } };
      await limits.end({ takenBack: [count] });
      return undefined;
    },
  }),
};
