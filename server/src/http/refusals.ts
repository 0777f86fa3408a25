// From errors to problems, and the challenges of their responses.
import type { IncomingMessage } from 'node:http';
import { OAuthError, StorageFault } from '@grantd/core';
import { AuthorizationServerFault } from '@grantd/protect';
import { InvalidInput, OperationRefused } from '../admin/operation_refused.ts';
import { PartlyApplied } from '../admin/state_plan.ts';
import { Refused } from '../config/refused.ts';
import { headerOf } from './input.ts';
import { PROBLEMS, Problem, type ProblemCode } from './problems.ts';

/** The name of the API in challenges. */
export const REALM = 'admin';

const PROBLEM_OF_REFUSAL = {
  not_found: 'not_found',
  conflict: 'conflict',
  changed: 'conflict',
  outdated: 'version_mismatch',
  forbidden: 'insufficient_scope',
} as const satisfies Record<OperationRefused['kind'], ProblemCode>;

export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof PartlyApplied) return problemOf(error.reason).with(error.progress);
  if (error instanceof OperationRefused) {
    const errors = error.errors.filter((one) => one.in !== '');
    return new Problem(PROBLEM_OF_REFUSAL[error.kind], {
      ...{ detail: error.problem, advice: error.advice },
      ...(errors.length > 0 && { errors }),
    });
  }
  if (error instanceof InvalidInput) return new Problem('invalid_input', { errors: error.errors });
  if (error instanceof OAuthError) return problemOfToken(error);
  if (error instanceof StorageFault || error instanceof AuthorizationServerFault)
    return new Problem('unavailable', { headers: { 'retry-after': '1' } });
  // For example a document of a client that cannot be fetched now.
  if (error instanceof Refused) return new Problem('conflict', { detail: error.message });
  return new Problem('internal');
}

/** Whether a request that failed has changed nothing, or the same request makes what is missing. */
export function mayRepeat(error: unknown): boolean {
  return error instanceof PartlyApplied || PROBLEMS[problemOf(error).code].status < 500;
}

/** The challenge is a header of the error (RFC 6750 §3). */
function problemOfToken({ code, description, status, headers }: OAuthError): Problem {
  const texts = Object.entries(headers).map(([name, value]) => [name, [value].flat().join(', ')]);
  const details = { detail: description, headers: Object.fromEntries(texts) };
  if (code === 'insufficient_scope') return new Problem('insufficient_scope', details);
  return new Problem(status === 400 ? 'invalid_request' : 'invalid_token', details);
}

/** The scheme with which a request presents its token. */
export function challengeScheme(request: IncomingMessage): 'DPoP' | 'Bearer' {
  return schemeOf(headerOf(request, 'authorization')?.split(' ', 1)[0] ?? '');
}

export function schemeOf(text: string): 'DPoP' | 'Bearer' {
  return /^dpop$/i.test(text) ? 'DPoP' : 'Bearer';
}

/** The challenge to a token that was admitted, and lacks what its operation needs further (RFC 6750 §3). */
export function scopeChallenge(request: IncomingMessage): string {
  return `${challengeScheme(request)} realm="${REALM}", error="insufficient_scope"`;
}
