import { createHash, randomBytes } from 'node:crypto';
import { isJsonObject } from '@grantd/core/options';
import type { LinkPurpose, MailedLink, MailedLinks, Mails, Notice, StoredMail } from '../data/mails.ts';
import type { Person } from '../data/people.ts';
import { type ProgramSecret, seal, unseal } from '../data/secrets.ts';
import { newIdentifier } from '../data/tables.ts';
import { NO_PASSWORD } from '../data/ways_to_sign_in.ts';

/** Milliseconds for which a mailed link is valid. It counts from the delivery attempt. */
export const LINK_LIFETIMES_MS: Readonly<Record<LinkPurpose, number>> = {
  reset: 30 * 60 * 1000,
  password: 24 * 60 * 60 * 1000,
  verify: 24 * 60 * 60 * 1000,
  sign_up: 60 * 60 * 1000,
  invite: 7 * 24 * 60 * 60 * 1000,
  code: 10 * 60 * 1000,
};

/** The emails that the server sends, and what each needs to know. */
export interface MailParameters {
  /** A request by a visitor. Whether it leads to an email is decided when it is due, not when it is made. */
  readonly reset: { readonly browser: string };
  readonly sign_up: { readonly browser: string };
  /** As `reset`, with the request that the email names. */
  readonly code: {
    readonly id: string;
    readonly browser: string;
    readonly knownBrowser?: string | undefined;
    readonly userAgent: string;
    readonly network?: string;
    readonly application?: string;
  };
  readonly verify: Record<never, never>;
  readonly invite: Record<never, never>;
  /** Asked for by an operator. A new password ends it, also before it is sent. */
  readonly password_link: { readonly passwordDigest: string };
  readonly password_changed: Record<never, never>;
  /** A passkey, an app, recovery codes or a link was added or removed. */
  readonly factor_changed: {
    readonly change: FactorChange;
    readonly name?: string;
    /** The user signed in with a recovery code before. */
    readonly byRecovery?: true;
  };
  /** A personal access token. */
  readonly token_made: { readonly name: string };
  readonly email_changed: { readonly newAddress: string };
  readonly account_removed: { readonly username: string };
  readonly test: Record<never, never>;
}

export const FACTOR_CHANGES = [
  ...(['passkey_added', 'passkey_removed', 'totp_added', 'totp_removed', 'recovery_codes_made'] as const),
  ...(['security_key_added', 'security_key_removed', 'recovery_codes_removed'] as const),
  ...(['factors_reset', 'provider_linked', 'provider_unlinked'] as const),
] as const;

/** A change of how a user signs in. `passkey_…` and `security_key_…` have its name, `provider_…` that of the provider. */
export type FactorChange = (typeof FACTOR_CHANGES)[number];

export type MailTemplate = keyof MailParameters;

/** An email as it is sent. */
export interface RenderedMail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** An email to queue. */
interface MailToSend<T extends MailTemplate> {
  readonly template: T;
  /** The address, or what a visitor typed. */
  readonly to: string;
  readonly language: string;
  /** The user that it is about, if known. */
  readonly subject?: string;
  readonly parameters: MailParameters[T];
}

/**
 * Queues emails for the running server. Their parameters are sealed, because they are about people (ADR 84, ADR 127).
 */
export class MailQueue {
  readonly mails: Mails;
  readonly #secret: ProgramSecret;
  readonly #clock: () => number;
  readonly #onQueued: () => void;

  /** @param onQueued called after each email, so that a deliverer in this process begins at once */
  constructor(parts: {
    readonly mails: Mails;
    readonly secret: ProgramSecret;
    readonly clock?: () => number;
    readonly onQueued?: () => void;
  }) {
    this.mails = parts.mails;
    this.#secret = parts.secret;
    this.#clock = parts.clock ?? Date.now;
    this.#onQueued = parts.onQueued ?? (() => {});
  }

  /** @returns the ID of the email */
  async add<T extends MailTemplate>({
    template,
    to,
    language,
    subject,
    parameters,
  }: MailToSend<T>): Promise<string> {
    const sealed = await this.seal(parameters);
    const id = await this.mails.add({ template, recipient: to, language, subject, sealed }, this.#clock());
    this.#onQueued();
    return id;
  }

  /**
   * An email about a change, for the transaction of the change. Call `wake` when it is done.
   * @returns `undefined` if the user has no verified address
   */
  async notice<T extends 'password_changed' | 'factor_changed' | 'token_made'>(
    person: Pick<Person, 'subject' | 'claims'>,
    { template, language, parameters }: Pick<MailToSend<T>, 'template' | 'language' | 'parameters'>,
  ): Promise<Notice | undefined> {
    const recipient = verifiedAddressOf(person);
    if (recipient === undefined) return undefined;
    const sealed = await this.seal(parameters);
    const { subject } = person;
    const queuedAtMs = this.#clock();
    return { id: newIdentifier(), template, recipient, language, subject, sealed, queuedAtMs };
  }

  /**
   * Queues an email with a link to set a password, for an operator.
   * @returns the ID of the email; `undefined` if the user has changed since they were read
   */
  async addPasswordLink(
    person: Pick<Person, 'subject' | 'passwordHash' | 'revision'>,
    to: string,
    language: string,
  ): Promise<string | undefined> {
    const parameters: MailParameters['password_link'] = { passwordDigest: digestOf(person.passwordHash) };
    const sealed = await this.seal(parameters);
    const mail = { template: 'password_link' satisfies MailTemplate, recipient: to, language, sealed };
    return this.mails.addPasswordLink(mail, person, this.#clock());
  }

  /** Lets a deliverer in this process look at the queue. */
  wake(): void {
    this.#onQueued();
  }

  async seal(value: unknown): Promise<string> {
    return seal(await this.#secret.key('mail'), JSON.stringify(value));
  }

  /** @returns `undefined` if it was sealed under a secret that the server no longer has */
  async open({ sealed }: Pick<StoredMail, 'sealed'>): Promise<Readonly<Record<string, unknown>> | undefined> {
    for (const key of await this.#secret.keys('mail')) {
      const text = unseal(key, sealed);
      const value: unknown = text === undefined ? undefined : JSON.parse(text);
      if (isJsonObject(value)) return value;
    }
    return undefined;
  }
}

/** What a new link is for. */
interface LinkToMake {
  readonly purpose: LinkPurpose;
  readonly address: string;
  readonly person?: Pick<Person, 'subject' | 'passwordHash'>;
  /** The cookie of the browser that asked for it. */
  readonly browser?: string;
  /** The ID of the email, if this is not the first attempt to send it. */
  readonly retried?: string;
}

/** Makes and uses the single-use links in emails (ADR 85). */
export class LinkBook {
  readonly #links: MailedLinks;
  readonly #issuer: string;
  readonly #clock: () => number;

  /** @param parts.issuer the base of every link. No header of a request can change it. */
  constructor(parts: {
    readonly links: MailedLinks;
    readonly issuer: string;
    readonly clock?: () => number;
  }) {
    this.#links = parts.links;
    this.#issuer = parts.issuer;
    this.#clock = parts.clock ?? Date.now;
  }

  /** @returns the URL for the email */
  async make({ purpose, address, person, browser, retried }: LinkToMake): Promise<string> {
    const token = randomBytes(32).toString('base64url');
    const link = {
      purpose,
      address,
      subject: person?.subject,
      passwordDigest: person && digestOf(person.passwordHash),
      browserDigest: browser === undefined ? undefined : digestOf(browser),
      expiresAtMs: this.#clock() + LINK_LIFETIMES_MS[purpose],
    };
    await this.#links.add(digestOf(token), link, retried);
    return `${this.#issuer.replace(/\/$/, '')}/link?token=${token}`;
  }

  /** Looks at a link without using it. @returns `undefined` if it is invalid */
  find(token: string): Promise<MailedLink | undefined> {
    return this.#links.find(digestOf(token), this.#clock());
  }

  /** Seconds until a link expires; 0 if it does not work. */
  async secondsLeft(token: string): Promise<number> {
    const link = await this.find(token);
    return link === undefined ? 0 : Math.ceil((link.expiresAtMs - this.#clock()) / 1000);
  }

  /** Uses a link up. @returns `undefined` if it is invalid, or another request was faster */
  use(token: string): Promise<MailedLink | undefined> {
    return this.#links.use(digestOf(token), this.#clock());
  }

  /** Makes a used link usable again, because its use has failed. */
  restore(token: string, link: MailedLink): Promise<void> {
    return this.#links.add(digestOf(token), link);
  }
}

/** Whether a link was made for this user as they are: a new password or address ends links that set a password. */
export function isCurrent(link: MailedLink, person: Person): boolean {
  if (link.subject !== person.subject || link.passwordDigest !== digestOf(person.passwordHash)) return false;
  if (link.purpose === 'verify') return true;
  // The directory has the password.
  if (person.directoryId !== undefined) return false;
  if (link.purpose === 'invite') return person.passwordHash === NO_PASSWORD;
  return verifiedAddressOf(person) === link.address;
}

/** Whether a link was asked for in the browser with this cookie. Links that an operator asked for belong to none. */
export function isFromBrowser({ browserDigest }: MailedLink, browser: string | undefined): boolean {
  return browserDigest === undefined || (browser !== undefined && digestOf(browser) === browserDigest);
}

/** The address to which emails about the account go (ADR 143). */
export function verifiedAddressOf({
  claims: { email, email_verified: isVerified },
}: Pick<Person, 'claims'>): string | undefined {
  return typeof email === 'string' && isVerified === true ? email : undefined;
}

/** Longer ones cannot be delivered (RFC 5321 §4.5.3.1.3). */
const MAX_ADDRESS = 254;

/** Characters that could end the address in a header, and those that show nothing, are in no address. */
const PART = String.raw`[^\s@<>()[\]\\,;:"\p{C}\p{Default_Ignorable_Code_Point}\u2800]+`;
const ADDRESS = new RegExp(`^${PART}@${PART}$`, 'u');

/** Whether a text can be an address. */
export function isAddress(text: string): boolean {
  return text.length <= MAX_ADDRESS && ADDRESS.test(text);
}

export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}
