import type { Person } from './people.ts';

/** The columns of a person, besides the issuer; claims are JSON text. */
export const PERSON_COLUMNS = 'subject, name, password_hash, claims, created_at_ms';

/** A person's values in the order of `PERSON_COLUMNS`. */
export function personValues(person: Person): [string, string, string, string, number] {
  const { subject, name, passwordHash, claims, createdAtMs } = person;
  return [subject, name, passwordHash, JSON.stringify(claims), createdAtMs];
}

export function personOf(row: Readonly<Record<string, unknown>>): Person {
  return {
    subject: String(row.subject),
    name: String(row.name),
    passwordHash: String(row.password_hash),
    claims: JSON.parse(String(row.claims)),
    createdAtMs: Number(row.created_at_ms),
  };
}
