import type { Claims } from '@grantd/core';
import { newIdentifier } from '../instance/new_identifier.ts';
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

export type NewPerson = Pick<Person, 'name' | 'passwordHash' | 'claims'>;

/** The people of one issuer. Every method rejects with a `StorageFault` where the database cannot be asked. */
export interface People {
  /** @returns `undefined` where the name is taken */
  add(person: NewPerson): Promise<Person | undefined>;
  byName(name: string): Promise<Person | undefined>;
  bySubject(subject: string): Promise<Person | undefined>;
  /** By name. */
  list(): Promise<readonly Person[]>;
  /** @returns `false` where there is no such person */
  setPasswordHash(subject: string, passwordHash: string): Promise<boolean>;
}

/** A person as they will be kept: with a subject, and the name in one way of writing it. */
export function personToKeep({ name, passwordHash, claims }: NewPerson): Person {
  return {
    subject: newIdentifier(),
    name: nameAsKept(name),
    passwordHash,
    claims,
    createdAtMs: Date.now(),
  };
}
