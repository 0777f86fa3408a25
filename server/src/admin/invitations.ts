// Invitations of users by email.
import type { Claims } from '@grantd/core';
import { nameAsKept } from '../data/names.ts';
import type { Person } from '../data/people.ts';
import { NO_PASSWORD } from '../data/ways_to_sign_in.ts';
import { MailQueue } from '../people/mailing.ts';
import { OwnPasswords } from '../people/own_passwords.ts';
import { languages } from '../texts/texts.ts';
import type { OperationParts } from './operation.ts';
import { InvalidInput, OperationRefused } from './operation_refused.ts';
import { nameTaken } from './user_rules.ts';

interface Invitation {
  readonly name: string;
  readonly claims: Claims;
  readonly email: string;
  readonly language: string;
}

interface Invited {
  readonly person: Person;
  readonly warnings: readonly string[];
  /** Whether the user is new. */
  readonly isAdded: boolean;
  readonly mailId: string;
}

/** @throws {InvalidInput} no page and no email has the language */
export function requireLanguage(language: string): void {
  if (!languages().some((known) => known === language))
    throw new InvalidInput(
      'language',
      `expected ${languages().join(' or ')}, got ${JSON.stringify(language)}`,
    );
}

/**
 * Adds a user without a password, or takes one who has none yet, and queues an email with a link to choose one.
 * @throws {OperationRefused} the user exists and has a password or another address, or signs in through a provider
 */
export async function invitePerson(
  parts: OperationParts,
  { name, claims, email, language }: Invitation,
): Promise<Invited> {
  const { configuration } = parts;
  const { providers } = parts.openWays();
  const passwords = new OwnPasswords({ providers, identities: parts.upstreamIdentities });
  if (!passwords.areAskedOf(name)) throw signsInElsewhere(name, 'an identity provider');
  const added = await parts.people.add({ name, claims, passwordHash: NO_PASSWORD });
  const person = added ?? (await parts.people.byName(name));
  if (person === undefined) throw nameTaken(name);
  if (added === undefined && (person.name !== nameAsKept(name) || person.passwordHash !== NO_PASSWORD))
    throw nameTaken(name);
  if (person.directoryId !== undefined) throw signsInElsewhere(name, 'the directory');
  if (!(await passwords.mayReset(person))) throw signsInElsewhere(name, 'an identity provider');
  if (person.claims.email !== email)
    throw new OperationRefused(
      'conflict',
      `${name} was invited with another address`,
      `To change it, run grantd user update ${name} --email ${email}, then invite them again.`,
    );
  const { subject } = person;
  const queue = new MailQueue({ mails: parts.mails, secret: parts.secret() });
  const mailId = await queue.add({ template: 'invite', to: email, subject, language, parameters: {} });
  const { smtpUrl, demo } = configuration.settings;
  const waits = smtpUrl === undefined && !demo;
  return {
    person,
    isAdded: added !== undefined,
    mailId,
    warnings: waits
      ? ['the email waits until a server with --smtp-url (or --demo) runs on this database']
      : [],
  };
}

function signsInElsewhere(name: string, where: string): OperationRefused {
  return new OperationRefused(
    'conflict',
    `${name} signs in through ${where}, so there is no password to choose`,
  );
}
