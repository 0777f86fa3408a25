// Which user an identity at a provider belongs to, and which may be created or linked.
import { createHash, randomBytes } from 'node:crypto';
import type { AdministrableStorage, Claims } from '@grantd/core';
import { FEDERATED } from '../access/acr.ts';
import type { Provider } from '../config/providers.ts';
import type { ApiRequests } from '../data/answered_requests.ts';
import type { Notice } from '../data/mails.ts';
import { emailDomain, nameProblem } from '../data/names.ts';
import type { People, Person } from '../data/people.ts';
import { askStorage } from '../data/tables.ts';
import type {
  NewIdentity,
  UpstreamIdentities,
  UpstreamIdentity,
  UpstreamName,
} from '../data/upstream_identities.ts';
import type { WaysToSignIn } from '../data/ways_to_sign_in.ts';
import { NO_PASSWORD } from '../data/ways_to_sign_in.ts';
import { claimsInForm } from './claim_forms.ts';
import type { DirectorySignIn } from './directory.ts';
import { isAddress } from './mailing.ts';
import { providerOfAddress } from './own_passwords.ts';
import type { SessionEnd, SessionEnding } from './sessions.ts';
import {
  CLOCK_TOLERANCE,
  ProviderRefusal,
  type ProviderRefusalReason,
  ProviderUnavailable,
  UpstreamClient,
  type UpstreamUser,
} from './upstream_client.ts';

interface Parts {
  readonly identities: UpstreamIdentities;
  readonly people: Pick<People, 'bySubject' | 'byVerifiedEmail'>;
  readonly ending: Pick<SessionEnding, 'end'>;
  readonly storage: Pick<AdministrableStorage, 'oneTimeIdentifiers'>;
  readonly requests: Pick<ApiRequests, 'begin' | 'finish' | 'forget'>;
  readonly clock: () => number;
  /** Hears of each request to a provider whether it was answered. */
  readonly onAnswer?: ((provider: Provider, isAnswered: boolean) => void) | undefined;
}

/** A configured provider with its client. */
export interface ConnectedProvider {
  readonly provider: Provider;
  readonly client: UpstreamClient;
}

/** Who signed in at a provider. */
export type Resolved =
  | { readonly person: Person; readonly identity: UpstreamIdentity }
  /** No user is linked yet, and none may be linked or created without a sign-in here. */
  | { readonly unlinked: NewIdentity };

/** Why a provider did not sign a user in. Only `provider_unavailable` is an outage. */
export interface ProviderFailure {
  readonly reason: 'provider_unavailable' | ProviderRefusalReason;
}

/** Sign-in through providers (ADR 91). */
export class Upstream {
  readonly #providers: ReadonlyMap<string, ConnectedProvider>;
  readonly #parts: Parts;

  constructor(providers: readonly Provider[], parts: Parts) {
    const { clock } = parts;
    this.#providers = new Map(
      providers.map((provider) => {
        const onAnswer = (isAnswered: boolean) => parts.onAnswer?.(provider, isAnswered);
        return [provider.id, { provider, client: new UpstreamClient(provider, clock, onAnswer) }];
      }),
    );
    this.#parts = parts;
  }

  get identities(): UpstreamIdentities {
    return this.#parts.identities;
  }

  get providers(): readonly Provider[] {
    return [...this.#providers.values()].map(({ provider }) => provider);
  }

  byId(id: string): ConnectedProvider | undefined {
    return this.#providers.get(id);
  }

  /** Whether an address can decide where its user signs in. */
  get hasDomains(): boolean {
    return this.providers.some(({ domains }) => domains.length > 0);
  }

  /** The provider to which users with this address are sent. */
  ofAddress(address: string): ConnectedProvider | undefined {
    const provider = providerOfAddress(this.providers, address);
    return provider && this.byId(provider.id);
  }

  /** The provider at which users with these links also sign out. */
  toSignOutOf(identities: readonly UpstreamIdentity[]): ConnectedProvider | undefined {
    const linked = identities.map(({ provider }) => this.byId(provider));
    return linked.find((item) => item?.provider.signsOut && item.provider.protocol === 'openid');
  }

  /** Uses a `state` up, until it would have expired. @returns `false` if it was used before */
  async takeState(state: string, expiresAt: number): Promise<boolean> {
    const { oneTimeIdentifiers } = this.#parts.storage;
    return askStorage(() => oneTimeIdentifiers.take(`upstream_state ${state}`, expiresAt));
  }

  /**
   * Finds the user, links the user whose verified address the operator trusts the provider to know, or creates one. An
   * address never leads to a user unless both sides have verified it. Otherwise an attacker could enter the address of
   * another person first, here or at the provider, and share the account of that person later. For the same reason, the
   * directory says whose address it is now.
   * @param admit asks the directory about one of its users
   * @param protects whether a user has factors, without which no link is added to their account
   * @param noticeTo makes the email for a user who gets a link
   * @param isReserved whether a username belongs to a user of the directory, who may not have signed in yet
   */
  async resolve(
    { provider }: ConnectedProvider,
    user: UpstreamUser,
    {
      admit,
      protects,
      noticeTo,
      isReserved,
    }: {
      readonly admit: DirectorySignIn['admit'];
      readonly protects: (owner: Person) => Promise<boolean>;
      readonly noticeTo: (owner: Person) => Promise<Notice | undefined>;
      readonly isReserved: (name: string) => Promise<boolean>;
    },
  ): Promise<Resolved> {
    const { identities, people, clock } = this.#parts;
    const identity = identityOf(provider, user);
    const linked = await this.#linked(identity);
    if (linked !== undefined) return linked;

    const claims = claimsOf(provider, user);
    const { email, email_verified: isVerified } = claims;
    const address = typeof email === 'string' ? email : undefined;
    const stored = address === undefined ? [] : await people.byVerifiedEmail(address, 2);
    const admitted = await Promise.all(stored.map(admit));
    if (admitted.some((item) => 'refused' in item)) return { unlinked: identity };
    const isOfDirectory = stored.some(({ directoryId }) => directoryId !== undefined);
    const owners = address !== undefined && isOfDirectory ? await people.byVerifiedEmail(address, 2) : stored;
    if (owners.length > 0) {
      const [owner, other] = owners;
      if (isVerified !== true || owner === undefined || other !== undefined) return { unlinked: identity };
      if (await protects(owner)) return { unlinked: identity };
      const link = await identities.link(identity, owner.subject, clock(), await noticeTo(owner));
      return link === undefined
        ? ((await this.#linked(identity)) ?? { unlinked: identity })
        : { person: owner, identity: link };
    }
    if (!mayCreate(provider, claims)) return { unlinked: identity };
    const created = await this.#create(provider, identity, claims, isReserved, hidesAddress(user));
    return created ?? (await this.#linked(identity)) ?? { unlinked: identity };
  }

  /** The identity of a user, to link it. */
  identityOf({ provider }: ConnectedProvider, user: UpstreamUser): NewIdentity {
    return identityOf(provider, user);
  }

  /** How the user has signed in: through a provider, and as that says if the operator believes it. */
  amrOf({ provider: { passAmr } }: ConnectedProvider, { claims: { amr } }: UpstreamUser): readonly string[] {
    const passed = passAmr && Array.isArray(amr) ? amr.filter((item) => METHODS.has(item)) : [];
    return [...new Set<string>(passed), FEDERATED];
  }

  /** @returns `undefined` for an error that is not about a provider */
  failureOf(error: unknown): ProviderFailure | undefined {
    if (error instanceof ProviderUnavailable) return { reason: 'provider_unavailable' };
    return error instanceof ProviderRefusal ? { reason: error.reason } : undefined;
  }

  async #linked(name: UpstreamName): Promise<Resolved | undefined> {
    const identity = await this.#parts.identities.find(name);
    const person = identity && (await this.#parts.people.bySubject(identity.subject));
    return identity === undefined || person === undefined ? undefined : { person, identity };
  }

  async #create(
    provider: Provider,
    identity: NewIdentity,
    { preferred_username: preferred, ...claims }: Claims,
    isReserved: (name: string) => Promise<boolean>,
    isHidden: boolean,
  ): Promise<Resolved | undefined> {
    const { identities, clock } = this.#parts;
    for (const name of namesFor(provider, preferred, isHidden ? {} : claims)) {
      if (await isReserved(name)) continue;
      const claimsEmail = claims.email_verified === true;
      const person = { name, passwordHash: NO_PASSWORD, claims, claimsEmail };
      const added = await identities.addPerson(identity, person, clock());
      if (added !== undefined) return added;
      if ((await identities.find(identity)) !== undefined) return undefined;
    }
    return undefined;
  }

  /**
   * Removes a link, and ends the other sessions that came through it.
   * @param sessionId the session of the user who removes it
   * @returns `undefined` if the link does not exist, or the user has no other way to sign in
   */
  async unlink(
    id: string,
    { subject }: Person,
    sessionId: string,
    ways: WaysToSignIn,
    notice?: Notice,
  ): Promise<readonly SessionEnd[] | undefined> {
    const { identities, ending } = this.#parts;
    const sessions = await identities.sessionsOf({ id });
    if ((await identities.unlink(id, subject, ways, notice)) === undefined) return undefined;
    const ends: SessionEnd[] = [];
    for (const session of sessions)
      if (session.id !== sessionId) ends.push(...(await ending.end(session, 'provider_unlinked')));
    return ends;
  }

  /**
   * Ends the sessions that a logout token is about, with their tokens. After a fault, the provider can send the token
   * again. A token that was used ends nothing, so that sessions that begin after it stay.
   */
  async logOut(
    { provider, client }: ConnectedProvider,
    token: string,
  ): Promise<readonly SessionEnd[] | 'used' | 'pending'> {
    const { identities, ending, requests, clock } = this.#parts;
    const { issuer, jti, issuedAt, expiresAt, sub, sid } = await client.logoutToken(token);
    const about = JSON.stringify(['upstream_logout', provider.id, issuer, jti]);
    const key = createHash('sha256').update(about).digest('base64url');
    const begun = await requests.begin(key, key, clock(), clock() + LOGOUT_PENDING_MS);
    if (!('attempt' in begun)) return begun.sealed === undefined ? 'pending' : 'used';
    try {
      const sessions = await identities.sessionsOf({
        ...{ provider: provider.id, upstreamIssuer: issuer, upstreamSub: sub, upstreamSid: sid },
        signedInBeforeMs: (issuedAt + CLOCK_TOLERANCE) * 1000,
      });
      const ends: SessionEnd[] = [];
      for (const session of sessions) ends.push(...(await ending.end(session, 'provider_logout')));
      await requests.finish(key, begun.attempt, 'used', expiresAt * 1000);
      return ends;
    } catch (error) {
      await requests.forget(key, begun.attempt);
      throw error;
    }
  }
}

/** Milliseconds after which another process may handle the logout token of a process that died. */
const LOGOUT_PENDING_MS = 30_000;

/** Whether the operator believes the provider about addresses of this domain. */
function isTrusted({ trustedDomains }: Provider, address: string): boolean {
  const domain = emailDomain(address);
  return trustedDomains.includes('*') || (domain !== undefined && trustedDomains.includes(domain));
}

function identityOf(provider: Provider, user: UpstreamUser): NewIdentity {
  const { email, name, preferred_username: username } = claimsOf(provider, user);
  const label = [email, username, name].find((item) => typeof item === 'string') ?? user.sub;
  return {
    provider: provider.id,
    upstreamIssuer: user.issuer,
    upstreamSub: user.sub,
    label: String(label).slice(0, MAX_LABEL_LENGTH),
  };
}

const MAX_LABEL_LENGTH = 254;
const MAX_CLAIM_LENGTH = 2000;

/** The claims of a user here, after the mapping. An address is verified if the provider says so and is trusted. */
function claimsOf(provider: Provider, { claims }: UpstreamUser): Claims {
  const mapped: Record<string, unknown> = {};
  for (const [claim, from] of Object.entries(provider.claims)) {
    const value = Object.hasOwn(claims, from) ? claims[from] : undefined;
    if (isClaimValue(value) && claim !== 'sub') mapped[claim] = value;
  }
  const { email, email_verified: verified, preferred_username: preferred, ...rest } = mapped;
  const others = { ...(preferred !== undefined && { preferred_username: preferred }), ...claimsInForm(rest) };
  if (typeof email !== 'string' || !isAddress(email)) return others;
  const isVerified = [true, 1, 'true', '1'].some((item) => item === verified) && isTrusted(provider, email);
  return { ...others, email, email_verified: isVerified };
}

function isClaimValue(value: unknown): boolean {
  if (typeof value === 'string')
    return value !== '' && value.length <= MAX_CLAIM_LENGTH && !value.includes('\0');
  if (Array.isArray(value))
    return value.length <= 100 && value.every((item) => typeof item === 'string' && isClaimValue(item));
  return typeof value === 'boolean' || typeof value === 'number';
}

/** Whether the address is one that Apple has made up for this server. No user would recognise it as a name. */
function hidesAddress({ claims: { is_private_email: isPrivate } }: UpstreamUser): boolean {
  return isPrivate === true || isPrivate === 'true';
}

function mayCreate({ createUsers }: Provider, { email, email_verified: isVerified }: Claims): boolean {
  if (typeof createUsers === 'boolean') return createUsers;
  const domain = typeof email === 'string' && isVerified === true ? emailDomain(email) : undefined;
  return domain !== undefined && createUsers.includes(domain);
}

const MAX_NUMBERED = 9;

/** Names for a new user, best first. An address is a name only if it is verified, because others read it as one. */
function namesFor(
  { id }: Provider,
  preferred: unknown,
  { email, email_verified: isVerified }: Claims,
): string[] {
  const isUsable = (name: unknown): name is string =>
    typeof name === 'string' && nameProblem(name) === undefined && (!name.includes('@') || name === email);
  const wanted = [preferred, email].find(
    (name) => isUsable(name) && (!String(name).includes('@') || isVerified === true),
  );
  const random = `${id}-${randomBytes(5).toString('hex')}`;
  if (!isUsable(wanted)) return [random];
  const numbered = Array.from({ length: MAX_NUMBERED - 1 }, (_, index) => `${wanted}-${index + 2}`);
  return [wanted, ...numbered.filter((name) => nameProblem(name) === undefined), random];
}

/** Authentication methods of the registry (RFC 8176 §2). */
const METHODS: ReadonlySet<string> = new Set(
  'face fpt geo hwk iris kba mca mfa otp pin pop pwd rba retina sc sms swk tel user vbm wia'.split(' '),
);
