// What commands do to a server: on its database, or through its admin API (remote_administration.ts). Both give commands
// the same values, so that they print the same.
import type { ClientRecord, EventRecord, Explanation, SigningAlgorithm } from '@grantd/core';
import { ConfigurationRefused, Refused } from '../config/refused.ts';
import type { Consent, ScopeText } from '../data/consents.ts';
import type { Group, NewGroup } from '../data/groups.ts';
import type { Person } from '../data/people.ts';
import type { StoredSession } from '../data/sessions.ts';
import { newIdentifier } from '../data/tables.ts';
import type { UpstreamIdentity } from '../data/upstream_identities.ts';
import { serverWithoutDatabase } from '../instance/instance.ts';
import * as clients from '../operations/clients.ts';
import * as desired from '../operations/desired_state.ts';
import * as events from '../operations/events.ts';
import * as factors from '../operations/factors.ts';
import * as groups from '../operations/groups.ts';
import * as keys from '../operations/keys.ts';
import * as locks from '../operations/locks.ts';
import * as mails from '../operations/mails.ts';
import type { OperationParts } from '../operations/operation.ts';
import * as people from '../operations/people.ts';
import { exportedLines } from '../operations/people_lines.ts';
import * as scopes from '../operations/scopes.ts';
import * as secrets from '../operations/secrets.ts';
import * as tokens from '../operations/tokens.ts';
import { type LineReport, type NumberedLine, PeopleImport } from '../people/import.ts';
import type { Lock } from '../people/locks.ts';
import { SessionEnding, validSessions } from '../people/sessions.ts';

type Members = Readonly<Record<string, unknown>>;
type Texts = Readonly<Record<string, string>>;
type Warn = (warning: string) => void;

/** A secret that is new, if it was generated, and what the operator should look at. */
export interface ChangedClient {
  readonly secret: string | undefined;
  readonly warnings: readonly string[];
}

/** A new user, with the password as typed. */
export interface UserToAdd {
  readonly name: string;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly password: string;
}

export interface PersonDetails {
  readonly person: people.Listed;
  readonly sessions: readonly StoredSession[];
  readonly consents: readonly Pick<Consent, 'clientId' | 'entries'>[];
  readonly links: readonly Omit<UpstreamIdentity, 'subject'>[];
  readonly factors: factors.ListedFactors;
  /** `undefined` if the command does not have the secret with which the server counts attempts. */
  readonly locks: readonly Lock[] | undefined;
}

/** A file that was read, and what to do with it. */
export interface StateOrder extends Omit<desired.Planning, 'permission'> {
  /** The content of the file. */
  readonly document: unknown;
  /** What was read from it. */
  readonly state: desired.DesiredState;
}

/** What a file changes. */
export interface ShownPlan {
  readonly changes: readonly desired.ShownChange[];
  readonly unchanged: number;
}

/** Receives what happens while changes are made. With `--url`, only warnings come, and at the end. */
export interface StateProgress {
  readonly warn: Warn;
  readonly onChange: (change: desired.ShownChange, index: number, count: number) => void;
}

export interface StatePlan extends ShownPlan {
  /** Makes these changes, or none if the server would now make others. */
  perform(progress: StateProgress): Promise<void>;
}

/** Every method throws `InvalidInput`, `OperationRefused` or, if the server refuses or does not answer, `Refused`. */
export interface Administration {
  addClient(id: string, members: Members, wanted: clients.WantedSecret): Promise<ChangedClient>;
  updateClient(
    id: string,
    change: clients.ClientChange,
    onUsers: (users: number) => void,
  ): Promise<ChangedClient>;
  removeClient(id: string): Promise<void>;
  listUnusedClients(unusedSince: number): Promise<readonly clients.UnusedClient[]>;
  removeUnusedClients(ids: readonly string[], unusedSince: number): Promise<readonly string[]>;
  listClients(): Promise<readonly ClientRecord[]>;
  requireClient(id: string): Promise<ClientRecord>;
  setClientDisabled(id: string, disabled: boolean): Promise<unknown>;
  rotateSecret(
    id: string,
    wanted: clients.WantedSecret,
    overlap: number,
  ): Promise<{ readonly secret: string | undefined; readonly oldEndsAtMs: number | undefined }>;
  newRegistrationToken(
    lifetime: number,
    isForOne: boolean,
  ): Promise<{ readonly token: string; readonly expiresAtMs: number; readonly warnings: readonly string[] }>;

  listScopeTexts(): Promise<readonly ScopeText[]>;
  requireScopeTexts(named: scopes.NamedScope): Promise<ScopeText>;
  addScopeTexts(named: scopes.NamedScope, texts: Texts): Promise<ScopeText>;
  changeScopeTexts(named: scopes.NamedScope, changes: Texts): Promise<ScopeText>;
  removeScopeTexts(named: scopes.NamedScope): Promise<void>;

  requirePerson(name: string): Promise<Person>;
  personOf(subject: string): Promise<Person | undefined>;
  detailsOf(name: string): Promise<PersonDetails>;
  listPeople(wish: people.ListWish): Promise<readonly people.Listed[]>;
  addPerson(user: UserToAdd, groupNames: readonly string[]): Promise<people.ChangedPerson>;
  invitePerson(
    invitation: people.Invitation,
  ): Promise<people.ChangedPerson & { readonly isAdded: boolean; readonly mailId: string }>;
  updatePerson(before: Person, change: people.PersonChange): Promise<people.ChangedPerson>;
  setPersonDisabled(person: Person, disabled: boolean): Promise<void>;
  /** @returns the number of ended sessions, as do the following ones */
  removePerson(person: Person): Promise<number>;
  setPassword(person: Person, password: string): Promise<number>;
  endAccess(person: Person): Promise<number>;
  endSessions(person: Person): Promise<people.EndedSessions>;
  /** @returns what was refused before */
  unlockPerson(person: Person): Promise<readonly Lock[]>;
  resetFactors(person: Person): ReturnType<typeof people.resetFactors>;
  confirmFactors(person: Person): Promise<boolean>;
  unlinkPerson(
    person: Person,
    id: string,
  ): Promise<{ readonly provider: string; readonly label: string; readonly ended: number }>;

  /**
   * @param onLine receives what became of each line
   * @returns the identifier of the import in events; several with a space between them if it took several
   */
  importPeople(
    wish: { readonly isDryRun: boolean; readonly updates: boolean; readonly createsGroups: boolean },
    lines: AsyncIterable<NumberedLine> | Iterable<NumberedLine>,
    onLine: (report: LineReport) => void,
  ): Promise<string>;
  /** Yields a user per line. */
  exportPeople(wish: {
    readonly group: string | undefined;
    readonly withHashes: boolean;
  }): AsyncIterable<object>;

  listGroups(): Promise<readonly Group[]>;
  requireGroup(name: string): Promise<Group>;
  clientsFor(group: string): Promise<readonly string[]>;
  addGroup(group: NewGroup): Promise<Group>;
  changeGroup(name: string, change: groups.GroupChange): Promise<Group>;
  removeGroup(name: string): Promise<Group>;
  joinGroup(group: Group, person: Person, warn: Warn): Promise<groups.MemberOutcome>;
  leaveGroup(group: Group, person: Person, warn: Warn): Promise<groups.MemberOutcome>;

  planState(order: StateOrder): Promise<StatePlan | desired.StateProblems>;
  /** Makes the changes of a file, whatever they are. */
  applyState(order: StateOrder, progress: StateProgress): Promise<ShownPlan | desired.StateProblems>;
  /** @param withMembers names of the groups whose members are listed */
  exportState(withMembers: ReadonlySet<string>): Promise<desired.ExportedState>;

  listMails(failed: boolean): Promise<readonly mails.ListedMail[]>;
  retryMail(id: string): Promise<void>;
  testMail(address: string): Promise<mails.SentTest>;

  explainToken(token: string): Promise<Explanation>;
  revokeToken(token: string, isDryRun: boolean): ReturnType<typeof tokens.revokeToken>;
  revokeAll(
    wanted: tokens.MassRevocation,
    options: Parameters<typeof tokens.revokeAll>[2],
  ): ReturnType<typeof tokens.revokeAll>;

  listKeys(): Promise<readonly keys.ShownKey[]>;
  rotateKeys(algorithm: SigningAlgorithm | undefined, now: boolean): ReturnType<typeof keys.rotateKeys>;

  secretStatus(): Promise<readonly secrets.SecretStatus[]>;
  /** @param show shows the outcome, before it is recorded: if recording fails, the file has changed all the same */
  rotateSecrets(generates: boolean, show: (rotation: secrets.SecretRotation) => void): Promise<void>;
  /** @param show likewise */
  dropSecrets(isForced: boolean, show: (outcome: secrets.DroppedSecrets) => void): Promise<void>;

  listEvents(after: number, filter: events.EventFilter): Promise<readonly EventRecord[]>;
}

/**
 * On the database of the server.
 * @param warn receives what the operator should look at
 */
export function localAdministration(
  parts: OperationParts,
  warn: (warnings: readonly string[]) => void = () => {},
): Administration {
  const on =
    <A extends readonly unknown[], R>(operation: (parts: OperationParts, ...given: A) => R) =>
    (...given: A): R =>
      operation(parts, ...given);
  const warnIfNoneIsLeft = async (left: readonly string[] = []) => {
    if (groups.includesAdminGroup(parts, left)) warn(await groups.administratorWarnings(parts));
  };
  const planState: Administration['planState'] = async ({ state, ...planning }) => {
    const permission = desired.EVERYTHING_PERMITTED;
    const plan = await desired.planFor(parts, state, { ...planning, permission });
    if ('problems' in plan) return plan;
    return {
      changes: plan.changes.map(({ perform: _, ...shown }) => shown),
      unchanged: plan.unchanged,
      perform: ({ warn, onChange }) => desired.performPlan(plan, warn, onChange),
    };
  };
  return {
    async addClient(id, members, wanted) {
      // A server over the database would first make its signing keys.
      const { configuration, issuer } = parts;
      const settings = { ...configuration.settings, issuer };
      const builder = await serverWithoutDatabase({ ...configuration, settings }, 'cli');
      const registration = await clients.registrationFrom(builder, configuration, id, members);
      return clients.addClient(parts, registration, wanted);
    },
    updateClient: (id, change, onUsers) => clients.updateClient(parts, id, change, { onUsers }),
    removeClient: on(clients.removeClient),
    listUnusedClients: on(clients.listUnusedClients),
    removeUnusedClients: on(clients.removeUnusedClients),
    listClients: async () => parts.storage.clients.list(),
    requireClient: on(clients.requireClient),
    setClientDisabled: on(clients.setClientDisabled),
    rotateSecret: (id, wanted, overlap) => clients.rotateSecret(parts, id, wanted, overlap),
    newRegistrationToken: on(clients.newRegistrationToken),

    listScopeTexts: () => parts.scopeTexts.list(),
    requireScopeTexts: on(scopes.requireScopeTexts),
    addScopeTexts: on(scopes.addScopeTexts),
    changeScopeTexts: (named, changes) => scopes.changeScopeTexts(parts, named, changes),
    removeScopeTexts: on(scopes.removeScopeTexts),

    requirePerson: on(people.requirePerson),
    personOf: (subject) => parts.people.bySubject(subject),
    async detailsOf(name) {
      const person = await people.requirePerson(parts, name);
      const { subject } = person;
      const [listed, sessions, consents, links, ownFactors] = await Promise.all([
        people.withState(parts, person),
        validSessions(parts, subject, parts.clock()),
        people.consentsOf(parts, subject),
        factors.listLinks(parts, person),
        factors.listFactors(parts, person),
      ]);
      const found = hasSecret(parts) ? await locks.locksOf(parts, person) : undefined;
      return { person: listed, sessions, consents, links, factors: ownFactors, locks: found };
    },
    async listPeople({ group, ...wish }) {
      const name = group === undefined ? undefined : (await groups.requireGroup(parts, group)).name;
      const found: people.Listed[] = [];
      const whole = { ...wish, ...(name !== undefined && { group: name }) };
      for await (const page of people.pagesOf(parts, whole)) found.push(...page);
      return found;
    },
    async addPerson({ password, ...user }, groupNames) {
      const passwordHash = await people.passwordHashOf(password);
      return people.addPerson(parts, { ...user, passwordHash }, groupNames);
    },
    invitePerson: on(people.invitePerson),
    async updatePerson(before, change) {
      const changed = await people.updatePerson(parts, before, change);
      await warnIfNoneIsLeft(change.left);
      return changed;
    },
    async setPersonDisabled(person, disabled) {
      await people.setPersonDisabled(parts, person, disabled);
      if (disabled) await warnIfNoneIsLeft(person.groups);
    },
    async removePerson(person) {
      const ended = await people.removePerson(parts, person);
      await warnIfNoneIsLeft(person.groups);
      return ended;
    },
    setPassword: async (person, password) =>
      people.setPassword(parts, person, await people.passwordHashOf(password)),
    endAccess: async (person) => (await people.endAccess(parts, person)).ended,
    endSessions: on(people.endSessions),
    unlockPerson: on(locks.unlockPerson),
    resetFactors: on(people.resetFactors),
    confirmFactors: on(people.confirmFactors),
    unlinkPerson: on(people.unlinkPerson),

    async importPeople(wish, lines, onLine) {
      const id = newIdentifier();
      const ending = new SessionEnding(parts);
      const work = await PeopleImport.open(
        { ...parts, ending, languageOf: people.languageOf },
        { id, ...wish, keepsOldNames: true },
      );
      await work.run(lines, onLine);
      return id;
    },
    async *exportPeople({ group, withHashes }) {
      const name = group === undefined ? undefined : (await groups.requireGroup(parts, group)).name;
      yield* exportedLines(
        parts,
        people.pagesOf(parts, name === undefined ? {} : { group: name }),
        withHashes,
      );
    },

    listGroups: () => parts.groups.list(),
    requireGroup: on(groups.requireGroup),
    clientsFor: on(groups.clientsFor),
    addGroup: on(groups.addGroup),
    changeGroup: (name, change) => groups.changeGroup(parts, name, change),
    async removeGroup(name) {
      const removed = await groups.removeGroup(parts, name);
      if (groups.includesAdminGroup(parts, [removed.name])) warn([groups.WITHOUT_GROUP]);
      return removed;
    },
    joinGroup: on(groups.joinGroup),
    async leaveGroup(group, person) {
      const outcome = await groups.leaveGroup(parts, group, person);
      await warnIfNoneIsLeft([group.name]);
      return outcome;
    },

    planState,
    async applyState(order, progress) {
      const planned = await planState(order);
      if ('problems' in planned) return planned;
      const { perform, ...plan } = planned;
      await perform(progress);
      return plan;
    },
    exportState: on(desired.exportedState),

    listMails: on(mails.listMails),
    retryMail: on(mails.retryMail),
    testMail: async (address) => (await import('../mail/test_mail.ts')).testMail(parts, address),

    explainToken: on(tokens.explainToken),
    revokeToken: on(tokens.revokeToken),
    revokeAll: on(tokens.revokeAll),

    listKeys: on(keys.listKeys),
    rotateKeys: on(keys.rotateKeys),

    secretStatus: on(secrets.secretStatus),
    async rotateSecrets(generates, show) {
      const rotation = await secrets.rotateSecrets(parts, generates);
      show(rotation);
      if ('file' in rotation)
        await secrets.recordSecrets(parts, 'server_secret_rotated', [rotation.fingerprint], 'cli');
    },
    async dropSecrets(isForced, show) {
      const outcome = await secrets.dropSecrets(parts, isForced);
      show(outcome);
      if ('file' in outcome)
        await secrets.recordSecrets(parts, 'server_secret_dropped', outcome.dropped, 'cli');
    },

    listEvents: async (after, filter) => (await events.eventsAfter(parts, after, filter)).events,
  };
}

/** Commands that only read need no secret, so one on PostgreSQL may not have it. */
function hasSecret({ secret }: Pick<OperationParts, 'secret'>): boolean {
  try {
    secret();
    return true;
  } catch (error) {
    if (error instanceof Refused || error instanceof ConfigurationRefused) return false;
    throw error;
  }
}
