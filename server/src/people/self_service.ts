import type { AdministrableStorage } from '@grantd/core';
import type { MailedLink, Notice } from '../data/mails.ts';
import { emailKey } from '../data/names.ts';
import type { People, Person } from '../data/people.ts';
import { askStorage } from '../data/tables.ts';
import { isCurrent, type MailQueue, verifiedAddressOf } from './mailing.ts';
import type { OwnPasswords } from './own_passwords.ts';
import type { PasswordHasher } from './password_hasher.ts';
import type { SessionEnd, SessionEnding } from './sessions.ts';

interface Parts {
  /** Records changes under the actor `user`. */
  readonly people: People;
  readonly storage: Pick<AdministrableStorage, 'getPrincipalState'>;
  readonly ending: Pick<SessionEnding, 'endAccess'>;
  readonly hasher: Pick<PasswordHasher, 'hash'>;
  readonly passwords: Pick<OwnPasswords, 'mayReset'>;
  /** `undefined` if the server sends no emails. */
  readonly queue: MailQueue | undefined;
}

const MAX_ATTEMPTS = 5;

/** Changes that users make to their own accounts. The callers have checked who they are. */
export class SelfService {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The enabled user whom a link is about, as long as the link fits them. */
  async userOf(link: MailedLink): Promise<Person | undefined> {
    const { people, storage, passwords } = this.#parts;
    const person = link.subject === undefined ? undefined : await people.bySubject(link.subject);
    if (person === undefined || !isCurrent(link, person)) return undefined;
    if (link.purpose !== 'verify' && !(await passwords.mayReset(person))) return undefined;
    const state = await askStorage(() => storage.getPrincipalState('subject', person.subject));
    return state?.disabledAtMs === undefined ? person : undefined;
  }

  /**
   * Sets a password by a link, ends all sessions and revokes all tokens. They end before the change too, so that a fault
   * leaves the link usable, and no one signed in with the old password. Afterwards, what began meanwhile ends: codes do
   * not show in a list, so the tokens are revoked again in any case.
   * @param use uses the link up
   * @returns the ended sessions; `undefined` if another request was faster
   */
  async resetPassword(
    person: Person,
    password: string,
    language: string,
    use: () => Promise<MailedLink | undefined>,
  ): Promise<readonly SessionEnd[] | undefined> {
    const { people, hasher } = this.#parts;
    const hash = await hasher.hash(password);
    const before = await this.#endEverything(person);
    const link = await use();
    if (link === undefined) return undefined;
    const notice = link.purpose !== 'invite' ? await this.#notice(person, language) : undefined;
    if (!(await people.setPasswordHash(person.subject, hash, person.passwordHash, notice))) return undefined;
    this.#parts.queue?.wake();
    const ended = [...before, ...(await this.#endEverything(person))];
    // The address of an invitation is verified by the use of its link.
    if (link.purpose === 'invite')
      await this.#verify(person.subject, link.address, (changed) => people.update(changed));
    return ended;
  }

  /** @returns the user with the new password; `undefined` if another request has changed it, or a directory has it */
  async changePassword(person: Person, password: string, language: string): Promise<Person | undefined> {
    const { people, hasher } = this.#parts;
    if (person.directoryId !== undefined) return undefined;
    const passwordHash = await hasher.hash(password);
    const notice = await this.#notice(person, language);
    if (!(await people.setPasswordHash(person.subject, passwordHash, person.passwordHash, notice)))
      return undefined;
    this.#parts.queue?.wake();
    return { ...person, passwordHash };
  }

  /**
   * Sets a verified address, and tells the old one.
   * @returns `false` if another user has the address, or the user has changed too often meanwhile
   */
  async changeEmail(person: Person, address: string, language: string): Promise<boolean> {
    const old = verifiedAddressOf(person);
    const { people } = this.#parts;
    const changed = await this.#verify(person.subject, address, (next) => people.updateEmail(next));
    if (changed === undefined) return false;
    if (old !== undefined && emailKey(old) !== emailKey(address)) {
      const { subject } = person;
      const parameters = { newAddress: address };
      await this.#parts.queue?.add({ template: 'email_changed', to: old, subject, language, parameters });
    }
    return true;
  }

  async #verify(
    subject: string,
    email: string,
    update: (person: Person) => Promise<string>,
  ): Promise<Person | undefined> {
    const { people } = this.#parts;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const person = await people.bySubject(subject);
      if (person === undefined) return undefined;
      const changed = { ...person, claims: { ...person.claims, email, email_verified: true } };
      const outcome = await update(changed);
      if (outcome === 'updated') return changed;
      if (outcome === 'taken') return undefined;
    }
    return undefined;
  }

  async #endEverything({ subject }: Person): Promise<readonly SessionEnd[]> {
    return (await this.#parts.ending.endAccess(subject, 'password_set')).ends;
  }

  async #notice(person: Person, language: string): Promise<Notice | undefined> {
    return this.#parts.queue?.notice(person, { template: 'password_changed', language, parameters: {} });
  }
}
