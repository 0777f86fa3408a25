// What operations need, and how they refuse. The command line and the admin API call the same operations.
import type { AuthorizationServer } from '@grantd/core';
import { type SignInPolicy, unreachablePolicy } from '../config/acr.ts';
import type { Configuration } from '../config/configuration.ts';
import { Refused } from '../config/refused.ts';
import type { Instance } from '../instance/instance.ts';

/** The parts of an instance that operations use. Its changes are recorded with the actor of the instance. */
export interface OperationParts
  extends Pick<
    Instance,
    | 'issuer'
    | 'clock'
    | 'storage'
    | 'people'
    | 'importedPeople'
    | 'attempts'
    | 'groups'
    | 'scopeTexts'
    | 'sessions'
    | 'consents'
    | 'mails'
    | 'mailedLinks'
    | 'auditTrail'
    | 'factors'
    | 'upstreamIdentities'
    | 'database'
    | 'secret'
    | 'secretDependents'
  > {
  readonly configuration: Configuration;
  server(): Promise<AuthorizationServer>;
}

/**
 * Why an operation was refused: `not_found`, `conflict` with what is stored, or `changed` in the meantime by somebody
 * else.
 */
export type RefusalKind = 'not_found' | 'conflict' | 'changed';

/** The operation cannot be done with what is stored now. Nothing was changed. */
export class OperationRefused extends Refused {
  readonly kind: RefusalKind;
  /** What is wrong, without advice for users of the command line. */
  readonly problem: string;
  readonly advice: string | undefined;

  /** @param advice for users of the command line, after a colon */
  constructor(kind: RefusalKind, problem: string, advice?: string) {
    super(advice === undefined ? `${problem}.` : `${problem}: ${advice}`);
    this.kind = kind;
    this.problem = problem;
    this.advice = advice;
  }
}

/** A value is invalid, whatever is stored. */
export class InvalidInput extends Error {
  override readonly name = 'InvalidInput';
  /** The name of the value. */
  readonly member: string;
  /** Follows the name and a colon. */
  readonly problem: string;

  constructor(member: string, problem: string) {
    super(`${member}: ${problem}`);
    this.member = member;
    this.problem = problem;
  }
}

/** Attempts of a change that others may get in front of. */
export const MAX_ATTEMPTS = 5;

/** Others changed the thing between each read and write. */
export function changedByOthers(name: string, outcome = 'Nothing was updated'): OperationRefused {
  return new OperationRefused('changed', `other commands keep changing ${name}. ${outcome}`, 'try again.');
}

/** @throws {InvalidInput} no sign-in at this server can meet the policy */
export function requireReachable(
  { configuration, issuer }: Pick<OperationParts, 'configuration' | 'issuer'>,
  policy: SignInPolicy | undefined,
): void {
  const problem = unreachablePolicy(policy, configuration, issuer);
  if (problem !== undefined) throw new InvalidInput('sign_in_policy', problem);
}
