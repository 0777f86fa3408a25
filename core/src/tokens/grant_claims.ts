import type { Claims } from '../protocol/claims.ts';
import type { ClientRecord } from '../protocol/records.ts';
import { hasPairwiseSubjects } from './subject_identifier.ts';

const GRANT_CLAIMS = ['username', 'auth_time', 'acr', 'amr', 'sid'] as const;

/**
 * Claims that go from an approval, a code or a refresh token to the tokens that it leads to. A name that people know
 * would undo pairwise subjects.
 */
export function grantClaimsOf(client: ClientRecord, claims: Claims): Claims {
  const names = GRANT_CLAIMS.filter((name) => name !== 'username' || !hasPairwiseSubjects(client));
  return Object.fromEntries(
    names.filter((name) => claims[name] !== undefined).map((name) => [name, claims[name]]),
  );
}
