import type { Provider } from '../config/providers.ts';
import { emailDomain, nameKey, trimmed } from '../data/names.ts';
import type { Person } from '../data/people.ts';
import type { UpstreamIdentities } from '../data/upstream_identities.ts';
import { NO_PASSWORD } from '../data/ways_to_sign_in.ts';
import { verifiedAddressOf } from './mailing.ts';

interface Parts {
  readonly providers: readonly Pick<Provider, 'domains'>[];
  readonly identities: Pick<UpstreamIdentities, 'ofSubject'>;
}

/**
 * Whose passwords this server has, and may set by an emailed link. The passwords of all others are elsewhere (ADR 126).
 */
export class OwnPasswords {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Whether users with this name enter a password. The configuration alone decides, so it tells nothing about users. */
  areAskedOf(name: string): boolean {
    return providerOfAddress(this.#parts.providers, name) === undefined;
  }

  /** Whether a user has a password with which they can sign in. */
  has({ name, passwordHash }: Pick<Person, 'name' | 'passwordHash'>): boolean {
    return passwordHash !== NO_PASSWORD && this.areAskedOf(name);
  }

  /**
   * Whether a user may set a password by a link, also by that of an invitation. A user of a directory or provider may not: the password would bypass its
   * second factor, and outlast its user.
   */
  async mayReset(person: Person): Promise<boolean> {
    if (person.directoryId !== undefined || !this.areAskedOf(person.name)) return false;
    if (person.passwordHash !== NO_PASSWORD) return true;
    // The provider of their address is their way in, also before they have used it.
    if (!this.areAskedOf(verifiedAddressOf(person) ?? '')) return false;
    // A link counts also if its provider is no longer configured: the operator decides how its users sign in then.
    return (await this.#parts.identities.ofSubject(person.subject)).length === 0;
  }
}

/** The provider to which users with this address are sent, by any spelling of the address. */
export function providerOfAddress<P extends Pick<Provider, 'domains'>>(
  providers: readonly P[],
  address: string,
): P | undefined {
  if (providers.length === 0) return undefined;
  const domain = domainKey(trimmed(address));
  return providers.find(
    ({ domains }) => domain !== undefined && domains.some((item) => domainKey(`user@${item}`) === domain),
  );
}

/** The same for all domains that readers confuse, as `nameKey` is. @returns `undefined` without one */
function domainKey(address: string): string | undefined {
  return emailDomain(nameKey(address));
}
