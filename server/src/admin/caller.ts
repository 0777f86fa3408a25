// Who performs an operation, and the rules about administrators. Operations ask the caller, and faces make one.
import type { ClientRecord, NewClient } from '@grantd/core';
import { ConditionBroken, isNoMember, isRevision, under } from '../data/conditions.ts';
import { nameKey } from '../data/names.ts';
import type { People, Person } from '../data/people.ts';
import { ADMIN_SCOPES, type AdminScope, EXPLAINED_SCOPES, isAdminScope } from '../instance/admin_access.ts';
import type { ActorKind } from '../log/log.ts';
import { OperationRefused } from './operation_refused.ts';
import { type Warn, Warning } from './warning.ts';

/** Users who can have one verified address, at most. */
const MOST_OWNERS = 100;

const EVERY_SCOPE = Object.keys(ADMIN_SCOPES) as readonly AdminScope[];

interface CallerFacts {
  /** Who is recorded with changes. */
  readonly actor: ActorKind;
  /** The scopes that the caller has now. */
  readonly scopes: readonly string[];
  /** The client that calls the admin API. */
  readonly clientId?: string | undefined;
  /** The user who acts, by a token or in the console. */
  readonly subject?: string | undefined;
  readonly adminGroup: string | undefined;
  /** Receives what a caller who may remove the last administrator should know afterwards. */
  readonly warn?: Warn;
}

export class Caller {
  readonly actor: ActorKind;
  readonly clientId: string | undefined;
  readonly subject: string | undefined;
  readonly warn: Warn;
  readonly #scopes: ReadonlySet<string>;
  readonly #adminGroup: string | undefined;
  readonly #adminGroupKey: string | undefined;
  #hasWarned = false;

  constructor({ actor, scopes, adminGroup, ...facts }: CallerFacts) {
    this.actor = actor;
    this.clientId = facts.clientId;
    this.subject = facts.subject;
    this.warn = facts.warn ?? (() => {});
    this.#scopes = new Set(scopes);
    this.#adminGroup = adminGroup;
    this.#adminGroupKey = adminGroup === undefined ? undefined : nameKey(adminGroup);
  }

  /** A client of the admin API, perhaps for a user. @param scopes those of the token that the client still has */
  static ofApi(
    clientId: string,
    subject: string | undefined,
    scopes: readonly string[],
    adminGroup: string | undefined,
  ): Caller {
    // Encoded, because a client ID can contain what follows it: another subject.
    const client = encodeURIComponent(clientId);
    const actor = `api:${subject === undefined ? client : `${client}/${subject}`}` as const;
    return new Caller({ actor, scopes, clientId, subject, adminGroup });
  }

  /** An administrator in the console. */
  static ofConsole(subject: string, adminGroup: string): Caller {
    const actor = `console:${subject}` as const;
    return new Caller({ actor, scopes: EVERY_SCOPE, subject, adminGroup });
  }

  /** A command on the server’s machine. */
  static ofCommandLine(adminGroup: string | undefined, warn: Warn): Caller {
    return new Caller({ actor: 'cli', scopes: EVERY_SCOPE, adminGroup, warn });
  }

  /** Whether it is a command on the server’s machine, which could as well change the database itself. */
  get isOnMachine(): boolean {
    return this.actor === 'cli';
  }

  /** Whether an administrator must stay. A command may remove the last one, because it can also add one. */
  get keepsAdministrator(): boolean {
    return !this.isOnMachine;
  }

  /** Whose requests get each other’s stored responses, which are sent without the checks of their operation. */
  get identity(): string {
    return JSON.stringify([this.clientId, this.subject, [...this.#scopes].toSorted()]);
  }

  has(scopes: readonly AdminScope[]): boolean {
    return scopes.every((scope) => this.#scopes.has(scope));
  }

  get hasEveryScope(): boolean {
    return this.has(EVERY_SCOPE);
  }

  /** @throws {OperationRefused} a scope is missing */
  requireScopes(scopes: readonly AdminScope[]): void {
    const missing = scopes.find((scope) => !this.#scopes.has(scope));
    if (missing !== undefined) throw new OperationRefused('forbidden', ['scope_needed', missing]);
  }

  requireEveryScope(): void {
    this.requireScopes(EVERY_SCOPE);
  }

  /** Warns a command, once, that cannot tell whether users become administrators. The configuration of a server does. */
  warnIfAdminGroupUnknown(): void {
    if (!this.isOnMachine || this.#adminGroup !== undefined || this.#hasWarned) return;
    this.#hasWarned = true;
    this.warn(new Warning('admin_group_unknown'));
  }

  /** Whether a name, as stored or as typed, is that of the group of administrators. */
  isAdminGroup(name: string): boolean {
    return name === this.#adminGroup || nameKey(name) === this.#adminGroupKey;
  }

  isAdministrator({ groups = [] }: Pick<Person, 'groups'>): boolean {
    return groups.some((group) => this.isAdminGroup(group));
  }

  /** A caller who can change the group of administrators can become one. @throws {OperationRefused} */
  requireGroup(name: string): void {
    if (this.isAdminGroup(name)) this.requireEveryScope();
  }

  /** A caller who can change an administrator can act as one. @throws {OperationRefused} */
  requirePerson(person: Pick<Person, 'groups'>): void {
    if (this.isAdministrator(person)) this.requireEveryScope();
  }

  /**
   * A caller who can give a user an administrator's verified address can act as one in applications that know users by it.
   * @throws {OperationRefused}
   */
  async requireAddress(people: Pick<People, 'byVerifiedEmail'>, claims: Person['claims']): Promise<void> {
    if (!(await this.mayHaveAddress(people, claims))) this.requireEveryScope();
  }

  /** Whether users whom the caller changes may have these claims. */
  async mayHaveAddress(people: Pick<People, 'byVerifiedEmail'>, claims: Person['claims']): Promise<boolean> {
    const { email, email_verified: isVerified } = claims;
    if (this.hasEveryScope || isVerified !== true || typeof email !== 'string') return true;
    const owners = await people.byVerifiedEmail(email, MOST_OWNERS);
    return !owners.some((owner) => this.isAdministrator(owner));
  }

  /**
   * Changes a user, if the caller may still do so inside the transaction of the change.
   * @param work one write, without what follows from it
   * @param takesAccess whether the user cannot sign in afterwards, or leaves the group of administrators. Then a caller
   * with every scope is refused too if the user is an administrator, because only `Administrators.leave` makes sure that
   * another one stays
   * @throws {OperationRefused} the user has become an administrator since `requirePerson`
   */
  async changePerson<T>(
    issuer: string,
    { subject }: Pick<Person, 'subject'>,
    work: () => Promise<T>,
    takesAccess = false,
  ): Promise<T> {
    const mayChange = this.hasEveryScope;
    if (mayChange && !(takesAccess && this.keepsAdministrator)) return work();
    return this.changeNoAdministrator(issuer, { subject }, work);
  }

  /**
   * Changes a user who is no administrator inside the transaction of the change.
   * @throws {OperationRefused} the user has just become one
   */
  async changeNoAdministrator<T>(
    issuer: string,
    { subject }: Pick<Person, 'subject'>,
    work: () => Promise<T>,
  ): Promise<T> {
    const group = this.#adminGroup;
    if (group === undefined) return work();
    try {
      return await under(isNoMember(issuer, subject, group), work);
    } catch (error) {
      if (!(error instanceof ConditionBroken)) throw error;
      if (this.hasEveryScope) throw new OperationRefused('conflict', ['became_administrator']);
      throw new OperationRefused('forbidden', ['every_scope_needed']);
    }
  }

  /**
   * Changes a client, if it is still the one that `requireClient` has seen.
   * @returns `undefined` if it is not
   */
  async changeClient<T>(
    issuer: string,
    { id, revision = 0 }: Pick<ClientRecord, 'id' | 'revision'>,
    work: () => Promise<T>,
  ): Promise<{ readonly outcome: T } | undefined> {
    if (this.hasEveryScope) return { outcome: await work() };
    try {
      return { outcome: await under(isRevision(issuer, id, revision), work) };
    } catch (error) {
      if (error instanceof ConditionBroken) return undefined;
      throw error;
    }
  }

  /**
   * Users change how they sign in, and what that protects, on the pages of their account, which ask for every factor. A
   * token does not tell what its user has shown since.
   * @throws {OperationRefused} it is the caller
   */
  requireAnother({ subject }: Pick<Person, 'subject'>): void {
    if (subject === this.subject) throw new OperationRefused('forbidden', ['own_sign_in']);
  }

  /**
   * A caller who can describe a scope of the admin API, or one that this server explains itself, can mislead users into
   * granting it.
   * @throws {OperationRefused}
   */
  requireScopeTexts(scope: string): void {
    if (isAdminScope(scope) || EXPLAINED_SCOPES.includes(scope)) this.requireEveryScope();
  }

  /** A caller who can change a client can act as it. @throws {OperationRefused} */
  requireClient({ scopes }: Pick<NewClient, 'scopes'>): void {
    this.requireScopes(scopes.filter(isAdminScope));
  }
}
