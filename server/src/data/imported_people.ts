// Users from another server, who come in many lines. Their rows are those of all users.
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
import { type ProgramTables, type RecordedCall, recorded, type TableCall } from './tables.ts';
import { type NewIdentity, newLinkCall } from './upstream_identities.ts';

/** A user from another server. */
export interface ImportedPerson extends NewPerson {
  readonly subject: string;
  /** Groups that exist. */
  readonly groups: readonly string[];
  readonly links: readonly NewIdentity[];
  /** An email with a link at which the user chooses a password. */
  readonly invitation?: NewMail | undefined;
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
export const IMPORT_BATCH = 500;

/** Rejects with a `StorageFault` if the database does not answer. */
export interface ImportedPeople {
  /** Finds the users who have one of these name keys. @param keys at most `IMPORT_BATCH` */
  byNameKeys(keys: readonly string[]): Promise<readonly NamedPerson[]>;
  bySubject(subject: string): Promise<NamedPerson | undefined>;
  /**
   * Adds users with their groups, links and invitations in one transaction.
   * @param people at most `IMPORT_BATCH`
   * @param importId names the import, for audits
   */
  add(people: readonly ImportedPerson[], importId: string): Promise<readonly AddedPerson[]>;
  /** Remembers what an import said about a user. */
  setDigest(subject: string, importDigest: string): Promise<void>;
}

/** A row with a parameter for every user of a batch, so that batches of all sizes share a statement. */
function placeholders(first: number): string {
  return Array.from({ length: IMPORT_BATCH }, (_, index) => `($${first + index})`).join(', ');
}

/** Fills up to the size of a batch. No name and no subject identifier is empty. */
function padded(values: readonly string[]): readonly string[] {
  return [...values, ...Array<string>(IMPORT_BATCH - values.length).fill('')];
}

const SQL = {
  // Only people whom the same transaction has added. A scalar subquery is one indexed lookup for each of them: PostgreSQL
  // plans a join while the table is empty, and would read the whole table for every later batch.
  addToGroup: `
    INSERT INTO grantd.group_members (issuer, subject, group_name, added_at_ms)
    SELECT $1, column1, $2, CAST($3 AS bigint) FROM (VALUES ${placeholders(4)}) AS joining
    WHERE EXISTS (SELECT 1 FROM grantd.groups WHERE issuer = $1 AND name = $2)
      AND (SELECT created_at_ms FROM grantd.people
        WHERE issuer = $1 AND subject = column1 AND import_digest IS NOT NULL) = CAST($3 AS bigint)
    ON CONFLICT DO NOTHING RETURNING subject, group_name || '/' || subject AS member`,

  subjectsByNameKeys: `
    SELECT (SELECT subject FROM grantd.people WHERE issuer = $1 AND name_key = column1) AS subject
    FROM (VALUES ${placeholders(2)}) AS wanted`,
  bySubject: `
    SELECT ${COLUMNS}, name_key, import_digest FROM grantd.people WHERE issuer = $1 AND subject = $2`,

  setDigest: 'UPDATE grantd.people SET import_digest = $3 WHERE issuer = $1 AND subject = $2',
};

/** A condition of emails: the same transaction has added the user. One who was there before was added at another time. */
const IS_ADDED = `EXISTS (
  SELECT 1 FROM grantd.people
  WHERE issuer = $1 AND subject = $3 AND created_at_ms = CAST($10 AS bigint) AND import_digest = $11)`;

export function importedPeopleTable(
  tables: ProgramTables,
  issuer: string,
  clock: () => number = Date.now,
): ImportedPeople {
  const bySubject = async (subject: string): Promise<NamedPerson | undefined> => {
    const [row] = await tables.read(SQL.bySubject, issuer, subject);
    return (
      row && {
        ...personOf(row),
        nameKey: typeof row.name_key === 'string' ? row.name_key : undefined,
        ...(row.import_digest !== null && { importDigest: String(row.import_digest) }),
      }
    );
  };
  return {
    async byNameKeys(keys) {
      const rows = await tables.read(SQL.subjectsByNameKeys, issuer, ...padded(keys));
      const subjects = rows.filter(({ subject }) => subject !== null).map(({ subject }) => String(subject));
      const found = await Promise.all(subjects.map(bySubject));
      return found.filter((person) => person !== undefined);
    },
    bySubject,
    async add(people, importId) {
      const createdAtMs = clock();
      const byGroup = new Map<string, string[]>();
      const added = people.map(({ groups, importDigest, subject, mayLookAlike, ...newPerson }) => {
        for (const group of groups) byGroup.set(group, [...(byGroup.get(group) ?? []), subject]);
        const { links: _, invitation: __, ...kept } = newPerson;
        const person = { ...personToKeep(kept, subject), createdAtMs };
        const act = { ...personAct('people_imported', subject), target: importId };
        return recorded(newPersonCall(issuer, person, { importDigest, mayLookAlike }), act);
      });
      const joined = [...byGroup].map(([group, subjects]) =>
        recorded([SQL.addToGroup, issuer, group, createdAtMs, ...padded(subjects)], {
          type: 'group_member_added',
          target: { column: 'member' },
          subject: { column: 'subject' },
        }),
      );
      const linked: RecordedCall[] = [];
      const mailed: TableCall[] = [];
      for (const { subject, links, invitation, importDigest } of people) {
        const newRow = [createdAtMs, importDigest] as const;
        for (const link of links) linked.push(newLinkCall(issuer, link, subject, createdAtMs, newRow));
        if (invitation !== undefined)
          mailed.push(newMailCall(issuer, invitation, createdAtMs, IS_ADDED, ...newRow));
      }
      const rows = await tables.write(...added, ...joined, ...linked, ...mailed);
      let next = added.length + joined.length;
      return people.map(({ links }, index) => {
        const outcomes = rows.slice(next, next + links.length);
        next += links.length;
        const isAdded = rows[index]?.length === 1;
        return { isAdded, takenLinks: links.filter((_, at) => isAdded && outcomes[at]?.length === 0) };
      });
    },
    async setDigest(subject, importDigest) {
      await tables.write([SQL.setDigest, issuer, subject, importDigest]);
    },
  };
}
