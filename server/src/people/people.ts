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
  /** How often the name or the claims have been changed. */
  readonly revision: number;
}

export type NewPerson = Pick<Person, 'name' | 'passwordHash' | 'claims'>;

/** The people of one issuer. Every method rejects with a `StorageFault` where the database cannot be asked. */
export interface People {
  /** @returns `undefined` where the name is taken */
  add(person: NewPerson): Promise<Person | undefined>;
  /** Somebody of exactly this name, or else of one that a reader takes for it. */
  byName(name: string): Promise<Person | undefined>;
  bySubject(subject: string): Promise<Person | undefined>;
  /** By name. */
  list(): Promise<readonly Person[]>;
  /** @returns `false` where there is no such person */
  setPasswordHash(subject: string, passwordHash: string): Promise<boolean>;
  /** Replaces name and claims. Compare-and-set on the revision. @returns `changed` also if the person is gone */
  update(person: Person): Promise<'updated' | 'name_taken' | 'changed'>;
  /** First step of a removal: remembers for good that the subject identifier was given. Idempotent. */
  beginRemoval(subject: string, nowMs: number): Promise<void>;
  /** Deletes the person. The name can be given again, the subject identifier cannot. Idempotent. */
  erase(subject: string): Promise<void>;
  /** Last step of a removal. */
  finishRemoval(subject: string, nowMs: number): Promise<void>;
  /** Subjects whose removal began before a time and was not finished. */
  halfRemoved(beforeMs: number, limit: number): Promise<readonly string[]>;
  /**
   * Gives keys to names that were stored without one.
   * @returns the names that share their key with another person, who has it; only their exact spelling finds them
   */
  keyNames(): Promise<readonly string[]>;
}

/** A person as they will be kept: with a subject, and the name in one way of writing it. */
export function personToKeep({ name, passwordHash, claims }: NewPerson): Person {
  return {
    subject: newIdentifier(),
    name: nameAsKept(name),
    passwordHash,
    claims,
    createdAtMs: Date.now(),
    revision: 0,
  };
}
