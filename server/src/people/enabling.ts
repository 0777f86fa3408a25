import type { AdministrableStorage } from '@grantd/core';
import type { MailedLinks } from '../data/mails.ts';
import { askStorage } from '../data/tables.ts';

interface Parts {
  readonly storage: Pick<AdministrableStorage, 'setDisabled'>;
  readonly mailedLinks: Pick<MailedLinks, 'forget'>;
}

/**
 * Disables or enables a user. Like their tokens, the links that were mailed before they were disabled stay unusable. They
 * end before the user is enabled, and none are made for disabled users.
 */
export async function setDisabled(
  { storage, mailedLinks }: Parts,
  subject: string,
  isDisabled: boolean,
): Promise<void> {
  if (!isDisabled) await mailedLinks.forget(subject);
  await askStorage(() => storage.setDisabled('subject', subject, isDisabled));
}
