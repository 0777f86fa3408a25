import type { AdministrableStorage } from '@grantd/core';
import { MAIL_LEASE_MS, type StoredMail } from '../data/mails.ts';
import { isName } from '../data/names.ts';
import type { People, Person } from '../data/people.ts';
import { askStorage } from '../data/tables.ts';
import { NO_PASSWORD } from '../data/ways_to_sign_in.ts';
import type { Brand } from '../pages/drawing/brand.ts';
import type { EmailCodes } from '../people/email_codes.ts';
import {
  digestOf,
  FACTOR_CHANGES,
  isAddress,
  LINK_LIFETIMES_MS,
  type LinkBook,
  type MailQueue,
  type MailTemplate,
  type RenderedMail,
  verifiedAddressOf,
} from '../people/mailing.ts';
import type { OwnPasswords } from '../people/own_passwords.ts';
import { DEFAULT_LANGUAGE, languageOf } from '../texts/texts.ts';
import { type MailView, renderMail } from './message.ts';
import { MailFailure, type Smtp } from './smtp.ts';

/** Milliseconds before each retry. The last retry is about eight hours after the first attempt. */
const PAUSES_MS = [10, 60, 300, 900, 1800, 3600, 7200, 14_400].map((seconds) => seconds * 1000);

/** Emails that one process sends at the same time. */
const MAX_CONCURRENT = 4;

/** Milliseconds after which a request by a visitor counts as forgotten. They have asked again since. */
const REQUEST_VALID_FOR_MS = 60 * 60 * 1000;

/** Maximum accounts that one email names, if they share an address. */
export const MAX_ACCOUNTS_PER_MAIL = 5;

interface MailReport {
  readonly type: 'mail_sent' | 'mail_postponed' | 'mail_given_up';
  readonly mailId: string;
  readonly template: string;
  readonly attempts: number;
  /** Such as `EENVELOPE 550`. */
  readonly code?: string;
}

interface Parts {
  readonly queue: MailQueue;
  readonly links: LinkBook;
  readonly people: Pick<People, 'byName' | 'bySubject' | 'byVerifiedEmail'>;
  readonly storage: Pick<AdministrableStorage, 'getPrincipalState'>;
  readonly passwords: Pick<OwnPasswords, 'mayReset'>;
  /** `undefined` if the server sends no codes. */
  readonly codes: Pick<EmailCodes, 'make'> | undefined;
  readonly operator: Brand;
  /** `undefined` in the demo, whose emails go to a page. */
  readonly smtp: Smtp | undefined;
  readonly report: (report: MailReport) => void;
  /** Receives faults. The email is due again when its lease ends. */
  readonly onFault: (error: unknown) => void;
  readonly clock?: () => number;
}

/** An email and the address it goes to. */
interface Addressed {
  readonly to: string;
  readonly view: MailView;
}

/**
 * Sends queued emails, with retries. Several processes can share the work, because each email goes to one of them. What
 * a visitor asked for is looked up here and not by the page, so that the page does the same work for every address.
 */
export class MailDeliverer {
  readonly #parts: Parts;
  readonly #clock: () => number;
  readonly #pending = new Set<Promise<void>>();
  #taking: Promise<unknown> = Promise.resolve();
  #isEnding = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#clock = parts.clock ?? Date.now;
  }

  /** Starts an attempt for each due email, and continues until none is due. Never rejects. */
  async begin(): Promise<void> {
    const taken = this.#taking.then(() => this.#take()).catch((error: unknown) => this.#parts.onFault(error));
    this.#taking = taken;
    await taken;
  }

  /** Starts no more attempts. Resolves when none is pending. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#taking;
    await Promise.all(this.#pending);
    this.#parts.smtp?.close();
  }

  /** Resolves when everything that was due has been attempted. */
  async settled(): Promise<void> {
    await this.begin();
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  async #take(): Promise<void> {
    const limit = MAX_CONCURRENT - this.#pending.size;
    if (this.#isEnding || limit === 0) return;
    const { mails } = this.#parts.queue;
    for (const mail of await mails.take(this.#clock(), MAIL_LEASE_MS, limit)) {
      const attempt = this.#attempt(mail)
        .catch((error: unknown) => this.#parts.onFault(error))
        .then(() => {
          this.#pending.delete(attempt);
          return this.begin();
        });
      this.#pending.add(attempt);
    }
  }

  async #attempt(mail: StoredMail): Promise<void> {
    const { queue, smtp, report, operator } = this.#parts;
    const { id, template, attempts } = mail;
    const about = { mailId: id, template, attempts };
    try {
      const addressed = await this.#address(mail);
      if (addressed === undefined) return queue.mails.remove(id);
      const language = languageOf(mail.language) ?? DEFAULT_LANGUAGE;
      const rendered: RenderedMail = await renderMail(addressed.view, language, operator);
      if (smtp === undefined) {
        const sealed = await queue.seal({ to: addressed.to, ...rendered });
        await queue.mails.putInMailbox(id, sealed, this.#clock());
        return report({ type: 'mail_sent', ...about });
      }
      await smtp.send(addressed.to, rendered, id);
    } catch (error) {
      if (!(error instanceof MailFailure)) throw error;
      const { message, code, isPermanent } = error;
      const pauseMs = isPermanent ? undefined : PAUSES_MS[attempts - 1];
      if (pauseMs === undefined) await queue.mails.fail(id, this.#clock(), message);
      else await queue.mails.postpone(id, this.#clock() + pauseMs, message);
      return report({ type: pauseMs === undefined ? 'mail_given_up' : 'mail_postponed', ...about, code });
    }
    await queue.mails.remove(id);
    report({ type: 'mail_sent', ...about });
  }

  /**
   * @returns `undefined` if there is nothing to send: the address is unknown, or the user has changed since
   * @throws {MailFailure} this process cannot open the email, or the invited user could not sign in with a password. Only this
   *   process is sure to know the providers.
   */
  async #address(mail: StoredMail): Promise<Addressed | undefined> {
    const { queue, people } = this.#parts;
    const parameters = await queue.open(mail);
    const template = TEMPLATES.find((template) => template === mail.template);
    // Another process may have the secret, or an operator may set it again.
    if (parameters === undefined) throw new MailFailure('other_secret', 'other_secret', false);
    if (template === undefined) return undefined;
    const browser = typeof parameters.browser === 'string' ? { browser: parameters.browser } : {};
    const { recipient: to } = mail;
    if (template === 'reset' || template === 'sign_up') {
      if (mail.createdAtMs + REQUEST_VALID_FOR_MS < this.#clock()) return undefined;
      return template === 'reset' ? this.#reset(mail, browser) : this.#signUp(mail, browser);
    }
    if (template === 'code') return this.#code(mail, parameters);
    if (!isAddress(to)) return undefined;
    if (template === 'account_removed')
      return { to, view: { template, username: String(parameters.username) } };
    if (template === 'test') return { to, view: { template } };
    const person = mail.subject === undefined ? undefined : await people.bySubject(mail.subject);
    if (person === undefined || (await this.#isDisabled(person))) return undefined;
    const username = person.name;
    if (template === 'password_changed') return { to, view: { template, username } };
    if (template === 'factor_changed') {
      const change = FACTOR_CHANGES.find((change) => change === parameters.change);
      const value = typeof parameters.name === 'string' ? parameters.name : '';
      const isByRecovery = parameters.byRecovery === true;
      return change && { to, view: { template, username, change, value, isByRecovery } };
    }
    if (template === 'token_made')
      return { to, view: { template, username, value: String(parameters.name) } };
    if (template === 'email_changed')
      return { to, view: { template, username, value: String(parameters.newAddress) } };
    if (template === 'password_link') {
      const isSame = parameters.passwordDigest === digestOf(person.passwordHash);
      if (!isSame || verifiedAddressOf(person) !== to) return undefined;
    }
    if (template === 'invite' && person.passwordHash !== NO_PASSWORD) return undefined;
    if (template === 'invite' || template === 'password_link') {
      if (person.directoryId !== undefined) return undefined;
      if (!(await this.#parts.passwords.mayReset(person)))
        throw new MailFailure('no_password', 'no_password_here', true);
    }
    const purpose = template === 'password_link' ? 'password' : template;
    const url = await this.#parts.links.make({
      ...{ purpose, address: to, person, ...browser },
      ...retriedOf(mail),
    });
    return { to, view: { template, username, links: [{ url }], validSeconds: validSeconds(purpose) } };
  }

  /**
   * Only verified addresses receive links: the owner of another one need not be the user. Users whose password is
   * elsewhere, at a directory or a provider, get none.
   */
  async #reset(mail: StoredMail, browser: { readonly browser?: string }): Promise<Addressed | undefined> {
    const found = await this.#usersOf(mail.recipient);
    const enabled: Person[] = [];
    for (const person of found)
      if ((await this.#parts.passwords.mayReset(person)) && !(await this.#isDisabled(person)))
        enabled.push(person);
    const [first] = enabled;
    const to = first && verifiedAddressOf(first);
    if (first === undefined || to === undefined || !isAddress(to)) return undefined;
    const links = [];
    for (const person of enabled) {
      const address = verifiedAddressOf(person) ?? to;
      const url = await this.#parts.links.make({
        ...{ purpose: 'reset', address, person, ...browser },
        ...retriedOf(mail),
      });
      links.push({ url, ...(enabled.length > 1 && { account: person.name }) });
    }
    return {
      to,
      view: {
        template: 'reset',
        ...(enabled.length === 1 && { username: first.name }),
        ...{ links, validSeconds: validSeconds('reset') },
      },
    };
  }

  /** The email names the request, so that its reader can tell whether it is their own. */
  async #code(
    { recipient, createdAtMs }: StoredMail,
    { id, browser, knownBrowser, place, application, userAgent, network }: Readonly<Record<string, unknown>>,
  ): Promise<Addressed | undefined> {
    if (createdAtMs + LINK_LIFETIMES_MS.code < this.#clock()) return undefined;
    if (typeof id !== 'string' || typeof browser !== 'string') return undefined;
    const known = typeof knownBrowser === 'string' ? { knownBrowser } : {};
    const made = await this.#parts.codes?.make(recipient, { id, browser, ...known }, String(place));
    if (made === undefined) return undefined;
    const { person, address: to, code, validMs, isShared } = made;
    const request = { userAgent: String(userAgent), network, atMs: createdAtMs };
    const view = { template: 'code', username: person.name, value: application, code, request } as const;
    return {
      to,
      view: { ...view, value: String(application ?? ''), validSeconds: validMs / 1000, isShared },
    };
  }

  /** The users with this verified address, or else the user with this name. */
  async #usersOf(typed: string): Promise<readonly Person[]> {
    const { people } = this.#parts;
    const byAddress = isAddress(typed) ? await people.byVerifiedEmail(typed, MAX_ACCOUNTS_PER_MAIL) : [];
    if (byAddress.length > 0) return byAddress;
    const byName = isName(typed) ? await people.byName(typed) : undefined;
    return byName === undefined ? [] : [byName];
  }

  /** The owner of a known address learns that they have an account. The visitor does not. */
  async #signUp(mail: StoredMail, browser: { readonly browser?: string }): Promise<Addressed | undefined> {
    const { recipient: to } = mail;
    if (!isAddress(to)) return undefined;
    const [known] = await this.#parts.people.byVerifiedEmail(to, 1);
    if (known !== undefined) return { to, view: { template: 'sign_up_exists', username: known.name } };
    const url = await this.#parts.links.make({
      ...{ purpose: 'sign_up', address: to, ...browser },
      ...retriedOf(mail),
    });
    return { to, view: { template: 'sign_up', links: [{ url }], validSeconds: validSeconds('sign_up') } };
  }

  async #isDisabled({ subject }: Person): Promise<boolean> {
    const state = await askStorage(() => this.#parts.storage.getPrincipalState('subject', subject));
    return state?.disabledAtMs !== undefined;
  }
}

const TEMPLATES: readonly MailTemplate[] = [
  'reset',
  'sign_up',
  'code',
  'verify',
  'invite',
  'password_link',
  'password_changed',
  'factor_changed',
  'token_made',
  'email_changed',
  'account_removed',
  'test',
];

/** The trail calls another attempt a retry, not another link. */
function retriedOf({ id, attempts }: StoredMail): { readonly retried?: string } {
  return attempts > 1 ? { retried: id } : {};
}

function validSeconds(purpose: keyof typeof LINK_LIFETIMES_MS): number {
  return LINK_LIFETIMES_MS[purpose] / 1000;
}
