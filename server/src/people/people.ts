import { randomBytes } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { Claims } from '@grantd/core';
import { nameAsKept } from './names.ts';

/** Someone who can sign in. Whether they are disabled is the store's to say, which their tokens depend on as well. */
export interface Person {
  /** Random and never used again: the `sub` of their tokens. */
  readonly subject: string;
  /** What they sign in with. */
  readonly name: string;
  readonly passwordHash: string;
  readonly claims: Claims;
  readonly createdAtMs: number;
}

export interface NewPerson {
  readonly name: string;
  readonly passwordHash: string;
  readonly claims: Claims;
}

/** The people of one issuer. */
export interface People {
  /** @returns `undefined` where the name is taken */
  add(person: NewPerson): Person | undefined;
  byName(name: string): Person | undefined;
  bySubject(subject: string): Person | undefined;
  list(): readonly Person[];
}

const COLUMNS = 'subject, name, password_hash, claims, created_at_ms';

export function peopleOf(database: DatabaseSync, issuer: string, clock: () => number = Date.now): People {
  const insert = database.prepare(`
    INSERT INTO people (issuer, ${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (issuer, name) DO NOTHING`);
  const findByName = database.prepare(`SELECT ${COLUMNS} FROM people WHERE issuer = ? AND name = ?`);
  const findBySubject = database.prepare(`SELECT ${COLUMNS} FROM people WHERE issuer = ? AND subject = ?`);
  const findAll = database.prepare(`SELECT ${COLUMNS} FROM people WHERE issuer = ? ORDER BY name`);

  return {
    add({ name, passwordHash, claims }) {
      const person = {
        subject: randomBytes(16).toString('base64url'),
        name: nameAsKept(name),
        passwordHash,
        claims,
        createdAtMs: clock(),
      };
      const { subject, createdAtMs } = person;
      const { changes } = insert.run(
        issuer,
        subject,
        person.name,
        passwordHash,
        JSON.stringify(claims),
        createdAtMs,
      );
      return changes === 1 ? person : undefined;
    },
    byName: (name) => personOf(findByName.get(issuer, nameAsKept(name))),
    bySubject: (subject) => personOf(findBySubject.get(issuer, subject)),
    list: () => findAll.all(issuer).flatMap((row) => personOf(row) ?? []),
  };
}

function personOf(row: Readonly<Record<string, unknown>> | undefined): Person | undefined {
  if (row === undefined) return undefined;
  return {
    subject: String(row.subject),
    name: String(row.name),
    passwordHash: String(row.password_hash),
    claims: JSON.parse(String(row.claims)),
    createdAtMs: Number(row.created_at_ms),
  };
}
