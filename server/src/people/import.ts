import { isDeepStrictEqual } from 'node:util';
import type { AdministrableStorage } from '@grantd/core';
import type { Groups } from '../data/groups.ts';
import {
  IMPORT_BATCH,
  type ImportedPerson,
  type NamedPerson,
  NO_PASSWORD,
  nameAsKept,
  nameKey,
  type People,
} from '../data/people.ts';
import { askStorage, newIdentifier } from '../data/tables.ts';
import { AccessEnding } from './groups.ts';
import type { ImportLine, LineProblem } from './import_lines.ts';
import type { SessionEnding } from './sessions.ts';

/** What became of a line. `exists` and `failed` are problems. */
export type Outcome = 'imported' | 'updated' | 'unchanged' | 'skipped' | 'exists' | 'failed';

/** A line of the report. */
export interface LineReport {
  readonly line: number;
  readonly username?: string;
  readonly outcome: Outcome;
  readonly subject?: string;
  readonly reason?: string;
}

/** A line of the file, read. */
export interface NumberedLine {
  readonly line: number;
  readonly read: ImportLine | LineProblem;
}

interface Parts {
  readonly people: People;
  readonly groups: Groups;
  readonly storage: AdministrableStorage;
  readonly ending: Pick<SessionEnding, 'end'>;
}

interface Wish {
  /** Names the import in events. */
  readonly id: string;
  readonly isDryRun: boolean;
  /** Whether users who exist get what their line says. */
  readonly updates: boolean;
  readonly createsGroups: boolean;
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
 * left as is, so that an import that was interrupted can run again.
 */
export class PeopleImport {
  readonly #parts: Parts;
  readonly #wish: Wish;
  readonly #access: AccessEnding;
  /** Names of the groups by key. */
  readonly #groups = new Map<string, string>();
  readonly #clientIds = new Set<string>();
  /** Name keys and subjects that a dry run would have added. */
  readonly #wouldExist = new Set<string>();

  private constructor(parts: Parts, wish: Wish) {
    this.#parts = parts;
    this.#wish = wish;
    this.#access = new AccessEnding(parts);
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
      const said = 'reason' in read ? read : (this.#ofClient(read) ?? (await this.#withGroups(read)));
      if ('reason' in said) {
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
  #ofClient({ username, subject }: ImportLine): LineProblem | undefined {
    if (subject === undefined || !this.#clientIds.has(subject)) return undefined;
    const reason = 'subject: a client has this identifier, so APIs could take the user for the client';
    return { username, reason };
  }

  /** The line with the names of its groups as stored. Creates missing groups if wanted. */
  async #withGroups(said: ImportLine): Promise<ImportLine | LineProblem> {
    if (said.groups === undefined) return said;
    const groups: string[] = [];
    for (const typed of said.groups) {
      const name = nameAsKept(typed);
      const key = nameKey(name);
      if (!this.#groups.has(key) && this.#wish.createsGroups) {
        if (!this.#wish.isDryRun) await this.#parts.groups.add({ name, description: '' }, Date.now());
        this.#groups.set(key, name);
      }
      const known = this.#groups.get(key);
      if (known === undefined)
        return {
          username: said.username,
          reason: `groups: there is no group ${name}: add it with grantd group add, or use --create-groups`,
        };
      groups.push(known);
    }
    return { ...said, groups: [...new Set(groups)].sort() };
  }

  async #importBatch(batch: readonly Candidate[], report: Report): Promise<void> {
    if (batch.length === 0) return;
    const { people, storage } = this.#parts;
    const found = await people.byNameKeys(batch.map(({ key }) => key));
    const existing = new Map(found.map((person) => [person.nameKey, person]));
    const subjects = found.map(({ subject }) => subject);
    const disabled =
      found.length === 0 ? new Map() : await askStorage(() => storage.disabledSubjects(subjects));

    const added = await this.#addNew(batch.filter(({ key }) => !existing.has(key)));
    for (const { line, said, key } of batch) {
      const person = existing.get(key);
      const outcome =
        person === undefined
          ? (added.get(key) ?? TAKEN)
          : await this.#compare(said, person, disabled.has(person.subject));
      report({ line, username: said.username, ...outcome });
    }
  }

  /** @returns the outcomes by name key. Users whose name or subject is taken have none. */
  async #addNew(candidates: readonly Candidate[]): Promise<ReadonlyMap<string, LineOutcome>> {
    const { people, storage } = this.#parts;
    const newPeople = candidates.map(({ key, said }) => ({ key, said, person: personFrom(said) }));
    const done = (added: readonly boolean[]) =>
      new Map(
        newPeople
          .filter((_, index) => added[index])
          .map(({ key, said, person }) => [key, importedAs(this.#wish.isDryRun ? said : person)] as const),
      );
    if (newPeople.length === 0) return new Map();
    if (this.#wish.isDryRun) {
      const isFree = newPeople.map(({ key, person }) => {
        const taken = [key, `subject ${person.subject}`];
        if (taken.some((one) => this.#wouldExist.has(one))) return false;
        for (const one of taken) this.#wouldExist.add(one);
        return true;
      });
      return done(isFree);
    }
    // Before the user exists: in the other order, a disabled user could sign in for a moment. A line that names the
    // subject of another user is refused below, and must not disable that one.
    const disabled = newPeople.filter(({ said }) => said.disabled === true);
    await Promise.all(
      disabled.map(async ({ person: { subject } }) => {
        if ((await people.bySubject(subject)) === undefined)
          await askStorage(() => storage.setDisabled('subject', subject, true));
      }),
    );
    return done(
      await people.addImported(
        newPeople.map(({ person }) => person),
        this.#wish.id,
      ),
    );
  }

  async #compare(said: ImportLine, person: NamedPerson, isDisabled: boolean): Promise<LineOutcome> {
    const { subject } = person;
    if (person.importDigest === said.digest) return { outcome: 'unchanged', subject };
    const difference = differenceOf(said, person, isDisabled);
    if (difference === undefined) return { outcome: 'unchanged', subject };
    if (!this.#wish.updates)
      return {
        outcome: 'exists',
        subject,
        reason: `the user exists with another ${difference}: use --update`,
      };
    if (difference === 'subject')
      return { outcome: 'failed', subject, reason: 'subject: a user keeps their subject identifier' };
    if (this.#wish.isDryRun) return { outcome: 'updated', subject };
    return this.#update(said, person, isDisabled);
  }

  async #update(said: ImportLine, person: NamedPerson, isDisabled: boolean): Promise<LineOutcome> {
    const { people, storage, ending, groups } = this.#parts;
    const { subject, groups: before = [] } = person;
    const { username: name, claims, passwordHash, disabled, groups: wanted } = said;
    if (name !== person.name || !isDeepStrictEqual(claims, person.claims)) {
      const outcome = await people.update({ ...person, name, claims });
      if (outcome !== 'updated')
        return { outcome: 'failed', subject, reason: 'another command has just changed the user: try again' };
    }
    for (const group of wanted?.filter((one) => !before.includes(one)) ?? [])
      await groups.addMember({ subject, group }, Date.now());
    for (const group of wanted === undefined ? [] : before.filter((one) => !wanted.includes(one)))
      await this.#access.leaveGroup({ subject, group });
    if (disabled !== undefined && disabled !== isDisabled)
      await askStorage(() => storage.setDisabled('subject', subject, disabled));
    const isNewPassword = passwordHash !== undefined && passwordHash !== person.passwordHash;
    if (isNewPassword) await people.setPasswordHash(subject, passwordHash);
    if (isNewPassword || (disabled === true && !isDisabled)) {
      await ending.end({ subject });
      await askStorage(() => storage.revokeAll({ principal: 'subject', id: subject }));
    }
    // Last, so that an interrupted update is done again.
    await people.setImportDigest(subject, said.digest);
    return { outcome: 'updated', subject };
  }
}

type LineOutcome = Pick<LineReport, 'outcome' | 'subject' | 'reason'>;

/** A dry run knows the subject only if the line names it. */
function importedAs({ subject }: { readonly subject?: string | undefined }): LineOutcome {
  return { outcome: 'imported', ...(subject !== undefined && { subject }) };
}

const TAKEN: LineOutcome = {
  outcome: 'failed',
  reason:
    'the subject identifier belongs to another or a removed user, or another command has just taken the name',
};

function personFrom({ username, subject, claims, groups, passwordHash, digest }: ImportLine): ImportedPerson {
  return {
    name: username,
    subject: subject ?? newIdentifier(),
    claims,
    groups: groups ?? [],
    passwordHash: passwordHash ?? NO_PASSWORD,
    importDigest: digest,
  };
}

/** The first thing in which a user differs from a line. */
function differenceOf(
  { username, subject, claims, groups, disabled, passwordHash }: ImportLine,
  person: NamedPerson,
  isDisabled: boolean,
): string | undefined {
  if (subject !== undefined && subject !== person.subject) return 'subject';
  if (username !== person.name) return 'username';
  if (!isDeepStrictEqual(claims, person.claims)) return 'claim';
  if (groups !== undefined && !isDeepStrictEqual(groups, person.groups ?? [])) return 'group';
  if (disabled !== undefined && disabled !== isDisabled) return 'state';
  return passwordHash !== undefined && passwordHash !== person.passwordHash ? 'password' : undefined;
}
