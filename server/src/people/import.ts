import { isDeepStrictEqual } from 'node:util';
import type { AdministrableStorage } from '@grantd/core';
import { Refused } from '../config/refused.ts';
import { factorBinding } from '../data/factors.ts';
import type { Groups } from '../data/groups.ts';
import {
  IMPORT_BATCH,
  type ImportedPeople,
  type ImportedPerson,
  type NamedPerson,
} from '../data/imported_people.ts';
import type { MailedLinks, Mails, NewMail } from '../data/mails.ts';
import { nameAsKept, nameKey, nameProblem } from '../data/names.ts';
import { type People, type Person, withoutOwnClaims } from '../data/people.ts';
import { type ProgramSecret, seal } from '../data/secrets.ts';
import { askStorage, newIdentifier } from '../data/tables.ts';
import type { NewIdentity, UpstreamIdentities } from '../data/upstream_identities.ts';
import { NO_PASSWORD, type WaysToSignIn } from '../data/ways_to_sign_in.ts';
import { setDisabled } from './enabling.ts';
import { AccessEnding } from './groups.ts';
import { ImportFault } from './import_faults.ts';
import { hasNoComma, type ImportLine, type LineProblem } from './import_lines.ts';
import { MailQueue } from './mailing.ts';
import type { SessionEnding } from './sessions.ts';
import { inDirectory } from './ways_to_sign_in.ts';

/** What became of a line. `exists` and `failed` are problems. */
export type Outcome = 'imported' | 'updated' | 'unchanged' | 'skipped' | 'exists' | 'failed';

/** Whether a user becomes an administrator, or stops being one. */
type AdministratorChange = 'become' | 'stop';

/** A line of the report. */
export interface LineReport {
  readonly line: number;
  readonly username?: string;
  readonly outcome: Outcome;
  readonly subject?: string;
  /** Whether the user becomes an administrator, or stops being one. Absent if neither. */
  readonly administrator?: AdministratorChange;
  /** Everything for which it was not imported. */
  readonly reasons?: readonly ImportFault[];
  /** What the old server had and this one leaves out. Absent if nothing is left out. */
  readonly warnings?: readonly ImportFault[];
}

/** A line of the file, read. */
export interface NumberedLine {
  readonly line: number;
  readonly read: ImportLine | LineProblem;
}

interface Parts {
  readonly issuer: string;
  readonly clock: () => number;
  readonly people: People;
  readonly importedPeople: ImportedPeople;
  readonly upstreamIdentities: UpstreamIdentities;
  readonly mails: Mails;
  readonly mailedLinks: Pick<MailedLinks, 'forget'>;
  /** Asked for only if a user is invited or has an authenticator app. @throws {Refused} the secret is not set */
  readonly secret: () => ProgramSecret;
  /** The language of an email to a user with this claim `locale`. */
  readonly languageOf: (locale: unknown) => string;
  readonly groups: Groups;
  readonly storage: AdministrableStorage;
  readonly ending: Pick<SessionEnding, 'endAccess'>;
  /** Whether a group is that of the administrators. Default: none is. */
  readonly isAdminGroup?: (name: string) => boolean;
  /** Asks again whether the import may go on. @throws if it may not */
  readonly requireCaller?: () => Promise<void>;
  /**
   * Makes a change to a user, if it may still be made.
   * @param takes what the change takes from the user. Default: nothing
   * @throws {Refused} it may not
   */
  readonly changePerson?: <T>(person: Person, work: () => Promise<T>, takes?: Taking) => Promise<T>;
}

/** What a change takes from a user. */
interface Taking {
  /** Changes the ways to sign in that count to those that count afterwards. */
  readonly ways?: (ways: WaysToSignIn) => WaysToSignIn;
  /** Whether the user is disabled. */
  readonly access?: boolean;
  /** The group that the user leaves. */
  readonly group?: string;
}

interface Wish {
  /** Names the import in events. */
  readonly id: string;
  readonly isDryRun: boolean;
  /** Whether users who exist get what their line says. */
  readonly updates: boolean;
  readonly createsGroups: boolean;
  /** Whether users become administrators, and administrators change. Default: `false` (ADR 132). */
  readonly allowsAdministrators?: boolean;
  /**
   * Whether users are added whose names users may not choose, as an export of a database of an earlier version can have them.
   * A user with a subject identifier of their own is then added although their name looks like that of another user.
   */
  readonly keepsOldNames: boolean;
}

/** A line for which a user is to be added or compared. */
interface Candidate {
  readonly line: number;
  readonly said: ImportLine;
  readonly key: string;
}

/** Line reports of a batch, in the order of the lines. */
type Report = (report: LineReport) => void;

/**
 * Adds users from lines, in transactions of many. A bad line affects no other. A user whose line was imported before is
 * left as is, so that an import that was interrupted can run again (ADR 132).
 */
export class PeopleImport {
  readonly #parts: Parts;
  readonly #wish: Wish;
  readonly #access: AccessEnding;
  /** Names of the groups by key. */
  readonly #groups = new Map<string, string>();
  readonly #clientIds = new Set<string>();
  /** Names, name keys and subjects that a dry run would have added. */
  readonly #wouldExist = new Set<string>();
  readonly #isAdminGroup: (name: string) => boolean;
  #mailQueue: MailQueue | undefined;
  #totpKey: Awaited<ReturnType<ProgramSecret['key']>> | undefined;

  private constructor(parts: Parts, wish: Wish) {
    this.#parts = parts;
    this.#wish = wish;
    this.#access = new AccessEnding(parts);
    this.#isAdminGroup = parts.isAdminGroup ?? (() => false);
  }

  static async open(parts: Parts, wish: Wish): Promise<PeopleImport> {
    const opened = new PeopleImport(parts, wish);
    for (const { name } of await parts.groups.list()) opened.#groups.set(nameKey(name), name);
    for (const { id } of await askStorage(() => parts.storage.clients.list())) opened.#clientIds.add(id);
    return opened;
  }

  /**
   * @param report receives what became of each line, after it is durable
   * @throws {StorageFault} the lines without a report may or may not be imported: run the import again
   */
  async run(lines: AsyncIterable<NumberedLine> | Iterable<NumberedLine>, report: Report): Promise<void> {
    let batch = new Map<string, Candidate>();
    for await (const { line, read } of lines) {
      const said = 'reasons' in read ? read : await this.#withGroups(read);
      if ('reasons' in said) {
        const { isSkipped, ...problem } = said;
        report({ line, outcome: isSkipped ? 'skipped' : 'failed', ...problem });
        continue;
      }
      const key = nameKey(said.username);
      if (batch.has(key) || batch.size === IMPORT_BATCH) {
        await this.#importBatch([...batch.values()], report);
        batch = new Map();
      }
      batch.set(key, { line, said, key });
    }
    await this.#importBatch([...batch.values()], report);
  }

  /** The token of a client that acts for itself has the client’s ID as `sub` (RFC 9700 §4.15). */
  #isOfClient({ subject }: ImportLine): boolean {
    return subject !== undefined && this.#clientIds.has(subject);
  }

  /** The line with the names of its groups as stored. Creates missing groups if wanted, and if nothing else is wrong. */
  async #withGroups(said: ImportLine): Promise<ImportLine | LineProblem> {
    const reasons = this.#isOfClient(said) ? [new ImportFault('subject_of_client')] : [];
    const groups: string[] = [];
    const missing = new Map<string, string>();
    for (const typed of said.groups ?? []) {
      const name = nameAsKept(typed);
      const key = nameKey(name);
      if (!this.#groups.has(key) && this.#wish.createsGroups) {
        const expected = nameProblem(name);
        if (expected !== undefined)
          reasons.push(new ImportFault('group_name', JSON.stringify(name), expected));
        else if (!hasNoComma(name)) reasons.push(new ImportFault('group_comma', name));
        else missing.set(key, name);
      }
      const known = this.#groups.get(key) ?? missing.get(key);
      if (known !== undefined) groups.push(known);
      else if (!this.#wish.createsGroups) reasons.push(new ImportFault('no_group', name));
    }
    if (reasons.length > 0) return { username: said.username, reasons };
    for (const [key, name] of missing) {
      if (!this.#wish.isDryRun) await this.#parts.groups.add({ name, description: '' }, this.#parts.clock());
      this.#groups.set(key, name);
    }
    return said.groups === undefined ? said : { ...said, groups: [...new Set(groups)].sort() };
  }

  async #importBatch(batch: readonly Candidate[], report: Report): Promise<void> {
    if (batch.length === 0) return;
    const { importedPeople, storage, requireCaller } = this.#parts;
    await requireCaller?.();
    const found = await importedPeople.byNameKeys(batch.map(({ key }) => key));
    const byKey = new Map(found.map((person) => [person.nameKey, person]));
    const existing = new Map<string, NamedPerson>();
    const lookalikes = new Set<string>();
    for (const { key, said } of batch) {
      const named = byKey.get(key);
      const looksAlike = named !== undefined && this.#mayLookAlike(said) && isAnother(said, named);
      const person = looksAlike ? await importedPeople.bySubject(said.subject ?? '') : named;
      if (person !== undefined) existing.set(key, person);
      else if (looksAlike) lookalikes.add(key);
    }
    const refused = new Map<string, LineOutcome>();
    for (const { key, said } of batch) {
      if (existing.has(key)) continue;
      const expected = this.#wish.keepsOldNames ? undefined : nameProblem(said.username);
      const reasons = expected === undefined ? [] : [new ImportFault('username', expected)];
      reasons.push(...this.#adminProblems(said));
      if (reasons.length > 0) refused.set(key, { outcome: 'failed', reasons });
    }
    const subjects = [...existing.values()].map(({ subject }) => subject);
    const disabled =
      subjects.length === 0 ? new Map() : await askStorage(() => storage.disabledSubjects(subjects));

    const added = await this.#addNew(
      batch.filter(({ key }) => !existing.has(key) && !refused.has(key)),
      lookalikes,
    );
    for (const { line, said, key } of batch) {
      const person = existing.get(key);
      const outcome =
        person === undefined
          ? (refused.get(key) ?? added.get(key) ?? TAKEN)
          : await this.#compare(said, person, disabled.has(person.subject));
      const warnings = [
        ...(['failed', 'unchanged'].includes(outcome.outcome) ? [] : said.warnings),
        ...(outcome.warnings ?? []),
      ];
      const { warnings: _, ...facts } = outcome;
      const administrator = ['imported', 'updated'].includes(outcome.outcome)
        ? this.#administratorChange(said, person)
        : undefined;
      report({
        ...{ line, username: said.username, ...facts },
        ...(administrator !== undefined && { administrator }),
        ...(warnings.length > 0 && { warnings }),
      });
    }
  }

  /**
   * Why a line may not add or change a user: the user is an administrator afterwards. The password, the links and the
   * address of a line come from another program, where another person can have the name of an administrator.
   */
  #adminProblems({ groups = [] }: Pick<ImportLine, 'groups'>, person?: NamedPerson): readonly ImportFault[] {
    if (this.#wish.allowsAdministrators === true) return [];
    const own = person?.groups?.find(this.#isAdminGroup);
    if (own !== undefined) return [new ImportFault('in_admin_group', own)];
    const wanted = groups.find(this.#isAdminGroup);
    return wanted === undefined ? [] : [new ImportFault('admin_group', wanted)];
  }

  /** What a line does to the rights of its user. A line without groups leaves them as they are. */
  #administratorChange(
    { groups }: Pick<ImportLine, 'groups'>,
    person?: NamedPerson,
  ): AdministratorChange | undefined {
    if (groups === undefined) return undefined;
    const wasOne = person?.groups?.some(this.#isAdminGroup) === true;
    const isOne = groups.some(this.#isAdminGroup);
    return wasOne === isOne ? undefined : isOne ? 'become' : 'stop';
  }

  #mayLookAlike({ subject }: ImportLine): boolean {
    return this.#wish.keepsOldNames && subject !== undefined;
  }

  /**
   * @param lookalikes name keys that other users have
   * @returns the outcomes by name key. Users whose name or subject is taken have none.
   */
  async #addNew(
    candidates: readonly Candidate[],
    lookalikes: ReadonlySet<string>,
  ): Promise<ReadonlyMap<string, LineOutcome>> {
    const { people, importedPeople, storage } = this.#parts;
    if (candidates.length === 0) return new Map();
    if (this.#wish.isDryRun) return this.#wouldAdd(candidates);
    const newPeople: { readonly said: ImportLine; readonly key: string; readonly person: ImportedPerson }[] =
      [];
    for (const { key, said } of candidates)
      newPeople.push({ key, said, person: await this.#personFrom(said, lookalikes.has(key)) });
    // Before the user exists: in the other order, a disabled user could sign in for a moment. A line that names the
    // subject of another user is refused below, and must not disable that one.
    const disabled = newPeople.filter(({ said }) => said.disabled === true);
    await Promise.all(
      disabled.map(async ({ person: { subject } }) => {
        if ((await people.bySubject(subject)) === undefined)
          await askStorage(() => storage.setDisabled('subject', subject, true));
      }),
    );
    const added = await importedPeople.add(
      newPeople.map(({ person }) => person),
      this.#wish.id,
    );
    return new Map(
      newPeople.flatMap(({ key, person }, index) => {
        const { isAdded = false, takenLinks = [] } = added[index] ?? {};
        const warnings = [
          ...(person.mayLookAlike ? [new ImportFault('lookalike')] : []),
          ...takenLinks.map(takenLinkWarning),
        ];
        const outcome: LineOutcome = { outcome: 'imported', subject: person.subject, warnings };
        return isAdded ? [[key, outcome] as const] : [];
      }),
    );
  }

  /** A dry run knows the subject only if the line names it. */
  #wouldAdd(candidates: readonly Candidate[]): ReadonlyMap<string, LineOutcome> {
    return new Map(
      candidates.flatMap(({ key, said }) => {
        const { username, subject } = said;
        const own = [`name ${username}`, ...(subject === undefined ? [] : [`subject ${subject}`])];
        const taken = this.#mayLookAlike(said) ? own : [...own, `key ${key}`];
        if (taken.some((item) => this.#wouldExist.has(item))) return [];
        for (const item of [...own, `key ${key}`]) this.#wouldExist.add(item);
        return [[key, { outcome: 'imported', ...(subject !== undefined && { subject }) } as const] as const];
      }),
    );
  }

  async #personFrom(said: ImportLine, looksAlike: boolean): Promise<ImportedPerson> {
    const {
      username,
      subject = newIdentifier(),
      claims,
      groups = [],
      passwordHash,
      links = [],
      digest,
      createdAtMs,
      totpSecret,
    } = said;
    return {
      ...{ name: username, subject, claims, groups, links },
      passwordHash: passwordHash ?? NO_PASSWORD,
      importDigest: digest,
      mayLookAlike: looksAlike,
      createdAtMs,
      ...(totpSecret !== undefined && { sealedTotp: await this.#sealed(totpSecret, subject) }),
      ...(said.directoryId !== undefined && { directoryId: said.directoryId }),
      ...(said.invite && { invitation: await this.#invitationTo(subject, claims) }),
    };
  }

  async #sealed(totpSecret: string, subject: string): Promise<string> {
    const { secret, issuer } = this.#parts;
    this.#totpKey ??= await secret().key('totp_secret');
    return seal(this.#totpKey, totpSecret, factorBinding(issuer, subject));
  }

  async #invitationTo(subject: string, { email, locale }: ImportLine['claims']): Promise<NewMail> {
    this.#mailQueue ??= new MailQueue({ mails: this.#parts.mails, secret: this.#parts.secret() });
    const language = this.#parts.languageOf(locale);
    const sealed = await this.#mailQueue.seal({});
    return { template: 'invite', recipient: String(email), language, subject, sealed };
  }

  async #compare(said: ImportLine, person: NamedPerson, isDisabled: boolean): Promise<LineOutcome> {
    const { subject } = person;
    if (person.importDigest === said.digest) return { outcome: 'unchanged', subject };
    const difference =
      differenceOf(said, person, isDisabled) ??
      ((await this.#missingLinks(said, person)).length > 0 ? 'link' : undefined);
    if (difference === undefined) return { outcome: 'unchanged', subject };
    if (!this.#wish.updates)
      return {
        outcome: 'exists',
        subject,
        reasons: [new ImportFault('differs', difference)],
      };
    if (difference === 'subject')
      return { outcome: 'failed', subject, reasons: [new ImportFault('subject_stays')] };
    const reasons = this.#adminProblems(said, person);
    if (reasons.length > 0) return { outcome: 'failed', subject, reasons };
    if (this.#wish.isDryRun) return { outcome: 'updated', subject };
    try {
      return await this.#update(said, person, isDisabled);
    } catch (error) {
      // The user has become one whom the import may not change.
      if (error instanceof Refused)
        return { outcome: 'failed', subject, reasons: [new ImportFault('not_changed', error.message)] };
      throw error;
    }
  }

  async #update(said: ImportLine, person: NamedPerson, isDisabled: boolean): Promise<LineOutcome> {
    const { people, importedPeople, upstreamIdentities, ending, groups } = this.#parts;
    const { changePerson = (_, work) => work() } = this.#parts;
    const { subject, groups: before = [] } = person;
    const { username: name, claims, passwordHash, disabled, groups: wanted, directoryId } = said;
    const change = <T>(work: () => Promise<T>, takes?: Taking) => changePerson(person, work, takes);
    const warnings = said.totpSecret === undefined ? [] : [new ImportFault('app_of_existing')];
    if (name !== person.name || !isDeepStrictEqual(claims, person.claims)) {
      const outcome = await change(() => people.update({ ...person, name, claims }, person));
      if (outcome !== 'updated')
        return { outcome: 'failed', subject, reasons: [new ImportFault('changed_meanwhile')] };
    }
    for (const group of wanted?.filter((item) => !before.includes(item)) ?? [])
      await change(() => groups.addMember({ subject, group }, this.#parts.clock()));
    for (const group of wanted === undefined ? [] : before.filter((item) => !wanted.includes(item)))
      await change(() => this.#access.leaveGroup({ subject, group }), { group });
    if (disabled !== undefined && disabled !== isDisabled)
      await change(() => setDisabled(this.#parts, subject, disabled), { access: disabled });
    for (const link of await this.#missingLinks(said, person))
      if ((await change(() => upstreamIdentities.link(link, subject, this.#parts.clock()))) === undefined)
        warnings.push(takenLinkWarning(link));
    const isNewEntry = directoryId !== undefined && directoryId !== person.directoryId;
    if (isNewEntry) {
      const setEntry = () => people.setDirectoryId(subject, directoryId);
      if (!(await change(setEntry, { ways: inDirectory })))
        return { outcome: 'failed', subject, reasons: [new ImportFault('entry_taken')] };
    }
    const isNewHash = passwordHash !== undefined && passwordHash !== person.passwordHash;
    if (isNewHash) await change(() => people.setPasswordHash(subject, passwordHash));
    const isNewPassword = isNewHash || isNewEntry;
    if (isNewPassword || (disabled === true && !isDisabled)) {
      await ending.endAccess(subject, 'person_imported');
    }
    // Last, so that an interrupted update is done again.
    await importedPeople.setDigest(subject, said.digest);
    return { outcome: 'updated', subject, warnings };
  }

  /** The links of a line that the user does not have. */
  async #missingLinks({ links = [] }: ImportLine, { subject }: NamedPerson): Promise<readonly NewIdentity[]> {
    if (links.length === 0) return [];
    const own = await this.#parts.upstreamIdentities.ofSubject(subject);
    return links.filter(
      (link) =>
        !own.some(
          (item) =>
            item.provider === link.provider &&
            item.upstreamIssuer === link.upstreamIssuer &&
            item.upstreamSub === link.upstreamSub,
        ),
    );
  }
}

type LineOutcome = Pick<LineReport, 'outcome' | 'subject' | 'reasons' | 'warnings'>;

/** Whether a line is about another user than the one whose name looks the same. */
function isAnother({ subject, username }: ImportLine, person: NamedPerson): boolean {
  return person.subject !== subject && person.name !== username;
}

function takenLinkWarning({ provider, label }: NewIdentity): ImportFault {
  return new ImportFault('link_taken', label, provider);
}

const TAKEN: LineOutcome = { outcome: 'failed', reasons: [new ImportFault('taken')] };

/** The first thing in which a user differs from a line. */
function differenceOf(
  { username, subject, claims, groups, disabled, passwordHash, directoryId }: ImportLine,
  person: NamedPerson,
  isDisabled: boolean,
): string | undefined {
  if (subject !== undefined && subject !== person.subject) return 'subject';
  if (username !== person.name) return 'username';
  if (!isDeepStrictEqual(claims, withoutOwnClaims(person.claims))) return 'claim';
  if (groups !== undefined && !isDeepStrictEqual(groups, person.groups ?? [])) return 'group';
  if (disabled !== undefined && disabled !== isDisabled) return 'state';
  if (directoryId !== undefined && directoryId !== person.directoryId) return 'entry in the directory';
  return passwordHash !== undefined && passwordHash !== person.passwordHash ? 'password' : undefined;
}
