import { isDeepStrictEqual } from 'node:util';
import type { Claims, ClientRegistry } from '@grantd/core';
import type { Groups } from '../data/groups.ts';
import { isName, nameAsKept, nameProblem, spellingsOf } from '../data/names.ts';
import type { People, Person } from '../data/people.ts';
import { NO_PASSWORD } from '../data/ways_to_sign_in.ts';
import {
  type Directory,
  DirectoryFault,
  type DirectoryRefusal,
  type DirectoryUser,
} from '../directory/contract.ts';
import { claimsInForm } from './claim_forms.ts';
import type { AccessEnding } from './groups.ts';
import { isAddress } from './mailing.ts';

interface Parts {
  readonly directory: Directory;
  readonly people: People;
  readonly groups: Pick<Groups, 'addMember'>;
  readonly access: Pick<AccessEnding, 'leaveGroup'>;
  readonly clients: Pick<ClientRegistry, 'get'>;
  readonly clock?: () => number;
}

export type DirectorySignInRefusal =
  | DirectoryRefusal
  | 'person_changed'
  | 'directory_name_taken'
  | 'directory_name_refused';

/** Why the directory no longer lets in a user who needs no password of it. */
export type AdmissionRefusal = 'directory_entry_missing' | 'person_disabled' | 'person_changed';

const MAX_ATTEMPTS = 5;

/**
 * Signs in users whose passwords a directory checks. Every sign-in brings what the directory says about them up to date
 * (ADR 92).
 */
export class DirectorySignIn {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Whether the directory checks the password of a username. Users with a local password are never looked up in it. */
  decidesAbout(person: Person | undefined): boolean {
    return person === undefined || person.passwordHash === NO_PASSWORD;
  }

  /**
   * Whether the directory has a username, or one that readers confuse with it. A person who signs up must not get it,
   * because its user could never sign in then, and applications would take one for the other.
   * @throws {DirectoryFault} the directory does not decide
   */
  async hasName(name: string): Promise<boolean> {
    const { directory } = this.#parts;
    if (directory.hasName === undefined) return false;
    const spellings = spellingsOf(name);
    if (spellings === undefined) return true;
    for (const spelling of spellings) if (await directory.hasName(spelling)) return true;
    return false;
  }

  /** Whether a user can only be removed where the directory is managed. */
  ownsAccount({ directoryId }: Person): boolean {
    return directoryId !== undefined && this.#parts.directory.ownsAccounts === true;
  }

  /**
   * Checks a password. A user of the directory who is new here is added.
   * @param admits whether an attempt at an entry may proceed
   * @throws {DirectoryFault} the directory does not decide
   */
  async signIn(
    typedName: string,
    password: string,
    admits: (entry: string) => Promise<boolean>,
  ): Promise<{ readonly person: Person } | { readonly refused: DirectorySignInRefusal }> {
    const { directory } = this.#parts;
    const outcome = await directory.authenticate(isName(typedName) ? typedName : undefined, password, admits);
    return 'refused' in outcome ? outcome : this.#personOf(outcome.user);
  }

  /**
   * Asks whether the directory still lets in a user who has signed in without its password, and brings what it says about
   * them up to date. Users with a local password are not looked up.
   * @throws {DirectoryFault} the directory does not decide
   */
  async admit(person: Person): Promise<{ readonly person: Person } | { readonly refused: AdmissionRefusal }> {
    const { directoryId } = person;
    if (directoryId === undefined) return { person };
    const user = await this.#parts.directory.byId(directoryId);
    if (user === undefined) return { refused: 'directory_entry_missing' };
    return user.isDisabled ? { refused: 'person_disabled' } : this.#update(person, user);
  }

  async #personOf(
    user: DirectoryUser,
  ): Promise<{ readonly person: Person } | { readonly refused: DirectorySignInRefusal }> {
    const { people } = this.#parts;
    const known = (await people.byDirectoryId(user.id)) ?? (await this.#add(user));
    if ('refused' in known) return known;
    return this.#update(known, user);
  }

  async #update(known: Person, user: DirectoryUser) {
    await this.#updateGroups(known, user);
    return this.#updateClaims(known.subject, user);
  }

  /** Adds a new user. Of concurrent sign-ins, one adds and the others find. */
  async #add(user: DirectoryUser): Promise<Person | { readonly refused: DirectorySignInRefusal }> {
    const { people } = this.#parts;
    const name = user.names.find((name) => nameProblem(name) === undefined);
    if (name === undefined) return { refused: 'directory_name_refused' };
    const claims = this.#claimsAfter({}, user);
    const { id: directoryId, subject } = user;
    // The token of a client that acts for itself has the client’s ID as `sub` (RFC 9700 §4.15).
    if (subject !== undefined && (await this.#parts.clients.get(subject)) !== undefined)
      throw new DirectoryFault(`the directory’s user has the ID of a client as subject: ${subject}`);
    const add = () => people.add({ name, claims, passwordHash: NO_PASSWORD, directoryId }, subject);
    const added = (await add()) ?? (await people.byDirectoryId(user.id));
    if (added !== undefined) return added;
    const isFree = await this.#isReassigned(name);
    return (isFree ? await add() : undefined) ?? { refused: 'directory_name_taken' };
  }

  /** Whether the user who has a name here has another one in the directory by now, and so here. */
  async #isReassigned(name: string): Promise<boolean> {
    const { people, directory } = this.#parts;
    const holder = await people.byName(name);
    if (holder?.directoryId === undefined) return false;
    const current = await directory.byId(holder.directoryId);
    if (current === undefined) return false;
    const updated = await this.#update(holder, current);
    return 'person' in updated && (await people.byName(name)) === undefined;
  }

  /** Ends memberships before it begins others, so that a fault leaves too few and never too many. */
  async #updateGroups({ subject, groups = [] }: Person, user: DirectoryUser): Promise<void> {
    const { directory, access, groups: memberships, clock = Date.now } = this.#parts;
    for (const group of directory.groups)
      if (groups.includes(group) && !user.groups.includes(group)) await access.leaveGroup({ subject, group });
    // Of other groups, the application may have one of the same name.
    for (const group of directory.groups)
      if (!groups.includes(group) && user.groups.includes(group))
        await memberships.addMember({ subject, group }, clock());
  }

  async #updateClaims(
    subject: string,
    user: DirectoryUser,
  ): Promise<{ readonly person: Person } | { readonly refused: 'person_changed' }> {
    const { people } = this.#parts;
    let isRenamed = true;
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const person = await people.bySubject(subject);
      // An operator has removed the user or given them a local password meanwhile.
      if (person === undefined || person.directoryId !== user.id) break;
      const claims = this.#claimsAfter(person.claims, user);
      const name = isRenamed ? nameAfter(person.name, user) : person.name;
      if (name === person.name && isDeepStrictEqual(claims, person.claims)) return { person };
      const outcome = await people.update({ ...person, name, claims }, person);
      // Keeps the earlier name while another user has the new one.
      if (outcome === 'name_taken') isRenamed = false;
    }
    return { refused: 'person_changed' };
  }

  /** Claims that the directory decides about follow it. Others stay as an operator has set them. */
  #claimsAfter(before: Claims, { claims }: DirectoryUser): Claims {
    const { claims: named, areEmailsVerified } = this.#parts.directory;
    const isDecided = (claim: string) =>
      named === 'all' || named.includes(claim === 'email_verified' ? 'email' : claim);
    const { email, email_verified: isVerified, ...rest } = claims;
    // An operator may have verified the earlier number.
    const isOtherNumber = isDecided('phone_number') && rest.phone_number !== before.phone_number;
    const others = Object.entries(before).filter(
      ([claim]) => !isDecided(claim) && !(isOtherNumber && claim === 'phone_number_verified'),
    );
    const isUsable = typeof email === 'string' && isAddress(email);
    return {
      ...Object.fromEntries(others),
      ...claimsInForm(rest),
      ...(isUsable && { email, email_verified: areEmailsVerified || isVerified === true }),
    };
  }
}

/** The username of the directory, unless it is one that is not allowed here. */
function nameAfter(name: string, { names }: DirectoryUser): string {
  if (names.some((item) => nameAsKept(item) === name)) return name;
  return nameAsKept(names.find((name) => nameProblem(name) === undefined) ?? name);
}
