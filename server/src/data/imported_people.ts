// Users from another server, who come in many lines. Their rows are those of all users.
import { TOTPS } from './factors.ts';
import { MEMBERS_AT_ONCE, newMembersCall } from './groups.ts';
import { type NewMail, newMailCall } from './mails.ts';
import {
  COLUMNS,
  type NewPerson,
  newPersonCall,
  type Person,
  personAct,
  personOf,
  personToKeep,
} from './people.ts';
import {
  batch,
  type ProgramTables,
  type RecordedCall,
  recorded,
  statement,
  statements,
  type TableCall,
} from './tables.ts';
import { type NewIdentity, newLinkCall } from './upstream_identities.ts';

/** A user from another server. */
export interface ImportedPerson extends NewPerson {
  readonly subject: string;
  /** Groups that exist. */
  readonly groups: readonly string[];
  readonly links: readonly NewIdentity[];
  /** An email with a link at which the user chooses a password. */
  readonly invitation?: NewMail | undefined;
  /** When the user was added to the other server. Default: now */
  readonly createdAtMs?: number | undefined;
  /** The secret of the user’s authenticator app, sealed. */
  readonly sealedTotp?: string | undefined;
  /** Whether another user may have a name that looks alike. Only the exact spelling then finds this one. */
  readonly mayLookAlike: boolean;
  /** Digest of everything that the import says about the user. */
  readonly importDigest: string;
}

/** A user whom an import finds. */
export interface NamedPerson extends Person {
  /** `undefined` if only the exact spelling finds the user. */
  readonly nameKey: string | undefined;
  /** Digest of the last import of this user. */
  readonly importDigest?: string;
}

/** What was added of a user. */
export interface AddedPerson {
  /** `false` if the name, the subject identifier or the entry of the directory is taken. */
  readonly isAdded: boolean;
  /** Links that were left out, because the identity is linked to another user. */
  readonly takenLinks: readonly NewIdentity[];
}

/** Users of one transaction of an import. */
export const IMPORT_BATCH = MEMBERS_AT_ONCE;

/** Rejects with a `StorageFault` if the database does not answer. */
export interface ImportedPeople {
  /** Finds the users who have one of these name keys. @param keys at most `IMPORT_BATCH` */
  byNameKeys(keys: readonly string[]): Promise<readonly NamedPerson[]>;
  bySubject(subject: string): Promise<NamedPerson | undefined>;
  /**
   * Adds users with their groups, links, apps and invitations in one transaction.
   * @param people at most `IMPORT_BATCH`
   * @param importId names the import, for audits
   */
  add(people: readonly ImportedPerson[], importId: string): Promise<readonly AddedPerson[]>;
  /** Remembers what an import said about a user. */
  setDigest(subject: string, importDigest: string): Promise<void>;
}

const BATCH = batch(IMPORT_BATCH);

const subjectsByNameKeys = statement(`
    SELECT (SELECT subject FROM grantd.people WHERE issuer = :issuer AND name_key = column1) AS subject
    FROM (VALUES ${BATCH.rows}) AS wanted`);

/** The user whom the same transaction has added. One who was there before was added at another time. */
const ADDED =
  'issuer = :issuer AND subject = :subject AND created_at_ms = CAST(:addedAtMs AS bigint) AND import_digest = :importDigest' as const;

const SQL = statements({
  bySubject: `
    SELECT ${COLUMNS}, name_key, import_digest FROM grantd.people WHERE issuer = :issuer AND subject = :subject`,
  setDigest:
    'UPDATE grantd.people SET import_digest = :importDigest WHERE issuer = :issuer AND subject = :subject',
  setCreation: `UPDATE grantd.people SET created_at_ms = :createdAtMs WHERE ${ADDED}`,
});

/** A condition of emails. */
const IS_ADDED = `EXISTS (SELECT 1 FROM grantd.people WHERE ${ADDED})`;

const TOTPS_SQL = TOTPS.statements({
  add: `${TOTPS.insert} FROM grantd.people WHERE ${ADDED} ON CONFLICT DO NOTHING RETURNING subject`,
});

export function importedPeopleTable(tables: ProgramTables, clock: () => number = Date.now): ImportedPeople {
  const bySubject = (subject: string): Promise<NamedPerson | undefined> =>
    tables.first(SQL.bySubject({ subject }), (row) => ({
      ...personOf(row),
      nameKey: typeof row.name_key === 'string' ? row.name_key : undefined,
      ...(typeof row.import_digest === 'string' && { importDigest: row.import_digest }),
    }));
  return {
    async byNameKeys(keys) {
      const subjects = await tables.list(subjectsByNameKeys(BATCH.valuesOf(keys)), ({ subject }) => subject);
      const found = await Promise.all(
        subjects.filter((subject) => typeof subject === 'string').map(bySubject),
      );
      return found.filter((person) => person !== undefined);
    },
    bySubject,
    async add(people, importId) {
      const addedAtMs = clock();
      const byGroup = new Map<string, string[]>();
      const added = people.map(({ groups, importDigest, subject, mayLookAlike, ...newPerson }) => {
        for (const group of groups) byGroup.set(group, [...(byGroup.get(group) ?? []), subject]);
        const { links: _, invitation: __, createdAtMs: ___, sealedTotp: ____, ...kept } = newPerson;
        const person = { ...personToKeep(kept, subject), createdAtMs: addedAtMs };
        const act = { ...personAct('people_imported', subject), target: importId };
        return recorded(newPersonCall(person, { importDigest, mayLookAlike }), act);
      });
      const joined = [...byGroup].map(([group, subjects]) => newMembersCall(group, subjects, addedAtMs));
      const linked: RecordedCall[] = [];
      const others: (TableCall | RecordedCall)[] = [];
      // Last, because the others know the new users by the time of the import.
      const creations: TableCall[] = [];
      for (const { subject, links, invitation, importDigest, sealedTotp, createdAtMs } of people) {
        const newRow = { addedAtMs, importDigest };
        if (sealedTotp !== undefined) {
          const totp = { subject, sealed: sealedTotp, createdAtMs: addedAtMs, countsFromMs: 0, lastStep: 0 };
          const act = { ...personAct('person_factor_added', subject), reason: 'authenticator_app' };
          others.push(recorded(TOTPS_SQL.add({ ...totp, ...newRow }), act));
        }
        if (createdAtMs !== undefined && createdAtMs < addedAtMs)
          creations.push(SQL.setCreation({ subject, createdAtMs, ...newRow }));
        for (const link of links) linked.push(newLinkCall(link, { subject, ...newRow }));
        if (invitation !== undefined) others.push(newMailCall(invitation, addedAtMs, IS_ADDED, newRow));
      }
      const rows = await tables.write(...added, ...joined, ...linked, ...others, ...creations);
      let next = added.length + joined.length;
      return people.map(({ links }, index) => {
        const outcomes = rows.slice(next, next + links.length);
        next += links.length;
        const isAdded = rows[index]?.length === 1;
        return { isAdded, takenLinks: links.filter((_, at) => isAdded && outcomes[at]?.length === 0) };
      });
    },
    setDigest: (subject, importDigest) => tables.run(SQL.setDigest({ subject, importDigest })),
  };
}
